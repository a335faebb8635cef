"""Spark DataFrames into tables: executors write files, the driver commits once."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from frazil._core import CommitMessage
from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.expr import Predicate
from frazil.spark.jobs.job import Job, attempt_number, give_up, unless_committed
from frazil.spark.jobs.paimon_kind import PaimonKind
from frazil.spark.lanes.native import Engine
from frazil.spark.types import sent_schema
from frazil.spark.workers.between_tasks import lighten_next_task
from frazil.spark.writing.distribution import Distribution, by_partition, distributed
from frazil.spark.writing.native import ENGINE_MEMBER, WriteLane, staged, write_lane
from frazil.table import Table, open_table

__all__ = [
    "HANDLE",
    "SUMMARY_PREFIX",
    "WRITE_OPTIONS",
    "FrazilWriter",
    "WriteJob",
    "Written",
    "append",
    "explain_write",
    "handle_of",
    "job_of",
    "messages_of",
    "overwrite",
    "overwrite_partitions",
    "writable",
    "write_rows",
]


# The option with a table of a catalog, which can't be found by its location.
HANDLE = "table-token"

# Options of writes; those that begin with the last are members of the snapshot's summary.
WRITE_OPTIONS = ("branch", "overwrite-mode", "replace-where", "job-id", "snapshot-properties")
SUMMARY_PREFIX = "snapshot-property."

Operation = Literal["append", "overwrite", "overwrite-partitions"]


@dataclass(frozen=True, kw_only=True)
class WriteJob(Job):
    """What is to be done with the rows of one job."""

    operation: Operation = "append"
    where: str | None = None

    @property
    def overwrites(self) -> bool:
        """Whether the rows take the place of others."""
        return self.operation != "append"

    def needs_one_writer(self, table: Table) -> bool:
        """Whether rows of a bucket should come from one task, or the driver would have to write all rows again."""
        if table.format != "paimon" or not self.overwrites:
            return False
        kind = PaimonKind.now(PaimonKind.by_schema(table))
        return kind.hidden and not kind.postponed

    def commit(self, table: Table, messages: list[CommitMessage], members: Mapping[str, str] | None = None) -> None:
        """Commits what the tasks wrote. If that certainly failed, the files go; if nobody knows, they stay."""
        members = self.members() if members is None else members
        with unless_committed(lambda: give_up(table, messages)):
            if self.overwrites:
                partitions = self.operation == "overwrite-partitions"
                table.commit_overwrite(messages, self.where, partitions, self.branch, members)
            else:
                table.commit(messages, members, self.branch)

    def check(self, table: Table) -> None:
        """Refuses what can't be committed, before anything is written.

        Raises:
            InvalidInputError: The filter of an overwrite does not fit the table.
            UnsupportedError: Of tables of Apache Paimon only `main` can be changed, by several tasks only those whose
                key, if they have one, has the partition columns, and overwritten only whole partitions.
        """
        if self.overwrites:
            table._check_overwrite(self.where, self.operation == "overwrite-partitions")
        if table.format != "paimon":
            return
        self.check_branch(table)
        # No rows make no file, but are refused where one writer has to see all.
        table.writer(overwrite=self.overwrites).write(table.schema.to_arrow().empty_table())

    def check_branch(self, table: Table) -> None:
        """Refuses a branch whose history is not known.

        Raises:
            UnsupportedError: It is one of a table of Apache Paimon.
        """
        if table.format == "paimon" and self.branch is not None:
            raise UnsupportedError(
                "branches of tables of Apache Paimon can't be changed by Spark's tasks yet",
                {"table": table.location},
                "Call the table's own methods on the driver",
            )


def job_of(options: Mapping[str, str], overwrite: bool) -> WriteJob:
    """The job that options of `df.write` describe. Their names may have any case, since Spark's have.

    Raises:
        InvalidInputError: A value is wrong, or says something else than the mode.
    """
    given = {name.lower(): value for name, value in options.items()}
    mode, where = given.get("overwrite-mode", "static").lower(), given.get("replace-where")
    if mode not in ("static", "dynamic"):
        raise InvalidInputError(f"option 'overwrite-mode' can't be '{mode}'", hint="It is static or dynamic")
    if not overwrite and ("overwrite-mode" in given or where is not None):
        raise InvalidInputError(
            "options 'overwrite-mode' and 'replace-where' are of overwrites", hint="Write mode('overwrite')"
        )
    if mode == "dynamic" and where is not None:
        raise InvalidInputError("either partitions or a filter say what is replaced", hint="Leave out one option")
    operation: Operation = "append"
    if overwrite:
        operation = "overwrite-partitions" if mode == "dynamic" else "overwrite"
    named = SUMMARY_PREFIX
    properties = {name[len(named) :]: text for name, text in options.items() if name.lower().startswith(named)}
    properties |= json.loads(given.get("snapshot-properties", "{}"))
    job = WriteJob.named(given.get("branch"), properties, given.get("job-id"))
    return replace(job, operation=operation, where=where)


@dataclass
class Written(WriterCommitMessage):
    """What one Spark task wrote; None if it had no rows."""

    message: CommitMessage | None


class FrazilWriter(DataSourceArrowWriter):
    """`write` on executors, `commit` or `abort` once on the driver, each in a process of its own."""

    def __init__(self, table: Table, job: WriteJob | None = None) -> None:
        self._table = table
        self._job = WriteJob() if job is None else job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Writes one task's rows into new files. If that fails, the files made so far are deleted."""
        lighten_next_task()
        return Written(write_rows(self._table, iterator, self._job))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Puts the files of all tasks into the table in one commit, unless the job was done before."""
        _commit_once(self._table, self._job, messages_of(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Deletes the files of the tasks that succeeded, if another failed.

        Where all succeeded the commit was tried: it has deleted the files if it certainly failed, and Spark, which
        calls this after any error, knows less than it did.
        """
        if None in messages:
            give_up(self._table, messages_of(messages))


