"""Columns as texts: `id long required`, `amount decimal(10, 2)`, `tags list<string>`."""

from __future__ import annotations

import re

import click

import frazil as fz
from frazil.cli import json_text
from frazil.exceptions import CorruptTableError, UnsupportedError

__all__ = ["schema_of_columns"]

_SYNONYMS = {"bigint": "long", "integer": "int", "text": "string", "bool": "boolean", "bytes": "binary"}
_TYPES = (
    "boolean, int, long, float, double, decimal(10, 2), date, time, timestamp, timestamptz, string, uuid, binary, "
    "fixed[16], list<int>, map<string, int>, struct<a: int>"
)
_OPENING, _CLOSING = "<(", ">)"


def schema_of_columns(columns: tuple[str, ...]) -> fz.Schema:
    """The schema of columns."""
    ids = iter(range(1, 1 << 31))
    fields = []
    for text in columns:
        name, _, rest = text.strip().partition(" ")
        required = rest.strip().lower().endswith(" required")
        kind = rest.strip()[: -len(" required")] if required else rest
        if not name or not kind.strip():
            raise click.UsageError(f"a column is a name and a type, such as 'id long', not '{text}'")
        fields.append({"id": next(ids), "name": name, "required": required, "type": kind.strip()})
    for field in fields:
        field["type"] = _type(str(field["type"]), ids)
    try:
        return fz.Schema.from_json(json_text.line({"type": "struct", "schema-id": 0, "fields": fields}))
    except (UnsupportedError, CorruptTableError) as error:
        # Nothing is wrong with a table: the type is mistyped.
        raise click.UsageError(f"{error}. Types are {_TYPES}") from error


def _type(text: str, ids: object) -> object:
    """A type in the form of the specification's JSON."""
    text = text.strip()
    found = re.fullmatch(r"(list|array|map|struct)\s*<(.*)>", text, re.IGNORECASE | re.DOTALL)
    if found is None:
        return _SYNONYMS.get(text.lower(), text.lower())
    kind, parts = found[1].lower(), _parts(found[2])
    take = iter(ids)  # type: ignore[call-overload]
    if kind in ("list", "array"):
        if len(parts) != 1:
            raise click.UsageError(f"a list has one type, not '{text}'")
        return {
            "type": "list",
            "element-id": next(take),
            "element-required": False,
            "element": _type(parts[0], ids),
        }
    if kind == "map":
        if len(parts) != 2:
            raise click.UsageError(f"a map has two types, not '{text}'")
        key_id, value_id = next(take), next(take)
        members = {"key": _type(parts[0], ids), "value": _type(parts[1], ids)}
        return {"type": "map", "key-id": key_id, "value-id": value_id, "value-required": False, **members}
    named = [re.fullmatch(r"\s*([^\s:]+)\s*[:\s]\s*(.+?)\s*", part, re.DOTALL) for part in parts]
    if not all(named):
        raise click.UsageError(f"members of a struct are names and types, such as struct<a: int>, not '{text}'")
    return {
        "type": "struct",
        "fields": [
            {"id": next(take), "name": member[1], "required": False, "type": _type(member[2], ids)}
            for member in named
            if member is not None
        ],
    }


def _parts(text: str) -> list[str]:
    """The parts of a text that commas separate outside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
