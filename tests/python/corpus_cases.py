"""The Iceberg corpus: tables that Java wrote, and the rows that Java reads of them.

A folder with `warehouse`, `index.json` and `expected/<table>.json`, in which a case of kind `scan` has a filter (REST
expression JSON), columns, a version, and its rows: in a file of their own, or by their numbers in another case's.
Values are Iceberg's single-value JSON with structs by field id. Both sides become plain values that compare.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import re
import struct
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import frazil as fz

_COMPARE = {"eq": "=", "not-eq": "!=", "lt": "<", "lt-eq": "<=", "gt": ">", "gt-eq": ">="}
_ASK = {"is-null": " is null", "not-null": " is not null", "is-nan": " is nan", "not-nan": " is not nan"}
_EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Case:
    """One read."""

    name: str
    filter: str | None
    select: list[str] | None
    at: Any
    fields: list[dict[str, Any]]
    rows: list[list[Any]]

    def expected(self, columns: Sequence[str]) -> Counter[Any]:
        """The rows' values of some columns."""
        kept = [(i, f["type"]) for i, f in enumerate(self.fields) if f["name"] in columns]
        return Counter(repr(tuple(_canon(type_, row[i]) for i, type_ in kept)) for row in self.rows)

    def found(self, rows: pa.Table) -> Counter[Any]:
        """The same of what was read."""
        fields = [f for f in self.fields if f["name"] in rows.column_names]
        columns = [rows[f["name"]].to_pylist() for f in fields]
        types = [f["type"] for f in fields]
        return Counter(
            repr(tuple(_canon_read(t, v) for t, v in zip(types, row, strict=True)))
            for row in (zip(*columns, strict=True) if columns else [()] * rows.num_rows)
        )


