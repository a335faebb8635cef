"""Splits for a number of workers."""

from __future__ import annotations

import heapq

from frazil import _core

__all__ = ["balanced_splits"]

_PIECES = 4
"""The least number of pieces for each worker, so that their sums can be even."""


def balanced_splits(scan: _core.Scan, most: int) -> list[_core.Split]:
    """At most `most` splits with about the same number of bytes. The same scan gives the same splits each time."""
    pieces = scan.splits(lambda split: split)
    size = sum(piece.size_bytes for piece in pieces)
    if len(pieces) < most * _PIECES and size:
        # Plans of few splits are small, so another one is cheap.
        pieces = scan.splits(
            lambda split: split, split_size_bytes=max(size // (most * _PIECES), 1), open_file_cost_bytes=0
        )
    sizes = [piece.size_bytes for piece in pieces]
    # The largest piece goes to the worker that has the least so far.
    groups: list[list[int]] = [[] for _ in range(min(most, len(pieces)))]
    waiting = [(0, number) for number in range(len(groups))]
    for at in sorted(range(len(pieces)), key=lambda at: -sizes[at]):
        weight, number = heapq.heappop(waiting)
        groups[number].append(at)
        heapq.heappush(waiting, (weight + sizes[at], number))
    joined = (_core.Split.joined([pieces[at] for at in sorted(group)]) for group in groups)
    return [split for split in joined if split is not None]
