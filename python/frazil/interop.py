"""The one place that imports pyarrow. The rest of Frazil imports this module when data is about to move."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil import _core
from frazil.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "column_of",
    "is_table",
    "pandas_rows",
    "python_rows",
    "python_values",
    "reader_of",
    "schema_of",
    "schema_of_type",
    "single",
    "table_of",
]

_EXTENSION = b"ARROW:extension:name"
_VARIANT = b"arrow.parquet.variant"


def schema_of(source: Any) -> pa.Schema:
    """The pyarrow schema of anything with `__arrow_c_schema__`."""
    return pa.schema(source)


def schema_of_type(type_: pa.DataType) -> pa.Schema:
    """A schema with one column, `value`, of a type."""
    return pa.schema([pa.field("value", type_)])


def table_of(batches: _core.Batches | pa.Table) -> pa.Table:
    """A pyarrow table over the same memory."""
    # pa.table() would import pandas, to see whether it was given a data frame.
    return pa.RecordBatchReader.from_stream(batches).read_all()


def reader_of(stream: _core.BatchStream) -> pa.RecordBatchReader:
    """A reader that pulls batches through Python, so that Frazil's exceptions and Ctrl-C arrive as they are."""
    return pa.RecordBatchReader.from_batches(pa.schema(stream), _Pulled(stream))


class _Pulled:
    """The batches of a stream as pyarrow's.

    A generator would end at the first error, quietly, and could not be shared by threads. pyarrow drops this object at
    the end, even while other threads are in `__next__`, whose frames keep it alive.
    """

    def __init__(self, stream: _core.BatchStream) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def __iter__(self) -> _Pulled:
        return self

    def __next__(self) -> pa.RecordBatch:
        with self._lock:
            return pa.record_batch(next(self._stream))


def pandas_rows(frame: pd.DataFrame) -> pa.Table:
    """A pandas data frame's columns. An index with a name is refused: it would be lost."""
    named = [str(name) for name in frame.index.names if name is not None]
    if named:
        message = f"the index {', '.join(named)} of the data frame would not be written"
        raise InvalidInputError(message, {}, "Call reset_index() to make it a column, or reset_index(drop=True)")
    return pa.Table.from_pandas(frame, preserve_index=False)


def column_of(array: Any) -> tuple[pa.Table, bool]:
    """A table of one column over the memory of an array, and whether that array is chunked."""
    if not isinstance(array, (pa.Array, pa.ChunkedArray)):
        if hasattr(array, "__arrow_c_stream__"):
            array = pa.chunked_array(array)
        elif hasattr(array, "__arrow_c_array__"):
            array = pa.array(array)
        else:
            message = f"a column can't be read from a {type(array).__name__!r}"
            raise InvalidInputError(message, {}, "Give a pyarrow array, or an object with __arrow_c_array__")
    return pa.Table.from_arrays([array], names=["value"]), isinstance(array, pa.ChunkedArray)


def single(column: pa.ChunkedArray) -> pa.Array:
    """The one array of a column made from one array; an empty one if no batch came."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def is_table(data: Any) -> bool:
    """Whether it is a pyarrow table or record batch."""
    return isinstance(data, (pa.Table, pa.RecordBatch))


def python_rows(table: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows as dicts, with variants decoded at every depth."""
    names = table.schema.names
    columns = [
        python_values(column, _is_variant(field)) for field, column in zip(table.schema, table.columns, strict=True)
    ]
    if not columns:
        return [{} for _ in range(table.num_rows)]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def python_values(array: pa.Array | pa.ChunkedArray, variant: bool) -> list[Any]:
    """The values as Python objects, with variants decoded at every depth; `variant`: if it can be one, it is."""
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
