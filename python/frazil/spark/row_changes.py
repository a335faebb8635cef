"""Merging a DataFrame's rows into a table: Spark computes the rows, the driver finds what they match.

The driver takes the rows as Arrow (no more than `spark.driver.maxResultSize`), looks only at files whose key ranges can
match, and commits once. What it reads of the table does not go through Spark.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from frazil.expr import Predicate
from frazil.spark.write import job_named, writable
from frazil.table import Table

__all__ = ["merge", "upsert"]


def merge(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    on: Sequence[str] | None = None,
    *,
    when_matched_update: bool | Mapping[str, str] = False,
    when_matched_delete: bool | str | Predicate = False,
    when_not_matched_insert: bool | Mapping[str, str] = False,
    when_not_matched_by_source_delete: bool | str | Predicate = False,
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
) -> None:
    """Updates, deletes and inserts rows of a table by how they match a DataFrame's by a key, as `Table.merge` does.

    Args:
        df: The rows; they are collected on the driver.
        table: A table or its location. A table object stays at its version: `refresh()` shows the new rows.
        on: The columns of the key; None for the table's identifier fields.
        when_matched_update: As for `Table.merge`.
        when_matched_delete: As for `Table.merge`.
        when_not_matched_insert: As for `Table.merge`.
        when_not_matched_by_source_delete: As for `Table.merge`.
        branch: The branch to change, if not `main`.
        snapshot_properties: Members for the snapshot's summary.
        job_id: As for `append`.

    Raises:
        InvalidInputError: Columns or filters do not fit, or two rows of the DataFrame have the same key.
        CommitConflictError: Another commit changed what this one relies on (`write.merge.isolation-level`).
    """
    opened, job = writable(table), job_named("append", None, branch, snapshot_properties, job_id)
    if job.is_done(opened):
        return
    opened.merge(
        df.toArrow(),
        on,
        when_matched_update=when_matched_update,
        when_matched_delete=when_matched_delete,
        when_not_matched_insert=when_not_matched_insert,
        when_not_matched_by_source_delete=when_not_matched_by_source_delete,
        branch=branch,
        snapshot_properties=job.members(),
    )


def upsert(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    on: Sequence[str] | None = None,
    *,
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
) -> None:
    """Updates the rows that match a DataFrame's by a key, and inserts the others of these, as `Table.upsert` does.

    Args:
        df: The rows; they are collected on the driver.
        table: As for `merge`.
        on: As for `merge`.
        branch: As for `merge`.
        snapshot_properties: As for `merge`.
        job_id: As for `append`.

    Raises:
        InvalidInputError: As for `merge`.
        CommitConflictError: As for `merge`.
    """
    opened, job = writable(table), job_named("append", None, branch, snapshot_properties, job_id)
    if not job.is_done(opened):
        opened.upsert(df.toArrow(), on, branch=branch, snapshot_properties=job.members())
