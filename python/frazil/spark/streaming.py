"""Streams: a table's appended rows as they come, and rows of a stream into a table, each batch exactly once.

A query that begins reads the table as it is, then what each later snapshot appends; of Paimon's tables with a primary
key, the rows that it inserts or updates. A query that writes names itself and each batch in the snapshot's summary, as
Iceberg's Spark connector does, so that a batch which Spark runs again after a failure is recognised.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition, WriterCommitMessage

from frazil import arguments
from frazil._core import CommitMessage
from frazil.exceptions import InternalError, InvalidInputError, NotFoundError, UnsupportedError
from frazil.scan import Scan, Split
from frazil.spark.jobs.job import give_up, history
from frazil.spark.jobs.paimon_kind import PaimonKind
from frazil.spark.reading.options import CHANGES, VERSIONS, integer, scan_of
from frazil.spark.types import arrow_schema, conform
from frazil.spark.workers.between_tasks import lighten_next_task
from frazil.spark.write import (
    WriteJob,
    Written,
    handle_of,
    writable,
    write_rows,
)
from frazil.table import Snapshot, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.datasource import DataSourceStreamWriter
    from pyspark.sql.streaming.readwriter import DataStreamWriter

try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
except ImportError:  # PySpark 4.0
    DataSourceStreamArrowWriter = None  # type: ignore[assignment, misc, unused-ignore]
try:
    from pyspark.sql.streaming import datasource as limits  # type: ignore[attr-defined, unused-ignore]
except ImportError:  # PySpark 4.0 and 4.1
    limits = None

__all__ = ["STREAM_OPTIONS", "check_versions", "stream_reader", "stream_writer", "write_stream"]

_FROM = "stream-from-timestamp"
_SKIP = {"delete": "streaming-skip-delete-snapshots", "overwrite": "streaming-skip-overwrite-snapshots"}
_MAX_FILES, _MAX_ROWS = "streaming-max-files-per-micro-batch", "streaming-max-rows-per-micro-batch"
STREAM_OPTIONS = (_FROM, *_SKIP.values(), _MAX_FILES, _MAX_ROWS)
"""Options of streams that are read, by the names that Iceberg's connector gives them."""

# Members of a snapshot's summary, as Iceberg's connector names them.
_QUERY, _BATCH = "spark.sql.streaming.queryId", "spark.sql.streaming.epochId"

# In place of a snapshot's id: nothing was read, and the table comes first as it is; or the first snapshot's rows do.
_NOTHING, _BEGINNING = "-1", "0"


def check_versions(given: Mapping[str, str]) -> None:
    """Refuses options that name a version.

    Raises:
        InvalidInputError: There is one.
    """
    wrong = [name for name in given if name in CHANGES or (name in VERSIONS and name != "branch")]
    if wrong:
        raise InvalidInputError(
            f"a stream is of no single version, as option '{wrong[0]}' wants it", hint=f"Use '{_FROM}' or 'branch'"
        )


def stream_reader(table: Table, scan: Scan, given: Mapping[str, str]) -> DataSourceStreamReader:
    """A reader of a table's rows as they come, in the columns and types of `scan`.

    Raises:
        InvalidInputError: An option is wrong.
        UnsupportedError: An option needs a newer PySpark, or is not there for tables of Apache Paimon.
    """
    if table.format == "paimon":
        _check_paimon(table, given)
    limited = [name for name in (_MAX_FILES, _MAX_ROWS) if name in given]
    if limits is None:
        if limited:
            raise UnsupportedError(
                f"option '{limited[0]}' needs PySpark 4.2: older ones ask for all rows at once",
                hint="Leave the option out",
            )
        return _UnlimitedReader(table, scan, given)
    return _limited()(table, scan, given)


def _check_paimon(table: Table, given: Mapping[str, str]) -> None:
    """Refuses streams out of a table of Paimon that would lose rows, or have them twice or in halves."""
    for name, instead in (("branch", "They are of the main branch"), (_MAX_FILES, f"Option '{_MAX_ROWS}' is there")):
        if name in given:
            raise UnsupportedError(
                f"streams out of tables of Apache Paimon have no option '{name}'", {"table": table.location}, instead
            )
    kind = PaimonKind.now(PaimonKind.by_schema(table))
    said = None
    if kind.evolving:
        said = "rows have their columns in several files, so that they are not appended but changed"
    elif kind.keyed and kind.merged and not kind.told_late:
        said = "a change is part of a row, and nothing tells what it makes of it"
    elif kind.hidden and not kind.told_late:
        said = "rows are hidden until they are compacted, and nothing tells when they are"
    elif kind.keyed and kind.told_late and not (kind.hidden and kind.producer == "lookup") and _FROM not in given:
        said = f"after the table as it is, the changelog would tell rows again; begin with it by option '{_FROM}'"
    if said is not None:
        raise UnsupportedError(
            f"the table can't be read as a stream: {said}",
            {"table": table.location},
            "A stream needs a table without a primary key; or with one, that of 'merge-engine' = 'deduplicate', or of "
            "'changelog-producer' = 'lookup'",
        )


