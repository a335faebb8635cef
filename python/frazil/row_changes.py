"""Changes of rows, which tables and transactions have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from frazil import arguments
from frazil.arguments.checked import checked
from frazil.expr import Predicate
from frazil.requests import rows as row_requests
from frazil.requests.rows import RowChange, merge_change, update_change

__all__ = ["RowChanges", "merge_change", "update_change"]

_T = TypeVar("_T", bound="RowChanges")


@checked
class RowChanges:
    """Delete, overwrite, update, upsert and merge, and deletes by key or position that look for no rows.

    Each is one snapshot. On a table it is one commit, planned on the newest version; in a transaction it is planned on
    what the changes before it leave. If it changes no row, nothing is committed.
    """

    def _change_rows(
        self,
        change: RowChange,
        data: Any,
        branch: str | None,
        snapshot_properties: Mapping[str, object] | None,
    ) -> None:
        raise NotImplementedError

    def delete(
        self: _T,
        where: str | Predicate,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> _T:
        """Deletes the rows on which a filter is true; returns the table.

        Files of which every row matches go by metadata alone. Of the others, property `write.delete.mode` says whether
        they are written anew (`copy-on-write`, the default) or delete files name the rows (`merge-on-read`).

        Args:
            where: Rows to delete, as text or expression, as for `Table.scan`.
            branch: The branch to change, if not `main`.
            snapshot_properties: Members for the snapshot's summary.

        Raises:
            InvalidInputError: The filter does not fit the schema.
            CommitConflictError: Another commit changed what this one relies on (`write.delete.isolation-level`).
        """
        self._change_rows(row_requests.delete(where), None, branch, snapshot_properties)
        return self

    def overwrite(
        self: _T,
        data: Any,
        where: str | Predicate | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> _T:
        """Replaces rows by others in one snapshot; returns the table.

        Files of which only some rows match the filter are written anew without them.

        Args:
            data: The new rows, as for `Table.append`. They need not match the filter, unless it names whole
                partitions of a table of Apache Paimon.
            where: Rows to replace, as for `Table.scan`; None replaces all.
            branch: The branch to change, if not `main`.
            snapshot_properties: Members for the snapshot's summary.

        Raises:
            InvalidInputError: The filter or the columns do not fit the schema.
            CommitConflictError: Another commit changed what this one relies on (`write.delete.isolation-level`).
        """
        self._change_rows(row_requests.overwrite(where), arguments.rows(data), branch, snapshot_properties)
        return self

    def overwrite_partitions(
        self: _T, data: Any, branch: str | None = None, snapshot_properties: Mapping[str, object] | None = None
    ) -> _T:
        """Replaces all partitions that there are new rows for, in one snapshot; returns the table.

        A table without partitions is replaced as a whole; without any rows, nothing is. Files that an older partition
        spec made stay.

        Args:
            data: The new rows, as for `Table.append`.
            branch: The branch to change, if not `main`.
            snapshot_properties: Members for the snapshot's summary.

        Raises:
            InvalidInputError: The columns do not fit the schema.
        """
        self._change_rows(row_requests.overwrite_partitions(), arguments.rows(data), branch, snapshot_properties)
        return self

    def update(
        self: _T,
        where: str | Predicate,
        values: Mapping[str, object],
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> _T:
        """Gives columns of the rows on which a filter is true other values; returns the table.

        Property `write.update.mode` says whether files are written anew (`copy-on-write`, the default) or delete files
        name the old rows (`merge-on-read`). The summary's member `frazil.rows-updated` counts the rows.

        Args:
            where: Rows to update, as for `Table.scan`; `"true"` for all.
            values: New values by column: a value of a type that filters take, None for null, or another column of the
                same type (`col("other")`), by its value before the update.
            branch: The branch to change, if not `main`.
            snapshot_properties: Members for the snapshot's summary.

        Raises:
            InvalidInputError: The filter, a column or a value does not fit the schema.
            UnsupportedError: A column is a struct, list or map and is to have a value.
            CommitConflictError: Another commit changed what this one relies on (`write.update.isolation-level`).
        """
        self._change_rows(update_change(where, values), None, branch, snapshot_properties)
        return self

    def upsert(
        self: _T,
        data: Any,
        on: Sequence[str] | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
        blind: bool = False,
    ) -> _T:
        """Updates the rows that match others by a key, and inserts the others of these; returns the table.

        Rows that are equal already stay as they are; columns that the data lacks keep their values. A key with a null
        in it matches nothing, as in SQL, so that such rows are inserted. The summary's members `frazil.rows-updated`
        and `frazil.rows-inserted` count the rows. See `merge` for more.

        Args:
            data: The rows, as for `Table.append`; they are held in memory.
            on: The columns of the key, members of structs with dots (`s.a`, but not where `blind`); None for the
                table's identifier fields.
            branch: The branch to change, if not `main`.
            snapshot_properties: Members for the snapshot's summary.
            blind: Do not look at the table: write the rows, and equality deletes of their keys that reach whatever was
                committed before. It takes the same time however large the table is, and readers pay for it until the
                table is compacted. Only keys are held in memory; columns that the data lacks become null or their
                default; rows that are equal already are replaced too, nothing is counted, rows get new row ids, and a
                null in a key is refused. The key must tell the partition, as for `delete_keys`.

        Raises:
            InvalidInputError: The columns do not fit the schema, or two rows of the data have the same key.
            UnsupportedError: `blind`, and the table is of format version 1.
            CommitConflictError: Another commit changed what this one relies on (`write.merge.isolation-level`).
        """
        if blind:
            self._change_rows(row_requests.replace_keys(on), arguments.rows(data), branch, snapshot_properties)
            return self
        return self.merge(
            data,
            on,
            when_matched_update=True,
            when_not_matched_insert=True,
            branch=branch,
            snapshot_properties=snapshot_properties,
        )

    def delete_keys(
        self: _T,
        data: Any,
        on: Sequence[str] | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> _T:
        """Deletes the rows that have one of some keys, without looking for them; returns the table.

        The keys become equality delete files, which reach whatever was committed before. It takes the same time however
        large the table is; readers leave the rows out until the table is compacted. A null in a key means rows with a
        null there. Where the table is partitioned the key must tell the partition: it has the columns that the table is
        partitioned by, unless one of the table's specs has no partitions.

        Args:
            data: Rows with the columns of the key, anything that `Table.append` takes; other columns do not count.
            on: The columns of the key; None for the table's identifier fields. Columns of type float or double can't be
                in it.
            branch: The branch to change, if not `main`.
            snapshot_properties: Members for the snapshot's summary.

        Raises:
            InvalidInputError: The columns do not fit, or do not tell the partition.
            UnsupportedError: The table is of format version 1.
            CommitConflictError: Another commit added files of a partition spec that the keys do not reach.
        """
        self._change_rows(row_requests.delete_keys(on), arguments.rows(data), branch, snapshot_properties)
        return self

    def delete_positions(
        self: _T,
        data: Any,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> _T:
        """Deletes rows that are named by their data file and position; returns the table.

        No row is read. The positions become position delete files in format version 2, and deletion vectors in 3, which
        take in those that there are. Data files without a row left go.

        Args:
            data: Rows with the columns `file_path` and `pos`, or `_file` and `_pos` as
                `scan(select=["_file", "_pos"])` gives them; other columns do not count.
            branch: The branch to change, if not `main`.
            snapshot_properties: Members for the snapshot's summary.

        Raises:
            InvalidInputError: The columns are others, the table has no such file, or the file no such row.
            UnsupportedError: The table is of format version 1.
            CommitConflictError: A file is not in the table any more, or (version 3) another commit deleted rows of it.
        """
        self._change_rows(row_requests.delete_positions(), arguments.rows(data), branch, snapshot_properties)
        return self

    def merge(
        self: _T,
        data: Any,
        on: Sequence[str] | None = None,
        *,
        when_matched_update: bool | Mapping[str, str] = False,
        when_matched_delete: bool | str | Predicate = False,
        when_not_matched_insert: bool | Mapping[str, str] = False,
        when_not_matched_by_source_delete: bool | str | Predicate = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> _T:
        """Updates, deletes and inserts rows by how they match others by a key; returns the table.

        Keys are equal as in Spark: NaN equals NaN, -0.0 equals 0.0, null equals nothing. Property `write.merge.mode`
        says whether files are written anew (`copy-on-write`, the default) or delete files name the old rows
        (`merge-on-read`). Members `frazil.rows-updated`, `frazil.rows-inserted` and `frazil.rows-deleted` of the
        summary count the rows.

        Args:
            data: The rows, anything that `Table.append` takes; they are held in memory.
            on: The columns of the key, in the table and in the data, members of structs with dots (`s.a`); None for the
                table's identifier fields.
            when_matched_update: Update rows that match: True gives all columns of the data to those of the same name; a
                dictionary names the table's columns and, for each, the data's. Rows that are equal already stay.
            when_matched_delete: Delete rows that match. It goes before the update. A filter of the data's columns says
                which of its rows do so (`"op = 'D'"`); such rows of the data are never inserted.
            when_not_matched_insert: Insert rows of the data that match nothing; True or a dictionary as for the update.
            when_not_matched_by_source_delete: Delete rows of the table that match nothing; a filter of the table's
                columns says which. It takes a look at the keys of the whole table.
            branch: The branch to change, if not `main`.
            snapshot_properties: Members for the snapshot's summary.

        Raises:
            InvalidInputError: Columns or filters do not fit, or two rows of the data have the same key.
            UnsupportedError: A key column has a type that can't be compared.
            CommitConflictError: Another commit changed what this one relies on (`write.merge.isolation-level`).
        """
        change = merge_change(
            on,
            when_matched_update,
            when_matched_delete,
            when_not_matched_insert,
            when_not_matched_by_source_delete,
        )
        self._change_rows(change, arguments.rows(data), branch, snapshot_properties)
        return self
