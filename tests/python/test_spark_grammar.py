"""The grammar of statements, and the tables that queries name. No session of Spark is needed."""

from __future__ import annotations

import pytest

import frazil as fz

pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")

from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.statements import parse
from frazil.spark.sql.grammar.tokens import tokens_of
from frazil.spark.sql.references import Function, Reference, Version, references_of, replaced
from frazil.spark.sql.terms import partition_term, sort_term


def test_tokens() -> None:
    text = "a.`b``c` = 'it''s\\n' -- no\n <=> 1.5 /* 'x' */ \"d\" 12L r'\\d'"
    found = [(token.kind, token.text) for token in tokens_of(text)]
    assert found == [
        ("word", "a"),
        ("sign", "."),
        ("quoted", "b`c"),
        ("sign", "="),
        ("text", "it's\n"),
        ("sign", "<=>"),
        ("number", "1.5"),
        ("text", "d"),
        ("number", "12L"),
        ("text", "\\d"),
        ("end", ""),
    ]
    assert all(text[token.start : token.end] for token in tokens_of(text)[:-1])


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("select 1;", nodes.Query("select 1")),
        ("TABLE a.b", nodes.Query("SELECT * FROM a.b")),
        (
            "with x as (select ')' as a) insert into t select * from x",
            nodes.Insert(("t",), False, (), (), False, None, "with x as (select ')' as a) select * from x"),
        ),
        (
            "INSERT OVERWRITE TABLE a.b PARTITION (p = 'x, y', q) (c, d) SELECT 1, 2",
            nodes.Insert(("a", "b"), True, (("p", "'x, y'"), ("q", None)), ("c", "d"), False, None, "SELECT 1, 2"),
        ),
        (
            "insert into t replace where a = 'select' and b > 1 values (1)",
            nodes.Insert(("t",), False, (), (), False, "a = 'select' and b > 1", "values (1)"),
        ),
        ("insert into t (select 1)", nodes.Insert(("t",), False, (), (), False, None, "(select 1)")),
        ("delete from a.b as t where t.x = 1", nodes.Delete(("a", "b"), "t", "t.x = 1")),
        ("delete from a.b", nodes.Delete(("a", "b"), None, None)),
        (
            "update t set a = case when b then 1 else 2 end, c.d = f(1, 2) where e",
            nodes.Update(("t",), None, ((("a",), "case when b then 1 else 2 end"), (("c", "d"), "f(1, 2)")), "e"),
        ),
        (
            "merge into t using (select 1 as id) s on t.id = s.id when matched and s.id > 1 then delete "
            "when matched then update set * when not matched by target then insert * "
            "when not matched by source then update set a = 1",
            nodes.Merge(
                ("t",),
                None,
                "select 1 as id",
                "s",
                "t.id = s.id",
                (
                    nodes.Clause("matched", "s.id > 1", "delete"),
                    nodes.Clause("matched", None, "update"),
                    nodes.Clause("not matched", None, "insert"),
                    nodes.Clause("not matched by source", None, "update", (("a",),), ("1",)),
                ),
            ),
        ),
        (
            "alter table t add columns (a.b decimal(9, 2) not null comment 'x' after c, m map<int, struct<x: int>>)",
            nodes.AlterTable(
                ("t",),
                nodes.AddColumns(
                    (
                        nodes.Column(("a", "b"), "decimal(9, 2)", True, "x", after=("c",)),
                        nodes.Column(("m",), "map<int, struct<x: int>>"),
                    )
                ),
            ),
        ),
        (
            "alter table t write distributed by partition locally ordered by a, days(b) desc",
            nodes.AlterTable(("t",), nodes.WriteOrder("hash", ("a", "days(b) desc"))),
        ),
        (
            "alter table t create or replace branch `a-b` as of version 5 retain 2 hours with snapshot retention 3 "
            "snapshots 1 days",
            nodes.AlterTable(
                ("t",),
                nodes.CreateRef("branch", "a-b", 5, nodes.Retention(7_200_000, 3, 86_400_000), True, True, False),
            ),
        ),
        ("alter table t delete tag if exists `a,b`", nodes.AlterTable(("t",), nodes.DropRef("tag", ("a", "b"), True))),
        (
            "call c.system.p('a', b => map('k', 'v'), `c` => array(1, 2))",
            nodes.Call(
                ("c", "system", "p"),
                (nodes.Argument("'a'"), nodes.Argument("map('k', 'v')", "b"), nodes.Argument("array(1, 2)", "c")),
            ),
        ),
        ("show tables in a.b like 'x*'", nodes.Show("tables", ("a", "b"), "x*")),
        ("describe table extended a.b", nodes.Describe("table", ("a", "b"), True)),
        ("use a.b", nodes.Use(("a", "b"))),
        ("set a = b", nodes.Foreign("set a = b")),
    ],
)
def test_statements(statement: str, expected: nodes.Statement) -> None:
    assert parse(statement) == expected


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("insert t select 1", "'t' is where INTO should be"),
        ("merge into t using s on true", "the statement ends where WHEN should be"),
        ("alter table t create branch", "the statement ends where a name should be"),
        ("alter table t create tag x retain 3 weeks", "'weeks' is where DAYS, HOURS or MINUTES should be"),
        ("truncate table t where a", "'where' is where the end should be"),
        ("call p('a'", "the statement ends"),
    ],
)
def test_wrong_statements_say_where(statement: str, words: str) -> None:
    with pytest.raises(fz.InvalidInputError, match=words):
        parse(statement)


