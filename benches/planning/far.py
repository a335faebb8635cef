"""Cold plans of a table behind a REST catalog, whose files are in a store that is far away.

    python benches/planning/far.py [--manifests 1000] [--latency-ms 20] [--megabytes-per-second 100] [--rounds 5]

Each round opens the catalog and the table in a fresh process. It prints how long a plan takes, as a multiple of
what the bytes and four round trips need, and how many requests were on their way at once.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests" / "python")]
FILES_PER_MANIFEST = 100
ROUND_TRIPS = 4


def write_table(folder: Path, manifests: int) -> None:
    """Writes the metadata of a table without its data files."""
    import pyarrow as pa
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.manifest import (
        DataFile,
        DataFileContent,
        FileFormat,
        ManifestEntry,
        ManifestEntryStatus,
        write_manifest,
        write_manifest_list,
    )
    from pyiceberg.serializers import FromInputFile
    from pyiceberg.typedef import Record

    import frazil as fz

    catalog = fz.catalog("made", type="memory", warehouse=str(folder / "made"))
    catalog.create_namespace("db")
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    made = catalog.create_table("db.t", schema, location=str(folder / "lake" / "t"))
    local = Path(str(made.metadata_location).removeprefix("file:"))
    io = PyArrowFileIO()
    metadata = FromInputFile.table_metadata(io.new_input(str(local)))
    place, snapshot, listed = "s3://lake/t", 7_000_000_000_000_000_001, []
    names = iter(range(manifests * FILES_PER_MANIFEST))
    for number in range(manifests):
        path = folder / "lake" / "t" / "metadata" / f"{number:05}-m0.avro"
        with write_manifest(
            2, metadata.spec(), metadata.schema(), io.new_output(str(path)), snapshot, "deflate"
        ) as writer:
            for n in (next(names) for _ in range(FILES_PER_MANIFEST)):
                bounds = {1: (n * 100).to_bytes(8, "little"), 2: f"text-{n:08}".encode()}
                file = DataFile.from_args(
                    content=DataFileContent.DATA,
                    file_path=f"{place}/data/{n:08}-{n * 2654435761 % 2**32:08x}.parquet",
                    file_format=FileFormat.PARQUET,
                    partition=Record(),
                    record_count=100,
                    file_size_in_bytes=10_000 + n % 977,
                    column_sizes={1: 800, 2: 1600},
                    value_counts={1: 100, 2: 100},
                    null_value_counts={1: 0, 2: 0},
                    nan_value_counts={},
                    lower_bounds=bounds,
                    upper_bounds=bounds,
                    split_offsets=[4],
                    sort_order_id=0,
                )
                entry = ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=snapshot, data_file=file)
                writer.add_entry(entry)
        manifest = writer.to_manifest_file()
        manifest[0] = f"{place}/metadata/{path.name}"  # its path
        listed.append(manifest)
    path = folder / "lake" / "t" / "metadata" / "snap-1.avro"
    with write_manifest_list(2, io.new_output(str(path)), snapshot, None, 1, "deflate") as writer:
        writer.add_manifests(listed)
    content = json.loads(local.read_text())
    at = {"snapshot-id": snapshot, "timestamp-ms": content["last-updated-ms"], "sequence-number": 1, "schema-id": 0}
    at |= {"summary": {"operation": "append"}, "manifest-list": f"{place}/metadata/{path.name}"}
    refs = {"main": {"type": "branch", "snapshot-id": snapshot}}
    content |= {"location": place, "snapshots": [at], "current-snapshot-id": snapshot, "refs": refs}
    content |= {"last-sequence-number": 1}
    (path.parent / "v2.metadata.json").write_text(json.dumps(content))


PLAN = """
import json, sys, time
import pyarrow
import frazil as fz
uri = sys.argv[1]
start = time.perf_counter()
table = fz.catalog("far", type="rest", uri=uri).load_table("db.t")
loaded = time.perf_counter()
files = table.scan().plan_table().num_rows
print(json.dumps({"load": loaded - start, "plan": time.perf_counter() - loaded, "files": files}))
"""


def stats(endpoint: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{endpoint}/_stats") as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def rounds_of(server: Any, endpoint: str, rounds: int) -> list[dict[str, Any]]:
    out = []
    for _ in range(rounds):
        server.reset()
        stats(endpoint)
        done = subprocess.run([sys.executable, "-c", PLAN, server.url], check=True, capture_output=True, text=True)
        asked = [request.operation for request in server.service.asked]
        out.append({**json.loads(done.stdout), **stats(endpoint), "asked": asked})
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--manifests", type=int, default=1000)
    parser.add_argument("--latency-ms", type=float, default=20)
    parser.add_argument("--megabytes-per-second", type=float, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="a folder that keeps the table for the next time")
    given = parser.parse_args()
    from rest_server import serving

    with tempfile.TemporaryDirectory(prefix="frazil-far-") as made:
        folder = given.keep or Path(made)
        location = "s3://lake/t/metadata/v2.metadata.json"
        if not (folder / location.removeprefix("s3://")).is_file():
            write_table(folder, given.manifests)
        command = [sys.executable, str(HERE / "far_store.py"), str(folder)]
        command += [str(given.latency_ms), str(given.megabytes_per_second)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as far:
            assert far.stdout is not None
            endpoint = f"http://127.0.0.1:{far.stdout.readline().strip()}"
            try:
                measure(given, endpoint, location, serving)
            finally:
                far.terminate()


def measure(given: argparse.Namespace, endpoint: str, location: str, serving: Any) -> None:
    import frazil as fz

    store = {"endpoint": endpoint, "region": "us-east-1", "key": "k", "secret": "s"}
    table_store = {"s3.endpoint": endpoint, "s3.region": "us-east-1", "s3.access-key-id": "k"}
    defaults = {**table_store, "s3.secret-access-key": "s"}
    with serving("s3://lake/wh", store, defaults=defaults) as server:
        catalog = fz.catalog("far", type="rest", uri=server.url)
        catalog.create_namespace("db")
        catalog.register_table("db.t", location)
        found = rounds_of(server, endpoint, given.rounds)
    total = statistics.median(one["plan"] for one in found)
    middle = min(found, key=lambda one: abs(one["plan"] - total))
    least = middle["bytes"] / (given.megabytes_per_second * 1e6) + ROUND_TRIPS * given.latency_ms / 1e3
    print(f"files {middle['files']}, requests to the store {middle['requests']}, {middle['bytes'] / 1e6:.1f} MB")
    print(f"requests to the catalog: {', '.join(middle['asked'])}")
    print(f"load {middle['load'] * 1e3:.0f} ms, plan {total * 1e3:.0f} ms, least {least * 1e3:.0f} ms")
    print(f"in flight at most {middle['most_in_flight']}, on average {middle['mean_in_flight']:.1f}")
    print(f"turns of {given.latency_ms:.0f} ms: {middle['seconds'] * 1e3 / given.latency_ms:.1f}")
    print(f"ratio {total / least:.2f} (wanted: at most 1.5)")


if __name__ == "__main__":
    main()
