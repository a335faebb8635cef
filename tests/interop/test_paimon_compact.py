"""Compaction of Paimon tables: Frazil leaves what Java leaves of the same files, and Java goes on with it."""

import datetime as dt
import json
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from java_side import assert_same_rows
from paimon_java import LAST_IDENTIFIER, Paimon, PaimonTable, PaimonType, comparable
from py4j.protocol import Py4JJavaError

import frazil as fz

QUIET = {"write-only": "true"}  # no compaction but those that are asked for
LOUD = {"write-only": "false"}
COLUMNS: dict[str, PaimonType] = {"id": "INT NOT NULL", "name": "STRING", "v": "BIGINT", "s": "INT"}
PARTIAL = {"merge-engine": "partial-update"}
SUMS = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
LISTS = {**SUMS, "fields.name.aggregate-function": "listagg", "fields.name.ignore-retract": "true"}
VECTORS = {"deletion-vectors.enabled": "true"}
LOOKUP = {"changelog-producer": "lookup"}
FULL = {"changelog-producer": "full-compaction"}
FIRST = {"merge-engine": "first-row"}


def rows(tag: str, ids: range | list[int], s: int) -> list[tuple[Any, ...]]:
    return [(i, None if i % 4 == 0 else f"{tag}{i}", i * 10 + s, s - i % 3) for i in ids]


def deleted(ids: list[int], s: int = 9) -> tuple[list[tuple[Any, ...]], list[str]]:
    return [(i, f"gone{i}", 1, s) for i in ids], ["-D"] * len(ids)


def add(table: PaimonTable, found: list[tuple[Any, ...]]) -> None:
    """Writes many rows: Frazil is quicker than Java behind its gateway."""
    names = ["id", "name", "v", "s"]
    types = [pa.int32(), pa.string(), pa.int64(), pa.int32()]
    columns = [pa.array(column, type_) for column, type_ in zip(zip(*found, strict=True), types, strict=True)]
    fz.open_table(table.root).append(pa.table(columns, names=names))


def twin(table: PaimonTable) -> PaimonTable:
    """A copy of a table, of its own name."""
    copy = PaimonTable(table.paimon, f"{table.name}_twin_{next(table.paimon._numbers)}")
    shutil.copytree(table.root, copy.root)
    return copy


def entries(table: PaimonTable) -> list[Any]:
    return list(table.load().store().newScan().plan().files())


def facts(table: PaimonTable) -> list[tuple[Any, ...]]:
    """What manifests say of the live files, but for what differs from writer to writer."""
    found = []
    for entry in entries(table):
        file = entry.file()
        names = list(file.valueStatsCols() or table.load().rowType().getFieldNames())
        found.append(
            (
                entry.partition().toString(),
                entry.bucket(),
                entry.totalBuckets(),
                file.level(),
                file.minKey().toString(),
                file.maxKey().toString(),
                file.rowCount(),
                file.minSequenceNumber(),
                file.maxSequenceNumber(),
                file.schemaId(),
                file.deleteRowCount().get(),
                file.fileSource().get().toString(),
                file.embeddedIndex() is None,
                len(file.extraFiles()),
                tuple(names),
                file.keyStats().toRow().toString(),
                file.valueStats().toRow().toString(),
            )
        )
    return sorted(found, key=repr)


def minor(table: PaimonTable, options: dict[str, Any]) -> None:
    """The compaction that Java thinks due, of every bucket."""
    loaded = table.load(options)
    writer = table._writer(loaded)
    for partition, bucket in table._buckets(loaded):
        writer.compact(partition, bucket, False)
    table._commit(loaded, writer.prepareCommit(True, LAST_IDENTIFIER))
    writer.close()


def check_changelog(mine: PaimonTable, java: PaimonTable) -> int:
    """The newest snapshots tell the same changes; gives their number."""
    changes = []
    for table in (mine, java):
        last = int(table.load().snapshotManager().latestSnapshotId())
        options = {"incremental-between": f"{last - 1},{last}", "incremental-between-scan-mode": "changelog"}
        found = table.read(options=options)
        changes.append(found.rows.append_column("kind", [found.kinds]))
    assert_same_rows(comparable(changes[0]), comparable(changes[1]), mine.name)
    return changes[0].num_rows


