"""Rows that were read in part, with null for what was not read."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as st

from frazil.spark.columns import quoted

__all__ = ["whole_rows"]


def whole_rows(rows: DataFrame, wanted: st.StructType, others: tuple[str, ...] = ()) -> DataFrame:
    """The rows with all columns of a table, so that expressions may name them. What was not read is null.

    Args:
        rows: The rows, with some columns of the table.
        wanted: The table's columns.
        others: Columns of the rows that come after them.
    """
    have = {field.name: field.dataType for field in rows.schema}
    columns = [_with_missing_members(f.col(quoted(c.name)), have.get(c.name), c.dataType).alias(c.name) for c in wanted]
    return rows.select(*columns, *(f.col(quoted(name)) for name in others))


def _with_missing_members(column: Column, have: st.DataType | None, want: st.DataType) -> Column:
    """A column with null for members of structs that were not read."""
    if have is None:
        return f.lit(None).cast(want)
    if have == want or not isinstance(have, st.StructType) or not isinstance(want, st.StructType):
        return column
    inner = {field.name: field.dataType for field in have}
    members = [
        _with_missing_members(column.getField(m.name), inner.get(m.name), m.dataType).alias(m.name) for m in want
    ]
    return f.when(column.isNotNull(), f.struct(*members))
