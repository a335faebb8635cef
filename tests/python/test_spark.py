"""In and out of PySpark."""

from __future__ import annotations

import datetime as dt
import pickle
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.datasource import DataSourceReader

import frazil as fz
from conftest import event_rows
from frazil import _core
from frazil.spark import FrazilDataSource
from frazil.spark.lanes import arrow as lanes
from frazil.spark.writing.writer import FrazilWriter

pytestmark = pytest.mark.spark


def path_of(table: fz.Table) -> str:
    return table.location.removeprefix("file://")


def as_rows(table: pa.Table) -> list[dict[str, object]]:
    return sorted(table.to_pylist(), key=lambda r: r["id"])


def same(df, scan: fz.Scan) -> None:
    """The DataFrame has the scan's rows, compared as Arrow."""
    got, want = df.toArrow().sort_by("id"), scan.to_arrow().sort_by("id")
    assert got.schema.names == want.schema.names
    assert got.num_rows == want.num_rows
    for name in want.schema.names:
        g, w = got.column(name).combine_chunks(), want.column(name).combine_chunks()
        assert g.cast(w.type).equals(w) or str(g.to_pylist()) == str(w.to_pylist()), name


def test_read(spark, events: fz.Table) -> None:
    df = fz.spark.read(spark, events)
    assert df.schema == fz.spark.spark_schema(events.schema)
    same(df, events.scan())
    same(fz.spark.read(spark, path_of(events)), events.scan())
    assert df.count() == 200
    assert df.groupBy("country").count().count() == 4
    assert df.select("payload.tags").where("id = 6").collect() == [(["6", None],)]


def test_read_with_filter_columns_and_version(spark, events: fz.Table) -> None:
    first = events.snapshots[0].id
    df = fz.spark.read(spark, events, filter=fz.col("id") > 30, select=["id", "payload.a"], at=first)
    assert df.columns == ["id", "payload"]
    same(df, events.scan("id > 30", select=["id", "payload.a"], at=first))
    assert events.scan("id > 30").limit(7).to_spark(spark).count() == 7


def test_each_split_is_a_task(spark, events: fz.Table) -> None:
    splits = events.scan().plan()
    df = events.scan(options={"split-size": 1, "file-open-cost": 1}).to_spark(spark, engine="arrow")
    assert len(splits) == 1
    assert df.rdd.getNumPartitions() == 10
    sizes = df.rdd.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()
    assert sum(sizes) == 200
    assert max(sizes) <= 24


def test_a_read_is_never_broadcast_by_mistake(spark, events: fz.Table) -> None:
    df = fz.spark.read(spark, events, select=["id"], engine="arrow")
    text = df.alias("a").join(df.alias("b"), "id")._jdf.queryExecution().toString()
    assert "BroadcastHashJoin" not in text


@pytest.fixture
def packed(monkeypatch) -> None:
    """No scan has too few splits for tasks to be packed."""
    monkeypatch.setattr(lanes, "MANY_SPLITS", 1)

    def unpacked(*_: object) -> None:
        raise AssertionError("tasks must not travel one by one")

    monkeypatch.setattr(lanes, "scattered", unpacked)


def test_packed_tasks_are_read(spark, packed, events: fz.Table) -> None:
    one_each = {"split-size": 1, "file-open-cost": 1}
    df = events.scan(options=one_each).to_spark(spark, engine="arrow")
    assert df.rdd.getNumPartitions() == 10
    same(df, events.scan())
    same(df, events.scan())
    assert df.select("id").where("country = 'NO'").count() == 50
    scan = events.scan("country = 'NO' and id > 30", select=["id", "payload.a"], options=one_each)
    same(scan.to_spark(spark, engine="arrow"), scan)
    other = events.scan("id < 60", select=["id"], options=one_each).to_spark(spark, engine="arrow")
    assert df.unionAll(df).join(other, "id").count() == 120


def test_packed_tasks_have_deletes_changes_and_partitions(spark, packed, catalog: fz.Catalog) -> None:
    rows = event_rows(0, 60)
    properties = {"write.delete.mode": "merge-on-read"}
    table = catalog.create_table("db.t", rows.schema, partition_by=["country"], properties=properties).append(rows)
    with table.update_partition_spec() as update:
        update.add_field("day(ts)")
    table = table.refresh().append(event_rows(60, 60)).delete("id in (3, 7, 77)")
    same(fz.spark.read(spark, table, engine="arrow"), table.scan())
    since = table.snapshots[0].id
    changes = table.changes(since=since).to_spark(spark, engine="arrow")
    assert sorted(row.id for row in changes.where("_change_type = 'delete'").collect()) == [3, 7, 77]
    assert changes.count() == table.changes(since=since).to_arrow().num_rows == 63


