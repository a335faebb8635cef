"""Filters of PyIceberg as Frazil's filters.

The classes are known by their names, so PyIceberg is not imported. The meaning is that of PyIceberg's scans, which test
rows with pyarrow: NaN is not greater than any number, and `NotIn` keeps null. PyIceberg negates the parts of a `Not`
before it tests rows, and so does the translation.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

from frazil.expr import Predicate, Term, col
from frazil.interop.filters.comparisons import GREATER, PYICEBERG, compared
from frazil.interop.filters.refusal import refused

__all__ = ["predicate"]

_NEGATED = {
    "IsNull": "NotNull",
    "IsNaN": "NotNaN",
    "EqualTo": "NotEqualTo",
    "LessThan": "GreaterThanOrEqual",
    "LessThanOrEqual": "GreaterThan",
    "In": "NotIn",
    "StartsWith": "NotStartsWith",
    "AlwaysTrue": "AlwaysFalse",
    "And": "Or",
}
_NEGATED.update({negated: name for name, negated in _NEGATED.items()})


def predicate(expression: Any, negated: bool = False) -> Predicate:
    """The filter with the same meaning, or that of its negation."""
    name = type(expression).__name__
    if name == "Not":
        return predicate(expression.child, not negated)
    if negated:
        name = _NEGATED.get(name, name)
    if name in ("And", "Or"):
        left, right = predicate(expression.left, negated), predicate(expression.right, negated)
        return left & right if name == "And" else left | right
    if name in ("AlwaysTrue", "AlwaysFalse"):
        return Predicate("true" if name == "AlwaysTrue" else "false")
    if name not in _NEGATED:
        hint = "Give the filter before it is bound to a schema" if name.startswith("Bound") else ""
        raise refused("PyIceberg", name, hint)
    return _leaf(name, _term(expression.term), expression)


def _term(term: Any) -> Term:
    if type(term).__name__ != "Reference":
        raise refused("PyIceberg", f"the term {term}", "Write frazil.day('ts'), bucket(16, 'id') and so on")
    return col(term.name)


def _leaf(name: str, term: Term, expression: Any) -> Predicate:
    nan = Predicate(f"isnan({term})")
    if name in ("IsNull", "NotNull"):
        return term.is_null() if name == "IsNull" else term.is_not_null()
    if name in ("IsNaN", "NotNaN"):
        return nan if name == "IsNaN" else ~nan & term.is_not_null()
    if name in ("In", "NotIn"):
        values = [_value(literal, is_member=True) for literal in expression.literals]
        return term.is_in(values) if name == "In" else term.is_null() | term.not_in(values)
    value = _value(expression.literal)
    if name in ("StartsWith", "NotStartsWith"):
        starts = term.starts_with(value)
        return starts if name == "StartsWith" else ~starts
    method = PYICEBERG[name]
    is_number = isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool)
    found = compared(term, method, value)
    return found & ~nan if method in GREATER and is_number else found


def _value(literal: Any, is_member: bool = False) -> Any:
    """The value of a literal. Those of dates and times are numbers from 1970."""
    kind, value = type(literal).__name__, literal.value
    if kind in ("FloatLiteral", "DoubleLiteral"):
        if math.isnan(value):
            raise refused("PyIceberg", "a comparison with NaN", "Write IsNaN('x')")
        if is_member and value == 0:
            raise refused("PyIceberg", "a zero with a sign in a list", "Write EqualTo('x', 0.0)")
    if kind == "DateLiteral":
        return dt.date(1970, 1, 1) + dt.timedelta(days=value)
    if kind == "TimestampLiteral":
        return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=value)
    if kind == "TimeLiteral":
        return (dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=value)).time()
    if isinstance(value, (bool, int, float, str, bytes, decimal.Decimal)):
        return value
    if isinstance(value, (dt.date, dt.time)) or type(value).__name__ == "UUID":
        return value
    raise refused("PyIceberg", f"the literal {literal}")
