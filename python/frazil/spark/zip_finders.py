"""PySpark's own archives, which its workers read again before each task.

PySpark has `importlib.invalidate_caches()` called at the start of each task, for files that were added meanwhile. Up to
Python 3.12 every finder of modules in a zip file then reads the file's directory anew, in Python, and a worker has some
twenty of them, for `pyspark.zip`, Py4J's and the jar of Spark's core: 0.08 to 0.1 s of the processor for each task.
"""

from __future__ import annotations

import posixpath
import re
import sys
import zipimport

__all__ = ["forget_zip_finders"]

# They are parts of an installation, and never change while it runs.
_OF_SPARK = re.compile(r"pyspark\.zip|py4j-.*-src\.zip|spark-core_.*\.jar")


def forget_zip_finders() -> None:
    """Spares a worker's next task the directories of these archives.

    Python makes their finders again when it next looks for a module there, and has kept the directories that it read.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimport.zipimporter) and _OF_SPARK.fullmatch(posixpath.basename(finder.archive)):
            sys.path_importer_cache.pop(path, None)
