"""Metadata tables, beside PyIceberg's and on tables that are odd in ways that no writer here makes them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

UTC = dt.timezone.utc
ALL = [
    *("snapshots", "history", "refs", "metadata_log_entries", "metadata_log"),
    *("manifests", "all_manifests", "entries", "all_entries", "files", "data_files", "delete_files"),
    *("all_files", "all_data_files", "all_delete_files", "partitions"),
]
WITH_AT = ["manifests", "entries", "files", "data_files", "delete_files", "partitions"]


def inspected(table: fz.Table, kind: str, **options: Any) -> pa.Table:
    rows = getattr(table.inspect, kind)(**options)
    rows.validate(full=True)
    return rows


def rewritten(table: fz.Table, change: Callable[[dict[str, Any]], None]) -> fz.Table:
    """The table with changed metadata, as a version of its own."""
    path = Path(table.metadata_location)
    metadata = json.loads(path.read_text("utf-8"))
    change(metadata)
    changed = path.with_name("00099-changed.metadata.json")
    changed.write_text(json.dumps(metadata), "utf-8")
    return fz.open_table(changed)


def plain(value: Any) -> Any:
    match value:
        case float():
            return repr(value)
        case dict():
            return {key: plain(inner) for key, inner in value.items()}
        case list():
            return [plain(inner) for inner in value]
        case _:
            return value


# ---------------------------------------------------------------- beside PyIceberg


@pytest.mark.parametrize("kind", ["snapshots", "history", "refs", "metadata_log_entries"])
@pytest.mark.parametrize("fixture", ["events", "every_type"])
def test_logs_are_pyicebergs(kind: str, fixture: str, request: pytest.FixtureRequest) -> None:
    table = request.getfixturevalue(fixture)
    assert_pyicebergs(table, kind)


@pytest.mark.parametrize("kind", ["manifests", "all_manifests", "files", "data_files", "delete_files", "all_files", "entries"])
@pytest.mark.parametrize("fixture", ["events", "every_type"])
def test_files_are_pyicebergs(kind: str, fixture: str, request: pytest.FixtureRequest) -> None:
    assert_pyicebergs(request.getfixturevalue(fixture), kind)


def assert_pyicebergs(table: fz.Table, kind: str) -> None:
    static = pytest.importorskip("pyiceberg.table").StaticTable.from_metadata(table.metadata_location)
    theirs = getattr(static.inspect, kind)()
    ours = inspected(table, kind)
    print(set(ours.column_names) ^ set(theirs.column_names))
    common = [name for name in ours.column_names if name in theirs.column_names]
    key = lambda row: repr(row)  # noqa: E731
    a = sorted((plain(r) for r in ours.select(common).to_pylist()), key=key)
    b = sorted((plain(r) for r in theirs.select(common).to_pylist()), key=key)
    assert a == b
