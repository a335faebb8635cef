"""Spark's data source `frazil`: `spark.read.format("frazil").load(table)` and `df.write.format("frazil")`.

A table is a location, or the name of a table in a catalog: `prod.db.events`. PyIceberg's configuration describes
catalogs. So do the settings `spark.frazil.catalog.prod.uri` and so on, which `register` hands to the format.

Read options are `columns` (names separated by commas, or a JSON list) and `filter`. One of `snapshot-id`, `branch`,
`tag` and `as-of-timestamp` chooses a version. A timestamp is in milliseconds since the epoch or in ISO form, in UTC if
it has no zone. `start-snapshot-id` and `end-snapshot-id` read rows appended after the first and up to the second.
`split-size`, `lookback` and `file-open-cost` control packing. `max-plan-bytes`, `plan-cache` and `plan-cache-bytes` are
those of scans. Options with a dot in their name go to the store. `credential-provider` is the import path of a function
that lends its credentials (`package.module:function`). Spark passes on neither columns nor filters, so give
both here. `frazil.spark.read` and `frazil.spark.sql` are faster.

Write options are `branch`, `overwrite-mode`, `job-id` and `snapshot-property.NAME`. `overwrite-mode` is `static`, which
replaces all rows or those that `replace-where` selects, or `dynamic`, which replaces the partitions that have new rows.
`job-id` is a name by which a repeated job is recognised. `snapshot-property.NAME` adds a property to the snapshot's
summary. With `mergeSchema`, columns that only the rows have are added to the table. With `overwriteSchema`, an
overwrite gives the table the columns of the rows. Rows are written by the tasks that have them:
`frazil.spark.append` can distribute them first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructField, StructType

from frazil import _core
from frazil.exceptions import InvalidInputError, NotFoundError, UnsupportedError
from frazil.foreign import BY_IMPORT_PATH
from frazil.scan import Scan, Split
from frazil.spark import wire
from frazil.spark.catalogs import Catalogs, is_name, load_named, session_catalogs
from frazil.spark.jobs.target import HANDLE, on_branch
from frazil.spark.lanes.arrow import rows_of
from frazil.spark.reading.options import KNOWN, scan_of
from frazil.spark.streams.reader import STREAM_OPTIONS, check_versions, stream_reader
from frazil.spark.streams.writer import stream_writer
from frazil.spark.types import spark_schema
from frazil.spark.workers.between_tasks import lighten_next_task
from frazil.spark.workers.registered import registered
from frazil.spark.writing.arriving import Arriving
from frazil.spark.writing.job import SUMMARY_PREFIX, WRITE_OPTIONS, job_of, schema_mode
from frazil.spark.writing.schema_changes import EvolvingWriter, SchemaChange, comes_with_rows
from frazil.spark.writing.writer import ArrivingWriter, FrazilWriter
from frazil.table import Table, open_table

__all__ = ["FrazilDataSource", "register"]

_KEPT_OPTIONS = ("path", *KNOWN)
# Options that Spark adds for tables of its catalog.
_CATALOG_OPTIONS = ("provider", "owner", "location", "external", "comment", "collation", "is_managed_location")
# The key of the options in a column's metadata. Spark forgets the options of tables made with CREATE TABLE, but not
# their schema.
_OPTIONS_KEY = "frazil-options"


def register(spark: SparkSession) -> None:
    """Registers the format `frazil` in a session, with the catalogs of its settings.

    These are `spark.frazil.catalog.NAME.KEY`, and the settings of the connectors, `spark.sql.catalog.NAME.KEY`.

    This is not necessary where Spark finds the package `pyspark_frazil` by itself, and tables are named by their
    locations or by PyIceberg's configuration.
    """
    catalogs = session_catalogs(spark)
    by_case = str(spark.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
    source = _of_session(catalogs, by_case) if catalogs or by_case else FrazilDataSource
    registered(spark, source, (catalogs, by_case))


class FrazilDataSource(DataSource):
    """The format `frazil`.

    Its reader has no `pushFilters`. With it, every query fails under Spark's default settings. With other settings,
    PySpark 4.1 and 4.3 plan a DataFrame once, with the filters of its first query. A later query without these filters
    then loses rows.
    """

    catalogs: ClassVar[Catalogs] = {}
    case_sensitive: ClassVar[bool] = False

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "frazil"

    def schema(self) -> StructType:
        """The schema of the result that the options select."""
        # Spark also passes the options that only streams have.
        options = {name: value for name, value in self.options.items() if name.lower() not in STREAM_OPTIONS}
        schema = spark_schema(self._scan(options).schema)
        return _with_options(schema, self.options) if "provider" in self.options else schema

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in `schema`: our schema, or one by which the user reads fewer columns."""
        options = _options(self.options, schema)
        scan = _with_schema(self._scan(options), schema, options)
        return FrazilReader(scan)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """A writer that appends or overwrites, depending on the write options."""
        job = job_of(self.options, overwrite)
        try:
            # INSERT INTO passes the schema of the rows, which may name the table they come from. So it is not used.
            table = self._table(self.options, WRITE_OPTIONS)
        except NotFoundError as error:
            raise NotFoundError(
                str(error), error.context, "Create the table first: frazil.catalog(...).create_table(...)"
            ) from error
        table, job = on_branch(table, job)
        key = str if self.case_sensitive else str.lower
        mode = schema_mode(self.options, overwrite)
        change = None if mode is None else SchemaChange.of(schema, table.schema, key, mode == "overwrite")
        if change is not None and comes_with_rows(table) and job.operation != "overwrite-partitions":
            arriving = Arriving.of(schema, change.schema_after(table), self.case_sensitive)
            return EvolvingWriter(table, job, change, arriving)
        if change is not None:
            table = change.committed(table)
        arriving = Arriving.of(schema, table.schema, self.case_sensitive)
        job.check(table)
        return FrazilWriter(table, job) if arriving is None else ArrivingWriter(table, job, arriving)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A reader of a stream of rows: first those of the present table, then those that are appended."""
        table = self._table(self.options, (*KNOWN, *STREAM_OPTIONS))
        options = {name.lower(): value for name, value in self.options.items() if "." not in name}
        of_scan = {name: value for name, value in options.items() if name not in STREAM_OPTIONS}
        check_versions(options)
        return stream_reader(
            table, _with_schema(self._scan({**self.options, **of_scan}, table), schema, options), options
        )

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """A writer that appends each batch once. With output mode `complete` it overwrites."""
        table, job = on_branch(
            self._table(self.options, (*WRITE_OPTIONS, "checkpointlocation")), job_of(self.options, overwrite)
        )
        table.writable_location()
        if schema_mode(self.options, overwrite) is not None:
            change = SchemaChange.of(schema, table.schema, str if self.case_sensitive else str.lower)
            table = table if change is None else change.committed(table)
        arriving = Arriving.of(schema, table.schema, self.case_sensitive)
        return stream_writer(table, self.options, job, arriving)

    def _table(self, options: Mapping[str, str], known: Sequence[str] = KNOWN) -> Table:
        return _table(options, known, self.catalogs)

    def _scan(self, options: Mapping[str, str], table: Table | None = None) -> Scan:
        # A temporary view has the same options for reading and for inserting.
        opened = self._table(options, (*KNOWN, *WRITE_OPTIONS)) if table is None else table
        return scan_of(opened, {name: value for name, value in options.items() if name.lower() in KNOWN})


def _of_session(given: Catalogs, by_case: bool) -> type[FrazilDataSource]:
    """The format with settings of a session. Spark runs it in other processes, which don't have these settings."""

    class SessionDataSource(FrazilDataSource):
        catalogs = given
        case_sensitive = by_case

    return SessionDataSource


