"""Numbers for files that Spark computes from their paths: a hash costs it less than a look into a map of paths.

Source: the specification of xxHash, "XXH64 algorithm description"; Spark's function `xxhash64` begins with 42.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as f

from frazil.exceptions import InternalError

__all__ = ["BITS", "PathNumbers", "xxhash64"]

BITS = 23
"""Of a number: with 40 bits for a position, a row's number is no negative integer of 64 bits."""

_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_ALL = (1 << 64) - 1
_SEED = 42


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
        hashes = {path: xxhash64(path.encode()) for path in paths}
        for shift in range(64 - BITS + 1):
            self.by_path = {path: found >> shift & (1 << BITS) - 1 for path, found in hashes.items()}
            if len(set(self.by_path.values())) == len(hashes):
                self._shift = shift
                return
        raise InternalError(f"{len(hashes)} paths can't be told apart by their hashes")

    def of(self, path: Column) -> Column:
        """The number of a path. A path that is none of these stops the query, unless its number is one of theirs."""
        number = f.shiftrightunsigned(f.xxhash64(path), self._shift).bitwiseAND(f.lit((1 << BITS) - 1).cast("bigint"))
        lost = f.raise_error(f.concat(f.lit("Frazil gave this file no number: "), path)).cast("bigint")
        return f.when(number.isin(sorted(self.by_path.values())), number).otherwise(lost)


def xxhash64(data: bytes, seed: int = _SEED) -> int:
    """XXH64, not negative."""
    whole = len(data) & ~31
    if whole:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        for stripe in struct.iter_unpack("<4Q", data[:whole]):
            lanes = [_round(lane, value) for lane, value in zip(lanes, stripe, strict=True)]
        found = sum(_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _ALL
        for lane in lanes:
            found = (found ^ _round(0, lane)) * _P1 + _P4 & _ALL
    else:
        found = seed + _P5
    found = found + len(data) & _ALL
    return _avalanched(_with_rest(found, data[whole:]))


def _with_rest(found: int, rest: bytes) -> int:
    """The hash with the bytes that fill no stripe."""
    while len(rest) >= 8:
        found = _rotated(found ^ _round(0, int.from_bytes(rest[:8], "little")), 27) * _P1 + _P4 & _ALL
        rest = rest[8:]
    if len(rest) >= 4:
        found = _rotated(found ^ int.from_bytes(rest[:4], "little") * _P1 & _ALL, 23) * _P2 + _P3 & _ALL
        rest = rest[4:]
    for byte in rest:
        found = _rotated(found ^ byte * _P5 & _ALL, 11) * _P1 & _ALL
    return found


def _avalanched(found: int) -> int:
    found = (found ^ found >> 33) * _P2 & _ALL
    found = (found ^ found >> 29) * _P3 & _ALL
    return found ^ found >> 32


def _round(lane: int, value: int) -> int:
    return _rotated(lane + value * _P2 & _ALL, 31) * _P1 & _ALL


def _rotated(value: int, bits: int) -> int:
    value &= _ALL
    return (value << bits | value >> 64 - bits) & _ALL
