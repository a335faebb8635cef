"""Variants: columns whose values carry their own type, as Python values and as JSON text.

    import frazil as fz
    from frazil import variant

    rows = fz.open_table("/warehouse/db/events").scan().to_arrow()
    variant.to_python(rows["payload"])          # [{'user': 7, 'tags': ['a']}, None, 3.5]
    variant.to_json(rows["payload"])            # a pyarrow array of JSON text
    variant.from_python([{"user": 7}, None])    # a pyarrow array of variants, to append
    variant.from_json(['{"user": 7}'])          # the same from JSON text

A scan returns a variant column as Arrow's extension type `arrow.parquet.variant`: a struct of the binary columns
`metadata` and `value`. pyarrow has no class for it and shows the struct. Values that a file stores shredded are put
together again without loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from frazil import _core

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_json", "from_python", "to_json", "to_python"]


def from_python(values: Iterable[Any]) -> pa.StructArray:
    """Variants from Python values, one for each row. None is null, and a null inside an object or array.

    This is the reverse of `to_python`. A dict becomes an object, a list or tuple an array. Integers take the smallest
    type that holds them, decimals too. Booleans, floats, text, bytes, dates, times, datetimes (with or without a zone)
    and UUIDs keep their types. A pyarrow timestamp in nanoseconds keeps its nanoseconds.

    Args:
        values: The values: a list, or a pyarrow array of anything that has such Python values.

    Returns:
        A pyarrow array of structs of `metadata` and `value`, as an append to a column of type `variant` takes it. A new
        table that is made of such rows has a column of type `variant`.

    Raises:
        InvalidInputError: A value has no type of variants, a number has more than 38 digits, or a value nests deeper
            than 500 levels.

    Examples:
        >>> array = from_python([{"a": 7}, None, [1.5, "x"]])
        >>> to_python(array)
        [{'a': 7}, None, [1.5, 'x']]
    """
    from frazil import interop

    return interop.variants_of_python(values)


def from_json(texts: Iterable[str | None]) -> pa.StructArray:
    """Variants from JSON text, one for each row. None is null; the text `null` is a variant that holds null.

    Integers take the smallest type that holds them. Numbers with a fraction and no exponent become decimals, as in
    Spark; other numbers become doubles, as do those of more than 38 digits.

    Args:
        texts: JSON texts: a list, or a pyarrow array of texts.

    Returns:
        A pyarrow array, as for `from_python`.

    Raises:
        InvalidInputError: A text is not JSON, has a member twice, or nests deeper than 500 levels.

    Examples:
        >>> to_json(from_json(['{"b": 1.50, "a": [true, null]}'])).to_pylist()
        ['{"a":[true,null],"b":1.50}']
    """
    from frazil import interop

    return interop.variants_of_json(texts)


def to_python(data: Any) -> list[Any]:
    r"""The values as Python objects, None for null. This is like pyarrow's `to_pylist`, but variants are decoded.

    An object becomes a dict, an array a list. Booleans, numbers, text and bytes become the Python types, a decimal a
    `Decimal`, a uuid a `UUID`. Dates, times and timestamps become `date`, `time` and `datetime` (with a zone if in
    UTC). Values that these types can't hold become pyarrow scalars: all timestamps in nanoseconds, and years before 1
    or after 9999. A null inside a variant becomes None too.

    Args:
        data: A pyarrow array or chunked array of variants, or of structs, lists or maps with variants in them; or
            anything with `__arrow_c_array__` or `__arrow_c_stream__`. A pyarrow table or record batch gives a list of
            dicts.

    Raises:
        CorruptTableError: A variant is damaged.
        UnsupportedError: A variant has a type that version 1 of the encoding does not have.

    Examples:
        >>> import pyarrow as pa
        >>> parts = [pa.array([b"\x01\x01\x00\x01a"]), pa.array([b"\x02\x01\x00\x00\x02\x0c\x07"])]
        >>> to_python(pa.StructArray.from_arrays(parts, ["metadata", "value"]))
        [{'a': 7}]
    """
    from frazil import interop

    if interop.is_table(data):
        return interop.python_rows(data)
    table, _ = interop.column_of(data)
    return interop.python_values(table.column(0), variant=True)


def to_json(array: Any) -> pa.Array | pa.ChunkedArray:
    r"""Each variant as JSON text, null for null. The result is chunked if the input was.

    Numbers become JSON numbers with all their digits. NaN and infinities become the strings "NaN", "Infinity" and
    "-Infinity". Dates, times and timestamps become ISO 8601 text (in UTC with `+00:00`), uuids text, and bytes Base64.

    Args:
        array: A pyarrow array or chunked array of variants, or anything with `__arrow_c_array__` or
            `__arrow_c_stream__`.

    Raises:
        InvalidInputError: The array doesn't hold variants.
        CorruptTableError: A variant is damaged.
        UnsupportedError: A variant has a type that version 1 of the encoding does not have.

    Examples:
        >>> import pyarrow as pa
        >>> parts = [pa.array([b"\x01\x01\x00\x01a"]), pa.array([b"\x02\x01\x00\x00\x02\x0c\x07"])]
        >>> to_json(pa.StructArray.from_arrays(parts, ["metadata", "value"])).to_pylist()
        ['{"a":7}']
    """
    from frazil import interop

    column, chunked = interop.column_of(array)
    result = interop.table_of(_core.variant_json(column)).column(0)
    return result if chunked else interop.single(result)
