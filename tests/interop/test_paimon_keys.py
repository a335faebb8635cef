"""Primary-key tables that Java Paimon wrote: Frazil merges their rows as Java does, and tells the same changes."""

import datetime as dt
import random
from typing import Any

import pytest
from paimon_java import Filter, Paimon, PaimonTable, PaimonType

import frazil as fz

QUIET = {"write-only": "true"}  # no compaction but those that are asked for
LOUD = {"write-only": "false"}
COLUMNS: dict[str, PaimonType] = {"id": "INT NOT NULL", "name": "STRING", "v": "BIGINT", "s": "INT"}
FILTERS: list[Filter | None] = [
    None,
    ("=", "id", 3),
    ("in", "id", [1, 7, 99]),
    ("and", (">=", "id", 4), ("<", "v", 60)),
    ("=", "name", "b5"),
    ("is null", "name"),
    ("or", ("=", "id", 2), (">", "v", 105)),
]


def rows(tag: str, ids: range, s: int) -> list[tuple[Any, ...]]:
    return [(i, None if i % 4 == 0 else f"{tag}{i}", i * 10 + s, s - i % 3) for i in ids]


def deleted(ids: list[int], s: int = 9) -> tuple[list[tuple[Any, ...]], list[str]]:
    return [(i, None, None, s) for i in ids], ["-D"] * len(ids)


def levels(table: PaimonTable) -> list[int]:
    return [entry.file().level() for entry in table.load().store().newScan().plan().files()]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sequence.field": "s"},
        {"sequence.field": "s", "sequence.field.sort-order": "descending", "file.format": "orc"},
        {"ignore-delete": "true", "file.format": "avro"},
        {"data-file.thin-mode": "true", "bucket": "-1"},
    ],
)
def test_deduplicate(paimon: Paimon, options: dict[str, str]) -> None:
    table = paimon.create("dedup", COLUMNS, ["id"], options={"bucket": "2", **QUIET, **options})
    table.write(rows("a", range(10), 5))
    table.write(rows("b", range(4, 12), 7))
    table.write(rows("c", range(0, 14, 3), 4))
    table.check(*FILTERS)
    table.write(*deleted([3, 5, 50]))
    table.check(*FILTERS)
    table.compact(LOUD)
    assert 0 not in levels(table)
    table.write(rows("d", range(8, 20), 6))
    table.write(*deleted([9]))
    table.check(*FILTERS)
    for snapshot in (2, 4):
        table.check(None, ("=", "name", "b5"), options={"scan.snapshot-id": snapshot}, at=snapshot)


def test_keys_of_partitions(paimon: Paimon) -> None:
    columns: dict[str, PaimonType] = {
        "p": "DATE NOT NULL",
        "k": "STRING NOT NULL",
        "n": "BIGINT NOT NULL",
        "v": "DOUBLE",
    }
    table = paimon.create("composite", columns, ["p", "k", "n"], ["p"], {"bucket": "3", **QUIET})
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]
    for step in range(4):
        table.write([(days[i % 2], f"key-{i % 5}", i % 3, step + i / 8) for i in range(step * 3, step * 3 + 12)])
        if step == 1:
            table.compact(LOUD)
    table.check(
        None,
        ("=", "p", days[0]),
        ("=", "k", "key-3"),
        ("and", ("=", "k", "key-3"), ("=", "n", 1)),
        ("and", ("=", "p", days[1]), ("=", "k", "key-1"), ("=", "n", 2)),
        ("in", "n", [0, 2]),
        (">", "v", 3.5),
        ("starts_with", "k", "key-4"),
    )
    table.check(select=["v", "k"])
    table.write([(days[0], "new", 1, 0.5)], overwrite={"p": "2024-01-01"})
    table.check(None, ("=", "p", days[0]))


def test_partial_update(paimon: Paimon) -> None:
    columns: dict[str, PaimonType] = {
        "id": "INT NOT NULL",
        "a": "STRING",
        "b": "INT",
        "g1": "INT",
        "c": "STRING",
        "d": "INT",
        "g2": "INT",
        "sum": "BIGINT",
        "last": "STRING",
    }
    groups = {
        "merge-engine": "partial-update",
        "fields.g1.sequence-group": "a,b",
        "fields.g2.sequence-group": "c,d,sum",
        "fields.sum.aggregate-function": "sum",
    }
    plain = {"merge-engine": "partial-update", "ignore-delete": "true"}
    removing = {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}
    filters = [
        None,
        ("=", "id", 2),
        ("is null", "a"),
        (">", "b", 3),
        ("=", "c", "c4"),
        ("and", (">", "id", 1), ("<", "d", 9)),
    ]
    chosen = random.Random(5)
    maybe = lambda value: None if chosen.random() < 0.4 else value  # noqa: E731
    for options in (groups, plain, removing):
        table = paimon.create("partial", columns, ["id"], options={"bucket": "1", **QUIET, **options})
        for step in range(6):
            g = lambda: maybe(chosen.randrange(6))  # noqa: E731
            batch = [
                (i, maybe(f"a{step}"), maybe(step), g(), maybe(f"c{step}"), maybe(i), g(), maybe(i), maybe(f"l{step}"))
                for i in chosen.sample(range(8), 6)
            ]
            kinds = ["-D" if options is not groups and chosen.random() < 0.2 else "+I" for _ in batch]
            table.write(batch, kinds)
            if step == 2:
                table.compact(LOUD)
        table.check(*filters)


