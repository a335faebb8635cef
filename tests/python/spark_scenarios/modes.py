"""TestCopyOnWrite… and TestMergeOnRead…: files, delete files and deletion vectors, counts, and the identity of rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from spark_scenarios.case import (
    COPY,
    COPY_3,
    DELETES,
    DIFFERS,
    OUTSIDE,
    VECTORS,
    Check,
    Do,
    Mode,
    Scenario,
    Set,
    Step,
    Summary,
    append,
    copied,
    first,
    numbers,
    query,
    rows,
)
from spark_scenarios.merge_rows import BY_VALUE
from spark_scenarios.update import HR_HARDWARE, snapshots

BY_DEP = {"partitioned": "PARTITIONED BY (dep)"}
ORDERED = Do("ALTER TABLE {main} WRITE ORDERED BY id")
GROUPED = Set({"spark.sql.sources.v2.bucketing.enabled": "true"})
COPIES = (COPY, COPY_3)
MARKS = (DELETES, VECTORS)


def files(run: Any) -> list[dict[str, Any]]:
    """The files of the target."""
    found: list[dict[str, Any]] = run.table.inspect.files(run.branch or run.table.snapshots[-1].id).to_pylist()
    return found


def remember(run: Any) -> None:
    run.before = {file["file_path"] for file in files(run)}


def are_ordered(run: Any) -> None:
    """All new data files have the order of the table."""
    new = [file for file in files(run) if file["file_path"] not in run.before and file["content"] == 0]
    assert new
    assert {file["sort_order_id"] for file in new} == {run.table.sort_order.id}


def _ordered(of: str, name: str, change: str, *before: Step, modes: tuple[Mode, ...]) -> Scenario:
    steps = (ORDERED, *before, Check(remember), Do(change), Check(are_ordered))
    return Scenario(of, name, steps, rows=((1, "hr"), (2, "hr")), modes=modes, **BY_DEP)  # type: ignore[arg-type]


def _filtered(of: str, name: str, *change: Step, left: tuple[Any, ...]) -> Scenario:
    steps = (*HR_HARDWARE, GROUPED, *change, snapshots(3), Summary(copied("1", "1", "1")), rows(*left))
    note = "rows and files only: Spark's join of buckets is not Frazil's"
    return Scenario(of, name, steps, modes=(COPY,), note=note, **BY_DEP)  # type: ignore[arg-type]


def _delete_equal(run: Any) -> None:
    gone = pa.table({"id": pa.array([2], pa.int32()), "dep": ["hr"]})
    run.table.delete_keys(gone, on=["id", "dep"])
    assert [file["content"] for file in files(run)].count(2) == 1


MERGE_VALUES = BY_VALUE + "WHEN MATCHED THEN UPDATE SET "
COPY_ON_WRITE = [
    _ordered(
        "TestCopyOnWriteDelete",
        "testCopyOnWriteDeleteSetsSortOrderIdOnRewrittenDataFiles",
        "DELETE FROM {t} WHERE id = 1",
        modes=COPIES,
    ),
    _filtered(
        "TestCopyOnWriteDelete",
        "testRuntimeFilteringWithPreservedDataGrouping",
        Do("DELETE FROM {t} WHERE id = 2"),
        left=((1, "hardware"), (1, "hr"), (3, "hr")),
    ),
    Scenario(
        "TestCopyOnWriteDelete",
        "testEqualityDeletePreservation",
        (
            Check(_delete_equal),
            rows((1, "hr"), (3, "hr")),
            Do("DELETE FROM {t} WHERE id = 3"),
            rows((1, "hr")),
        ),
        rows=((1, "hr"), (2, "hr"), (3, "hr")),
        modes=COPIES,
        **BY_DEP,  # type: ignore[arg-type]
    ),
    _ordered(
        "TestCopyOnWriteMerge",
        "testCopyOnWriteMergeSetsSortOrderIdOnRewrittenDataFiles",
        MERGE_VALUES + "dep = 'changed' WHEN NOT MATCHED THEN INSERT (id, dep) VALUES (s.value, 'new')",
        numbers(1),
        modes=COPIES,
    ),
    _filtered(
        "TestCopyOnWriteMerge",
        "testRuntimeFilteringWithReportedPartitioning",
        numbers(2),
        Do(MERGE_VALUES + "id = -1"),
        left=((-1, "hardware"), (1, "hardware"), (1, "hr"), (3, "hr")),
    ),
    _ordered(
        "TestCopyOnWriteUpdate",
        "testCopyOnWriteUpdateSetsSortOrderIdOnRewrittenDataFiles",
        "UPDATE {t} SET dep = 'changed' WHERE id = 1",
        modes=COPIES,
    ),
    _filtered(
        "TestCopyOnWriteUpdate",
        "testRuntimeFilteringWithReportedPartitioning",
        Do("UPDATE {t} SET id = -1 WHERE id = 2"),
        left=((-1, "hardware"), (1, "hardware"), (1, "hr"), (3, "hr")),
    ),
]

# ---------------------------------------------------------------- merge on read

GRANULARITY = "write.delete.granularity"
FILE, PARTITION = {GRANULARITY: "file"}, {GRANULARITY: "partition"}
DELETES_ONLY = (DELETES,)
HR = ((1, "hr"), (2, "hr"))


def _four_files(other: str) -> tuple[Step, ...]:
    return (*first(*HR), append((3, "hr"), (4, "hr")), append((1, other), (2, other)), append((3, other), (4, other)))


def replaced(files: str | None = None) -> Check:
    """That number of data files was removed. No delete file was replaced for one that stays."""

    def check(run: Any) -> None:
        summary = run.snapshot.summary
        assert summary.get("deleted-data-files") == files, summary
        assert files is not None or "removed-delete-files" not in summary, summary

    return Check(check)


def deleted_by(partitions: str, wide: bool) -> Check:
    """The delete files of four data files. How tasks share the files decides how many data files are written.

    It also decides how many delete files of partitions are written: at least one for each of the two.
    """

    def check(run: Any) -> None:
        summary = run.snapshot.summary
        assert summary["changed-partition-count"] == partitions, summary
        assert summary["added-delete-files"] in (("2", "3", "4") if wide else ("4",)), summary
        assert "deleted-data-files" not in summary, summary

    return Check(check)


def has_one_vector(run: Any) -> None:
    """One deletion vector has three rows: those of older delete files, and the new one."""
    vectors = [file for file in files(run) if file["file_format"].lower() == "puffin"]
    assert [file["record_count"] for file in vectors] == [3], files(run)


def _granularity(of: str, name: str, wide: bool, *steps: Step, **more: Any) -> Scenario:
    more["note"] = "the number of data files that are written is not compared: Spark's tasks decide it"
    return Scenario(of, name, steps, properties=PARTITION if wide else FILE, modes=DELETES_ONLY, **BY_DEP, **more)


def _delete(wide: bool) -> Scenario:
    return _granularity(
        "TestMergeOnReadDelete",
        f"testDelete{'Partition' if wide else 'File'}Granularity",
        wide,
        *_four_files("hardware"),
        Do("DELETE FROM {t} WHERE id = 1 OR id = 3"),
        snapshots(5),
        deleted_by("2", wide),
        rows((2, "hardware"), (2, "hr"), (4, "hardware"), (4, "hr")),
    )


def _merge(wide: bool) -> Scenario:
    return _granularity(
        "TestMergeOnReadMerge",
        f"testMergeDelete{'Partition' if wide else 'File'}Granularity",
        wide,
        *_four_files("it"),
        numbers(1, 3, 5),
        Do(BY_VALUE + "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, dep) VALUES (-1, 'other')"),
        snapshots(5),
        deleted_by("3", wide),
        rows((-1, "other"), (2, "hr"), (2, "it"), (4, "hr"), (4, "it")),
    )


def _updated(wide: bool, partitions: str) -> tuple[Step, ...]:
    return (
        *_four_files("it"),
        Do("UPDATE {t} SET id = id - 1 WHERE id = 1 OR id = 3"),
        snapshots(5),
        deleted_by(partitions, wide),
        rows(*((n, dep) for n in (0, 2, 2, 4) for dep in ("hr", "it"))),
    )


def _update(wide: bool) -> Scenario:
    name = f"testUpdate{'Partition' if wide else 'File'}Granularity"
    return _granularity("TestMergeOnReadUpdate", name, wide, *_updated(wide, "2"))


def _maintained_by_update(name: str, partitions: str, **more: Any) -> Scenario:
    steps = (
        *_updated(False, partitions),
        Do("UPDATE {t} SET id = id + 1 WHERE id = 4"),
        replaced(files="2"),
        rows(*((n, dep) for n in (0, 2, 2, 5) for dep in ("hr", "it"))),
    )
    return Scenario(
        "TestMergeOnReadUpdate",
        name,
        steps,
        properties=FILE,
        modes=DELETES_ONLY,
        result=DIFFERS,
        note="same rows; Frazil removes a data file whose last row goes, where Iceberg replaces its delete file",
        **more,
    )


def _maintained_by_delete(name: str, **more: Any) -> Scenario:
    steps = (
        Do("DELETE FROM {t} WHERE id = 1 AND data = 'a'"),
        Do("DELETE FROM {t} WHERE id = 2 AND data = 'd'"),
        Do("DELETE FROM {t} WHERE id = 1 AND data = 'c'"),
        replaced(),
        rows((1, "b"), (2, "e")),
    )
    given = ((1, "a"), (1, "b"), (1, "c"), (2, "d"), (2, "e"))
    return Scenario(
        "TestMergeOnReadDelete",
        name,
        steps,
        columns="id INT, data STRING",
        rows=given,
        properties=FILE,
        modes=DELETES_ONLY,
        result=DIFFERS,
        note="same rows; in version 2 Frazil adds a delete file, and the older one stays until a compaction",
        **more,
    )


def _vectors(of: str, name: str, *changes: str, before: tuple[Step, ...] = ()) -> Scenario:
    """Delete files of partitions, then of files, then deletion vectors."""
    partition, file, vector = map(Do, changes)
    return Scenario(
        of,
        name,
        (
            *before,
            *first((1, "hr"), (2, "hr"), (3, "hr")),
            append((4, "hr"), (5, "hr"), (6, "hr"), (10, "hr")),
            partition,
            Do(f"ALTER TABLE {{main}} SET TBLPROPERTIES ('{GRANULARITY}' = 'file')"),
            file,
            Do("ALTER TABLE {main} SET TBLPROPERTIES ('format-version' = '3')"),
            vector,
            Check(has_one_vector),
            query("SELECT count(*) FROM {s} WHERE id IN (1, 4, 5, 6)", (0,)) if of.endswith("Delete") else Check(bool),
        ),
        properties=PARTITION,
        modes=DELETES_ONLY,
        note="the second file has a row more: Frazil removes a data file whose last row goes",
        **BY_DEP,  # type: ignore[arg-type]
    )


OTHER = "WHEN NOT MATCHED THEN INSERT (id, dep) VALUES (-1, 'other')"
MERGE_ON_READ = [
    Scenario(
        "TestMergeOnReadDelete",
        "testDeleteWithExecutorCacheLocality",
        (
            *_four_files("hardware"),
            Do("DELETE FROM {t} WHERE id = 1"),
            Do("DELETE FROM {t} WHERE id = 3"),
            rows((2, "hardware"), (2, "hr"), (4, "hardware"), (4, "hr")),
        ),
        modes=MARKS,
        note="rows only: the setting is one of Iceberg's cache",
        **BY_DEP,  # type: ignore[arg-type]
    ),
    _delete(False),
    _delete(True),
    _maintained_by_delete("testPositionDeletesAreMaintainedDuringDelete", partitioned="PARTITIONED BY (id)"),
    _maintained_by_delete("testUnpartitionedPositionDeletesAreMaintainedDuringDelete"),
    _vectors(
        "TestMergeOnReadDelete",
        "testDeleteWithDVAndHistoricalPositionDeletes",
        "DELETE FROM {t} WHERE id = 1 OR id = 4",
        "DELETE FROM {t} WHERE id = 5",
        "DELETE FROM {t} WHERE id = 6",
    ),
    Scenario(
        "TestMergeOnReadDelete",
        "testCommitUnknownException",
        result=OUTSIDE,
        note="it replaces objects of Java; `test_spark_failures.py` and `test_rest_faults.py` try unknown outcomes",
    ),
    Scenario(
        "TestMergeOnReadDelete",
        "testAggregatePushDownInMergeOnReadDelete",
        (
            Do("DELETE FROM {t} WHERE data = 1111"),
            query("SELECT max(data), min(data), count(data) FROM {s}", (6666, 2222, 5)),
        ),
        columns="id LONG, data INT",
        rows=((1, 1111), (1, 2222), (2, 3333), (2, 4444), (3, 5555), (3, 6666)),
        modes=MARKS,
    ),
    _merge(False),
    _merge(True),
    _vectors(
        "TestMergeOnReadMerge",
        "testMergeWithDVAndHistoricalPositionDeletes",
        BY_VALUE + "AND (id = 1 OR id = 4) WHEN MATCHED THEN DELETE " + OTHER,
        BY_VALUE + "AND id = 5 WHEN MATCHED THEN UPDATE SET id = id + 2 " + OTHER,
        BY_VALUE + "AND id = 6 WHEN MATCHED THEN UPDATE SET id = id + 1 " + OTHER,
        before=(numbers(*range(1, 10)),),
    ),
    _ordered(
        "TestMergeOnReadMerge",
        "testMergeOnReadMergeSetsSortOrderIdOnNewDataFiles",
        MERGE_VALUES + "id = id + 10 WHEN NOT MATCHED THEN INSERT (id, dep) VALUES (s.value, 'hr')",
        numbers(1, 3),
        modes=MARKS,
    ),
    _update(False),
    _update(True),
    _maintained_by_update("testPositionDeletesAreMaintainedDuringUpdate", "2", **BY_DEP),
    _maintained_by_update("testUnpartitionedPositionDeletesAreMaintainedDuringUpdate", "1"),
    _vectors(
        "TestMergeOnReadUpdate",
        "testUpdateWithDVAndHistoricalPositionDeletes",
        "UPDATE {t} SET id = id - 1 WHERE id = 1 OR id = 4",
        "UPDATE {t} SET id = id + 2 WHERE id = 5",
        "UPDATE {t} SET id = id + 1 WHERE id = 6",
    ),
    _ordered(
        "TestMergeOnReadUpdate",
        "testMergeOnReadUpdateSetsSortOrderIdOnNewDataFiles",
        "UPDATE {t} SET id = id + 10 WHERE id = 1",
        modes=MARKS,
    ),
]
MODES = [*COPY_ON_WRITE, *MERGE_ON_READ]
