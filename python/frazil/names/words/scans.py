"""Names of scans, of their splits and tasks."""

from __future__ import annotations

__all__ = ["NAMES"]

NAMES: dict[str, list[tuple[str, str, str]]] = {
    "Scan": [
        ("DataFusion", "to_arrow_dataset(), for SessionContext.register_dataset(name, dataset)", "to_datafusion"),
        ("pyarrow", "to_arrow()", "to_arrow_table to_table read read_all read_pandas"),
        ("PyIceberg", "filter", "row_filter"),
        ("PyIceberg", "schema.names", "selected_fields"),
        ("PyIceberg", "schema", "projection"),
        ("PyIceberg", "explain()", "partition_filters"),
        ("PyIceberg", "where(filter), select(…) or limit(n)", "update"),
        ("PyIceberg", "table.scan(options={'case-sensitive': …})", "with_case_sensitive"),
        ("PyIceberg", "snapshot_id", "snapshot"),
        ("PyIceberg", "table.scan(at=name)", "use_ref"),
        ("Java Iceberg", "table.scan(at=…)", "as_of"),
        ("Java Iceberg", "table.scan(at=id)", "useSnapshot use_snapshot"),
        ("Java Iceberg", "plan_files()", "planFiles"),
        ("Java Iceberg", "plan()", "plan_tasks"),
        ("pyarrow", "to_arrow_batch_reader()", "to_reader to_batches scanner to_arrow_batches to_record_batches"),
        ("pyarrow", "count()", "count_rows num_rows"),
        ("Polars", "to_polars() or to_arrow()", "collect"),
        ("Polars", "to_polars(lazy=True)", "lazy"),
        ("Polars", "schema", "collect_schema"),
        ("Polars", "head(n)", "fetch"),
        ("Polars", "count()", "height"),
        ("Polars", "schema.names", "columns"),
        ("Polars", "to_polars().with_columns(…)", "with_columns"),
        ("Polars", "to_polars().sort(…)", "sort"),
        ("Polars", "to_polars().group_by(…)", "group_by"),
        ("Polars", "to_polars().join(…)", "join"),
        ("Polars", "for batch in scan", "iter_rows iter_slices"),
        ("pyarrow", "for batch in scan", "iter_batches"),
        ("Polars", "to_arrow().to_pylist()", "rows to_dicts to_dict to_list"),
        ("pyarrow", "to_arrow().to_pylist()", "to_pylist"),
        ("Polars", "to_arrow() and a slice of it", "tail"),
        ("Spark", "head()", "show"),
        ("Spark", "head(n)", "take"),
        ("Spark", "head(1)", "first"),
        ("Spark", "to_pandas()", "toPandas"),
        ("Spark", "to_arrow()", "toArrow"),
        ("Spark", "to_spark(spark).orderBy(…)", "orderBy"),
        ("Spark", "to_spark(spark).groupBy(…)", "groupBy"),
        ("PyIceberg", "where(filter)", "filter_rows"),
        ("delta-rs", "to_arrow()", "to_pyarrow_table"),
        ("Ibis", "to_arrow()", "to_pyarrow"),
        ("DuckDB", "to_arrow()", "arrow fetch_arrow_table"),
        ("DuckDB", "to_pandas()", "df to_dataframe to_df"),
        ("DuckDB", "to_polars()", "pl"),
        ("DuckDB", "to_arrow().to_pylist()", "fetchall"),
        ("Ibis", "to_pandas()", "execute"),
        (
            "Spark",
            "to_spark(spark).{name}",
            """
agg alias approxQuantile asTable cache checkpoint coalesce colRegex corr cov createGlobalTempView
createOrReplaceGlobalTempView createOrReplaceTempView createTempView crossJoin crosstab cube describe distinct
drop dropDuplicates dropDuplicatesWithinWatermark drop_duplicates dropna dtypes exceptAll executionInfo exists
fillna foreach foreachPartition freqItems groupby groupingSets hint inputFiles intersect intersectAll isEmpty
isLocal isStreaming lateralJoin localCheckpoint mapInArrow mapInPandas melt mergeInto metadataColumn na observe
offset pandas_api persist plot printSchema randomSplit rdd registerTempTable repartition repartitionById
repartitionByRange replace rollup sameSemantics sample sampleBy scalar selectExpr semanticHash
sortWithinPartitions sparkSession stat storageLevel subtract summary to toDF toJSON toLocalIterator transform
transpose union unionAll unionByName unpersist unpivot withColumn withColumnRenamed withColumns
withColumnsRenamed withMetadata withWatermark write writeStream writeTo
""",
        ),
        (
            "Polars",
            "to_polars(lazy=True).{name}",
            """
approx_n_unique bottom_k cast clear clone collect_async collect_batches deserialize drop_nans drop_nulls explode
fill_nan fill_null from_lazyframe_resolver gather gather_every group_by_dynamic inspect interpolate join_asof
join_where last map_batches match_to_schema max mean median merge_sorted min null_count pipe pipe_with_schema
pivot profile quantile remote remove rename reverse rolling select_seq serialize set_sorted shift show_graph
sink_batches sink_csv sink_delta sink_iceberg sink_ipc sink_ndjson sink_parquet slice sql std sum top_k unique
unnest var width with_columns_seq with_row_count with_row_index
""",
        ),
        ("pyarrow", "to_arrow_dataset().{name}", "get_fragments partition_expression replace_schema sort_by"),
        (
            "pandas",
            "to_pandas().{name}",
            """
apply applymap assign astype at corrwith cumsum diff duplicated eval iat idxmax iloc index info isna iterrows
itertuples loc nlargest nsmallest notna nunique reindex reset_index set_index sort_index sort_values squeeze
to_csv to_excel to_html to_json to_markdown to_numpy to_parquet to_records to_sql to_string value_counts values
""",
        ),
        ("pandas", "count() == 0", "empty"),
        ("pandas", "to_pandas()", "to_frame"),
        ("pandas", "count()", "size"),
        (
            "Polars",
            "to_polars().{name}",
            """
estimated_size get_column glimpse is_duplicated is_empty item iter_columns map_rows n_unique partition_by shape
to_dummies to_init_repr to_series to_struct write_csv write_database write_delta write_excel write_ipc
write_json write_ndjson write_parquet
""",
        ),
        (
            "pyarrow",
            "to_arrow().{name}",
            """
append_column column column_names combine_chunks itercolumns nbytes to_pydict to_struct_array
""",
        ),
        ("pyarrow", "select(…)", "project select_columns"),
        ("pyarrow", "select(…), with the columns that stay", "drop_columns"),
        ("pyarrow", "to_arrow_dataset()", "dataset to_dataset to_pyarrow_dataset"),
        (
            "DuckDB",
            "to_duckdb().{name}",
            """
aggregate create create_view fetch_df fetchdf fetchmany fetchnumpy fetchone order query set_alias
""",
        ),
        ("SQLAlchemy", "head(1)", "one scalar_one"),
        ("SQLAlchemy", "to_polars(lazy=True).sort(…)", "order_by"),
        ("SQLAlchemy", "to_polars(lazy=True).slice(n)", "skip"),
        ("Dask", "to_arrow_dataset(), or a split of plan() for each task", "to_dask"),
        ("Dask", "plan(n=…)", "npartitions partitions splits"),
        ("PyIceberg", "plan_files()", "files tasks"),
        ("delta-rs", "statistics()", "stats"),
        ("Java Iceberg", "table.refresh().scan(…)", "refresh"),
        ("Java Iceberg", "table.scan(options={…})", "option options"),
        ("Java Iceberg", "table.scan(…), of the table that you have", "table"),
        ("Python", "not needed: a scan never changes", "close copy"),
        ("pypaimon", "select(…)", "with_projection"),
        ("pypaimon", "where(filter)", "with_filter"),
        ("pypaimon", "limit(n)", "with_limit"),
        ("pypaimon", "for batch in scan", "to_record_batch_iterator to_iterator to_record_generator"),
        ("pypaimon", "where(frazil.col('x') == value)", "new_predicate_builder"),
        ("pypaimon", "to_arrow()", "new_read"),
        ("pypaimon", "plan()", "new_scan"),
        ("pypaimon", "plan(n=…), whose splits workers read", "with_shard with_slice"),
        ("pypaimon", "schema", "read_type"),
        ("Java Iceberg", "table.scan(at=time)", "as_of_time"),
        ("PyIceberg", "to_arrow()", "to_bodo"),
        ("pyarrow", "to_arrow_batch_reader().read_next_batch()", "read_next_batch"),
        ("pyarrow", "len(schema)", "num_columns"),
        ("Ibis", "to_arrow()", "to_ibis"),
        ("Polars", "select(…), with the columns that stay", "exclude"),
        ("pyarrow", "for batch in scan", "batches"),
    ],
    "Split": [
        ("pyarrow", "to_arrow()", "read read_all to_table"),
        ("pypaimon", "tasks", "file_paths files"),
    ],
    "ScanTask": [
        ("PyIceberg", "data_file", "file"),
        ("PyIceberg", "deletes", "delete_files"),
        ("PyIceberg", "data_file.path", "file_path"),
        ("PyIceberg", "data_file.partition", "partition"),
        ("PyIceberg", "data_file.record_count", "record_count"),
        ("pyarrow", "scan.plan()[0].to_arrow(), of a split of tasks,", "read to_arrow to_pandas to_polars"),
    ],
    "DataFile": [
        ("PyIceberg", "path", "file_path"),
        ("PyIceberg", "format", "file_format"),
        ("PyIceberg", "size_bytes", "file_size_in_bytes"),
        ("PyIceberg", "not needed: it has rows, and a DeleteFile has deletes", "content"),
        ("PyIceberg", "task.deletes[0].equality_ids", "equality_ids"),
        (
            "PyIceberg",
            "table.inspect.files()",
            """
lower_bounds upper_bounds column_sizes value_counts null_value_counts nan_value_counts key_metadata
""",
        ),
        ("pypaimon", "size_bytes", "file_size length size"),
        ("pypaimon", "table.inspect.files()", "key_stats stats value_stats"),
        ("pypaimon", "record_count", "num_records num_rows row_count"),
    ],
    "DeleteFile": [
        ("PyIceberg", "path", "file_path"),
        ("PyIceberg", "format", "file_format"),
        ("PyIceberg", "size_bytes", "file_size_in_bytes"),
    ],
}
"""By the class that is asked: the library, what to write, and the names."""
