"""Names of the package and of its modules."""

from __future__ import annotations

__all__ = ["NAMES"]

NAMES: dict[str, list[tuple[str, str, str]]] = {
    "frazil": [
        ("PyIceberg", "frazil.catalog('name')", "load_catalog"),
        ("PyIceberg", "frazil.catalog(type='sql', uri=…, warehouse=…)", "SqlCatalog"),
        ("PyIceberg", "frazil.catalog(type='rest', uri=…)", "RestCatalog"),
        ("PyIceberg", "frazil.catalog(type='hive', uri=…)", "HiveCatalog"),
        ("PyIceberg", "frazil.catalog(type='glue')", "GlueCatalog"),
        ("PyIceberg", "frazil.catalog(type='memory')", "InMemoryCatalog"),
        ("PyIceberg", "frazil.open_table(path)", "StaticTable"),
        ("PyIceberg", "col('x') == value", "EqualTo"),
        ("PyIceberg", "col('x') != value", "NotEqualTo"),
        ("PyIceberg", "col('x') > value", "GreaterThan"),
        ("PyIceberg", "col('x') >= value", "GreaterThanOrEqual"),
        ("PyIceberg", "col('x') < value", "LessThan"),
        ("PyIceberg", "col('x') <= value", "LessThanOrEqual"),
        ("PyIceberg", "col('x').is_in(values)", "In"),
        ("PyIceberg", "col('x').not_in(values)", "NotIn"),
        ("PyIceberg", "col('x').is_null()", "IsNull"),
        ("PyIceberg", "col('x').is_not_null()", "NotNull"),
        ("PyIceberg", "col('x').is_nan()", "IsNaN"),
        ("PyIceberg", "col('x').is_not_nan()", "NotNaN"),
        ("PyIceberg", "col('x').starts_with(prefix)", "StartsWith"),
        ("PyIceberg", "~col('x').starts_with(prefix)", "NotStartsWith"),
        ("PyIceberg", "left & right", "And"),
        ("PyIceberg", "left | right", "Or"),
        ("PyIceberg", "~predicate", "Not"),
        ("PyIceberg", "'true'", "AlwaysTrue"),
        ("PyIceberg", "'false'", "AlwaysFalse"),
        ("PyIceberg", "col('x')", "Reference"),
        ("PyIceberg", "bucket(16, 'x')", "BucketTransform"),
        ("PyIceberg", "truncate(4, 'x')", "TruncateTransform"),
        ("PyIceberg", "year('x')", "YearTransform"),
        ("PyIceberg", "month('x')", "MonthTransform"),
        ("PyIceberg", "day('x')", "DayTransform"),
        ("PyIceberg", "hour('x')", "HourTransform"),
        ("PyIceberg", "partition_by=['x']", "IdentityTransform identity"),
        ("PyIceberg", "a field of a pyarrow.schema", "NestedField"),
        ("PyIceberg", "pyarrow.int64()", "LongType"),
        ("PyIceberg", "pyarrow.int32()", "IntegerType"),
        ("PyIceberg", "pyarrow.string()", "StringType"),
        ("PyIceberg", "pyarrow.float64()", "DoubleType"),
        ("PyIceberg", "pyarrow.timestamp('us')", "TimestampType"),
        ("PyIceberg", "pyarrow.timestamp('us', 'UTC')", "TimestamptzType"),
        ("PyIceberg", "pyarrow.date32()", "DateType"),
        ("PyIceberg", "pyarrow.bool_()", "BooleanType"),
        ("PyIceberg", "pyarrow.float32()", "FloatType"),
        ("PyIceberg", "pyarrow.decimal128(precision, scale)", "DecimalType"),
        ("PyIceberg", "pyarrow.time64('us')", "TimeType"),
        ("PyIceberg", "pyarrow.timestamp('ns')", "TimestampNanoType"),
        ("PyIceberg", "pyarrow.timestamp('ns', 'UTC')", "TimestamptzNanoType"),
        ("PyIceberg", "pyarrow.binary()", "BinaryType"),
        ("PyIceberg", "pyarrow.binary(length)", "FixedType"),
        ("PyIceberg", "pyarrow.uuid()", "UUIDType"),
        ("PyIceberg", "pyarrow.list_(type)", "ListType"),
        ("PyIceberg", "pyarrow.map_(key, value)", "MapType"),
        ("PyIceberg", "pyarrow.struct(fields)", "StructType"),
        ("PyIceberg", "pyarrow.null()", "UnknownType"),
        ("PyIceberg", "table.update_partition_spec().remove_field(name)", "VoidTransform"),
        (
            "PyIceberg",
            "frazil.NotFoundError",
            """
NoSuchTableError NoSuchNamespaceError NoSuchIcebergTableError NoSuchIdentifierError NoSuchPlanTaskError
NoSuchPropertyException NoSuchViewError
""",
        ),
        (
            "PyIceberg",
            "frazil.AlreadyExistsError",
            """
TableAlreadyExistsError NamespaceAlreadyExistsError ViewAlreadyExistsError
""",
        ),
        (
            "PyIceberg",
            "frazil.CommitConflictError",
            "CommitFailedException ValidationException WaitingForLockException",
        ),
        ("PyIceberg", "frazil.CommitStateUnknownError", "CommitStateUnknownException"),
        (
            "PyIceberg",
            "frazil.InvalidInputError",
            "ValidationError BadRequestError NamespaceNotEmptyError ResolveError",
        ),
        ("delta-rs", "frazil.open_table(path)", "DeltaTable"),
        ("delta-rs", "frazil.write_table(name, data)", "write_deltalake"),
        ("Polars", "frazil.open_table(path).scan()", "scan_iceberg"),
        ("pandas", "frazil.load_table(name).scan().to_pandas()", "read_iceberg"),
        ("Spark", "frazil.load_table(name).scan().to_arrow()", "read_table"),
        ("Spark", "frazil.catalog('name').create_table(…)", "create_table"),
        ("Spark", "frazil.catalog('name').list_tables()", "list_tables"),
        ("Spark", "frazil.catalog('name').drop_table(…)", "drop_table"),
        ("Spark", "frazil.catalog('name').table_exists(…)", "table_exists"),
        ("Spark", "frazil.spark.sql(spark, query)", "sql"),
        ("Spark", "pyspark.sql.SparkSession", "SparkSession"),
        ("Spark", "year('x')", "years"),
        ("Spark", "month('x')", "months"),
        ("Spark", "day('x')", "days"),
        ("Spark", "hour('x')", "hours"),
        ("Polars", "a Python value", "lit"),
        ("DuckDB", "col('x')", "column"),
        ("pyarrow", "col('x')", "field"),
        ("DuckDB", "frazil.catalog('name')", "connect"),
        (
            "PyIceberg",
            "frazil.PermissionDeniedError",
            """
AuthorizationExpiredError ForbiddenError OAuthError SignError UnauthorizedError
""",
        ),
        ("PyIceberg", "frazil.StoreError", "RESTError ServerError ServiceUnavailableError TooManyRequestsError"),
        ("PyIceberg", "ImportError", "NotInstalledError"),
        ("PyIceberg", "frazil.Predicate", "BooleanExpression"),
        ("Polars", "frazil.open_table(path).scan().to_polars()", "read_delta"),
        ("Polars", "frazil.open_table(path).scan().to_polars(lazy=True)", "scan_delta"),
        (
            "Polars",
            "polars.{name}(…), whose frame `table.append` takes",
            """
read_avro read_clipboard read_csv read_database read_excel read_ipc read_json read_ndjson read_ods read_parquet
scan_csv scan_ipc scan_ndjson scan_parquet
""",
        ),
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
        (
            "Polars",
            "polars.{name}",
            """
Boolean Categorical DataFrame DataType Datetime Duration Enum Float32 Float64 Int128 Int16 Int32 Int64 Int8
LazyFrame List SQLContext Series String Struct UInt16 UInt32 UInt64 UInt8 Utf8 all all_horizontal any
any_horizontal arange coalesce collect_all concat concat_list concat_str corr count cum_sum element exclude
first format from_arrow from_dict from_dicts from_numpy from_pandas from_records implode last len map_groups max
mean median min n_unique nth quantile select std sum var when
""",
        ),
        ("Polars", "frazil.exceptions", "errors"),
        ("Polars", "not there: give options to each call, or a catalog's in .pyiceberg.yaml", "Config config options"),
        ("pandas", "not there: give options to each call, or a catalog's in .pyiceberg.yaml", "get_option set_option"),
        ("pandas", "frazil.__version__", "show_versions version"),
        ("Python", "datetime.{name}, of Python's own module", "date datetime time timedelta"),
        ("Python", "logging.getLogger('frazil').setLevel(level)", "enable_logging set_log_level setup_logging"),
        ("Python", "decimal.Decimal(text), of Python's own module", "Decimal"),
        (
            "pyarrow",
            "pyarrow.{name}",
            """
Array ChunkedArray RecordBatch RecordBatchReader array binary bool_ chunked_array concat_tables date32
decimal128 dictionary fixed_shape_tensor float32 float64 int16 int32 int64 int8 large_string list_ map_ null_
record_batch scalar string struct time64 timestamp uint16 uint32 uint64 uint8 uuid
""",
        ),
        (
            "pyarrow",
            "col('x').{name}(…)",
            """
between contains ends_with is_in is_nan is_null like lower starts_with upper
""",
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
        ("Java Iceberg", "col('x')", "Expressions"),
        ("Java Iceberg", "table.update_partition_spec().remove_field(name)", "alwaysNull void"),
        ("pypaimon", "frazil.catalog(warehouse=…)", "CatalogContext CatalogFactory CatalogLoader api"),
        ("pypaimon", "col('x') == value", "PredicateBuilder"),
        (
            "pypaimon",
            "frazil.NotFoundError",
            """
ColumnNotFoundError DatabaseNotExistError DatabaseNotExistException NoSuchTableException TableNotExistError
TableNotExistException TableNotFoundError TableNotFoundException
""",
        ),
        (
            "pypaimon",
            "frazil.AlreadyExistsError",
            """
DatabaseAlreadyExistException TableAlreadyExistError TableAlreadyExistException
""",
        ),
        (
            "delta-rs",
            "frazil.CommitConflictError",
            """
CommitFailedError ConcurrentModificationError ConcurrentModificationException ConflictError
""",
        ),
        ("delta-rs", "frazil.FrazilError", "DeltaError DeltaProtocolError PaimonError PyDeltaTableError"),
        ("delta-rs", "frazil.InvalidInputError", "SchemaMismatchError"),
        ("Spark", "frazil.InvalidInputError", "AnalysisException ParseException"),
        ("Spark", "table.maintain.expire_snapshots()", "expire vacuum"),
        (
            "PyIceberg",
            "frazil.catalog(name, filesystem=…), or properties of the catalog",
            "io load_file_io FileIO PyArrowFileIO",
        ),
        ("PyIceberg", "'db.table', a text", "typedef"),
        ("PyIceberg", "table.inspect, whose methods give Arrow tables", "avro manifest"),
        ("PyIceberg", "a setting of .pyiceberg.yaml, which Frazil reads", "utils"),
        ("pypaimon", "frazil.col('x') for conditions, and texts for options", "common"),
        ("pypaimon", "table.changes(since=…), with the column _change_type,", "RowKind"),
        ("delta-rs", "table.add_files(paths)", "convert_to_deltalake"),
        ("lancedb", "frazil.open_table(path)", "dataset"),
        ("lancedb", "frazil.write_table(name, data)", "write_dataset"),
        ("lancedb", "not there: Frazil does not search vectors", "vector"),
        ("DuckDB", "frazil.catalog(name, …)", "attach"),
        ("DuckDB", "duckdb.{name}", "default_connection from_arrow_table from_df register"),
        ("Python", "frazil.FrazilError", "Error FrazilException"),
        ("Python", "frazil.NotFoundError", "NotFound NotFoundException"),
        (
            "Java Iceberg",
            "frazil.catalog(warehouse=…)",
            "FileSystemCatalog FilesystemCatalog HadoopCatalog Warehouse Database",
        ),
        ("Java Iceberg", "frazil.catalog(type='sql', uri=…, warehouse=…)", "JdbcCatalog"),
        ("Java Iceberg", "frazil.catalog(type='rest', uri=…)", "NessieCatalog"),
        ("PyIceberg", "frazil.catalog(type='dynamodb')", "DynamoDbCatalog"),
        ("PyIceberg", "a Python value", "literal Literal"),
        ("Spark", "sort_by=['x asc'] or sort_by=['x desc']", "asc desc"),
        ("Spark", "day('x') or month('x')", "date_trunc"),
        ("PyIceberg", "partition_by=['x']", "Identity"),
        ("Ibis", "frazil.catalog(name, …).drop_table(…)", "delete_table"),
        ("Polars", "frazil.load_table(name).scan()", "read"),
        (
            "Python",
            "frazil.catalog('name'), which reads .pyiceberg.yaml",
            "environ init login set_config",
        ),
        ("Spark", "frazil.catalog('name').list_namespaces()", "load_namespace namespaces"),
        ("PyIceberg", "frazil.Predicate", "Filter"),
        ("PyIceberg", "frazil.catalog(name, …), one for each", "catalogs list_catalogs"),
        ("delta-rs", "pyarrow.field(name, type)", "SchemaField"),
        ("PyIceberg", "table.inspect.manifests()", "ManifestFile"),
        ("PyIceberg", "frazil.View", "view"),
        ("Polars", "frazil.open_table(path, filesystem=…)", "fs"),
    ],
    "frazil.catalog": [
        ("PyIceberg", "frazil.catalog(type='sql', uri=…, warehouse=…)", "sql"),
        ("PyIceberg", "frazil.catalog(type='rest', uri=…)", "rest"),
        ("PyIceberg", "frazil.catalog(type='hive', uri=…)", "hive"),
        ("PyIceberg", "frazil.catalog(type='glue')", "glue"),
        ("PyIceberg", "frazil.catalog(type='memory')", "memory"),
        ("PyIceberg", "frazil.catalog(type='dynamodb')", "dynamodb"),
        ("pypaimon", "frazil.catalog(warehouse=…)", "catalog_factory filesystem_catalog"),
    ],
    "frazil.table": [
        ("PyIceberg", "frazil.Snapshot", "snapshots"),
        ("PyIceberg", "frazil.Ref", "refs"),
        ("PyIceberg", "sort_by=['x desc']", "sorting"),
        ("PyIceberg", "table.inspect", "inspect metadata"),
        ("PyIceberg", "table.maintain", "maintenance"),
        ("delta-rs", "table.maintain", "TableOptimizer"),
        ("delta-rs", "table.merge(data, on=…, …)", "TableMerger"),
        ("delta-rs", "table.update_schema()", "TableAlterer"),
    ],
    "frazil.schema": [
        ("pypaimon", "pyarrow's types, as in pyarrow.int64()", "data_types"),
        ("PyIceberg", "table.schema.fields", "visitors"),
    ],
    "frazil.cli": [
        ("PyIceberg", "frazil, the command,", "console"),
    ],
    "frazil.spark": [
        ("Spark", "frazil.spark.read(spark, table)", "load read_table table"),
        ("Spark", "frazil.spark.append(frame, table)", "insert insertInto insert_into writeTo write_table"),
        (
            "Spark",
            "spark.{name}, of your own session",
            "builder conf createDataFrame newSession range readStream stop udf",
        ),
        (
            "Spark",
            "frazil.catalog(name, …).load_table(…), for frazil.spark.read(spark, table)",
            "SparkCatalog SparkSessionCatalog",
        ),
        (
            "Spark",
            "not needed: frazil.spark.sql(spark, query) runs statements",
            "FrazilSparkSessionExtensions IcebergSparkSessionExtensions",
        ),
    ],
    "frazil.variant": [
        ("Spark", "frazil.variant.from_json(texts)", "parse_json try_parse_json"),
        ("Spark", "frazil.variant.to_python(values)", "variant_get"),
    ],
    "frazil.doctor": [
        ("delta-rs", "table.doctor()", "check diagnose fsck run"),
    ],
}
"""By the class that is asked: the library, what to write, and the names."""
