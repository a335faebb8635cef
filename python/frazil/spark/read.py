"""Scans as Spark DataFrames."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from frazil.arguments import At
from frazil.expr import Predicate
from frazil.scan import Scan
from frazil.spark.lanes import lanes_of
from frazil.spark.planning import Planning, deal_out, read_parts
from frazil.spark.types import spark_schema
from frazil.table import Table, open_table

__all__ = ["read", "read_scan"]


def read(
    spark: SparkSession,
    table: Table | str | os.PathLike[str],
    filter: str | Predicate | None = None,
    select: Sequence[str] | None = None,
    at: At | None = None,
    planning: Planning = "auto",
) -> DataFrame:
    """A table's rows as a Spark DataFrame.

    Args:
        spark: The session, classic or Connect.
        table: A table or its location.
        filter: Rows to keep; prunes files and row groups. Spark's own filters come too late for that.
        select: Columns to read; the others are never decoded.
        at: The version to read.
        planning: Who plans. `driver`: once, here and now. `executors`: here and now the manifest list only; executors
            plan whenever Spark runs the DataFrame, and the tasks go to the readers through a shuffle. `auto`: as the
            table's property `read.data-planning-mode` says (`local`, `distributed`); without it executors, if the data
            manifests to read have more bytes than `spark.frazil.planning.driver-max-bytes`.
    """
    opened = table if isinstance(table, Table) else open_table(table)
    return read_scan(spark, opened.scan(filter, select, at=at), planning)


def read_scan(spark: SparkSession, scan: Scan, planning: Planning = "auto") -> DataFrame:
    """A scan's rows as a Spark DataFrame; for `planning` see `read`. Executors read them, as often as Spark asks.

    The DataFrame's `explain()` shows `PlanOnExecutors` where executors plan.
    """
    schema = spark_schema(scan.schema)
    parts = deal_out(spark, scan, planning)
    if parts is not None:
        rows = read_parts(spark, scan, parts)
    else:
        frames = [lane(spark, splits, schema) for lane, splits in lanes_of(scan.plan())]
        rows = reduce(DataFrame.unionAll, frames)
    return rows if scan.row_limit is None else rows.limit(scan.row_limit)
