"""Functions of `frazil.spark` return what their commit did, whichever process committed."""

from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz

pytest.importorskip("pyspark")
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])


@pytest.mark.parametrize("driver", [True, False], ids=["the driver", "executors"])
@pytest.mark.parametrize("format", ["iceberg", "paimon"])
def test_changes_say_what_they_did(spark, tmp_path: Path, driver: bool, format: str) -> None:
    if format == "paimon" and not driver:
        pytest.skip("the driver makes all changes of these tables")
    catalog = fz.catalog("c", warehouse=tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, identifier_fields=["id"], format=format)
    most = "10000" if driver else "0"
    limits = {"spark.frazil.changes.driver-max-rows": most, "spark.frazil.changes.driver-max-bytes": most}
    before = {name: spark.conf.get(name, None) for name in limits}
    for name, value in limits.items():
        spark.conf.set(name, value)
    try:
        done = fz.spark.append(spark.range(100).selectExpr("id", "0L as n"), table)
        assert (done.operation, done.rows_added) == ("append", 100)
        assert done.snapshot_id == table.refresh().snapshot.id
        rows = spark.range(90, 110).selectExpr("id", "1L as n")
        done = fz.spark.upsert(rows, table, job_id="night/1")
        newest = table.refresh().snapshot
        if format == "iceberg":
            assert (done.snapshot_id, done.rows_added, done.rows_updated) == (newest.id, 10, 10)
        assert fz.spark.upsert(rows, table, job_id="night/1").snapshot_id is None
        assert table.refresh().snapshot.id == newest.id
        if format == "iceberg":
            assert fz.spark.delete(spark, table, "id < 5").rows_deleted == 5
            assert fz.spark.update(spark, table, "id = 7", {"n": 3}).rows_updated == 1
            assert fz.spark.delete(spark, table, "id = 5000").snapshot_id is None
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


@pytest.mark.parametrize("engine", ["native", "arrow"])
def test_overwrites_say_what_they_did(spark, tmp_path: Path, engine: str) -> None:
    catalog = fz.catalog("c", warehouse=tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    fz.spark.append(spark.range(8).selectExpr("id", "id as n"), table, engine=engine)
    done = fz.spark.overwrite(spark.range(3).selectExpr("id", "id as n"), table, engine=engine)
    assert (done.snapshot_id, done.rows_added) == (table.refresh().snapshot.id, 3)
    assert done.rows_deleted == 8
    done = fz.spark.append(spark.range(2).selectExpr("id", "id as n"), table, branch="audit", engine=engine)
    assert (done.snapshot_id, done.rows_added) == (table.refresh().refs["audit"].snapshot_id, 2)
