"""Frazil writes, Java Iceberg reads: rows, partitions, metrics, metadata tables, maintenance; and both in turn."""

import datetime
import decimal
import multiprocessing
import random
from typing import Any

import pyarrow as pa
import pytest
from java_side import NAMESPACE, Java, assert_same_rows, exact

import frazil as fz

UTC = datetime.UTC
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("b", pa.bool_()),
        pa.field("l", pa.int64()),
        pa.field("f", pa.float32()),
        pa.field("d", pa.float64()),
        pa.field("d9", pa.decimal128(9, 2)),
        pa.field("d18", pa.decimal128(18, 4)),
        pa.field("d38", pa.decimal128(38, 10)),
        pa.field("dt", pa.date32()),
        pa.field("ts", pa.timestamp("us")),
        pa.field("tz", pa.timestamp("us", "UTC")),
        pa.field("s", pa.string()),
        pa.field("bin", pa.binary()),
        pa.field("st", pa.struct([("x", pa.int32()), ("y", pa.string()), ("deep", pa.struct([("z", pa.float64())]))])),
        pa.field("li", pa.list_(pa.int32())),
        pa.field("ls", pa.list_(pa.struct([("k", pa.string()), ("v", pa.int64())]))),
        pa.field("m", pa.map_(pa.string(), pa.int32())),
        pa.field("mm", pa.map_(pa.int32(), pa.list_(pa.string()))),
    ]
)
ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "b": True,
        "l": 34,
        "f": 1.5,
        "d": 2.5,
        "d9": decimal.Decimal("14.20"),
        "d18": decimal.Decimal("14.2000"),
        "d38": decimal.Decimal("1234567890123456789012345678.0123456789"),
        "dt": datetime.date(2017, 11, 16),
        "ts": datetime.datetime(2017, 11, 16, 22, 31, 8),
        "tz": datetime.datetime(2017, 11, 16, 22, 31, 8, 1, UTC),
        "s": "iceberg",
        "bin": b"\x00\x01\x02\x03",
        "st": {"x": 1, "y": "a", "deep": {"z": 1.5}},
        "li": [1, 2, 3],
        "ls": [{"k": "a", "v": 1}, None],
        "m": [("a", 1), ("b", None)],
        "mm": [(1, ["p", None]), (2, [])],
    },
    {
        "id": 2,
        "b": False,
        "l": -(2**63),
        "f": float("nan"),
        "d": float("nan"),
        "d9": decimal.Decimal("-0.01"),
        "d18": decimal.Decimal("-99999999999999.9999"),
        "d38": decimal.Decimal("-0.0000000001"),
        "dt": datetime.date(1, 1, 1),
        "ts": datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
        "tz": datetime.datetime(1960, 6, 15, 12, 30, tzinfo=UTC),
        "s": "",
        "bin": b"",
        "st": {"x": None, "y": "", "deep": None},
        "li": [],
        "ls": [],
        "m": [],
        "mm": [],
    },
    {
        "id": 3,
        "b": None,
        "l": 2**63 - 1,
        "f": float("-inf"),
        "d": float("inf"),
        "d9": decimal.Decimal("9999999.99"),
        "d18": decimal.Decimal("0.0000"),
        "d38": decimal.Decimal("0E-10"),
        "dt": datetime.date(9999, 12, 31),
        "ts": datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
        "tz": datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
        "s": "été 水 \U0001f9ca",
        "bin": b"\xff",
        "st": None,
        "li": [None],
        "ls": None,
        "m": [("", 0)],
        "mm": [(-1, None)],
    },
    {"id": 4},
    {
        "id": 5,
        "b": True,
        "l": 0,
        "f": -0.0,
        "d": -0.0,
        "s": "a/b c=d%",
        "bin": b"\x7f\x80",
        "li": [-(2**31), 2**31 - 1],
    },
]


@pytest.fixture(scope="session")
def catalog(java: Java) -> Any:
    """Frazil's catalog over the warehouse that Java's catalog `ice` sees."""
    return fz.catalog("c", type="filesystem", warehouse=str(java.warehouse))


def table_of(rows: list[dict[str, Any]], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=schema)


def load(catalog: Any, name: str) -> Any:
    return catalog.load_table(f"{NAMESPACE}.{name}")


def rows_by_frazil(catalog: Any, name: str) -> list[str]:
    return exact(load(catalog, name).scan().to_arrow())


