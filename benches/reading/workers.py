"""Readers in processes of their own: each reads lines of JSON and answers with a line of JSON.

    python benches/reading/workers.py (frazil | frazil-stream | frazil-unordered | pyarrow | duckdb | polars | ...)

A request has `table` (its folder), `data` (the folder of its data files, none if deletes apply), `columns`, `filter`.
A read is cold: the table is opened again. It ends with the rows in Arrow's form in memory, or after every batch of a
stream. Files are in the page cache. Imports are not timed; they are inside the functions, since each worker has only
its own library. Between reads memory is given back to the system, so that idle readers don't crowd the busy one.
"""

import ctypes
import gc
import glob
import inspect
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Request = dict[str, Any]
# Gives what has `num_rows`, or the rows themselves.
Read = Callable[[Request], Any]


def newest_metadata(table: str) -> str:
    """The newest metadata file of a Hadoop table."""
    with open(f"{table}/metadata/version-hint.text") as hint:
        return f"{table}/metadata/v{hint.read().strip()}.metadata.json"


def files(request: Request) -> list[str]:
    """The table's Parquet files.

    Raises:
        NotImplementedError: If deletes apply to them.
    """
    if not request["data"]:
        raise NotImplementedError("it reads Parquet files, which know of no deletes")
    return sorted(glob.glob(f"{request['data']}/*.parquet"))


def sql(filter: list[Any]) -> str:
    return " ".join(map(str, filter))


def frazil_scan(request: Request) -> Any:
    import frazil as fz

    filter = request["filter"]
    return fz.open_table(request["table"]).scan(filter and sql(filter), select=request["columns"])


def frazil() -> Read:
    import pyarrow  # noqa: F401 - Frazil imports it with its first table

    return lambda request: frazil_scan(request).to_arrow()


def streamed(reader: Any) -> int:
    """Rows of a stream. Each batch is dropped before the next."""
    return sum(batch.num_rows for batch in reader)


def frazil_stream() -> Read:
    import pyarrow  # noqa: F401

    return lambda request: streamed(frazil_scan(request).to_arrow_batch_reader())


def frazil_unordered() -> Read:
    """The stream in whatever order files are done, where the installed Frazil offers it."""
    import pyarrow  # noqa: F401

    from frazil.scan import Scan

    if "ordered" not in inspect.signature(Scan.to_arrow_batch_reader).parameters:
        raise NotImplementedError("this Frazil has no unordered stream")
    return lambda request: streamed(frazil_scan(request).to_arrow_batch_reader(ordered=False))


def pyarrow_dataset() -> Read:
    import pyarrow.dataset as ds

    def read(request: Request) -> Any:
        filter = None
        if request["filter"]:
            column, operator, value = request["filter"]
            filter = ds.field(column) < value if operator == "<" else ds.field(column) == value
        return ds.dataset(files(request)).to_table(columns=request["columns"], filter=filter)

    return read


def duckdb() -> Read:
    import duckdb as db
    import duckdb_extension_avro
    import duckdb_extension_iceberg

    connection = db.connect(config={"allow_unsigned_extensions": "true"})
    for package in (duckdb_extension_avro, duckdb_extension_iceberg):
        folder = os.path.dirname(package.__file__ or "")
        (file,) = glob.glob(f"{folder}/extensions/*/*.duckdb_extension")
        connection.execute(f"load '{file}'")

    def read(request: Request) -> Any:
        columns = ", ".join(request["columns"] or ["*"])
        rows = f"read_parquet({files(request)})" if request["data"] else f"iceberg_scan('{metadata(request)}')"
        where = f" where {sql(request['filter'])}" if request["filter"] else ""
        return connection.execute(f"select {columns} from {rows}{where}").to_arrow_table()

    return read


def metadata(request: Request) -> str:
    return newest_metadata(request["table"])


def polars() -> Read:
    import polars as pl

    def read(request: Request) -> Any:
        frame = pl.scan_parquet(files(request)) if request["data"] else pl.scan_iceberg(metadata(request))
        if request["filter"]:
            column, operator, value = request["filter"]
            frame = frame.filter(pl.col(column) < value if operator == "<" else pl.col(column) == value)
        if request["columns"]:
            frame = frame.select(request["columns"])
        return frame.collect().to_arrow(compat_level=pl.CompatLevel.newest())

    return read


def daft() -> Read:
    os.environ |= {"DO_NOT_TRACK": "true", "DAFT_PROGRESS_BAR": "0"}
    import daft as df
    from pyiceberg.table import StaticTable

    def read(request: Request) -> Any:
        if request["data"]:
            frame = df.read_parquet(files(request))
        else:
            frame = df.read_iceberg(StaticTable.from_metadata(metadata(request)))
        if request["filter"]:
            column, operator, value = request["filter"]
            frame = frame.where(df.col(column) < value if operator == "<" else df.col(column) == value)
        if request["columns"]:
            frame = frame.select(*request["columns"])
        return frame.to_arrow()

    return read


def pyiceberg() -> Read:
    from pyiceberg.expressions import AlwaysTrue, EqualTo, LessThan
    from pyiceberg.table import StaticTable

    def read(request: Request) -> Any:
        filter = AlwaysTrue()
        if request["filter"]:
            column, operator, value = request["filter"]
            filter = (LessThan if operator == "<" else EqualTo)(column, value)
        fields = tuple(request["columns"] or ["*"])
        table = StaticTable.from_metadata(metadata(request))
        return table.scan(row_filter=filter, selected_fields=fields).to_arrow()

    return read


ENGINES: dict[str, Callable[[], Read]] = {
    "frazil": frazil,
    "frazil-stream": frazil_stream,
    "frazil-unordered": frazil_unordered,
    "pyarrow": pyarrow_dataset,
    "duckdb": duckdb,
    "polars": polars,
    "daft": daft,
    "pyiceberg": pyiceberg,
}


def release() -> None:
    """Gives freed memory back to the system."""
    gc.collect()
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)


def answer(read: Read, request: Request) -> dict[str, Any]:
    started = time.perf_counter()
    try:
        found = read(request)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:160]}
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "rows": getattr(found, "num_rows", found)}


def main() -> None:
    read = ENGINES[sys.argv[1]]()
    said = os.dup(1)  # what a library prints does not belong into the answers
    os.dup2(2, 1)
    with os.fdopen(said, "w", buffering=1) as answers:
        for line in sys.stdin:
            answers.write(json.dumps(answer(read, json.loads(line))) + "\n")
            release()


if __name__ == "__main__":
    main()
