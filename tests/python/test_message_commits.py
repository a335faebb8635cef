"""What commits of messages refuse: rows that would come twice, be lost or come back."""

from __future__ import annotations

import datetime as dt
import json
import pathlib
import pickle
import shutil
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string())])
LINEAGE = ["_row_id", "_last_updated_sequence_number"]


def rows(*ids: int, g: str = "a") -> pa.Table:
    return pa.table([list(ids), [g] * len(ids)], schema=SCHEMA)


def read(table: fz.Table, at: Any = None) -> list[int]:
    return sorted(fz.open_table(table.location).scan(at=at).to_arrow()["id"].to_pylist())


def places(table: fz.Table, filter: str) -> pa.Table:
    return table.scan(filter, select=["_file", "_pos"]).to_arrow()


def make(catalog: fz.Catalog, version: int, name: str = "db.t", **properties: str) -> fz.Table:
    given = {"format-version": str(version), **{k.replace("_", "."): v for k, v in properties.items()}}
    return catalog.create_table(name, SCHEMA, properties=given)


def columns(table: fz.Table) -> list[str]:
    return ["id", "g", *(LINEAGE if table.format_version == 3 else [])]


@pytest.mark.parametrize("version", [2, 3])
def test_a_rewrite_keeps_the_rows_that_are_left(catalog: fz.Catalog, version: int) -> None:
    table = make(catalog, version).append(rows(1, 2, 3)).append(rows(4))
    table.delete_positions(places(table, "id = 1"))
    scan = table.scan("id < 4", select=columns(table))
    tasks = list(scan.plan_files())
    left = scan.to_arrow()
    assert len(left) == 2
    at = scan.snapshot_id
    assert at is not None
    writer = table.writer()
    for bad, match in [(left.slice(1), "lose rows"), (pa.concat_tables([left, left.slice(1)]), "add rows")]:
        with pytest.raises(fz.InvalidInputError, match=match) as refused:
            table.commit_rewrite(tasks, [writer.rewrite(bad)], at=at)
        assert refused.value.context["left in the replaced files"] == "2"
    with pytest.raises(fz.InvalidInputError, match="lose rows"):
        table.commit_rewrite(tasks, [], at=at)
    # Splits give a file as several tasks.
    table.commit_rewrite(tasks * 2, [writer.rewrite(left)], at=at)
    assert read(table) == [2, 3, 4]
    assert fz.open_table(table.location).scan("id < 4", select=columns(table)).to_arrow().sort_by("id") == left


@pytest.mark.parametrize("version", [2, 3])
def test_where_keys_were_deleted_counts_are_a_limit(catalog: fz.Catalog, version: int) -> None:
    table = make(catalog, version).append(rows(1, 2, 3))
    table.delete_keys(rows(1), on=["id"])
    scan = table.scan(select=columns(table))
    left = scan.to_arrow()
    assert scan.snapshot_id is not None
    more = table.writer().rewrite(pa.concat_tables([left, left]))
    with pytest.raises(fz.InvalidInputError, match="add rows"):
        table.commit_rewrite(scan.plan_files(), [more], at=scan.snapshot_id)
    table.commit_rewrite(scan.plan_files(), [table.writer().rewrite(left)], at=scan.snapshot_id)
    assert read(table) == [2, 3]


def test_rows_of_version_3_come_with_their_ids(catalog: fz.Catalog) -> None:
    table = make(catalog, 2).append(rows(1, 2))
    early = table.writer().rewrite(rows(1, 2))
    table.upgrade(3)
    (task,) = table.scan().plan_files()
    assert table.snapshot is not None
    for message in (table.writer().write(rows(1, 2)), early):
        with pytest.raises(fz.InvalidInputError, match="row ids"):
            table.commit_rewrite([task], [message], at=table.snapshot.id)
    assert read(table) == [1, 2]


@pytest.mark.parametrize("version", [2, 3])
def test_delete_files_that_reach_others_stay(catalog: fz.Catalog, version: int) -> None:
    table = make(catalog, version, write_delete_granularity="partition")
    table.append(rows(1, 2, 3)).append(rows(4, 5, 6))
    table.delete_keys(rows(1, 4), on=["id"])
    if version == 2:
        table.delete_positions(places(table, "id in (2, 5)"))
    scan = table.scan("id <= 3", select=columns(table))
    (task,) = scan.plan_files()
    deletes = task.deletes
    assert len(deletes) == (2 if version == 2 else 1)
    at = scan.snapshot_id
    assert at is not None
    before = read(table)
    message = table.writer().rewrite(scan.to_arrow())
    for delete in deletes:
        with pytest.raises(fz.InvalidInputError, match="would come back") as refused:
            table.commit_rewrite([task, delete], [message], at=at)
        assert refused.value.context["delete_file"] == delete.path
    scan = table.scan(select=columns(table))
    everything = table.writer().rewrite(scan.to_arrow())
    table.commit_rewrite([*scan.plan_files(), *deletes], [everything], at=at)
    assert read(table) == before
    assert all(f["content"] == 0 for f in table.inspect.files().to_pylist())


