"""Java writes tables of many manifests with deletes; Spark's executors plan them: tasks and rows are the same."""

import pickle

import pytest
from java_side import NAMESPACE, Java, assert_same_rows, exact
from pyspark.sql import SparkSession

import frazil as fz

MERGE_ON_READ = {
    "write.delete.mode": "merge-on-read",
    "write.delete.granularity": "partition",
    "commit.manifest-merge.enabled": "false",
}
FILTERS = [None, "id between 15 and 44", "cat = 'c1'", "cat in ('c0', 'c2') and id > 30", "cat is null or id = 7"]


def many_manifests(java: Java, version: int) -> str:
    """Twelve commits of rows, deletes after every third, and a second partition spec for the last ones."""
    columns = "id bigint, cat string"
    table = java.create("parts", columns, "cat", version=version, properties=MERGE_ON_READ)
    for n in range(12):
        if n == 9:
            java.alter(table, "add partition field bucket(4, id)")
        ids = range(5 * n, 5 * n + 5)
        java.insert(table, ", ".join(f"({i}, {'null' if n == 5 else repr(f'c{n % 3}')})" for i in ids))
        if n % 3 == 2:
            java.sql(f"delete from ice.{NAMESPACE}.{table} where id % 5 = {n // 3} and id > {5 * (n - 6)}")
    return table


@pytest.mark.parametrize("version", [2, 3])
def test_parts_of_tables_with_deletes(java: Java, spark: SparkSession, version: int) -> None:
    name = many_manifests(java, version)
    table = fz.open_table(java.root(name))
    assert any(task.deletes for task in table.scan().plan_files())
    spark.conf.set("spark.frazil.planning.part-bytes", "1")
    try:
        for filter in FILTERS:
            scan = table.scan(filter)
            tasks = list(scan.plan_files())
            parts = pickle.loads(pickle.dumps(scan.plan_parts(1)))
            planned = [task for part in parts for split in part.plan() for task in split.tasks]
            assert [deletes(task) for task in planned] == [deletes(task) for task in tasks], filter
            whole = [task for part in scan.plan_parts() for split in part.plan() for task in split.tasks]
            assert sorted(deletes(task) for task in whole) == sorted(deletes(task) for task in tasks), filter
            rows = fz.spark.read(spark, table, filter=filter, planning="executors").toArrow()
            assert_same_rows(exact(rows), exact(scan.to_arrow()), str(filter))
            if filter is None:
                assert_same_rows(exact(rows), java.read(name), name)
                assert len(parts) == 12
                # Each part goes without the deletes that are older than its data or of other partitions.
                counts = [part._core.manifest_counts for part in parts]
                assert all(data == 1 for data, _ in counts)
                assert sum(n for _, n in counts) < 12 * max(n for _, n in counts)
    finally:
        spark.conf.unset("spark.frazil.planning.part-bytes")


def deletes(task: fz.ScanTask) -> tuple[object, ...]:
    """What tells a task and its deletes from others."""
    file = task.data_file
    found = [(d.path, d.content, d.sequence_number, d.record_count) for d in task.deletes]
    return file.path, file.sequence_number, file.first_row_id, str(task.residual), found
