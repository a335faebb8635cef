"""Numbers for files that Spark computes from their paths: a hash costs it less than a look into a map of paths.

Source: the specification of xxHash, "XXH64 algorithm description"; Spark's function `xxhash64` begins with 42.
"""

from __future__ import annotations

from collections.abc import Iterable

from frazil import _core
from frazil.exceptions import InternalError

__all__ = ["BITS", "SEED", "PathNumbers"]

BITS = 23
"""Of a number: an integer of 32 bits, so that Spark looks for it among a few hundred by a switch."""

SEED = 42
"""Of Spark's `xxhash64`."""


class PathNumbers:
    """Numbers of some paths, no two of which have the same.

    Attributes:
        by_path: The number of each.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        """Tells the paths apart by some of the bits of their hashes.

        Raises:
            InternalError: No bits tell them apart.
        """
        named = sorted(set(paths))
        hashes = dict(zip(named, _core.xxh64(named, SEED), strict=True))
        for shift in range(64 - BITS + 1):
            self.by_path = {path: found >> shift & (1 << BITS) - 1 for path, found in hashes.items()}
            if len(set(self.by_path.values())) == len(hashes):
                self._shift = shift
                return
        raise InternalError(f"{len(hashes)} paths can't be told apart by their hashes")

    def of(self, path: str) -> str:
        """The number of a path, an integer, both in Spark's SQL: the path is that of a column."""
        return f"cast(shiftrightunsigned(xxhash64({path}), {self._shift}) & {(1 << BITS) - 1}L as int)"

    def checked(self, number: str, path: str) -> str:
        """A number that `of` gave in another column; one of none of the paths stops the query.

        A path that is none of these stops it too, unless its number is one of theirs.
        """
        known = ", ".join(map(str, sorted(self.by_path.values())))
        lost = f"raise_error(concat('Frazil gave this file no number: ', {path}))"
        return f"case when {number} in ({known}) then {number} else cast({lost} as int) end"
