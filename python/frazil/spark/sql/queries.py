"""Runs queries whose tables are Frazil's, Spark's or both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from frazil.exceptions import InvalidInputError
from frazil.scan import Scan
from frazil.spark.columns import quoted
from frazil.spark.query import frames_of, named_frames, run_query
from frazil.spark.sql.grammar.tokens import shown, tokens_of
from frazil.spark.sql.names.metadata_columns import with_metadata_columns
from frazil.spark.sql.references import Function, Reference, references_of, replaced
from frazil.spark.sql.session import BY_LOCATION, Session
from frazil.spark.sql.sources import Source, function_source, source_of
from frazil.spark.sql.transforms import with_transforms

__all__ = ["Bound", "bind", "qualified", "run", "spliced"]


@dataclass(frozen=True)
class Bound:
    """A query whose tables of Frazil's have other names.

    Attributes:
        text: The query.
        scans: The scans of the names.
        frames: The other tables of the names.
        names: What the query calls them.
    """

    text: str
    scans: dict[str, Scan] = field(default_factory=dict)
    frames: dict[str, DataFrame] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def is_spark(self) -> bool:
        """Whether the query has no table of Frazil's."""
        return not self.scans and not self.frames


def bind(session: Session, query: str) -> Bound:
    """Finds the tables of a query. Each is read at its newest version.

    Raises:
        InvalidInputError: The query names a catalog of Frazil's, but its tables can't be found in it.
    """
    query = with_transforms(session, query)
    if not _may_be_known(session, query):
        return Bound(query)
    try:
        found = references_of(query)
    except InvalidInputError as error:
        if _names_catalog(session, query):
            raise InvalidInputError(
                str(error.args[0]),
                error.context,
                "Read the tables with frazil.spark.read, and give them to spark.sql as views",
            ) from error
        return Bound(query)
    names: list[tuple[Reference | Function, str]] = []
    known: dict[Any, str] = {}
    scans: dict[str, Scan] = {}
    frames: dict[str, DataFrame] = {}
    for one in found:
        key = (one.name, one.version) if isinstance(one, Reference) else one
        if key not in known:
            source = _source(session, one)
            if source is None:
                continue
            known[key] = f"frazil_table_{len(known)}"
            if isinstance(source, Scan):
                scans[known[key]] = source
            else:
                frames[known[key]] = source
        names.append((one, known[key]))
    shown_names = {slot: shown(one.name) if isinstance(one, Reference) else one.name for one, slot in names}
    return Bound(replaced(query, names), with_metadata_columns(query, scans), frames, shown_names)


def _source(session: Session, one: Reference | Function) -> Source | None:
    if isinstance(one, Function):
        return function_source(session, one)
    return source_of(session, one, run)


def _may_be_known(session: Session, query: str) -> bool:
    """Whether a query can have tables of Frazil's."""
    return bool(session.current or session.catalogs.get("spark_catalog")) or _names_catalog(session, query)


def _names_catalog(session: Session, query: str) -> bool:
    names = {*session.catalogs, *BY_LOCATION}
    given = {*(name.lower() for name in session.tables), *session.views}
    return any(
        (token.kind in ("word", "quoted") and (token.text in names or token.text.lower() in given or "$" in token.text))
        or token.text.lower().startswith("paimon_incremental")
        for token in tokens_of(query)
    )


def qualified(session: Session, query: str) -> str:
    """The query with the whole names of its tables, as a view must keep it."""
    names: list[tuple[Reference | Function, str]] = []
    for one in references_of(query):
        place = session.place(one.name) if isinstance(one, Reference) and one.version is None else None
        if place is not None and place.known is not None:
            names.append((one, ".".join(map(quoted, (place.known.name, *place.parts)))))
    return replaced(query, names, str)


def run(session: Session, query: str) -> DataFrame:
    """The rows of a query."""
    bound = bind(session, query)
    if bound.is_spark:
        return session.spark.sql(bound.text, session.args)
    return run_query(
        session.spark, bound.text, bound.scans, bound.frames, session.planning, session.engine, session.args
    )


def spliced(session: Session, statement: str, query: str) -> DataFrame:
    """Runs a statement of Spark's that ends with a query."""
    bound = bind(session, query)
    at = statement.rfind(query)
    if bound.is_spark or at < 0:
        return session.spark.sql(statement, session.args)
    frames = frames_of(
        session.spark, bound.text, bound.scans, bound.frames, session.planning, session.engine, session.args
    )
    named, slots = named_frames(bound.text, frames)
    before = statement[:at].replace("{", "{{").replace("}", "}}")
    return session.spark.sql(before + named, session.args, **slots)
