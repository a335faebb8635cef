"""What a plan of Spark's needs of a table: columns, and filters that Spark pushes down.

The plan is made over an empty Parquet table with the table's columns, and only explained.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from frazil.expr import Predicate
from frazil.spark.changes.clauses import Expression
from frazil.spark.lanes.spark_paths import place_for_spark
from frazil.spark.reading.pushed_filters import Pushed, pushed_of, string_literals
from frazil.spark.settings import changed_setting
from frazil.spark.types import spark_schema
from frazil.table import Table

__all__ = ["NO_FILE", "PLAN_SETTINGS", "either", "pushed"]

PLAN_SETTINGS = {
    "spark.sql.maxMetadataStringLength": str(1 << 24),
    "spark.sql.debug.maxToStringFields": str(1 << 16),
    "spark.sql.datetime.java8API.enabled": "true",
}
"""Settings of a plan whose text is read: nothing is cut off, and times are in standard form."""

NO_FILE = "frazil-reads-no-file-here"


def pushed(
    spark: SparkSession,
    table: Table,
    plan: Callable[[DataFrame], DataFrame],
    expressions: Iterable[Expression | None],
) -> Pushed | None:
    """What Spark would read of a table, or None if that is unknown.

    Args:
        spark: The session.
        table: The table.
        plan: Makes the plan of a DataFrame with the table's columns, `_file` and `_pos`.
        expressions: All expressions in the plan. Strings in filters are known by them.
    """
    with ExitStack() as stack:
        place = place_for_spark(spark, table.metadata_location)
        if place is None:
            place = "file:" + stack.enter_context(tempfile.TemporaryDirectory(prefix="frazil-change-"))
        for setting, value in PLAN_SETTINGS.items():
            stack.enter_context(changed_setting(spark, setting, value))
        reader = spark.read.option("pathGlobFilter", NO_FILE)
        nothing = reader.schema(spark_schema(table.schema)).parquet(place)
        nothing = nothing.withColumns({"_file": f.lit(""), "_pos": f.lit(0).cast("long")})
        try:
            text = spark.sql("EXPLAIN FORMATTED SELECT * FROM {plan}", plan=plan(nothing)).collect()[0][0]
        except PySparkException:
            return None  # the plan itself will raise its mistakes
    given = list(expressions)
    texts = [text for text in given if isinstance(text, str)]
    strings = (
        string_literals(" ".join(texts)) if len(texts) == len([e for e in given if e is not None]) else frozenset()
    )
    found = pushed_of(text, lambda at: table.schema if at == place else None, strings)
    return found[0] if len(found) == 1 else None


def either(filters: Iterable[Predicate | None]) -> Predicate | None:
    """A filter that keeps what any of these keeps. None keeps everything."""
    result: Predicate | None = None
    for number, one in enumerate(filters):
        if one is None:
            return None
        result = one if number == 0 else result | one  # type: ignore[operator]
    return result
