"""Readers of streams: the rows that each snapshot appended, in the columns and types of the start of the query."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from frazil.capabilities import format_name, rows_of_next_commit, supports
from frazil.exceptions import InvalidInputError, NotFoundError, UnsupportedError
from frazil.scan import Scan, Split
from frazil.spark.reading.options import CHANGES, VERSIONS, integer, scan_of
from frazil.spark.streams.commits import BEGINNING, FROM, NOTHING, Commits, NumberedCommits
from frazil.spark.types import arrow_schema, conform
from frazil.spark.workers.between_tasks import lighten_next_task
from frazil.table import Snapshot, Table

try:
    from pyspark.sql.streaming import datasource as limits  # type: ignore[attr-defined, unused-ignore]
except ImportError:  # PySpark 4.0 and 4.1
    limits = None

__all__ = ["STREAM_OPTIONS", "check_versions", "stream_reader"]

_SKIP = {"delete": "streaming-skip-delete-snapshots", "overwrite": "streaming-skip-overwrite-snapshots"}
_MAX_FILES, _MAX_ROWS = "streaming-max-files-per-micro-batch", "streaming-max-rows-per-micro-batch"
STREAM_OPTIONS = (FROM, *_SKIP.values(), _MAX_FILES, _MAX_ROWS)
"""Options of streams that are read, by the names of Iceberg's connector."""


def check_versions(given: Mapping[str, str]) -> None:
    """Refuses options that name a version.

    Raises:
        InvalidInputError: There is such an option.
    """
    wrong = [name for name in given if name in CHANGES or (name in VERSIONS and name != "branch")]
    if wrong:
        raise InvalidInputError(
            f"option '{wrong[0]}' is not allowed for a stream, which does not read a single version",
            hint=f"Use '{FROM}' or 'branch'",
        )


def stream_reader(table: Table, scan: Scan, given: Mapping[str, str]) -> DataSourceStreamReader:
    """A reader of a stream of a table's rows, in the columns and types of `scan`.

    Raises:
        InvalidInputError: An option is wrong.
        UnsupportedError: An option needs a newer PySpark, or does not exist for tables of Apache Paimon.
    """
    if not supports(table._core, "streams_of_appends"):
        _check_commits(table, given)
    limited = [name for name in (_MAX_FILES, _MAX_ROWS) if name in given]
    if limits is None:
        if limited:
            raise UnsupportedError(
                f"option '{limited[0]}' needs PySpark 4.2: older versions ask for all rows at once",
                hint="Leave the option out",
            )
        return _UnlimitedReader(table, scan, given)
    return _limited()(table, scan, given)


def _check_commits(table: Table, given: Mapping[str, str]) -> None:
    """Refuses streams of commits that would lose, repeat or split rows."""
    for name, instead in (("branch", "Such streams read the main branch"), (_MAX_FILES, f"Use option '{_MAX_ROWS}'")):
        if name in given:
            raise UnsupportedError(
                f"streams from tables of {format_name(table._core)} do not have option '{name}'",
                {"table": table.location},
                instead,
            )
    rows = rows_of_next_commit(table._core.commit_rows())
    reason = None
    if rows.columns_apart:
        reason = "the columns of a row are in several files, so rows are changed and not appended"
    elif rows.has_key and rows.merged and not rows.reported_by_compactions:
        reason = "a commit has parts of rows, and no changelog has the resulting rows"
    elif rows.hidden_until_compacted and not rows.reported_by_compactions:
        reason = "rows are hidden until they are compacted, and no changelog says when that happens"
    elif (
        rows.has_key
        and rows.reported_by_compactions
        and not (rows.hidden_until_compacted and rows.changelog_producer == "lookup")
        and FROM not in given
    ):
        reason = (
            f"the changelog would repeat rows that the table already has; start with the changelog by option '{FROM}'"
        )
    if reason is not None:
        raise UnsupportedError(
            f"the table can't be read as a stream: {reason}",
            {"table": table.location},
            "A stream needs a table without a primary key, or one with 'merge-engine' = 'deduplicate' or "
            "'changelog-producer' = 'lookup'",
        )


@dataclass
class _Rows(InputPartition):
    split: Split


