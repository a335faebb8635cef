"""The tasks of changes of tables without a primary key: one that overwrites a range of rows, or some that insert rows.

The task that overwrites gets the changed rows, file by file. It reads the rows of the range itself, at the version that
Spark read, and puts the changes into them. So values that don't change never pass through Spark. The table's own
overwrite writes them and commits. It looks for the newest version before it takes the first row. If that version is
still the one that Spark read when the first row is taken, both are the same. Then the commit finds every conflict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from frazil._core import CommitMessage
from frazil.exceptions import CommitConflictError, FrazilError, InvalidInputError, UnsupportedError
from frazil.requests import rows as row_requests
from frazil.scan import Split
from frazil.spark.changes.job import PLACES, ChangeJob
from frazil.spark.jobs.job import give_up, unless_committed
from frazil.table import Table

__all__ = ["KEPT", "Head", "InsertJob", "RangeJob"]

KEPT = "frazil kept"
"""The column that says whether a matched row stays as it is."""

_FILE, _POSITION, _MISSING = PLACES


@dataclass(frozen=True)
class Head:
    """The newest version of a branch: its snapshot and its schema."""

    branch: str | None
    snapshot: int | None
    schema: int

    @classmethod
    def of(cls, table: Table, branch: str | None) -> Head:
        """The version of a table, or of one of its branches."""
        if branch is not None and branch in table.refs:
            snapshot: int | None = table.refs[branch].snapshot_id
        else:
            snapshot = table.snapshot.id if table.snapshot else None
        return cls(branch, snapshot, table.schema._core.id)

    def check(self, table: Table) -> None:
        """Checks that the branch still has this version.

        Raises:
            CommitConflictError: It has another one.
        """
        newest = Head.of(Table(table._core).refresh(), self.branch)
        if newest != self:
            raise CommitConflictError(
                "the table was changed while Spark computed the changes",
                {"table": table.location, "snapshot": str(newest.snapshot)},
            )


@dataclass(frozen=True, kw_only=True)
class InsertJob(ChangeJob):
    """Rows that a merge inserts, if it changes no others."""

    inserted: tuple[str, ...]
    head: Head

    def write(self, rows: Iterator[pa.RecordBatch], task: int) -> list[CommitMessage]:
        """Writes one task's rows. The only task of a branch commits them."""
        first = next(rows, None)
        if first is None:
            return []
        table = Table(self.table._core)
        names = list(self.columns or ())
        batches = (batch.rename_columns(names) for batch in chain([first], rows))
        reader = pa.RecordBatchReader.from_batches(first.rename_columns(names).schema, batches)
        if self.head.branch is None:
            return [table.writer(task).write(reader)]
        self.head.check(table)
        table.append(reader, branch=self.head.branch, snapshot_properties=self.job.members())
        return []

    def commit(self, messages: list[CommitMessage]) -> None:
        """Commits the rows, if the table is still as Spark has read it."""
        if not messages:
            return
        newest = Table(self.table._core).refresh()
        if self.job.is_done(newest):
            give_up(newest, messages)
            return
        with unless_committed(lambda: give_up(newest, messages)):
            self.head.check(newest)
            newest.commit(messages, self.job.members())


@dataclass(frozen=True, kw_only=True)
class RangeJob(ChangeJob):
    """An overwrite of a range of rows by the same rows after a change.

    Attributes:
        updated: The columns that updates set.
        inserted: The columns that inserted rows have.
        deletes_all: Whether all rows with a place are deleted, even if there are several for one old row.
        filled: The columns that have a default, which the writer puts in place of null.
        head: The version that Spark has read.
    """

    updated: tuple[str, ...]
    inserted: tuple[str, ...]
    deletes_all: bool
    filled: tuple[str, ...]
    head: Head

    def write(self, rows: Iterator[pa.RecordBatch], task: int) -> list[CommitMessage]:
        """Overwrites the range in one commit, unless an earlier attempt of the task has done so."""
        table = Table(self.table._core)
        if self.job.is_done(Table(table._core).refresh()):
            return []
        stitching = _Stitching(self, table)
        reader = pa.RecordBatchReader.from_batches(stitching.schema, stitching.batches(rows))
        try:
            # The core looks for the newest version, and then takes the first row: nothing is read before.
            row_requests.commit(table._core, self.change, reader, self.job.branch, self.job.members())
        except FrazilError as error:
            # An error of the rows comes back as a text.
            failure = stitching.failure or error
            if isinstance(failure, CommitConflictError) and self.job.is_done(Table(self.table._core).refresh()):
                return []
            if stitching.failure is None:
                raise
            raise stitching.failure from None
        return []

    def commit(self, messages: list[CommitMessage]) -> None:
        """Does nothing: the task has committed."""


