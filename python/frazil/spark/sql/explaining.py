"""EXPLAIN: Frazil's funnel of files for each table, then Spark's plan."""

from __future__ import annotations

from pyspark.sql import DataFrame

from frazil.exceptions import UnsupportedError
from frazil.spark.query import frames_of, named_frames, needed_scans
from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.grammar.statements import parse
from frazil.spark.sql.queries import bind
from frazil.spark.sql.session import Session

__all__ = ["explain"]


def explain(session: Session, node: nodes.Explain, statement: str) -> DataFrame:
    """EXPLAIN of a query, or of the query of an INSERT or CREATE TABLE AS SELECT."""
    inner = parse(node.text)
    query = inner.text if isinstance(inner, nodes.Query) else getattr(inner, "query", None)
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
