"""Partition fields and sort fields of Spark's SQL as Frazil writes them."""

from __future__ import annotations

from typing import NamedTuple

from frazil.exceptions import InvalidInputError
from frazil.schema import PartitionField
from frazil.spark.sql.grammar.tokens import Cursor

__all__ = ["SortTerm", "partition_term", "shown_term", "sort_term"]

_PLURAL = {"years": "year", "months": "month", "days": "day", "hours": "hour", "date": "day", "date_hour": "hour"}
_SPARK = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
_SIMPLE = ("year", "month", "day", "hour", "identity", "void")
_COUNTED = ("bucket", "truncate")


def partition_term(text: str) -> str:
    """`days(ts)` as `day(ts)`, `truncate(a, 4)` as `truncate(4, a)`, and `a` as it is.

    Raises:
        InvalidInputError: It is no column and no transform of one.
    """
    cursor = Cursor(text)
    name = cursor.name()
    if cursor.at_end():
        return ".".join(name)
    kind = _PLURAL.get(name[-1].lower(), name[-1].lower())
    if not cursor.accept_sign("(") or kind not in _SIMPLE + _COUNTED:
        raise InvalidInputError(
            f"'{text}' is no partition field", hint=f"Transforms are {', '.join(_SIMPLE[:4] + _COUNTED)}"
        )
    count = None
    if kind in _COUNTED and cursor.peek().kind == "number":
        count = cursor.integer()
        cursor.expect_sign(",")
    column = ".".join(cursor.name())
    if kind in _COUNTED and count is None:
        cursor.expect_sign(",")
        count = cursor.integer()
    cursor.expect_sign(")")
    cursor.expect_end()
    if kind == "identity":
        return column
    return f"{kind}({column})" if count is None else f"{kind}({count}, {column})"


class SortTerm(NamedTuple):
    """A field of an order."""

    term: str
    descending: bool
    nulls: str | None


def sort_term(text: str) -> SortTerm:
    """`days(ts) DESC NULLS LAST`, read."""
    cursor = Cursor(text)
    term = partition_term(cursor.until("ASC", "DESC", "NULLS"))
    descending = cursor.accept_any("ASC", "DESC") == "DESC"
    nulls = None
    if cursor.accept("NULLS"):
        found = cursor.accept_any("FIRST", "LAST")
        if found is None:
            raise cursor.error("FIRST or LAST")
        nulls = found.lower()
    cursor.expect_end()
    return SortTerm(term, descending, nulls)


def shown_term(field: PartitionField) -> str:
    """A partition field as Spark's SQL writes it."""
    kind, _, width = field.transform.removesuffix("]").partition("[")
    column = field.column or f"column {field.source_id}"
    if kind == "identity":
        return column
    return f"{kind}({width}, {column})" if width else f"{_SPARK.get(kind, kind)}({column})"
