"""PyIceberg's part of the benchmark of row changes: prints the seconds that one took. Nothing is published, so that the
table stays as it is."""

import sys
import time
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.table import CommitTableResponse, StaticTable, Table
from pyiceberg.table.update import update_table_metadata


class Forgetful(NoopCatalog):
    """Takes commits and keeps none."""

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        metadata = update_table_metadata(table.metadata, updates)
        return CommitTableResponse(metadata=metadata, metadata_location=table.metadata_location)


def main() -> None:
    location, what = sys.argv[1:3]
    opened = StaticTable.from_metadata(location)
    table = Table(("db", "t"), opened.metadata, location, opened.io, Forgetful("bench"))
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
