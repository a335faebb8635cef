"""Spark's own habits on write: names by case, store assignment, schemas that change, tables of DataFrames."""

from __future__ import annotations

import datetime as dt
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import frazil as fz
from frazil.spark.tables import known_views
from frazil.spark.workers import registered as registering

pytestmark = pytest.mark.spark


def content(table: fz.Table) -> list[tuple[Any, ...]]:
    found = table.refresh().scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def write(df, table: fz.Table, **options: str) -> None:
    df.write.format("frazil").options(**options).mode("append").save(table.location)


@pytest.mark.parametrize("format", ["iceberg", "paimon"])
def test_names_that_differ_by_case_are_the_same_columns(spark, catalog: fz.Catalog, format: str) -> None:
    inner = pa.struct([("Street", pa.string())])
    schema = pa.schema([("id", pa.int64()), ("Country", pa.string()), ("at", inner)])
    table = catalog.create_table("db.t", schema, format=format)
    df = spark.sql("select 1L as ID, 'no' as country, named_struct('street', 's') as AT")
    fz.spark.append(df, table)
    write(df.drop("AT"), table)
    expected = [(1, "no", None), (1, "no", {"Street": "s"})]
    assert content(table) == expected
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(fz.InvalidInputError, match="no such column"):
            fz.spark.append(df, table)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    with pytest.raises(fz.InvalidInputError, match="meant for column 'Country'"):
        fz.spark.append(df.select("country", f.lit("x").alias("COUNTRY")), table)
    assert content(table) == expected


def test_merges_find_names_by_case(spark, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64()), ("V", pa.string())]))
    table.append(pa.table({"id": [1], "V": ["old"]}))
    fz.spark.upsert(spark.createDataFrame([(1, "new"), (2, "more")], "ID long, v string"), table, ["id"])
    assert content(table) == [(1, "new"), (2, "more")]


NUMBERS = pa.schema([("i", pa.int32()), ("d", pa.decimal128(6, 2)), ("f", pa.float32()), ("s", pa.string())])


@pytest.mark.parametrize("engine", ["auto", "arrow", "df.write"])
def test_numbers_become_other_numbers_or_an_error(spark, catalog: fz.Catalog, engine: Any) -> None:
    table = catalog.create_table("db.t", NUMBERS)

    def put(*columns: str) -> None:
        df = spark.range(1).selectExpr(*columns)
        write(df, table) if engine == "df.write" else fz.spark.append(df, table, engine=engine)

    put("7L as i", "cast(1.005 as decimal(20,3)) as d", "1.5D as f", "12 as s")
    put("1.9D as i", "3 as d")
    assert content(table) == [(1, Decimal("3.00"), None, None), (7, Decimal("1.01"), 1.5, "12")]
    for column in ("5000000000L as i", "cast(12345.6 as decimal(20,3)) as d", "1e12D as i"):
        with pytest.raises(Exception, match=r"does not fit|not fit into") as caught:
            put(column)
        assert engine == "df.write" or isinstance(caught.value, fz.InvalidInputError)
    with pytest.raises(Exception, match=r"can't be written into a column of type int|without loss"):
        put("'12' as i")
    assert len(table.refresh().snapshots) == 2


def test_other_policies_of_store_assignment(spark, catalog: fz.Catalog) -> None:
    inner = pa.list_(pa.struct([("n", pa.int32())]))
    table = catalog.create_table(
        "db.t", pa.schema([("i", pa.int32()), ("l", inner), ("m", pa.map_(pa.string(), pa.int32()))])
    )
    fz.spark.append(spark.sql("select array(named_struct('N', 5L)) as l, map('k', 6L) as m"), table)
    too_much = spark.sql("select 5000000000L as i, array(named_struct('n', 1L)) as l")
    with pytest.raises(fz.InvalidInputError, match=r"column 'l.element.n': 5000000000 does not fit into int"):
        fz.spark.append(spark.sql("select array(named_struct('n', 5000000000L)) as l"), table)
    try:
        spark.conf.set("spark.sql.storeAssignmentPolicy", "STRICT")
        with pytest.raises(fz.InvalidInputError, match="a bigint can't be written"):
            fz.spark.append(too_much, table)
        spark.conf.set("spark.sql.storeAssignmentPolicy", "LEGACY")
        fz.spark.append(too_much, table)
    finally:
        spark.conf.unset("spark.sql.storeAssignmentPolicy")
    assert content(table) == [(None, [{"n": 1}], None), (None, [{"n": 5}], [("k", 6)])]


