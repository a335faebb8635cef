"""Reads files whose rows are appended: Parquet, CSV, JSON lines, Arrow. Only a few batches are in memory.

pyarrow reads of JSON lines what it can. A block that it refuses is read line by line, which knows more forms: `"NaN"`,
times of day, maps. This is about 10 times as slow. The errors of such a block name the line and the column.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from frazil.cli.csv_rows import csv_rows
from frazil.cli.json_values import BadValueError, array_of, is_read_by_arrow, object_of
from frazil.exceptions import FrazilError, InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMATS", "DataSource", "batches_of", "described", "schema_of_file", "with_rows"]

FORMATS = ("parquet", "csv", "json", "arrow")
_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_STDIN = "-"
_BLOCK = 4 << 20
"""The bytes of a block of JSON lines. It ends with a line, so one of long lines is larger."""
_REFUSED = (ValueError, KeyError, OSError, NotImplementedError)
"""How pyarrow and Python say that they can't read a file."""


class DataSource(NamedTuple):
    """A file whose rows are appended.

    Attributes:
        path: Its path; `-` is standard input.
        encoding: One of `FORMATS`.
        bytes: Its size; None for standard input.
        rows: The number of its rows, if its footer says it.
    """

    path: str
    encoding: str
    bytes: int | None
    rows: int | None


def described(path: str, form: str | None) -> DataSource:
    """What a file is, before its rows are read."""
    if path == _STDIN:
        if form is None:
            raise click.UsageError("for standard input, give --format")
        return DataSource(path, form, None, None)
    if Path(path).is_dir():
        raise click.UsageError(f"'{path}' is a folder: give the files in it")
    if not Path(path).exists():
        raise click.UsageError(f"there is no file '{path}'")
    if not Path(path).is_file():
        raise click.UsageError(
            f"'{path}' is a pipe or a device: give - and --format, and send the rows to standard input"
        )
    found = form or _SUFFIXES.get(Path(path).suffix.lower())
    if found is None:
        raise click.UsageError(f"the suffix of '{path}' does not say its format: give --format")
    return DataSource(path, found, Path(path).stat().st_size, _rows(path) if found == FORMATS[0] else None)


def _rows(path: str) -> int:
    from pyarrow import parquet

    with _readable(path):
        rows: int = parquet.read_metadata(path).num_rows
    return rows


def schema_of_file(path: str) -> pa.Schema:
    """The columns of a data file."""
    with _readable(path):
        return _opened(described(path, None), None)[0]


