"""Procedures that bring files and tables into a catalog, and views of changes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.schema import Schema
from frazil.spark.columns import quoted
from frazil.spark.sql.grammar.tokens import Cursor
from frazil.spark.sql.procedures.procedure import Given, Parameter, Procedure
from frazil.spark.sql.sources import change_rows
from frazil.table import Table

__all__ = ["PROCEDURES"]

_TABLE = Parameter("table", required=True)
_TYPE, _ORDINAL, _SNAPSHOT = "_change_type", "_change_ordinal", "_commit_snapshot_id"
_OPTIONS = ("start-snapshot-id", "end-snapshot-id", "start-timestamp", "end-timestamp")

Rows = Sequence[Sequence[Any]]


# ---------------------------------------------------------------- files


def _source(given: Given, parameter: str = "source_table") -> DataFrame:
    """The files of a table of Spark's, or of a folder."""
    name = Cursor(str(given[parameter])).name()
    spark = given.session.spark
    if len(name) == 2 and name[0].lower() in ("parquet", "orc", "avro"):
        if name[0].lower() != "parquet":
            raise UnsupportedError(f"files of {name[0]} can't be added", hint="Rewrite them as Parquet")
        return spark.read.parquet(name[1])
    return spark.table(".".join(map(quoted, name)))


def _files(rows: DataFrame, wanted: Mapping[str, str]) -> list[str]:
    parts = [f"{key}={value}" for key, value in wanted.items()]
    return sorted(path for path in rows.inputFiles() if set(parts) <= set(path.split("/")))


def _add_files(given: Given) -> Rows:
    table = given.table
    files = _files(_source(given), given["partition_filter"] or {})
    if not files:
        return [(0, 0)]
    check = given["check_duplicate_files"]
    table.add_files(files, check_duplicate_files=True if check is None else bool(check))
    return [(len(files), _changed_partitions(table))]


def _changed_partitions(table: Table) -> int | None:
    found = None if table.snapshot is None else table.snapshot.summary.get("changed-partition-count")
    return None if found is None else int(found)


def _snapshot(given: Given) -> Rows:
    rows = _source(given)
    place = given.place()
    files = _files(rows, {})
    table = place.catalog.create_table(
        place.identifier, Schema(rows.schema), properties=given["properties"], location=given["location"]
    )
    if files:
        table.add_files(files)
    return [(len(files),)]


def _register_table(given: Given) -> Rows:
    place = given.place()
    table = place.catalog.register_table(place.identifier, str(given["metadata_file"]))
    if table.snapshot is None:
        return [(None, None, None)]
    summary = table.snapshot.summary
    counts = [int(summary[key]) if key in summary else None for key in ("total-records", "total-data-files")]
    return [(table.snapshot.id, *counts)]


# ---------------------------------------------------------------- changes


def _create_changelog_view(given: Given) -> Rows:
    table, options = given.table, dict(given["options"] or {})
    unknown = [key for key in options if key not in _OPTIONS]
    if unknown:
        raise InvalidInputError(f"there is no option '{unknown[0]}'", hint=f"Options are {', '.join(_OPTIONS)}")
    keys = list(given["identifier_columns"] or ())
    updates = given["compute_updates"]
    computes = bool(keys) if updates is None else bool(updates)
    if computes and given["net_changes"]:
        raise InvalidInputError("net_changes can't be combined with compute_updates")
    if computes and not keys:
        ids = table.schema._core.identifier_field_ids
        keys = [field.name for field in table.schema.fields if field.id in ids]
        if not keys:
            raise InvalidInputError("compute_updates needs identifier_columns", hint="Name the columns of a key")
    since = _version(options, "start-snapshot-id", "start-timestamp")
    at = _version(options, "end-snapshot-id", "end-timestamp")
    rows = change_rows(given.session, table.changes(since=since, at=at))
    rows = _net(rows) if given["net_changes"] else _net(rows, [_ORDINAL])
    if computes:
        rows = _with_updates(rows, keys)
    view = str(given["changelog_view"] or f"{given.name()[-1]}_changes")
    rows.createOrReplaceTempView(quoted(view) if not view.isidentifier() else view)
    return [(view,)]


