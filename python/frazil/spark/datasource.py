"""Spark's data source `frazil`: `spark.read.format("frazil").load(location)` and `df.write.format("frazil")`.

Read options: `columns` (names with commas between, or a JSON list), `filter`, one of `snapshot-id`, `branch`, `tag`
and `as-of-timestamp` (milliseconds since the epoch, or ISO, in UTC without a zone), `split-size`, `lookback`, `file-
open-cost` for packing, and `max-plan-bytes`, `plan-cache`, `plan-cache-bytes` as scans take them. Options with a dot
in their name go to the store. Spark passes neither columns nor filters on, so give both here, or use
`frazil.spark.read`, which is faster.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter, InputPartition
from pyspark.sql.types import StructType

from frazil import _core
from frazil.arguments import At
from frazil.exceptions import InvalidInputError, NotFoundError, UnsupportedError
from frazil.scan import Scan, Split
from frazil.spark.lanes import rows_of
from frazil.spark.types import spark_schema
from frazil.spark.write import HANDLE, FrazilWriter
from frazil.table import Table, open_table

__all__ = ["FrazilDataSource", "register"]

_VERSIONS = ("snapshot-id", "branch", "tag", "as-of-timestamp")
_PACKING = {"split-size": "split_size_bytes", "lookback": "lookback", "file-open-cost": "open_file_cost_bytes"}
_PLANNING = ("max-plan-bytes", "plan-cache", "plan-cache-bytes")
_KNOWN = ("path", "columns", "filter", *_VERSIONS, *_PACKING, *_PLANNING)


def register(spark: SparkSession) -> None:
    """Registers the format `frazil` in a session.

    Not needed where Spark finds the package `pyspark_frazil` by itself.
    """
    spark.dataSource.register(FrazilDataSource)


class FrazilDataSource(DataSource):
    """The format `frazil`. It has no `pushFilters`: with it every query fails under Spark's default settings."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "frazil"

    def schema(self) -> StructType:
        """The schema of what the options ask for."""
        return spark_schema(_scan(self.options).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in `schema`: ours, or one that the user gave to read fewer columns."""
        return FrazilReader(_narrowed(_scan(self.options), schema, self.options), _packing(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """A writer that appends."""
        if overwrite:
            raise UnsupportedError("overwriting is not supported yet", hint="Use mode('append')")
        try:
            table = _table(self.options)
        except NotFoundError as error:
            raise NotFoundError(
                str(error), error.context, "Create the table first: frazil.catalog(...).create_table(...)"
            ) from error
        return FrazilWriter(table)


class SplitPartition(InputPartition):
    """A split as Spark hands it to an executor."""

    def __init__(self, split: Split) -> None:
        self.split = split


class FrazilReader(DataSourceReader):
    """Plans once on the driver; executors read a split each."""

    def __init__(self, scan: Scan, packing: dict[str, int]) -> None:
        self._scan: Scan | None = scan
        self._packing = packing

    def partitions(self) -> Sequence[InputPartition]:
        """The splits."""
        assert self._scan is not None
        splits = self._scan.plan(**self._packing)
        self._scan = None  # executors, to which this object travels next, need their split only
        return [SplitPartition(split) for split in splits]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """A split's rows. Spark asks for partition None if there are no splits."""
        if isinstance(partition, SplitPartition):
            yield from rows_of(partition.split)


def _table(options: Mapping[str, str]) -> Table:
    if handle := options.get(HANDLE):
        return Table(_core.Table.from_json(handle)).refresh()
    location = options.get("path")
    if location is None:
        raise InvalidInputError(
            "the location of the table is missing",
            hint="Write load(location), save(location) or option('path', location). Spark loses the options of tables "
            "made with CREATE TABLE: use CREATE TEMPORARY VIEW v USING frazil OPTIONS (path '...') instead",
        )
    unknown = [name for name in options if name.lower() not in _KNOWN and "." not in name]
    if unknown:
        raise InvalidInputError(
            f"there is no option {', '.join(map(repr, unknown))}", hint=f"The options are {', '.join(_KNOWN)}"
        )
    return open_table(location, {name: value for name, value in options.items() if "." in name})


def _scan(options: Mapping[str, str]) -> Scan:
    table = _table(options)
    planning = {name: options[name] for name in _PLANNING if name in options}
    return table.scan(options.get("filter"), _columns(options), at=_at(table, options), options=planning)


def _columns(options: Mapping[str, str]) -> list[str] | None:
    text = options.get("columns")
    if text is None:
        return None
    if not text.lstrip().startswith("["):
        return [name.strip() for name in text.split(",")]
    try:
        names = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f"option 'columns' is no JSON list: {error}") from error
    return list(names)


def _at(table: Table, options: Mapping[str, str]) -> At | None:
    given = [name for name in _VERSIONS if name in options]
    if not given:
        return None
    if len(given) > 1:
        raise InvalidInputError(f"options {', '.join(given)} can't be combined", hint="Give one of them")
    name, value = given[0], options[given[0]]
    if name == "snapshot-id":
        return _integer(name, value)
    if name == "as-of-timestamp":
        return _timestamp(value)
    ref = table.refs[value]
    if ref.type != name:
        raise NotFoundError(f"'{value}' is a {ref.type}, not a {name}", {"ref": value}, f"Use option '{ref.type}'")
    return value


def _timestamp(value: str) -> dt.datetime:
    try:
        return dt.datetime.fromtimestamp(0, dt.timezone.utc) + dt.timedelta(milliseconds=int(value))
    except OverflowError as error:
        raise InvalidInputError(f"option 'as-of-timestamp': {value} is out of range") from error
    except ValueError:
        pass
    try:
        parsed = dt.datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError as error:
        raise InvalidInputError(
            f"option 'as-of-timestamp': '{value}' is no timestamp",
            hint="Give milliseconds since the epoch, or ISO text",
        ) from error
    return parsed


def _packing(options: Mapping[str, str]) -> dict[str, int]:
    return {keyword: _integer(name, options[name]) for name, keyword in _PACKING.items() if name in options}


def _integer(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError as error:
        raise InvalidInputError(f"option '{name}' must be an integer, not '{value}'") from error


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
