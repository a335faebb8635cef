"""Deletes by key and by position, and what executors write of them: row deltas and rewrites."""

from __future__ import annotations

import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string()), ("v", pa.int32())])


def rows(ids: list[int | None], g: str | None = "a", v: int = 0) -> pa.Table:
    return pa.table([ids, [g] * len(ids), [v] * len(ids)], schema=SCHEMA)


def read(table: fz.Table, at: Any = None) -> list[tuple[Any, ...]]:
    found = fz.open_table(table.location).scan(at=at).to_arrow()
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


def places(table: fz.Table, filter: str, at: Any = None) -> pa.Table:
    return table.scan(filter, select=["_file", "_pos"], at=at).to_arrow()


def contents(table: fz.Table) -> list[str]:
    return sorted({d.content for t in table.scan().plan_files() for d in t.deletes})


def files(table: fz.Table) -> set[str]:
    return {str(p) for p in pathlib.Path(table.location, "data").rglob("*") if p.is_file()}


Make = Callable[..., fz.Table]


@pytest.fixture
def make(catalog: fz.Catalog) -> Make:
    def create(version: int = 2, partition_by: list[str] | None = None, **properties: str) -> fz.Table:
        given = {"format-version": str(version), **{k.replace("_", "."): v for k, v in properties.items()}}
        return catalog.create_table("db.t", SCHEMA, partition_by=partition_by or [], properties=given)

    return create


@pytest.mark.parametrize("version", [2, 3])
def test_keys_are_deleted_without_a_look(make: Make, version: int) -> None:
    table = make(version).append(rows([1, 2, 3])).append(rows([3, 4, None]))
    for path in files(table):  # nobody reads them
        pathlib.Path(path).rename(path + ".away")
    table.delete_keys(pa.table({"id": [3, 99], "more": ["x", "y"]}), on=["id"])
    table.delete_keys(pa.table({"id": pa.array([None], pa.int64())}), on=["id"])
    for path in files(table):
        if path.endswith(".away"):
            pathlib.Path(path).rename(path.removesuffix(".away"))
    assert read(table) == [(1, "a", 0), (2, "a", 0), (4, "a", 0)]
    assert contents(table) == ["equality"]
    assert table.snapshot is not None
    assert (table.snapshot.operation, table.snapshot.summary["added-equality-deletes"]) == ("delete", "1")
    # What comes later is not reached.
    table.append(rows([3], v=7))
    assert (3, "a", 7) in read(table)
    assert len(table.snapshots) == 5
    table.delete_keys(pa.table({"id": pa.array([], pa.int64())}), on=["id"])
    assert len(table.snapshots) == 5


@pytest.mark.parametrize("version", [2, 3])
def test_a_blind_upsert_is_one_snapshot(make: Make, version: int) -> None:
    table = make(version).append(rows([1, 2, 3])).append(rows([2, 4]))
    table.upsert(rows([2, 5], v=9), on=["id"], blind=True, snapshot_properties={"by": "me"})
    expected = [(1, "a", 0), (2, "a", 9), (3, "a", 0), (4, "a", 0), (5, "a", 9)]
    assert read(table) == expected
    assert table.snapshot is not None
    assert table.snapshot.operation == "overwrite"
    assert table.snapshot.summary["by"] == "me"
    assert table.snapshot.summary["added-records"] == "2"
    table.upsert(rows([2, 5], v=10), on=["id", "g"], blind=True)
    assert [r for r in read(table) if r[2] == 10] == [(2, "a", 10), (5, "a", 10)]
    table.maintain.compact(rewrite_all=True)
    assert len(read(table)) == 5
    assert contents(table) == []


def test_identifier_fields_are_the_key(catalog: fz.Catalog) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int32())])
    table = catalog.create_table("db.i", schema, identifier_fields=["id"])
    table.append(pa.table([[1, 2], [0, 0]], schema=schema))
    table.upsert(pa.table([[2], [5]], schema=schema), blind=True)
    table.delete_keys(pa.table({"id": [1]}))
    assert read(table) == [(2, 5)]


