"""Statistics files: what they hold, how long the table has them, and what of them is refused."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.table import StaticTable

import frazil as fz
from conftest import event_rows
from frazil.maintain import ColumnStatistics, PartitionStatistics

NOW = dt.timedelta(0)

THETA = "apache-datasketches-theta-v1"


def footer(path: str) -> dict[str, Any]:
    """The payload of a Puffin file's footer, read by hand."""
    content = Path(path.removeprefix("file:")).read_bytes()
    (size,) = struct.unpack("<i", content[-12:-8])
    parsed: dict[str, Any] = json.loads(content[-12 - size : -12])
    assert content[:4] == content[-4:] == content[-16 - size : -12 - size] == b"PFA1"
    return parsed


def recorded(table: fz.Table, kind: str = "statistics") -> list[dict[str, Any]]:
    """What the metadata says of the table's statistics files."""
    metadata = json.loads(Path(table.metadata_location.removeprefix("file:")).read_text("utf-8"))
    found: list[dict[str, Any]] = metadata.get(kind, [])
    return found


def distinct(table: fz.Table, **arguments: Any) -> dict[str, int]:
    done = table.maintain.compute_statistics(**arguments)
    assert done is not None
    return done.distinct


def test_values_are_counted_exactly_while_there_are_few(events: fz.Table) -> None:
    done = events.maintain.compute_statistics()
    assert isinstance(done, ColumnStatistics)
    assert done.distinct == {
        "id": 200,
        "country": 3,
        "ts": 200,
        "day": 9,
        "amount": 200,
        "score": 181,
        "raw": 200,
        "ok": 2,
    }
    (file,) = recorded(events)
    assert (file["snapshot-id"], file["statistics-path"]) == (events.snapshot.id, done.path)
    assert file["file-size-in-bytes"] == done.size_bytes == Path(done.path.removeprefix("file:")).stat().st_size
    told = footer(done.path)
    blobs = [{key: blob[key] for key in file["blob-metadata"][0]} for blob in told["blobs"]]
    assert blobs == file["blob-metadata"]
    assert {blob["type"] for blob in blobs} == {THETA}
    assert [blob["properties"] for blob in blobs] == [{"ndv": str(n)} for n in done.distinct.values()]
    assert told["properties"]["created-by"].startswith("frazil ")
    assert file["file-footer-size-in-bytes"] == done.size_bytes - max(b["offset"] + b["length"] for b in told["blobs"])


def test_pyiceberg_reads_the_statistics(events: fz.Table) -> None:
    done = events.maintain.compute_statistics(columns=["payload.b", "country"])
    assert done is not None
    assert done.distinct == {"payload.b": 160, "country": 3}
    (file,) = StaticTable.from_metadata(events.metadata_location).metadata.statistics
    assert (file.snapshot_id, file.statistics_path) == (events.snapshot.id, done.path)
    assert [blob.properties for blob in file.blob_metadata] == [{"ndv": "160"}, {"ndv": "3"}]
    assert [blob.fields for blob in file.blob_metadata] == [[11], [2]] or file.blob_metadata[1].fields == [2]


def test_every_type_is_counted(every_type: fz.Table) -> None:
    counted = distinct(every_type)
    # Binary without bytes does not count.
    assert counted == {name: int(name != "bin") for name in counted}
    assert {"u", "fix", "dec", "date", "f"} <= counted.keys()
    assert distinct(every_type, columns=["st.x"]) == {"st.x": 1}


def test_deleted_rows_and_other_snapshots(events: fz.Table) -> None:
    first, second = events.snapshots
    events.delete("id >= 50")
    assert distinct(events, columns=["id"]) == {"id": 50}
    assert distinct(events, columns=["id"], snapshot=first.id) == {"id": 100}
    assert distinct(events, columns=["id"], snapshot=second.id) == {"id": 200}
    assert [file["snapshot-id"] for file in recorded(events)] == [events.snapshot.id, first.id, second.id]
    # A snapshot has one file; the older one stays where it is.
    before = recorded(events)[2]["statistics-path"]
    assert distinct(events, snapshot=second.id, columns=["ok"]) == {"ok": 2}
    assert len(recorded(events)) == 3
    assert recorded(events)[2]["statistics-path"] != before
    assert Path(before.removeprefix("file:")).exists()
    assert len(events.snapshots) == 3
    assert events.scan().count() == 50