def test_replaced_files_are_of_the_version(catalog: fz.Catalog) -> None:
    table = make(catalog, 2).append(rows(1))
    assert table.snapshot is not None
    old = table.snapshot.id
    table.append(rows(2))
    scan = table.scan()
    message = table.writer().rewrite(scan.to_arrow())
    with pytest.raises(fz.InvalidInputError, match="not of the version"):
        table.commit_rewrite(scan.plan_files(), [message], at=old)


def test_rewritten_rows_are_no_append(catalog: fz.Catalog) -> None:
    table = make(catalog, 2).append(rows(1, 2))
    message = pickle.loads(pickle.dumps(table.writer().rewrite(rows(1, 2))))
    assert fz.CommitMessage.from_json(message.to_json()) == message
    with pytest.raises(fz.InvalidInputError, match="twice") as refused:
        table.commit([message])
    assert "commit_rewrite" in str(refused.value)
    assert read(table) == [1, 2]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("again", [[0], [0, 2], [0, 1, 2], [2, 1]])
def test_messages_come_once(catalog: fz.Catalog, version: int, again: list[int]) -> None:
    table = make(catalog, version).append(rows(1))
    messages = [table.writer(task).write(rows(10 + task)) for task in range(3)]
    table.commit(messages[:2]).append(rows(2))
    table.commit(messages[:2])
    assert read(table) == [1, 2, 10, 11]
    with pytest.raises(fz.InvalidInputError, match="committed before") as refused:
        table.commit([messages[i] for i in again])
    known = {f.path for m in messages[:2] for f in m.files}
    assert refused.value.context["path"] in known
    assert int(refused.value.context["snapshot"]) == table.snapshots[1].id
    # Rewritten meanwhile: the rows are there, the files are not.
    table.maintain.compact(rewrite_all=True)
    with pytest.raises(fz.InvalidInputError, match="committed before"):
        table.commit([messages[i] for i in again])
    # Expired as far as the files stay: nobody knows the commit any more.
    table.maintain.expire_snapshots(older_than=dt.timedelta(0), delete_files=False)
    assert read(table) == [1, 2, 10, 11]
    table.commit([messages[2]])
    assert read(table) == [1, 2, 10, 11, 12]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_live_files_of_expired_commits_are_known(catalog: fz.Catalog, version: int) -> None:
    table = make(catalog, version).append(rows(1))
    messages = [table.writer(task).write(rows(10 + task)) for task in range(2)]
    table.commit(messages[:1]).append(rows(2))
    table.maintain.expire_snapshots(older_than=dt.timedelta(0))
    assert len(table.snapshots) == 1
    with pytest.raises(fz.InvalidInputError, match="committed before"):
        table.commit(messages)
    assert read(table) == [1, 2, 10]


def test_files_that_expired_are_not_there(catalog: fz.Catalog) -> None:
    table = make(catalog, 2)
    message = table.writer().write(rows(10))
    table.commit([message]).append(rows(1))
    table.maintain.compact(rewrite_all=True)
    table.maintain.expire_snapshots(older_than=dt.timedelta(0))
    with pytest.raises(fz.InvalidInputError, match="no longer exists") as refused:
        table.commit([message])
    assert "check whether its rows are in the table" in str(refused.value)
    assert read(table) == [1, 10]


@pytest.mark.parametrize("version", [2, 3])
def test_messages_that_empty_a_file_come_once(catalog: fz.Catalog, version: int) -> None:
    table = make(catalog, version).append(rows(1, 2)).append(rows(3))
    message = table.writer().delete_positions(places(table, "id < 3"))
    assert message.delete_files == []
    table.commit([message])
    before = len(table.snapshots)
    table.commit([message])
    assert (len(table.snapshots), read(table)) == (before, [3])
    other = table.writer().write(rows(4))
    with pytest.raises(fz.CommitConflictError, match="not in the table any more"):
        table.commit([message, other])
    assert read(table) == [3]


@pytest.mark.parametrize("version", [2, 3])
def test_deltas_come_once(catalog: fz.Catalog, version: int) -> None:
    table = make(catalog, version).append(rows(1, 2, 3))
    first = table.writer().upsert(rows(1), on=["id"])
    second = table.writer().delete_positions(places(table, "id = 2"))
    table.commit([first, second])
    for again in ([first], [first, table.writer().write(rows(9))]):
        with pytest.raises(fz.InvalidInputError, match="committed before"):
            table.commit(again)
    if version == 2:
        with pytest.raises(fz.InvalidInputError, match="committed before"):
            table.commit([second])
    assert read(table) == [1, 3]


