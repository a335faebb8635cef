"""Rows with their places: some columns of a table, and for each row its data file and its position in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from frazil.expr import col
from frazil.scan import Scan
from frazil.spark.columns import quoted
from frazil.spark.lanes.arrow import arrow_lane, pack_from
from frazil.spark.lanes.assignment import assign_lanes
from frazil.spark.lanes.native import read_group
from frazil.spark.planning.executors import parts_for_executors, read_parts
from frazil.spark.types import spark_schema
from frazil.table import Table

__all__ = ["Placed", "read_placed"]

# Files that only Frazil can read are named in a filter. With more files than this, Frazil reads all files.
_MOST_NAMED = 1_000
_LONGEST = 1 << 30


class Placed:
    """Rows whose file is spelled as Spark does.

    Attributes:
        rows: The selected columns, then `_file` and `_pos`.
    """

    def __init__(self, rows: DataFrame, paths: Mapping[str, str] | None = None, others: Sequence[str] = ()) -> None:
        """Stores the rows and the names of their files.

        Args:
            rows: The rows.
            paths: The table's names of files, by Spark's spelling.
            others: Files that Spark spells as the table does.
        """
        self.rows = rows
        self._paths = paths or {}
        self._others = others

    def of(self, rows: DataFrame) -> Placed:
        """Other rows of the same files."""
        return Placed(rows, self._paths, self._others)

    def path(self, file: Column) -> Column:
        """A file as the table names it."""
        begins = {
            spelled.removesuffix(path) if spelled.endswith(path) else None for spelled, path in self._paths.items()
        }
        before = next(iter(begins), "")
        if len(begins) <= 1 and before is not None and not any(path.startswith(before) for path in self._others):
            # Usually Spark puts a scheme before it. Looking into a map costs a comparison for each of its files.
            named = file.substr(len(before) + 1, _LONGEST)
            return f.when(file.startswith(before), named).otherwise(file) if before else file
        known = f.create_map(*(f.lit(text) for pair in self._paths.items() for text in pair))
        return f.coalesce(known[file], file)


def read_placed(spark: SparkSession, table: Table, filter: str, select: Sequence[str], at: str | None = None) -> Placed:
    """The rows that a filter keeps. Spark's own reader reads the files that it reads in the same way as Frazil.

    Args:
        spark: The session.
        table: The table, at its version.
        filter: As for `Table.scan`.
        select: Columns, which may be members of structs.
        at: A branch.
    """
    with_places = table.scan(filter, [*select, "_file", "_pos"], at=at)
    parts = parts_for_executors(spark, with_places, "auto")
    if parts is not None:
        return Placed(read_parts(spark, with_places, parts))
    scan = table.scan(filter, list(select), at=at)
    assigned = assign_lanes(spark, scan, "auto", places=True, pack_from=pack_from(spark))
    rest = assigned.reasons["file_path"].unique().to_pylist() if assigned.groups else []
    if not assigned.groups or len(rest) > _MOST_NAMED:
        return Placed(_read_by_arrow(spark, with_places))
    schema = spark_schema(with_places.schema)
    frames = [frame for group in assigned.groups for frame in read_group(spark, assigned, group, schema, places=True)]
    if rest:
        frames.append(_read_by_arrow(spark, with_places.where(col("_file").is_in(rest))))
    files = [file for group in assigned.groups for file in group.files]
    paths = {spelled: file.path for file in files for spelled in file.spellings}
    return Placed(reduce(DataFrame.unionAll, frames), paths, rest)


def _read_by_arrow(spark: SparkSession, scan: Scan) -> DataFrame:
    splits = scan._core.splits_or_packed(pack_from(spark))
    return arrow_lane(spark, splits, spark_schema(scan.schema)).select(*map(f.col, map(quoted, scan.schema.names)))