def batches_of(files: Iterable[DataSource], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of files.

    Args:
        files: The files.
        schema: The table's columns: their types are those of CSV and JSON.
    """
    for file in files:
        with _readable(file.path):
            yield from _opened(file, schema)[1]


def with_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches, from the first one that has rows.

    Raises:
        click.UsageError: None has rows.
    """
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        raise click.UsageError("there is nothing to add: the files have no rows")
    return chain((first,), batches)


def _opened(file: DataSource, schema: pa.Schema | None) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """The columns of a file, and its batches."""
    import pyarrow as pa
    from pyarrow import parquet

    source: Any = sys.stdin.buffer if file.path == _STDIN else file.path
    if file.encoding == "parquet":
        read = parquet.ParquetFile(pa.BufferReader(source.read()) if file.path == _STDIN else source)
        return read.schema_arrow, read.iter_batches()
    if file.encoding == "csv":
        return csv_rows(source, schema)
    if file.encoding == "arrow":
        return _arrow(source)
    if schema is None:
        return _json_schema(source), ()
    return schema, _json_batches(source, schema)


def _arrow(source: Any) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """A stream or a file of Arrow."""
    import pyarrow as pa

    if isinstance(source, str):
        with Path(source).open("rb") as start:
            is_file = start.read(6) == b"ARROW1"
        if is_file:
            file = pa.ipc.open_file(pa.memory_map(source))
            return file.schema, (file.get_batch(at) for at in range(file.num_record_batches))
        source = pa.memory_map(source)
    stream = pa.ipc.open_stream(source)
    return stream.schema, stream


def _json_schema(source: Any) -> pa.Schema:
    """The columns of the first block of a file, as pyarrow guesses their types."""
    from pyarrow import json

    with _stream_of(source) as stream:
        _, block = next(_blocks(stream), (1, b""))
    schema: pa.Schema = json.read_json(io.BytesIO(block)).schema
    return schema


def _json_batches(source: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a file.

    Args:
        source: Its path, or a stream.
        schema: The columns of the table.

    Raises:
        ValueError: A line is not an object with values of these columns.
    """
    is_fast = all(_is_day(field) or is_read_by_arrow(field.type, from_csv=False) for field in schema)
    with _stream_of(source) as stream:
        for line, block in _blocks(stream):
            # pyarrow keeps bytes that are not text.
            text = block.decode("utf-8")
            batches = _by_arrow(block, schema) if is_fast else None
            yield from _by_lines(text, line, schema) if batches is None else batches


def _stream_of(source: Any) -> AbstractContextManager[BinaryIO]:
    """A block with a stream of a path. A stream that is given stays open."""
    return Path(source).open("rb") if isinstance(source, str) else nullcontext(source)


def _blocks(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines of a stream in blocks, each with the number of its first line."""
    line, mark = 1, b"\xef\xbb\xbf"
    while block := stream.read(_BLOCK):
        block += stream.readline()
        if line == 1:
            block = block.removeprefix(mark)
            if block.lstrip()[:1] == b"[":
                raise ValueError("it is a JSON list. Write one object a line, as `jq -c '.[]' FILE` does")
        if block.strip():
            yield line, block
        line += block.count(b"\n")


def _by_arrow(block: bytes, schema: pa.Schema) -> list[pa.RecordBatch] | None:
    """The rows of a block. None if pyarrow does not read them."""
    import pyarrow as pa
    from pyarrow import json

    # pyarrow reads days as numbers only, and makes days of texts afterwards.
    read_as = pa.schema([field.with_type(pa.string()) if _is_day(field) else field for field in schema])
    parse = json.ParseOptions(explicit_schema=read_as)
    try:
        rows = json.read_json(io.BytesIO(block), json.ReadOptions(block_size=len(block) + 1), parse)
        for field in filter(_is_day, schema):
            at = rows.schema.get_field_index(field.name)
            rows = rows.set_column(at, field, rows.column(at).cast(field.type))
    except pa.ArrowException:
        return None
    batches: list[pa.RecordBatch] = rows.to_batches()
    return batches


def _is_day(field: pa.Field) -> bool:
    import pyarrow as pa

    return bool(field.type == pa.date32())


def _by_lines(text: str, first: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a block. Each line is read alone."""
    import pyarrow as pa

    rows, lines = [], []
    for number, line in enumerate(text.split("\n"), first):
        if not line.strip():
            continue
        try:
            rows.append(object_of(line))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
        lines.append(number)
    arrays = []
    for field in schema:
        try:
            arrays.append(array_of((row.get(field.name) for row in rows), field.type, not field.nullable))
        except BadValueError as error:
            raise ValueError(f"line {lines[error.at]}, column {field.name!r}: {error}") from error
    # The table says what is wrong with columns that it does not have.
    others = list(dict.fromkeys(name for name in chain.from_iterable(rows) if name not in schema.names))
    arrays += [pa.nulls(len(rows)) for _ in others]
    yield pa.RecordBatch.from_arrays(arrays, [*schema.names, *others])


class _readable:  # noqa: N801
    """A block that reads a file of the user: what pyarrow says becomes an error of the command line."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _REFUSED) and not isinstance(error, (FrazilError, BrokenPipeError)):
            raise InvalidInputError("a file can't be read", {"path": self._path, "reason": str(error)}) from error