class SplitPartition(InputPartition):
    """A split, in the form that Spark gives to an executor."""

    def __init__(self, split: Split) -> None:
        self.split = split


class FrazilReader(DataSourceReader):
    """Plans once on the driver. Executors read one split each."""

    def __init__(self, scan: Scan) -> None:
        self._scan: Scan | None = scan

    def partitions(self) -> Sequence[InputPartition]:
        """The splits."""
        assert self._scan is not None
        splits = self._scan.plan()
        self._scan = None  # this object is sent to executors next, which only need their split
        return [SplitPartition(split) for split in splits]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """A split's rows. Spark passes None if there are no splits."""
        if isinstance(partition, SplitPartition):
            lighten_next_task()
            yield from rows_of(partition.split)


def _table(options: Mapping[str, str], known: Sequence[str], catalogs: Catalogs) -> Table:
    if handle := options.get(HANDLE):
        return Table(_core.Table.from_json(handle)).refresh()
    location = options.get("path")
    if location is None:
        raise InvalidInputError(
            "the table's location is missing",
            hint="Write load(table), save(table) or option('path', table) with its location or name. In SQL, write "
            "CREATE TABLE t USING frazil OPTIONS (path '...') for a table that exists: frazil.spark.sql or "
            "catalog.create_table makes new ones. Spark does not pass the path when rows are inserted into a table "
            "made with CREATE TABLE: insert them into a temporary view (CREATE TEMPORARY VIEW v USING frazil OPTIONS "
            "(path '...')), or use frazil.spark.append",
        )
    if of_scans := [name for name in options if name.lower().startswith(("scan.", "incremental-between"))]:
        raise InvalidInputError(
            f"the format frazil has no option '{of_scans[0]}'",
            hint="Give the version with snapshot-id, tag, branch or as-of-timestamp, or use "
            "table.scan(options={...}).to_spark(spark), which takes the options of Apache Paimon",
        )
    if options.get("pushdown", "").lower() == "true":
        raise UnsupportedError(
            "option 'pushdown' is not supported: Spark 4.1 and 4.3 would use the filters of a DataFrame's first query "
            "for later ones too, and lose rows",
            hint="Use frazil.spark.sql, which plans each query with its own filters and columns, or option 'filter'",
        )
    allowed = ("path", *known, BY_IMPORT_PATH, "pushdown", *(_CATALOG_OPTIONS if "provider" in options else ()))
    unknown = [name for name in options if name.lower() not in allowed and "." not in name]
    if unknown:
        raise InvalidInputError(
            f"there is no option {', '.join(map(repr, unknown))}",
            hint=f"The options are path, {', '.join(dict.fromkeys(known))}",
        )
    others = ("option.", SUMMARY_PREFIX)
    store = {name: value for name, value in options.items() if "." in name and not name.lower().startswith(others)}
    provider = next((value for name, value in options.items() if name.lower() == BY_IMPORT_PATH), None)
    if not is_name(location):
        return open_table(location, store, credential_provider=provider)
    if provider is not None:
        store[BY_IMPORT_PATH] = provider
    if store:
        raise InvalidInputError(
            f"option '{next(iter(store))}' can't be combined with the name of a table",
            {"table": location},
            "Give options of the store to the catalog",
        )
    return load_named(location, catalogs)


