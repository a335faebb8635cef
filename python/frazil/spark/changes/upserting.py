"""Upserts that are appends: in tables with a primary key, the newest row of a key counts.

So tasks write the rows, and the driver sees none of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from frazil.capabilities import rows_of_next_commit, supports
from frazil.exceptions import UnsupportedError
from frazil.spark.changes.merging import DRIVER_MAX_ROWS, DRIVER_MAX_ROWS_DEFAULT, keys_of
from frazil.spark.columns import quoted
from frazil.spark.jobs.job import Job
from frazil.spark.settings import setting
from frazil.spark.writing.job import WriteJob
from frazil.spark.writing.store_assignment import conformed
from frazil.table import Table

__all__ = ["is_append"]

# Options by which another row than the newest one may count, or by which changes are recorded.
_OTHER_ROWS = ("sequence.field", "rowkind.field", "record-level.expire-time", "record-level.time-field")


def is_append(df: DataFrame, table: Table, on: Sequence[str] | None, job: Job) -> bool:
    """Whether an append of the rows has the outcome of an upsert, and tasks should do it.

    Args:
        df: The rows. They are counted by key.
        table: The table at its newest version.
        on: The columns of the key; None means the table's.
        job: The branch of the commit.
    """
    if not _newest_row_counts(table, on) or job.branch is not None:
        return False
    rows = conformed(df, table)
    if any(name not in rows.columns for name in table.schema.names):
        return False
    keys = [f.col(quoted(key.path[0])) for key in keys_of(table, None)]
    per_key = rows.groupBy(*keys).agg(f.count(f.lit(1)).alias("n"))
    found = per_key.agg(f.sum("n").alias("rows"), f.max("n").alias("most")).collect()[0]
    few = setting(df.sparkSession, DRIVER_MAX_ROWS, DRIVER_MAX_ROWS_DEFAULT, "rows")
    return (found["rows"] or 0) > few and found["most"] == 1


def _newest_row_counts(table: Table, on: Sequence[str] | None) -> bool:
    """Whether an appended row replaces the row with its key, whichever task writes it."""
    if supports(table._core, "row_changes_by_executors"):
        return False
    keys, options = [key.name for key in keys_of(table, None)], table.properties
    if not keys or (on is not None and set(on) != set(keys)):
        return False
    parts = [field.column for field in table.partition_spec.fields]
    if not set(parts) <= set(keys) or not options.get("bucket", "").isdigit():
        return False
    if options.get("merge-engine", "deduplicate") != "deduplicate":
        return False
    if options.get("changelog-producer", "none") != "none" or any(name in options for name in _OTHER_ROWS):
        return False
    if rows_of_next_commit(table._core.commit_rows()).hidden_until_compacted:
        return False
    try:
        WriteJob().check(table)
    except UnsupportedError:
        return False
    return True