@pytest.mark.parametrize("version", [2, 3])
def test_keys_reach_all_specs(make: Make, version: int) -> None:
    table = make(version, ["g"]).append(rows([1, 2], "a")).append(rows([1, 2], "b"))
    with pytest.raises(fz.InvalidInputError, match="does not determine the partition"):
        table.delete_keys(pa.table({"id": [1]}), on=["id"])
    table.delete_keys(pa.table({"id": [1], "g": ["a"]}), on=["id", "g"])
    assert read(table) == [(1, "b", 0), (2, "a", 0), (2, "b", 0)]
    with table.update_partition_spec() as update:
        update.add_field("bucket(4, id)")
    table.append(rows([1, 2, 3], "b", v=1))
    table.delete_keys(pa.table({"id": [2], "g": ["b"]}), on=["g", "id"])
    assert read(table) == [(1, "b", 0), (1, "b", 1), (2, "a", 0), (3, "b", 1)]
    assert {f["spec_id"] for f in table.inspect.files().to_pylist() if f["content"] == 2} == {0, 1}
    with table.update_partition_spec() as update:
        update.remove_field("g").remove_field("id_bucket_4")
    # Now there is a spec without partitions, which reaches everything.
    table.delete_keys(pa.table({"id": [1]}), on=["id"])
    assert read(table) == [(2, "a", 0), (3, "b", 1)]


def test_a_spec_that_keys_do_not_reach_is_a_conflict(make: Make) -> None:
    table = make(2, ["g"]).append(rows([1]))
    message = table.writer().delete_keys(rows([1]), on=["id", "g"])
    other = fz.open_table(table.location)
    with other.update_partition_spec() as update:
        update.add_field("bucket(4, id)")
    other.append(rows([1]))
    with pytest.raises(fz.CommitConflictError, match="spec") as refused:
        table.commit([message])
    assert refused.value.context["spec"] == "1"
    table.refresh().delete_keys(rows([1]), on=["id", "g"])
    assert read(table) == []


@pytest.mark.parametrize("granularity", ["file", "partition"])
@pytest.mark.parametrize("version", [2, 3])
def test_positions_are_deleted(make: Make, version: int, granularity: str) -> None:
    table = make(version, ["g"], write_delete_granularity=granularity)
    table.append(rows(list(range(10)), "a")).append(rows(list(range(10)), "b"))
    table.delete_positions(places(table, "id in (1, 2, 3)"))
    assert table.snapshot is not None
    assert table.snapshot.operation == "delete"
    assert len(read(table)) == 14
    table.delete_positions(places(table, "id = 4 and g = 'a'").rename_columns(["file_path", "pos"]))
    # Twice the same, and all that is left of a file.
    table.delete_positions(pa.concat_tables([places(table, "g = 'b'")] * 2))
    assert read(table) == [(i, "a", 0) for i in (0, 5, 6, 7, 8, 9)]
    (task,) = table.scan().plan_files()
    assert [d.content for d in task.deletes] == (["deletion_vector"] if version == 3 else ["position"] * 2)
    assert sum(d.record_count for d in task.deletes) == 4


def test_positions_of_files_that_are_gone(make: Make, catalog: fz.Catalog) -> None:
    table = make(2).append(rows([1, 2])).append(rows([3]))
    old = places(table, "id = 1")
    table.maintain.compact(rewrite_all=True)
    with pytest.raises(fz.CommitConflictError, match="not in the table any more"):
        table.delete_positions(old)
    other = catalog.create_table("db.other", SCHEMA).append(rows([1]))
    with pytest.raises(fz.InvalidInputError, match="no such data file"):
        table.delete_positions(places(other, "true"))
    assert len(read(table)) == 3