def check_same(mine: PaimonTable, java: PaimonTable) -> None:
    """Both have the same files but for their names, and the same rows by Java and by Frazil."""
    told = [facts(mine), facts(java)]
    if mine.load().coreOptions().rowTrackingEnabled():
        # Java's begin with that of the smallest file; of rows they say nothing.
        told = [[(*found[:7], *found[9:]) for found in side] for side in told]
    assert told[0] == told[1], mine.name
    mine.check()
    assert_same_rows(comparable(mine.read().rows), comparable(java.read().rows), mine.name)


ENGINES: list[dict[str, str]] = [
    {},
    {"sequence.field": "s"},
    {"sequence.field": "s", "sequence.field.sort-order": "descending", "file.format": "orc"},
    {"ignore-delete": "true", "file.format": "avro"},
    {"data-file.thin-mode": "true"},
    {"target-file-size": "2 kb", "file.compression": "none"},
    {"file.format.per.level": "0:avro,5:orc", "metadata.stats-mode": "full"},
    {"compaction.force-rewrite-all-files": "true", "file-index.bitmap.columns": "v"},
    {"file-index.bloom-filter.columns": "name", "file-index.in-manifest-threshold": "1 b"},
    {**PARTIAL, "ignore-delete": "true"},
    {**PARTIAL, "partial-update.remove-record-on-delete": "true"},
    {**PARTIAL, "fields.s.sequence-group": "v,name", "fields.v.aggregate-function": "sum"},
    LISTS,
    {**SUMS, "aggregation.remove-record-on-delete": "true"},
    {**FIRST, "ignore-delete": "true"},
    {**VECTORS},
    {**VECTORS, "sequence.field": "s", "deletion-vectors.bitmap64": "true"},
    {**VECTORS, **PARTIAL, "ignore-delete": "true"},
    {**VECTORS, **LISTS},
    {**LOOKUP},
    {**LOOKUP, "sequence.field": "s"},
    {**LOOKUP, **LISTS},
    {**LOOKUP, **FIRST, "ignore-delete": "true"},
    {**LOOKUP, **VECTORS, "changelog-producer.row-deduplicate": "true"},
    {**LOOKUP, "changelog-file.format": "avro", "changelog-file.prefix": "log-"},
    {**FULL},
    {**FULL, **SUMS, "aggregation.remove-record-on-delete": "true"},
    {**FULL, "changelog-producer.row-deduplicate": "true", "changelog-producer.row-deduplicate-ignore-fields": "s"},
    {"force-lookup": "true", **SUMS, "aggregation.remove-record-on-delete": "true"},
]


@pytest.mark.parametrize("options", ENGINES, ids=lambda options: ",".join(options.values()) or "plain")
def test_full(paimon: Paimon, options: dict[str, str]) -> None:
    table = paimon.create("full", COLUMNS, ["id"], options={"bucket": "2", **QUIET, **options})
    deletes = (
        options.get("merge-engine") in (None, "aggregation") or "partial-update.remove-record-on-delete" in options
    )
    tells = options.get("changelog-producer")
    table.write(rows("a", range(40), 5))
    table.write(rows("b", range(30, 60), 7))
    if deletes:
        table.write(*deleted([2, 3, 58, 99]))
    for step in range(2):
        mine, java = twin(table), twin(table)
        java.compact(LOUD)
        done = fz.open_table(mine.root).maintain.compact()
        assert (done.commits, done.failed) == (1, []), done
        check_same(mine, java)
        if tells:
            assert check_changelog(mine, java) > 0
            assert done.changelog_files > 0
        # Nothing is left to do.
        again = fz.open_table(mine.root).maintain.compact()
        assert (again.commits == 0) == ("compaction.force-rewrite-all-files" not in options), again
        # Java goes on with what Frazil wrote.
        table = mine
        table.write(rows(f"c{step}", range(step * 20, step * 20 + 33, 3), 6 + step))
        table.write(rows(f"d{step}", range(step * 20 + 100, step * 20 + 110), 4 + step))
        if deletes:
            table.write(*deleted([7 + step, 33, 102 + 20 * step], 10 + step))
        if options.get("merge-engine") != "first-row" and not options.get("deletion-vectors.enabled"):
            table.check()
    java = twin(table)
    table.write(rows("e", range(0, 90, 5), 20), options=LOUD)
    java.write(rows("e", range(0, 90, 5), 20), options=LOUD)
    table.check()
    assert_same_rows(comparable(table.read().rows), comparable(java.read().rows), table.name)


