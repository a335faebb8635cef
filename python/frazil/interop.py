"""The one place that imports pyarrow. The rest of Frazil imports this module when data is about to move."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from frazil import _core

__all__ = ["data_of", "reader_of", "schema_of", "table_of"]


def schema_of(source: Any) -> pa.Schema:
    """The pyarrow schema of anything with `__arrow_c_schema__`."""
    return pa.schema(source)


def table_of(batches: _core.Batches) -> pa.Table:
    """A pyarrow table over the same memory."""
    return pa.table(batches)


def reader_of(stream: _core.BatchStream) -> pa.RecordBatchReader:
    """A reader that pulls batches through Python, so that Frazil's exceptions and Ctrl-C arrive as they are."""
    return pa.RecordBatchReader.from_batches(pa.schema(stream), (pa.record_batch(batch) for batch in stream))


def data_of(data: Any) -> Any:
    """`data` in a form that has an Arrow stream: pandas data frames lose their index, all else stays as it is."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return pa.Table.from_pandas(data, preserve_index=False)
    return data
