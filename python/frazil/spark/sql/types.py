"""Columns of definitions as schemas: Spark reads the types."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import types as st

from frazil.schema import Schema
from frazil.spark.sql.grammar.nodes import Column

__all__ = ["arrow_type_of", "struct_of"]


def struct_of(columns: Sequence[Column]) -> st.StructType:
    """The columns in Spark's types."""
    fields = []
    for column in columns:
        metadata = {"comment": column.comment} if column.comment else None
        fields.append(st.StructField(column.path[-1], _parsed(column.type), not column.required, metadata))
    return st.StructType(fields)


def arrow_type_of(type_: str) -> pa.DataType:
    """A type of Spark's SQL as `UpdateSchema` takes it."""
    struct = st.StructType([st.StructField("c", _parsed(type_))])
    return Schema(struct).to_arrow().field(0).type


def _parsed(type_: str) -> st.DataType:
    struct = st.StructType.fromDDL(f"c {type_}")
    found: st.DataType = struct.fields[0].dataType  # type: ignore[attr-defined]
    return found
