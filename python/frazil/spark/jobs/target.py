"""Tables that jobs change: opened at their newest version, and identified in options of Spark."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TypeVar

from pyspark.sql import SparkSession

from frazil._core import At
from frazil.capabilities import supports
from frazil.spark import wire
from frazil.spark.catalogs import table_of
from frazil.spark.jobs.job import Job
from frazil.table import Table

__all__ = ["HANDLE", "handle_of", "opened_for", "writable"]

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
    """The table at its newest version, and the job on it. A branch that is a table of its own is opened instead.

    Raises:
        InvalidInputError: As for `writable`.
        NotFoundError: The table does not exist, or the branch that would be opened.
    """
    opened = writable(spark, table)
    if job.branch is None or supports(opened._core, "branch_writes_by_executors"):
        return opened, job
    named = opened.refs.get(job.branch)
    own = None if named is not None and named.type == "tag" else opened._core.defined_at(At.Ref(job.branch))
    return (opened, job) if own is None else (Table(own), replace(job, branch=None))
