"""PySpark reads and writes through Frazil alone, no jar: also run under other PySpark versions (`make
test-spark-versions`), so nothing here needs Java Iceberg."""

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from java_side import assert_same_rows, exact
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as fn

import frazil as fz

UTC = datetime.UTC
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("ts", pa.timestamp("us", "UTC")),
        pa.field("local", pa.timestamp("us")),
        pa.field("day", pa.date32()),
        pa.field("country", pa.string()),
        pa.field("amount", pa.decimal128(12, 2)),
        pa.field("score", pa.float64()),
        pa.field("ok", pa.bool_()),
        pa.field("raw", pa.binary()),
        pa.field("st", pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])),
        pa.field("m", pa.map_(pa.string(), pa.int32())),
    ]
)
COUNTRIES = ["NO", "SE", None, "DE"]


def rows(first: int, count: int) -> pa.Table:
    start = datetime.datetime(2026, 1, 1, tzinfo=UTC)
    return pa.Table.from_pylist(
        [
            {
                "id": n,
                "ts": start + datetime.timedelta(hours=n),
                "local": None if n % 5 == 0 else datetime.datetime(1969, 12, 31, 23, 59, 59, n % 1000),
                "day": datetime.date(2026, 1, 1) + datetime.timedelta(days=n // 24),
                "country": COUNTRIES[n % 4],
                "amount": decimal.Decimal(n * 7 - 500).scaleb(-2),
                "score": [float("nan"), -0.0, float("inf"), None][n % 4],
                "ok": [True, False, None][n % 3],
                "raw": bytes([n % 256, 0, 255]),
                "st": None if n % 6 == 0 else {"x": n, "tags": ["a", None] if n % 2 else []},
                "m": [("k", n)] if n % 3 else [],
            }
            for n in range(first, first + count)
        ],
        schema=SCHEMA,
    )


def frame_of(spark: SparkSession, data: pa.Table) -> DataFrame:
    """The rows with Spark's own types: left alone it makes a timestamp without zone one with."""
    return spark.createDataFrame(data).withColumn("local", fn.col("local").cast("timestamp_ntz"))


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    catalog = fz.catalog("local", type="filesystem", warehouse=str(tmp_path / "lake"))
    catalog.create_namespace("db")
    return catalog


@pytest.fixture
def table(catalog: Any) -> Any:
    """100 rows in two commits, partitioned by day and bucket."""
    table = catalog.create_table("db.events", SCHEMA, partition_by=["day(ts)", "bucket(4, id)"])
    table.append(rows(0, 60))
    table.append(rows(60, 40))
    return catalog.load_table("db.events")


FILTERS = [
    "id >= 90",
    "country = 'NO'",
    "country is null and ok = true",
    "ts >= '2026-01-02T00:00:00Z' and ts < '2026-01-03T12:00:00Z'",
    "score = 'NaN' or amount < -4.00",
    "st.x in (7, 13)",
    "id < 0",
]


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize("filter", [None, *FILTERS])
def test_three_ways_in_give_the_same_rows(spark: SparkSession, table: Any, filter: str | None) -> None:
    expected = exact(table.scan(filter).to_arrow())
    assert_same_rows(exact(fz.spark.read(spark, table, filter=filter).toArrow()), expected, "fz.spark.read")
    assert_same_rows(exact(table.scan(filter).to_spark(spark).toArrow()), expected, "scan.to_spark")
    loaded = spark.read.format("frazil").load(table.location)
    if filter is not None:
        loaded = loaded.where(filter)
    assert_same_rows(exact(loaded.toArrow()), expected, "spark.read.format")
    if filter is None:
        assert_same_rows(exact(rows(0, 100)), expected, "what was written")


def test_schema_as_spark_sees_it(spark: SparkSession, table: Any) -> None:
    expected = (
        "id:bigint,ts:timestamp,local:timestamp_ntz,day:date,country:string,amount:decimal(12,2),score:double,"
        "ok:boolean,raw:binary,st:struct<x:int,tags:array<string>>,m:map<string,int>"
    )
    for frame in (fz.spark.read(spark, table), spark.read.format("frazil").load(table.location)):
        assert ",".join(f"{field.name}:{field.dataType.simpleString()}" for field in frame.schema) == expected


def test_select_and_version(spark: SparkSession, table: Any) -> None:
    frame = fz.spark.read(spark, table, select=["country", "id"], filter="ok = true")
    assert frame.columns == ["country", "id"]
    expected = exact(table.scan("ok = true", select=["country", "id"]).to_arrow())
    assert_same_rows(exact(frame.toArrow()), expected)
    first = table.snapshots[0].id
    assert fz.spark.read(spark, table, at=first).count() == 60
    assert fz.spark.read(spark, table.location, at="main").count() == 100


def test_a_frame_is_a_frame(spark: SparkSession, table: Any) -> None:
    """Joins, aggregates and SQL work on what Frazil reads, and a frame can be used more than once."""
    frame = table.scan("country is not null").to_spark(spark)
    per_country = {
        row.country: (row.n, row.total)
        for row in frame.groupBy("country").agg(fn.count("*").alias("n"), fn.sum("amount").alias("total")).collect()
    }
    data = rows(0, 100).to_pylist()
    assert per_country == {
        country: (25, sum(row["amount"] for row in data if row["country"] == country)) for country in ("NO", "SE", "DE")
    }
    joined = frame.alias("a").join(frame.alias("b"), fn.expr("a.id = b.id - 4"))
    assert joined.count() == 72
    frame.createOrReplaceTempView("events")
    assert spark.sql("select count(distinct day) from events where st.x > 50").collect() == [
        Row(**{"count(DISTINCT day)": 3})
    ]


def test_empty_results(spark: SparkSession, catalog: Any) -> None:
    empty = catalog.create_table("db.empty", SCHEMA)
    assert fz.spark.read(spark, empty).count() == 0
    assert spark.read.format("frazil").load(empty.location).collect() == []
    assert fz.spark.read(spark, empty).columns == SCHEMA.names


def test_limit(spark: SparkSession, table: Any) -> None:
    assert table.scan().limit(7).to_spark(spark).count() == 7


# ---------------------------------------------------------------- writing


def test_write_appends_in_one_commit(spark: SparkSession, table: Any, catalog: Any) -> None:
    frame = frame_of(spark, rows(1000, 200)).repartition(3)
    frame.write.format("frazil").mode("append").save(table.location)
    after = catalog.load_table("db.events")
    assert len(after.snapshots) == 3
    assert after.snapshot.operation == "append"
    assert after.snapshot.summary["added-records"] == "200"
    assert_same_rows(exact(after.scan("id >= 1000").to_arrow()), exact(rows(1000, 200)))
    assert after.scan().count() == 300
    planned = {task.data_file.partition["ts_day"] for task in after.scan("id >= 1000").plan_files()}
    assert planned == {row["ts"].date() for row in rows(1000, 200).to_pylist()}


def test_columns_are_matched_by_name(spark: SparkSession, catalog: Any) -> None:
    target = catalog.create_table("db.names", pa.schema([("a", pa.int64()), ("b", pa.string())]))
    spark.sql("select 'x' as b, 1L as a").write.format("frazil").mode("append").save(target.location)
    assert catalog.load_table("db.names").scan().to_arrow().to_pylist() == [{"a": 1, "b": "x"}]


def test_a_failed_job_commits_nothing(spark: SparkSession, table: Any, catalog: Any) -> None:
    frame = spark.range(100).select(
        (fn.col("id") + 5000).alias("id"),
        fn.expr("if(id = 77, raise_error('on purpose'), 'NO')").cast("string").alias("country"),
    )
    names = [name for name in SCHEMA.names if name not in ("id", "country")]
    empty = frame_of(spark, rows(0, 1)).limit(0)
    frame = frame.unionByName(empty, allowMissingColumns=True).select("id", "country", *names).select(*SCHEMA.names)
    with pytest.raises(Exception, match="on purpose"):
        frame.write.format("frazil").mode("append").save(table.location)
    after = catalog.load_table("db.events")
    assert len(after.snapshots) == 2
    assert after.scan().count() == 100


def test_an_empty_frame_is_no_error(spark: SparkSession, table: Any, catalog: Any) -> None:
    frame_of(spark, rows(0, 1)).limit(0).write.format("frazil").mode("append").save(table.location)
    assert catalog.load_table("db.events").scan().count() == 100


def test_the_wrong_schema_is_refused(spark: SparkSession, table: Any, catalog: Any) -> None:
    with pytest.raises(Exception, match="nonsense"):
        spark.sql("select 1L as id, 'x' as nonsense").write.format("frazil").mode("append").save(table.location)
    assert len(catalog.load_table("db.events").snapshots) == 2


def test_sql_views(spark: SparkSession, table: Any, catalog: Any) -> None:
    spark.sql(f"create or replace temp view ours using frazil options (path '{table.location}')")
    assert spark.sql("select count(*) as n from ours where country = 'SE'").collect() == [Row(n=25)]
    frame_of(spark, rows(500, 10)).createOrReplaceTempView("fresh")
    spark.sql("insert into ours select * from fresh")
    assert catalog.load_table("db.events").scan().count() == 110


def test_unknown_location_says_so(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="nothing-here"):
        spark.read.format("frazil").load(str(tmp_path / "nothing-here")).collect()
