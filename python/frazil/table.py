"""Tables: open one, look at it, scan it, append to it, and change it."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil import _core, arguments, foreign
from frazil.arguments import At, Paths, configuration
from frazil.arguments.checked import checked, checked_call
from frazil.display import tables
from frazil.display.commits import changed, rows_of
from frazil.exceptions import InvalidInputError, NotFoundError
from frazil.expr import Columns, Filter
from frazil.names import Answering, Snapshots, answers
from frazil.requests import evolution
from frazil.requests import rows as row_requests
from frazil.requests.handle import TableHandle
from frazil.requests.rows import RowChange
from frazil.requests.unfinished import WrittenFiles
from frazil.row_changes import RowChanges
from frazil.scan import Scan
from frazil.schema import PartitionField, PartitionSpec, Schema, SortField, SortOrder, column_names

# A program opens a table and uses little of it, so what a table hands out is imported when it is asked for.
if TYPE_CHECKING:
    import pyarrow as pa

    from frazil.differences import Diff
    from frazil.doctor import Diagnosis, Repair
    from frazil.evolve import UpdatePartitionSpec, UpdateSchema, UpdateSortOrder
    from frazil.foreign import CredentialProvider
    from frazil.inspect import Inspect
    from frazil.maintain import Maintain
    from frazil.refs import Refs
    from frazil.results import LastCommit
    from frazil.transaction import Transaction

__all__ = ["Snapshot", "Table", "Writer", "open_table"]


@answers("snapshot")
class Snapshot(NamedTuple):
    """The table's content after one commit.

    Attributes:
        id: The snapshot's id.
        parent_id: The id of the snapshot before it, if there is one.
        sequence_number: The number of the commit in the order of commits. It is 0 in format version 1.
        timestamp: The time of the commit, in UTC.
        operation: `append`, `overwrite`, `delete` or `replace`. It is None if the table does not record it.
        summary: What the writer recorded about the commit.
        schema_id: The id of the schema that the snapshot was written with.
    """

    id: int
    parent_id: int | None
    sequence_number: int
    timestamp: dt.datetime
    operation: str | None
    summary: dict[str, str]
    schema_id: int | None

    def __repr__(self) -> str:
        parts = [str(self.id), f"{self.timestamp:%Y-%m-%d %H:%M:%S} UTC", self.operation, *changed(self.summary)]
        return f"Snapshot({', '.join(tables.public(part) for part in parts if part)})"

    def _repr_html_(self) -> str:
        facts = [("time", f"{self.timestamp:%Y-%m-%d %H:%M:%S} UTC"), ("operation", self.operation)]
        facts += [("parent", str(self.parent_id or "")), ("schema", str(self.schema_id))]
        summary = tables.public_options(self.summary).items()
        return tables.page(f"Snapshot {self.id}", tables.grid(("", ""), facts), tables.grid(("summary", ""), summary))


@answers()
@checked
class Table(TableHandle, RowChanges, metaclass=Answering):
    """A table, at the version that was read last.

    `open_table` and catalogs return tables. A table object does not change while others commit. `refresh()` reads the
    newest version, and every commit through the object moves it to the new version. A table can be pickled: another
    process then opens the same version.
    """

    def __init__(self, core: _core.Table, name: str | None = None) -> None:
        if not isinstance(core, _core.Table):
            raise InvalidInputError(
                f"a Table is not made from {arguments.shown(core)}",
                hint="Call frazil.open_table(path), or frazil.load_table('catalog.namespace.table')",
            )
        self._core = core
        # The versions before and after the last commit of rows.
        self._made: tuple[_core.Table, _core.Table] | None = None
        self._name = name

    @property
    def name(self) -> str:
        """The table's name in its catalog: `db.events`. A table that was opened by its location has its folder's name.

        Another process that gets the table may know only the folder's name, if the catalog is a folder.
        """
        return self._core.name or self._name or self.location.rstrip("/").rpartition("/")[2]

    @property
    def last_commit(self) -> LastCommit:
        """What the last commit through this object did: rows and files that it added, changed and removed.

            table.upsert(rows, on="id").last_commit.rows_updated

        `refresh()` forgets it, if it reads another version.
        """
        from frazil.results import last_commit

        before = self._made[0] if self._made is not None and self._made[1] is self._core else None
        return last_commit(self._core, before)

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
        """The location that the table records for itself."""
        return self._core.location

    @property
    def labels(self) -> dict[str, Any]:
        """Labels that a REST catalog gives the table: those of the `table`, and of `columns` by field id."""
        table, columns = self._core.labels
        return {"table": table, "columns": columns}

    @property
    def catalog_members(self) -> dict[str, str]:
        """Members of a REST catalog's answer that have no meaning for Frazil: JSON texts by name.

        Values whose names are those of secrets are hidden.
        """
        return self._core.catalog_members

    @property
    def metadata_location(self) -> str:
        """The path of the metadata file that was read."""
        return self._core.metadata_location

    @property
    def uuid(self) -> str:
        """The table's unique id."""
        return self._core.uuid

    @property
    def schema(self) -> Schema:
        """The current schema."""
        return Schema._wrap(self._core.schema())

    @property
    def partition_spec(self) -> PartitionSpec:
        """The partition spec for new files."""
        id_, fields = self._core.partition_spec()
        names = column_names(self.schema) if fields else {}
        # The third member is the id of the column.
        return PartitionSpec(id_, tuple(PartitionField(*f, names.get(f[2])) for f in fields))

    @property
    def sort_order(self) -> SortOrder:
        """The sort order for new files."""
        id_, fields = self._core.sort_order()
        names = column_names(self.schema) if fields else {}
        return SortOrder(id_, tuple(SortField(*f, names.get(f[0])) for f in fields))

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties."""
        return self._core.properties

    @property
    def snapshot(self) -> Snapshot | Any:
        """The current snapshot. It is None before the first commit."""
        # Not `Snapshot | None`: type checkers would refuse `table.append(rows).snapshot.id`.
        found = self._core.snapshot()
        return None if found is None else _snapshot(found)

    @property
    def snapshots(self) -> list[Snapshot]:
        """All snapshots that the table still has, oldest first."""
        return Snapshots(map(_snapshot, self._core.snapshots()))

    def snapshot_by_id(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot with an id. It is None if the table does not have it, or no longer."""
        return next((_snapshot(s) for s in self._core.snapshots() if s.id == snapshot_id), None)

    @property
    def refs(self) -> Refs:
        """Branches and tags: `table.refs["main"].snapshot_id`, `table.refs.create_tag("v1")`."""
        from frazil.refs import Refs

        return Refs(self)

    @property
    def inspect(self) -> Inspect:
        """The metadata tables: `table.inspect.files()`, `table.inspect.snapshots()`, and others."""
        from frazil.inspect import Inspect

        return Inspect(self._core)

    @property
    def maintain(self) -> Maintain:
        """Maintenance: `table.maintain.expire_snapshots()`, and others."""
        from frazil.maintain import Maintain

        return Maintain(self)

    def doctor(self, deep: bool = False, footers: int | None = 1000, outside: bool | None = None) -> Diagnosis:
        """Examines the table from its metadata down to its files.

        Every file of every snapshot is looked for, and its size compared. Damaged files become findings and raise
        nothing. See the guide for what is checked.

        Args:
            deep: Whether to read all footers, and the rows of all files. Counts, bounds, nulls and partition values
                are then compared with the rows.
            footers: The most footers that are read without `deep`. They are spread over the table. None reads all.
            outside: Whether to list the table's folder for files that nothing leads to. None is the same as `deep`.

        Raises:
            UnsupportedError: The table's format has no examinations.
        """
        from frazil import doctor

        return doctor.diagnosis_of(self._core.diagnose(doctor.request(deep, footers, outside)))

    def report(
        self,
        path: str | os.PathLike[str],
        filter: Filter | None = None,
        at: At | None = None,
        *,
        doctor: bool = True,
    ) -> str:
        """Writes a page about the table: one HTML file for a browser, without any request to the network.

        It shows snapshots with branches and tags, which files a scan reads and what decided, partitions and their
        deletes, sizes of files, overlaps of bounds, and what the doctor found. What can't be read because the table is
        damaged is left out, and the page says why.

        Args:
            path: The file. It is replaced if it exists.
            filter: The rows of the scan whose plan is shown; None for all rows.
            at: The version: a snapshot's id, a branch or tag, or a point in time. None is the newest version that this
                table object knows.
            doctor: Whether to examine the table as `Table.doctor` does. This looks for every file.

        Returns:
            The path of the file.

        Raises:
            InvalidInputError: The filter is wrong, or the file can't be written.
            NotFoundError: The version does not exist.
        """
        from frazil.report.gathering import table_page, written

        file = arguments.path("path", path)
        return written(file, table_page(self, filter, at, arguments.flag("doctor", doctor)))

    def repair(
        self,
        *repairs: str,
        dry_run: bool = True,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> Repair:
        """Repairs the table, in commits that can be rolled back. By default it only says what it would do.

        Args:
            repairs: The kinds of repair, all of them by default: `refs` (references, logs, statistics and hints that
                lead nowhere), `manifests` (writes manifests again, with right counts and summaries), `lost-files`
                (takes lost and damaged files out of the table), `dangling-deletes` (removes delete files and deletion
                vectors that delete nothing), `summaries` (the totals of the current snapshot).
            dry_run: Whether to change nothing.
            snapshot_properties: Properties of the new snapshots.

        Raises:
            InvalidInputError: There is no repair with this name.
            UnsupportedError: A lost manifest of an Apache Paimon table removes files. They would come back.
            CorruptTableError: Manifests of an Apache Paimon table have to be repaired first.
            CommitConflictError: Others changed the same files meanwhile.
            CommitStateUnknownError: It is not known whether a commit took place.
        """
        from frazil import doctor

        kinds = list(repairs) or doctor.repair_names()
        self._core, steps = self._core.repair(kinds, dry_run, arguments.texts(snapshot_properties))
        return doctor.repair_of(steps, dry_run)

    def refresh(self) -> Table:
        """Reads the table's newest version. Returns this table object."""
        self._core = self._core.refresh()
        return self

    def scan(
        self,
        filter: Filter | None = None,
        select: Columns | None = None,
        at: At | None = None,
        since: At | None = None,
        options: Mapping[str, object] | None = None,
        max_plan_bytes: int | None = None,
        limit: int | None = None,
    ) -> Scan:
        """Describes what to read. Planning and reading start when you ask the scan for tasks or rows.

        Args:
            filter: The rows to keep, as text (`"country in ('NO', 'SE') and ts >= '2023-01-01T00:00:00Z'"`) or as an
                expression (`col("x") > 5`).
            select: The columns to read, in this order. Dotted paths name members of structs. None reads all columns.
            at: The version to read: a snapshot's id, a branch or tag, or a point in time. A time without a zone is in
                UTC. None reads the newest version that this table object knows.
            since: Read only the rows that were appended after this version, up to `at`. These are the rows that commits
                of operation `append` added. Deletes are not applied; `changes` shows them. A time before the table's
                first snapshot means from the beginning.
            options: Read options by the names of the table format, such as `{"split-size": 64 << 20}`: `batch-rows`,
                `case-sensitive`, `split-size`, `lookback`, `file-open-cost`, `max-plan-bytes`, `plan-cache` and
                `plan-cache-bytes`. `plan-cache` is a folder for decoded manifests, which makes the next plan faster.
                `plan-cache-bytes` limits its size.
            max_plan_bytes: The most bytes of manifests that planning may read; None for no limit. Planning that would
                read more raises `InvalidInputError` before it opens a manifest (see `Scan.estimate`). In `changes`, the
                error comes before the first manifest of the commit that would exceed the limit.
            limit: The most rows to read, as for `Scan.limit`.

        Raises:
            InvalidInputError: The filter or a column's name is wrong, or `at` does not descend from `since`.
            NotFoundError: The version does not exist.
        """
        return Scan(
            self._core,
            filters=() if filter is None else (arguments.filter_text(filter),),
            columns=None if select is None else arguments.selection(select),
            at=arguments.version(at),
            since=arguments.version(since, "since"),
            options=_read_options(options, max_plan_bytes),
            rows=None if limit is None else arguments.count("limit", limit),
        )._named(self._name)

    def __datafusion_table_provider__(self, session: Any) -> object:
        """For `context.register_table("events", table)` of DataFusion. Needs the package frazil-datafusion."""
        return self.scan().__datafusion_table_provider__(session)

    def head(self, rows: int = 5) -> pa.Table:
        """A few rows as a pyarrow table, as `scan(limit=rows)` reads them."""
        return self.scan(limit=rows).to_arrow()

    def changes(
        self,
        filter: Filter | None = None,
        select: Columns | None = None,
        since: At | None = None,
        at: At | None = None,
        options: Mapping[str, object] | None = None,
        max_plan_bytes: int | None = None,
    ) -> Scan:
        """The rows that changed between two versions, commit by commit.

        The rows have three more columns. `_change_type` is `insert` or `delete`; where rows have ids, it can also be
        `update_before` or `update_after`. `_change_ordinal` numbers the commits from 0. `_commit_snapshot_id` is the id
        of the commit's snapshot. Tasks have `operation`, `change_ordinal` and `commit_snapshot_id`. Commits of
        operation `replace` change no rows and are left out.

        Args:
            filter: The changed rows to keep, by the table's columns and the three columns above.
            select: The columns to read: the table's, the three above, `_row_id` and `_last_updated_sequence_number`.
            since: The version to start after. None starts with the oldest snapshot that the table still has, and so
                does a time before the first snapshot. The parent of the oldest snapshot can be given even if it has
                expired.
            at: The last version. None is the newest version that this table object knows.
            options: As for `scan`.
            max_plan_bytes: As for `scan`, for all commits together.

        Raises:
            InvalidInputError: The filter or a column's name is wrong, or `at` does not descend from `since`.
            NotFoundError: The version does not exist.
        """
        return Scan(
            self._core,
            filters=() if filter is None else (arguments.filter_text(filter),),
            columns=None if select is None else arguments.selection(select),
            # Not every format takes branches here, and `main` is where a range ends by default.
            at=arguments.version(None if at == "main" else at),
            since=arguments.version(since, "since"),
            changes=True,
            options=_read_options(options, max_plan_bytes),
        )._named(self._name)

    def diff(self, a: At | Table, b: At | Table | None = None, *, rows: bool = False) -> Diff:
        """What differs between two versions: columns, properties, rows, files, partitions. Print the result.

            print(table.diff(first.id, "main"))

        A snapshot has the properties, the partitioning and the sort order with which its commit left the table. A
        branch has the newest ones, a point in time those of that time. Apache Iceberg keeps them in earlier metadata
        files: in the last 100, or as many as `write.metadata.previous-versions-max` says. If that file is gone, they
        are None.

        Args:
            a: The first version: a snapshot's id, a branch or tag, a point in time, or another object of this table.
            b: The second version; None is the newest one that this table object knows.
            rows: Count the rows that were added, removed and changed. This reads the files that differ. The same row in
                both versions is one with the same row id (from format version 3), else with the same identifier fields
                or primary key, else with equal values in all columns. The columns are those of the newer schema. It
                needs 100 to 300 bytes of memory for each row of these files.

        Raises:
            InvalidInputError: The tables differ. Or rows are to be counted, and two branches of an Apache Paimon table
                have different columns.
            NotFoundError: A version does not exist.
        """
        from frazil.differences import difference

        return difference(self, a, b, arguments.flag("rows", rows))

    def append(
        self,
        data: Any,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
        sort_by: Columns | None = None,
    ) -> Table:
        """Adds rows in one commit. Returns the table, now at its new version.

        Args:
            data: Anything with `__arrow_c_stream__` (pyarrow, polars, duckdb, a scan, …), or a pandas data frame. It
                can also be a lazy frame of polars, a dataset or scanner of pyarrow, or a list or generator of batches,
                tables or data frames with the same columns. Columns are matched by name.
            branch: The branch to append to; None is `main`. A new branch starts at the current snapshot.
            snapshot_properties: Properties to add to the snapshot's summary. If the table's property
                `write.wap.enabled` is true, `wap.id` only stages the snapshot, and `cherry_pick` publishes it.
            sort_by: How to sort the rows of each partition, as for `Catalog.create_table` (`"ts desc nulls last"`).
                Memory is bounded. None uses the table's own order; an empty list keeps the order of the data.

        Raises:
            InvalidInputError: The columns or the order do not fit the table's schema.
            CommitConflictError: Other commits took every version that was tried. Nothing was committed.
            CommitStateUnknownError: It is unknown whether the commit happened. Nothing was removed.
        """
        properties = arguments.texts(snapshot_properties)
        order = arguments.order(sort_by)
        rows = arguments.rows(data)
        return self._moved(
            self._core.append(rows, branch=branch, snapshot_properties=properties, sort_by=order),
        )

    def add_files(
        self,
        paths: Paths,
        check_duplicate_files: bool = True,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> Table:
        """Makes existing Parquet files part of the table, in one commit. Returns the table.

        The files stay where they are, and their rows are not read. Metrics come from the footers, and partition values
        from bounds that are equal. If a file has no field ids, the table gets a name mapping. From then on the files
        belong to the table.

        Args:
            paths: The files.
            check_duplicate_files: Refuse files that the table has already. The check reads all manifests of the table.
            branch: As for `append`.
            snapshot_properties: As for `append`.

        Raises:
            InvalidInputError: The table has a file already, or a file does not fit: it has the wrong schema, nulls in
                required columns, values that the table's types can't hold, none of the table's columns, the field ids
                of another table, or rows of several partitions.
            NotFoundError: A file does not exist.
        """
        given, properties = arguments.paths(paths), arguments.texts(snapshot_properties)
        try:
            core = self._core.add_files(given, check_duplicate_files, branch=branch, snapshot_properties=properties)
        except NotFoundError as error:
            raise arguments.no_file(error, given) from None
        return self._moved(core)

    def transaction(self, branch: str | None = None) -> Transaction:
        """Starts a group of changes that are committed together: `with table.transaction() as tx: tx.append(rows)`.

        The transaction starts at the newest version.

        Args:
            branch: The branch to change; None is `main`.
        """
        from frazil.transaction import Transaction

        return Transaction(self, branch)

    def cherry_pick(self, snapshot_id: int) -> Table:
        """Publishes on `main` the changes of a snapshot that was staged or is on another branch. Returns the table.

        If `main` has not moved since, it moves to the snapshot. Otherwise a new snapshot repeats the changes. This is
        possible for appends, and for overwrites of whole partitions that nobody has changed since.

        Raises:
            NotFoundError: The snapshot does not exist.
            InvalidInputError: The snapshot is published already, or can't be published on top of other commits.
            CommitConflictError: The partitions that it replaces have changed.
        """
        return self._moved(self._core.cherry_pick(snapshot_id))

    def _moved(self, core: _core.Table) -> Table:
        """Moves to the version that a commit made."""
        self._made, self._core = (self._core, core), core
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
        self._moved(row_requests.commit(self._core, change, rows, branch, properties))

    def update_schema(self, allow_incompatible_changes: bool = False, case_sensitive: bool = True) -> UpdateSchema:
        """Changes columns in one commit: add, drop, rename, move, widen and others.

            with table.update_schema() as update:
                update.add_column("note", "string", doc="free text")
                update.rename_column("id", "event_id")

        Args:
            allow_incompatible_changes: Allow changes that existing rows may contradict: making a column required, and
                adding a required column without a default.
            case_sensitive: Whether columns are found by their exact names.
        """
        from frazil.evolve import UpdateSchema, planned_on

        return UpdateSchema(planned_on(self), allow_incompatible_changes, case_sensitive)

    def update_partition_spec(self, case_sensitive: bool = True) -> UpdatePartitionSpec:
        """Changes how new rows are grouped into files. Existing files stay as they are and can still be read.

        Args:
            case_sensitive: Whether columns are found by their exact names.
        """
        from frazil.evolve import UpdatePartitionSpec, planned_on

        return UpdatePartitionSpec(planned_on(self), case_sensitive)

    def update_sort_order(self, case_sensitive: bool = True) -> UpdateSortOrder:
        """Replaces the sort order for new files.

        Args:
            case_sensitive: Whether columns are found by their exact names.
        """
        from frazil.evolve import UpdateSortOrder, planned_on

        return UpdateSortOrder(planned_on(self), case_sensitive)

    def set_properties(self, properties: Mapping[str, object] | None = None, **more: object) -> Table:
        """Sets table properties in one commit. Returns the table, now at its new version.

        Args:
            properties: Names and values. `format-version` upgrades the table.
            **more: More properties as keyword arguments, if their names are Python identifiers.
        """
        given = {**arguments.texts(properties), **arguments.texts(more, "properties")}
        configuration.table_properties(given)
        return evolution.commit(self, evolution.set_properties(given))

    def remove_properties(self, *names: str) -> Table:
        """Removes table properties in one commit. Properties that are not set are ignored."""
        return evolution.commit(self, evolution.remove_properties(arguments.columns(names)))

    def update_location(self, location: str | os.PathLike[str]) -> Table:
        """Records another location for the table. A table that is known by its folder can't have another location.

        Raises:
            UnsupportedError: The table is known by its folder.
        """
        return evolution.commit(self, evolution.set_location(os.fspath(location)))

    def upgrade(self, format_version: int) -> Table:
        """Raises the format version in one commit. This can't be undone.

        Args:
            format_version: 2 or 3.
        """
        return evolution.commit(self, evolution.upgrade(arguments.count("format_version", format_version)))

    def rollback(self, to: At, branch: str = "main") -> Table:
        """Moves a branch back to an earlier version: an ancestor of its snapshot.

        The later snapshots stay until they expire. A time means the last snapshot that was committed before it.

        Args:
            to: A snapshot's id, a tag, or a point in time.
            branch: The branch to move.

        Raises:
            InvalidInputError: That version is not an ancestor.
        """
        return evolution.commit(self, evolution.roll_back(branch, to))

    def set_current_snapshot(self, to: At, branch: str = "main") -> Table:
        """Moves a branch to any snapshot of the table, whether it is an ancestor or not.

        Args:
            to: A snapshot's id, a branch or tag, or a point in time (the snapshot that was current then).
            branch: The branch to move.
        """
        return evolution.commit(self, evolution.set_snapshot(branch, to))

    def writer(
        self,
        task: int = 0,
        branch: str | None = None,
        sort_by: Columns | None = None,
        overwrite: bool = False,
    ) -> Writer:
        """Creates a writer of files, which `commit` or `commit_overwrite` adds to the table later, from any process.

        Args:
            task: A number for this writer among those of one job. It becomes part of the names of its files.
            branch: The branch that deletes look at, if not `main`. Give it to `commit` too.
            sort_by: As for `append`.
            overwrite: Whether the files are for `commit_overwrite`. This matters for tables of Apache Paimon. Such rows
                do not continue the table's number of buckets and sequence numbers, and they have no changelog. `commit`
                refuses the messages of such a writer, and `commit_overwrite` refuses those of others. Tables of Iceberg
                ignore it.
        """
        return Writer(self._core, arguments.count("task", task), branch, arguments.order(sort_by), overwrite)

    def commit(
        self,
        messages: _core.CommitMessage | Iterable[_core.CommitMessage],
        snapshot_properties: Mapping[str, object] | None = None,
        branch: str | None = None,
    ) -> Table:
        """Commits the files of writers in one snapshot. Returns the table, now at its new version.

        The commit is an append, or a row delta if there are deletes. The deletes apply to rows of earlier commits, not
        to the rows that come with them. Committing the same messages to the same branch again changes nothing.

        Args:
            messages: What the methods of `Writer` returned, in this process or in others.
            snapshot_properties: As for `append`.
            branch: As for `append`.

        Raises:
            InvalidInputError: A message belongs to another table or to `Writer.rewrite`, its files no longer exist, or
                only some of the messages were committed before. Or the table is one of Apache Paimon, and a message
                belongs to `writer(overwrite=True)`.
            CommitConflictError: Rows were deleted by position, and their data file was removed. In format version 3:
                another commit deleted rows of the same file.
        """
        return self._moved(self._core.commit(_several(messages), arguments.texts(snapshot_properties), branch=branch))

    def commit_overwrite(
        self,
        messages: _core.CommitMessage | Iterable[_core.CommitMessage],
        where: Filter | None = None,
        partitions: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> Table:
        """Commits the files of writers in place of other rows, in one snapshot. Returns the table.

        Committing the same messages to the same branch again changes nothing. If the commit fails, the writers' files
        stay: give the messages to `abort`, or commit them again.

        Args:
            messages: What `Writer.write` returned, in this process or in others.
            where: The rows to replace, as for `overwrite`; None replaces all rows. For tables of Apache Paimon this
                selects whole partitions: conditions `column = value` joined by `and`. All new rows must belong to them.
            partitions: Replace the partitions that have new rows instead, as `overwrite_partitions` does.
            branch: The branch to change, if not `main`.
            snapshot_properties: Properties to add to the snapshot's summary.

        Raises:
            InvalidInputError: The filter does not fit. Or a message belongs to another table, has deletes or rewritten
                rows, or its files no longer exist. Or only some of the messages were committed before. Or the table is
                one of Apache Paimon, and a writer was made without `overwrite`.
            UnsupportedError: The table is one of Apache Paimon, and the filter selects less than whole partitions. Or
                `partitions` is given, and the key leaves out partition columns.
            CommitConflictError: Another commit changed what this one relies on (`write.delete.isolation-level`).
        """
        change = row_requests.replaced_by_messages(where, partitions)
        properties = arguments.texts(snapshot_properties)
        return self._moved(row_requests.commit_overwrite(self._core, change, _several(messages), properties, branch))

    def _check_overwrite(self, where: Filter | None = None, partitions: bool = False) -> None:
        """Raises the errors of `commit_overwrite` that do not depend on its messages."""
        row_requests.check_overwrite(self._core, row_requests.replaced_by_messages(where, partitions))

    def commit_rewrite(
        self,
        replaced: Iterable[_core.DataFile | _core.DeleteFile | _core.ScanTask],
        messages: _core.CommitMessage | Iterable[_core.CommitMessage],
        at: At,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> Table:
        """Replaces files by others that hold the same rows, in one snapshot. Returns the table.

        The snapshot's operation is `replace`, so readers of changes skip it. Deleted rows may be left out. The new
        files count as old as the version that was read. So equality deletes that were committed since then still apply
        to their rows.

        Args:
            replaced: The files to remove, as a scan gives them. For a task, this means its data file. Delete files can
                be removed only if all data files that they apply to are removed too, or if other delete files replace
                them.
            messages: What `Writer.rewrite` returned. The list can be empty if no row is left.
            at: The version at which the rows were read: the scan's `snapshot_id`. Later deletes are taken into account.
            branch: As for `append`.
            snapshot_properties: As for `append`.

        Raises:
            InvalidInputError: No file is replaced. Or the counts of rows differ from those of the replaced files (with
                equality deletes, there may be fewer rows). Or, in format version 3, rows have no ids or the wrong ids.
                Or a replaced delete file applies to data files that stay.
            CommitConflictError: Another commit removed one of the files, or deleted rows of it by position.
        """
        files = [file.data_file if isinstance(file, _core.ScanTask) else file for file in replaced]
        core = self._core.commit_rewrite(
            [file for file in files if isinstance(file, _core.DataFile)],
            [file for file in files if isinstance(file, _core.DeleteFile)],
            _several(messages),
            arguments.version(at),
            branch,
            arguments.texts(snapshot_properties),
        )
        return self._moved(core)

    def abort(self, messages: _core.CommitMessage | Iterable[_core.CommitMessage]) -> None:
        """Deletes the files of writers whose job was given up. Never call it for messages that may still be committed.

        Raises:
            InvalidInputError: The table contains a file of the messages. Nothing is deleted then.
        """
        self._core.abort(_several(messages))

    def writable_location(self) -> str:
        """The folder that commits write to.

        Raises:
            InvalidInputError: The table was opened with `moved=True`, or by a metadata file outside its folder.
            UnsupportedError: A catalog keeps the table's versions.
        """
        return self._core.writable_location()

    def __repr__(self) -> str:
        snapshot = self.snapshot
        parts = [tables.public(self.name), repr(tables.public(self.location)), f"{self.format} v{self.format_version}"]
        parts.append("empty" if snapshot is None else f"snapshot {snapshot.id}")
        parts += [] if snapshot is None else rows_of(snapshot.summary)
        names = self.schema.names
        shown = names[:_MOST_NAMES] + ([f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else [])
        return f"Table({', '.join(parts)}, columns {tables.public(', '.join(shown))})"

    def _repr_html_(self) -> str:
        snapshot = self.snapshot
        facts = [("name", self.name), ("location", self.location), ("format", f"{self.format} v{self.format_version}")]
        facts.append(("partitions", str(self.partition_spec)))
        facts += [("order", str(self.sort_order))] if self.sort_order.fields else []
        if snapshot is None:
            facts.append(("snapshot", "the table is empty"))
        else:
            facts.append(
                ("snapshot", f"{snapshot.id}, {snapshot.operation}, {snapshot.timestamp:%Y-%m-%d %H:%M:%S} UTC")
            )
            facts += [("rows", text) for text in rows_of(snapshot.summary)]
        properties = tables.grid(("property", ""), tables.public_options(self.properties).items())
        return tables.page("Table", tables.grid(("", ""), facts), self.schema._repr_html_(), properties)

    def __reduce__(self) -> tuple[type[Table], tuple[_core.Table]]:
        return Table, (self._core,)


@answers()
@checked
class Writer:
    """Writes files without committing them. A writer can be pickled, so a job can send it to its workers.

    The messages that its methods return can be pickled too. `Table.commit` makes one snapshot of all messages of a job.
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
        """Writes rows into new files. Returns the message that `Table.commit` takes. The message can be pickled.

        Args:
            data: As for `Table.append`.
        """
        return _watched(self._core.write(arguments.rows(data), self._task, False, self._overwrite, self._sort_by))

    def rewrite(self, data: Any) -> _core.CommitMessage:
        """Writes rows that were read from the table, for `Table.commit_rewrite`.

        Args:
            data: As for `Table.append`. In format version 3 it needs the columns `_row_id` and
                `_last_updated_sequence_number`, so that rows keep their identity.
        """
        return _watched(self._core.write(arguments.rows(data), self._task, True, False, self._sort_by))

    def upsert(self, data: Any, on: Columns | None = None) -> _core.CommitMessage:
        """Writes rows, and equality deletes of their keys, as `Table.upsert(blind=True)` does.

        Two writers of a job must not have the same key: both rows would be inserted.

        Args:
            data: As for `Table.append`.
            on: The columns of the key; None for the table's identifier fields.
        """
        return self._delta(row_requests.replace_keys(on), data)

    def delete_keys(self, data: Any, on: Columns | None = None) -> _core.CommitMessage:
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

    def __repr__(self) -> str:
        parts = [repr(tables.public(self._core.location)), f"task {self._task}"]
        parts += [] if self._branch is None else [f"branch {tables.public(self._branch)}"]
        parts += [] if self._sort_by is None else [f"sorted by {tables.public(', '.join(self._sort_by) or 'nothing')}"]
        parts += ["for commit_overwrite"] if self._overwrite else []
        return f"Writer({', '.join(parts)})"

    def _delta(self, change: RowChange, data: Any) -> _core.CommitMessage:
        rows = arguments.rows(data)
        return _watched(row_requests.write_delta(self._core, change, rows, self._branch, self._task))

    def __reduce__(self) -> tuple[type[Writer], tuple[_core.Table, int, str | None, list[str] | None, bool]]:
        return Writer, (self._core, self._task, self._branch, self._sort_by, self._overwrite)


@checked_call
def open_table(
    location: str | os.PathLike[str],
    storage_options: Mapping[str, object] | None = None,
    moved: bool = False,
    *,
    credential_provider: CredentialProvider | str | None = None,
    filesystem: Any | None = None,
) -> Table:
    """Opens a table by its location, without a catalog.

    Args:
        location: The table's root folder or one of its metadata files: a path, or a URI such as `s3://bucket/table`.
        storage_options: Credentials and settings of an object store, by the names of PyIceberg (`s3.endpoint`, …) or of
            `object_store` (`aws_region`, …). By default they come from the environment.
        moved: Set this if the table was copied here. Paths below its recorded location are then read below this one.
            Such a table can only be read.
        credential_provider: Called without arguments when credentials are needed. It returns storage options, and
            `expires_at` (a datetime, an ISO text or seconds since 1970) if they expire. It is called again before that.
            Its import path `package.module:function` can stand for it.
        filesystem: A file system of fsspec or pyarrow that has all the table's files, such as HDFS. It is slower than
            Frazil's own stores. Tables in most of them can only be read.

    Raises:
        NotFoundError: There is no table.
        CorruptTableError: The metadata can't be read.
        InvalidInputError: A storage option does not exist.
        StoreError: The store does not answer.
        PermissionDeniedError: The store refuses the credentials.

    Examples:
        >>> import frazil as fz
        >>> fz.open_table("/warehouse/db/events")  # doctest: +SKIP
    """
    options = {**arguments.texts(storage_options), **foreign.options(credential_provider, filesystem)}
    path = arguments.path("location", location)
    try:
        return Table(_core.Table.open(path, options, moved))
    except NotFoundError as error:
        if re.fullmatch(r"\w+(\.\w+)+", path) is None:
            raise
        error._add_hint(f"Give the table's folder. By its name in a catalog: frazil.load_table('{path}')", True)
        raise


def _several(messages: _core.CommitMessage | Iterable[_core.CommitMessage]) -> list[_core.CommitMessage]:
    return [messages] if isinstance(messages, _core.CommitMessage) else list(messages)


def _watched(message: _core.CommitMessage) -> _core.CommitMessage:
    """The message. If it is dropped before it was committed, given up or sent elsewhere, a warning says so."""
    if message.files or message.delete_files:
        message.watch(WrittenFiles())
    return message


_MOST_NAMES = 12


def _read_options(options: Mapping[str, object] | None, max_plan_bytes: int | None) -> dict[str, str]:
    read_options = arguments.texts(options)
    if max_plan_bytes is not None:
        read_options["max-plan-bytes"] = str(arguments.count("max_plan_bytes", max_plan_bytes))
    return read_options


def _snapshot(found: _core.SnapshotInfo) -> Snapshot:
    try:
        timestamp = arguments.EPOCH + dt.timedelta(milliseconds=found.timestamp_ms)
    except OverflowError:
        timestamp = (dt.datetime.max if found.timestamp_ms > 0 else dt.datetime.min).replace(tzinfo=dt.timezone.utc)
    return Snapshot(
        found.id,
        found.parent_id,
        found.sequence_number,
        timestamp,
        found.operation,
        found.summary,
        found.schema_id,
    )
