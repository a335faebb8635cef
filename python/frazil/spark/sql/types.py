"""Columns of definitions as schemas: Spark reads the types."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import types as st

from frazil.exceptions import UnsupportedError
from frazil.schema import Schema
from frazil.spark.sql.nodes import Column

__all__ = ["frazil_schema", "struct_of", "type_text"]

_NAMES: list[tuple[type[st.DataType], str]] = [
    (st.BooleanType, "boolean"),
    (st.ByteType, "int"),
    (st.ShortType, "int"),
    (st.IntegerType, "int"),
    (st.LongType, "long"),
    (st.FloatType, "float"),
    (st.DoubleType, "double"),
    (st.DateType, "date"),
    (st.TimestampNTZType, "timestamp"),
    (st.TimestampType, "timestamptz"),
    (st.StringType, "string"),
    (st.CharType, "string"),
    (st.VarcharType, "string"),
    (st.BinaryType, "binary"),
    (st.VariantType, "variant"),
    (st.NullType, "unknown"),
]


def struct_of(columns: Sequence[Column]) -> st.StructType:
    """The columns in Spark's types."""
    fields = []
    for column in columns:
        parsed = _parsed(column.type)
        metadata = {"comment": column.comment} if column.comment else None
        fields.append(st.StructField(column.path[-1], parsed, not column.required, metadata))
    return st.StructType(fields)


def frazil_schema(struct: st.StructType) -> Schema:
    """A schema with these columns, with nullability and comments."""
    return Schema.from_json(json.dumps(_Numbered().struct(struct) | {"schema-id": 0}))


def type_text(type_: str) -> str:
    """A type of Spark's SQL as `UpdateSchema` takes it."""
    return _text(_parsed(type_))


def _parsed(type_: str) -> st.DataType:
    struct = st.StructType.fromDDL(f"c {type_}")
    found: st.DataType = struct.fields[0].dataType  # type: ignore[attr-defined]
    return found


def _text(type_: st.DataType) -> str:
    if isinstance(type_, st.StructType):
        members = ", ".join(f"{field.name}: {_text(field.dataType)}" for field in type_)
        return f"struct<{members}>"
    if isinstance(type_, st.ArrayType):
        return f"list<{_text(type_.elementType)}>"
    if isinstance(type_, st.MapType):
        return f"map<{_text(type_.keyType)}, {_text(type_.valueType)}>"
    return _primitive(type_)


def _primitive(type_: st.DataType) -> str:
    if isinstance(type_, st.DecimalType):
        return f"decimal({type_.precision}, {type_.scale})"
    for kind, name in _NAMES:
        if isinstance(type_, kind):
            return name
    raise UnsupportedError(f"tables have no type for {type_.simpleString()}", hint="Store it as a string or a number")


class _Numbered:
    """Writes types as JSON, with new ids."""

    def __init__(self) -> None:
        self._last = 0

    def _next(self) -> int:
        self._last += 1
        return self._last

    def struct(self, struct: st.StructType) -> dict[str, Any]:
        """A struct."""
        fields = []
        ids = [self._next() for _ in struct]
        for id_, field in zip(ids, struct, strict=True):
            written = {"id": id_, "name": field.name, "required": not field.nullable, "type": self.type(field.dataType)}
            comment = field.metadata.get("comment") if field.metadata else None
            fields.append(written | ({"doc": comment} if comment else {}))
        return {"type": "struct", "fields": fields}

    def type(self, type_: st.DataType) -> Any:
        """Any type."""
        if isinstance(type_, st.StructType):
            return self.struct(type_)
        if isinstance(type_, st.ArrayType):
            return {
                "type": "list",
                "element-id": self._next(),
                "element-required": not type_.containsNull,
                "element": self.type(type_.elementType),
            }
        if isinstance(type_, st.MapType):
            return {
                "type": "map",
                "key-id": self._next(),
                "key": self.type(type_.keyType),
                "value-id": self._next(),
                "value-required": not type_.valueContainsNull,
                "value": self.type(type_.valueType),
            }
        return _primitive(type_)
