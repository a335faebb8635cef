"""Filters that Spark passes to Python data sources, as Frazil's."""

from __future__ import annotations

import re
from typing import Any

from frazil.exceptions import InvalidInputError
from frazil.expr import Predicate, Term, col
from frazil.schema import Schema

__all__ = ["predicate_of"]

_COMPARED = {
    "EqualTo": "__eq__",
    "GreaterThan": "__gt__",
    "GreaterThanOrEqual": "__ge__",
    "LessThan": "__lt__",
    "LessThanOrEqual": "__le__",
}


# Columns that Spark has in other types are compared otherwise there: uuids as strings.
_SAFE = re.compile(r"(boolean|int|long|float|double|date|timestamp|timestamptz|string|binary|decimal\(.*\))\Z")


def predicate_of(filter: Any, schema: Schema) -> Predicate | None:
    """What such a filter says; None if that can't be said, or means something else of the column's type."""
    names = getattr(getattr(filter, "child", filter), "attribute", ())
    fields, type_ = schema.fields, ""
    for name in names:
        found = next((field for field in fields if field.name == name), None)
        if found is None:
            return None
        fields, type_ = found.children, found.type
    if not _SAFE.match(type_):
        return None
    try:
        return _predicate(filter)
    except (InvalidInputError, TypeError):
        return None


def _predicate(filter: Any) -> Predicate | None:
    kind = type(filter).__name__
    if kind == "Not":
        inner = _exact(filter.child)
        return None if inner is None else ~inner
    return _exact(filter)


def _exact(filter: Any) -> Predicate | None:
    """The filter in the same words; by the classes' names, which PySpark 4.0 does not have."""
    kind = type(filter).__name__
    attribute = getattr(filter, "attribute", None)
    if attribute is None or any("." in name for name in attribute):
        return None
    term: Term = col(*attribute)
    if kind == "IsNull":
        return term.is_null()
    if kind == "IsNotNull":
        return term.is_not_null()
    value = filter.value
    if kind in _COMPARED and value is not None:
        predicate: Predicate = getattr(term, _COMPARED[kind])(value)
        return predicate
    if kind == "EqualNullSafe":
        return term.is_null() if value is None else (term == value) & term.is_not_null()
    if kind == "In" and value and all(v is not None for v in value):
        return term.is_in(value)
    if kind == "StringStartsWith":
        return term.starts_with(value)
    return None
