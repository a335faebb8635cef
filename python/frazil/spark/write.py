"""Spark DataFrames into tables: executors write files, the driver commits once."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
import pyspark
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from frazil._core import CommitMessage
from frazil.exceptions import FrazilError
from frazil.table import Table

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSource

__all__ = ["FrazilWriter", "Written", "append"]


# The member of a snapshot's summary by which a job knows its own commit again.
JOB_ID = "frazil.job-id"

# The option with a table of a catalog, which can't be found by its location.
HANDLE = "table-token"


@dataclass
class Written(WriterCommitMessage):
    """What one Spark task wrote; None if it had no rows."""

    message: CommitMessage | None


class FrazilWriter(DataSourceArrowWriter):
    """Appends: `write` on executors, `commit` or `abort` once on the driver."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._job_id = str(uuid.uuid4())

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Writes one task's rows into new files. If that fails, the files made so far are deleted."""
        first = next(iterator, None)
        if first is None:
            return Written(None)
        rows = pa.RecordBatchReader.from_batches(first.schema, chain([first], iterator))
        context = TaskContext.get()
        # Attempts of one task have numbers of their own, so that a second attempt finds no file of the first.
        writer = self._table.writer(0 if context is None else context.taskAttemptId())
        return Written(writer.write(rows))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Adds the files of all tasks to the table in one commit."""
        engine = {"engine-name": "spark", "engine-version": pyspark.__version__, JOB_ID: self._job_id}
        self._table.commit(_messages(messages), engine)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Deletes the files of the tasks that succeeded, since the job did not.

        Spark also calls this when the commit raised, which it may do after publishing, and in a process of its own.
        So the table is asked first; where it has the job's snapshot, or can't be read, nothing is deleted.
        """
        try:
            newest = self._table.refresh()
        except FrazilError:
            return
        if any(snapshot.summary.get(JOB_ID) == self._job_id for snapshot in newest.snapshots):
            return
        self._table.abort(_messages(messages))


def _messages(messages: list[WriterCommitMessage | None]) -> list[CommitMessage]:
    return [m.message for m in messages if isinstance(m, Written) and m.message is not None]


def append(df: DataFrame, table: Table | str | os.PathLike[str]) -> None:
    """Appends a DataFrame's rows to a table in one commit. Columns are matched by name.

    Args:
        df: The rows.
        table: A table or its location. A table object stays at its version: `refresh()` shows the new rows.
    """
    # A table that can't be written, as one opened with moved=True, says so here; its recorded location is another's.
    location = table.writable_location() if isinstance(table, Table) else os.fspath(table)
    df.sparkSession.dataSource.register(_data_source())
    writer = df.write.format("frazil").mode("append")
    if isinstance(table, Table):
        handle = table._core.to_json()
        members = json.loads(handle)
        if members.get("catalog") or members.get("storage-options"):
            # The name keeps Spark from showing it: there may be passwords in it.
            writer = writer.option(HANDLE, handle)
    writer.save(location)


def _data_source() -> type[DataSource]:
    # The data source imports this module for its writer.
    from frazil.spark.datasource import FrazilDataSource

    return FrazilDataSource
