"""Spark's own Parquet writer for tables: its files are those that Frazil's writer makes, or it is not taken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz
from frazil.spark.settings import changed_setting
from frazil.spark.writing import native as native_write

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("country", pa.string()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("n", pa.timestamp("us")),
        ("d", pa.date32()),
        ("dec", pa.decimal128(12, 2)),
        ("wide", pa.decimal128(30, 5)),
        ("x", pa.float64()),
        ("s", pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.string())]))])),
        ("ok", pa.bool_()),
        ("raw", pa.binary()),
    ]
)
# Before and after 1970, texts that folders' names don't like, nulls, NaN; narrower types than the table's.
QUERY = """
    select id, element_at(array('NO', 'S/Æ=%', null, ''), int(id % 4) + 1) country,
        timestamp_micros(id * 25200000000 - 500000000000001) ts,
        timestamp_ntz'1969-12-30 23:59:59.999999' + make_dt_interval(0, int(id) * 9) n,
        date_add(date'1969-12-01', int(id)) d, cast(id / 4 as decimal(11, 2)) dec, cast(id as decimal(30, 5)) wide,
        if(id % 10 = 7, double('NaN'), id / 2) x,
        if(id % 5 = 0, null, named_struct('a', int(id), 'b', named_struct('c', string(id)))) s,
        id % 3 = 0 ok, cast(string(id) as binary) raw
    from range(0, {rows}, 1, 4)