def test_packed_tasks_are_never_broadcast_into_a_join(spark, packed, events: fz.Table) -> None:
    df = fz.spark.read(spark, events, select=["id"], engine="arrow")
    assert int(str(df._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())) > 1 << 40
    joined = df.alias("a").join(df.alias("b"), "id")
    assert joined.count() == 200
    assert "BroadcastHashJoin" not in joined._jdf.queryExecution().toString()
    assert joined.groupBy("id").count().count() == 200
    assert "BroadcastHashJoin" not in joined._jdf.queryExecution().toString()


def test_damaged_packs_are_refused(events: fz.Table) -> None:
    splits = [split._core for split in events.scan(options={"split-size": 1, "file-open-cost": 1}).plan()]
    whole = _core.Split.pack_tasks(splits)
    assert all(splits[0].with_packed_tasks(whole, i) == split for i, split in enumerate(splits))
    for bad, number in ((whole, len(splits)), (whole[:-1], 0), (b"", 0), (whole[:50] + b"x" + whole[51:], 0)):
        with pytest.raises(fz.InvalidInputError, match="pack"):
            splits[0].with_packed_tasks(bad, number)


def test_empty_tables_and_empty_plans(spark, catalog: fz.Catalog, events: fz.Table) -> None:
    empty = catalog.create_table("db.empty", events.schema)
    for scan in (empty.scan(), events.scan("id < 0")):
        df = scan.to_spark(spark)
        assert df.schema == fz.spark.spark_schema(events.schema)
        assert df.collect() == []
    assert spark.read.format("frazil").load(path_of(empty)).collect() == []
    assert spark.read.format("frazil").option("filter", "id < 0").load(path_of(events)).count() == 0


def test_every_type(spark, every_type: fz.Table) -> None:
    rows = fz.spark.read(spark, every_type).orderBy("i").collect()
    nulls, values = rows
    assert all(v is None for v in nulls)
    assert values.u == "00000000-0000-0000-0000-000000000007"
    assert bytes(values.fix) == b"\x00\x01\x02"
    assert values.ts == dt.datetime(2023, 1, 1, 12, 30, 0, 5)
    assert values.m == {"k": 1.5}
    assert values.li == [1, None]
    assert values.st == (1, None)
    again = spark.read.format("frazil").load(path_of(every_type)).orderBy("i").collect()
    assert str(again) == str(rows)


def test_times_are_refused_by_name(spark, catalog: fz.Catalog) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64()), "t": pa.array([dt.time(1, 2)], pa.time64("us"))})
    table = catalog.create_table("db.times", rows.schema).append(rows)
    with pytest.raises(fz.UnsupportedError, match="'t'"):
        fz.spark.read(spark, table)
    assert fz.spark.read(spark, table, select=["id"]).collect() == [(1,)]


def test_the_format_is_found_without_registering(spark, events: fz.Table) -> None:
    df = spark.read.format("frazil").load(path_of(events))
    assert df.schema == fz.spark.spark_schema(events.schema)
    same(df, events.scan())


@pytest.mark.parametrize(
    ("options", "scan"),
    [
        ({"columns": "id, country"}, {"select": ["id", "country"]}),
        ({"columns": '["id", "payload.a"]'}, {"select": ["id", "payload.a"]}),
        ({"filter": "country = 'NO' and id < 100"}, {"filter": "country = 'NO' and id < 100"}),
        ({"branch": "main"}, {"at": "main"}),
        ({"Columns": "id", "FILTER": "id > 3"}, {"select": ["id"], "filter": "id > 3"}),
        ({"split-size": "1", "file-open-cost": "1", "lookback": "1"}, {}),
    ],
)
def test_read_options(spark, events: fz.Table, options: dict[str, str], scan: dict[str, object]) -> None:
    same(spark.read.format("frazil").options(**options).load(path_of(events)), events.scan(**scan))


