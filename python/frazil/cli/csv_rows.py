"""Reads CSV, in the types of a table's columns. Bytes are base64 and nested values are JSON, as in `frazil scan`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from frazil.cli.json_values import BadValueError, is_read_by_arrow, text_array

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["csv_rows"]

_Found = TypeVar("_Found")

_BLOCK = 16 << 20
"""The bytes that are read at once. A row must fit."""


def csv_rows(source: Any, schema: pa.Schema | None) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The columns of a file, and its rows.

    Args:
        source: Its path, or a stream.
        schema: The columns of the table; None if pyarrow guesses types.

    Raises:
        ValueError: The file can't be read.
    """
    import pyarrow as pa
    from pyarrow import csv

    fields = {} if schema is None else {field.name: field for field in schema}
    # pyarrow reads these as texts, and they are converted afterwards.
    texts = {name: field.type for name, field in fields.items() if not is_read_by_arrow(field.type, from_csv=True)}
    types = {name: pa.string() if name in texts else field.type for name, field in fields.items()}
    # Only an empty cell is null, and a quoted one is an empty text. `NA` is a text, and `nan` is a number.
    convert = csv.ConvertOptions(
        column_types=types,
        null_values=[""] if fields else None,
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    parse, read = csv.ParseOptions(newlines_in_values=True), csv.ReadOptions(block_size=_BLOCK)
    wait = _waited if source is sys.stdin.buffer else _direct
    reader = wait(lambda: csv.open_csv(source, read, parse, convert))
    return reader.schema, _batches(reader, texts, wait)


def _batches(reader: Any, texts: dict[str, pa.DataType], wait: Callable[[Any], Any]) -> Iterator[pa.RecordBatch]:
    """The rows of a reader, with columns of texts in their types."""
    import pyarrow as pa

    rows = 0
    while (batch := wait(lambda: next(reader, None))) is not None:
        arrays = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                arrays.append(text_array(column.to_pylist(), texts[name]) if name in texts else column)
            except BadValueError as error:
                raise ValueError(f"row {rows + error.at + 1}, column {name!r}: {error}") from error
        rows += batch.num_rows
        yield pa.RecordBatch.from_arrays(arrays, batch.schema.names)


def _direct(work: Callable[[], _Found]) -> _Found:
    return work()


def _waited(work: Callable[[], _Found]) -> _Found:
    """What a function returns, which may wait for standard input.

    It runs in a thread of its own, since pyarrow does not hear Ctrl-C while it waits.
    """
    results: list[_Found] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if errors:
        raise errors[0]
    return results[0]
