"""Times cold plans of a table of 100,000 data files: Frazil beside PyIceberg, in turns, in one run.

A cold plan opens the table anew and finds the files of a scan: everything from the metadata file to the last task.
Each sample runs in a process of its own, so that neither library can keep anything from the sample before; imports are
not timed. The floor is what inflating the table's manifests costs one core: no planner that reads them all with one
core can be faster.

    python benches/planning/run.py [--samples 5] [--files 100000] [--write benches/RESULTS.md]
"""

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import deflate
from make_table import make_table

FILTERS = {  # title -> Frazil's text; the worker has PyIceberg's expression
    "none": None,
    "one day": "ts >= '2023-01-10T00:00:00+00:00' and ts < '2023-01-11T00:00:00+00:00'",
    "metrics only": "price > 1450.0",
}
ENGINES = ["frazil", "pyiceberg"]
START, END = "<!-- planning -->", "<!-- /planning -->"


def plan_with_frazil(metadata: str, title: str) -> tuple[float, int]:
    import pyarrow  # noqa: F401 - Frazil imports it with its first table; PyIceberg's own imports bring it along

    import frazil as fz

    text = FILTERS[title]
    started = time.perf_counter()
    count = fz.open_table(metadata).scan(text).plan_table().num_rows
    return time.perf_counter() - started, count


def plan_with_pyiceberg(metadata: str, title: str) -> tuple[float, int]:
    from pyiceberg.expressions import AlwaysTrue, And, GreaterThan, GreaterThanOrEqual, LessThan
    from pyiceberg.table import StaticTable

    expression = {
        "none": AlwaysTrue(),
        "one day": And(
            GreaterThanOrEqual("ts", "2023-01-10T00:00:00+00:00"), LessThan("ts", "2023-01-11T00:00:00+00:00")
        ),
        "metrics only": GreaterThan("price", 1450.0),
    }[title]
    started = time.perf_counter()
    count = sum(1 for _ in StaticTable.from_metadata(metadata).scan(row_filter=expression).plan_files())
    return time.perf_counter() - started, count


def sample(engine: str, metadata: Path, title: str) -> tuple[float, int]:
    """One cold plan in a fresh process: seconds and the number of tasks."""
    command = [sys.executable, __file__, "--worker", engine, "--metadata", str(metadata), "--filter", title]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{engine}, filter {title}: {done.stderr[-2000:]}")
    seconds, count = json.loads(done.stdout.splitlines()[-1])
    return seconds, count


def blocks(path: Path) -> Iterator[bytes]:
    """The compressed blocks of an Avro file: all after the header, which ends with the first sync marker."""
    content = path.read_bytes()
    marker = content[-16:]
    position = content.index(marker) + 16
    while position < len(content):
        numbers = []
        for _ in range(2):  # zigzag varints: the count of records and of bytes
            value = shift = 0
            while True:
                byte = content[position]
                position += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    break
            numbers.append((value >> 1) ^ -(value & 1))
        yield content[position : position + numbers[1]]
        position += numbers[1] + 16


def floor(folder: Path) -> float:
    """Seconds of the fastest of five rounds of inflating every manifest's blocks with libdeflate, on one core."""
    compressed = [block for path in sorted(folder.glob("*-m0.avro")) for block in blocks(path)]
    sizes = [len(zlib.decompress(block, -15)) for block in compressed]
    rounds = []
    for _ in range(5):
        started = time.perf_counter()
        for block, size in zip(compressed, sizes, strict=True):
            deflate.deflate_decompress(block, size)
        rounds.append(time.perf_counter() - started)
    return min(rounds)


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def measure(metadata: Path, samples: int) -> tuple[list[tuple[str, int, dict[str, float]]], float]:
    """For each filter its tasks and each engine's median seconds; and the floor."""
    rows = []
    for title in FILTERS:
        seconds: dict[str, list[float]] = {engine: [] for engine in ENGINES}
        counts: dict[str, int] = {}
        for number in range(samples):
            for engine in ENGINES:
                taken, counts[engine] = sample(engine, metadata, title)
                seconds[engine].append(taken)
                print(f"   {title}, sample {number + 1}: {engine} {taken:.3f} s, {counts[engine]:,} tasks", flush=True)
        if len(set(counts.values())) != 1:
            sys.exit(f"filter {title}: the planners disagree: {counts}")
        rows.append(
            (title, counts["frazil"], {engine: statistics.median(values) for engine, values in seconds.items()})
        )
    return rows, floor(metadata.parent)


def report(rows: list[tuple[str, int, dict[str, float]]], least: float, files: int, samples: int) -> str:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ENGINES)
    lines = [
        f"Cold plans of {files:,} data files, seconds: median of {samples} samples in turns, each its own process.",
        f"{versions}; Python {platform.python_version()}; {os.cpu_count()} cores, {processor()}.",
        "",
        "| filter | tasks | Frazil | PyIceberg | ratio |",
        "|---|---|---|---|---|",
    ]
    for title, count, medians in rows:
        ours, theirs = medians["frazil"], medians["pyiceberg"]
        lines.append(f"| {title} | {count:,} | {ours:.3f} | {theirs:.3f} | {theirs / ours:.0f}× |")
    lines += ["", f"Floor (inflating all manifests on one core with libdeflate): {least:.3f} s."]
    return "\n".join(lines)


def write_section(path: Path, text: str) -> None:
    """Replaces the part of the results page between this benchmark's marks."""
    page = path.read_text("utf-8")
    before, rest = page.split(START, 1)
    after = rest.split(END, 1)[1]
    path.write_text(f"{before}{START}\n{text}\n{END}{after}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--write", type=Path, help="results page to put the measures into")
    parser.add_argument("--worker", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--metadata", help=argparse.SUPPRESS)
    parser.add_argument("--filter", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        plan = plan_with_frazil if options.worker == "frazil" else plan_with_pyiceberg
        print(json.dumps(plan(options.metadata, options.filter)))
        return
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "frazil-bench"
    metadata = cache / f"planning-{options.files}" / "metadata" / "v1.metadata.json"
    if not metadata.is_file():
        print(f"== Writing the table of {options.files:,} files (once)", flush=True)
        make_table(metadata.parents[1], options.files, min(options.files, 10_000))
    print("== Cold plans", flush=True)
    rows, least = measure(metadata, options.samples)
    text = report(rows, least, options.files, options.samples)
    print(f"\n{text}")
    if options.write:
        write_section(options.write, text)


if __name__ == "__main__":
    main()
