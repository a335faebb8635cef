"""SHOW, DESCRIBE, USE, ANALYZE and REFRESH."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as st

from frazil.capabilities import supports
from frazil.exceptions import InvalidInputError, NotFoundError, UnsupportedError
from frazil.schema import PartitionField
from frazil.spark.columns import quoted
from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.tokens import Name, shown
from frazil.spark.sql.session import CURRENT, Place, Session
from frazil.spark.sql.sources import metadata_rows
from frazil.spark.sql.terms import shown_term
from frazil.spark.types import spark_schema
from frazil.table import Table

__all__ = ["analyze", "describe", "partition_texts", "refresh", "show", "use"]

_DESCRIBED = "col_name string, data_type string, comment string"
_INFORMATION = "info_name string, info_value string"


def use(session: Session, node: nodes.Use, statement: str) -> DataFrame:
    """USE: the setting `spark.frazil.sql.current` keeps the catalog and namespace for the session."""
    name = node.name
    if node.kind != "namespace" and name[0] in session.catalogs:
        known = session.catalogs[name[0]]
        _set_current(session, (known.name, *(name[1:] or known.namespace)))
        return session.nothing()
    current = session.current
    if node.kind == "catalog" or not current or name[0] == "spark_catalog":
        session.spark.conf.unset(CURRENT)
        return session.spark.sql(statement)
    _set_current(session, (current[0], *name))
    return session.nothing()


def _set_current(session: Session, current: Name) -> None:
    known = session.catalogs[current[0]]
    if len(current) > 1 and not known.catalog.namespace_exists(".".join(current[1:])):
        raise NotFoundError(f"namespace {shown(current)} does not exist", {"namespace": shown(current)})
    session.spark.conf.set(CURRENT, ".".join(current))


# ---------------------------------------------------------------- SHOW


def show(session: Session, node: nodes.Show, statement: str) -> DataFrame:
    """SHOW of catalogs, namespaces, tables and parts of a table."""
    if node.what == "catalogs":
        names = {*session.catalogs, *(row.catalog for row in session.spark.sql("SHOW CATALOGS").collect())}
        return session.rows("catalog string", [(name,) for name in sorted(_like(names, node.pattern))])
    if node.what == "current namespace":
        current = session.current
        if not current:
            return session.spark.sql(statement)
        return session.rows("catalog string, namespace string", [(current[0], ".".join(current[1:]))])
    if node.what in _LISTINGS:
        place = session.namespace_place(node.name)
        if place is None:
            return session.spark.sql(statement)
        return _LISTINGS[node.what](session, place, node)
    return _of_table(session, node, statement)


def _like(names: Iterable[str], pattern: str | None) -> list[str]:
    """The names that one of several patterns with `*` fits."""
    if pattern is None:
        return list(names)
    parts = [re.escape(part.strip()).replace(r"\*", ".*").replace("%", ".*") for part in pattern.split("|")]
    whole = re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE)
    return [name for name in names if whole.fullmatch(name)]


def _namespaces(session: Session, place: Place, node: nodes.Show) -> DataFrame:
    parts = place.parts if node.name else ()
    found = place.catalog.list_namespaces(".".join(parts) if parts else None)
    return session.rows("namespace string", [(name,) for name in sorted(_like(found, node.pattern))])


def _names(place: Place, listed: Iterable[str], pattern: str | None) -> list[tuple[str, str]]:
    split = [(namespace, name) for namespace, _, name in (one.rpartition(".") for one in listed)]
    fitting = set(_like([name for _, name in split], pattern))
    return sorted(one for one in split if one[1] in fitting)


def _tables(session: Session, place: Place, node: nodes.Show) -> DataFrame:
    found = _names(place, place.catalog.list_tables(place.identifier), node.pattern)
    rows = [(namespace, name, False) for namespace, name in found]
    return session.rows("namespace string, tableName string, isTemporary boolean", rows)


def _views(session: Session, place: Place, node: nodes.Show) -> DataFrame:
    listed: list[str] = []
    try:
        namespaces = [place.identifier] if place.parts else place.catalog.list_namespaces()
        for namespace in namespaces:
            listed += place.catalog.list_views(namespace)
    except UnsupportedError:
        listed = []
    rows = [(namespace, name, False) for namespace, name in _names(place, listed, node.pattern)]
    return session.rows("namespace string, viewName string, isTemporary boolean", rows)


def _extended(session: Session, place: Place, node: nodes.Show) -> DataFrame:
    found = []
    for namespace, name in _names(place, place.catalog.list_tables(place.identifier), node.pattern):
        table = place.catalog.load_table(f"{namespace}.{name}")
        facts = {**_facts(table), "Schema": str(table.schema)}
        text = "".join(f"{key}: {value}\n" for key, value in facts.items())
        if node.partition:
            wanted = "/".join(f"{column}={str(text).strip(chr(39))}" for column, text in node.partition)
            if wanted not in partition_texts(table):
                continue
            text = f"Partition Values: [{wanted.replace('/', ', ')}]\n{text}"
        found.append((namespace, name, False, text))
    return session.rows("namespace string, tableName string, isTemporary boolean, information string", found)


_LISTINGS: dict[str, Callable[[Session, Place, nodes.Show], DataFrame]] = {
    "namespaces": _namespaces,
    "tables": _tables,
    "views": _views,
    "table extended": _extended,
}


def _of_table(session: Session, node: nodes.Show, statement: str) -> DataFrame:
    view = _view(session, node.name)
    if view is not None:
        return _of_view(session, node, view)
    target = session.target(node.name)
    if target is None:
        return session.spark.sql(statement)
    table = target.table
    if node.what == "columns":
        return session.rows("col_name string", [(name,) for name in table.schema.names])
    if node.what == "tblproperties":
        return _properties(session, table_properties(table), node.key, shown(node.name))
    if node.what == "partitions":
        wanted = [f"{column}={str(text).strip(chr(39))}" for column, text in node.partition]
        texts = [text for text in partition_texts(table) if set(wanted) <= set(text.split("/"))]
        return session.rows("partition string", [(text,) for text in texts])
    if node.what == "create table":
        return session.rows("createtab_stmt string", [(_create_statement(table, node.name),)])
    kind = {"tags": "tag", "branches": "branch"}[node.what]
    names = [(ref.name,) for ref in table.refs.values() if ref.type == kind]
    return session.rows(f"{kind} string", sorted(names))


def _view(session: Session, name: Name) -> Any:
    place = session.place(name)
    if place is None or place.known is None:
        return None
    try:
        return place.catalog.load_view(place.identifier) if place.catalog.view_exists(place.identifier) else None
    except UnsupportedError:
        return None


def _of_view(session: Session, node: nodes.Show, view: Any) -> DataFrame:
    if node.what == "columns":
        return session.rows("col_name string", [(name,) for name in view.schema.names])
    if node.what == "tblproperties":
        return _properties(session, view.properties, node.key, shown(node.name))
    if node.what == "create table":
        text = f"CREATE VIEW {shown(node.name)} AS {view.sql('spark')}"
        return session.rows("createtab_stmt string", [(text,)])
    raise InvalidInputError(f"{shown(node.name)} is a view", {"view": shown(node.name)})


def _properties(session: Session, properties: Mapping[str, str], key: str | None, name: str) -> DataFrame:
    if key is not None:
        value = properties.get(key, f"Table {name} does not have property: {key}")
        return session.rows("key string, value string", [(key, value)])
    return session.rows("key string, value string", sorted(properties.items()))


def table_properties(table: Table) -> dict[str, str]:
    """The properties that the connector shows: those of the table, and facts about it."""
    if not supports(table._core, "snapshot_parents"):
        return dict(table.properties)
    file_format = table.properties.get("write.format.default", "parquet")
    found = {
        "format": f"{table.format}/{file_format}",
        "format-version": str(table.format_version),
        "current-snapshot-id": "none" if table.snapshot is None else str(table.snapshot.id),
    }
    if table.sort_order.fields:
        found["sort-order"] = ", ".join(str(field) for field in table.sort_order.fields)
    ids = table.schema._core.identifier_field_ids
    if ids:
        found["identifier-fields"] = f"[{','.join(field.name for field in table.schema.fields if field.id in ids)}]"
    return {**found, **table.properties}


def partition_texts(table: Table) -> list[str]:
    """The partitions as `a=1/b=2`."""
    found = []
    for row in table.inspect.partitions().to_pylist():
        partition = row.get("partition")
        if isinstance(partition, Mapping):
            found.append("/".join(f"{name}={_shown_value(value)}" for name, value in partition.items()))
        elif partition is not None:
            found.append(_braces(str(partition)))
    return sorted(found)


def _shown_value(value: Any) -> str:
    return "null" if value is None else str(value)


def _braces(text: str) -> str:
    """`{a=1, b=2}` as `a=1/b=2`."""
    return text.strip("{}").replace(", ", "/")


def _create_statement(table: Table, name: Name) -> str:
    fields = []
    for field in spark_schema(table.schema):
        required = "" if field.nullable else " NOT NULL"
        comment = (field.metadata or {}).get("comment")
        text = "" if comment is None else " COMMENT " + _quoted_text(comment)
        fields.append(f"  {quoted(field.name)} {field.dataType.simpleString().upper()}{required}{text}")
    lines = [f"CREATE TABLE {'.'.join(map(quoted, name))} (", ",\n".join(fields) + ")", f"USING {table.format}"]
    if table.partition_spec.fields:
        lines.append(f"PARTITIONED BY ({', '.join(_shown_field(f) for f in table.partition_spec.fields)})")
    if "comment" in table.properties:
        lines.append(f"COMMENT {_quoted_text(table.properties['comment'])}")
    lines.append(f"LOCATION {_quoted_text(table.location)}")
    properties = sorted(item for item in table_properties(table).items() if item[0] != "comment")
    pairs = ",\n  ".join(f"{_quoted_text(key)} = {_quoted_text(value)}" for key, value in properties)
    return "\n".join([*lines, f"TBLPROPERTIES (\n  {pairs})"]) + "\n"


def _shown_field(field: PartitionField) -> str:
    return shown_term(field)


def _quoted_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# ---------------------------------------------------------------- DESCRIBE


def describe(session: Session, node: nodes.Describe, statement: str) -> DataFrame:
    """DESCRIBE of tables, views and namespaces."""
    if node.what == "namespace":
        return _describe_namespace(session, node, statement)
    view = None if node.what == "history" else _view(session, node.name)
    if view is not None:
        rows = _columns(spark_schema(view.schema))
        if node.extended:
            rows += [("", "", ""), ("# Detailed View Information", "", ""), ("View Text", view.sql("spark"), "")]
        return session.rows(_DESCRIBED, rows)
    target = session.target(node.name)
    if target is None:
        return session.spark.sql(statement)
    if node.what == "history":
        return metadata_rows(session, target.table.inspect.snapshots())
    if node.column:
        return _describe_column(session, target.table, node)
    return session.rows(_DESCRIBED, _described(target.table, node))


def _columns(struct: st.StructType) -> list[tuple[str, str, str | None]]:
    return [(f.name, f.dataType.simpleString(), (f.metadata or {}).get("comment")) for f in struct]


def _described(table: Table, node: nodes.Describe) -> list[tuple[str, str, str | None]]:
    rows = _columns(spark_schema(table.schema))
    parts = table.partition_spec.fields
    if parts and all(part.transform == "identity" for part in parts):
        by_name = {row[0]: row for row in rows}
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += [by_name.get(str(part.column), (str(part.column), "", "")) for part in parts]
    elif parts:
        rows += [("", "", ""), ("# Partitioning", "", "")]
        rows += [(f"Part {i}", shown_term(part), "") for i, part in enumerate(parts)]
    if node.extended:
        rows += [("", "", ""), ("# Detailed Table Information", "", ""), ("Name", shown(node.name), "")]
        rows += [(key, value, "") for key, value in _facts(table).items()]
    return rows


def _facts(table: Table) -> dict[str, str]:
    properties = ",".join(f"{key}={value}" for key, value in sorted(table_properties(table).items()))
    found = {"Type": "MANAGED", "Location": table.location, "Provider": f"{table.format}"}
    if "comment" in table.properties:
        found["Comment"] = table.properties["comment"]
    return {**found, "Table Properties": f"[{properties}]"}


def _describe_column(session: Session, table: Table, node: nodes.Describe) -> DataFrame:
    name = ".".join(node.column)
    field = spark_schema(table.schema)[table.schema.field(name).name]
    comment = (field.metadata or {}).get("comment", "NULL")
    rows = [("col_name", name), ("data_type", field.dataType.simpleString()), ("comment", comment)]
    return session.rows(_INFORMATION, rows)


def _describe_namespace(session: Session, node: nodes.Describe, statement: str) -> DataFrame:
    place = session.namespace_place(node.name)
    if place is None:
        return session.spark.sql(statement)
    if not place.catalog.namespace_exists(place.identifier):
        raise NotFoundError(f"namespace {shown(node.name)} does not exist", {"namespace": shown(node.name)})
    properties = place.catalog.load_namespace_properties(place.identifier)
    rows = [("Catalog Name", place.catalog.name), ("Namespace Name", place.identifier)]
    rows += [(name.capitalize(), properties.pop(name)) for name in ("comment", "location") if name in properties]
    if node.extended:
        rows.append(("Properties", f"({', '.join(f'({k},{v})' for k, v in sorted(properties.items()))})"))
    return session.rows(_INFORMATION, rows)


# ---------------------------------------------------------------- ANALYZE, REFRESH


def analyze(session: Session, node: nodes.Analyze, statement: str) -> DataFrame:
    """ANALYZE TABLE: computes the statistics of columns, and in some formats the number of rows."""
    target = session.target(node.name)
    if target is None:
        return session.spark.sql(statement)
    if node.columns is not None:
        target.table.maintain.compute_statistics(list(node.columns) or None)
    elif supports(target.table._core, "row_count_statistics"):
        target.table.maintain.compute_statistics([])
    return session.nothing()


def refresh(session: Session, node: nodes.Refresh, statement: str) -> DataFrame:
    """REFRESH TABLE: queries always read the newest version, so nothing is done."""
    if session.target(node.name) is None:
        return session.spark.sql(statement)
    return session.nothing()
