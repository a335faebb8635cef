"""TestUpdate."""

from __future__ import annotations

from typing import Any

from spark_scenarios.caches import cached
from spark_scenarios.case import (
    COPY,
    DELETES,
    DIFFERS,
    MAIN,
    Check,
    Do,
    Fails,
    Scenario,
    Set,
    Step,
    Summary,
    append,
    copied,
    first,
    marked,
    numbers,
    query,
    rows,
    source,
)
from spark_scenarios.meanwhile import ON_EXECUTORS, conflicts, passes
from spark_scenarios.merge_rest import ANSI, NONDETERMINISTIC, NULL_VALUE, STAGED, STRICT, WAP, lost, staged

OF = "TestUpdate"
BY_DEP = Do("ALTER TABLE {main} ADD PARTITION FIELD dep")
THREE = ((1, "hr"), (2, "hardware"), (None, "hr"))
HR_HARDWARE = (*first((1, "hr"), (3, "hr")), append((1, "hardware"), (2, "hardware")))
NO_SNAPSHOT = "same rows; Frazil makes no snapshot when no row changes"


def one(name: str, *steps: Step, **more: Any) -> Scenario:
    return Scenario(OF, name, steps, **more)


def snapshots(count: int) -> Check:
    """The table has this number of snapshots."""

    def check(run: Any) -> None:
        assert len(run.table.snapshots) == count, run.table.snapshots

    return Check(check)


def updated(statement: str, *left: Any) -> tuple[Step, ...]:
    return Do("UPDATE {t} " + statement), rows(*left)


