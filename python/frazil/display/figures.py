"""Figures as text for people."""

from __future__ import annotations

import datetime as dt
from typing import Any

from frazil.arguments import EPOCH

__all__ = [
    "amount",
    "bytes_text",
    "cache_text",
    "commit_lines",
    "commit_text",
    "moment",
    "number",
    "plain",
    "rows_kept",
    "time_text",
]


def number(n: int) -> str:
    """A number, as in `1,234`."""
    return f"{n:,}"


def amount(n: int, unit: str) -> str:
    """A number with its unit: `1 file`, `2 files`."""
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
    """How many rows the kept files of an explanation have. The number is exact if no filter or delete removes any."""
    is_exact = facts["rows"] == 0 or (facts["filter"] in ("", "true") and not facts["deletes"]["attached"])
    rows = amount(facts["rows"], "row")
    return f"{rows if is_exact else f'At most {rows}'} in the files kept; planned in {time_text(facts['time_ms'])}."


def plain(text: str) -> str:
    """Text without control characters. Names come from tables and may contain characters that act on a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def moment(millis: int | None) -> str | None:
    """A time, from milliseconds since the epoch."""
    if millis is None:
        return None
    try:
        return (EPOCH + dt.timedelta(milliseconds=millis)).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError):
        return f"{millis} ms"


_MOST_COMMITS = 20


def commit_lines(commits: list[dict[str, Any]]) -> list[str]:
    """What each commit did, one line each. Only the first of many commits are shown."""
    lines = [f"  {commit_text(commit)}" for commit in commits[:_MOST_COMMITS]]
    if len(commits) > _MOST_COMMITS:
        lines.append(f"  and {amount(len(commits) - _MOST_COMMITS, 'commit')} more")
    return [*lines, ""] if lines else []


def commit_text(commit: dict[str, Any]) -> str:
    """What a commit did, in one line."""
    name = [str(commit["snapshot_id"]), commit["operation"], moment(commit["timestamp_ms"])]
    text = f"rows came in {amount(commit['inserts'], 'file')}"
    if commit["change_ordinal"] is not None:
        text += f" and went in {amount(commit['deletes'], 'file')}"
        name.insert(0, f"change {commit['change_ordinal']}")
    return plain(f"{', '.join(part for part in name if part)}: {text}")


def cache_text(cache: dict[str, Any] | None) -> str:
    """What the plan cache did, in one sentence. The text is empty without a cache."""
    if cache is None:
        return ""
    text = (
        f"{number(cache['served'])} of {amount(cache['read'], 'manifest')} came from the plan cache {cache['folder']}"
    )
    return plain(text if cache["trouble"] is None else f"{text}; {cache['trouble']}")
