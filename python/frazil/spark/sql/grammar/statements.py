"""Reads statements: decides by their first words, and reads those that change rows."""

from __future__ import annotations

from collections.abc import Callable

from frazil.spark.columns import quoted
from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.answers import (
    analyze,
    call,
    describe,
    explain,
    refresh,
    show,
    use,
)
from frazil.spark.sql.grammar.copying import copy
from frazil.spark.sql.grammar.definitions import alter, comment, create, drop, replace
from frazil.spark.sql.grammar.parts import equalities
from frazil.spark.sql.grammar.tokens import Cursor, Name

__all__ = ["parse"]

_QUERIES = ("SELECT", "FROM", "VALUES", "TABLE", "MAP", "REDUCE")


def parse(statement: str) -> nodes.Statement:
    """Reads a statement.

    Raises:
        InvalidInputError: The statement begins as one that Frazil knows, but goes on differently.
    """
    cursor = Cursor(statement)
    if cursor.at_any(*_QUERIES) or cursor.at_sign("("):
        return _query(cursor)
    if cursor.at("WITH"):
        return _with(cursor)
    first = cursor.peek().text.upper() if cursor.peek().kind == "word" else ""
    read = _READERS.get(first)
    if read is None:
        return nodes.Foreign(statement)
    cursor.take()
    return read(cursor)


def _query(cursor: Cursor) -> nodes.Statement:
    if cursor.at("FROM") and _inserts(cursor):
        return nodes.Refused(
            "FROM … INSERT INTO several tables", (), "Write one INSERT for each table. Each of them is one commit"
        )
    return nodes.Query(_without_table(cursor))


def _without_table(cursor: Cursor) -> str:
    """The text of a query. `TABLE name` is written as a SELECT."""
    if cursor.accept("TABLE"):
        return f"SELECT * FROM {cursor.rest()}"
    return cursor.rest()


def _inserts(cursor: Cursor) -> bool:
    ahead = Cursor(cursor.statement)
    ahead.until("INSERT")
    return ahead.at("INSERT")


def _with(cursor: Cursor) -> nodes.Statement:
    """WITH before a query, or before a change of rows."""
    start = cursor.peek().start
    ahead = Cursor(cursor.statement)
    ahead.expect("WITH")
    ahead.accept("RECURSIVE")
    while True:
        ahead.part()
        if ahead.at_sign("("):
            ahead.parentheses()
        ahead.accept("MAX", "RECURSION", "LEVEL") and ahead.take()
        ahead.accept("AS")
        ahead.parentheses()
        if not ahead.accept_sign(","):
            break
    ctes = ahead.between(start, ahead.peek().start)
    word = ahead.accept_any("INSERT", "DELETE", "UPDATE", "MERGE")
    if word is None:
        return nodes.Query(cursor.rest())
    return _CHANGES[word](ahead, ctes)


# ---------------------------------------------------------------- INSERT


def _insert(cursor: Cursor, ctes: str = "") -> nodes.Statement:
    evolve = cursor.accept("WITH", "SCHEMA", "EVOLUTION")
    overwrite = cursor.accept("OVERWRITE")
    if not overwrite:
        cursor.expect("INTO")
    elif cursor.at("DIRECTORY") or cursor.at("LOCAL"):
        cursor.until("SELECT", "WITH", "VALUES", "FROM", "TABLE")
        return nodes.SparkInsert(cursor.rest())
    if not (cursor.at("TABLE") and cursor.at_sign(".", 1)):
        cursor.accept("TABLE")
    target = cursor.name()
    evolve = cursor.accept("WITH", "SCHEMA", "EVOLUTION") or evolve
    replace_where = None
    partition: tuple[tuple[str, str | None], ...] = ()
    columns: tuple[str, ...] = ()
    by_name = False
    if cursor.accept("REPLACE", "WHERE"):
        replace_where = cursor.until("SELECT", "VALUES", "FROM", "TABLE", "WITH")
    else:
        if cursor.accept("PARTITION"):
            partition = equalities(cursor)
        cursor.accept("IF", "NOT", "EXISTS")
        by_name = cursor.accept("BY", "NAME")
        if cursor.at_sign("(") and not _is_query(cursor):
            columns = _columns(cursor)
    text = _without_table(cursor)
    query = f"{ctes} {text}" if ctes and not text.upper().startswith("WITH") else _joined(ctes, text)
    return nodes.Insert(target, overwrite, partition, columns, by_name, replace_where, query, evolve)


