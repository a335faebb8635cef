"""Spark's data source `frazil`: `spark.read.format("frazil").load(location)` and `df.write.format("frazil")`.

Read options: `columns` (names with commas between, or a JSON list), `filter`, one of `snapshot-id`, `branch`, `tag`
and `as-of-timestamp` (milliseconds since the epoch, or ISO, in UTC without a zone), `start-snapshot-id` and
`end-snapshot-id` (what was appended after the one, up to the other), `split-size`, `lookback`, `file-open-cost` for
packing, and `max-plan-bytes`, `plan-cache`, `plan-cache-bytes` as scans take them. Options with a dot in their name go
to the store. Spark passes neither columns nor filters on, so give both here, or use `frazil.spark.read` or
`frazil.spark.sql`, which are faster.

Write options: `branch`; `overwrite-mode`, `static` (all rows are replaced, or those that `replace-where` keeps) or
`dynamic` (the partitions that there are rows for); `job-id`, a name by which a job that runs again is known;
`snapshot-property.NAME`, members of the snapshot's summary. Rows are written by the tasks that have them: use
`frazil.spark.append` to have them distributed first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.errors import AnalysisException
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
from frazil.scan import Scan, Split
from frazil.spark import wire
from frazil.spark.jobs.target import HANDLE
from frazil.spark.lanes.arrow import rows_of
from frazil.spark.reading.options import KNOWN, scan_of
from frazil.spark.streams.reader import STREAM_OPTIONS, check_versions, stream_reader
from frazil.spark.streams.writer import stream_writer
from frazil.spark.types import spark_schema
from frazil.spark.workers.between_tasks import lighten_next_task
from frazil.spark.writing.job import SUMMARY_PREFIX, WRITE_OPTIONS, job_of
from frazil.spark.writing.writer import FrazilWriter
from frazil.table import Table, open_table

__all__ = ["FrazilDataSource", "register"]

_TAKEN = ("path", *KNOWN)
# What Spark adds for tables of its catalog.
_OF_CATALOG = ("provider", "owner", "location", "external", "comment", "collation", "is_managed_location")
# The member of a column's metadata that holds the options. Spark forgets those of tables made with CREATE TABLE, but
# not their schema.
_KEPT = "frazil-options"


def register(spark: SparkSession) -> None:
    """Registers the format `frazil` in a session.

    Not needed where Spark finds the package `pyspark_frazil` by itself.
    """
    try:
        spark.dataSource.register(FrazilDataSource)
    except AnalysisException as error:
        # So says PySpark 4.0 in the session of a stream's batch, where it has found the format by itself.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise


class FrazilDataSource(DataSource):
    """The format `frazil`.

    Its reader has no `pushFilters`. With it every query fails under Spark's default settings, and where they are
    changed, PySpark 4.1 and 4.3 plan a DataFrame once with the filters of its first query and keep to that: a later
    query without filters loses rows.
    """

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "frazil"

    def schema(self) -> StructType:
        """The schema of what the options ask for."""
        # Streams have options of their own, which Spark gives here too.
        options = {name: value for name, value in self.options.items() if name.lower() not in STREAM_OPTIONS}
        schema = spark_schema(_scan(options).schema)
        return _with_options(schema, self.options) if "provider" in self.options else schema

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in `schema`: ours, or one that the user gave to read fewer columns."""
        options = _options(self.options, schema)
        scan = _narrowed(_scan(options), schema, options)
        return FrazilReader(scan)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """A writer that appends or overwrites, as the write options say."""
        job = job_of(self.options, overwrite)
        try:
            # Not from the schema: of INSERT INTO it is that of the rows, so it may name the table that they come from.
            table = _table(self.options, WRITE_OPTIONS)
        except NotFoundError as error:
            raise NotFoundError(
                str(error), error.context, "Create the table first: frazil.catalog(...).create_table(...)"
            ) from error
        job.check(table)
        return FrazilWriter(table, job)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A reader of the rows that come: those of the table as it is, then what is appended."""
        table = _table(self.options, (*KNOWN, *STREAM_OPTIONS))
        options = {name.lower(): value for name, value in self.options.items() if "." not in name}
        of_scan = {name: value for name, value in options.items() if name not in STREAM_OPTIONS}
        check_versions(options)
        return stream_reader(table, _narrowed(_scan({**self.options, **of_scan}, table), schema, options), options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """A writer that appends each batch once, or of output mode `complete` overwrites with it."""
        table = _table(self.options, (*WRITE_OPTIONS, "checkpointlocation"))
        table.writable_location()
        return stream_writer(table, self.options, job_of(self.options, overwrite))


class SplitPartition(InputPartition):
    """A split as Spark hands it to an executor."""

    def __init__(self, split: Split) -> None:
        self.split = split


class FrazilReader(DataSourceReader):
    """Plans once on the driver; executors read a split each."""

    def __init__(self, scan: Scan) -> None:
        self._scan: Scan | None = scan

    def partitions(self) -> Sequence[InputPartition]:
        """The splits."""
        assert self._scan is not None
        splits = self._scan.plan()
        self._scan = None  # executors, to which this object travels next, need their split only
        return [SplitPartition(split) for split in splits]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """A split's rows. Spark asks for partition None if there are no splits."""
        if isinstance(partition, SplitPartition):
            lighten_next_task()
            yield from rows_of(partition.split)


