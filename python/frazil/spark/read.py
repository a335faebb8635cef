"""Scans as Spark DataFrames."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from frazil.arguments import At
from frazil.engines import Engine, Planning
from frazil.exceptions import InvalidInputError
from frazil.expr import Columns, Filter
from frazil.scan import Scan
from frazil.spark.catalogs import table_of
from frazil.spark.lanes.arrow import arrow_lane, pack_from
from frazil.spark.lanes.assignment import LaneAssignment, all_to_arrow, assign_lanes
from frazil.spark.lanes.native import read_group
from frazil.spark.planning.executors import parts_for_executors, read_parts
from frazil.spark.planning.kept_plans import keep_plans
from frazil.spark.reading.options import scan_of
from frazil.spark.types import spark_schema
from frazil.table import Table

__all__ = ["Lanes", "explain", "read", "read_scan"]

_CACHE = "plan-cache"


def read(
    spark: SparkSession,
    table: Table | str | os.PathLike[str],
    filter: Filter | None = None,
    select: Columns | None = None,
    at: At | None = None,
    planning: Planning = "auto",
    engine: Engine = "auto",
    options: Mapping[str, object] | None = None,
) -> DataFrame:
    """A table's rows as a Spark DataFrame.

    Args:
        spark: The session, classic or Connect.
        table: A table, its location, or its name (`catalog.namespace.table`).
        filter: The rows to keep. The filter prunes files and row groups. Spark's own filters come too late to prune
            files.
        select: The columns to read. Other columns are not decoded.
        at: The version to read.
        planning: Who plans. `driver` plans once, now. `executors` reads only the manifest list now. Executors then plan
            whenever Spark runs the DataFrame, and a shuffle brings the tasks to the readers. `auto` follows the table's
            property `read.data-planning-mode` (`local`, `distributed`). Without it, executors plan if the data
            manifests to read are larger than `spark.frazil.planning.driver-max-bytes`.
        engine: Who reads. `auto`: Spark's own Parquet reader reads the files that it reads in the same way as Frazil,
            and Frazil reads the other files and all that executors plan. `native`: Spark's reader, or an error.
            `arrow`: Frazil's reader. `explain` says which files are read by which reader, and why.
        options: Read options by the names of Iceberg's Spark options: those of the format `frazil`.
    """
    opened = table_of(spark, table)
    given = options or {}
    kept = {} if _CACHE in map(str.lower, given) else keep_plans(spark, opened)
    return read_scan(spark, scan_of(opened, {**kept, **given}, filter, select, at), planning, engine)


def read_scan(spark: SparkSession, scan: Scan, planning: Planning = "auto", engine: Engine = "auto") -> DataFrame:
    """A scan's rows as a Spark DataFrame. `planning` and `engine` are those of `read`.

    The DataFrame's `explain()` shows the Arrow lane, and `PlanOnExecutors` if executors plan. `explain("extended")`
    names all lanes that are used.
    """
    schema = spark_schema(scan.schema)
    if engine == "native" and planning == "executors":
        raise InvalidInputError("engine='native' needs planning='driver', because Frazil reads what executors plan")
    parts = None if engine == "native" else parts_for_executors(spark, scan, planning)
    if parts is not None:
        rows = read_parts(spark, scan, parts)
    else:
        # With engine="native", files that are left over raise an error that names one of them.
        assigned = assign_lanes(spark, scan, engine, pack_from=None if engine == "native" else pack_from(spark))
        frames = [frame for group in assigned.groups for frame in read_group(spark, assigned, group, schema)]
        if len(assigned.rest) or not frames:
            frames.append(arrow_lane(spark, assigned.rest, schema))
        rows = reduce(DataFrame.unionAll, frames)
    return rows if scan.row_limit is None else rows.limit(scan.row_limit)


class Lanes:
    """Which lane reads which file of a scan, and why. Print it.

    Attributes:
        files: A pyarrow table with columns `file_path`, `lane` and `reason`. The lanes are `N` (Spark's own reader),
            `ND` (Spark's own reader, and a join leaves out deleted rows) and `A` (Frazil's reader through Arrow). Lane
            `A` has a reason.
    """

    def __init__(self, assigned: LaneAssignment) -> None:
        schema = pa.schema([("file_path", pa.string()), ("lane", pa.string()), ("reason", pa.string())])
        rows = [
            (file.path, "ND" if group.has_deletes else "N", None) for group in assigned.groups for file in group.files
        ]
        native = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
        reasons = assigned.reasons
        arrow = reasons.add_column(1, "lane", pa.repeat("A", len(reasons)))
        self.files = pa.concat_tables([native, arrow.cast(schema)])

    def __repr__(self) -> str:
        counts = Counter(zip(self.files["lane"].to_pylist(), self.files["reason"].to_pylist(), strict=True))
        readers = {
            "N": "Spark's Parquet reader",
            "ND": "Spark's Parquet reader, deleted rows left out by a join",
            "A": "Frazil's reader through Arrow",
        }
        lines = [
            f"{lane:2} {count:>7} files: {readers[lane]}{f' ({why})' if why else ''}"
            for (lane, why), count in sorted(
                counts.items(), key=lambda item: (item[0][0] == "A", item[0][0], -item[1], item[0][1])
            )
        ]
        return "\n".join(lines or ["no files"])


def explain(
    spark: SparkSession,
    table: Table | Scan | str | os.PathLike[str],
    filter: Filter | None = None,
    select: Columns | None = None,
    at: At | None = None,
    planning: Planning = "auto",
    engine: Engine = "auto",
    options: Mapping[str, object] | None = None,
) -> Lanes:
    """Which lane would read which file. The arguments are those of `read`. A scan can be given in place of a table."""
    if isinstance(table, Scan):
        scan = table
    else:
        opened = table_of(spark, table)
        scan = scan_of(opened, options or {}, filter, select, at)
    if engine != "native" and parts_for_executors(spark, scan, planning) is not None:
        return Lanes(all_to_arrow(scan, "executors plan it"))
    return Lanes(assign_lanes(spark, scan, engine))
