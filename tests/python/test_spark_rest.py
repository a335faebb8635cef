"""Spark on tables of a REST catalog: by name, and for longer than the credentials live."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import frazil as fz
from rest_cases import SCHEMA, asked, ids, new_bucket, one, opened
from rest_fixtures import gate, port
from rest_server import Auth, Gate, RestServer, Vending, serving

__all__ = ["gate", "port"]
pytestmark = pytest.mark.spark

NIGHTLY = os.environ.get("FRAZIL_NIGHTLY", "") not in ("", "0")
SECONDS = 60 if NIGHTLY else 15
LIFE = 5
WORKERS = 2


@pytest.fixture
def server(port: int, gate: Gate) -> Iterator[RestServer]:
    """Tables are in a bucket that only keys of the server open, for five seconds. Tokens of the catalog live longer."""
    bucket, store = new_bucket(port)
    auth = Auth(secret="me:catalog-sesame", seconds=600)
    with serving(f"s3://{bucket}/wh", store, defaults={"s3.endpoint": gate.url}, auth=auth) as server:
        server.switches.vending = Vending(seconds=LIFE)
        gate.service = server.service
        yield server


@pytest.fixture
def catalog(server: RestServer) -> fz.Catalog:
    uri = f"{server.url}/token"
    renewing = {"oauth2-server-uri": uri, "frazil.executors-may-renew": "true"}
    found = opened(server, credential="me:catalog-sesame", **renewing)
    found.create_namespace("db")
    return found


@pytest.fixture
def named(spark: SparkSession, server: RestServer) -> Iterator[SparkSession]:
    """Spark knows the catalog as `prod`."""
    conf = {
        "type": "rest",
        "uri": server.url,
        "credential": "me:catalog-sesame",
        "oauth2-server-uri": f"{server.url}/token",
        "frazil.executors-may-renew": "true",
    }
    for key, value in conf.items():
        spark.conf.set(f"spark.frazil.catalog.prod.{key}", value)
    fz.spark.register(spark)
    yield spark
    for key in conf:
        spark.conf.unset(f"spark.frazil.catalog.prod.{key}")
    fz.spark.register(spark)


def test_tables_by_name(named: SparkSession, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA).append(one(1, 2))
    assert named.read.format("frazil").load("prod.db.t").count() == 2
    assert fz.spark.read(named, "prod.db.t").count() == 2
    named.range(10, 13).write.format("frazil").mode("append").save("prod.db.t")
    fz.spark.append(named.range(20, 22), "prod.db.t")
    assert ids(table) == [1, 2, 10, 11, 12, 20, 21]


def test_plans_hold_no_secrets(named: SparkSession, server: RestServer, catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA).append(one(1))
    frame = named.read.format("frazil").load("prod.db.t")
    plan = str(frame._jdf.queryExecution().toString())
    for secret in ("catalog-sesame", "vended-secret", *server.service.guard.session_tokens):
        assert secret not in plan


def test_a_job_that_outlives_its_credentials(
    spark: SparkSession, server: RestServer, gate: Gate, catalog: fz.Catalog
) -> None:
    table = catalog.create_table("db.t", SCHEMA, properties={"read.split.target-size": "1"})
    tasks = max(4, SECONDS // 3 * WORKERS)
    for value in range(tasks):
        table = table.append(one(value))
    server.reset()

    def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(3)
            yield batch

    start = time.monotonic()
    frame = fz.spark.read(spark, table).mapInArrow(slowly, "id long")
    assert sorted(row.id for row in frame.collect()) == list(range(tasks))
    took = time.monotonic() - start
    assert gate.refused == []
    renewals = len(asked(server, "loadCredentials")) + len(asked(server, "loadTable"))
    assert renewals <= (WORKERS + 1) * (took / LIFE + 2)
    assert renewals < tasks + 2 * WORKERS or took / LIFE > tasks


def test_a_write_that_outlives_its_credentials(
    spark: SparkSession, server: RestServer, gate: Gate, catalog: fz.Catalog
) -> None:
    table = catalog.create_table("db.t", SCHEMA)

    def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(LIFE + 2)
            yield batch

    fz.spark.append(spark.range(0, 100, 1, 4).mapInArrow(slowly, "id long"), table)
    assert ids(table) == list(range(100))
    assert gate.refused == []


def test_a_stream_that_outlives_its_credentials(
    named: SparkSession, server: RestServer, gate: Gate, catalog: fz.Catalog, tmp_path: Path
) -> None:
    source = catalog.create_table("db.source", SCHEMA).append(one(0))
    sink = catalog.create_table("db.sink", SCHEMA)
    stream = named.readStream.format("frazil").load("prod.db.source").writeStream.format("frazil")
    query = stream.option("checkpointLocation", str(tmp_path)).trigger(processingTime="1 second").start("prod.db.sink")
    try:
        end, turn = time.monotonic() + SECONDS, 1
        while time.monotonic() < end:
            source = source.append(one(turn))
            turn += 1
            time.sleep(1)
            assert query.exception() is None
        query.processAllAvailable()
    finally:
        query.stop()
    assert ids(sink) == list(range(turn))
    assert gate.refused == []


def test_the_server_plans_for_spark(named: SparkSession, catalog: fz.Catalog, server: RestServer) -> None:
    """Executors read the server's plan with the plan's keys."""
    properties = {"format-version": "3", "write.delete.mode": "merge-on-read"}
    table = catalog.create_table("db.t", SCHEMA, properties=properties)
    for value in range(4):
        table = table.append(one(value, value + 10))
    table.refresh().delete("id = 12")
    server.switches.change({"planning_mode": "server", "files_in_a_task": 1})
    server.reset()
    found = fz.spark.read(named, "prod.db.t", filter="id > 1")
    assert sorted(row["id"] for row in found.collect()) == [2, 3, 10, 11, 13]
    assert asked(server, "planTableScan")[0].body["filter"] == {"type": "gt", "term": "id", "value": 1}
    assert named.read.format("frazil").load("prod.db.t").count() == 7
    with pytest.raises(fz.UnsupportedError, match="server plans"):
        fz.spark.read(named, "prod.db.t", planning="executors")


CLUSTER = """
import sys, time
import frazil as fz
from pyspark.sql import SparkSession