def _joined(ctes: str, text: str) -> str:
    """A query that has a WITH clause itself, after another one."""
    return f"{ctes} SELECT * FROM ({text})" if ctes else text


def _is_query(cursor: Cursor) -> bool:
    ahead = cursor.peek(1)
    return ahead.text == "(" or (ahead.kind == "word" and ahead.text.upper() in (*_QUERIES, "WITH"))


def _columns(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect_sign("(")
    found = [cursor.part()]
    while cursor.accept_sign(","):
        found.append(cursor.part())
    cursor.expect_sign(")")
    return tuple(found)


def _truncate(cursor: Cursor) -> nodes.Statement:
    cursor.expect("TABLE")
    target = cursor.name()
    partition = equalities(cursor) if cursor.accept("PARTITION") else ()
    cursor.expect_end()
    return nodes.Truncate(target, partition)


# ---------------------------------------------------------------- DELETE, UPDATE, MERGE


def _delete(cursor: Cursor, ctes: str = "") -> nodes.Statement:
    cursor.expect("FROM")
    target, alias = _aliased(cursor, "WHERE")
    where = cursor.rest() if cursor.accept("WHERE") else None
    cursor.expect_end()
    return nodes.Delete(target, alias, where, ctes)


def _update(cursor: Cursor, ctes: str = "") -> nodes.Statement:
    target, alias = _aliased(cursor, "SET")
    cursor.expect("SET")
    assignments = _assignments(cursor, "WHERE")
    where = cursor.rest() if cursor.accept("WHERE") else None
    cursor.expect_end()
    return nodes.Update(target, alias, assignments, where, ctes)


def _aliased(cursor: Cursor, *stops: str) -> tuple[Name, str | None]:
    name = cursor.name()
    if cursor.accept("AS"):
        return name, cursor.part()
    if cursor.at_end() or cursor.at_any(*stops) or cursor.peek().kind == "sign":
        return name, None
    return name, cursor.part()


def _assignments(cursor: Cursor, *stops: str) -> tuple[tuple[Name, str], ...]:
    found = []
    while True:
        name = cursor.name()
        if not cursor.accept_sign("=="):
            cursor.expect_sign("=")
        found.append((name, cursor.until(*stops, signs=",")))
        if not cursor.accept_sign(","):
            return tuple(found)


def _merge(cursor: Cursor, ctes: str = "") -> nodes.Statement:
    evolve = cursor.accept("WITH", "SCHEMA", "EVOLUTION")
    cursor.expect("INTO")
    target, alias = _aliased(cursor, "USING", "WITH")
    evolve = cursor.accept("WITH", "SCHEMA", "EVOLUTION") or evolve
    cursor.expect("USING")
    source: Name | str
    if cursor.at_sign("("):
        source = cursor.parentheses()
    else:
        source = cursor.name()
        if cursor.at_any("VERSION", "TIMESTAMP", "FOR"):
            version = f"{cursor.until('OF')} {cursor.take().text} {cursor.until('ON', 'AS')}"
            source = f"SELECT * FROM {'.'.join(map(quoted, source))} {version}"
    source_alias = None
    if cursor.accept("AS") or not cursor.at("ON"):
        source_alias = cursor.part()
    return _merge_of(cursor, target, alias, source, source_alias, evolve, ctes)


def _merge_of(
    cursor: Cursor,
    target: Name,
    alias: str | None,
    source: Name | str,
    source_alias: str | None,
    evolve: bool,
    ctes: str,
) -> nodes.Merge:
    cursor.expect("ON")
    on = cursor.until("WHEN")
    clauses = []
    while cursor.accept("WHEN"):
        clauses.append(_clause(cursor))
    cursor.expect_end()
    if not clauses:
        raise cursor.error("WHEN")
    return nodes.Merge(target, alias, source, source_alias, on, tuple(clauses), evolve, ctes)


def _clause(cursor: Cursor) -> nodes.Clause:
    if cursor.accept("MATCHED"):
        condition = cursor.until("THEN") if cursor.accept("AND") else None
        cursor.expect("THEN")
        return _matched(cursor, "matched", condition)
    cursor.expect("NOT", "MATCHED")
    if cursor.accept("BY", "SOURCE"):
        condition = cursor.until("THEN") if cursor.accept("AND") else None
        cursor.expect("THEN")
        return _matched(cursor, "not matched by source", condition)
    cursor.accept("BY", "TARGET")
    condition = cursor.until("THEN") if cursor.accept("AND") else None
    cursor.expect("THEN", "INSERT")
    if cursor.accept_sign("*"):
        return nodes.Clause("not matched", condition, "insert")
    cursor.expect_sign("(")
    columns = [cursor.name()]
    while cursor.accept_sign(","):
        columns.append(cursor.name())
    cursor.expect_sign(")")
    cursor.expect("VALUES")
    cursor.expect_sign("(")
    values = [cursor.until(signs=",)")]
    while cursor.accept_sign(","):
        values.append(cursor.until(signs=",)"))
    cursor.expect_sign(")")
    return nodes.Clause("not matched", condition, "insert", tuple(columns), tuple(values))


def _matched(cursor: Cursor, when: str, condition: str | None) -> nodes.Clause:
    if cursor.accept("DELETE"):
        return nodes.Clause(when, condition, "delete")  # type: ignore[arg-type]
    cursor.expect("UPDATE", "SET")
    if cursor.accept_sign("*"):
        return nodes.Clause(when, condition, "update")  # type: ignore[arg-type]
    set_ = _assignments(cursor, "WHEN")
    names, values = tuple(name for name, _ in set_), tuple(value for _, value in set_)
    return nodes.Clause(when, condition, "update", names, values)  # type: ignore[arg-type]


_CHANGES: dict[str, Callable[[Cursor, str], nodes.Statement]] = {
    "INSERT": _insert,
    "DELETE": _delete,
    "UPDATE": _update,
    "MERGE": _merge,
}
_READERS: dict[str, Callable[[Cursor], nodes.Statement]] = {
    "INSERT": _insert,
    "TRUNCATE": _truncate,
    "DELETE": _delete,
    "UPDATE": _update,
    "MERGE": _merge,
    "CREATE": create,
    "REPLACE": replace,
    "DROP": drop,
    "ALTER": alter,
    "COMMENT": comment,
    "USE": use,
    "SHOW": show,
    "DESCRIBE": describe,
    "DESC": describe,
    "CALL": call,
    "EXPLAIN": explain,
    "ANALYZE": analyze,
    "REFRESH": refresh,
    "MSCK": lambda cursor: _refused(cursor, "MSCK REPAIR TABLE", "Partitions are in the table's metadata"),
    "COPY": copy,
    "LOAD": lambda cursor: _refused(cursor, "LOAD DATA", "CALL system.add_files adds existing Parquet files"),
    "CACHE": lambda cursor: _refused(cursor, "CACHE TABLE", "Call .cache() of the DataFrame that a query returns"),
    "UNCACHE": lambda cursor: _refused(cursor, "UNCACHE TABLE", "Call .unpersist() of the cached DataFrame"),
}


def _refused(cursor: Cursor, what: str, remedy: str) -> nodes.Statement:
    """A statement with a table's name in it: the first name after the words that begin it."""
    names = []
    for _ in range(4):
        if cursor.at_end() or cursor.peek().kind == "sign":
            break
        if cursor.at_any("REPAIR", "TABLE", "INTO", "LAZY", "DATA", "IF", "EXISTS", "SYNC"):
            cursor.take()
        elif cursor.peek().kind == "text":
            cursor.until("FROM")
            cursor.accept("FROM")
        else:
            names.append(cursor.name())
    return nodes.Refused(what, tuple(names), remedy)
