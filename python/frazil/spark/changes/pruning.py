"""What a plan of Spark's needs of a table: columns, and filters that Spark pushes down.

The plan is made over an empty Parquet table with the table's columns, and only explained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from frazil.spark.changes.clauses import Expression
from frazil.spark.columns import text_of
from frazil.spark.reading.empty_plans import empty_places, empty_table
from frazil.spark.reading.pushed_filters import Pushed, pushed_of, string_literals
from frazil.table import Table

__all__ = ["pushed"]


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
    with empty_places(spark, [table.metadata_location]) as (place,):
        nothing = empty_table(spark, table.schema, place)
        nothing = nothing.withColumns({"_file": f.lit(""), "_pos": f.lit(0).cast("long")})
        try:
            text = spark.sql("EXPLAIN FORMATTED SELECT * FROM {plan}", plan=plan(nothing)).collect()[0][0]
        except PySparkException:
            return None  # the plan itself will raise its mistakes
    texts = [text_of(expression) for expression in expressions if expression is not None]
    known = [text for text in texts if text is not None]
    strings = string_literals(" ".join(known)) if len(known) == len(texts) else frozenset()
    found = pushed_of(text, lambda at: table.schema if at == place else None, strings)
    return found[0] if len(found) == 1 else None
