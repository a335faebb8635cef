"""Maintenance of tables of Apache Paimon in states that other writers leave behind."""

import datetime as dt
import json
import os
import pickle
from functools import partial
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz

SCHEMA = pa.schema([pa.field("id", pa.int32(), nullable=False), ("v", pa.int64())])
AGE = dt.timedelta(milliseconds=1)


def test_tags_whose_changelog_has_expired(tmp_path: Path) -> None:
    """Java's `FileDeletionBase.manifestSkippingSet`: a tag does not keep its snapshot's changelog."""
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    options = {"bucket": "1", "changelog-producer": "input"}
    table = catalog.create_table("db.t", SCHEMA, properties=options, format="paimon", identifier_fields=["id"])
    folder = Path(table.location)
    for i in range(6):
        table.append(pa.Table.from_pylist([{"id": i, "v": i}], SCHEMA))
        if i == 1:
            table.refs.create_tag("kept")
    snapshot = json.loads((folder / "snapshot" / "snapshot-2").read_text())
    table.maintain.expire_snapshots(retain_last=2, older_than=AGE)
    (folder / "manifest" / snapshot["changelogManifestList"]).unlink()
    table.append(pa.Table.from_pylist([{"id": 9, "v": 9}], SCHEMA))
    orphan = folder / "bucket-0" / "left-over"
    orphan.write_text("")
    for path in folder.rglob("*"):
        os.utime(path, (0, 0))
    expired = table.maintain.expire_snapshots(retain_last=1, older_than=AGE)
    assert expired.snapshots == [5, 6]
    found = table.maintain.remove_orphan_files().files
    assert str(orphan) in found
    assert [row["id"] for row in table.scan(at="kept").to_arrow().to_pylist()] == [0, 1]
    assert table.refresh().scan().count() == 7
    table.refs.drop("kept")
    assert table.scan().count() == 7


@pytest.mark.parametrize("producer", ["none", "input"])
def test_changes_go_back_over_expired_snapshots(tmp_path: Path, producer: str) -> None:
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    options = {"bucket": "1", "changelog-producer": producer, "changelog.num-retained.min": "4"}
    table = catalog.create_table("db.t", SCHEMA, properties=options, format="paimon", identifier_fields=["id"])
    for i in range(6):
        table.append(pa.Table.from_pylist([{"id": i, "v": i}], SCHEMA))
    table.maintain.compact()
    made = table.snapshots[1].timestamp
    planned = table.maintain.expire_snapshots(retain_last=2, older_than=AGE, dry_run=True)
    expired = table.maintain.expire_snapshots(retain_last=2, older_than=AGE)
    assert expired == planned._replace(deleted=True)
    assert (expired.snapshots, expired.changelogs) == ([1, 2, 3, 4, 5], [1, 2, 3])
    table = table.refresh()
    for since in ({}, {"since": 3}):
        log = table.changes(**since).to_arrow().sort_by("id")
        assert log["id"].to_pylist() == [3, 4, 5], since
        assert log["_commit_snapshot_id"].to_pylist() == [4, 5, 6]
    assert table.changes(since=3, at=5).to_arrow()["id"].to_pylist() == [3, 4]
    with pytest.raises(fz.NotFoundError, match="snapshot 3"):
        table.changes(since=2).to_arrow()
    for read in (table.changes, table.scan):
        with pytest.raises(fz.NotFoundError, match="Commits up to snapshot 3 have expired"):
            read(since=made)
    with pytest.raises(fz.NotFoundError):
        table.scan(at=4).to_arrow()
    assert table.maintain.remove_orphan_files(older_than=dt.timedelta(0)).files == []
    assert table.scan().count() == 6
    assert fz.open_table(table.location).changes().count() == 3
    # They are told no longer once they are kept no longer.
    table = table.remove_properties("changelog.num-retained.min")
    assert table.maintain.expire_snapshots(retain_last=1, older_than=AGE).changelogs == [4, 5]
    assert table.maintain.remove_orphan_files(older_than=dt.timedelta(0)).files == []
    assert table.refresh().scan().count() == 6


