"""Change logs of Paimon tables that outlast snapshots: of twin tables, Java's expiry and Frazil's leave the same."""

import datetime as dt
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from java_side import assert_same_rows
from paimon_java import CHANGES, Paimon, PaimonTable, PaimonType, comparable

import frazil as fz

AGE = dt.timedelta(milliseconds=1)
COLUMNS: dict[str, PaimonType] = {"id": "INT NOT NULL", "v": "STRING"}
RETENTION = {
    "snapshot.num-retained.min": "1",
    "snapshot.num-retained.max": "2",
    "changelog.num-retained.min": "1",
    "changelog.num-retained.max": "6",
}
TABLES: dict[str, tuple[list[str], dict[str, object]]] = {
    "appended": ([], {"compaction.min.file-num": "2"}),
    "keyed": (["id"], {"bucket": "1"}),
    "logged": (["id"], {"bucket": "1", "changelog-producer": "input"}),
    "looked-up": (["id"], {"bucket": "1", "changelog-producer": "lookup"}),
    "compacted": (["id"], {"bucket": "1", "changelog-producer": "full-compaction"}),
    "vectors": (["id"], {"bucket": "2", "deletion-vectors.enabled": "true"}),
}


def twin(table: PaimonTable, ending: str) -> PaimonTable:
    name = f"{table.name}_{ending}"
    shutil.copytree(table.root, table.root.parent / name)
    return PaimonTable(table.paimon, name)


def contents(root: Path) -> dict[str, bytes]:
    """The files by what they are called, with what is in those of them that say where others are."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.parent.name in ("snapshot", "changelog") else b""
        for path in root.rglob("*")
        if path.is_file()
    }


def java_expires(table: PaimonTable) -> None:
    """What each of Java's commits does."""
    loaded = table.load()
    config = loaded.coreOptions().expireConfig()
    loaded.newExpireSnapshots().config(config).expire()
    loaded.newExpireChangelog().config(config).expire()


def java_streams(table: PaimonTable, first: int) -> tuple[pa.Table, list[str]]:
    """What Java's stream from a commit on reads."""
    loaded = table.load({"scan.mode": "from-snapshot", "scan.snapshot-id": first})
    latest = int(loaded.snapshotManager().latestSnapshotId())
    builder = table.api.table.source.ReadBuilderImpl(loaded)
    scan, read, splits = builder.newStreamScan(), builder.newRead(), []
    read.withIOManager(table.api.disk.IOManager.create(str(table.paimon.folder)))
    for _ in range(2 * latest + 2):
        splits.extend(scan.plan().splits())
        if scan.checkpoint() is not None and int(scan.checkpoint()) > latest:
            break
    return table.paimon.fetched((read.createReader(split) for split in splits), loaded.rowType())


def check_stream(table: PaimonTable, first: int) -> int:
    """Frazil tells the changes that Java's stream tells; gives their number."""
    java, kinds = java_streams(table, first)
    for since in ({"since": first - 1}, {}) if first == earliest(table) else ({"since": first - 1},):
        mine = table.open().changes(**since).to_arrow()
        told = [CHANGES[kind] for kind in mine.column("_change_type").to_pylist()]
        mine = mine.select(java.column_names).append_column("kind", pa.array(told, pa.string()))
        assert_same_rows(
            comparable(mine),
            comparable(java.append_column("kind", pa.array(kinds, pa.string()))),
            f"{table.name} {first}",
        )
    return java.num_rows


def earliest(table: PaimonTable) -> int:
    """The first commit that has left something."""
    names = [p.name for folder in ("snapshot", "changelog") for p in (table.root / folder).glob("*-*")]
    return min(int(name.rsplit("-", 1)[1]) for name in names)


def fill(table: PaimonTable, start: int, options: dict[str, object] | None = None) -> None:
    for step in range(start, start + 6):
        kinds = ["+I"] * 3 if not table.load().primaryKeys() else ["+I", "+U", "+I"]
        table.write([(i, f"{step}-{i}") for i in range(step, step + 3)], kinds, options=options)
        if step % 2:
            table.compact(options)


@pytest.mark.parametrize("kind", TABLES)
def test_twins(paimon: Paimon, kind: str) -> None:
    key, options = TABLES[kind]
    table = paimon.create("twins", COLUMNS, key, options=options)
    fill(table, 0)
    if key:
        table.write([(2, "gone")], ["-D"])
    # Numbers beyond all retention, so that Java's commits leave the expiry to us.
    set_option = table.change.setOption
    table.alter(*(set_option(key, value) for key, value in RETENTION.items()))
    for round_ in range(3):
        java, mine = twin(table, f"java{round_}"), twin(table, f"mine{round_}")
        java_expires(java)
        planned = mine.open().maintain.expire_snapshots(dry_run=True)
        done = mine.open().maintain.expire_snapshots()
        assert planned == done._replace(deleted=False)
        assert done.changelogs
        left, expected = contents(mine.root), contents(java.root)
        assert sorted(left) == sorted(expected)
        assert left == expected
        assert mine.open().maintain.remove_orphan_files(older_than=0 * AGE, dry_run=True).files == []
        first = earliest(mine)
        assert first < mine.open().snapshots[0].id
        if kind != "vectors":  # Only Java's streams see level 0 there: batches, as Frazil's, leave it to compaction.
            rows = check_stream(mine, first)
            assert rows or kind == "compacted"
            check_stream(mine, first + 1)
        with pytest.raises(fz.NotFoundError):
            mine.open().changes(since=first - 2).to_arrow()
        mine.check(None)
        # Each goes on with what the other left.
        table = mine if round_ else java
        late: dict[str, Any] = {key: str(2**31 - 1) for key in RETENTION if "num" in key}
        fill(table, 10 * (round_ + 1), late)


def test_tags_and_rollback(paimon: Paimon) -> None:
    table = paimon.create("tagged", COLUMNS, ["id"], options={"bucket": "1", "changelog-producer": "input"})
    fill(table, 0)
    table.load().createTag("one", 1)
    table.load().createTag("three", 3)
    table.alter(*(table.change.setOption(key, value) for key, value in RETENTION.items()))
    java, mine = twin(table, "java"), twin(table, "mine")
    java_expires(java)
    mine.open().maintain.expire_snapshots()
    # Java removes the change log of what a tag has, Frazil leaves it.
    assert contents(java.root).keys() <= contents(mine.root).keys()
    for name in ("one", "three"):
        mine.check(None, at=name, options={"scan.tag-name": name})
    java.load().rollbackTo("three")
    mine.open().rollback(to="three")
    changelogs = [contents(t.root / "changelog") for t in (java, mine)]
    assert changelogs[0] == changelogs[1]
    for t in (java, mine):
        t.check(None)
        check_stream(t, earliest(t))
    mine.open().refs.drop("one")
    mine.check(None)
    check_stream(mine, earliest(mine))
