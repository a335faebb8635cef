"""Changes rows of a table by a DataFrame or by a filter. Executors do the work, and the driver commits once.

The driver makes small changes itself, without a Spark job: see the settings `spark.frazil.changes.*`.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from frazil._core import CommitMessage
from frazil.capabilities import supports
from frazil.expr import Columns, Filter
from frazil.requests import rows as row_requests
from frazil.requests.rows import RowChange
from frazil.results import LastCommit
from frazil.spark.changes.job import ChangeJob, change_rows
from frazil.spark.changes.merging import DRIVER_MAX_BYTES, DRIVER_MAX_BYTES_DEFAULT, merge_rows
from frazil.spark.jobs.job import Job
from frazil.spark.jobs.target import writable
from frazil.spark.lanes.arrow import scattered
from frazil.spark.settings import setting
from frazil.table import Table

__all__ = ["delete", "merge", "update", "upsert"]

# The size of the data files that one task changes, and the most tasks. Each task plans for itself.
_PART_BYTES = 64 << 20
_MOST_PARTS = 500


def merge(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    on: Columns | None = None,
    *,
    when_matched_update: bool | Mapping[str, str] = False,
    when_matched_delete: bool | Filter = False,
    when_not_matched_insert: bool | Mapping[str, str] = False,
    when_not_matched_by_source_delete: bool | Filter = False,
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
) -> LastCommit:
    """Updates, deletes and inserts rows of a table, by how they match a DataFrame by a key, as `Table.merge` does.

    Spark joins the rows with the keys of the files that can match, and executors write the changes. The driver only
    gets messages. `write.merge.mode` decides whether they write delete files or rewrite files. Several rows of the
    DataFrame may have the same key only if they match nothing, or if everything that matches is deleted. The result
    says what the commit did. If `job_id` was done before, no snapshot is made.

    Args:
        df: The rows. Spark keeps them (`DataFrame.persist`) until the merge ends, because it reads them more than once.
        table: A table, its location, or its name (`catalog.namespace.table`). A table object stays at its version;
            `refresh()` shows the new rows.
        on: The columns of the key; None for the table's identifier fields.
        when_matched_update: As for `Table.merge`.
        when_matched_delete: As for `Table.merge`.
        when_not_matched_insert: As for `Table.merge`.
        when_not_matched_by_source_delete: As for `Table.merge`.
        branch: The branch to change, if not `main`.
        snapshot_properties: Properties to add to the snapshot's summary.
        job_id: As for `append`.

    Raises:
        InvalidInputError: Columns or filters do not fit, or a row of the table matches several rows of the DataFrame.
        CommitConflictError: Another commit changed what this one relies on (`write.merge.isolation-level`).
    """
    change = row_requests.merge_change(
        on,
        when_matched_update,
        when_matched_delete,
        when_not_matched_insert,
        when_not_matched_by_source_delete,
    )
    opened = writable(df.sparkSession, table)
    job = Job.named(branch, snapshot_properties, job_id)
    if job.is_done(opened):
        return LastCommit()
    merge_rows(df, opened, change, job)
    return job.done(opened)


def upsert(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    on: Columns | None = None,
    *,
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
) -> LastCommit:
    """Updates the rows that match a DataFrame's rows by a key, and inserts the other rows of the DataFrame.

    It is a `merge` that does both.

    Args:
        df: As for `merge`.
        table: As for `merge`.
        on: As for `merge`.
        branch: The branch to change, if not `main`.
        snapshot_properties: Properties to add to the snapshot's summary.
        job_id: As for `append`.

    Raises:
        InvalidInputError: As for `merge`.
        CommitConflictError: As for `merge`.
    """
    return merge(
        df,
        table,
        on,
        when_matched_update=True,
        when_not_matched_insert=True,
        branch=branch,
        snapshot_properties=snapshot_properties,
        job_id=job_id,
    )


def delete(
    spark: SparkSession,
    table: Table | str | os.PathLike[str],
    where: Filter,
    *,
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
) -> LastCommit:
    """Deletes the rows of a table for which a filter is true, as `Table.delete` does. Executors do the work.

    Files in which every row matches are removed by metadata alone. Executors look for the rows in the other files, and
    `write.delete.mode` decides what they write.

    Args:
        spark: The session, classic or Connect.
        table: As for `merge`.
        where: The rows to delete, as for `Table.delete`.
        branch: The branch to change, if not `main`.
        snapshot_properties: Properties to add to the snapshot's summary.
        job_id: As for `append`.

    Raises:
        InvalidInputError: The filter does not fit the schema.
        CommitConflictError: Another commit changed what this one relies on (`write.delete.isolation-level`).
    """
    job = Job.named(branch, snapshot_properties, job_id)
    return _change_by_files(spark, writable(spark, table), row_requests.delete(where), job)


def update(
    spark: SparkSession,
    table: Table | str | os.PathLike[str],
    where: Filter,
    values: Mapping[str, object],
    *,
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
) -> LastCommit:
    """Changes columns of the rows for which a filter is true, as `Table.update` does. Executors do the work.

    Args:
        spark: The session, classic or Connect.
        table: As for `merge`.
        where: The rows to update, as for `Table.update`; `"true"` for all rows.
        values: The new values by column, as for `Table.update`.
        branch: The branch to change, if not `main`.
        snapshot_properties: Properties to add to the snapshot's summary.
        job_id: As for `append`.

    Raises:
        InvalidInputError: The filter, a column or a value does not fit the schema.
        UnsupportedError: A new value is for a column that is a struct, list or map.
        CommitConflictError: Another commit changed what this one relies on (`write.update.isolation-level`).
    """
    job = Job.named(branch, snapshot_properties, job_id)
    return _change_by_files(spark, writable(spark, table), row_requests.update_change(where, values), job)


def _change_by_files(
    spark: SparkSession, table: Table, change: RowChange.Delete | RowChange.Update, job: Job
) -> LastCommit:
    """Changes the rows that a filter selects. Each file belongs to one part."""
    if job.is_done(table):
        return LastCommit()
    files: list[tuple[str, int]] = []
    whole: CommitMessage | None = None
    if supports(table._core, "row_changes_by_executors"):
        whole, files = row_requests.find_files(table._core, change, job.branch)
    most = setting(spark, DRIVER_MAX_BYTES, DRIVER_MAX_BYTES_DEFAULT)
    if not files or sum(size for _, size in files) <= most:
        table._change_rows(change, None, job.branch, job.members())
        return job.done(table)
    payloads = [pickle.dumps(part) for part in _parts(files)]
    change_rows(scattered(spark, payloads), ChangeJob(table, change, change.filter, job, whole))
    return job.done(table)


def _parts(files: Sequence[tuple[str, int]]) -> list[list[str]]:
    """The files in parts of about the same size."""
    parts: list[list[str]] = []
    most, left = max(_PART_BYTES, sum(size for _, size in files) // _MOST_PARTS), 0
    for path, size in files:
        if left < size or not parts:
            parts.append([])
            left = most
        parts[-1].append(path)
        left -= size
    return parts
