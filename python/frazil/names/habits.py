"""Names that people type from habit, by the class that is asked: the library, what to write, and the names."""

from __future__ import annotations

__all__ = ["HABITS"]

_PANDAS_ROWS = """
apply applymap assign astype at corrwith cumsum diff duplicated eval groupby_ iat idxmax iloc index info isna iterrows
itertuples loc nlargest nsmallest notna nunique reindex reset_index set_index sort_index sort_values squeeze to_csv
to_excel to_html to_json to_markdown to_numpy to_parquet to_records to_sql to_string value_counts values
"""
_POLARS_FRAMES = """
estimated_size get_column glimpse is_duplicated is_empty item iter_columns map_rows n_unique partition_by shape
to_dummies to_init_repr to_series to_struct write_csv write_database write_delta write_excel write_ipc write_json
write_ndjson write_parquet
"""
_ARROW_TABLES = "append_column column column_names combine_chunks itercolumns nbytes to_pydict to_struct_array"
_DUCKDB_ROWS = "aggregate create create_view fetch_df fetchdf fetchmany fetchnumpy fetchone order query set_alias"
_ARROW_NAMES = """
Array ChunkedArray RecordBatch RecordBatchReader array binary bool_ chunked_array concat_tables date32 decimal128
dictionary fixed_shape_tensor float32 float64 int16 int32 int64 int8 large_string list_ map_ null_ record_batch scalar
string struct time64 timestamp uint16 uint32 uint64 uint8 uuid
"""
_POLARS_NAMES = """
Boolean Categorical DataFrame DataType Datetime Duration Enum Float32 Float64 Int128 Int16 Int32 Int64 Int8 LazyFrame
List SQLContext Series String Struct UInt16 UInt32 UInt64 UInt8 Utf8 all all_horizontal any any_horizontal arange
coalesce collect_all concat concat_list concat_str corr count cum_sum element exclude first format from_arrow from_dict
from_dicts from_numpy from_pandas from_records implode last len map_groups max mean median min n_unique nth quantile
select std sum var when
"""
_POLARS_FILES = """
read_avro read_clipboard read_csv read_database read_excel read_ipc read_json read_ndjson read_ods read_parquet
scan_csv scan_ipc scan_ndjson scan_parquet
"""
_COMPUTED = """
abs apply arg_max ceil clip count cum_sum diff exp first floor hash last len length len_bytes len_chars log map
map_batches map_elements max mean median min n_unique over product quantile rank replace reverse round shift sign sqrt
std strip strip_chars sum trim unique value_counts var
"""
_NOT_FOUND = """
ColumnNotFoundError DatabaseNotExistError DatabaseNotExistException NoSuchTableException TableNotExistError
TableNotExistException TableNotFoundError TableNotFoundException
"""
_ALREADY = "DatabaseAlreadyExistException TableAlreadyExistError TableAlreadyExistException"
_CONFLICT = "CommitFailedError ConcurrentModificationError ConcurrentModificationException ConflictError"
_ERRORS = "DeltaError DeltaProtocolError PaimonError PyDeltaTableError"
_COUNTS = "added_data_files_count failed_data_files_count removed_delete_files_count rewritten_data_files_count"

