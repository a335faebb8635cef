"""Tables with a primary key: upserts by tasks, and procedures that go by times."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.requests.rows import merge_change
from frazil.spark.changes import keyed, merging
from frazil.spark.changes.job import PLACES
from frazil.spark.jobs.job import Job

pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")
pytestmark = pytest.mark.spark

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])


@pytest.fixture
def lake(tmp_path: Path) -> fz.Catalog:
    catalog = fz.catalog("lake", warehouse=tmp_path / "lake")
    catalog.create_namespace("db")
    return catalog


@pytest.fixture
def sql(spark: Any, lake: fz.Catalog) -> Callable[[str], list[Any]]:
    return lambda statement: fz.spark.sql(spark, statement, catalogs={"lake": lake}).collect()


def rows_of(table: fz.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.refresh().scan().to_arrow().to_pylist())


@pytest.fixture
def nothing_on_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise AssertionError("the driver would get the rows")

    monkeypatch.setattr(merging, "_on_driver", refused)


def test_tasks_upsert(spark: Any, executors: None, nothing_on_the_driver: None, lake: fz.Catalog) -> None:
    table = lake.create_table("db.t", SCHEMA, format="paimon", identifier_fields=["id"], properties={"bucket": "2"})
    table.append(pa.table([[1, 2], ["a", "b"]], schema=SCHEMA))
    rows = spark.createDataFrame([("B", 2), ("c", 3)], "V string, id int")
    for _ in range(2):
        fz.spark.upsert(rows, table, ["id"], job_id="once", snapshot_properties={"why": "test"})
        assert rows_of(table) == [(1, "a"), (2, "B"), (3, "c")]
    table = table.refresh()
    assert (len(table.snapshots), table.snapshot.summary["why"]) == (2, "test")
    # A key that comes twice, a column that is missing and another key are left to one task, which merges.
    with pytest.raises(fz.InvalidInputError, match="two rows of the data have the same key"):
        fz.spark.upsert(rows.unionAll(rows), table)
    with pytest.raises(fz.UnsupportedError, match="updating some of the columns"):
        fz.spark.upsert(rows.select("id"), table)
    fz.spark.upsert(rows, table, ["v"])
    assert rows_of(table) == [(1, "a"), (2, "B"), (3, "c")]


def test_a_task_that_merges_again_commits_once(lake: fz.Catalog) -> None:
    table = lake.create_table("db.t", SCHEMA, format="paimon", identifier_fields=["id"], properties={"bucket": "1"})
    table.append(pa.table([[1, 2], ["a", "b"]], schema=SCHEMA))
    table = table.refresh()
    names = ("frazil c0", "frazil c1", "frazil key 0", *PLACES)
    job = keyed.KeyedJob(
        table=lake.load_table("db.t"),
        change=merge_change(["id"], True, False, True, False),
        where="true",
        job=Job(),
        columns=names,
        changed=("id", "v"),
        updated=("v",),
        inserted=("id", "v"),
        deletes_all=False,
    )
    # An update, a delete and an insert.
    columns = [[None, None, 3], ["A", None, "c"], [1, 2, None], ["", "", None], [0, 0, None], [False, True, False]]
    types = [pa.int64(), pa.string(), pa.int64(), pa.string(), pa.int64(), pa.bool_()]
    arrays = [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
    for _ in range(2):
        assert job.write(iter([pa.record_batch(arrays, list(names))]), 0) == []
        assert rows_of(table) == [(1, "A"), (3, "c")]
    assert len(table.refresh().snapshots) == 2
    other = replace(job, job=Job())
    with pytest.raises(fz.CommitConflictError, match="while Spark computed"):
        other.write(iter([pa.record_batch(arrays, list(names))]), 0)


def test_threads_upsert(spark: Any, executors: None, lake: fz.Catalog) -> None:
    table = lake.create_table("db.t", SCHEMA, format="paimon", identifier_fields=["id"], properties={"bucket": "2"})
    rows = {name: spark.range(50).selectExpr("id", f"'{name}' as v") for name in ("x", "y")}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: fz.spark.upsert(rows[name], table), rows))
    found = table.refresh().scan().to_arrow()
    assert sorted(found["id"].to_pylist()) == list(range(50))
    # All rows are those of the later commit.
    assert len(set(found["v"].to_pylist())) == 1


@pytest.mark.parametrize(
    "options",
    [{"bucket": "2", "sequence.field": "v"}, {"bucket": "2", "merge-engine": "aggregation"}, {"bucket": "-1"}],
)
def test_tables_in_which_the_newest_row_may_not_count(
    options: dict[str, str], spark: Any, executors: None, nothing_on_the_driver: None, lake: fz.Catalog
) -> None:
    table = lake.create_table("db.t", SCHEMA, format="paimon", identifier_fields=["id"], properties=options)
    for rows in ([(1, "m"), (2, "m")], [(1, "a"), (2, "z"), (3, "x")]):
        fz.spark.upsert(spark.createDataFrame(rows, "id long, v string"), table)
    first = "m" if "sequence.field" in options else "a"
    assert rows_of(table) == [(1, first), (2, "z"), (3, "x")]
    assert len(table.refresh().snapshots) == 2


def test_one_task_changes_rows_by_a_filter(spark: Any, executors: None, lake: fz.Catalog) -> None:
    table = lake.create_table("db.t", SCHEMA, format="paimon", identifier_fields=["id"], properties={"bucket": "2"})
    table.append(pa.table([[1, 2, 3], ["a", "b", "c"]], schema=SCHEMA))
    done = [fz.spark.update(spark, table, "id > 1", {"v": "new"}, job_id="once") for _ in range(2)]
    assert done[0].rows_updated == 2
    assert rows_of(table) == [(1, "a"), (2, "new"), (3, "new")]
    fz.spark.delete(spark, table, "v = 'a'")
    fz.spark.delete(spark, table, "id = 100")
    assert rows_of(table) == [(2, "new"), (3, "new")]
    assert len(table.refresh().snapshots) == 3


def test_one_task_merges_by_the_key(spark: Any, executors: None, nothing_on_the_driver: None, lake: fz.Catalog) -> None:
    schema = pa.schema([*SCHEMA, ("p", pa.string())])
    table = lake.create_table("db.t", schema, ["p"], format="paimon", identifier_fields=["id"])
    table.append(pa.table([[1, 2, 3], ["a", "b", "c"], ["x", "y", "x"]], schema=schema))
    rows = spark.createDataFrame([(2, "B", "x"), (3, "gone", "x"), (4, "d", "z")], "id long, v string, p string")
    for _ in range(2):
        fz.spark.merge(
            rows,
            table,
            when_matched_delete="v = 'gone'",
            when_matched_update=True,
            when_not_matched_insert=True,
            job_id="once",
        )
    # The key lacks the partition column, so the second row moves.
    assert rows_of(table) == [(1, "a", "x"), (2, "B", "x"), (4, "d", "z")]
    assert len(table.refresh().snapshots) == 2


def test_partitions_expire_by_their_values(sql: Any, lake: fz.Catalog) -> None:
    sql("create table lake.db.p (k int, dt string, hh string) using paimon partitioned by (dt, hh)")
    sql(
        "insert into lake.db.p values (1, '2020-01-01', '10'), (2, '2020-01-02', '11'), (3, '2999-01-01', '00'), "
        "(4, 'odd', '00'), (5, null, '00')"
    )
    call = "call lake.sys.expire_partitions(table => 'db.p', expiration_time => '1 d'"
    by_hour = "timestamp_formatter => 'yyyy-MM-dd HH', timestamp_pattern => '$dt $hh', max_expires => 1)"
    assert sql(f"{call}, {by_hour}") == [("dt=2020-01-01, hh=10",)]
    assert sql(f"{call})") == [("dt=2020-01-02, hh=11",)]
    assert sql(f"{call}, timestamp_formatter => 'yyyyMMdd')") == [("No expired partitions.",)]
    assert [row[0] for row in sql("select k from lake.db.p order by k")] == [3, 4, 5]
    for wrong in ("timestamp_formatter => 'yy-D'", "expire_strategy => 'update-time'"):
        with pytest.raises(fz.UnsupportedError, match="can't be used"):
            sql(f"{call}, {wrong})")


def test_tags_keep_their_time(sql: Any, lake: fz.Catalog) -> None:
    sql("create table lake.db.t (k int) using paimon")
    sql("insert into lake.db.t values (1)")
    for name, kept in (("short", ", time_retained => '1 ms'"), ("old", ", time_retained => '5 d'"), ("ever", "")):
        sql(f"call lake.sys.create_tag(table => 'db.t', tag => '{name}'{kept})")
    sql("call lake.sys.rename_tag(table => 'db.t', tag => 'old', target_tag => 'older')")
    sql("alter table lake.db.t rename tag older to long")
    table = lake.load_table("db.t")
    kept = {row["tag_name"]: row["time_retained"] for row in table.inspect.tags().to_pylist()}
    assert kept == {"short": "PT0.001S", "long": "PT120H", "ever": None}
    assert sql("call lake.sys.expire_tags(table => 'db.t')") == [("short",)]
    assert sql("call lake.sys.expire_tags('db.t', '2999-01-01 00:00:00')") == [("long",)]
    assert sql("call lake.sys.expire_tags('db.t')") == [("No expired tags.",)]
    assert set(table.refresh().refs) == {"main", "ever"}


def test_back_to_a_watermark(sql: Any, lake: fz.Catalog) -> None:
    sql("create table lake.db.t (k int) using paimon")
    for k in (1, 2, 3):
        sql(f"insert into lake.db.t values ({k})")
    table = lake.load_table("db.t")
    with pytest.raises(fz.NotFoundError, match="no snapshot has a watermark"):
        sql("call lake.sys.rollback_to_watermark('db.t', 150)")
    for number in (1, 2, 3):
        path = Path(table.location.removeprefix("file://")) / "snapshot" / f"snapshot-{number}"
        path.write_text(json.dumps({**json.loads(path.read_text()), "watermark": number * 100}))
    assert sql("call lake.sys.rollback_to_watermark('db.t', 250)") == [(3, 2)]
    assert [row[0] for row in sql("select k from lake.db.t order by k")] == [1, 2]


@pytest.mark.parametrize("format", ["iceberg", "paimon"])
def test_static_partitions_are_cast(spark: Any, sql: Any, lake: fz.Catalog, format: str) -> None:
    sql(f"create table lake.db.s (id int, ts timestamp, d date) using {format} partitioned by (ts, d)")
    parts = "partition (ts = '2024-01-01 00:00:00', d = '2024-01-02')"
    sql(f"insert into lake.db.s {parts} values (1), (2)")
    sql("insert into lake.db.s values (3, timestamp '2025-01-01 00:00:00', date '2025-01-01')")
    sql(f"insert overwrite lake.db.s {parts} values (4)")
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        for verb in ("into", "overwrite"):
            with pytest.raises(fz.InvalidInputError, match="does not fit into timestamp"):
                sql(f"insert {verb} lake.db.s partition (ts = 'soon', d = '2024-01-02') values (5)")
    finally:
        spark.conf.set("spark.sql.ansi.enabled", ansi)
    table = lake.load_table("db.s")
    found = sorted((row["id"], row["d"]) for row in table.scan().to_arrow().to_pylist())
    assert found == [(3, dt.date(2025, 1, 1)), (4, dt.date(2024, 1, 2))]


def test_a_new_table_without_a_place(spark: Any, sql: Any) -> None:
    with pytest.raises(fz.InvalidInputError, match="belongs to no catalog") as refused:
        sql("create table nowhere (id int) using frazil")
    assert "catalogs=" in str(refused.value)
    assert not spark.catalog.tableExists("nowhere")


@pytest.mark.parametrize("options", ["using iceberg", "using paimon", "using paimon tblproperties ('bucket' = '-1')"])
def test_constants_are_set_in_tables_without_a_key(sql: Any, lake: fz.Catalog, options: str) -> None:
    sql(f"create table lake.db.a (k int, v string, n bigint) {options}")
    sql("insert into lake.db.a values (1, 'a', 1), (1, 'a', 1), (2, null, 3000000000), (3, 'c', null)")
    sql("update lake.db.a set v = 'z', n = -5 where k >= 2 and k < 3")
    sql("update lake.db.a as t set t.v = '' where t.v = 'a'")
    assert sql("select * from lake.db.a order by k") == [(1, "", 1), (1, "", 1), (2, "z", -5), (3, "c", None)]
    sql("update lake.db.a set k = 7, n = 4000000000L")
    assert sql("select k, n from lake.db.a") == [(7, 4_000_000_000)] * 4
    sql("delete from lake.db.a where v = 'z' or v is null")
    assert sorted(row[0] for row in sql("select v from lake.db.a")) == ["", "", "c"]
