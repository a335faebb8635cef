"""Manifests that the driver keeps decoded, in a folder that Spark removes when its JVM ends.

A driver plans the same table repeatedly, and manifests never change. Keeping one costs about as much as planning it
twice, so a table's manifests are kept from the third scan on.
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
"""Spark setting: the largest size of the folder of decoded manifests on the driver; 0 for none. Default 1 GiB."""

_CACHE_BYTES = 1 << 30
_FROM_SCAN = 3
# The number of scans, by folder and by the table's location.
_SCANS: Counter[tuple[str, str]] = Counter()


def keep_plans(spark: SparkSession, table: Table) -> dict[str, str]:
    """Options for the next scan of a table. They are empty for tables of Apache Paimon, which keep manifests in memory.

    Raises:
        InvalidInputError: The setting is not a number of bytes.
    """
    folder = _folder(spark)
    if folder is None or not supports(table._core, "plan_cache"):
        return {}
    most_bytes = setting(spark, CACHE_BYTES_CONF, _CACHE_BYTES)
    _SCANS[folder, table.location] += 1
    if most_bytes == 0 or _SCANS[folder, table.location] < _FROM_SCAN:
        return {}
    return {"plan-cache": str(Path(folder, "frazil-plans")), "plan-cache-bytes": str(most_bytes)}


def _folder(spark: SparkSession) -> str | None:
    """Spark's temporary folder on this driver. It is None with Connect, whose driver is elsewhere."""
    folder = getattr(getattr(spark, "_sc", None), "_temp_dir", None)
    return folder if isinstance(folder, str) else None
