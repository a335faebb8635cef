"""Metadata tables: compared with PyIceberg's, and of odd tables that no writer here makes."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from conftest import event_rows
from frazil import _core

UTC = dt.timezone.utc
ALL = [
    *("snapshots", "history", "refs", "metadata_log_entries", "metadata_log"),
    *("manifests", "all_manifests", "entries", "all_entries", "files", "data_files", "delete_files"),
    *("all_files", "all_data_files", "all_delete_files", "partitions", "position_deletes"),
]
WITH_AT = ["manifests", "entries", "files", "data_files", "delete_files", "partitions", "position_deletes"]


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


# ---------------------------------------------------------------- compared with PyIceberg


def agree(ours: Any, theirs: Any) -> bool:
    """Whether a value has what PyIceberg's has. Its timestamps of commits have no zone; it gives tables without
    partitions an empty struct, and nested columns metrics of their own, which are null."""
    match ours, theirs:
        case dict(), dict():
            return all(agree(ours.get(key, {}), inner) for key, inner in theirs.items())
        case dict(), None:
            return not ours
        case dt.datetime(), dt.datetime() if theirs.tzinfo is None:
            return ours.astimezone(UTC).replace(tzinfo=None) == theirs
        case float(), float():
            return ours == theirs or (ours != ours and theirs != theirs)
        case _:
            return ours == theirs


@pytest.mark.parametrize("partition_by", [[], ["day(ts)"], ["country", "bucket(4, id)", "truncate(1, raw)"]])
@pytest.mark.parametrize("version", ["1", "2"])
def test_rows_are_pyicebergs(catalog: fz.Catalog, partition_by: list[str], version: str) -> None:
    tables = pytest.importorskip("pyiceberg.table")
    rows = event_rows(0, 60)
    properties = {"format-version": version}
    table = catalog.create_table("db.t", rows.schema, partition_by=partition_by, properties=properties)
    table.append(rows.slice(0, 30)).append(rows.slice(30))
    theirs = tables.StaticTable.from_metadata(table.metadata_location).inspect
    kinds = ["snapshots", "history", "refs", "metadata_log_entries", "manifests", "all_manifests", "entries", "files"]
    for kind in [*kinds, "data_files", "delete_files", "all_files", "partitions"]:
        expected = getattr(theirs, kind)()
        got = inspected(table, kind)
        assert set(expected.column_names) <= {*got.column_names, "spec_id", "partition"}, kind
        columns = [name for name in got.column_names if name in expected.column_names]
        left, right = got.select(columns).to_pylist(), expected.select(columns).to_pylist()
        assert len(left) == len(right) > (0 if kind != "delete_files" else -1), kind
        if kind in ("partitions", "all_files"):  # PyIceberg's have no order
            left.sort(key=lambda row: repr(row.get("file_path") or row.get("partition")))
            right.sort(key=lambda row: repr(row.get("file_path") or row.get("partition")))
        for ours, other in zip(left, right, strict=True):
            assert agree(ours, {name: other[name] for name in columns}), kind


# ---------------------------------------------------------------- versions of a table


def test_a_version_is_chosen_as_in_a_scan(events: fz.Table) -> None:
    first, second = events.snapshots
    for kind in WITH_AT:
        earlier = inspected(events, kind, at=first.id)
        assert inspected(events, kind, at=first.timestamp).equals(earlier)
        assert inspected(events, kind, at=second.id).equals(inspected(events, kind))
        assert inspected(events, kind, at="main").equals(inspected(events, kind))
        if kind not in ("delete_files", "position_deletes"):
            assert 0 < len(earlier) < len(inspected(events, kind))
    assert sum(inspected(events, "partitions", at=first.id)["record_count"].to_pylist()) == 100
    assert len(events.inspect.all_files()) == len(events.inspect.files())
    assert len(events.inspect.all_manifests()) == 3


def test_versions_that_are_not_there(events: fz.Table) -> None:
    for kind in WITH_AT:
        for at in (17, "nowhere", dt.datetime(1990, 1, 1, tzinfo=UTC)):
            with pytest.raises(fz.NotFoundError):
                getattr(events.inspect, kind)(at=at)
        # Without a zone a time is UTC.
        with pytest.raises(fz.NotFoundError):
            getattr(events.inspect, kind)(at=dt.datetime(1990, 1, 1))
        assert getattr(events.inspect, kind)(at=dt.datetime(2100, 1, 1)) == getattr(events.inspect, kind)()
    for kind in set(ALL) - set(WITH_AT):
        with pytest.raises(fz.InvalidInputError, match="all versions"):
            events._core.inspect(kind, at=_core.At.Snapshot(events.snapshot.id))
    with pytest.raises(fz.InvalidInputError, match="all_entries"):
        events._core.inspect("filez")


@pytest.mark.parametrize("partition_by", [[], ["day(ts)"]])
def test_an_empty_table_has_all_columns(catalog: fz.Catalog, partition_by: list[str]) -> None:
    rows = event_rows(0, 10)
    table = catalog.create_table("db.t", rows.schema, partition_by=partition_by)
    empty = {kind: inspected(table, kind) for kind in ALL}
    assert {kind for kind, found in empty.items() if len(found)} == {"metadata_log_entries", "metadata_log"}
    table.append(rows)
    for kind in ALL:
        assert inspected(table, kind).schema.equals(empty[kind].schema, check_metadata=True)
    assert ("partition" in empty["files"].column_names) == bool(partition_by)
    assert ("spec_id" in empty["partitions"].column_names) == bool(partition_by)


# ---------------------------------------------------------------- values


def test_readable_metrics_have_the_columns_types(every_type: fz.Table) -> None:
    metrics = every_type.inspect.files()["readable_metrics"][0]
    assert list(metrics.keys()) == sorted(metrics.keys())
    nested = {"li.element", "m.key", "m.value", "st.x", "st.y"}
    assert set(metrics.keys()) == {*every_type.schema.names, *nested} - {"li", "m", "st"}
    read = every_type.scan().to_arrow()
    for name in set(every_type.schema.names) & set(metrics.keys()):
        lower = metrics[name]["lower_bound"]
        if name not in {"fix", "u"}:
            assert lower.type == read.schema.field(name).type
        if name not in {"f", "d", "u"}:
            assert lower.as_py() == metrics[name]["upper_bound"].as_py() == read[name][0].as_py()
        assert metrics[name]["value_count"].as_py() == 2
        assert metrics[name]["null_value_count"].as_py() == 1
    assert metrics["f"]["nan_value_count"].as_py() == 1
    assert metrics["st.x"]["upper_bound"].as_py() == 1


def test_maps_are_by_column_id(events: fz.Table) -> None:
    ids = {field.name: field.id for field in events.schema.fields}
    for row in events.inspect.files().to_pylist():
        counts = dict(row["value_counts"])
        assert counts[ids["id"]] == row["record_count"]
        assert (
            int.from_bytes(dict(row["lower_bounds"])[ids["id"]], "little")
            == row["readable_metrics"]["id"]["lower_bound"]
        )
        assert row["readable_metrics"]["id"]["column_size"] == dict(row["column_sizes"])[ids["id"]]


def test_files_agree_with_the_plan(events: fz.Table) -> None:
    files = {row["file_path"]: row for row in events.inspect.files().to_pylist()}
    tasks = list(events.scan().plan_files())
    assert {task.data_file.path for task in tasks} == set(files)
    for task in tasks:
        row = files[task.data_file.path]
        assert row["partition"] == task.data_file.partition
        assert (row["record_count"], row["file_size_in_bytes"]) == (
            task.data_file.record_count,
            task.data_file.size_bytes,
        )


# ---------------------------------------------------------------- odd tables


def test_an_unknown_transform_shows_its_values_as_text(events: fz.Table) -> None:
    def change(metadata: dict[str, Any]) -> None:
        metadata["partition-specs"][0]["fields"][0]["transform"] = "later[3]"

    known, odd = events.inspect.files(), inspected(rewritten(events, change), "files")
    assert odd["partition"].type == pa.struct([("ts_day", pa.string())])
    days = [str(row["ts_day"]) for row in known["partition"].to_pylist()]
    assert [row["ts_day"] for row in odd["partition"].to_pylist()] == days
    assert len(inspected(rewritten(events, change), "partitions")) == len(events.inspect.partitions())


def test_a_dropped_source_leaves_no_partition_field(events: fz.Table) -> None:
    def change(metadata: dict[str, Any]) -> None:
        for schema in metadata["schemas"]:
            schema["fields"] = [field for field in schema["fields"] if field["name"] != "ts"]

    odd = rewritten(events, change)
    for kind in ALL:
        inspected(odd, kind)
    assert "partition" not in odd.inspect.files().column_names
    assert odd.inspect.partitions()["record_count"].to_pylist() == [200]


def test_v1_tables_with_void_fields(catalog: fz.Catalog) -> None:
    """Format version 1 drops a partition field by making it void under the same id."""
    rows = event_rows(0, 20)
    properties = {"format-version": "1"}
    table = catalog.create_table("db.t", rows.schema, partition_by=["country", "day(ts)"], properties=properties)
    table.append(rows)

    def change(metadata: dict[str, Any]) -> None:
        spec = json.loads(json.dumps(metadata["partition-specs"][0]))
        spec["spec-id"] = 1
        spec["fields"][0] |= {"name": "country_1000", "transform": "void"}
        metadata["partition-specs"].append(spec)
        metadata["default-spec-id"] = 1
        metadata["partition-spec"] = spec["fields"]

    odd = rewritten(table, change)
    partition = inspected(odd, "files")["partition"]
    assert partition.type == pa.struct([("country_1000", pa.string()), ("ts_day", pa.date32())])
    assert {row["country_1000"] for row in partition.to_pylist()} == {"NO", "SE", "DK", None}
    assert inspected(odd, "partitions").num_rows == inspected(table, "partitions").num_rows


def test_one_field_id_for_two_things_is_refused(events: fz.Table) -> None:
    def change(metadata: dict[str, Any]) -> None:
        spec = json.loads(json.dumps(metadata["partition-specs"][0]))
        spec["spec-id"] = 1
        spec["fields"][0]["transform"] = "hour"
        metadata["partition-specs"].append(spec)

    odd = rewritten(events, change)
    with pytest.raises(fz.UnsupportedError, match="field id 1000"):
        odd.inspect.files()
    assert len(odd.inspect.manifests()) == 2


def test_inline_manifests_have_no_counts(catalog: fz.Catalog) -> None:
    """Old v1 snapshots name their manifests without a list that could say anything of them."""
    rows = event_rows(0, 10)
    properties = {"format-version": "1"}
    table = catalog.create_table("db.t", rows.schema, partition_by=["country"], properties=properties).append(rows)
    listed = table.inspect.manifests()

    def change(metadata: dict[str, Any]) -> None:
        for snapshot in metadata["snapshots"]:
            del snapshot["manifest-list"]
            snapshot["manifests"] = listed["path"].to_pylist()

    odd = rewritten(table, change)
    (manifest,) = inspected(odd, "manifests").to_pylist()
    assert manifest["path"] == listed["path"][0].as_py()
    assert manifest["added_data_files_count"] is None
    assert manifest["added_delete_files_count"] == 0
    assert manifest["partition_summaries"] is None
    assert odd.inspect.snapshots()["manifest_list"].to_pylist() == [None]
    assert odd.inspect.files().equals(table.inspect.files())


def test_missing_manifests_are_named(events: fz.Table) -> None:
    path = Path(events.inspect.manifests()["path"][0].as_py())
    path.unlink()
    for kind in ("files", "entries", "partitions", "all_files"):
        with pytest.raises(fz.NotFoundError, match=path.name):
            getattr(events.inspect, kind)()
    assert len(events.inspect.manifests()) == 2


def test_inspect_goes_with_the_table(events: fz.Table) -> None:
    inspect = events.inspect
    events.append(event_rows(200, 5))
    assert (len(inspect.snapshots()), len(events.inspect.snapshots())) == (2, 3)
    assert events.location in repr(inspect)
