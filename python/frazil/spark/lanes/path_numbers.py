"""Numbers for files, which Spark computes from their paths. A hash costs it less than looking up a path in a map.

Source: the specification of xxHash, "XXH64 algorithm description"; Spark's function `xxhash64` has the seed 42.
"""

from __future__ import annotations

from collections.abc import Iterable

from frazil import _core
from frazil.exceptions import InternalError

__all__ = ["BITS", "SEED", "PathNumbers"]

BITS = 23
"""The bits of a number. It is an integer of 32 bits, so that Spark finds it among a few hundred by a switch."""

SEED = 42
"""The seed of Spark's `xxhash64`."""


class PathNumbers:
    """Numbers for some paths. No two paths have the same number.

    Attributes:
        by_path: The number of each path.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        """Finds bits of the paths' hashes that distinguish them.

        Raises:
            InternalError: No bits distinguish them.
        """
        named = sorted(set(paths))
        hashes = dict(zip(named, _core.xxh64(named, SEED), strict=True))
        for shift in range(64 - BITS + 1):
            self.by_path = {path: found >> shift & (1 << BITS) - 1 for path, found in hashes.items()}
            if len(set(self.by_path.values())) == len(hashes):
                self._shift = shift
                return
        raise InternalError(f"{len(hashes)} paths can't be distinguished by their hashes")

    def of(self, path: str) -> str:
        """The number of a path. Both are expressions in Spark's SQL; `path` is a column."""
        return f"cast(shiftrightunsigned(xxhash64({path}), {self._shift}) & {(1 << BITS) - 1}L as int)"

    def checked(self, number: str, path: str) -> str:
        """A number that `of` computed in another column. A number that belongs to none of the paths stops the query.

        An unknown path stops it too, unless its number is one of theirs.
        """
        known = ", ".join(map(str, sorted(self.by_path.values())))
        lost = f"raise_error(concat('this file has no number: ', {path}))"
        return f"case when {number} in ({known}) then {number} else cast({lost} as int) end"
