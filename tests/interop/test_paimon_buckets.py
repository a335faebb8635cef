"""Tables of Paimon whose keys get buckets as they come, and what else files are written with: Java and Frazil write."""

import datetime as dt
import decimal
import random
import re
from typing import Any

import pyarrow as pa
import pytest
from java_side import assert_same_rows
from paimon_java import Filter, Paimon, PaimonTable, PaimonType, arrow_type, comparable, sql

COLUMNS: dict[str, PaimonType] = {"p": "STRING", "id": "INT NOT NULL", "name": "STRING NOT NULL", "v": "BIGINT"}
QUIET = {"bucket": "-1", "write-only": "true", "dynamic-bucket.target-row-num": "5"}


def batch(rows: list[tuple[Any, ...]]) -> pa.Table:
    values = list(zip(*rows, strict=True))
    arrays = [pa.array(column, arrow_type(type_)) for column, type_ in zip(values, COLUMNS.values(), strict=True)]
    return pa.table(arrays, names=list(COLUMNS))


def hashes(table: PaimonTable) -> dict[tuple[str, int], list[int]]:
    """By partition and bucket, what Java finds in the hash index."""
    handler = table.load().store().newIndexFileHandler()
    out = {}
    for entry in handler.scan("HASH"):
        found = handler.hashIndex(entry.partition(), entry.bucket()).readList(entry.indexFile())
        key = (entry.partition().getString(0).toString(), entry.bucket())
        assert key not in out
        out[key] = sorted(found)
        assert entry.indexFile().rowCount() == len(out[key])
    return out


def places(table: PaimonTable) -> dict[str, set[int]]:
    """By partition, the buckets that have files."""
    out: dict[str, set[int]] = {}
    for entry in table.load().store().newScan().plan().files():
        out.setdefault(entry.partition().getString(0).toString(), set()).add(entry.bucket())
        assert entry.totalBuckets() == -1
    return out


@pytest.mark.parametrize(
    "options", [{}, {"dynamic-bucket.max-buckets": "3"}, {"deletion-vectors.enabled": "true"}], ids=str
)
def test_dynamic_buckets(paimon: Paimon, options: dict[str, str]) -> None:
    key = ["p", "id", "name"]
    tables = [paimon.create("dynamic", COLUMNS, key, ["p"], {**QUIET, **options}) for _ in range(2)]
    dice = random.Random(11)
    for turn in range(6):
        rows = [
            (dice.choice("ab"), dice.randrange(15), f"name of {dice.randrange(2)}", turn * 100 + i) for i in range(30)
        ]
        # The second table has all of Java.
        tables[1].write(rows)
        if turn % 2:
            tables[0].write(rows)
        else:
            tables[0].open().append(batch(rows))
        mine, java = (hashes(table) for table in tables)
        every = [hash_ for found in mine.values() for hash_ in found]
        assert sorted(every) == sorted(hash_ for found in java.values() for hash_ in found)
        if "dynamic-bucket.max-buckets" not in options:
            assert mine == java
            assert places(tables[0]) == places(tables[1])
        else:  # Java counts the buckets of all partitions together.
            assert all(buckets <= {0, 1, 2} for buckets in places(tables[0]).values())
        for p in "ab":
            known = [hash_ for (partition, _), found in mine.items() if partition == p for hash_ in found]
            assert len(known) == len(set(known))
    if "deletion-vectors.enabled" in options:
        for table in tables:
            table.compact({"write-only": "false"})
    for table in tables:
        table.check(None, ("=", "id", 3), ("=", "p", "a"))
    assert_same_rows(comparable(tables[0].read().rows), comparable(tables[1].read().rows))
    tables[0].open().overwrite(batch([("a", i, "new", i) for i in range(7)]), "p = 'a'")
    tables[0].write([("a", i, "new", -i) for i in range(3, 9)])
    tables[0].open().delete_keys(batch([("a", 4, "new", 0)]))
    assert {bucket for p, bucket in hashes(tables[0]) if p == "a"} == {0, 1}
    tables[0].compact({"write-only": "false"})
    tables[0].check(None, ("=", "name", "new"))
    assert sorted(row["id"] for row in tables[0].open().scan("p = 'a'").to_arrow().to_pylist()) == [
        0,
        1,
        2,
        3,
        5,
        6,
        7,
        8,
    ]