def test_the_format_takes_a_plan_cache(spark, events: fz.Table, tmp_path: Path) -> None:
    options = {"plan-cache": str(tmp_path / "kept"), "Plan-Cache-Bytes": str(1 << 20), "max-plan-bytes": str(1 << 20)}
    same(spark.read.format("frazil").options(**options).load(path_of(events)), events.scan())
    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_read_versions(spark, events: fz.Table) -> None:
    first, second = events.snapshots
    read = spark.read.format("frazil")
    assert read.option("snapshot-id", str(first.id)).load(path_of(events)).count() == 100
    millis = str(round(second.timestamp.timestamp() * 1000))
    assert spark.read.format("frazil").option("as-of-timestamp", millis).load(path_of(events)).count() == 200
    between = {"start-snapshot-id": first.id, "end-snapshot-id": second.id}
    assert spark.read.format("frazil").options(**between).load(path_of(events)).agg({"id": "min"}).first()[0] == 100
    del between["end-snapshot-id"]
    assert fz.spark.read(spark, events, options=between, select=["id"]).count() == 100
    assert fz.spark.read(spark, events, options={"as-of-timestamp": millis, "filter": "id < 7"}).count() == 7
    for wrong in ({"filter": "id > 1"}, {"snapshot-id": first.id}, {"colums": "id"}):
        with pytest.raises(fz.InvalidInputError):
            fz.spark.read(spark, events, filter="id > 0", at="main", options=wrong)
    text = second.timestamp.isoformat()
    assert spark.read.format("frazil").option("as-of-timestamp", text).load(path_of(events)).count() == 200
    text = second.timestamp.replace(tzinfo=None).isoformat()
    assert spark.read.format("frazil").option("as-of-timestamp", text).load(path_of(events)).count() == 200


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"colums": "id"}, "there is no option 'colums'"),
        ({"snapshot-id": "x"}, "must be an integer"),
        ({"snapshot-id": "1", "branch": "main"}, "can't be combined"),
        ({"tag": "main"}, "is a branch, not a tag"),
        ({"end-snapshot-id": "1"}, "needs 'start-snapshot-id'"),
        ({"start-snapshot-id": "1", "branch": "main"}, "can't be combined"),
        ({"split-size": "x"}, "must be an integer"),
        ({"filter": "nope = 1"}, "nope"),
        ({"columns": "nope"}, "nope"),
        ({"as-of-timestamp": "yesterday"}, "is not a timestamp"),
        ({"max-plan-bytes": "1"}, "more than the limit of 1"),
        ({"plan-cache-bytes": "few"}, "not a number of bytes"),
    ],
)
def test_wrong_read_options(spark, events: fz.Table, options: dict[str, str], says: str) -> None:
    with pytest.raises(Exception, match=says):
        spark.read.format("frazil").options(**options).load(path_of(events)).count()


def test_a_schema_of_the_users_own_prunes_columns(spark, events: fz.Table) -> None:
    df = spark.read.format("frazil").schema("ok boolean, id bigint").load(path_of(events))
    assert sorted(r.id for r in df.where("ok").collect()) == list(range(0, 200, 3))
    with pytest.raises(Exception, match="does not fit the table in id"):
        spark.read.format("frazil").schema("id int").load(path_of(events)).count()


def test_a_temporary_view(spark, events: fz.Table) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v USING frazil OPTIONS (path '{path_of(events)}')")
    assert spark.sql("SELECT count(*) FROM v WHERE country = 'NO'").collect() == [(50,)]
    spark.catalog.dropTempView("v")


def test_a_table_of_sparks_catalog(spark, catalog: fz.Catalog, events: fz.Table) -> None:
    """Spark forgets the options of such tables: they travel in the schema."""
    copy = catalog.create_table("db.copy", events.schema)
    where = f"path '{path_of(events)}', filter 'id < 150', branch 'main'"
    spark.sql(f"CREATE TABLE in_catalog USING frazil OPTIONS ({where})")
    spark.sql(f"CREATE TABLE copied USING frazil OPTIONS (path '{path_of(copy)}')")
    try:
        assert spark.sql("SELECT count(*), max(id) FROM in_catalog").collect() == [(150, 149)]
        assert spark.sql("SELECT id FROM in_catalog WHERE country = 'NO' AND id < 10").count() == 3
        # Rows of one such table for another come with the first one's schema, options and all.
        for insert in ("INSERT INTO", "INSERT OVERWRITE"):
            with pytest.raises(Exception, match=r"frazil\.spark\.append|overwriting is not supported"):
                spark.sql(f"{insert} copied SELECT * FROM in_catalog")
        with pytest.raises(Exception, match=r"frazil\.spark\.append"):
            spark.table("in_catalog").writeTo("copied").append()
        assert (events.refresh().scan().count(), copy.refresh().scan().count()) == (200, 0)
        fz.spark.append(spark.table("in_catalog").where("id >= 100"), copy)
        assert spark.table("copied").count() == 50
    finally:
        spark.sql("DROP TABLE in_catalog")
        spark.sql("DROP TABLE copied")


def test_secrets_stay_out_of_schemas(events: fz.Table) -> None:
    options = {"path": path_of(events), "s3.secret-access-key": "hush", "provider": "frazil"}
    source = FrazilDataSource(options)
    assert "hush" not in source.schema().json()
    assert path_of(events) in source.schema().json()


