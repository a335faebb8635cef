"""SQL queries over tables, which are planned twice.

A query needs few columns and rows, but Spark does not push either into a table that is already a DataFrame. So the
query is planned once over empty tables with the same schemas. The plan shows what Spark would push into their files.
Then each table is read with these columns and this filter, and the query runs on the result.

Spark shows a plan as text, without quotes around strings. So strings are only used if they are unambiguous. A filter
that can't be read with certainty is left to Spark, which applies all filters anyway.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from frazil.engines import Engine, Planning
from frazil.exceptions import InvalidInputError
from frazil.expr import Predicate
from frazil.scan import Scan
from frazil.schema import Schema
from frazil.spark.catalogs import table_of
from frazil.spark.planning.kept_plans import keep_plans
from frazil.spark.read import read_scan
from frazil.spark.reading.empty_plans import empty_places, empty_table
from frazil.spark.reading.pushed_filters import Pushed, either, pushed_of, string_literals
from frazil.spark.reading.whole_rows import whole_rows
from frazil.spark.types import spark_schema
from frazil.table import Table

__all__ = ["check_names", "frames_of", "named_frames", "needed_scans", "query_tables", "run_query", "scan_for"]

_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_WITH = re.compile(r"\s*with(\s+recursive)?\s+(?=[`\w])", re.IGNORECASE)
_COMMENTS = re.compile(r"\A(\s+|--[^\n]*(\n|\Z)|/\*.*?\*/)+", re.DOTALL)


def query_tables(
    spark: SparkSession,
    query: str,
    tables: Mapping[str, Table | Scan | str | os.PathLike[str]],
    planning: Planning = "auto",
    engine: Engine = "auto",
    args: Any = None,
) -> DataFrame:
    """Runs a query over tables with names of their own, which have precedence over Spark's tables."""
    check_names(tables)
    scans = {name: scan_for(spark, table) for name, table in tables.items()}
    return run_query(spark, query, scans, {}, planning, engine, args)


def check_names(tables: Mapping[str, object]) -> None:
    """Refuses names that can't stand for tables in a query."""
    wrong = [name for name in tables if not _NAME.match(name)]
    if wrong:
        raise InvalidInputError(f"{wrong[0]!r} can't be a table's name in a query", hint="Use letters, digits and '_'")


def run_query(
    spark: SparkSession,
    query: str,
    scans: Mapping[str, Scan],
    frames: Mapping[str, DataFrame],
    planning: Planning = "auto",
    engine: Engine = "auto",
    args: Any = None,
) -> DataFrame:
    """Runs a query, in which scans and DataFrames have names."""
    found = frames_of(spark, query, scans, frames, planning, engine, args)
    return _run(spark, query, found, args=args)


def frames_of(
    spark: SparkSession,
    query: str,
    scans: Mapping[str, Scan],
    frames: Mapping[str, DataFrame],
    planning: Planning = "auto",
    engine: Engine = "auto",
    args: Any = None,
) -> dict[str, DataFrame]:
    """The DataFrames of a query's names. Scans are read with the columns and rows that the query needs."""
    needs = _needs(spark, query, scans, frames, args) if scans else {}
    read = {name: _read(spark, scan, needs.get(name), planning, engine) for name, scan in scans.items()}
    return {**read, **frames}


@dataclass(frozen=True)
class _Need:
    """The part of a table that a query reads."""

    columns: tuple[str, ...]
    filter: Predicate | None


def scan_for(spark: SparkSession, table: Table | Scan | str | os.PathLike[str]) -> Scan:
    """The scan of a table at its newest version, or a given one."""
    if isinstance(table, Scan):
        return table
    opened = table_of(spark, table)
    return opened.scan(options=keep_plans(spark, opened))


def _run(
    spark: SparkSession, query: str, frames: Mapping[str, DataFrame], explain: str = "", args: Any = None
) -> DataFrame:
    """Runs the query. Only the query can see the names of the data frames."""
    if not frames:
        return spark.sql(explain + query, args)
    named, slots = named_frames(query, frames)
    return spark.sql(explain + named, args, **slots)


