"""Changes of rows that executors do in parts. The driver commits once.

Parts are written through a data source of Spark's. So Spark counts one attempt of each task, and says whose files to
remove if the job fails.
"""

from __future__ import annotations

import base64
import pickle
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from frazil._core import CommitMessage
from frazil.requests.rows import RowChange, commit_parts, write_file_part, write_matched_part
from frazil.spark.jobs.interrupts import raise_if_interrupted
from frazil.spark.jobs.job import Job, attempt_number, give_up, unless_committed
from frazil.spark.workers.errors import raised_by_workers
from frazil.spark.workers.registered import registered
from frazil.table import Table

__all__ = ["PLACES", "ChangeJob", "ChangeSink", "ChangeWriter", "Changed", "Command", "WholeJob", "change_rows"]

PLACES = ("frazil file", "frazil position", "frazil missing")
"""The columns after those of the source, for rows that have been matched."""

Command = Literal["delete", "update", "merge"]

# Spark hides options with this name. The text may contain passwords.
_JOB = "job-token"


@dataclass(frozen=True)
class ChangeJob:
    """A change of rows at one version of a table.

    Attributes:
        table: The table at the version that was read.
        change: The change, in the form that the core takes.
        where: A filter that selects every row that the change read.
        job: Its branch, its name and its properties of the summary.
        whole: Files that are removed as a whole.
        columns: For a merge, the source's columns.
        command: The statement, whose properties count.
    """

    table: Table
    change: RowChange
    where: str
    job: Job
    whole: CommitMessage | None = None
    columns: tuple[str, ...] | None = None
    command: Command = "merge"

    def write(self, rows: Iterator[pa.RecordBatch], task: int) -> list[CommitMessage]:
        """Does one Spark task's part. If that fails, its files are deleted."""
        if self.columns is None:
            return self._write_files(rows, task)
        first = next(rows, None)
        if first is None:
            return []
        names = [*self.columns, *PLACES]
        batches = (batch.rename_columns(names) for batch in chain([first], rows))
        reader = pa.RecordBatchReader.from_batches(first.rename_columns(names).schema, batches)
        table, branch = self.table._core, self.job.branch
        return [write_matched_part(table, self.change, self.where, reader, branch, task, self.command)]

    def _write_files(self, rows: Iterator[pa.RecordBatch], task: int) -> list[CommitMessage]:
        done: list[CommitMessage] = []
        try:
            for batch in rows:
                for payload in batch.column(batch.schema.get_field_index("split")):
                    files = pickle.loads(payload.as_py())
                    done.append(write_file_part(self.table._core, self.change, files, self.job.branch, task))
        except BaseException:
            give_up(Table(self.table._core), done)
            raise
        return done

    def commit(self, messages: list[CommitMessage]) -> None:
        """Commits all parts. Their files are deleted if that certainly failed, but stay if the outcome is unknown."""
        newest = Table(self.table._core).refresh()
        if self.job.is_done(newest):
            give_up(newest, messages)
            return
        every = messages if self.whole is None else [self.whole, *messages]
        with unless_committed(lambda: give_up(newest, messages)):
            commit_parts(self.table._core, self.change, self.where, every, self.job.members(), self.job.branch)


@dataclass(frozen=True)
class WholeJob(ChangeJob):
    """A change that one task makes and commits. It gets the rows of a merge, or one row that means nothing."""

    def write(self, rows: Iterator[pa.RecordBatch], task: int) -> list[CommitMessage]:
        """Makes the change, unless an earlier attempt of the task has done so."""
        first = next(rows, None)
        if first is None or self.job.is_done(Table(self.table._core).refresh()):
            return []
        reader = None
        if self.columns is not None:
            names = list(self.columns)
            batches = (batch.rename_columns(names) for batch in chain([first], rows))
            reader = pa.RecordBatchReader.from_batches(first.rename_columns(names).schema, batches)
        Table(self.table._core)._change_rows(self.change, reader, self.job.branch, self.job.members())
        return []

    def commit(self, messages: list[CommitMessage]) -> None:
        """Does nothing: the task has committed."""


@dataclass
class Changed(WriterCommitMessage):
    """The result of one Spark task."""

    messages: list[CommitMessage]


class ChangeWriter(DataSourceArrowWriter):
    """`write` runs on executors, `commit` or `abort` once on the driver. Each runs in its own process."""

    def __init__(self, job: ChangeJob) -> None:
        self._job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Changed:
        """Does one task's part."""
        return Changed(self._job.write(iterator, attempt_number()))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Commits the parts of all tasks, unless the job was done before."""
        self._job.commit(_messages(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Deletes the files of the tasks that succeeded, if another task failed.

        If all succeeded, the commit was tried. It has deleted the files if it certainly failed.
        """
        if None in messages:
            give_up(Table(self._job.table._core), _messages(messages))


def _messages(messages: list[WriterCommitMessage | None]) -> list[CommitMessage]:
    return [message for changed in messages if isinstance(changed, Changed) for message in changed.messages]


class ChangeSink(DataSource):
    """Takes the rows of a change, whose job is in an option."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "frazil_changes"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """The writer."""
        return ChangeWriter(pickle.loads(zlib.decompress(base64.b64decode(self.options[_JOB]))))


def change_rows(rows: DataFrame, job: ChangeJob) -> None:
    """Makes executors do a change, and commits it.

    Args:
        rows: For a merge, the rows of the source with the columns of `PLACES`; otherwise payloads in column `split`.
        job: The change.
    """
    format = registered(rows.sparkSession, ChangeSink)
    packed = base64.b64encode(zlib.compress(pickle.dumps(job), 1)).decode("ascii")
    with raised_by_workers():
        writer = rows.write.format(format).mode("append").option(_JOB, packed)
        raise_if_interrupted()
        writer.save()