@settings(max_examples=15, deadline=None)
@given(
    counts=st.lists(st.integers(1, 30_000), min_size=1, max_size=4),
    overlap=st.integers(0, 5_000),
    seed=st.integers(0, 2**32),
)
def test_estimates_are_near(
    tmp_path_factory: pytest.TempPathFactory, counts: list[int], overlap: int, seed: int
) -> None:
    catalog = fz.catalog("near", warehouse=tmp_path_factory.mktemp("near"))
    catalog.create_namespace("db")
    values = random.Random(seed)
    seen: set[int] = set()
    table = None
    for count in counts:
        ids = [values.randrange(2**62) for _ in range(count)] + sorted(seen)[:overlap]
        seen.update(ids)
        rows = pa.table({"id": pa.array(ids, pa.int64()), "text": pa.array([f"{i:x}" for i in ids])})
        table = table or catalog.create_table("db.t", rows.schema)
        table.append(rows)
    assert table is not None
    found = distinct(table)
    for name in ("id", "text"):
        if len(seen) <= 4096:
            assert found[name] == len(seen)
        else:
            assert math.isclose(found[name], len(seen), rel_tol=0.08)
    assert found == distinct(fz.open_table(table.location))


def test_expiry_takes_the_files_and_orphan_removal_leaves_them(events: fz.Table) -> None:
    first = events.snapshots[0]
    old = [events.maintain.compute_statistics(snapshot=first.id), _partitions(events, first.id)]
    new = [events.maintain.compute_statistics(), _partitions(events)]
    assert events.maintain.remove_orphan_files(older_than=NOW, dry_run=True).files == []
    done = events.maintain.expire_snapshots(older_than=NOW)
    assert sorted(done.statistics_files) == sorted(file.path for file in old if file)
    for file in old:
        assert file
        assert not Path(file.path.removeprefix("file:")).exists()
    for kind, file in zip(("statistics", "partition-statistics"), new, strict=True):
        assert file
        assert [f["statistics-path"] for f in recorded(events, kind)] == [file.path]
        assert Path(file.path.removeprefix("file:")).exists()