def test_ages_are_not_below_0(tmp_path: Path) -> None:
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    for format in ("paimon", "iceberg"):
        table = catalog.create_table(f"db.{format}", SCHEMA, format=format)
        table.append(pa.Table.from_pylist([{"id": 1, "v": 1}], SCHEMA))
        for maintain in (table.maintain.expire_snapshots, table.maintain.remove_orphan_files):
            with pytest.raises(fz.InvalidInputError, match="older_than= is an age"):
                maintain(older_than=dt.timedelta(days=-1))


def test_a_version_that_expires_meanwhile(tmp_path: Path) -> None:
    """The version's manifests are gone, before its snapshot or with it: the error says why, and what to do."""
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, format="paimon")
    for i in range(3):
        table.append(pa.Table.from_pylist([{"id": i, "v": i}], SCHEMA))
    old = fz.open_table(table.location).scan(at=1)
    snapshot = json.loads((Path(table.location) / "snapshot" / "snapshot-1").read_text())
    kept = table.scan(at=1)
    assert kept.count() == 1
    table.maintain.expire_snapshots(retain_last=1, older_than=AGE)
    assert not (Path(table.location) / "manifest" / snapshot["deltaManifestList"]).exists()
    with pytest.raises(fz.NotFoundError, match="Snapshot 1 has expired") as error:
        old.plan()
    assert "read a later one" in str(error.value)
    # What is in memory plans; its files are gone all the same, or kept by later versions.
    assert kept.to_arrow().column("id").to_pylist() == [0]
    with pytest.raises(fz.NotFoundError, match="no snapshot 1"):
        table.scan(at=1)
    with pytest.raises(fz.NotFoundError, match="Branches besides main: none"):
        table.scan(at="nope")


def test_rows_that_came_between_tags(tmp_path: Path) -> None:
    """Of keys the difference of both versions, as `changes` has it, also when commits between have expired."""
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, properties={"bucket": "1"}, format="paimon", identifier_fields=["id"])
    for v in range(3):
        table.upsert(pa.Table.from_pylist([{"id": 1, "v": v}, {"id": v + 5, "v": v}], SCHEMA))
        table.refs.create_tag(f"v{v}")
    want = [{"id": 1, "v": 2}, {"id": 6, "v": 1}, {"id": 7, "v": 2}]
    assert table.scan(since="v0", at="v2").to_arrow().sort_by("id").to_pylist() == want
    assert table.scan(since=1).count() == 4
    table.refs.drop("v1")
    table.maintain.expire_snapshots(retain_last=1, older_than=AGE)
    table = table.refresh()
    assert table.scan(since="v0", at="v2").to_arrow().sort_by("id").to_pylist() == want
    assert "_change_type" not in str(table.scan("v > 1", since="v0", at="v2").explain())


def test_explain_counts_the_files_of_all_commits(tmp_path: Path) -> None:
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, format="paimon")
    for v in range(4):
        table = table.append(pa.Table.from_pylist([{"id": v, "v": v}], SCHEMA))
    for scan, files in (
        (table.scan(since=1), 3),
        (table.changes(since=1, at=3), 2),
        (table.scan("id = 3", since=1), 1),
    ):
        stages = scan.explain().to_dict()["stages"]
        assert all(later["considered"] == stage["kept"] for stage, later in pairwise(stages[1:]))
        assert all(stage["kept"] <= stage["considered"] for stage in stages)
        assert stages[-1]["kept"] == len(list(scan.plan_files())) == files


