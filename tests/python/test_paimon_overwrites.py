"""Overwrites of Apache Paimon's tables by the messages of several writers, held against those of one."""

from __future__ import annotations

import pickle
from datetime import timedelta
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
    "vectors": (["p", "id"], {"bucket": 2, "deletion-vectors.enabled": "true"}),
    "aggregation": (["p", "id"], {"bucket": 2, "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}),
    "partial": (["p", "id"], {"bucket": 2, "merge-engine": "partial-update"}),
    "tracked": ([], {"row-tracking.enabled": "true"}),
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
    for _ in range(2):
        # Made again, it is seen, though the rows had to be written again.
        table.commit_overwrite(messages, partitions=True)
        assert read(table) == sorted(old(2)) + [("d", i, 4) for i in range(17)]
    assert len(table.snapshots) == 3
    table.append(batch([("d", i, 5) for i in range(20)]))
    assert read(table) == sorted(old(2)) + [("d", i, 5) for i in range(20)]


@pytest.mark.parametrize("kind", ["append", "keyed", "aggregation"])
def test_what_was_committed_before(catalog: fz.Catalog, kind: str) -> None:
    table = made(catalog, kind)
    # Apart from each other, and not.
    for new in ([("a", i, 7) for i in range(12)], [("a", i % 6, i) for i in range(12)]):
        messages = written(table, new[:6], new[6:])
        table.commit_overwrite(messages, partitions=True).append(batch([("a", 50, 1)]))
        before = read(table)
        more = written(table, [("a", 60, 1)])
        for again in (messages[:1], messages[1:], [*messages, *more]):
            for partitions in (True, False):
                with pytest.raises(fz.InvalidInputError, match="in the table already"):
                    table.commit_overwrite(again, partitions=partitions)
        assert read(table) == before
        table.maintain.compact()
        before, count = read(table), len(table.snapshots)
        table.commit_overwrite(messages, partitions=True)
        assert (read(table), len(table.snapshots)) == (before, count)


def test_replayed_when_the_snapshot_is_gone(catalog: fz.Catalog) -> None:
    table = made(catalog, "keyed")
    messages = written(table, [("a", i, 7) for i in range(12)])
    table.commit_overwrite(messages, partitions=True).append(batch([("a", 50, 1)]))
    before = read(table)
    table.maintain.expire_snapshots(retain_last=1, older_than=table.snapshots[-1].timestamp + timedelta(days=1))
    assert len(table.refresh().snapshots) == 1
    with pytest.raises(fz.InvalidInputError, match="in the table already"):
        table.commit_overwrite(messages, partitions=True)
    assert read(table) == before


@pytest.mark.parametrize("overwrite", [True, False])
def test_replayed_between_a_compaction_and_its_expiry(catalog: fz.Catalog, overwrite: bool) -> None:
    table = made(catalog, "keyed")
    messages = written(table, [("a", i, 7) for i in range(12)], overwrite=overwrite)

    def commit(messages: list[fz.CommitMessage]) -> None:
        table.commit_overwrite(messages, partitions=True) if overwrite else table.commit(messages)

    commit(messages)
    assert table.snapshot is not None
    kept = table.append(batch([("a", 1, 50)])).snapshot
    table.maintain.compact()
    before = read(table)
    table.maintain.expire_snapshots(retain_last=2, older_than=table.snapshots[-1].timestamp + timedelta(days=1))
    assert kept is not None
    assert table.refresh().snapshots[0].id == kept.id
    for again in (messages, [*messages, *written(table, [("a", 90, 1)], overwrite=overwrite)]):
        with pytest.raises(fz.InvalidInputError, match="in the table already"):
            commit(again)
    assert read(table) == before


def test_what_came_meanwhile_is_replaced(catalog: fz.Catalog) -> None:
    table = made(catalog, "keyed")
    messages = written(table, [("a", i, 7) for i in range(3)], [("a", i, 8) for i in range(3, 5)])
    other = catalog.load_table("db.t").append(batch([("a", 90, 1), ("b", 90, 1)]))
    assert ("a", 90, 1) in read(other)
    table.commit_overwrite(messages, "p = 'a'")
    rows = [row for row in read(table) if row[0] != "c"]
    assert rows == [*(("a", i, 7) for i in range(3)), *(("a", i, 8) for i in range(3, 5)), *of("b"), ("b", 90, 1)]


def of(partition: str) -> list[Row]:
    return [row for row in sorted(old(2)) if row[0] == partition]


def test_writers_of_two_numbers_of_buckets(catalog: fz.Catalog) -> None:
    table = made(catalog, "keyed")
    before = read(table)
    first = written(table, [("a", i, 7) for i in range(9)])
    table.set_properties({"bucket": "3"})
    with pytest.raises(fz.CommitConflictError, match="2 buckets can't have files made for 3"):
        table.commit_overwrite([*first, *written(table, [("a", i, 8) for i in range(9)])], partitions=True)
    assert read(table) == before
    assert [row for row in read(table.commit_overwrite(first, partitions=True)) if row[0] == "a"] == [
        ("a", i, 7) for i in range(9)
    ]


def test_on_a_branch(catalog: fz.Catalog) -> None:
    table = made(catalog, "keyed")
    before = read(table)
    table.refs.create_tag("start").create_branch("audit", at="start")
    table.commit_overwrite(written(table, [("a", 1, 7)], [("a", 2, 8)]), "p = 'a'", branch="audit")
    assert read(table) == before
    rows = table.refresh().scan(at="audit").to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [("a", 1, 7), ("a", 2, 8), *of("b"), *of("c")]


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
    with pytest.raises(fz.InvalidInputError, match="can't be appended"):
        table.commit([overwriting])
    deleting = table.writer().delete_keys(batch([("a", 1, 1)]).select(["p", "id"]))
    for message in (appending, deleting):
        with pytest.raises(fz.InvalidInputError, match=r"can't replace rows.*writer\("):
            table.commit_overwrite([overwriting, message])
    with pytest.raises(fz.UnsupportedError, match="compact"):
        table.writer().rewrite(batch([("a", 1, 9)]))
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


def test_committed_messages_are_not_aborted(catalog: fz.Catalog) -> None:
    table = made(catalog, "keyed")
    table.refs.create_tag("start").create_branch("audit", at="start")
    messages = written(table, [("a", 1, 9)], [("b", 1, 9)])
    on_branch, unused = written(table, [("b", 5, 9)])[0], written(table, [("c", 5, 9)])[0]
    table.commit_overwrite([on_branch], partitions=True, branch="audit")
    table.commit_overwrite(messages, partitions=True).append(batch([("a", 1, 10)]))
    before = read(table)
    for compacted in (False, True):
        for some in (messages, messages[1:], [unused, messages[0]], [on_branch]):
            with pytest.raises(fz.InvalidInputError, match="in the table, so nothing was deleted"):
                table.abort(some)
        assert read(table) == before
        if not compacted:
            # Older versions have the files all the same.
            table.maintain.compact()
    folder = Path(table.location)
    count = len(list(folder.rglob("data-*")))
    table.abort([unused])
    assert len(list(folder.rglob("data-*"))) == count - 1
    assert len(table.scan(at=table.snapshots[2].id).to_arrow()) > 0


def test_a_file_that_is_gone(catalog: fz.Catalog) -> None:
    table = made(catalog, "append")
    messages = written(table, [("a", 1, 9)], [("b", 1, 9)])
    table.abort(messages[:1])
    with pytest.raises(fz.InvalidInputError, match="no longer exists"):
        table.commit_overwrite(messages)
    assert len(read(table)) == 48