def test_aggregation(paimon: Paimon) -> None:
    functions = {
        "sum": "BIGINT",
        "max": "INT",
        "min": "STRING",
        "product": "INT",
        "last_value": "STRING",
        "last_non_null_value": "INT",
        "first_value": "STRING",
        "first_non_null_value": "INT",
        "bool_or": "BOOLEAN",
        "bool_and": "BOOLEAN",
        "listagg": "STRING",
    }
    columns: dict[str, PaimonType] = {"id": "INT NOT NULL", **{f"f_{name}": type_ for name, type_ in functions.items()}}
    options = {f"fields.f_{name}.aggregate-function": name for name in functions}
    table = paimon.create(
        "aggregated", columns, ["id"], options={"bucket": "1", "merge-engine": "aggregation", **QUIET, **options}
    )
    chosen = random.Random(6)

    def value(type_: str, step: int) -> Any:
        made = {"BIGINT": step * 7, "INT": step + 1, "STRING": f"s{step}", "BOOLEAN": step % 2 == 0}
        return None if chosen.random() < 0.3 else made[type_]

    for step in range(5):
        table.write([(i, *(value(type_, step) for type_ in functions.values())) for i in range(step % 3, 7)])
        if step == 2:
            table.compact(LOUD)
    table.check(None, ("=", "id", 3), (">", "f_sum", 30), ("=", "f_min", "s1"), ("is null", "f_last_value"))
    summed = paimon.create(
        "retracted",
        {"id": "INT NOT NULL", "n": "BIGINT", "m": "INT"},
        ["id"],
        options={
            "bucket": "1",
            "merge-engine": "aggregation",
            **QUIET,
            "fields.n.aggregate-function": "sum",
            "fields.m.aggregate-function": "max",
            "fields.m.ignore-retract": "true",
        },
    )
    summed.write([(1, 10, 4), (2, 20, 5)])
    summed.write([(1, 4, 9), (2, 5, 1), (3, 7, 7)], ["-U", "+I", "-D"])
    summed.check(None, (">", "n", 10))


def test_first_row_hides_level_0(paimon: Paimon) -> None:
    table = paimon.create("first", COLUMNS, ["id"], options={"bucket": "2", "merge-engine": "first-row", **QUIET})
    table.write(rows("a", range(8), 1))
    table.check(*FILTERS)
    table.compact(LOUD)
    table.write(rows("b", range(4, 12), 2))
    table.check(*FILTERS)
    table.compact(LOUD)
    table.check(*FILTERS)


@pytest.mark.parametrize("wide", ["false", "true"])
def test_deletion_vectors_hide_level_0(paimon: Paimon, wide: str) -> None:
    options = {"bucket": "2", "deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": wide}
    table = paimon.create("vectors", COLUMNS, ["id"], options={**options, **QUIET})
    table.write(rows("a", range(12), 1))
    table.compact(LOUD)
    table.check(*FILTERS)
    table.write(rows("b", range(4, 9), 2))
    table.write(*deleted([1]))
    table.check(*FILTERS)
    busy = paimon.create("busy", COLUMNS, ["id"], options={**options, "num-sorted-run.compaction-trigger": "3"})
    for step in range(6):
        busy.write(rows("abcdef"[step], range(step * 2, step * 2 + 8), step))
        busy.write(*deleted([step * 2 + 1]))
    busy.compact()
    busy.write(rows("z", range(3, 6), 9))
    busy.check(*FILTERS)


@pytest.mark.parametrize("producer", ["none", "input", "full-compaction", "lookup"])
def test_changes(paimon: Paimon, producer: str) -> None:
    options = {"bucket": "1", "changelog-producer": producer}
    table = paimon.create("changed", COLUMNS, ["id"], options=options)
    table.write(rows("a", range(6), 1), compact=True)
    table.write(rows("b", range(3, 9), 2), compact=True)
    table.write([(2, "x", 1, 1), (2, "y", 2, 2), (4, None, None, 3)], ["-U", "+U", "-D"], compact=True)
    last = table.write(rows("c", range(0, 10, 4), 4), compact=True)
    assert last > 4
    told = set()
    for since, at in ((0, last), (1, last), (2, 5), (last - 1, last)):
        for mode in (None, "delta", "changelog", "diff"):
            if (mode, since) != ("diff", 0):
                told.update(table.check_changes(since, at, mode=mode))
    assert {"+I", "-D"} <= told
    table.check_changes(1, last, ("in", "id", [2, 4]))
    table.check_changes(1, last, ("=", "name", "c8"), mode="diff")


