"""Columns of type BLOB of Paimon tables, whose values are in files of their own."""

import datetime as dt
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

OPTIONS = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true", "blob-field": "pic"}
SCHEMA = pa.schema([("id", pa.int32()), ("part", pa.string()), ("pic", pa.binary())])


def rows(ids: range) -> pa.Table:
    pictures = [None if i % 5 == 2 else bytes([i % 256]) * i for i in ids]
    return pa.table([list(ids), [f"p{i % 2}" for i in ids], pictures], schema=SCHEMA)


def create(folder: Path, options: dict[str, str] | None = None, by: list[str] | None = None) -> fz.Table:
    catalog = fz.catalog("blobs", warehouse=str(folder))
    catalog.create_namespace("db", if_not_exists=True)
    properties = {**OPTIONS, **(options or {})}
    return catalog.create_table("db.t", SCHEMA, by or [], format="paimon", properties=properties)


def found(table: fz.Table, **scan: Any) -> list[dict[str, Any]]:
    return sorted(table.scan(**scan).to_arrow().to_pylist(), key=lambda row: row["id"])


def blob_files(table: fz.Table) -> list[Path]:
    return sorted(Path(table.location).rglob("*.blob"))


def test_values_come_back(tmp_path: Path) -> None:
    table = create(tmp_path, {"target-file-size": "2 kb"}, ["part"])
    schema = json.loads((Path(table.location) / "schema" / "schema-0").read_text())
    assert [field["type"] for field in schema["fields"]] == ["INT", "STRING", "BLOB"]
    table = table.append(rows(range(100)))
    table = table.append(rows(range(100, 150)))
    assert found(table) == rows(range(150)).to_pylist()
    assert found(table, filter="part = 'p1' and id < 20", select=["pic", "id"]) == [
        {"pic": row["pic"], "id": row["id"]} for row in rows(range(20)).to_pylist() if row["id"] % 2
    ]
    assert table.scan(filter="pic is null").count() == 30
    assert table.scan(select=["id"]).count() == table.scan().count() == 150
    values = table.scan(filter="id in (3, 6)", select=["pic"]).to_arrow()
    assert sorted(values["pic"].to_pylist()) == [b"\3" * 3, b"\6" * 6]
    ids = table.scan(select=["_row_id", "id", "pic"]).to_arrow().to_pylist()
    assert len({row["_row_id"] for row in ids}) == 150


def test_large_values_come_in_small_batches(tmp_path: Path) -> None:
    table = create(tmp_path)
    value = bytes(range(256)) * 70_000
    data = pa.table([[1, 2, 3], ["a"] * 3, [value, None, value[1:]]], schema=SCHEMA)
    table = table.append(data)
    batches = [batch["pic"].to_pylist() for batch in table.scan(select=["pic"]).to_arrow_batch_reader()]
    assert batches == [[value], [None, value[1:]]]
    assert found(table) == data.to_pylist()


def test_messages_of_other_processes(tmp_path: Path) -> None:
    table = create(tmp_path, {"blob.target-file-size": "100 b"})
    messages = [table.writer().write(rows(range(start, start + 30))) for start in (0, 30)]
    messages = [pickle.loads(pickle.dumps(message)) for message in messages]
    table = table.commit(messages)
    assert found(table) == rows(range(60)).to_pylist()
    assert len(blob_files(table)) > 4
    for split in table.scan().plan():
        again = pickle.loads(pickle.dumps(split))
        assert again.to_arrow().num_rows > 0


def test_maintenance_keeps_and_removes_blobs(tmp_path: Path) -> None:
    table = create(tmp_path)
    table = table.append(rows(range(10)))
    first = set(blob_files(table))
    table = table.overwrite(rows(range(10, 20)))
    assert len(blob_files(table)) == 2
    removed = table.maintain.remove_orphan_files(older_than=dt.timedelta(0))
    assert len(blob_files(table)) == 2, removed
    table.maintain.expire_snapshots(retain_last=1, older_than=dt.timedelta(0))
    assert len(blob_files(table)) == 1
    assert not first & set(blob_files(table))
    assert found(fz.open_table(table.location)) == rows(range(10, 20)).to_pylist()


def test_a_failed_append_leaves_no_blobs(tmp_path: Path) -> None:
    table = create(tmp_path, {"blob.target-file-size": "100 b"})

    def batches() -> Iterator[pa.RecordBatch]:
        yield from rows(range(100)).to_batches()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        table.append(pa.RecordBatchReader.from_batches(SCHEMA, batches()))
    assert blob_files(table) == []


