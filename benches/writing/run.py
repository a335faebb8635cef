"""Times writing: files of a partitioned table by Frazil beside one plain file by pyarrow.parquet, same codec and level.

    python benches/writing/run.py [--rows 4000000] [--rounds 5]

Rows have numbers, times, short and longer texts. They go to 16 buckets, to days, to one folder, and to one folder in
the table's sort order; all writers take turns, and medians are quoted. Frazil's files are synced to the disk, as files
that a commit names must be; so are pyarrow's here.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import frazil as fz

BATCH = 128 * 1024
TABLES: dict[str, dict[str, list[str]]] = {
    "unpartitioned": {},
    "bucket(16, id)": {"partition_by": ["bucket(16, id)"]},
    "day(ts), 30 days": {"partition_by": ["day(ts)"]},
    "sorted by user": {"sort_by": ["user"]},
}


def made(rows: int) -> pa.Table:
    """Rows from a fixed seed."""
    random = np.random.default_rng(7)
    words = np.array([f"word-{n:05}" for n in range(20_000)])
    month = 30 * 86_400 * 1_000_000
    return pa.table(
        {
            "id": pa.array(np.arange(rows)),
            "ts": pa.array(random.integers(0, month, rows), pa.timestamp("us")),
            "user": pa.array(random.integers(0, rows // 10, rows)),
            "price": pa.array(random.random(rows) * 1000),
            "word": pa.array(words[random.integers(0, len(words), rows)]),
            "note": pa.array(np.char.add(words[random.integers(0, len(words), rows)], " and more of the kind")),
        }
    )


def plain(rows: pa.Table, path: Path) -> None:
    """What pyarrow does: one file, one thread."""
    pq.write_table(rows, path, compression="zstd", compression_level=3, row_group_size=1_000_000)
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    rows = made(asked.rows)
    print(f"{rows.num_rows:,} rows, {rows.nbytes / 1e6:,.0f} MB in Arrow")
    with tempfile.TemporaryDirectory() as scratch:
        catalog = fz.catalog("bench", warehouse=Path(scratch) / "wh")
        catalog.create_namespace("db")
        ways: dict[str, Callable[[], object]] = {"pyarrow": lambda: plain(rows, Path(scratch) / "plain.parquet")}
        for n, (title, options) in enumerate(TABLES.items()):
            writer = catalog.create_table(f"db.t{n}", rows.schema, **options).writer()
            ways[title] = lambda writer=writer: writer.write(rows.to_reader(BATCH))
        taken: dict[str, list[float]] = {title: [] for title in ways}
        for _ in range(asked.rounds):
            for title, write in ways.items():
                began = time.perf_counter()
                write()
                taken[title].append(time.perf_counter() - began)
        base = statistics.median(taken["pyarrow"])
        for title, seconds in taken.items():
            median = statistics.median(seconds)
            print(
                f"{title:>20}: {median:6.2f} s, {rows.nbytes / median / 1e6:6.0f} MB/s, {base / median:.2f} x pyarrow"
            )


if __name__ == "__main__":
    main()
