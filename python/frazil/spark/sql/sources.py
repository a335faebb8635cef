"""What a name in a query means: a table at a version, a metadata table, a change log or a view."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from frazil.exceptions import InvalidInputError, NotFoundError, UnsupportedError
from frazil.scan import Scan
from frazil.spark.columns import quoted
from frazil.spark.planning.kept_plans import keep_plans
from frazil.spark.sql.grammar.tokens import Name, shown
from frazil.spark.sql.names.branches import read_branch
from frazil.spark.sql.references import Function, Reference, Version
from frazil.spark.sql.session import Place, Session
from frazil.spark.sql.values import value_of
from frazil.spark.types import spark_schema
from frazil.table import Table
from frazil.tagging.periods import TagPeriods

__all__ = [
    "METADATA",
    "RunView",
    "Source",
    "function_source",
    "metadata_rows",
    "source_of",
]

Source = Scan | DataFrame
RunView = Callable[[Session, str], DataFrame]
"""Runs the query of a view."""

METADATA = [
    "snapshots",
    "history",
    "refs",
    "metadata_log_entries",
    "manifests",
    "all_manifests",
    "entries",
    "all_entries",
    "files",
    "data_files",
    "delete_files",
    "all_files",
    "all_data_files",
    "all_delete_files",
    "partitions",
    "position_deletes",
    "schemas",
    "options",
    "tags",
    "branches",
    "consumers",
    "buckets",
    "table_indexes",
]
"""Metadata tables by the names of `table.inspect`."""

# Metadata tables of one version.
_OF_VERSION = [
    "manifests",
    "entries",
    "files",
    "data_files",
    "delete_files",
    "partitions",
    "position_deletes",
    "buckets",
    "table_indexes",
]
_SELECTOR = re.compile(r"(branch_|tag_|snapshot_id_|at_timestamp_)(.+)", re.IGNORECASE | re.DOTALL)
_ROW_KINDS = "rowkind"


def source_of(session: Session, reference: Reference, run_view: RunView) -> Source | None:
    """What a reference means, or None if it is Spark's.

    Raises:
        NotFoundError: The table is in a catalog of Frazil's, but does not exist.
    """
    place = session.place(reference.name)
    if place is None:
        return None
    if isinstance(place.given, Scan) and len(reference.name) == 1 and reference.version is None:
        return place.given
    try:
        # A table object that was given is read at its version.
        table = place.given if isinstance(place.given, Table) else session.open(place)
    except NotFoundError as missing:
        return _other(session, place, reference, run_view, missing)
    if place.given is not None and len(place.parts) > 1:
        return _part_of(session, table, place.parts[1:], reference.version)
    return _at(session, table, reference.version)


def _other(
    session: Session, place: Place, reference: Reference, run_view: RunView, missing: NotFoundError
) -> Source | None:
    """A part of the table that a name without its end names, or a view."""
    for base, rest in _shorter(session, place):
        try:
            table = session.open(base)
        except (NotFoundError, InvalidInputError):
            continue
        return _part_of(session, table, rest, reference.version)
    view = _view(session, place, run_view)
    if view is not None:
        return view
    if place.known is not None and place.known.shared:
        return None
    raise missing


def _shorter(session: Session, place: Place) -> list[tuple[Place, Name]]:
    """The name without its last part, and without what follows `$` in it."""
    found: list[tuple[Place, Name]] = []
    last = place.parts[-1]
    if "$" in last:
        table, *rest = last.split("$")
        found.append((replace(place, parts=(*place.parts[:-1], table)), tuple(rest)))
    if len(place.parts) > 2:
        found.append((replace(place, parts=place.parts[:-1]), (last,)))
    current = session.current
    if len(place.parts) == 2 and place.known is not None and current[:1] == (place.known.name,):
        found.append((replace(place, parts=(*current[1:], place.parts[0])), (last,)))
    if len(place.parts) > 3 and _SELECTOR.fullmatch(place.parts[-2]):
        found.append((replace(place, parts=place.parts[:-2]), place.parts[-2:]))
    return found


def _view(session: Session, place: Place, run_view: RunView) -> DataFrame | None:
    try:
        if place.known is None or not place.catalog.view_exists(place.identifier):
            return None
    except UnsupportedError:
        return None
    view = place.catalog.load_view(place.identifier)
    namespace = tuple(view.default_namespace.split(".")) if view.default_namespace else place.parts[:-1]
    catalog = view.default_catalog or place.known.name
    within = replace(session, within=(catalog, *namespace), tables={}, args=None)
    return run_view(within, view.sql("spark"))


# ---------------------------------------------------------------- versions


def _at(session: Session, table: Table, version: Version | None) -> Scan:
    kept = keep_plans(session.spark, table)
    if version is None:
        return table.scan(at=read_branch(session, table), options=kept)
    at = version_of(session, table, version)
    if isinstance(at, dict):
        return table.scan(options={**kept, **at})
    return table.scan(at=at, options=kept)


def version_of(session: Session, table: Table, version: Version) -> Any:
    """The version of a table that a query asks for, as `Table.scan` takes it, or options that name it."""
    if version.by_time:
        return value_of(session, version.value, "timestamp")
    value = value_of(session, version.value)
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise InvalidInputError(f"VERSION AS OF needs a number or a name, not {version.value}")
    text = str(value)
    if text.startswith("watermark-"):
        return {"scan.version": text}
    if text.isdigit() and (isinstance(value, int) or text not in table.refs):
        return int(text)
    return text


# ---------------------------------------------------------------- parts of a table


def _part_of(session: Session, table: Table, rest: Name, version: Version | None) -> Source:
    """A branch, a tag, a metadata table, or one of these of the other."""
    at: Any = None
    for part in rest[:-1]:
        at = _selected(part)
        if at is None:
            raise NotFoundError(f"a table has no part {shown((part,))}", hint=_parts_hint())
    last = rest[-1]
    selected = _selected(last)
    if selected is not None:
        if version is not None:
            raise InvalidInputError(f"{shown((last,))} can't be combined with AS OF")
        return table.scan(at=selected, options=keep_plans(session.spark, table))
    if version is not None:
        at = version_of(session, table, version)
    return _metadata(session, table, last.lower(), at)


def _selected(part: str) -> Any:
    match = _SELECTOR.fullmatch(part)
    if match is None:
        return None
    kind, value = match[1].lower(), match[2]
    if kind == "snapshot_id_":
        return int(value)
    if kind == "at_timestamp_":
        return dt.datetime.fromtimestamp(0, dt.timezone.utc) + dt.timedelta(milliseconds=int(value))
    return value


def _parts_hint() -> str:
    return f"Parts are branch_NAME, tag_NAME, changes and {', '.join(METADATA)}"


def _metadata(session: Session, table: Table, name: str, at: Any) -> Source:
    if name == "changes":
        return change_rows(session, table.changes(at=at))
    if name in ("audit_log", "ro"):
        return _by_rows(session, table, name, at)
    if name not in METADATA:
        raise NotFoundError(f"a table has no part '{name}'", hint=_parts_hint())
    if at is not None and name not in _OF_VERSION:
        raise InvalidInputError(f"metadata table '{name}' is that of all versions", hint="Leave out AS OF")
    read = getattr(table.inspect, name)
    rows = read(at) if at is not None else read()
    return metadata_rows(session, rows)


def _by_rows(session: Session, table: Table, name: str, at: Any) -> Source:
    """Tables that show the rows in another way. Without keys, rows are never changed."""
    if table.schema._core.identifier_field_ids:
        remedy = {
            "audit_log": "table.changes(since=…) gives the changes",
            "ro": "options={'scan.mode': 'compacted-full'}",
        }
        raise UnsupportedError(f"'${name}' of a table with a primary key can't be read", hint=remedy[name])
    scan = table.scan(at=at)
    if name == "ro":
        return scan
    rows = scan.to_spark(session.spark, session.planning, session.engine)
    return rows.selectExpr(f"'+I' as {_ROW_KINDS}", "*")


def change_rows(session: Session, changes: Scan) -> DataFrame:
    """The rows of a change log. The connector writes the kinds of changes in capitals."""
    rows = changes.to_spark(session.spark, session.planning, session.engine)
    return rows.withColumn("_change_type", f.upper("_change_type"))


def metadata_rows(session: Session, rows: pa.Table) -> DataFrame:
    """Rows in memory as a DataFrame."""
    return session.spark.createDataFrame(_for_spark(rows))


def _for_spark(rows: pa.Table) -> pa.Table:
    """The rows in types that Spark takes."""
    schema = pa.schema([field.with_type(_type(field.type)) for field in rows.schema])
    # Spark does not take columns without any chunk.
    arrays = [column.combine_chunks() for column in rows.cast(schema).columns]
    return pa.Table.from_arrays(arrays, schema=schema)


def _type(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", type_.tz and "UTC")
    if pa.types.is_dictionary(type_):
        return _type(type_.value_type)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(type_.value_field.with_type(_type(type_.value_type)))
    if pa.types.is_map(type_):
        return pa.map_(_type(type_.key_type), _type(type_.item_type))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_type(field.type)) for field in type_])
    if pa.types.is_large_string(type_):
        return pa.string()
    return type_


# ---------------------------------------------------------------- functions


def function_source(session: Session, function: Function) -> Source | None:
    """The rows of a function, or None if its table is Spark's."""
    values = [value_of(session, text) for text in function.arguments]
    name = tuple(str(values[0]).split(".")) if values else ()
    target = session.target(name) if name else None
    if target is None:
        return None
    names = [quoted(field.name) for field in target.table.schema.fields]
    since: str | dt.datetime
    at: str | dt.datetime
    if function.name == "paimon_incremental_to_auto_tag":
        if len(values) != 2:
            raise InvalidInputError(f"{function.name} takes a table and a tag")
        between = _automatic_tags(target.table, str(values[1]))
        if between is None:
            return session.spark.createDataFrame([], spark_schema(target.table.schema))
        since, at = between
    elif len(values) != 3:
        raise InvalidInputError(f"{function.name} takes a table, a start and an end")
    elif function.name == "paimon_incremental_query":
        since, at = values[1], values[2]
    else:
        since, at = (_moment(session, value) for value in values[1:])
    scan = target.table.changes(since=since, at=at)
    rows = scan.to_spark(session.spark, session.planning, session.engine)
    # Deleted rows are left out, as the connector does.
    return rows.where(~f.col("_change_type").isin("delete", "update_before")).select(*names)


def _automatic_tags(table: Table, tag: str) -> tuple[str, str] | None:
    """The automatic tag before a tag, and the tag itself; None if one of them does not exist.

    Raises:
        InvalidInputError: The tag's name is not that of an automatic tag.
    """
    periods = TagPeriods.of(table.properties)
    end = periods.time_of(tag)
    if end is None:
        raise InvalidInputError(f"'{tag}' is not the name of an automatic tag", {"tag": tag})
    names = [row["tag_name"] for row in table.inspect.tags().to_pylist()]
    timed = [(time, name) for name in names if (time := periods.time_of(name)) is not None and time < end]
    return (max(timed)[1], tag) if timed and tag in names else None


def _moment(session: Session, value: Any) -> dt.datetime:
    if isinstance(value, int) or str(value).isdigit():
        return dt.datetime.fromtimestamp(0, dt.timezone.utc) + dt.timedelta(milliseconds=int(value))
    found: dt.datetime = value_of(session, f"'{value}'", "timestamp")
    return found
