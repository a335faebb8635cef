"""Rows that statements of SQL must find or leave: texts that plans show without quotes, and constants."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.spark.changes import ways
from sql_fixtures import empty_lake as lake

pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")
pytestmark = pytest.mark.spark
__all__ = ["lake"]


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


STRUCT = pa.struct([("a", pa.int32()), ("b", pa.string())])


@pytest.mark.parametrize("format", ["iceberg", "paimon"])
def test_members_of_structs_are_set_by_name(sql: Any, lake: fz.Catalog, format: str) -> None:
    options: dict[str, Any] = {"identifier_fields": ["id"]} if format == "paimon" else {}
    fields = [
        pa.field("id", pa.int64(), nullable=format != "paimon"),
        pa.field("s", STRUCT),
        pa.field("l", pa.list_(STRUCT)),
        pa.field("n", pa.int32()),
    ]
    table = lake.create_table("db.t", pa.schema(fields), format=format, **options)
    one = {"a": 1, "b": "x"}
    table.append(pa.table([[1, 2], [one, one], [[one], None], [1, 2]], schema=pa.schema(fields)))
    merge = "merge into lake.db.t t"

    def other(n: int) -> str:
        return f"named_struct('B', '{n}', 'a', {n}L)"

    def using(key: int, n: int) -> str:
        return f"{merge} using (select {key}L id, {other(n)} s, array({other(n)}) l, 7 n) s on t.id = s.id"

    sql(f"{using(1, 11)} when matched then update set s = s.s, l = s.l")
    sql(f"{using(2, 12)} when matched then update set *")
    sql(f"{using(3, 13)} when not matched then insert *")
    sql(f"{using(4, 14)} when not matched then insert (id, s) values (s.id, s.s)")
    sql(f"insert into lake.db.t by name select 5L id, {other(15)} s")
    sql(f"update lake.db.t set s = {other(16)} where id = 5")

    assert sql("select id, s, l, n from lake.db.t order by id") == [
        (1, (11, "11"), [(11, "11")], 1),
        (2, (12, "12"), [(12, "12")], 7),
        (3, (13, "13"), [(13, "13")], 7),
        (4, (14, "14"), None, None),
        (5, (16, "16"), None, None),
    ]
    assert table.refresh().scan("id = 1").to_arrow()["s"].to_pylist() == [{"a": 11, "b": "11"}]
    for wrong, says in (("'a', 1", "lacks member 'b'"), ("'a', 1, 'b', 'x', 'c', 2", "no member 'c'")):
        with pytest.raises(fz.InvalidInputError, match=says):
            sql(f"update lake.db.t set s = named_struct({wrong}) where id = 5")
        given = f"using (select 1L id, named_struct({wrong}) s) s on t.id = s.id"
        with pytest.raises(fz.InvalidInputError, match=says):
            sql(f"{merge} {given} when matched then update set s = s.s")


@pytest.mark.parametrize("format", ["iceberg", "paimon"])
def test_changes_that_read_few_columns(sql: Any, lake: fz.Catalog, format: str) -> None:
    """Spark does not read what no value depends on. Expressions still name it."""
    options: dict[str, Any] = {"identifier_fields": ["id"]} if format == "paimon" else {}
    fields = [pa.field("id", pa.int64(), nullable=format != "paimon"), pa.field("v", pa.string()), ("s", STRUCT)]
    table = lake.create_table("db.few", pa.schema(fields), format=format, **options)
    rows = [[1, 2, 3], ["a", "b", "c"], [{"a": n, "b": "x"} for n in (1, 2, 3)]]
    table.append(pa.table(rows, schema=pa.schema(fields)))
    using = "using (select 1L id, 'new' v) s on t.id = s.id"
    sql(f"merge into lake.db.few t {using} when matched then update set v = s.v")
    sql("update lake.db.few set v = if(true, 'up', concat(v, s.b)) where s.a + 0 = 2")
    sql("delete from lake.db.few where s.a * 2 = 6 and (v = 'c' or true)")
    assert sql("select id, v, s.a, s.b from lake.db.few order by id") == [(1, "new", 1, "x"), (2, "up", 2, "x")]


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("t.id = s.id", "id = 2"),
        ("(s.id <=> t.id) and (t.g = 'a')", "id is null"),
        ("t.id = s.n + 1 and t.v is not null", "id = 2"),
        ("t.id = s.id or t.v = s.v", None),
    ],
)
def test_a_merge_reads_what_can_match(
    on: str, expected: str | None, sql: Any, lake: fz.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = [("g", pa.string()), ("id", pa.int64()), ("v", pa.string())]
    table = lake.create_table("db.t", pa.schema(fields), partition_by="g")
    table.append(pa.table([["a", "a", "b"], [1, 2, 3], ["x", "y", "z"]], schema=pa.schema(fields)))
    read: list[str] = []
    placed = ways.read_placed

    def spy(spark: Any, table: Any, where: str, *others: Any) -> Any:
        read.append(where)
        return placed(spark, table, where, *others)

    monkeypatch.setattr(ways, "read_placed", spy)
    sql(
        f"merge into lake.db.t t using (select 2L id, 1L n, 'none' v) s on {on} "
        "when matched then update set v = concat(t.v, '!')"
    )
    assert column(table, "v") == ["x", "y!", "z"]
    assert (read[0] == "true") if expected is None else (expected in read[0].replace(" in (2)", " = 2"))


@pytest.mark.parametrize(("appended", "conflicts"), [(100, False), (2, True)])
def test_a_change_that_another_commit_overtakes(
    spark: Any, sql: Any, lake: fz.Catalog, tmp_path: Path, appended: int, conflicts: bool
) -> None:
    table = lake.create_table("db.r", data=pa.table({"id": [1, 2, 3], "n": [10, 20, 30]}))
    location, first = table.location, tmp_path / "first"

    def and_append(n: int) -> int:
        # Rows are computed after the plan was made, and before the first file is written.
        if not first.exists():
            first.touch()
            fz.open_table(location).append(pa.table({"id": [appended], "n": [0]}))
        return n + 1

    spark.udf.register("and_append", and_append, "bigint")
    for mode in ("copy-on-write", "merge-on-read"):
        first.unlink(missing_ok=True)
        table.refresh().set_properties({"write.update.mode": mode})
        before = column(table, "n")
        if conflicts:
            with pytest.raises(fz.CommitConflictError):
                sql("update lake.db.r set n = and_append(n) where id <= 3")
            assert column(table, "n") == sorted([*before, 0])
        else:
            sql("update lake.db.r set n = and_append(n) where id <= 3")
            changed = table.refresh().scan("id <= 3").to_arrow()
            assert sorted(changed["n"].to_pylist()) == [n + 1 for n in before if n]
