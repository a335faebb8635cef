"""Times one append to tables of few and of many files: it must not grow with the table.

    python benches/commits/run.py [--files 1000 100000] [--appends 30]

The tables are made here: existing entries in manifests of the size that commits merge to, so that an append finds what
a grown table has. Rows are one file of one row; what is measured is the whole `append`, and the commit of a file
written before.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import frazil as fz

ROWS = pa.table({"id": pa.array([1], pa.int64()), "p": pa.array([1], pa.int32())})
# Files that one commit adds while a table is made.
AT_ONCE = 10_000


def grown(catalog: fz.Catalog, folder: Path, files: int) -> fz.Table:
    """A table of so many files: links to one."""
    table = catalog.create_table(f"db.t{files}", ROWS.schema)
    source = folder / "rows.parquet"
    pq.write_table(ROWS, source)
    links = folder / f"of{files}"
    links.mkdir()
    paths = [links / f"{n:09}.parquet" for n in range(files)]
    for path in paths:
        path.hardlink_to(source)
    for start in range(0, files, AT_ONCE):
        table.add_files(paths[start : start + AT_ONCE], check_duplicate_files=False)
    return table


def milliseconds(table: fz.Table, appends: int) -> tuple[list[float], list[float]]:
    whole, commits = [], []
    for _ in range(appends):
        began = time.perf_counter()
        table.append(ROWS)
        whole.append((time.perf_counter() - began) * 1e3)
        message = table.writer().write(ROWS)
        began = time.perf_counter()
        table.commit([message])
        commits.append((time.perf_counter() - began) * 1e3)
    return whole, commits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--appends", type=int, default=30)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        catalog = fz.catalog("bench", warehouse=Path(scratch) / "wh")
        catalog.create_namespace("db")
        first = 0.0
        for files in asked.files:
            table = grown(catalog, Path(scratch), files)
            whole, commits = milliseconds(table, asked.appends)
            median = statistics.median(whole)
            first = first or median
            print(
                f"{files:>9,} files: append {median:6.1f} ms ({median / first:.2f} x), slowest {max(whole):6.1f} ms; "
                f"commit alone {statistics.median(commits):6.1f} ms"
            )


if __name__ == "__main__":
    main()