def test_without_snapshots_there_are_no_statistics(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.empty", event_rows(0, 1).schema, partition_by=["day(ts)"])
    assert table.maintain.compute_statistics() is None
    assert table.maintain.compute_partition_statistics() is None
    table.append(event_rows(0, 3)).delete("true")
    assert set(distinct(table).values()) == {0}


def test_what_is_refused(events: fz.Table, catalog: fz.Catalog) -> None:
    maintain = events.maintain
    with pytest.raises(fz.InvalidInputError, match="no such column"):
        maintain.compute_statistics(columns=["nope"])
    for column in ("payload", "payload.tags", "payload.tags.element"):
        with pytest.raises(fz.InvalidInputError, match="counted"):
            maintain.compute_statistics(columns=[column])
    with pytest.raises(fz.InvalidInputError, match="no columns"):
        maintain.compute_statistics(columns=[])
    for compute in (maintain.compute_statistics, maintain.compute_partition_statistics):
        with pytest.raises(fz.NotFoundError, match="no such snapshot"):
            compute(snapshot=7)
    table = catalog.create_table("db.plain", event_rows(0, 1).schema).append(event_rows(0, 1))
    with pytest.raises(fz.InvalidInputError, match="not partitioned"):
        table.maintain.compute_partition_statistics()
    assert recorded(events) == []


# ---------------------------------------------------------------- partitions


def _partitions(table: fz.Table, snapshot: int | None = None) -> PartitionStatistics | None:
    return table.maintain.compute_partition_statistics(snapshot)


def partition_rows(table: fz.Table, snapshot: int | None = None) -> pa.Table:
    done = _partitions(table, snapshot)
    assert done is not None
    assert [f for f in recorded(table, "partition-statistics") if f["snapshot-id"] == done.snapshot_id] == [
        {"snapshot-id": done.snapshot_id, "statistics-path": done.path, "file-size-in-bytes": done.size_bytes}
    ]
    # Not by its path alone: pyarrow would take folders named a=b for columns.
    return pq.ParquetFile(done.path.removeprefix("file:")).read()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_partitions_are_those_that_inspect_shows(catalog: fz.Catalog, version: int) -> None:
    rows = event_rows(0, 200)
    properties = {"format-version": str(version)} | ({"write.delete.mode": "merge-on-read"} if version > 1 else {})
    table = catalog.create_table("db.t", rows.schema, partition_by=["country", "day(ts)"], properties=properties)
    table.append(rows.slice(0, 150)).append(rows.slice(150))
    table.delete("id in (3, 5, 77)")
    found = partition_rows(table)
    shown = table.inspect.partitions()
    keys = [(r["partition"]["country"] is not None, *r["partition"].values()) for r in found.to_pylist()]
    assert keys == sorted(keys, key=lambda k: (k[0], k[1] or "", k[2]))
    by_partition = {tuple(r["partition"].values()): r for r in shown.to_pylist()}
    assert len(by_partition) == found.num_rows == 36
    for row in found.to_pylist():
        other = by_partition[tuple(row["partition"].values())]
        assert row["data_record_count"] == other["record_count"]
        assert row["data_file_count"] == other["file_count"]
        assert row["total_data_file_size_in_bytes"] == other["total_data_file_size_in_bytes"]
        assert row["position_delete_record_count"] == other["position_delete_record_count"]
        files = row["position_delete_file_count"] + row.get("dv_count", 0)
        assert files == other["position_delete_file_count"]
        assert row["spec_id"] == other["spec_id"]
        assert row["last_updated_snapshot_id"] == other["last_updated_snapshot_id"] or version == 1
        assert row["total_record_count"] is None
    ids = {f.name: int(f.metadata[b"PARQUET:field_id"]) for f in found.schema}
    assert list(ids.values())[:12] == list(range(1, 13))
    assert ids.get("dv_count") == (13 if version == 3 else None)
    if version == 3:
        assert sum(found["dv_count"].to_pylist()) == sum(found["position_delete_record_count"].to_pylist()) == 3
    required = {f.name for f in found.schema if not f.nullable}
    assert ("equality_delete_file_count" in required) == (version == 3)
    assert {"partition", "spec_id", "data_file_count"} <= required


def test_partitions_of_an_evolved_spec(events: fz.Table) -> None:
    with events.update_partition_spec() as spec:
        spec.add_field("country")
    events.append(event_rows(200, 10)).delete("id < 30")
    found = partition_rows(events)
    assert set(found["spec_id"].to_pylist()) == {0, 1}
    assert sum(found["data_record_count"].to_pylist()) == events.scan().count()
    assert [f.name for f in found.schema.field("partition").type] == ["ts_day", "country"]
    # Partitions that lost their last file are there, as changed by the snapshot that removed it: what was left of the
    # second went to partitions of the new spec.
    gone = [row for row in found.to_pylist() if row["data_file_count"] == 0]
    assert [row["partition"]["ts_day"] for row in gone] == [dt.date(2023, 1, 1), dt.date(2023, 1, 2)]
    assert {row["last_updated_snapshot_id"] for row in gone} == {events.snapshot.id}


def test_partition_statistics_stay_once_they_are_there(events: fz.Table) -> None:
    first = _partitions(events)
    version = events.metadata_location
    assert _partitions(events) == first
    assert events.metadata_location == version
    old = partition_rows(events, events.snapshots[0].id)
    assert sum(old["data_record_count"].to_pylist()) == 100
    assert len(recorded(events, "partition-statistics")) == 2
