"""Arrow columns as Python objects, with variants decoded."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa

from frazil import _core

__all__ = ["python_rows", "python_values"]

_EXTENSION = b"ARROW:extension:name"
_VARIANT = b"arrow.parquet.variant"


def python_rows(table: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows as dicts. Variants are decoded at every depth."""
    names = table.schema.names
    columns = [
        python_values(column, _is_variant(field)) for field, column in zip(table.schema, table.columns, strict=True)
    ]
    if not columns:
        return [{} for _ in range(table.num_rows)]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def python_values(array: pa.Array | pa.ChunkedArray, variant: bool) -> list[Any]:
    """The values as Python objects. Variants are decoded at every depth. `variant` says that the array may be one."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in python_values(chunk, variant)]
    type_ = array.type
    if isinstance(type_, pa.BaseExtensionType) and type_.extension_name.encode() == _VARIANT:
        array, type_, variant = array.storage, type_.storage_type, True
    if variant and pa.types.is_struct(type_) and type_.get_field_index("metadata") >= 0:
        return _core.variant_objects(pa.Table.from_arrays([array], names=["value"]), _scalar)
    if not _has_variants(type_):
        values: list[Any] = array.to_pylist()
        return values
    valid = array.is_valid().to_pylist()
    if pa.types.is_struct(type_):
        rows = python_rows(pa.RecordBatch.from_arrays(array.flatten(), schema=pa.schema(list(type_))))
        return [row if ok else None for row, ok in zip(rows, valid, strict=True)]
    if pa.types.is_map(type_):
        keys = python_values(array.keys, _is_variant(type_.key_field))
        elements = list(zip(keys, python_values(array.items, _is_variant(type_.item_field)), strict=True))
    else:
        elements = python_values(array.values, _is_variant(type_.value_field))
    if pa.types.is_fixed_size_list(type_):
        spans = [
            (i * type_.list_size, (i + 1) * type_.list_size) for i in range(array.offset, array.offset + len(array))
        ]
    else:
        offsets = array.offsets.to_pylist()
        spans = list(itertools.pairwise(offsets))
    return [elements[begin:end] if ok else None for (begin, end), ok in zip(spans, valid, strict=True)]


def _is_variant(field: pa.Field) -> bool:
    return (field.metadata or {}).get(_EXTENSION) == _VARIANT


def _has_variants(type_: pa.DataType) -> bool:
    if isinstance(type_, pa.BaseExtensionType):
        return bool(type_.extension_name.encode() == _VARIANT)
    if pa.types.is_map(type_):
        fields = [type_.key_field, type_.item_field]
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        fields = [type_.value_field]
    else:
        fields = list(type_) if pa.types.is_struct(type_) else []
    return any(_is_variant(field) or _has_variants(field.type) for field in fields)


def _scalar(type_: str, number: int) -> pa.Scalar:
    """A date, time or timestamp that Python's own types can't hold."""
    types = {
        "date": pa.date32(),
        "time": pa.time64("us"),
        "timestamp": pa.timestamp("us"),
        "timestamptz": pa.timestamp("us", tz="UTC"),
        "timestamp_ns": pa.timestamp("ns"),
        "timestamptz_ns": pa.timestamp("ns", tz="UTC"),
    }
    return pa.scalar(number, types[type_])
