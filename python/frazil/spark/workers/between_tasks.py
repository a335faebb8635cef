"""What PySpark's workers do between two tasks, and how they are spared most of it: of 0.11 s for each task 0.1.

At a task's start PySpark calls `importlib.invalidate_caches()`, for files that were added meanwhile. Up to Python 3.12
every finder of modules in a zip file then reads the file's directory anew, in Python, and a worker has some twenty of
them, for `pyspark.zip`, Py4J's and the jar of Spark's core. At its end PySpark calls `gc.collect()`, which looks at all
objects of all libraries.
"""

from __future__ import annotations

import gc
import os
import posixpath
import re
import sys
import zipimport

__all__ = ["forget_zip_finders", "lighten_next_task"]

# They are parts of an installation, and never change while it runs.
_OF_SPARK = re.compile(r"pyspark\.zip|py4j-.*-src\.zip|spark-core_.*\.jar")


# The worker whose objects are frozen: its process.
_FROZEN: list[int] = []


def lighten_next_task() -> None:
    """Makes the next task of this worker cheaper. Does nothing outside of tasks, and where no worker has two."""
    from pyspark import TaskContext

    if TaskContext.get() is None or "SPARK_REUSE_WORKER" not in os.environ:
        return
    forget_zip_finders()
    # Once in a worker's life, so that no garbage of later tasks stays.
    if os.getpid() not in _FROZEN:
        _FROZEN[:] = [os.getpid()]
        gc.collect()
        gc.freeze()


def forget_zip_finders() -> None:
    """Forgets the finders of modules in Spark's archives.

    Python makes them again when it next looks for a module there, and has kept the directories that it read.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimport.zipimporter) and _OF_SPARK.fullmatch(posixpath.basename(finder.archive)):
            sys.path_importer_cache.pop(path, None)