def test_bad_positions(make: Make) -> None:
    table = make(3).append(rows([1, 2]))
    path = places(table, "id = 1")["_file"][0].as_py()
    before = files(table)
    for given, message in [
        (pa.table({"file_path": [path], "pos": [2]}), "fewer rows"),
        (pa.table({"file_path": [path], "pos": [-1]}), "impossible position"),
        (pa.table({"file_path": [path], "pos": pa.array([None], pa.int64())}), "null"),
        (pa.table({"file_path": [path], "pos": ["x"]}), "pos"),
        (pa.table({"file_path": [path]}), "file_path and pos"),
        (pa.table({"file_path": [path], "pos": [2**62]}), "fewer rows"),
    ]:
        with pytest.raises(fz.InvalidInputError, match=message):
            table.delete_positions(given)
    assert files(table) == before
    assert len(table.snapshots) == 1


def test_bad_keys(make: Make, catalog: fz.Catalog) -> None:
    table = make(2).append(rows([1, 2]))
    before = files(table)
    for given, on, message in [
        (rows([1]), ["nope"], "no such column"),
        (rows([1]), ["id", "nope"], "no such column"),
        (pa.table({"v": pa.array([1], pa.int32())}), ["id"], "data has no such column"),
        (pa.table({"id": ["x"]}), ["id"], "id"),
        (rows([1]), None, "identifier fields"),
    ]:
        with pytest.raises(fz.InvalidInputError, match=message):
            table.delete_keys(given, on=on)
        with pytest.raises(fz.InvalidInputError, match=message):
            table.upsert(given, on=on, blind=True)
    with pytest.raises(fz.InvalidInputError, match="null"):
        table.upsert(rows([1, None]), on=["id"], blind=True)
    with pytest.raises(fz.InvalidInputError, match="same key"):
        table.upsert(rows([1, 1]), on=["id"], blind=True)
    with pytest.raises(fz.InvalidInputError, match="True or False"):
        table.upsert(rows([1]), on=["id"], blind=1)  # type: ignore[arg-type]
    floats = catalog.create_table("db.f", pa.schema([("f", pa.float64())])).append(pa.table({"f": [1.0]}))
    with pytest.raises(fz.InvalidInputError, match="key column"):
        floats.delete_keys(pa.table({"f": [1.0]}), on=["f"])
    assert files(table) == before
    assert len(table.snapshots) == 1


def test_version_1_has_no_deletes(make: Make) -> None:
    table = make(1).append(rows([1]))
    for change in (
        lambda: table.delete_keys(rows([1]), on=["id"]),
        lambda: table.upsert(rows([1]), on=["id"], blind=True),
        lambda: table.delete_positions(places(table, "true")),
        lambda: table.writer().delete_keys(rows([1]), on=["id"]),
    ):
        with pytest.raises(fz.UnsupportedError, match="version 1"):
            change()


@pytest.mark.parametrize("version", [2, 3])
def test_in_transactions_and_on_branches(make: Make, version: int) -> None:
    table = make(version).append(rows([1, 2, 3, 4]))
    with table.transaction() as tx:
        tx.append(rows([5, 6]))
        tx.delete_keys(rows([1, 5]), on=["id"])
        tx.upsert(rows([2], v=2), on=["id"], blind=True)
        tx.delete_positions(places(table, "id = 4"))
        tx.append(rows([1], v=3))
    assert read(table) == [(1, "a", 3), (2, "a", 2), (3, "a", 0), (6, "a", 0)]
    table.delete_keys(rows([3]), on=["id"], branch="audit")
    table.delete_positions(places(table, "id = 6", at="audit"), branch="audit")
    assert read(table, "audit") == [(1, "a", 3), (2, "a", 2)]
    assert len(read(table)) == 4
    writer = pickle.loads(pickle.dumps(table.writer(branch="audit")))
    table.commit([writer.delete_positions(places(table, "id = 2", at="audit"))], branch="audit")
    assert read(table, "audit") == [(1, "a", 3)]


