"""What planning did, as a funnel that people can read."""

from __future__ import annotations

from typing import Any

__all__ = ["Explain"]

_BAR = 20
_EIGHTHS = " ▏▎▍▌▋▊▉█"


class Explain:
    """The pruning funnel of a scan: at each step, how much came in, how much stayed, what decided.

    `print(scan.explain())` shows it; `to_dict()` gives the numbers.
    """

    def __init__(self, facts: dict[str, Any]) -> None:
        self._facts = facts

    def to_dict(self) -> dict[str, Any]:
        """The facts: `table`, `snapshot_id`, `filter`, `select`, `rows` and `stages`.

        Each stage has `name`, `unit`, `considered`, `kept`, `considered_bytes`, `kept_bytes`, `reason` and `time_ms`.
        """
        return {**self._facts, "stages": [dict(stage) for stage in self._facts["stages"]]}

    def __str__(self) -> str:
        facts = self._facts
        snapshot = facts["snapshot_id"]
        lines = [
            f"Scan of {facts['table']}",
            f"  snapshot  {'none: the table is empty' if snapshot is None else snapshot}",
            f"  filter    {facts['filter'] or 'true'}",
            f"  select    {', '.join(facts['select']) or '(no columns)'}",
            "",
        ]
        rows = [_row(stage) for stage in facts["stages"]]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(len(rows[0]) if rows else 0)]
        for row in rows:
            name, bar, kept, considered, unit, size, time, reason = (
                cell.rjust(w) if i in _RIGHT else cell.ljust(w)
                for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            lines.append(f"  {name}  {bar}  {kept} of {considered} {unit}  {size}  {time}  {reason}".rstrip())
        if rows:
            lines.append("")
        total = sum(stage["time_ms"] for stage in facts["stages"])
        lines.append(f"  At most {_number(facts['rows'])} rows in the files kept; planned in {_time(total)}.")
        return "\n".join(lines)

    __repr__ = __str__


_RIGHT = {2, 3, 5, 6}


def _row(stage: dict[str, Any]) -> tuple[str, ...]:
    kept, considered = stage["kept"], stage["considered"]
    size = _bytes(stage["kept_bytes"]) if stage["kept_bytes"] else ""
    return (
        stage["name"],
        _bar(kept, considered),
        _number(kept),
        _number(considered),
        stage["unit"],
        size,
        _time(stage["time_ms"]),
        stage["reason"],
    )


def _bar(kept: int, considered: int) -> str:
    """The share that stayed; never empty where something stayed, never full where something went."""
    if not considered:
        return " " * _BAR
    eighths = kept * _BAR * 8 // considered
    if kept:
        eighths = max(eighths, 1)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(_BAR, "·")


def _number(n: int) -> str:
    return f"{n:,}"


def _bytes(n: int) -> str:
    size = float(n)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{n} B" if unit == "B" else f"{size:,.1f} {unit}"


def _time(millis: float) -> str:
    return f"{millis:,.1f} ms" if millis < 1000 else f"{millis / 1000:,.2f} s"