def versions(table: fz.Table) -> int:
    return len(list(Path(table.location.removeprefix("file://"), "metadata").glob("*.metadata.json")))


def test_rows_bring_columns_in_the_same_commit(spark, catalog: fz.Catalog) -> None:
    schema = pa.schema([("id", pa.int32()), ("g", pa.string())])
    table = catalog.create_table("db.t", schema, partition_by=["g"])
    table.append(pa.table({"id": [1], "g": ["a"]}, schema=schema))
    before = versions(table)
    df = spark.sql("select 5000000000L as ID, 'b' as g, 'new' as note")
    with pytest.raises(fz.InvalidInputError, match="no such column"):
        fz.spark.append(df, table)
    fz.spark.append(df, table, merge_schema=True, job_id="once", snapshot_properties={"why": "test"})
    fz.spark.append(df, table, merge_schema=True, job_id="once")
    assert versions(table) == before + 1
    assert content(table) == [(1, "a", None), (5_000_000_000, "b", "new")]
    assert (table.snapshot.summary["why"], table.schema.field("id").type) == ("test", "long")
    write(df.withColumn("more", f.lit(1)), table, mergeSchema="true")
    assert (table.refresh().schema.names, versions(table)) == (["id", "g", "note", "more"], before + 2)
    fz.spark.overwrite(df.drop("note"), table, overwrite_schema=True)
    assert (content(table), versions(table)) == ([(5_000_000_000, "b")], before + 3)
    with pytest.raises(fz.InvalidInputError, match="whole table"):
        fz.spark.overwrite(df, table, "g = 'b'", overwrite_schema=True)
    with pytest.raises(Exception, match="whole table"):
        write(df, table, overwriteSchema="true")


@pytest.mark.parametrize("more", [{"format": "paimon"}, {"partition_by": ["bucket(2, id)"]}])
def test_columns_come_before_the_rows_where_one_commit_can_not_do_both(spark, catalog: fz.Catalog, more: Any) -> None:
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64())]), **more)
    fz.spark.append(spark.sql("select 1L as id, 'new' as note"), table, merge_schema=True)
    assert content(table) == [(1, "new")]


def test_two_columns_of_one_name_are_refused(spark, catalog: fz.Catalog) -> None:
    schema = pa.schema(
        [("v", pa.int64()), ("v_0", pa.int64()), ("s", pa.struct([("x", pa.int64()), ("x_0", pa.int64())]))]
    )
    table = catalog.create_table("db.t", schema)
    for query in ("select 7L as v, 8L as v", "select struct(7L as x, 8L as x) as s"):
        for put in (write, fz.spark.append):
            with pytest.raises(Exception, match="two columns of one name"):
                put(spark.sql(query), table)
    assert table.refresh().snapshot is None


