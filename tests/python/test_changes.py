"""What happened between two versions: appends alone, and change logs. Tables here have appends only; those that delete
are Java's (tests/interop/test_changes.py) or made by hand (src/iceberg/changes_tests.rs)."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frazil as fz
from conftest import event_rows

CHANGE_COLUMNS = ["_change_type", "_change_ordinal", "_commit_snapshot_id"]


def ids(scan: fz.Scan) -> list[int]:
    return sorted(scan.to_arrow()["id"].to_pylist())


def edit(table: fz.Table, change) -> fz.Table:
    """The table with its metadata file changed in place."""
    path = Path(table.metadata_location.removeprefix("file:"))
    metadata = json.loads(path.read_text())
    change(metadata)
    path.write_text(json.dumps(metadata))
    return fz.open_table(table.metadata_location)


@pytest.fixture
def log(catalog: fz.Catalog) -> fz.Table:
    """Ten rows in each of five commits."""
    rows = event_rows(0, 50)
    table = catalog.create_table("db.log", rows.schema, partition_by=["country"])
    for first in range(0, 50, 10):
        table.append(rows.slice(first, 10))
    return table


def test_appended_rows(log: fz.Table) -> None:
    first, *_, fourth, last = log.snapshots
    assert ids(log.scan(since=first.id)) == list(range(10, 50))
    assert ids(log.scan(since=first.id, at=fourth.id)) == list(range(10, 40))
    assert ids(log.scan("country = 'NO'", since=fourth.id)) == [40, 44, 48]
    assert ids(log.scan(since=first.timestamp, at="main")) == list(range(10, 50))
    assert log.scan(since=last.id).count() == 0
    assert log.scan(since=last.id).to_arrow().schema.names == list(log.schema.names)
    assert log.scan(since=first.id).count() == 40
    scan = log.scan(since=first.id)
    assert scan.plan_table().num_rows == len(list(scan.plan_files())) == sum(len(s.tasks) for s in scan.plan())
    with pytest.raises(fz.UnsupportedError, match="in parts"):
        scan.plan_parts()
    assert ids(pickle.loads(pickle.dumps(scan))) == list(range(10, 50))
    assert f"since {first.id}" in repr(scan)


def test_change_log(log: fz.Table) -> None:
    scan = log.changes(since=log.snapshots[1].id)
    rows = scan.to_arrow()
    assert rows.schema.names == [*log.schema.names, *CHANGE_COLUMNS]
    assert [str(rows.schema.field(name).type) for name in CHANGE_COLUMNS] == ["string", "int32", "int64"]
    assert set(rows["_change_type"].to_pylist()) == {"insert"}
    commits = {s.id: ordinal for ordinal, s in enumerate(log.snapshots[2:])}
    for row in rows.to_pylist():
        assert commits[row["_commit_snapshot_id"]] == row["_change_ordinal"] == row["id"] // 10 - 2
    assert scan.count() == 30
    for task in scan.plan_files():
        assert task.operation == "insert"
        assert task.commit_snapshot_id == task.data_file.snapshot_id
        assert commits[task.commit_snapshot_id] == task.change_ordinal
        assert task.removed_by is None
        again = pickle.loads(pickle.dumps(task))
        assert again == task
        assert again.change_ordinal == task.change_ordinal
        with pytest.raises(fz.UnsupportedError, match="Pickle"):
            task.to_json()
    plain = next(log.scan().plan_files())
    assert (plain.operation, plain.change_ordinal, plain.commit_snapshot_id) == (None, None, None)


def test_columns_and_rows_of_a_change_log(log: fz.Table) -> None:
    scan = log.changes("id >= 25", select=["_change_ordinal", "id", "payload.a", "_change_type"])
    rows = scan.to_arrow()
    assert rows.schema.names == ["_change_ordinal", "id", "payload", "_change_type"]
    assert sorted(rows["id"].to_pylist()) == list(range(25, 50))
    assert scan.limit(7).to_arrow().num_rows == 7
    assert scan.where("id < 30").select("_commit_snapshot_id").to_arrow().num_rows == 5
    assert ids(log.changes("country = 'NO'")) == list(range(0, 50, 4))
    assert log.changes(select=["_row_id"]).to_arrow()["_row_id"].null_count == 50
    splits = log.changes().plan(split_size_bytes=1)
    assert sum(pickle.loads(pickle.dumps(s)).to_arrow().num_rows for s in splits) == 50
    assert "changes" in repr(scan)
    with pytest.raises(fz.InvalidInputError):
        log.changes(select=["_nothing"])


def test_filters_on_what_happened(log: fz.Table) -> None:
    last = log.snapshots[-1].id
    assert ids(log.changes("_change_type = 'insert' and id < 12")) == list(range(12))
    assert log.changes("_change_type = 'delete'").to_arrow().num_rows == 0
    assert log.changes("_change_type = 'delete'").count() == 0
    assert ids(log.changes(f"_commit_snapshot_id = {last}")) == list(range(40, 50))
    scan = log.changes(select=["id"]).where("_change_ordinal in (1, 3)").where("id >= 15")
    assert ids(scan) == [*range(15, 20), *range(30, 40)]
    assert scan.count() == 15
    assert ids(pickle.loads(pickle.dumps(scan))) == ids(scan)
    assert sum(pickle.loads(pickle.dumps(s)).to_arrow().num_rows for s in scan.plan()) == 15
    assert "_change_ordinal" in str(scan.filter)
    with pytest.raises(fz.UnsupportedError, match="alternative"):
        log.changes("_change_ordinal = 1 or id = 2")
    with pytest.raises(fz.InvalidInputError):
        log.scan("_change_type = 'insert'")


def test_a_plan_as_a_table(log: fz.Table) -> None:
    scan = log.changes(since=log.snapshots[0].id)
    plan = scan.plan_table().to_pylist()
    tasks = [(t.data_file.path, t.operation, t.change_ordinal, t.commit_snapshot_id) for t in scan.plan_files()]
    assert [(r["file_path"], r["operation"], r["change_ordinal"], r["commit_snapshot_id"]) for r in plan] == tasks
    assert log.changes("id < -1").plan_table().schema.names == scan.plan_table().schema.names


def test_versions_that_do_not_follow(log: fz.Table) -> None:
    first, second, *_, last = log.snapshots
    for scan in (log.scan, log.changes):
        with pytest.raises(fz.InvalidInputError, match="is not an ancestor of") as error:
            scan(since=last.id, at=second.id)
        assert "rolled back" in (error.value.hint or "")
        with pytest.raises(fz.InvalidInputError, match="is not an ancestor of") as error:
            scan(since=12345)
        assert "expired" in (error.value.hint or "")
        with pytest.raises(fz.NotFoundError):
            scan(since="no such tag")
        with pytest.raises(fz.NotFoundError):
            scan(since=first.id, at=12345)
        with pytest.raises(fz.InvalidInputError, match="since="):
            scan(since=1.5)


def test_expired_versions(log: fz.Table) -> None:
    first, second, third, *_ = log.snapshots

    def expire(metadata) -> None:
        metadata["snapshots"] = [s for s in metadata["snapshots"] if s["snapshot-id"] not in (first.id, second.id)]
        metadata["snapshot-log"] = metadata["snapshot-log"][2:]

    expired = edit(log, expire)
    assert ids(expired.changes()) == list(range(20, 50))
    # The parent of the oldest one that is left is as good as there.
    assert ids(expired.changes(since=second.id)) == ids(expired.scan(since=second.id)) == list(range(20, 50))
    assert ids(expired.changes(since=third.id)) == list(range(30, 50))
    with pytest.raises(fz.InvalidInputError):
        expired.changes(since=first.id)


def test_branches_and_tags(log: fz.Table) -> None:
    first, second, third, fourth, _ = log.snapshots

    def branch(metadata) -> None:
        metadata["refs"]["old"] = {"snapshot-id": third.id, "type": "branch"}
        metadata["refs"]["v1"] = {"snapshot-id": first.id, "type": "tag"}
        # `other` begins at the second: the fourth becomes its child.
        for snapshot in metadata["snapshots"]:
            if snapshot["snapshot-id"] == fourth.id:
                snapshot["parent-snapshot-id"] = second.id
        metadata["refs"]["other"] = {"snapshot-id": fourth.id, "type": "branch"}

    table = edit(log, branch)
    assert ids(table.changes(since="v1", at="old")) == list(range(10, 30))
    assert ids(table.scan(since="v1", at="old")) == list(range(10, 30))
    assert ids(table.changes(since=second.id, at="other")) == list(range(30, 40))
    with pytest.raises(fz.InvalidInputError, match="is not an ancestor of"):
        table.changes(since=third.id, at="other")


def test_an_empty_table(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.empty", pa.schema([("id", pa.int64())]))
    assert table.changes().to_arrow().num_rows == 0
    assert table.changes().to_arrow().schema.names == ["id", *CHANGE_COLUMNS]
    assert list(table.changes().plan_files()) == []
    assert table.changes(since="main").count() == 0
    with pytest.raises(fz.InvalidInputError):
        table.scan(since=7)


def test_a_column_that_is_called_as_one_of_ours(catalog: fz.Catalog) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64()), "_change_type": ["mine"], "_row_id": ["own"]})
    table = catalog.create_table("db.taken", rows.schema).append(rows)
    assert table.scan(select=["_change_type", "_row_id"]).to_arrow().to_pylist() == [
        {"_change_type": "mine", "_row_id": "own"}
    ]
    with pytest.raises(fz.UnsupportedError, match="_change_type"):
        table.changes()


def test_a_replace_changes_nothing(log: fz.Table) -> None:
    third = log.snapshots[2]

    def replace(metadata) -> None:
        for snapshot in metadata["snapshots"]:
            if snapshot["snapshot-id"] == third.id:
                snapshot["summary"]["operation"] = "replace"

    table = edit(log, replace)
    rows = table.changes().to_arrow().to_pylist()
    assert {r["id"] // 10: r["_change_ordinal"] for r in rows} == {0: 0, 1: 1, 3: 2, 4: 3}
    assert ids(table.scan(since=table.snapshots[0].id)) == [*range(10, 20), *range(30, 50)]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_stretch_of_appends(log: fz.Table, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, 5))
    end = data.draw(st.integers(max(begin, 1), 5))
    low = data.draw(st.integers(-5, 55))
    filter = data.draw(st.sampled_from([f"id >= {low}", f"id < {low} or country = 'NO'", f"id = {low}", "true"]))
    keep = {
        "true": lambda i: True,
        f"id >= {low}": lambda i: i >= low,
        f"id = {low}": lambda i: i == low,
    }.get(filter, lambda i: i < low or i % 4 == 0)
    want = [i for i in range(begin * 10, end * 10) if keep(i)]
    since = {"since": log.snapshots[begin - 1].id} if begin else {}
    at = log.snapshots[end - 1].id
    assert ids(log.changes(filter, at=at, **since)) == want
    assert log.changes(filter, at=at, **since).count() == len(want)
    if since:
        assert ids(log.scan(filter, at=at, **since)) == want


# ---------------------------------------------------------------- explained, estimated, bounded


def test_appends_are_explained(log: fz.Table) -> None:
    scan = log.scan("country = 'NO' and id < 32", since=log.snapshots[1].id)
    explained = scan.explain(files=True)
    facts = explained.to_dict()
    assert [(c["snapshot_id"], c["operation"]) for c in facts["commits"]] == [
        (s.id, "append") for s in log.snapshots[2:]
    ]
    # Of each commit's four countries one, but of the last commits all ids are above.
    assert [c["inserts"] for c in facts["commits"]] == [1, 0, 0]
    files = explained.files.to_pylist()
    assert {f["file_path"] for f in files if f["kept"]} == {t.data_file.path for t in scan.plan_files()}
    assert len(files) == log.scan(since=log.snapshots[1].id).plan_table().num_rows
    assert {f["stage"] for f in files} == {"kept", "partition tuples", "column metrics"}
    assert len(explained.manifests) == 3
    assert "rows came in 1 file" in str(explained)
    assert "rows came in 1 file" in explained._repr_html_()
    estimate = scan.estimate()
    assert estimate.bytes == sum(explained.manifests["manifest_length"].to_pylist())
    assert estimate.certainty["bytes"] == "exact"
    said = log.scan(since=log.snapshots[1].id).statistics("id")
    assert (said.row_count, said["id"].min, said["id"].max) == ((30, True), (20, True), (49, True))
    empty = log.scan(since=log.snapshots[-1].id)
    assert empty.explain(files=True).files.num_rows == empty.estimate().bytes == 0


def test_changes_are_explained(log: fz.Table) -> None:
    scan = log.changes("id >= 25", since=log.snapshots[0].id)
    explained = scan.explain(files=True)
    tasks = list(scan.plan_files())
    commits = explained.to_dict()["commits"]
    assert [c["change_ordinal"] for c in commits] == [0, 1, 2, 3]
    assert [c["inserts"] for c in commits] == [
        sum(t.commit_snapshot_id == s.id for t in tasks) for s in log.snapshots[1:]
    ]
    assert {c["deletes"] for c in commits} == {0}
    files = explained.files
    assert files.schema.names[-3:] == ["operation", "change_ordinal", "commit_snapshot_id"]
    kept = [(f["commit_snapshot_id"], f["file_path"]) for f in files.to_pylist() if f["kept"]]
    assert sorted(kept) == sorted((t.commit_snapshot_id, t.data_file.path) for t in tasks)
    assert "change 3, " in str(explained)
    assert pickle.loads(pickle.dumps(explained)).to_dict() == explained.to_dict()
    estimate = scan.estimate()
    assert estimate.at_most
    assert estimate.certainty["bytes"] == "at most"
    assert estimate.bytes == sum(explained.manifests["manifest_length"].to_pylist())
    assert estimate.data_files >= len(tasks)
    with pytest.raises(fz.UnsupportedError, match="statistics"):
        scan.statistics()


def test_a_limit_bounds_all_commits_together(log: fz.Table) -> None:
    sizes = log.inspect.manifests()["length"].to_pylist()
    for scan in (log.scan, log.changes):
        first = None if scan == log.changes else log.snapshots[0].id
        total = sum(sizes) if first is None else scan(since=first).estimate().bytes
        assert len(scan(since=first, max_plan_bytes=total).plan()) > 0
        assert scan(since=first, max_plan_bytes=total).explain().to_dict()["rows"] > 0
        refused = scan(since=first, max_plan_bytes=total - 1)
        for plan in (
            refused.plan,
            refused.plan_table,
            refused.explain,
            refused.count,
        ):
            with pytest.raises(fz.InvalidInputError, match=f"would read {total} bytes"):
                plan()
        with pytest.raises(fz.InvalidInputError, match=f"would read {total} bytes"):
            list(refused.plan_files())
        assert refused.estimate().bytes == total
    with pytest.raises(fz.InvalidInputError, match="max_plan_bytes"):
        log.changes(max_plan_bytes=-1)


def test_since_the_beginning(log: fz.Table, catalog: fz.Catalog) -> None:
    before = log.snapshots[0].timestamp - dt.timedelta(days=1)
    assert ids(log.scan(since=before)) == ids(log.changes(since=before)) == list(range(50))
    assert ids(log.scan(since=before, at=log.snapshots[1].id)) == list(range(20))
    empty = catalog.create_table("db.empty", log.schema)
    assert empty.scan(since=before).count() == empty.changes(since=before).count() == 0
    with pytest.raises(fz.NotFoundError):
        log.scan(at=before)

    def cut(metadata) -> None:
        first = metadata["snapshots"].pop(0)["snapshot-id"]
        metadata["snapshot-log"] = [e for e in metadata["snapshot-log"] if e["snapshot-id"] != first]

    # What was there before the oldest snapshot left is not known any more.
    later = edit(log, cut)
    assert ids(later.changes()) == list(range(10, 50))
    with pytest.raises(fz.NotFoundError, match="no snapshot yet"):
        later.changes(since=before)


def test_a_time_without_a_zone_is_utc(log: fz.Table) -> None:
    second = log.snapshots[1].timestamp
    naive = second.replace(tzinfo=None)
    elsewhere = second.astimezone(dt.timezone(dt.timedelta(hours=5)))
    for at in (second, naive, elsewhere):
        assert log.scan(at=at).count() == 20
        assert log.scan(since=at).count() == 30
    moment = event_rows(0, 50)["ts"][20].as_py()
    for value in (moment, moment.replace(tzinfo=None)):
        assert log.scan(fz.col("ts") >= value).count() == log.scan(f"ts >= '{value.isoformat()}'").count() == 30
