"""Spark Connect: the same without py4j. In a process of its own, since one process has one kind of Spark."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import frazil as fz
from conftest import event_rows

pytestmark = pytest.mark.spark

SCRIPT = """
import sys
import pyspark
from pyspark.sql import SparkSession
import frazil as fz
import frazil.spark.lanes.arrow
import frazil.spark.query
from pyspark.sql import functions as fz_f

events, copy, deleted, folder, plain = sys.argv[1:]
spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect")
frazil.spark.lanes.arrow.MANY_SPLITS = 1  # which there are no broadcasts for
df = fz.spark.read(spark, events, filter="id >= 50", select=["id", "country", "payload.a"])
assert df.columns == ["id", "country", "payload"]
assert df.count() == 150
assert df.where("country = 'NO'").count() == 37, df.where("country = 'NO'").count()
apart = fz.spark.read(spark, events, filter="id >= 50", select=["id", "country"], engine="arrow")
assert apart.count() == 150
assert "Broadcast" not in apart.join(apart.withColumnRenamed("country", "c"), "id")._explain_string()
assert "FileScan parquet" in df._explain_string()
fz.open_table(deleted).delete("id in (1, 2, 150)")
lanes = fz.spark.explain(spark, deleted)
assert set(lanes.files["lane"].to_pylist()) == {"N", "A"}, lanes
native = fz.spark.explain(spark, deleted, engine="native").files["lane"].to_pylist()
assert set(native) == {"N", "ND"}, native
assert fz.spark.read(spark, deleted, engine="native").where("id < 200").count() == 197
many = fz.spark.read(spark, folder, engine="native")
assert many.count() == 40, many.count()
assert "InMemoryFileIndex(1 paths)" in many._explain_string(), many._explain_string()
query = "with x as (select id, country as c from e where country = 'NO' or id < 2) select count(*) as n from x"
assert fz.spark.sql(spark, query, {"e": events}).first().n == 51
need = frazil.spark.query._needs(spark, query, {"e": fz.open_table(events).scan()})["e"]
assert set(need.columns) == {"id", "country"} and "country = 'NO'" in str(need.filter), need
buckets = spark.range(1).select(fz.spark.functions.bucket(16, fz_f.lit(34).cast("bigint")).alias("b"))
assert buckets.first().b == 3
assert fz.spark.read(spark, events, filter="id < 0").collect() == []
assert fz.open_table(events).scan().limit(3).to_spark(spark).count() == 3
assert spark.read.format("frazil").option("columns", "id").load(events).count() == 200
apart = fz.spark.read(spark, events, filter="id >= 50", select=["id"], planning="executors")
assert apart.count() == 150
assert "PlanOnExecutors" in apart._explain_string()
by_arrow = fz.spark.read(spark, events, select=["id"], engine="arrow")
assert "Broadcast" not in apart.join(by_arrow, "id")._explain_string()
assert fz.spark.read(spark, events, filter="ts < '2020-01-01T00:00:00Z'", planning="executors").collect() == []
tasks = fz.spark.plan(spark, events, select=["id"]).where("partition = 'ts_day=2023-01-01'")
assert fz.spark.read_tasks(tasks).count() == 24
fz.spark.append(spark.read.format("frazil").load(events), copy)
assert fz.open_table(copy).scan().count() == 200
columns = ["id", "country", "ts", "amount", "named_struct('a', payload.a, 'b', payload.b) as payload"]
rows = fz.spark.read(spark, events).selectExpr(*columns)
fz.spark.append(rows, plain, engine="native")
there = fz.open_table(plain)
assert there.snapshot.summary["frazil.write-engine"] == "native"
assert there.scan().count() == 200 and there.scan("payload.a = 7 and country is null").count() == 1
spark.sql(f"create temporary view v using frazil options (path '{plain}')")
names, nulls = (" (id, country)", "") if pyspark.__version__ > "4.1" else ("", ", null, null, null")
spark.sql(f"insert into v{names} values (1000, 'NO'{nulls})").collect()
assert there.refresh().scan("id = 1000 and country = 'NO'").count() == 1
spark.stop()
print("all right")
"""


@pytest.fixture(autouse=True)
def connect_is_there() -> None:
    pytest.importorskip("grpc", reason="Spark Connect is not installed (pip install 'pyspark[connect]')")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 (no 'java' on the PATH)")


def assert_all_right(script: str, *arguments: str) -> None:
    """Runs a script in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip().endswith("all right"), done.stdout + done.stderr[-3000:]