@dataclass
class _Stitching:
    """Puts changed rows into those of the range."""

    job: RangeJob
    table: Table
    failure: BaseException | None = None
    schema: pa.Schema = field(init=False)

    def __post_init__(self) -> None:
        self._names = [one.name for one in self.table.schema.fields]
        self._scan = self.table.scan(self.job.where, [*self._names, "_pos"], at=self.job.job.branch)
        given = self._scan.arrow_schema
        self.schema = pa.schema([pa.field(name, given.field(name).type) for name in self._names])

    def batches(self, changes: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """All rows of the range after the change, and the inserted ones."""
        try:
            self.job.head.check(self.table)
            files = self._files()
            for path, changed in _by_file(changes, [*(self.job.columns or ()), *PLACES, KEPT]):
                if path is None:
                    yield self._inserted(changed)
                elif path in files:
                    yield from self._changed(changed, files.pop(path), path)
                else:
                    raise _not_found(path)
            for splits in files.values():
                for split in splits:
                    for rows in split.to_arrow_batch_reader(ordered=True, threads=1):
                        yield self._checked(rows.select(self._names))
            self.job.head.check(self.table)
        except BaseException as error:
            self.failure = error
            raise

    def _files(self) -> dict[str, list[Split]]:
        """The splits of each file."""
        files: dict[str, list[Split]] = {}
        for split in self._scan.plan(split_size_bytes=1, open_file_cost_bytes=1):
            (path,) = {task.data_file.path for task in split.tasks}
            files.setdefault(path, []).append(split)
        return files

    def _changed(self, changes: pa.Table, splits: list[Split], path: str) -> Iterator[pa.RecordBatch]:
        """The rows of one file after the change."""
        if len(changes[_POSITION].unique()) < changes.num_rows and not self.job.deletes_all:
            raise InvalidInputError(
                "[MERGE_CARDINALITY_VIOLATION] a row of the table matches several rows of the source", {"file": path}
            )
        changes = changes.filter(pc.invert(changes[KEPT])).combine_chunks()
        wanted, found = len(changes[_POSITION].unique()), 0
        for split in splits:
            for rows in split.to_arrow_batch_reader(ordered=True, threads=1):
                at = pc.index_in(rows.column("_pos"), value_set=changes[_POSITION].combine_chunks())
                found += rows.num_rows - at.null_count
                yield self._patched(rows, changes, at)
        if found != wanted:
            raise _not_found(path)

    def _patched(self, rows: pa.RecordBatch, changes: pa.Table, at: pa.Array) -> pa.RecordBatch:
        """Rows of a file, with the changes at some indices."""
        count, hit = rows.num_rows, at.is_valid()
        own = pa.array(range(count), pa.int64())
        taken = pc.if_else(hit, pc.add(at.cast(pa.int64()), count), own)
        columns = []
        for name in self._names:
            column = rows.column(name)
            if name in self.job.updated:
                new = _cast(changes[name].combine_chunks(), column.type)
                column = pa.concat_arrays([column, new]).take(taken)
            columns.append(column)
        missing = changes[_MISSING].combine_chunks().take(at)
        gone = pc.and_(hit, pc.or_(pc.fill_null(missing, False), pa.scalar(self.job.deletes_all)))
        old = [name for name in self._names if name not in self.job.updated]
        after = pa.RecordBatch.from_arrays(columns, schema=self.schema).filter(pc.invert(gone))
        updated = pc.filter(hit, pc.invert(gone))
        self._checked(after.filter(pc.invert(updated)))
        self._checked(after.filter(updated), old)
        return after

    def _checked(self, rows: pa.RecordBatch, columns: list[str] | None = None) -> pa.RecordBatch:
        """Refuses old rows that the writer would change.

        Raises:
            UnsupportedError: A row has null in a column with a default.
        """
        for name in self.job.filled:
            if (columns is None or name in columns) and rows.column(name).null_count:
                raise UnsupportedError(
                    "a row with null in a column with a default can't be written again", {"column": name}
                )
        return rows

    def _inserted(self, changes: pa.Table) -> pa.RecordBatch:
        """Inserted rows. Columns without a value are null, or get their default."""
        columns = [
            _cast(changes[one.name].combine_chunks(), one.type)
            if one.name in self.job.inserted
            else pa.nulls(changes.num_rows, one.type)
            for one in self.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _not_found(path: str) -> InvalidInputError:
    return InvalidInputError(
        "a changed row was not found again",
        {"file": path},
        "Use conditions and rows that are the same each time that Spark computes them",
    )


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """A column that Spark computed, in the type of the table's rows."""
    if array.type == type_:
        return array
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, array.cast(type_.storage_type))
    return array.cast(type_)


def _by_file(batches: Iterator[pa.RecordBatch], names: list[str]) -> Iterator[tuple[str | None, pa.Table]]:
    """All changes of each file together. Rows without a file come in any number of pieces."""
    pieces: list[pa.RecordBatch] = []
    before: str | None = None
    for batch in batches:
        named = batch.rename_columns(names)
        runs = pc.run_end_encode(named.column(_FILE))
        begin = 0
        for path, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            if pieces and path != before:
                yield before, pa.Table.from_batches(pieces)
                pieces = []
            piece = named.slice(begin, end - begin)
            begin, before = end, path
            if path is None:
                yield None, pa.Table.from_batches([piece])
            else:
                pieces.append(piece)
    if pieces:
        yield before, pa.Table.from_batches(pieces)
