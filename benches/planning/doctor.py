"""The doctor on a table of many files, compared with a cold plan of it.

    python benches/planning/doctor.py [--files 100000] [--manifests 1000] [--rounds 3] [--latency-ms MS]

Each call runs in a fresh process, on the local disk. It prints seconds, as a multiple of the plan's, and peak memory.
With `--latency-ms` the table is read from an S3 store whose answers come late, and HEAD and GET requests are counted.
That store keeps the files that it was asked for in memory.
The data files are hard links to a few files with the same 100 rows.
"""

import argparse
import contextlib
import datetime as dt
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LINKS = 10_000  # of one file: file systems have limits
MEGABYTES_PER_SECOND = 100  # of the far store's link
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
table = fz.open_table(place, storage_options=options, moved=bool(options))
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
    if options:
        requests_of(options["s3.endpoint"])
    command = [sys.executable, "-c", CHILD, json.dumps([place, options, call])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    out: dict[str, Any] = json.loads(done.stdout)
    return out | (requests_of(options["s3.endpoint"]) if options else {})


def requests_of(endpoint: str) -> dict[str, Any]:
    """What the store was asked for since the last such question."""
    with urllib.request.urlopen(f"{endpoint}/_stats") as answer:
        found: dict[str, Any] = json.load(answer)
    return {name: found[name] for name in ("head", "get", "bytes", "most_in_flight") if name in found}


@contextlib.contextmanager
def far_store(folder: Path, latency_ms: float) -> Iterator[dict[str, str]]:
    """Serves a folder as S3. Yields the options that read it."""
    command = [sys.executable, str(HERE / "far_store.py"), str(folder), str(latency_ms), str(MEGABYTES_PER_SECOND)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as far:
        assert far.stdout is not None
        try:
            endpoint = f"http://127.0.0.1:{far.stdout.readline().strip()}"
            keys = {"s3.access-key-id": "k", "s3.secret-access-key": "s"}
            yield {"s3.endpoint": endpoint, "s3.region": "us-east-1", **keys}
        finally:
            far.terminate()


def measure(place: str, options: dict[str, str], rounds: int) -> None:
    seconds: dict[str, float] = {}
    for name, call in CALLS.items():
        runs = [run(place, options, call) for _ in range(rounds)]
        seconds[name] = statistics.median(r["seconds"] for r in runs)
        times = seconds[name] / seconds["cold plan"] if "cold plan" in seconds else 0.0
        peak, found = max(r["peak_mb"] for r in runs), runs[0]["found"]
        print(f"{name:24} {seconds[name]:7.2f} s  {times:5.2f} x the plan  peak {peak:6.0f} MB  found {found:,}")
        if options:
            head, get, read = (runs[0].get(what, 0) for what in ("head", "get", "bytes"))
            at_once = runs[0]["most_in_flight"]
            print(f"{'':24} {head:,} HEAD, {get:,} GET, {read / 1e6:.1f} MB, at most {at_once} at once")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=100_000)
    arguments.add_argument("--manifests", type=int, default=1_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--latency-ms", type=float, help="read from a store whose answers come this late")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        metadata = write_table(folder / "lake" / "t", options.files, options.manifests)
        print(f"{options.files:,} files in {options.manifests:,} manifests")
        if options.latency_ms is None:
            measure(metadata, {}, options.rounds)
            return
        with far_store(folder, options.latency_ms) as store:
            inside = Path(metadata.removeprefix("file://")).relative_to(folder)
            measure(f"s3://{inside}", store, options.rounds)


if __name__ == "__main__":
    main()