def _with_schema(scan: Scan, schema: StructType, options: Mapping[str, str]) -> Scan:
    """The scan for the schema that Spark will read with."""
    ours = spark_schema(scan.schema)
    if schema.fieldNames() != ours.fieldNames() and "columns" not in options:
        scan = scan.select(*schema.fieldNames())
        ours = spark_schema(scan.schema)
    wrong = [f.name for f, g in zip(schema, ours, strict=False) if (f.name, f.dataType) != (g.name, g.dataType)]
    if len(schema) != len(ours) or wrong:
        raise InvalidInputError(
            f"the schema given to Spark does not fit the table in {', '.join(wrong) or 'its number of columns'}",
            hint=f"Leave it out, or take columns of: {ours.simpleString()}",
        )
    return scan


def _with_options(schema: StructType, options: Mapping[str, str]) -> StructType:
    """The schema of a table of Spark's catalog, with the options in its first column's metadata.

    Options of the store are left out, because schemas are displayed and these options may be secret.
    """
    kept = {name: value for name, value in options.items() if name.lower() in _KEPT_OPTIONS}
    if not schema.fields or "path" not in kept:
        return schema
    first, *others = schema.fields
    metadata = {**(first.metadata or {}), _OPTIONS_KEY: wire.text_of(dict(sorted(kept.items())))}
    return StructType([StructField(first.name, first.dataType, first.nullable, metadata), *others])


def _options(options: Mapping[str, str], schema: StructType) -> Mapping[str, str]:
    """The options, or those in the schema of a table of Spark's catalog."""
    if options:
        return options
    kept = next((field.metadata[_OPTIONS_KEY] for field in schema if _OPTIONS_KEY in (field.metadata or {})), None)
    return options if kept is None else wire.options_of(kept)
