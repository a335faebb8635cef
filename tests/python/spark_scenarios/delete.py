"""TestDelete."""

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
from spark_scenarios.merge_rest import NONDETERMINISTIC, STAGED, WAP, staged
from spark_scenarios.update import HR_HARDWARE, HUNDRED, NO_SNAPSHOT, SLOW, THREE, snapshots

OF = "TestDelete"
BY_DEP = {"partitioned": "PARTITIONED BY (dep)"}
METADATA = "same rows; Frazil's summary of a whole file that is deleted is the same in both modes"


def one(name: str, *steps: Step, **more: Any) -> Scenario:
    return Scenario(OF, name, steps, **more)


def deleted(statement: str, *left: Any) -> tuple[Step, ...]:
    return Do("DELETE FROM {t} " + statement), rows(*left)


def removed(partitions: str, files: str | None) -> Summary:
    """Whole data files were removed, in every mode."""
    figures = ("delete", partitions, files, None, None)
    return Summary(figures, figures)


HALF = query("SELECT count(*), count(nullif(mod(id, 2), 0)) FROM {s}", (200, 200))
COMPLEX: dict[str, Any] = {"columns": "id INT, complex STRUCT<c1: INT, c2: STRING>"}
PLAIN = [
    one(
        "testDeleteWithVectorizedReads",
        *first((1, "hr"), (2, "hr")),
        append((3, "hardware"), (4, "hardware")),
        Do("DELETE FROM {t} WHERE id = 2"),
        snapshots(3),
        Summary(copied("1", "1", "1"), marked("1", "1", None)),
        rows((1, "hr"), (3, "hardware"), (4, "hardware")),
        note="no plan is looked at: Frazil's readers give Arrow batches",
        **BY_DEP,
    ),
    *(
        one(
            f"test{kind}Delete",
            *first(*HUNDRED),
            *[append(*HUNDRED)] * 3,
            Do("DELETE FROM {t} WHERE mod(id, 2) = 0"),
            HALF,
            note="rows only: Spark's partition sizes don't decide how many files Frazil writes",
            **more,
        )
        for kind, more in (("Coalesce", {}), ("Skew", BY_DEP))
    ),
    one(
        "testDeleteWithoutScanningTable",
        *HR_HARDWARE,
        Do("DELETE FROM {t} WHERE dep = 'hr'"),
        removed("1", "1"),
        rows((1, "hardware"), (2, "hardware")),
        **BY_DEP,
    ),
    one(
        "testDeleteFileThenMetadataDelete",
        *first((1, "hr"), (2, "hardware"), (None, "hr")),
        *deleted("AS t WHERE t.id IS NULL", (1, "hr"), (2, "hardware")),
        *deleted("AS t WHERE t.id = 1", (2, "hardware")),
        note="rows only: in Iceberg's test each row has a data file of its own",
    ),
    one(
        "testDeleteWithPartitionedTable",
        *first((1, "hr"), (3, "hr")),
        append((1, "hardware"), (2, "hardware")),
        *deleted("WHERE id = 1", (2, "hardware"), (3, "hr")),
        query("SELECT count(*) FROM {t}.partitions", (2,)),
        *deleted("WHERE dep = 'hr'", (2, "hardware")),
        query("SELECT count(*) FROM {t}.partitions", (1,)),
        modes=MAIN,
        **BY_DEP,
    ),
    one(
        "testDeleteWithFalseCondition",
        *deleted("WHERE id = 1 AND id > 20", (1, "hr"), (2, "hardware")),
        snapshots(1),
        rows=((1, "hr"), (2, "hardware")),
        result=DIFFERS,
        note=NO_SNAPSHOT,
    ),
    one(
        "testDeleteFromEmptyTable",
        *deleted("WHERE id IN (1)"),
        *deleted("WHERE dep = 'hr'"),
        snapshots(0),
        result=DIFFERS,
        note=NO_SNAPSHOT,
        modes=MAIN,
    ),
    one(
        "testDeleteFromNonExistingCustomBranch",
        Fails("DELETE FROM {main}.branch_test WHERE id IN (1)", "test"),
        modes=MAIN,
    ),
    one(
        "testExplain",
        Do("EXPLAIN DELETE FROM {t} WHERE id <=> 1"),
        Do("EXPLAIN DELETE FROM {t} WHERE true"),
        snapshots(1),
        rows(*THREE),
        rows=THREE,
    ),
    one("testDeleteWithAlias", *deleted("AS t WHERE t.id IS NULL", (1, "hr"), (2, "hardware")), rows=THREE),
    one(
        "testDeleteWithDynamicFileFiltering",
        *HR_HARDWARE,
        Do("DELETE FROM {t} WHERE id = 2"),
        snapshots(3),
        Summary(copied("1", "1", "1"), marked("1", "1", None)),
        rows((1, "hardware"), (1, "hr"), (3, "hr")),
        **BY_DEP,
    ),
    one(
        "testDeleteNonExistingRecords",
        *deleted("AS t WHERE t.id > 10", *THREE),
        snapshots(1),
        rows=THREE,
        result=DIFFERS,
        note=NO_SNAPSHOT,
        **BY_DEP,
    ),
    one(
        "deleteSingleRecordProducesDeleteOperation",
        Do("DELETE FROM {t} WHERE id = 2"),
        snapshots(2),
        Summary(copied("1", "1", "1"), marked("1", "1", None)),
        rows((1, "eng"), (3, "eng")),
        rows=((1, "eng"), (2, "eng"), (3, "eng")),
        modes=MAIN,
        **BY_DEP,
    ),
    one(
        "testDeleteWithoutCondition",
        *first((1, "hr")),
        append((2, "hardware")),
        append((None, "hr")),
        Do("DELETE FROM {t}"),
        snapshots(4),
        removed("2", "3"),
        rows(),
        **BY_DEP,
    ),
    one(
        "testDeleteUsingMetadataWithComplexCondition",
        *first((1, "dep1")),
        append((2, "dep2")),
        append((None, "dep3")),
        Do("DELETE FROM {t} WHERE dep > 'dep2' OR dep = CAST(4 AS STRING) OR dep = 'dep2'"),
        snapshots(4),
        removed("2", "2"),
        rows((1, "dep1")),
        **BY_DEP,
    ),
    one(
        "testDeleteWithArbitraryPartitionPredicates",
        *first((1, "hr")),
        append((2, "hardware")),
        append((None, "hr")),
        Do("DELETE FROM {t} WHERE id = 10 OR dep LIKE '%ware'"),
        snapshots(4),
        Check(lambda run: run.snapshot.operation == "delete"),
        rows((1, "hr"), (None, "hr")),
        note="the counts of files are not compared: Frazil removes a data file whose last row goes",
        **BY_DEP,
    ),
    one(
        "testDeleteWithNonDeterministicCondition",
        Fails("DELETE FROM {t} WHERE id = 1 AND rand() > 0.5", NONDETERMINISTIC),
        rows=((1, "hr"), (2, "hardware")),
        **BY_DEP,
    ),
    one(
        "testDeleteWithFoldableConditions",
        *deleted("WHERE false", (1, "hr"), (2, "hardware")),
        *deleted("WHERE 50 <> 50", (1, "hr"), (2, "hardware")),
        *deleted("WHERE 1 > NULL", (1, "hr"), (2, "hardware")),
        *deleted("WHERE 21 = 21"),
        snapshots(2),
        rows=((1, "hr"), (2, "hardware")),
        **BY_DEP,
    ),
    one(
        "testDeleteWithNullConditions",
        *deleted("WHERE dep = NULL", (0, None), *THREE),
        *deleted("WHERE dep = 'software'", (0, None), *THREE),
        *deleted("WHERE dep <=> NULL", *THREE),
        removed("1", "1"),
        snapshots(2),
        rows=((0, None), *THREE),
        result=DIFFERS,
        note=NO_SNAPSHOT,
        **BY_DEP,
    ),
    one(
        "testDeleteWithInAndNotInConditions",
        *deleted("WHERE id IN (1, NULL)", (2, "hardware"), (None, "hr")),
        *deleted("WHERE id NOT IN (NULL, 1)", (2, "hardware"), (None, "hr")),
        *deleted("WHERE id NOT IN (1, 10)", (None, "hr")),
        rows=THREE,
    ),
    one(
        "testDeleteWithMultipleRowGroupsParquet",
        *first(*((n, "hr") for n in range(1, 201))),
        Do("DELETE FROM {t} WHERE id IN (200, 201)"),
        query("SELECT count(*), max(id) FROM {s}", (199, 199)),
        properties={"write.parquet.row-group-size-bytes": "100", "read.split.target-size": "100"},
        **BY_DEP,
    ),
    one(
        "testDeleteWithConditionOnNestedColumn",
        *first((1, {"c1": 3, "c2": "v1"})),
        append((2, {"c1": 2, "c2": "v2"})),
        Do("DELETE FROM {t} WHERE complex.c1 = id + 2"),
        query("SELECT id FROM {s}", (2,)),
        Do("DELETE FROM {t} t WHERE t.complex.c1 = id"),
        query("SELECT id FROM {s}"),
        **COMPLEX,
    ),
    one(
        "testDeleteWithFilterOnNestedColumn",
        *first((1, {"c1": 3, "c2": "v1"})),
        append((2, {"c1": 2, "c2": "v2"})),
        Do("DELETE FROM {t} WHERE complex.c1 > 3"),
        query("SELECT id FROM {s}", (1,), (2,)),
        Do("DELETE FROM {t} WHERE complex.c1 = 3"),
        query("SELECT id FROM {s}", (2,)),
        Do("DELETE FROM {t} t WHERE t.complex.c1 = 2"),
        query("SELECT id FROM {s}"),
        **COMPLEX,
    ),
    one(
        "testDeleteThatRequiresGroupingBeforeWrite",
        *first((0, "hr"), (1, "hr"), (2, "hr")),
        append((0, "ops"), (1, "ops"), (2, "ops")),
        append((0, "hr"), (1, "hr"), (2, "hr")),
        append((0, "ops"), (1, "ops"), (2, "ops")),
        numbers(1, 100, name="deleted_id"),
        Set({"spark.sql.shuffle.partitions": "1"}),
        Do("DELETE FROM {t} t WHERE id IN (SELECT * FROM deleted_id)"),
        query("SELECT id, count(*) FROM {s} GROUP BY id", (0, 4), (2, 4)),
        **BY_DEP,
    ),
    one(
        "testDeleteWithMultipleSpecs",
        *first((1, "hr", "c1")),
        Do("ALTER TABLE {main} ADD PARTITION FIELD dep"),
        append((2, "hr", "c1"), (3, "hr", "c1")),
        Do("ALTER TABLE {main} ADD PARTITION FIELD category"),
        append((5, "hr", "c1")),
        Do("ALTER TABLE {main} DROP PARTITION FIELD category"),
        append((7, "hr", "c1")),
        Do("DELETE FROM {t} WHERE id IN (1, 3, 5, 7)"),
        snapshots(5),
        Summary(copied("3", "4", "1")),
        rows((2, "hr", "c1")),
        note="files are counted with copy-on-write only: Frazil removes a data file whose last row goes",
        columns="id INT, dep STRING, category STRING",
    ),
]

