"""Files that an engine can read by itself, as the core finds them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from frazil import _core

__all__ = ["NativeRead", "find_native_files"]


class NativeRead(NamedTuple):
    """What the core says about the files of a scan.

    Attributes:
        schema: The columns that the engine has to read: those selected, and those of the filter.
        filter: The filter: True, or a tree of `op`, `parts`, `path`, `values` and `type`.
        groups: Groups of files that name columns alike. Each has `columns`, `filtered` and `files`; a file is its path,
            size, row count, and number if rows of it are deleted.
        deleted: Deleted rows: `word` and `mask`.
        refused: Paths and reasons of the files that the engine can't read, or one reason for all.
        rest: The splits of the refused files.
    """

    schema: _core.Schema
    filter: Any
    groups: list[dict[str, Any]]
    deleted: _core.Batches
    refused: str | _core.Batches
    rest: list[_core.Split] | _core.PackedSplits


def find_native_files(
    scan: _core.Scan,
    schemes: Sequence[str],
    refused: Mapping[str, str],
    max_files: int,
    max_positions: int,
    pack_from: int | None,
) -> NativeRead:
    """The files of a scan that an engine reads as Frazil does.

    Args:
        scan: The scan.
        schemes: Schemes of locations that the engine may read from.
        refused: Files that the engine must not read, with the reasons.
        max_files: The most files whose footers are read.
        max_positions: The most deleted rows.
        pack_from: The number of remaining splits from which they are packed; None for never.
    """
    schema, text, deleted, reasons, rest = scan.hand_over(
        list(schemes), dict(refused), max_files, max_positions, pack_from
    )
    facts = json.loads(text)
    return NativeRead(schema, facts["filter"], facts["groups"], deleted, reasons, rest)