def _version(options: Mapping[str, str], snapshot: str, timestamp: str) -> Any:
    if snapshot in options and timestamp in options:
        raise InvalidInputError(f"{snapshot} can't be combined with {timestamp}")
    if snapshot in options:
        return int(options[snapshot])
    if timestamp not in options:
        return None
    return dt.datetime.fromtimestamp(0, dt.timezone.utc) + dt.timedelta(milliseconds=int(options[timestamp]))


def _with_updates(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """A deleted and an inserted row of one key and commit are an update."""
    window = Window.partitionBy(*(f.col(quoted(key)) for key in keys), f.col(_ORDINAL))
    both = (f.max(f.col(_TYPE) == "DELETE").over(window)) & (f.max(f.col(_TYPE) == "INSERT").over(window))
    image = f.when(f.col(_TYPE) == "DELETE", "UPDATE_BEFORE").otherwise("UPDATE_AFTER")
    marked = rows.withColumn("frazil both", both)
    changed = marked.withColumn(_TYPE, f.when(f.col(quoted("frazil both")), image).otherwise(f.col(_TYPE)))
    return changed.drop("frazil both")


def _net(rows: DataFrame, within: Sequence[str] = ()) -> DataFrame:
    """Rows that were inserted and deleted again, or deleted and inserted again, are left out.

    Args:
        rows: The changes.
        within: Columns that must be equal for that, besides the rows' values: the commit's, or none.
    """
    values = [name for name in rows.columns if name not in (_TYPE, _ORDINAL, _SNAPSHOT)]
    same = [f.col(quoted(name)) for name in (*values, *within)]
    sign = f.when(f.col(_TYPE) == "INSERT", 1).otherwise(-1)
    of_type = Window.partitionBy(*same, f.col(_TYPE)).orderBy(f.col(_ORDINAL).desc())
    counted = rows.withColumn("frazil net", f.sum(sign).over(Window.partitionBy(*same)))
    numbered = counted.withColumn("frazil number", f.row_number().over(of_type))
    left = f.col(quoted("frazil net")) * sign
    return numbered.where(left >= f.col(quoted("frazil number"))).drop("frazil net", "frazil number")


PROCEDURES = {
    "add_files": Procedure(
        (
            _TABLE,
            Parameter("source_table", required=True),
            Parameter("partition_filter", "map<string,string>"),
            Parameter("check_duplicate_files", "boolean"),
            Parameter("parallelism", "int"),
        ),
        "added_files_count bigint, changed_partition_count bigint",
        _add_files,
    ),
    "snapshot": Procedure(
        (
            Parameter("source_table", required=True),
            _TABLE,
            Parameter("location"),
            Parameter("properties", "map<string,string>"),
            Parameter("parallelism", "int"),
            Parameter("ignore_missing_files", "boolean"),
        ),
        "imported_files_count bigint",
        _snapshot,
    ),
    "migrate": Procedure(
        (_TABLE, Parameter("properties", "map<string,string>")),
        "migrated_files_count bigint",
        None,
        "CALL system.snapshot(source, new table), then drop the source without its files",
    ),
    "register_table": Procedure(
        (_TABLE, Parameter("metadata_file", required=True)),
        "current_snapshot_id bigint, total_records_count bigint, total_data_files_count bigint",
        _register_table,
    ),
    "create_changelog_view": Procedure(
        (
            _TABLE,
            Parameter("changelog_view"),
            Parameter("options", "map<string,string>"),
            Parameter("compute_updates", "boolean"),
            Parameter("identifier_columns", "array<string>"),
            Parameter("net_changes", "boolean"),
        ),
        "changelog_view string",
        _create_changelog_view,
    ),
}
"""These procedures by name."""
