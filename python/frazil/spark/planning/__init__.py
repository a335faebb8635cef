"""Planning by executors, and plans that the driver keeps."""

from frazil.spark.planning.executors import PlanOnExecutors, PlanTasksOnExecutors

# Spark's jobs pickle these classes by this module's name since version 0.1.
__all__ = ["PlanOnExecutors", "PlanTasksOnExecutors"]