class _Reader(DataSourceStreamReader):
    """Offsets are snapshots: `{"snapshot-id": "5"}` means everything up to snapshot 5."""

    def __init__(self, table: Table, scan: Scan, options: Mapping[str, str]) -> None:
        self._table = table
        self._schema = scan.schema
        self._options = {name: value for name, value in options.items() if name not in (*STREAM_OPTIONS, "path")}
        self._commits = (
            Commits(options.get("branch")) if supports(table._core, "snapshot_parents") else NumberedCommits(None)
        )
        self._from_ms = _number_option(options, FROM, 0)
        self._skipped = {kind for kind, name in _SKIP.items() if _flag_option(options, name)}
        self._max_files, self._max_rows = _number_option(options, _MAX_FILES, 1), _number_option(options, _MAX_ROWS, 1)
        if self._from_ms is not None and self._from_ms > time.time() * 1000:
            raise InvalidInputError(f"option '{FROM}' is in the future", hint="Start the query later")

    def __getstate__(self) -> dict[str, Any]:
        """What executors get. They read splits, so they don't open the table."""
        return {name: value for name, value in self.__dict__.items() if name != "_table"}

    def initialOffset(self) -> dict[str, str]:
        """The offset before everything, or before the first snapshot after a time."""
        line = self._commits.line(self._table.refresh())
        if self._from_ms is None or not line:
            return self._empty()
        before = [s for s in line if s.timestamp.timestamp() * 1000 < self._from_ms]
        if before:
            return self._commits.offset(before[-1])
        if line[0].parent_id is not None:
            raise NotFoundError(
                f"the snapshots before the time of option '{FROM}' have expired, so later appends are unknown",
                {"table": self._table.location, "oldest snapshot": str(line[0].id)},
                "Give a later time, or leave the option out to read the whole table first",
            )
        return {"snapshot-id": BEGINNING}

    def newest(self) -> dict[str, str]:
        """The newest snapshot."""
        line = self._commits.line(self._table.refresh())
        return self._commits.offset(line[-1]) if line else self._empty()

    def _empty(self) -> dict[str, str]:
        """The offset before everything. With a start time, the first snapshot counts by the rows that it appended."""
        return {"snapshot-id": NOTHING if self._from_ms is None or not self._commits.numbered else BEGINNING}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        """The splits of the rows that were appended after `start`, up to `end`."""
        if start == end:
            return []
        table = self._table.refresh()
        line = self._commits.line(table)
        self._commits.check_end(table, line, end)
        scans = self._scans(table, line, start, end["snapshot-id"])
        return [_Rows(split) for scan in scans for split in scan.plan()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A split's rows, in the columns and types of the start of the query."""
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
        if start == NOTHING:
            return [self._scan(table, {"snapshot-id": end})]
        scans = []
        for snapshot in self._commits.after(table, line, offset):
            self._check(snapshot)
            if start == BEGINNING and not self._commits.numbered:
                # The first snapshot has only the rows that it appended.
                start = str(snapshot.id)
                scans.append(self._scan(table, {"snapshot-id": start}))
            if str(snapshot.id) == end:
                break
        if start != end:
            scans.append(self._scan(table, {"start-snapshot-id": start, "end-snapshot-id": end}))
        return scans

    def _scan(self, table: Table, versions: Mapping[str, str]) -> Scan:
        """A scan of a version. Columns are found by their ids: they may have had other names, or be missing."""
        given = {name: value for name, value in self._options.items() if name not in ("columns", *VERSIONS)}
        scan = scan_of(table, {**given, **versions})
        there = {field.id: field for field in scan.schema.fields}
        columns = [(there[field.id], field) for field in self._schema.fields if field.id in there]
        nested = [was.name for was, field in columns if was.children and was.type != field.type]
        if nested and "columns" not in self._options:
            raise UnsupportedError(
                f"the members of column '{nested[0]}' were changed since the stream's rows were written",
                {"table": self._table.location},
                "Leave out the column, or start a new query",
            )
        if nested:
            return scan_of(table, {**given, **versions, "columns": self._options["columns"]})
        return scan.select(*(was.name for was, _ in columns))

    def _check(self, snapshot: Snapshot) -> None:
        """Refuses to skip changed rows, unless the options allow it."""
        if snapshot.operation in _SKIP and snapshot.operation not in self._skipped:
            raise UnsupportedError(
                f"snapshot {snapshot.id} has operation '{snapshot.operation}': a stream can only show appends",
                {"table": self._table.location, "snapshot": str(snapshot.id)},
                f"Set option '{_SKIP[snapshot.operation]}' to true to skip it, or start a new query",
            )


class _UnlimitedReader(_Reader):
    """For PySpark 4.0 and 4.1."""

    def latestOffset(self) -> dict[str, str]:  # type: ignore[override, unused-ignore]
        return self.newest()


def _limited() -> type[_Reader]:
    """The reader for PySpark 4.2 and newer, which can ask for a part of the rows."""

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
            if isinstance(limit, limits.ReadAllAvailable) or start["snapshot-id"] == NOTHING or start == last:
                return last
            table = self._table.refresh()
            end, files, rows = start, 0, 0
            for snapshot in self._commits.after(table, self._commits.line(table), start):
                more_files, more_rows = self._commits.size_of(snapshot)
                files, rows = files + more_files, rows + more_rows
                beyond = files > (self._max_files or files) or rows > (self._max_rows or rows)
                if beyond and end != start:
                    break
                end = self._commits.offset(snapshot)
                if end == last:
                    break
            return end

    return LimitedReader


def _number_option(options: Mapping[str, str], name: str, least: int) -> int | None:
    if name not in options:
        return None
    value = integer(name, options[name])
    if value < least:
        raise InvalidInputError(f"option '{name}' can't be {value}", hint=f"The least value is {least}")
    return value


def _flag_option(options: Mapping[str, str], name: str) -> bool:
    value = options.get(name, "false").lower()
    if value not in ("true", "false"):
        raise InvalidInputError(f"option '{name}' can't be '{value}'", hint="Use true or false")
    return value == "true"
