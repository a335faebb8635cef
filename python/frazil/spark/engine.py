"""The work that tables and scans leave to Spark: see `frazil.engines.SparkEngine`."""

from frazil.spark.maintenance import compact, remove_orphan_files, rewrite_position_deletes
from frazil.spark.read import read_scan

__all__ = ["compact", "read_scan", "remove_orphan_files", "rewrite_position_deletes"]
