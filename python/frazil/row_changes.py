"""Changes of rows, for tables and transactions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from frazil import arguments
from frazil.arguments.checked import checked
from frazil.expr import Columns, Filter
from frazil.requests import rows as row_requests
from frazil.requests.rows import RowChange, merge_change, update_change

__all__ = ["RowChanges", "merge_change", "update_change"]

_T = TypeVar("_T", bound="RowChanges")


@checked
class RowChanges:
    """Delete, overwrite, update, upsert and merge, and blind deletes by key or position.

    Each makes one snapshot. On a table it is one commit, planned on the newest version. In a transaction it is planned
    on the result of the changes before it. If it changes no row, nothing is committed.
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
        where: Filter,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> _T:
        """Deletes the rows for which a filter is true. Returns the table.

        Files in which every row matches are removed by metadata alone. For the other files, property
        `write.delete.mode` decides. With `copy-on-write`, the default, they are rewritten. With `merge-on-read`, delete
        files name the rows.

        Args:
            where: The rows to delete, as text or expression, as for `Table.scan`.
            branch: The branch to change, if not `main`.
            snapshot_properties: Properties to add to the snapshot's summary.

        Raises:
            InvalidInputError: The filter does not fit the schema.
            CommitConflictError: Another commit changed what this one relies on (`write.delete.isolation-level`).
        """
        self._change_rows(row_requests.delete(where), None, branch, snapshot_properties)
        return self

    def overwrite(
        self: _T,
        data: Any,
        where: Filter | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> _T:
        """Replaces rows by others in one snapshot. Returns the table.

        Files in which only some rows match the filter are rewritten without these rows.

        Args:
            data: The new rows, as for `Table.append`. They need not match the filter, except if the filter names whole
                partitions of a table of Apache Paimon.
            where: The rows to replace, as for `Table.scan`; None replaces all rows.
            branch: The branch to change, if not `main`.
            snapshot_properties: Properties to add to the snapshot's summary.

        Raises:
            InvalidInputError: The filter or the columns do not fit the schema.
            CommitConflictError: Another commit changed what this one relies on (`write.delete.isolation-level`).
        """
        self._change_rows(row_requests.overwrite(where), arguments.rows(data), branch, snapshot_properties)
        return self

    def overwrite_partitions(
        self: _T, data: Any, branch: str | None = None, snapshot_properties: Mapping[str, object] | None = None
    ) -> _T:
        """Replaces all partitions that have new rows, in one snapshot. Returns the table.

        A table without partitions is replaced as a whole. If there are no rows, nothing is replaced. Files of an older
        partition spec stay.

        Args:
            data: The new rows, as for `Table.append`.
            branch: The branch to change, if not `main`.
            snapshot_properties: Properties to add to the snapshot's summary.

        Raises:
            InvalidInputError: The columns do not fit the schema.
        """
        self._change_rows(row_requests.overwrite_partitions(), arguments.rows(data), branch, snapshot_properties)
        return self

    def update(
        self: _T,
        where: Filter,
        values: Mapping[str, object],
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> _T:
        """Changes columns of the rows for which a filter is true. Returns the table.

        Property `write.update.mode` decides how. With `copy-on-write`, the default, files are rewritten. With
        `merge-on-read`, delete files name the old rows. The summary's property `frazil.rows-updated` counts the rows.

        Args:
            where: The rows to update, as for `Table.scan`; `"true"` for all rows.
            values: The new values by column: a value of a type that filters take, None for null, or another column of
                the same type (`col("other")`). Another column counts with its value before the update.
            branch: The branch to change, if not `main`.
            snapshot_properties: Properties to add to the snapshot's summary.

        Raises:
            InvalidInputError: The filter, a column or a value does not fit the schema.
            UnsupportedError: A new value is for a column that is a struct, list or map.
            CommitConflictError: Another commit changed what this one relies on (`write.update.isolation-level`).
        """
        self._change_rows(update_change(where, values), None, branch, snapshot_properties)
        return self

    def upsert(
        self: _T,
        data: Any,
        on: Columns | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
        blind: bool = False,
    ) -> _T:
        """Updates the rows that match the data by a key, and inserts the other rows of the data. Returns the table.

        Rows that are already equal stay as they are. Columns that the data lacks keep their values. A key that contains
        null matches nothing, as in SQL, so such rows are inserted. The summary's properties `frazil.rows-updated` and
        `frazil.rows-inserted` count the rows. See `merge` for more.

        Args:
            data: The rows, as for `Table.append`. They are held in memory.
            on: The columns of the key; None for the table's identifier fields. Members of structs are given with dots
                (`s.a`), but not with `blind`.
            branch: The branch to change, if not `main`.
            snapshot_properties: Properties to add to the snapshot's summary.
            blind: Do not look at the table. Write the rows, and equality deletes of their keys, which apply to all
                earlier commits. The time does not depend on the table's size, but reads are slower until the table is
                compacted. Only keys are held in memory. Columns that the data lacks become null or get their default.
                Rows that are already equal are replaced too, rows get new row ids, and nothing is counted. A null in a
                key is refused. The key must determine the partition, as for `delete_keys`.

        Raises:
            InvalidInputError: The columns do not fit, or two rows of the data have the same key.
            UnsupportedError: `blind` is set, and the table has format version 1.
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
        on: Columns | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> _T:
        """Deletes the rows that have one of the given keys, without looking for them. Returns the table.

        The keys become equality delete files, which apply to all earlier commits. The time does not depend on the
        table's size, but reads are slower until the table is compacted. A null in a key matches rows with a null there.
        In a partitioned table the key must determine the partition: it has to contain the columns that the table is
        partitioned by, unless one of the table's specs has no partitions.

        Args:
            data: Rows with the columns of the key: anything that `Table.append` takes. Other columns are ignored.
            on: The columns of the key; None for the table's identifier fields. Columns of type float or double can't be
                part of it.
            branch: The branch to change, if not `main`.
            snapshot_properties: Properties to add to the snapshot's summary.

        Raises:
            InvalidInputError: The columns do not fit, or do not determine the partition.
            UnsupportedError: The table has format version 1.
            CommitConflictError: Another commit added files of a partition spec that the keys do not apply to.
        """
        self._change_rows(row_requests.delete_keys(on), arguments.rows(data), branch, snapshot_properties)
        return self

    def delete_positions(
        self: _T,
        data: Any,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> _T:
        """Deletes rows that are given by data file and position. Returns the table.

        No row is read. The positions become position delete files in format version 2, and deletion vectors in format
        version 3. A new deletion vector includes the existing one of its file. Data files that have no rows left are
        removed.

        Args:
            data: Rows with the columns `file_path` and `pos`, or `_file` and `_pos` as `scan(select=["_file", "_pos"])`
                returns them. Other columns are ignored.
            branch: The branch to change, if not `main`.
            snapshot_properties: Properties to add to the snapshot's summary.

        Raises:
            InvalidInputError: The columns are missing, the table has no such file, or the file has no such row.
            UnsupportedError: The table has format version 1.
            CommitConflictError: A file is no longer in the table. In format version 3: another commit deleted rows of
                it.
        """
        self._change_rows(row_requests.delete_positions(), arguments.rows(data), branch, snapshot_properties)
        return self

    def merge(
        self: _T,
        data: Any,
        on: Columns | None = None,
        *,
        when_matched_update: bool | Mapping[str, str] = False,
        when_matched_delete: bool | Filter = False,
        when_not_matched_insert: bool | Mapping[str, str] = False,
        when_not_matched_by_source_delete: bool | Filter = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> _T:
        """Updates, deletes and inserts rows, by how they match other rows by a key. Returns the table.

        Keys are compared as in Spark: NaN equals NaN, -0.0 equals 0.0, and null equals nothing. Property
        `write.merge.mode` decides how. With `copy-on-write`, the default, files are rewritten. With `merge-on-read`,
        delete files name the old rows. The summary's properties `frazil.rows-updated`, `frazil.rows-inserted` and
        `frazil.rows-deleted` count the rows.

        Args:
            data: The rows: anything that `Table.append` takes. They are held in memory.
            on: The columns of the key, in the table and in the data; None for the table's identifier fields. Members of
                structs are given with dots (`s.a`).
            when_matched_update: Update the rows that match. True copies all columns of the data to the columns of the
                same name. A dictionary maps columns of the table to columns of the data. Rows that are already equal
                stay.
            when_matched_delete: Delete the rows that match. Deletes come before updates. A filter of the data's columns
                selects the rows of the data that delete (`"op = 'D'"`). Such rows are never inserted.
            when_not_matched_insert: Insert the rows of the data that match nothing: True or a dictionary, as for the
                update.
            when_not_matched_by_source_delete: Delete the rows of the table that match nothing: True, or a filter of the
                table's columns that selects the rows. This reads the keys of the whole table.
            branch: The branch to change, if not `main`.
            snapshot_properties: Properties to add to the snapshot's summary.

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