def named_frames(query: str, frames: Mapping[str, DataFrame]) -> tuple[str, dict[str, Any]]:
    """The query with the names of data frames, and the slots in it for `spark.sql`."""
    slots: dict[str, Any] = {f"frazil_{i}": frame for i, frame in enumerate(frames.values())}
    named = ", ".join(f"`{name}` AS (SELECT * FROM {{{slot}}})" for name, slot in zip(frames, slots, strict=True))
    query = _COMMENTS.sub("", query)
    begins = _WITH.match(query)
    rest = query[begins.end() :] if begins else query
    rest = rest.replace("{", "{{").replace("}", "}}").rstrip().rstrip(";")
    recursive = "RECURSIVE " if begins and begins[1] else ""
    return f"WITH {recursive}{named}{',' if begins else ''} {rest}", slots


# ---------------------------------------------------------------- the first planning


def _needs(
    spark: SparkSession,
    query: str,
    scans: Mapping[str, Scan],
    frames: Mapping[str, DataFrame] | None = None,
    args: Any = None,
) -> dict[str, _Need]:
    """The part of each table that the query reads. Tables whose needs are unknown are left out."""
    with empty_places(spark, [scan._table.metadata_location for scan in scans.values()]) as places:
        names = dict(zip(places, scans, strict=True))
        try:
            nothing = {name: empty_table(spark, scans[name].schema, place) for place, name in names.items()}
            plan = _run(spark, query, {**nothing, **(frames or {})}, "EXPLAIN FORMATTED ", args).collect()[0][0]
        except PySparkException:
            return {}  # the query itself will raise its mistakes
    found = pushed_of(plan, lambda place: _schema_at(place, names, scans), string_literals(_with_values(query, args)))
    return {name: need for name in scans if (need := _combined([p for p in found if names[p.location] == name]))}


def _with_values(query: str, args: Any) -> str:
    """The query and the strings of its parameters. Parameters of other kinds can't be told from strings."""
    values = list(args.values()) if isinstance(args, Mapping) else list(args or ())
    if not all(isinstance(value, (str, bool, int, float)) or value is None for value in values):
        return query + " chr()"
    texts = ["'" + value.replace("'", "''") + "'" for value in values if isinstance(value, str)]
    return " ".join([query, *texts])


def _schema_at(place: str, names: Mapping[str, str], scans: Mapping[str, Scan]) -> Schema | None:
    return scans[names[place]].schema if place in names else None


def _combined(scans: Sequence[Pushed]) -> _Need | None:
    """The columns and rows that all scans of a table need together."""
    if not scans:
        return None
    columns = tuple(dict.fromkeys(column for scan in scans for column in scan.columns))
    return _Need(columns, either(scan.filter for scan in scans))


# ---------------------------------------------------------------- the second


def _read(spark: SparkSession, scan: Scan, need: _Need | None, planning: Planning, engine: Engine) -> DataFrame:
    """The table's rows with all its columns, since the query may name them. Columns that it does not read are null."""
    if need is None:
        return read_scan(spark, scan, planning, engine)
    return whole_rows(read_scan(spark, _narrowed(scan, need), planning, engine), spark_schema(scan.schema))


def _narrowed(scan: Scan, need: _Need) -> Scan:
    narrow = scan.select(*(need.columns or _smallest_column(scan)))
    if need.filter is not None and scan.row_limit is None:
        with suppress(InvalidInputError):  # a value does not fit the column's type
            return narrow.where(need.filter)
    return narrow


def needed_scans(
    spark: SparkSession, query: str, scans: Mapping[str, Scan], frames: Mapping[str, DataFrame], args: Any = None
) -> dict[str, Scan]:
    """The scans of a query's names, with the columns and rows that it needs."""
    needs = _needs(spark, query, scans, frames, args)
    return {name: _narrowed(scan, needs[name]) if name in needs else scan for name, scan in scans.items()}


def _smallest_column(scan: Scan) -> tuple[str, ...]:
    """A small column, for queries that only count rows."""
    plain = [field.name for field in scan.schema.fields if not field.children]
    fixed = [c.name for c in scan.schema.fields if c.type in ("boolean", "int", "date", "long", "float", "double")]
    return tuple((fixed or plain or [field.name for field in scan.schema.fields])[:1])
