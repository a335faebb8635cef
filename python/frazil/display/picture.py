"""Explanations as pictures for notebooks: inline SVG, without scripts and external resources.

Colours use `currentColor`, so the pictures fit light and dark pages. All text is escaped, because names and filters
come from tables and users and may contain anything.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil.display.figures import amount, bytes_text, cache_text, commit_lines, number, rows_kept, time_text
from frazil.display.tables import masked, public

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Cell", "explain_html", "merged", "svg"]

MOST_CELLS = 400
_MOST_TEXT = 500
_KEPT = "#2a9d6f"
_FUNNEL, _STEP, _WIDTH, _CELL = 260, 34, 760, 14


class Cell(NamedTuple):
    """A partition or manifest, or several neighbours as one."""

    label: str
    kept: int
    total: int


def explain_html(facts: dict[str, Any], manifests: pa.Table | None, files: pa.Table | None) -> str:
    """The funnel, the clauses, and which partitions are kept. Without files it shows manifests instead."""
    parts = [f"<div><b>Scan of {_text(facts['table'])}</b></div>"]
    snapshot = "the table is empty" if facts["snapshot_id"] is None else f"snapshot {facts['snapshot_id']}"
    parts.append(f"<div>{_text(snapshot)}, filter <code>{_text(facts['filter'] or 'true')}</code></div>")
    parts.append(_funnel(facts["stages"]))
    if files is not None:
        parts.append(_strip("Partitions that stay", _partitions(files), "file"))
    elif manifests is not None:
        parts.append(_strip("Manifests that stay", _manifests(manifests), "manifest"))
    parts.append(_clauses(facts["clauses"]))
    parts += [f"<div>{_text(line)}</div>" for line in commit_lines(facts["commits"]) if line]
    parts.append(f"<div>{_text(cache_text(facts['cache']))}</div>")
    parts.append(f"<div>{_text(rows_kept(facts))}</div>")
    return f'<div style="font-family:sans-serif;font-size:13px">{"".join(parts)}</div>'


def merged(cells: list[Cell], most: int = MOST_CELLS) -> list[Cell]:
    """The cells, with neighbours merged until there are no more than `most`."""
    if len(cells) <= most:
        return cells
    out = []
    for i in range(most):
        part = cells[i * len(cells) // most : (i + 1) * len(cells) // most]
        label = part[0].label if len(part) == 1 else f"{part[0].label} to {part[-1].label} ({len(part)})"
        out.append(Cell(label, sum(c.kept for c in part), sum(c.total for c in part)))
    return out


def _text(text: object) -> str:
    return html.escape(public(text, _MOST_TEXT))


def svg(height: int, title: str, inside: Iterable[str], width: int = _WIDTH) -> str:
    """A picture with a title. It shrinks with the page."""
    return (
        f'<svg role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" style="max-width:100%;height:auto" font-family="sans-serif" font-size="12">'
        f"<title>{_text(title)}</title>{''.join(inside)}</svg>"
    )


def _funnel(stages: list[dict[str, Any]]) -> str:
    """A trapezoid for each stage, from what came in to what was kept, to the scale of its unit."""
    largest: dict[str, int] = {}
    for stage in stages:
        largest[stage["unit"]] = max(largest.get(stage["unit"], 1), stage["considered"])
    shapes = []
    for i, stage in enumerate(stages):
        top, middle = i * _STEP, _FUNNEL / 2
        above = _half(stage["considered"], largest[stage["unit"]])
        below = _half(stage["kept"], largest[stage["unit"]])
        bottom = top + _STEP - 4
        points = [(middle - above, top), (middle + above, top), (middle + below, bottom), (middle - below, bottom)]
        corners = " ".join(f"{x:.1f},{y}" for x, y in points)
        went = stage["considered"] - stage["kept"]
        hover = f"{stage['reason']}: {amount(went, stage['unit'])} went"
        label = f"{stage['name']}: {number(stage['kept'])} of {amount(stage['considered'], stage['unit'])}"
        extra = [bytes_text(stage["kept_bytes"])] if stage["kept_bytes"] else []
        extra += [time_text(stage["time_ms"])] if stage["time_ms"] else []
        shapes.append(
            f'<g><title>{_text(hover)}</title><polygon points="{corners}" fill="{_KEPT}" fill-opacity="0.75"/>'
            f'<text x="{_FUNNEL + 16}" y="{top + 19}" fill="currentColor">{_text(label)}</text>'
            f'<text x="{_WIDTH - 4}" y="{top + 19}" fill="currentColor" fill-opacity="0.7" text-anchor="end">'
            f"{_text(', '.join(extra))}</text></g>"
        )
    return svg(max(len(stages), 1) * _STEP, "What each stage of planning kept", shapes)


def _half(part: int, whole: int) -> float:
    """Half of a width. Its minimum is 1 unless the part is 0."""
    return max(_FUNNEL / 2 * part / whole, 1.0) if part else 0.0


def _strip(title: str, cells: list[Cell], unit: str) -> str:
    """A square for each cell: filled if all of it was kept, hollow if nothing was kept."""
    shown = merged(cells)
    columns = _WIDTH // _CELL
    squares = []
    for i, cell in enumerate(shown):
        x, y = i % columns * _CELL, i // columns * _CELL
        share = cell.kept / cell.total if cell.total else 0.0
        fill = f"{0.25 + 0.75 * share:.2f}" if cell.kept else "0"
        hover = f"{number(cell.kept)} of {amount(cell.total, unit)} kept: {cell.label or '(all)'}"
        squares.append(
            f'<rect x="{x + 1}" y="{y + 1}" width="{_CELL - 3}" height="{_CELL - 3}" rx="2" fill="{_KEPT}" '
            f'fill-opacity="{fill}" stroke="currentColor" stroke-opacity="0.3"><title>{_text(hover)}</title></rect>'
        )
    stay = sum(1 for cell in cells if cell.kept)
    heading = f"<div>{_text(title)}: {number(stay)} of {number(len(cells))}</div>"
    return heading + svg(((len(shown) + columns - 1) // columns or 1) * _CELL, title, squares)


def _partitions(files: pa.Table) -> list[Cell]:
    import pyarrow.compute as pc

    data = files.filter(pc.equal(files.column("content").cast("string"), "data"))
    names = data.column("partition").cast("string")
    data = data.select(["spec_id", "kept"]).append_column("partition", names)
    counts = data.group_by(["spec_id", "partition"]).aggregate([("kept", "sum"), ("kept", "count")])
    columns = ("spec_id", "partition", "kept_sum", "kept_count")
    found = sorted(zip(*(counts.column(name).to_pylist() for name in columns), strict=True))
    return [Cell(name, kept, total) for _, name, kept, total in found]


def _manifests(manifests: pa.Table) -> list[Cell]:
    rows = zip(*(manifests.column(name).to_pylist() for name in ("manifest_path", "kept", "reason")), strict=True)
    return [Cell(f"{masked(path).rsplit('/', 1)[-1]} {reason}".strip(), int(kept), 1) for path, kept, reason in rows]


def _clauses(clauses: list[dict[str, Any]]) -> str:
    items = []
    for clause in clauses:
        used = "prunes by " + ", ".join(clause["stages"]) if clause["stages"] else "only asked of rows"
        text = "; ".join([used, *clause["limits"]])
        items.append(f"<li><code>{_text(clause['clause'])}</code>: {_text(text)}</li>")
    return f"<ul>{''.join(items)}</ul>" if items else ""
