"""Rows that users give: checked, and in a form that the core can read.

The libraries that rows come from are recognised without importing them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import MethodType
from typing import Any

from frazil.exceptions import InvalidInputError

__all__ = ["refuse_objects", "rows"]

_STREAMS = ("__arrow_c_stream__", "__arrow_c_array__", "read_next_batch")

_WAYS = {
    "frazil.Table": "Give its rows: table.scan()",
    "frazil.Split": "Give its rows: split.to_arrow()",
    "pyiceberg.Table": "Give its rows: table.scan().to_arrow_batch_reader()",
    "pyiceberg.DataScan": "Give its rows: scan.to_arrow_batch_reader()",
    "deltalake.DeltaTable": "Give its rows: table.to_pyarrow_table()",
    "pyarrow.Schema": "Give rows. A table of these columns without rows: schema.empty_table()",
    "pyarrow.ParquetFile": "Give its rows: file.read(). To take the file into the table, call table.add_files([path])",
    "pyspark.DataFrame": "Call frazil.spark.append(frame, table) or upsert(frame, table), or give frame.toArrow()",
    "duckdb.DuckDBPyConnection": "Give a query: connection.sql('…')",
    "numpy.ndarray": "Give names to its columns: pyarrow.table({'name': array})",
    "polars.DataTypeExpr": "Give a data frame",
}
"""What to call instead, by the package and class of what was given."""

_COLUMNS = {
    "polars.Series": "series.to_frame('name')",
    "pandas.Series": "series.to_frame('name')",
    "pandas.Index": "index.to_frame(name='name')",
    "pyarrow.Array": "pyarrow.table({'name': array})",
    "pyarrow.ChunkedArray": "pyarrow.table({'name': array})",
}
"""How single columns become rows."""


def rows(data: Any) -> Any:
    """Rows with an Arrow stream.

    Tables, data frames and readers are taken, and so are lazy frames of polars, datasets and scanners of pyarrow, and
    lists or iterators of batches.

    Raises:
        InvalidInputError: The object has no rows. The error says what to call.
    """
    known = _known_as(data)
    if isinstance(data, type) or known in _WAYS:
        raise _refusal(data, known)
    if known in ("pandas.DataFrame", "geopandas.GeoDataFrame"):
        from frazil import interop

        return interop.geopandas_rows(data) if known.startswith("geopandas") else interop.pandas_rows(data)
    if known == "polars.LazyFrame":
        from frazil import interop

        refuse_objects(data.collect_schema())
        return interop.lazy_rows(data)
    if known == "polars.DataFrame":
        refuse_objects(data.schema)
    if known in _COLUMNS and not _is_struct(data):
        raise InvalidInputError(f"data: a {known} is one column, not rows", hint=f"Write {_COLUMNS[known]}")
    if known == "pyarrow.dataset":
        from frazil import interop

        return interop.opened(data)
    if hasattr(data, "read_next_batch"):
        from frazil import interop

        return data if isinstance(data, interop.BatchReader) else interop.read_before(data)
    if any(hasattr(data, name) for name in _STREAMS):
        return _with_default(data)
    if isinstance(data, (list, tuple, Iterator)) and not isinstance(data, (str, bytes)):
        return _rows_of_several(data)
    raise _refusal(data, known)


def _rows_of_several(data: Any) -> Any:
    import inspect

    from frazil import interop

    if inspect.isgenerator(data) and inspect.getgeneratorstate(data) == inspect.GEN_SUSPENDED:
        raise InvalidInputError(
            "data: the generator was started before, so its first rows would be missing",
            hint="Make a new generator, or give the batch that was taken, too: itertools.chain([first], generator). "
            "To write the rest alone, give list(generator)",
        )

    def checked(item: Any) -> Any:
        if isinstance(item, Mapping):
            raise InvalidInputError(
                "data: dictionaries have no Arrow types",
                hint="Write pyarrow.Table.from_pylist(rows, schema=table.schema.to_arrow())",
            )
        if not any(hasattr(item, name) for name in (*_STREAMS, "collect_schema")):
            raise InvalidInputError(
                f"data: a list or iterator must have batches, tables or data frames, not {_shown(item)}",
                hint="Write pyarrow.table({'name': values}), or RecordBatchReader.from_batches(schema, batches)",
            )
        return rows(item)

    return interop.rows_of_batches(data, checked)


def refuse_objects(schema: Any) -> None:
    """Refuses columns of Python objects in a schema of polars. It would give their addresses in memory.

    Raises:
        InvalidInputError: A column, or a part of one, has the type Object.
    """
    for name, kind in schema.items():
        if "Object" in str(kind).replace("(", " ").replace(")", " ").replace(",", " ").replace("}", " ").split():
            raise InvalidInputError(
                "data: a column of polars has the type Object, and Python objects can't be written",
                {"column": str(name)},
                "Convert the column, for example with pl.col(name).map_elements(str, return_dtype=pl.String)",
            )


def _known_as(data: Any) -> str:
    """The package and class of an object, as users know them."""
    for kind in type(data).__mro__:
        package = kind.__module__.partition(".")[0]
        if kind.__module__.startswith("pyarrow._dataset") and kind.__name__ in ("Dataset", "Scanner"):
            return "pyarrow.dataset"
        name = "DuckDBPyConnection" if package == "_duckdb" else kind.__name__
        known = f"{package.lstrip('_')}.{name}"
        if known in _WAYS or known in _COLUMNS or known in _TAKEN:
            return known
    return ""


_TAKEN = {"geopandas.GeoDataFrame", "pandas.DataFrame", "polars.DataFrame", "polars.LazyFrame"}


def _is_struct(data: Any) -> bool:
    kind = getattr(data, "type", None) or getattr(data, "dtype", None)
    return str(kind).lower().startswith("struct")


class _Stream:
    """An object whose `__arrow_c_stream__` wants its argument, such as the data frames of polars 1.3."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._data.__arrow_c_stream__(requested_schema)


def _with_default(data: Any) -> Any:
    method = getattr(data, "__arrow_c_stream__", None)
    if not isinstance(method, MethodType):
        return data
    # Libraries of data frames have loaded it. Importing Frazil must not.
    import inspect

    asked = list(inspect.signature(method).parameters.values())
    return _Stream(data) if asked and asked[0].default is inspect.Parameter.empty else data


def _refusal(data: Any, known: str) -> InvalidInputError:
    if isinstance(data, type):
        hint = "Give an object of the class, with rows"
    elif known in _WAYS:
        hint = _WAYS[known]
    elif isinstance(data, Mapping):
        hint = "Write pyarrow.table(data)"
    elif isinstance(data, (str, os.PathLike)):
        hint = (
            "Read the file: pyarrow.parquet.read_table(path). To take it into the table, call table.add_files([path])"
        )
    elif hasattr(data, "to_arrow"):
        hint = "Write data.to_arrow()"
    elif hasattr(data, "to_pyarrow"):
        hint = "Write data.to_pyarrow()"
    else:
        hint = "Give an object with __arrow_c_stream__: pyarrow, polars, duckdb, pandas"
    return InvalidInputError(f"data: rows can't be read from {_shown(data)}", hint=hint)


def _shown(data: Any) -> str:
    if data is None:
        return "None"
    kind = type(data)
    package = kind.__module__.partition(".")[0]
    name = kind.__qualname__ if package == "builtins" else f"{package.lstrip('_')}.{kind.__qualname__}"
    return f"the class '{data.__qualname__}'" if isinstance(data, type) else f"a '{name}'"
