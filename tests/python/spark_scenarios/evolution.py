"""TestMergeSchemaEvolution."""

from __future__ import annotations

from typing import Any

import frazil as fz
from spark_scenarios.case import MAIN, REFUSED, Check, Do, Fails, Scenario, Set, Step, View, query, rows, source
from spark_scenarios.merge_rows import EACH

OF = "TestMergeSchemaEvolution"
MERGE = Do("MERGE WITH SCHEMA EVOLUTION INTO {t} AS t USING source AS s ON t.id = s.id " + EACH)
TWO = ((1, "hr"), (2, "software"))
SALARIES = source("(1, 'hr', 100), (3, 'finance', 300)", "id, dep, salary")
UPDATED = source("(1, 'hr-updated', 100), (3, 'finance', 300)", "id, dep, salary")


def one(name: str, *steps: Step, **more: Any) -> Scenario:
    return Scenario(OF, f"testMergeWithSchemaEvolution{name}", steps, modes=MAIN, **more)


def _by_python(run: Any) -> None:
    merge = fz.spark.merge_into(run.spark.table("source"), run.table, "s.id = t.id", source="s", target="t")
    merge.whenMatched().updateAll().whenNotMatched().insertAll().withSchemaEvolution().merge()


def struct(*rows_: str) -> View:
    """A source with structs."""
    return View("source", " UNION ALL ".join(f"SELECT {row}" for row in rows_))


EVOLUTION = [
    one(
        "SourceHasMoreColumns",
        SALARIES,
        MERGE,
        query("SELECT id, dep, salary FROM {s}", (1, "hr", 100), (2, "software", None), (3, "finance", 300)),
        rows=TWO,
    ),
    one(
        "SourceHasFewerColumns",
        source("(1, 'hr-updated'), (3, 'finance')"),
        MERGE,
        rows((1, "hr-updated", 100), (2, "software", 200), (3, "finance", None)),
        columns="id INT, dep STRING, salary INT",
        rows=((1, "hr", 100), (2, "software", 200)),
    ),
    one(
        "UsingDataFrameApi",
        UPDATED,
        Check(_by_python),
        query("SELECT id, dep, salary FROM {s}", (1, "hr-updated", 100), (2, "software", None), (3, "finance", 300)),
        rows=TWO,
        note="`fz.spark.merge_into` in place of `DataFrame.mergeInto`",
    ),
    one(
        "NestedStructSourceHasMoreFields",
        struct(
            "1 AS id, named_struct('c1', 100, 'c2', 'aa', 'c3', 1000) AS s",
            "3 AS id, named_struct('c1', 300, 'c2', 'cc', 'c3', 3000) AS s",
        ),
        MERGE,
        rows((1, (100, "aa", 1000)), (2, (20, "b", None)), (3, (300, "cc", 3000))),
        columns="id INT, s STRUCT<c1: INT, c2: STRING>",
        rows=((1, {"c1": 10, "c2": "a"}), (2, {"c1": 20, "c2": "b"})),
    ),
    one(
        "NestedStructSourceHasFewerFields",
        struct("1 AS id, named_struct('c1', 10, 'c2', 'a') AS s", "3 AS id, named_struct('c1', 30, 'c2', 'c') AS s"),
        Set({"spark.sql.mergeNestedTypeCoercion.enabled": "true"}),
        Fails(MERGE.statement, "lacks member 'c3'"),
        columns="id INT, s STRUCT<c1: INT, c2: STRING, c3: INT>",
        rows=((1, {"c1": 100, "c2": "aa", "c3": 1000}), (2, {"c1": 200, "c2": "bb", "c3": 2000})),
        result=REFUSED,
        note="give the whole struct: `UPDATE SET s = named_struct('c1', s.s.c1, 'c2', s.s.c2, 'c3', t.s.c3)`",
    ),
    one(
        "TypeWidening",
        source("(1, 1000000000000L), (3, 3000000000000L)", "id, value"),
        MERGE,
        rows((1, 1000000000000), (2, 200), (3, 3000000000000)),
        columns="id INT, value INT",
        rows=((1, 100), (2, 200)),
    ),
    one(
        "DisabledByTableProperty",
        SALARIES,
        MERGE,
        rows((1, "hr"), (2, "software"), (3, "finance")),
        rows=TWO,
        properties={"write.spark.auto-schema-evolution.enabled": "false"},
    ),
]
