"""Lanes: the ways in which rows of a scan come into Spark."""

from frazil.spark.lanes.arrow import ReadPackedTasks, ReadTasks, SplitSource

# Spark's jobs pickle these classes by this module's name since version 0.1.
__all__ = ["ReadPackedTasks", "ReadTasks", "SplitSource"]
