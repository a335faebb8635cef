"""CREATE, REPLACE and DROP of tables, views and namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as st

from frazil.capabilities import TABLE_FORMATS, supports
from frazil.exceptions import AlreadyExistsError, InvalidInputError, NotFoundError, UnsupportedError
from frazil.schema import Schema
from frazil.spark.columns import quoted
from frazil.spark.jobs.interrupts import raise_if_interrupted
from frazil.spark.sql.alter import set_defaults
from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.tokens import shown
from frazil.spark.sql.queries import qualified, run, spliced
from frazil.spark.sql.session import Place, Session, renamed
from frazil.spark.sql.terms import partition_term, shown_term
from frazil.spark.sql.types import declared_types, struct_of
from frazil.spark.write import append
from frazil.table import Table

__all__ = [
    "alter_namespace",
    "alter_view",
    "comment_on",
    "create_like",
    "create_namespace",
    "create_table",
    "create_view",
    "drop_namespace",
    "drop_table",
    "drop_view",
]

_FILES = ("parquet", "orc", "avro")
_PROVIDERS = (*TABLE_FORMATS, "frazil", *_FILES)
# Properties of a table that belong to it alone.
_OWN = ("format-version", "primary-key", "path", "location")


def create_table(session: Session, node: nodes.CreateTable, statement: str) -> DataFrame:
    """CREATE TABLE and REPLACE TABLE, with the rows of a query."""
    place = session.place(node.name)
    provider = node.definition.provider
    if place is None or (place.known is not None and place.known.shared and provider not in (None, *_PROVIDERS)):
        return _sparks(session, node, statement)
    exists = place.catalog.table_exists(place.identifier)
    if exists and node.if_not_exists:
        return session.nothing()
    if exists and not node.replace:
        raise AlreadyExistsError(f"table {shown(node.name)} exists", {"table": shown(node.name)})
    if not exists and not node.create:
        raise NotFoundError(f"table {shown(node.name)} does not exist", {"table": shown(node.name)})
    rows = None if node.query is None else run(session, node.query)
    new = _new_table(place, node, rows)
    raise_if_interrupted()
    if exists:
        _replace(place, new, rows)
        return session.nothing()
    table = place.catalog.create_table(place.identifier, **new)
    try:
        set_defaults(session, table, node.columns)
        if rows is not None:
            append(_named(rows, table.schema), table)
    except BaseException:
        place.catalog.drop_table(place.identifier, purge=True)
        raise
    return session.nothing()


def _sparks(session: Session, node: nodes.CreateTable, statement: str) -> DataFrame:
    """A table of Spark's own catalog."""
    if node.definition.provider in TABLE_FORMATS:
        raise InvalidInputError(
            f"table {shown(node.name)} belongs to no catalog of Frazil's",
            {"table": shown(node.name)},
            "Name it with a catalog: give catalogs={'prod': fz.catalog(…)}, or set spark.frazil.catalog.prod.type",
        )
    named = node.definition.location or any(key.lower() == "path" for key, _ in node.definition.properties)
    if node.definition.provider == "frazil" and not named:
        raise InvalidInputError(
            f"table {shown(node.name)} belongs to no catalog of Frazil's, and names no table that exists",
            {"table": shown(node.name)},
            "Name it with a catalog: give catalogs={'prod': fz.catalog(…)}. For a table that exists, write CREATE "
            "TABLE … USING frazil OPTIONS (path '…')",
        )
    return session.spark.sql(statement, session.args) if node.query is None else spliced(session, statement, node.query)


def _new_table(place: Place, node: nodes.CreateTable, rows: DataFrame | None) -> dict[str, Any]:
    """The arguments of `Catalog.create_table`."""
    definition = node.definition
    if rows is not None and node.columns:
        raise InvalidInputError("a table that is made from a query can't list columns", hint="Leave the columns out")
    if rows is None:
        struct = struct_of([*node.columns, *definition.typed_partitions])
        if not len(struct):
            raise InvalidInputError("a new table needs columns", hint="List them, or write AS SELECT …")
    else:
        struct = st.StructType([st.StructField(f.name, f.dataType, True, f.metadata) for f in rows.schema])
    format_ = _format(place, definition)
    properties = _properties(place, definition)
    keys = properties.pop("primary-key", None)
    names = None if keys is None else [part.strip() for part in keys.split(",") if part.strip()]
    if names is not None:
        fields = [st.StructField(f.name, f.dataType, f.nullable and f.name not in names, f.metadata) for f in struct]
        struct = st.StructType(fields)
    return {
        "schema": Schema(struct),
        "partition_by": [partition_term(text) for text in definition.partitioned_by],
        "properties": properties,
        "location": definition.location or properties.pop("location", None),
        "format": format_,
        "identifier_fields": names,
        "declared_types": None if format_ == TABLE_FORMATS[0] else declared_types(struct),
    }


