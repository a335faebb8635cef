"""Reads statements that answer something or say where names belong: SHOW, DESCRIBE, CALL, USE, EXPLAIN."""

from __future__ import annotations

from typing import Literal

from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.parts import equalities
from frazil.spark.sql.grammar.tokens import Cursor

__all__ = ["analyze", "call", "describe", "explain", "refresh", "show", "use"]

_NAMESPACES = ("NAMESPACE", "DATABASE", "SCHEMA")
_SEVERAL = ("NAMESPACES", "DATABASES", "SCHEMAS")


def use(cursor: Cursor) -> nodes.Statement:
    """Reads what follows USE."""
    if cursor.accept_any(*_NAMESPACES):
        return nodes.Use(cursor.name(), "namespace")
    if cursor.accept("CATALOG"):
        return nodes.Use(cursor.name(), "catalog")
    return nodes.Use(cursor.name())


def show(cursor: Cursor) -> nodes.Statement:
    """Reads what follows SHOW."""
    if cursor.accept("CREATE", "TABLE"):
        return nodes.Show("create table", cursor.name())
    if cursor.accept("TBLPROPERTIES"):
        name = cursor.name()
        key = None
        if cursor.accept_sign("("):
            key = cursor.text() if cursor.peek().kind == "text" else ".".join(cursor.name())
            cursor.expect_sign(")")
        return nodes.Show("tblproperties", name, key=key)
    if cursor.accept("PARTITIONS"):
        name = cursor.name()
        return nodes.Show("partitions", name, partition=equalities(cursor) if cursor.accept("PARTITION") else ())
    if cursor.accept("COLUMNS"):
        cursor.accept_any("IN", "FROM")
        name = cursor.name()
        if cursor.accept_any("IN", "FROM"):
            name = (*cursor.name(), *name)
        return nodes.Show("columns", name)
    if cursor.accept("CURRENT") and cursor.accept_any(*_NAMESPACES):
        return nodes.Show("current namespace")
    return _listing(cursor)


def _listing(cursor: Cursor) -> nodes.Statement:
    if cursor.accept("CATALOGS"):
        return nodes.Show("catalogs", pattern=_pattern(cursor))
    if cursor.accept_any("TAGS"):
        return nodes.Show("tags", cursor.name())
    if cursor.accept("BRANCHES"):
        return nodes.Show("branches", cursor.name())
    for words, what in ((_SEVERAL, "namespaces"), (("TABLES",), "tables"), (("VIEWS",), "views")):
        if cursor.accept_any(*words):
            name = cursor.name() if cursor.accept_any("IN", "FROM") else ()
            return nodes.Show(what, name, _pattern(cursor))
    if cursor.accept("TABLE", "EXTENDED"):
        name = cursor.name() if cursor.accept_any("IN", "FROM") else ()
        pattern = _pattern(cursor)
        return nodes.Show(
            "table extended",
            name,
            pattern,
            partition=equalities(cursor) if cursor.accept("PARTITION") else (),
        )
    return nodes.Foreign(cursor.statement)


def _pattern(cursor: Cursor) -> str | None:
    cursor.accept("LIKE")
    return cursor.text() if cursor.peek().kind == "text" else None


def describe(cursor: Cursor) -> nodes.Statement:
    """Reads what follows DESCRIBE."""
    if cursor.at_any("FUNCTION", "QUERY") or cursor.at_any("SELECT", "WITH", "FROM", "VALUES"):
        return nodes.Foreign(cursor.statement)
    what: Literal["table", "namespace", "history"] = "table"
    if cursor.accept("HISTORY"):
        what = "history"
    elif cursor.accept_any(*_NAMESPACES):
        what = "namespace"
    elif not (cursor.at("TABLE") and cursor.at_sign(".", 1)):
        cursor.accept("TABLE")
    extended = bool(cursor.accept_any("EXTENDED", "FORMATTED"))
    name = cursor.name()
    partition = equalities(cursor) if cursor.accept("PARTITION") else ()
    column = () if cursor.at_end() or cursor.at("AS") else cursor.name()
    if cursor.accept("AS", "JSON"):
        return nodes.Refused("DESCRIBE … AS JSON", (name,), "table.schema.to_json() is the schema as JSON")
    return nodes.Describe(what, name, extended, column, partition)


def call(cursor: Cursor) -> nodes.Statement:
    """Reads what follows CALL."""
    name = cursor.name()
    found: list[nodes.Argument] = []
    cursor.expect_sign("(")
    while not cursor.accept_sign(")"):
        given = None
        if cursor.at_sign("=>", 1) or cursor.at_sign("=", 1):
            given = cursor.part()
            cursor.take()
        found.append(nodes.Argument(cursor.until(signs=",)"), given))
        if not cursor.at_sign(")"):
            cursor.expect_sign(",")
    cursor.expect_end()
    return nodes.Call(name, tuple(found))


def explain(cursor: Cursor) -> nodes.Statement:
    """Reads what follows EXPLAIN."""
    mode = cursor.accept_any("EXTENDED", "CODEGEN", "COST", "FORMATTED", "LOGICAL")
    return nodes.Explain(mode or "", cursor.rest())


def analyze(cursor: Cursor) -> nodes.Statement:
    """Reads what follows ANALYZE."""
    if not cursor.accept("TABLE"):
        return nodes.Foreign(cursor.statement)
    name = cursor.name()
    if cursor.accept("PARTITION"):
        return nodes.Refused("ANALYZE TABLE … PARTITION", (name,), "ANALYZE TABLE … COMPUTE STATISTICS")
    cursor.expect("COMPUTE", "STATISTICS")
    columns: tuple[str, ...] | None = None
    if cursor.accept("FOR", "ALL", "COLUMNS"):
        columns = ()
    elif cursor.accept("FOR", "COLUMNS"):
        columns = tuple(part.strip(" `") for part in cursor.rest().split(","))
    else:
        cursor.accept("NOSCAN")
    return nodes.Analyze(name, columns)


def refresh(cursor: Cursor) -> nodes.Statement:
    """Reads what follows REFRESH."""
    if cursor.at_any("FUNCTION") or cursor.peek().kind == "text":
        return nodes.Foreign(cursor.statement)
    if not (cursor.at("TABLE") and cursor.at_sign(".", 1)):
        cursor.accept("TABLE")
    return nodes.Refresh(cursor.name())