# ---------------------------------------------------------------- rows and metadata


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_type(java: Java, catalog: Any, version: int) -> None:
    name = java.fresh("written_types")
    created = catalog.create_table(f"{NAMESPACE}.{name}", SCHEMA, properties={"format-version": str(version)})
    assert created.format_version == version
    assert_same_rows([], java.read(name), "before the first append")
    created.append(table_of(ROWS))
    expected = exact(table_of(ROWS))
    assert_same_rows(expected, java.read(name), "Java's rows")
    assert_same_rows(rows_by_frazil(catalog, name), expected, "Frazil's own rows")

    [snapshot] = java.metadata(name, "snapshots")
    assert snapshot.operation == "append"
    assert snapshot.parent_id is None
    assert snapshot.summary["added-records"] == "5"
    assert snapshot.summary["total-records"] == "5"
    assert snapshot.summary["added-data-files"] == snapshot.summary["total-data-files"] == "1"
    assert load(catalog, name).snapshot.id == snapshot.snapshot_id
    [manifest] = java.metadata(name, "manifests")
    assert (manifest.content, manifest.added_data_files_count, manifest.existing_data_files_count) == (0, 1, 0)
    assert manifest.added_snapshot_id == snapshot.snapshot_id


def test_metrics_of_files(java: Java, catalog: Any) -> None:
    name = java.fresh("written_metrics")
    catalog.create_table(f"{NAMESPACE}.{name}", SCHEMA).append(table_of(ROWS))
    [file] = java.metadata(name, "files")
    assert file.content == 0
    assert file.file_format == "PARQUET"
    assert file.record_count == 5
    assert file.file_size_in_bytes > 0
    metrics = file.readable_metrics.asDict(recursive=True)
    expected: dict[str, tuple[Any, ...]] = {  # null count, NaN count, lower, upper
        "id": (0, None, 1, 5),
        "b": (2, None, False, True),
        "l": (1, None, -(2**63), 2**63 - 1),
        "f": (1, 1, float("-inf"), 1.5),
        "d": (1, 1, -0.0, float("inf")),
        "d9": (2, None, decimal.Decimal("-0.01"), decimal.Decimal("9999999.99")),
        "d18": (2, None, decimal.Decimal("-99999999999999.9999"), decimal.Decimal("14.2000")),
        "dt": (2, None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),
        "ts": (
            2,
            None,
            datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
            datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
        ),
        "s": (1, None, "", "été 水 \U0001f9ca"),
        "bin": (1, None, b"", b"\xff"),
    }
    for column, (nulls, nans, lower, upper) in expected.items():
        found = metrics[column]
        assert found["value_count"] == 5, column
        assert found["null_value_count"] == nulls, column
        assert found["nan_value_count"] == nans, column
        assert (found["lower_bound"], found["upper_bound"]) == (lower, upper), column
        assert found["column_size"] > 0, column
    assert metrics["st.x"]["lower_bound"] == metrics["st.x"]["upper_bound"] == 1
    assert metrics["st.x"]["null_value_count"] == 4


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_bounds_of_zeros_hold_both(java: Java, catalog: Any, zero: float) -> None:
    """-0.0 sorts below 0.0 in bounds but equals it in filters: the bounds must let both in."""
    name = java.fresh("written_zeros")
    schema = pa.schema([("f", pa.float32()), ("d", pa.float64())])
    catalog.create_table(f"{NAMESPACE}.{name}", schema).append(table_of([{"f": zero, "d": zero}], schema))
    [file] = java.metadata(name, "files")
    for column in ("f", "d"):
        metrics = file.readable_metrics[column]
        assert [repr(metrics.lower_bound), repr(metrics.upper_bound)] == ["-0.0", "0.0"]


def test_bounds_of_long_texts_lose_no_row(java: Java, catalog: Any) -> None:
    """Bounds are cut to 16 characters; Java prunes by them, so each value must still be found by equality."""
    texts = [
        "x" * 15,
        "x" * 16,
        "x" * 17,
        "x" * 40,
        "\U0010ffff" * 20,
        "a" * 15 + "\U0010ffff" * 3,
        "\ud7ff" * 17,
        "\x7f" * 20,
        "é" * 16 + "b",
        "",
        "\U0001f9ca" * 17,
        "z" * 15 + "\ud7ffz",
    ]
    name = java.fresh("written_bounds")
    schema = pa.schema([("id", pa.int32()), ("s", pa.string()), ("bin", pa.binary())])
    created = catalog.create_table(f"{NAMESPACE}.{name}", schema)
    blobs = [b"\xff" * 20, b"\xff" * 16, b"\xfe" + b"\xff" * 30, b"a" * 17, b""]
    for number, text in enumerate(texts):  # a file each, so that the bounds are this value's
        created.append(table_of([{"id": number, "s": text, "bin": blobs[number % len(blobs)]}], schema))
    for number, text in enumerate(texts):
        literal = text.replace("\\", "\\\\")
        found = [row.id for row in java.sql(f"select id from ice.{NAMESPACE}.{name} where s = '{literal}'")]
        assert found == [number], text
    for blob in blobs:
        count = java.sql(f"select count(*) from ice.{NAMESPACE}.{name} where bin = x'{blob.hex()}'")[0][0]
        assert count == sum(blobs[number % len(blobs)] == blob for number in range(len(texts)))


