"""Changes of rows of Paimon tables in parts: several processes do one part each, and one process commits them all."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil._core import CommitMessage
from frazil.requests import rows as row_requests
from frazil.requests.rows import RowChange

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("n", pa.int64()), ("s", pa.string())])
EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
MODES: dict[str, dict[str, Any]] = {
    "plain": {},
    "partitions": {"partition_by": ["p"]},
    "vectors": {"properties": {"deletion-vectors.enabled": "true"}},
    "wide-vectors": {"properties": {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"}},
    "buckets": {"properties": {"bucket": "2", "bucket-key": "id"}},
    "tracked": {"properties": {"row-tracking.enabled": "true"}, "partition_by": ["p"]},
    "evolving": {"properties": {**EVOLVING, "deletion-vectors.enabled": "true"}},
}
OTHERS: dict[str, dict[str, Any]] = {"evolving-only": {"properties": EVOLVING}}
PLACES = ("frazil file", "frazil position", "frazil missing")

Row = dict[str, Any]


def made(ids: range) -> list[Row]:
    return [{"id": i, "p": "ab"[i % 2], "n": i * 10, "s": f"s{i}" if i % 3 else None} for i in ids]


def create(folder: Path, mode: str = "plain", files: int = 4, by: list[str] | None = None) -> fz.Table:
    catalog = fz.catalog("parts", warehouse=str(folder))
    catalog.create_namespace("db", if_not_exists=True)
    settings = {**(MODES | OTHERS)[mode], **({"partition_by": by} if by else {})}
    table = catalog.create_table("db.t", SCHEMA, format="paimon", **settings)
    for number in range(files):
        table = table.append(pa.Table.from_pylist(made(range(number * 5, number * 5 + 5)), schema=SCHEMA))
    return table


def content(table: fz.Table, **scan: Any) -> list[Row]:
    return sorted(as_now(table).scan(**scan).to_arrow().to_pylist(), key=lambda row: row["id"])


def broken(table: fz.Table) -> list[Any]:
    return [finding for finding in table.doctor(deep=True).findings if finding.severity != "info"]


def as_now(table: fz.Table) -> fz.Table:
    """A handle that stays at this version."""
    return fz.Table(table.refresh()._core)


def data_files(table: fz.Table) -> set[Path]:
    folder = Path(table.location.removeprefix("file://"))
    return {path for path in folder.rglob("*") if path.is_file() and path.parent.name not in ("manifest", "snapshot")}


def by_filter(table: fz.Table, change: RowChange.Delete | RowChange.Update) -> list[CommitMessage]:
    """The messages of a delete or update, whose files are two parts."""
    whole, files = row_requests.find_files(table._core, change, None)
    paths = [path for path, _ in files]
    parts = [part for part in (paths[::2], paths[1::2]) if part]
    return [whole, *(row_requests.write_file_part(table._core, change, part, None, 0) for part in parts)]


def matched(table: fz.Table, merge: RowChange.Merge, rows: list[Row], task: int = 0) -> CommitMessage:
    """The message of a part of a merge. Rows with a `key` match the row with this id; `gone` ones delete it."""
    places = {
        row["id"]: (row["_file"], row["_pos"])
        for row in table.scan(None, ["id", "_file", "_pos"]).to_arrow().to_pylist()
    }
    columns = [c for c in SCHEMA.names if any(c in row for row in rows)]
    found = [places.get(row.get("key"), (None, None)) for row in rows]
    given = pa.table(
        [
            *(pa.array([row.get(c) for row in rows], SCHEMA.field(c).type) for c in columns),
            pa.array([file for file, _ in found], pa.string()),
            pa.array([position for _, position in found], pa.int64()),
            pa.array([bool(row.get("gone")) for row in rows]),
        ],
        [*columns, *PLACES],
    )
    return row_requests.write_matched_part(table._core, merge, "true", given, None, task, "merge")


def setting(*columns: str, inserts: bool = False) -> RowChange.Merge:
    every = {name: name for name in SCHEMA.names} if inserts else None
    return RowChange.Merge([], {name: name for name in columns} or None, None, every, None)


def commit(table: fz.Table, change: RowChange, messages: list[CommitMessage], **properties: str) -> fz.Table:
    sent = pickle.loads(pickle.dumps(messages))
    return fz.Table(row_requests.commit_parts(table._core, change, "true", sent, properties, None))


@pytest.mark.parametrize("mode", MODES)
def test_deletes_and_updates_by_files(tmp_path: Path, mode: str) -> None:
    table = create(tmp_path, mode)
    update = row_requests.update_change("n >= 30 and n < 120", {"s": "new", "n": fz.col("id")})
    done = commit(table, update, by_filter(table, update), why="test")
    wanted = [{**row, "s": "new", "n": row["id"]} if 3 <= row["id"] < 12 else row for row in made(range(20))]
    assert content(table) == wanted
    summary = done.snapshot.summary
    assert (summary["frazil.rows-updated"], summary["frazil.rows-deleted"], summary["why"]) == ("9", "0", "test")
    assert len(done.snapshots) == 5
    delete = row_requests.delete("id >= 8 and id != 13")
    done = commit(done, delete, by_filter(done, delete))
    assert content(table) == [row for row in wanted if row["id"] < 8 or row["id"] == 13]
    assert done.snapshot.summary["frazil.rows-deleted"] == "11"
    assert not broken(done)
    nothing = row_requests.delete("id = 100")
    assert commit(done, nothing, by_filter(done, nothing)).snapshot.id == done.snapshot.id


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "evolving"])
def test_matches_update_delete_and_insert(tmp_path: Path, mode: str) -> None:
    table = create(tmp_path, mode)
    merge = setting("n", "s", inserts=True)
    first = [
        {"key": 1, "n": -1, "s": "one"},
        {"key": 2, "gone": True},
        {"key": 4, "n": 40, "s": "s4"},  # stays as it is
        {"id": 77, "p": "c", "n": 7, "s": None},
    ]
    second = [{"key": 7, "n": 0, "s": None}, *({"key": i, "gone": True} for i in range(10, 15)), {"id": 78, "p": "a"}]
    done = commit(table, merge, [matched(table, merge, first), matched(table, merge, second, 1)])
    wanted = {row["id"]: row for row in made(range(20)) if row["id"] not in (2, *range(10, 15))}
    wanted[1] |= {"n": -1, "s": "one"}
    wanted[7] |= {"n": 0, "s": None}
    wanted[77] = {"id": 77, "p": "c", "n": 7, "s": None}
    wanted[78] = {"id": 78, "p": "a", "n": None, "s": None}
    assert content(table) == list(wanted.values())
    summary = done.snapshot.summary
    assert [summary[f"frazil.rows-{what}"] for what in ("updated", "deleted", "inserted")] == ["2", "6", "2"]
    assert not broken(done)


def test_rows_that_are_tracked_keep_their_ids(tmp_path: Path) -> None:
    table = create(tmp_path, "tracked")
    columns = ["id", "_row_id", "_last_updated_sequence_number"]
    before = {row["id"]: row for row in content(table, select=columns)}
    merge = setting("n")
    rows = [{"key": 1, "n": 5}, {"key": 3, "gone": True}, {"key": 16, "n": 0}]
    done = commit(table, merge, [matched(table, merge, rows)])
    after = {row["id"]: row for row in content(done, select=columns)}
    for i in (1, 16):
        before[i]["_last_updated_sequence_number"] = done.snapshot.id
    del before[3]
    assert after == before


def test_columns_of_evolving_tables_have_files_of_their_own(tmp_path: Path) -> None:
    table = create(tmp_path, "evolving")
    before = content(table, select=["id", "_row_id"])
    merge = setting("n", "s", inserts=True)
    rows = [{"key": 1, "n": -1, "s": "one"}, {"key": 7, "n": 70, "s": "s7"}, {"id": 77, "p": "c", "n": 7}]
    done = commit(table, merge, [matched(table, merge, rows)])
    wanted = made(range(20))
    wanted[1] |= {"n": -1, "s": "one"}
    assert content(table) == [*wanted, {"id": 77, "p": "c", "n": 7, "s": None}]
    # The second row is equal already, so its file has no new columns.
    files = done.inspect.data_files().to_pylist()
    assert [(f["first_row_id"], f["record_count"]) for f in files if f["write_cols"] == ["n", "s"]] == [(0, 5)]
    assert content(done, select=["id", "_row_id"])[:20] == before
    gone = setting()
    done = commit(done, gone, [matched(done, gone, [{"key": 1, "gone": True}, {"key": 19, "gone": True}])])
    assert content(table) == [*wanted[:1], *wanted[2:19], {"id": 77, "p": "c", "n": 7, "s": None}]
    assert done.snapshot.summary["frazil.rows-deleted"] == "2"
    both = [{"key": 5, "n": 1, "s": "x"}, {"key": 6, "gone": True}]
    with pytest.raises(fz.UnsupportedError, match=r"merges that delete rows of tables with 'data-evolution\.enabled'"):
        matched(done, merge, both)


def test_merges_of_evolving_tables_may_only_delete(tmp_path: Path) -> None:
    table = create(tmp_path, "evolving")
    table.merge(pa.table({"id": [3, 19, 40]}), "id", when_matched_delete=True)
    assert content(table) == [row for row in made(range(20)) if row["id"] not in (3, 19)]
    assert not broken(table.refresh())
    with pytest.raises(fz.UnsupportedError, match="merges that delete rows"):
        table.merge(pa.table({"id": [4], "n": [0]}), "id", when_matched_update=True, when_matched_delete="n = 1")


def test_the_same_parts_are_committed_once(tmp_path: Path) -> None:
    for mode in ("plain", "vectors"):
        table = create(tmp_path / mode, mode)
        merge = setting("n")
        read = as_now(table)
        messages = [matched(read, merge, [{"key": 1, "n": 5}, {"key": 3, "gone": True}])]
        done = commit(read, merge, messages)
        again = commit(read, merge, messages)
        assert again.snapshot.id == done.snapshot.id
        assert content(table)[1:3] == [{**made(range(2))[1], "n": 5}, made(range(3))[2]]


VECTORS = ["vectors", "wide-vectors", "evolving"]


@pytest.mark.parametrize("mode", VECTORS)
def test_two_deletes_in_one_file_are_two_changes(tmp_path: Path, mode: str) -> None:
    """Neither writes a data file, so only the positions tell them apart."""
    table = create(tmp_path, mode)
    first, second = row_requests.delete("id = 1"), row_requests.delete("id = 2")
    read, messages = as_now(table), by_filter(table, first)
    meanwhile = by_filter(read, second)
    commit(read, first, messages)
    with pytest.raises(fz.CommitConflictError):
        commit(read, second, meanwhile)
    gone, newest = setting(), as_now(table)
    messages = [matched(newest, gone, [{"key": 2, "gone": True}])]
    # The clock of the part's writer is behind.
    late = json.loads(messages[0].to_json())
    late["written-at"]["timestamp-ms"] -= 3_600_000
    commit(newest, gone, [CommitMessage.from_json(json.dumps(late))])
    assert [row["id"] for row in content(table)] == [0, *range(3, 20)]
    before = data_files(table)
    assert commit(newest, gone, [CommitMessage.from_json(json.dumps(late))]).snapshot.id == 6
    assert data_files(table) == before


def test_deletes_in_other_files_are_no_conflict(tmp_path: Path) -> None:
    """Their vectors are in one index file, which the other commit replaces."""
    table = create(tmp_path, "vectors")
    table.delete("id in (0, 6)")
    read = as_now(table)
    delete, merge = row_requests.delete("id = 1"), setting("n")
    messages, updates = by_filter(read, delete), [matched(read, merge, [{"key": 12, "n": 5}])]
    table.delete("id = 7")
    commit(read, delete, messages)
    commit(read, merge, updates)
    left = [{**row, "n": 5} if row["id"] == 12 else row for row in made(range(20)) if row["id"] not in (0, 1, 6, 7)]
    assert content(table) == left
    assert not broken(table.refresh())
    # The same file again, and a version that has expired.
    messages = by_filter(read, row_requests.delete("id = 8"))
    with pytest.raises(fz.CommitConflictError, match="deleted rows of the same files"):
        commit(read, delete, messages)
    table.maintain.expire_snapshots(retain_last=1, older_than=dt.timedelta(0))
    with pytest.raises(fz.CommitConflictError):
        commit(read, delete, messages)
    assert content(table) == left


def test_a_version_that_was_rolled_back_is_a_conflict(tmp_path: Path) -> None:
    table = create(tmp_path, "evolving")
    read, merge = as_now(table), setting("n")
    messages = [matched(read, merge, [{"key": 1, "n": 5}])]
    table.rollback(to=3)
    with pytest.raises(fz.CommitConflictError, match="rolled back"):
        commit(read, merge, messages)
    as_now(table).update("id = 2", {"n": -7})
    with pytest.raises(fz.CommitConflictError, match="rolled back"):
        commit(read, merge, messages)
    assert [row["n"] for row in content(table)[:3]] == [0, 10, -7]


def test_columns_that_keep_their_values_are_not_written(tmp_path: Path) -> None:
    """As `UPDATE SET *` sets the columns of the key and of partitions to what they are."""
    table = create(tmp_path, "evolving", by=["p"])
    merge = setting(*SCHEMA.names)
    rows = [{"id": i, "key": i, "p": "ab"[i % 2], "n": -1, "s": f"s{i}"} for i in (1, 4)]
    done = commit(table, merge, [matched(table, merge, rows)])
    wanted = [{**row, "n": -1} if row["id"] in (1, 4) else row for row in made(range(20))]
    assert content(table) == wanted
    assert {tuple(f["write_cols"] or ()) for f in done.inspect.data_files().to_pylist()} == {(), ("n",)}
    moved = [{"id": 1, "key": 1, "p": "b", "n": 0, "s": None}, {"id": 2, "key": 2, "p": "b", "n": 0, "s": None}]
    with pytest.raises(fz.UnsupportedError, match="changes of partition columns"):
        matched(done, merge, moved)
    assert content(table) == wanted


def test_whole_partitions_are_deleted_by_their_metadata(tmp_path: Path) -> None:
    for mode in ("partitions", "evolving", "evolving-only"):
        table = create(tmp_path / mode, mode, by=["p"])
        delete = row_requests.delete("p = 'a'")
        whole, files = row_requests.find_files(table._core, delete, None)
        assert files == []
        done = commit(table, delete, [whole])
        assert content(table) == [row for row in made(range(20)) if row["p"] == "b"]
        assert done.snapshot.summary["frazil.rows-deleted"] == "10"
        assert all("/p=b/" in file["file_path"] for file in done.inspect.data_files().to_pylist())
        assert not broken(done)


def test_parts_that_do_not_belong_together(tmp_path: Path) -> None:
    table, other = create(tmp_path / "a"), create(tmp_path / "b")
    merge = setting("n")
    message = matched(table, merge, [{"key": 1, "n": 5}])
    with pytest.raises(fz.InvalidInputError, match="two parts changed the same data file"):
        commit(table, merge, [message, matched(table, merge, [{"key": 2, "n": 5}])])
    with pytest.raises(fz.InvalidInputError, match="a message belongs to another table"):
        commit(other, merge, [message])
    with pytest.raises(fz.InvalidInputError, match="not a part of a change of rows"):
        commit(table, merge, [table.writer().write(pa.table({"id": [1]}))])
    newer = as_now(table).append(pa.table({"id": [100]}))
    with pytest.raises(fz.InvalidInputError, match="done at another version"):
        commit(newer, merge, [message])
    with pytest.raises(fz.InvalidInputError, match="matches several rows of the source"):
        matched(table, merge, [{"key": 1, "n": 5}, {"key": 1, "n": 6}])
    lost = pa.table([[1], ["file:///nowhere/data-1.parquet"], [0], [False]], ["n", *PLACES])
    with pytest.raises(fz.InvalidInputError, match="no such data file at this version"):
        row_requests.write_matched_part(table._core, merge, "true", lost, None, 0, "merge")
    with pytest.raises(fz.UnsupportedError, match="parts of changes of another branch"):
        row_requests.find_files(table._core, row_requests.delete("id = 1"), "side")
    assert content(table)[:20] == made(range(20))


@pytest.mark.parametrize("mode", ["plain", "vectors", "tracked"])
def test_a_commit_that_changed_the_same_file_is_a_conflict(tmp_path: Path, mode: str) -> None:
    table = create(tmp_path, mode)
    merge, read = setting("n"), as_now(table)
    before = data_files(table)
    messages = [matched(read, merge, [{"key": 1, "n": 5}])]
    table.delete("id = 1")
    with pytest.raises(fz.CommitConflictError):
        commit(read, merge, messages)
    assert content(table) == [made(range(1))[0], *made(range(2, 20))]
    # The files stay for their owner, who deletes them. No index file is left.
    kept = data_files(table)
    table.refresh().abort(messages)
    aborted = data_files(table)
    assert len(kept) == len(aborted) + 1
    assert before <= aborted
    assert not broken(table.refresh())


@pytest.mark.parametrize("mode", ["plain", "vectors"])
def test_appended_rows_are_no_conflict_unless_rows_are_inserted(tmp_path: Path, mode: str) -> None:
    table = create(tmp_path, mode)
    update, read = setting("n"), as_now(table)
    messages = [matched(read, update, [{"key": 1, "n": 5}])]
    table.append(pa.table({"id": [100]}))
    done = commit(read, update, messages)
    assert content(table)[1]["n"] == 5
    assert content(table)[-1] == {"id": 100, "p": None, "n": None, "s": None}
    merge = setting("n", inserts=True)
    messages = [matched(done, merge, [{"key": 1, "n": 6}, {"id": 101, "p": None, "s": None}])]
    as_now(table).append(pa.table({"id": [101]}))
    with pytest.raises(fz.CommitConflictError, match="relies on the version before"):
        commit(done, merge, messages)
    assert [row["id"] for row in content(table)] == [*range(20), 100, 101]
    assert content(table)[1]["n"] == 5


def test_columns_that_changed_meanwhile_are_a_conflict(tmp_path: Path) -> None:
    table = create(tmp_path, "evolving")
    merge, read = setting("n"), as_now(table)
    messages = [matched(read, merge, [{"key": 1, "n": 5}])]
    table.update("id = 2", {"n": 6})
    with pytest.raises(fz.CommitConflictError):
        commit(read, merge, messages)
    assert [row["n"] for row in content(table)[:3]] == [0, 10, 6]


def test_tables_with_a_primary_key_have_no_parts(tmp_path: Path) -> None:
    catalog = fz.catalog("parts", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.k", SCHEMA, format="paimon", identifier_fields="id", properties={"bucket": "1"})
    with pytest.raises(fz.UnsupportedError):
        row_requests.find_files(table._core, row_requests.delete("id = 1"), None)
    plain = create(tmp_path, "evolving")
    rows = [{"key": 1, "gone": True}]
    without_vectors = fz.catalog("parts", warehouse=str(tmp_path)).create_table(
        "db.e", SCHEMA, format="paimon", properties=EVOLVING
    )
    without_vectors = without_vectors.append(pa.Table.from_pylist(made(range(3)), schema=SCHEMA))
    assert matched(plain, setting(), rows)
    with pytest.raises(fz.UnsupportedError, match=r"deletion-vectors\.enabled"):
        matched(without_vectors, setting(), rows)
