"""Statements of Iceberg's page on procedures."""

from __future__ import annotations

from collections.abc import Callable

from spark_statements.case import BRANCH, ICEBERG, NEW, PROCEDURES, TAG, After, Case, S


def _call(statement: str, check: Callable[[After], object], *before: str) -> Case:
    return Case(ICEBERG, PROCEDURES, statement, check, before)


def _call_no(statement: str, refused: str, remedy: str) -> Case:
    return Case(ICEBERG, PROCEDURES, statement, None, (), "db.sample", refused, remedy)


C = "CALL prod.system."
COMPACTED = "CALL prod.system.rewrite_data_files(table => 'db.sample', options => map('rewrite-all', 'true'))"
PROCEDURE_CASES = [
    _call(f"{C}rollback_to_snapshot('db.sample', $1)", lambda a: tuple(a.rows[0]) == (a.ids[1], a.ids[0])),
    _call(
        f"{C}rollback_to_timestamp('db.sample', TIMESTAMP '$time')",
        lambda a: tuple(a.rows[0]) == (a.ids[1], a.ids[0]) and a.of("id") == [1, 2],
    ),
    _call(f"{C}set_current_snapshot('db.sample', $1)", lambda a: a.of("id") == [1, 2]),
    _call(
        f"{C}set_current_snapshot(table => 'db.sample', ref => 'historical-tag')",
        lambda a: a.of("id") == [1, 2],
        TAG + " AS OF VERSION $1",
    ),
    _call(
        f"{C}cherrypick_snapshot('db.sample', $2)",
        lambda a: a.rows[0].source_snapshot_id == a.ids[1] and a.of("id") == [1, 2, 3],
        f"{C}set_current_snapshot('db.sample', $1)",
    ),
    _call(
        f"{C}cherrypick_snapshot(snapshot_id => $2, table => 'db.sample')",
        lambda a: a.of("id") == [1, 2, 3],
        f"{C}set_current_snapshot('db.sample', $1)",
    ),
    *[
        _call(
            f"{C}publish_changes({arguments})",
            lambda a: a.of("id") == [1, 2, 3, 4] and a.rows[0].current_snapshot_id == a.table.snapshot.id,
            f"ALTER TABLE {S} SET TBLPROPERTIES ('write.wap.enabled'='true')",
            "SET spark.wap.id=wap_id_1",
            f"INSERT INTO {S} VALUES (4, 'd', 'z', NULL)",
        )
        for arguments in ("'db.sample', 'wap_id_1'", "wap_id => 'wap_id_1', table => 'db.sample'")
    ],
    _call(
        f"{C}fast_forward('db.sample', 'main', 'audit-branch')",
        lambda a: tuple(a.rows[0]) == ("main", a.ids[1], a.table.snapshot.id) and a.of("id") == [1, 2, 3, 4],
        BRANCH,
        f"INSERT INTO {S}.`branch_audit-branch` VALUES (4, 'd', 'z', NULL)",
    ),
    _call(
        f"{C}expire_snapshots('db.sample', TIMESTAMP '2100-01-01 00:00:00.000', 1)",
        lambda a: len(a.table.snapshots) == 1 and a.rows[0].deleted_manifest_lists_count == 1,
    ),
    _call(
        f"{C}expire_snapshots(table => 'db.sample', snapshot_ids => ARRAY($1))",
        lambda a: [s.id for s in a.table.snapshots] == [a.ids[1]],
    ),
    *[
        _call(f"{C}remove_orphan_files(table => 'db.sample', {argument})", lambda a: a.rows == [])
        for argument in (
            "dry_run => true",
            "prefix_mismatch_mode => 'IGNORE'",
            "prefix_mismatch_mode => 'DELETE'",
            "equal_schemes => map('file', 'file1')",
            "equal_authorities => map('ns1', 'ns2')",
            "prefix_listing => true",
        )
    ],
    _call(
        f"{C}remove_orphan_files(table => 'db.sample', location => '$place/data')",
        lambda a: a.rows == [],
    ),
    _call_no(
        f"{C}remove_orphan_files(table => 'db.sample', file_list_view => 'files_view')",
        "file_list_view can't be used",
        "without the argument: Frazil lists the files",
    ),
    _call(f"{C}rewrite_data_files('db.sample')", lambda a: a.rows[0].rewritten_data_files_count == 0),
    _call(
        f"{C}rewrite_data_files(table => 'db.sample', strategy => 'sort', "
        "sort_order => 'id DESC NULLS LAST,data ASC NULLS FIRST', options => map('rewrite-all', 'true'))",
        lambda a: tuple(a.rows[0])[:2] == (2, 1) and a.table.scan().to_arrow()["id"].to_pylist() == [3, 2, 1],
    ),
    _call(
        f"{C}rewrite_data_files(table => 'db.sample', strategy => 'sort', sort_order => 'zorder(id,data)', "
        "options => map('rewrite-all', 'true'))",
        lambda a: tuple(a.rows[0])[:2] == (2, 1) and a.of("id") == [1, 2, 3],
    ),
    _call(
        f"{C}rewrite_data_files(table => 'db.sample', "
        "options => map('min-input-files', '2', 'remove-dangling-deletes', 'true'))",
        lambda a: tuple(a.rows[0])[:2] == (2, 1) and a.of("id") == [1, 2, 3],
    ),
    _call(
        f"{C}rewrite_data_files(table => 'db.sample', where => 'id = 3 and data = \"c\"')",
        lambda a: a.rows[0].rewritten_data_files_count == 0,
    ),
    _call(f"{C}rewrite_manifests('db.sample')", lambda a: tuple(a.rows[0]) == (2, 1)),
    _call(f"{C}rewrite_manifests(table => 'db.sample', spec_id => 0)", lambda a: tuple(a.rows[0]) == (2, 1)),
    _call(
        f"{C}rewrite_manifests(table => 'db.sample', sort_by => array('category'))",
        lambda a: a.of("id") == [1, 2, 3],
        f"REPLACE TABLE {S} USING iceberg PARTITIONED BY (category) AS SELECT * FROM {S}",
    ),
    _call(f"{C}rewrite_position_delete_files('db.sample')", lambda a: tuple(a.rows[0]) == (0, 0, 0, 0)),
    *[
        _call(
            f"{C}rewrite_position_delete_files(table => 'db.sample', options => map({options}))",
            lambda a: a.rows[0].added_delete_files_count <= 1 and a.of("id") == [3],
            f"ALTER TABLE {S} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')",
            f"DELETE FROM {S} WHERE id = 1",
            f"INSERT INTO {S} VALUES (2, 'z', 'z', NULL)",
            f"DELETE FROM {S} WHERE id = 2",
        )
        for options in ("'rewrite-all', 'true'", "'min-input-files', '2'")
    ],
    _call(
        f"{C}snapshot('spark_source', 'db.fresh')",
        lambda a: a.rows[0].imported_files_count >= 1 and a.catalog.load_table("db.fresh").scan().count() == 3,
        "SET spark.sql.parquet.compression.codec=zstd",
        "CREATE TABLE spark_source USING parquet LOCATION '$place-source' AS SELECT id FROM range(3)",
    ),
    _call(
        f"{C}snapshot('spark_source', 'db.fresh', '$place-fresh')",
        lambda a: a.catalog.load_table("db.fresh").location.endswith("-fresh"),
        "SET spark.sql.parquet.compression.codec=zstd",
        "CREATE TABLE spark_source USING parquet LOCATION '$place-source' AS SELECT id FROM range(3)",
    ),
    _call_no(
        f"{C}migrate('spark_catalog.db.sample', map('foo', 'bar'))",
        "migrate can't be done",
        "`system.snapshot`, then drop the source",
    ),
    _call_no(f"{C}migrate('db.sample')", "migrate can't be done", "`system.snapshot`, then drop the source"),
    _call(
        f"{C}add_files(table => 'db.fresh', source_table => 'spark_source', partition_filter => map('part', 'A'))",
        lambda a: a.rows[0].added_files_count >= 1 and a.catalog.load_table("db.fresh").scan().count() == 3,
        "SET spark.sql.parquet.compression.codec=zstd",
        "CREATE TABLE spark_source USING parquet PARTITIONED BY (part) LOCATION '$place-source' AS "
        "SELECT id, if(id < 3, 'A', 'B') AS part FROM range(5)",
        f"CREATE TABLE {NEW} (id bigint, part string) PARTITIONED BY (part)",
    ),
    _call(
        f"{C}add_files(table => 'db.fresh', source_table => '`parquet`.`$place-files`')",
        lambda a: a.catalog.load_table("db.fresh").scan().count() == 3,
        "SET spark.sql.parquet.compression.codec=zstd",
        "INSERT OVERWRITE DIRECTORY '$place-files' USING parquet SELECT id FROM range(3)",
        f"CREATE TABLE {NEW} (id bigint)",
    ),
    _call(
        f"{C}register_table(table => 'db.registered', metadata_file => '$metadata')",
        lambda a: tuple(a.rows[0]) == (a.ids[1], 3, 2),
    ),
    _call(f"{C}ancestors_of('db.sample')", lambda a: [row.snapshot_id for row in a.rows] == a.ids[::-1]),
    _call(f"{C}ancestors_of('db.sample', $1)", lambda a: [row.snapshot_id for row in a.rows] == a.ids[:1]),
    _call(
        f"{C}ancestors_of(snapshot_id => $1, table => 'db.sample')",
        lambda a: [row.snapshot_id for row in a.rows] == a.ids[:1],
    ),
    _call(
        f"{C}create_changelog_view(table => 'db.sample', "
        "options => map('start-snapshot-id', '$1', 'end-snapshot-id', '$2'))",
        lambda a: [(r.id, r._change_type) for r in a.spark.table("sample_changes").collect()] == [(3, "INSERT")],
    ),
    _call(
        f"{C}create_changelog_view(table => 'db.sample', options => map('start-timestamp', '1678335750489', "
        "'end-timestamp', '4102444800000'), changelog_view => 'my_changelog_view')",
        lambda a: a.rows[0].changelog_view == "my_changelog_view" and a.spark.table("my_changelog_view").count() == 3,
    ),
    _call(
        f"{C}create_changelog_view(table => 'db.sample', options => map('start-snapshot-id', '$2'), "
        "identifier_columns => array('id'))",
        lambda a: (
            sorted((r._change_type, r.data) for r in a.spark.table("sample_changes").collect())
            == [("UPDATE_AFTER", "new"), ("UPDATE_BEFORE", "a")]
        ),
        f"UPDATE {S} SET data = 'new' WHERE id = 1",
    ),
    _call(
        f"{C}create_changelog_view(table => 'db.sample', net_changes => true)",
        lambda a: sorted(r.id for r in a.spark.table("sample_changes").collect()) == [2, 3],
        f"DELETE FROM {S} WHERE id = 1",
    ),
    _call(f"{C}compute_table_stats('db.sample')", lambda a: a.rows[0].statistics_file.endswith(".stats")),
    _call(
        f"{C}compute_table_stats(table => 'db.sample', snapshot_id => '$1')",
        lambda a: str(a.ids[0]) in a.rows[0].statistics_file,
    ),
    _call(
        f"{C}compute_table_stats(table => 'db.sample', snapshot_id => '$2', columns => array('id', 'data'))",
        lambda a: a.rows[0].statistics_file.endswith(".stats"),
    ),
    _call(
        f"{C}compute_partition_stats('db.sample')",
        lambda a: len(a.rows) == 1,
        _PARTITIONED := (f"REPLACE TABLE {S} USING iceberg PARTITIONED BY (category) AS SELECT * FROM {S}"),
    ),
    _call(
        f"{C}compute_partition_stats(table => 'db.sample', snapshot_id => '$now')",
        lambda a: len(a.rows) == 1,
        _PARTITIONED,
    ),
    *[
        _call_no(
            f"{C}rewrite_table_path(table => 'db.sample', source_prefix => 'hdfs://nn/a', {rest})",
            "rewrite_table_path can't be done",
            "`fz.open_table(folder, moved=True)` reads a copy",
        )
        for rest in (
            "target_prefix => 's3a://b/c'",
            "target_prefix => 's3a://b/c', start_version => 'v2.metadata.json'",
        )
    ],
]
