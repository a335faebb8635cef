"""Columns in Spark's SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from frazil.spark.settings import changed_setting

__all__ = ["as_column", "as_sql", "column_of", "is_column", "quoted", "selected", "text_of"]

# The attribute of a Column with the text of SQL that it was made of.
_TEXT = "frazil_sql_text"
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")


def quoted(name: str) -> str:
    """A name, quoted for Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"


def as_sql(text: str) -> str:
    """A filter or a term of Frazil's as a text of Spark's SQL: other quotes for names, and escaped strings."""
    return _QUOTED.sub(lambda m: _in_spark(m[0]), text)


def _in_spark(text: str) -> str:
    if text.startswith("'"):
        return "'" + text[1:-1].replace("\\", "\\\\").replace("''", "\\'") + "'"
    return quoted(text[1:-1].replace('""', '"'))


def is_column(value: object) -> bool:
    """Whether a value is a Column, of classic Spark or of Connect."""
    return isinstance(value, Column) or (
        type(value).__name__ == "Column" and type(value).__module__.startswith("pyspark.sql.")
    )


def as_column(expression: str | Column) -> Column:
    """A text of SQL or a Column as a Column."""
    return f.expr(expression) if isinstance(expression, str) else expression


def column_of(text: str) -> Column:
    """A Column that remembers its text of SQL."""
    column = f.expr(text)
    setattr(column, _TEXT, text)
    return column


def text_of(expression: str | Column) -> str | None:
    """The text of an expression, if it is known. Spark shows strings in it without quotes."""
    return expression if isinstance(expression, str) else vars(expression).get(_TEXT)


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
