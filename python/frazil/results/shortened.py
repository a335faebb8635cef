"""Results with long lists, in a form that fits a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["shortened"]

_SHOWN = 3


def shortened(result: Any) -> str:
    """The text of a named tuple. A list or dictionary with more than three items shows the first one and the number."""
    parts = (f"{name}={_value(getattr(result, name))}" for name in result._fields)
    return f"{type(result).__name__}({', '.join(parts)})"


def _value(value: object) -> str:
    if isinstance(value, (list, Mapping)) and len(value) > _SHOWN:
        first = repr(next(iter(value)))
        open_, close = "{}" if isinstance(value, Mapping) else "[]"
        return f"{open_}{first}, … {len(value)} in all{close}"
    return repr(value)