def test_java_filters_by_our_metrics(java: Java, catalog: Any) -> None:
    """Rows spread over many files by chance: each comparison must find what a scan without pruning finds."""
    name = java.fresh("written_filters")
    schema = pa.schema(
        [("id", pa.int32()), ("i", pa.int64()), ("x", pa.float64()), ("d", pa.decimal128(12, 3)), ("dt", pa.date32())]
    )
    created = catalog.create_table(f"{NAMESPACE}.{name}", schema)
    chance = random.Random(7)
    # Java loses -0.0 where it looks for 0.0 in a file's dictionary, and NaN where `>` meets a file of nothing else,
    # so there is no -0.0 here, and no `>` below.
    zoo = [0.0, float("nan"), float("inf"), float("-inf"), 1.5, -1.5, None]
    everything = []
    for file in range(8):
        rows = [
            {
                "id": file * 10 + number,
                "i": chance.choice([None, chance.randint(-5, 5), chance.randint(-(2**60), 2**60)]),
                "x": chance.choice(zoo),
                "d": chance.choice([None, decimal.Decimal(chance.randint(-3000, 3000)).scaleb(-3)]),
                "dt": chance.choice(
                    [None, datetime.date(1970, 1, 1) + datetime.timedelta(days=chance.randint(-400, 400))]
                ),
            }
            for number in range(chance.choice([1, 3]))
        ]
        everything += rows
        created.append(table_of(rows, schema))
    java.spark.createDataFrame(table_of(everything, schema)).createOrReplaceTempView("plain")
    filters = [f"x {op} {value}" for op in ("=", "<", "<=", "!=") for value in ("0.0d", "double('NaN')", "1.5d")]
    filters += [
        "i > 3",
        "i <= -2",
        "i is null",
        "i is not null",
        "d < 0",
        "d between -1.5 and 1.5",
        "dt < date'1970-01-01'",
    ]
    for where in filters:
        theirs = exact(java.spark.sql(f"select * from plain where {where}").toArrow())
        assert_same_rows(theirs, java.read(name, where), where)


def test_nullability_and_docs_arrive(java: Java, catalog: Any) -> None:
    name = java.fresh("written_schema")
    catalog.create_table(f"{NAMESPACE}.{name}", SCHEMA, properties={"team": "tests"})
    columns = {row.col_name: row.data_type for row in java.sql(f"describe ice.{NAMESPACE}.{name}")}
    assert columns["d9"] == "decimal(9,2)"
    assert columns["ts"] == "timestamp_ntz"
    assert columns["tz"] == "timestamp"
    assert columns["st"] == "struct<x:int,y:string,deep:struct<z:double>>"
    assert columns["mm"] == "map<int,array<string>>"
    assert java.spark.table(f"ice.{NAMESPACE}.{name}").schema["id"].nullable is False
    properties = {row.key: row.value for row in java.sql(f"show tblproperties ice.{NAMESPACE}.{name}")}
    assert properties["team"] == "tests"
    assert properties["format-version"] == "2"


# ---------------------------------------------------------------- partitions

