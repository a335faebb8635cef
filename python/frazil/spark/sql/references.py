"""Finds the tables of a query, and their places in its text.

sqlglot reads the query, so that CTEs hide tables of the same name. The text itself is Spark's: only the names of tables
are replaced in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from frazil.exceptions import InvalidInputError
from frazil.spark.columns import quoted
from frazil.spark.sql.grammar.tokens import Cursor, Name, Token, tokens_of

__all__ = ["Function", "Reference", "Version", "references_of", "replaced"]

_SYSTEM_VERSION = re.compile(r"\bFOR(\s+)SYSTEM_VERSION\b", re.IGNORECASE)
FUNCTIONS = ("paimon_incremental_query", "paimon_incremental_between_timestamp", "paimon_incremental_to_auto_tag")
"""Functions whose result is a table."""


@dataclass(frozen=True)
class Version:
    """VERSION AS OF or TIMESTAMP AS OF, with the text of its value."""

    by_time: bool
    value: str


@dataclass(frozen=True)
class Reference:
    """A table in a query.

    Attributes:
        name: Its name.
        version: The version that is asked for.
        start: The place of the name in the text.
        end: The place after the name and the version.
        alias_at: Where an alias must be put, since the query has none; otherwise None.
        columns: The places of this name before names of columns.
    """

    name: Name
    version: Version | None
    start: int
    end: int
    alias_at: int | None
    columns: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Function:
    """A function whose result is a table, with the texts of its arguments."""

    name: str
    arguments: tuple[str, ...]
    start: int
    end: int


def references_of(query: str) -> list[Reference | Function]:
    """The tables of a query that are not its own CTEs, in the order of the text.

    Raises:
        InvalidInputError: sqlglot can't read the query.
    """
    from sqlglot import errors, exp, parse_one

    # The text keeps its length, so that places stay right.
    readable = _SYSTEM_VERSION.sub(lambda m: " " * (len(m[0]) - len("VERSION")) + "VERSION", query)
    try:
        tree: Any = parse_one(readable, read="spark")
    except (errors.ParseError, errors.TokenError) as error:
        raise InvalidInputError(f"the query can't be read: {str(error).splitlines()[0]}") from error
    tokens = tokens_of(query)
    after = {token.end: i for i, token in enumerate(tokens) if token.kind != "end"}
    found: list[Reference | Function] = []
    for table in tree.find_all(exp.Table):
        parts = table.parts
        if isinstance(table.this, exp.Anonymous) and table.this.name.lower() in FUNCTIONS:
            found.append(_function(query, table, tokens))
            continue
        if not parts or not all(isinstance(part, exp.Identifier) and "start" in part.meta for part in parts):
            continue
        name = tuple(part.name for part in parts)
        if len(name) == 1 and _is_cte(table, name[0], exp):
            continue
        start, end = parts[0].meta["start"], parts[-1].meta["end"] + 1
        found.append(_reference(query, tokens, after, name, start, end, bool(table.args.get("alias"))))
    found.sort(key=lambda one: one.start)
    return _with_columns(found, tree, exp)


def _is_cte(table: Any, name: str, exp: Any) -> bool:
    """Whether a name is that of a CTE that can be seen at its place."""
    child, parent = table, table.parent
    while parent is not None:
        if isinstance(parent, exp.With):
            at = next(i for i, one in enumerate(parent.expressions) if one is child)
            visible = parent.expressions[: at + bool(parent.args.get("recursive"))]
            child, parent = parent.parent, parent.parent.parent
        else:
            with_ = parent.args.get("with_") or parent.args.get("with")
            visible = [] if with_ is None else with_.expressions
            child, parent = parent, parent.parent
        if any(one.alias.lower() == name.lower() for one in visible):
            return True
    return False


def _reference(
    query: str, tokens: list[Token], after: Mapping[int, int], name: Name, start: int, end: int, aliased: bool
) -> Reference:
    at = after.get(end)
    version = None
    if at is not None:
        version, next_, end = _version(query, tokens, at + 1, end)
        alias_at = None if aliased else _after_sample(tokens, next_, end)
        return Reference(name, version, start, end, alias_at)
    return Reference(name, None, start, end, None if aliased else end)


def _version(query: str, tokens: list[Token], at: int, end: int) -> tuple[Version | None, int, int]:
    """A version after a name, the next token, and the place where the version ends."""
    words = [token.text.upper() if token.kind == "word" else "" for token in tokens[at : at + 4]]
    begin = at + (words[:1] == ["FOR"])
    kinds = {"VERSION": False, "SYSTEM_VERSION": False, "TIMESTAMP": True, "SYSTEM_TIME": True}
    kind = words[begin - at] if begin - at < len(words) else ""
    if kind not in kinds or words[begin - at + 1 : begin - at + 3] != ["AS", "OF"]:
        return None, at, end
    first = begin + 3
    last = _expression(tokens, first)
    text = query[tokens[first].start : tokens[last - 1].end]
    return Version(kinds[kind], text), last, tokens[last - 1].end


def _expression(tokens: list[Token], at: int) -> int:
    """The token after a sum of values and calls."""
    while True:
        if tokens[at].text.upper() == "INTERVAL":
            at += 2
            if tokens[at].kind == "word":
                at += 1
        elif tokens[at].text in ("(", "-", "+", ":"):
            at = _closing(tokens, at) if tokens[at].text == "(" else at + 1
            if tokens[at - 1].text in ("-", "+", ":"):
                continue
        elif tokens[at].kind == "word" and tokens[at].text.upper() in ("TIMESTAMP", "DATE", "TIMESTAMP_NTZ"):
            at += 2
        else:
            at += 1
            if tokens[at].text == "(":
                at = _closing(tokens, at)
        if tokens[at].kind != "sign" or tokens[at].text not in ("+", "-"):
            return at
        at += 1


def _closing(tokens: list[Token], at: int) -> int:
    """The token after the parenthesis that closes the one at a place."""
    depth = 0
    while tokens[at].kind != "end":
        depth += tokens[at].kind == "sign" and (tokens[at].text == "(") - (tokens[at].text == ")")
        at += 1
        if depth == 0:
            break
    return at


def _after_sample(tokens: list[Token], at: int, end: int) -> int:
    if tokens[at].kind == "word" and tokens[at].text.upper() == "TABLESAMPLE":
        last = _closing(tokens, at + 1)
        if tokens[last].text.upper() == "REPEATABLE":
            last = _closing(tokens, last + 1)
        return tokens[last - 1].end
    return end


def _function(query: str, table: Any, tokens: list[Token]) -> Function:
    """A call, whose arguments are read again from the text."""
    identifier = table.this.this if hasattr(table.this.this, "meta") else None
    name = table.this.name
    start = identifier.meta["start"] if identifier is not None and "start" in identifier.meta else _word(tokens, name)
    at = next(i for i, token in enumerate(tokens) if token.start == start)
    end = tokens[_closing(tokens, at + 1) - 1].end
    cursor = Cursor(query[tokens[at + 1].start : end])
    cursor.expect_sign("(")
    arguments = []
    while not cursor.accept_sign(")"):
        arguments.append(cursor.until(signs=",)"))
        cursor.accept_sign(",")
    return Function(name.lower(), tuple(arguments), start, end)


def _word(tokens: list[Token], name: str) -> int:
    return next(token.start for token in tokens if token.kind == "word" and token.text.lower() == name.lower())


def _with_columns(found: list[Reference | Function], tree: Any, exp: Any) -> list[Reference | Function]:
    """The references, with the places where columns are named by the whole name of their table."""
    places: dict[Name, list[tuple[int, int]]] = {}
    for column in tree.find_all(exp.Column):
        parts = [part for part in column.parts if isinstance(part, (exp.Identifier, exp.Star))]
        owners = parts[:-1]
        if len(owners) > 1 and all(isinstance(one, exp.Identifier) and "start" in one.meta for one in owners):
            name = tuple(one.name for one in owners)
            places.setdefault(name, []).append((owners[0].meta["start"], owners[-1].meta["end"] + 1))
    out: list[Reference | Function] = []
    for one in found:
        if isinstance(one, Reference) and one.alias_at is not None and len(one.name) > 1:
            own = [place for name, at in places.items() if one.name[-len(name) :] == name for place in at]
            one = Reference(one.name, one.version, one.start, one.end, one.alias_at, tuple(own))
        out.append(one)
    return out


def replaced(query: str, found: list[tuple[Reference | Function, str]], write: Callable[[str], str] = quoted) -> str:
    """The query with other names for tables. Each keeps the last part of its name as an alias."""
    edits: dict[tuple[int, int], str] = {}
    for one, slot in found:
        edits[one.start, one.end] = write(slot)
        if isinstance(one, Reference) and one.alias_at is not None:
            alias = f" AS {quoted(one.name[-1])}"
            if one.alias_at == one.end:
                edits[one.start, one.end] += alias
            else:
                edits[one.alias_at, one.alias_at] = alias
            edits.update({place: quoted(one.name[-1]) for place in one.columns})
    for (start, end), text in sorted(edits.items(), reverse=True):
        query = query[:start] + text + query[end:]
    return query
