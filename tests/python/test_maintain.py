"""Maintenance: what is removed, what stays, and that every version that stays reads as before."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import os
import pathlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz
from frazil.maintain import RewrittenManifests

NOW = dt.timedelta(0)


def rows(*values: int, part: int = 0) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64()), "part": pa.array([part] * len(values), pa.int32())})


def read(table: fz.Table, at: int | str | None = None) -> list[int]:
    ids: list[int] = table.scan(at=at).to_arrow()["id"].to_pylist()
    return sorted(ids)


def on_disk(table: fz.Table) -> set[str]:
    return {str(p) for p in pathlib.Path(table.location).rglob("*") if p.is_file()}


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    return catalog.create_table("db.t", rows(0).schema, partition_by=["part"])


def test_expiry_deletes_what_only_old_snapshots_had(table: fz.Table) -> None:
    table.append(rows(1, 2)).append(rows(3, part=1))
    before = on_disk(table)
    planned = table.maintain.expire_snapshots(older_than=NOW, dry_run=True)
    assert on_disk(table) == before
    assert not planned.deleted
    done = table.maintain.expire_snapshots(older_than=NOW)
    assert done.deleted
    assert done.failed == {}
    assert done._replace(deleted=False) == planned
    assert len(table.snapshots) == 1
    assert len(done.snapshots) == 1
    assert before - on_disk(table) == set(done.files)
    assert (len(done.manifest_lists), done.manifests, done.data_files) == (1, [], [])
    assert read(fz.open_table(table.location)) == [1, 2, 3]
    again = table.maintain.expire_snapshots(older_than=NOW)
    assert again.snapshots == []
    assert again.files == []


def test_an_age_as_text_is_answered_with_the_right_type(table: fz.Table) -> None:
    for wrong in ("7d", "2026-01-01", 7):
        with pytest.raises(
            fz.InvalidInputError, match=r"must be a datetime or an age.*Write older_than=datetime.timedelta\(days=7\)"
        ):
            table.maintain.expire_snapshots(older_than=wrong)


def test_what_was_made_in_this_millisecond_is_older_than_nothing(table: fz.Table) -> None:
    for _ in range(20):  # reading times is faster than a millisecond now and then
        table.append(rows(1))
        assert len(table.maintain.expire_snapshots(older_than=NOW, dry_run=True).snapshots) == len(table.snapshots) - 1
        left_over = pathlib.Path(table.location, "data", "left-over.parquet")
        left_over.write_bytes(b"half a file")
        assert table.maintain.remove_orphan_files(older_than=NOW, dry_run=True).files == [str(left_over)]


def test_branches_tags_and_newest_snapshots_stay(table: fz.Table) -> None:
    for value in range(6):
        table.append(rows(value))
        if value == 1:
            table.refs.create_tag("keep")
        if value == 3:
            table.refs.create_branch("audit", min_snapshots_to_keep=2)
    ids = [s.id for s in table.snapshots]
    expected = {id_: read(table, id_) for id_ in ids}
    done = table.maintain.expire_snapshots(older_than=NOW, retain_last=1)
    assert done.snapshots == [ids[0], ids[4]]
    assert done.data_files == []
    for id_ in set(ids) - {ids[0], ids[4]}:
        assert read(table, id_) == expected[id_]
    assert [s.id for s in table.snapshots] == [ids[1], ids[2], ids[3], ids[5]]
    table.refs.drop("audit").drop("keep")
    done = table.maintain.expire_snapshots(older_than=dt.timedelta(days=1), snapshot_ids=[ids[2]])
    assert done.snapshots == [ids[2]]
    assert read(table, "main") == [0, 1, 2, 3, 4, 5]


def test_refusals(table: fz.Table) -> None:
    table.append(rows(1)).append(rows(2))
    current = table.snapshot
    assert current is not None
    with pytest.raises(fz.InvalidInputError, match="branch or tag"):
        table.maintain.expire_snapshots(snapshot_ids=[current.id])
    with pytest.raises(fz.NotFoundError, match="no such snapshot"):
        table.maintain.expire_snapshots(snapshot_ids=[1])
    with pytest.raises(fz.InvalidInputError, match="at least 1"):
        table.maintain.expire_snapshots(retain_last=0)
    with pytest.raises(fz.InvalidInputError, match="older_than"):
        table.maintain.expire_snapshots(older_than="yesterday")  # type: ignore[arg-type]
    table.set_properties({"gc.enabled": "false"})
    before = on_disk(table)
    with pytest.raises(fz.InvalidInputError, match=r"gc\.enabled"):
        table.maintain.expire_snapshots(older_than=NOW)
    assert len(table.maintain.expire_snapshots(older_than=NOW, dry_run=True).snapshots) == 1
    assert on_disk(table) == before


def test_files_may_be_left_to_orphan_removal(table: fz.Table) -> None:
    table.append(rows(1)).append(rows(2))
    before = on_disk(table)
    done = table.maintain.expire_snapshots(older_than=NOW, delete_files=False)
    assert len(done.snapshots) == 1
    assert done.files == []
    assert not done.deleted
    assert before < on_disk(table)


def test_metadata_that_cannot_be_read_keeps_every_file(table: fz.Table) -> None:
    table.append(rows(1))
    (broken,) = table.inspect.manifests()["path"].to_pylist()
    for value in (3, 4):
        table.append(rows(value))
    # Files of a snapshot that goes may be shared with one whose manifest can't be read.
    pathlib.Path(broken).write_bytes(b"no manifest")
    before = on_disk(table)
    done = table.maintain.expire_snapshots(older_than=NOW)
    assert done.data_files == []
    assert before - on_disk(table) == set(done.manifest_lists)


def make_old(table: fz.Table, days: float = 10) -> None:
    then = (dt.datetime.now() - dt.timedelta(days=days)).timestamp()
    for path in on_disk(table):
        os.utime(path, (then, then))


def put(table: fz.Table, *names: str) -> list[str]:
    paths = [pathlib.Path(table.location, name) for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return sorted(map(str, paths))


def test_only_old_orphans_go(table: fz.Table) -> None:
    table.append(rows(1)).append(rows(2, part=1)).refs.create_tag("t")
    table.maintain.expire_snapshots(older_than=NOW, delete_files=False)
    orphans = put(table, "data/part=0/x.parquet", "metadata/y.avro", "deep/er/z")
    put(table, "_hidden/x", "data/.y", "data/_z", "nested/metadata/v1.metadata.json", "nested/data/x.parquet")
    live = on_disk(table) - set(orphans)
    assert table.maintain.remove_orphan_files().files == []
    make_old(table)
    (young,) = put(table, "data/young.parquet")
    planned = table.maintain.remove_orphan_files(dry_run=True)
    assert set(orphans) < set(planned.files)
    assert not planned.deleted
    left_by_expiry = set(planned.files) - set(orphans)
    assert len(left_by_expiry) == 1
    assert "snap-" in left_by_expiry.pop()
    done = table.maintain.remove_orphan_files()
    assert done.files == planned.files
    assert done.deleted
    assert done.failed == {}
    assert on_disk(table) == (live | {young}) - set(planned.files)
    assert read(fz.open_table(table.location)) == [1, 2]


def test_partition_fields_may_look_hidden(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.h", pa.schema([("_p", pa.int32())]), partition_by=["_p"])
    table.append(pa.table({"_p": pa.array([1, 2], pa.int32())}))
    orphans = put(table, "data/_p=1/x.parquet")
    put(table, "data/_q=1/x.parquet")
    make_old(table)
    assert table.maintain.remove_orphan_files().files == orphans
    assert table.scan().count() == 2


def test_links_are_not_followed_and_do_not_hide_what_is_live(tmp_path: pathlib.Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"x")
    catalog = fz.catalog("c", warehouse=tmp_path / "link")
    catalog.create_namespace("db")
    properties = {"write.data.path": str(tmp_path / "real" / "db" / "t" / "elsewhere")}
    table = catalog.create_table("db.t", rows(0).schema, properties=properties).append(rows(1))
    pathlib.Path(table.location, "out").symlink_to(outside)
    pathlib.Path(table.location, "precious").symlink_to(outside / "precious")
    make_old(table)
    for location in (None, str(tmp_path / "real" / "db" / "t"), table.location + "/", "file://" + table.location):
        assert table.maintain.remove_orphan_files(older_than=NOW, location=location).files == []
    assert read(table) == [1]
    assert (outside / "precious").exists()


def test_orphan_removal_refuses(table: fz.Table, tmp_path: pathlib.Path) -> None:
    table.append(rows(1))
    make_old(table)
    elsewhere = fz.catalog("c", warehouse=tmp_path / "elsewhere")
    elsewhere.create_namespace("db")
    other = elsewhere.create_table("db.t", rows(1).schema).append(rows(1))
    for folder in (str(tmp_path), other.location, other.location + "/data", str(tmp_path / "elsewhere")):
        with pytest.raises(fz.InvalidInputError, match="not the table's"):
            table.maintain.remove_orphan_files(location=folder)
    with pytest.raises(fz.InvalidInputError, match="prefix_mismatch"):
        table.maintain.remove_orphan_files(prefix_mismatch="maybe")  # type: ignore[arg-type]
    orphans = put(table, "x")
    table.set_properties({"gc.enabled": "false"})
    make_old(table)
    with pytest.raises(fz.InvalidInputError, match=r"gc\.enabled"):
        table.maintain.remove_orphan_files()
    assert table.maintain.remove_orphan_files(dry_run=True).files == orphans
    manifest = table.inspect.manifests()["path"].to_pylist()[0]
    pathlib.Path(manifest).write_bytes(b"no manifest")
    with pytest.raises(fz.CorruptTableError):
        table.maintain.remove_orphan_files(dry_run=True)
    assert set(orphans) < on_disk(table)


def test_other_prefixes_are_settled_first(table: fz.Table) -> None:
    table.append(rows(1))
    metadata = pathlib.Path(table.metadata_location)
    text = json.loads(metadata.read_text())
    recorded = pathlib.Path(table.location, "stats.puffin")
    recorded.write_bytes(b"x")
    snapshot = table.snapshot
    assert snapshot is not None
    text["statistics"] = [
        {
            "snapshot-id": snapshot.id,
            "statistics-path": f"hdfs://host:9{recorded}",
            "file-size-in-bytes": 1,
            "file-footer-size-in-bytes": 1,
            "blob-metadata": [],
        }
    ]
    metadata.write_text(json.dumps(text))
    table.refresh()
    make_old(table)
    maintain = table.maintain
    with pytest.raises(fz.InvalidInputError, match="scheme or authority") as refusal:
        maintain.remove_orphan_files()
    assert refusal.value.context["recorded"] == "hdfs://host:9"
    assert maintain.remove_orphan_files(prefix_mismatch="ignore").files == []
    equal: dict[str, dict[str, str]] = {
        "equal_schemes": {"viewfs, hdfs": "file"},
        "equal_authorities": {"host:9": ""},
    }
    assert maintain.remove_orphan_files(dry_run=True, **equal).files == []
    with pytest.raises(fz.InvalidInputError):
        maintain.remove_orphan_files(equal_schemes={"hdfs": "file"})
    assert maintain.remove_orphan_files(prefix_mismatch="delete").files == [str(recorded)]


ENTRY = ["file_path", "partition", "record_count", "file_size_in_bytes", "lower_bounds", "upper_bounds", "first_row_id"]


def entries(table: fz.Table) -> list[tuple[object, ...]]:
    """Live entries without their status."""
    found = [e for e in table.inspect.entries().to_pylist() if e["status"] != 2]
    numbers = ("snapshot_id", "sequence_number", "file_sequence_number")
    return sorted((*(str(e["data_file"].get(k)) for k in ENTRY), *(e[k] for k in numbers)) for e in found)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_manifests_are_rewritten_by_partition(catalog: fz.Catalog, version: int) -> None:
    table = catalog.create_table(
        "db.m",
        rows(0).schema,
        partition_by=["part"],
        properties={"format-version": str(version), "commit.manifest-merge.enabled": "false"},
    )
    for value in range(8):
        table.append(rows(value, part=7 - value % 4))
    with table.update_partition_spec() as update:
        update.add_field("bucket(4, id)")
    for value in range(8, 11):
        table.append(rows(value))
    before, old = entries(table), table.inspect.manifests()
    planned = table.maintain.rewrite_manifests(dry_run=True)
    done = table.maintain.rewrite_manifests(target_size_bytes=old["length"].to_pylist()[0] * 4)
    assert set(done.rewritten) == set(old["path"].to_pylist()) == set(planned.rewritten)
    new = table.inspect.manifests()
    assert set(done.added) == set(new["path"].to_pylist())
    assert 2 <= len(done.added) <= 4
    assert entries(table) == before
    assert {e["status"] for e in table.inspect.entries().to_pylist()} == {0}
    first = [m for m in new.to_pylist() if m["partition_spec_id"] == 0]
    bounds = sorted(
        (m["partition_summaries"][0]["lower_bound"], m["partition_summaries"][0]["upper_bound"]) for m in first
    )
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(bounds))
    snapshot = table.snapshot
    assert snapshot is not None
    assert snapshot.operation == "replace"
    assert snapshot.summary["manifests-replaced"] == "11"
    assert snapshot.summary["entries-processed"] == "11"
    assert snapshot.summary["total-records"] == "11"
    assert read(table) == list(range(11))
    table.append(rows(11))
    assert read(fz.open_table(table.location)) == list(range(12))


def test_manifests_with_nothing_to_gain_stay(table: fz.Table) -> None:
    assert table.maintain.rewrite_manifests().rewritten == []
    table.append(rows(1))
    assert table.maintain.rewrite_manifests() == RewrittenManifests([], [])
    assert len(table.snapshots) == 1
    with pytest.raises(fz.InvalidInputError, match="no partition spec"):
        table.maintain.rewrite_manifests(spec_id=9)
    with pytest.raises(fz.NotFoundError):
        table.maintain.rewrite_manifests(branch="nope")
    with pytest.raises(fz.InvalidInputError, match="above 0"):
        table.maintain.rewrite_manifests(target_size_bytes=0)


def tasks(table: fz.Table) -> list[fz.ScanTask]:
    return list(table.scan().plan_files())


def fill(table: fz.Table, commits: int = 6) -> list[int]:
    for i in range(commits):
        table.append(rows(*range(i * 10, i * 10 + 10), part=i % 2))
    return list(range(commits * 10))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_small_files_become_one_for_each_partition(catalog: fz.Catalog, version: int) -> None:
    table = catalog.create_table(
        "db.c", rows(0).schema, partition_by=["part"], properties={"format-version": str(version)}
    )
    expected = fill(table)
    columns = ["id", "part"] + (["_row_id", "_last_updated_sequence_number"] if version == 3 else [])
    lineage = table.scan(select=columns).to_arrow().sort_by("id")
    old = table.snapshot
    assert old is not None
    planned = table.maintain.compact(min_input_files=3, dry_run=True)
    assert (planned.groups, planned.rewritten_files, planned.commits) == (2, 6, 0)
    done = table.maintain.compact(min_input_files=3)
    assert (done.groups, done.rewritten_files, done.added_files, done.commits) == (2, 6, 2, 1)
    assert done.rewritten_bytes == planned.rewritten_bytes > done.added_bytes > 0
    assert len(tasks(table)) == 2
    assert read(table) == expected
    assert table.scan(select=columns).to_arrow().sort_by("id").equals(lineage)
    snapshot = table.snapshot
    assert snapshot is not None
    assert snapshot.operation == "replace"
    assert snapshot.summary["total-records"] == "60"
    if version > 1:
        assert {t.data_file.sequence_number for t in tasks(table)} == {old.sequence_number}
    assert read(table, old.id) == expected
    again = table.maintain.compact(min_input_files=3)
    assert (again.groups, again.commits) == (0, 0)
    everything = table.maintain.compact(rewrite_all=True, where="part = 1")
    assert (everything.rewritten_files, everything.added_files) == (1, 1)
    assert read(table) == expected
    assert table.scan(select=columns).to_arrow().sort_by("id").equals(lineage)


def test_groups_that_gain_too_little_stay(table: fz.Table) -> None:
    fill(table, 8)
    assert table.maintain.compact().groups == 0
    assert table.maintain.compact(min_input_files=4, max_group_size_bytes=1).groups == 0
    assert table.maintain.compact(min_input_files=4, where="part = 1").rewritten_files == 4
    for wrong in (
        {"target_file_size_bytes": 10, "min_file_size_bytes": 10},
        {"target_file_size_bytes": 10, "max_file_size_bytes": 10},
        {"min_input_files": 0},
        {"delete_ratio_threshold": 0.0},
    ):
        with pytest.raises(fz.InvalidInputError):
            table.maintain.compact(**wrong)  # type: ignore[arg-type]
    with pytest.raises(fz.InvalidInputError, match="strategy 'best'"):
        table.maintain.compact("best")  # type: ignore[arg-type]


def test_large_files_are_cut(table: fz.Table) -> None:
    table.append(rows(*range(200_000)))
    (task,) = tasks(table)
    size = task.data_file.size_bytes // 4
    done = table.maintain.compact(target_file_size_bytes=size)
    assert done.rewritten_files == 1
    assert done.added_files > 2
    assert read(table) == list(range(200_000))


def test_files_of_older_specs_are_partitioned_anew(table: fz.Table) -> None:
    expected = fill(table)
    with table.update_partition_spec() as update:
        update.add_field("bucket(2, id)")
    done = table.maintain.compact(min_input_files=6)
    assert (done.groups, done.rewritten_files, done.added_files) == (1, 6, 4)
    assert {t.data_file.spec_id for t in tasks(table)} == {1}
    assert read(table) == expected


def test_commits_may_be_several(table: fz.Table) -> None:
    expected = fill(table)
    done = table.maintain.compact(min_input_files=3, max_commits=2)
    assert (done.groups, done.commits, done.failed) == (2, 2, [])
    assert len(tasks(table)) == 2
    assert read(table) == expected


def test_compaction_of_a_branch(table: fz.Table) -> None:
    table.append(rows(1)).refs.create_branch("audit")
    messages = [table.writer().write(rows(i)) for i in range(2, 6)]
    table.commit(messages, branch="audit")
    done = table.maintain.compact(min_input_files=5, branch="audit")
    assert done.rewritten_files == 5
    assert read(table, "audit") == [1, 2, 3, 4, 5]
    assert read(table) == [1]
    with pytest.raises(fz.NotFoundError):
        table.maintain.compact(branch="nope")


def test_a_handle_of_an_old_version_compacts_the_newest(table: fz.Table) -> None:
    expected = fill(table)
    stale = fz.open_table(table.location)
    table.maintain.compact(min_input_files=3)
    assert stale.maintain.compact(min_input_files=3).groups == 0
    assert read(stale) == expected


# ---------------------------------------------------------------- files outside of the table's folders


def imported(table: fz.Table, folder: pathlib.Path) -> str:
    """A file that belongs to the table until its rows are deleted."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "imported.parquet"
    pq.write_table(rows(7), path)
    table.add_files([str(path)])
    table.delete("id = 7")
    return str(path)