def test_no_push_down(spark, events: fz.Table) -> None:
    """Spark keeps the filters of a DataFrame's first query for later ones."""
    reader = FrazilDataSource({"path": path_of(events)}).reader(fz.spark.spark_schema(events.schema))
    pushing = getattr(type(reader), "pushFilters", None)
    assert pushing is getattr(DataSourceReader, "pushFilters", None)
    with pytest.raises(Exception, match="lose rows"):
        spark.read.format("frazil").option("pushdown", "true").load(path_of(events)).count()
    df = spark.read.format("frazil").option("pushdown", "false").load(path_of(events))
    assert (df.where("country = 'NO'").count(), df.count()) == (50, 200)


def test_append(spark, catalog: fz.Catalog, events: fz.Table) -> None:
    copy = catalog.create_table("db.copy", events.schema, partition_by=["day(ts)", "bucket(4, id)"])
    df = fz.spark.read(spark, events).repartition(3)
    df.write.format("frazil").mode("append").save(path_of(copy))
    copy.refresh()
    assert len(copy.snapshots) == 1
    assert copy.snapshot.summary["engine-name"] == "spark"
    assert as_rows(copy.scan("score is not nan").to_arrow()) == as_rows(events.scan("score is not nan").to_arrow())
    fz.spark.append(df.limit(10), copy)
    fz.spark.append(df.limit(5), path_of(copy))
    assert copy.refresh().scan().count() == 215
    assert len(copy.snapshots) == 3


def test_append_every_type(spark, catalog: fz.Catalog, every_type: fz.Table) -> None:
    copy = catalog.create_table("db.copy", every_type.schema)
    fz.spark.append(fz.spark.read(spark, every_type), copy)
    got = copy.refresh().scan().to_arrow().sort_by("i")
    assert str(got.to_pylist()) == str(every_type.scan().to_arrow().sort_by("i").to_pylist())


def test_append_by_name_and_by_sql(spark, catalog: fz.Catalog, events: fz.Table) -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    table = catalog.create_table("db.t", schema)
    spark.sql("select 'x' as b, 1L as a").write.format("frazil").mode("append").save(path_of(table))
    assert table.refresh().scan().to_arrow().to_pylist() == [{"a": 1, "b": "x"}]


def test_append_nothing(spark, events: fz.Table) -> None:
    fz.spark.append(fz.spark.read(spark, events).where("id < 0"), events)
    assert events.refresh().scan().count() == 200


def test_append_to_no_table(spark, events: fz.Table, tmp_path: Path) -> None:
    df = spark.range(3)
    with pytest.raises(Exception, match="Create the table first"):
        df.write.format("frazil").mode("append").save(str(tmp_path / "nothing"))


def test_a_failed_task_leaves_no_files(spark, events: fz.Table) -> None:
    before = sorted(Path(path_of(events)).rglob("*.parquet"))
    df = fz.spark.read(spark, events).repartition(1)
    wrong = df.withColumn("country", _fails_on("id = 150"))
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 10)
    try:
        with pytest.raises(Exception, match="boom"):
            wrong.write.format("frazil").mode("append").save(path_of(events))
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert events.refresh().scan().count() == 200
    deadline = time.monotonic() + 20  # the worker learns of the failure a moment after the driver does
    while sorted(Path(path_of(events)).rglob("*.parquet")) != before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert sorted(Path(path_of(events)).rglob("*.parquet")) == before


def test_aborting_a_job_deletes_what_its_tasks_wrote(events: fz.Table) -> None:
    before = sorted(Path(path_of(events)).rglob("*.parquet"))
    writer = pickle.loads(pickle.dumps(FrazilWriter(events)))
    messages = [writer.write(iter(event_rows(i, 30).to_batches())) for i in (0, 50)]
    messages.append(writer.write(iter([])))
    assert len(sorted(Path(path_of(events)).rglob("*.parquet"))) > len(before)
    writer.abort(pickle.loads(pickle.dumps([*messages, None])))
    assert sorted(Path(path_of(events)).rglob("*.parquet")) == before


def test_an_abort_after_the_commit_deletes_nothing(events: fz.Table) -> None:
    """Spark calls abort when commit raised, which may be after publishing; each runs in a process of its own."""
    before = events.scan().count()
    writer = FrazilWriter(events)
    pickled = pickle.dumps(writer)
    messages = [writer.write(iter(event_rows(0, 30).to_batches()))]
    pickle.loads(pickled).commit(messages)
    pickle.loads(pickled).abort(messages)
    assert fz.open_table(path_of(events)).scan().to_arrow().num_rows == before + 30


def _fails_on(condition: str):
    from pyspark.sql import functions as f

    return f.when(f.expr(condition), f.raise_error(f.lit("boom")).cast("string")).otherwise(f.col("country"))
