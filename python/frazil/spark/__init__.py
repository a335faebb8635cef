"""Reads and writes tables with PySpark (4.0 to 4.3, classic and Connect), without a jar.

    import frazil as fz

    df = fz.spark.read(spark, "/warehouse/db/events", filter="country = 'NO'", select=["id", "ts"])
    fz.spark.append(df, "/warehouse/db/events_no")

    spark.read.format("frazil").load("/warehouse/db/events")            # the same by Spark's own API
    df.write.format("frazil").mode("append").save("/warehouse/db/events_no")

`read` plans once on the driver, or lets executors plan (`planning=`). Spark's own Parquet reader reads the files that
it reads in the same way as Frazil. Executors read the other files with Frazil's reader and give Arrow batches to Spark.
`explain` says which files go which way, and why. `sql` reads only what a query needs. `functions` has Iceberg's
transforms. `plan` returns the tasks themselves, and `read_tasks` their rows. The format `frazil` registers itself where
Frazil is installed (package `pyspark_frazil`); `register` does it explicitly. Executors need Frazil installed.
"""

try:
    import pyspark  # noqa: F401
except ImportError as error:
    raise ImportError("frazil.spark needs PySpark: pip install 'frazil[spark]'") from error

import inspect

from frazil.spark import functions
from frazil.spark.changes.merge_into import MergeInto
from frazil.spark.checked import checked
from frazil.spark.datasource import FrazilDataSource, register
from frazil.spark.jobs.interrupts import interruptible
from frazil.spark.planning.executors import plan, read_tasks
from frazil.spark.read import Lanes, explain, read, read_scan
from frazil.spark.row_changes import delete, merge, merge_into, update, upsert
from frazil.spark.sql.entry import sql
from frazil.spark.streaming import write_stream
from frazil.spark.tables import load_table, save_as_table, view
from frazil.spark.types import spark_schema
from frazil.spark.write import append, explain_write, overwrite, overwrite_partitions
from frazil.spark.writing.native import WriteLane

__all__ = [
    "FrazilDataSource",
    "Lanes",
    "MergeInto",
    "WriteLane",
    "append",
    "delete",
    "explain",
    "explain_write",
    "functions",
    "load_table",
    "merge",
    "merge_into",
    "overwrite",
    "overwrite_partitions",
    "plan",
    "read",
    "read_scan",
    "read_tasks",
    "register",
    "save_as_table",
    "spark_schema",
    "sql",
    "update",
    "upsert",
    "view",
    "write_stream",
]

# Wrong arguments are refused before anything is done. Ctrl-C ends the jobs.
for _name in __all__:
    _function = globals()[_name]
    if inspect.isfunction(_function):
        globals()[_name] = interruptible(checked(_function))
