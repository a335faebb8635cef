"""How long tags are kept."""

from __future__ import annotations

import datetime as dt

from frazil.capabilities import supports
from frazil.table import Table
from frazil.tagging.periods import kept_for

__all__ = ["retention_of"]


def retention_of(table: Table, name: str) -> dt.timedelta | int | None:
    """How long a tag is kept: a time or milliseconds. None is the table's default."""
    if supports(table._core, "snapshot_parents"):
        return table.refs[name].max_ref_age_ms
    kept = next((row["time_retained"] for row in table.inspect.tags().to_pylist() if row["tag_name"] == name), None)
    return None if kept is None else kept_for(kept)
