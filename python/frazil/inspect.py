"""Metadata tables: a table's snapshots, manifests, files and partitions as Arrow tables.

They have the columns of Java Iceberg's metadata tables. For tables of Apache Paimon they have the columns of Java
Paimon's system tables instead (see the guide).

    table.inspect.snapshots()
    table.inspect.files()                                # what the current snapshot reads
    table.inspect.partitions(at="audit-2026")            # of a branch, a tag, a snapshot or a time

Columns are those of the table's current schema, whichever version `at` names. Branches of Paimon have schemas of their
own. `partition` is a struct with a member for every field of every partition spec of the table. A file has null in the
members that its own spec lacks. Tables that were never partitioned have no such column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _core, arguments
from frazil.arguments import At
from frazil.arguments.checked import checked
from frazil.names import answers

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Inspect"]


@answers("inspect")
@checked
class Inspect:
    """The metadata tables of a table: `table.inspect`.

    Some describe one version and take `at`: a snapshot's id, a branch or tag, or a point in time. Without it they show
    the newest version that the table object knows. Those named `all_…` cover every snapshot that the table still has.
    """

    def __init__(self, table: _core.Table) -> None:
        self._table = table

    def snapshots(self) -> pa.Table:
        """The snapshots that the table still has.

        Columns: `committed_at` (timestamp, UTC), `snapshot_id`, `parent_id`, `operation`, `manifest_list`,
        `summary` (map of texts).
        """
        return self._rows("snapshots")

    def history(self) -> pa.Table:
        """Which snapshot was current at which time.

        Columns: `made_current_at`, `snapshot_id`, `parent_id` (null if the snapshot has expired), `is_current_ancestor`
        (false for snapshots that were rolled back).
        """
        return self._rows("history")

    def refs(self) -> pa.Table:
        """Branches and tags.

        Columns: `name`, `type` (`BRANCH` or `TAG`), `snapshot_id`, `max_reference_age_in_ms`, `min_snapshots_to_keep`,
        `max_snapshot_age_in_ms`.
        """
        return self._rows("refs")

    def metadata_log_entries(self) -> pa.Table:
        """The table's metadata files that it still records, the current one last.

        Columns: `timestamp`, `file`, and for the snapshot that was current then `latest_snapshot_id`,
        `latest_schema_id`, `latest_sequence_number`.
        """
        return self._rows("metadata_log_entries")

    def metadata_log(self) -> pa.Table:
        """The same as `metadata_log_entries`."""
        return self.metadata_log_entries()

    def manifests(self, at: At | None = None) -> pa.Table:
        """The manifests of one version.

        Columns: `content` (0 data, 1 deletes), `path`, `length` (bytes), `partition_spec_id`, `added_snapshot_id`,
        `added_data_files_count`, `existing_data_files_count`, `deleted_data_files_count`, the same three for
        `…_delete_files_count`, `partition_summaries` (for each field of the spec `contains_null`, `contains_nan`,
        `lower_bound`, `upper_bound`, bounds as text). Counts that the manifest list lacks are null.
        """
        return self._rows("manifests", at)

    def all_manifests(self) -> pa.Table:
        """The manifests of every snapshot. A manifest has a row for each snapshot that lists it.

        Columns: those of `manifests`, then `reference_snapshot_id` (the snapshot that lists it) and `key_metadata`.
        """
        return self._rows("all_manifests")

    def entries(self, at: At | None = None) -> pa.Table:
        """The entries of the manifests of one version, including those of deleted files.

        Columns: `status` (0 existing, 1 added, 2 deleted), `snapshot_id`, `sequence_number`, `file_sequence_number`,
        `data_file` (a struct with the columns of `files`), `readable_metrics`.
        """
        return self._rows("entries", at)

    def all_entries(self) -> pa.Table:
        """The entries of all manifests of all snapshots, each manifest once. The columns are those of `entries`."""
        return self._rows("all_entries")

    def files(self, at: At | None = None) -> pa.Table:
        """The live data and delete files of one version.

        Columns: `content` (0 data, 1 position deletes, 2 equality deletes), `file_path`, `file_format`, `spec_id`,
        `partition` (struct), `record_count`, `file_size_in_bytes`, maps by column id: `column_sizes`, `value_counts`,
        `null_value_counts`, `nan_value_counts`, `lower_bounds`, `upper_bounds`; `key_metadata`, `split_offsets`,
        `equality_ids`, `sort_order_id`, `first_row_id`, `referenced_data_file`, `content_offset`,
        `content_size_in_bytes`, `readable_metrics` (for each primitive column, by its dotted name: `column_size`,
        `value_count`, `null_value_count`, `nan_value_count`, `lower_bound`, `upper_bound`, bounds as values).
        """
        return self._rows("files", at)

    def data_files(self, at: At | None = None) -> pa.Table:
        """As `files`, but only data files.

        For tables of Paimon: the columns of `files`, then `readable_metrics` (for each column without members, by its
        name: `null_value_count`, `lower_bound`, `upper_bound`, bounds as values).
        """
        return self._rows("data_files", at)

    def delete_files(self, at: At | None = None) -> pa.Table:
        """As `files`, but only delete files and deletion vectors."""
        return self._rows("delete_files", at)

    def all_files(self) -> pa.Table:
        """The files of all manifests of all snapshots, each manifest once. The columns are those of `files`.

        A file that several manifests list has several rows.
        """
        return self._rows("all_files")

    def all_data_files(self) -> pa.Table:
        """As `all_files`, but only data files."""
        return self._rows("all_data_files")

    def all_delete_files(self) -> pa.Table:
        """As `all_files`, but only delete files and deletion vectors."""
        return self._rows("all_delete_files")

    def partitions(self, at: At | None = None) -> pa.Table:
        """The partitions that have live files in one version, with figures. An unpartitioned table has one row.

        Columns: `partition` (struct), `spec_id`, `record_count`, `file_count`, `total_data_file_size_in_bytes` (of data
        files, deletes not subtracted), `position_delete_record_count`, `position_delete_file_count`,
        `equality_delete_record_count`, `equality_delete_file_count`, `last_updated_at` and `last_updated_snapshot_id`
        (of the newest snapshot that added a live file, null if it has expired). Tables that were never partitioned have
        neither `partition` nor `spec_id`.
        """
        return self._rows("partitions", at)

    def position_deletes(self, at: At | None = None) -> pa.Table:
        """The rows that position delete files and deletion vectors of one version delete, one row for each.

        Columns: `file_path` (the data file), `pos` (the row's position in it), `row` (the deleted row, if the delete
        file contains it), `partition` and `spec_id` of the delete file, `delete_file_path`. In format version 3 also
        `content_offset` and `content_size_in_bytes` (the place of a deletion vector in its file). Tables that were
        never partitioned have no `partition`.

        Raises:
            UnsupportedError: A delete file is encrypted.
        """
        return self._rows("position_deletes", at)

    def schemas(self) -> pa.Table:
        """For tables of Paimon: the schemas.

        Columns: `schema_id`, `fields`, `partition_keys`, `primary_keys`, `options` (JSON), `comment`, `update_time`.
        """
        return self._rows("schemas")

    def options(self) -> pa.Table:
        """For tables of Paimon: the options. Columns: `key`, `value`."""
        return self._rows("options")

    def tags(self) -> pa.Table:
        """For tables of Paimon: the tags.

        Columns: `tag_name`, `snapshot_id`, `schema_id`, `commit_time`, `record_count`, `create_time`, `time_retained`.
        """
        return self._rows("tags")

    def branches(self) -> pa.Table:
        """For tables of Paimon: the branches except `main`. Columns: `branch_name`, `create_time`."""
        return self._rows("branches")

    def consumers(self) -> pa.Table:
        """For tables of Paimon: the consumers that read changes. Columns: `consumer_id`, `next_snapshot_id`."""
        return self._rows("consumers")

    def loads(self) -> pa.Table:
        """For tables of Paimon: the files of other formats whose rows were loaded by COPY INTO.

        Columns: `file_path`, `file_size_in_bytes`, `last_modified`, `loaded_at`, `snapshot_id`, `record_count`. A path
        has neither the user information nor the query of its URI.
        """
        import pyarrow as pa

        rows = self._rows("loads")
        column = rows.schema.get_field_index("file_path")
        paths = [arguments.public_path(path) for path in rows.column(column).to_pylist()]
        return rows.set_column(column, rows.schema.field(column), pa.array(paths, rows.schema.field(column).type))

    def buckets(self, at: At | None = None) -> pa.Table:
        """For tables of Paimon: the buckets that have files in one version.

        Columns: `partition`, `bucket`, `record_count`, `file_size_in_bytes`, `file_count`, `last_update_time`.
        """
        return self._rows("buckets", at)

    def table_indexes(self, at: At | None = None) -> pa.Table:
        """For tables of Paimon: the index files of one version.

        Columns: `partition`, `bucket`, `index_type`, `file_name`, `file_size`, `row_count`, `dv_ranges` (for deletion
        vectors: data file, offset, length and number of rows).
        """
        return self._rows("table_indexes", at)

    def _rows(self, name: str, at: At | None = None) -> pa.Table:
        from frazil import interop

        return interop.table_of(self._table.inspect(name, arguments.version(at)))

    def __repr__(self) -> str:
        return f"Inspect({self._table.location!r})"
