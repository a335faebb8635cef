"""Delete files written again, and those that delete nothing removed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.int32())])
MOR = {"write.delete.mode": "merge-on-read"}


def rows(first: int, count: int, p: int = 0) -> pa.Table:
    return pa.table([list(range(first, first + count)), [p] * count], schema=SCHEMA)


def read(table: fz.Table, at: Any = None) -> list[int]:
    return sorted(fz.open_table(table.location).scan(at=at).to_arrow()["id"].to_pylist())


def deletes(table: fz.Table) -> list[dict[str, Any]]:
    return [f for f in table.inspect.files().to_pylist() if f["content"] != 0]


def make(catalog: fz.Catalog, version: int = 2, by: list[str] | None = None, **more: str) -> fz.Table:
    properties = {"format-version": str(version), **MOR, **{k.replace("_", "."): v for k, v in more.items()}}
    return catalog.create_table("db.t", SCHEMA, partition_by=by or [], properties=properties)


@pytest.mark.parametrize("granularity", ["file", "partition"])
def test_small_delete_files_are_put_together(catalog: fz.Catalog, granularity: str) -> None:
    table = make(catalog, 2, ["p"], write_delete_granularity=granularity)
    for p in (0, 1):
        table.append(rows(100 * p, 10, p)).append(rows(100 * p + 10, 10, p))
    for i in (1, 2, 3, 11, 12, 101):
        table.delete(f"id = {i}")
    expected = read(table)
    maintain = table.maintain
    planned = maintain.rewrite_position_deletes(dry_run=True)
    assert (planned.rewritten_files, planned.added_files) == (5, 0)
    assert maintain.rewrite_position_deletes(min_input_files=6).rewritten_files == 0
    done = maintain.rewrite_position_deletes(snapshot_properties={"by": "me"})
    assert (done.rewritten_files, done.rewritten_bytes) == (5, planned.rewritten_bytes)
    assert done.added_files == (2 if granularity == "file" else 1)
    assert read(table) == expected
    assert sorted(f["record_count"] for f in deletes(table)) == ([1, 2, 3] if granularity == "file" else [1, 5])
    assert table.snapshot is not None
    assert (table.snapshot.operation, table.snapshot.summary["by"]) == ("replace", "me")
    # Positions of files that are gone drop out.
    table.overwrite(rows(500, 3, 0), where="p = 0 and id < 10")
    expected = read(table)
    done = maintain.rewrite_position_deletes(rewrite_all=True)
    assert done.added_files == 2
    assert sum(f["record_count"] for f in deletes(table)) == 3
    assert read(table) == expected
    assert maintain.rewrite_position_deletes().rewritten_files == 0
    table.delete("id = 13")
    assert read(table) == [i for i in expected if i != 13]


def test_an_upgraded_table_gets_vectors(catalog: fz.Catalog) -> None:
    table = make(catalog, 2, ["p"], write_delete_granularity="partition")
    table.append(rows(0, 10)).append(rows(10, 10)).append(rows(20, 10)).append(rows(100, 5, 1))
    table.delete("id in (1, 11, 21, 101)").delete("id in (2, 12)")
    table.delete_keys(rows(3, 1), on=["id", "p"])
    table.upgrade(3)
    table.delete("id = 22")  # a vector, which takes in what the position delete files say
    expected = read(table)
    assert [i for i in (1, 2, 3, 11, 12, 21, 22, 101) if i in expected] == []
    done = table.maintain.rewrite_position_deletes()
    assert (done.rewritten_files, done.added_files) == (3, 3)
    found = [(f["content"], f["file_format"].lower(), f["record_count"]) for f in deletes(table)]
    assert sorted(found) == [(1, "puffin", 1), (1, "puffin", 2), (1, "puffin", 2), (1, "puffin", 2), (2, "parquet", 1)]
    assert read(table) == expected
    assert table.maintain.rewrite_position_deletes(rewrite_all=True).rewritten_files == 0
    table.delete("id = 4 or id = 13")
    assert read(table) == [i for i in expected if i not in (4, 13)]
    table.maintain.compact(rewrite_all=True)
    assert deletes(table) == []


@pytest.mark.parametrize("version", [2, 3])
def test_dangling_deletes_go(catalog: fz.Catalog, version: int) -> None:
    table = make(catalog, version, ["p"])
    table.append(rows(0, 10)).append(rows(100, 10, 1))
    table.delete_keys(rows(0, 2), on=["id", "p"])
    table.delete_keys(rows(100, 2, 1), on=["id", "p"])
    table.delete("id = 5").delete("id = 105")
    assert table.maintain.remove_dangling_deletes().rewritten_files == 0
    # New files of partition 0 are as old as the snapshot that was read; its equality deletes are no younger.
    table.maintain.compact(rewrite_all=True, where="p = 0")
    expected = read(table)
    planned = table.maintain.remove_dangling_deletes(dry_run=True)
    assert planned.rewritten_files == (2 if version == 2 else 1)
    before = len(table.snapshots)
    done = table.maintain.remove_dangling_deletes()
    assert (done, len(table.snapshots)) == (planned, before + 1)
    assert len(deletes(table)) == 2
    assert read(table) == expected
    assert [i for i in expected if i in (0, 1, 5, 100, 101, 105)] == []
    assert table.maintain.remove_dangling_deletes().rewritten_files == 0
    assert len(table.snapshots) == before + 1


def test_deletes_of_all_partitions_reach_all_of_them(catalog: fz.Catalog) -> None:
    table = make(catalog, 2)
    table.append(rows(0, 5))
    with table.update_partition_spec() as update:
        update.add_field("p")
    table.append(rows(5, 5)).append(rows(10, 5, 1))
    table.delete_keys(pa.table({"id": [1, 6, 11]}), on=["id"])
    table.delete("id < 5")
    expected = read(table)
    assert table.maintain.remove_dangling_deletes().rewritten_files == 0
    assert read(table) == expected


def test_nothing_to_do(catalog: fz.Catalog) -> None:
    table = make(catalog, 1)
    for action in (table.maintain.rewrite_position_deletes, table.maintain.remove_dangling_deletes):
        assert action().rewritten_files == 0
    table.append(rows(0, 3))
    for action in (table.maintain.rewrite_position_deletes, table.maintain.remove_dangling_deletes):
        assert action().rewritten_files == 0
        with pytest.raises(fz.NotFoundError):
            action(branch="nope")
    with pytest.raises(fz.InvalidInputError):
        table.maintain.rewrite_position_deletes(target_file_size_bytes=10, min_file_size_bytes=10)
    assert len(table.snapshots) == 1


@pytest.mark.parametrize("version", [2, 3])
def test_equality_deletes_become_positions(catalog: fz.Catalog, version: int) -> None:
    table = make(catalog, version, ["p"])
    table.append(rows(0, 10)).append(rows(100, 10, 1)).append(rows(200, 3))
    table.delete("id in (7, 8)")
    table.delete_keys(pa.concat_tables([rows(0, 3), rows(100, 1, 1), rows(200, 3)]), on=["id", "p"])
    table.upsert(rows(8, 3), on=["id", "p"], blind=True)
    expected = read(table)
    old = fz.open_table(table.location)
    planned = table.maintain.convert_equality_deletes(dry_run=True)
    done = table.maintain.convert_equality_deletes()
    assert planned.rewritten_files == 3
    assert {f["content"] for f in deletes(table)} == {1}
    assert read(table) == expected
    assert table.snapshot is not None
    assert table.snapshot.operation == "delete"
    assert done.added_files == 2
    vectors = [f["record_count"] for f in deletes(table)]
    assert sorted(vectors) == ([1, 6] if version == 3 else [1, 2, 6])
    assert table.maintain.convert_equality_deletes().rewritten_files == 0
    assert table.changes(since=old.snapshot.id).to_arrow().num_rows == 0
    table.maintain.compact(rewrite_all=True)
    assert read(table) == expected


@pytest.mark.parametrize("version", [2, 3])
def test_only_delete_files_of_some_rows(catalog: fz.Catalog, version: int) -> None:
    table = make(catalog, 2, ["p"])
    for p in (0, 1):
        table.append(rows(100 * p, 10, p)).append(rows(100 * p + 10, 10, p))
    for i in (1, 2, 11, 12, 101, 102):
        table.delete(f"id = {i}")
    if version == 3:
        table.upgrade(3)
    expected = read(table)
    maintain = table.maintain
    assert maintain.rewrite_position_deletes("p = 7", rewrite_all=True, dry_run=True).rewritten_files == 0
    assert maintain.rewrite_position_deletes("p = 1", rewrite_all=True, dry_run=True).rewritten_files == 2
    # Metrics of the data files tell as well.
    planned = maintain.rewrite_position_deletes(where=fz.col("id") < 10, rewrite_all=True, dry_run=True)
    assert planned.rewritten_files == 2
    done = maintain.rewrite_position_deletes("p = 1", rewrite_all=True)
    assert (done.rewritten_files, done.added_files) == (2, 1)
    assert read(table) == expected
    assert len(deletes(table)) == 5
    assert {f["file_format"].lower() for f in deletes(table) if f["partition"]["p"] == 0} == {"parquet"}
    with pytest.raises(fz.InvalidInputError, match="no column"):
        maintain.rewrite_position_deletes("nope = 1")
    for other in (maintain.remove_dangling_deletes, maintain.convert_equality_deletes):
        with pytest.raises(TypeError):
            other(where="p = 1")  # type: ignore[call-arg]
