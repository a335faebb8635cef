"""Schemas of PySpark (`StructType`) as schemas of Frazil's. Nullability and comments stay. PySpark is not imported."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from frazil import _core
from frazil.exceptions import InvalidInputError

__all__ = ["from_spark"]

_SIMPLE = {
    "boolean": "boolean",
    "byte": "int",
    "short": "int",
    "integer": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
    "void": "unknown",
    "variant": "variant",
}
_DECIMAL = re.compile(r"decimal\((\d+), ?(-?\d+)\)")
_TEXT = re.compile(r"(string collate .*|(var)?char\(\d+\))")


def from_spark(source: Any) -> _core.Schema:
    """The schema with the same columns.

    Raises:
        InvalidInputError: Tables have no type for a column.
    """
    return _core.Schema.from_json(json.dumps({**_struct(source.jsonValue(), itertools.count(1), ""), "schema-id": 0}))


def _struct(given: Mapping[str, Any], ids: Iterator[int], path: str) -> dict[str, Any]:
    numbered = [(next(ids), field) for field in given["fields"]]
    return {"type": "struct", "fields": [_field(field, number, ids, path) for number, field in numbered]}


def _field(given: Mapping[str, Any], number: int, ids: Iterator[int], path: str) -> dict[str, Any]:
    name = given["name"]
    field = {"id": number, "name": name, "required": not given["nullable"]}
    comment = (given.get("metadata") or {}).get("comment")
    if comment:
        field["doc"] = comment
    return {**field, "type": _type(given["type"], ids, path + name)}


def _type(given: Any, ids: Iterator[int], path: str) -> Any:
    if isinstance(given, str):
        return _simple(given, path)
    kind = given["type"]
    if kind == "struct":
        return _struct(given, ids, path + ".")
    if kind == "array":
        number = next(ids)
        element = _type(given["elementType"], ids, path + ".element")
        required = not given["containsNull"]
        return {"type": "list", "element-id": number, "element": element, "element-required": required}
    if kind == "map":
        key, value = next(ids), next(ids)
        return {
            "type": "map",
            "key-id": key,
            "key": _type(given["keyType"], ids, path + ".key"),
            "value-id": value,
            "value": _type(given["valueType"], ids, path + ".value"),
            "value-required": not given["valueContainsNull"],
        }
    if kind == "udt":
        return _type(given["sqlType"], ids, path)
    raise _no_type(str(kind), path)


def _simple(given: str, path: str) -> str:
    if found := _DECIMAL.fullmatch(given):
        return f"decimal({found[1]}, {found[2]})"
    if given.startswith("time("):
        return "time"
    if _TEXT.fullmatch(given):
        return "string"
    if given not in _SIMPLE:
        raise _no_type(given, path)
    return _SIMPLE[given]


def _no_type(kind: str, path: str) -> InvalidInputError:
    return InvalidInputError(f"tables have no type for Spark's {kind}", {"column": path}, "Cast the column, or drop it")