@pytest.mark.parametrize("version", [2, 3])
def test_messages_of_many_writers_are_one_delta(make: Make, version: int) -> None:
    table = make(version, ["g"]).append(rows([1, 2, 3, 4], "a")).append(rows([1, 2], "b"))
    table.delete_positions(places(table, "id = 4"))
    writers = [pickle.loads(pickle.dumps(table.writer(task))) for task in range(4)]
    messages = [
        writers[0].upsert(rows([1, 7], "a", v=5), on=["id", "g"]),
        writers[1].delete_keys(rows([2], "b"), on=["id", "g"]),
        writers[2].delete_positions(places(table, "id = 3")),
        writers[3].write(rows([9], "c")),
    ]
    messages = pickle.loads(pickle.dumps(messages))
    assert [m.record_count for m in messages] == [2, 0, 0, 1]
    assert [len(m.delete_files) for m in messages] == [1, 1, 1, 0]
    assert fz.CommitMessage.from_json(messages[2].to_json()) == messages[2]
    before = len(table.snapshots)
    table.commit(messages)
    expected = [(1, "a", 5), (1, "b", 0), (2, "a", 0), (7, "a", 5), (9, "c", 0)]
    assert read(table) == expected
    assert table.snapshot is not None
    assert (len(table.snapshots), table.snapshot.operation) == (before + 1, "overwrite")
    # The same again is seen.
    table.commit(messages)
    assert len(table.snapshots) == before + 1
    with pytest.raises(fz.InvalidInputError, match="is in the table"):
        table.abort(messages)
    only = table.writer().write(rows([10], "c"))
    none = table.writer().delete_keys(rows([], "c"), on=["id", "g"])
    table.commit([only, none])
    assert table.snapshot is not None
    assert table.snapshot.operation == "append"


def test_messages_that_come_late(make: Make) -> None:
    table = make(3).append(rows([1, 2, 3])).append(rows([4, 5]))
    first, second = (table.writer().delete_positions(places(table, f"id = {i}")) for i in (1, 2))
    table.commit([first])
    with pytest.raises(fz.CommitConflictError, match="deletion vector"):
        table.commit([second])
    third = table.writer().delete_positions(places(table, "id = 4"))
    table.maintain.compact(rewrite_all=True)
    with pytest.raises(fz.CommitConflictError, match="that this change names"):
        table.commit([third])
    table.abort([second, third])
    assert len(read(table)) == 4


@pytest.mark.parametrize("version", [2, 3])
def test_writers_of_the_same_data_file(make: Make, version: int) -> None:
    table = make(version).append(rows(list(range(8)))).append(rows([10, 11]))
    table.delete_positions(places(table, "id = 7"))
    messages = [table.writer(i).delete_positions(places(table, f"id in ({i}, {i + 10})")) for i in range(3)]
    table.commit(messages)
    assert [r[0] for r in read(table)] == [3, 4, 5, 6]
    assert all(len(t.deletes) <= 1 for t in table.scan().plan_files() if version == 3)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_files_are_replaced_by_messages(make: Make, version: int) -> None:
    table = make(version).append(rows([1, 2])).append(rows([3]))
    lineage = ["_row_id", "_last_updated_sequence_number"] if version == 3 else []
    columns = ["id", "g", "v", *lineage]
    planned = fz.open_table(table.location)
    tasks = list(planned.scan().plan_files())
    before = planned.scan(select=columns).to_arrow().sort_by("id")
    message = planned.writer().rewrite(before)
    if version > 1:
        table.delete_keys(rows([2]), on=["id"])
    table.append(rows([4]))
    assert planned.snapshot is not None
    version_read = planned.snapshot.id
    planned.commit_rewrite(tasks, [message], at=version_read, snapshot_properties={"by": "me"})
    assert planned.snapshot is not None
    assert (planned.snapshot.operation, planned.snapshot.summary["by"]) == ("replace", "me")
    expected = [i for i in (1, 2, 3, 4) if version == 1 or i != 2]
    after = planned.scan("id < 4", select=columns).to_arrow().sort_by("id")
    assert after.equals(before.filter(pa.compute.is_in(before["id"], pa.array(expected))))
    assert [r[0] for r in read(table)] == expected
    with pytest.raises(fz.CommitConflictError):
        fz.open_table(table.location).commit_rewrite(tasks, [planned.writer().rewrite(before)], at=version_read)