def test_branches_have_messages_of_their_own(catalog: fz.Catalog) -> None:
    table = make(catalog, 2).append(rows(1))
    messages = [table.writer(task).write(rows(10 + task)) for task in range(2)]
    table.commit(messages, branch="audit")
    table.commit(messages[:1])
    assert read(table) == [1, 10]
    with pytest.raises(fz.InvalidInputError, match="committed before"):
        table.commit(messages[1:], branch="audit")
    assert table.snapshot is not None
    table.rollback(to=table.snapshots[0].id)
    table.commit(messages)
    assert read(table) == [1, 10, 11]


def test_staged_messages_are_published_once(catalog: fz.Catalog) -> None:
    table = make(catalog, 2, write_wap_enabled="true").append(rows(1))
    messages = [table.writer(task).write(rows(10 + task)) for task in range(2)]
    table.commit(messages, {"wap.id": "w1"})
    with pytest.raises(fz.InvalidInputError, match="committed before"):
        table.commit(messages[:1], {"wap.id": "w2"})
    staged = table.snapshots[-1].id
    table.append(rows(2)).cherry_pick(staged)
    with pytest.raises(fz.InvalidInputError, match="committed before"):
        table.commit(messages[:1])
    assert read(table) == [1, 2, 10, 11]


def test_commits_of_many_messages_are_looked_into(catalog: fz.Catalog) -> None:
    table = make(catalog, 2)
    messages = [table.writer(task).write(rows(task)) for task in range(40)]
    table.commit(messages)
    assert table.snapshot is not None
    assert table.snapshot.summary["frazil.messages"] == "many"
    with pytest.raises(fz.InvalidInputError, match="committed before"):
        table.commit(messages[39:])
    assert read(table) == list(range(40))


def test_others_commits_cost_nothing(catalog: fz.Catalog) -> None:
    """Only what may have the messages is looked into: the manifests of others may be gone."""
    table = make(catalog, 2)
    message = table.writer().write(rows(1))
    for i in range(3):
        table.commit([table.writer().write(rows(10 + i))])
    for snapshot in table.snapshots[:2]:
        text = pathlib.Path(
            table.inspect.snapshots().filter(pa.compute.field("snapshot_id") == snapshot.id)["manifest_list"][0].as_py()
        )
        shutil.move(text, str(text) + ".away")
    table.commit([message])
    assert read(table) == [1, 10, 11, 12]


def test_messages_of_earlier_versions_are_read(catalog: fz.Catalog) -> None:
    table = make(catalog, 2).append(rows(1))
    known = json.loads(table.writer().write(rows(2)).to_json())
    old = fz.CommitMessage.from_json(json.dumps({k: v for k, v in known.items() if k != "written-at"}))
    table.commit([old])
    with pytest.raises(fz.InvalidInputError, match="committed before"):
        table.commit([old, table.writer().write(rows(3))])
    assert read(table) == [1, 2]
    for bad in ({"written-at": {}}, {"rewrites-format-version": "x"}):
        with pytest.raises(fz.InvalidInputError, match=next(iter(bad))):
            fz.CommitMessage.from_json(json.dumps({**known, **bad}))


def test_rewritten_rows_keep_their_ids(catalog: fz.Catalog) -> None:
    table = make(catalog, 3).append(rows(1, 2, 3)).append(rows(4, 5))
    table.delete_positions(places(table, "id = 2"))
    scan = table.scan("id < 4", select=columns(table))
    left = scan.to_arrow().sort_by("id")
    assert left["_row_id"].to_pylist() == [0, 2]
    at = scan.snapshot_id
    assert at is not None

    def changed(**given: list[int | None]) -> pa.Table:
        out = left
        for name, values in given.items():
            name = f"_{name}"
            out = out.set_column(out.column_names.index(name), name, pa.array(values, pa.int64()))
        return out

    for metrics in ("full", "none"):
        table.set_properties({"write.metadata.metrics.default": metrics})
        writer = table.writer()
        for bad, match in [
            (changed(row_id=[0, None]), "has lost a value"),
            (changed(row_id=[0, 0]), "the same id"),
            (changed(row_id=[0, 1]), "no row of the replaced files"),  # a row that was deleted
            (changed(row_id=[0, 3]), "no row of the replaced files"),  # a row of another file
            (changed(row_id=[0, 5]), "no row of the table"),
            (changed(row_id=[-1, 2]), "no row of the table"),
            (changed(last_updated_sequence_number=[1, 4]), "after the version"),
            (changed(last_updated_sequence_number=[1, None]), "has lost a value"),
            (changed(last_updated_sequence_number=[1, -1]), "after the version"),
        ]:
            with pytest.raises(fz.InvalidInputError, match=match) as refused:
                table.commit_rewrite(scan.plan_files(), [writer.rewrite(bad)], at=at)
            assert refused.value.context["path"].endswith(".parquet")
        halves = [writer.rewrite(left.slice(0, 1)), table.writer(1).rewrite(left.slice(0, 1))]
        with pytest.raises(fz.InvalidInputError, match="the same id"):
            table.commit_rewrite(scan.plan_files(), halves, at=at)
    table.commit_rewrite(scan.plan_files(), [table.writer().rewrite(left)], at=at)
    assert fz.open_table(table.location).scan("id < 4", select=columns(table)).to_arrow().sort_by("id") == left
    # And again, by ids that are in the file now.
    scan = table.scan("id < 4", select=columns(table))
    assert scan.snapshot_id is not None
    table.commit_rewrite(scan.plan_files(), [table.writer().rewrite(left)], at=scan.snapshot_id)
    assert read(table) == [1, 3, 4, 5]


