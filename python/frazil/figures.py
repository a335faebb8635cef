"""Figures as people read them."""

from __future__ import annotations

from typing import Any

__all__ = ["amount", "bytes_text", "number", "plain", "rows_kept", "time_text"]


def number(n: int) -> str:
    """A number, as in `1,234`."""
    return f"{n:,}"


def amount(n: int, unit: str) -> str:
    """So many of a thing: `1 file`, `2 files`."""
    return f"{n:,} {unit}" + ("" if n == 1 else "s")


def bytes_text(n: int) -> str:
    """A size, as in `1.5 KiB`."""
    size = float(n)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{n} B" if unit == "B" else f"{size:,.1f} {unit}"


def time_text(millis: float) -> str:
    """A time, as in `1.5 ms`."""
    return f"{millis:,.1f} ms" if millis < 1000 else f"{millis / 1000:,.2f} s"


def rows_kept(facts: dict[str, Any]) -> str:
    """How many rows the files that an explanation keeps have; exact where no filter or delete takes any."""
    is_exact = facts["rows"] == 0 or (facts["filter"] in ("", "true") and not facts["deletes"]["attached"])
    rows = amount(facts["rows"], "row")
    return f"{rows if is_exact else f'At most {rows}'} in the files kept; planned in {time_text(facts['time_ms'])}."


def plain(text: str) -> str:
    """Text that does nothing to a terminal: names come from tables, which may hold anything."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
