"""Reads COPY INTO: files into a table, or rows into files."""

from __future__ import annotations

from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.tokens import Cursor

__all__ = ["copy"]


def copy(cursor: Cursor) -> nodes.Statement:
    """Reads what follows COPY."""
    cursor.expect("INTO")
    if cursor.peek().kind == "text":
        return _into_files(cursor)
    target = cursor.name()
    columns: tuple[str, ...] = ()
    if cursor.accept_sign("("):
        found = [cursor.part()]
        while cursor.accept_sign(","):
            found.append(cursor.part())
        cursor.expect_sign(")")
        columns = tuple(found)
    cursor.expect("FROM")
    path = cursor.text()
    options = _format(cursor)
    given = _settings(cursor, "PATTERN", "FORCE", "ON_ERROR")
    return nodes.CopyIntoTable(
        target, columns, path, options, given.get("PATTERN"), given.get("FORCE", ""), given.get("ON_ERROR", "")
    )


def _into_files(cursor: Cursor) -> nodes.Statement:
    path = cursor.text()
    cursor.expect("FROM")
    query = cursor.parentheses() if cursor.at_sign("(") else f"SELECT * FROM {cursor.until('FILE_FORMAT')}"
    options = _format(cursor)
    return nodes.CopyIntoFiles(path, query, options, _settings(cursor, "OVERWRITE").get("OVERWRITE", ""))


def _format(cursor: Cursor) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """`FILE_FORMAT = (TYPE = CSV, NULL_IF = ('a', 'b'))`: options with their values."""
    cursor.expect("FILE_FORMAT")
    cursor.expect_sign("=")
    cursor.expect_sign("(")
    found = []
    while not cursor.accept_sign(")"):
        key = cursor.part().upper()
        cursor.expect_sign("=")
        if cursor.accept_sign("("):
            values = [cursor.value()]
            while cursor.accept_sign(","):
                values.append(cursor.value())
            cursor.expect_sign(")")
            found.append((key, tuple(values)))
        else:
            found.append((key, (cursor.value(),)))
        if not cursor.at_sign(")"):
            cursor.expect_sign(",")
    return tuple(found)


def _settings(cursor: Cursor, *known: str) -> dict[str, str]:
    found: dict[str, str] = {}
    while not cursor.at_end():
        key = cursor.accept_any(*known)
        if key is None or key in found:
            raise cursor.error(", ".join(word for word in known if word not in found) or "the end")
        cursor.expect_sign("=")
        found[key] = cursor.value()
    return found
