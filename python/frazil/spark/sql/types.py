"""Columns of definitions as schemas: Spark reads the types."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import types as st

from frazil.exceptions import UnsupportedError
from frazil.schema import Schema
from frazil.spark.sql.grammar.nodes import Column

__all__ = ["arrow_type_of", "declared_types", "exact_type", "has_exact_type", "parsed", "struct_of"]


def struct_of(columns: Sequence[Column]) -> st.StructType:
    """The columns in Spark's types."""
    fields = []
    for column in columns:
        metadata = {"comment": column.comment} if column.comment else None
        fields.append(st.StructField(column.path[-1], parsed(column.type), not column.required, metadata))
    return st.StructType(fields)


def arrow_type_of(type_: str, exact: bool = False) -> pa.DataType:
    """A type of Spark's SQL as `UpdateSchema` takes it.

    Args:
        type_: The type's text.
        exact: Whether the table could have a type such as `varchar(n)`, which `UpdateSchema` can't say.

    Raises:
        UnsupportedError: The type is one of these.
    """
    if exact and has_exact_type(parsed(type_)):
        raise UnsupportedError(
            f"a column of an existing table can't get the type {type_} yet",
            hint="Use string or int, or give the type in CREATE TABLE",
        )
    struct = st.StructType([st.StructField("c", parsed(type_))])
    return Schema(struct).to_arrow().field(0).type


def parsed(type_: str) -> st.DataType:
    """A type of Spark's SQL."""
    struct = st.StructType.fromDDL(f"c {type_}")
    found: st.DataType = struct.fields[0].dataType  # type: ignore[attr-defined]
    return found


def exact_type(type_: st.DataType) -> str | None:
    """A type that Frazil's schemas do not have, as text; None for others."""
    if isinstance(type_, st.CharType):
        return f"CHAR({type_.length})"
    if isinstance(type_, st.VarcharType):
        return f"VARCHAR({type_.length})"
    return {"tinyint": "TINYINT", "smallint": "SMALLINT"}.get(type_.simpleString())


def declared_types(struct: st.StructType) -> dict[str, str]:
    """The exact types of columns, as `Catalog.create_table` takes them.

    Raises:
        UnsupportedError: A part of a column has such a type.
    """
    found = {field.name: exact_type(field.dataType) for field in struct}
    nested = [field.name for field in struct if found[field.name] is None and has_exact_type(field.dataType)]
    if nested:
        raise UnsupportedError(
            f"column '{nested[0]}' has a part of a type such as varchar(n) or tinyint, which is not written yet",
            {"column": nested[0]},
            "Use string or int in structs, arrays and maps",
        )
    return {name: text for name, text in found.items() if text is not None}


def has_exact_type(type_: st.DataType) -> bool:
    """Whether a type or a part of it has no place in Frazil's schemas."""
    if isinstance(type_, st.StructType):
        return any(has_exact_type(field.dataType) for field in type_)
    if isinstance(type_, st.ArrayType):
        return has_exact_type(type_.elementType)
    if isinstance(type_, st.MapType):
        return has_exact_type(type_.keyType) or has_exact_type(type_.valueType)
    return exact_type(type_) is not None
