"""Rows from what holds or makes batches: readers, datasets, lazy frames, lists and generators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil.exceptions import FrazilError, InvalidInputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["BatchReader", "lazy_rows", "opened", "read_before", "rows_of_batches"]


class BatchReader:
    """Record batches one after another, with what the core asks of a reader."""

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self.schema = schema
        self._batches = batches
        self._failed: Exception | None = None

    def read_next_batch(self) -> pa.RecordBatch:
        """The next batch.

        Raises:
            StopIteration: There are no more.
            InvalidInputError: pyarrow can't make the batch.
        """
        if self._failed is not None:
            raise self._failed
        try:
            return next(self._batches)
        except StopIteration:
            raise
        except pa.lib.ArrowException as error:
            self._failed = _unreadable(error)
            raise self._failed from error
        except Exception as error:
            # A generator ends at its first error. Whoever asks again must not take that for the end of the rows.
            self._failed = error
            raise


def _unreadable(error: Exception) -> InvalidInputError:
    return InvalidInputError(f"data: the rows can't be read: {error}")


def read_before(reader: Any) -> BatchReader:
    """The rest of a reader. A reader without batches is refused, since it may have been read before.

    Raises:
        InvalidInputError: The reader has no batches, or is closed.
    """
    try:
        first = reader.read_next_batch()
    except StopIteration:
        raise InvalidInputError(
            "data: the reader has no batches: it was read before, or it is empty",
            hint="Make a new reader. If there may be no rows, give reader.read_all() or a table: these can be empty",
        ) from None
    except pa.lib.ArrowException as error:
        raise _unreadable(error) from error

    def batches() -> Iterator[pa.RecordBatch]:
        yield first
        while True:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            yield batch

    return BatchReader(reader.schema, batches())


def opened(source: Any) -> BatchReader:
    """The rows of a pyarrow dataset or scanner."""
    try:
        reader = source.to_reader() if hasattr(source, "to_reader") else source.scanner().to_reader()
    except pa.lib.ArrowException as error:
        raise _unreadable(error) from error
    return BatchReader(reader.schema, iter(reader))


def lazy_rows(frame: pl.LazyFrame) -> Any:
    """The rows of a lazy frame of polars. Newer versions give them batch by batch, older ones as a whole."""
    if not hasattr(frame, "collect_batches"):
        return frame.collect()
    empty = frame.collect_schema().to_frame()
    batches = (batch for part in frame.collect_batches() for batch in _batches_of(part))
    return BatchReader(pa.table(empty).schema, batches)


def rows_of_batches(items: Iterable[Any], checked: Callable[[Any], Any]) -> BatchReader:
    """The rows of several objects with rows: batches, tables or data frames.

    Args:
        items: The objects. All have the same columns.
        checked: Refuses what has no rows, and returns the rows of the others.

    Raises:
        InvalidInputError: There are no objects, one has no rows, or the columns of one differ from the first.
    """
    source = iter(items)
    try:
        first = next(source)
    except StopIteration:
        raise InvalidInputError(
            "data: there is no batch, so the columns are unknown",
            hint="A generator may have been read before. To write no rows, give a table with columns and no rows",
        ) from None
    start = _reader_of(checked(first))
    schema = start.schema.remove_metadata()

    def batches() -> Iterator[pa.RecordBatch]:
        yield from start
        for number, item in enumerate(source, 2):
            reader = _reader_of(checked(item))
            if reader.schema.remove_metadata().equals(schema):
                yield from reader
            elif _kinds(reader.schema) == _kinds(schema):
                # Libraries differ in how they lay out texts.
                yield from reader.cast(start.schema)
            else:
                raise InvalidInputError(
                    f"data: the columns of batch {number} differ from those of the first: "
                    f"{_listed(reader.schema)} instead of {_listed(schema)}",
                    hint="Give all batches the same columns and types, or write them one by one in a transaction",
                )

    return BatchReader(start.schema, batches())


def _kinds(schema: pa.Schema) -> list[tuple[str, str]]:
    """Names and types of columns, without the layouts of texts."""
    return [(field.name, str(field.type).replace("large_", "").replace("_view", "")) for field in schema]


def _listed(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def _reader_of(rows: Any) -> Any:
    try:
        if isinstance(rows, BatchReader):
            return pa.RecordBatchReader.from_batches(rows.schema, rows._batches)
        if hasattr(rows, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(rows)
        batch = pa.record_batch(rows)
        return pa.RecordBatchReader.from_batches(batch.schema, [batch])
    except FrazilError:
        raise
    except (pa.lib.ArrowException, TypeError, ValueError) as error:
        raise _unreadable(error) from error


def _batches_of(rows: Any) -> Iterator[pa.RecordBatch]:
    yield from pa.RecordBatchReader.from_stream(rows)