MINOR: list[dict[str, str]] = [
    {},
    {"compaction.force-up-level-0": "true"},
    {**VECTORS},
    {**VECTORS, "sequence.field": "s"},
    {**VECTORS, **LISTS},
    {**VECTORS, **LOOKUP, **PARTIAL, "ignore-delete": "true", "deletion-vectors.bitmap64": "true"},
    {**LOOKUP},
    {**LOOKUP, "sequence.field": "s"},
    {**LOOKUP, **SUMS, "aggregation.remove-record-on-delete": "true"},
    {**LOOKUP, **FIRST, "ignore-delete": "true"},
    {**FULL},
]


@pytest.mark.parametrize("options", MINOR, ids=lambda options: ",".join(options.values()) or "plain")
def test_minor(paimon: Paimon, options: dict[str, str]) -> None:
    """Runs stay where they are large, and rows of level 0 meet those above."""
    more = {"bucket": "1", "file.compression": "none", "num-sorted-run.compaction-trigger": "4", **QUIET}
    table = paimon.create("minor", COLUMNS, ["id"], options={**more, **options})
    deletes = options.get("merge-engine") in (None, "aggregation")
    add(table, rows("a", range(4000), 5))
    table.compact(LOUD)
    generator = random.Random(str(options))
    for step in range(3):
        for part in range(generator.choice([1, 2, 3])):
            ids = sorted(generator.sample(range(4200), 20 if step % 2 else 150))
            add(table, rows(f"{step}.{part}.", ids, generator.randrange(4, 9)))
        if deletes:
            table.write(*deleted(sorted(generator.sample(range(4200), 30)), generator.randrange(4, 12)))
        mine, java = twin(table), twin(table)
        minor(java, LOUD)
        done = fz.open_table(mine.root).maintain.compact(strategy="minor")
        check_same(mine, java)
        if done.commits and options.get("changelog-producer") == "lookup":
            assert check_changelog(mine, java) > 0 or "first-row" in options.values()
        table = mine
    mine, java = twin(table), twin(table)
    java.compact(LOUD)
    assert fz.open_table(mine.root).maintain.compact().commits == 1
    check_same(mine, java)
    assert not list(Path(mine.root).rglob("*.tmp"))


EXPIRING: list[tuple[str, dict[str, str]]] = [
    ("INT", {}),
    ("BIGINT", {"sequence.field": "v"}),
    ("TIMESTAMP(3)", {**VECTORS}),
    ("TIMESTAMP(6) WITH LOCAL TIME ZONE", {**FULL}),
    ("TIMESTAMP(9)", {**LOOKUP, "metadata.stats-mode": "full"}),
    ("BIGINT", {**FIRST, "metadata.stats-dense-store": "false"}),
]


@pytest.mark.parametrize(("type_", "options"), EXPIRING, ids=lambda value: str(value))
def test_rows_that_expire(paimon: Paimon, type_: str, options: dict[str, str]) -> None:
    """Expired rows are left out; files of the highest level are written again for that."""
    columns: dict[str, PaimonType] = {"id": "INT NOT NULL", "v": "BIGINT", "t": type_}
    table = paimon.create("expiring", columns, ["id"], options={"bucket": "1", **QUIET, **options})
    # Odd, so that of BIGINT those that are over are seconds, which are less than milliseconds: the least tells.
    now = int(time.time()) | 1

    def at(seconds: int) -> Any:
        match type_:
            case "INT":
                return seconds
            case "BIGINT":
                return seconds * 1000 if seconds % 2 else seconds
            case "TIMESTAMP(9)":
                return seconds * 10**9
        return dt.datetime.fromtimestamp(seconds, dt.timezone.utc).replace(tzinfo=None)

    def found(ids: range, step: int) -> list[tuple[Any, ...]]:
        days = [0, 3, -1, None]
        return [(i, step * 1000 + i, None if days[i % 4] is None else at(now - 86_400 * days[i % 4] - i)) for i in ids]

    table.write(found(range(40), 1))
    table.compact(LOUD)
    expires = {"record-level.expire-time": "1 d", "record-level.time-field": "t"}
    table.open().set_properties(expires)
    rows_before = table.read().rows.num_rows
    for step in range(2, 5):
        mine, java = twin(table), twin(table)
        java.compact(LOUD)
        done = fz.open_table(mine.root).maintain.compact()
        # Of timestamps of more than six digits no least one is recorded.
        assert done.commits == (step > 2 or type_ != "TIMESTAMP(9)"), done
        check_same(mine, java)
        table = mine
        if step == 2 and done.commits:
            assert table.read().rows.num_rows == rows_before - 10
        # A bucket's files of level 0, some of whose rows are over; and one that overlaps nothing.
        table.write([(i + step, *rest) for i, *rest in found(range(0, 60, 3), step)])
        if step == 3:
            table.write(found(range(1000, 1010), step))
    t = table.open()
    with pytest.raises(fz.InvalidInputError, match="names the column 'x'"):
        t.set_properties({"record-level.time-field": "x"})
    with pytest.raises(Py4JJavaError, match="Can not find time field x"):
        table.alter(table.change.setOption("record-level.time-field", "x"))


