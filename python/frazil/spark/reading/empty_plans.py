"""Plans of Spark over empty tables. Their text shows what Spark would read of tables with the same columns."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from pyspark.sql import DataFrame, SparkSession

from frazil.schema import Schema
from frazil.spark.lanes.spark_paths import place_for_spark
from frazil.spark.settings import changed_setting
from frazil.spark.types import spark_schema

__all__ = ["empty_places", "empty_table"]

# No text is cut off, and times are in standard form.
_SETTINGS = {
    "spark.sql.maxMetadataStringLength": str(1 << 24),
    "spark.sql.debug.maxToStringFields": str(1 << 16),
    "spark.sql.datetime.java8API.enabled": "true",
}
_NO_FILE = "frazil-reads-no-file-here"


@contextmanager
def empty_places(spark: SparkSession, locations: Sequence[str]) -> Iterator[list[str]]:
    """A place for each table, none twice: the folder of its metadata, or a temporary folder. Plans show them.

    Meanwhile the session's settings are those of plans whose text is read.

    Args:
        spark: The session.
        locations: The metadata files of the tables.
    """
    with ExitStack() as stack:
        places: list[str] = []
        for location in locations:
            place = place_for_spark(spark, location)
            if place is None or place in places:
                place = "file:" + stack.enter_context(tempfile.TemporaryDirectory(prefix="frazil-plan-"))
            places.append(place)
        for setting, value in _SETTINGS.items():
            stack.enter_context(changed_setting(spark, setting, value))
        yield places


def empty_table(spark: SparkSession, schema: Schema, place: str) -> DataFrame:
    """A table without files at a place."""
    return spark.read.option("pathGlobFilter", _NO_FILE).schema(spark_schema(schema)).parquet(place)