def _format(place: Place, definition: nodes.Definition) -> str:
    provider = definition.provider
    own = TABLE_FORMATS[0] if place.known is None else place.known.new_format
    if provider is None or provider == "frazil":
        return own
    if provider not in _PROVIDERS:
        raise InvalidInputError(
            f"tables of Frazil's catalogs are not of format '{provider}'", hint=f"USING {' or '.join(TABLE_FORMATS)}"
        )
    return provider if provider in TABLE_FORMATS else TABLE_FORMATS[0]


def _properties(place: Place, definition: nodes.Definition) -> dict[str, str]:
    known = place.known
    found = dict(known.defaults) if known is not None else {}
    found.update(definition.properties)
    found.update(known.overrides if known is not None else {})
    if definition.comment is not None:
        found["comment"] = definition.comment
    if definition.provider in _FILES:
        found.setdefault("write.format.default", str(definition.provider))
    return found


def _replace(place: Place, new: Mapping[str, Any], rows: DataFrame | None) -> None:
    """Gives a table another definition, and rows."""
    if rows is None:
        place.catalog.replace_table(place.identifier, **new)
        return
    rows = _named(rows, new["schema"])
    if supports(place.catalog.load_table(place.identifier)._core, "declared_types"):
        # Tables with exact types have no such transaction. The rows may come from the table itself, which is empty
        # once it is replaced.
        data = rows.toArrow()
        raise_if_interrupted()
        place.catalog.replace_table(place.identifier, **new).append(data)
        return
    with place.catalog.replace_table_transaction(place.identifier, **new) as transaction:
        transaction.append(rows.toArrow())
        raise_if_interrupted()


def _named(rows: DataFrame, schema: Schema) -> DataFrame:
    """The rows with the column names of a table."""
    return rows.toDF(*schema.names)


def create_like(session: Session, node: nodes.CreateTableLike, statement: str) -> DataFrame:
    """CREATE TABLE … LIKE: the columns, partitions and properties of another table, without its rows."""
    place = session.place(node.name)
    source = session.target(node.source)
    if place is None:
        if source is None:
            return session.spark.sql(statement)
        raise InvalidInputError(f"table {shown(node.name)} belongs to no catalog of Frazil's")
    if place.catalog.table_exists(place.identifier):
        if node.if_not_exists:
            return session.nothing()
        raise AlreadyExistsError(f"table {shown(node.name)} exists", {"table": shown(node.name)})
    if source is None:
        struct = session.spark.table(".".join(map(quoted, node.source))).schema
        like: dict[str, Any] = {"schema": Schema(struct)}
    else:
        like = _like(source.table)
    copied = like.pop("format_", None)
    properties = {**like.pop("properties", {}), **_properties(place, node.definition)}
    location = node.definition.location
    chosen = copied if copied and not node.definition.provider else _format(place, node.definition)
    place.catalog.create_table(place.identifier, properties=properties, location=location, format=chosen, **like)
    return session.nothing()


def _like(table: Table) -> dict[str, Any]:
    ids = table.schema._core.identifier_field_ids
    names = [field.name for field in table.schema.fields if field.id in ids]
    return {
        "schema": table.schema,
        "partition_by": [partition_term(shown_term(field)) for field in table.partition_spec.fields],
        "properties": {key: value for key, value in table.properties.items() if key not in _OWN},
        "format_": f"{table.format}",
        "identifier_fields": names or None,
    }


def drop_table(session: Session, node: nodes.DropTable, statement: str) -> DataFrame:
    """DROP TABLE."""
    place = session.place(node.name)
    if place is None:
        return session.spark.sql(statement)
    if place.known is not None and place.known.shared and not place.catalog.table_exists(place.identifier):
        return session.spark.sql(statement)
    place.catalog.drop_table(place.identifier, purge=node.purge, if_exists=node.if_exists)
    return session.nothing()


def comment_on(session: Session, node: nodes.CommentOn, statement: str) -> DataFrame:
    """COMMENT ON TABLE and NAMESPACE."""
    if node.kind == "namespace":
        place = session.namespace_place(node.name)
        if place is None:
            return session.spark.sql(statement)
        updates = {"comment": node.comment} if node.comment else {}
        place.catalog.update_namespace_properties(place.identifier, () if updates else ("comment",), updates)
        return session.nothing()
    target = session.target(node.name)
    if target is None:
        return session.spark.sql(statement)
    if node.comment is None:
        target.table.remove_properties("comment")
    else:
        target.table.set_properties({"comment": node.comment})
    return session.nothing()


# ---------------------------------------------------------------- namespaces