APPENDS: list[dict[str, str]] = [
    {},
    {"compaction.min.file-num": "2", "file.format": "orc"},
    {"target-file-size": "6 kb", "source.split.open-file-cost": "1 b", "file.compression": "none"},
    {**VECTORS, "compaction.min.file-num": "2"},
    {**VECTORS, "deletion-vectors.bitmap64": "true", "compaction.delete-ratio-threshold": "0.9"},
    {"bucket": "2", "bucket-key": "id"},
    {"bucket": "2", "bucket-key": "id", "target-file-size": "3 kb", "file.compression": "none"},
    {"bucket": "2", "bucket-key": "id", **VECTORS},
    {"row-tracking.enabled": "true"},
    {"row-tracking.enabled": "true", **VECTORS, "file.format": "orc", "compaction.min.file-num": "2"},
]


@pytest.mark.parametrize("options", APPENDS, ids=lambda options: ",".join(options.values()) or "plain")
def test_appended(paimon: Paimon, options: dict[str, str]) -> None:
    columns: dict[str, PaimonType] = {**COLUMNS, "id": "INT", "p": "STRING"}
    table = paimon.create("appended", columns, partitioned_by=["p"], options={**QUIET, **options})
    for step in range(7):
        found = rows(f"a{step}-", range(step * 30, step * 30 + 30 - step), step)
        table.write([(*row, "xy"[row[0] % 2]) for row in found])
    for _ in range(2):
        if "deletion-vectors.enabled" in options:
            table.delete_positions([1, 3, 4])
        mine, java = twin(table), twin(table)
        java.compact(LOUD)
        planned = fz.open_table(mine.root).maintain.compact(dry_run=True)
        done = fz.open_table(mine.root).maintain.compact()
        assert (planned.groups, planned.rewritten_files) == (done.groups, done.rewritten_files)
        assert done.commits == 1
        assert done.added_files < done.rewritten_files
        check_same(mine, java)
        if "row-tracking.enabled" in options:
            tracked = [side.read(system="row_tracking").rows for side in (table, java, mine)]
            assert tracked[0].column_names[-2:] == ["_ROW_ID", "_SEQUENCE_NUMBER"]
            for other in tracked[1:]:
                assert_same_rows(comparable(tracked[0]), comparable(other), mine.name)
            told = mine.open().scan(select=["id", "_row_id", "_last_updated_sequence_number"]).to_arrow()
            theirs = tracked[0].select(["id", "_ROW_ID", "_SEQUENCE_NUMBER"]).rename_columns(told.column_names)
            assert_same_rows(comparable(told), comparable(theirs), mine.name)
        if "bucket" in options:
            order = [found.to_arrow()["id"].to_pylist() for found in fz.open_table(mine.root).scan().plan()]
            assert all(part == sorted(part) for part in order)
        table = mine
        for step in range(7):
            table.write(
                [(*row, "xy"[row[0] % 2]) for row in rows(f"b{step}-", range(300 + 20 * step, 320 + 19 * step), step)]
            )