def test_other_buckets(paimon: Paimon) -> None:
    """Dynamic buckets, buckets of another number than before, and rows that wait for a bucket."""
    dynamic = paimon.create(
        "dynamic", COLUMNS, ["id"], options={"bucket": "-1", "dynamic-bucket.target-row-num": "5", **QUIET}
    )
    dynamic.write(rows("a", range(12), 1))
    dynamic.write(rows("b", range(6, 18), 2))
    dynamic.check(*FILTERS)
    postponed = paimon.create("postponed", COLUMNS, ["id"], options={"bucket": "-2"})
    postponed.write(rows("a", range(5), 1))
    postponed.check(None, ("=", "id", 2))
    evolved = paimon.create("evolved", COLUMNS, ["id"], options={"bucket": "1", **QUIET})
    evolved.write(rows("a", range(10), 1))
    change = evolved.change
    evolved.alter(change.addColumn("x", paimon.type("INT")), change.renameColumn("name", "title"))
    evolved.write([(*r, 1) for r in rows("b", range(5, 15), 2)])
    evolved.alter(change.updateColumnType("v", paimon.type("STRING")), change.dropColumn("s"))
    evolved.write([(i, f"c{i}", str(i), 2) for i in range(12, 20)])
    evolved.check(None, ("=", "id", 6), ("=", "x", 1), ("=", "title", "b8"), ("=", "v", "72"), ("is null", "x"))


ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "sequenced": {"sequence.field": "s"},
    "partial-update": {"merge-engine": "partial-update", "fields.s.sequence-group": "v", "ignore-delete": "true"},
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
        "fields.s.ignore-retract": "true",
    },
    "first-row": {"merge-engine": "first-row", "ignore-delete": "true"},
    "deletion-vectors": {"deletion-vectors.enabled": "true"},
}


@pytest.mark.parametrize("engine", ENGINES)
def test_random_histories(paimon: Paimon, engine: str) -> None:
    random_histories(paimon, engine, random.Random(f"histories of {engine}"), 2)


def random_histories(paimon: Paimon, engine: str, chosen: random.Random, tables: int) -> None:
    kinds = ["+I", "+U", "-D"] if engine in ("deduplicate", "sequenced", "deletion-vectors") else ["+I", "+U"]
    for _ in range(tables):
        kind = chosen.choice(["parquet", "orc", "avro"])
        options = {"bucket": str(chosen.choice([1, 3])), "file.format": kind, **QUIET, **ENGINES[engine]}
        columns: dict[str, PaimonType] = {**COLUMNS, "p": "STRING NOT NULL"}
        table = paimon.create("random", columns, ["p", "id"], ["p"], options)
        for _ in range(chosen.randint(4, 8)):
            size = chosen.randint(1, 25)
            batch = [
                (
                    chosen.randrange(40),
                    chosen.choice([None, "", f"n{chosen.randrange(20)}"]),
                    chosen.choice([None, chosen.randrange(-(2**40), 2**40), chosen.randrange(30)]),
                    chosen.randrange(8),
                    chosen.choice("xy"),
                )
                for _ in range(size)
            ]
            table.write(batch, [chosen.choice(kinds) for _ in range(size)])
            if chosen.random() < 0.3:
                table.compact(LOUD)
        table.check(None, *(random_filter(chosen) for _ in range(8)))


def random_filter(chosen: random.Random, depth: int = 2) -> Filter:
    if depth and chosen.random() < 0.5:
        parts = (random_filter(chosen, depth - 1) for _ in range(chosen.randint(2, 3)))
        return (chosen.choice(["and", "or"]), *parts)
    column = chosen.choice(["id", "id", "name", "v", "s", "p"])
    if chosen.random() < 0.15:
        return (chosen.choice(["is null", "is not null"]), column)

    def value() -> Any:
        texts = {"name": f"n{chosen.randrange(20)}", "p": chosen.choice("xyz")}
        return texts.get(column) or chosen.randrange({"id": 40, "v": 30, "s": 8}[column])

    if chosen.random() < 0.2:
        return ("in", column, sorted({value() for _ in range(3)}))
    return (chosen.choice(["=", "!=", "<", "<=", ">", ">="]), column, value())


def test_refused_merges(paimon: Paimon) -> None:
    """A retraction that an engine does not know is refused by both."""
    table = paimon.create(
        "refused", COLUMNS, ["id"], options={"bucket": "1", "merge-engine": "partial-update", **QUIET}
    )
    table.write(rows("a", range(3), 1))
    table.write(*deleted([1]))
    with pytest.raises(Exception, match="delete"):
        table.read()
    with pytest.raises(fz.FrazilError):
        table.open().scan().to_arrow()
