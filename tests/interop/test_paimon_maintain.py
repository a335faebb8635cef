"""Maintenance of Paimon tables, compared with Java's: orphan files, and tags that are kept for some time."""

import datetime as dt
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from java_side import assert_same_rows
from paimon_java import Paimon, PaimonTable, PaimonType, comparable

import frazil as fz

COLUMNS: dict[str, PaimonType] = {"id": "INT NOT NULL", "v": "STRING", "p": "INT NOT NULL"}
HOUR = dt.timedelta(hours=1)


def age(root: Path, hours: float) -> None:
    """Makes all files older."""
    for path in root.rglob("*"):
        if path.is_file():
            then = path.stat().st_mtime - hours * 3600
            os.utime(path, (then, then))


def java_orphans(table: PaimonTable, older_than: dt.datetime, dry_run: bool) -> set[str]:
    millis = int(older_than.timestamp() * 1000)
    clean = table.api.operation.LocalOrphanFilesClean(table.load(), millis, dry_run).clean()
    return {str(path.toString()).removeprefix("file:") for path in clean.getDeletedFilesPath()}


@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "appended"])
def test_orphan_files(paimon: Paimon, keyed: bool) -> None:
    options = {"bucket": "2", "changelog-producer": "input"} if keyed else {"deletion-vectors.enabled": "true"}
    options |= {"file-index.bloom-filter.columns": "v", "file-index.in-manifest-threshold": "1 b"}
    table = paimon.create("orphans", COLUMNS, ["p", "id"] if keyed else [], ["p"], options)
    for step in range(3):
        table.write([(i, f"{step}-{i}", i % 2) for i in range(step, step + 6)])
    table.load().createTag("two", 2)
    table.load().createBranch("side", "two")
    table.write([(100, "side", 0)], branch="side")
    t = table.open()
    t.delete("id = 4")
    t.maintain.expire_snapshots(retain_last=1, older_than=dt.timedelta(0))
    left = [
        "manifest/manifest-old",
        "index/index-old",
        "p=1/bucket-0/data-old.parquet",
        "snapshot/.snapshot-9.tmp",
        "branch/branch-side/snapshot/left",
        "statistics/stat-old",
        "p=7/bucket-3/data-x.orc",
    ]
    for place in left:
        path = table.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"left")
    for place in ("notes/data-mine.txt", "p=1/other/data-1", "README"):
        (table.root / place).parent.mkdir(exist_ok=True)
        (table.root / place).write_bytes(b"mine")
    age(table.root, 30)
    (table.root / "p=1" / "bucket-0" / "data-young.parquet").write_bytes(b"young")
    # Files of a writer that failed to commit.
    message = t.writer().write(
        pa.table({"id": pa.array([7], pa.int32()), "v": ["lost"], "p": pa.array([1], pa.int32())})
    )
    assert message
    now = dt.datetime.now(dt.timezone.utc)
    before = table.read().rows, table.read(branch="side").rows
    for older_than in (now - dt.timedelta(days=1), now - dt.timedelta(hours=31)):
        found = t.maintain.remove_orphan_files(older_than=older_than, dry_run=True)
        assert not found.deleted
        assert set(found.files) == java_orphans(table, older_than, True)
    assert len(t.maintain.remove_orphan_files(dry_run=True).files) == 7
    done = t.maintain.remove_orphan_files()
    assert (len(done.files), done.deleted, done.failed) == (7, True, {})
    assert not any(Path(path).exists() for path in done.files)
    assert (table.root / "README").exists()
    assert (table.root / "p=1/bucket-0/data-young.parquet").exists()
    assert_same_rows(comparable(table.read().rows), comparable(before[0]), "main")
    assert_same_rows(comparable(table.read(branch="side").rows), comparable(before[1]), "side")
    table.check(None)
    table.check(None, at="two", options={"scan.tag-name": "two"})
    # Nothing is left to do but the young ones, once they are old.
    age(table.root, 30)
    assert java_orphans(table, now - dt.timedelta(hours=1), True) == set(
        t.maintain.remove_orphan_files(older_than=HOUR, dry_run=True).files
    )
    with pytest.raises(fz.InvalidInputError, match="being written"):
        t.maintain.remove_orphan_files(older_than=now + dt.timedelta(days=1))
    with pytest.raises(fz.UnsupportedError, match="location"):
        t.maintain.remove_orphan_files(location=str(table.root))
    # A table that has lost a manifest is left alone.
    snapshot = table.load().snapshotManager().latestSnapshot()
    lost = table.root / "manifest" / str(snapshot.baseManifestList())
    shutil.move(lost, table.root / "aside")
    with pytest.raises(fz.NotFoundError, match=r"manifest-list"):
        t.maintain.remove_orphan_files(dry_run=True, older_than=HOUR)


