"""Writes rows to standard output while they are read: table, CSV, JSON lines, Parquet, Arrow stream.

Only one batch is in memory. A reader that closes the pipe (`| head`) ends the work at once.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import click

from frazil.cli import json_text, output
from frazil.display.figures import plain

if TYPE_CHECKING:
    import pyarrow as pa

    from frazil.scan import Scan

__all__ = ["FORMATS", "write_rows"]

FORMATS = ("table", "csv", "jsonl", "parquet", "arrow")
_BINARY = ("parquet", "arrow")
_FIRST_ROWS = 50
"""The rows that are written before a batch is written as a whole, so that the first ones come soon."""

_TORN = b"\xff\xff\xff\xff\x10\0\0\0"
"""The head of an Arrow message of 16 bytes that do not follow. Readers take a stream without an end as a whole one."""


class _Sink(Protocol):
    """Where encoded rows go."""

    def write(self, data: Any) -> int: ...

    def flush(self) -> None: ...


class _Shown:
    """A terminal that gets no characters that act on it: values come from tables. Lines stay as they are."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        # A write may end within a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: Any) -> int:
        text = self._decoder.decode(bytes(data))
        self._sink.write("".join(c if c == "\n" else plain(c) for c in text).encode("utf-8"))
        return len(data)

    def flush(self) -> None:
        self._sink.flush()


class _Ending:
    """A stream that drops what is written after `end`.

    Writers of Parquet and Arrow write a footer or an end of the stream as soon as they are closed or freed. After an
    error these bytes would make a whole file of a part of the rows.
    """

    closed = False

    def __init__(self, sink: _Sink) -> None:
        self._sink = sink
        self._ended = False

    def write(self, data: Any) -> int:
        return len(data) if self._ended else self._sink.write(data)

    def flush(self) -> None:
        if not self._ended:
            self._sink.flush()

    def end(self, last: bytes) -> None:
        """Lets no more bytes through than the last ones."""
        self._ended = True
        with suppress(OSError):
            self._sink.write(last)
            self._sink.flush()


def write_rows(scan: Scan, form: str | None, as_json: bool) -> None:
    """Writes the rows of a scan.

    Args:
        scan: The scan.
        form: One of `FORMATS`; None decides by the stream: a table for a terminal, CSV for pipes and files.
        as_json: Whether JSON lines are wanted if `form` is None.
    """
    if as_json and form not in (None, "jsonl"):
        raise click.UsageError(f"--json prints JSON lines: leave it out, or leave out --format {form}")
    is_terminal = sys.stdout.isatty()
    if form is None:
        form = "jsonl" if as_json else "table" if is_terminal else "csv"
    if form in _BINARY and is_terminal:
        raise click.UsageError(f"{form} is not text: redirect it to a file or a pipe")
    reader = scan.to_arrow_batch_reader(ordered=True)
    if form == "table":
        output.grid(reader.schema.names, _tuples(reader))
        return
    sink = _Ending(_Shown(sys.stdout.buffer) if is_terminal else sys.stdout.buffer)
    try:
        _WRITERS[form](reader, sink)
    except BaseException:
        sink.end(_TORN if form == "arrow" else b"")
        raise
    sink.flush()


def _tuples(reader: pa.RecordBatchReader) -> Iterator[list[Any]]:
    for batch in _small(reader):
        columns = [column.to_pylist(maps_as_pydicts="lossy") for column in batch.columns]
        for at in range(batch.num_rows):
            yield [column[at] for column in columns]


def _small(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches in slices, whose Python objects take little memory. The first slice is small."""
    rows = _FIRST_ROWS
    for batch in reader:
        start = 0
        while start < batch.num_rows:
            yield batch.slice(start, rows)
            start, rows = start + rows, 2000


def _jsonl(reader: pa.RecordBatchReader, sink: _Sink) -> None:
    for batch in _small(reader):
        text = "".join(json_text.line(row) + "\n" for row in json_text.objects(batch))
        sink.write(text.encode("utf-8"))
        sink.flush()


def _csv(reader: pa.RecordBatchReader, sink: _Sink) -> None:
    import pyarrow as pa
    from pyarrow import csv

    # Columns that CSV has no form for become texts.
    schema = pa.schema([pa.field(f.name, f.type if _is_plain(f.type) else pa.string()) for f in reader.schema])
    with csv.CSVWriter(sink, schema) as writer:
        for batch in _cut(reader):
            columns = [
                column
                if _is_plain(column.type)
                else pa.array(map(_csv_text, column.to_pylist(maps_as_pydicts="lossy")), pa.string())
                for column in batch.columns
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            sink.flush()


def _cut(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches, with the first rows of the first one alone."""
    is_first = True
    for batch in reader:
        if is_first and batch.num_rows > _FIRST_ROWS:
            yield batch.slice(0, _FIRST_ROWS)
            batch = batch.slice(_FIRST_ROWS)
        is_first = False
        yield batch


def _is_plain(type_: pa.DataType) -> bool:
    from pyarrow import types

    if types.is_dictionary(type_) or types.is_nested(type_) or types.is_temporal(type_):
        return bool(types.is_date32(type_))
    return any(
        is_kind(type_)
        for is_kind in (types.is_integer, types.is_floating, types.is_boolean, types.is_string, types.is_large_string)
    )


def _csv_text(value: Any) -> str | None:
    return None if value is None else value if isinstance(value, str) else json_text.plain_text(value)


def _parquet(reader: pa.RecordBatchReader, sink: _Sink) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([_with_nullable_members(field) for field in reader.schema])
    # Without `with`, which would write the footer after an error too.
    writer = parquet.ParquetWriter(sink, schema)
    for batch in reader:
        writer.write_table(pa.Table.from_batches([batch]).cast(schema))
    writer.close()


def _with_nullable_members(field: pa.Field) -> pa.Field:
    """A column whose structs have no required members: pyarrow does not write a null struct that has one."""
    import pyarrow as pa
    from pyarrow import types

    kind = field.type
    if types.is_struct(kind):
        members = [kind.field(at) for at in range(kind.num_fields)]
        return field.with_type(pa.struct([_with_nullable_members(member).with_nullable(True) for member in members]))
    if types.is_list(kind):
        return field.with_type(pa.list_(_with_nullable_members(kind.value_field)))
    if types.is_map(kind):
        return field.with_type(pa.map_(kind.key_field, _with_nullable_members(kind.item_field)))
    return field


def _arrow(reader: pa.RecordBatchReader, sink: _Sink) -> None:
    import pyarrow as pa

    # Without `with`, which would write the end of the stream after an error too.
    writer = pa.ipc.new_stream(sink, reader.schema)
    for batch in _cut(reader):
        writer.write_batch(batch)
        sink.flush()
    writer.close()


_WRITERS: dict[str, Callable[[Any, _Sink], None]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "arrow": _arrow,
}
