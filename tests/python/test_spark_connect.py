"""Spark Connect: the same without py4j. In a process of its own, since one process has one kind of Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

import frazil as fz

pytestmark = pytest.mark.spark

SCRIPT = """
import sys
from pyspark.sql import SparkSession
import frazil as fz

events, copy = sys.argv[1:]
spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect")
df = fz.spark.read(spark, events, filter="id >= 50", select=["id", "country", "payload.a"])
assert df.columns == ["id", "country", "payload"]
assert df.count() == 150
assert df.where("country = 'NO'").count() == 37, df.where("country = 'NO'").count()
assert "Broadcast" not in df.join(df.withColumnRenamed("country", "c"), "id")._explain_string()
assert fz.spark.read(spark, events, filter="id < 0").collect() == []
assert fz.open_table(events).scan().limit(3).to_spark(spark).count() == 3
assert spark.read.format("frazil").option("columns", "id").load(events).count() == 200
apart = fz.spark.read(spark, events, filter="id >= 50", select=["id"], planning="executors")
assert apart.count() == 150
assert "PlanOnExecutors" in apart._explain_string()
assert "Broadcast" not in apart.join(df, "id")._explain_string()
assert fz.spark.read(spark, events, filter="ts < '2020-01-01T00:00:00Z'", planning="executors").collect() == []
tasks = fz.spark.plan(spark, events, select=["id"]).where("partition = 'ts_day=2023-01-01'")
assert fz.spark.read_tasks(tasks).count() == 24
fz.spark.append(spark.read.format("frazil").load(events), copy)
assert fz.open_table(copy).scan().count() == 200
spark.stop()
print("all right")
"""


def test_connect(catalog: fz.Catalog, events: fz.Table) -> None:
    pytest.importorskip("grpc", reason="Spark Connect is not installed (pip install 'pyspark[connect]')")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 (no 'java' on the PATH)")
    copy = catalog.create_table("db.copy", events.schema)
    places = [t.location.removeprefix("file://") for t in (events, copy)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *places],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip().endswith("all right"), done.stdout + done.stderr[-3000:]