def test_expiry_deletes_outside_only_where_allowed(table: fz.Table, tmp_path: pathlib.Path) -> None:
    table.append(rows(1))
    path = imported(table, tmp_path / "imports" / "a")
    done = table.maintain.expire_snapshots(older_than=NOW, dry_run=True, outside_locations=[str(tmp_path / "imports")])
    assert path in done.data_files
    # A folder counts by whole names.
    done = table.maintain.expire_snapshots(older_than=NOW, outside_locations=[str(tmp_path / "imp")])
    assert list(done.failed) == [path]
    assert "outside_locations" in done.failed[path]
    assert os.path.exists(path)
    os.remove(path)
    path = imported(table, tmp_path / "imports" / "a")
    precious = tmp_path / "imports" / "precious.parquet"
    precious.write_bytes(b"x")
    done = table.maintain.expire_snapshots(older_than=NOW, outside_locations=[f"file://{tmp_path}/imports/"])
    assert done.failed == {}
    assert not os.path.exists(path)
    assert precious.exists()
    assert read(fz.open_table(table.location)) == [1]


def test_orphans_are_sought_outside_only_where_allowed(table: fz.Table, tmp_path: pathlib.Path) -> None:
    before, now = tmp_path / "before", tmp_path / "now"
    table.set_properties({"write.data.path": str(before)})
    table.append(rows(1))
    live = {str(p) for p in before.rglob("*.parquet")}
    assert live
    table.set_properties({"write.data.path": str(now)})
    (before / "orphan.parquet").write_bytes(b"x")
    with pytest.raises(fz.InvalidInputError, match="outside_locations"):
        table.maintain.remove_orphan_files(older_than=NOW, location=str(before))
    outside = [str(before)]
    with pytest.raises(fz.InvalidInputError):
        table.maintain.remove_orphan_files(older_than=NOW, location=str(tmp_path), outside_locations=outside)
    done = table.maintain.remove_orphan_files(older_than=NOW, location=str(before), outside_locations=outside)
    assert (done.files, done.failed) == ([str(before / "orphan.parquet")], {})
    assert live == {str(p) for p in before.rglob("*.parquet")}


