"""Lets Spark find the data source `frazil` by itself: it looks for `DefaultSource` in modules named `pyspark_*`."""

from frazil.spark.datasource import FrazilDataSource as DefaultSource

__all__ = ["DefaultSource"]
