"""DELETE, UPDATE and MERGE, as calls of Frazil's Python functions.

Conditions and values stay Spark's text. Tables of Frazil's in their subqueries become temporary views while the
statement runs.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame

from frazil.exceptions import InvalidInputError
from frazil.schema import Schema
from frazil.spark import row_changes
from frazil.spark.columns import column_of, quoted
from frazil.spark.query import frames_of
from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.tokens import Name, tokens_of
from frazil.spark.sql.names.assigned import check_assigned, check_inserted
from frazil.spark.sql.names.branches import commit_options
from frazil.spark.sql.predicates import check_condition, predicate_of
from frazil.spark.sql.queries import bind, run
from frazil.spark.sql.session import Session
from frazil.spark.sql.values import literal

__all__ = ["delete_rows", "merge_rows", "update_rows"]

_SELECT = "SELECT "
_EVOLVES = "write.spark.auto-schema-evolution.enabled"


def delete_rows(session: Session, node: nodes.Delete, statement: str) -> DataFrame:
    """DELETE FROM."""
    target = session.target(node.target)
    if target is None:
        return session.spark.sql(statement, session.args)
    alias = node.alias or node.target[-1]
    options = commit_options(session, target)
    check_condition(node.where)
    if node.where is None:
        return session.done(row_changes.delete(session.spark, target.table, "true", **options))
    where = predicate_of(session, node.where, target.table.schema, alias)
    if where is not None:
        return session.done(row_changes.delete(session.spark, target.table, where, **options))
    with _expressions(session, [node.where], node.target, alias, node.ctes) as (text,):
        done = row_changes.delete(session.spark, target.table, column_of(text), alias=alias, **options)
    return session.done(done)


def update_rows(session: Session, node: nodes.Update, statement: str) -> DataFrame:
    """UPDATE."""
    target = session.target(node.target)
    if target is None:
        return session.spark.sql(statement, session.args)
    alias = node.alias or node.target[-1]
    options = commit_options(session, target)
    check_condition(node.where)
    texts = [node.where or "true", *(text for _, text in node.assignments)]
    paths = [_without(name, alias, node.target) for name, _ in node.assignments]
    check_assigned(session.spark, paths)
    names = [".".join(path) for path in paths]
    constants = _constants(target.table.schema, names, texts[1:])
    if constants is not None:
        where = "true" if node.where is None else predicate_of(session, node.where, target.table.schema, alias)
        if where is not None:
            done = row_changes.update(session.spark, target.table, where, constants, alias=alias, **options)
            return session.done(done)
    with _expressions(session, texts, node.target, alias, node.ctes) as (where, *values):
        condition: Any = "true"
        if node.where is not None:
            condition = predicate_of(session, node.where, target.table.schema, alias)
            condition = column_of(where) if condition is None else condition
        columns = {name: column_of(text) for name, text in zip(names, values, strict=True)}
        done = row_changes.update(session.spark, target.table, condition, columns, alias=alias, **options)
    return session.done(done)


def _constants(schema: Schema, names: list[str], texts: list[str]) -> dict[str, Any] | None:
    """The new values by column, if all are constants in the types of the columns. These need no plan of Spark's."""
    types = {field.name: field.type for field in schema.fields}
    found: dict[str, Any] = {}
    for name, text in zip(names, texts, strict=True):
        plain, type_ = text.strip(), types.get(name)
        if type_ == "string" and re.fullmatch(r"'[^'\\]*'", plain):
            found[name] = plain[1:-1]
        elif (type_ == "int" and re.fullmatch(r"-?\d{1,9}", plain)) or (
            type_ == "long" and re.fullmatch(r"-?\d{1,18}[lL]?", plain)
        ):
            found[name] = int(plain.rstrip("lL"))
        else:
            return None
    return found if len(found) == len(names) else None


def merge_rows(session: Session, node: nodes.Merge, statement: str) -> DataFrame:
    """MERGE INTO."""
    target = session.target(node.target)
    if target is None:
        return session.spark.sql(statement, session.args)
    rows, source = _source(session, node)
    alias = node.alias or node.target[-1]
    texts = [node.on]
    check_condition(node.on)
    for clause in node.clauses:
        _check_clause(session, clause, alias, node.target)
        texts += [clause.condition or "true", *clause.values]
    with _expressions(session, texts, node.target, alias, node.ctes) as (on, *rest):
        merge = row_changes.merge_into(
            rows, target.table, _condition(on), source=source, target=alias, **commit_options(session, target)
        )
        if node.evolve and target.table.properties.get(_EVOLVES, "true").lower() == "true":
            merge = merge.withSchemaEvolution()
        for clause in node.clauses:
            condition = rest.pop(0) if clause.condition is not None else rest.pop(0) and None
            values = {
                ".".join(_without(name, alias, node.target)): column_of(rest.pop(0)) for name in clause.columns or ()
            }
            merge = _clause(merge, clause, condition, values or None)
        done = merge.merge()
    return session.done(done)


