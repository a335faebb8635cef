"""Planning by executors, and plans that the driver keeps."""

from frazil.spark.planning.executors import PlanOnExecutors, PlanTasksOnExecutors

# Pickles of older versions look for these classes in this module.
__all__ = ["PlanOnExecutors", "PlanTasksOnExecutors"]
