"""The work of PySpark's workers between two tasks, and how to avoid most of it: 0.1 s of 0.11 s for each task.

At the start of a task, PySpark calls `importlib.invalidate_caches()`, in case files were added meanwhile. Up to Python
3.12, every finder of modules in a zip file then reads the file's directory again, in Python. A worker has about twenty
of them, for `pyspark.zip`, Py4J's archive and the jar of Spark's core. At the end of a task, PySpark calls
`gc.collect()`, which looks at all objects of all libraries.
"""

from __future__ import annotations

import gc
import os
import posixpath
import re
import sys
import zipimport

__all__ = ["forget_zip_finders", "lighten_next_task"]

# These archives are part of an installation and never change while it runs.
_OF_SPARK = re.compile(r"pyspark\.zip|py4j-.*-src\.zip|spark-core_.*\.jar")


# The process id of the worker whose objects are frozen.
_FROZEN: list[int] = []


def lighten_next_task() -> None:
    """Makes this worker's next task cheaper. Has no effect outside tasks, and where workers run one task only."""
    from pyspark import TaskContext

    if TaskContext.get() is None or "SPARK_REUSE_WORKER" not in os.environ:
        return
    forget_zip_finders()
    # This happens once in a worker's life, so that garbage of later tasks is still collected.
    if os.getpid() not in _FROZEN:
        _FROZEN[:] = [os.getpid()]
        gc.collect()
        gc.freeze()


def forget_zip_finders() -> None:
    """Drops the finders of modules in Spark's archives.

    Python creates them again when it next looks for a module there. It has kept the directories that it read.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimport.zipimporter) and _OF_SPARK.fullmatch(posixpath.basename(finder.archive)):
            sys.path_importer_cache.pop(path, None)
