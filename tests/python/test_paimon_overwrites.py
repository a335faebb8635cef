"""Overwrites of Apache Paimon's tables by the messages of several writers, held against those of one."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

Row = tuple[str, int, int]
SCHEMA = pa.schema(
    [
        pa.field("p", pa.string(), nullable=False),
        pa.field("id", pa.int32(), nullable=False),
        pa.field("v", pa.int64()),
    ]
)
KINDS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "append": ([], {}),
    "buckets": ([], {"bucket": 2, "bucket-key": "id"}),
    "keyed": (["p", "id"], {"bucket": 2}),
    "changelog": (["p", "id"], {"bucket": 2, "changelog-producer": "input"}),
    "dynamic": (["p", "id"], {"dynamic-bucket.target-row-num": 5}),
    "first-row": (["p", "id"], {"bucket": 1, "merge-engine": "first-row"}),
    "postponed": (["p", "id"], {"bucket": -2}),
}


def batch(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


def old(v: int) -> list[Row]:
    return [("abc"[i % 3], i, v) for i in range(24)]


@pytest.fixture
def catalog(tmp_path: Path) -> fz.Catalog:
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    return catalog


def made(catalog: fz.Catalog, kind: str, name: str = "t") -> fz.Table:
    key, properties = KINDS[kind]
    table = catalog.create_table(
        f"db.{name}", SCHEMA, partition_by=["p"], properties=properties, format="paimon", identifier_fields=key
    )
    return table.append(batch(old(1))).append(batch(old(2)))


def read(table: fz.Table) -> list[Row]:
    return sorted(tuple(row.values()) for row in table.refresh().scan().to_arrow().to_pylist())


def written(table: fz.Table, *parts: list[Row], overwrite: bool = True) -> list[fz.CommitMessage]:
    writers = [pickle.loads(pickle.dumps(table.writer(i, overwrite=overwrite))) for i in range(len(parts))]
    messages = [writer.write(batch(part)) for writer, part in zip(writers, parts, strict=True)]
    return pickle.loads(pickle.dumps(messages))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", [None, "p = 'a'", "partitions"])
def test_as_by_one_writer(catalog: fz.Catalog, kind: str, where: str | None) -> None:
    new = [("a", i, 7) for i in range(12)] + ([] if where == "p = 'a'" else [("d", i, 7) for i in range(20)])
    one, several = made(catalog, kind, "one"), made(catalog, kind, "several")
    messages = written(several, new[::2], new[1::2])
    if where == "partitions":
        one.overwrite_partitions(batch(new))
        several.commit_overwrite(messages, partitions=True)
    else:
        one.overwrite(batch(new), where)
        several.commit_overwrite(messages, where)
    assert several.snapshot is not None
    assert several.snapshot.operation == "overwrite"
    if kind == "first-row":
        # Files of several writers that overlap stay where such tables hide them, as what is appended.
        assert read(several) == []
        for table in (one, several):
            table.maintain.compact()
    assert read(several) == read(one)
    # What comes later is later, by the sequence numbers too.
    for table in (one, several):
        table.append(batch([("a", 3, 8), ("b", 1, 8)]))
    assert read(several) == read(one)
    count = len(several.snapshots)
    several.commit_overwrite(messages, None if where == "partitions" else where, where == "partitions")
    assert len(several.snapshots) == count
    if kind != "postponed":
        for table in (one, several):
            table.maintain.compact()
        assert read(several) == read(one)


def test_without_rows(catalog: fz.Catalog) -> None:
    table = made(catalog, "keyed")
    for _ in range(2):
        assert [row[0] for row in read(table.commit_overwrite([], "p = 'b'"))] == ["a"] * 8 + ["c"] * 8
        table.append(batch([("b", 1, 1)]))
    assert len(read(table.commit_overwrite([], partitions=True))) == 17
    assert read(table.commit_overwrite([])) == []


def test_keys_that_several_writers_have(catalog: fz.Catalog) -> None:
    table = made(catalog, "dynamic")
    rows = [("d", i, 3) for i in range(17)]
    # Each puts the keys that come first into bucket 0.
    messages = written(table, rows, [(p, i, 4) for p, i, _ in reversed(rows)])
    table.commit_overwrite(messages, partitions=True)
    assert read(table) == sorted(old(2)) + [("d", i, 4) for i in range(17)]
    table.append(batch([("d", i, 5) for i in range(20)]))
    assert read(table) == sorted(old(2)) + [("d", i, 5) for i in range(20)]


def test_another_number_of_buckets(catalog: fz.Catalog) -> None:
    table = made(catalog, "keyed").set_properties({"bucket": "3"})
    with pytest.raises(fz.InvalidInputError, match="2 buckets"):
        written(table, [("a", 1, 1)], overwrite=False)
    table.commit_overwrite(written(table, [("a", i, 1) for i in range(9)], [("b", 1, 1)]))
    assert read(table) == [*(("a", i, 1) for i in range(9)), ("b", 1, 1)]
    table.append(batch([("a", 1, 2)]))
    assert ("a", 1, 2) in read(table)


def test_what_is_refused(catalog: fz.Catalog) -> None:
    table = made(catalog, "changelog")
    before = read(table)
    overwriting, appending = written(table, [("a", 1, 9)])[0], written(table, [("a", 2, 9)], overwrite=False)[0]
    with pytest.raises(fz.InvalidInputError, match="no append"):
        table.commit([overwriting])
    with pytest.raises(fz.InvalidInputError, match=r"writer\(overwrite=True\)"):
        table.commit_overwrite([appending])
    for where in ("id = 1", "p = 'a' or p = 'b'", "p > 'a'"):
        with pytest.raises(fz.UnsupportedError, match="whole partitions"):
            table.commit_overwrite([overwriting], where)
    with pytest.raises(fz.InvalidInputError, match="nobody"):
        table.commit_overwrite([overwriting], "nobody = 1")
    with pytest.raises(fz.InvalidInputError, match="twice"):
        table.commit_overwrite([overwriting, overwriting])
    with pytest.raises(fz.InvalidInputError, match="another table"):
        made(catalog, "keyed", "other").commit_overwrite([overwriting])
    with pytest.raises(fz.FrazilError):
        table.commit_overwrite([overwriting], "p = 'b'")
    assert read(table) == before
    # The files are there still.
    assert ("a", 1, 9) in read(table.commit_overwrite([overwriting], partitions=True))
    table.abort([appending])


def test_a_file_that_is_gone(catalog: fz.Catalog) -> None:
    table = made(catalog, "append")
    messages = written(table, [("a", 1, 9)], [("b", 1, 9)])
    table.abort(messages[:1])
    with pytest.raises(fz.InvalidInputError, match="not there any more"):
        table.commit_overwrite(messages)
    assert len(read(table)) == 48
