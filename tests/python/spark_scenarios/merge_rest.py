"""TestMerge: what it refuses, what it reads, and how it works with commits of others, caches and staged branches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spark_scenarios.caches import cached
from spark_scenarios.case import (
    COPY,
    DELETES,
    DIFFERS,
    MAIN,
    REFUSED,
    Append,
    Branch,
    Check,
    Do,
    Fails,
    Scenario,
    Set,
    Step,
    View,
    append,
    first,
    numbers,
    query,
    rows,
    source,
)
from spark_scenarios.meanwhile import ON_EXECUTORS, conflicts, passes
from spark_scenarios.merge_rows import BY_VALUE, EACH, FIVE, MIXED, OF, ON, ONE_SIX, one

ANSI = {"spark.sql.storeAssignmentPolicy": "ansi"}
STRICT = {"spark.sql.storeAssignmentPolicy": "strict"}

# ---------------------------------------------------------------- several rows of the source for one of the table

TWICE = "matche[sd].*(several|multiple) rows"
SAME_TWO = rows(*ONE_SIX)
LARGE = View(
    "source", "SELECT CAST(id AS INT) AS value FROM (SELECT * FROM range(10000) UNION ALL SELECT * FROM range(10000))"
)
UPDATE_DELETE = "WHEN MATCHED AND t.id = 1 THEN UPDATE SET id = 10 WHEN MATCHED AND t.id = 6 THEN DELETE "
INSERT_2 = "WHEN NOT MATCHED AND s.value = 2 THEN INSERT (id, dep) VALUES (s.value, NULL)"
GREATER = "MERGE INTO {t} AS t USING source AS s ON t.id > s.value "
TWICE_ONE = source("(1, 'emp-id-1'), (1, 'emp-id-1'), (2, 'emp-id-2'), (6, 'emp-id-6')")
L = "testMergeWithMultipleUpdatesForTargetRowSmallTargetLargeSource"


def _large(name: str, statement: str, *before: Step, left: Any = ONE_SIX) -> Scenario:
    return one(name, LARGE, *before, Fails(statement, TWICE), rows(*left), rows=left)


SEVERAL = [
    one(
        "testMergeWithOneMatchingBranchButMultipleSourceRowsForTargetRow",
        source("(1, 'on'), (1, 'off'), (10, 'on')", "id, state"),
        Fails(
            ON
            + "WHEN MATCHED AND t.id = 6 THEN DELETE WHEN NOT MATCHED THEN INSERT (id, dep) VALUES (s.id, 'unknown')",
            TWICE,
        ),
        SAME_TWO,
        rows=ONE_SIX,
    ),
    _large(L, BY_VALUE + UPDATE_DELETE + INSERT_2),
    _large(
        L + "EnabledHashShuffleJoin",
        BY_VALUE + UPDATE_DELETE + INSERT_2,
        Set({"spark.sql.join.preferSortMergeJoin": "false"}),
    ),
    _large(
        L + "NoEqualityCondition",
        GREATER + UPDATE_DELETE + INSERT_2,
        Set({"spark.sql.join.preferSortMergeJoin": "false"}),
        left=((1, "emp-id-one"),),
    ),
    _large(L + "NoNotMatchedActions", BY_VALUE + UPDATE_DELETE),
    _large(L + "NoNotMatchedActionsNoEqualityCondition", GREATER + UPDATE_DELETE, left=((1, "emp-id-one"),)),
    one("testMergeWithMultipleUpdatesForTargetRow", TWICE_ONE, Fails(MIXED, TWICE), SAME_TWO, rows=ONE_SIX),
    one(
        "testMergeWithSingleConditionalDelete",
        TWICE_ONE,
        Fails(ON + "WHEN MATCHED AND t.id = 1 THEN DELETE WHEN NOT MATCHED AND s.id = 2 THEN INSERT *", TWICE),
        SAME_TWO,
        rows=ONE_SIX,
    ),
]

# ---------------------------------------------------------------- what can't be analysed

NESTED: dict[str, Any] = {
    "columns": "id INT, c STRUCT<n1: INT, n2: STRUCT<dn1: INT, dn2: INT>>",
    "rows": ((1, {"n1": 2, "n2": {"dn1": 3, "dn2": 4}}),),
}
C1 = source("(-100L, -200L)", "c1, c2")
BY_C1 = "MERGE INTO {t} t USING source s ON t.id = s.c1 "
SET = BY_C1 + "WHEN MATCHED THEN UPDATE SET "
DN1 = SET + "t.c.n2.dn1 = s.c2 WHEN NOT MATCHED THEN INSERT "
TYPED: dict[str, Any] = {
    "columns": "id INT NOT NULL, s STRUCT<n1: INT NOT NULL, n2: STRUCT<dn1: INT, dn2: INT>> NOT NULL",
    "rows": ((1, {"n1": 2, "n2": {"dn1": 3, "dn2": 4}}),),
}
TYPED_SOURCE = View(
    "source",
    "SELECT 1 AS c1, named_struct('n1', 1) AS c2, 'str' AS c3, named_struct('dn3', 1, 'dn1', 2) AS c4",
)
NULL_VALUE = "null|not_null|NULL"
NONDETERMINISTIC = "deterministic"
AGGREGATES = "aggregate"
N1 = "WHEN MATCHED{0} THEN UPDATE SET t.c.n1 = -1"


def _four(name: str, words: str, *conditions: str, **more: Any) -> Scenario:
    """A condition that is not allowed: of the merge, of an update, of a delete and of an insert."""
    on, update, delete, insert = conditions
    return one(
        name,
        C1,
        Fails(f"{BY_C1} AND {on} {N1.format('')}", words),
        Fails(f"{BY_C1} {N1.format(' AND ' + update)}", words),
        Fails(f"{BY_C1} WHEN MATCHED AND {delete} THEN DELETE", words),
        Fails(f"{BY_C1} WHEN NOT MATCHED AND {insert} THEN INSERT (id, c) VALUES (1, NULL)", words),
        **NESTED,
        **more,
    )


INVALID = [
    one(
        "testMergeWithNonExistingColumns",
        C1,
        Fails(SET + "t.invalid_col = s.c2", "invalid_col"),
        Fails(SET + "t.c.n2.invalid_col = s.c2", "invalid_col"),
        Fails(DN1 + "(id, invalid_col) VALUES (s.c1, NULL)", "invalid_col"),
        **NESTED,
    ),
    one(
        "testMergeWithInvalidColumnsInInsert",
        C1,
        Fails(DN1 + "(id, c.n2) VALUES (s.c1, NULL)", "c.n2 of a column"),
        Fails(DN1 + "(id, id) VALUES (s.c1, NULL)", "id is set twice"),
        Fails(BY_C1 + "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.c1)", "required column.*c"),
        columns=NESTED["columns"] + " NOT NULL",
        rows=NESTED["rows"],
    ),
    one(
        "testMergeWithInvalidUpdates",
        C1,
        Fails(SET + "t.a.c1 = s.c2", "struct|a.c1"),
        Fails(SET + "t.m.key = 'new_key'", "struct|m.key"),
        columns="id INT, a ARRAY<STRUCT<c1: INT, c2: INT>>, m MAP<STRING, STRING>",
        rows=((1, [{"c1": 2, "c2": 3}], [("k", "v")]),),
    ),
    one(
        "testMergeWithConflictingUpdates",
        C1,
        Fails(SET + "t.id = 1, t.c.n1 = 2, t.id = 2", "id is set twice"),
        Fails(SET + "t.c.n1 = 1, t.id = 2, t.c.n1 = 2", "c.n1 is set twice"),
        Fails(SET + "c.n1 = 1, c = named_struct('n1', 1, 'n2', named_struct('dn1', 1, 'dn2', 2))", "c.n1 are both"),
        **NESTED,
    ),
    one(
        "testMergeWithInvalidAssignmentsAnsi",
        TYPED_SOURCE,
        Set(ANSI),
        Fails(SET + "t.id = CAST(NULL AS INT)", NULL_VALUE),
        Fails(SET + "t.s.n1 = NULL", NULL_VALUE),
        Fails(SET + "t.s.n1 = s.c3", "cast|string|'str'"),
        Fails(SET + "t.s.n2 = s.c4", "dn2|dn3"),
        **TYPED,
    ),
    one(
        "testMergeWithInvalidAssignmentsStrict",
        TYPED_SOURCE,
        Set(STRICT),
        Fails(SET + "t.id = NULL", NULL_VALUE),
        Fails(SET + "t.s.n1 = NULL", NULL_VALUE),
        Fails(SET + "t.s.n1 = s.c3", "cast|string"),
        Fails(SET + "t.s.n2 = s.c4", "dn2|dn3"),
        **TYPED,
    ),
    _four("testMergeWithNonDeterministicConditions", NONDETERMINISTIC, *["rand() > t.id"] * 3, "rand() > c1"),
    _four(
        "testMergeWithAggregateExpressions",
        AGGREGATES,
        "max(t.id) = 1",
        "sum(t.id) < 1",
        "sum(t.id) > 0",
        "sum(c1) < 1",
    ),
    one(
        "testMergeWithSubqueriesInConditions",
        C1,
        Do(f"{BY_C1} AND t.id < (SELECT max(c2) FROM source) {N1.format('')}"),
        Do(f"{BY_C1} {N1.format(' AND t.id < (SELECT max(c2) FROM source)')}"),
        Do(f"{BY_C1} WHEN MATCHED AND t.id NOT IN (SELECT c2 FROM source) THEN DELETE"),
        Do(f"{BY_C1} WHEN NOT MATCHED AND s.c1 IN (SELECT c2 FROM source) THEN INSERT (id, c) VALUES (1, NULL)"),
        rows((1, (2, (3, 4)))),
        Do(f"{BY_C1} WHEN NOT MATCHED AND s.c1 > (SELECT min(c2) FROM source) THEN INSERT (id, c) VALUES (5, NULL)"),
        rows((1, (2, (3, 4))), (5, None)),
        result=DIFFERS,
        note="Iceberg refuses subqueries in the conditions of MERGE; Frazil does them",
        **NESTED,
    ),
    one(
        "testMergeWithTargetColumnsInInsertConditions",
        source("(1L, 11L)", "id, value"),
        Fails(ON + "WHEN NOT MATCHED AND c2 = 1 THEN INSERT (id, c2) VALUES (s.id, NULL)", "c2"),
        columns="id INT, c2 INT",
        rows=((1, 2),),
    ),
    one(
        "testMergeWithNonIcebergTargetTableNotSupported",
        source("(-100L, -200L)", "c1, c2", "target"),
        C1,
        Fails("MERGE INTO target t USING source s ON t.c1 = s.c1 WHEN MATCHED THEN UPDATE SET *", "support|MERGE"),
        columns="",
        modes=(COPY,),
    ),
    one(
        "testMergeNonExistingBranch",
        FIVE,
        Fails(ON.replace("{t}", "{main}.branch_test") + EACH, "test"),
        columns="id INT",
        modes=MAIN,
    ),
]

# ---------------------------------------------------------------- files that are read and written

HUNDRED = tuple((n, 100, "hr") for n in range(100))
FOUR_FILES: tuple[Step, ...] = (
    *(Append(HUNDRED, main=True) for _ in range(4)),
    Branch(),
    View("source", "SELECT * FROM range(0, 100)"),
)
TO_LESS = Do("MERGE INTO {t} t USING source ON t.id = source.id WHEN MATCHED THEN UPDATE SET salary = -1")
SALARY = {"columns": "id INT, salary INT, dep STRING"}


def lost(run: Any) -> None:
    """The newest data file of the target can't be read any more, so nothing may need it."""
    (task,) = run.table.scan("dep = 'hr'", at=run.branch).plan_files()
    Path(task.data_file.path.removeprefix("file://")).unlink()