PARTITIONS: list[tuple[str, str]] = [  # Frazil's text, what Java's own function says for a row
    ("id", "id"),
    ("s", "s"),
    ("dt", "dt"),
    ("d9", "d9"),
    ("bucket(4, id)", "ice.system.bucket(4, id)"),
    ("bucket(16, l)", "ice.system.bucket(16, l)"),
    ("bucket(4, s)", "ice.system.bucket(4, s)"),
    ("bucket(4, d9)", "ice.system.bucket(4, d9)"),
    ("bucket(4, d38)", "ice.system.bucket(4, d38)"),
    ("bucket(4, dt)", "ice.system.bucket(4, dt)"),
    ("bucket(4, tz)", "ice.system.bucket(4, tz)"),
    ("bucket(4, bin)", "ice.system.bucket(4, bin)"),
    ("truncate(10, id)", "ice.system.truncate(10, id)"),
    ("truncate(10, l)", "ice.system.truncate(10, l)"),
    ("truncate(2, s)", "ice.system.truncate(2, s)"),
    ("truncate(50, d9)", "ice.system.truncate(50, d9)"),
    ("truncate(1, bin)", "ice.system.truncate(1, bin)"),
    ("year(dt)", "ice.system.years(dt)"),
    ("month(dt)", "ice.system.months(dt)"),
    ("day(tz)", "ice.system.days(tz)"),
    ("hour(tz)", "ice.system.hours(tz)"),
    ("year(tz)", "ice.system.years(tz)"),
]
PARTITION_SCHEMA = pa.schema([SCHEMA.field(name) for name in ("id", "l", "d9", "d38", "dt", "tz", "s", "bin")])


def partition_rows() -> list[dict[str, Any]]:
    chance = random.Random(11)
    rows = [{name: row.get(name) for name in PARTITION_SCHEMA.names} for row in ROWS]
    # Java's truncate overflows at the ends of a type, where no answer is right
    rows = [row for row in rows if row["l"] is None or abs(row["l"]) < 2**62]
    for number in range(10, 60):
        day = datetime.date(1970, 1, 1) + datetime.timedelta(days=chance.randint(-800, 800))
        moment = datetime.datetime(day.year, day.month, day.day, tzinfo=UTC)
        rows.append(
            {
                "id": chance.choice([number, -number]),
                "l": chance.randint(-100, 100),
                "d9": decimal.Decimal(chance.randint(-20000, 20000)).scaleb(-2),
                "d38": decimal.Decimal(chance.randint(-(10**20), 10**20)).scaleb(-10),
                "dt": day,
                "tz": moment + datetime.timedelta(microseconds=chance.randint(0, 86_399_999_999)),
                "s": chance.choice(["", "a", "été", "水水水", "a b", "%2F/x", "\U0001f9ca\U0001f9ca\U0001f9ca"]),
                "bin": chance.randbytes(chance.randint(0, 3)),
            }
        )
    return rows


@pytest.mark.parametrize(("transform", "function"), PARTITIONS, ids=[transform for transform, _ in PARTITIONS])
def test_partition_values_are_javas(java: Java, catalog: Any, transform: str, function: str) -> None:
    name = java.fresh("written_part")
    created = catalog.create_table(f"{NAMESPACE}.{name}", PARTITION_SCHEMA, partition_by=[transform])
    rows = partition_rows()
    created.append(table_of(rows, PARTITION_SCHEMA))
    assert_same_rows(exact(table_of(rows, PARTITION_SCHEMA)), java.read(name), transform)
    pairs = java.sql(f"select _partition, {function} as wanted from ice.{NAMESPACE}.{name}")
    for pair in pairs:
        [value] = pair["_partition"]
        assert value == pair.wanted, transform
    # each file holds one partition, and each partition one file
    files = java.metadata(name, "files")
    wanted = {str(pair.wanted) for pair in pairs}
    assert len(files) == len(wanted)
    assert sum(file.record_count for file in files) == len(rows)
    # Java prunes by our partitions and summaries and still finds each row
    for row in rows[::9]:
        assert java.sql(f"select count(*) from ice.{NAMESPACE}.{name} where id = {row['id']}")[0][0] >= 1


def test_several_partition_fields(java: Java, catalog: Any) -> None:
    name = java.fresh("written_parts")
    created = catalog.create_table(
        f"{NAMESPACE}.{name}",
        PARTITION_SCHEMA,
        partition_by=["day(tz)", "bucket(4, id)", "truncate(1, s)"],
        sort_by=["tz desc nulls last", "id"],
    )
    rows = partition_rows()
    created.append(table_of(rows, PARTITION_SCHEMA))
    described = {row.col_name: row.data_type for row in java.sql(f"describe ice.{NAMESPACE}.{name}")}
    assert [described[f"Part {number}"] for number in range(3)] == ["days(tz)", "bucket(4, id)", "truncate(1, s)"]
    properties = {row.key: row.value for row in java.sql(f"show tblproperties ice.{NAMESPACE}.{name}")}
    assert properties["sort-order"].lower() == "tz desc nulls last, id asc nulls first"
    for where in (
        "tz < timestamp'1970-01-01 00:00:00Z'",
        "s = 'a'",
        "s is null",
        "s >= '水'",
        f"id = {rows[-1]['id']}",
    ):
        java.spark.createDataFrame(table_of(rows, PARTITION_SCHEMA)).createOrReplaceTempView("plain")
        theirs = exact(java.spark.sql(f"select * from plain where {where}").toArrow())
        assert_same_rows(theirs, java.read(name, where), where)
    summaries = [row.partition_summaries for row in java.metadata(name, "manifests")]
    assert all(len(fields) == 3 for fields in summaries)


