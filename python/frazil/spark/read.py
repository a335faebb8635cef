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
from frazil.spark.types import spark_schema
from frazil.table import Table, open_table

__all__ = ["read", "read_scan"]


def read(
    spark: SparkSession,
    table: Table | str | os.PathLike[str],
    filter: str | Predicate | None = None,
    select: Sequence[str] | None = None,
    at: At | None = None,
) -> DataFrame:
    """A table's rows as a Spark DataFrame.

    Args:
        spark: The session, classic or Connect.
        table: A table or its location.
        filter: Rows to keep; prunes files and row groups. Spark's own filters come too late for that.
        select: Columns to read; the others are never decoded.
        at: The version to read.
    """
    opened = table if isinstance(table, Table) else open_table(table)
    return read_scan(spark, opened.scan(filter, select, at=at))


def read_scan(spark: SparkSession, scan: Scan) -> DataFrame:
    """A scan's rows as a Spark DataFrame: planned here and now, read by executors, as often as Spark asks."""
    schema = spark_schema(scan.schema)
    frames = [lane(spark, splits, schema) for lane, splits in lanes_of(scan.plan())]
    rows = reduce(DataFrame.unionAll, frames)
    return rows if scan.row_limit is None else rows.limit(scan.row_limit)
