"""TestMergeMetrics: how many rows a merge changed. TestRowLevelOperationsWithLineage: which rows are the same."""

from __future__ import annotations

from typing import Any

from spark_scenarios.case import (
    COPY_3,
    DIFFERS,
    MAIN,
    VECTORS,
    Check,
    Do,
    Rows,
    Scenario,
    Step,
    View,
    numbers,
    query,
    rows,
    source,
)
from spark_scenarios.merge_rows import BY_VALUE, ON

NAMED = "the statement's answer has the counts; Iceberg writes `spark.merge-into.*` into the summary"
TWO = ((1, "hr"), (2, "software"))
THREE = (*TWO, (3, "finance"))
ONE_UPDATED = source("(1, 'hr-updated')")


def counted(statement: str, *, updated: int = 0, deleted: int = 0, inserted: int = 0) -> Check:
    """The answer of a merge says how many rows were added, deleted and updated."""

    def check(run: Any) -> None:
        (answer,) = run.sql(statement)
        assert answer[2:5] == (inserted, deleted, updated), answer

    return Check(check)


def _counts(name: str, *steps: Step, given: tuple[Any, ...] = THREE, **more: Any) -> Scenario:
    return Scenario(
        "TestMergeMetrics",
        f"testMergeMetricsWith{name}",
        steps,
        rows=given,
        modes=MAIN,
        result=DIFFERS,
        note=NAMED,
        **more,
    )


COUNTS = [
    _counts(
        "MatchedUpdate",
        numbers(1, 3),
        counted(BY_VALUE + "WHEN MATCHED THEN UPDATE SET dep = 'updated'", updated=1),
        rows((1, "updated"), (2, "software")),
        given=TWO,
    ),
    _counts(
        "MatchedDelete",
        numbers(1, 2),
        counted(BY_VALUE + "WHEN MATCHED THEN DELETE", deleted=2),
        rows((3, "finance")),
    ),
    _counts(
        "AllClauses",
        source("(1, 'hr-updated'), (2, 'software-delete'), (4, 'new-dept')"),
        counted(
            ON + "WHEN MATCHED AND s.dep LIKE '%delete%' THEN DELETE WHEN MATCHED THEN UPDATE SET dep = s.dep "
            "WHEN NOT MATCHED THEN INSERT *",
            updated=1,
            deleted=1,
            inserted=1,
        ),
        rows((1, "hr-updated"), (3, "finance"), (4, "new-dept")),
    ),
    _counts(
        "NotMatchedBySourceUpdate",
        ONE_UPDATED,
        counted(
            ON + "WHEN MATCHED THEN UPDATE SET dep = s.dep WHEN NOT MATCHED BY SOURCE THEN UPDATE SET dep = 'orphaned'",
            updated=3,
        ),
        rows((1, "hr-updated"), (2, "orphaned"), (3, "orphaned")),
    ),
    _counts(
        "NotMatchedBySourceDelete",
        ONE_UPDATED,
        counted(
            ON + "WHEN MATCHED THEN UPDATE SET dep = s.dep WHEN NOT MATCHED BY SOURCE THEN DELETE",
            updated=1,
            deleted=2,
        ),
        rows((1, "hr-updated")),
    ),
    _counts(
        "MultipleUpdatesAndDeletes",
        source(
            "(1, 'hr', 150), (2, 'software', 250), (3, 'finance', 350), (6, 'new', 600), (7, 'newer', 700)",
            "id, dep, salary",
        ),
        counted(
            ON + "WHEN MATCHED AND t.salary < 200 THEN DELETE WHEN MATCHED THEN UPDATE SET salary = s.salary "
            "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.salary > 400 THEN DELETE "
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET dep = 'orphaned'",
            updated=3,
            deleted=2,
            inserted=2,
        ),
        rows((2, "software", 250), (3, "finance", 350), (4, "orphaned", 400), (6, "new", 600), (7, "newer", 700)),
        given=((1, "hr", 100), (2, "software", 200), (3, "finance", 300), (4, "marketing", 400), (5, "sales", 500)),
        columns="id INT, dep STRING, salary INT",
    ),
]

# ---------------------------------------------------------------- the identity of rows

LETTERS = tuple((100 + n, letter) for n, letter in enumerate("abcde"))
UPDATE = "WHEN MATCHED THEN UPDATE SET t.data = s.data"
B_F = source("(101, 'updated_b'), (200, 'f')", "id, data")
B_C = source("(101, 'updated_b'), (102, 'updated_c')", "id, data")
ADDED = "SELECT s._last_updated_sequence_number, s.id, s.data, s._row_id - f.first_row_id - s._pos FROM {s} AS s "