uri, seconds, folder = sys.argv[1], float(sys.argv[2]), sys.argv[3]
builder = SparkSession.builder.master("local-cluster[2,2,1024]").config("spark.ui.enabled", "false")
conf = {
    "type": "rest",
    "uri": uri,
    "credential": "me:catalog-sesame",
    "oauth2-server-uri": f"{uri}/token",
    "frazil.executors-may-renew": "true",
}
for key, value in conf.items():
    builder = builder.config(f"spark.frazil.catalog.prod.{key}", value)
spark = builder.getOrCreate()
fz.spark.register(spark)

def slowly(batches):
    # Some tasks outlive the keys with which they began.
    for batch in batches:
        time.sleep(7 if batch.column(0)[0].as_py() % 100 == 0 else 0)
        yield batch

frame = fz.spark.read(spark, "prod.db.source").mapInArrow(slowly, "id long")
fz.spark.append(frame, "prod.db.sink")
stream = spark.readStream.format("frazil").load("prod.db.source").writeStream.format("frazil")
query = stream.option("checkpointLocation", folder).trigger(processingTime="1 second").start("prod.db.other")
end = time.monotonic() + seconds
source = fz.spark.catalogs.load_named("prod.db.source", fz.spark.catalogs.session_catalogs(spark))
import pyarrow as pa
turn = int(sys.argv[4])
while time.monotonic() < end:
    source = source.append(pa.table({"id": pa.array([turn], pa.int64())}))
    turn += 1
    time.sleep(1)
query.processAllAvailable()
query.stop()
print("turns", turn)
spark.stop()
"""


@pytest.mark.skipif(not NIGHTLY, reason="a cluster of several executors is started at night only (FRAZIL_NIGHTLY)")
def test_a_job_and_a_stream_on_several_executors(
    server: RestServer, gate: Gate, catalog: fz.Catalog, tmp_path: Path
) -> None:
    # A file, a split and a task for each row.
    properties = {"read.split.target-size": "1", "commit.retry.num-retries": "20"}
    source = catalog.create_table("db.source", SCHEMA, properties=properties, partition_by=["id"])
    sinks = [catalog.create_table(f"db.{name}", SCHEMA) for name in ("sink", "other")]
    tasks = 10 * SECONDS
    source.append(one(*range(tasks)))
    server.reset()
    start = time.monotonic()
    command = [sys.executable, "-c", CLUSTER, server.url, str(SECONDS), str(tmp_path / "checkpoint"), str(tasks)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    turns = int(done.stdout.split("turns")[1])
    took = time.monotonic() - start
    assert ids(sinks[0]) == list(range(tasks))
    assert ids(sinks[1]) == list(range(turns))
    assert gate.refused == []
    renewals = len(asked(server, "loadCredentials"))
    print(f"{took:.0f} s, {tasks} tasks of the job, {turns} of the stream, which had {turns - tasks} commits")
    print(f"{gate.allowed} requests for files, none refused, {renewals} renewals")
    # Each task has a process that reads, one that maps and one that writes. Four tasks run at once, and a process
    # takes any part of the next task. It renews the keys of at most two tables. The driver's processes use three.
    assert renewals <= (4 * 3 * 2 + 3 * 3) * (took / LIFE + 2)
    # Many tasks share a renewal. A task of the stream reads one row, too.
    assert renewals < tasks + turns
    # Each process asks for one token. Some serve one step of a query only.
    assert len(asked(server, "getToken")) <= 40


WATCHED = """
import os, sys, urllib.request
from pathlib import Path
import frazil as fz
from pyspark.sql import SparkSession