HALF = query("SELECT count(*) FROM {s} WHERE id = -1", (200,))
HUNDRED = tuple((n, "hr") for n in range(100))
PLAIN = [
    one(
        "testUpdateWithVectorizedReads",
        *updated("SET value = -1 WHERE id = 1", (1, -1, "hr")),
        columns="id INT, value INT, dep STRING",
        rows=((1, 100, "hr"),),
        partitioned="PARTITIONED BY (dep)",
        note="rows only: Frazil's readers give Arrow batches",
    ),
    one(
        "testCoalesceUpdate",
        *first(*HUNDRED),
        *[append(*HUNDRED)] * 3,
        Do("UPDATE {t} SET id = -1 WHERE mod(id, 2) = 0"),
        HALF,
        note="rows only: Spark's partition sizes don't decide how many files Frazil writes",
    ),
    one(
        "testSkewUpdate",
        BY_DEP,
        *first(*HUNDRED),
        *[append(*HUNDRED)] * 3,
        Do("UPDATE {t} SET id = -1 WHERE mod(id, 2) = 0"),
        HALF,
        note="rows only: Spark's partition sizes don't decide how many files Frazil writes",
    ),
    one(
        "testExplain",
        Do("EXPLAIN UPDATE {t} SET dep = 'invalid' WHERE id <=> 1"),
        Do("EXPLAIN UPDATE {t} SET dep = 'invalid' WHERE true"),
        snapshots(1),
        rows(*THREE),
        rows=THREE,
    ),
    one(
        "testUpdateEmptyTable",
        *updated("SET dep = 'invalid' WHERE id IN (1)"),
        *updated("SET id = -1 WHERE dep = 'hr'"),
        snapshots(0),
        result=DIFFERS,
        note=NO_SNAPSHOT,
        modes=MAIN,
    ),
    one(
        "testUpdateNonExistingCustomBranch",
        Fails("UPDATE {main}.branch_test SET dep = 'invalid' WHERE id IN (1)", "test"),
        modes=MAIN,
    ),
    one(
        "testUpdateWithAlias",
        BY_DEP,
        Do("UPDATE {t} AS t SET t.dep = 'invalid'"),
        snapshots(2),
        rows((1, "invalid")),
        rows=((1, "a"),),
    ),
    one(
        "testUpdateAlignsAssignments",
        *updated("SET `c2` = c2 - 2, c1 = `c1` - 1 WHERE id <=> 1", (1, 10, 109), (2, 22, 222)),
        columns="id INT, c1 INT, c2 INT",
        rows=((1, 11, 111), (2, 22, 222)),
    ),
    one(
        "testUpdateWithUnsupportedPartitionPredicate",
        BY_DEP,
        *first((1, "software"), (2, "hr")),
        Do("UPDATE {t} t SET `t`.`id` = -1 WHERE t.dep LIKE '%r'"),
        rows((-1, "hr"), (1, "software")),
    ),
    one(
        "testUpdateWithDynamicFileFiltering",
        BY_DEP,
        *HR_HARDWARE,
        Do("UPDATE {t} SET id = CAST('-1' AS INT) WHERE id = 2"),
        snapshots(3),
        Summary(copied("1", "1", "1"), marked("1", "1", "1")),
        rows((-1, "hardware"), (1, "hardware"), (1, "hr"), (3, "hr")),
    ),
    one(
        "testUpdateNonExistingRecords",
        BY_DEP,
        *first(*THREE),
        Do("UPDATE {t} SET id = -1 WHERE id > 10"),
        snapshots(1),
        rows(*THREE),
        result=DIFFERS,
        note=NO_SNAPSHOT,
    ),
    one(
        "testUpdateWithoutCondition",
        BY_DEP,
        Do("ALTER TABLE {main} WRITE DISTRIBUTED BY PARTITION"),
        *first((1, "hr")),
        append((2, "hardware")),
        append((None, "hr")),
        Do("UPDATE {t} SET id = -1"),
        snapshots(4),
        Check(lambda run: run.snapshot.operation == "overwrite"),
        Check(lambda run: run.snapshot.summary["changed-partition-count"] == "2"),
        rows((-1, "hardware"), (-1, "hr"), (-1, "hr")),
        note="the counts of files are not compared: Frazil removes a data file whose last row goes",
    ),
    one(
        "testUpdateWithNullConditions",
        *updated("SET id = -1 WHERE dep = NULL", (0, None), (1, "hr"), (2, "hardware")),
        *updated("SET id = -1 WHERE dep = 'software'", (0, None), (1, "hr"), (2, "hardware")),
        *updated("SET dep = 'invalid', id = -1 WHERE dep <=> NULL", (-1, "invalid"), (1, "hr"), (2, "hardware")),
        rows=((0, None), (1, "hr"), (2, "hardware")),
    ),
    one(
        "testUpdateWithInAndNotInConditions",
        *updated("SET id = -1 WHERE id IN (1, NULL)", (-1, "hr"), (2, "hardware"), (None, "hr")),
        *updated("SET id = 100 WHERE id NOT IN (NULL, 1)", (-1, "hr"), (2, "hardware"), (None, "hr")),
        *updated("SET id = 100 WHERE id NOT IN (1, 10)", (100, "hardware"), (100, "hr"), (None, "hr")),
        rows=THREE,
    ),
    one(
        "testUpdateWithMultipleRowGroupsParquet",
        BY_DEP,
        *first(*((n, "hr") for n in range(1, 201))),
        Do("UPDATE {t} SET id = -1 WHERE id IN (200, 201)"),
        query("SELECT count(*), min(id), max(id) FROM {s}", (200, -1, 199)),
        properties={"write.parquet.row-group-size-bytes": "100", "read.split.target-size": "100"},
    ),
    one(
        "testUpdateNestedStructFields",
        *updated("SET s.c1 = -1, s.c2.m = map('k', 'v'), s.c2.a = array(-1)", (1, (-1, ([-1], {"k": "v"})))),
        *updated("SET s.c1 = NULL, s.c2 = NULL WHERE id IN (1)", (1, (None, None))),
        *updated("SET s = named_struct('c1', 1, 'c2', named_struct('a', array(1), 'm', NULL))", (1, (1, ([1], None)))),
        columns="id INT, s STRUCT<c1: INT, c2: STRUCT<a: ARRAY<INT>, m: MAP<STRING, STRING>>>",
        rows=((1, {"c1": 2, "c2": {"a": [1, 2], "m": [("a", "b")]}}),),
    ),
    one(
        "testUpdateWithUserDefinedDistribution",
        Do("ALTER TABLE {main} ADD PARTITION FIELD bucket(8, c3)"),
        *first((1, 11, 1), (2, 22, 1), (3, 33, 1)),
        Do("ALTER TABLE {main} WRITE ORDERED BY c2"),
        *updated("SET c2 = -22 WHERE id NOT IN (1, 3)", (1, 11, 1), (2, -22, 1), (3, 33, 1)),
        Do("ALTER TABLE {main} WRITE LOCALLY ORDERED BY id"),
        *updated("SET c2 = -33 WHERE id = 3", (1, 11, 1), (2, -22, 1), (3, -33, 1)),
        Do("ALTER TABLE {main} WRITE DISTRIBUTED BY PARTITION ORDERED BY id"),
        *updated("SET c2 = -11 WHERE id = 1", (1, -11, 1), (2, -22, 1), (3, -33, 1)),
        columns="id INT, c2 INT, c3 INT",
    ),
    one(
        "testUpdateWithInferredCasts",
        *updated("SET s = -1 WHERE id = 1", (1, "-1")),
        columns="id INT, s STRING",
        rows=((1, "value"),),
    ),
    one(
        "testUpdateModifiesNullStruct",
        *updated("SET s.n1 = -1 WHERE id = 1", (1, (-1, None))),
        columns="id INT, s STRUCT<n1: INT, n2: INT>",
        rows=((1, None),),
    ),
    one(
        "testUpdateThatRequiresGroupingBeforeWrite",
        BY_DEP,
        *first((0, "hr"), (1, "hr"), (2, "hr")),
        append((0, "ops"), (1, "ops"), (2, "ops")),
        append((0, "hr"), (1, "hr"), (2, "hr")),
        append((0, "ops"), (1, "ops"), (2, "ops")),
        numbers(1, 100, name="updated_id"),
        Set({"spark.sql.shuffle.partitions": "1"}),
        Do("UPDATE {t} t SET id = -1 WHERE id IN (SELECT * FROM updated_id)"),
        query("SELECT id, count(*) FROM {s} GROUP BY id", (-1, 4), (0, 4), (2, 4)),
    ),
    one(
        "testUpdateWithVectorization",
        Do("UPDATE {t} t SET id = -1"),
        rows((-1, "hr"), (-1, "hr"), (-1, "hr")),
        rows=((0, "hr"), (1, "hr"), (2, "hr")),
    ),
    one(
        "testUpdateModifyPartitionSourceField",
        Do("ALTER TABLE {main} ADD PARTITION FIELD bucket(4, id)"),
        BY_DEP,
        *first(*((n, "hr", "usa") for n in range(1, 101))),
        append(*((n, "software", "usa") for n in range(1, 101))),
        append(*((n, "hardware", "usa") for n in range(1, 101))),
        Do("UPDATE {t} SET id = -1 WHERE id IN (10, 11, 12, 13, 14, 15, 16, 17, 18, 19)"),
        query("SELECT count(*) FROM {s} WHERE id = -1", (30,)),
        columns="id INT, dep STRING, country STRING",
    ),
    one(
        "testUpdateWithStaticPredicatePushdown",
        BY_DEP,
        *first((1, "software")),
        append((1, "hr")),
        Check(lost),
        Do("UPDATE {t} SET id = -1 WHERE dep IN ('software') AND id = 1"),
        query("SELECT * FROM {s} WHERE dep = 'software'", (-1, "software")),
    ),
]