def identified(*expected: tuple[Any, ...]) -> Rows:
    """Rows that were there before, with their identity: id, data, row id, sequence number of the last change."""
    text = "SELECT id, data, _row_id, _last_updated_sequence_number FROM {s} WHERE _row_id < 5"
    return query(text, *expected)


def added(id_: int, data: str, old: int = 5) -> tuple[Step, ...]:
    """The new row: its row id is that of its file, and its place in the file."""
    joined = "JOIN {t}.files AS f ON f.file_path = s._file "
    return (
        query(f"SELECT id, data, _last_updated_sequence_number FROM {{s}} WHERE _row_id >= {old}", (id_, data, 2)),
        query(f"{ADDED}{joined}WHERE s.id = {id_}", (2, id_, data, 0)),
    )


def kept(**changed: tuple[str, int] | None) -> Rows:
    """The five rows, with those that changed or went."""
    found = []
    for number, letter in enumerate("abcde"):
        new = changed.get(letter, (letter, 1))
        if new is not None:
            found.append((100 + number, new[0], number, new[1]))
    return identified(*found)


def _same(name: str, *steps: Step, given: tuple[Any, ...] = LETTERS, **more: Any) -> Scenario:
    of = "TestRowLevelOperationsWithLineage"
    return Scenario(of, name, steps, columns="id INT, data STRING", rows=given, modes=(COPY_3, VECTORS), **more)


BOTH = (B_F, Do(ON + UPDATE + " WHEN NOT MATCHED THEN INSERT *"), kept(b=("updated_b", 2)), *added(200, "f"))
ORPHAN = ("not_matched_by_source", 2)
LINEAGE = [
    _same("testMergeIntoWithBothMatchedAndNonMatched", *BOTH),
    _same(
        "testMergeIntoWithBothMatchedAndNonMatchedPartitioned",
        B_F,
        Do(ON + UPDATE + " WHEN NOT MATCHED THEN INSERT *"),
        query(
            "SELECT id, data, _last_updated_sequence_number FROM {s} WHERE id IN (101, 200)",
            (101, "updated_b", 2),
            (200, "f", 2),
        ),
        query("SELECT count(*), count(DISTINCT _row_id) FROM {s} WHERE _row_id < 5", (5, 5)),
        *added(200, "f")[1:],
        partitioned="PARTITIONED BY (bucket(2, id))",
    ),
    _same("testMergeIntoWithOnlyNonMatched", B_F, Do(ON + "WHEN NOT MATCHED THEN INSERT *"), kept(), *added(200, "f")),
    _same("testMergeIntoWithOnlyMatched", B_C, Do(ON + UPDATE), kept(b=("updated_b", 2), c=("updated_c", 2))),
    _same("testMergeMatchedDelete", B_C, Do(ON + "WHEN MATCHED THEN DELETE"), kept(b=None, c=None)),
    _same(
        "testMergeWhenNotMatchedBySource",
        B_F,
        Do(ON + UPDATE + " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET data = 'not_matched_by_source'"),
        kept(a=ORPHAN, b=("updated_b", 2), c=ORPHAN, d=ORPHAN, e=ORPHAN),
    ),
    _same(
        "testMergeWhenNotMatchedBySourceDelete",
        B_C,
        Do(ON + UPDATE + " WHEN NOT MATCHED BY SOURCE THEN DELETE"),
        kept(a=None, b=("updated_b", 2), c=("updated_c", 2), d=None, e=None),
    ),
    _same("testUpdate", Do("UPDATE {t} AS t SET data = 'updated_b' WHERE id = 101"), kept(b=("updated_b", 2))),
    _same("testDelete", Do("DELETE FROM {t} WHERE id = 101"), kept(b=None)),
    _same(
        "testMergeWithManyRecords",
        View("source", "SELECT * FROM VALUES (101, 'updated_data_101'), (26000, 'data_26000') AS v(id, data)"),
        Do(ON + UPDATE + " WHEN NOT MATCHED THEN INSERT *"),
        query(
            "SELECT count(*) FROM {s} WHERE _row_id = id - 100 AND _row_id < 25000 "
            "AND _last_updated_sequence_number = if(id = 101, 2, 1)",
            (25000,),
        ),
        *added(26000, "data_26000", 25000),
        given=tuple((100 + n, f"data_{100 + n}") for n in range(25000)),
    ),
]
