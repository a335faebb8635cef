"""Streams: a table's appended rows as they come, and rows of a stream into a table, each batch exactly once.

A query that begins reads the table as it is, then what each later snapshot appends. A query that writes names itself
and each batch in the snapshot's summary, as Iceberg's Spark connector does, so that a batch which Spark runs again
after a failure is recognised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyspark
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition, WriterCommitMessage
from pyspark.sql.types import StructType

from frazil._core import CommitMessage
from frazil.exceptions import FrazilError, InvalidInputError, NotFoundError, UnsupportedError
from frazil.scan import Scan, Split
from frazil.spark.lanes import rows_of
from frazil.spark.options import CHANGES, VERSIONS, integer, scan_of
from frazil.spark.write import WriteJob, Written, write_rows
from frazil.table import Snapshot, Table

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamWriter

try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
except ImportError:  # PySpark 4.0
    DataSourceStreamArrowWriter = None  # type: ignore[assignment, misc, unused-ignore]
try:
    from pyspark.sql.streaming import datasource as limits  # type: ignore[attr-defined, unused-ignore]
except ImportError:  # PySpark 4.0 and 4.1
    limits = None

__all__ = ["STREAM_OPTIONS", "stream_reader", "stream_writer"]

_FROM = "stream-from-timestamp"
_SKIP = {"delete": "streaming-skip-delete-snapshots", "overwrite": "streaming-skip-overwrite-snapshots"}
_MAX_FILES, _MAX_ROWS = "streaming-max-files-per-micro-batch", "streaming-max-rows-per-micro-batch"
STREAM_OPTIONS = (_FROM, *_SKIP.values(), _MAX_FILES, _MAX_ROWS)
"""Options of streams that are read, by the names that Iceberg's connector gives them."""

# Members of a snapshot's summary, as Iceberg's connector names them.
_QUERY, _BATCH = "spark.sql.streaming.queryId", "spark.sql.streaming.epochId"

# In place of a snapshot's id: before the first.
_NOTHING = "-1"


def stream_reader(table: Table, schema: StructType, options: Mapping[str, str]) -> DataSourceStreamReader:
    """A reader of a table's rows as they come.

    Raises:
        InvalidInputError: An option is wrong.
        UnsupportedError: An option needs a newer PySpark.
    """
    given = {name.lower(): value for name, value in options.items()}
    wrong = [name for name in given if name in CHANGES or (name in VERSIONS and name != "branch")]
    if wrong:
        raise InvalidInputError(
            f"a stream is of no single version, as option '{wrong[0]}' wants it", hint=f"Use '{_FROM}' or 'branch'"
        )
    limited = [name for name in (_MAX_FILES, _MAX_ROWS) if name in given]
    if limits is None:
        if limited:
            raise UnsupportedError(
                f"option '{limited[0]}' needs PySpark 4.2: older ones ask for all rows at once",
                hint="Leave the option out",
            )
        return _UnlimitedReader(table, schema, given)
    return _limited()(table, schema, given)


def stream_writer(table: Table, options: Mapping[str, str], job: WriteJob) -> DataSourceStreamWriter:
    """A writer of a stream's batches.

    Raises:
        UnsupportedError: PySpark is older than 4.1.
    """
    if DataSourceStreamArrowWriter is None:
        raise UnsupportedError(
            "PySpark 4.0 hands streams to data sources row by row",
            hint="Write foreachBatch(lambda df, id: frazil.spark.append(df, table, job_id=f'my query/{id}'))",
        )
    writer: DataSourceStreamWriter = _writer()(table, job)
    return writer


@dataclass
class _Rows(InputPartition):
    split: Split


