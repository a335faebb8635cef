"""Changes of rows that executors do."""

from frazil.spark.changes.job import Changed, ChangeJob, ChangeSink, ChangeWriter

# Spark's jobs pickle these classes by this module's name since version 0.1.
__all__ = ["ChangeJob", "ChangeSink", "ChangeWriter", "Changed"]
