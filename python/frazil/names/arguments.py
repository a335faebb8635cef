"""Names of arguments that other libraries use, by the function. `others` has the names of attributes."""

from __future__ import annotations

__all__ = ["ARGUMENTS"]

_P, _S, _L, _D, _A, _PANDAS, _DUCK, _JAVA = (
    "PyIceberg",
    "Spark",
    "Polars",
    "delta-rs",
    "pyarrow",
    "pandas",
    "DuckDB",
    "Java Iceberg",
)

_FILTERED: dict[str, tuple[str, str]] = {
    "predicate": (_D, "where"),
    "filter": (_L, "where"),
    "condition": (_S, "where"),
}
_RETRIEVED: dict[str, tuple[str, str]] = {
    "row_filter": (_P, "filter"),
    "selected_fields": (_P, "select"),
    "snapshot_id": (_P, "at"),
    "case_sensitive": (_P, "options={'case-sensitive': …}"),
    "columns": (_A, "select"),
    "where": (_S, "filter"),
    "predicate": (_D, "filter"),
    "n_rows": (_L, "limit"),
    "version": (_D, "at"),
    "ref": (_JAVA, "at"),
    "branch": (_S, "at"),
    "tag": (_S, "at"),
    "as_of": (_S, "at"),
    "timestamp": (_S, "at"),
    "start_snapshot_id": (_S, "since"),
    "end_snapshot_id": (_S, "at"),
}
_CREATED: dict[str, tuple[str, str]] = {
    "partition_spec": (_P, "partition_by"),
    "sort_order": (_P, "sort_by"),
    "df": (_P, "data"),
    "partitioned_by": (_S, "partition_by"),
    "partitionBy": (_S, "partition_by"),
    "partition_columns": (_D, "partition_by"),
    "tableName": (_S, "identifier"),
    "table_name": (_D, "identifier"),
    "primary_key": (_DUCK, "identifier_fields"),
    "primary_keys": ("pypaimon", "identifier_fields"),
    "exist_ok": ("lancedb", "if_not_exists"),
    "ignore_if_exists": ("pypaimon", "if_not_exists"),
    "options": ("pypaimon", "properties"),
    "configuration": (_D, "properties"),
}

