"""Columns in Spark's SQL."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from frazil.spark.settings import changed_setting

__all__ = ["is_column", "quoted", "selected"]


def quoted(name: str) -> str:
    """A name, quoted for Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"


def is_column(value: object) -> bool:
    """Whether a value is a Column, of classic Spark or of Connect."""
    return isinstance(value, Column) or (
        type(value).__name__ == "Column" and type(value).__module__.startswith("pyspark.sql.")
    )


def selected(spark: SparkSession, rows: DataFrame, columns: Sequence[str | Column]) -> DataFrame:
    """These columns of the rows.

    Each call of Spark is a message. A column in SQL takes one message, but building it takes many.
    """
    texts = [column for column in columns if isinstance(column, str)]
    # A name that looks like a variable must stay as it is.
    like_settings = any("${" in text for text in texts)
    with changed_setting(spark, "spark.sql.variable.substitute", "false") if like_settings else nullcontext():
        if len(texts) == len(columns):
            return rows.selectExpr(*texts)
        return rows.select(*[f.expr(column) if isinstance(column, str) else column for column in columns])
