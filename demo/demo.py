"""The main job, end to end: PySpark writes and corrects events through Frazil, Frazil plans, PySpark and Arrow read.

`make demo` runs it; `python demo/demo.py --rows 5000000 --warehouse /somewhere` for more. It explains each step.
It ends with the command line's view of the table, and writes two pages into the warehouse: `table.html` about the
table, and `report.html` with what was printed.
"""

import argparse
import html
import logging
import os
import shutil
import subprocess
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


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { color: #1976a8 }
h2 { font-size: 1.1rem; margin: 2rem 0 0 }
pre { background: #f2f5f7; padding: .8rem; overflow-x: auto }
table { border-collapse: collapse } td, th { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #d5dce1 }
.time { color: #5b6874; font-weight: 400 }
"""


class Report:
    """Prints what is done, why, and how long it took, and collects the same for a page."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    @contextmanager
    def step(self, title: str, why: str) -> Iterator[None]:
        print(f"\n== {title}\n   {why}", flush=True)
        place, started = len(self._parts), time.perf_counter()
        yield
        took = time.perf_counter() - started
        print(f"   {took:.2f} s", flush=True)
        head = f'<h2>{html.escape(title)} <span class="time">{took:.2f} s</span></h2><p>{html.escape(why)}</p>'
        self._parts.insert(place, head)

    def say(self, *lines: str) -> None:
        print("\n".join("   " + line for line in lines), flush=True)
        self._parts.append(f"<pre>{html.escape(chr(10).join(lines))}</pre>")

    def save(self, path: Path) -> None:
        title = f"Frazil {fz.__version__}: the main job"
        head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style><h1>{title}</h1>'
        path.write_text(f"<!doctype html>{head}{''.join(self._parts)}", "utf-8")


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


def maintain(spark: SparkSession, table: fz.Table, per_day: int, report: Report) -> None:
    """Corrects rows, compacts what came of it, and looks back."""
    before, fixed = table.snapshot, per_day // 100
    assert before is not None
    with report.step(
        f"Upsert {fixed:,} corrected events: fz.spark.upsert(df, table, on=['id'])",
        "Rows with a known id are replaced, in one commit. Files without such ids are never opened.",
    ):
        rows = events(spark, 0, fixed, DAYS[0]).withColumn("status", fn.lit(200))
        fz.spark.upsert(rows, table, on=["id"])
        now, then = table.refresh().scan(FAILED).count(), table.scan(FAILED, at=before.id).count()
        report.say(f"{now:,} events failed; before the correction {then:,}")
    with report.step(
        "Compact: table.maintain.compact(spark=spark, min_input_files=2)",
        "Each write left small files in every partition. Executors rewrite them into one file each.",
    ):
        done = table.maintain.compact(spark=spark, min_input_files=2)
        if done.rewritten_files <= done.added_files:
            sys.exit("The compaction found nothing to do: this is a bug")
        report.say(f"{done.rewritten_files:,} files became {done.added_files:,}")
    with report.step(
        f"Time travel: fz.spark.read(spark, table, at={before.id})",
        "Old versions stay readable until they expire, in spite of the correction and the compaction.",
    ):
        rows = fz.spark.read(spark, table, filter=FAILED, select=["id"], at=before.id)
        report.say(f"{rows.count():,} events failed then")


def write(spark: SparkSession, table: fz.Table, per_day: int, report: Report) -> None:
    with report.step(
        f"PySpark writes {per_day * len(DAYS):,} events: df.write.format('frazil').mode('append').save(location)",
        "Executors write Parquet files; the driver commits once for each day. Readers see a whole day or nothing.",
    ):
        for number, day in enumerate(DAYS):
            started = time.perf_counter()
            frame = events(spark, number * per_day, per_day, day)
            frame.write.format("frazil").mode("append").save(table.location)
            report.say(f"{day}: {per_day:,} rows in {time.perf_counter() - started:.1f} s")


def compare(spark: SparkSession, scan: fz.Scan, report: Report) -> bool:
    """Aggregates a scan by Spark and by Arrow; whether both found the same."""
    with report.step(
        "PySpark aggregates the scan: scan.to_spark(spark).groupBy('country', 'device')",
        "Spark's own Parquet reader reads the files, because it reads them in the same way as Frazil.",
    ):
        grouped = scan.to_spark(spark).groupBy("country", "device")
        rows = grouped.agg(fn.count("*").alias("events"), fn.sum("amount").alias("amount")).collect()
        by_spark = {(row.country, row.device): (row.events, row.amount) for row in rows}
    with report.step(
        "Arrow aggregates the same scan: scan.to_arrow().group_by(['country', 'device'])",
        "No Spark takes part: Frazil reads the rows into this process.",
    ):
        arrow = scan.to_arrow().group_by(["country", "device"]).aggregate([([], "count_all"), ("amount", "sum")])
        by_arrow = {(row["country"], row["device"]): (row["count_all"], row["amount_sum"]) for row in arrow.to_pylist()}
        titles = ("country", "device", "events (PySpark)", "(Arrow)", "amount (PySpark)", "(Arrow)")
        lines = ["{:8} {:8} {:>17} {:>9} {:>18} {:>15}".format(*titles)]
        for key in sorted(by_spark.keys() | by_arrow.keys()):
            (n, amount), (m, other) = by_spark.get(key, (0, 0)), by_arrow.get(key, (0, 0))
            lines.append(f"{key[0]:8} {key[1]:8} {n:17,} {m:9,} {amount:18,} {other:15,}")
        report.say(*lines)
    return by_spark == by_arrow and bool(by_spark)


def look(location: str, page: Path, report: Report) -> None:
    """Looks at the table as a person at a terminal does."""

    def frazil(*words: str) -> None:
        run = subprocess.run([sys.executable, "-m", "frazil", *words], capture_output=True, text=True)
        if run.returncode not in (0, 1):  # 1: something about the table's health is worth knowing
            sys.exit(run.stderr)
        report.say(*run.stdout.splitlines())

    with report.step(
        f"One screen about the table: frazil show {location}", "The command line knows what Python knows: no Spark."
    ):
        frazil("show", location)
    with report.step(
        f'What a filtered scan reads, and why: frazil explain {location} --where "{FILTER}"',
        "Partitions and bounds of columns exclude most files.",
    ):
        frazil("explain", location, "--where", FILTER)
    with report.step(
        f"A page about the table: frazil show {location} --html {page}",
        "One file for a browser: snapshots, files, what the filter reads of them, what the doctor found.",
    ):
        frazil("show", location, "--where", FILTER, "--html", str(page))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=400_000, help="events to write (default: 400,000)")
    arguments.add_argument("--warehouse", type=Path, default=Path(__file__).parent / "warehouse")
    options = arguments.parse_args()
    warehouse = options.warehouse.resolve()
    per_day, report, began = options.rows // len(DAYS), Report(), time.perf_counter()

    print(f"Frazil {fz.__version__}: an Iceberg table in {warehouse}, no jar, no service")
    with report.step("Spark starts (local[2])", "Only Spark needs Java. Everything else is Python and Rust."):
        spark = start_spark()
        report.say(f"PySpark {spark.version}")

    with report.step(
        "Create the table db.events, partitioned by day(ts) and bucket(8, user_id)",
        "A folder is the catalog. Queries name columns, never partitions.",
    ):
        shutil.rmtree(warehouse, ignore_errors=True)
        catalog = fz.catalog("demo", type="filesystem", warehouse=str(warehouse))
        catalog.create_namespace("db")
        table = catalog.create_table("db.events", SCHEMA, partition_by=["day(ts)", "bucket(8, user_id)"])
        report.say(table.location)

    write(spark, table, per_day, report)
    table = catalog.load_table("db.events")
    maintain(spark, table, per_day, report)
    scan = table.scan(FILTER)
    same = compare(spark, scan, report)
    total = catalog.load_table("db.events").scan().count()
    spark.stop()
    if not same or total != per_day * len(DAYS):
        sys.exit("\nThe numbers differ: this is a bug in Frazil")
    page, results = warehouse / "table.html", warehouse / "report.html"
    look(table.location, page, report)
    report.save(results)
    print(f"\nSame numbers both ways; the table holds {total:,} rows in {len(table.snapshots)} snapshots.")
    print(f"All of it took {time.perf_counter() - began:.0f} s. Open in a browser:")
    print(f"   {page} (the table)\n   {results} (what you have just read)")


if __name__ == "__main__":
    main()
