"""What to write in place of a value of the wrong type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from frazil.exceptions import InvalidInputError
from frazil.expr import Predicate, Term

__all__ = ["MODERN_MILLISECONDS", "check_options_of_pandas", "of_age", "of_columns", "of_filter", "of_version"]

MODERN_MILLISECONDS = range(10**12, 10**13)
"""Milliseconds since 1970 that are between 2001 and 2286. A number among them is most likely a time."""


def of_filter(filter: object, argument: str) -> str:
    """What to write in place of something that is not a filter."""
    if filter is None or isinstance(filter, bool):
        return f"Write {argument}='true' for all rows, or {argument}=\"x > 5\""
    if isinstance(filter, Term):
        return f"Compare it with a value: {argument}={filter} == 5. For a boolean column, write col('x').is_true()"
    if isinstance(filter, Mapping):
        return f"Write comparisons, combined by &: {argument}=(col('x') == 1) & (col('y') == 2)"
    if isinstance(filter, (list, tuple)) and filter:
        if all(isinstance(part, Predicate) for part in filter):
            return f"Combine them by & or |: {argument}=(col('x') > 5) & (col('y') < 2)"
        if all(isinstance(part, str) for part in filter):
            return 'Columns are given by select=[…]. Conditions are combined by `and`: "x > 5 and y < 2"'
        if all(isinstance(part, (list, tuple)) for part in filter):
            return f"Write each as a comparison, combined by &: {argument}=(col('x') == 1) & (col('y') < 2)"
    if _is_mask(filter):
        return 'A filter is a condition, not a value for each row. Filter the rows that were read, or write "x > 5"'
    if callable(filter):
        return f'A filter is a condition, not a function. Write {argument}="x > 5", or filter the rows that were read'
    return f"Write {argument}=\"x > 5\" or {argument}=col('x') > 5, or give a filter of pyarrow, Polars or PyIceberg"


def _is_mask(value: object) -> bool:
    package = type(value).__module__.partition(".")[0]
    return package in ("numpy", "pandas", "polars", "pyarrow") and hasattr(value, "__len__")


def of_columns(name: object, argument: str) -> str | None:
    """What to write in place of something that is not a column's name."""
    package = type(name).__module__.partition(".")[0]
    if package in ("polars", "pyarrow", "pyspark") and type(name).__name__ in ("Expr", "Expression", "Column"):
        return f"Give names: {argument}=['x', 'y']. Values are computed after reading, for example with Polars"
    if type(name).__name__ in ("Field", "NestedField") and hasattr(name, "name"):
        return f"Give names: {argument}=schema.names"
    if isinstance(name, (list, tuple)) and len(name) == 2 and argument == "sort_by":
        return f"Write {argument}=['x desc', 'y asc nulls last']"
    if isinstance(name, int):
        return f"Columns have names: {argument}=[schema.names[{name}]]"
    return None


def of_version(at: object, argument: str) -> str | None:
    """What to write in place of something that is not a version."""
    if isinstance(at, dt.date) or type(at).__name__ == "datetime64":
        return f"Say when: {argument}=datetime(..., tzinfo=timezone.utc)"
    if hasattr(at, "snapshot_id"):
        return f"Give its name or its snapshot: {argument}=ref.name or {argument}=ref.snapshot_id"
    if hasattr(at, "id"):
        return f"Give the snapshot's id: {argument}=snapshot.id"
    if isinstance(at, float):
        return "Ids of snapshots are integers, and a float does not have all of their digits"
    return None


def of_age(value: object, argument: str) -> str:
    """What to write in place of something that is neither a time nor an age."""
    # The parts of pandas' NaT, which is a date, are no numbers.
    if isinstance(value, dt.date) and isinstance(value.year, int):
        return f"Write {argument}=datetime({value.year}, {value.month}, {value.day}, tzinfo=timezone.utc)"
    if isinstance(value, int) and value in MODERN_MILLISECONDS:
        return f"Write {argument}=datetime.fromtimestamp({value} / 1000, timezone.utc)"
    return f"Write {argument}=datetime.timedelta(days=7), or {argument}=datetime(2026, 1, 31, tzinfo=timezone.utc)"


def check_options_of_pandas(options: Mapping[str, Any]) -> None:
    """Refuses options that pyarrow's conversion to pandas does not have.

    Raises:
        InvalidInputError: There is no such option.
    """
    import inspect

    import pyarrow as pa

    method: Callable[..., Any] = pa.Table.to_pandas
    known = inspect.signature(method).parameters
    takes_any = any(one.kind is one.VAR_KEYWORD for one in known.values())
    for name in options:
        if not takes_any and name not in known:
            hint = "The options are those of pyarrow.Table.to_pandas"
            if name == "dtype_backend":
                hint = "For types of pyarrow, write to_pandas(types_mapper=pandas.ArrowDtype)"
            elif name in ("chunksize", "batch_size", "iterator"):
                hint = "For parts, write: for batch in scan: batch.to_pandas()"
            elif name in ("columns", "usecols"):
                hint = "For columns, write scan.select(…).to_pandas()"
            raise InvalidInputError(f"to_pandas has no option '{name}'", hint=hint)
