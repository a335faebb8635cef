"""Transactions: several changes in one commit."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from frazil import _core, arguments
from frazil.arguments import At, Paths, configuration
from frazil.arguments.checked import checked
from frazil.display import tables
from frazil.display.figures import amount
from frazil.evolve import UpdatePartitionSpec, UpdateSchema, UpdateSortOrder
from frazil.exceptions import InvalidInputError, NotFoundError, UnsupportedError
from frazil.expr import Columns, Filter
from frazil.names import answers
from frazil.refs import RefChanges
from frazil.requests import evolution
from frazil.requests import rows as row_requests
from frazil.requests.evolution import Evolution
from frazil.requests.rows import RowChange
from frazil.requests.unfinished import Unfinished
from frazil.row_changes import RowChanges

if TYPE_CHECKING:
    from frazil.table import Table

__all__ = ["DryRun", "Transaction"]


class DryRun(NamedTuple):
    """What a transaction would do to the table in its present state.

    Attributes:
        snapshots: The number of snapshots that it makes.
        added_data_files: The number of data files that it adds.
        removed_data_files: The number of data files that it removes.
        added_rows: The number of rows in the data files that it adds.
        removed_rows: The number of rows in the data files that it removes.
        added_delete_files: The number of delete files and deletion vectors that it adds.
        removed_delete_files: The number of delete files and deletion vectors that it removes.
        total_data_files: The number of data files afterwards; None if the table does not record it.
        total_rows: The number of rows in them, including deleted rows; None if the table does not record it.
        manifests_written: The number of manifests that it writes.
        manifests_rewritten: The number of old manifests that these replace.
        metadata_bytes: The size of the metadata file, manifest lists and manifests that it writes.
    """

    snapshots: int
    added_data_files: int
    removed_data_files: int
    added_rows: int
    removed_rows: int
    added_delete_files: int
    removed_delete_files: int
    total_data_files: int | None
    total_rows: int | None
    manifests_written: int
    manifests_rewritten: int
    metadata_bytes: int


@answers()
@checked
class Transaction(RowChanges):
    """Changes that are committed together. The table's next version has all of them or none.

    `Table.transaction` makes one. `Catalog.create_table_transaction` makes one that creates its table. A context
    manager commits at the end of its block, unless the transaction was committed before. If an exception leaves the
    block, all changes are given up. This also happens to a transaction that is collected without a commit. Data
    files are written as soon as a change is added. Readers see nothing before the commit.
    """

    def __init__(self, table: Table, branch: str | None = None) -> None:
        self._table = table
        self._core = _core.Transaction.begin(table._core, branch)
        self._begin()

    def _begin(self, unfinished: Unfinished | None = None) -> None:
        self._unfinished = unfinished or Unfinished("a transaction", "Call its commit(), or make it in a with block")
        self._changes = 0

    def _step(self) -> Unfinished:
        """What one change is made in."""
        self._changes += 1
        return self._unfinished

    @classmethod
    def _of(cls, table: Table, core: _core.Transaction) -> Transaction:
        """A transaction that has begun."""
        made = cls.__new__(cls)
        made._table, made._core = table, core
        made._begin()
        return made

    def append(
        self,
        data: Any,
        snapshot_properties: Mapping[str, object] | None = None,
        sort_by: Columns | None = None,
    ) -> Transaction:
        """Adds rows. Returns the transaction. Consecutive appends make one snapshot.

        Args:
            data: As for `Table.append`.
            snapshot_properties: Properties to add to the snapshot's summary.
            sort_by: As for `Table.append`.
        """
        with self._step():
            self._core.append(arguments.rows(data), arguments.texts(snapshot_properties), arguments.order(sort_by))
        return self

    def _change_rows(
        self,
        change: RowChange,
        data: Any,
        branch: str | None,
        snapshot_properties: Mapping[str, object] | None,
    ) -> None:
        if branch is not None:
            raise InvalidInputError(
                "a transaction can only change one branch", hint=f"Start it with table.transaction(branch={branch!r})"
            )
        with self._step():
            rows = None if data is None else arguments.rows(data)
            row_requests.add_to_transaction(self._core, change, rows, arguments.texts(snapshot_properties))

    def delete_files(self, where: Filter) -> Transaction:
        """Removes the data files in which every row matches. Returns the transaction. No file is read or rewritten.

        Partition values and column metrics decide. If only some rows of a file may match, the commit fails with
        `CommitConflictError`.

        Args:
            where: A filter, as text or as an expression.
        """
        with self._step():
            self._core.delete_files(arguments.filter_text(where))
        return self

    def update_schema(self, allow_incompatible_changes: bool = False, case_sensitive: bool = True) -> UpdateSchema:
        """Changes columns, as `Table.update_schema` does. Later appends use the new schema."""
        return UpdateSchema(self._evolve, allow_incompatible_changes, case_sensitive)

    def update_partition_spec(self, case_sensitive: bool = True) -> UpdatePartitionSpec:
        """Changes how new rows are grouped into files, as `Table.update_partition_spec` does."""
        return UpdatePartitionSpec(self._evolve, case_sensitive)

    def update_sort_order(self, case_sensitive: bool = True) -> UpdateSortOrder:
        """Replaces the sort order for new files, as `Table.update_sort_order` does."""
        return UpdateSortOrder(self._evolve, case_sensitive)

    def add_files(
        self,
        paths: Paths,
        check_duplicate_files: bool = True,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> Transaction:
        """Makes existing Parquet files part of the table, as `Table.add_files` does. Returns the transaction.

        If the transaction is given up, the files stay where they are.
        """
        given = arguments.paths(paths)
        try:
            with self._step():
                self._core.add_files(given, check_duplicate_files, arguments.texts(snapshot_properties))
        except NotFoundError as error:
            raise arguments.no_file(error, given) from None
        return self

    @property
    def refs(self) -> RefChanges:
        """Changes branches and tags, by the methods of `Table.refs`: `tx.refs.create_tag("done")`.

        The current snapshot is the one that the transaction's changes so far lead to.
        """
        return RefChanges(self._evolve)

    def create_tag(
        self, name: str, at: At | None = None, *, max_ref_age_ms: int | dt.timedelta | None = None
    ) -> Transaction:
        """Creates a tag, as `Refs.create_tag` does. Returns the transaction."""
        self.refs.create_tag(name, at, max_ref_age_ms=max_ref_age_ms)
        return self

    def create_branch(self, name: str, at: At | None = None) -> Transaction:
        """Creates a branch, as `Refs.create_branch` does. Returns the transaction."""
        self.refs.create_branch(name, at)
        return self

    def upgrade(self, format_version: int) -> Transaction:
        """Raises the format version, as `Table.upgrade` does. Returns the transaction."""
        version = arguments.count("format_version", format_version)
        return self._evolve(evolution.upgrade(version))

    def set_properties(self, properties: Mapping[str, object] | None = None, **more: object) -> Transaction:
        """Sets table properties. Returns the transaction."""
        given = {**arguments.texts(properties), **arguments.texts(more, "properties")}
        configuration.table_properties(given)
        return self._evolve(evolution.set_properties(given))

    def remove_properties(self, *names: str) -> Transaction:
        """Removes table properties. Returns the transaction."""
        return self._evolve(evolution.remove_properties(arguments.columns(names)))

    def _evolve(self, change: Evolution) -> Transaction:
        with self._step():
            evolution.add_to_transaction(self._core, change)
        return self

    def cherry_pick(self, snapshot_id: int) -> Transaction:
        """Publishes the changes of a snapshot on `main`. Returns the transaction. See `Table.cherry_pick`."""
        with self._step():
            self._core.cherry_pick(snapshot_id)
        return self

    def dry_run(self) -> DryRun:
        """Returns what the transaction would do if it were committed now. Nothing is published."""
        counts, snapshots, metadata_bytes = self._core.dry_run()
        return DryRun(
            snapshots=snapshots,
            added_data_files=counts.get("added-data-files", 0),
            removed_data_files=counts.get("deleted-data-files", 0),
            added_rows=counts.get("added-records", 0),
            removed_rows=counts.get("deleted-records", 0),
            added_delete_files=counts.get("added-delete-files", 0),
            removed_delete_files=counts.get("removed-delete-files", 0),
            total_data_files=counts.get("total-data-files"),
            total_rows=counts.get("total-records"),
            manifests_written=counts.get("manifests-created", 0),
            manifests_rewritten=counts.get("manifests-replaced", 0),
            metadata_bytes=metadata_bytes,
        )

    def commit(self) -> Table:
        """Commits now. Returns the table, at its new version. The transaction has then ended.

        Raises:
            CommitConflictError: Another commit changed what this one relies on. Nothing was committed.
            CommitStateUnknownError: It is unknown whether the commit happened. Nothing was removed.
        """
        # If this fails, the caller knows.
        self._unfinished.end()
        return self._table._moved(self._core.commit())

    def abort(self) -> None:
        """Gives up the changes and removes the files that were written for them. The transaction has then ended."""
        self._unfinished.end()
        self._core.abort()

    def __enter__(self) -> Transaction:
        if self._core.ended():
            raise InvalidInputError("the transaction has ended", hint="Start another one with table.transaction()")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abort()
        elif not self._core.ended():
            self.commit()

    def __repr__(self) -> str:
        state = "ended" if self._core.ended() else "not committed"
        return f"Transaction({tables.public(self._location())!r}, {amount(self._changes, 'change')}, {state})"

    def _location(self) -> str:
        return self._table.location

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            "a transaction can't be pickled or copied, because it belongs to its process",
            hint="Write files in other processes with table.writer(), and commit their messages",
        )


class TransactionPart(Transaction):
    """The changes of one table in a transaction over several tables."""

    def __init__(self, core: _core.Transaction, identifier: str, unfinished: Unfinished) -> None:
        self._core = core
        self._identifier = identifier
        self._begin(unfinished)

    def _location(self) -> str:
        return self._identifier

    def commit(self) -> Table:
        """Refuses: one table can't be committed before the others."""
        raise self._refusal()

    def abort(self) -> None:
        """Refuses: one table can't be given up without the others."""
        raise self._refusal()

    def __enter__(self) -> Transaction:
        raise self._refusal()

    @staticmethod
    def _refusal() -> InvalidInputError:
        return InvalidInputError(
            "these changes belong to a transaction over several tables",
            hint="Commit or abort that transaction, or use it as the context manager",
        )