def test_tags_for_some_time(paimon: Paimon) -> None:
    table = paimon.create("tags", COLUMNS, options={"tag.default-time-retained": "2 h"})
    table.write([(1, "a", 1)])
    t = table.open()
    t.refs.create_tag("day", max_ref_age_ms=dt.timedelta(days=1))
    t.refs.create_tag("default")
    manager = table.load().tagManager()
    retained = {name: manager.getOrThrow(name).getTagTimeRetained().toString() for name in ("day", "default")}
    assert retained == {"day": "PT24H", "default": "PT2H"}
    made = manager.getOrThrow("day").getTagCreateTime()
    assert (
        abs(
            dt.datetime.fromisoformat(str(made.toString())[:19]) - dt.datetime.now(dt.timezone.utc).replace(tzinfo=None)
        )
        < HOUR
    )
    told = t.inspect.tags().to_pylist()
    assert {row["tag_name"]: row["time_retained"] for row in told} == retained
    java = table.read(system="tags").rows.to_pylist()
    assert {row["tag_name"]: (row["time_retained"], row["create_time"]) for row in java} == {
        row["tag_name"]: (row["time_retained"], row["create_time"]) for row in told
    }
    # Java makes tags whose time is over; only they go, with what nothing else has.
    duration = paimon.jvm.java.time.Duration
    table.write([(2, "b", 1)], overwrite={})  # which Java looks for such tags after
    table.load().createTag("over", 1, duration.ofHours(-3))
    table.load().createTag("still", 1, duration.ofHours(3))
    t = t.refresh()
    planned = t.maintain.expire_snapshots(dry_run=True)
    assert (planned.refs, planned.snapshots) == (["over"], [])
    done = t.maintain.expire_snapshots(retain_last=1, older_than=dt.timedelta(0))
    assert (done.refs, done.snapshots) == (["over"], [1])
    assert sorted(ref.name for ref in t.refresh().refs.values() if ref.type == "tag") == ["day", "default", "still"]
    table.check(None, at="still", options={"scan.tag-name": "still"})
    t.refs.drop("day").drop("default").drop("still")
    assert sorted(p.name for p in table.root.glob("bucket-0/*")) == [
        Path(task.data_file.path).name for task in t.refresh().scan().plan_files()
    ]
    table.check(None)
    # A snapshot that comes back from a tag says nothing of a tag.
    t.refs.create_tag("back")
    table.write([(3, "c", 1)])
    t.refresh().maintain.expire_snapshots(retain_last=1, older_than=dt.timedelta(0))
    t.refresh().rollback(to="back")
    assert b"tag" not in (table.root / "snapshot" / "snapshot-2").read_bytes()
    table.check(None)
    t.set_properties({"tag.time-expire-enabled": "false"})
    table.load().createTag("kept", 2, duration.ofHours(-3))
    assert t.refresh().maintain.expire_snapshots(dry_run=True).refs == []


def test_forwarding_what_expired(paimon: Paimon) -> None:
    """A branch that lost its first snapshots is not taken for a descendant of what it can't be."""
    table = paimon.create("forward", COLUMNS)
    table.write([(1, "a", 1)])
    t = table.open()
    t.refs.create_tag("start").create_branch("work", at="start")
    for i in range(3):
        table.write([(10 + i, "w", 1)], branch="work")
    expire = table.load(branch="work").newExpireSnapshots()
    config = paimon.api.options.ExpireConfig.builder().snapshotRetainMin(1).snapshotRetainMax(1)
    expire.config(config.snapshotTimeRetain(paimon.jvm.java.time.Duration.ZERO).build()).expire()
    table.write([(2, "main", 1)])
    with pytest.raises(fz.InvalidInputError, match="no longer known"):
        t.refresh().refs.fast_forward("main", to="work")
    t.refresh().rollback(to="start")
    t.refresh().refs.fast_forward("main", to="work")
    assert sorted(t.refresh().scan().to_arrow()["id"].to_pylist()) == [1, 10, 11, 12]
    table.check(None)
