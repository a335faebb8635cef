"""The snapshots of a table on a page, with branches and tags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from frazil.display.commits import changed
from frazil.display.figures import amount, number
from frazil.display.tables import escaped
from frazil.report.parts import Section, folded, note, picture, section

if TYPE_CHECKING:
    from frazil.refs import Ref
    from frazil.table import Snapshot

__all__ = ["MOST_SNAPSHOTS", "lanes", "timeline_section"]

MOST_SNAPSHOTS = 60
"""The most snapshots that are drawn: the newest."""

_MOST_LANES = 8
_WIDTH, _LANE, _FLAG, _NAMES = 1000, 34, 15, 120
_FLAG_ROWS = 4
_LETTER = 6.6
_LOOSE = "(no branch)"


def timeline_section(
    snapshots: Sequence[Snapshot], refs: Mapping[str, Ref], shown: int | None, has_parents: bool
) -> Section | None:
    """The newest snapshots as a picture, and snapshots, branches and tags as tables.

    Args:
        snapshots: All snapshots, oldest first.
        refs: Branches and tags by name.
        shown: The id of the snapshot that the page shows.
        has_parents: Whether snapshots name their parents. Otherwise each branch has snapshots of its own, and only
            `main` and tags name one of `snapshots`.
    """
    named: dict[int, list[str]] = defaultdict(list)
    for name, ref in refs.items():
        if has_parents or ref.type == "tag" or name == "main":
            named[ref.snapshot_id].append(f"{ref.type} {name}" if ref.type == "tag" else name)
    said = f"{amount(len(snapshots), 'snapshot')}. Letters are operations: append, overwrite, delete, replace."
    said += " The ring is the snapshot that this page shows."
    if len(snapshots) > MOST_SNAPSHOTS:
        said += f" The newest {number(MOST_SNAPSHOTS)} are drawn, from left to right."
    drawn = snapshots[-MOST_SNAPSHOTS:]
    header = ("time (UTC)", "snapshot", "parent", "operation", "what", "names")
    rows = (
        (
            f"{s.timestamp:%Y-%m-%d %H:%M:%S}",
            str(s.id),
            s.parent_id,
            s.operation,
            ", ".join(changed(s.summary)),
            ", ".join(named.get(s.id, ())),
        )
        for s in reversed(snapshots)
    )
    ref_rows = [(ref.type, name, str(ref.snapshot_id)) for name, ref in refs.items()]
    shapes, height = _drawn(drawn, lanes(snapshots, refs, has_parents), named, shown, has_parents)
    return section(
        "timeline",
        "Snapshots, branches and tags",
        note(said if snapshots else "The table is empty: it has no snapshot."),
        picture(_WIDTH, height, "Timeline of snapshots", shapes, reads_cells=True) if drawn else "",
        folded("Snapshots as a table, newest first", header, rows, len(snapshots)),
        folded("Branches and tags", ("type", "name", "snapshot"), ref_rows, len(ref_rows)),
    )


def lanes(snapshots: Sequence[Snapshot], refs: Mapping[str, Ref], has_parents: bool) -> dict[int, str]:
    """The lane of each snapshot: the first branch that leads to it. `main` comes first."""
    if not has_parents:
        return dict.fromkeys((s.id for s in snapshots), "main")
    parents = {s.id: s.parent_id for s in snapshots}
    found: dict[int, str] = {}
    branches = [name for name, ref in refs.items() if ref.type == "branch"]
    for name in sorted(branches, key=lambda name: (name != "main", name)):
        at: int | None = refs[name].snapshot_id
        while at is not None and at in parents and at not in found:
            found[at] = name
            at = parents[at]
    return found


def _drawn(
    drawn: Sequence[Snapshot],
    lane_of: Mapping[int, str],
    named: Mapping[int, list[str]],
    shown: int | None,
    has_parents: bool,
) -> tuple[list[str], int]:
    """The shapes of the picture, and its height."""
    names = list(dict.fromkeys(lane_of.get(s.id, _LOOSE) for s in drawn))
    names.sort(key=lambda name: (name == _LOOSE, name != "main", name))
    rows = {name: min(at, _MOST_LANES - 1) for at, name in enumerate(names)}
    step = (_WIDTH - _NAMES - 20) / max(len(drawn), 8)
    flags, top = _flags(drawn, named, step)
    places = {
        s.id: (_NAMES + step * (at + 0.5), top + _LANE * (rows[lane_of.get(s.id, _LOOSE)] + 0.5))
        for at, s in enumerate(drawn)
    }
    height = top + _LANE * min(len(names), _MOST_LANES) + 6
    shapes = [*_lane_names(names, top), *_edges(drawn, places, has_parents)]
    for s in drawn:
        shapes += _snapshot(s, places[s.id], s.id == shown, named.get(s.id, []))
    for x, y, text, at in flags:
        shapes.append(f'<line class="flag" x1="{x:.1f}" y1="{y + 3:.1f}" x2="{x:.1f}" y2="{places[at][1] - 8:.1f}"/>')
        shapes.append(f'<text class="t" x="{x:.1f}" y="{y:.1f}">{escaped(text)}</text>')
    return shapes, int(height)


def _flags(
    drawn: Sequence[Snapshot], named: Mapping[int, list[str]], step: float
) -> tuple[list[tuple[float, float, str, int]], int]:
    """Names above snapshots, placed so that none covers another, and the height that they need."""
    ends = [0.0] * _FLAG_ROWS
    placed: list[tuple[float, int, str, int]] = []
    for at, s in enumerate(drawn):
        if not (names := named.get(s.id)):
            continue
        text = names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1}"
        text = text if len(text) <= 24 else text[:23] + "…"
        width = len(text) * _LETTER + 8
        x = min(_NAMES + step * (at + 0.5), _WIDTH - width)
        row = next((row for row, end in enumerate(ends) if end <= x), None)
        if row is not None:
            ends[row] = x + width
            placed.append((x, row, text, s.id))
    used = max((row for _, row, _, _ in placed), default=-1) + 1
    top = used * _FLAG + 6
    return [(x, top - 6 - row * _FLAG - 2, text, at) for x, row, text, at in placed], top


def _lane_names(names: list[str], top: int) -> Iterator[str]:
    for at, name in enumerate(names[:_MOST_LANES]):
        y = top + _LANE * (at + 0.5) + 4
        others = len(names) - _MOST_LANES
        text = f"{name} +{others}" if at == _MOST_LANES - 1 and others > 0 else name
        yield f'<text class="t" x="0" y="{y:.1f}">{escaped(text if len(text) < 18 else text[:16] + "…")}</text>'


def _edges(drawn: Sequence[Snapshot], places: Mapping[int, tuple[float, float]], has_parents: bool) -> Iterator[str]:
    """Lines from parents to snapshots. Without parents, from each snapshot to the next."""
    before: int | None = None
    for s in drawn:
        x, y = places[s.id]
        parent = s.parent_id if has_parents else before
        before = s.id
        if parent is not None and parent in places:
            from_x, from_y = places[parent]
            yield f'<path class="edge" d="M{from_x:.1f} {from_y:.1f}L{x:.1f} {y:.1f}"/>'
        elif parent is not None:
            # The parent is older than what is drawn, or has expired.
            yield f'<path class="edge old" d="M{x - 14:.1f} {y:.1f}H{x:.1f}"/>'


def _snapshot(s: Snapshot, place: tuple[float, float], is_shown: bool, names: list[str]) -> Iterator[str]:
    x, y = place
    parts = [f"snapshot {s.id}", f"{s.timestamp:%Y-%m-%d %H:%M:%S} UTC", s.operation, *changed(s.summary), *names]
    parts += ["shown on this page"] if is_shown else []
    letter = (s.operation or "?")[:1].upper()
    if is_shown:
        yield f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="11"/>'
    yield (
        f'<g class="c"><title>{escaped(", ".join(part for part in parts if part))}</title>'
        f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="7.5"/>'
        f'<text class="o" x="{x:.1f}" y="{y + 3.5:.1f}">{escaped(letter)}</text></g>'
    )