def test_deleted_rows_have_no_values(tmp_path: Path) -> None:
    options = {"deletion-vectors.enabled": "true", "blob.target-file-size": "60 b"}
    table = create(tmp_path, options, by=["part"]).append(rows(range(20))).append(rows(range(20, 30)))
    files = blob_files(table)
    assert len(files) > 6
    table = table.delete("id in (0, 5, 19, 20) or pic is null")
    left = [row for row in rows(range(30)).to_pylist() if row["id"] not in (0, 5, 19, 20) and row["pic"] is not None]
    assert found(table) == left
    assert found(table, select=["pic", "id"]) == [{"pic": row["pic"], "id": row["id"]} for row in left]
    assert table.scan().count() == len(left)
    assert blob_files(table) == files
    with pytest.raises(fz.UnsupportedError, match="BLOB"):
        table.maintain.materialize_deletion_vectors()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"blob-field": "picture"}, "no column 'picture'"),
        ({"blob-field": "id"}, "can't be of type BLOB"),
    ],
)
def test_columns_that_can_not_have_the_type(tmp_path: Path, options: dict[str, str], reason: str) -> None:
    catalog = fz.catalog("blobs", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    with pytest.raises(fz.InvalidInputError, match=reason):
        catalog.create_table("db.t", SCHEMA, format="paimon", properties={**OPTIONS, **options})


@pytest.mark.parametrize(
    ("schema", "options", "reason"),
    [
        (SCHEMA, {"data-evolution.enabled": "false"}, "need data evolution"),
        (pa.schema([("pic", pa.binary())]), {}, "not of type BLOB"),
    ],
)
def test_tables_that_java_refuses(tmp_path: Path, schema: pa.Schema, options: dict[str, str], reason: str) -> None:
    catalog = fz.catalog("blobs", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    with pytest.raises(fz.InvalidInputError, match=reason):
        catalog.create_table("db.t", schema, format="paimon", properties={**OPTIONS, **options})


def test_schema_changes_that_java_refuses(tmp_path: Path) -> None:
    table = create(tmp_path).append(rows(range(3)))
    with pytest.raises(fz.InvalidInputError, match="BLOB can't be renamed"):
        rename(table)
    with pytest.raises(fz.InvalidInputError, match="blob-field"):
        table.set_properties({"blob-field": "part"})


def rename(table: fz.Table) -> None:
    with table.update_schema() as update:
        update.rename_column("pic", "image")


def test_descriptors_do_not_become_values(tmp_path: Path) -> None:
    table = create(tmp_path, {"blob-as-descriptor": "true"}).append(rows(range(4)))
    described = table.scan(filter="id = 1").to_arrow()
    assert described["pic"][0].as_py().startswith(b"\x02CSEDBOLB")
    with pytest.raises(fz.UnsupportedError, match=r"descriptors.*pic"):
        table.append(described)
    values = table.scan(options={"blob-as-descriptor": "false"}).to_arrow()
    assert sorted(values.to_pylist(), key=lambda row: row["id"]) == rows(range(4)).to_pylist()
    table = table.update("pic = X'01'", {"part": "found"})
    assert found(table, filter="part = 'found'", select=["id"]) == [{"id": 1}]


def test_claims_of_sizes_take_no_memory(tmp_path: Path) -> None:
    """A sparse file of 900 MB that claims as many nulls: the table records three rows."""
    table = create(tmp_path).append(rows(range(3)))
    (path,) = blob_files(table)
    claimed = 900_000_000
    with path.open("wb") as file:
        file.write(b"\1")
        file.seek(claimed)
        file.write(claimed.to_bytes(4, "little") + b"\1")
    with pytest.raises(fz.CorruptTableError, match=path.name):
        table.scan().to_arrow()


def test_the_doctor_reads_values(tmp_path: Path) -> None:
    table = create(tmp_path).append(rows(range(10))).update("id = 1", {"part": "x"})
    assert [finding for finding in table.doctor(deep=True).findings if finding.severity == "error"] == []
    (path,) = blob_files(table)
    sound = path.read_bytes()
    path.write_bytes(sound[:40] + bytes([sound[40] ^ 1]) + sound[41:])
    damaged = [finding for finding in table.doctor(deep=True).findings if finding.severity == "error"]
    assert [(finding.code, Path(finding.object).name) for finding in damaged] == [("file-damaged", path.name)]


def test_damaged_values_are_refused(tmp_path: Path) -> None:
    table = create(tmp_path).append(rows(range(10)))
    (path,) = blob_files(table)
    sound = path.read_bytes()
    path.write_bytes(sound[:40] + bytes([sound[40] ^ 1]) + sound[41:])
    with pytest.raises(fz.CorruptTableError, match=path.name):
        table.scan().to_arrow()
    assert table.scan(select=["id"]).to_arrow().num_rows == 10
    path.write_bytes(sound[:-1])
    with pytest.raises(fz.FrazilError, match=path.name):
        table.scan().to_arrow()


def test_later_changes_of_columns_win(tmp_path: Path) -> None:
    """Files of one append must not look newer than a later commit: their sequence number is the commit's."""
    table = create(tmp_path, {"target-file-size": "4 kb"}).append(rows(range(20_000)))
    files = table.inspect.data_files().to_pylist()
    assert len(files) > 3
    assert {(file["min_sequence_number"], file["max_sequence_number"]) for file in files} == {(1, 1)}
