"""Jobs of Spark that change a table."""

from frazil.spark.jobs.job import Job

# Spark's jobs pickle this class by this module's name since version 0.1.
__all__ = ["Job"]