def create_namespace(session: Session, node: nodes.CreateNamespace, statement: str) -> DataFrame:
    """CREATE NAMESPACE."""
    place = session.namespace_place(node.name)
    if place is None:
        return session.spark.sql(statement)
    place.catalog.create_namespace(place.identifier, node.if_not_exists, dict(node.properties) or None)
    return session.nothing()


def drop_namespace(session: Session, node: nodes.DropNamespace, statement: str) -> DataFrame:
    """DROP NAMESPACE. CASCADE drops its tables first."""
    place = session.namespace_place(node.name)
    if place is None:
        return session.spark.sql(statement)
    if node.cascade and place.catalog.namespace_exists(place.identifier):
        for identifier in place.catalog.list_tables(place.identifier):
            place.catalog.drop_table(identifier, if_exists=True)
    place.catalog.drop_namespace(place.identifier, if_exists=node.if_exists)
    return session.nothing()


def alter_namespace(session: Session, node: nodes.AlterNamespace, statement: str) -> DataFrame:
    """ALTER NAMESPACE."""
    place = session.namespace_place(node.name)
    if place is None:
        return session.spark.sql(statement)
    place.catalog.update_namespace_properties(place.identifier, node.unset_properties, dict(node.set_properties))
    return session.nothing()


# ---------------------------------------------------------------- views


def create_view(session: Session, node: nodes.CreateView, statement: str) -> DataFrame:
    """CREATE VIEW. A temporary view keeps the versions of its tables."""
    if node.temporary:
        return _temporary_view(session, node, statement)
    place = session.place(node.name)
    if place is None:
        return session.spark.sql(statement)
    exists = place.catalog.view_exists(place.identifier)
    if exists and node.if_not_exists:
        return session.nothing()
    rows = run(session, node.query)
    schema, query = _view_columns(replace(node, query=qualified(session, node.query)), rows)
    properties = dict(node.properties)
    if node.comment is not None:
        properties["comment"] = node.comment
    make = place.catalog.replace_view if exists and node.replace else place.catalog.create_view
    make(place.identifier, query, Schema(schema), "spark", properties or None)
    return session.nothing()


def _view_columns(node: nodes.CreateView, rows: DataFrame) -> tuple[st.StructType, str]:
    """The columns of a view, and its query with the new names."""
    if not node.columns:
        return rows.schema, node.query
    if len(node.columns) != len(rows.schema):
        raise InvalidInputError(f"the view has {len(node.columns)} columns, and its query {len(rows.schema)}")
    fields = [
        st.StructField(name, field.dataType, field.nullable, {"comment": text} if text else None)
        for (name, text), field in zip(node.columns, rows.schema, strict=True)
    ]
    names = ", ".join(quoted(name) for name, _ in node.columns)
    return st.StructType(fields), f"WITH frazil_view ({names}) AS ({node.query}) SELECT * FROM frazil_view"


def _temporary_view(session: Session, node: nodes.CreateView, statement: str) -> DataFrame:
    if len(node.name) != 1:
        return session.spark.sql(statement, session.args)
    rows = run(session, node.query)
    if node.columns:
        rows = rows.toDF(*(name for name, _ in node.columns))
    if "GLOBAL" in statement.upper().split("VIEW")[0]:
        rows.createOrReplaceGlobalTempView(node.name[0])
    elif node.replace:
        rows.createOrReplaceTempView(node.name[0])
    else:
        rows.createTempView(node.name[0])
    return session.nothing()


def drop_view(session: Session, node: nodes.DropView, statement: str) -> DataFrame:
    """DROP VIEW."""
    place = session.place(node.name)
    if place is None or place.known is None or (len(node.name) == 1 and session.is_temporary(node.name[0])):
        return session.spark.sql(statement)
    place.catalog.drop_view(place.identifier, node.if_exists)
    return session.nothing()


def alter_view(session: Session, node: nodes.AlterView, statement: str) -> DataFrame:
    """ALTER VIEW: another name, query or properties."""
    place = session.place(node.name)
    if place is None:
        return session.spark.sql(statement)
    if node.rename_to is not None:
        place.catalog.rename_view(place.identifier, renamed(place, node.rename_to))
        return session.nothing()
    view = place.catalog.load_view(place.identifier)
    properties = {**view.properties, **dict(node.set_properties)}
    for name in node.unset_properties:
        properties.pop(name, None)
    if node.unset_properties:
        raise UnsupportedError("properties of views can't be removed", hint="DROP VIEW and CREATE VIEW")
    query, schema = view.sql("spark"), view.schema
    if node.query is not None:
        query, schema = qualified(session, node.query), Schema(run(session, node.query).schema)
    place.catalog.replace_view(place.identifier, query, schema, "spark", properties)
    return session.nothing()
