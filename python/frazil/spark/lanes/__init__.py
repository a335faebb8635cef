"""Lanes: the ways in which the rows of a scan come into Spark."""

from frazil.spark.lanes.arrow import ReadPackedTasks, ReadTasks, SplitSource

# Pickles of older versions look for these classes in this module.
__all__ = ["ReadPackedTasks", "ReadTasks", "SplitSource"]
