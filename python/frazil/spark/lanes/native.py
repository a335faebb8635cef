"""The native lane: files that Spark's own Parquet reader reads.

`assignment` says which files these are. Columns are read by their names in the files, never by field ids: Spark matches
data by ids, but pushes filters by names.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as st

from frazil.spark.columns import quoted, selected
from frazil.spark.lanes.assignment import File, Group, LaneAssignment, chunks
from frazil.spark.lanes.conditions import condition
from frazil.spark.lanes.deleted_rows import without_deleted
from frazil.spark.lanes.spark_paths import decoded
from frazil.spark.settings import changed_setting
from frazil.spark.types import spark_schema

__all__ = ["read_group"]


# With more paths than this, Spark starts a job to look for them, with a task for each.
_FEW_PATHS = 32


_MANY_PATHS = "spark.sql.sources.parallelPartitionDiscovery.threshold"


_OPTIONS = {
    # Iceberg's dates and times use the proleptic Gregorian calendar, whoever wrote the file.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    # A missing file must not count as a file without rows.
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    # Folders must not become columns.
    "recursiveFileLookup": "true",
    "mergeSchema": "false",
}


def read_group(
    spark: SparkSession, assigned: LaneAssignment, group: Group, result: st.StructType, places: bool = False
) -> list[DataFrame]:
    """The rows of a group's files: a DataFrame for each set of files that is scanned together.

    Args:
        spark: The session.
        assigned: The scan's files.
        group: One of its groups.
        result: The columns.
        places: Whether `_file`, as Spark spells it, and `_pos` are among them.
    """
    return [_read_files(spark, assigned, group, files, result, places) for files in chunks(group)]


def _read_files(
    spark: SparkSession,
    assigned: LaneAssignment,
    group: Group,
    files: Sequence[File],
    result: st.StructType,
    places: bool,
) -> DataFrame:
    wanted = spark_schema(assigned.wanted)
    stored = [(name, field) for name, field in zip(group.columns, wanted, strict=True) if name is not None]
    schema = st.StructType([st.StructField(name, field.dataType) for name, field in stored])
    rows = _open(spark, schema, [file.spellings[0] for file in files])
    columns = [_column(name, field) for name, field in zip(group.columns, wanted, strict=True)]
    if places:
        columns += ["_metadata.file_path as _file", "_metadata.row_index as _pos"]
    deleted = group.has_deletes
    rows = without_deleted(spark, assigned, rows, columns, files) if deleted else selected(spark, rows, columns)
    if group.filtered and assigned.filter is not None:
        rows = rows.where(condition(assigned.filter))
    lane = "delete" if deleted else "plain"
    names = [quoted(field.name) for field in result]
    return selected(spark, rows, names).alias(f"frazil native {lane} lane: {len(files)} files")


def _column(name: str | None, field: st.StructField) -> str | Column:
    """A column of a file under its name in the table: in SQL, or built if it has a comment or is a nested null."""
    if name is not None:
        text = _without_push_down(quoted(name), field.dataType)
    elif isinstance(field.dataType, st.AtomicType):
        text = f"cast(null as {field.dataType.simpleString()})"
    else:
        return f.lit(None).cast(field.dataType).alias(field.name, metadata=field.metadata)
    if field.metadata:
        return f.expr(text).alias(field.name, metadata=field.metadata)
    return f"{text} as {quoted(field.name)}"


def _without_push_down(column: str, type_: st.DataType) -> str:
    """The same values, by an expression that Spark does not push down if there are floats.

    Statistics leave out NaN, and dictionaries distinguish -0.0 from 0.0. For Spark, NaN is greater than all numbers and
    zeros are equal. It would still skip row groups by these statistics, and lose rows.
    """
    if isinstance(type_, (st.FloatType, st.DoubleType)):
        return f"nanvl({column}, cast('NaN' as {type_.simpleString()}))"
    if isinstance(type_, st.StructType) and _has_floats(type_):
        return f"case when {column} is not null then {column} end"
    return column


def _has_floats(type_: st.DataType) -> bool:
    if isinstance(type_, st.StructType):
        return any(_has_floats(field.dataType) for field in type_)
    return isinstance(type_, (st.FloatType, st.DoubleType))


def _open(spark: SparkSession, schema: st.StructType, paths: Sequence[str]) -> DataFrame:
    reader = spark.read.schema(schema).options(**_OPTIONS)
    if len(paths) <= _FEW_PATHS:
        return reader.parquet(*paths)
    folders: dict[str, list[str]] = {}
    for path in paths:
        folder, name = posixpath.split(path)
        folders.setdefault(folder, []).append(name)
    # Listing folders costs less than looking for each file. But other files in them may have the same names.
    if len(folders) <= _FEW_PATHS and len(set().union(*folders.values())) == len(paths):
        pattern = "{" + ",".join(sorted(name for names in folders.values() for name in names)) + "}"
        try:
            rows = reader.option("pathGlobFilter", pattern).parquet(*folders)
            if sorted(map(decoded, rows.inputFiles())) == sorted(map(decoded, paths)):
                return rows
        except PySparkException:
            pass  # the read below raises the error for the right file
    with changed_setting(spark, _MANY_PATHS, str(len(paths) + 1)):
        rows = reader.parquet(*paths)
        # Connect looks for the files when they are first needed.
        _ = rows.columns
    return rows
