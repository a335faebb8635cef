"""Reads files whose rows are appended: Parquet, CSV, JSON lines, Arrow. Only a few batches are in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

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
    from pyarrow import csv, parquet

    source: Any = sys.stdin.buffer if file.path == _STDIN else file.path
    if file.encoding == "parquet":
        read = parquet.ParquetFile(pa.BufferReader(source.read()) if file.path == _STDIN else source)
        return read.schema_arrow, read.iter_batches()
    if file.encoding == "csv":
        types = None if schema is None else dict(zip(schema.names, schema.types, strict=True))
        # An empty cell of a text column is null unless it is quoted.
        convert = csv.ConvertOptions(column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False)
        reader = csv.open_csv(source, convert_options=convert)
        return reader.schema, reader
    if file.encoding == "arrow":
        return _arrow(source)
    return _json_lines(source, schema)


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


def _json_lines(source: Any, schema: pa.Schema | None) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    import pyarrow as pa
    from pyarrow import json

    # pyarrow reads no maps from JSON.
    known = [] if schema is None else [field for field in schema if "map<" not in str(field.type)]
    parse = json.ParseOptions(explicit_schema=pa.schema(known)) if known else None
    # pyarrow before version 20 has no stream.
    read = getattr(json, "open_json", None)
    if read is None:
        rows = json.read_json(source, parse_options=parse)
        return rows.schema, rows.to_batches()
    reader = read(source, parse_options=parse)
    return reader.schema, reader


class _readable:  # noqa: N801
    """A block that reads a file of the user: what pyarrow says becomes an error of the command line."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (ValueError, KeyError, OSError)) and not isinstance(error, (FrazilError, BrokenPipeError)):
            raise InvalidInputError("a file can't be read", {"path": self._path, "reason": str(error)}) from error
