"""Scans as lazy frames of Polars, which reads only the columns, rows and files that a query needs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from frazil.exceptions import UnsupportedError
from frazil.interop.pushdown import with_columns, with_conditions

if TYPE_CHECKING:
    from frazil.scan import Scan

__all__ = ["lazy_frame"]


def lazy_frame(scan: Scan) -> pl.LazyFrame:
    """A lazy frame over a scan."""
    try:
        from polars.io.plugins import register_io_source
    except ImportError as error:
        hint = "Install a newer one: pip install -U polars"
        raise UnsupportedError(f"Polars {pl.__version__} has no sources for lazy frames", hint=hint) from error
    schema = _frame(scan.arrow_schema.empty_table()).schema
    # The version that a scan reads never changes.
    given = {
        "schema": schema,
        "is_pure": True,
        "explain_name": "frazil",
        "explain_detail": " ".join(repr(scan).split()),
    }
    known = inspect.signature(register_io_source).parameters
    source = _Source(scan)
    return register_io_source(source, **{name: value for name, value in given.items() if name in known})


class _Source:
    """What Polars calls to read."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan

    def narrowed(
        self, columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch: int | None
    ) -> Scan:
        """The scan that reads what Polars asks for, or more."""
        scan = self._scan
        if rows is not None:
            # Polars counts rows before it filters them.
            scan = scan.limit(rows)
        elif predicate is not None:
            scan = with_conditions(scan, _conditions(predicate))
        if columns is not None:
            scan = with_columns(scan, [*columns, *([] if predicate is None else predicate.meta.root_names())])
        return scan if not batch else scan._with(options={**scan._options, "batch-rows": str(batch)})

    def __call__(
        self, columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch: int | None
    ) -> Iterator[pl.DataFrame]:
        scan = self.narrowed(columns, predicate, rows, batch)
        for read in scan.to_arrow_batch_reader():
            frame = _frame(read)
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame if columns is None else frame.select(columns)


def _conditions(predicate: pl.Expr) -> list[pl.Expr]:
    """The parts of a predicate that `&` combines. Each can be given to the scan by itself."""
    parts = predicate.meta.pop()
    if len(parts) == 2:
        for left, right in (parts, parts[::-1]):
            if predicate.meta.eq(left & right):
                return [*_conditions(left), *_conditions(right)]
    return [predicate]


class _Stream:
    """An object with nothing but an Arrow stream, so that Polars converts all kinds of data in the same way."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._data.__arrow_c_stream__(requested_schema)


def _frame(data: Any) -> pl.DataFrame:
    import pyarrow as pa

    return pl.DataFrame(_Stream(pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data))