def write_stream(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
) -> DataStreamWriter:
    """Spark's writer of a stream into a table, each batch once: `.option("checkpointLocation", …)`, `.start()`.

    It is `df.writeStream.format("frazil")` for any table, also of catalogs in databases and of stores with options.

    Args:
        df: A stream.
        table: A table or its location.
        branch: The branch to change, if not `main`.
        snapshot_properties: Members for the snapshots' summaries.

    Raises:
        InvalidInputError: The DataFrame is no stream.
        UnsupportedError: PySpark is older than 4.1.
    """
    if not df.isStreaming:
        raise InvalidInputError("the DataFrame is no stream", hint="Write it by frazil.spark.append(df, table)")
    opened = writable(table)
    check_stream_writes()
    job = WriteJob.named(branch, snapshot_properties, None)
    job.check(opened)
    # Batches are committed by a process of the data source, which has to know it.
    from frazil.spark.datasource import register

    register(df.sparkSession)
    options = {"path": opened.writable_location(), **handle_of(opened)}
    options |= {} if branch is None else {"branch": branch}
    options["snapshot-properties"] = json.dumps(dict(job.properties))
    return df.writeStream.format("frazil").options(**options)


def check_stream_writes() -> None:
    """Refuses PySpark 4.0.

    Raises:
        UnsupportedError: It is that.
    """
    if DataSourceStreamArrowWriter is None:
        raise UnsupportedError(
            "PySpark 4.0 hands streams to data sources row by row",
            hint="Write foreachBatch(lambda df, id: frazil.spark.append(df, table, job_id=f'my query/{id}'))",
        )


def stream_writer(table: Table, options: Mapping[str, str], job: WriteJob) -> DataSourceStreamWriter:
    """A writer of a stream's batches.

    Raises:
        UnsupportedError: PySpark is older than 4.1.
    """
    if "job-id" in {name.lower() for name in options}:
        raise InvalidInputError("a stream's batches have names of their own", hint="Leave out option 'job-id'")
    job.check(table)
    check_stream_writes()
    writer: DataSourceStreamWriter = _writer()(table, job)
    return writer


class _Commits:
    """The commits of a branch, as a stream reads them one after another."""

    numbered = False
    """Whether snapshots are numbered from 1, so that what the first one brought came since 0."""

    def __init__(self, branch: str | None) -> None:
        self._branch = branch

    def line(self, table: Table) -> list[Snapshot]:
        """The snapshots, oldest first."""
        return history(table, self._branch)[::-1]

    def offset(self, snapshot: Snapshot) -> dict[str, str]:
        """What there was after a snapshot."""
        return {"snapshot-id": str(snapshot.id)}

    def after(self, table: Table, line: list[Snapshot], start: Mapping[str, str]) -> list[Snapshot]:
        """Those of a line that come after an offset.

        Raises:
            NotFoundError: Some of them are gone.
            UnsupportedError: They can't be read one after another.
        """
        at = 0 if start["snapshot-id"] in (_NOTHING, _BEGINNING) else self._known(table, line, start)
        self._check(table, line[max(at - 1, 0) : at], line[at:])
        return line[at:]

    def _known(self, table: Table, line: list[Snapshot], offset: Mapping[str, str]) -> int:
        at = self._place(line, offset)
        if at is None:
            raise NotFoundError(
                f"snapshot {offset['snapshot-id']}, up to which the stream has read, is not in the table's history any "
                "more",
                {"table": table.location},
                "It has expired or was rolled back: begin a new query with a checkpoint of its own, and with option "
                f"'{_FROM}' if it shall not read the whole table again",
            )
        return at

    def check_end(self, table: Table, line: list[Snapshot], end: Mapping[str, str]) -> None:
        """Refuses a batch that runs again, of which the last snapshot is another by now."""

    def _check(self, table: Table, last: list[Snapshot], found: list[Snapshot]) -> None:
        """Refuses snapshots that can't be read after the last one, which may be gone."""

    def _place(self, line: list[Snapshot], start: Mapping[str, str]) -> int | None:
        """Where the snapshots after an offset begin."""
        return next((i + 1 for i, s in enumerate(line) if str(s.id) == start["snapshot-id"]), None)

    def brought(self, snapshot: Snapshot) -> tuple[int, int]:
        """How many files and rows a stream has of a commit."""
        if snapshot.operation != "append":
            return 0, 0
        return int(snapshot.summary.get("added-data-files", 0)), int(snapshot.summary.get("added-records", 0))


