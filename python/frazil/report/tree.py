"""The tree of a snapshot on a page: manifest list, manifests and files as rectangles, and what decided about each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from frazil.display.figures import amount, bytes_text, number
from frazil.display.tables import escaped, masked
from frazil.report.decisions import Decision
from frazil.report.parts import Section, cut, folded, note, picture, section
from frazil.report.plan import Plan
from frazil.report.treemap import Box, hatches, squarified

__all__ = ["MOST_FILES", "MOST_MANIFESTS", "tree_section"]

MOST_FILES = 2000
"""The most files that are drawn one by one. Those of a larger table are summed by manifest and decision."""

MOST_MANIFESTS = 300
"""The most manifests that are drawn one by one."""

_WIDTH, _HEIGHT = 1000, 520
_STRIP = 15
_MOST_PATH = 120
_LETTER = 6.2


class _Cell(NamedTuple):
    """A file, or several with the same fate."""

    manifest: str
    decision: int
    is_delete: bool
    size: int
    files: int
    label: str


def tree_section(plan: Plan) -> Section | None:
    """The tree as a picture, its legend, and its manifests and largest files as tables."""
    objects = plan.objects
    if not objects.num_rows:
        return None
    drawn, is_summed, others = _grouped(plan)
    total = sum(total.size for total in plan.totals())
    said = f"{amount(objects.num_rows, plan.unit)} of {bytes_text(total)}"
    if plan.unit == "file" and drawn[0][0]:
        said += f" in {amount(len(drawn) - (others > 0) + others, 'manifest')}"
    said += ". Areas show bytes."
    if is_summed:
        what = "files of one manifest" if plan.unit == "file" else "manifests"
        said += f" There are more than {number(MOST_FILES)}, so each part sums the {what} with the same fate."
    if others:
        said += f" The {number(others)} smallest manifests are one part."
    shapes = _shapes(plan, drawn)
    return section(
        "tree",
        "Manifests and files" if plan.unit == "file" else "Manifests",
        note(said),
        _legend(plan),
        picture(_WIDTH, _HEIGHT, "Tree of manifests and files", shapes, reads_cells=True),
        _manifest_table(plan),
        _object_table(plan),
    )


def _grouped(plan: Plan) -> tuple[list[tuple[str, list[_Cell]]], bool, int]:
    """The cells of each manifest, largest first; whether files are summed; how many manifests are summed."""
    objects = plan.objects
    is_summed = objects.num_rows > MOST_FILES
    by_manifest: dict[str, list[_Cell]] = defaultdict(list)
    for cell in _sums(plan) if is_summed else _singles(plan):
        by_manifest[cell.manifest if plan.unit == "file" else ""].append(cell)
    groups = sorted(by_manifest.items(), key=lambda group: (-_size(group[1]), group[0]))
    others = len(groups) - (MOST_MANIFESTS - 1) if len(groups) > MOST_MANIFESTS else 0
    if others:
        rest = [cell for _, cells in groups[MOST_MANIFESTS - 1 :] for cell in cells]
        groups = [*groups[: MOST_MANIFESTS - 1], (amount(others, "other manifest"), _joined(rest))]
    return groups, is_summed, others


def _size(cells: Iterable[_Cell]) -> int:
    # An empty file has an area, too.
    return sum(max(cell.size, 1) for cell in cells)


def _singles(plan: Plan) -> Iterator[_Cell]:
    names = ("manifest", "decision", "is_delete", "size", "path")
    for manifest, decision, is_delete, size, path in _rows(plan.objects, names):
        yield _Cell(manifest, decision, is_delete, size, 1, cut(path, _MOST_PATH))


def _sums(plan: Plan) -> Iterator[_Cell]:
    keys = ["decision", "is_delete", *(["manifest"] if plan.unit == "file" else [])]
    sums = plan.objects.group_by(keys).aggregate([("size", "sum"), ("size", "count")])
    for size, count, decision, is_delete, *manifest in _rows(sums, ("size_sum", "size_count", *keys)):
        label = amount(count, f"delete {plan.unit}" if is_delete else plan.unit)
        yield _Cell("".join(manifest), decision, is_delete, size, count, label)


def _joined(cells: Iterable[_Cell]) -> list[_Cell]:
    """The cells of several manifests, summed by their fate."""
    sums: dict[tuple[int, bool], list[int]] = defaultdict(lambda: [0, 0])
    for cell in cells:
        found = sums[cell.decision, cell.is_delete]
        found[0] += cell.size
        found[1] += cell.files
    return [
        _Cell("", decision, is_delete, size, count, amount(count, "delete file" if is_delete else "file"))
        for (decision, is_delete), (size, count) in sums.items()
    ]


def _rows(table: Any, names: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(table.column(name).to_pylist() for name in names), strict=True)


def _shapes(plan: Plan, groups: list[tuple[str, list[_Cell]]]) -> Iterator[str]:
    """The parts of the picture: frames, cells, hatches, letters."""
    by_decision: dict[int, list[Box]] = defaultdict(list)
    frames = squarified([_size(cells) for _, cells in groups], Box(0, 0, _WIDTH, _HEIGHT))
    for (name, cells), frame in zip(groups, frames, strict=True):
        has_name = bool(name) and frame.width > 60 and frame.height > 45
        if has_name:
            letters = int((frame.width - 8) / _LETTER)
            text = escaped(_name(name, letters))
            yield f'<text class="name" x="{frame.x + 3:.1f}" y="{frame.y + 11:.1f}">{text}</text>'
        inner = frame.inset(1.5, _STRIP if has_name else 1.5)
        cells = sorted(cells, key=lambda cell: -cell.size)
        boxes = squarified([max(cell.size, 1) for cell in cells], inner)
        for cell, box in zip(cells, boxes, strict=True):
            by_decision[cell.decision].append(box)
            yield _rectangle(cell, box, plan.decisions[cell.decision])
    for number_, boxes in sorted(by_decision.items()):
        yield from _marks(number_, boxes)


def _name(path: str, letters: int) -> str:
    name = masked(path).rsplit("/", 1)[-1]
    return name if len(name) <= letters else name[: max(letters - 1, 0)] + "…"


def _rectangle(cell: _Cell, box: Box, decision: Decision) -> str:
    kind = f"c d{cell.decision}" + (" x" if cell.is_delete else "")
    title = f"{cell.label}: {bytes_text(cell.size)}, {decision}"
    return (
        f'<rect class="{kind}" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}">'
        f"<title>{escaped(title)}</title></rect>"
    )


def _marks(decision: int, boxes: list[Box]) -> Iterator[str]:
    """The hatch and the letters of a decision."""
    if lines := hatches(decision, boxes):
        yield f'<path class="h d{decision}" d="{lines}"/>'
    for box in boxes:
        if box.width >= 16 and box.height >= 15:
            x, y = box.x + box.width / 2, box.y + box.height / 2
            yield f'<circle class="b" cx="{x:.1f}" cy="{y:.1f}" r="6.5"/>'
            yield f'<text class="l" x="{x:.1f}" y="{y + 3.5:.1f}">{_letter(decision)}</text>'


def _letter(decision: int) -> str:
    return str(decision) if decision else "R"


def _legend(plan: Plan) -> str:
    """What each hatch means, with figures."""
    import pyarrow.compute as pc

    box = Box(0, 0, 44, 18)
    lines = []
    for at, (decision, total) in enumerate(zip(plan.decisions, plan.totals(), strict=True)):
        inside = f'<rect class="c d{at}" width="44" height="18"/>{"".join(_marks(at, [box]))}'
        text = f"{_letter(at)}: {decision}: {total.text(plan.unit)}"
        lines.append(_legend_line(inside, text))
    if pc.any(plan.objects.column("is_delete")).as_py():
        what = f"delete {plan.unit}"
        lines.append(_legend_line('<rect class="c x" x="1" y="1" width="42" height="16"/>', f"dashed border: {what}"))
    return f'<ul class="legend">{"".join(lines)}</ul>'


def _legend_line(inside: str, text: str) -> str:
    swatch = f'<svg aria-hidden="true" width="44" height="18" viewBox="0 0 44 18">{inside}</svg>'
    return f"<li>{swatch} <span>{escaped(text)}</span></li>"


def _manifest_table(plan: Plan) -> str:
    """The manifests, those with most bytes first."""
    import pyarrow.compute as pc

    if plan.unit != "file" or not pc.any(pc.not_equal(plan.objects.column("manifest"), "")).as_py():
        return ""
    is_read = pc.equal(plan.objects.column("decision"), 0).cast("int32")
    table = plan.objects.select(["manifest", "size"]).append_column("read", is_read)
    sums = table.group_by("manifest").aggregate([("size", "sum"), ("size", "count"), ("read", "sum")])
    sums = sums.sort_by([("size_sum", "descending"), ("manifest", "ascending")])
    lengths: dict[str, int] = {}
    if plan.manifests is not None:
        lengths = dict(_rows(plan.manifests, ("manifest_path", "manifest_length")))
    rows = (
        (
            cut(path, _MOST_PATH),
            number(count),
            number(read),
            bytes_text(size),
            bytes_text(lengths[path]) if path in lengths else None,
        )
        for path, size, count, read in _rows(sums, ("manifest", "size_sum", "size_count", "read_sum"))
    )
    header = ("manifest", "files", "files read", "bytes of files", "own bytes")
    return folded("Manifests as a table", header, rows, sums.num_rows)


def _object_table(plan: Plan) -> str:
    """The largest files, or manifests."""
    objects = plan.objects.sort_by([("size", "descending"), ("path", "ascending")])
    rows = (
        (cut(path, _MOST_PATH), bytes_text(size), str(plan.decisions[decision]))
        for path, size, decision in _rows(objects.slice(0, 200), ("path", "size", "decision"))
    )
    return folded(
        f"{plan.unit.capitalize()}s as a table, largest first", (plan.unit, "bytes", "fate"), rows, objects.num_rows
    )
