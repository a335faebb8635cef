"""PyIceberg's part of the benchmark of row changes: prints the seconds that one took. Its catalog is a
temporary one, so that the table stays as it is."""

import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog


def main() -> None:
    location, what = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as scratch:
        catalog = SqlCatalog("bench", uri=f"sqlite:///{Path(scratch)}/c.db", warehouse=f"file://{scratch}")
        catalog.create_namespace("db")
        table = catalog.register_table("db.t", location)
        if what == "delete":
            start = time.perf_counter()
            table.delete("p = 7")
        else:
            count, step = int(sys.argv[3]), int(sys.argv[4])
            ids = pa.array(range(5, 5 + count * step, step), pa.int64())
            rows = pa.table({"id": ids, "name": ["new"] * count, "v": ids})
            start = time.perf_counter()
            table.upsert(rows, join_cols=["id"])
        print(time.perf_counter() - start)


if __name__ == "__main__":
    main()