# ---------------------------------------------------------------- subqueries

NEGATIVE = numbers(-1, -2, None, name="deleted_id")
DEPS = source("('software'), ('hr')", "value", "deleted_dep")
NOT_NULL = "(SELECT * FROM deleted_id WHERE value IS NOT NULL)"
DEP = "EXISTS (SELECT 1 FROM deleted_dep dd WHERE t.dep = dd.value)"
ID = "EXISTS (SELECT 1 FROM deleted_id d WHERE t.id = d.value)"
ID_2 = "EXISTS (SELECT 1 FROM deleted_id d WHERE t.id = d.value + 2)"

SUBQUERIES = [
    one(
        "testDeleteWithInSubquery",
        numbers(0, 1, None, name="deleted_id"),
        DEPS,
        *deleted(
            "WHERE id IN (SELECT * FROM deleted_id) AND dep IN (SELECT * FROM deleted_dep)",
            (2, "hardware"),
            (None, "hr"),
        ),
        append((1, "hr"), (-1, "hr")),
        *deleted("WHERE id IS NULL OR id IN (SELECT value + 2 FROM deleted_id)", (-1, "hr"), (1, "hr")),
        append((None, "hr"), (2, "hr")),
        *deleted("WHERE id IN (SELECT value + 2 FROM deleted_id) AND dep = 'hr'", (-1, "hr"), (1, "hr"), (None, "hr")),
        rows=THREE,
    ),
    one(
        "testDeleteWithMultiColumnInSubquery",
        source("(NULL, 'hr'), (1, 'hr')", "id, dep", "deleted_employee"),
        *deleted("WHERE (id, dep) IN (SELECT id, dep FROM deleted_employee)", (2, "hardware"), (None, "hr")),
        rows=THREE,
    ),
    one(
        "testDeleteWithNotInSubquery",
        NEGATIVE,
        DEPS,
        *deleted("WHERE id NOT IN (SELECT * FROM deleted_id)", *THREE),
        *deleted(f"WHERE id NOT IN {NOT_NULL}", (None, "hr")),
        append(*THREE),
        *deleted("WHERE id NOT IN (SELECT * FROM deleted_id) OR dep IN ('software', 'hr')", (2, "hardware")),
        *deleted(f"t WHERE id NOT IN {NOT_NULL} AND {DEP}", (2, "hardware")),
        *deleted(f"t WHERE id NOT IN {NOT_NULL} OR {DEP}"),
        rows=THREE,
    ),
    one(
        "testDeleteWithExistSubquery",
        NEGATIVE,
        DEPS,
        *deleted(f"t WHERE {ID}", *THREE),
        *deleted(f"t WHERE {ID_2}", (2, "hardware"), (None, "hr")),
        *deleted(f"t WHERE {ID} OR t.id IS NULL", (2, "hardware")),
        *deleted(f"t WHERE {ID} AND {DEP}", (2, "hardware")),
        rows=THREE,
    ),
    one(
        "testDeleteWithNotExistsSubquery",
        NEGATIVE,
        DEPS,
        *deleted(f"t WHERE NOT {ID_2} AND NOT {DEP}", (1, "hr"), (None, "hr")),
        *deleted(f"t WHERE NOT {ID_2}", (1, "hr")),
        *deleted(f"t WHERE NOT {ID_2} OR t.id = 1"),
        rows=THREE,
    ),
    one(
        "testDeleteWithScalarSubquery",
        numbers(1, 100, None, name="deleted_id"),
        SLOW,
        *deleted("t WHERE id <= (SELECT min(value) FROM deleted_id)", (2, "hardware"), (None, "hr")),
        rows=THREE,
    ),
]

