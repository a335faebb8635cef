"""Values of partitions as texts. Iceberg stores years, months and hours as numbers since 1970."""

from __future__ import annotations

import datetime as dt
from typing import Any

__all__ = ["partition_value", "without_braces"]


def partition_value(transform: str | None, value: Any) -> str:
    """A value as Iceberg writes it into paths: `2026`, `2026-01`, `2026-01-31-23`, `null`.

    Args:
        transform: The transform of the partition field; None if it is unknown.
        value: The value.
    """
    if value is None:
        return "null"
    if not isinstance(value, int) or isinstance(value, bool):
        return str(value)
    if transform == "year":
        return str(1970 + value)
    if transform == "month":
        return f"{1970 + value // 12:04}-{value % 12 + 1:02}"
    if transform == "hour":
        try:
            return f"{dt.datetime(1970, 1, 1) + dt.timedelta(hours=value):%Y-%m-%d-%H}"
        except OverflowError:
            return str(value)
    return str(value)


def without_braces(text: str) -> str:
    """The partition of a table of Paimon, which its metadata tables write as `{2026-01-01, NO}`."""
    return text[1:-1] if text.startswith("{") and text.endswith("}") else text