def test_tables_of_data_frames(spark, catalog: fz.Catalog) -> None:
    df = spark.createDataFrame(
        [(1, "a", {"k": [Decimal("1.50")]})],
        "id long not null comment 'the key', c string, m map<string, array<decimal(9,2)>>",
    )
    table = fz.spark.save_as_table(df, "db.t", catalog=catalog, partition_by=["c"], snapshot_properties={"why": "test"})
    key, _, nested = table.schema.fields
    assert (key.required, key.doc, nested.type) == (True, "the key", "map<string, list<decimal(9, 2)>>")
    assert content(table) == [(1, "a", [("k", [Decimal("1.50")])])]
    with pytest.raises(fz.AlreadyExistsError):
        fz.spark.save_as_table(df, "db.t", catalog=catalog)
    assert len(fz.spark.save_as_table(df, "db.t", "ignore", catalog=catalog).snapshots) == 1
    fz.spark.save_as_table(df, "db.t", "append", catalog=catalog)
    assert table.refresh().scan().count() == 2
    fz.spark.save_as_table(df.drop("m"), "db.t", "overwrite", catalog=catalog)
    assert content(table) == [(1, "a")]
    assert [field.name for field in table.partition_spec.fields] == ["c"]
    broken = spark.sql("select cast(raise_error('no rows') as string) as c")
    with pytest.raises(Exception, match="no rows"):
        fz.spark.save_as_table(broken, "db.broken", catalog=catalog)
    assert not catalog.table_exists("db.broken")
    with pytest.raises(fz.InvalidInputError, match="not a mode"):
        fz.spark.save_as_table(df, "db.t", "upsert", catalog=catalog)  # type: ignore[arg-type]
    with pytest.raises(fz.InvalidInputError, match="no type for Spark's interval"):
        catalog.create_table("db.u", spark.sql("select interval '1' day as i").schema)


def test_a_view_knows_its_table(spark, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64())])).append(pa.table({"id": [1]}))
    assert fz.spark.view(spark, "Fresh", table).count() == 1
    table.append(pa.table({"id": [2]}))
    assert known_views(spark)["fresh"].scan().count() == 2
    assert spark.sql("select * from fresh").count() == 1
    fz.spark.view(spark, "Fresh", table.location)
    assert spark.sql("select * from fresh").count() == 2
    spark.catalog.dropTempView("fresh")
    assert "fresh" not in known_views(spark)


def test_a_stream_goes_on_after_its_last_snapshot_expired(spark, catalog: fz.Catalog, tmp_path: Path) -> None:
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    for number in range(3):
        table.append(pa.table({"id": [number]}))
    seen: list[int] = []

    def drain() -> None:
        rows = spark.readStream.format("frazil").load(table.location)
        query = rows.writeStream.foreachBatch(lambda df, _: seen.extend(row.id for row in df.collect()))
        query.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()

    drain()
    assert table.maintain.compact(min_input_files=2).rewritten_files == 3
    later = dt.datetime.now(dt.timezone.utc) + dt.timedelta(days=1)
    table.refresh().maintain.expire_snapshots(retain_last=1, older_than=later)
    table.refresh().append(pa.table({"id": [3]}))
    drain()
    assert sorted(seen) == [0, 1, 2, 3]


def test_threads_of_one_session(spark, executors, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64()), ("v", pa.string())]))
    table.append(pa.table({"id": [0], "v": ["x"]}))
    registering._KNOWN.clear()
    errors: list[str] = []
    barrier = threading.Barrier(2)

    def merge(number: int) -> None:
        df = spark.range(1, 20).selectExpr("id", f"'w{number}' as v")
        barrier.wait()
        for _ in range(4):
            try:
                fz.spark.merge(df, table.location, ["id"], when_not_matched_insert=True)
            except fz.CommitConflictError:
                continue
            except Exception as error:
                errors.append(repr(error))
            return

    threads = [threading.Thread(target=merge, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [row[0] for row in content(table)] == sorted(range(20), key=lambda n: repr((n,)))


def test_a_session_registers_the_format_once(spark, monkeypatch: pytest.MonkeyPatch) -> None:
    fz.spark.register(spark)
    calls: list[object] = []
    monkeypatch.setattr(type(spark.dataSource), "register", lambda _, source: calls.append(source))
    fz.spark.register(spark)
    assert calls == []
    spark.conf.set("spark.frazil.catalog.other.type", "filesystem")
    try:
        fz.spark.register(spark)
        assert len(calls) == 1
    finally:
        spark.conf.unset("spark.frazil.catalog.other.type")
        registering._KNOWN.clear()