class _PaimonCommits(_Commits):
    """Those of a table of Apache Paimon. The snapshot that was read last may have expired, if the next is there.

    After a rollback numbers come again, so an offset has the time of its commit too.
    """

    numbered = True

    def offset(self, snapshot: Snapshot) -> dict[str, str]:
        return {**super().offset(snapshot), "time-ms": str(arguments.milliseconds(snapshot.timestamp))}

    def check_end(self, table: Table, line: list[Snapshot], end: Mapping[str, str]) -> None:
        self._known(table, line, end)

    def _check(self, table: Table, last: list[Snapshot], found: list[Snapshot]) -> None:
        kinds = PaimonKind.by_schema(table)
        now = PaimonKind.now(kinds)

        def of(snapshot: Snapshot) -> PaimonKind:
            return now if snapshot.schema_id is None else kinds.get(snapshot.schema_id, now)

        # What compactions did not tell yet of earlier rows, they won't tell any more.
        other = [s for s in found if of(s) != now] + [s for s in last if of(s).told_late and of(s) != now]
        if other:
            raise UnsupportedError(
                f"snapshot {other[0].id} was written under other options, by which a stream reads other files",
                {"table": table.location},
                "Begin a new query with a checkpoint of its own",
            )

    def _place(self, line: list[Snapshot], start: Mapping[str, str]) -> int | None:
        last = int(start["snapshot-id"])
        if not line or not line[0].id - 1 <= last <= line[-1].id:
            return None
        place = next((i for i, s in enumerate(line) if s.id > last), len(line))
        other = [
            s for s in line[max(place - 1, 0) : place] if s.id == last and not start.items() <= self.offset(s).items()
        ]
        return None if other else place

    def brought(self, snapshot: Snapshot) -> tuple[int, int]:
        """Rows alone: those of its change log, else those that it added."""
        told = int(snapshot.summary.get("changelog-records", 0))
        added = int(snapshot.summary.get("delta-records", 0)) if snapshot.operation == "append" else 0
        return 0, max(told, added)


@dataclass
class _Rows(InputPartition):
    split: Split


