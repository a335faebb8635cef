"""Partition transforms of Arrow columns: the bucket, day or prefix of each value, as Iceberg defines it.

    from frazil import transforms

    transforms.bucket(rows["user_id"], 16)
    transforms.day(rows["ts"])

Each function takes a pyarrow array or chunked array, or anything with `__arrow_c_array__` or `__arrow_c_stream__`, such
as a polars series. It returns a pyarrow array, which is chunked if the input was. Null stays null. The values equal
those in partitions that Frazil, Java Iceberg or PyIceberg wrote. `frazil.bucket`, `frazil.day` and so on are different:
they are terms of a filter.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from frazil import _core
from frazil.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["bucket", "day", "hour", "month", "truncate", "year"]

_MOST = 2**31 - 1


def bucket(array: Any, n: int) -> pa.Array | pa.ChunkedArray:
    """The bucket of each value, from 0 to `n - 1`: its 32-bit Murmur3 hash modulo `n`. The result is int32.

    Args:
        array: Integers, decimals, dates, times, timestamps, strings, uuids or binary.
        n: The number of buckets.

    Raises:
        InvalidInputError: Values of this type have no buckets (booleans, floats), or `n` is not from 1 to 2**31 - 1.
        UnsupportedError: Tables have no type for the Arrow type.

    Examples:
        >>> import pyarrow as pa
        >>> bucket(pa.array([34, None], pa.int64()), 16).to_pylist()
        [3, None]
    """
    return _transform(array, f"bucket[{_parameter('buckets', n)}]")


def truncate(array: Any, width: int) -> pa.Array | pa.ChunkedArray:
    """Each value cut to a width. The type stays the same.

    Numbers are rounded down to a multiple of the width. Text is cut to code points, and binary to bytes.

    Args:
        array: Integers, decimals, strings or binary.
        width: The width.

    Raises:
        InvalidInputError: Values of this type can't be truncated, `width` is not from 1 to 2**31 - 1, or a truncated
            decimal no longer fits its precision.
        UnsupportedError: Tables have no type for the Arrow type.

    Examples:
        >>> import pyarrow as pa
        >>> truncate(pa.array([-1, 12], pa.int32()), 10).to_pylist()
        [-10, 10]
    """
    return _transform(array, f"truncate[{_parameter('width', width)}]")


def year(array: Any) -> pa.Array | pa.ChunkedArray:
    """Years since 1970 of dates and timestamps, as int32. Raises `InvalidInputError` for other types."""
    return _transform(array, "year")


def month(array: Any) -> pa.Array | pa.ChunkedArray:
    """Months since 1970-01 of dates and timestamps, as int32. Raises `InvalidInputError` for other types."""
    return _transform(array, "month")


def day(array: Any) -> pa.Array | pa.ChunkedArray:
    """The day of dates and timestamps, in UTC for instants, as date32. Raises `InvalidInputError` for other types."""
    return _transform(array, "day")


def hour(array: Any) -> pa.Array | pa.ChunkedArray:
    """Hours since 1970-01-01T00 of timestamps, as int32. Raises `InvalidInputError` for other types."""
    return _transform(array, "hour")


def _parameter(parameter: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
        raise InvalidInputError(
            f"the {parameter} of a transform must be a whole number from 1 to {_MOST}, not {value!r}"
        )
    return value


def _transform(array: Any, transform: str) -> pa.Array | pa.ChunkedArray:
    from frazil import interop

    column, chunked = interop.column_of(array)
    result = interop.table_of(_core.transform_array(transform, column)).column(0)
    return result if chunked else interop.single(result)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from frazil import names

        raise names.of_module(name, sys._getframe(), __name__)
