"""Names of maintenance, its results, and metadata tables."""

from __future__ import annotations

__all__ = ["NAMES"]

NAMES: dict[str, list[tuple[str, str, str]]] = {
    "Maintain": [
        ("Spark", "compact()", "rewrite_data_files"),
        ("PyIceberg", "expire_snapshots(snapshot_ids=id)", "by_id"),
        ("PyIceberg", "expire_snapshots(snapshot_ids=ids)", "by_ids"),
        ("PyIceberg", "expire_snapshots(older_than=time)", "older_than"),
        ("PyIceberg", "not needed: each call commits", "commit"),
        ("Spark", "rewrite_position_deletes()", "rewrite_position_delete_files"),
        ("Java Iceberg", "remove_orphan_files()", "delete_orphan_files"),
        ("Spark", "compute_statistics()", "compute_table_stats analyze"),
        ("Spark", "compute_partition_statistics()", "compute_partition_stats"),
        ("delta-rs", "compact()", "optimize"),
        ("delta-rs", "expire_snapshots() and remove_orphan_files()", "vacuum"),
        ("delta-rs", "compact(strategy='zorder', …)", "z_order"),
        ("Java Iceberg", "expire_snapshots()", "expire"),
        ("Spark", "table.rollback(to=id)", "rollback_to_snapshot"),
        ("Spark", "table.cherry_pick(id)", "cherrypick_snapshot publish_changes"),
        ("Spark", "table.refs.fast_forward(…)", "fast_forward"),
        ("Spark", "table.add_files(paths)", "add_files migrate snapshot"),
        ("Spark", "table.changes(…)", "create_changelog_view"),
        ("Spark", "table.inspect.history()", "ancestors_of"),
        ("Python", "expire_snapshots() and remove_orphan_files()", "clean cleanup gc"),
        ("lancedb", "compact()", "compact_files rewrite"),
        ("Spark", "compact(sort_by=…) or compact(zorder_by=…)", "sort zorder"),
        ("Python", "table.repair()", "repair"),
        ("Java Iceberg", "expire_snapshots(snapshot_ids=ids)", "delete_snapshots"),
    ],
    "Compacted": [
        (
            "Spark",
            "added_files, failed or rewritten_files",
            """
added_data_files_count failed_data_files_count removed_delete_files_count rewritten_data_files_count
""",
        ),
        ("Spark", "rewritten_bytes", "rewritten_bytes_count"),
        ("delta-rs", "_asdict()", "metrics to_dict"),
        ("delta-rs", "added_files", "numFilesAdded"),
        ("delta-rs", "rewritten_files", "numFilesRemoved"),
    ],
    "ExpiredSnapshots": [
        ("PyIceberg", "table.maintain.expire_snapshots(older_than=…)", "older_than"),
        ("PyIceberg", "table.maintain.expire_snapshots(snapshot_ids=[…])", "by_id by_ids"),
        ("Java Iceberg", "table.maintain.expire_snapshots(retain_last=…)", "retain_last"),
        ("PyIceberg", "not needed: each call commits", "commit"),
        ("Spark", "len(data_files)", "deleted_data_files_count"),
        ("Spark", "len(manifests)", "deleted_manifest_files_count"),
        ("Spark", "len(manifest_lists)", "deleted_manifest_lists_count"),
        ("Spark", "len(position_delete_files)", "deleted_position_delete_files_count"),
        ("Spark", "len(equality_delete_files)", "deleted_equality_delete_files_count"),
    ],
    "OrphanFiles": [
        ("Spark", "files", "orphan_file_location orphan_files"),
    ],
    "RewrittenManifests": [
        ("Spark", "len(added)", "added_manifests_count"),
        ("Spark", "len(rewritten)", "rewritten_manifests_count"),
    ],
    "Inspect": [
        ("Spark", "files()", "table_files"),
        ("Java Iceberg", "data_files()", "data"),
        ("Spark", "metadata_log_entries()", "metadata_logs"),
        ("Spark", "table.changes(since=…)", "audit_log binlog"),
        ("Spark", "table.scan(options={'scan.mode': 'compacted-full'})", "ro"),
        ("Spark", "snapshots()", "metadata"),
        ("Spark", "schemas(), or table.schema", "schema"),
        ("Spark", "options(), or table.properties", "properties"),
        ("Spark", "table.scan().statistics()", "statistics"),
        ("Spark", "table.scan().estimate()", "size"),
        ("PyIceberg", "all_files()", "all_known_files"),
        ("Spark", "table.schema, or schemas()", "columns"),
        ("Python", "snapshots() or history()", "log summary"),
        ("Spark", "table.scan().statistics()", "stats"),
    ],
}
"""By the class that is asked: the library, what to write, and the names."""