# ---------------------------------------------------------------- subqueries

IDS = numbers(0, 1, None, name="updated_id")
DEPS = source("('software'), ('hr')", "value", "updated_dep")
NEGATIVE = numbers(-1, -2, None, name="updated_id")
HR_NULL = source("('hr'), (NULL)", "value", "updated_dep")
SLOW = Set({"spark.sql.adaptive.enabled": "false"})

SUBQUERIES = [
    one(
        "testUpdateWithInSubquery",
        IDS,
        DEPS,
        *updated(
            "SET id = -1 WHERE id IN (SELECT * FROM updated_id) AND dep IN (SELECT * FROM updated_dep)",
            (-1, "hr"),
            (2, "hardware"),
            (None, "hr"),
        ),
        *updated(
            "SET id = 5 WHERE id IS NULL OR id IN (SELECT value + 1 FROM updated_id)",
            (-1, "hr"),
            (5, "hardware"),
            (5, "hr"),
        ),
        append((None, "hr"), (2, "hr")),
        *updated(
            "SET id = 10 WHERE id IN (SELECT value + 2 FROM updated_id) AND dep = 'hr'",
            (-1, "hr"),
            (5, "hardware"),
            (5, "hr"),
            (10, "hr"),
            (None, "hr"),
        ),
        rows=THREE,
    ),
    one(
        "testUpdateWithInSubqueryAndDynamicFileFiltering",
        BY_DEP,
        Do("ALTER TABLE {main} WRITE DISTRIBUTED BY PARTITION"),
        *HR_HARDWARE,
        numbers(-1, 2, name="updated_id"),
        Do("UPDATE {t} SET id = -1 WHERE id IN (SELECT * FROM updated_id)"),
        snapshots(3),
        Summary(copied("1", "1", "1"), marked("1", "1", "1")),
        rows((-1, "hardware"), (1, "hardware"), (1, "hr"), (3, "hr")),
    ),
    one(
        "testUpdateWithSelfSubquery",
        *updated("SET dep = 'x' WHERE id IN (SELECT id + 1 FROM {t})", (1, "hr"), (2, "x")),
        SLOW,
        *updated(
            "SET dep = 'y' WHERE id = (SELECT count(*) FROM (SELECT DISTINCT id FROM {t}) AS t)", (1, "hr"), (2, "y")
        ),
        Set({"spark.sql.adaptive.enabled": "true"}),
        *updated("SET id = (SELECT id - 2 FROM {t} WHERE id = 1)", (-1, "hr"), (-1, "y")),
        rows=((1, "hr"), (2, "hr")),
    ),
    one(
        "testUpdateWithMultiColumnInSubquery",
        source("(NULL, 'hr'), (1, 'hr')", "id, dep", "deleted_employee"),
        *updated(
            "SET dep = 'x', id = -1 WHERE (id, dep) IN (SELECT id, dep FROM deleted_employee)",
            (-1, "x"),
            (2, "hardware"),
            (None, "hr"),
        ),
        rows=THREE,
    ),
    one(
        "testUpdateWithNotInSubquery",
        NEGATIVE,
        *updated("SET id = -1 WHERE id NOT IN (SELECT * FROM updated_id)", *THREE),
        *updated(
            "SET id = -1 WHERE id NOT IN (SELECT * FROM updated_id WHERE value IS NOT NULL)",
            (-1, "hardware"),
            (-1, "hr"),
            (None, "hr"),
        ),
        *updated(
            "SET id = 5 WHERE id NOT IN (SELECT * FROM updated_id) OR dep IN ('software', 'hr')",
            (-1, "hardware"),
            (5, "hr"),
            (5, "hr"),
        ),
        rows=THREE,
    ),
    one(
        "testUpdateWithExistSubquery",
        NEGATIVE,
        HR_NULL,
        *updated("t SET id = -1 WHERE EXISTS (SELECT 1 FROM updated_id u WHERE t.id = u.value)", *THREE),
        *updated(
            "t SET dep = 'x', id = -1 WHERE EXISTS (SELECT 1 FROM updated_id u WHERE t.id = u.value + 2)",
            (-1, "x"),
            (2, "hardware"),
            (None, "hr"),
        ),
        *updated(
            "t SET id = -2 WHERE EXISTS (SELECT 1 FROM updated_id u WHERE t.id = u.value) OR t.id IS NULL",
            (-2, "hr"),
            (-2, "x"),
            (2, "hardware"),
        ),
        *updated(
            "t SET id = 1 WHERE EXISTS (SELECT 1 FROM updated_id ui WHERE t.id = ui.value) "
            "AND EXISTS (SELECT 1 FROM updated_dep ud WHERE t.dep = ud.value)",
            (-2, "x"),
            (1, "hr"),
            (2, "hardware"),
        ),
        rows=THREE,
    ),
    one(
        "testUpdateWithNotExistsSubquery",
        NEGATIVE,
        source("('hr'), ('software')", "value", "updated_dep"),
        *updated(
            "t SET id = -1 WHERE NOT EXISTS (SELECT 1 FROM updated_id u WHERE t.id = u.value + 2)",
            (-1, "hardware"),
            (-1, "hr"),
            (1, "hr"),
        ),
        *updated(
            "t SET id = 5 WHERE NOT EXISTS (SELECT 1 FROM updated_id u WHERE t.id = u.value) OR t.id = 1",
            (-1, "hardware"),
            (-1, "hr"),
            (5, "hr"),
        ),
        *updated(
            "t SET id = 10 WHERE NOT EXISTS (SELECT 1 FROM updated_id ui WHERE t.id = ui.value) "
            "AND EXISTS (SELECT 1 FROM updated_dep ud WHERE t.dep = ud.value)",
            (-1, "hardware"),
            (-1, "hr"),
            (10, "hr"),
        ),
        rows=THREE,
    ),
    one(
        "testUpdateWithScalarSubquery",
        numbers(1, 100, None, name="updated_id"),
        SLOW,
        *updated(
            "SET id = -1 WHERE id <= (SELECT min(value) FROM updated_id)", (-1, "hr"), (2, "hardware"), (None, "hr")
        ),
        rows=THREE,
    ),
]

