"""How long tags are kept."""

from __future__ import annotations

import datetime as dt
import re

from frazil.capabilities import supports
from frazil.exceptions import InvalidInputError
from frazil.table import Table

__all__ = ["kept_for", "retention_of"]

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?\Z")


def kept_for(text: str) -> dt.timedelta:
    """A duration such as `PT24H`.

    Raises:
        InvalidInputError: The text is no duration.
    """
    match = _DURATION.match(text)
    if match is None or text in ("P", "PT"):
        raise InvalidInputError(f"'{text}' is no duration")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return dt.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def retention_of(table: Table, name: str) -> dt.timedelta | int | None:
    """How long a tag is kept: a time or milliseconds. None is the table's default."""
    if supports(table._core, "snapshot_parents"):
        return table.refs[name].max_ref_age_ms
    kept = next((row["time_retained"] for row in table.inspect.tags().to_pylist() if row["tag_name"] == name), None)
    return None if kept is None else kept_for(kept)
