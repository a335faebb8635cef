"""Times writing: files of a partitioned table by Frazil, and one plain file by pyarrow.parquet, same codec and level.

    python benches/writing/run.py [--rows 5000000] [--rounds 5] [--write benches/RESULTS.md]

Rows have 12 columns: numbers, times, short and longer texts, few and many distinct values. They go to 16 buckets, to
days, to one folder, and to one folder in the table's sort order; all writers take turns, and medians are quoted.
Frazil's files are synced to the disk, as files that a commit names must be; so are pyarrow's here.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import frazil as fz

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from comparison import machine_line, markdown, own_python, package_version, write_section

BATCH = 128 * 1024
COUNTRIES = ("AU", "BR", "CA", "CN", "DE", "FR", "GB", "IN", "JP", "NO", "SE", "US")
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

    def any_of(values: np.ndarray) -> np.ndarray:
        return values[random.integers(0, len(values), rows)]

    return pa.table(
        {
            "id": pa.array(np.arange(rows)),
            "ts": pa.array(random.integers(0, month, rows), pa.timestamp("us")),
            "user": pa.array(random.integers(0, rows // 10, rows)),
            "country": pa.array(any_of(np.array(COUNTRIES))),
            "device": pa.array(any_of(words[:50])),
            "word": pa.array(any_of(words)),
            "url": pa.array(np.char.add(any_of(words), any_of(words))),
            "amount": pa.array(random.integers(0, 10_000_000, rows)),
            "price": pa.array(random.random(rows) * 1000),
            "status": pa.array(any_of(np.array([200, 301, 404, 500], "int32"))),
            "ok": pa.array(random.random(rows) < 0.5),
            "day": pa.array(random.integers(19_000, 19_030, rows).astype("int32")).cast(pa.date32()),
        }
    )


def plain(rows: pa.Table, path: Path) -> None:
    """What pyarrow does: one file, one thread."""
    pq.write_table(rows, path, compression="zstd", compression_level=3, row_group_size=1_000_000)
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--note", default="", help="a sentence about the circumstances, put above the results")
    parser.add_argument("--write", type=Path, help="results page to put the measures into")
    asked = parser.parse_args()
    rows = made(asked.rows)
    # Threads that write use all cores, so their time on the processor is told too.
    walls: dict[str, list[float]] = {}
    processor: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        catalog = fz.catalog("bench", warehouse=Path(scratch) / "wh")
        catalog.create_namespace("db")
        ways: dict[str, Callable[[], object]] = {
            "pyarrow.parquet, one plain file": lambda: plain(rows, Path(scratch) / "plain.parquet")
        }
        for n, (title, options) in enumerate(TABLES.items()):
            table = catalog.create_table(f"db.t{n}", rows.schema, **options)
            ways[title] = lambda table=table: table.abort([table.writer().write(rows.to_reader(BATCH))])
        for _ in range(asked.rounds):
            for title, write in ways.items():
                wall, cpu = time.perf_counter(), time.process_time()
                write()
                walls.setdefault(title, []).append(time.perf_counter() - wall)
                processor.setdefault(title, []).append(time.process_time() - cpu)
    base = statistics.median(walls["pyarrow.parquet, one plain file"])
    lines = []
    for title, seconds in walls.items():
        wall, cpu = statistics.median(seconds), statistics.median(processor[title])
        lines.append([title, f"{wall:.2f}", f"{cpu:.2f}", f"{rows.nbytes / wall / 1e6:.0f}", f"{base / wall:.2f}×"])
    command = f"python benches/writing/run.py {' '.join(sys.argv[1:])}".strip()
    versions = package_version(own_python, "frazil", "pyarrow")()
    text = "\n".join(
        [
            *([asked.note, ""] if asked.note else []),
            f"{rows.num_rows:,} rows of 12 columns, {rows.nbytes / 1e6:,.0f} MB in Arrow, zstd level 3; medians of "
            f"{asked.rounds} rounds in turns.",
            "",
            f"{machine_line()}; {versions}. Command: `{command}`.",
            "",
            *markdown(["table", "s", "processor, s", "MB/s", "speed, pyarrow's is 1"], lines),
        ]
    )
    print(text)
    if asked.write:
        write_section(asked.write, "writing", text)


if __name__ == "__main__":
    main()