def write_rows(table: Table, rows: Iterator[pa.RecordBatch], job: WriteJob) -> CommitMessage | None:
    """Writes one Spark task's rows into new files; None without rows."""
    first = next(rows, None)
    if first is None:
        return None
    reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], rows))
    return table.writer(attempt_number(), job.branch, overwrite=job.overwrites).write(reader)


def messages_of(messages: list[WriterCommitMessage | None]) -> list[CommitMessage]:
    """What tasks wrote, without those that failed or had no rows."""
    return [m.message for m in messages if isinstance(m, Written) and m.message is not None]


def append(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
    distribution: Distribution = "auto",
    engine: Engine = "auto",
) -> None:
    """Appends a DataFrame's rows to a table in one commit. Columns are matched by name.

    Args:
        df: The rows.
        table: A table or its location. A table object stays at its version: `refresh()` shows the new rows.
        branch: The branch to change, if not `main`.
        snapshot_properties: Members for the snapshot's summary.
        job_id: A name for this job. If a snapshot of the branch's history has it already, nothing is done: a job that
            is run again after its driver died adds its rows once. Two jobs of one name at the same time, and jobs whose
            snapshot has expired, are not known.
        distribution: How rows go to tasks before they are written: `none` as they are, `hash` all rows of a partition
            together, `range` in the table's sort order. `auto`: as the table's property `write.distribution-mode` says;
            without it by range if the table has a sort order, by hash if it is partitioned.
        engine: Who writes the files. `auto`: Spark's own Parquet writer where its files are as Iceberg's writers make
            them, else Frazil's writer on the executors. `native`: Spark's writer, or an error. `arrow`: Frazil's.
            `explain_write` says which; the snapshot's summary does as `frazil.write-engine`.

    Raises:
        InvalidInputError: An argument is wrong, or a column is not the table's or of another type. What is wrong with
            values Spark raises, from its workers.
        UnsupportedError: A branch of a table of Apache Paimon, or one whose key leaves partition columns out.
    """
    job = _job("append", None, branch, snapshot_properties, job_id)
    _run(df, table, job, distribution, engine)


def overwrite(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    where: str | Predicate | None = None,
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
    distribution: Distribution = "auto",
    engine: Engine = "auto",
) -> None:
    """Replaces rows of a table by a DataFrame's in one commit, as `Table.overwrite` does.

    Rows that others commit while Spark computes these are replaced as well.

    Args:
        df: The new rows. They may be read from the table itself.
        table: As for `append`.
        where: Rows to replace, as for `Table.scan`; None replaces all. Of tables of Apache Paimon: partitions, by the
            values of their columns.
        branch: As for `append`.
        snapshot_properties: As for `append`.
        job_id: As for `append`.
        distribution: As for `append`.
        engine: As for `append`.

    Raises:
        InvalidInputError: As for `append`; the filter does not fit.
        UnsupportedError: As for `append`; less than whole partitions of a table of Apache Paimon.
    """
    _run(df, table, _job("overwrite", where, branch, snapshot_properties, job_id), distribution, engine)