# ---------------------------------------------------------------- both in turn


@pytest.mark.parametrize("version", [1, 2, 3])
def test_appends_in_turn(java: Java, catalog: Any, version: int) -> None:
    name = java.fresh("turns")
    schema = pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("s", pa.string())])
    catalog.create_table(
        f"{NAMESPACE}.{name}",
        schema,
        partition_by=["day(ts)", "bucket(4, id)"],
        properties={"format-version": str(version)},
    )
    for turn in range(3):
        moment = datetime.datetime(2026, 1, 1 + turn, tzinfo=UTC)
        load(catalog, name).append(
            table_of([{"id": 10 * turn + n, "ts": moment, "s": f"f{n}"} for n in range(5)], schema)
        )
        java.insert(
            name, f"({10 * turn + 7}, timestamp'2026-01-0{turn + 1} 12:00:00Z', 'java'), ({10 * turn + 8}, null, null)"
        )
        assert_same_rows(rows_by_frazil(catalog, name), java.read(name), f"turn {turn}")
    assert len(java.read(name)) == 21
    ids = java.snapshot_ids(name)
    assert [snapshot.id for snapshot in load(catalog, name).snapshots] == ids
    parents = {row.snapshot_id: row.parent_id for row in java.metadata(name, "snapshots")}
    assert [parents[snapshot] for snapshot in ids] == [None, *ids[:-1]]
    if version == 3:  # row ids are given out without gaps or repeats across both writers
        row_ids = [row[0] for row in java.sql(f"select _row_id from ice.{NAMESPACE}.{name}")]
        assert sorted(row_ids) == list(range(21))


def test_append_to_an_evolved_java_table(java: Java, catalog: Any) -> None:
    name = java.create("adopted", "id int, a string, ts timestamp", "a")
    java.insert(name, "(1, 'x', timestamp'2026-01-01 00:00:00Z')")
    java.alter(name, "rename column a to b")
    java.alter(name, "alter column id type bigint")
    java.alter(name, "add column n decimal(9,2) first")
    java.alter(name, "drop partition field b")
    java.alter(name, "add partition field days(ts)")
    schema = pa.schema(
        [("n", pa.decimal128(9, 2)), ("id", pa.int64()), ("b", pa.string()), ("ts", pa.timestamp("us", "UTC"))]
    )
    rows = [
        {"n": decimal.Decimal("1.50"), "id": 3_000_000_000, "b": "y", "ts": datetime.datetime(2026, 1, 2, tzinfo=UTC)}
    ]
    load(catalog, name).append(table_of(rows, schema))
    java.insert(name, "(2.25, 5, null, null)")
    assert_same_rows(rows_by_frazil(catalog, name), java.read(name))
    specs = sorted(row.spec_id for row in java.metadata(name, "files"))
    assert len(specs) == 3
    assert specs[0] == 0
    assert specs[1] == specs[2] == load(catalog, name).partition_spec.id
    assert_same_rows(exact(load(catalog, name).scan("b = 'y'").to_arrow()), java.read(name, "b = 'y'"))