def _check_clause(session: Session, clause: nodes.Clause, alias: str, target: Name) -> None:
    check_condition(clause.condition)
    names = [_without(name, alias, target) for name in clause.columns or ()]
    check_assigned(session.spark, names)
    if clause.action == "insert":
        check_inserted(names)


def _condition(on: str) -> Any:
    """The condition of a merge. A text shows the keys by which files are selected. One name would be a key."""
    return column_of(on) if on.strip().strip("`").isidentifier() else on


def _clause(merge: Any, clause: nodes.Clause, condition: str | None, values: dict[str, Any] | None) -> Any:
    begun = {
        "matched": merge.whenMatched,
        "not matched": merge.whenNotMatched,
        "not matched by source": merge.whenNotMatchedBySource,
    }[clause.when](condition)
    if clause.action == "delete":
        return begun.delete()
    if clause.action == "insert":
        return begun.insertAll() if values is None else begun.insert(values)
    if clause.when == "not matched by source" and values is None:
        raise InvalidInputError("WHEN NOT MATCHED BY SOURCE can't UPDATE SET *: these rows have no row of the source")
    return begun.updateAll() if values is None else begun.update(values)


def _source(session: Session, node: nodes.Merge) -> tuple[DataFrame, str]:
    """The rows of a merge's source, and their name."""
    if isinstance(node.source, str):
        return run(session, _joined(node.ctes, node.source)), node.source_alias or "frazil_source"
    name = ".".join(map(quoted, node.source))
    return run(session, _joined(node.ctes, f"SELECT * FROM {name}")), node.source_alias or node.source[-1]


def _joined(ctes: str, query: str) -> str:
    if ctes and query.lstrip().upper().startswith("WITH"):
        return f"{ctes} SELECT * FROM ({query})"
    return f"{ctes} {query}".strip()


def _without(name: Name, alias: str, target: Name) -> Name:
    """A column without the name of its table."""
    for prefix in ((alias,), target, target[-2:]):
        if len(name) > len(prefix) and tuple(map(str.lower, name[: len(prefix)])) == tuple(map(str.lower, prefix)):
            return name[len(prefix) :]
    return name


# ---------------------------------------------------------------- expressions


@contextmanager
def _expressions(session: Session, texts: list[str], target: Name, alias: str, ctes: str) -> Iterator[list[str]]:
    """Expressions whose subqueries Spark can run: tables of Frazil's in them are temporary views meanwhile."""
    made: list[str] = []
    try:
        yield [_expression(session, text, target, alias, ctes, made) for text in texts]
    finally:
        for view in made:
            session.spark.catalog.dropTempView(view)


def _expression(session: Session, text: str, target: Name, alias: str, ctes: str, made: list[str]) -> str:
    text = _inlined(session, _unqualified(text, target, alias))
    if not any(token.kind == "word" and token.text.upper() in ("SELECT", "FROM") for token in tokens_of(text)):
        return text
    bound = bind(session, _SELECT + text)
    frames = frames_of(
        session.spark, bound.text, bound.scans, bound.frames, session.planning, session.engine, session.args
    )
    inner = bound.text[len(_SELECT) :]
    if ctes:
        raise InvalidInputError("WITH before DELETE, UPDATE and MERGE can't be used in subqueries of conditions")
    for slot, frame in frames.items():
        view = f"frazil_{uuid.uuid4().hex}"
        frame.createOrReplaceTempView(view)
        made.append(view)
        inner = inner.replace(quoted(slot), quoted(view))
    return inner


def _unqualified(text: str, target: Name, alias: str) -> str:
    """The text with the table's alias in place of its whole name."""
    tokens = tokens_of(text)
    parts = list(target)
    if len(parts) < 2:
        return text
    edits = []
    for i in range(len(tokens) - 2 * len(parts)):
        names = [tokens[i + 2 * k].text.lower() for k in range(len(parts))]
        dots = [tokens[i + 2 * k + 1].text for k in range(len(parts))]
        before = tokens[i - 1].text.upper() if i else ""
        if names == [part.lower() for part in parts] and set(dots) == {"."} and before not in ("FROM", "JOIN", ","):
            edits.append((tokens[i].start, tokens[i + 2 * len(parts) - 2].end))
    for start, end in reversed(edits):
        text = text[:start] + quoted(alias) + text[end:]
    return text


def _inlined(session: Session, text: str) -> str:
    """The text with the values of its parameters, since single expressions have none."""
    if not session.args:
        return text
    tokens = tokens_of(text)
    for i in range(len(tokens) - 2, -1, -1):
        colon, name = tokens[i], tokens[i + 1]
        if colon.text == ":" and name.kind == "word" and name.text in session.args and colon.end == name.start:
            text = text[: colon.start] + literal(session.args[name.text]) + text[name.end :]
    return text
