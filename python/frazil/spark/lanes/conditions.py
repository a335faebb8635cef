"""Filters of the core as Spark's conditions."""

from __future__ import annotations

import decimal
import re
from functools import reduce
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as f

from frazil.requests.native_reads import NativeFilter
from frazil.spark.columns import quoted

__all__ = ["condition"]


# Java's calendar lacks ten days of this month. Spark pushes down filters with other days, and loses rows.
_SHORT_MONTH = "1582-10-"


# Texts that SQL reads unchanged.
_PLAIN_TEXT = re.compile("[A-Za-z0-9_./: -]*")


def condition(filter: NativeFilter) -> Column:
    """A filter of the core as a condition of Spark.

    Raises:
        TypeError: The filter is of an unknown kind.
    """
    if isinstance(filter, NativeFilter.Leaf):
        return _leaf_condition(filter)
    if isinstance(filter, NativeFilter.And):
        return reduce(lambda a, b: a & b, map(condition, filter.parts))
    if isinstance(filter, NativeFilter.Or):
        return reduce(lambda a, b: a | b, map(condition, filter.parts))
    if isinstance(filter, NativeFilter.Constant):
        return f.lit(filter.value)
    raise TypeError(f"the filter is of an unknown kind: {type(filter).__name__}")


def _leaf_condition(filter: NativeFilter.Leaf) -> Column:
    top, *inner = filter.path
    column = reduce(lambda c, name: c.getField(name), inner, f.col(quoted(top)))
    values, type_ = filter.values, filter.type_name
    if any(str(value).startswith(_SHORT_MONTH) for value in values):
        # Spark does not push this expression down.
        column = f.when(column.isNotNull(), column)
    elif filter.op in ("in", "not-in") and not inner and (text := _in_sql(top, filter)) is not None:
        return f.expr(text)
    literals = [_literal(value, type_) for value in values]
    return _comparison(filter.op, column, literals, type_ in ("float", "double"))


def _in_sql(name: str, filter: NativeFilter.Leaf) -> str | None:
    """A list of values as SQL, if its meaning does not depend on settings. It is one message, not several per value."""
    values = [_sql_literal(value, filter.type_name) for value in filter.values]
    if None in values or "${" in name:
        return None
    return f"{quoted(name)} {'not in' if filter.op == 'not-in' else 'in'} ({', '.join(map(str, values))})"


def _sql_literal(value: Any, type_: str) -> str | None:
    if type_ in ("int", "long"):
        return f"{int(value)}{'L' if type_ == 'long' else ''}"
    # Years have four digits here. Python's dates would be sent as Java's, which lack days of 1582.
    if type_ == "date":
        return f"date'{value}'"
    return f"'{value}'" if type_ == "string" and _PLAIN_TEXT.fullmatch(value) else None


def _comparison(op: str, column: Column, values: list[Column], floats: bool) -> Column:
    if op in ("is-null", "not-null"):
        return column.isNull() if op == "is-null" else column.isNotNull()
    if op in ("is-nan", "not-nan"):
        nan = f.coalesce(f.isnan(column), f.lit(False))
        return nan if op == "is-nan" else ~nan
    if op in ("in", "not-in"):
        # A set of floats distinguishes 0.0 and -0.0; comparisons do not.
        found = reduce(lambda a, b: a | b, [column == value for value in values]) if floats else column.isin(*values)
        return found if op == "in" else ~found
    value = values[0]
    if op in ("starts-with", "not-starts-with"):
        return column.startswith(value) if op == "starts-with" else ~column.startswith(value)
    compare = {"eq": "__eq__", "not-eq": "__ne__", "lt": "__lt__", "lt-eq": "__le__", "gt": "__gt__", "gt-eq": "__ge__"}
    result: Column = getattr(column, compare[op])(value)
    return result


def _literal(value: Any, type_: str) -> Column:
    if (text := _sql_literal(value, type_)) is not None:
        return f.expr(text)
    if type_ in ("boolean", "string"):
        return f.lit(value)
    if type_ in ("float", "double"):
        return f.lit(float(value)).cast(type_)
    if type_.startswith("decimal"):
        return f.lit(decimal.Decimal(value)).cast(type_.replace(" ", ""))
    if type_ in ("timestamp", "timestamptz"):
        return f.lit(value).cast("timestamp_ntz" if type_ == "timestamp" else "timestamp")
    return f.lit(bytes.fromhex(value))
