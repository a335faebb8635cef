"""Queries that are planned twice, and Iceberg's transforms as functions."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import frazil as fz
from frazil.spark import functions as ff
from frazil.spark import query as planned_twice
from frazil.spark.reading.pushed_filters import pushed_of, string_literals

pytestmark = pytest.mark.spark


@pytest.fixture
def tables(catalog: fz.Catalog, events: fz.Table) -> dict[str, fz.Table]:
    rows = pa.table({"k": ["NO", "SE", "x"], "w": pa.array([1, 2, 3], pa.int64())})
    return {"e": events, "o": catalog.create_table("db.o", rows.schema).append(rows)}


QUERIES = {
    "select count(*) from e": (None, None),
    "select id from e where country = 'NO'": ({"id", "country"}, "country = 'NO'"),
    "select e.id, o.w from e join o on e.country = o.k where e.id < 20 and o.w = 1 or e.id > 190 and o.w = 2": (
        {"id", "country"},
        "id < 20) or (id > 190",
    ),
    "/* c */ WITH x AS (select id, payload.a as a from e where payload.a > 150) select sum(a) from x": (
        {"payload.a"},
        "payload.a > 150",
    ),
    "select max(id) from e where country in ('NO', 'SE') or day = '2023-01-03'": (
        {"id", "country", "day"},
        "country in ('NO', 'SE')) or (\"day\" = '2023-01-03'",
    ),
    "select id from (select id, country, score from e where score > 90.5) where country like 'N%' -- hm": (
        {"id", "country", "score"},
        "starts_with(country, 'N')",
    ),
    "select count(*) from e where ts >= timestamp'2023-01-05 00:00:00' and amount < 40.25": (
        {"ts", "amount"},
        "ts >= '2023-01-05T00:00:00Z'",
    ),
    "select count(*) from e a join e b on a.id = b.id where a.id < 5 and b.ok": ({"id", "ok"}, "id < 5"),
    "select payload, '{' as brace from e where not (country = 'NO' and id < 100);": (
        {"payload", "country", "id"},
        "not (country = 'NO')",
    ),
    "select count(*) from e where exists (select 1 from o where k = country and w < 2)": ({"country"}, None),
    # What can't be read with certainty is left to Spark alone.
    "select count(*) from e where country = concat('N', 'O') and id < 9": ({"country", "id"}, None),
    "select count(*) from e where country in ('NO,SE', 'SE')": ({"country"}, None),
    "select count(*) from e where country = 'x), LessThan(id,5' or id > 190": ({"country", "id"}, None),
    "select count(*) from e where country <=> null": ({"country"}, "country is null"),
    "select count(*) from e where country = 'null'": ({"country"}, None),
}


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_queries_read_what_they_need(spark, tables: dict[str, fz.Table], query: str) -> None:
    columns, filter = QUERIES[query]
    need = planned_twice._needs(spark, query, {name: table.scan() for name, table in tables.items()})["e"]
    assert columns is None or set(need.columns) == columns
    if filter is None:
        assert need.filter is None or "is not null" in str(need.filter)
    else:
        assert filter in str(need.filter)
    for name, table in tables.items():
        table.scan().to_spark(spark).createOrReplaceTempView(name)
    try:
        expected = sorted(map(str, spark.sql(query.rstrip(";")).collect()))
    finally:
        for name in tables:
            spark.catalog.dropTempView(name)
    assert sorted(map(str, fz.spark.sql(spark, query, tables).collect())) == expected


def test_files_are_pruned(spark, tables: dict[str, fz.Table]) -> None:
    days = "day in ('2023-01-02', '2023-01-03') or ts < '2023-01-01 05:00:00Z'"
    query = f"select id, o.* from e join o on k = country where {days}"
    df = fz.spark.sql(spark, query, tables)
    assert len([name for name in df.inputFiles() if "/events/" in name]) == 3
    assert not spark.catalog.tableExists("e")


def test_scans_and_names(spark, tables: dict[str, fz.Table], events: fz.Table) -> None:
    first = events.scan(at=events.snapshots[0].id)
    query = "select (select count(*) from a) as a, (select count(*) from b where id > 5) as b"
    assert fz.spark.sql(spark, query, {"a": first, "b": events.location}).collect() == [(100, 194)]
    assert fz.spark.sql(spark, "select 1 as x", {}).collect() == [(1,)]
    assert fz.spark.sql(spark, "select count(*) from E", {"e": events.scan("id < 3")}).collect() == [(3,)]
    assert fz.spark.sql(spark, "select count(*) from e", {"e": events.scan().limit(3)}).collect() == [(3,)]
    with pytest.raises(fz.InvalidInputError, match="can't be a table's name"):
        fz.spark.sql(spark, "select 1", {"db.e": events})
    with pytest.raises(Exception, match="nope"):
        fz.spark.sql(spark, "select nope from e", {"e": events})


def test_reading_plans() -> None:
    schema = fz.Schema.from_json(
        '{"type": "struct", "fields": [{"id": 1, "name": "s", "type": "string", "required": false},'
        '{"id": 2, "name": "i", "type": "int", "required": false}]}'
    )

    def filter_of(pushed: str, query: str) -> str | None:
        lines = ["(1) Scan parquet ", "Location: X [file:/t]", f"PushedFilters: [{pushed}]"]
        lines.append("ReadSchema: struct<s:string>")
        plan = "== Physical Plan ==\n" + "\n".join(lines) + "\n"
        (found,) = pushed_of(plan, lambda place: schema if place == "file:/t" else None, string_literals(query))
        assert found.columns == ("s",)
        return None if found.filter is None else str(found.filter)

    assert filter_of("EqualTo(s,a b)", "'a b'") == "s = 'a b'"
    assert filter_of("EqualTo(s,a b), LessThan(i,5)", "'a b'") == "(s = 'a b') and (i < 5)"
    assert filter_of("EqualTo(s,x), LessThan(i,5)", "'y'") is None
    assert filter_of("LessThan(i,5), Like(s,x)", "'x'") is None
    assert filter_of("LessThan(i,five)", "") is None
    assert filter_of("And(StringContains(s,x),LessThan(i,5))", "'x'") == "i < 5"
    assert filter_of("Or(StringContains(s,x),LessThan(i,5))", "'x'") is None
    assert filter_of("Not(And(StringContains(s,x),LessThan(i,5)))", "'x'") is None
    assert filter_of("Not(In(i, [1,2]))", "") == "not (i in (1, 2))"
    assert filter_of("In(s, [a,b])", "'a' 'b'") == "s in ('a', 'b')"
    assert filter_of("In(s, [a,b])", "'a,b'") is None
    assert filter_of("In(s, [a,b])", "'a' 'b' chr(44)") is None
    assert filter_of("EqualNullSafe(s,null)", "'null'") is None
    assert filter_of("EqualTo(s,a)", "'a' ' a '") is None
    assert filter_of("EqualTo(nope,1)", "") is None
    assert string_literals("select 'a', \"b\" -- 'c'\n/* 'd' */") == {"a", "b"}
    assert string_literals("select 'it''s'") == frozenset()


def test_functions(spark) -> None:
    """The specification's examples (Appendix B, and the tables of transforms)."""
    utc = dt.timezone.utc
    rows = [
        (
            34,
            Decimal("14.20"),
            dt.date(2017, 11, 16),
            dt.datetime(2017, 11, 16, 22, 31, 8, tzinfo=utc),
            "iceberg",
            b"\0\1\2\3",
        ),
        (2**60 + 1, None, dt.date(1, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=utc), "żółw", b""),
        (None, None, None, None, None, None),
    ]
    schema = "l bigint, d decimal(9,2), day date, ts timestamp, s string, b binary"
    df = (
        spark.createDataFrame(rows, schema)
        .withColumn("i", f.lit(-1))
        .withColumn("ntz", f.expr("timestamp_ntz'2017-11-16 22:31:08'"))
    )
    murmur = {"l": 2017239379, "d": -500754589, "day": -653330422, "ts": -2047944441, "s": 1210000089, "b": -188683207}
    spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    try:
        columns = {
            **{f"bucket_{c}": ff.bucket(2**31 - 1, c) for c in murmur},
            "years": ff.years("day"),
            "months": ff.months("ts"),
            "days": ff.days(f.col("ts")),
            "hours": ff.hours("ts"),
            "trunc_s": ff.truncate(2, "s"),
            "trunc_l": ff.truncate(10, "l", "bigint"),
            "trunc_i": ff.truncate(10, "i", "int"),
            "trunc_d": ff.truncate(50, "d", "decimal(9,2)"),
            "trunc_b": ff.truncate(1, "b", "binary"),
            "ntz": ff.hours("ntz"),
        }
        got = df.select(*[column.alias(name) for name, column in columns.items()]).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    first, second, third = (row.asDict() for row in got)
    for column, value in murmur.items():
        assert first[f"bucket_{column}"] == (value & 0x7FFFFFFF) % (2**31 - 1), column
    assert (first["years"], first["months"], first["days"], first["hours"]) == (47, 574, dt.date(2017, 11, 16), 419686)
    assert (second["years"], second["months"], second["days"], second["hours"]) == (
        -1969,
        -1,
        dt.date(1969, 12, 31),
        -1,
    )
    assert (first["trunc_s"], first["trunc_l"], first["trunc_i"]) == ("ic", 30, -10)
    assert (first["trunc_d"], bytes(first["trunc_b"]), first["ntz"]) == (Decimal("14.00"), b"\0", 419686)
    assert (second["trunc_s"], second["trunc_l"]) == ("żó", (2**60 + 1) // 10 * 10)
    assert {name for name, value in third.items() if value is not None} == {"trunc_i", "ntz"}
    with pytest.raises(fz.InvalidInputError, match="whole number"):
        ff.bucket(0, "l")
    with pytest.raises(Exception, match="InvalidInputError"):
        df.select(ff.bucket(4, f.lit(1.5).cast("double"))).collect()