# ---------------------------------------------------------------- what is refused, others, caches, staged branches

TYPED: dict[str, Any] = {
    "columns": "id INT NOT NULL, s STRUCT<n1: INT NOT NULL, n2: STRUCT<dn1: INT, dn2: INT>> NOT NULL",
    "rows": ((0, {"n1": 1, "n2": {"dn1": 3, "dn2": 4}}),),
}


def _assignments(name: str, policy: dict[str, str | None], struct: str, text: str) -> Scenario:
    return one(
        name,
        Set(policy),
        Fails("UPDATE {t} t SET t.id = NULL", NULL_VALUE),
        Fails("UPDATE {t} t SET t.s.n1 = NULL", NULL_VALUE),
        Fails("UPDATE {t} t SET t.s = named_struct('n1', 1)", struct),
        Fails("UPDATE {t} t SET t.s.n1 = 'str'", text),
        Fails("UPDATE {t} t SET t.s.n2 = named_struct('dn3', 1, 'dn1', 2)", "dn2|dn3"),
        **TYPED,
    )


REST = [
    one(
        "testUpdateWithInvalidUpdates",
        Fails("UPDATE {t} SET a.c1 = 1", "struct|a.c1"),
        Fails("UPDATE {t} SET m.key = 'new_key'", "struct|m.key"),
        columns="id INT, a ARRAY<STRUCT<c1: INT, c2: INT>>, m MAP<STRING, STRING>",
        rows=((0, None, None),),
    ),
    one(
        "testUpdateWithConflictingAssignments",
        Fails("UPDATE {t} t SET t.id = 1, t.c.n1 = 2, t.id = 2", "id is set twice"),
        Fails("UPDATE {t} t SET t.c.n1 = 1, t.id = 2, t.c.n1 = 2", "c.n1 is set twice"),
        Fails(
            "UPDATE {t} SET c.n1 = 1, c = named_struct('n1', 1, 'n2', named_struct('dn1', 1, 'dn2', 2))",
            "c.n1 are both",
        ),
        columns="id INT, c STRUCT<n1: INT, n2: STRUCT<dn1: INT, dn2: INT>>",
        rows=((0, None),),
    ),
    _assignments("testUpdateWithInvalidAssignmentsAnsi", ANSI, "n2", "cast|string|'str'"),
    _assignments("testUpdateWithInvalidAssignmentsStrict", STRICT, "n2", "cast|string|'str'"),
    one(
        "testUpdateWithNonDeterministicCondition",
        Fails("UPDATE {t} SET id = -1 WHERE id = 1 AND rand() > 0.5", NONDETERMINISTIC),
        rows=((1, "hr"),),
    ),
    one(
        "testUpdateOnNonIcebergTableNotSupported",
        source("(-100L, -200L)", "c1, c2", "testtable"),
        Fails("UPDATE testtable SET c1 = -1 WHERE c2 = 1", "support"),
        columns="",
        modes=(COPY,),
    ),
    one(
        "testUpdateWithSerializableIsolation",
        Set(ON_EXECUTORS),
        Check(conflicts("UPDATE {t} SET id = -1 WHERE id = 1")),
        rows((1, "hr"), (1, "hr")),
        rows=((1, "hr"),),
        properties={"write.update.isolation-level": "serializable"},
    ),
    one(
        "testUpdateWithSnapshotIsolation",
        Set(ON_EXECUTORS),
        Check(passes("UPDATE {t} SET id = -1 WHERE id = 1")),
        rows((-1, "hr"), (1, "hr")),
        rows=((1, "hr"),),
        properties={"write.update.isolation-level": "snapshot"},
    ),
    one(
        "testUpdateToWAPBranch",
        STAGED,
        Do("UPDATE {main} SET dep = 'hr' WHERE dep = 'a'"),
        *staged((1, "hr"), (2, "hr"), main=[(1, "hr"), (2, "a")]),
        Do("UPDATE {main} SET dep = 'b' WHERE dep = 'hr'"),
        *staged((1, "b"), (2, "b"), main=[(1, "hr"), (2, "a")]),
        rows=((1, "hr"), (2, "a")),
        properties=WAP,
        modes=MAIN,
    ),
    one(
        "testUpdateToWapBranchWithTableBranchIdentifier",
        STAGED,
        Do("UPDATE {t} SET dep = 'software' WHERE dep = 'hr'"),
        query("SELECT * FROM {t}", (1, "software")),
        rows=((1, "hr"),),
        properties=WAP,
        modes=(DELETES,),
    ),
]
CACHED = cached(
    OF,
    "testUpdateRefreshesRelationCache",
    "SELECT * FROM {v} WHERE id = 1",
    "UPDATE {t} SET id = -1 WHERE id = 1",
    [(1, "hardware"), (1, "hr")],
    [],
    *HR_HARDWARE,
    partitioned="PARTITIONED BY (dep)",
)
UPDATE = [*PLAIN, *SUBQUERIES, *REST, CACHED]
