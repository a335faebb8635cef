"""What the driver keeps of manifests: decoded, in a folder that Spark removes when its JVM ends.

A driver plans the same table again and again, and manifests never change. To keep one costs about as much as to plan it
twice, so a table's are kept from the third scan on.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

from frazil.capabilities import supports
from frazil.spark.settings import setting
from frazil.table import Table

__all__ = ["CACHE_BYTES_CONF", "keep_plans"]

CACHE_BYTES_CONF = "spark.frazil.planning.cache-bytes"
"""Spark setting: how large the folder of decoded manifests grows on the driver; 0 for none. Default 1 GiB."""

_CACHE_BYTES = 1 << 30
_FROM_SCAN = 3
# How often the table of a location was scanned with a folder.
_SCANS: Counter[tuple[str, str]] = Counter()


def keep_plans(spark: SparkSession, table: Table) -> dict[str, str]:
    """Options for the next scan of a table; none for Apache Paimon's, which keep their manifests in memory themselves.

    Raises:
        InvalidInputError: The setting is no number of bytes.
    """
    folder = _folder(spark)
    if folder is None or not supports(table, "plan_cache"):
        return {}
    most_bytes = setting(spark, CACHE_BYTES_CONF, _CACHE_BYTES)
    _SCANS[folder, table.location] += 1
    if most_bytes == 0 or _SCANS[folder, table.location] < _FROM_SCAN:
        return {}
    return {"plan-cache": str(Path(folder, "frazil-plans")), "plan-cache-bytes": str(most_bytes)}


def _folder(spark: SparkSession) -> str | None:
    """Spark's temporary folder of this driver; None with Connect, whose driver is elsewhere."""
    folder = getattr(getattr(spark, "_sc", None), "_temp_dir", None)
    return folder if isinstance(folder, str) else None
