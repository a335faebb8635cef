"""Spark jobs that change a table."""

from frazil.spark.jobs.job import Job

# Pickles of older versions look for this class in this module.
__all__ = ["Job"]