def overwrite_partitions(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
    distribution: Distribution = "auto",
    engine: Engine = "auto",
) -> None:
    """Replaces all partitions that a DataFrame has rows for, as `Table.overwrite_partitions` does.

    Args:
        df: The new rows. They may be read from the table itself.
        table: As for `append`.
        branch: As for `append`.
        snapshot_properties: As for `append`.
        job_id: As for `append`.
        distribution: As for `append`.
        engine: As for `append`.

    Raises:
        InvalidInputError: As for `append`.
        UnsupportedError: As for `append`.
    """
    _run(df, table, _job("overwrite-partitions", None, branch, snapshot_properties, job_id), distribution, engine)


def _job(
    operation: Operation,
    where: str | Predicate | None,
    branch: str | None,
    properties: Mapping[str, object] | None,
    job_id: str | None,
) -> WriteJob:
    """The job that arguments describe."""
    text = None if where is None else str(where)
    return replace(WriteJob.named(branch, properties, job_id), operation=operation, where=text)


def explain_write(df: DataFrame, table: Table | str | os.PathLike[str], engine: Engine = "auto") -> WriteLane:
    """Who would write a DataFrame's rows into a table's files, and why. Print it. Arguments are those of `append`."""
    return write_lane(df, writable(table), engine)


def _run(
    df: DataFrame, table: Table | str | os.PathLike[str], job: WriteJob, distribution: Distribution, engine: Engine
) -> None:
    opened = writable(table)
    job.check_branch(opened)
    if job.is_done(opened):
        return
    # What does not fit any more did when the job was done.
    job.check(opened)
    lane = write_lane(df, opened, engine)
    if lane.engine == "arrow":
        _check_columns(df, opened, job)
    job = replace(job, properties={**job.properties, ENGINE_MEMBER: lane.engine})
    if distribution == "auto" and job.needs_one_writer(opened):
        rows = by_partition(df, opened)
    else:
        rows = distributed(df, opened, distribution)
    if lane.engine == "native":
        _commit_once(opened, job, [staged(rows, opened, str(uuid.uuid4()))])
    else:
        _by_tasks(rows, opened, job)


def _check_columns(df: DataFrame, table: Table, job: WriteJob) -> None:
    """Refuses columns that the table can't have, before a task is started: a batch without rows has them as well."""
    try:
        schema = sent_schema(df.schema)
    except PySparkException:  # what the workers get instead, if anything, they will say
        return
    nothing = pa.RecordBatchReader.from_batches(schema, [pa.RecordBatch.from_pylist([], schema)])
    table.writer(branch=job.branch, overwrite=job.overwrites).write(nothing)


def _commit_once(table: Table, job: WriteJob, written: list[CommitMessage]) -> None:
    """Commits unless the job was done before."""
    newest = Table(table._core).refresh()
    if job.is_done(newest):
        give_up(newest, written)
    else:
        job.commit(newest, written)


def _by_tasks(rows: DataFrame, table: Table, job: WriteJob) -> None:
    """Has the data source's writer write, commit and clean up."""
    # The data source imports this module for its writer.
    from frazil.spark.datasource import register

    register(rows.sparkSession)
    writer = rows.write.format("frazil")
    writer = writer.mode("append" if job.operation == "append" else "overwrite").option("job-id", job.id)
    if job.operation == "overwrite-partitions":
        writer = writer.option("overwrite-mode", "dynamic")
    if job.where is not None:
        writer = writer.option("replace-where", job.where)
    if job.branch is not None:
        writer = writer.option("branch", job.branch)
    # Spark makes the names of options lower case, not their values.
    writer = writer.option("snapshot-properties", json.dumps(dict(job.properties)))
    writer.options(**handle_of(table)).save(table.writable_location())


def handle_of(table: Table) -> dict[str, str]:
    """The option with a table that can't be opened by its location alone."""
    handle = table._core.to_json()
    members = json.loads(handle)
    # The name keeps Spark from showing it: there may be passwords in it.
    return {HANDLE: handle} if members.get("catalog") or members.get("storage-options") else {}


def writable(table: Table | str | os.PathLike[str]) -> Table:
    """The table at its newest version.

    Raises:
        InvalidInputError: It can't be written, as one opened with `moved=True`, whose recorded location is another's.
        NotFoundError: There is none.
    """
    if not isinstance(table, Table):
        return open_table(table)
    table.writable_location()
    # A table object stays at its version.
    return Table(table._core).refresh()