def test_versions_of_another_table_in_the_same_folder_are_not_read(tmp_path: Path) -> None:
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")

    def made(v: int, commits: int) -> fz.Table:
        table = catalog.create_table("db.t", SCHEMA, format="paimon")
        for i in range(commits):
            table = table.append(pa.Table.from_pylist([{"id": i, "v": v}], SCHEMA))
        return table

    old = made(1, 3)
    old.refs.create_tag("tag")
    old.refs.create_branch("branch", at="tag")
    asked = [
        lambda: old.scan(at=2).count(),
        lambda: old.scan(at="branch").count(),
        lambda: old.scan(since=1).count(),
        lambda: old.changes(since=1).count(),
        lambda: len(old.snapshots),
        lambda: len(old.refs),
        *(
            partial(lambda name: getattr(old.inspect, name)().num_rows, name)
            for name in ("snapshots", "tags", "branches")
        ),
    ]
    assert [ask() for ask in asked] == [2, 3, 2, 2, 3, 3, 3, 1, 1]
    # Scans that were made before and not read yet.
    other = catalog.load_table("db.t")
    asked += [other.scan(at=2).to_arrow, other.changes(since=1).to_arrow]
    catalog.drop_table("db.t", purge=True)
    for ask in asked:
        with pytest.raises(fz.NotFoundError, match="dropped since it was opened"):
            ask()
    new = made(2, 4)
    new.refs.create_tag("tag")
    new.refs.create_branch("branch", at="tag")
    for ask in asked:
        with pytest.raises(fz.NotFoundError, match="dropped since it was opened"):
            ask()
    with pytest.raises(fz.NotFoundError, match="dropped since it was opened"):
        old.refresh()
    assert catalog.load_table("db.t").scan(at=2).to_arrow()["v"].to_pylist() == [2, 2]


def test_rows_of_a_dropped_table_are_not_written(tmp_path: Path) -> None:
    """Its folder is not made again, and a table that was made there again takes no files of the old one."""
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    rows = pa.Table.from_pylist([{"id": 1, "v": 1}], SCHEMA)
    old = catalog.create_table("db.t", SCHEMA, format="paimon").append(rows)
    folder = Path(old.location.removeprefix("file:"))
    message = old.writer().write(rows)
    catalog.drop_table("db.t", purge=True)
    for use in (old.refresh, lambda: old.writer().write(rows), lambda: old.append(rows), lambda: old.commit([message])):
        with pytest.raises(fz.NotFoundError):
            use()
    assert not folder.exists()

    other = pa.schema([("id", pa.string()), ("w", pa.float64())])
    new = catalog.create_table("db.t", other, format="paimon")
    with pytest.raises(fz.NotFoundError, match="dropped since it was opened, and possibly created again"):
        old.writer().write(rows)
    # As if the file had come late.
    for new_file in message.files:
        path = Path(new_file.path.removeprefix("file:"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"rows of other types")
    for take in (new.commit, new.abort):
        with pytest.raises(fz.InvalidInputError, match="another table"):
            take([message])
    changes = [
        lambda: old.commit([message]),
        lambda: old.append(rows),
        lambda: old.delete("id = 1"),
        lambda: old.set_properties({"snapshot.num-retained.min": "3"}),
        lambda: old.rollback(1),
        lambda: old.refs.create_tag("t"),
        lambda: old.maintain.compact(),
        lambda: old.maintain.expire_snapshots(retain_last=1),
        lambda: old.maintain.remove_orphan_files(),
        lambda: pickle.loads(pickle.dumps(old)),
        lambda: old.refresh(),
    ]
    for change in changes:
        with pytest.raises(fz.NotFoundError, match="possibly created again"):
            change()
    assert new.refresh().snapshot is None
    assert new.append(pa.table({"id": ["a"], "w": [1.0]}, other)).scan().count() == 1


def test_arguments_that_are_too_small_are_named(tmp_path: Path) -> None:
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, format="paimon")
    with pytest.raises(fz.InvalidInputError, match=r"at least 1 .* retain_last="):
        table.maintain.expire_snapshots(retain_last=0)
    with pytest.raises(fz.InvalidInputError, match="split_size_bytes must be at least 1"):
        table.scan().plan(0)


def test_a_manifest_that_was_read_badly_is_read_again(tmp_path: Path) -> None:
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, format="paimon")
    table.append(pa.Table.from_pylist([{"id": i, "v": i} for i in range(9)], SCHEMA))
    kinds = ("manifest-list-*", "manifest-[!l]*")
    for kind in kinds:
        files = {path: path.read_bytes() for path in (Path(table.location) / "manifest").glob(kind)}
        for path, right in files.items():
            path.write_bytes(right[:-30] + bytes(14) + right[-16:])
        opened = fz.open_table(table.location)
        with pytest.raises(fz.CorruptTableError):
            opened.scan().plan()
        for path, right in files.items():
            path.write_bytes(right)
        assert opened.scan().count() == 9
