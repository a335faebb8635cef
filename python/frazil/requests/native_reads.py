"""Files that an engine can read by itself, as the core finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frazil import _core
from frazil._core import NativeFilter, NativeGroup, NativeRead

__all__ = ["NativeFilter", "NativeGroup", "NativeRead", "find_native_files"]


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
    return scan.native_read(list(schemes), dict(refused), max_files, max_positions, pack_from)
