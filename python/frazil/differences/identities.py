"""Texts of values as bytes: two values of a type have the same bytes only if they are equal."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

__all__ = ["digests"]

DIGEST_BYTES = 16


def digests(columns: Iterable[pa.Array], rows: int) -> pa.Array:
    """A digest of 128 bits for the values that each row has in some columns.

    Args:
        columns: The columns.
        rows: The number of rows.
    """
    import pyarrow as pa

    encoded = [_encoded(column) for column in columns]
    whole = encoded[0] if len(encoded) == 1 else _joined(encoded, rows)
    hashed = [blake2b(value, digest_size=DIGEST_BYTES).digest() for value in whole.to_pylist()]
    return pa.array(hashed, pa.binary(DIGEST_BYTES))


def _joined(parts: list[pa.Array], rows: int) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not parts:
        return pa.repeat(pa.scalar(b"", pa.large_binary()), rows)
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.large_binary()))


def _encoded(array: pa.Array) -> pa.Array:
    """Each value as bytes that say where they end. No value is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _stored(array)
    if pa.types.is_struct(array.type):
        content = _joined([_encoded(member) for member in array.flatten()], len(array))
    elif pa.types.is_map(array.type):
        items = [_encoded(array.keys), _encoded(array.items)]
        content = _elements(array, _joined(items, len(array.keys)))
    elif pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        content = _elements(array, _encoded(array.values))
    else:
        content = _leaf(array)
    length = _text(pc.binary_length(content))
    marked = pc.binary_join_element_wise(length, content, pa.scalar(b":", pa.large_binary()))
    return pc.if_else(array.is_valid(), marked, pa.scalar(b"null", pa.large_binary()))


def _stored(array: pa.Array) -> pa.Array:
    """The array without dictionaries, views and extension types."""
    import pyarrow as pa

    if isinstance(array, pa.ExtensionArray):
        return _stored(array.storage)
    type_: Any = array.type
    if pa.types.is_dictionary(type_):
        return _stored(array.cast(type_.value_type))
    if pa.types.is_fixed_size_list(type_):
        return array.cast(pa.list_(type_.value_field))
    return array


def _elements(lists: pa.Array, values: pa.Array) -> pa.Array:
    """The bytes of the elements, one after the other, for each list."""
    import pyarrow as pa
    import pyarrow.compute as pc

    offsets = lists.offsets.cast(pa.int64())
    return pc.binary_join(pa.LargeListArray.from_arrays(offsets, values), pa.scalar(b"", pa.large_binary()))


def _leaf(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    type_ = array.type
    if pa.types.is_date32(type_) or pa.types.is_time32(type_):
        return _text(array.cast(pa.int32()))
    if pa.types.is_temporal(type_):
        return _text(array.cast(pa.int64()))
    if pa.types.is_float16(type_):
        return _text(array.cast(pa.float32()))
    if pa.types.is_fixed_size_binary(type_):
        return array.cast(pa.binary()).cast(pa.large_binary())
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        return array.cast(pa.large_binary())
    return _text(array)


def _text(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    return array.cast(pa.large_string()).cast(pa.large_binary())