HABITS: dict[str, list[tuple[str, str, str]]] = {
    "frazil": [
        ("Polars", "frazil.open_table(path).scan().to_polars()", "read_delta"),
        ("Polars", "frazil.open_table(path).scan().to_polars(lazy=True)", "scan_delta"),
        ("Polars", "polars.{name}(…), whose frame `table.append` takes", _POLARS_FILES),
        ("pandas", "frazil.write_table(name, data)", "save to_iceberg write_iceberg write_delta write_parquet"),
        ("DuckDB", "frazil.open_table(path)", "delta_scan iceberg_scan load open"),
        ("DuckDB", "frazil.open_table(path).inspect", "iceberg_metadata iceberg_snapshots"),
        ("DuckDB", "duckdb.sql(query), in which a scan is a table", "execute query read_sql read_sql_query"),
        ("Spark", "pyspark.sql.functions", "F functions"),
        ("Spark", "frazil.Term", "Column"),
        ("Spark", "frazil.catalog('name')", "Session session"),
        ("Spark", "frazil.current_timestamp()", "localtimestamp now"),
        ("Spark", "frazil.current_date()", "curdate today"),
        ("Spark", "col('x').cast('date')", "to_date to_timestamp"),
        ("Polars", "frazil.Term", "Expr"),
        ("Polars", "frazil.col('x')", "c"),
        ("Polars", "polars.{name}", _POLARS_NAMES),
        ("Polars", "frazil.exceptions", "errors"),
        ("Polars", "not there: give options to each call, or a catalog's in .pyiceberg.yaml", "Config config options"),
        ("pandas", "not there: give options to each call, or a catalog's in .pyiceberg.yaml", "get_option set_option"),
        ("pandas", "frazil.__version__", "show_versions version"),
        ("Python", "datetime.{name}, of Python's own module", "date datetime time timedelta"),
        ("Python", "logging.getLogger('frazil').setLevel(level)", "enable_logging set_log_level setup_logging"),
        ("Python", "decimal.Decimal(text), of Python's own module", "Decimal"),
        ("pyarrow", "pyarrow.{name}", _ARROW_NAMES),
        (
            "pyarrow",
            "col('x').{name}(…)",
            "between contains ends_with is_in is_nan is_null like lower starts_with upper",
        ),
        ("SQLAlchemy", "left & right", "and_"),
        ("SQLAlchemy", "left | right", "or_"),
        ("SQLAlchemy", "~predicate", "not_"),
        ("PyIceberg", "pyarrow's types, as in pyarrow.int64()", "types"),
        ("PyIceberg", "frazil.col", "expressions"),
        ("PyIceberg", "partition_by=['day(ts)']", "partitioning"),
        ("PyIceberg", "sort_by=['ts desc']", "sorting"),
        ("PyIceberg", "pyiceberg itself, whose catalogs and filters are taken: frazil.catalog(catalog)", "pyiceberg"),
        ("PyIceberg", "'namespace.table', which is text", "Identifier TableIdentifier"),
        ("PyIceberg", "frazil.Scan, which table.scan(…) makes", "DataScan TableScan"),
        ("PyIceberg", "partition_by=['x']", "identity"),
        ("Java Iceberg", "col('x')", "Expressions"),
        ("Java Iceberg", "table.update_partition_spec().remove_field(name)", "alwaysNull void"),
        ("pypaimon", "frazil.catalog(warehouse=…)", "CatalogContext CatalogFactory CatalogLoader"),
        ("pypaimon", "col('x') == value", "PredicateBuilder"),
        ("pypaimon", "frazil.NotFoundError", _NOT_FOUND),
        ("pypaimon", "frazil.AlreadyExistsError", _ALREADY),
        ("delta-rs", "frazil.CommitConflictError", _CONFLICT),
        ("delta-rs", "frazil.FrazilError", _ERRORS),
        ("delta-rs", "frazil.InvalidInputError", "SchemaMismatchError"),
        ("Spark", "frazil.InvalidInputError", "AnalysisException ParseException"),
        ("Spark", "table.maintain.expire_snapshots()", "expire vacuum"),
    ],
    "frazil.spark": [
        ("Spark", "frazil.spark.read(spark, table)", "load read_table table"),
        ("Spark", "frazil.spark.append(frame, table)", "insert insertInto insert_into writeTo write_table"),
        (
            "Spark",
            "spark.{name}, of your own session",
            "builder conf createDataFrame newSession range readStream stop udf",
        ),
    ],
    "frazil.variant": [
        ("Spark", "frazil.variant.from_json(texts)", "parse_json try_parse_json"),
        ("Spark", "frazil.variant.to_python(values)", "variant_get"),
    ],
    "frazil.doctor": [("delta-rs", "table.doctor()", "check diagnose fsck run")],
    "Catalog": [
        ("Spark", "drop_table(…)", "drop dropTable drop_tables"),
        ("Spark", "create_namespace(…)", "createDatabase create_schema"),
        ("Ibis", "table_exists(…)", "exists has_table"),
        ("Ibis", "rename_table(name, to)", "rename"),
        ("pypaimon", "load_table(…).update_schema() or load_table(…).set_properties(…)", "alter_table"),
        ("pypaimon", "load_namespace_properties(…)", "get_database"),
        ("pypaimon", "update_namespace_properties(…)", "alter_database"),
        ("Java Iceberg", "create_table(…)", "buildTable"),
        ("DuckDB", "frazil.spark.sql(spark, query)", "execute query"),
        ("DuckDB", "transaction()", "begin begin_transaction"),
        ("Ibis", "load_table(…).scan()", "read"),
        ("PyIceberg", "properties['{name}']", "type uri warehouse"),
    ],
    "Scan": [
        ("pandas", "to_pandas().{name}", _PANDAS_ROWS.replace("groupby_", "")),
        ("pandas", "count() == 0", "empty"),
        ("pandas", "count()", "size"),
        ("Polars", "to_polars().{name}", _POLARS_FRAMES),
        ("pyarrow", "to_arrow().{name}", _ARROW_TABLES),
        ("pyarrow", "select(…)", "project select_columns"),
        ("pyarrow", "select(…), with the columns that stay", "drop_columns"),
        ("pyarrow", "to_arrow()", "read read_all read_pandas"),
        ("pyarrow", "to_arrow_batch_reader()", "to_arrow_batches to_record_batches"),
        ("pyarrow", "to_arrow_dataset()", "dataset to_dataset to_pyarrow_dataset"),
        ("DuckDB", "to_duckdb().{name}", _DUCKDB_ROWS),
        ("DuckDB", "to_pandas()", "to_dataframe to_df"),
        ("Polars", "to_arrow().to_pylist()", "to_dict to_list"),
        ("SQLAlchemy", "head(1)", "one scalar_one"),
        ("SQLAlchemy", "to_polars(lazy=True).sort(…)", "order_by"),
        ("SQLAlchemy", "to_polars(lazy=True).slice(n)", "skip"),
        ("Dask", "to_arrow_dataset(), or a split of plan() for each task", "to_dask"),
        ("Dask", "plan(n=…)", "npartitions partitions splits"),
        ("PyIceberg", "plan_files()", "files tasks"),
        ("delta-rs", "statistics()", "stats"),
        ("Java Iceberg", "table.refresh().scan(…)", "refresh"),
        ("Java Iceberg", "table.scan(options={{…}})", "option options"),
        ("Java Iceberg", "table.scan(…), of the table that you have", "table"),
        ("Python", "not needed: a scan never changes", "close copy"),
        ("pypaimon", "select(…)", "with_projection"),
        ("pypaimon", "where(filter)", "with_filter"),
        ("pypaimon", "limit(n)", "with_limit"),
        ("pypaimon", "for batch in scan", "to_record_batch_iterator"),
        ("pypaimon", "where(frazil.col('x') == value)", "new_predicate_builder"),
        ("pypaimon", "to_arrow()", "new_read"),
        ("pypaimon", "plan()", "new_scan"),
    ],
    "Split": [
        ("pyarrow", "to_arrow()", "read read_all to_table"),
        ("pypaimon", "tasks", "file_paths files"),
    ],
    "ScanTask": [("pyarrow", "scan.plan()[0].to_arrow(), of a split of tasks,", "read to_arrow to_pandas to_polars")],
    "DataFile": [
        ("pypaimon", "size_bytes", "file_size length size"),
        ("pypaimon", "table.inspect.files()", "key_stats stats value_stats"),
        ("pypaimon", "record_count", "num_records num_rows row_count"),
    ],
    "Table": [
        ("Spark", "schema", "describe info print_schema printSchema"),
        ("Spark", "scan().to_spark(spark)", "toDF"),
        ("Spark", "update_schema().drop_column(…) for each", "drop_columns"),
        ("Spark", "merge(data, on=…)", "alias as_ merge_into"),
        ("Spark", "remove_properties(name)", "unset_properties unset_property unset_table_properties"),
        ("Spark", "set_properties({{…}})", "alter_properties set_property set_table_properties"),
        ("Spark", "update_location(location)", "set_location"),
        ("Spark", "update_schema()", "alter alter_table set_schema update_table"),
        ("Spark", "update_schema().union_by_name(schema)", "evolve_schema merge_schema"),
        ("Spark", "scan(at=…)", "as_of at timestamp_as_of time_travel version_as_of"),
        ("Spark", "refs.create_tag(name)", "tag"),
        ("Spark", "refs.create_branch(name)", "branch"),
        ("Spark", "maintain.remove_orphan_files()", "remove_orphans"),
        ("Spark", "catalog.create_table(name, data=table.scan())", "clone deep_clone shallow_clone"),
        ("delta-rs", "inspect.snapshots() and properties", "detail"),
        ("delta-rs", "location", "path table_uri uri"),
        ("delta-rs", "rollback(to=id)", "restoreToVersion"),
        ("delta-rs", "rollback(to=time)", "restoreToTimestamp"),
        ("delta-rs", "upgrade(format_version)", "upgradeTableProtocol"),
        ("delta-rs", "update(where, values)", "updateExpr"),
        ("delta-rs", "delete(where)", "deleteExpr"),
        ("delta-rs", "format_version", "protocol"),
        ("delta-rs", "snapshot.summary", "transaction_version transaction_versions"),
        (
            "delta-rs",
            "not needed: each commit writes the whole metadata",
            "checkpoint cleanup_metadata create_checkpoint",
        ),
        ("delta-rs", "format", "is_deltatable"),
        ("delta-rs", "inspect.files()", "generate"),
        ("lancedb", "append(data)", "add insert_many"),
        ("lancedb", "scan(at=…)", "checkout"),
        ("lancedb", "refresh()", "checkout_latest"),
        ("lancedb", "scan(filter)", "find get search"),
        ("lancedb", "maintain.compact()", "compact_files"),
        ("lancedb", "maintain.expire_snapshots()", "cleanup_old_versions expire"),
        ("lancedb", "snapshots", "list_versions log versions"),
        ("lancedb", "maintain.compute_statistics()", "create_index create_scalar_index"),
        ("pandas", "scan().count() and schema.names", "shape"),
        ("pandas", "scan().count()", "size"),
        ("Polars", "scan().count()", "height"),
        ("DuckDB", "frazil.spark.sql(spark, query), or duckdb.sql(query) with a scan", "query sql"),
        ("PyIceberg", "name.rpartition('.')[0]", "database namespace"),
        ("PyIceberg", "frazil.catalog(name), by which you opened the table,", "catalog"),
        ("PyIceberg", "upgrade(format_version)", "upgrade_format_version"),
        ("PyIceberg", "uuid", "id"),
        ("PyIceberg", "schema.to_json()", "schema_json"),
        ("PyIceberg", "snapshot", "last_snapshot"),
        ("Python", "not needed: nothing is open", "close lock"),
        ("pypaimon", "scan(…)", "new_read_builder new_stream_read_builder"),
        (
            "pypaimon",
            "append(data), or writer() and commit(messages)",
            "new_batch_write_builder new_stream_write_builder",
        ),
        ("pypaimon", "writer()", "new_write"),
        ("pypaimon", "commit(messages)", "new_commit"),
        ("pypaimon", "scan().to_arrow()", "new_read"),
        ("pypaimon", "schema", "fields table_schema"),
        ("pypaimon", "schema.names", "field_names"),
        ("pypaimon", "location", "table_path"),
        ("pypaimon", "schema.identifier_fields", "is_primary_key_table primary_keys"),
        ("pypaimon", "partition_spec.fields", "partition_keys"),
        ("pypaimon", "properties['bucket']", "bucket_mode"),
        ("pypaimon", "snapshots", "snapshot_manager"),
        ("pypaimon", "snapshot", "latest_snapshot"),
        ("pypaimon", "refs", "branch_manager tag_manager"),
        ("pypaimon", "inspect.schemas()", "schema_manager"),
        ("pypaimon", "rollback(to=…)", "rollback_to"),
        ("pypaimon", "scan(options={{…}})", "copy"),
    ],
    "Writer": [
        ("pypaimon", "write(data)", "append write_arrow write_arrow_batch write_pandas write_row"),
        ("pypaimon", "table.commit(messages), with the results of write(data),", "commit prepare_commit"),
        ("pypaimon", "not needed: each write makes whole files", "close flush"),
    ],
    "Schema": [
        ("Polars", "field(name)", "get"),
        ("Polars", "names", "keys len"),
        ("Polars", "fields", "items to_python values"),
        ("PyIceberg", "to_json()", "as_dict dict model_dump to_dict to_pydantic"),
        ("pyarrow", "table.update_schema()", "add append insert remove set with_metadata"),
        ("pyarrow", "field(name)", "col field_by_name"),
        ("pyarrow", "table.properties", "metadata"),
        ("Spark", "to_arrow()", "to_pandas to_polars to_spark"),
        ("Spark", "str(schema)", "show treeString"),
    ],
    "Field": [
        ("Polars", "type", "data_type dtype"),
        ("Spark", "not required", "is_nullable"),
        ("Spark", "doc", "metadata"),
        ("PyIceberg", "children", "element fields key value"),
        ("pyarrow", "table.schema.to_arrow().field(name)", "to_arrow"),
    ],
    "Snapshot": [
        ("pypaimon", "timestamp", "commit_time created_at time time_millis"),
        ("pypaimon", "summary", "commit_user metadata user"),
        ("pypaimon", "operation", "commit_kind"),
        ("pypaimon", "summary['total-records']", "total_record_count"),
        ("PyIceberg", "_asdict()", "dict model_dump to_dict"),
    ],
    "LastCommit": [
        ("PyIceberg", "rows_added", "num_rows rows"),
        ("PyIceberg", "files_added", "added_data_files num_added_files"),
        ("PyIceberg", "files_removed", "deleted_data_files num_removed_files"),
        ("PyIceberg", "snapshot_id", "snapshot version"),
        ("delta-rs", "_asdict()", "metrics to_dict"),
    ],
    "Compacted": [
        ("Spark", "added_files, failed or rewritten_files", _COUNTS),
        ("Spark", "rewritten_bytes", "rewritten_bytes_count"),
        ("delta-rs", "_asdict()", "metrics to_dict"),
        ("delta-rs", "added_files", "numFilesAdded"),
        ("delta-rs", "rewritten_files", "numFilesRemoved"),
    ],
    "ExpiredSnapshots": [
        ("Spark", "len(data_files)", "deleted_data_files_count"),
        ("Spark", "len(manifests)", "deleted_manifest_files_count"),
        ("Spark", "len(manifest_lists)", "deleted_manifest_lists_count"),
        ("Spark", "len(position_delete_files)", "deleted_position_delete_files_count"),
        ("Spark", "len(equality_delete_files)", "deleted_equality_delete_files_count"),
    ],
    "OrphanFiles": [("Spark", "files", "orphan_file_location orphan_files")],
    "RewrittenManifests": [
        ("Spark", "len(added)", "added_manifests_count"),
        ("Spark", "len(rewritten)", "rewritten_manifests_count"),
    ],
    "Refs": [
        ("Python", "drop(name)", "delete remove"),
        ("Python", "create_branch(name) or create_tag(name)", "create"),
        ("Python", "list(refs)", "list"),
        ("Python", "replace(name, at)", "set"),
        ("PyIceberg", "[ref for ref in refs.values() if ref.type == 'tag']", "tags"),
        ("PyIceberg", "[ref for ref in refs.values() if ref.type == 'branch']", "branches"),
        ("PyIceberg", "refs['main']", "main"),
    ],
    "Inspect": [
        ("Spark", "snapshots()", "metadata"),
        ("Spark", "schemas(), or table.schema", "schema"),
        ("Spark", "options(), or table.properties", "properties"),
        ("Spark", "table.scan().statistics()", "statistics"),
        ("Spark", "table.scan().estimate()", "size"),
    ],
    "UpdateSchema": [
        ("Java Iceberg", "commit()", "apply"),
        ("Java Iceberg", "make_column_optional(name)", "set_nullable"),
        ("Java Iceberg", "move_first(name), move_after(name, other) or move_before(name, other)", "move"),
    ],
    "UpdatePartitionSpec": [
        ("Polars", "remove_field(name)", "drop"),
        ("Java Iceberg", "commit()", "apply"),
    ],
    "UpdateSortOrder": [
        ("Spark", "asc(column) or desc(column)", "add_field order_by sort_by"),
        ("Java Iceberg", "commit()", "apply"),
    ],
    "Term": [
        ("Polars", "contains(text), starts_with(prefix), ends_with(suffix), lower() or upper(), without `str`,", "str"),
        (
            "Polars",
            "frazil.year('x'), frazil.month('x'), frazil.day('x') or frazil.hour('x')",
            "date day dt hour month year",
        ),
        ("Polars", "frazil.col('struct.member')", "field struct"),
        ("Polars", "a comparison of the column: filters can't look into lists and maps", "arr list map_values"),
        ("Polars", "(col('x') == value) | col('x').is_null()", "coalesce fill_nan fill_null fillna ifnull"),
        ("Polars", "is_not_nan(), with a comparison with float('inf'),", "is_finite is_infinite"),
        ("Polars", "str(column)", "name"),
        ("Polars", "scan.to_polars(lazy=True), which computes what a filter can't,", _COMPUTED),
        ("Polars", "lower()", "casefold to_lower to_lowercase"),
        ("Polars", "upper()", "to_upper to_uppercase"),
        (
            "Polars",
            "scan.to_polars(lazy=True).filter(…), for whole columns,",
            "is_duplicated is_first_distinct is_unique",
        ),
        ("SQLAlchemy", "is_in(values)", "in_"),
        ("SQLAlchemy", "not_in(values)", "notin_"),
        ("SQLAlchemy", "is_null()", "is_ is_none"),
        ("SQLAlchemy", "is_not_null()", "is_not isnot not_null"),
        ("SQLAlchemy", "~like(pattern)", "not_like notlike"),
        ("SQLAlchemy", "like(pattern)", "match matches regexp regexp_like regexp_match"),
    ],
}
"""Names by the class: the library, what to write, and the names that are answered alike."""