class _Reader(DataSourceStreamReader):
    """Offsets are snapshots: `{"snapshot-id": "5"}` is what there was after snapshot 5."""

    def __init__(self, table: Table, schema: StructType, options: Mapping[str, str]) -> None:
        self._table = table
        self._columns = schema.fieldNames()
        self._schema = schema
        self._options = {name: value for name, value in options.items() if name not in STREAM_OPTIONS}
        self._branch = options.get("branch")
        self._from_ms = integer(_FROM, options[_FROM]) if _FROM in options else None
        self._skipped = {kind for kind, name in _SKIP.items() if options.get(name, "false").lower() == "true"}
        self._max_files = integer(_MAX_FILES, options[_MAX_FILES]) if _MAX_FILES in options else None
        self._max_rows = integer(_MAX_ROWS, options[_MAX_ROWS]) if _MAX_ROWS in options else None

    def initialOffset(self) -> dict[str, str]:
        """Before everything, or before the first snapshot from a time on."""
        if self._from_ms is None:
            return {"snapshot-id": _NOTHING}
        before = [s for s in self._line() if s.timestamp.timestamp() * 1000 < self._from_ms]
        return {"snapshot-id": str(before[-1].id) if before else _NOTHING}

    def newest(self) -> dict[str, str]:
        """The newest snapshot."""
        line = self._line()
        return {"snapshot-id": str(line[-1].id) if line else _NOTHING}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        """The splits of what was appended after `start`, up to `end`."""
        if start == end:
            return []
        return [_Rows(split) for split in self._scan(start["snapshot-id"], end["snapshot-id"]).plan()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A split's rows."""
        if isinstance(partition, _Rows):
            yield from rows_of(partition.split)

    def _line(self) -> list[Snapshot]:
        """The snapshots of the branch, oldest first."""
        table = self._table.refresh()
        by_id = {s.id: s for s in table.snapshots}
        head = table.refs[self._branch].snapshot_id if self._branch else table.snapshot and table.snapshot.id
        line: list[Snapshot] = []
        while head in by_id:
            line.append(by_id[head])
            head = by_id[head].parent_id
        return line[::-1]

    def _after(self, start: str) -> list[Snapshot]:
        """The snapshots after one, oldest first."""
        line = self._line()
        if start == _NOTHING:
            return line
        at = [i for i, s in enumerate(line) if str(s.id) == start]
        if not at:
            raise NotFoundError(
                f"snapshot {start}, up to which the stream has read, is not in the table's history any more",
                {"table": self._table.location},
                "It has expired or was rolled back: begin a new query with a checkpoint of its own, and with option "
                f"'{_FROM}' if it shall not read the whole table again",
            )
        return line[at[0] + 1 :]

    def _scan(self, start: str, end: str) -> Scan:
        table = self._table.refresh()
        given = {name: value for name, value in self._options.items() if name not in ("path", *VERSIONS)}
        if start == _NOTHING:
            versions = {"snapshot-id": end}
        else:
            versions = {"start-snapshot-id": start, "end-snapshot-id": end}
            for snapshot in self._after(start):
                self._check(snapshot)
                if str(snapshot.id) == end:
                    break
        if "columns" not in given:
            # The columns that the query began with; others may have come since.
            return scan_of(table, {**given, **versions}, select=self._columns)
        return scan_of(table, {**given, **versions})

    def _check(self, snapshot: Snapshot) -> None:
        """Refuses to pass over rows that were changed, unless the options say so."""
        if snapshot.operation in _SKIP and snapshot.operation not in self._skipped:
            raise UnsupportedError(
                f"snapshot {snapshot.id} is no append but '{snapshot.operation}': a stream has no rows for that",
                {"table": self._table.location, "snapshot": str(snapshot.id)},
                f"Set option '{_SKIP[snapshot.operation]}' to true to pass over it, or begin a new query",
            )


class _UnlimitedReader(_Reader):
    """For PySpark 4.0 and 4.1."""

    def latestOffset(self) -> dict[str, str]:  # type: ignore[override, unused-ignore]
        return self.newest()


def _limited() -> type[_Reader]:
    """The reader for PySpark 4.2 and newer, which can ask for less than all."""

    class LimitedReader(_Reader, limits.SupportsTriggerAvailableNow):  # type: ignore[misc, name-defined, unused-ignore]
        _last: dict[str, str] | None = None

        def getDefaultReadLimit(self) -> Any:
            if self._max_files is not None:
                return limits.ReadMaxFiles(self._max_files)
            return limits.ReadAllAvailable() if self._max_rows is None else limits.ReadMaxRows(self._max_rows)

        def prepareForTriggerAvailableNow(self) -> None:
            self._last = self.newest()

        def reportLatestOffset(self) -> dict[str, str] | None:
            return self.newest()

        def latestOffset(self, start: dict[str, str], limit: Any) -> dict[str, str]:  # type: ignore[override, unused-ignore]
            last = self._last or self.newest()
            if isinstance(limit, limits.ReadAllAvailable) or start["snapshot-id"] in (_NOTHING, last["snapshot-id"]):
                return last
            most_files = getattr(limit, "max_files", None)
            most_rows = getattr(limit, "max_rows", None)
            end, files, rows = start["snapshot-id"], 0, 0
            for snapshot in self._after(start["snapshot-id"]):
                files += int(snapshot.summary.get("added-data-files", 0))
                rows += int(snapshot.summary.get("added-records", 0))
                beyond = (most_files is not None and files > most_files) or (most_rows is not None and rows > most_rows)
                if beyond and end != start["snapshot-id"]:
                    break
                end = str(snapshot.id)
                if end == last["snapshot-id"]:
                    break
            return {"snapshot-id": end}

    return LimitedReader


@dataclass
class _StreamWritten(Written):
    """What one task of a batch wrote, and the query that it is of."""

    query: str | None


def _writer() -> type[Any]:
    class FrazilStreamWriter(DataSourceStreamArrowWriter):
        def __init__(self, table: Table, job: WriteJob) -> None:
            self._table = table
            self._job = job

        def write(self, iterator: Iterator[pa.RecordBatch]) -> _StreamWritten:
            context = TaskContext.get()
            query = None if context is None else context.getLocalProperty(_QUERY_OF_TASK)
            return _StreamWritten(write_rows(self._table, iterator, self._job.branch), query)

        def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
            written, query = _batch(messages)
            if query is None:
                return
            newest = self._table.refresh()
            if _is_done(newest, query, batchId):
                newest.abort(written)
                return
            names = {_QUERY: query, _BATCH: str(batchId), "engine-version": pyspark.__version__}
            properties = {**self._job.properties, **names, "engine-name": "spark"}
            if self._job.operation == "append":
                newest.commit(written, properties, self._job.branch)
            else:
                newest.commit_overwrite(written, branch=self._job.branch, snapshot_properties=properties)

        def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
            written, query = _batch(messages)
            try:
                newest = self._table.refresh()
            except FrazilError:
                return
            if query is None or not _is_done(newest, query, batchId):
                newest.abort(written)

    return FrazilStreamWriter


# The local property by which a task knows the query, the same after a restart.
_QUERY_OF_TASK = "sql.streaming.queryId"


def _batch(messages: list[WriterCommitMessage | None]) -> tuple[list[CommitMessage], str | None]:
    found = [m for m in messages if isinstance(m, _StreamWritten)]
    query = next((m.query for m in found if m.query is not None), None)
    return [m.message for m in found if m.message is not None], query


def _is_done(table: Table, query: str, batch: int) -> bool:
    """Whether a snapshot says that it is of this batch of the query, or of a later one."""
    of_query = (s.summary for s in table.snapshots if s.summary.get(_QUERY) == query)
    return any(int(summary.get(_BATCH, -1)) >= batch for summary in of_query)