def test_java_commits_meanwhile(paimon: Paimon) -> None:
    """Java gave keys buckets between a writer of Frazil's and its commit."""
    table = paimon.create("meanwhile", COLUMNS, ["p", "id", "name"], ["p"], QUIET)
    message = table.open().writer().write(batch([("a", i, "x", 1) for i in range(8)]))
    table.write([("a", i, "x", 0) for i in range(9, 2, -1)])
    table.open().commit([message])
    table.check(None)
    rows = table.open().scan().to_arrow().to_pylist()
    assert sorted((row["id"], row["v"]) for row in rows) == [*((i, 1) for i in range(8)), (8, 0), (9, 0)]
    known = [hash_ for found in hashes(table).values() for hash_ in found]
    assert len(known) == len(set(known)) == 10


ENGINES: list[dict[str, str]] = [
    {},
    {"merge-engine": "partial-update"},
    {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    {"merge-engine": "first-row"},
    {"deletion-vectors.enabled": "true"},
]


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_keys_of_any_partition(paimon: Paimon, engine: dict[str, str]) -> None:
    key = ["id", "name"]
    tables = [paimon.create("any", COLUMNS, key, ["p"], {**QUIET, **engine}) for _ in range(2)]
    dice = random.Random(12)
    compacts = "deletion-vectors.enabled" in engine or engine.get("merge-engine") == "first-row"
    for turn in range(5):
        rows = [(dice.choice("abc"), dice.randrange(20), "name", turn * 100 + i) for i in range(15)]
        if compacts:  # Java refuses keys that it sees in several levels.
            for table in tables:
                table.compact({"write-only": "false"})
        tables[1].write(rows)
        if turn % 2:
            tables[0].write(rows)
        else:
            tables[0].open().append(batch(rows))
    for table in tables:
        if compacts:
            table.compact({"write-only": "false"})
        table.check(None, ("=", "id", 3), ("=", "p", "a"))
    assert_same_rows(comparable(tables[0].read().rows), comparable(tables[1].read().rows))
    assert not hashes(tables[0])


def test_postponed_buckets(paimon: Paimon) -> None:
    """Rows wait as they came for a compaction to give them buckets."""
    key = ["p", "id", "name"]
    tables = [paimon.create("postponed", COLUMNS, key, ["p"], {"bucket": "-2"}) for _ in range(2)]
    rows = [(p, i, "n", i) for i in (5, 3, 3, 9) for p in "ab"]
    tables[0].open().append(batch(rows))
    tables[0].open().delete_keys(batch([("a", 3, "n", 0)]))
    tables[1].write(rows)
    tables[1].write([("a", 3, "n", 0)], ["-D"])
    facts, found = [], []
    for table in tables:
        loaded = table.load()
        assert table.open().scan().count() == table.read().rows.num_rows == 0
        facts.append(
            [
                (
                    re.sub("-u-.*-s-[0-9]+-w-.*-[0-9]+", "", file.fileName()),
                    entry.partition().getString(0).toString(),
                    (entry.bucket(), entry.totalBuckets(), file.level(), file.rowCount()),
                    (file.minKey().getInt(0), file.maxKey().getInt(0)),
                    (file.minSequenceNumber(), file.maxSequenceNumber(), file.deleteRowCount().get()),
                    list(file.valueStatsCols()),
                )
                for entry in loaded.store().newScan().plan().files()
                for file in [entry.file()]
            ]
        )
        splits = loaded.newSnapshotReader().withBucket(-2).read().dataSplits()
        read = loaded.newRead().withIOManager(paimon.api.disk.IOManager.create(str(paimon.folder)))
        found.append(paimon.fetched((read.createReader(split) for split in splits), loaded.rowType()))
        assert paimon.api.postpone.PostponeBucketFileStoreWrite.getWriteId(splits[0].dataFiles()[0].fileName()) >= 0
    assert sorted(facts[0]) == sorted(facts[1])
    assert_same_rows(comparable(found[0][0]), comparable(found[1][0]))
    tables[0].open().overwrite(batch([("a", 1, "n", 1)]), "p = 'a'")
    assert sorted(entry.file().rowCount() for entry in tables[0].load().store().newScan().plan().files()) == [1, 4]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"deletion-vectors.enabled": "true"},
        {"merge-engine": "first-row", "ignore-delete": "true"},
        {"changelog-producer": "lookup", "file.format": "orc"},
    ],
    ids=str,
)
def test_postponed_compaction(paimon: Paimon, options: dict[str, str]) -> None:
    """Rows that waited are where those are that had fixed buckets from the beginning."""
    key, more = ["p", "id", "name"], {"write-only": "true", **options}
    waiting = paimon.create(
        "waiting", COLUMNS, key, ["p"], {"bucket": "-2", "postpone.default-bucket-num": "3", **more}
    )
    fixed = paimon.create("fixed", COLUMNS, key, ["p"], {"bucket": "3", **more})
    dice = random.Random(str(options))
    assert waiting.open().maintain.compact().commits == 0
    for turn in range(3):
        for part in range(2):
            rows = [(dice.choice("abc"), dice.randrange(30), "n", turn * 100 + part * 50 + i) for i in range(25)]
            if part:
                waiting.write(rows)
            else:
                waiting.open().append(batch(rows))
            fixed.write(rows)
        if not options.get("merge-engine"):
            deleted = [("a", dice.randrange(30), "n", 0), ("b", dice.randrange(30), "n", 0)]
            for table in (waiting, fixed):
                table.write(deleted, ["-D", "-D"])
        t = waiting.open()
        planned = t.maintain.compact(where="p = 'a' or p = 'b'", dry_run=True)
        assert (planned.commits, planned.groups > 0, planned.rewritten_files > 0) == (0, True, True)
        if turn == 1:
            t.maintain.compact(where="p = 'a'")
        done = t.maintain.compact(snapshot_properties={"why": "waited"})
        assert done.commits == 2, done
        fixed.compact({"write-only": "false"})
        assert_same_rows(comparable(waiting.read().rows), comparable(fixed.read().rows), waiting.name)
        waiting.check(None, ("=", "id", 3), ("=", "p", "a"))
        facts = []
        for table in (waiting, fixed):
            entries = [(entry, entry.file()) for entry in table.load().store().newScan().plan().files()]
            facts.append(
                sorted(
                    (e.partition().getString(0).toString(), e.bucket(), e.totalBuckets(), f.level(), f.rowCount())
                    for e, f in entries
                    if f.rowCount()
                )
            )
        assert facts[0] == facts[1]
        snapshot = waiting.load().snapshotManager().latestSnapshot()
        assert snapshot.commitKind().toString() == "COMPACT"
        assert dict(snapshot.properties()) == {"why": "waited"}
    # The number of buckets that a partition has stays.
    waiting.open().set_properties({"postpone.default-bucket-num": "5"})
    waiting.write([("a", 99, "n", 1), ("z", 99, "n", 1)])
    waiting.open().maintain.compact()
    totals = {
        entry.partition().getString(0).toString(): entry.totalBuckets()
        for entry in waiting.load().store().newScan().plan().files()
    }
    assert totals == {"a": 3, "b": 3, "c": 3, "z": 5}
    waiting.check(None)