def test_partitions_and_conflicts(paimon: Paimon) -> None:
    """Only what is asked for is compacted, and of two compactions of the same files one gives way."""
    columns: dict[str, PaimonType] = {"p": "INT NOT NULL", **COLUMNS}
    table = paimon.create("parts", columns, ["p", "id"], ["p"], {"bucket": "1", **QUIET})
    for step in range(2):
        table.write([(row[0] % 3, *row) for row in rows(f"a{step}", range(30), step)])
    done = fz.open_table(table.root).maintain.compact(where="p = 1 or p = 2", snapshot_properties={"why": "size"})
    assert (done.groups, done.rewritten_files, done.added_files) == (2, 4, 2)
    assert sorted((entry.partition().getInt(0), entry.file().level()) for entry in entries(table)) == [
        (0, 0),
        (0, 0),
        (1, 5),
        (2, 5),
    ]
    snapshot = table.load().snapshotManager().latestSnapshot()
    assert snapshot.commitKind().toString() == "COMPACT"
    assert dict(snapshot.properties()) == {"why": "size"}
    assert int(snapshot.totalRecordCount()) == 40
    # Java's compaction was made of the same files, and comes too late.
    loaded = table.load(LOUD)
    writer = table._writer(loaded)
    for partition, bucket in table._buckets(loaded):
        writer.compact(partition, bucket, True)
    messages = writer.prepareCommit(True, LAST_IDENTIFIER)
    assert fz.open_table(table.root).maintain.compact().rewritten_files == 2
    with pytest.raises(Exception, match="conflict"):
        table._commit(loaded, messages)
    writer.close()
    table.check()


PICKS = Path(__file__).parent.parent / "data" / "paimon" / "compact_picks.json"


def random_case(generator: random.Random) -> dict[str, Any]:
    """Levels of a bucket, the youngest run first, and the options of a compaction."""
    levels = generator.choice([2, 3, 6, 8])
    above = [level for level in range(1, levels) if generator.random() < 0.5]
    size = generator.choice([lambda: generator.randrange(1, 40), lambda: int(10 ** generator.uniform(0, 6))])
    runs = [[0, size()] for _ in range(generator.choice([0, 1, 1, 2, 3, 5, 8]))]
    runs += [[level, size() * generator.choice([1, 1, 10, 100])] for level in above]
    return {
        "amplification": generator.choice([200, 200, 50, 1000]),
        "ratio": generator.choice([1, 1, 0, 30]),
        "trigger": generator.choice([5, 5, 1, 2, 3]),
        "levels": levels,
        "total": generator.choice([None, None, None, 100]),
        "incremental": generator.choice([None, None, None, 500]),
        "up": generator.random() < 0.4,
        "runs": runs,
    }


def java_pick(paimon: Paimon, case: dict[str, Any]) -> list[int] | None:
    """What Java compacts: the level and how many of the runs."""
    compact, io = paimon.api.mergetree.compact, paimon.api.io
    early = None
    if case["total"] is not None or case["incremental"] is not None:
        early = compact.EarlyFullCompaction(None, case["total"], case["incremental"])
    universal = compact.UniversalCompaction(case["amplification"], case["ratio"], case["trigger"], early, None)
    strategy = compact.ForceUpLevel0Compaction(universal, None) if case["up"] else universal
    none, empty = paimon.java_list([]), paimon.api.stats.SimpleStats.EMPTY_STATS
    runs = paimon.jvm.java.util.ArrayList()
    for number, (level, size) in enumerate(case["runs"]):
        source = paimon.api.manifest.FileSource.COMPACT
        file = io.DataFileMeta.forAppend(
            f"file-{number}", size, 1, empty, 0, 0, 0, none, None, source, None, None, None, None
        )
        runs.add(paimon.api.mergetree.LevelSortedRun(level, paimon.api.mergetree.SortedRun.fromSingle(file)))
    picked = strategy.pick(case["levels"], runs)
    if not picked.isPresent():
        return None
    unit = picked.get()
    count, level = unit.files().size(), unit.outputLevel()
    # As `MergeTreeCompactManager` has it.
    is_idle = count == 0 or (count == 1 and case["runs"][0][0] == level)
    return None if is_idle else [level, count]


def test_picks(paimon: Paimon) -> None:
    """The table of cases that the Rust tests go by is Java's."""
    if not PICKS.exists():
        generator = random.Random(7)
        made = [random_case(generator) for _ in range(300)]
        PICKS.write_text(
            "[\n" + ",\n".join(json.dumps({**case, "picked": java_pick(paimon, case)}) for case in made) + "\n]\n"
        )
    cases = json.loads(PICKS.read_text())
    assert len({json.dumps(case["picked"]) for case in cases}) > 20
    for case in cases:
        assert java_pick(paimon, case) == case["picked"], case
