"""Planning by executors gives the tasks and rows that planning by the driver gives."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz
from conftest import event_rows
from frazil.scan import PlanPart
from frazil.spark.planning.executors import DRIVER_MAX_BYTES, PART_BYTES_CONF
from frazil.spark.planning.kept_plans import CACHE_BYTES_CONF

pytestmark = pytest.mark.spark

COMMITS = 12
FILTERS = [
    None,
    "ts < '2023-01-02T12:00:00Z'",
    "id in (5, 77, 130)",
    "country = 'NO' and id >= 60",
    "score is nan or id < 8",
    "payload.a > 100",
    "day(ts) = '2023-01-03'",
    "id < 0",
]


@pytest.fixture
def many(catalog: fz.Catalog) -> fz.Table:
    """A table of as many manifests as commits, with files of several days in each."""
    rows = event_rows(0, 20 * COMMITS)
    properties = {"commit.manifest-merge.enabled": "false"}
    table = catalog.create_table("db.many", rows.schema, partition_by=["day(ts)"], properties=properties)
    for n in range(COMMITS):
        table = table.append(rows.slice(20 * n, 20))
    return table


@pytest.fixture
def small_parts(spark):
    spark.conf.set(PART_BYTES_CONF, "1")
    yield
    spark.conf.unset(PART_BYTES_CONF)


def path_of(table: fz.Table) -> str:
    return table.location.removeprefix("file://")


def manifests(table: fz.Table) -> list[Path]:
    return [path for path in Path(path_of(table)).rglob("*.avro") if not path.name.startswith("snap-")]


def plan_of(df) -> str:
    return df._jdf.queryExecution().toString()


def rows_of(table: pa.Table) -> list[str]:
    return sorted(str(row) for row in table.to_pylist())


@pytest.mark.parametrize("filter", FILTERS[:4])
def test_the_rows_are_the_same(spark, small_parts, many: fz.Table, filter: str | None) -> None:
    apart = fz.spark.read(spark, many, filter=filter, planning="executors")
    alone = fz.spark.read(spark, many, filter=filter, planning="driver")
    assert apart.schema == alone.schema == fz.spark.spark_schema(many.schema)
    assert rows_of(apart.toArrow()) == rows_of(alone.toArrow())
    assert apart.count() == many.scan(filter).count()


@pytest.mark.parametrize("filter", FILTERS[3:])
def test_the_tasks_are_the_same(spark, small_parts, many: fz.Table, filter: str | None) -> None:
    tasks = fz.spark.plan(spark, many, filter=filter, select=["id"])
    want = many.scan(filter).plan_table()
    assert tasks.columns == [*want.schema.names, "split"]
    got = tasks.drop("split").toArrow()
    assert rows_of(got) == rows_of(want)
    ids = fz.spark.read_tasks(tasks)
    assert rows_of(ids.toArrow()) == rows_of(many.scan(filter, ["id"]).to_arrow())


@pytest.mark.parametrize("filter", FILTERS)
def test_the_parts_pickle_and_are_the_plan(many: fz.Table, filter: str | None) -> None:
    scan = many.scan(filter)
    parts = pickle.loads(pickle.dumps(scan.plan_parts(1)))
    assert parts == scan.plan_parts(1)
    tables = [part.plan_table().drop_columns("split") for part in parts]
    want = scan.plan_table()
    assert pa.concat_tables([want.slice(0, 0), *tables]).to_pylist() == want.to_pylist()
    paths = [task.data_file.path for part in parts for split in part.plan() for task in split.tasks]
    assert paths == [task.data_file.path for task in scan.plan_files()]
    if parts:
        assert len(parts) > 1
        assert "PlanPart(1 data manifests, 0 delete manifests," in repr(parts[0])
    [whole] = scan.plan_parts() or [None]
    assert whole is None or whole.plan() == scan.plan()
    assert sum(part.most_files for part in parts) >= want.num_rows


def test_the_table_may_move_on(spark, small_parts, many: fz.Table) -> None:
    df = fz.spark.read(spark, many, select=["id"], planning="executors")
    part = pickle.dumps(many.scan().plan_parts())
    fz.open_table(path_of(many)).append(event_rows(1000, 10))
    for file in Path(path_of(many), "metadata").glob("*.json"):
        file.unlink()  # as after expiry: planners need the manifests only
    assert df.count() == 240
    [part] = pickle.loads(part)
    assert isinstance(part, PlanPart)
    assert sum(split.to_arrow().num_rows for split in part.plan()) == 240


def test_who_plans(spark, many: fz.Table, catalog: fz.Catalog) -> None:
    marks = ("PlanOnExecutors", "ReadPlanned")

    def by_executors(df) -> bool:
        text = plan_of(df)
        assert (marks[0] in text) == (marks[1] in text)
        return marks[0] in text

    assert by_executors(fz.spark.read(spark, many, planning="executors"))
    assert by_executors(many.scan().to_spark(spark, planning="executors"))
    assert not by_executors(fz.spark.read(spark, many, planning="driver"))
    assert not by_executors(fz.spark.read(spark, many))
    spark.conf.set(DRIVER_MAX_BYTES, "1000")
    spark.conf.set(PART_BYTES_CONF, "20000")
    try:
        assert by_executors(fz.spark.read(spark, many))
        assert by_executors(many.scan().to_spark(spark))
        assert not by_executors(fz.spark.read(spark, many, filter="ts < '2023-01-01T12:00:00Z'"))
        assert not by_executors(many.scan().to_spark(spark, planning="driver"))
        spark.conf.set(DRIVER_MAX_BYTES, "many")
        with pytest.raises(fz.InvalidInputError, match="must be a number of bytes, not 'many'"):
            fz.spark.read(spark, many)
    finally:
        spark.conf.unset(DRIVER_MAX_BYTES)
        spark.conf.unset(PART_BYTES_CONF)
    with pytest.raises(fz.InvalidInputError, match="not 'somebody'"):
        fz.spark.read(spark, many, planning="somebody")
    for mode, expected in (("distributed", True), ("local", False), ("auto", False)):
        properties = {"read.data-planning-mode": mode}
        table = catalog.create_table(f"db.{mode}", many.schema, properties=properties).append(event_rows(0, 5))
        assert by_executors(fz.spark.read(spark, table)) == expected
        assert fz.spark.read(spark, table).count() == 5


def test_change_logs_are_planned_on_the_driver(spark, catalog: fz.Catalog) -> None:
    rows = pa.table({"id": [1, 2]})
    properties = {"read.data-planning-mode": "distributed"}
    table = catalog.create_table("db.log", rows.schema, properties=properties).append(rows)
    first = table.snapshot.id
    table.append(rows)
    assert table.changes().to_spark(spark).count() == 4
    assert table.scan(since=first).to_spark(spark).count() == 2
    with pytest.raises(fz.UnsupportedError, match="Write planning='driver'"):
        table.changes().to_spark(spark, planning="executors")


def test_readers_are_not_joined_into_one(spark, small_parts, many: fz.Table) -> None:
    scan = many.scan(options={"split-size": "5000", "file-open-cost": "1"})
    df = scan.to_spark(spark, planning="executors")
    assert df.rdd.getNumPartitions() > 8
    sizes = [n for n in df.rdd.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect() if n]
    assert sum(sizes) == 240
    assert max(sizes) < 120


@pytest.mark.parametrize("planning", ["driver", "executors"])
def test_what_is_read_is_not_taken_for_small(spark, many: fz.Table, planning: str) -> None:
    """Adaptive execution sees how small the shuffled tasks are; what they read need not be."""
    old = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    # More than the tasks have, less than the ids.
    rows = pa.table({"id": pa.array(range(400_000), pa.int64())})
    big = many.scan().to_arrow().slice(0, 0).select(["id"])
    catalog = fz.catalog("big", warehouse=Path(path_of(many)).parent.parent)
    table = catalog.create_table("db.big", big.schema).append(rows)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", str(1 << 20))
    try:
        df = fz.spark.read(spark, table, planning=planning, engine="arrow")
        joined = df.alias("a").join(df.alias("b"), "id").groupBy().count()
        assert joined.collect() == [(400_000,)]
        final = plan_of(joined).split("== Initial Plan ==")[0]
        assert "SortMergeJoin" in final
        assert "BroadcastHashJoin" not in final.split("== Final Plan ==")[-1]
    finally:
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", old)


def test_limits_and_empty_tables(spark, small_parts, many: fz.Table, catalog: fz.Catalog) -> None:
    assert many.scan().limit(7).to_spark(spark, planning="executors").count() == 7
    assert many.scan("id < 0").limit(7).to_spark(spark, planning="executors").collect() == []
    empty = catalog.create_table("db.nothing", many.schema)
    df = fz.spark.read(spark, empty, planning="executors")
    assert df.schema == fz.spark.spark_schema(many.schema)
    assert df.collect() == []
    tasks = fz.spark.plan(spark, empty)
    assert tasks.collect() == []
    assert fz.spark.read_tasks(tasks).collect() == []


def test_tasks_can_be_chosen_and_kept(spark, small_parts, many: fz.Table, tmp_path: Path) -> None:
    tasks = fz.spark.plan(spark, many, select=["id"], at=many.snapshots[5].id)
    assert fz.spark.read_tasks(tasks).count() == 120
    first = fz.spark.read_tasks(tasks.where("partition = 'ts_day=2023-01-01'"))
    assert sorted(row.id for row in first.collect()) == list(range(24))
    tasks.write.parquet(str(tmp_path / "tasks"))
    assert fz.spark.read_tasks(spark.read.parquet(str(tmp_path / "tasks"))).count() == 120
    for other in (tasks.drop("split"), tasks.selectExpr("concat(split, x'') as split"), spark.range(1)):
        with pytest.raises(fz.InvalidInputError, match=r"does not have tasks of frazil\.spark\.plan"):
            fz.spark.read_tasks(other)


def test_a_missing_manifest_is_named(spark, small_parts, many: fz.Table) -> None:
    df = fz.spark.read(spark, many, planning="executors")
    gone = manifests(many)[3]
    os.unlink(gone)
    with pytest.raises(Exception, match="NotFoundError") as caught:
        df.count()
    assert gone.name in str(caught.value)


def test_what_parts_can_not_do(spark, small_parts, many: fz.Table) -> None:
    appended = many.scan(since=many.snapshots[9].id, select=["id"])
    with pytest.raises(fz.UnsupportedError):
        appended.to_spark(spark, planning="executors")
    assert "PlanOnExecutors" not in plan_of(appended.to_spark(spark))
    assert appended.to_spark(spark).count() == 40
    with pytest.raises(fz.InvalidInputError, match="more than the limit of 1000"):
        many.scan(max_plan_bytes=1000).plan_parts()


def kept(spark) -> set[Path]:
    """The manifests that the driver keeps."""
    return set(Path(spark.sparkContext._temp_dir, "frazil-plans").glob("*.plan"))


def test_the_driver_keeps_plans_from_the_third_on(spark, many: fz.Table) -> None:
    filter = "country = 'NO' and id >= 60"
    expected = sorted(many.scan(filter).to_arrow()["id"].to_pylist())
    before, counts = kept(spark), []
    for _ in range(4):
        rows = fz.spark.read(spark, path_of(many), filter=filter)
        assert sorted(row.id for row in rows.select("id").collect()) == expected
        counts.append(len(kept(spark) - before))
    assert counts[:2] == [0, 0]
    assert counts[2] == counts[3] > 0
    # What is kept serves queries and other filters, and a newer version adds to it.
    many = many.append(event_rows(1000, 1010))
    found = fz.spark.sql(spark, "select count(*) from t where id >= 100", {"t": path_of(many)}).collect()[0][0]
    assert found == many.scan("id >= 100").count()
    assert len(kept(spark) - before) > counts[3]


def test_plans_are_kept_only_where_that_is_wanted(spark, many: fz.Table, tmp_path: Path) -> None:
    before = kept(spark)
    spark.conf.set(CACHE_BYTES_CONF, "0")
    try:
        for _ in range(4):
            fz.spark.read(spark, many)
        spark.conf.set(CACHE_BYTES_CONF, "much")
        with pytest.raises(fz.InvalidInputError, match="cache-bytes must be a number of bytes"):
            fz.spark.read(spark, many)
    finally:
        spark.conf.unset(CACHE_BYTES_CONF)
    for _ in range(4):
        fz.spark.read(spark, many, options={"Plan-Cache": str(tmp_path / "own")})
    assert kept(spark) == before
    assert list((tmp_path / "own").iterdir())