@pytest.mark.parametrize("folders", ["data", ["/"], ["data"], ["/a/../b"], ["file:///"]])
def test_folders_outside_are_absolute_folders(table: fz.Table, folders: Any) -> None:
    with pytest.raises(fz.InvalidInputError, match="outside_locations"):
        table.maintain.expire_snapshots(outside_locations=folders)
    with pytest.raises(fz.InvalidInputError, match="outside_locations"):
        table.maintain.remove_orphan_files(outside_locations=folders)


@pytest.mark.parametrize(
    "age",
    [
        np.timedelta64(7),
        np.timedelta64(2**62, "D"),
        np.timedelta64(213_503_983, "D"),
        np.timedelta64(3, "M"),
        np.timedelta64(1500, "ns"),
        np.timedelta64("NaT"),
        np.datetime64("300000-01-01"),
        np.datetime64("NaT", "s"),
    ],
    ids=repr,
)
def test_ages_of_numpy_that_are_no_exact_age_expire_nothing(table: fz.Table, age: Any) -> None:
    table = table.append(rows(1)).append(rows(2))
    before = on_disk(table)
    with pytest.raises(fz.InvalidInputError, match=r"older_than= must be a datetime or an age.*not np\."):
        table.maintain.expire_snapshots(older_than=age, retain_last=1)
    with pytest.raises(fz.InvalidInputError, match=r"older_than= must be a datetime or an age.*not np\."):
        table.maintain.remove_orphan_files(older_than=age)
    assert on_disk(table) == before
    assert len(table.refresh().snapshots) == 2