def test_connect(catalog: fz.Catalog, events: fz.Table) -> None:
    copy = catalog.create_table("db.copy", events.schema)
    rows = event_rows(0, 200)
    properties = {"write.delete.mode": "merge-on-read"}
    deleted = catalog.create_table("db.deleted", rows.schema, partition_by=["country"], properties=properties)
    deleted.append(rows)
    many = catalog.create_table("db.many", rows.schema)
    for i in range(40):
        many.append(rows.slice(i, 1))
    struct = pa.struct([("a", pa.int32()), ("b", pa.string())])
    fields = [rows.schema.field(name) for name in ("id", "country", "ts", "amount")]
    plain = catalog.create_table("db.plain", pa.schema([*fields, ("payload", struct)]), partition_by=["country"])
    places = [t.location.removeprefix("file://") for t in (events, copy, deleted, many, plain)]
    assert_all_right(SCRIPT, *places)


CHANGES = """
import pathlib, sys
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
import frazil as fz

folder = sys.argv[1]
spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect")
for name in ("driver-max-rows", "driver-max-bytes"):
    spark.conf.set(f"spark.frazil.changes.{name}", "0")
lake = fz.catalog("lake", warehouse=folder)
for name in ("iceberg", "plain", "tracked", "evolving"):
    table = lake.load_table(f"db.{name}")
    content = lambda: sorted(map(tuple, (row.values() for row in table.refresh().scan().to_arrow().to_pylist())))
    done = fz.spark.update(spark, table, f.expr("length(g) + id = 3"), {"v": f.expr("v * 2 + id")})
    assert done.rows_updated == 1 and content() == [(1, "a", 10), (2, "b", 42), (3, "c", 30)], (name, content())
    fz.spark.upsert(spark.createDataFrame([(3, "x"), (4, "y")], "id long, g string"), table, "id")
    assert content() == [(1, "a", 10), (2, "b", 42), (3, "x", 30), (4, "y", None)], (name, content())
    source = spark.createDataFrame([(1, 7), (4, 8), (5, 9)], "id long, v long")
    merge = fz.spark.merge_into(source, table, "t.id = s.id").whenMatched("t.v is not null").update({"v": "t.v + s.v"})
    merge.whenNotMatched("s.v > 8").insert({"id": "s.id", "v": f.col("s.v"), "g": f.lit("new")}).merge()
    assert content() == [(1, "a", 17), (2, "b", 42), (3, "x", 30), (4, "y", None), (5, "new", 9)], (name, content())
    if "sql" in sys.argv:
        run = lambda text, **more: fz.spark.sql(spark, text, catalogs={"lake": lake}, **more).collect()
        run(f"UPDATE lake.db.{name} SET g = concat(g, '!') WHERE g IN ('a', 'b') AND length(g) = 1", job_id="once")
        run(f"UPDATE lake.db.{name} SET g = concat(g, '!') WHERE g IN ('a', 'b') AND length(g) = 1", job_id="once")
        run(f"MERGE INTO lake.db.{name} t USING (SELECT 5L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
        assert content() == [(1, "a!", 17), (2, "b!", 42), (3, "x", 30), (4, "y", None)], (name, content())
    fz.spark.delete(spark, table, f.expr("length(g) > 0 and v is null"))
    assert (4, "y", None) not in content(), name
spark.stop()
print("all right")
"""