ARGUMENTS: dict[str, dict[str, tuple[str, str]]] = {
    "scan": _RETRIEVED,
    "changes": {
        **{name: known for name, known in _RETRIEVED.items() if known[1] != "limit"},
        "starting_version": (_D, "since"),
        "ending_version": (_D, "at"),
    },
    "read": _RETRIEVED,
    "head": {"n": (_L, "rows"), "limit": (_S, "rows")},
    "limit": {"n": (_L, "rows"), "num": (_S, "rows")},
    "where": {"condition": (_S, "filter"), "predicate": (_L, "filter"), "row_filter": (_P, "filter")},
    "append": {"df": (_P, "data"), "mode": (_D, "overwrite(data) or append(data)")},
    "delete": {
        "case_sensitive": (_P, "not needed: names are case-sensitive"),
        "delete_filter": (_P, "where"),
        **_FILTERED,
    },
    "overwrite": {
        "case_sensitive": (_P, "not needed: names are case-sensitive"),
        "df": (_P, "data"),
        "overwrite_filter": (_P, "where"),
        **_FILTERED,
    },
    "overwrite_partitions": {"df": (_P, "data")},
    "update": {
        **_FILTERED,
        "updates": (_D, "values"),
        "new_values": (_D, "values"),
        "set": (_S, "values"),
    },
    "upsert": {
        "case_sensitive": (_P, "not needed: names are case-sensitive"),
        "df": (_P, "data"),
        "join_cols": (_P, "on"),
        "when_matched_update_all": (_P, "merge(when_matched_update=…)"),
        "when_not_matched_insert_all": (_P, "merge(when_not_matched_insert=…)"),
        "keys": (_DUCK, "on"),
    },
    "merge": {
        "source": (_D, "data"),
        "df": (_P, "data"),
        "predicate": (_D, "on"),
        "condition": (_S, "on"),
        "join_cols": (_P, "on"),
    },
    "delete_keys": {"keys": (_DUCK, "data")},
    "add_files": {"file_paths": (_P, "paths")},
    "create_table": _CREATED,
    "create_table_transaction": {
        name: known for name, known in _CREATED.items() if known[1] not in ("data", "if_not_exists")
    },
    "write_table": {**_CREATED, "table_or_uri": (_D, "identifier"), "table": (_L, "identifier")},
    "create_namespace": {"exist_ok": ("lancedb", "if_not_exists"), "ignore_if_exists": ("pypaimon", "if_not_exists")},
    "drop_namespace": {"ignore_if_not_exists": ("pypaimon", "if_exists"), "missing_ok": (_PANDAS, "if_exists")},
    "drop_table": {
        "purge_requested": (_P, "purge"),
        "ignore_if_not_exists": ("pypaimon", "if_exists"),
        "missing_ok": (_PANDAS, "if_exists"),
    },
    "rename_table": {"from_identifier": (_P, "identifier"), "to_identifier": (_P, "to")},
    "load_table": {"catalog": (_S, "the start of the identifier: 'catalog.namespace.table'")},
    "open_table": {
        "properties": (_P, "storage_options"),
        "options": (_S, "storage_options"),
        "version": (_D, "frazil.open_table(…).scan(at=…)"),
        "snapshot_id": (_L, "frazil.open_table(…).scan(at=…)"),
        "table_uri": (_D, "location"),
    },
    "create_tag": {"snapshot_id": (_P, "at"), "tag_name": (_P, "name")},
    "create_branch": {"snapshot_id": (_P, "at"), "branch_name": (_P, "name")},
    "rollback": {"snapshot_id": (_P, "to"), "timestamp": (_S, "to"), "version": (_D, "to")},
    "expire_snapshots": {
        "retain_last_n": (_JAVA, "retain_last"),
        "by_id": (_P, "snapshot_ids"),
        "by_ids": (_P, "snapshot_ids"),
    },
    "compact": {
        "target_size": (_D, "target_file_size_bytes"),
        "z_order": (_D, "zorder_by"),
        "sort_order": (_S, "sort_by"),
        **_FILTERED,
    },
    "report": {"where": (_S, "filter"), "row_filter": (_P, "filter")},
    "add_column": {"field_type": (_P, "type"), "path_name": (_P, "path"), "default_value": (_P, "default")},
    "move_after": {"after_name": (_P, "after_path")},
    "rename_column": {"path_from": (_P, "path"), "new_path": (_P, "new_name")},
    "set_default_value": {"default_value": (_P, "default")},
    "add_identity": {"source_column_name": (_P, "source")},
    "remove_field": {"name": (_P, "field")},
    "asc": {"source_column_name": (_P, "source"), "null_order": (_P, "nulls")},
    "desc": {"source_column_name": (_P, "source"), "null_order": (_P, "nulls")},
    "list_namespaces": {"namespace": (_P, "parent")},
    "create_view": {
        "view_version": (_P, "sql"),
        "query": (_S, "sql"),
        "location": (_P, "not needed: the catalog decides"),
    },
    "to_arrow": {"dictionary_columns": (_P, "to_arrow()[column].dictionary_encode()")},
    "to_arrow_batch_reader": {"dictionary_columns": (_P, "to_arrow()[column].dictionary_encode()")},
    "to_duckdb": {"table_name": (_P, "to_duckdb(connection).create_view(name)")},
    **{
        name: {"snapshot_id": (_P, "at"), "snapshot": (_JAVA, "at")}
        for name in ("data_files", "delete_files", "entries", "files", "partitions")
    },
    "add_field": {
        "source_column_name": (_P, "source"),
        "partition_field_name": (_P, "name"),
    },
}
"""Arguments by the function or method."""
