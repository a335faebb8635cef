"""Iceberg's functions `system.bucket`, `system.days` and others in queries: they become functions of the session."""

from __future__ import annotations

from frazil.exceptions import UnsupportedError
from frazil.spark.functions import Transform, register_transform
from frazil.spark.sql.grammar.tokens import Token, tokens_of
from frazil.spark.sql.session import Session

__all__ = ["with_transforms"]

_TIMES = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
_REFUSED = {
    "system.truncate": "frazil.spark.functions.truncate(width, column, type) makes a Column",
    "system.iceberg_version": "frazil.__version__ is Frazil's version",
    "sys.max_pt": "SELECT max(column) FROM the table",
    "sys.path_to_descriptor": "Write the bytes of the file",
    "sys.descriptor_to_string": "Read the bytes of the column",
    "sys.descriptor_to_presigned_url": "Read the bytes of the column",
}


def with_transforms(session: Session, query: str) -> str:
    """The query with functions of the session in place of those of the namespace `system`.

    Raises:
        UnsupportedError: The function is known, but its result's type depends on its argument.
    """
    if "sys" not in query.lower():
        return query
    tokens = tokens_of(query)
    for i in range(len(tokens) - 4, -1, -1):
        if tokens[i].text.lower() in ("system", "sys") and tokens[i + 1].text == "." and tokens[i + 3].text == "(":
            query = _replaced(session, query, tokens, i)
    return query


def _replaced(session: Session, query: str, tokens: list[Token], at: int) -> str:
    name = tokens[at + 2].text.lower()
    start = tokens[at].start
    if at > 1 and tokens[at - 1].text == ".":
        if tokens[at - 2].text not in session.catalogs:
            return query
        start = tokens[at - 2].start
    elif not session.catalogs:
        return query
    whole = f"{tokens[at].text.lower()}.{name}"
    if whole in _REFUSED:
        raise UnsupportedError(f"function {whole} can't be used in SQL", hint=_REFUSED[whole])
    inside = tokens[at + 3].end
    if name == "bucket" and tokens[at + 4].kind == "number":
        buckets = int(tokens[at + 4].text)
        function = f"frazil_bucket_{buckets}"
        register_transform(session.spark, function, Transform("bucket", buckets), "int")
        return f"{query[:start]}{function}({query[tokens[at + 5].end :]}"
    if name not in _TIMES:
        return query
    function = f"frazil_{name}"
    register_transform(session.spark, function, Transform(_TIMES[name]), "date" if name == "days" else "int")
    return f"{query[:start]}{function}({query[inside:]}"
