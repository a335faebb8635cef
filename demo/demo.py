"""The main job, end to end: PySpark writes and corrects events through Frazil, Frazil plans, PySpark and Arrow read.

`make demo` runs it; `python demo/demo.py --rows 5000000 --warehouse /somewhere` for more.
"""

import argparse
import logging
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

import frazil as fz

DAYS = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"]
FILTER = "ts >= '2026-01-03T00:00:00Z' and ts < '2026-01-05T00:00:00Z' and country in ('NO', 'SE') and status >= 500"
FAILED = "status = 500"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("ts", pa.timestamp("us", "UTC")),
        pa.field("user_id", pa.int64()),
        pa.field("country", pa.string()),
        pa.field("device", pa.string()),
        pa.field("status", pa.int32()),
        pa.field("amount", pa.decimal128(12, 2)),
    ]
)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Prints what is being done and how long it took."""
    print(f"\n== {title}", flush=True)
    started = time.perf_counter()
    yield
    print(f"   {time.perf_counter() - started:.2f} s", flush=True)


def start_spark() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("frazil-demo")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def chance(salt: int, outcomes: int) -> Column:
    """A number below `outcomes` for each row, made from its id alone: each run gives the same events."""
    return fn.pmod(fn.xxhash64("id", fn.lit(salt)), fn.lit(outcomes))


def one_of(salt: int, *values: str) -> Column:
    return fn.element_at(fn.array(*map(fn.lit, values)), (chance(salt, len(values)) + 1).cast("int"))


def events(spark: SparkSession, first: int, count: int, day: str) -> DataFrame:
    """One day's events."""
    midnight = fn.lit(f"{day} 00:00:00Z").cast("timestamp")
    return spark.range(first, first + count, numPartitions=2).select(
        "id",
        (midnight + fn.make_dt_interval(secs=chance(1, 86_400_000) / fn.lit(1000))).alias("ts"),
        chance(2, 50_000).alias("user_id"),
        one_of(3, "NO", "SE", "DE", "FR", "US", "GB", "JP", "BR").alias("country"),
        one_of(4, "web", "ios", "android").alias("device"),
        fn.when(chance(5, 20) == 0, 500).when(chance(5, 20) == 1, 404).otherwise(200).alias("status"),
        (chance(6, 1_000_000) / 100).cast("decimal(12,2)").alias("amount"),
    )


def maintain(spark: SparkSession, table: fz.Table, per_day: int) -> None:
    """Corrects rows, compacts what came of it, and looks back."""
    before, fixed = table.snapshot, per_day // 100
    assert before is not None
    with step(f"Upsert {fixed:,} corrected events: fz.spark.upsert(df, table, on=['id'])"):
        rows = events(spark, 0, fixed, DAYS[0]).withColumn("status", fn.lit(200))
        fz.spark.upsert(rows, table, on=["id"])
        now, then = table.refresh().scan(FAILED).count(), table.scan(FAILED, at=before.id).count()
        print(f"   {now:,} events failed, no more {then:,}")
    with step("Compact: table.maintain.compact(spark=spark), by Spark's executors"):
        done = table.maintain.compact(spark=spark)
        print(f"   {done.rewritten_files:,} files became {done.added_files:,}; the rows stay what they are")
    with step(f"Time travel: fz.spark.read(spark, table, at={before.id})"):
        rows = fz.spark.read(spark, table, filter=FAILED, select=["id"], at=before.id)
        print(f"   {rows.count():,} events failed then")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_200_000, help="events to write (default: 1.2 million)")
    arguments.add_argument("--warehouse", type=Path, default=Path(__file__).parent / "warehouse")
    options = arguments.parse_args()
    warehouse = options.warehouse.resolve()
    per_day = options.rows // len(DAYS)

    print(f"Frazil {fz.__version__}: an Iceberg table in {warehouse}, no jar, no service")
    with step("Spark starts (local[2])"):
        spark = start_spark()
        print(f"   PySpark {spark.version}")

    with step("Create the table db.events, partitioned by day(ts) and bucket(16, user_id)"):
        shutil.rmtree(warehouse, ignore_errors=True)
        catalog = fz.catalog("demo", type="filesystem", warehouse=str(warehouse))
        catalog.create_namespace("db")
        table = catalog.create_table("db.events", SCHEMA, partition_by=["day(ts)", "bucket(16, user_id)"])
        print(f"   {table.location}")

    with step(
        f"PySpark writes {per_day * len(DAYS):,} events, one commit a day: df.write.format('frazil').mode('append')…"
    ):
        for number, day in enumerate(DAYS):
            started = time.perf_counter()
            frame = events(spark, number * per_day, per_day, day)
            frame.write.format("frazil").mode("append").save(table.location)
            print(f"   {day}: {per_day:,} rows in {time.perf_counter() - started:.1f} s", flush=True)

    table = catalog.load_table("db.events")
    maintain(spark, table, per_day)
    scan = table.scan(FILTER)
    with step(f"What a filtered scan reads\n   where {FILTER}"):
        print("\n".join("   " + line for line in str(scan.explain()).splitlines()))

    with step("PySpark aggregates the scan: scan.to_spark(spark).groupBy('country', 'device')…"):
        grouped = scan.to_spark(spark).groupBy("country", "device")
        rows = grouped.agg(fn.count("*").alias("events"), fn.sum("amount").alias("amount")).collect()
        by_spark = {(row.country, row.device): (row.events, row.amount) for row in rows}

    with step("Arrow aggregates the same scan: scan.to_arrow().group_by(…)"):
        arrow = scan.to_arrow().group_by(["country", "device"]).aggregate([([], "count_all"), ("amount", "sum")])
        by_arrow = {(row["country"], row["device"]): (row["count_all"], row["amount_sum"]) for row in arrow.to_pylist()}

    titles = ("country", "device", "events (PySpark)", "(Arrow)", "amount (PySpark)", "(Arrow)")
    print("\n   {:8} {:8} {:>17} {:>9} {:>18} {:>15}".format(*titles))
    for key in sorted(by_spark.keys() | by_arrow.keys()):
        (n, amount), (m, other) = by_spark.get(key, (0, 0)), by_arrow.get(key, (0, 0))
        print(f"   {key[0]:8} {key[1]:8} {n:17,} {m:9,} {amount:18,} {other:15,}")
    total = catalog.load_table("db.events").scan().count()
    spark.stop()
    if by_spark != by_arrow or not by_spark or total != per_day * len(DAYS):
        sys.exit("\nThe numbers differ: this is a bug in Frazil")
    print(f"\nSame numbers both ways; the table holds {total:,} rows in {len(table.snapshots)} snapshots.")


if __name__ == "__main__":
    main()