def upgraded(catalog: fz.Catalog, **properties: str) -> fz.Table:
    """Whose rows have no ids yet."""
    return make(catalog, 2, **properties).append(rows(1, 2)).upgrade(3)


def test_rows_that_were_read_before_they_had_ids(catalog: fz.Catalog) -> None:
    table = upgraded(catalog)
    scan = table.scan(select=columns(table))
    left = scan.to_arrow()
    assert left["_row_id"].to_pylist() == [None, None]
    assert scan.snapshot_id is not None
    tasks, message = list(scan.plan_files()), table.writer().rewrite(left)
    catalog.load_table("db.t").append(rows(3))
    ids = {r["id"]: r["_row_id"] for r in catalog.load_table("db.t").scan(select=columns(table)).to_arrow().to_pylist()}
    assert sorted(ids.values()) == [0, 1, 2]
    for handle in (table, catalog.load_table("db.t")):
        with pytest.raises(fz.CommitConflictError, match="got ids after they were read") as refused:
            handle.commit_rewrite(tasks, [message], at=scan.snapshot_id)
        assert "Read the rows again, at snapshot" in str(refused.value)
        assert refused.value.context["operation"] == "append"
    # Read again they keep theirs.
    table = catalog.load_table("db.t")
    scan = table.scan("id < 3", select=columns(table))
    assert scan.snapshot_id is not None
    table.commit_rewrite(scan.plan_files(), [table.writer().rewrite(scan.to_arrow())], at=scan.snapshot_id)
    assert {r["id"]: r["_row_id"] for r in table.scan(select=columns(table)).to_arrow().to_pylist()} == ids


def test_a_rewrite_gives_ids_where_nobody_did(catalog: fz.Catalog) -> None:
    table = upgraded(catalog)
    scan = table.scan(select=columns(table))
    assert scan.snapshot_id is not None
    table.commit_rewrite(scan.plan_files(), [table.writer().rewrite(scan.to_arrow())], at=scan.snapshot_id)
    assert sorted(table.scan(select=columns(table)).to_arrow()["_row_id"].to_pylist()) == [0, 1]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_updates_planned_before_rows_had_ids(catalog: fz.Catalog, mode: str) -> None:
    table = upgraded(catalog, write_update_mode=mode)
    tx = table.transaction()
    tx.update("id = 1", {"g": "b"})
    catalog.load_table("db.t").append(rows(3))
    with pytest.raises(fz.CommitConflictError, match="rows got ids after they were read"):
        tx.commit()
    table = catalog.load_table("db.t")
    ids = {r["id"]: r["_row_id"] for r in table.scan(select=columns(table)).to_arrow().to_pylist()}
    table.update("id = 1", {"g": "b"})
    assert {r["id"]: r["_row_id"] for r in table.scan(select=columns(table)).to_arrow().to_pylist()} == ids


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_a_transaction_that_gives_ids_itself(catalog: fz.Catalog, mode: str) -> None:
    for name, others in (("db.own", False), ("db.others", True)):
        table = make(catalog, 2, name, write_update_mode=mode).append(rows(1, 2)).upgrade(3)
        tx = table.transaction()
        tx.append(rows(4))
        tx.update("id in (1, 4)", {"g": "b"})
        if others:
            # The rows get other ids than the transaction gave them.
            catalog.load_table(name).append(rows(3))
            with pytest.raises(fz.CommitConflictError, match="rows got ids after they were read"):
                tx.commit()
        else:
            tx.commit()
            found = table.refresh().scan(select=columns(table)).to_arrow()
            assert len(set(found["_row_id"].to_pylist())) == 3
