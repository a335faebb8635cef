"""Parts of several statements: properties, partitions, columns."""

from __future__ import annotations

from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.tokens import Cursor, Name

__all__ = ["column", "columns", "comma_texts", "equalities", "if_exists", "if_not_exists", "names", "pairs", "position"]

_AFTER_TYPE = ("NOT NULL", "NULL", "COMMENT", "DEFAULT", "GENERATED", "FIRST", "AFTER", "COLLATE")


def equalities(cursor: Cursor) -> tuple[tuple[str, str | None], ...]:
    """`(a = 1, b)`: columns with the texts of their values."""
    cursor.expect_sign("(")
    found: list[tuple[str, str | None]] = []
    while True:
        column = cursor.part()
        equal = cursor.accept_sign("=") or cursor.accept_sign("==")
        found.append((column, cursor.until(signs=",)") if equal else None))
        if not cursor.accept_sign(","):
            cursor.expect_sign(")")
            return tuple(found)


def pairs(cursor: Cursor) -> nodes.Pairs:
    """`('a' = 'b', c.d = 1)`: properties."""
    cursor.expect_sign("(")
    found: list[tuple[str, str]] = []
    while not cursor.accept_sign(")"):
        key = key_of(cursor)
        if not cursor.accept_sign("="):
            cursor.accept_sign("==")
        found.append((key, cursor.value()))
        cursor.accept_sign(",")
    return tuple(found)


def key_of(cursor: Cursor) -> str:
    """A property's name: a text, or words with dots."""
    return cursor.text() if cursor.peek().kind == "text" else ".".join(cursor.name())


def keys(cursor: Cursor) -> tuple[str, ...]:
    """`('a', b.c)`: names of properties."""
    cursor.expect_sign("(")
    found = [key_of(cursor)]
    while cursor.accept_sign(","):
        found.append(key_of(cursor))
    cursor.expect_sign(")")
    return tuple(found)


def names(cursor: Cursor) -> tuple[Name, ...]:
    """Names with commas between them, perhaps in parentheses."""
    inside = cursor.accept_sign("(")
    found = [cursor.name()]
    while cursor.accept_sign(","):
        found.append(cursor.name())
    if inside:
        cursor.expect_sign(")")
    return tuple(found)


def comma_texts(cursor: Cursor) -> tuple[str, ...]:
    """Expressions in parentheses, with commas between them."""
    cursor.expect_sign("(")
    found = [cursor.until(signs=",)")]
    while cursor.accept_sign(","):
        found.append(cursor.until(signs=",)"))
    cursor.expect_sign(")")
    return tuple(found)


def columns(cursor: Cursor) -> tuple[nodes.Column, ...]:
    """Columns in parentheses."""
    cursor.expect_sign("(")
    found = [column(cursor)]
    while cursor.accept_sign(","):
        found.append(column(cursor))
    cursor.expect_sign(")")
    return tuple(found)


def column(cursor: Cursor) -> nodes.Column:
    """A column: its name and type, and what follows them in any order."""
    path = cursor.name()
    cursor.accept_sign(":")
    type_ = cursor.until(*_AFTER_TYPE, signs=",)", angles=True)
    required, text, default = False, None, None
    first, after = False, None
    while not cursor.at_end() and not cursor.at_sign(",") and not cursor.at_sign(")"):
        if cursor.accept("NOT", "NULL"):
            required = True
        elif cursor.accept("COMMENT"):
            text = cursor.text()
        elif cursor.accept("DEFAULT"):
            default = cursor.until(*_AFTER_TYPE, signs=",)")
        elif cursor.accept("COLLATE"):
            cursor.name()
        elif cursor.at_any("FIRST", "AFTER"):
            first, after = position(cursor)
        elif not cursor.accept("NULL"):
            raise cursor.error("NOT NULL, COMMENT or DEFAULT")
    return nodes.Column(path, type_, required, text, default, first, after)


def position(cursor: Cursor) -> tuple[bool, Name | None]:
    """FIRST, or AFTER a column."""
    if cursor.accept("FIRST"):
        return True, None
    cursor.expect("AFTER")
    return False, cursor.name()


def if_exists(cursor: Cursor) -> bool:
    """IF EXISTS, if it comes next."""
    return cursor.accept("IF", "EXISTS")


def if_not_exists(cursor: Cursor) -> bool:
    """IF NOT EXISTS, if it comes next."""
    return cursor.accept("IF", "NOT", "EXISTS")
