"""Catalogs and tables: make, open, look, append, commit."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import frazil as fz
from conftest import event_rows


def test_catalog(catalog: fz.Catalog, tmp_path: Path) -> None:
    assert catalog.list_namespaces() == ["db"]
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_namespace("db")
    catalog.create_namespace("db", if_not_exists=True)
    catalog.create_namespace("empty")
    schema = pa.schema([("id", pa.int64())])
    assert not catalog.table_exists("db.t")
    table = catalog.create_table("db.t", schema)
    assert catalog.table_exists("db.t")
    assert catalog.list_tables("db") == ["db.t"]
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_table("db.t", schema)
    with pytest.raises(fz.NotFoundError):
        catalog.create_table("nowhere.t", schema)
    assert catalog.load_table("db.t").uuid == table.uuid
    assert Path(fz.open_table(table.location.removeprefix("file://")).location) == Path(table.location)
    catalog.drop_table("db.t")
    with pytest.raises(fz.NotFoundError):
        catalog.load_table("db.t")
    with pytest.raises(fz.NotFoundError):
        catalog.drop_table("db.t")
    catalog.drop_namespace("empty")
    assert catalog.list_namespaces() == ["db"]
    assert catalog.name == "test"
    assert catalog.properties["warehouse"] == os.fspath(tmp_path / "warehouse")


def test_catalogs_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(fz.StoreError, match="cannot connect"):
        fz.catalog(type="rest", uri="http://127.0.0.1:1", **{"rest.client.max-retries": "0"})
    with pytest.raises(fz.FrazilError):
        fz.catalog(type="no such type", warehouse=tmp_path)
    with pytest.raises(fz.InvalidInputError, match="warehouse"):
        fz.catalog()


def test_create_with_everything(catalog: fz.Catalog, tmp_path: Path) -> None:
    schema = fz.Schema(event_rows(0, 1).schema)
    table = catalog.create_table(
        "db.t",
        schema,
        partition_by=["day(ts)", "bucket(16, id)", "country"],
        sort_by=["ts desc nulls last", "id"],
        properties={"format-version": 1, "owner": "me", "write.metadata.compression": "none"},
    )
    assert (table.format, table.format_version) == ("iceberg", 1)
    assert table.location.removeprefix("file://") == str(tmp_path / "warehouse" / "db" / "t")
    spec = table.partition_spec
    assert [(f.transform, f.source_id) for f in spec.fields] == [
        ("day", table.schema.field("ts").id),
        ("bucket[16]", table.schema.field("id").id),
        ("identity", table.schema.field("country").id),
    ]
    assert all(f.field_id >= 1000 for f in spec.fields)
    order = table.sort_order.fields
    assert [(f.source_id, f.descending, f.nulls_first) for f in order] == [
        (table.schema.field("ts").id, True, False),
        (table.schema.field("id").id, False, True),
    ]
    assert str(table.sort_order).startswith(f"[{order[0].column} desc nulls last, ")
    assert table.properties["owner"] == "me"
    assert table.snapshot is None
    assert table.snapshots == []
    assert list(table.refs) == []
    assert table.scan().to_arrow().num_rows == 0
    assert "empty" in repr(table)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_append_makes_a_snapshot(catalog: fz.Catalog, version: int) -> None:
    rows = event_rows(0, 50)
    table = catalog.create_table("db.t", rows.schema, properties={"format-version": version})
    before = dt.datetime.now(dt.timezone.utc) - dt.timedelta(seconds=1)
    assert table.append(rows) is table
    first = table.snapshot
    assert first is not None
    assert first.parent_id is None
    assert first.operation == "append"
    assert first.summary["added-records"] == "50"
    assert before < first.timestamp < dt.datetime.now(dt.timezone.utc) + dt.timedelta(seconds=1)
    table.append(rows)
    assert table.snapshot.parent_id == first.id
    assert [s.id for s in table.snapshots] == [first.id, table.snapshot.id]
    assert table.refs["main"].snapshot_id == table.snapshot.id
    assert table.refs["main"].type == "branch"
    assert "main" in table.refs
    assert "other" not in table.refs
    with pytest.raises(fz.NotFoundError, match="main"):
        table.refs["other"]
    assert table.scan().count() == 100
    assert table.scan(at=first.id).count() == 50


def test_refresh(catalog: fz.Catalog, events: fz.Table) -> None:
    other = catalog.load_table("db.events")
    events.append(event_rows(200, 10))
    assert other.scan().count() == 200
    assert other.refresh() is other
    assert other.scan().count() == 210
    assert other.metadata_location == events.metadata_location


def test_both_of_two_appends_stay(catalog: fz.Catalog, events: fz.Table) -> None:
    other = catalog.load_table("db.events")
    events.append(event_rows(200, 10))
    other.append(event_rows(300, 10))
    assert other.scan().count() == 220


ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "s": pa.array(["a", None])})


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(ROWS, id="pyarrow-table"),
        pytest.param(ROWS.to_batches()[0], id="pyarrow-batch"),
        pytest.param(lambda: ROWS.to_reader(), id="pyarrow-reader"),
        pytest.param(pl.from_arrow(ROWS), id="polars"),
        pytest.param(lambda: duckdb.from_arrow(ROWS), id="duckdb"),
        pytest.param(pd.DataFrame({"id": [1, 2], "s": ["a", None]}, index=[5, 6]), id="pandas"),
        pytest.param(
            lambda: pa.RecordBatchReader.from_batches(ROWS.schema, (b for b in ROWS.to_batches())), id="generator"
        ),
        pytest.param(ROWS.select(["s", "id"]), id="other-order"),
    ],
)
def test_append_takes(catalog: fz.Catalog, data: object) -> None:
    table = catalog.create_table("db.t", ROWS.schema)
    table.append(data() if callable(data) else data)
    assert table.scan().to_arrow().to_pylist() == ROWS.to_pylist()


def test_append_takes_a_scan(catalog: fz.Catalog, events: fz.Table) -> None:
    copy = catalog.create_table("db.copy", events.schema)
    copy.append(events.scan("id < 10"))
    assert copy.scan().count() == 10


@pytest.mark.parametrize(
    ("data", "way"),
    [
        (None, "__arrow_c_stream__"),
        (1, "__arrow_c_stream__"),
        (object(), "__arrow_c_stream__"),
        ("rows", "read_table"),
        ([1, 2], "pyarrow.table"),
        ({"id": [1]}, r"pyarrow.table\(data\)"),
    ],
)
def test_append_refuses(events: fz.Table, data: object, way: str) -> None:
    with pytest.raises(fz.InvalidInputError, match=way):
        events.append(data)


def test_append_refuses_what_does_not_fit(events: fz.Table) -> None:
    before = events.snapshot.id
    with pytest.raises(fz.InvalidInputError, match="surprise"):
        events.append(event_rows(0, 1).append_column("surprise", pa.array([1])))
    with pytest.raises(fz.InvalidInputError, match="country"):
        events.append(event_rows(0, 1).drop(["country"]).append_column("country", pa.array([1.5])))
    assert events.refresh().snapshot.id == before


def test_a_reader_is_used_up(events: fz.Table) -> None:
    reader = event_rows(0, 5).to_reader()
    events.append(reader)
    assert events.scan().count() == 205
    with pytest.raises((fz.FrazilError, pa.ArrowInvalid, ValueError)):
        events.append(reader.__arrow_c_stream__())


def test_a_generator_that_was_started_is_refused(events: fz.Table) -> None:
    parts = (event_rows(first, 5) for first in (1000, 1005, 1010))
    assert next(parts).num_rows == 5
    with pytest.raises(fz.InvalidInputError, match="the generator was started before, so its first rows would") as said:
        events.append(parts)
    assert "itertools.chain([first], generator)" in str(said.value)
    assert str(said.value).endswith("list(generator)")
    assert events.refresh().scan().count() == 200
    assert events.append(list(parts)).scan().count() == 210
    with pytest.raises(fz.InvalidInputError, match="A generator may have been read before"):
        events.append(parts)


def test_an_error_in_the_stream_commits_nothing(events: fz.Table) -> None:
    rows = event_rows(0, 5)
    data = Path(events.location.removeprefix("file://"))
    files = sorted(p for p in data.rglob("*.parquet"))

    def batches():
        yield from rows.to_batches()
        raise RuntimeError("the source dried up")

    before = events.snapshot.id
    with pytest.raises(RuntimeError, match="the source dried up"):
        events.append(pa.RecordBatchReader.from_batches(rows.schema, batches()))
    assert events.refresh().snapshot.id == before
    assert sorted(p for p in data.rglob("*.parquet")) == files


def test_distributed_write(events: fz.Table) -> None:
    messages = [events.writer(task).write(event_rows(1000 * task, 30)) for task in (1, 2)]
    assert [m.record_count for m in messages] == [30, 30]
    assert all(m.table_uuid == events.uuid for m in messages)
    partitions = {f.partition["ts_day"] for f in messages[0].files}
    assert all(isinstance(p, dt.date) for p in partitions)
    before = events.snapshot.id
    assert events.commit(messages, {"engine-name": "test"}) is events
    assert events.snapshot.parent_id == before
    assert events.snapshot.summary["engine-name"] == "test"
    assert events.snapshot.summary["added-records"] == "60"
    assert events.scan().count() == 260


def test_abort_deletes_the_files(events: fz.Table) -> None:
    message = events.writer().write(event_rows(0, 5))
    paths = [Path(f.path.removeprefix("file://")) for f in message.files]
    assert all(p.exists() for p in paths)
    events.abort([message])
    assert not any(p.exists() for p in paths)


def test_partition_values_are_python_objects(catalog: fz.Catalog) -> None:
    rows = event_rows(3, 1)
    table = catalog.create_table(
        "db.t",
        rows.schema,
        partition_by=["ts", "day", "amount", "score", "raw", "ok", "year(ts)", "bucket(4, id)", "truncate(1, country)"],
    )
    (task,) = table.append(rows).scan().plan_files()
    partition = task.data_file.partition
    values = list(partition.values())
    row = rows.to_pylist()[0]
    assert values[:6] == [row["ts"], row["day"], row["amount"], row["score"], row["raw"], row["ok"]]
    assert values[0].tzinfo is not None
    assert values[6] == 53
    assert values[7] in range(4)
    assert values[8] is None


def test_schema(events: fz.Table) -> None:
    schema = events.schema
    assert schema.names == event_rows(0, 1).schema.names
    assert len(schema) == 9
    assert schema.field("id").type == "long"
    assert schema.field("amount").type == "decimal(12, 2)"
    assert schema.field("payload.tags.element").type == "string"
    assert [f.name for f in schema.field("payload").children] == ["a", "b", "tags"]
    assert "payload: optional struct<" in str(schema)
    with pytest.raises(fz.NotFoundError, match="country"):
        schema.field("nope")
    assert schema == fz.Schema.from_json(schema.to_json())
    assert hash(schema) == hash(fz.Schema.from_json(schema.to_json()))
    assert schema != fz.Schema(pa.schema([("a", pa.int32())]))
    arrow = schema.to_arrow()
    assert arrow.names == schema.names
    assert arrow.field("ts").type == pa.timestamp("us", tz="UTC")
    assert fz.Schema(pa.schema(schema)).names == schema.names
    with pytest.raises(fz.InvalidInputError, match="is not an Arrow schema"):
        fz.Schema({"id": "long"})


@pytest.mark.parametrize("location", [None, 5, b"/tmp"])
def test_wrong_locations(location: object) -> None:
    with pytest.raises(fz.InvalidInputError):
        fz.open_table(location)


def test_wrong_arguments(catalog: fz.Catalog) -> None:
    schema = pa.schema([("id", pa.int64())])
    with pytest.raises(fz.InvalidInputError, match="partition_by"):
        catalog.create_table("db.t", schema, partition_by=1)
    with pytest.raises(fz.InvalidInputError):
        catalog.create_table("db.t", schema, partition_by=["wrong(id)"])
    with pytest.raises(fz.InvalidInputError):
        catalog.create_table("db.t", schema, sort_by=["nope"])
    with pytest.raises(fz.InvalidInputError, match="delta"):
        catalog.create_table("db.t", schema, format="delta")
    with pytest.raises(fz.InvalidInputError):
        catalog.create_table("db.t", {"id": "long"})
    with pytest.raises(fz.InvalidInputError, match="location"):
        catalog.create_table("db.t", schema, location="/elsewhere")
    with pytest.raises(fz.InvalidInputError):
        catalog.create_table("db.t", schema, properties=["a"])
    assert not catalog.table_exists("db.t")
