"""What tables and scans ask of Spark: see `frazil.engines.SparkEngine`."""

from frazil.spark.maintenance import compact, remove_orphan_files, rewrite_position_deletes
from frazil.spark.read import read_scan

__all__ = ["compact", "read_scan", "remove_orphan_files", "rewrite_position_deletes"]
