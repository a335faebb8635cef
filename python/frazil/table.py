"""Tables: open one, look at it, scan it, append to it, change what it is."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from frazil import _core, arguments
from frazil.arguments import At
from frazil.arguments.checked import checked, checked_call
from frazil.evolve import UpdatePartitionSpec, UpdateSchema, UpdateSortOrder, planned_on
from frazil.expr import Predicate
from frazil.inspect import Inspect
from frazil.maintain import Maintain
from frazil.refs import Refs
from frazil.requests import evolution
from frazil.requests import rows as row_requests
from frazil.requests.handle import TableHandle
from frazil.requests.rows import RowChange
from frazil.row_changes import RowChanges
from frazil.scan import Scan
from frazil.schema import PartitionField, PartitionSpec, Schema, SortField, SortOrder
from frazil.transaction import Transaction

__all__ = ["Snapshot", "Table", "Writer", "open_table"]


class Snapshot(NamedTuple):
    """The table's content after one commit.

    Attributes:
        id: The snapshot's id.
        parent_id: The snapshot it follows, if any.
        sequence_number: Its number in the order of commits; 0 in format version 1.
        timestamp: When it was made, UTC.
        operation: `append`, `overwrite`, `delete`, `replace`, or None where it is not recorded.
        summary: What the writer says about the commit.
        schema_id: The schema it was written with.
    """

    id: int
    parent_id: int | None
    sequence_number: int
    timestamp: dt.datetime
    operation: str | None
    summary: dict[str, str]
    schema_id: int | None


@checked
class Table(TableHandle, RowChanges):
    """A table, at the version that was read last.

    `open_table` and a catalog give tables. What it says does not change while others commit; `refresh()` looks again,
    and so does every commit made through it. It pickles: another process opens the same version.
    """

    def __init__(self, core: _core.Table) -> None:
        self._core = core

    @property
    def format(self) -> str:
        """`iceberg` or `paimon`."""
        return self._core.format

    @property
    def format_version(self) -> int:
        """The version of the table format."""
        return self._core.format_version

    @property
    def location(self) -> str:
        """Where the table is, as it records it itself."""
        return self._core.location

    @property
    def metadata_location(self) -> str:
        """The metadata file that was read."""
        return self._core.metadata_location

    @property
    def uuid(self) -> str:
        """The table's identity."""
        return self._core.uuid

    @property
    def schema(self) -> Schema:
        """The current schema."""
        return Schema._wrap(self._core.schema())

    @property
    def partition_spec(self) -> PartitionSpec:
        """The partition spec that new files get."""
        id_, fields = self._core.partition_spec()
        return PartitionSpec(id_, tuple(PartitionField(*f) for f in fields))

    @property
    def sort_order(self) -> SortOrder:
        """The sort order that new files should have."""
        id_, fields = self._core.sort_order()
        return SortOrder(id_, tuple(SortField(*f) for f in fields))

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties."""
        return self._core.properties

    @property
    def snapshot(self) -> Snapshot | None:
        """The current snapshot, or None while nothing was committed."""
        found = self._core.snapshot()
        return None if found is None else _snapshot(found)

    @property
    def snapshots(self) -> list[Snapshot]:
        """All snapshots that the table still has, oldest first."""
        return [_snapshot(s) for s in self._core.snapshots()]

    @property
    def refs(self) -> Refs:
        """Branches and tags: `table.refs["main"].snapshot_id`, `table.refs.create_tag("v1")`."""
        return Refs(self)

    @property
    def inspect(self) -> Inspect:
        """The metadata tables: `table.inspect.files()`, `table.inspect.snapshots()`, and others."""
        return Inspect(self._core)

    @property
    def maintain(self) -> Maintain:
        """Upkeep: `table.maintain.expire_snapshots()`, and others."""
        return Maintain(self)

    def refresh(self) -> Table:
        """Reads the table's newest version; returns the table itself."""
        self._core = self._core.refresh()
        return self

    def scan(
        self,
        filter: str | Predicate | None = None,
        select: Sequence[str] | None = None,
        at: At | None = None,
        since: At | None = None,
        options: Mapping[str, object] | None = None,
        max_plan_bytes: int | None = None,
    ) -> Scan:
        """What to read. Nothing is planned or read before the scan is asked for tasks or rows.

        Args:
            filter: Rows to keep, as text (`"country in ('NO', 'SE') and ts >= '2023-01-01T00:00:00Z'"`) or as an
                expression (`col("x") > 5`).
            select: Columns to read, in this order; dotted paths reach into structs. None reads all.
            at: The version to read: a snapshot's id, a branch or tag, or a point in time (UTC if it has no zone). None
                reads the newest version that this table object knows.
            since: Only rows appended after this version (which is not included) up to `at`: those that commits of
                operation `append` added. Deletes are not applied; `changes` tells of them as well. A time before the
                table's first snapshot means from the beginning.
            options: Read options by the table format's own names, such as `{"split-size": 64 << 20}`: `batch-rows`,
                `case-sensitive`, `split-size`, `lookback`, `file-open-cost`, `max-plan-bytes`, `plan-cache` (a folder
                for decoded manifests, so that the next plan is faster) and `plan-cache-bytes` (how large it grows).
            max_plan_bytes: Most bytes of manifests that planning may read in all; None for any number. Planning that
                would read more raises `InvalidInputError` before it opens the first (see `Scan.estimate`); `changes`,
                before it opens the first of the commit that would exceed it.

        Raises:
            InvalidInputError: The filter or a column's name is wrong, or `at` does not come from `since`.
            NotFoundError: There is no such version.
        """
        return Scan(
            self._core,
            filters=() if filter is None else (arguments.filter_text(filter),),
            columns=None if select is None else arguments.columns(select),
            at={**arguments.at_version(at), **arguments.since_version(since)},
            options=_read_options(options, max_plan_bytes),
        )

    def changes(
        self,
        filter: str | Predicate | None = None,
        select: Sequence[str] | None = None,
        since: At | None = None,
        at: At | None = None,
        options: Mapping[str, object] | None = None,
        max_plan_bytes: int | None = None,
    ) -> Scan:
        """The rows that changed between two versions, commit by commit.

        Rows have three columns more: `_change_type` (`insert`, `delete`, and where rows have ids `update_before` and
        `update_after`), `_change_ordinal` (the place of the commit among those that count, from 0) and
        `_commit_snapshot_id`. Tasks have `operation`, `change_ordinal` and `commit_snapshot_id`. Commits of operation
        `replace` change no rows and are left out.

        Args:
            filter: Changed rows to keep, by the table's columns and the three above.
            select: Columns to read: the table's, the three above, `_row_id` and `_last_updated_sequence_number`.
            since: The version to begin after; None, or a time before the table's first snapshot, begins with the oldest
                snapshot that the table still has. A snapshot that has expired will do if it is the parent of that one.
            at: The last version; None is the newest that this table object knows.
            options: As for `scan`.
            max_plan_bytes: As for `scan`; all commits together.

        Raises:
            InvalidInputError: The filter or a column's name is wrong, or `at` does not come from `since`.
            NotFoundError: There is no such version.
        """
        return Scan(
            self._core,
            filters=() if filter is None else (arguments.filter_text(filter),),
            columns=None if select is None else arguments.columns(select),
            at={**arguments.at_version(at), **arguments.since_version(since), "changes": True},
            options=_read_options(options, max_plan_bytes),
        )

    def append(
        self,
        data: Any,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
        sort_by: Sequence[str] | None = None,
    ) -> Table:
        """Adds rows in one commit; returns the table, now at its new version.

        Args:
            data: Anything with `__arrow_c_stream__` (pyarrow, polars, duckdb, …) or a pandas data frame. Columns are
                matched by name.
            branch: The branch to append to; `main` if None. One that is not there yet begins at the current snapshot.
            snapshot_properties: Members to add to the snapshot's summary. With `wap.id`, a table whose property
                `write.wap.enabled` is true only stages the snapshot: `cherry_pick` publishes it.
            sort_by: What to sort the rows of each partition by, as for `Catalog.create_table` (`"ts desc nulls last"`),
                in bounded memory. None is the table's own order; an empty list leaves them as they come.

        Raises:
            InvalidInputError: The columns or the order do not fit the table's schema.
            CommitConflictError: Other commits won every race for the next version; nothing was committed.
            CommitStateUnknownError: It can't be told whether the commit happened; nothing was removed.
        """
        properties = arguments.texts(snapshot_properties)
        order = arguments.order(sort_by)
        self._core = self._core.append(
            arguments.rows(data), branch=branch, snapshot_properties=properties, sort_by=order
        )
        return self

    def add_files(
        self,
        paths: Sequence[str | os.PathLike[str]],
        check_duplicate_files: bool = True,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> Table:
        """Makes existing Parquet files part of the table where they are, in one commit; returns the table.

        Their rows are not read: metrics come from the footers, and partition values from bounds that are equal. If a
        file has no field ids, the table gets a name mapping. From then on the files belong to the table.

        Args:
            paths: The files.
            check_duplicate_files: Refuse files that the table has already, which takes a look at all its manifests.
            branch: As for `append`.
            snapshot_properties: As for `append`.

        Raises:
            InvalidInputError: A file does not fit the schema, has nulls in required columns, values that the table's
                types can't hold, none of the columns or the field ids of another table, has rows of several
                partitions, or is there already.
            NotFoundError: A file is not there.
        """
        self._core = self._core.add_files(
            arguments.paths(paths),
            check_duplicate_files,
            branch=branch,
            snapshot_properties=arguments.texts(snapshot_properties),
        )
        return self

    def transaction(self, branch: str | None = None) -> Transaction:
        """Changes that are committed together: `with table.transaction() as tx: tx.append(rows)`.

        It begins at the newest version.

        Args:
            branch: The branch that snapshots go to; `main` if None.
        """
        return Transaction(self, branch)

    def cherry_pick(self, snapshot_id: int) -> Table:
        """Publishes on `main` what a snapshot did that was staged or is on another branch; returns the table.

        Where `main` has not moved since, it just moves to the snapshot. Otherwise a new snapshot does the same again:
        that is possible for appends, and for overwrites of whole partitions that nobody has changed since.

        Raises:
            NotFoundError: There is no such snapshot.
            InvalidInputError: It is published already, or can't be published on top of other commits.
            CommitConflictError: The partitions that it replaces have changed.
        """
        self._core = self._core.cherry_pick(snapshot_id)
        return self

    def _change_rows(
        self,
        change: RowChange,
        data: Any,
        branch: str | None,
        snapshot_properties: Mapping[str, object] | None,
    ) -> None:
        rows = None if data is None else arguments.rows(data)
        properties = arguments.texts(snapshot_properties)
        self._core = row_requests.commit(self._core, change, rows, branch, properties)

    def update_schema(self, allow_incompatible_changes: bool = False, case_sensitive: bool = True) -> UpdateSchema:
        """Changes columns: add, drop, rename, move, widen and others, in one commit.

            with table.update_schema() as update:
                update.add_column("note", "string", doc="free text")
                update.rename_column("id", "event_id")

        Args:
            allow_incompatible_changes: Allow what rows that are there may contradict: columns that become required, and
                required columns without a default.
            case_sensitive: Whether columns are found by their exact names.
        """
        return UpdateSchema(planned_on(self), allow_incompatible_changes, case_sensitive)

    def update_partition_spec(self, case_sensitive: bool = True) -> UpdatePartitionSpec:
        """Changes how new rows are grouped into files. Files that are there stay as they are, and are read as before.

        Args:
            case_sensitive: Whether columns are found by their exact names.
        """
        return UpdatePartitionSpec(planned_on(self), case_sensitive)

    def update_sort_order(self, case_sensitive: bool = True) -> UpdateSortOrder:
        """Replaces the order that new files should have.

        Args:
            case_sensitive: Whether columns are found by their exact names.
        """
        return UpdateSortOrder(planned_on(self), case_sensitive)

    def set_properties(self, properties: Mapping[str, object] | None = None, **more: object) -> Table:
        """Sets table properties in one commit; returns the table, now at its new version.

        Args:
            properties: Names and values. `format-version` upgrades the table.
            **more: The same as keywords, for names that are words.
        """
        given = {**arguments.texts(properties), **arguments.texts(more, "properties")}
        return evolution.commit(self, evolution.set_properties(given))

    def remove_properties(self, *names: str) -> Table:
        """Removes table properties in one commit; those that are not set are no error."""
        return evolution.commit(self, evolution.remove_properties(arguments.columns(names)))

    def update_location(self, location: str | os.PathLike[str]) -> Table:
        """Records another location for the table. A table that is known by its folder can't have another.

        Raises:
            UnsupportedError: The table is known by its folder.
        """
        return evolution.commit(self, evolution.set_location(os.fspath(location)))

    def upgrade(self, format_version: int) -> Table:
        """Raises the format version in one commit. There is no way back.

        Args:
            format_version: 2 or 3.
        """
        return evolution.commit(self, evolution.upgrade(arguments.count("format_version", format_version)))

    def rollback(self, to: At, branch: str = "main") -> Table:
        """Takes a branch back to an earlier version: an ancestor of its snapshot.

        The later snapshots stay until they expire. A time means the last snapshot made before it.

        Args:
            to: A snapshot's id, a tag, or a point in time.
            branch: The branch to move.

        Raises:
            InvalidInputError: That version is no ancestor.
        """
        return evolution.commit(self, evolution.roll_back(branch, to))

    def set_current_snapshot(self, to: At, branch: str = "main") -> Table:
        """Moves a branch to any snapshot of the table, ancestor or not.

        Args:
            to: A snapshot's id, a branch or tag, or a point in time (what was current then).
            branch: The branch to move.
        """
        return evolution.commit(self, evolution.set_snapshot(branch, to))

    def writer(
        self,
        task: int = 0,
        branch: str | None = None,
        sort_by: Sequence[str] | None = None,
        overwrite: bool = False,
    ) -> Writer:
        """A writer of files that `commit` or `commit_overwrite` adds to the table later, from any process.

        Args:
            task: A number for this writer among those of one job; part of its files' names.
            branch: The branch that deletes look at, if not `main`; give it to `commit` too.
            sort_by: As for `append`.
            overwrite: What it writes is for `commit_overwrite`, which tables of Apache Paimon want to know. Such rows
                don't go on from what is there (its number of buckets, its sequence numbers) and have no changelog.
                `commit` refuses them, as `commit_overwrite` refuses others. To tables of Iceberg it is all the same.
        """
        return Writer(self._core, arguments.count("task", task), branch, arguments.order(sort_by), overwrite)

    def commit(
        self,
        messages: Iterable[_core.CommitMessage],
        snapshot_properties: Mapping[str, object] | None = None,
        branch: str | None = None,
    ) -> Table:
        """Commits what writers wrote in one snapshot; returns the table, now at its new version.

        It is an append, or a row delta if there are deletes among it: they reach what was committed before, not the
        rows that come with them. The very same messages, committed to the branch once more, change nothing.

        Args:
            messages: What the methods of `Writer` returned, perhaps in other processes.
            snapshot_properties: As for `append`.
            branch: As for `append`.

        Raises:
            InvalidInputError: A message is another table's or of `Writer.rewrite`, its files are gone, or some of the
                messages were committed before; a message of a table of Apache Paimon is of `writer(overwrite=True)`.
            CommitConflictError: Rows were deleted by position, and their data file is gone or (version 3) another
                commit deleted rows of it.
        """
        self._core = self._core.commit(list(messages), arguments.texts(snapshot_properties), branch=branch)
        return self

    def commit_overwrite(
        self,
        messages: Iterable[_core.CommitMessage],
        where: str | Predicate | None = None,
        partitions: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> Table:
        """Commits what writers wrote in the place of other rows, in one snapshot; returns the table.

        The very same messages, committed to the branch once more, change nothing. If the commit fails, the writers'
        files stay: give the messages to `abort`, or commit them again.

        Args:
            messages: What `Writer.write` returned, perhaps in other processes.
            where: Rows to replace, as for `overwrite`; None replaces all. Of tables of Apache Paimon: partitions, by
                one value of a column or of several joined by `and`, and all new rows are of them.
            partitions: Replace the partitions that there are new rows for instead, as `overwrite_partitions` does.
            branch: The branch to change, if not `main`.
            snapshot_properties: Members for the snapshot's summary.

        Raises:
            InvalidInputError: The filter does not fit; a message is another table's, has deletes or rewritten rows, its
                files are gone, or some of the messages were committed before; the table is one of Apache Paimon, and a
                writer was not told to `overwrite`.
            UnsupportedError: The filter asks for less than whole partitions of a table of Apache Paimon, or
                `partitions` for those of one whose key leaves partition columns out.
            CommitConflictError: Another commit changed what this one relies on (`write.delete.isolation-level`).
        """
        change = row_requests.replaced_by_messages(where, partitions)
        self._core = row_requests.commit_overwrite(
            self._core, change, list(messages), arguments.texts(snapshot_properties), branch
        )
        return self

    def _check_overwrite(self, where: str | Predicate | None = None, partitions: bool = False) -> None:
        """Raises what `commit_overwrite` would, as far as that does not depend on its messages."""
        row_requests.check_overwrite(self._core, row_requests.replaced_by_messages(where, partitions))

    def commit_rewrite(
        self,
        replaced: Iterable[_core.DataFile | _core.DeleteFile | _core.ScanTask],
        messages: Iterable[_core.CommitMessage],
        at: At,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> Table:
        """Replaces files by others that hold the same rows, in one snapshot; returns the table.

        The snapshot's operation is `replace`: readers of changes pass over it. Deleted rows may be left out. The new
        files are as old as the version that was read, so that equality deletes made since still reach their rows.

        Args:
            replaced: Files that go, as a scan gives them; of a task, its data file. Delete files only if all data files
                that they reach go too, or others take their place.
            messages: What `Writer.rewrite` returned. None at all is fine if no row is left.
            at: The version that the rows were read at, as the scan's `snapshot_id` says. Later deletes are seen.
            branch: As for `append`.
            snapshot_properties: As for `append`.

        Raises:
            InvalidInputError: Nothing is replaced; other rows come than the replaced files have left, as far as counts
                tell (of files that equality deletes reach, fewer may come); rows come without their ids, with others or
                with those of another row (version 3);
                or a delete file is replaced that reaches data files which stay.
            CommitConflictError: Another commit removed one of the files, or deleted rows of it by position.
        """
        files = [file.data_file if isinstance(file, _core.ScanTask) else file for file in replaced]
        version = arguments.at_version(at)
        self._core = self._core.commit_rewrite(
            [file for file in files if isinstance(file, _core.DataFile)],
            [file for file in files if isinstance(file, _core.DeleteFile)],
            list(messages),
            version.get("snapshot_id"),
            version.get("reference"),
            version.get("timestamp_ms"),
            branch,
            arguments.texts(snapshot_properties),
        )
        return self

    def abort(self, messages: Iterable[_core.CommitMessage]) -> None:
        """Deletes the files of writers whose job was given up. Never call it for messages that may yet be committed.

        Raises:
            InvalidInputError: The table has a file of the messages; then nothing is deleted.
        """
        self._core.abort(list(messages))

    def writable_location(self) -> str:
        """The folder that commits go to.

        Raises:
            InvalidInputError: The table was opened with `moved=True`, or by a metadata file outside its folder.
            UnsupportedError: A catalog keeps its versions.
        """
        return self._core.writable_location()

    def __repr__(self) -> str:
        snapshot = self.snapshot
        at = "empty" if snapshot is None else f"snapshot {snapshot.id}"
        return f"Table({self.location!r}, {self.format} v{self.format_version}, {at})"

    def __reduce__(self) -> tuple[type[Table], tuple[_core.Table]]:
        return Table, (self._core,)


@checked
class Writer:
    """Writes files without committing them. It pickles, so a job can send it to its workers.

    What its methods return pickles too. All messages of a job make one snapshot, by `Table.commit`.
    """

    def __init__(
        self,
        core: _core.Table,
        task: int,
        branch: str | None = None,
        sort_by: list[str] | None = None,
        overwrite: bool = False,
    ) -> None:
        self._core = core
        self._task = task
        self._branch = branch
        self._sort_by = sort_by
        self._overwrite = overwrite

    def write(self, data: Any) -> _core.CommitMessage:
        """Writes rows into new files and returns the message that `Table.commit` takes. The message pickles.

        Args:
            data: As for `Table.append`.
        """
        return self._core.write(arguments.rows(data), self._task, False, self._overwrite, self._sort_by)

    def rewrite(self, data: Any) -> _core.CommitMessage:
        """Writes rows that were read from the table, for `Table.commit_rewrite`.

        Args:
            data: As for `Table.append`. In format version 3 it has the columns `_row_id` and
                `_last_updated_sequence_number`, so that the rows stay the same.
        """
        return self._core.write(arguments.rows(data), self._task, True, False, self._sort_by)

    def upsert(self, data: Any, on: Sequence[str] | None = None) -> _core.CommitMessage:
        """Writes rows, and equality deletes of their keys, as `Table.upsert(blind=True)` does.

        No two writers of a job may have the same key: both rows would be inserted.

        Args:
            data: As for `Table.append`.
            on: The columns of the key; None for the table's identifier fields.
        """
        return self._delta(row_requests.replace_keys(on), data)

    def delete_keys(self, data: Any, on: Sequence[str] | None = None) -> _core.CommitMessage:
        """Writes equality deletes of keys, as `Table.delete_keys` does.

        Args:
            data: Rows with the columns of the key.
            on: The columns of the key; None for the table's identifier fields.
        """
        return self._delta(row_requests.delete_keys(on), data)

    def delete_positions(self, data: Any) -> _core.CommitMessage:
        """Writes deletes of rows by data file and position, as `Table.delete_positions` does.

        Args:
            data: Rows with the columns `file_path` and `pos`, or `_file` and `_pos`.
        """
        return self._delta(row_requests.delete_positions(), data)

    def _delta(self, change: RowChange, data: Any) -> _core.CommitMessage:
        return row_requests.write_delta(self._core, change, arguments.rows(data), self._branch, self._task)

    def __reduce__(self) -> tuple[type[Writer], tuple[_core.Table, int, str | None, list[str] | None, bool]]:
        return Writer, (self._core, self._task, self._branch, self._sort_by, self._overwrite)


@checked_call
def open_table(
    location: str | os.PathLike[str], storage_options: Mapping[str, object] | None = None, moved: bool = False
) -> Table:
    """Opens a table by its place, without a catalog.

    Args:
        location: The table's root folder, or one of its metadata files: a path, or a URI such as `s3://bucket/table`.
        storage_options: Credentials and settings of an object store, by PyIceberg's names (`s3.endpoint`, …) or those
            of `object_store` (`aws_region`, …); by default from the environment.
        moved: The table was copied here: paths below its recorded location are read below this one. Such a table can
            only be read.

    Raises:
        NotFoundError: There is no table.
        CorruptTableError: Its metadata can't be read.
        InvalidInputError: There is no such storage option.
        StoreError: The store does not answer.
        PermissionDeniedError: It refuses the credentials.

    Examples:
        >>> import frazil as fz
        >>> fz.open_table("/warehouse/db/events")  # doctest: +SKIP
    """
    return Table(_core.Table.open(os.fspath(location), arguments.texts(storage_options), moved))


def _read_options(options: Mapping[str, object] | None, max_plan_bytes: int | None) -> dict[str, str]:
    read_options = arguments.texts(options)
    if max_plan_bytes is not None:
        read_options["max-plan-bytes"] = str(arguments.count("max_plan_bytes", max_plan_bytes))
    return read_options


def _snapshot(s: tuple[int, int | None, int, int, str | None, dict[str, str], int | None]) -> Snapshot:
    id_, parent, sequence, millis, operation, summary, schema = s
    try:
        timestamp = arguments.EPOCH + dt.timedelta(milliseconds=millis)
    except OverflowError:
        timestamp = (dt.datetime.max if millis > 0 else dt.datetime.min).replace(tzinfo=dt.timezone.utc)
    return Snapshot(id_, parent, sequence, timestamp, operation, summary, schema)
