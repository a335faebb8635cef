"""What engines do with rows, errors, and writers that are configured step by step: names that are answered alike."""

from __future__ import annotations

from frazil.names.habits import HABITS

__all__ = ["ENGINES"]

_SPARK_ROWS = """
agg alias approxQuantile asTable cache checkpoint coalesce colRegex corr cov createGlobalTempView
createOrReplaceGlobalTempView createOrReplaceTempView createTempView crossJoin crosstab cube describe distinct
drop dropDuplicates dropDuplicatesWithinWatermark drop_duplicates dropna dtypes exceptAll executionInfo exists
fillna foreach foreachPartition freqItems groupby groupingSets hint inputFiles intersect intersectAll isEmpty
isLocal isStreaming lateralJoin localCheckpoint mapInArrow mapInPandas melt mergeInto metadataColumn na
observe offset pandas_api persist plot printSchema randomSplit rdd registerTempTable repartition
repartitionById repartitionByRange replace rollup sameSemantics sample sampleBy scalar selectExpr semanticHash
sortWithinPartitions sparkSession stat storageLevel subtract summary to toDF toJSON toLocalIterator transform
transpose union unionAll unionByName unpersist unpivot withColumn withColumnRenamed withColumns
withColumnsRenamed withMetadata withWatermark write writeStream writeTo
"""

_POLARS_ROWS = """
approx_n_unique bottom_k cast clear clone collect_async collect_batches deserialize drop_nans drop_nulls
explode fill_nan fill_null from_lazyframe_resolver gather gather_every group_by_dynamic inspect interpolate
join_asof join_where last map_batches match_to_schema max mean median merge_sorted min null_count pipe
pipe_with_schema pivot profile quantile remote remove rename reverse rolling select_seq serialize set_sorted
shift show_graph sink_batches sink_csv sink_delta sink_iceberg sink_ipc sink_ndjson sink_parquet slice sql std
sum top_k unique unnest var width with_columns_seq with_row_count with_row_index
"""

_SPARK_FILES = "csv excel json orc parquet text xml jdbc"

_NOT_FOUND = "NoSuchIcebergTableError NoSuchIdentifierError NoSuchPlanTaskError NoSuchPropertyException NoSuchViewError"
_DENIED = "AuthorizationExpiredError ForbiddenError OAuthError SignError UnauthorizedError"
_STORE = "RESTError ServerError ServiceUnavailableError TooManyRequestsError"

_VERBS: dict[str, list[tuple[str, str, str]]] = {
    "frazil": [
        ("PyIceberg", "frazil.NotFoundError", _NOT_FOUND),
        ("PyIceberg", "frazil.AlreadyExistsError", "ViewAlreadyExistsError"),
        ("PyIceberg", "frazil.PermissionDeniedError", _DENIED),
        ("PyIceberg", "frazil.StoreError", _STORE),
        ("PyIceberg", "frazil.InvalidInputError", "BadRequestError NamespaceNotEmptyError ResolveError"),
        ("PyIceberg", "frazil.CommitConflictError", "ValidationException WaitingForLockException"),
        ("PyIceberg", "ImportError", "NotInstalledError"),
        ("PyIceberg", "frazil.Predicate", "BooleanExpression"),
    ],
    "Catalog": [
        ("Spark", "list_namespaces()", "currentDatabase getDatabase"),
        ("Spark", "frazil.catalog(name)", "currentCatalog listCatalogs setCurrentCatalog"),
        ("Spark", "'db.table', with the namespace in each name", "setCurrentDatabase"),
        ("Spark", "load_table(…).schema", "listColumns"),
        ("Spark", "create_table(…)", "createExternalTable"),
        ("Spark", "load_table(…).scan().to_spark(spark).cache()", "cacheTable isCached uncacheTable clearCache"),
        ("Spark", "load_table(…).refresh()", "refreshByPath recoverPartitions"),
        ("Spark", "drop_view(…)", "dropTempView dropGlobalTempView"),
        ("Spark", "frazil.spark.sql(spark, query)", "functionExists getFunction listFunctions registerFunction"),
    ],
    "Scan": [
        ("Spark", "to_spark(spark).{name}", _SPARK_ROWS),
        ("Polars", "to_polars(lazy=True).{name}", _POLARS_ROWS),
        ("pyarrow", "to_arrow_dataset().{name}", "get_fragments partition_expression replace_schema sort_by"),
    ],
    "Table": [
        ("Spark", "scan().to_spark(spark).write.{name}(path)", _SPARK_FILES),
        ("Spark", "frazil.write_table(name, data, mode=…)", "mode save saveAsTable insertInto"),
        ("Spark", "catalog.create_table(name, schema, partition_by=…, sort_by=…)", "partitionBy bucketBy clusterBy"),
        ("Spark", "catalog.create_table(name, schema, partition_by=…, sort_by=…)", "partitionedBy sortBy create"),
        ("Spark", "catalog.create_or_replace_table(name, schema)", "replace createOrReplace"),
        ("Spark", "catalog.create_table(name, schema, format=…)", "using"),
        ("Spark", "scan(options={{…}}) or set_properties(…)", "option options"),
        ("Spark", "set_properties(…)", "tableProperty"),
        ("Spark", "overwrite_partitions(data)", "overwritePartitions"),
        ("Spark", "frazil.open_table(path)", "load"),
        ("Spark", "frazil.load_table(name)", "table"),
    ],
}

ENGINES = {owner: [*_VERBS.get(owner, []), *HABITS.get(owner, [])] for owner in {**_VERBS, **HABITS}}
"""Names by the class that is asked for them: the library, what to write, and the names."""
