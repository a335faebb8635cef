"""Scans as tables of DataFusion. The package `frazil_datafusion` has the compiled part, and calls what is here.

DataFusion says what a query needs: columns, filters, a limit, and how many parts it reads at a time. It applies its
filters again to the rows that it gets.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from frazil.exceptions import FrazilError, UnsupportedError
from frazil.interop.pushdown import with_columns, with_conditions

if TYPE_CHECKING:
    from frazil.scan import Scan, Split

__all__ = ["Source", "table_provider"]

_OTHER_WAY = "Or register a data set, which fits all versions: context.register_dataset(name, scan.to_arrow_dataset())"

Part = tuple[Callable[[], Any], int]
"""What opens the stream of a part of a plan, and about how many rows it has."""


def table_provider(scan: Scan, session: Any) -> object:
    """The capsule by which DataFusion reads a scan.

    Raises:
        UnsupportedError: The package frazil-datafusion is not installed, or does not fit the installed DataFusion.
    """
    try:
        import frazil_datafusion

        return frazil_datafusion.table_provider(Source(scan), session)
    except ImportError as error:
        if error.name == "frazil_datafusion" and isinstance(error, ModuleNotFoundError):
            raise UnsupportedError(
                "frazil-datafusion is not installed, but tables of DataFusion need it",
                hint=f"pip install frazil-datafusion. {_OTHER_WAY}",
            ) from None
        raise UnsupportedError(str(error), hint=_OTHER_WAY) from error


class Source:
    """A scan, as `frazil_datafusion` asks for it."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        # Not pyarrow's schema: that renames parts of maps, and batches have to fit.
        self.schema = scan
        # A scan with a limit would count other rows.
        self.takes_filters = scan.row_limit is None

    def plan(
        self, columns: list[str], filters: list[str], limit: int | None, parts: int, batch_rows: int
    ) -> tuple[list[Part], int | None]:
        """The parts that have all rows of a query, and the number of rows if metadata has it exactly.

        Args:
            columns: What is read. If it is empty, rows are only counted.
            filters: What all rows fulfil that the query needs, as text. Some of them may be ignored.
            limit: The number of rows that is enough.
            parts: The largest number of parts.
            batch_rows: The most rows of a batch.
        """
        scan = with_columns(self._scan, columns or [_narrowest(self._scan.arrow_schema)])
        scan = with_conditions(scan._with(options={**scan._options, "batch-rows": str(batch_rows)}), filters)
        rows = _row_count(scan)
        scan = scan if limit is None else scan.limit(limit)
        if scan.row_limit is not None:
            # Parts can't share a limit.
            least = scan.row_limit if rows is None else min(rows, scan.row_limit)
            return [(scan._core.read, least)], None if rows is None else least
        splits = scan.plan(n=parts)
        threads = max(1, (os.cpu_count() or 1) // max(1, len(splits)))
        return [(_opener(split, threads), split.row_count) for split in splits], rows


def _opener(split: Split, threads: int) -> Callable[[], Any]:
    return lambda: split._core.read(None, False, threads)


def _row_count(scan: Scan) -> int | None:
    try:
        count = scan.statistics().row_count
    except FrazilError:
        # Logs of changes have no statistics.
        return None
    return int(count.value) if count.exact and count.value is not None else None


def _narrowest(schema: pa.Schema) -> str:
    """A column that is quickly read, for queries that need the number of rows alone."""

    def width(field: pa.Field) -> int:
        try:
            return int(field.type.bit_width)
        except ValueError:
            # Nested columns are slower than texts.
            return 1_000_000 if pa.types.is_nested(field.type) else 1_000

    return str(min(schema, key=width).name)
