"""The doctor on a table of many files, compared with a cold plan of it.

    python benches/planning/doctor.py [--files 100000] [--manifests 1000] [--rounds 3]

Each call runs in a fresh process, on the local disk. It prints seconds, as a multiple of the plan's, and peak memory.
The data files are hard links to a few files with the same 100 rows.
"""

import argparse
import datetime as dt
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LINKS = 10_000  # of one file: file systems have limits
CALLS = {
    "nothing": "len(table.properties)",
    "cold plan": "table.scan().plan_table().num_rows",
    "doctor without footers": "len(table.doctor(footers=0).findings)",
    "doctor": "len(table.doctor().findings)",
}
CHILD = """
import json, sys, time
import frazil as fz
place, options, call = json.loads(sys.argv[1])
started = time.perf_counter()
table = fz.open_table(place, storage_options=options)
found = eval(call)
[peak] = [int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(json.dumps({"seconds": time.perf_counter() - started, "peak_mb": peak, "found": found}))
"""


def write_table(place: Path, files: int, manifests: int) -> str:
    """Writes the table, one commit for each manifest. Returns its newest metadata file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import frazil as fz

    data = place / "data"
    data.mkdir(parents=True)
    rows = pa.table({"id": pa.array(range(100), pa.int64()), "text": [f"text-{n:08}" for n in range(100)]})
    first = data / "00000000.parquet"
    pq.write_table(rows, first)
    paths = [first, *(data / f"{n:08}.parquet" for n in range(1, files))]
    for number, path in enumerate(paths[1:], 1):
        if number % LINKS == 0:
            first = Path(shutil.copy(first, path))
        else:
            os.link(first, path)
    catalog = fz.catalog("made", type="memory", warehouse=str(place.parent))
    catalog.create_namespace("db")
    keep = {"commit.manifest-merge.enabled": "false", "write.metadata.previous-versions-max": "1"}
    table = catalog.create_table("db.t", rows.schema, location=str(place), properties=keep)
    for number in range(manifests):
        table.add_files([str(path) for path in paths[number::manifests]])
    table.maintain.expire_snapshots(retain_last=1, older_than=dt.timedelta(0))
    return str(table.metadata_location)


def run(place: str, options: dict[str, str], call: str) -> dict[str, Any]:
    command = [sys.executable, "-c", CHILD, json.dumps([place, options, call])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    out: dict[str, Any] = json.loads(done.stdout)
    return out


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=100_000)
    arguments.add_argument("--manifests", type=int, default=1_000)
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as made:
        place = Path(made) / "lake" / "t"
        metadata = write_table(place, options.files, options.manifests)
        print(f"{options.files:,} files in {options.manifests:,} manifests")
        seconds: dict[str, float] = {}
        for name, call in CALLS.items():
            runs = [run(metadata, {}, call) for _ in range(options.rounds)]
            seconds[name] = statistics.median(r["seconds"] for r in runs)
            times = seconds[name] / seconds["cold plan"] if "cold plan" in seconds else 0.0
            peak, found = max(r["peak_mb"] for r in runs), runs[0]["found"]
            print(f"{name:24} {seconds[name]:7.2f} s  {times:5.2f} x the plan  peak {peak:6.0f} MB  found {found:,}")


if __name__ == "__main__":
    main()