def test_rewrites_that_are_none(make: Make, catalog: fz.Catalog) -> None:
    table = make(3).append(rows([1, 2]))
    (task,) = table.scan().plan_files()
    assert table.snapshot is not None
    at = table.snapshot.id
    full = table.scan(select=["id", "g", "v", "_row_id", "_last_updated_sequence_number"]).to_arrow()
    with pytest.raises(fz.InvalidInputError, match="identity"):
        table.writer().rewrite(rows([1, 2]))
    with pytest.raises(fz.InvalidInputError, match="at least one file"):
        table.commit_rewrite([], [table.writer().rewrite(full)], at=at)
    with pytest.raises(fz.InvalidInputError, match="tasks of a scan"):
        table.commit_rewrite([task.data_file.path], [], at=at)  # type: ignore[list-item]
    more = table.writer().rewrite(pa.concat_tables([full, full]))
    with pytest.raises(fz.InvalidInputError, match="must not add rows"):
        table.commit_rewrite([task], [more], at=at)
    with pytest.raises(fz.InvalidInputError, match="committed as a rewrite"):
        table.commit_rewrite([task], [table.writer().delete_keys(rows([1]), on=["id"])], at=at)
    other = catalog.create_table("db.other", SCHEMA).append(rows([1]))
    with pytest.raises(fz.InvalidInputError, match="another table"):
        table.commit_rewrite([task], [other.writer().write(rows([1]))], at=at)
    with pytest.raises(fz.CommitConflictError, match="not in the table"):
        table.commit_rewrite(list(other.scan().plan_files()), [], at=at)
    old = table.snapshot
    assert old is not None
    table.delete_positions(places(table, "id = 1"))
    with pytest.raises(fz.CommitConflictError, match="deleted rows"):
        table.commit_rewrite([task.data_file], [table.writer().rewrite(full)], at=old.id)
    assert len(read(table)) == 1


def test_united_vectors_are_committed_once(make: Make) -> None:
    table = make(3).append(rows(list(range(8))))
    messages = [table.writer(i).delete_positions(places(table, f"id = {i}")) for i in range(2)]
    table.commit(messages).commit(messages)
    assert len(table.snapshots) == 2
    assert [r[0] for r in read(table)] == [2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("change", ["update", "delete", "overwrite", "upsert", "merge", "compact", "transaction"])
def test_rows_deleted_by_key_stay_so_when_their_file_is_written_anew(
    make: Make, version: int, mode: str, change: str
) -> None:
    """The filter of the change does not reach the deleted key, but the file that it writes again holds it."""
    table = make(version)
    table.set_properties({f"write.{command}.mode": mode for command in ("delete", "update", "merge")})
    table.append(rows([1, 2, 3])).delete_keys(rows([1]), on=["id"])
    expected = [2, 3]
    if change == "update":
        table.update("id > 2", {"v": 9})
    elif change == "delete":
        table.delete("id > 2")
        expected = [2]
    elif change == "overwrite":
        table.overwrite(rows([7]), where="id > 2")
        expected = [2, 7]
    elif change == "upsert":
        table.upsert(rows([3]), on=["id"])
    elif change == "merge":
        table.merge(rows([3]), on=["id"], when_matched_delete=True)
        expected = [2]
    elif change == "compact":
        table.maintain.compact(where="id > 2", rewrite_all=True)
    else:
        with table.transaction() as tx:
            tx.update("id > 2", {"v": 9})
    assert [r[0] for r in read(table)] == expected
    assert [r[0] for r in read(fz.open_table(table.location))] == expected
