"""Changes of rows whose new values Spark has computed. Each row says where its old row is.

Executors write them as the matches of a merge. Deletes and updates follow their own properties (`write.delete.mode`,
`write.delete.isolation-level` and so on).
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from frazil._core import CommitMessage
from frazil.exceptions import InvalidInputError
from frazil.requests import rows as row_requests
from frazil.requests.rows import RowChange, commit_parts
from frazil.spark.changes.job import PLACES, ChangeJob, Command, change_rows
from frazil.spark.changes.merging import has_hash
from frazil.spark.columns import quoted
from frazil.spark.jobs.job import Job, give_up, unless_committed
from frazil.spark.reading.places import Placed
from frazil.spark.writing.distribution import partition_columns
from frazil.table import Table

__all__ = ["FILE", "MISSING", "POSITION", "Command", "PlacedChange", "PlacedJob", "clustered", "write_changes"]

FILE, POSITION, MISSING = PLACES

# The most tasks that write inserted rows of a table without partitions.
_SALTS = 64


@dataclass(frozen=True)
class PlacedChange:
    """Rows with new values and the places of their old rows.

    Attributes:
        table: The table at its version.
        rows: The columns `frazil c0`, `frazil c1` and so on, then those of `PLACES`. Rows to delete are missing.
        placed: How the rows' files are spelled.
        updated: The columns that updates set.
        inserted: The columns that inserted rows have.
        deletes_all: Whether all rows with a place are deleted, even if there are several for one old row.
        command: The statement, whose properties count.
        job: The branch, the name and the properties of the commit.
    """

    table: Table
    rows: DataFrame
    placed: Placed
    updated: tuple[str, ...]
    inserted: tuple[str, ...]
    deletes_all: bool
    command: Command
    job: Job

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that get values, in the order of the rows."""
        return tuple(c.name for c in self.table.schema.fields if c.name in {*self.updated, *self.inserted})


@dataclass(frozen=True)
class PlacedJob(ChangeJob):
    """A change that Spark has computed."""

    def commit(self, messages: list[CommitMessage]) -> None:
        """Commits all parts. Their files are deleted if that certainly failed, but stay if the outcome is unknown."""
        newest = Table(self.table._core).refresh()
        if self.job.is_done(newest):
            give_up(newest, messages)
            return
        changes: dict[Command, RowChange] = {
            "merge": self.change,
            "update": row_requests.update_change("true", {self.table.schema.fields[0].name: None}),
            "delete": row_requests.delete("true"),
        }
        with unless_committed(lambda: give_up(newest, messages)):
            change = changes[self.command]
            commit_parts(self.table._core, change, self.where, messages, self.job.members(), self.job.branch)


def write_changes(change: PlacedChange, where: str) -> None:
    """Makes executors write the changed rows, and commits them.

    Args:
        change: The rows.
        where: A filter that selects every row that the change read.

    Raises:
        InvalidInputError: A value does not fit, or a row of the table matches several rows of the source.
        CommitConflictError: Another commit changed what this one relies on.
    """
    columns = change.columns
    names = [f.col(quoted(f"frazil c{i}")) for i in range(len(columns))]
    rows = change.rows.select(
        *names, change.placed.path(f.col(quoted(FILE))).alias(FILE), f.col(quoted(POSITION)), f.col(quoted(MISSING))
    )
    # The rows are matched already, so there is no key.
    merge = RowChange.Merge(
        on=[],
        update={name: name for name in change.updated} or None,
        delete="true" if change.deletes_all else None,
        insert={name: name for name in change.inserted} or None,
        delete_missing=None,
    )
    job = PlacedJob(change.table, merge, where, change.job, columns=columns, command=change.command)
    try:
        change_rows(clustered(rows, change), job)
    except InvalidInputError as error:
        if "matches several rows of the source" not in str(error):
            raise
        raise InvalidInputError(
            f"[MERGE_CARDINALITY_VIOLATION] {error.args[0]}", getattr(error, "context", None), error.hint
        ) from error


def clustered(rows: DataFrame, change: PlacedChange) -> DataFrame:
    """Brings all changes of a file together, and distributes inserted rows as the table's partitions are."""
    file = f.col(quoted(FILE))
    if not change.inserted:
        return rows.repartition(file)
    named = {name: f"frazil c{i}" for i, name in enumerate(change.columns) if name in change.inserted}
    mode = change.table.properties.get("write.merge.distribution-mode", "hash").lower()
    spread = partition_columns(change.table, named) if mode != "none" else []
    if not spread:
        spread = [f.pmod(f.hash(*_hashable(rows)), f.lit(_SALTS))]
    return rows.repartition(file, *(f.when(file.isNull(), column) for column in spread))


def _hashable(rows: DataFrame) -> list[Column]:
    """Columns that distinguish inserted rows. Spark has no hash of maps and variants."""
    own = rows.schema.fields[: -len(PLACES)]
    return [f.col(quoted(c.name)) for c in own if has_hash(c.dataType)] or [f.lit(0)]
