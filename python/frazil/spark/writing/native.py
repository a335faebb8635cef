"""The native lane of writes: Spark's own Parquet writer writes the files. The driver reads their footers and commits.

Rows never leave the JVM. Spark gets names, field ids and a folder for the job below the table's data. It puts the rows
of each partition into their own folders. The core takes the partition values from these folders, and checks them
against bounds. If Spark would not write files like those of Iceberg's writers, Frazil's writer on the executors writes
them.

A job's folder contains the files of committed attempts: Spark's file committer moves them there when the job ends.
Files of failed attempts are deleted. If the driver died, `remove_orphan_files` finds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import Literal, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as st

from frazil import _core
from frazil._core import CommitMessage
from frazil.capabilities import format_name, supports
from frazil.engines import Engine, check_engine
from frazil.exceptions import FrazilError, InvalidInputError, UnsupportedError
from frazil.schema import Field, PartitionField
from frazil.spark import functions as ff
from frazil.spark.columns import quoted
from frazil.spark.jobs.interrupts import sweep_after_failure
from frazil.spark.lanes.spark_paths import place_for_spark
from frazil.spark.settings import changed_setting
from frazil.spark.types import spark_type
from frazil.spark.writing.distribution import ordering
from frazil.table import Table

__all__ = ["ENGINE_MEMBER", "WriteLane", "write_job_folder", "write_lane"]

# The property of a snapshot's summary that says who wrote its files.
ENGINE_MEMBER = "frazil.write-engine"

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}
_OPTIONS = {
    # Failed or repeated attempts must leave nothing in the folder of the job.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
_PROPERTIES = {
    "row-group-size-bytes": ("parquet.block.size", str(128 << 20)),
    "page-size-bytes": ("parquet.page.size", str(1 << 20)),
    "page-row-limit": ("parquet.page.row.count.limit", "20000"),
    "dict-size-bytes": ("parquet.dictionary.page.size", str(2 << 20)),
}
_CODECS = ("zstd", "snappy", "gzip", "uncompressed")
_WIDER = {
    "tinyint": ("int", "bigint"),
    "smallint": ("int", "bigint"),
    "int": ("bigint",),
    "float": ("double",),
    "void": (),
}
# The most bytes of a text that names a folder. Names in file systems have 255 bytes at most.
_MOST_BYTES = 120
# The prefix of columns that become folders of partitions. A number follows.
_FOLDER = "frazil_"
_DATES = ("date", "timestamp", "timestamptz")
_MICROS_PER_HOUR = 3_600_000_000


class WriteLane(NamedTuple):
    """Who writes a DataFrame's rows into a table's files.

    Attributes:
        engine: `native` is Spark's own Parquet writer. `arrow` is Frazil's writer on the executors.
        reason: Why Spark's writer does not write them; None if it does.
    """

    engine: Literal["native", "arrow"]
    reason: str | None

    def __str__(self) -> str:
        who = "Spark's Parquet writer" if self.engine == "native" else "Frazil's writer through Arrow"
        return f"{who}{f' ({self.reason})' if self.reason else ''}"


def write_lane(df: DataFrame, table: Table, engine: Engine) -> WriteLane:
    """Decides who would write.

    Raises:
        UnsupportedError: `engine` is `native`, and Spark would not write files like those of Iceberg's writers.
    """
    check_engine(engine)
    if engine == "arrow":
        return WriteLane("arrow", "engine='arrow' was given")
    reason = next(_reasons(df, table), None)
    if reason is None and engine == "auto":
        reason = next(_long_names(table), None)
    if reason is None:
        return WriteLane("native", None)
    if engine == "native":
        raise UnsupportedError(
            f"Spark's own writer would not write files like those of Iceberg's writers: {reason}",
            {"table": table.location},
            "Leave out engine=. Frazil's writer then writes the rows",
        )
    return WriteLane("arrow", reason)


def _reasons(df: DataFrame, table: Table) -> Iterator[str]:
    """Why Spark's writer can't write the rows."""
    if not supports(table._core, "native_writes"):
        yield f"the table is of {format_name(table._core)}"
        return
    yield from _property_reasons(table.properties)
    folder = table._core.job_folder("x")
    if folder is None:
        yield "the table's files lie under hashes (write.object-storage.enabled)"
    elif place_for_spark(df.sparkSession, folder) is None:
        yield f"Spark is not said to write to '{folder.partition(':')[0]}:'"
    elif not _core.is_plain_path(f"{folder}/x"):
        yield "Spark spells the path of the table's files in another way"
    fields = {field.name: field for field in table.schema.fields}
    if len({name.lower() for name in fields}) < len(fields):
        yield "the table has columns that differ in case only"
    if len({name.lower() for name in df.columns}) < len(df.columns):
        yield "the rows have columns that differ in case only"
    given = {field.name: field.dataType for field in df.schema}
    for name in fields:
        if name.lower().startswith(_FOLDER):
            yield f"column '{name}' has a name that folders of partitions may have"
    for name in given:
        if name not in fields:
            yield f"the table has no column '{name}'"
    for name, field in fields.items():
        yield from _column_reasons(field, given.get(name), name)
    for name in set(fields) - set(given):
        if fields[name].required or table.format_version >= 3:
            yield f"the rows have no column '{name}', which may have a default"
    sources = {field.id: field for field in table.schema.fields}
    for part in table.partition_spec.fields:
        if not _is_simple(part, sources.get(part.source_id)):
            yield f"partition field '{part.name}' ({part.transform}) is made by Frazil's writer"
    for sort in table.sort_order.fields:
        source = sources.get(sort.source_id)
        if source is None or source.type in ("float", "double") or ordering(table) is None:
            yield "Frazil's writer makes the table's sort order"


def _long_names(table: Table) -> Iterator[str]:
    """Partitions whose folders may have too long names: hexadecimal texts of more than `_MOST_BYTES`."""
    sources = {field.id: field for field in table.schema.fields}
    for part in table.partition_spec.fields:
        kind, _, width = part.transform.rstrip("]").partition("[")
        source = sources.get(part.source_id)
        of_text = source is not None and source.type == "string"
        if of_text and (kind == "identity" or (kind == "truncate" and int(width) * 4 > _MOST_BYTES)):
            yield f"partition field '{part.name}' ({part.transform}) may have long texts, which name folders of Spark's"


def _property_reasons(properties: Mapping[str, str]) -> Iterator[str]:
    if properties.get("write.format.default", "parquet").lower() != "parquet":
        yield f"the table's files are of format {properties['write.format.default']}"
    codec = properties.get("write.parquet.compression-codec", "zstd").lower()
    if codec not in _CODECS:
        yield f"codec {codec}"
    for name, value in properties.items():
        known = name.removeprefix("write.parquet.")
        if known == name or known in ("compression-codec", "compression-level"):
            continue
        if known not in _PROPERTIES:
            yield f"property '{name}' is known to Frazil's writer only"
        elif not value.isdigit():
            yield f"property '{name}' is not a number"
    level = properties.get("write.parquet.compression-level", "3")
    if "write.parquet.compression-level" in properties and (codec != "zstd" or not level.isdigit()):
        yield "property 'write.parquet.compression-level' is for zstd only"


def _column_reasons(field: Field, given: st.DataType | None, path: str) -> Iterator[str]:
    if not _PLAIN_NAME.match(field.name):
        yield f"column '{path}': files have another name for it"
    if field.type.startswith(("list<", "map<")):
        yield f"column '{path}': Spark writes no field ids inside lists and maps"
    elif field.type.startswith("struct<"):
        if given is None or isinstance(given, st.NullType):
            pass
        elif not isinstance(given, st.StructType) or given.fieldNames() != [c.name for c in field.children]:
            yield f"column '{path}': the rows have {given.simpleString()}"
            return
        for i, child in enumerate(field.children):
            inner = given.fields[i].dataType if isinstance(given, st.StructType) else None
            yield from _column_reasons(child, inner, f"{path}.{child.name}")
    elif field.type in ("uuid", "unknown", "variant") or field.type.startswith("fixed["):
        yield f"column '{path}': Spark has no type {field.type}"
    else:
        try:
            wanted = spark_type(field)
        except FrazilError:
            wanted = None
        if not isinstance(wanted, st.AtomicType):
            yield f"column '{path}': Spark has no type {field.type}"
        elif given is not None and not _is_lossless(given, wanted):
            yield f"column '{path}': the rows have {given.simpleString()}, the table {field.type}"


def _is_lossless(given: st.DataType, wanted: st.DataType) -> bool:
    """Whether all values are the same in the wanted type."""
    if given == wanted or isinstance(given, st.NullType):
        return True
    if isinstance(given, st.DecimalType) and isinstance(wanted, st.DecimalType):
        return given.scale == wanted.scale and given.precision <= wanted.precision
    return wanted.simpleString() in _WIDER.get(given.simpleString(), ())


def _is_simple(part: PartitionField, source: Field | None) -> bool:
    kind = part.transform.partition("[")[0]
    if kind == "void":
        return True
    if source is None:
        return False
    if kind in ("identity", "truncate"):
        return source.type in ("int", "long", "string", *(("date", "boolean") if kind == "identity" else ()))
    if kind == "bucket":
        return source.type in ("int", "long", "string", "date", "timestamp", "timestamptz", "binary") or (
            source.type.startswith("decimal")
        )
    if kind == "hour":
        return source.type in _DATES[1:]
    return kind in ("year", "month", "day") and source.type in _DATES


# ---------------------------------------------------------------- writing


def write_job_folder(df: DataFrame, table: Table, job: str) -> CommitMessage:
    """Makes Spark write the rows into a job's folder. If the write is not complete, the folder is deleted.

    Args:
        df: The rows, distributed.
        table: The table, for which `write_lane` returns `native`.
        job: A unique name.
    """
    spark = df.sparkSession
    folder = table._core.job_folder(job)
    place = None if folder is None else place_for_spark(spark, folder)
    if folder is None or place is None:
        raise InvalidInputError("the table has no folder for Spark's files", {"table": table.location})
    rows, folders, is_sorted = _arranged(df, table)
    try:
        writer = rows.write.options(**_options(table))
        with ExitStack() as settings:
            for name, value in _SETTINGS.items():
                settings.enter_context(changed_setting(spark, name, value))
            (writer.partitionBy(*folders) if folders else writer).parquet(place)
        message = table._core.collect_job(folder, is_sorted)
        if message.record_count == 0:
            delete_job_folder(table, folder)
        return message
    except BaseException as error:
        sweep_after_failure(partial(delete_job_folder, table, folder), error)
        raise


def delete_job_folder(table: Table, folder: str) -> None:
    """Deletes a job's folder. Files that can't be deleted become orphans."""
    with suppress(FrazilError):
        table._core.sweep_job(folder)


def _options(table: Table) -> dict[str, str]:
    properties = table.properties
    options = dict(_OPTIONS)
    for name, (option, default) in _PROPERTIES.items():
        options[option] = properties.get(f"write.parquet.{name}", default)
    codec = properties.get("write.parquet.compression-codec", "zstd").lower()
    options["compression"] = codec
    if "write.parquet.compression-level" in properties:
        options["parquet.compression.codec.zstd.level"] = properties["write.parquet.compression-level"]
    options["maxRecordsPerFile"] = str(_records_per_file(table))
    return options


def _records_per_file(table: Table) -> int:
    """About how many rows fit the table's target size; 0 if unknown."""
    summary = table.snapshot.summary if table.snapshot else {}
    rows, size = int(summary.get("total-records", 0)), int(summary.get("total-files-size", 0))
    target = table.properties.get("write.target-file-size-bytes", str(512 << 20))
    if rows < 100_000 or size <= 0 or not target.isdigit():
        return 0
    return max(int(target) * rows // size, 1)


def _arranged(df: DataFrame, table: Table) -> tuple[DataFrame, list[str], bool]:
    """The rows in the table's columns and types, columns for partition folders, and whether files are sorted."""
    given = {field.name: field.dataType for field in df.schema}
    columns = [_column(field, given.get(field.name)) for field in table.schema.fields]
    sources = {field.id: field for field in table.schema.fields}
    parts = table.partition_spec.fields
    live = [(i, part) for i, part in enumerate(parts) if not part.transform.startswith("void")]
    folders = {f"{_FOLDER}{i}": part for i, part in live}
    rows = df.select(*columns)
    values = {name: _folder(part, sources[part.source_id]).alias(name) for name, part in folders.items()}
    order = ordering(table)
    rows = rows.select("*", *values.values()) if values else rows
    if order:
        rows = rows.sortWithinPartitions(*[f.col(name).asc() for name in values], *order)
    return rows, list(values), bool(order)


def _column(field: Field, given: st.DataType | None) -> Column:
    wanted = _with_ids(field)
    column = f.lit(None) if given is None else f.col(quoted(field.name))
    if given is None or given != wanted:
        column = column.cast(wanted)
    return column.alias(field.name, metadata={"parquet.field.id": field.id})


def _with_ids(field: Field) -> st.DataType:
    if not field.type.startswith("struct<"):
        return spark_type(field)
    return st.StructType(
        [st.StructField(c.name, _with_ids(c), True, {"parquet.field.id": c.id}) for c in field.children]
    )


def _folder(part: PartitionField, source: Field) -> Column:
    """A partition value as the core reads it from a folder's name."""
    kind, _, width = part.transform.rstrip("]").partition("[")
    column = f.col(quoted(source.name))
    text: Column
    if kind == "bucket":
        text = ff.bucket(int(width), column).cast("string")
    elif kind == "truncate" and source.type == "string":
        text = _hexadecimal(ff.truncate(int(width), column))
    elif kind == "truncate":
        text = ff.truncate(int(width), column, spark_type(source)).cast("string")
    elif kind == "identity" and source.type == "string":
        text = _hexadecimal(column)
    elif kind == "identity" and source.type != "date":
        text = column.cast("string")
    else:
        text = _time(kind, column, source.type).cast("string")
    return f.coalesce(f.concat(f.lit("v"), text), f.lit("null"))


def _hexadecimal(column: Column) -> Column:
    text = f.lower(f.hex(column.cast("binary")))
    lost = f.raise_error(
        f.lit("a partition's text is too long for the name of Spark's folder: write with engine='arrow'")
    )
    return f.when(f.length(text) <= 2 * _MOST_BYTES, text).when(column.isNotNull(), lost.cast("string"))


def _time(kind: str, column: Column, type_: str) -> Column:
    """Years, months, days or hours since 1970 in UTC, whatever the session's zone is."""
    epoch = f.lit("1970-01-01").cast("date")
    if type_ == "timestamptz":
        micros = f.unix_micros(column)
        hours = (micros - f.pmod(micros, f.lit(_MICROS_PER_HOUR))) / f.lit(_MICROS_PER_HOUR)
        hours = hours.cast("int")
        date = f.date_add(epoch, f.floor(hours / f.lit(24)).cast("int"))
    else:
        date = column.cast("date")
        hours = f.datediff(date, epoch) * f.lit(24) + f.hour(column)
    if kind == "hour":
        return hours
    if kind == "year":
        return f.year(date) - f.lit(1970)
    if kind == "month":
        return (f.year(date) - f.lit(1970)) * f.lit(12) + f.month(date) - f.lit(1)
    return f.datediff(date, epoch)
