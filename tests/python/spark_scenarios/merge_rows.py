"""TestMerge: clauses, keys, partitions and values."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as f

import frazil as fz
from spark_scenarios.case import (
    MAIN,
    Append,
    Branch,
    Check,
    Do,
    Scenario,
    Step,
    View,
    append,
    numbers,
    query,
    rows,
    source,
)

OF = "TestMerge"
ON = "MERGE INTO {t} AS t USING source AS s ON t.id = s.id "
BY_VALUE = "MERGE INTO {t} AS t USING source AS s ON t.id = s.value "
ONE_SIX = ((1, "emp-id-one"), (6, "emp-id-6"))
NEW = source("(2, 'emp-id-2'), (1, 'emp-id-1'), (6, 'emp-id-6')")
MIXED = (
    ON + "WHEN MATCHED AND t.id = 1 THEN UPDATE SET * WHEN MATCHED AND t.id = 6 THEN DELETE "
    "WHEN NOT MATCHED AND s.id = 2 THEN INSERT *"
)
MIXED_LEAVES = rows((1, "emp-id-1"), (2, "emp-id-2"))
MODES_OF_DISTRIBUTION = ("none", "hash", "range")


def one(name: str, *steps: Step, **more: Any) -> Scenario:
    return Scenario(OF, name, steps, **more)


# ---------------------------------------------------------------- clauses

FOUR = ((1, "emp-id-one"), (2, "emp-id-two"), (3, "emp-id-3"), (4, "emp-id-4"))
THREE = source("(1, 'emp-id-1'), (2, 'emp-id-2'), (5, 'emp-id-5')")


def _by_python(run: Any) -> None:
    source = run.spark.table("source")
    merge = fz.spark.merge_into(source, run.table, "s.id = t.id", source="s", target="t", branch=run.branch)
    merge = merge.whenMatched(f.col("t.id") == 1).updateAll().whenMatched(f.col("t.id") == 2).delete()
    merge = merge.whenNotMatched().insertAll()
    merge = merge.whenNotMatchedBySource(f.col("t.id") == 3).update({"dep": f.lit("invalid")})
    merge.whenNotMatchedBySource(f.col("t.id") == 4).delete().merge()


CLAUSES = [
    one(
        "testMergeWithAllClauses",
        THREE,
        Do(
            ON + "WHEN MATCHED AND t.id = 1 THEN UPDATE SET * WHEN MATCHED AND t.id = 2 THEN DELETE "
            "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN UPDATE SET dep = 'invalid' "
            "WHEN NOT MATCHED BY SOURCE AND t.id = 4 THEN DELETE"
        ),
        rows((1, "emp-id-1"), (3, "invalid"), (5, "emp-id-5")),
        rows=FOUR,
    ),
    one(
        "testMergeWithAllClausesUsingDataFrameAPI",
        THREE,
        Check(_by_python),
        rows((1, "emp-id-1"), (3, "invalid"), (5, "emp-id-5")),
        rows=FOUR,
        note="`fz.spark.merge_into` in place of `DataFrame.mergeInto`",
    ),
    one(
        "testMergeWithOneNotMatchedBySourceClause",
        numbers(1, 4),
        Do(BY_VALUE + "WHEN NOT MATCHED BY SOURCE THEN DELETE"),
        rows((1, "emp-id-1"), (4, "emp-id-4")),
        rows=((1, "emp-id-1"), (2, "emp-id-2"), (3, "emp-id-3"), (4, "emp-id-4")),
    ),
    one(
        "testMergeNotMatchedBySourceClausesPartitionedTable",
        numbers(1, 2),
        Do(
            BY_VALUE + "AND t.dep = 'hr' WHEN MATCHED THEN UPDATE SET dep = 'support' "
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET dep = 'invalid'"
        ),
        rows((1, "support"), (2, "support"), (3, "invalid")),
        rows=((1, "hr"), (2, "hr"), (3, "support")),
        partitioned="PARTITIONED BY (dep)",
    ),
    one(
        "testMergeWithVectorizedReads",
        source("(2, 201), (1, 101), (6, 601)", "id, value"),
        Do(
            ON + "WHEN MATCHED AND t.id = 1 THEN UPDATE SET t.value = s.value WHEN MATCHED AND t.id = 6 THEN DELETE "
            "WHEN NOT MATCHED AND s.id = 2 THEN INSERT (id, value, dep) VALUES (s.id, s.value, 'invalid')"
        ),
        rows((1, 101, "hr"), (2, 201, "invalid")),
        columns="id INT, value INT, dep STRING",
        rows=((1, 100, "hr"), (6, 600, "software")),
        partitioned="PARTITIONED BY (dep)",
        note="rows only: Frazil's readers give Arrow batches",
    ),
    one(
        "testMergeIntoEmptyTargetInsertAllNonMatchingRows",
        source("(1, 'emp-id-1'), (2, 'emp-id-2'), (3, 'emp-id-3')"),
        Do(ON + "WHEN NOT MATCHED THEN INSERT *"),
        rows((1, "emp-id-1"), (2, "emp-id-2"), (3, "emp-id-3")),
        modes=MAIN,
    ),
    one(
        "testMergeIntoEmptyTargetInsertOnlyMatchingRows",
        source("(1, 'emp-id-1'), (2, 'emp-id-2'), (3, 'emp-id-3')"),
        Do(ON + "WHEN NOT MATCHED AND (s.id >= 2) THEN INSERT *"),
        rows((2, "emp-id-2"), (3, "emp-id-3")),
        modes=MAIN,
    ),
    one(
        "testMergeWithOnlyUpdateClause",
        NEW,
        Do(ON + "WHEN MATCHED AND t.id = 1 THEN UPDATE SET *"),
        rows((1, "emp-id-1"), (6, "emp-id-six")),
        rows=((1, "emp-id-one"), (6, "emp-id-six")),
    ),
    *(
        one(
            f"testMergeWithOnly{name}",
            source("(1, 100)", "id, value"),
            Do(f"{ON} WHEN MATCHED THEN {action}"),
            rows((6, None), *left),
            columns="id INT, value INT",
            rows=((1, 2), (6, None)),
        )
        for name, action, left in (
            ("UpdateNullUnmatchedValues", "UPDATE SET id = 123, value = 456", [(123, 456)]),
            ("UpdateSingleFieldNullUnmatchedValues", "UPDATE SET id = 123", [(123, 2)]),
            ("DeleteNullUnmatchedValues", "DELETE", []),
        )
    ),
    one(
        "testMergeWithOnlyUpdateClauseAndNullValues",
        NEW,
        Do(ON + "AND t.id < 3 WHEN MATCHED THEN UPDATE SET *"),
        rows((None, "emp-id-one"), (1, "emp-id-1"), (6, "emp-id-six")),
        rows=((None, "emp-id-one"), (1, "emp-id-one"), (6, "emp-id-six")),
    ),
    one(
        "testMergeWithOnlyDeleteClause",
        NEW,
        Do(ON + "WHEN MATCHED AND t.id = 6 THEN DELETE"),
        rows((1, "emp-id-one")),
        rows=ONE_SIX,
    ),
    one("testMergeWithMatchedAndNotMatchedClauses", NEW, Do(MIXED), MIXED_LEAVES, rows=ONE_SIX),
    one(
        "testMergeWithAllCausesWithExplicitColumnSpecification",
        NEW,
        Do(
            ON + "WHEN MATCHED AND t.id = 1 THEN UPDATE SET t.id = s.id, t.dep = s.dep "
            "WHEN MATCHED AND t.id = 6 THEN DELETE "
            "WHEN NOT MATCHED AND s.id = 2 THEN INSERT (t.id, t.dep) VALUES (s.id, s.dep)"
        ),
        MIXED_LEAVES,
        rows=ONE_SIX,
    ),
    one(
        "testMergeWithSourceCTE",
        source("(2, 'emp-id-3'), (1, 'emp-id-2'), (5, 'emp-id-6')"),
        Do(
            "WITH later AS (SELECT id + 1 AS id, dep FROM source) MERGE INTO {t} AS t USING later AS s ON t.id = s.id "
            "WHEN MATCHED AND t.id = 2 THEN UPDATE SET * WHEN MATCHED AND t.id = 6 THEN DELETE "
            "WHEN NOT MATCHED AND s.id = 3 THEN INSERT *"
        ),
        rows((2, "emp-id-2"), (3, "emp-id-3")),
        rows=((2, "emp-id-two"), (6, "emp-id-6")),
    ),
    one(
        "testMergeWithSourceFromSetOps",
        NEW,
        Do(
            MIXED.replace(
                "source AS s",
                "(SELECT * FROM source WHERE id = 2 UNION ALL SELECT * FROM source WHERE id = 1 OR id = 6) AS s",
            )
        ),
        MIXED_LEAVES,
        rows=ONE_SIX,
    ),
    one(
        "testMergeWithMultipleNotMatchedActions",
        source("(1, 'emp-id-1'), (2, 'emp-id-2'), (3, 'emp-id-3')"),
        Do(
            ON + "WHEN NOT MATCHED AND s.id = 1 THEN INSERT (dep, id) VALUES (s.dep, -1) WHEN NOT MATCHED THEN INSERT *"
        ),
        rows((-1, "emp-id-1"), (0, "emp-id-0"), (2, "emp-id-2"), (3, "emp-id-3")),
        rows=((0, "emp-id-0"),),
    ),
    one(
        "testMergeWithMultipleConditionalNotMatchedActions",
        source("(1, 'emp-id-1'), (2, 'emp-id-2'), (3, 'emp-id-3')"),
        Do(
            ON + "WHEN NOT MATCHED AND s.id = 1 THEN INSERT (dep, id) VALUES (s.dep, -1) "
            "WHEN NOT MATCHED AND s.id = 2 THEN INSERT *"
        ),
        rows((-1, "emp-id-1"), (0, "emp-id-0"), (2, "emp-id-2")),
        rows=((0, "emp-id-0"),),
    ),
    one(
        "testMergeWithMultipleMatchingActions",
        source("(1L, 'v1_1'), (2L, 'v2_2')", "id, v"),
        Do(
            ON + "WHEN MATCHED AND s.id = 1 THEN UPDATE SET v = s.v WHEN MATCHED AND s.v = 'v1_1' THEN DELETE "
            "WHEN NOT MATCHED THEN INSERT (v, id) VALUES (s.v, s.id)"
        ),
        rows((1, "v1_1"), (2, "v2")),
        columns="id INT, v STRING",
        rows=((1, "v1"), (2, "v2")),
    ),
    one(
        "testMergeInsertOnly",
        source("('a', 'v1_1'), ('a', 'v1_2'), ('c', 'v3'), ('d', 'v4_1'), ('d', 'v4_2')", "id, v"),
        Do(ON + "WHEN NOT MATCHED THEN INSERT *"),
        rows(("a", "v1"), ("b", "v2"), ("c", "v3"), ("d", "v4_1"), ("d", "v4_2")),
        columns="id STRING, v STRING",
        rows=(("a", "v1"), ("b", "v2")),
    ),
    one(
        "testMergeInsertOnlyWithCondition",
        source("(1L, 11L, true), (2L, 21L, true), (2L, 22L, false)", "id, v, is_new"),
        Do(ON + "WHEN NOT MATCHED AND is_new = TRUE THEN INSERT (v, id) VALUES (s.v + 100, s.id)"),
        rows((1, 1), (2, 121)),
        columns="id INT, v INT",
        rows=((1, 1),),
    ),
    one(
        "testMergeWithUnconditionalDelete",
        source("(1, 'emp-id-1'), (1, 'emp-id-1'), (2, 'emp-id-2'), (6, 'emp-id-6')"),
        Do(ON + "WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.id = 2 THEN INSERT *"),
        rows((2, "emp-id-2")),
        rows=ONE_SIX,
    ),
]

# ---------------------------------------------------------------- partitions and orders


def _partitioned(name: str, *definitions: str) -> Scenario:
    """The same merge with each distribution of writes."""
    steps: list[Step] = []
    for mode in MODES_OF_DISTRIBUTION:
        steps.append(Do(f"ALTER TABLE {{main}} SET TBLPROPERTIES ('write.distribution-mode' = '{mode}')"))
        steps += [Do("DELETE FROM {t}"), append(*ONE_SIX), Do(MIXED), MIXED_LEAVES]
    start = [NEW, *map(Do, definitions), Append(((0, "none"),), main=True), Branch()]
    return one(name, *start, *steps)


def _days() -> Scenario:
    made = "timestamp'2001-01-0{0} 00:00:00'"
    steps: list[Step] = [
        source(f"(2, {made.format(2)}), (1, {made.format(1)}), (6, {made.format(6)})", "id, ts"),
        Do("ALTER TABLE {main} ADD PARTITION FIELD days(ts)"),
        Do("INSERT INTO {main} VALUES (0, timestamp'1999-01-01 00:00:00')"),
        Branch(),
    ]
    for mode in MODES_OF_DISTRIBUTION:
        steps += [
            Do(f"ALTER TABLE {{main}} SET TBLPROPERTIES ('write.distribution-mode' = '{mode}')"),
            Do("DELETE FROM {t}"),
            Do("INSERT INTO {t} VALUES (1, timestamp'2000-01-01 00:00:00'), (6, timestamp'2000-01-06 00:00:00')"),
            Do(MIXED),
            query("SELECT id, CAST(ts AS STRING) FROM {s}", (1, "2001-01-01 00:00:00"), (2, "2001-01-02 00:00:00")),
        ]
    return one("testMergeWithDaysTransform", *steps, columns="id INT, ts TIMESTAMP")


PARTITIONS = [
    _partitioned("testMergeWithIdentityTransform", "ALTER TABLE {main} ADD PARTITION FIELD identity(dep)"),
    _days(),
    _partitioned("testMergeWithBucketTransform", "ALTER TABLE {main} ADD PARTITION FIELD bucket(2, dep)"),
    _partitioned("testMergeWithTruncateTransform", "ALTER TABLE {main} ADD PARTITION FIELD truncate(dep, 2)"),
    _partitioned(
        "testMergeIntoPartitionedAndOrderedTable",
        "ALTER TABLE {main} ADD PARTITION FIELD dep",
        "ALTER TABLE {main} WRITE ORDERED BY (id)",
    ),
]

# ---------------------------------------------------------------- keys and values

STRUCT = "id INT, s STRUCT<c1: INT, c2: STRUCT<a: ARRAY<INT>, m: MAP<STRING, STRING>>>"
UPDATE_STRUCT = "MERGE INTO {t} t USING source ON t.id = source.id WHEN MATCHED THEN UPDATE SET "
BOTH_WAYS = (
    "WHEN MATCHED THEN UPDATE SET v = source.v WHEN NOT MATCHED THEN INSERT (v, id) VALUES (source.v, source.id)"
)
NAMED = "MERGE INTO {t} t USING source ON "
V = {"columns": "id INT, v STRING"}
ABC = {"columns": "id INT, a INT, b STRING", "rows": ((1, 2, "str"),)}
NEW_STR = source("(1L, -2L, 'new_str_1'), (2L, -20L, 'new_str_2')", "id, c1, c2")
ABC_LEAVES = ((1, -2, "new_str_1"), (2, -20, "new_str_2"))

VALUES = [
    one(
        "testMergeWithExtraColumnsInSource",
        source("(1L, -1L, 'v1_1'), (3L, -1L, 'v3'), (4L, -1L, 'v4')", "id, extra_col, v"),
        Do(NAMED + "t.id = source.id " + BOTH_WAYS),
        rows((1, "v1_1"), (2, "v2"), (3, "v3"), (4, "v4")),
        rows=((1, "v1"), (2, "v2")),
        **V,
    ),
    one(
        "testMergeWithNullsInTargetAndSource",
        source("(NULL, 'v1_1'), (4L, 'v4')", "id, v"),
        Do(NAMED + "t.id = source.id " + BOTH_WAYS),
        rows((None, "v1"), (None, "v1_1"), (2, "v2"), (4, "v4")),
        rows=((None, "v1"), (2, "v2")),
        **V,
    ),
    one(
        "testMergeWithNullSafeEquals",
        source("(NULL, 'v1_1'), (4L, 'v4')", "id, v"),
        Do(NAMED + "t.id <=> source.id " + BOTH_WAYS),
        rows((None, "v1_1"), (2, "v2"), (4, "v4")),
        rows=((None, "v1"), (2, "v2")),
        **V,
    ),
    one(
        "testMergeWithNullCondition",
        source("(NULL, 'v1_1'), (2L, 'v2_2')", "id, v"),
        Do(NAMED + "t.id = source.id AND NULL " + BOTH_WAYS),
        rows((None, "v1"), (None, "v1_1"), (2, "v2"), (2, "v2_2")),
        rows=((None, "v1"), (2, "v2")),
        **V,
    ),
    one(
        "testMergeWithNullActionConditions",
        source("(1L, 'v1_1'), (2L, 'v2_2'), (3L, 'v3_3')", "id, v"),
        *(
            step
            for null, left in ((" AND NULL", [(1, "v1"), (2, "v2")]), ("", [(2, "v2")]))
            for step in (
                Do(
                    ON + "WHEN MATCHED AND s.id = 1 AND NULL THEN UPDATE SET v = s.v "
                    f"WHEN MATCHED AND s.v = 'v1_1'{null} THEN DELETE "
                    "WHEN NOT MATCHED AND s.id = 3 AND NULL THEN INSERT (v, id) VALUES (s.v, s.id)"
                ),
                rows(*left),
            )
        ),
        rows=((1, "v1"), (2, "v2")),
        **V,
    ),
    one(
        "testMergeAlignsUpdateAndInsertActions",
        NEW_STR,
        Do(
            NAMED + "t.id = source.id WHEN MATCHED THEN UPDATE SET b = c2, a = c1, t.id = source.id "
            "WHEN NOT MATCHED THEN INSERT (b, a, id) VALUES (c2, c1, id)"
        ),
        rows(*ABC_LEAVES),
        **ABC,
    ),
    one(
        "testMergeMixedCaseAlignsUpdateAndInsertActions",
        NEW_STR,
        Do(
            NAMED + "t.iD = source.Id WHEN MATCHED THEN UPDATE SET B = c2, A = c1, t.Id = source.ID "
            "WHEN NOT MATCHED THEN INSERT (b, A, iD) VALUES (c2, c1, id)"
        ),
        rows(*ABC_LEAVES),
        query("SELECT * FROM {s} WHERE id = 1", ABC_LEAVES[0]),
        query("SELECT * FROM {s} WHERE b = 'new_str_2'", ABC_LEAVES[1]),
        **ABC,
    ),
    one(
        "testMergeUpdatesNestedStructFields",
        source("(1L, -2L)", "id, c1"),
        Do(UPDATE_STRUCT + "t.s.c1 = source.c1, t.s.c2.a = array(-1, -2), t.s.c2.m = map('k', 'v')"),
        rows((1, (-2, ([-1, -2], {"k": "v"})))),
        Do(UPDATE_STRUCT + "t.s.c1 = NULL, t.s.c2 = NULL"),
        rows((1, (None, None))),
        Do(UPDATE_STRUCT + "t.s = named_struct('c1', 100, 'c2', named_struct('a', array(1), 'm', map('x', 'y')))"),
        rows((1, (100, ([1], {"x": "y"})))),
        columns=STRUCT,
        rows=((1, {"c1": 2, "c2": {"a": [1, 2], "m": [("a", "b")]}}),),
    ),
    one(
        "testMergeWithInferredCasts",
        source("(1L, -2L)", "id, c1"),
        Do(UPDATE_STRUCT + "t.s = source.c1"),
        rows((1, "-2")),
        columns="id INT, s STRING",
        rows=((1, "value"),),
    ),
    one(
        "testMergeModifiesNullStruct",
        source("(1L, -10L)", "id, n1"),
        Do(UPDATE_STRUCT + "t.s.n1 = source.n1"),
        rows((1, (-10, None))),
        columns="id INT, s STRUCT<n1: INT, n2: INT>",
        rows=((1, None),),
    ),
    one(
        "testMergeResolvesColumnsByName",
        source("(1001, 1, 'emp-id-1'), (6006, 6, 'emp-id-6'), (7007, 7, 'emp-id-7')", "badge, id, dep"),
        Do(ON + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"),
        query("SELECT id, badge, dep FROM {s}", (1, 1001, "emp-id-1"), (6, 6006, "emp-id-6"), (7, 7007, "emp-id-7")),
        columns="id INT, badge INT, dep STRING",
        rows=((1, 1000, "emp-id-one"), (6, 6000, "emp-id-6")),
    ),
    one(
        "testMergeShouldResolveWhenThereAreNoUnresolvedExpressionsOrColumns",
        source("(1, 'emp-id-1'), (2, 'emp-id-2'), (3, 'emp-id-3')"),
        Do(
            "MERGE INTO {main} AS t USING source AS s ON 1 != 1 "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        ),
        Branch(),
        rows((1, "emp-id-1"), (2, "emp-id-2"), (3, "emp-id-3")),
    ),
    one(
        "testMergeWithTableWithNonNullableColumn",
        NEW,
        Do(MIXED),
        MIXED_LEAVES,
        columns="id INT NOT NULL, dep STRING",
        rows=ONE_SIX,
    ),
    one(
        "testMergeWithMissingOptionalColumnsInInsert",
        source("(2L, 200L)", "c1, c2"),
        Do("MERGE INTO {t} t USING source s ON t.id = s.c1 WHEN NOT MATCHED THEN INSERT (id) VALUES (s.c1)"),
        rows((1, 100), (2, None)),
        columns="id INT, value LONG",
        rows=((1, 100),),
    ),
]

# ---------------------------------------------------------------- the table itself as source

TO_X = "WHEN MATCHED AND t.id = 1 THEN UPDATE SET v = 'x' WHEN NOT MATCHED THEN INSERT "
TWO = {"columns": "id INT, v STRING", "rows": ((1, "v1"), (2, "v2"))}
EACH = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
FIVE = View("source", "SELECT * FROM range(0, 5)")

SELF = [
    one(
        "testSelfMerge",
        Do("MERGE INTO {t} t USING {t} s ON t.id = s.id " + TO_X + "*"),
        rows((1, "x"), (2, "v2")),
        **TWO,
    ),
    one(
        "testMergeWithSourceAsSelfSubquery",
        numbers(1, None),
        Do(
            "MERGE INTO {t} t USING (SELECT id AS value FROM {t} r JOIN source ON r.id = source.value) s "
            "ON t.id = s.value " + TO_X + "(v, id) VALUES ('invalid', -1)"
        ),
        rows((1, "x"), (2, "v2")),
        **TWO,
    ),
    one(
        "testMergeSinglePartitionPartitioning",
        FIVE,
        Do(ON + EACH),
        rows(*((n,) for n in range(-1, 5))),
        columns="id INT",
        rows=((-1,),),
    ),
    one("testMergeEmptyTable", FIVE, Do(ON + EACH), rows(*((n,) for n in range(5))), columns="id INT", modes=MAIN),
]
MERGE_ROWS = [*CLAUSES, *PARTITIONS, *VALUES, *SELF]
