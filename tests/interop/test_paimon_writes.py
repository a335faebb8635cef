"""Tables of Paimon that Frazil writes: Java reads the same rows, writes more, compacts, and Frazil reads on."""

import datetime as dt
import pickle
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from java_side import assert_same_rows
from paimon_java import DATABASE, Paimon, PaimonTable, PaimonType, array, arrow_type, comparable, mapping, row

import frazil as fz

COLUMNS: dict[str, PaimonType] = {"id": "INT", "name": "STRING", "v": "BIGINT", "d": "DOUBLE"}
KEYED: dict[str, PaimonType] = {**COLUMNS, "id": "INT NOT NULL"}
FORMATS = ["parquet", "orc", "avro"]
DAY = dt.date(2024, 1, 1)


def batch(columns: dict[str, PaimonType], rows: list[tuple[Any, ...]]) -> pa.Table:
    """Rows as Frazil takes them."""
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(column, arrow_type(type_)) for column, type_ in zip(values, columns.values(), strict=True)]
    return pa.table(arrays, names=list(columns))


def rows(start: int, end: int) -> list[tuple[Any, ...]]:
    return [(i, f"n{i:03}" if i % 7 else None, i * 10, i / 4 if i % 5 else None) for i in range(start, end)]


def ids(table: PaimonTable) -> list[int]:
    """What Frazil reads after Java and Frazil were found to read the same."""
    table.check(None)
    return sorted(table.open().scan(select=["id"]).to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("format_", FORMATS)
def test_every_type(paimon: Paimon, format_: str) -> None:
    columns: dict[str, PaimonType] = {
        "id": "INT NOT NULL",
        "boolean": "BOOLEAN",
        "tiny": "TINYINT",
        "small": "SMALLINT",
        "big": "BIGINT",
        "float": "FLOAT",
        "double": "DOUBLE",
        "dec9": "DECIMAL(9, 2)",
        "dec18": "DECIMAL(18, 4)",
        "dec38": "DECIMAL(38, 10)",
        "day": "DATE",
        "time": "TIME(3)",
        "ts0": "TIMESTAMP(0)",
        "ts3": "TIMESTAMP(3)",
        "ts6": "TIMESTAMP(6)",
        "ltz3": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        "ltz6": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        "char": "CHAR(3)",
        "text": "VARCHAR(40)",
        "fixed": "BINARY(4)",
        "bytes": "BYTES",
        "list": array("SMALLINT"),
        "map": mapping("STRING", "TIMESTAMP(3)"),
        "numbers": mapping("INT", array("DECIMAL(20, 3)")),
        "row": row(x="TINYINT", t="TIMESTAMP(6)", deep=row(s="STRING")),
    }
    noon = dt.datetime(2024, 1, 1, 12, 30, 1)
    utc = dt.timezone.utc
    full = (
        1, True, -128, -32768, -(2**63), 1.5, -0.0, Decimal("-1.25"), Decimal("3.0001"), Decimal("1e20"), DAY,
        dt.time(23, 59, 59, 999000), noon, noon.replace(microsecond=1000), noon.replace(microsecond=1),
        noon.replace(tzinfo=utc), noon.replace(microsecond=7, tzinfo=utc), "abc", "äöü日本", b"\x00\x01\x02\xff", b"",
        [1, None, -3], [("a", noon), ("b", None)], [(1, [Decimal("1.5"), None]), (2, None)],
        {"x": 5, "t": noon, "deep": {"s": "s"}},
    )  # fmt: skip
    old = (
        2, False, 127, 32767, 2**63 - 1, float("inf"), 1e300, Decimal("9.99"), Decimal("-9.9999"), Decimal("-1e20"),
        dt.date(1900, 1, 1), dt.time(0), dt.datetime(1900, 1, 1), dt.datetime(1900, 1, 1), dt.datetime(1900, 1, 1),
        dt.datetime(1900, 1, 1, tzinfo=utc), dt.datetime(1900, 1, 1, tzinfo=utc), "", "", b"abcd", b"long " * 100, [],
        [], [], {"x": None, "t": None, "deep": None},
    )  # fmt: skip
    nulls = (3, *[None] * (len(columns) - 1))
    table = paimon.create("types", columns, options={"file.format": format_})
    table.open().append(batch(columns, [full, old, nulls]))
    table.check(
        None,
        ("=", "tiny", -128),
        (">", "dec38", Decimal("0")),
        ("<", "ts6", dt.datetime(2000, 1, 1)),
        ("is null", "text"),
        ("=", "char", "abc"),
        select=None,
    )
    # Java appends to what Frazil wrote, Frazil to what Java wrote.
    table.write([(*full[:23], [], {"x": 1, "t": None, "deep": None})])
    table.open().append(batch(columns, [old]))
    table.check(None)
    keyed = paimon.create("keyed_types", columns, ["id"], options={"file.format": format_, "bucket": 2})
    keyed.open().append(batch(columns, [old, full, nulls, full]))
    keyed.check(None)
    keyed.compact()
    keyed.check(None)


def test_partitions_and_overwrites(paimon: Paimon) -> None:
    columns = {**COLUMNS, "day": "DATE", "region": "STRING"}
    table = paimon.create("parts", columns, partitioned_by=["day", "region"])
    days, regions = [DAY, dt.date(1969, 12, 31), None], ["eu", "", None, "a/b c=1%", "ü", " "]
    t = table.open()
    t.append(batch(columns, [(*r, days[i % 3], regions[i % 6]) for i, r in enumerate(rows(0, 36))]))
    assert ids(table) == list(range(36))
    table.write([(*r, days[i % 3], regions[i % 6]) for i, r in enumerate(rows(36, 50))])
    table.check(("=", "day", DAY), ("is null", "region"), ("=", "region", "a/b c=1%"), (">", "id", 30))
    t.refresh().overwrite(
        batch(columns, [(*r, DAY, "eu") for r in rows(100, 103)]), "day = '2024-01-01' and region = 'eu'"
    )
    table.check(None, ("=", "day", DAY))
    assert t.snapshot is not None
    assert t.snapshot.operation == "overwrite"
    gone = {i for i in range(36) if i % 6 == 0} | {36 + i for i in range(14) if i % 6 == 0}
    assert ids(table) == sorted(({*range(50)} - gone) | {100, 101, 102})
    t.overwrite_partitions(batch(columns, [(*r, None, "ü") for r in rows(200, 202)]))
    table.check(None)
    t.overwrite(batch(columns, [(*r, DAY, "x") for r in rows(300, 301)]))
    assert ids(table) == [300]
    t.overwrite(batch(columns, []), "id = 3")
    assert ids(table) == [300]
    table.write([(*r, days[i % 2], "x") for i, r in enumerate(rows(400, 404))])
    messages = [
        t.writer(i, overwrite=True).write(batch(columns, [(500 + i, None, i, None, DAY, "x")])) for i in range(3)
    ]
    t.commit_overwrite(messages, partitions=True)
    assert ids(table) == [401, 403, 500, 501, 502]
    table.check(None, ("=", "day", DAY))
    t.commit_overwrite([], "region = 'x' and day = '2024-01-01'")
    assert ids(table) == [401, 403]


@pytest.mark.parametrize("function", ["default", "mod", "hive"])
def test_fixed_buckets(paimon: Paimon, function: str) -> None:
    options = {"bucket": 4, "bucket-key": "v", "bucket-function.type": function}
    table = paimon.create("buckets", COLUMNS, options=options)
    table.open().append(batch(COLUMNS, rows(0, 40)))
    table.write(rows(40, 60))
    table.open().append(batch(COLUMNS, rows(60, 80)))
    # Java skips the buckets that a key can't be in.
    table.check(None, ("=", "v", 70), ("in", "v", [10, 650, 999]), ("is null", "v"))
    table.compact()
    table.check(None, ("=", "v", 70))
    table.alter(table.change.setOption("bucket", "2"))
    with pytest.raises(fz.InvalidInputError, match="4 buckets"):
        table.open().append(batch(COLUMNS, rows(80, 90)))
    table.open().overwrite(batch(COLUMNS, rows(80, 90)))
    assert ids(table) == list(range(80, 90))
    table.alter(table.change.setOption("bucket", "3"))
    t = table.open()
    t.commit_overwrite([t.writer(i, overwrite=True).write(batch(COLUMNS, rows(i, i + 7))) for i in (90, 97)])
    table.write(rows(104, 110))
    table.check(None, ("=", "v", rows(95, 96)[0][2]))
    assert ids(table) == list(range(90, 110))


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("thin", ["false", "true"])
def test_keys(paimon: Paimon, format_: str, thin: str) -> None:
    options = {"bucket": 2, "file.format": format_, "data-file.thin-mode": thin}
    table = paimon.create("keys", KEYED, ["id"], options=options)
    t = table.open()
    t.append(batch(KEYED, [*rows(0, 30), *[(i, "again", i, 0.5) for i in range(5, 15)]]))
    assert ids(table) == list(range(30))
    table.write([(i, "java", i, None) for i in range(10, 20)])
    t.refresh().upsert(batch(KEYED, [(i, "frazil", i, None) for i in range(15, 25)]), on=["id"])
    t.delete_keys(pa.table({"id": pa.array([0, 3, 999], pa.int32())}))
    table.check(None, ("=", "id", 17), ("=", "name", "again"), ("in", "id", [3, 4, 12]))
    assert ids(table) == [i for i in range(30) if i not in (0, 3)]
    table.compact()
    table.check(None)
    t.refresh().append(batch(KEYED, rows(3, 4)))
    assert 3 in ids(table)
    t.overwrite(batch(KEYED, rows(50, 52)))
    assert ids(table) == [50, 51]
    # By several writers; Java's next rows are later than theirs.
    t.commit_overwrite([t.writer(i, overwrite=True).write(batch(KEYED, rows(i, i + 9))) for i in (60, 69)])
    table.write([(i, "java", i, None) for i in range(65, 80)])
    table.check(None, ("=", "name", "java"))
    table.compact()
    table.check(None)
    assert ids(table) == list(range(60, 80))


ENGINES: list[dict[str, object]] = [
    {},
    {"sequence.field": "v"},
    {"sequence.field": "v", "sequence.field.sort-order": "descending"},
    {"merge-engine": "partial-update"},
    {"merge-engine": "partial-update", "fields.v.sequence-group": "d", "fields.v.ignore-retract": "true"},
    {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "fields.name.aggregate-function": "listagg"},
    {"merge-engine": "first-row"},
    {"deletion-vectors.enabled": "true"},
    {"ignore-delete": "true"},
]


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_engines(paimon: Paimon, engine: dict[str, object]) -> None:
    """Frazil and Java write in turn, keys more than once in a write; what is merged in buffers is what Java merges."""
    dice = random.Random(7)
    tables = [paimon.create("engine", KEYED, ["id"], options={"bucket": 2, **engine}) for _ in range(2)]
    for turn in range(4):
        some = [
            (dice.randrange(12), dice.choice(["a", "b", None]), dice.choice([1, 2, 3, None]), dice.choice([0.5, None]))
            for _ in range(20)
        ]
        if "sequence.field.sort-order" in engine:
            # Java's write buffer takes the greatest all the same.
            some = list({r[0]: r for r in some}.values())
        # The second table has all of Java.
        tables[1].write(some)
        if turn % 2:
            tables[0].write(some)
        else:
            tables[0].open().append(batch(KEYED, some))
    compact = engine.get("merge-engine") == "first-row" or "deletion-vectors.enabled" in engine
    for table in tables:
        if compact:
            table.compact()
        table.check(None, ("<", "id", 5))
    assert_same_rows(comparable(tables[0].read().rows), comparable(tables[1].read().rows))


TAKING_BACK: list[dict[str, object]] = [
    {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "fields.d.aggregate-function": "last_value"},
    {"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"},
    {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    {"merge-engine": "partial-update", "fields.v.sequence-group": "d,kind"},
    {"merge-engine": "partial-update", "fields.v.sequence-group": "d", "fields.d.aggregate-function": "sum"},
    {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "ignore-update-before": "true"},
    {"ignore-update-before": "true"},
]


@pytest.mark.parametrize("engine", TAKING_BACK, ids=str)
def test_rows_that_are_taken_back_in_one_write(paimon: Paimon, engine: dict[str, object]) -> None:
    """Keys come more than once, added and taken back: what the buffer leaves meets older files as Java's does."""
    dice = random.Random(str(engine))
    columns: dict[str, PaimonType] = {"id": "INT NOT NULL", "kind": "STRING", "v": "INT", "d": "DOUBLE"}
    options = {"bucket": 1, "rowkind.field": "kind", "write-only": "true", **engine}
    tables = [paimon.create("taken", columns, ["id"], options=options) for _ in range(2)]
    kinds = ["+I", "+U", "-D"] if "partial-update.remove-record-on-delete" in engine else ["+I", "+U", "-U", "-D"]
    for turn in range(5):
        some = [
            (dice.randrange(9), dice.choice(kinds), dice.choice([1, 2, 3, None]), dice.choice([0.5, 4.0, None]))
            for _ in range(4 + 8 * turn if turn < 4 else 2500)  # hundreds of a key
        ]
        tables[1].write(some)
        tables[0].open().append(batch(columns, some))
        assert_same_rows(comparable(tables[0].read().rows), comparable(tables[1].read().rows), f"{engine}, {turn}")
        tables[0].check(None, ("<", "id", 5))
    tables[0].open().maintain.compact()
    tables[0].check(None)


@pytest.mark.parametrize("count", [127, 128, 129, 130, 300])
def test_many_rows_of_one_key_in_one_write(paimon: Paimon, count: int) -> None:
    """However many there are, the buffer merges them in the order of the sequence field, and each of them once."""
    columns: dict[str, PaimonType] = {"id": "INT NOT NULL", "kind": "STRING", "seq": "INT", "v": "INT", "w": "INT"}
    middle: list[tuple[Any, ...]] = [(1, "+I", 2, None, None)] * (count - 3)
    ordered = [(1, "+I", 1000, None, 5), (1, "+I", 1, 111, 6), *middle, (1, "+I", 500, 222, None)]
    engines: list[tuple[dict[str, object], list[tuple[Any, ...]]]] = [
        ({"sequence.field": "seq"}, ordered),
        ({"fields.seq.sequence-group": "v", "fields.v.aggregate-function": "sum"}, [(1, "-D", 2, 5, None)] * count),
    ]
    common: dict[str, object] = {"bucket": 1, "rowkind.field": "kind", "write-only": "true"}
    for engine, many in engines:
        options = {**common, "merge-engine": "partial-update", **engine}
        tables = [paimon.create("many", columns, ["id"], options=options) for _ in range(2)]
        for some in ([(1, "+I", 1, 10000, None)], many):
            tables[1].write(some)
            tables[0].open().append(batch(columns, some))
        assert_same_rows(comparable(tables[0].read().rows), comparable(tables[1].read().rows), str(engine))
        tables[0].check(None)


def test_messages_of_other_processes(paimon: Paimon) -> None:
    table = paimon.create("messages", KEYED, ["id"], options={"bucket": 2})
    t = table.open()
    writers = [t.writer(task=i) for i in range(2)]
    messages = [w.write(batch(KEYED, rows(10 * i, 10 * i + 10))) for i, w in enumerate(writers)]
    messages = pickle.loads(pickle.dumps(messages))
    given_up = t.writer().write(batch(KEYED, rows(90, 95)))
    t.commit(messages, snapshot_properties={"who": "frazil"})
    t.abort([given_up])
    assert ids(table) == list(range(20))
    last = t.snapshot
    # Once more they change nothing, and some of them can't come again.
    assert t.commit(messages).snapshot == last
    with pytest.raises(fz.FrazilError):
        t.commit(messages[:1])
    assert ids(table) == list(range(20))
    assert t.snapshot is not None
    assert t.snapshot.summary["who"] == "frazil"
    assert not any(path.name.endswith(".crc") for path in table.root.rglob("*"))


def test_catalog(paimon: Paimon) -> None:
    """Frazil makes a table in Java's warehouse; both write it."""
    catalog = fz.catalog("java", type="filesystem", warehouse=str(paimon.warehouse))
    schema = pa.schema(
        [
            pa.field("id", pa.int32(), nullable=False),
            pa.field("name", pa.string()),
            pa.field("v", pa.int64()),
            pa.field("d", pa.float64()),
            pa.field("day", pa.date32(), nullable=False),
            pa.field("tags", pa.list_(pa.string())),
        ]
    )
    t = catalog.create_table(
        f"{DATABASE}.made",
        schema,
        partition_by=["day"],
        properties={"bucket": 2, "file.format": "orc"},
        format="paimon",
        identifier_fields=["id", "day"],
    )
    assert (t.format, t.properties["bucket"]) == ("paimon", "2")
    assert f"{DATABASE}.made" in catalog.list_tables(DATABASE)
    columns: dict[str, PaimonType] = {**COLUMNS, "day": "DATE", "tags": array("STRING")}
    t.append(batch(columns, [(*r, DAY, ["x", None]) for r in rows(0, 10)]))
    table = PaimonTable(paimon, "made")
    table.write([(*r, DAY, None) for r in rows(5, 15)])
    assert ids(table) == list(range(15))
    assert catalog.load_table(f"{DATABASE}.made").scan().count() == 15
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_table(f"{DATABASE}.made", schema, format="paimon")
    catalog.drop_table(f"{DATABASE}.made")
    assert not catalog.table_exists(f"{DATABASE}.made")


def test_refusals(paimon: Paimon) -> None:
    append = paimon.create("append", COLUMNS).open()
    keyed = paimon.create("keyed", KEYED, ["id"], options={"bucket": 1}).open()
    with pytest.raises(fz.InvalidInputError, match="nope"):
        append.upsert(batch(COLUMNS, rows(0, 1)), on=["nope"])
    with pytest.raises(fz.InvalidInputError, match="primary key is id"):
        keyed.upsert(batch(KEYED, rows(0, 1)), on=["name"])
    with pytest.raises(fz.InvalidInputError, match="nope"):
        append.append(pa.table({"nope": [1]}))
    with pytest.raises(fz.InvalidInputError, match="id"):
        keyed.append(pa.table({"id": pa.array([None], pa.int32())}))
    with pytest.raises(fz.UnsupportedError, match="sort_by"):
        append.append(batch(COLUMNS, rows(0, 1)), sort_by=["id"])