uri, folder = sys.argv[1], sys.argv[2]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "true").config("spark.ui.port", "0")
builder = builder.config("spark.eventLog.enabled", "true").config("spark.eventLog.dir", folder)
builder = builder.config("spark.eventLog.compress", "false").config("spark.sql.maxPlanStringLength", "1000000")
conf = {
    "type": "rest", "uri": uri, "oauth2-server-uri": f"{uri}/token",
    "frazil.executors-may-renew": os.environ["MAY_RENEW"],
}
for key, value in conf.items():
    builder = builder.config(f"spark.frazil.catalog.prod.{key}", value)
spark = builder.getOrCreate()
fz.spark.register(spark)
frame = spark.read.format("frazil").load("prod.db.t")
frame.explain("extended")
assert frame.where("id > 1").count() == 1
fz.spark.read(spark, "prod.db.t", filter="id > 1").explain("formatted")
print(fz.load_table("prod.db.t", fz.spark.catalogs.session_catalogs(spark)).scan("id > 1").explain())
assert len(fz.spark.read(spark, "prod.db.t").collect()) == 2
spark.range(10, 13).write.format("frazil").mode("append").save("prod.db.t")
fz.spark.append(spark.range(20, 22), "prod.db.t")
query = spark.readStream.format("frazil").load("prod.db.t").writeStream.format("frazil")
query = query.option("checkpointLocation", folder + "/../checkpoint").trigger(availableNow=True).start("prod.db.u")
query.awaitTermination()
ui, app = spark.sparkContext.uiWebUrl, spark.sparkContext.applicationId
pages = ["environment/", "SQL/", "jobs/", "stages/", "StreamingQuery/"]
pages += [f"SQL/execution/?id={n}" for n in range(3)] + ["stages/stage/?id=0&attempt=0"]
names = ("environment", "sql?details=true&planDescription=true", "jobs", "stages?details=true", "executors")
pages += [f"api/v1/applications/{app}/{name}" for name in names]
for page in pages:
    print(page, urllib.request.urlopen(f"{ui}/{page}").read().decode())
spark.stop()
"""


@pytest.mark.parametrize("may_renew", ["with-credential", "true"] if NIGHTLY else ["with-credential"])
def test_spark_shows_no_secrets(
    server: RestServer, gate: Gate, catalog: fz.Catalog, tmp_path: Path, may_renew: str
) -> None:
    """Plans, `explain`, the event log, all pages of the UI and its REST API. Checkpoints of streams are no show."""
    server.switches.vending = Vending(seconds=120)
    catalog.create_table("db.t", SCHEMA).append(one(1, 2))
    catalog.create_table("db.u", SCHEMA)
    events = tmp_path / "events"
    events.mkdir()
    command = [sys.executable, "-c", WATCHED, server.url, str(events)]
    own = {"PYTHONPATH": os.pathsep.join(sys.path), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    own |= {"PYICEBERG_CATALOG__PROD__CREDENTIAL": "me:catalog-sesame", "MAY_RENEW": may_renew}
    env = {**os.environ, **own}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=env, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    assert ids(catalog.load_table("db.t")) == [1, 2, 10, 11, 12, 20, 21]
    assert ids(catalog.load_table("db.u")) == [1, 2, 10, 11, 12, 20, 21]
    logs = [path.read_text("utf-8", "replace") for path in events.rglob("*") if path.is_file()]
    shown = {"the output": done.stdout + done.stderr, "the event log": "".join(logs)}
    assert "SparkListenerSQLExecutionStart" in shown["the event log"]
    assert "BatchScan frazil" in shown["the output"]
    guard = server.service.guard
    secrets = ["catalog-sesame", "vended-secret", *guard.session_tokens, *guard.tokens]
    assert len(secrets) >= 4
    for name, text in shown.items():
        for secret in secrets:
            assert secret not in text, f"{name} shows {secret}"