FILES = [
    one(
        "testCoalesceMerge",
        *FOUR_FILES,
        TO_LESS,
        query("SELECT count(*) FROM {s} WHERE salary = -1", (400,)),
        note="rows only: Spark's partition sizes don't decide how many files Frazil writes",
        **SALARY,
    ),
    one(
        "testSkewMerge",
        Do("ALTER TABLE {main} ADD PARTITION FIELD dep"),
        *FOUR_FILES,
        TO_LESS,
        query("SELECT count(*) FROM {s} WHERE salary = -1", (400,)),
        note="rows only: Spark's partition sizes don't decide how many files Frazil writes",
        **SALARY,
    ),
    one(
        "testMergeConditionSplitIntoTargetPredicateAndJoinCondition",
        source("(1, 101, 'd1', 'sd1'), (2, 200, 'd2', 'sd2'), (3, 300, 'd3', 'sd3')", "id, salary, dep, sub_dep"),
        Do(
            ON
            + "AND ((t.dep = 'd1' AND t.sub_dep IN ('sd1', 'sd3')) OR (t.dep = 'd6' AND t.sub_dep IN ('sd2', 'sd6'))) "
            "WHEN MATCHED THEN UPDATE SET salary = s.salary WHEN NOT MATCHED THEN INSERT *"
        ),
        rows((1, 101, "d1", "sd1"), (2, 200, "d2", "sd2"), (3, 300, "d3", "sd3"), (6, 600, "d6", "sd6")),
        columns="id INT, salary INT, dep STRING, sub_dep STRING",
        rows=((1, 100, "d1", "sd1"), (6, 600, "d6", "sd6")),
        partitioned="PARTITIONED BY (dep, sub_dep)",
        note="rows only: the names of Spark's joins and pushed filters are not Frazil's",
    ),
    one(
        "testMergeWithStaticPredicatePushDown",
        Do("ALTER TABLE {main} ADD PARTITION FIELD dep"),
        *first((1, "software")),
        append((1, "hr")),
        Check(lost),
        source("(1L, 'finance'), (2L, 'hardware')"),
        Do(
            "MERGE INTO {t} t USING source ON t.id = source.id AND t.dep IN ('software') AND source.id < 10 "
            "WHEN MATCHED AND source.id = 1 THEN UPDATE SET dep = source.dep "
            "WHEN NOT MATCHED THEN INSERT (dep, id) VALUES (source.dep, source.id)"
        ),
        query("SELECT * FROM {s} WHERE dep <> 'hr'", (1, "finance"), (2, "hardware")),
        columns="id BIGINT, dep STRING",
    ),
    one(
        "testMergeWithMultipleRowGroupsParquet",
        Do("ALTER TABLE {main} ADD PARTITION FIELD dep"),
        numbers(1),
        *first(*((n, "hr") for n in range(1, 201))),
        Do(BY_VALUE + "WHEN MATCHED THEN UPDATE SET dep = 'x'"),
        query("SELECT dep, count(*) FROM {s} GROUP BY dep", ("hr", 199), ("x", 1)),
        properties={"write.parquet.row-group-size-bytes": "100", "read.split.target-size": "100"},
    ),
]

