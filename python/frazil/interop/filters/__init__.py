"""Filters of pyarrow, Polars and PyIceberg as Frazil's filters.

A filter is translated exactly, with its treatment of null and NaN, or refused. The libraries are not imported: whoever
has such a filter has imported its library.
"""

from __future__ import annotations

from typing import Any

from frazil.expr import Predicate

__all__ = ["predicate_of"]


def predicate_of(given: Any) -> Predicate | None:
    """A filter of another library as Frazil's filter. `None` for other objects.

    Raises:
        UnsupportedError: A part of it can't be translated exactly.
    """
    kinds = {cls.__module__.partition(".")[0] + "." + cls.__name__ for cls in type(given).__mro__}
    if "pyarrow.Expression" in kinds:
        from frazil.interop.filters import pyarrow_expressions

        return pyarrow_expressions.predicate(given)
    if "polars.Expr" in kinds:
        from frazil.interop.filters import polars_expressions

        return polars_expressions.predicate(given)
    if "pyiceberg.BooleanExpression" in kinds:
        from frazil.interop.filters import pyiceberg_expressions

        return pyiceberg_expressions.predicate(given)
    return None
