"""Old names of `frazil.spark.jobs.parts`. Pickles of older versions look for these classes in this module."""

from frazil.spark.jobs.parts import DoParts, ReadRows

__all__ = ["DoParts", "ReadRows"]
