"""Comparisons: the libraries name them differently, and `Term` has a method for each."""

from __future__ import annotations

from typing import Any

from frazil.expr import Predicate, Term

__all__ = ["GREATER", "MIRRORED", "POLARS", "PYARROW", "PYICEBERG", "compared"]

_METHODS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")

PYARROW = dict(zip(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), _METHODS, strict=True))
POLARS = dict(zip(("Eq", "NotEq", "Lt", "LtEq", "Gt", "GtEq"), _METHODS, strict=True))
PYICEBERG = dict(
    zip(
        ("EqualTo", "NotEqualTo", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual"),
        _METHODS,
        strict=True,
    )
)

MIRRORED = {
    **{method: method for method in _METHODS},
    "__lt__": "__gt__",
    "__le__": "__ge__",
    "__gt__": "__lt__",
    "__ge__": "__le__",
}
"""The method that says the same when both sides change places."""

GREATER = ("__gt__", "__ge__")
"""The methods that NaN satisfies against every number."""


def compared(term: Term, method: str, value: Any) -> Predicate:
    """A term compared with a value or with another term."""
    found: Predicate = getattr(term, method)(value)
    return found
