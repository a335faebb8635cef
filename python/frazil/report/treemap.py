"""Rectangles whose areas show sizes, and hatches that tell them apart without colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Box", "hatches", "squarified"]


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    def inset(self, by: float, top: float) -> Box:
        """The inner part, below a strip at the top. Its sides are never negative."""
        width, height = max(self.width - 2 * by, 0.0), max(self.height - top - by, 0.0)
        return Box(self.x + by, self.y + top, width, height)


def squarified(sizes: Sequence[float], box: Box) -> list[Box]:
    """Fills a box with a rectangle for each size, as close to squares as a simple rule makes them.

    The rule is that of Bruls, Huizing and van Wijk: rows along the shorter side, each as long as it gets better.

    Args:
        sizes: Positive sizes, largest first.
        box: The rectangle to fill.
    """
    total = sum(sizes)
    scale = box.width * box.height / total if total else 0.0
    areas = [size * scale for size in sizes]
    boxes: list[Box] = []
    rest = box
    while len(boxes) < len(areas):
        at = len(boxes)
        end = _end_of_row(areas, at, min(rest.width, rest.height))
        placed, rest = _row(areas[at:end], rest)
        boxes += placed
    return boxes


def _end_of_row(areas: list[float], at: int, side: float) -> int:
    """Where the row that starts at an area ends: before the area that would make it worse."""
    sum_of_row, worst = areas[at], _worst(areas[at], areas[at], areas[at], side)
    for end in range(at + 1, len(areas)):
        grown = sum_of_row + areas[end]
        ratio = _worst(areas[at], areas[end], grown, side)
        if ratio > worst:
            return end
        sum_of_row, worst = grown, ratio
    return len(areas)


def _worst(largest: float, smallest: float, sum_of_row: float, side: float) -> float:
    """The worst ratio of sides in a row."""
    square, sums = side * side, sum_of_row * sum_of_row
    if not (square and sums and smallest):
        return 0.0
    return max(square * largest / sums, sums / (square * smallest))


def _row(areas: list[float], box: Box) -> tuple[list[Box], Box]:
    """The rectangles of a row along the shorter side of a box, and what is left of the box."""
    is_column = box.width >= box.height
    side = box.height if is_column else box.width
    depth = sum(areas) / side if side else 0.0
    placed, along = [], 0.0
    for area in areas:
        length = area / depth if depth else 0.0
        if is_column:
            placed.append(Box(box.x, box.y + along, depth, length))
        else:
            placed.append(Box(box.x + along, box.y, length, depth))
        along += length
    if is_column:
        return placed, Box(box.x + depth, box.y, max(box.width - depth, 0.0), box.height)
    return placed, Box(box.x, box.y + depth, box.width, max(box.height - depth, 0.0))


_GAP = 7
_KINDS = ("", "/", "-", "\\", "|", "/\\", "-|", ".")
"""The directions of the lines of each hatch. The first has none."""


def hatches(number: int, boxes: Sequence[Box]) -> str:
    """The lines of a hatch inside of boxes, as the data of an SVG path."""
    lines = []
    for box in boxes:
        if box.width < 2 or box.height < 2:
            continue
        for kind in _KINDS[number % len(_KINDS)]:
            lines += _lines(kind, box)
    return "".join(f"M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" for x, y, to_x, to_y in lines)


def _lines(kind: str, box: Box) -> list[tuple[float, float, float, float]]:
    left, top, right, bottom = box.x, box.y, box.x + box.width, box.y + box.height
    if kind == "-":
        return [(left, y, right, y) for y in _steps(top, bottom)]
    if kind == "|":
        return [(x, top, x, bottom) for x in _steps(left, right)]
    if kind == ".":
        return [(x, y, x + 2, y) for y in _steps(top, bottom) for x in _steps(left, right) if x + 2 <= right]
    if kind == "/":
        # x + y is the same along the line.
        return [
            (max(left, c - bottom), min(bottom, c - left), min(right, c - top), max(top, c - right))
            for c in _steps(left + top, right + bottom)
        ]
    # x - y is the same along the line.
    return [
        (max(left, c + top), max(top, left - c), min(right, c + bottom), min(bottom, right - c))
        for c in _steps(left - bottom, right - top)
    ]


def _steps(start: float, end: float) -> list[float]:
    """The multiples of the gap between two numbers."""
    first = int(start // _GAP) + 1
    return [float(n * _GAP) for n in range(first, int(end // _GAP) + 1) if start < n * _GAP < end]
