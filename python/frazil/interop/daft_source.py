"""Scans as data sources of Daft."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import daft
from daft.io.source import DataSource, DataSourceTask
from daft.recordbatch import RecordBatch
from daft.schema import Schema

from frazil.interop.pushdown import with_columns

if TYPE_CHECKING:
    from frazil.scan import Scan, Split

__all__ = ["frame"]


def frame(scan: Scan) -> daft.DataFrame:
    """A DataFrame over a scan."""
    frame: daft.DataFrame = _Source(scan).read()
    return frame if scan.row_limit is None else frame.limit(scan.row_limit)


class _Source(DataSource):  # type: ignore[misc]
    """A scan. Daft applies filters and limits itself; it asks for columns."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan

    @property
    def name(self) -> str:
        """The name in Daft's plans."""
        return "frazil"

    @property
    def schema(self) -> Schema:
        """The schema of the rows."""
        return Schema.from_pyarrow_schema(self._scan.arrow_schema)

    async def get_tasks(self, pushdowns: Any) -> AsyncIterator[DataSourceTask]:
        """A task for each split of the plan."""
        scan = self._scan
        if pushdowns is not None and pushdowns.columns:
            filtered = pushdowns.filter_required_column_names() if pushdowns.filters is not None else set()
            scan = with_columns(scan, [*pushdowns.columns, *sorted(set(filtered) - set(pushdowns.columns))])
        for split in scan.plan():
            yield _Task(split)


class _Task(DataSourceTask):  # type: ignore[misc]
    """A split. It can be pickled."""

    def __init__(self, split: Split) -> None:
        self._split = split

    @property
    def schema(self) -> Schema:
        """The schema of the rows."""
        return Schema.from_pyarrow_schema(self._split.schema.to_arrow())

    async def read(self) -> AsyncIterator[RecordBatch]:
        """The rows as batches."""
        for batch in self._split.to_arrow_batch_reader():
            yield RecordBatch.from_arrow_record_batches([batch], batch.schema)