@pytest.mark.parametrize(
    "options",
    [
        {"bucket": "2"},
        {"bucket": "-1"},
        {"bucket": "1", "changelog-file.format": "orc", "changelog-file.prefix": "log-", "sequence.field": "v"},
        {"bucket": "2", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    ],
    ids=str,
)
def test_changelog_of_input(paimon: Paimon, options: dict[str, str]) -> None:
    options = {**QUIET, "changelog-producer": "input", **options}
    tables = [paimon.create("input", COLUMNS, ["p", "id", "name"], ["p"], options) for _ in range(2)]
    dice = random.Random(13)
    for turn in range(5):
        rows = [(dice.choice("ab"), dice.randrange(9), "n", turn * 100 + i) for i in range(20)]
        deleted = [("a", dice.randrange(9), "n", 1000 + turn)]
        tables[1].write(rows)
        if "merge-engine" not in options:
            tables[1].write(deleted, ["-D"])
        if turn % 2:
            tables[0].write(rows)
        else:
            tables[0].open().append(batch(rows))
        if "merge-engine" not in options:
            tables[0].open().delete_keys(batch(deleted))
    for table in tables:
        table.check(None, ("=", "id", 3))
        last = table.open().snapshot
        assert last is not None
        for since in (0, 1, last.id - 1):
            table.check_changes(since, last.id)
            table.check_changes(since, last.id, mode="delta")
    mine, java = (table.open().changes().to_arrow() for table in tables)
    assert_same_rows(comparable(mine), comparable(java))
    mine_files, java_files = (sorted({entry.file().fileName()[:4] for entry in changelog(table)}) for table in tables)
    assert mine_files == java_files
    # Overwriting tells no changes.
    tables[0].open().overwrite(batch([("a", 1, "n", 1)]))
    assert tables[0].load().snapshotManager().latestSnapshot().changelogManifestList() is None


def changelog(table: PaimonTable) -> list[Any]:
    loaded = table.load()
    snapshots = range(1, int(loaded.snapshotManager().latestSnapshotId()) + 1)
    plan = lambda n: loaded.store().newScan().withKind(table.api.table.source.ScanMode.CHANGELOG).withSnapshot(n).plan()  # noqa: E731
    return [entry for n in snapshots for entry in plan(n).files()]


def test_default_values(paimon: Paimon) -> None:
    columns: dict[str, PaimonType] = {
        "id": "INT NOT NULL",
        "text": "STRING",
        "n": "BIGINT",
        "small": "SMALLINT",
        "dec": "DECIMAL(9, 2)",
        "day": "DATE",
        "at": "TIMESTAMP(3)",
        "yes": "BOOLEAN",
        "d": "DOUBLE",
    }
    defaults = {
        "text": "'it''s'",
        "n": "-7",
        "small": "300",
        "dec": "1.5",
        "day": "2024-02-29",
        "at": "2024-02-29 01:02:03.004",
        "yes": "true",
        "d": "1e3",
    }
    for key in ([], ["id"]):
        options = {"bucket": "1", "bucket-key": "id"}
        tables = [paimon.create("defaults", columns, key, options=options) for _ in range(2)]
        rows: list[tuple[Any, ...]] = [(1, *[None] * 8), (2, "x", 1, 2, None, None, None, False, 0.5)]
        for table in tables:
            for column, value in defaults.items():
                names = paimon.gateway.new_array(paimon.jvm.java.lang.String, 1)
                names[0] = column
                table.alter(table.change.updateColumnDefaultValue(names, value))
        given = pa.table(
            [pa.array(c, arrow_type(t)) for c, t in zip(zip(*rows, strict=True), columns.values(), strict=True)],
            names=list(columns),
        )
        tables[0].open().append(given)
        tables[0].open().append(pa.table({"id": pa.array([3], pa.int32())}))
        tables[1].write([*rows, (3, *[None] * 8)])
        tables[0].check(None, ("=", "n", -7), ("=", "text", "x"))
        assert_same_rows(comparable(tables[0].read().rows), comparable(tables[1].read().rows))


@pytest.mark.parametrize("key", [[], ["i"]], ids=["append", "key"])
@pytest.mark.parametrize("threshold", ["500 kb", "1 b"])
def test_file_indexes(paimon: Paimon, key: list[str], threshold: str) -> None:
    columns: dict[str, PaimonType] = {
        "i": "INT NOT NULL",
        "text": "STRING",
        "big": "BIGINT",
        "small": "SMALLINT",
        "d": "DOUBLE",
        "day": "DATE",
        "at": "TIMESTAMP(6)",
        "yes": "BOOLEAN",
        "dec": "DECIMAL(12, 3)",
    }
    names = list(columns)
    options = {
        "bucket": "1",
        "bucket-key": "i",
        "file-index.in-manifest-threshold": threshold,
        "file-index.bloom-filter.columns": "text, big,day,d",
        "file-index.bloom-filter.text.items": "200",
        "file-index.bloom-filter.big.items": "500",
        "file-index.bloom-filter.big.fpp": "0.01",
        "file-index.bloom-filter.day.items": "100",
        "file-index.bloom-filter.d.items": "100",
        "file-index.bitmap.columns": "text,small,yes,day,at",
        "file-index.bitmap.text.index-block-size": "60 b",
        "file-index.bitmap.small.version": "1",
        "file-index.bsi.columns": "big,small,dec",
        "file-index.range-bitmap.columns": "i,d,at,text",
        "file-index.range-bitmap.text.chunk-size": "50 b",
    }
    # Overlapping keys are merged whatever an index says.
    tables = [paimon.create("indexed", columns, key, options={**options, "write-only": "true"}) for _ in range(2)]
    day, at = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 12)
    rows: list[tuple[Any, ...]] = [
        (
            i * 2,
            None if i % 9 == 4 else f"text {i % 30 * 2}",
            (i - 50) * 1000 if i % 7 else None,
            i % 20 * 2 - 9,
            i / 8 if i % 5 else None,
            day + dt.timedelta(days=i % 40 * 2),
            at + dt.timedelta(microseconds=i % 50 * 2),
            None if i % 3 == 0 else True,
            decimal.Decimal(i * 2 - 70) / 8,
        )
        for i in range(120)
    ]
    tables[0].open().append(
        pa.table(
            [pa.array(c, arrow_type(t)) for c, t in zip(zip(*rows, strict=True), columns.values(), strict=True)],
            names=names,
        )
    )
    tables[1].write(rows)
    files = [entry.file() for entry in tables[0].load().store().newScan().plan().files()]
    assert [file.embeddedIndex() is None for file in files] == [threshold == "1 b"]
    assert [list(file.extraFiles()) for file in files] == [
        [f"{file.fileName()}.index"] * (threshold == "1 b") for file in files
    ]
    filters: list[Filter] = [
        ("=", "text", "text 4"),
        ("=", "text", "text 5"),
        ("in", "text", ["text 7", "text 10", "x"]),
        ("!=", "text", "text 4"),
        ("is null", "text"),
        ("starts_with", "text", "text 1"),
        (">", "text", "text 50"),
        ("=", "big", 3000),
        ("=", "big", 3001),
        ("<", "big", -49000),
        (">=", "big", 69000),
        ("is null", "big"),
        ("=", "small", 1),
        ("=", "small", 2),
        ("<=", "small", -9),
        ("=", "d", 1.25),
        (">", "d", 14.8),
        ("<", "d", 0.2),
        ("=", "day", day + dt.timedelta(days=3)),
        ("=", "day", day + dt.timedelta(days=4)),
        ("=", "at", at + dt.timedelta(microseconds=3)),
        (">", "at", at + dt.timedelta(microseconds=96)),
        ("=", "yes", False),
        ("=", "dec", decimal.Decimal("1.25")),
        (">", "dec", decimal.Decimal("20.5")),
        ("in", "i", [7, 8]),
        ("=", "i", 9),
        ("and", (">", "i", 100), ("=", "text", "text 3")),
    ]
    for table in tables:
        table.check(None, *filters)
    if not key and threshold != "1 b":
        # Java leaves out the same files by indexes of Frazil's as by its own.
        for filter_ in filters:
            mine, java = (len(table.read(filter_).files) for table in tables)
            assert mine == java, filter_
            scan = tables[0].open().scan(sql(filter_))
            assert len(list(scan.plan_files())) == java, filter_
        assert not tables[0].read(("=", "text", "text 5")).files
    tables[0].write([(7, "text 5", 1, 1, 1.0, day, at, False, decimal.Decimal(1))])
    tables[0].compact({"write-only": "false"})
    tables[0].check(None, *filters[:5])
