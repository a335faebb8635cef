"""Frazil's writer: executors write files, and the driver commits them once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from frazil._core import CommitMessage
from frazil.spark.jobs.job import attempt_number, give_up, unless_interrupted
from frazil.spark.workers.between_tasks import lighten_next_task
from frazil.spark.writing.arriving import Arriving
from frazil.spark.writing.job import WriteJob
from frazil.table import Table

__all__ = ["ArrivingWriter", "FrazilWriter", "Written", "commit_once", "messages_of", "write_rows"]


@dataclass
class Written(WriterCommitMessage):
    """The files that one Spark task wrote. `message` is None if the task had no rows."""

    message: CommitMessage | None


class FrazilWriter(DataSourceArrowWriter):
    """`write` runs on executors, `commit` or `abort` once on the driver. Each runs in its own process."""

    def __init__(self, table: Table, job: WriteJob | None = None) -> None:
        self._table = table
        self._job = WriteJob() if job is None else job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Writes one task's rows into new files. If that fails, the files are deleted."""
        lighten_next_task()
        return Written(write_rows(self._table, iterator, self._job))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Adds the files of all tasks to the table in one commit, unless the job was done before."""
        commit_once(self._table, self._job, messages_of(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Deletes the files of the tasks that succeeded, if another task failed.

        If all succeeded, the commit was tried. It has deleted the files if it certainly failed. Spark calls this method
        after any error, and knows less than the commit did.
        """
        if None in messages:
            give_up(self._table, messages_of(messages))


class ArrivingWriter(FrazilWriter):
    """The same, for rows whose names or types differ from the table's."""

    def __init__(self, table: Table, job: WriteJob, arriving: Arriving) -> None:
        super().__init__(table, job)
        self._arriving = arriving

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Writes one task's rows into new files. If that fails, the files are deleted."""
        return super().write(self._arriving.batches(iterator))


def write_rows(table: Table, rows: Iterator[pa.RecordBatch], job: WriteJob) -> CommitMessage | None:
    """Writes one Spark task's rows into new files. Without rows it returns None."""
    first = next(rows, None)
    if first is None:
        return None
    reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], rows))
    return table.writer(attempt_number(), job.branch, overwrite=job.overwrites).write(reader)


def messages_of(messages: list[WriterCommitMessage | None]) -> list[CommitMessage]:
    """The messages of tasks, without tasks that failed or had no rows."""
    return [m.message for m in messages if isinstance(m, Written) and m.message is not None]


def commit_once(table: Table, job: WriteJob, written: list[CommitMessage]) -> None:
    """Commits unless the job was done before."""
    with unless_interrupted(lambda: give_up(table, written)):
        newest = Table(table._core).refresh()
        is_done = job.is_done(newest)
    if is_done:
        give_up(newest, written)
    else:
        job.commit(newest, written)