# ---------------------------------------------------------------- others, caches, staged branches

X = BY_VALUE + "WHEN MATCHED THEN UPDATE SET dep = 'x'"
WAP = {"write.wap.enabled": "true"}
STAGED = Set({"spark.wap.branch": "wap"})
SIX = [(n,) for n in range(-1, 5)]
LATER = [(-1,), (0,), (1,), (2,), (5,)]


def staged(*left: Any, main: Any) -> tuple[Step, ...]:
    """What a table, its staged branch and its main branch show while `spark.wap.branch` is set."""
    return (
        query("SELECT * FROM {main}", *left),
        query("SELECT * FROM {main}.branch_wap", *left),
        query("SELECT * FROM {main}.branch_main", *main),
    )


OTHERS = [
    one(
        "testMergeWithSerializableIsolation",
        numbers(1),
        Set(ON_EXECUTORS),
        Check(conflicts(X)),
        rows((1, "hr"), (1, "hr")),
        rows=((1, "hr"),),
        properties={"write.merge.isolation-level": "serializable"},
    ),
    one(
        "testMergeWithSnapshotIsolation",
        numbers(1),
        Set(ON_EXECUTORS),
        Check(passes(X)),
        rows((1, "hr"), (1, "x")),
        rows=((1, "hr"),),
        properties={"write.merge.isolation-level": "snapshot"},
    ),
    one(
        "testMergeToWapBranch",
        FIVE,
        STAGED,
        Do(ON + EACH),
        *staged(*SIX, main=[(-1,)]),
        View("source", "SELECT * FROM range(3, 6)"),
        Do(ON + "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"),
        *staged(*LATER, main=[(-1,)]),
        columns="id INT",
        rows=((-1,),),
        properties=WAP,
        modes=MAIN,
    ),
    one(
        "testMergeToWapBranchWithTableBranchIdentifier",
        FIVE,
        STAGED,
        Do(ON + EACH),
        query("SELECT * FROM {t}", *SIX),
        columns="id INT",
        rows=((-1,),),
        properties=WAP,
        modes=(DELETES,),
    ),
    one(
        "testSelfMergeWithCaching",
        Fails("CACHE TABLE {main}", "cache"),
        Do(
            "MERGE INTO {t} t USING {t} s ON t.id = s.id WHEN MATCHED AND t.id = 1 THEN UPDATE SET v = 'x' "
            "WHEN NOT MATCHED THEN INSERT *"
        ),
        query("SELECT * FROM {t}", (1, "x"), (2, "v2")),
        columns="id INT, v STRING",
        rows=((1, "v1"), (2, "v2")),
        result=REFUSED,
        note="the merge works; instead of `CACHE TABLE`, call `.cache()` of the DataFrame that a query returns",
    ),
    cached(
        OF,
        "testMergeRefreshesRelationCache",
        "SELECT name FROM {v}",
        "MERGE INTO {t} t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.name = s.name",
        [("n1",)],
        [("n2",)],
        source("(1L, 'n2')", "id, name"),
        columns="id INT, name STRING",
        rows=((1, "n1"),),
    ),
]
MERGE_REST = [*SEVERAL, *INVALID, *FILES, *OTHERS]
