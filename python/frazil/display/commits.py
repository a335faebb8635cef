"""What a commit did, in a few words, from its summary."""

from __future__ import annotations

import re
from collections.abc import Mapping

from frazil.display.figures import amount

__all__ = ["changed", "integer_of", "rows_of"]


def changed(summary: Mapping[str, str]) -> list[str]:
    """Rows and files that came and went, as far as the summary counts them: `+100 rows`, `-1 file`."""
    found = []
    for sign, rows, files in (
        ("+", "added-records", "added-data-files"),
        ("-", "deleted-records", "deleted-data-files"),
    ):
        for name, unit in ((rows, "row"), (files, "file")):
            count = _count(summary, name)
            if count:
                found.append(f"{sign}{amount(count, unit)}")
    deletes = _count(summary, "added-position-deletes") or 0
    if deletes:
        found.append(amount(deletes, "row") + " deleted by position")
    return [*found, *rows_of(summary, "in all")]


def rows_of(summary: Mapping[str, str], after: str = "") -> list[str]:
    """The rows of a snapshot. Rows that delete files delete are still counted, so the number is then an upper bound."""
    rows = _count(summary, "total-records")
    if rows is None:
        return []
    is_exact = not _count(summary, "total-delete-files")
    text = amount(rows, "row") if is_exact else f"at most {amount(rows, 'row')}"
    return [f"{text} {after}".rstrip()]


def _count(summary: Mapping[str, str], name: str) -> int | None:
    count = integer_of(summary.get(name, ""))
    return None if count is None or count < 0 else count


def integer_of(text: str) -> int | None:
    """The integer that a text of a table says. None for other texts, as anybody may have written it."""
    return int(text) if re.fullmatch("-?[0-9]{1,19}", text) else None
