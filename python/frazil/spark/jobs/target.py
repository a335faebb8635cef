"""Tables that jobs change: opened at their newest version, and identified in options of Spark."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TypeVar

from pyspark.sql import SparkSession

from frazil._core import At
from frazil.capabilities import supports
from frazil.exceptions import InvalidInputError
from frazil.spark import wire
from frazil.spark.catalogs import table_of
from frazil.spark.jobs.job import Job
from frazil.table import Table

__all__ = ["HANDLE", "handle_of", "on_branch", "opened_for", "writable"]

# The option with a table of a catalog, which can't be opened by its location.
HANDLE = "table-token"

_Job = TypeVar("_Job", bound=Job)


def handle_of(table: Table) -> dict[str, str]:
    """The option with a table that can't be opened by its location alone."""
    handle = table._core.to_json()
    # Spark hides options with this name. The text may contain passwords.
    return {HANDLE: handle} if wire.needs_handle(handle) else {}


def writable(spark: SparkSession, table: Table | str | os.PathLike[str]) -> Table:
    """The table at its newest version.

    Raises:
        InvalidInputError: The table can't be written. It was opened with `moved=True`, so its recorded location is
            another table's.
        NotFoundError: The table does not exist.
    """
    if not isinstance(table, Table):
        return table_of(spark, table)
    table.writable_location()
    # A table object stays at its version.
    return Table(table._core).refresh()


def opened_for(spark: SparkSession, table: Table | str | os.PathLike[str], job: _Job) -> tuple[Table, _Job]:
    """The table at its newest version, and the job on it: see `on_branch`.

    Raises:
        InvalidInputError: As for `writable` and `on_branch`.
        NotFoundError: The table does not exist, or the branch that would be opened.
    """
    return on_branch(writable(spark, table), job)


def on_branch(table: Table, job: _Job) -> tuple[Table, _Job]:
    """The job's branch as a table, and the job on it, if tasks of a format can't write to branches of a table.

    Raises:
        InvalidInputError: The job's branch is a tag.
        NotFoundError: The branch does not exist.
    """
    if job.branch is None or supports(table._core, "branch_writes_by_executors"):
        return table, job
    named = table.refs.get(job.branch)
    if named is not None and named.type == "tag":
        raise InvalidInputError(f"'{job.branch}' is a tag, and tags can't be changed", {"table": table.location})
    branch = table._core.defined_at(At.Ref(job.branch))
    return (table, job) if branch is None else (Table(branch), replace(job, branch=None))
