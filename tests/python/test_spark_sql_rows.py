"""Rows that statements of SQL must find or leave: texts that plans show without quotes, and constants."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")
pytestmark = pytest.mark.spark


@pytest.fixture
def lake(tmp_path: Path) -> fz.Catalog:
    catalog = fz.catalog("lake", warehouse=tmp_path / "lake")
    catalog.create_namespace("db")
    return catalog


@pytest.fixture
def sql(spark: Any, lake: fz.Catalog) -> Callable[[str], list[Any]]:
    return lambda statement: fz.spark.sql(spark, statement, catalogs={"lake": lake}).collect()


def column(table: fz.Table, name: str) -> list[Any]:
    return sorted(table.refresh().scan(select=[name]).to_arrow()[name].to_pylist())


@pytest.mark.parametrize("format", ["iceberg", "paimon"])
def test_quotes_in_constants(sql: Any, lake: fz.Catalog, format: str) -> None:
    rows = pa.table({"s": ["it's", "its", "a"], "n": pa.array([1, 2, 3], pa.int64())})
    options: dict[str, Any] = {"identifier_fields": ["n"]} if format == "paimon" else {"partition_by": "s"}
    fields = [pa.field("s", pa.string()), pa.field("n", pa.int64(), nullable=format != "paimon")]
    table = lake.create_table("db.t", pa.schema(fields), format=format, **options)
    table.append(rows.cast(pa.schema(fields)))
    sql("update lake.db.t set n = 10 where s in ('it''s', 'b')" if format == "iceberg" else "select 1")
    sql("delete from lake.db.t where s = 'it''s'")
    assert column(table, "s") == ["a", "its"]
    sql("delete from lake.db.t where s = 'a' or s = ''")
    assert column(table, "s") == ["its"]
    if format == "iceberg":
        with pytest.raises(fz.InvalidInputError, match="can't be said as a filter"):
            sql("insert into lake.db.t replace where s = 'it''s' select 'x', 1L")
        assert column(table, "s") == ["its"]


def test_names_in_double_quotes(spark: Any, sql: Any, lake: fz.Catalog) -> None:
    rows = pa.table({"s": ["u", "x", "c"], "u": ["a", "x", "b"]})
    table = lake.create_table("db.q", data=rows)
    sql('delete from lake.db.q where s = "c"')
    assert column(table, "s") == ["u", "x"]
    spark.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    try:
        sql('delete from lake.db.q where s = "u"')
    finally:
        spark.conf.unset("spark.sql.ansi.doubleQuotedIdentifiers")
    assert column(table, "s") == ["u"]


def test_constants_are_not_cast_from_wider_types(sql: Any, lake: fz.Catalog) -> None:
    table = lake.create_table("db.n", data=pa.table({"id": [9007199254740992, 9007199254740993, 5]}))
    # Spark compares as doubles, which are equal.
    sql("delete from lake.db.n where id = 9007199254740992D")
    assert column(table, "id") == [5]


def test_texts_with_spaces_at_their_ends(spark: Any, sql: Any, lake: fz.Catalog) -> None:
    texts = ["NORTH", "NO ", "NO", "NO WAY", "a, b", "a"]
    table = lake.create_table("db.s", data=pa.table({"c": texts}), partition_by="c")
    for condition, want in [
        ("c not like 'NO %' and c <> 'NO'", ["NORTH", "a", "a, b"]),
        ("not (c like 'NO %' or c = 'NO')", ["NORTH", "a", "a, b"]),
        ("c = rpad('NO', 3, ' ')", ["NO "]),
        ("c = concat('NO', space(1))", ["NO "]),
        ("c in (substr(cast(array('a', 'b') as string), 2, 4), 'z')", ["a, b"]),
        ("c like 'NO%' and c <> 'NO'", ["NO ", "NO WAY", "NORTH"]),
    ]:
        assert sorted(row[0] for row in sql(f"select c from lake.db.s where {condition}")) == want, condition
    fz.spark.delete(spark, table, "c not like 'NO %' and c <> 'NO' and length(c) > 0")
    assert column(table, "c") == ["NO", "NO ", "NO WAY"]


def test_names_with_marks_of_schemas(sql: Any, lake: fz.Catalog) -> None:
    rows = pa.table({"x,y": [0, 1], "y": [2, 3], "x": [4, 5], "a": [6, 7], "a:b": [8, 9]})
    lake.create_table("db.odd", data=rows)
    assert sql("select `x,y`, x from lake.db.odd where y = 2") == [(0, 4)]
    assert sql("select `a:b` from lake.db.odd where `x,y` = 1") == [(9,)]


def test_members_are_assigned_as_columns_are(spark: Any, sql: Any, lake: fz.Catalog) -> None:
    fields = [("s", pa.struct([("a", pa.int32())])), ("l", pa.list_(pa.int32()))]
    table = lake.create_table("db.m", pa.schema(fields))
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        for wrong in ("named_struct('b', 3000000000L), array(1)", "named_struct('b', 1), array('y')"):
            with pytest.raises(Exception, match=r"does not fit|can't be written"):
                sql(f"insert into lake.db.m select {wrong}")
    finally:
        spark.conf.set("spark.sql.ansi.enabled", ansi)
    sql("insert into lake.db.m select named_struct('b', 7), array(1, 2)")
    assert table.refresh().scan().to_arrow().to_pylist() == [{"s": {"a": 7}, "l": [1, 2]}]


def test_a_static_partition_without_a_zone(spark: Any, sql: Any, lake: fz.Catalog) -> None:
    table = lake.create_table("db.p", pa.schema([("id", pa.int64()), ("t", pa.timestamp("us"))]), partition_by="t")
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        sql("insert into lake.db.p partition (t = timestamp_ntz'2024-01-01 00:00:00') values (1)")
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert column(table, "t") == [dt.datetime(2024, 1, 1)]


def test_an_inserted_row_with_a_known_key_is_refused(spark: Any, sql: Any, lake: fz.Catalog) -> None:
    fields = [pa.field("id", pa.int64(), nullable=False), pa.field("v", pa.int64()), pa.field("s", pa.string())]
    table = lake.create_table("db.k", pa.schema(fields), format="paimon", identifier_fields=["id"])
    table.append(pa.table({"id": [1], "v": [1], "s": ["a"]}).cast(pa.schema(fields)))
    spark.sql("select 1L id, 10L v, 'z' s union all select 2L, 20L, 'y'").createOrReplaceTempView("newer")
    merge = "merge into lake.db.k t using newer s on t.id = s.id"
    with pytest.raises(fz.UnsupportedError, match="has the primary key of a row of the table"):
        sql(f"{merge} and t.v > s.v when not matched then insert *")
    assert column(table, "s") == ["a"]
    sql(f"{merge} when matched and t.v < s.v then update set * when not matched then insert *")
    assert column(table, "s") == ["y", "z"]
    spark.catalog.dropTempView("newer")
