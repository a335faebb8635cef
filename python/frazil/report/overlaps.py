"""Bounds of columns on a page: how many files can hold the same value."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil.display.figures import number
from frazil.display.tables import escaped
from frazil.report.parts import Section, folded, note, picture, section

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MOST_COLUMNS", "MOST_FILES", "Overlap", "overlap_of", "overlap_section"]

MOST_COLUMNS = 30
"""The most columns whose bounds are compared: the first of the schema that have bounds."""

MOST_FILES = 100_000
"""The most files whose bounds are compared. All of them are in memory."""

_SAMPLES = 40
_WIDTH, _LINE, _NAMES, _FIGURES = 1000, 36, 260, 330


class Overlap(NamedTuple):
    """How the bounds of a column overlap between data files.

    Attributes:
        column: Its dotted path.
        files: The number of files with both bounds.
        without: The number of other files.
        average: The number of other files that a file overlaps with, on average.
        most: The most files that can hold the same value.
        depths: How many files can hold a value, for values from the smallest to the largest lower bound.
    """

    column: str
    files: int
    without: int
    average: float
    most: int
    depths: list[int]


def overlap_of(column: str, bounds: list[tuple[Any, Any]], without: int = 0) -> Overlap:
    """The overlap of closed ranges `(lower, upper)` that can be compared."""
    lows, highs = sorted(low for low, _ in bounds), sorted(high for _, high in bounds)

    def between(low: Any, high: Any) -> int:
        return bisect_right(lows, high) - bisect_left(highs, low)

    others = sum(between(low, high) - 1 for low, high in bounds)
    count = min(len(lows), _SAMPLES)
    samples = [lows[at * (len(lows) - 1) // max(count - 1, 1)] for at in range(count)]
    return Overlap(
        column,
        len(bounds),
        without,
        others / len(bounds),
        # The most ranges meet where one of them starts.
        max(between(low, low) for low in lows),
        [between(low, low) for low in samples],
    )


def overlaps(files: pa.Table) -> Iterator[Overlap]:
    """The overlap of each column that has bounds."""
    found = 0
    metrics = files.column("readable_metrics").combine_chunks()
    for member in metrics.type:
        figures = metrics.field(member.name)
        lows, highs = (_ordered(figures.field(f"{side}_bound")) for side in ("lower", "upper"))
        bounds = [pair for pair in zip(lows, highs, strict=True) if all(map(_is_value, pair)) and pair[0] <= pair[1]]
        if bounds and found < MOST_COLUMNS:
            found += 1
            yield overlap_of(member.name, bounds, len(lows) - len(bounds))


def _ordered(bounds: pa.Array) -> list[Any]:
    """Values that compare in the order of their type.

    Dates and times become numbers, because Python's have neither nanoseconds nor the year 10000.
    """
    import pyarrow as pa

    if pa.types.is_temporal(bounds.type):
        bounds = bounds.cast(pa.int32() if pa.types.is_date32(bounds.type) else pa.int64())
    values: list[Any] = bounds.to_pylist()
    return values


def _is_value(bound: Any) -> bool:
    return bound is not None and not (isinstance(bound, float) and math.isnan(bound))


def overlap_section(files: pa.Table | None) -> Section | None:
    """The overlap of columns. None if there are no bounds.

    Args:
        files: The data files as `Inspect.data_files` lists them.
    """
    found = [] if files is None else list(overlaps(files))
    if files is None or not found:
        return None
    said = (
        "How many data files can hold the same value. A filter on a column prunes well if few files overlap. "
        "Each line goes from the smallest to the largest lower bound; its height shows how many files overlap there."
    )
    if _has_keys(files):
        said += (
            " Files of a table with a primary key overlap by design: until they are compacted, the newest row of a key"
            " is in another file than its older rows."
        )
    if len(found) == MOST_COLUMNS:
        said += f" At most {MOST_COLUMNS} columns are shown."
    header = ("column", "files with bounds", "files without", "other files that a file overlaps", "most at one value")
    rows = ((o.column, number(o.files), number(o.without), f"{o.average:,.1f}", number(o.most)) for o in found)
    return section(
        "overlaps",
        "Overlap of bounds",
        note(said),
        picture(_WIDTH, len(found) * _LINE, "Overlap of the bounds of columns", _lines(found)),
        folded("Overlaps as a table", header, rows, len(found)),
    )


def _has_keys(files: pa.Table) -> bool:
    """Whether rows are merged by key, so that files record their least key."""
    return "min_key" in files.schema.names and files.column("min_key").null_count < files.num_rows


def _lines(found: list[Overlap]) -> Iterator[str]:
    room = _WIDTH - _NAMES - _FIGURES
    for at, overlap in enumerate(found):
        bottom = (at + 1) * _LINE - 5
        step = room / len(overlap.depths)
        points = [f"M{_NAMES} {bottom}"]
        for sample, depth in enumerate(overlap.depths):
            y = bottom - (_LINE - 9) * depth / max(overlap.files, 1)
            points.append(f"L{_NAMES + sample * step:.1f} {y:.1f}H{_NAMES + (sample + 1) * step:.1f}")
        points.append(f"L{_NAMES + room} {bottom}Z")
        name = overlap.column if len(overlap.column) < 38 else overlap.column[:36] + "…"
        text = f"{overlap.average:,.1f} others on average, {number(overlap.most)} of {number(overlap.files)} at most"
        yield (
            f'<g><text class="t" x="0" y="{bottom - 8}">{escaped(name)}</text><path class="bar" d="{"".join(points)}"/>'
            f'<line class="axis" x1="{_NAMES}" x2="{_NAMES + room}" y1="{bottom}" y2="{bottom}"/>'
            f'<text class="t" x="{_NAMES + room + 8}" y="{bottom - 8}">{escaped(text)}</text></g>'
        )
