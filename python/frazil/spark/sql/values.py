"""Values of constant expressions, which Spark computes."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from collections.abc import Sequence
from typing import Any

from pyspark.sql import types as st

from frazil.exceptions import InvalidInputError
from frazil.spark.sql.session import Session

__all__ = ["literal", "python_value", "value_of", "values_of"]

_TEXT = re.compile(r"'([^'\\]*)'\Z")
_NUMBER = re.compile(r"-?\d{1,18}\Z")


def value_of(session: Session, text: str, type: str | None = None) -> Any:
    """The value of an expression, cast to a type."""
    return values_of(session, [(text, type)])[0]


def values_of(session: Session, expressions: Sequence[tuple[str, str | None]]) -> list[Any]:
    """The values of expressions. Timestamps with a zone are aware, and in UTC."""
    simple = [_simple(text) if type is None else None for text, type in expressions]
    if all(one is not None for one in simple):
        return simple
    columns = []
    for i, (text, type_) in enumerate(expressions):
        whole = f"({text})" if type_ is None else f"CAST(({text}) AS {type_})"
        columns.append(f"{whole} AS v{i}")
    frame = session.spark.sql(f"SELECT {', '.join(columns)}", session.args)
    table = frame.toArrow()
    row = table.to_pylist()[0]
    return [python_value(row[f"v{i}"], field.dataType) for i, field in enumerate(frame.schema)]


def _simple(text: str) -> Any:
    """A text or whole number that needs no Spark."""
    if _NUMBER.match(text):
        return int(text)
    match = _TEXT.match(text)
    return match[1] if match else None


def python_value(value: Any, type_: st.DataType) -> Any:
    """A value as Arrow gives it, as Python has it."""
    if isinstance(value, dt.datetime) and isinstance(type_, st.TimestampType):
        return value.astimezone(dt.timezone.utc)
    if isinstance(type_, st.MapType) and value is not None:
        return dict(value)
    return value


def literal(value: Any) -> str:
    """A value as Spark's SQL writes it.

    Raises:
        InvalidInputError: It is of another type.
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, decimal.Decimal)):
        return f"({value}{'BD' if isinstance(value, decimal.Decimal) else ''})"
    if isinstance(value, float):
        return f"DOUBLE('{value}')"
    if isinstance(value, str):
        # What a backslash means depends on the session's settings.
        return f"CAST(X'{value.encode().hex()}' AS STRING)" if "'" in value or "\\" in value else f"'{value}'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, dt.datetime):
        kind = "TIMESTAMP_NTZ" if value.tzinfo is None else "TIMESTAMP"
        return f"{kind} '{value.isoformat(sep=' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    raise InvalidInputError(f"a parameter can't be a {type(value).__name__} here", hint="Write it into the statement")
