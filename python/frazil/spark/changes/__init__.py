"""Changes of rows that executors do."""

from frazil.spark.changes.job import Changed, ChangeJob, ChangeSink, ChangeWriter

# Pickles of older versions look for these classes in this module.
__all__ = ["ChangeJob", "ChangeSink", "ChangeWriter", "Changed"]