QUERIES = {
    "select t.a, p.d.t.b from p.d.t version as of 'x' where p.d.t.c > 1": (
        [(("p", "d", "t"), Version(False, "'x'"))],
        "select t.a, `t`.b from `T0` AS `t` where `t`.c > 1",
    ),
    "with t as (select * from t) select * from t join u using (a)": (
        [(("t",), None), (("u",), None)],
        "with t as (select * from `T0` AS `t`) select * from t join `T1` AS `u` using (a)",
    ),
    "with recursive r as (select 1 as n union all select n + 1 from r) select * from r": (
        [],
        "with recursive r as (select 1 as n union all select n + 1 from r) select * from r",
    ),
    "select * from a.b for system_version as of 12 x, c.d tablesample (5 percent)": (
        [(("a", "b"), Version(False, "12")), (("c", "d"), None)],
        "select * from `T0` x, `T1` tablesample (5 percent) AS `d`",
    ),
    "select * from t timestamp as of current_timestamp() - interval 1 day where x": (
        [(("t",), Version(True, "current_timestamp() - interval 1 day"))],
        "select * from `T0` AS `t` where x",
    ),
    "select (select max(a) from x.y) from z where exists (select 1 from x.y q where q.a = z.a)": (
        [(("x", "y"), None), (("z",), None), (("x", "y"), None)],
        "select (select max(a) from `T0` AS `y`) from `T1` AS `z` where exists (select 1 from `T2` q where q.a = z.a)",
    ),
}


@pytest.mark.parametrize("query", QUERIES)
def test_tables_of_queries(query: str) -> None:
    expected, text = QUERIES[query]
    found = references_of(query)
    assert [(one.name, one.version) for one in found if isinstance(one, Reference)] == expected
    assert replaced(query, [(one, f"T{i}") for i, one in enumerate(found)]) == text


def test_functions_of_queries() -> None:
    (found,) = references_of("select * from paimon_incremental_query('a.b', 1, 2) x")
    assert isinstance(found, Function)
    assert found.arguments == ("'a.b'", "1", "2")


def test_terms() -> None:
    assert [partition_term(t) for t in ("a", "`a`.b", "days(ts)", "truncate(a, 4)", "bucket(16, id)", "date(ts)")] == [
        "a",
        "a.b",
        "day(ts)",
        "truncate(4, a)",
        "bucket(16, id)",
        "day(ts)",
    ]
    assert sort_term("bucket(4, a) DESC NULLS FIRST") == ("bucket(4, a)", True, "first")
    with pytest.raises(fz.InvalidInputError, match="is no partition field"):
        partition_term("upper(a)")