@pytest.mark.parametrize(("age", "left"), [(np.timedelta64(0, "us"), 1), (np.timedelta64(0, "s"), 1)], ids=repr)
def test_exact_ages_of_numpy_expire_what_is_older(table: fz.Table, age: Any, left: int) -> None:
    table = table.append(rows(1)).append(rows(2))
    table.maintain.expire_snapshots(older_than=age, retain_last=1)
    assert len(table.refresh().snapshots) == left


@pytest.mark.parametrize(
    "age",
    [np.timedelta64(1, unit) for unit in ("W", "D", "h")] + [np.datetime64("2024-01-01"), np.datetime64(0, "ns")],
    ids=repr,
)
def test_exact_ages_of_numpy_keep_what_is_newer(table: fz.Table, age: Any) -> None:
    table = table.append(rows(1)).append(rows(2))
    assert table.maintain.expire_snapshots(older_than=age, retain_last=1).snapshots == []
    assert len(table.refresh().snapshots) == 2


@pytest.mark.parametrize("at", [np.datetime64("300000-01-01"), np.datetime64("NaT"), np.timedelta64(7)], ids=repr)
def test_times_of_numpy_that_no_datetime_holds_are_no_versions(table: fz.Table, at: Any) -> None:
    with pytest.raises(fz.InvalidInputError, match=r"at= must be a snapshot id.*not np\."):
        table.append(rows(1)).scan(at=at)