class _Reader(DataSourceStreamReader):
    """Offsets are snapshots: `{"snapshot-id": "5"}` is what there was after snapshot 5."""

    def __init__(self, table: Table, scan: Scan, options: Mapping[str, str]) -> None:
        self._table = table
        self._schema = scan.schema
        self._options = {name: value for name, value in options.items() if name not in (*STREAM_OPTIONS, "path")}
        self._commits = _Commits(options.get("branch")) if table.format == "iceberg" else _PaimonCommits(None)
        self._from_ms = _least(options, _FROM, 0)
        self._skipped = {kind for kind, name in _SKIP.items() if _truth(options, name)}
        self._max_files, self._max_rows = _least(options, _MAX_FILES, 1), _least(options, _MAX_ROWS, 1)
        if self._from_ms is not None and self._from_ms > time.time() * 1000:
            raise InvalidInputError(f"option '{_FROM}' is in the future", hint="Begin the query when it is time")

    def initialOffset(self) -> dict[str, str]:
        """Before everything, or before the first snapshot from a time on."""
        line = self._commits.line(self._table.refresh())
        if self._from_ms is None or not line:
            return self._empty()
        before = [s for s in line if s.timestamp.timestamp() * 1000 < self._from_ms]
        if before:
            return self._commits.offset(before[-1])
        if line[0].parent_id is not None:
            raise NotFoundError(
                f"the snapshots before the time of option '{_FROM}' have expired, so nobody can tell what came since",
                {"table": self._table.location, "oldest snapshot": str(line[0].id)},
                "Give a later time, or leave the option out to read the whole table first",
            )
        return {"snapshot-id": _BEGINNING}

    def newest(self) -> dict[str, str]:
        """The newest snapshot."""
        line = self._commits.line(self._table.refresh())
        return self._commits.offset(line[-1]) if line else self._empty()

    def _empty(self) -> dict[str, str]:
        """Before everything; if times count, so that the table's first snapshot comes as what it brought."""
        return {"snapshot-id": _NOTHING if self._from_ms is None or not self._commits.numbered else _BEGINNING}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        """The splits of what was appended after `start`, up to `end`."""
        if start == end:
            return []
        table = self._table.refresh()
        line = self._commits.line(table)
        self._commits.check_end(table, line, end)
        scans = self._scans(table, line, start, end["snapshot-id"])
        return [_Rows(split) for scan in scans for split in scan.plan()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A split's rows, in the columns and types that the query began with."""
        if not isinstance(partition, _Rows):
            return
        lighten_next_task()
        target = arrow_schema(self._schema)
        places = {field.id: place for place, field in enumerate(partition.split.schema.fields)}
        for batch in partition.split.to_arrow_batch_reader(ordered=True, threads=1):
            arrays = [
                batch.column(places[field.id]) if field.id in places else pa.nulls(batch.num_rows, to.type)
                for field, to in zip(self._schema.fields, target, strict=True)
            ]
            names = [field.name for field in target]
            yield conform(pa.RecordBatch.from_arrays(arrays, names), target)

    def _scans(self, table: Table, line: list[Snapshot], offset: Mapping[str, str], end: str) -> list[Scan]:
        start = offset["snapshot-id"]
        if start == _NOTHING:
            return [self._scan(table, {"snapshot-id": end})]
        scans = []
        for snapshot in self._commits.after(table, line, offset):
            self._check(snapshot)
            if start == _BEGINNING and not self._commits.numbered:
                # What the first snapshot has is what it appended.
                start = str(snapshot.id)
                scans.append(self._scan(table, {"snapshot-id": start}))
            if str(snapshot.id) == end:
                break
        if start != end:
            scans.append(self._scan(table, {"start-snapshot-id": start, "end-snapshot-id": end}))
        return scans

    def _scan(self, table: Table, versions: Mapping[str, str]) -> Scan:
        """A version, of which columns are known by their ids: they may have had other names, or not have been there."""
        given = {name: value for name, value in self._options.items() if name not in ("columns", *VERSIONS)}
        scan = scan_of(table, {**given, **versions})
        there = {field.id: field for field in scan.schema.fields}
        columns = [(there[field.id], field) for field in self._schema.fields if field.id in there]
        nested = [was.name for was, field in columns if was.children and was.type != field.type]
        if nested and "columns" not in self._options:
            raise UnsupportedError(
                f"the members of column '{nested[0]}' were changed since the stream's rows were written",
                {"table": self._table.location},
                "Leave the column out, or begin a new query",
            )
        if nested:
            return scan_of(table, {**given, **versions, "columns": self._options["columns"]})
        return scan.select(*(was.name for was, _ in columns))

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
            if isinstance(limit, limits.ReadAllAvailable) or start["snapshot-id"] == _NOTHING or start == last:
                return last
            table = self._table.refresh()
            end, files, rows = start, 0, 0
            for snapshot in self._commits.after(table, self._commits.line(table), start):
                more_files, more_rows = self._commits.brought(snapshot)
                files, rows = files + more_files, rows + more_rows
                beyond = files > (self._max_files or files) or rows > (self._max_rows or rows)
                if beyond and end != start:
                    break
                end = self._commits.offset(snapshot)
                if end == last:
                    break
            return end

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
            lighten_next_task()
            return _StreamWritten(write_rows(self._table, iterator, self._job), query)

        def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
            written, query = _batch(messages)
            if query is None:
                if not written and self._job.operation == "append":
                    return
                raise InternalError("the tasks of a stream's batch do not know their query, so nothing was committed")
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


# The local property by which a task knows the query, the same after a restart.
_QUERY_OF_TASK = "sql.streaming.queryId"


def _batch(messages: list[WriterCommitMessage | None]) -> tuple[list[CommitMessage], str | None]:
    found = [m for m in messages if isinstance(m, _StreamWritten)]
    query = next((m.query for m in found if m.query is not None), None)
    return [m.message for m in found if m.message is not None], query


def _is_done(table: Table, branch: str | None, query: str, batch: int) -> bool:
    """Whether a snapshot of the branch says that it is of this batch of the query, or of a later one."""
    of_query = (s.summary for s in history(table, branch) if s.summary.get(_QUERY) == query)
    return any(int(summary.get(_BATCH, -1)) >= batch for summary in of_query)


def _least(options: Mapping[str, str], name: str, least: int) -> int | None:
    if name not in options:
        return None
    value = integer(name, options[name])
    if value < least:
        raise InvalidInputError(f"option '{name}' can't be {value}", hint=f"It is {least} at least")
    return value


def _truth(options: Mapping[str, str], name: str) -> bool:
    value = options.get(name, "false").lower()
    if value not in ("true", "false"):
        raise InvalidInputError(f"option '{name}' can't be '{value}'", hint="It is true or false")
    return value == "true"