class Corpus:
    """A table of the corpus."""

    def __init__(self, root: Path, name: str) -> None:
        self._root = root
        self.facts = json.loads((root / "expected" / f"{name}.json").read_text())
        self.table = fz.open_table(root / self.facts["location"] / self.facts["metadata_file"])

    def cases(self) -> list[Case]:
        """The scans, their filters meaning what SQL means."""
        return [self._case(facts) for facts in self.facts["cases"] if facts["kind"] == "scan"]

    def _case(self, facts: Mapping[str, Any]) -> Case:
        file = facts.get("rows_file") or f"{self.facts['table']}.{facts['rows_of']}.json"
        content = json.loads((self._root / "expected" / file).read_text())
        kept = facts.get("sql_rows_index", facts.get("rows_index"))
        rows = content["rows"] if kept is None else [content["rows"][i] for i in kept]
        fields = content["schema"]["fields"]
        select = [f["name"] for f in fields] if facts.get("row_lineage") else facts.get("select")
        filter_ = None if facts["filter"] is None else _text(facts["filter"], self._types(facts))
        at: Any = facts.get("snapshot_id", facts.get("ref"))
        if "as_of_ms" in facts:
            at = dt.datetime.fromtimestamp(facts["as_of_ms"] / 1000, dt.timezone.utc)
        return Case(facts["name"], filter_, select, at, fields, rows)

    def _types(self, facts: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
        by_id = {schema["schema-id"]: schema for schema in self.facts["schemas"]}
        now = by_id[self.facts["current_schema_id"]]
        ids = {s["snapshot_id"]: s["schema_id"] for s in self.facts["snapshots"]}
        then = by_id.get(ids.get(facts.get("snapshot_id")), now)
        return {**_flat(now["fields"]), **_flat(then["fields"])}


def tables(root: Path) -> list[str]:
    """The tables that Java reads as the specification says."""
    names = [entry["table"] for entry in json.loads((root / "index.json").read_text())["tables"]]
    notes = {name: json.loads((root / "expected" / f"{name}.json").read_text()).get("note", "") for name in names}
    return [name for name in names if not notes[name].startswith("the reference is wrong")]


def _flat(fields: Sequence[Mapping[str, Any]], path: tuple[str, ...] = (), name: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields:
        own = field["name"] if re.fullmatch(r"[A-Za-z_]\w*", field["name"]) else f'"{field["name"]}"'
        type_ = field["type"]
        found[name + field["name"]] = (".".join((*path, own)), type_ if isinstance(type_, str) else "")
        if not isinstance(type_, str) and type_["type"] == "struct":
            found |= _flat(type_["fields"], (*path, own), f"{name}{field['name']}.")
    return found


def _term(term: Any, types: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    if not isinstance(term, dict):
        return types[term]
    inner, type_ = _term(term["term"], types)
    if with_width := re.fullmatch(r"(\w+)\[(\d+)\]", term["transform"]):
        kind = type_ if with_width[1] == "truncate" else "int"
        return f"{with_width[1]}({with_width[2]}, {inner})", kind
    return f"{term['transform']}({inner})", "date" if term["transform"] == "day" else "int"


def _literal(value: Any, type_: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if type_ == "binary" or type_.startswith("fixed"):
        return f"x'{value}'"
    return "'" + value.replace("'", "''") + "'"


def _text(filter_: Any, types: Mapping[str, tuple[str, str]]) -> str:
    """Expression JSON as filter text."""
    if isinstance(filter_, bool):
        return "true" if filter_ else "false"
    kind = filter_["type"]
    if kind in ("and", "or"):
        return f"({_text(filter_['left'], types)} {kind} {_text(filter_['right'], types)})"
    if kind == "not":
        return f"not ({_text(filter_['child'], types)})"
    column, type_ = _term(filter_["term"], types)
    if kind in _ASK:
        return column + _ASK[kind]
    if kind in ("in", "not-in"):
        return f"{column} {kind.replace('-', ' ')} ({', '.join(_literal(v, type_) for v in filter_['values'])})"
    if kind in ("starts-with", "not-starts-with"):
        return f"{'not ' if kind[0] == 'n' else ''}starts_with({column}, {_literal(filter_['value'], type_)})"
    return f"{column} {_COMPARE[kind]} {_literal(filter_['value'], type_)}"


def _float(value: float, kind: str) -> str:
    return "NaN" if math.isnan(value) else struct.pack(kind, value).hex()


def _micros(text: str) -> int:
    day, _, time = text.replace("+00:00", "").rstrip("Z").partition("T")
    year, month, number = day.lstrip("+").split("-")
    parts = time.split(":")
    whole, _, fraction = (parts[2] if len(parts) > 2 else "0").partition(".")
    days = dt.date(int(year), int(month), int(number)).toordinal() - 719163
    seconds = days * 86400 + int(parts[0]) * 3600 + int(parts[1]) * 60 + int(whole)
    return seconds * 10**6 + int((fraction or "0").ljust(6, "0")[:6])


def _canon(type_: Any, value: Any) -> Any:
    """A value of the corpus."""
    if value is None:
        return None
    if isinstance(type_, dict):
        if type_["type"] == "struct":
            return tuple((f["name"], _canon(f["type"], value.get(str(f["id"])))) for f in type_["fields"])
        if type_["type"] == "list":
            return tuple(_canon(type_["element"], v) for v in value)
        pairs = zip(value["keys"], value["values"], strict=True)
        return tuple(sorted(((_canon(type_["key"], k), _canon(type_["value"], v)) for k, v in pairs), key=repr))
    if type_ in ("float", "double"):
        return _float(float(value), "<f" if type_ == "float" else "<d")
    if type_.startswith("timestamp"):
        return _micros(value)
    if type_.startswith("decimal"):
        return str(decimal.Decimal(value))
    if type_.startswith("fixed") or type_ == "binary":
        return value.lower()
    return "a variant" if type_ == "variant" else value


def _canon_read(type_: Any, value: Any) -> Any:
    """A value as pyarrow gives it."""
    if value is None:
        return None
    if isinstance(type_, dict):
        if type_["type"] == "struct":
            return tuple((f["name"], _canon_read(f["type"], value.get(f["name"]))) for f in type_["fields"])
        if type_["type"] == "list":
            return tuple(_canon_read(type_["element"], v) for v in value)
        pairs = value.items() if isinstance(value, dict) else value
        return tuple(
            sorted(((_canon_read(type_["key"], k), _canon_read(type_["value"], v)) for k, v in pairs), key=repr)
        )
    if type_ in ("float", "double"):
        return _float(value, "<f" if type_ == "float" else "<d")
    if type_ == "date":
        return value.isoformat()
    if type_.startswith("timestamp"):
        since = value.replace(tzinfo=None) - _EPOCH
        return (since.days * 86400 + since.seconds) * 10**6 + since.microseconds
    if type_.startswith("decimal"):
        return str(value)
    if type_ == "uuid":
        return str(uuid.UUID(bytes=value)) if isinstance(value, bytes) else str(value)
    if type_.startswith("fixed") or type_ == "binary":
        return bytes(value).hex()
    return "a variant" if type_ == "variant" else value
