"""Conversion between pyarrow's objects and the core's. Both use the same memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil import _core
from frazil.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "column_of",
    "counted",
    "geopandas_rows",
    "is_table",
    "pandas_rows",
    "reader_of",
    "schema_of",
    "schema_of_rows",
    "schema_of_type",
    "single",
    "table_of",
]


def schema_of(source: Any) -> pa.Schema:
    """The pyarrow schema of an object with `__arrow_c_schema__`."""
    return pa.schema(source)


def schema_of_rows(rows: Any) -> pa.Schema:
    """The columns of rows that `arguments.rows` returned. The rows stay to be read."""
    schema = getattr(rows, "schema", None)
    if isinstance(schema, pa.Schema):
        return schema
    if hasattr(rows, "__arrow_c_schema__"):
        return pa.schema(rows)
    if hasattr(schema, "__arrow_c_schema__"):
        return pa.schema(schema)
    return (
        pa.RecordBatchReader.from_stream(rows).schema
        if hasattr(rows, "__arrow_c_stream__")
        else pa.record_batch(rows).schema
    )


def schema_of_type(type_: pa.DataType) -> pa.Schema:
    """A schema with a single column, `value`, of a given type."""
    return pa.schema([pa.field("value", type_)])


def table_of(batches: _core.Batches | pa.Table) -> pa.Table:
    """A pyarrow table over the same memory."""
    # pa.table() would import pandas, to see whether it was given a data frame.
    return pa.RecordBatchReader.from_stream(batches).read_all()


def reader_of(stream: _core.BatchStream, failed: Callable[[Exception], None] | None = None) -> pa.RecordBatchReader:
    """A reader that pulls batches through Python, so that Frazil's exceptions and Ctrl-C arrive unchanged.

    Args:
        stream: The batches.
        failed: Called with the first error, if any.
    """
    return pa.RecordBatchReader.from_batches(pa.schema(stream), _Pulled(stream, failed))


class _Pulled:
    """The batches of a stream, as pyarrow's.

    A generator would end silently at the first error, and threads could not share it. pyarrow drops this object at the
    end, even if other threads are in `__next__`. Their frames keep it alive.
    """

    def __init__(self, stream: _core.BatchStream, failed: Callable[[Exception], None] | None) -> None:
        self._stream = stream
        self._failed = failed
        self._lock = threading.Lock()

    def __iter__(self) -> _Pulled:
        return self

    def __next__(self) -> pa.RecordBatch:
        with self._lock:
            try:
                return pa.record_batch(next(self._stream))
            except StopIteration:
                raise
            except Exception as error:
                if self._failed is not None:
                    self._failed(error)
                    self._failed = None
                raise


def counted(
    reader: pa.RecordBatchReader, count: Callable[[int], None], end: Callable[[BaseException | None], None]
) -> pa.RecordBatchReader:
    """A reader that tells how many rows each batch of another has, and how it ended.

    Args:
        reader: The other reader.
        count: Called with the number of rows of each batch.
        end: Called once: after the last batch with None, or with the error.
    """
    return pa.RecordBatchReader.from_batches(reader.schema, _Counted(reader, count, end))


class _Counted:
    """The batches of a reader, counted."""

    def __init__(
        self,
        reader: pa.RecordBatchReader,
        count: Callable[[int], None],
        end: Callable[[BaseException | None], None],
    ) -> None:
        self._reader = reader
        self._count = count
        self._end = end
        self._lock = threading.Lock()

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> pa.RecordBatch:
        with self._lock:
            try:
                batch = self._reader.read_next_batch()
            except StopIteration:
                self._end(None)
                raise
            except BaseException as error:
                self._end(error)
                raise
            self._count(batch.num_rows)
            return batch


def pandas_rows(frame: pd.DataFrame) -> pa.Table:
    """A pandas data frame's columns. An index with a name is refused, because it would be lost."""
    _check_index(frame)
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.lib.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise _unfit(frame, error) from error


def geopandas_rows(frame: Any) -> pa.Table:
    """A GeoPandas data frame's columns. Its geometries are well-known binary with their reference system."""
    _check_index(frame)
    try:
        return pa.table(frame.to_arrow(index=False, geometry_encoding="WKB"))
    except (pa.lib.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"data: the GeoPandas data frame can't be converted to Arrow: {error}") from error


def _check_index(frame: pd.DataFrame) -> None:
    named = [str(name) for name in frame.index.names if name is not None]
    if named:
        message = f"the index {', '.join(named)} of the data frame would not be written"
        raise InvalidInputError(message, {}, "Call reset_index() to make it a column, or reset_index(drop=True)")


def _unfit(frame: pd.DataFrame, error: Exception) -> InvalidInputError:
    """The error for a data frame that pyarrow can't convert. It names the column."""
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        return InvalidInputError(f"data: the data frame has two columns '{twice}'", {"column": str(twice)})
    for name in frame.columns:
        try:
            pa.Array.from_pandas(frame[name])
        except Exception as reason:
            return InvalidInputError(
                f"data: a column of the data frame has no Arrow type: {str(reason).splitlines()[0]}",
                {"column": str(name)},
                f"Give all its values one type: frame[{name!r}] = frame[{name!r}].astype(str)",
            )
    return InvalidInputError(f"data: the data frame can't be converted to Arrow: {error}")


def column_of(array: Any) -> tuple[pa.Table, bool]:
    """A table with one column over the memory of an array, and whether that array is chunked."""
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
    """The only array of a column that was made from one array. It is empty if no batch came."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def is_table(data: Any) -> bool:
    """Whether an object is a pyarrow table or record batch."""
    return isinstance(data, (pa.Table, pa.RecordBatch))
