"""Schemas of PySpark (`StructType`) as schemas of Frazil's. Nullability and comments stay. PySpark is not imported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from frazil import _core
from frazil.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_spark"]

_DECIMAL = re.compile(r"decimal\((\d+), ?(-?\d+)\)")
_TEXT = re.compile(r"(string collate .*|(var)?char\(\d+\))")
_VARIANT = {"ARROW:extension:name": "arrow.parquet.variant", "ARROW:extension:metadata": ""}


def from_spark(source: Any) -> _core.Schema:
    """The schema with the same columns.

    Raises:
        InvalidInputError: Tables have no type for a column.
    """
    import pyarrow as pa

    return _core.Schema.from_arrow(pa.schema(_fields(source.jsonValue(), "")))


def _fields(given: Mapping[str, Any], path: str) -> list[pa.Field]:
    return [_field(one["name"], one["type"], one["nullable"], path, one.get("metadata")) for one in given["fields"]]


def _field(name: str, kind: Any, nullable: bool, path: str = "", metadata: Mapping[str, Any] | None = None) -> pa.Field:
    import pyarrow as pa

    comment = (metadata or {}).get("comment")
    texts = {**({"doc": comment} if comment else {}), **(_VARIANT if kind == "variant" else {})}
    return pa.field(name, _type(kind, path + name), nullable, texts or None)


def _type(given: Any, path: str) -> pa.DataType:
    import pyarrow as pa

    if isinstance(given, str):
        return _simple(given, path)
    kind = given["type"]
    if kind == "struct":
        return pa.struct(_fields(given, path + "."))
    if kind == "array":
        return pa.list_(_field("element", given["elementType"], given["containsNull"], path + "."))
    if kind == "map":
        key = _field("key", given["keyType"], False, path + ".")
        return pa.map_(key, _field("value", given["valueType"], given["valueContainsNull"], path + "."))
    if kind == "udt":
        return _type(given["sqlType"], path)
    raise _no_type(str(kind), path)


def _simple(given: str, path: str) -> pa.DataType:
    import pyarrow as pa

    if found := _DECIMAL.fullmatch(given):
        return pa.decimal128(int(found[1]), int(found[2]))
    if given.startswith("time("):
        return pa.time64("us")
    if _TEXT.fullmatch(given):
        return pa.string()
    if given == "variant":
        return pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)])
    types = {
        "boolean": pa.bool_(),
        "byte": pa.int32(),
        "short": pa.int32(),
        "integer": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "void": pa.null(),
    }
    if given not in types:
        raise _no_type(given, path)
    return types[given]


def _no_type(kind: str, path: str) -> InvalidInputError:
    return InvalidInputError(f"tables have no type for Spark's {kind}", {"column": path}, "Cast the column, or drop it")