# ---------------------------------------------------------------- others, caches, staged branches

BY_IDS = "DELETE FROM {t} WHERE id IN (SELECT * FROM deleted_id)"
EMPLOYEES = ((0, "hr"), (1, "hr"), (2, "hr"))
WAP_BY_DEP: dict[str, Any] = {"properties": WAP, "modes": MAIN, **BY_DEP}
REST = [
    one(
        "testDeleteOnNonIcebergTableNotSupported",
        Do("CREATE TABLE parquet_table (c1 INT, c2 INT) USING parquet"),
        Fails("DELETE FROM parquet_table WHERE c1 = -100", "support"),
        Do("DROP TABLE parquet_table"),
        columns="",
        modes=(COPY,),
    ),
    one(
        "testDeleteWithSerializableIsolation",
        numbers(1, name="deleted_id"),
        Set(ON_EXECUTORS),
        Check(conflicts(BY_IDS)),
        rows((1, "hr"), (1, "hr")),
        rows=((1, "hr"),),
        properties={"write.delete.isolation-level": "serializable"},
    ),
    one(
        "testDeleteWithSnapshotIsolation",
        numbers(1, name="deleted_id"),
        Set(ON_EXECUTORS),
        Check(passes(BY_IDS)),
        rows((1, "hr")),
        rows=((1, "hr"),),
        properties={"write.delete.isolation-level": "snapshot"},
    ),
    one(
        "testDeleteToWapBranch",
        STAGED,
        Do("DELETE FROM {main} t WHERE id = 0"),
        *staged((1, "hr"), (2, "hr"), main=EMPLOYEES),
        Do("DELETE FROM {main} t WHERE id = 1"),
        *staged((2, "hr"), main=EMPLOYEES),
        rows=EMPLOYEES,
        **WAP_BY_DEP,
    ),
    one(
        "testDeleteToWapBranchWithTableBranchIdentifier",
        STAGED,
        Do("DELETE FROM {t} t WHERE id = 0"),
        query("SELECT * FROM {t}", (1, "hr"), (2, "hr")),
        rows=EMPLOYEES,
        properties=WAP,
        modes=(DELETES,),
        **BY_DEP,
    ),
    one(
        "testDeleteToCustomWapBranchWithoutWhereClause",
        Set({"spark.wap.branch": "test"}),
        Do("DELETE FROM {main} t WHERE id = 1"),
        query("SELECT id FROM {main}", (0,), (2,)),
        query("SELECT id FROM {main}.branch_test", (0,), (2,)),
        query("SELECT id FROM {main}.branch_main", (0,), (1,), (2,)),
        Do("DELETE FROM {main} t"),
        query("SELECT id FROM {main}"),
        query("SELECT id FROM {main}.branch_test"),
        query("SELECT id FROM {main}.branch_main", (0,), (1,), (2,)),
        rows=EMPLOYEES,
        properties=WAP,
        modes=(DELETES,),
        **BY_DEP,
    ),
    one(
        "testDeleteToWapBranchCanDeleteWhereScansWapBranch",
        STAGED,
        Do("INSERT INTO {main} VALUES (0, 'hr'), (1, 'hr'), (2, 'hr')"),
        Do("DELETE FROM {main} WHERE id = 1"),
        query("SELECT * FROM {main}.branch_wap", (0, "hr"), (2, "hr")),
        query("SELECT * FROM {main}.branch_main", (1, "hr")),
        rows=((1, "hr"),),
        **WAP_BY_DEP,
    ),
    one(
        "testMetadataDeleteToWapBranchCommitsToWapBranch",
        STAGED,
        Do("INSERT INTO {main} VALUES (0, 'hr'), (2, 'eng')"),
        Do("DELETE FROM {main} WHERE dep = 'hr'"),
        query("SELECT * FROM {main}.branch_wap", (2, "eng"), (5, "eng")),
        query("SELECT * FROM {main}.branch_main", (1, "hr"), (5, "eng")),
        rows=((1, "hr"), (5, "eng")),
        **WAP_BY_DEP,
    ),
]
CACHED = cached(
    OF,
    "testDeleteRefreshesRelationCache",
    "SELECT * FROM {v} WHERE id = 1",
    "DELETE FROM {t} WHERE id = 1",
    [(1, "hardware"), (1, "hr")],
    [],
    *HR_HARDWARE,
    partitioned="PARTITIONED BY (dep)",
)
DELETE = [*PLAIN, *SUBQUERIES, *REST, CACHED]
