"""Changes rows of a table by a DataFrame or by a filter. Executors do the work, and the driver commits once.

The driver makes small changes itself, without a Spark job: see the settings `spark.frazil.changes.*`.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession

from frazil import arguments
from frazil.capabilities import supports
from frazil.expr import Columns, Filter
from frazil.requests import rows as row_requests
from frazil.requests.rows import RowChange
from frazil.results import LastCommit
from frazil.spark.changes.by_expression import change_by_expression, needs_spark
from frazil.spark.changes.clauses import Expression
from frazil.spark.changes.job import ChangeJob, WholeJob, change_rows
from frazil.spark.changes.joined import MergeTarget, merge_by_clauses
from frazil.spark.changes.keywords import by_keywords
from frazil.spark.changes.merge_into import MergeInto
from frazil.spark.changes.merging import DRIVER_MAX_BYTES, DRIVER_MAX_BYTES_DEFAULT, merge_rows, persisted
from frazil.spark.changes.upserting import is_append
from frazil.spark.columns import is_column
from frazil.spark.jobs.interrupts import raise_if_interrupted
from frazil.spark.jobs.job import Job
from frazil.spark.jobs.target import opened_for
from frazil.spark.lanes.arrow import scattered
from frazil.spark.settings import setting
from frazil.spark.write import append
from frazil.table import Table

__all__ = ["delete", "merge", "merge_into", "update", "upsert"]

# The size of the data files that one task changes, and the most tasks. Each task plans for itself.
_PART_BYTES = 64 << 20
_MOST_PARTS = 500


def merge(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    on: Columns | None = None,
    *,
    when_matched_update: bool | Mapping[str, str | Column] = False,
    when_matched_delete: bool | Filter | Column = False,
    when_not_matched_insert: bool | Mapping[str, str | Column] = False,
    when_not_matched_by_source_delete: bool | Filter | Column = False,
    when_matched_update_where: str | Column | None = None,
    null_safe: bool = False,
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
) -> LastCommit:
    """Updates, deletes and inserts rows of a table, by how they match a DataFrame by a key, as `Table.merge` does.

    Spark joins the rows with the keys of the files that can match, and executors write the changes. The driver only
    gets messages. `write.merge.mode` decides whether they write delete files or rewrite files. Several rows of the
    DataFrame may have the same key only if they match nothing, or if everything that matches is deleted. The result
    says what the commit did. If `job_id` was done before, no snapshot is made.

    Values and conditions may be expressions of Spark's SQL over both sides, in which the DataFrame's columns are
    `s.name` and the table's `t.name`. `merge_into` has all clauses of SQL's MERGE, in any order.

    Args:
        df: The rows. Spark keeps them (`DataFrame.persist`) until the merge ends, because it reads them more than once.
        table: A table, its location, or its name (`catalog.namespace.table`). A table object stays at its version;
            `refresh()` shows the new rows.
        on: The columns of the key; None for the table's identifier fields.
        when_matched_update: As for `Table.merge`. Values may also be expressions: `{"n": "t.n + s.n"}`.
        when_matched_delete: As for `Table.merge`, or a condition over both sides.
        when_not_matched_insert: As for `Table.merge`. Values may also be expressions over the DataFrame.
        when_not_matched_by_source_delete: As for `Table.merge`, or a Column.
        when_matched_update_where: A condition over both sides for the update: `"s.ts > t.ts"`. Other rows stay.
        null_safe: Whether null matches null in the key, as SQL's `<=>` does.
        branch: The branch to change, if not `main`.
        snapshot_properties: Properties to add to the snapshot's summary.
        job_id: As for `append`.

    Raises:
        InvalidInputError: Columns or filters do not fit, or a row of the table matches several rows of the DataFrame.
        CommitConflictError: Another commit changed what this one relies on (`write.merge.isolation-level`).
    """
    opened, job = opened_for(df.sparkSession, table, Job.named(branch, snapshot_properties, job_id))
    given = (
        when_matched_update,
        when_matched_delete,
        when_not_matched_insert,
        when_not_matched_by_source_delete,
    )
    clauses = by_keywords(df, opened, given, when_matched_update_where, null_safe)
    if clauses is not None:
        key = None if on is None else tuple(arguments.columns(on, "on"))
        return merge_by_clauses(MergeTarget(df, opened, key, "s", "t", null_safe, job), clauses)
    change = row_requests.merge_change(on, *given)  # type: ignore[arg-type]
    if job.is_done(opened):
        return LastCommit()
    merge_rows(df, opened, change, job)
    return job.done(opened)


def merge_into(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    on: str | Column | Sequence[str] | None = None,
    *,
    source: str = "s",
    target: str = "t",
    null_safe: bool = False,
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
) -> MergeInto:
    """Begins a merge by clauses: `whenMatched(…).update({…})`, `whenNotMatched().insertAll()`, and at last `.merge()`.

    Conditions and values are Spark's expressions over the joined rows, as texts of SQL or as Columns. In them, the
    DataFrame's columns are `s.name` and the table's `t.name`. Spark evaluates them on the executors. Only files that
    can have rows with the source's keys are read, if `on` has parts like `t.id = s.id`. Subqueries see the session's
    tables and temporary views.

    Args:
        df: The rows. Spark keeps them (`DataFrame.persist`) until the merge ends, because it reads them more than once.
        table: As for `merge`.
        on: Which rows match: a condition such as `"t.id = s.id and t.day = s.day"`, a Column, or the columns of the
            key, which both sides have. A text that is the name of a column of the table means a key. None for the
            table's identifier fields.
        source: The DataFrame's name in expressions.
        target: The table's name in expressions.
        null_safe: Whether null matches null in the columns of the key. In a condition, write `<=>`.
        branch: The branch to change, if not `main`.
        snapshot_properties: Properties to add to the snapshot's summary.
        job_id: As for `append`.

    Raises:
        InvalidInputError: An argument is wrong.
    """
    opened, job = opened_for(df.sparkSession, table, Job.named(branch, snapshot_properties, job_id))
    return MergeInto(MergeTarget(df, opened, _on(on), source, target, null_safe, job))


def _on(on: str | Column | Sequence[str] | None) -> Expression | tuple[str, ...] | None:
    if on is None or isinstance(on, str) or is_column(on):
        return on  # type: ignore[return-value]
    return tuple(arguments.columns(on, "on"))  # type: ignore[arg-type]


def upsert(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    on: Columns | None = None,
    *,
    null_safe: bool = False,
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
) -> LastCommit:
    """Updates the rows that match a DataFrame's rows by a key, and inserts the other rows of the DataFrame.

    It is a `merge` that does both. For a Paimon table with a primary key and fixed buckets, tasks append the rows: the
    newest row of a key replaces the older one.

    Args:
        df: As for `merge`.
        table: As for `merge`.
        on: As for `merge`.
        null_safe: As for `merge`.
        branch: The branch to change, if not `main`.
        snapshot_properties: Properties to add to the snapshot's summary.
        job_id: As for `append`.

    Raises:
        InvalidInputError: As for `merge`.
        CommitConflictError: As for `merge`.
    """
    opened, job = opened_for(df.sparkSession, table, Job.named(branch, snapshot_properties, job_id))
    if not job.is_done(opened):
        with persisted(df):
            if is_append(df, opened, None if on is None else arguments.columns(on, "on"), job):
                return append(df, opened, snapshot_properties=dict(job.properties), job_id=job.id)
    return merge(
        df,
        opened,
        on,
        when_matched_update=True,
        when_not_matched_insert=True,
        null_safe=null_safe,
        branch=job.branch,
        snapshot_properties=snapshot_properties,
        job_id=job_id,
    )


def delete(
    spark: SparkSession,
    table: Table | str | os.PathLike[str],
    where: Filter | Column,
    *,
    alias: str = "t",
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
) -> LastCommit:
    """Deletes the rows of a table for which a filter is true, as `Table.delete` does. Executors do the work.

    Files in which every row matches are removed by metadata alone. Executors look for the rows in the other files, and
    `write.delete.mode` decides what they write. A condition that only Spark understands is evaluated by Spark: a text
    of SQL with functions or subqueries (`"id in (select id from doomed)"`), or a Column. Files that Spark's filters
    exclude are not read. Subqueries see the session's tables and temporary views.

    Args:
        spark: The session, classic or Connect.
        table: As for `merge`.
        where: The rows to delete: a filter as for `Table.delete`, or a condition of Spark's. A text that is both is
            Frazil's filter; `pyspark.sql.functions.expr(text)` makes it Spark's.
        alias: The table's name in conditions of Spark's, for subqueries that refer to its columns.
        branch: The branch to change, if not `main`.
        snapshot_properties: Properties to add to the snapshot's summary.
        job_id: As for `append`.

    Raises:
        InvalidInputError: The filter does not fit the schema.
        CommitConflictError: Another commit changed what this one relies on (`write.delete.isolation-level`).
    """
    opened, job = opened_for(spark, table, Job.named(branch, snapshot_properties, job_id))
    if needs_spark(spark, opened, where, {}, alias):
        return change_by_expression(spark, opened, where, None, alias, job)
    return _change_by_files(spark, opened, row_requests.delete(where), job)


def update(
    spark: SparkSession,
    table: Table | str | os.PathLike[str],
    where: Filter | Column,
    values: Mapping[str, object],
    *,
    alias: str = "t",
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
) -> LastCommit:
    """Changes columns of the rows for which a filter is true, as `Table.update` does. Executors do the work.

    Args:
        spark: The session, classic or Connect.
        table: As for `merge`.
        where: The rows to update, as for `delete`; `"true"` for all rows.
        values: The new values by column: as for `Table.update`, or Columns of Spark's over the old row
            (`expr("price * 1.1")`). A text is a value. Members of structs are named with dots if the value is a Column.
        alias: As for `delete`.
        branch: The branch to change, if not `main`.
        snapshot_properties: Properties to add to the snapshot's summary.
        job_id: As for `append`.

    Raises:
        InvalidInputError: The filter, a column or a value does not fit the schema.
        UnsupportedError: A new value is for a column that is a struct, list or map.
        CommitConflictError: Another commit changed what this one relies on (`write.update.isolation-level`).
    """
    opened, job = opened_for(spark, table, Job.named(branch, snapshot_properties, job_id))
    if needs_spark(spark, opened, where, values, alias):
        return change_by_expression(spark, opened, where, values, alias, job)
    return _change_by_files(spark, opened, row_requests.update_change(where, values), job)


def _change_by_files(
    spark: SparkSession, table: Table, change: RowChange.Delete | RowChange.Update, job: Job
) -> LastCommit:
    """Changes the rows that a filter selects. Each file belongs to one part."""
    if job.is_done(table):
        return LastCommit()
    in_parts = supports(table._core, "row_changes_by_executors")
    whole, files = (
        row_requests.find_files(table._core, change, job.branch) if in_parts else (None, _sizes(table, change))
    )
    most = setting(spark, DRIVER_MAX_BYTES, DRIVER_MAX_BYTES_DEFAULT)
    if not files or sum(size for _, size in files) <= most:
        raise_if_interrupted()
        table._change_rows(change, None, job.branch, job.members())
        return job.done(table)
    if not in_parts:
        change_rows(scattered(spark, [b""]), WholeJob(table, change, change.filter, job))
        return job.done(table)
    payloads = [pickle.dumps(part) for part in _parts(files)]
    change_rows(scattered(spark, payloads), ChangeJob(table, change, change.filter, job, whole))
    return job.done(table)


def _sizes(table: Table, change: RowChange.Delete | RowChange.Update) -> list[tuple[str, int]]:
    """The files that a filter touches: path and size in bytes."""
    files = (task.data_file for task in table.scan(change.filter).plan_files())
    return [(file.path, file.size_bytes) for file in files]


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