def test_changes_on_connect(tmp_path: pathlib.Path) -> None:
    lake = fz.catalog("lake", warehouse=tmp_path / "lake")
    lake.create_namespace("db")
    rows = pa.table({"id": pa.array([1, 2, 3]), "g": ["a", "b", "c"], "v": pa.array([10, 20, 30])})
    tracked, evolving = {"row-tracking.enabled": "true"}, {"data-evolution.enabled": "true"}
    vectors = {"deletion-vectors.enabled": "true"}
    options = {"plain": {}, "tracked": tracked, "evolving": {**tracked, **evolving, **vectors}}
    lake.create_table("db.iceberg", rows.schema).append(rows)
    for name, properties in options.items():
        lake.create_table(f"db.{name}", rows.schema, format="paimon", properties=properties).append(rows)
    statements = ["sql"] if importlib.util.find_spec("sqlglot") else []
    assert_all_right(CHANGES, str(tmp_path / "lake"), *statements)


MAINTENANCE = """
import os, pathlib, sys
from pyspark.sql import SparkSession
import frazil as fz
import frazil.spark.jobs.parts

place, folder = sys.argv[1:]
spark = SparkSession.builder.remote("local[2, 4]").config("spark.ui.enabled", "false").getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect")
table = fz.open_table(place)
on_disk = lambda: {p for p in pathlib.Path(place).rglob("*.parquet") if "data" in p.parts}
content = lambda: table.scan(select=["id", "country", "payload"]).to_arrow().sort_by("id").to_pylist()
before, rows, real = on_disk(), content(), frazil.spark.jobs.parts.DoParts


class DiesOnce:
    # The first worker to come so far writes its files and dies.
    def __init__(self, *arguments):
        self.arguments = {"arguments": arguments, "marker": folder + "/died"}

    def __reduce__(self):
        die = "__import__('os').path.exists(marker) or (open(marker, 'x').close(), __import__('os')._exit(9))"
        real = "__import__('frazil.spark.jobs.parts', fromlist=['DoParts']).DoParts(*arguments)"
        return eval, (f"lambda batches: (b for b in {real}(batches) if {die})", self.arguments)


frazil.spark.jobs.parts.DoParts = DiesOnce
done = table.maintain.compact("sort", sort_by=["id"], rewrite_all=True, spark=spark)
frazil.spark.jobs.parts.DoParts = real
assert os.path.exists(folder + "/died")
assert (done.groups, done.commits, done.added_files, done.failed) == (3, 1, 3, []), done
assert content() == rows
written = on_disk() - before
# What the dead worker wrote is gone.
assert written == {pathlib.Path(t.data_file.path.removeprefix("file://")) for t in table.scan().plan_files()}, written

table.delete("id in (1, 5, 150)").delete("id in (8, 9)").delete("id in (12, 190)")
done = table.refresh().maintain.rewrite_position_deletes(rewrite_all=True, spark=spark)
assert done.rewritten_files > done.added_files > 0, done
assert table.scan().count() == 143

orphan = pathlib.Path(place, "data", "left-over.parquet")
orphan.write_bytes(b"half a file")
os.utime(orphan, (0, 0))
done = table.maintain.remove_orphan_files(spark=spark)
assert done.files == [str(orphan)] and done.deleted, done
spark.stop()
print("all right")
"""


def test_maintenance_on_connect(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    rows = event_rows(0, 200)
    properties = {"write.delete.mode": "merge-on-read", "format-version": "2"}
    rows = rows.filter(pc.is_valid(rows["country"]))
    table = catalog.create_table("db.kept", rows.schema, partition_by=["country"], properties=properties)
    for start in range(0, rows.num_rows, 30):
        table.append(rows.slice(start, 30))
    assert_all_right(MAINTENANCE, table.location.removeprefix("file://"), str(tmp_path))