def _table(options: Mapping[str, str], known: Sequence[str] = KNOWN) -> Table:
    if handle := options.get(HANDLE):
        return Table(_core.Table.from_json(handle)).refresh()
    location = options.get("path")
    if location is None:
        raise InvalidInputError(
            "the location of the table is missing",
            hint="Write load(location), save(location) or option('path', location). Spark does not say it of a table "
            "made with CREATE TABLE that rows are inserted into: insert them into a temporary view (CREATE TEMPORARY "
            "VIEW v USING frazil OPTIONS (path '...')), or use frazil.spark.append",
        )
    if paimons := [name for name in options if name.lower().startswith(("scan.", "incremental-between"))]:
        raise InvalidInputError(
            f"the format has no option '{paimons[0]}'",
            hint="Name the version by snapshot-id, tag, branch or as-of-timestamp, or use "
            "table.scan(options={...}).to_spark(spark), which takes the options of Apache Paimon",
        )
    if options.get("pushdown", "").lower() == "true":
        raise UnsupportedError(
            "Spark 4.1 and 4.3 keep the filters of a DataFrame's first query for later ones, which then lose rows",
            hint="Use frazil.spark.sql, which plans each query with its own filters and columns, or option 'filter'",
        )
    allowed = ("path", *known, "pushdown", *(_OF_CATALOG if "provider" in options else ()))
    unknown = [name for name in options if name.lower() not in allowed and "." not in name]
    if unknown:
        raise InvalidInputError(
            f"there is no option {', '.join(map(repr, unknown))}",
            hint=f"The options are path, {', '.join(dict.fromkeys(known))}",
        )
    others = ("option.", SUMMARY_PREFIX)
    store = {name: value for name, value in options.items() if "." in name and not name.lower().startswith(others)}
    return open_table(location, store)


def _scan(options: Mapping[str, str], table: Table | None = None) -> Scan:
    # A temporary view has one set of options for what is read from it and what is inserted.
    opened = _table(options, (*KNOWN, *WRITE_OPTIONS)) if table is None else table
    return scan_of(opened, {name: value for name, value in options.items() if name.lower() in KNOWN})


def _narrowed(scan: Scan, schema: StructType, options: Mapping[str, str]) -> Scan:
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
    """The schema of a table of Spark's catalog with the options in its first column's metadata.

    Those of the store are left out, since they may be secret and schemas are shown.
    """
    kept = {name: value for name, value in options.items() if name.lower() in _TAKEN}
    if not schema.fields or "path" not in kept:
        return schema
    first, *others = schema.fields
    metadata = {**(first.metadata or {}), _KEPT: wire.text_of(dict(sorted(kept.items())))}
    return StructType([StructField(first.name, first.dataType, first.nullable, metadata), *others])


def _options(options: Mapping[str, str], schema: StructType) -> Mapping[str, str]:
    """The options, or those that the schema of a table of Spark's catalog has kept."""
    if options:
        return options
    kept = next((field.metadata[_KEPT] for field in schema if _KEPT in (field.metadata or {})), None)
    return options if kept is None else wire.options_of(kept)
