"""What a table may hold after a history, judged by the logs of its processes.

Each group of rows belongs to one process. A step that ended counts or does not; a step that was cut off, or whose
outcome is unknown, may count. So each group has few possible states, and the table has exactly one of them: else rows
are lost, doubled or torn.
"""

from __future__ import annotations

import json
import pathlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

# A state of a group: the number of its rows and their value; None without rows.
State = tuple[int, int] | None


class Replay(NamedTuple):
    """The possible states of all groups, and what the processes counted."""

    states: dict[str, set[State]]
    counts: Counter[str]
    faults: list[str]


def replay(folder: pathlib.Path) -> Replay:
    """Reads the logs in a folder."""
    states: dict[str, set[State]] = defaultdict(lambda: {None})
    counts: Counter[str] = Counter()
    faults: list[str] = []
    for path in sorted(folder.glob("log-*.jsonl")):
        open_step: dict[str, Any] | None = None
        for text in path.read_text().splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue  # the process was killed in the middle of a line
            if "begin" in line:
                open_step = line
                continue
            if "end" in line and open_step is not None:
                counts[line["how"]] += 1
                _count_step(states, open_step, line["how"])
                open_step = None
            counts["reads"] += "read" in line
            counts["maintained"] += line.get("kept") == "done"
            faults += [f"{path.name}: {line['broken']}"] if "broken" in line else []
            faults += [f"{path.name}: torn at {line['version']}: {line['torn']}"] if line.get("torn") else []
            faults += [f"{path.name}: young orphans {line['orphans']}"] if line.get("orphans") else []
        if open_step is not None:
            counts["cut off"] += 1
            _count_step(states, open_step, "unknown")
    return Replay(dict(states), counts, faults)


def _count_step(states: dict[str, set[State]], step: dict[str, Any], how: str) -> None:
    after: State = None if step["verb"] == "delete" else (step["k"], step["v"])
    before = states[step["g"]]
    if how == "done":
        states[step["g"]] = {after}
    elif how == "unknown":
        states[step["g"]] = before | {after}


def torn_groups(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The groups that are not whole: rows are missing or doubled, or differ in their value."""
    return sorted(group for group, rows in _grouped(rows).items() if _state(rows) is None)


def _grouped(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    out: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        out[row["g"]].append(row)
    return out


def _state(rows: list[dict[str, Any]]) -> State:
    size, value = rows[0]["k"], rows[0]["v"]
    whole = sorted(row["n"] for row in rows) == list(range(size))
    return (size, value) if whole and all((row["k"], row["v"]) == (size, value) for row in rows) else None


def differences(possible: dict[str, set[State]], rows: Iterable[dict[str, Any]]) -> list[str]:
    """How the rows of the table contradict the logs, in words."""
    out, found = [], _grouped(rows)
    for group in sorted(possible.keys() | found.keys()):
        there = found.get(group, [])
        state = _state(there) if there else None
        allowed = possible.get(group, set())
        if there and state is None:
            ns = Counter(row["n"] for row in there)
            what = "doubled" if max(ns.values()) > 1 else "torn"
            out.append(f"group {group} is {what}: {there}")
        elif state not in allowed:
            what = "lost" if state is None else "not as it was left"
            out.append(f"group {group} is {what}: found {state}, possible {sorted(allowed, key=str)}")
    return out


def apart(tables: dict[str, Iterable[dict[str, Any]]]) -> list[str]:
    """The groups that differ between tables whose changes are joint, in words."""
    held = {name: {group: _state(rows) for group, rows in _grouped(rows).items()} for name, rows in tables.items()}
    groups = sorted({group for states in held.values() for group in states})
    out = []
    for group in groups:
        found = {name: states.get(group) for name, states in held.items()}
        if len(set(found.values())) > 1:
            out.append(f"group {group} is not the same in all tables: {found}")
    return out
