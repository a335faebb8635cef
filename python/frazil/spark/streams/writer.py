"""Writers of streams: each batch is committed once, even if Spark runs it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from frazil._core import CommitMessage
from frazil.exceptions import InternalError, InvalidInputError, UnsupportedError
from frazil.spark.jobs.job import give_up, history
from frazil.spark.workers.between_tasks import lighten_next_task
from frazil.spark.writing.arriving import Arriving
from frazil.spark.writing.job import WriteJob
from frazil.spark.writing.writer import Written, write_rows
from frazil.table import Table

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamWriter

try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
except ImportError:  # PySpark 4.0
    DataSourceStreamArrowWriter = None  # type: ignore[assignment, misc, unused-ignore]

__all__ = ["check_stream_writes", "stream_writer"]

# Properties of a snapshot's summary, as Iceberg's connector names them.
_QUERY, _BATCH = "spark.sql.streaming.queryId", "spark.sql.streaming.epochId"


def check_stream_writes() -> None:
    """Refuses PySpark 4.0.

    Raises:
        UnsupportedError: The version is 4.0.
    """
    if DataSourceStreamArrowWriter is None:
        raise UnsupportedError(
            "PySpark 4.0 can't write streams as Arrow batches: it gives them to data sources row by row",
            hint="Write foreachBatch(lambda df, id: frazil.spark.append(df, table, job_id=f'my query/{id}'))",
        )


def stream_writer(
    table: Table, options: Mapping[str, str], job: WriteJob, arriving: Arriving | None = None
) -> DataSourceStreamWriter:
    """A writer of a stream's batches. `arriving` says what becomes of rows whose names or types differ.

    Raises:
        UnsupportedError: PySpark is older than 4.1.
    """
    if "job-id" in {name.lower() for name in options}:
        raise InvalidInputError(
            "option 'job-id' is not allowed for a stream, whose batches have their own names",
            hint="Leave out option 'job-id'",
        )
    job.check(table)
    check_stream_writes()
    writer: DataSourceStreamWriter = _writer()(table, job, arriving)
    return writer


@dataclass
class _StreamWritten(Written):
    """The files that one task of a batch wrote, and the id of its query."""

    query: str | None


def _writer() -> type[Any]:
    class FrazilStreamWriter(DataSourceStreamArrowWriter):
        def __init__(self, table: Table, job: WriteJob, arriving: Arriving | None) -> None:
            self._table = table
            self._job = job
            self._arriving = arriving

        def write(self, iterator: Iterator[pa.RecordBatch]) -> _StreamWritten:
            context = TaskContext.get()
            query = None if context is None else context.getLocalProperty(_QUERY_OF_TASK)
            lighten_next_task()
            rows = iterator if self._arriving is None else self._arriving.batches(iterator)
            return _StreamWritten(write_rows(self._table, rows, self._job), query)

        def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
            written, query = _batch(messages)
            if query is None:
                if not written and self._job.operation == "append":
                    return
                raise InternalError(
                    "the tasks of a stream's batch do not know the id of their query; nothing was committed"
                )
            newest = self._table.refresh()
            if _is_done(newest, self._job.branch, query, batchId):
                give_up(newest, written)
                return
            names = {_QUERY: query, _BATCH: str(batchId)}
            self._job.commit(newest, written, {**self._job.members(), **names})

        def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
            if None in messages:
                give_up(self._table, _batch(messages)[0])

    return FrazilStreamWriter


# The local property with the id of the query, which stays the same after a restart.
_QUERY_OF_TASK = "sql.streaming.queryId"


def _batch(messages: list[WriterCommitMessage | None]) -> tuple[list[CommitMessage], str | None]:
    found = [m for m in messages if isinstance(m, _StreamWritten)]
    query = next((m.query for m in found if m.query is not None), None)
    return [m.message for m in found if m.message is not None], query


def _is_done(table: Table, branch: str | None, query: str, batch: int) -> bool:
    """Whether a snapshot of the branch belongs to this batch of the query, or to a later one."""
    of_query = (s.summary for s in history(table, branch) if s.summary.get(_QUERY) == query)
    return any(int(summary.get(_BATCH, -1)) >= batch for summary in of_query)