def test_a_replaced_table_in_turn(java: Java, catalog: Any) -> None:
    name = java.create("replaced", "id bigint, old string")
    java.insert(name, "(1, 'a'), (2, 'b')")
    java.alter(name, "create tag kept")
    schema = pa.schema([("name", pa.string()), ("id", pa.int64())])
    catalog.replace_table(f"{NAMESPACE}.{name}", schema, partition_by=["bucket(4, id)"], sort_by=["name"])
    assert java.read(name) == []
    assert [row.col_name for row in java.sql(f"describe ice.{NAMESPACE}.{name}")][:2] == ["name", "id"]
    before = java.read(name, version="version as of 'kept'")
    assert_same_rows(exact(pa.table({"id": [1, 2], "old": ["a", "b"]})), before)

    catalog.load_table(f"{NAMESPACE}.{name}").append(pa.table({"name": ["x", "y"], "id": [3, 4]}, schema))
    java.insert(name, "('z', 5)")
    with catalog.replace_table_transaction(f"{NAMESPACE}.{name}", schema) as tx:
        tx.append(pa.table({"name": ["n"], "id": [6]}, schema))
    java.insert(name, "('m', 7)")
    assert_same_rows(java.read(name), exact(pa.table({"name": ["n", "m"], "id": [6, 7]}, schema)))
    assert_same_rows(exact(fz.open_table(java.root(name)).scan().to_arrow()), java.read(name))
    assert len(java.snapshot_ids(name)) == 5
    java.sql(
        f"call ice.system.expire_snapshots(table => '{NAMESPACE}.{name}', "
        "older_than => timestamp '2100-01-01 00:00:00', retain_last => 1)"
    )
    # The snapshots of the newest line and of the tag stay.
    assert java.read(name, columns="id", where="id = 6") == exact(pa.table({"id": [6]}))
    assert_same_rows(java.read(name, version="version as of 'kept'"), before)


def test_java_maintains_what_frazil_wrote(java: Java, catalog: Any) -> None:
    name = java.fresh("maintained")
    schema = pa.schema([("id", pa.int64()), ("s", pa.string())])
    created = catalog.create_table(f"{NAMESPACE}.{name}", schema, partition_by=["truncate(1, s)"])
    for turn in range(4):
        created.append(table_of([{"id": 10 * turn + n, "s": "ab"[n % 2] * 3} for n in range(6)], schema))
    expected = java.read(name)
    java.sql(f"call ice.system.rewrite_manifests('{NAMESPACE}.{name}')")
    java.sql(
        f"call ice.system.rewrite_data_files(table => '{NAMESPACE}.{name}', options => map('rewrite-all', 'true'))"
    )
    java.sql(
        f"call ice.system.expire_snapshots(table => '{NAMESPACE}.{name}', "
        "older_than => timestamp'2999-01-01', retain_last => 1)"
    )
    assert len(java.snapshot_ids(name)) == 1
    assert_same_rows(rows_by_frazil(catalog, name), expected)
    load(catalog, name).append(table_of([{"id": 99, "s": "c"}], schema))
    assert_same_rows(rows_by_frazil(catalog, name), java.read(name))
    assert len(java.read(name)) == len(expected) + 1


def test_catalogs_see_each_other(java: Java, catalog: Any) -> None:
    catalog.create_namespace("made_by_frazil")
    catalog.create_table("made_by_frazil.t", pa.schema([("id", pa.int64())]))
    assert [row.tableName for row in java.sql("show tables in ice.made_by_frazil")] == ["t"]
    java.sql("create namespace ice.made_by_java")
    java.sql("create table ice.made_by_java.t (id bigint) using iceberg")
    assert "made_by_java" in {str(name) for name in catalog.list_namespaces()}
    assert [str(name) for name in catalog.list_tables("made_by_java")] == ["made_by_java.t"]
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_table("made_by_java.t", pa.schema([("id", pa.int64())]))


# ---------------------------------------------------------------- two writers at once

APPENDS = 10


def race(warehouse: str, name: str, writer: int, start: Any) -> None:
    """What each of the racing processes does: ten appends of ten rows as fast as it can."""
    catalog = fz.catalog("c", type="filesystem", warehouse=warehouse)
    table = catalog.load_table(f"{NAMESPACE}.{name}")
    start.wait()
    for turn in range(APPENDS):
        first = writer * 1000 + turn * 10
        table.append(pa.table({"id": pa.array(range(first, first + 10), pa.int64())}))


def test_racing_writers_lose_nothing(java: Java, catalog: Any) -> None:
    name = java.fresh("race")
    catalog.create_table(f"{NAMESPACE}.{name}", pa.schema([("id", pa.int64())]))
    spawn = multiprocessing.get_context("spawn")
    start = spawn.Barrier(2)
    writers = [spawn.Process(target=race, args=(str(java.warehouse), name, writer, start)) for writer in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(300)
    assert [writer.exitcode for writer in writers] == [0, 0]

    expected = sorted(writer * 1000 + n for writer in range(2) for n in range(10 * APPENDS))
    table = load(catalog, name)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == expected
    assert sorted(row.id for row in java.sql(f"select id from ice.{NAMESPACE}.{name}")) == expected
    assert len(table.snapshots) == 2 * APPENDS
    assert sorted(snapshot.sequence_number for snapshot in table.snapshots) == list(range(1, 2 * APPENDS + 1))