"""


def frame(spark, rows: int = 80):
    return spark.sql(QUERY.format(rows=rows))


def folder(table: fz.Table) -> Path:
    return Path(table.location.removeprefix("file://")) / "data"


def on_disk(table: fz.Table) -> set[str]:
    return {str(path.relative_to(folder(table))) for path in folder(table).rglob("*") if path.is_file()}


def bag(table: fz.Table, **scan: object) -> list[str]:
    return sorted(map(str, table.refresh().scan(**scan).to_arrow().to_pylist()))


PARTITIONS: list[list[str]] = [
    [],
    ["country"],
    ["bucket(4, id)", "bucket(2, country)", "bucket(2, dec)"],
    ["day(ts)", "truncate(1, country)"],
    ["month(ts)", "year(n)", "truncate(10, id)"],
    ["hour(n)", "d"],
    ["ok", "month(n)", "year(ts)"],
    ["hour(ts)", "day(n)"],
]


@pytest.mark.parametrize("by", PARTITIONS, ids=lambda by: ",".join(by) or "none")
def test_files_are_those_of_frazils_writer(spark, catalog: fz.Catalog, by: list[str]) -> None:
    sort = ["id desc"] if len(by) != 1 else []
    tables = {}
    for engine in ("native", "arrow"):
        table = catalog.create_table(f"db.{engine}", SCHEMA, partition_by=by, sort_by=sort)
        fz.spark.append(frame(spark), table, engine=engine)
        tables[engine] = table.refresh()
        assert table.snapshot.summary["frazil.write-engine"] == engine
    native, arrow = tables["native"], tables["arrow"]
    assert bag(native) == bag(arrow)
    for text in ("id < 20", "country = 'S/Æ=%'", "country is null", "ts < '1970-01-01T00:00:00Z'", "d = '1970-01-01'"):
        assert bag(native, filter=text) == bag(arrow, filter=text)
    assert counts(native) == counts(arrow)
    for task in native.scan().plan_files():
        path = task.data_file.path.removeprefix("file://")
        file = pq.ParquetFile(path)
        assert field_ids(file) == [field.id for field in leaves(native.schema.fields)]
        assert task.data_file.split_offsets
        if sort:
            ids = file.read(["id"])["id"].to_pylist()
            assert ids == sorted(ids, reverse=True)
            assert task.data_file.sort_order_id == native.sort_order.id
    assert {path.rsplit(".", 1)[-1] for path in on_disk(native)} == {"parquet"}
    assert not any(Path(path).name.startswith(("_", ".")) for path in on_disk(native))


def counts(table: fz.Table) -> list[str]:
    """Rows by partition."""
    partitions = table.inspect.partitions()
    names = [name for name in partitions.column_names if name in ("partition", "record_count")]
    return sorted(map(str, partitions.select(names).to_pylist()))


def leaves(fields: tuple[fz.schema.Field, ...]) -> list[fz.schema.Field]:
    return [leaf for field in fields for leaf in (leaves(field.children) if field.children else [field])]


def field_ids(file: pq.ParquetFile) -> list[int]:
    """Of the leaves, in order."""

    def ids(field: pa.Field) -> list[int]:
        if pa.types.is_struct(field.type):
            return [number for child in field.type for number in ids(child)]
        return [int(field.metadata[b"PARQUET:field_id"])]

    return [number for field in file.schema_arrow for number in ids(field)]


def test_metrics_are_those_of_frazils_writer(spark, catalog: fz.Catalog) -> None:
    """But for how often NaN comes, which no footer says, and bounds of floats where it does."""
    files = {}
    for engine in ("native", "arrow"):
        table = catalog.create_table(f"db.{engine}", SCHEMA)
        fz.spark.append(frame(spark).coalesce(1), table, engine=engine)
        (files[engine],) = table.refresh().inspect.files().to_pylist()
    for name in ("record_count", "value_counts", "null_value_counts", "lower_bounds", "upper_bounds"):
        native, arrow = (dict(f[name]) if isinstance(f[name], list) else f[name] for f in files.values())
        if isinstance(native, dict):
            floats = [8]
            native, arrow = ({k: v for k, v in of.items() if k not in floats} for of in (native, arrow))
        assert native == arrow, name


def test_operations(spark, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA, partition_by=["country"])
    df = frame(spark)
    for _ in range(2):
        fz.spark.append(df, table, engine="native", job_id="monday", snapshot_properties={"why": "test"})
    assert table.refresh().scan().count() == 80
    assert table.snapshot.summary["why"] == "test"
    assert table.snapshot.summary["engine-name"] == "spark"
    fz.spark.overwrite(df.where("id < 4"), table, "country = 'NO'", engine="native")
    assert table.refresh().scan().count() == 80 - 20 + 4
    fz.spark.overwrite_partitions(df.where("country is null"), table, engine="native")
    assert table.refresh().scan("country is null").count() == 20
    table.refs.create_branch("audit")
    fz.spark.append(df.select("id"), table, engine="native", branch="audit")
    assert table.refresh().scan("country is null", at="audit").count() == 100
    before = table.metadata_location, on_disk(table)
    fz.spark.append(df.where("id < 0"), table, engine="native")
    assert (table.refresh().metadata_location, on_disk(table)) == before
    fz.spark.overwrite(df.where("id < 7"), table, engine="native")
    assert table.refresh().scan().count() == 7


def reason(df, table: fz.Table) -> str:
    lane = fz.spark.explain_write(df, table)
    assert lane.engine == "arrow"
    with pytest.raises(fz.UnsupportedError, match="would not write files like those of Iceberg's writers"):
        fz.spark.append(df, table, engine="native")
    assert "Frazil's writer" in str(lane)
    return lane.reason or ""


@pytest.mark.parametrize(
    ("type_", "query", "says"),
    [
        (pa.list_(pa.int32()), "array(1)", "field ids inside lists and maps"),
        (pa.map_(pa.string(), pa.int32()), "map('a', 1)", "field ids inside lists and maps"),
        (pa.binary(4), "cast('abcd' as binary)", "no type fixed"),
        (pa.timestamp("ns"), "timestamp_ntz'2020-01-01 00:00:00'", "no type timestamp_ns"),
        (pa.time64("us"), "1L", "no type time"),
        (pa.struct([("a", pa.int32())]), "named_struct('b', 1)", "the rows have struct"),
        (pa.struct([("a", pa.list_(pa.int32()))]), "named_struct('a', array(1))", "'v.a'"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_types_that_spark_would_write_otherwise(spark, catalog: fz.Catalog, type_, query: str, says: str) -> None:
    version = {"format-version": "3"} if "timestamp[ns" in str(type_) else {}
    table = catalog.create_table("db.t", pa.schema([("v", type_)]), properties=version)
    assert says in reason(spark.sql(f"select {query} v"), table)


@pytest.mark.parametrize(
    ("type_", "query", "value"),
    [
        (pa.int32(), "7L", 7),
        (pa.string(), "7", "7"),
        (pa.decimal128(9, 2), "cast(7 as decimal(9, 3))", 7),
        (pa.timestamp("us", tz="UTC"), "timestamp_ntz'2020-01-01 00:00:00'", None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_values_have_the_types_of_the_table_before_spark_writes(
    spark, catalog: fz.Catalog, type_: pa.DataType, query: str, value: Any
) -> None:
    table = catalog.create_table("db.t", pa.schema([("v", type_)]))
    rows = spark.sql(f"select {query} v")
    assert fz.spark.explain_write(rows, table).engine == "native"
    fz.spark.append(rows, table, engine="native")
    expected = rows.selectExpr("cast(v as timestamp) v").first()["v"].timestamp() if value is None else value
    (found,) = table.refresh().scan().to_arrow()["v"].to_pylist()
    assert (found.timestamp() if value is None else found) == expected


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"write.format.default": "orc"}, "format orc"),
        ({"write.parquet.compression-codec": "brotli"}, "codec brotli"),
        ({"write.parquet.compression-level": "9", "write.parquet.compression-codec": "gzip"}, "for zstd only"),
        ({"write.parquet.bloom-filter-enabled.column.id": "true"}, "known to Frazil's writer only"),
        ({"write.object-storage.enabled": "true"}, "hashes"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_properties_that_are_frazils(spark, catalog: fz.Catalog, properties: dict[str, str], says: str) -> None:
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64())]), properties=properties)
    assert says in reason(spark.range(3), table)


def test_names_and_orders_that_are_frazils(spark, catalog: fz.Catalog) -> None:
    odd = catalog.create_table("db.odd", pa.schema([("a b", pa.int64())]))
    assert "another name" in reason(spark.range(3).withColumnRenamed("id", "a b"), odd)
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64()), ("x", pa.float64())]))
    assert "no column 'other'" in reason(spark.sql("select 1L id, 2D other"), table)
    assert fz.spark.explain_write(spark.sql("select 1L ID"), table).engine == "native"
    floats = catalog.create_table("db.floats", pa.schema([("x", pa.float64())]), sort_by=["x"])
    assert "sort order" in reason(spark.sql("select 1D x"), floats)
    by = catalog.create_table("db.by", pa.schema([("v", pa.decimal128(9, 2))]), partition_by=["v"])
    assert "partition field 'v'" in reason(spark.sql("select cast(1 as decimal(9, 2)) v"), by)
    v3 = catalog.create_table("db.v3", table.schema, properties={"format-version": "3"})
    assert "may have a default" in reason(spark.range(3), v3)
    with pytest.raises(fz.InvalidInputError, match="engine must be"):
        fz.spark.append(spark.range(3), table, engine="fast")  # type: ignore[arg-type]
    spark.conf.set("spark.frazil.native.schemes", "s3")
    try:
        assert "is not said to write" in reason(spark.range(3), table)
    finally:
        spark.conf.unset("spark.frazil.native.schemes")


def test_properties_reach_spark(spark, catalog: fz.Catalog) -> None:
    properties = {"write.parquet.compression-codec": "gzip", "write.parquet.page-row-limit": "100"}
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64())]), properties=properties)
    fz.spark.append(spark.range(0, 5000, 1, 1), table, engine="native")
    (task,) = table.refresh().scan().plan_files()
    column = pq.ParquetFile(task.data_file.path.removeprefix("file://")).metadata.row_group(0).column(0)
    assert column.compression == "GZIP"


# ---------------------------------------------------------------- what goes wrong


def test_a_failing_job_leaves_nothing(spark, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA).append(pa.Table.from_pylist([{"id": -1}], SCHEMA))
    before = on_disk(table), table.metadata_location
    bad = frame(spark).withColumn("ok", native_write.f.expr("if(id = 79, raise_error('bad row'), ok)"))
    with pytest.raises(Exception, match="bad row"):
        fz.spark.append(bad, table, engine="native")
    assert (on_disk(table), table.refresh().metadata_location) == before
    assert list(folder(table).glob("frazil-job-*")) == []


def test_nulls_of_required_columns(spark, catalog: fz.Catalog) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.string())])
    table = catalog.create_table("db.t", schema)
    fz.spark.append(spark.sql("select id, string(id) s from range(5)"), table, engine="native")
    with pytest.raises(fz.InvalidInputError, match="required column"):
        fz.spark.append(spark.sql("select if(id = 3, null, id) id, 's' s from range(5)"), table, engine="native")
    assert table.refresh().scan().count() == 5
    assert len(on_disk(table)) == len(list(table.scan().plan_files()))


@pytest.mark.parametrize(
    ("setting", "value"),
    [("spark.sql.parquet.outputTimestampType", "INT96"), ("spark.sql.parquet.fieldId.write.enabled", "false")],
)
def test_settings_that_another_thread_changes(
    spark, catalog: fz.Catalog, monkeypatch: pytest.MonkeyPatch, setting: str, value: str
) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    monkeypatch.setattr(native_write, "_SETTINGS", {setting: value})
    with pytest.raises(fz.InvalidInputError) as raised:
        fz.spark.append(frame(spark), table, engine="native")
    assert "path" in raised.value.context
    assert on_disk(table) == set()
    monkeypatch.undo()
    before = spark.conf.get(setting)
    fz.spark.append(frame(spark), table, engine="native")
    assert spark.conf.get(setting) == before


def test_rows_in_the_folder_of_another_partition(spark, catalog: fz.Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    table = catalog.create_table("db.t", SCHEMA, partition_by=["day(ts)"])
    monkeypatch.setattr(native_write, "_folder", lambda part, source: native_write.f.lit("v7"))
    with pytest.raises(fz.InvalidInputError, match="another partition than its folder"):
        fz.spark.append(frame(spark), table, engine="native")
    assert on_disk(table) == set()


def test_files_that_went_elsewhere(spark, catalog: fz.Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when executors write to disks of their own."""
    table = catalog.create_table("db.t", SCHEMA)
    monkeypatch.setattr(native_write, "place_for_spark", lambda spark, path: f"file:{tmp_path}/elsewhere")
    with pytest.raises(fz.NotFoundError, match="not where this process looks"):
        fz.spark.append(frame(spark), table, engine="native")
    assert table.refresh().snapshot is None


