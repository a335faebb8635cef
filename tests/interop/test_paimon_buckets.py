"""Tables of Paimon whose keys are given buckets as they come: Java and Frazil write them in turn, and find each other's keys."""

import random
from typing import Any

import pyarrow as pa
import pytest
from java_side import assert_same_rows
from paimon_java import Paimon, PaimonTable, PaimonType, arrow_type, comparable

import frazil as fz

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


@pytest.mark.parametrize("options", [{}, {"dynamic-bucket.max-buckets": "3"}, {"deletion-vectors.enabled": "true"}], ids=str)
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
    assert sorted(row["id"] for row in tables[0].open().scan("p = 'a'").to_arrow().to_pylist()) == [0, 1, 2, 3, 5, 6, 7, 8]


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
