"""EXPLAIN: Frazil's funnel of files for each table, then Spark's plan."""

from __future__ import annotations

from pyspark.sql import DataFrame

from frazil.exceptions import UnsupportedError
from frazil.spark.columns import quoted
from frazil.spark.query import frames_of, named_frames, needed_scans
from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.statements import parse
from frazil.spark.sql.grammar.tokens import Name
from frazil.spark.sql.queries import bind
from frazil.spark.sql.session import Session

__all__ = ["explain"]


def explain(session: Session, node: nodes.Explain, statement: str) -> DataFrame:
    """EXPLAIN of a query, of that of an INSERT or CREATE TABLE AS SELECT, or of the rows that a change looks for."""
    inner = parse(node.text)
    query = _query_of(inner)
    if query is None:
        if isinstance(inner, (nodes.Foreign, nodes.Explain)):
            return session.spark.sql(statement, session.args)
        raise UnsupportedError(
            "EXPLAIN of this statement can't be done",
            hint="EXPLAIN SELECT with its condition shows the files that it reads",
        )
    bound = bind(session, query)
    if bound.is_spark:
        return session.spark.sql(statement, session.args)
    narrowed = needed_scans(session.spark, bound.text, bound.scans, bound.frames, session.args)
    parts = [f"== Frazil: {bound.names[slot]} ==\n{scan.explain()}" for slot, scan in narrowed.items()]
    frames = frames_of(
        session.spark, bound.text, bound.scans, bound.frames, session.planning, session.engine, session.args
    )
    named, slots = named_frames(bound.text, frames)
    mode = f"{node.mode} " if node.mode else ""
    plan = session.spark.sql(f"EXPLAIN {mode}{named}", session.args, **slots).collect()[0][0]
    return session.rows("plan string", [("\n\n".join([*parts, plan]),)])


def _query_of(node: object) -> str | None:
    """The query that a statement runs, or that finds the rows that it changes."""
    if isinstance(node, nodes.Query):
        return node.text
    if isinstance(node, (nodes.Delete, nodes.Update)):
        where = f" WHERE {node.where}" if node.where else ""
        return f"{node.ctes} SELECT * FROM {_named(node.target, node.alias)}{where}".strip()
    if isinstance(node, nodes.Merge):
        source = f"({node.source})" if isinstance(node.source, str) else _named(node.source, None)
        alias = f" AS {quoted(node.source_alias)}" if node.source_alias else ""
        return f"{node.ctes} SELECT * FROM {_named(node.target, node.alias)} JOIN {source}{alias} ON {node.on}".strip()
    return getattr(node, "query", None)


def _named(name: Name, alias: str | None) -> str:
    return ".".join(map(quoted, name)) + (f" AS {quoted(alias)}" if alias else "")