def test_no_rows(spark, catalog: fz.Catalog) -> None:
    for by in ([], ["day(ts)"]):
        table = catalog.create_table(f"db.t{len(by)}", SCHEMA, partition_by=by)
        for rows in (
            frame(spark).where("false"),
            frame(spark).where("id < 0"),
            spark.createDataFrame([], frame(spark).schema),
        ):
            fz.spark.append(rows, table, engine="native")
        assert on_disk(table) == set()
        assert table.refresh().scan().count() == 0


def test_what_a_killed_job_left_is_an_orphan(spark, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    fz.spark.append(frame(spark), table, engine="native")
    live = on_disk(table)
    left = folder(table) / "frazil-job-dead" / "_temporary" / "0" / "_temporary" / "attempt_0"
    left.mkdir(parents=True)
    for name in ("part-0.parquet", ".part-0.parquet.crc"):
        (left / name).write_bytes(b"x")
    (folder(table) / "_hidden").write_bytes(b"of somebody else")
    assert table.refresh().maintain.remove_orphan_files().files == []
    for path in folder(table).rglob("*"):
        os.utime(path, (0, 0))
    gone = table.maintain.remove_orphan_files().files
    assert {Path(path).name for path in gone} == {"part-0.parquet", ".part-0.parquet.crc"}
    assert on_disk(table) == live | {"_hidden"}


def test_two_jobs_at_once(spark, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    jobs = [threading.Thread(target=fz.spark.append, args=(frame(spark), table)) for _ in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert table.refresh().scan().count() == 160


RETRIES = """
import os, signal, sys
from pyspark import TaskContext
from pyspark.sql import SparkSession
import frazil as fz

native, arrow = sys.argv[1:]
spark = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").getOrCreate()

def dies(batches):
    context = TaskContext.get()
    for batch in batches:
        yield batch
    if context.attemptNumber() == 0 and context.partitionId() % 2:
        raise OSError("the disk is gone")
    if context.attemptNumber() == 1 and context.partitionId() == 1:
        os.kill(os.getpid(), signal.SIGKILL)

df = spark.range(0, 1000, 1, 4).mapInArrow(dies, "id long")
for engine, place in (("native", native), ("arrow", arrow)):
    fz.spark.append(df, place, engine=engine)
    rows = fz.open_table(place).scan().to_arrow()["id"].to_pylist()
    assert sorted(rows) == list(range(1000)), (engine, len(rows))
spark.stop()
print("all right")
"""


def test_tasks_that_die_and_run_again(catalog: fz.Catalog) -> None:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 (no 'java' on the PATH)")
    schema = pa.schema([("id", pa.int64())])
    tables = [catalog.create_table(f"db.{name}", schema) for name in ("native", "arrow")]
    done = subprocess.run(
        [sys.executable, "-c", RETRIES, *(t.location.removeprefix("file://") for t in tables)],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip().endswith("all right"), done.stdout + done.stderr[-3000:]
    native = tables[0].refresh()
    live = {task.data_file.path.rsplit("/", 1)[-1] for task in native.scan().plan_files()}
    assert {Path(path).name for path in on_disk(native)} == live


def test_settings_are_as_before_however_many_threads_changed_them(spark) -> None:
    name = "spark.sql.parquet.writeLegacyFormat"
    first, second = (changed_setting(spark, name, "true") for _ in range(2))
    before = spark.conf.get(name)
    for step in (first.__enter__, second.__enter__):
        step()
    first.__exit__(None, None, None)
    assert spark.conf.get(name) == "true" != before
    second.__exit__(None, None, None)
    assert spark.conf.get(name) == before


def test_columns_named_as_folders_of_partitions(spark, catalog: fz.Catalog) -> None:
    schema = pa.schema([("frazil_0", pa.int64()), ("g", pa.string())])
    table = catalog.create_table("db.t", schema, partition_by=["g"])
    fz.spark.append(spark.sql("select id frazil_0, 'a' g from range(3)"), table)
    assert table.refresh().scan().to_arrow()["frazil_0"].to_pylist() == [0, 1, 2]
