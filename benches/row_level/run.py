"""Changes of rows by Frazil and PyIceberg: upserts of many keys, and a delete of a partition in very many files.

    python benches/row_level/run.py [--quick] [--write benches/RESULTS.md]

Frazil runs in this Python, PyIceberg in the one of the peers (`.venv-peers`, or FRAZIL_BENCH_PEERS_PYTHON). Tables are
made by Frazil. PyIceberg's upsert builds an expression for each key, so it gets fewer of them, and the table says how
many.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from comparison import machine_line, package_version, peers_python, write_section

ROWS, KEYS, FILES, PARTITIONS = 10_000_000, 1_000_000, 100_000, 100
# Seconds to wait for the other.
PATIENCE = 180
PEER = Path(__file__).with_name("pyiceberg_side.py")
MODES = ("copy-on-write", "merge-on-read")


def numbers(first: int, count: int, step: int = 1) -> Any:
    import pyarrow as pa

    ids = pa.array(range(first, first + count * step, step), pa.int64())
    return pa.table({"id": ids, "name": pa.array([f"name {i % 1000}" for i in range(count)]), "v": ids})


def make_rows(root: Path, rows: int, mode: str) -> Any:
    import frazil as fz

    catalog = fz.catalog("bench", warehouse=root)
    catalog.create_namespace("db")
    properties = {"format-version": "2", "write.merge.mode": mode}
    table = catalog.create_table("db.rows", numbers(0, 1).schema, properties=properties)
    for part in range(10):
        table.append(numbers(part * (rows // 10), rows // 10))
    return table


def make_files(root: Path, files: int) -> Any:
    """Entries of files of a partitioned table; the files themselves are not needed to delete a partition."""
    import pyarrow as pa

    import frazil as fz

    catalog = fz.catalog("bench", warehouse=root)
    catalog.create_namespace("db")
    schema = pa.schema([("p", pa.int32()), ("id", pa.int64())])
    table = catalog.create_table("db.files", schema, partition_by=["p"], properties={"format-version": "2"})
    message = table.writer().write(pa.table({"p": list(range(PARTITIONS)), "id": [1] * PARTITIONS}, schema=schema))
    for part in range(10):
        text = json.loads(message.to_json())
        text["files"] = [
            {**file, "file-path": file["file-path"].replace(".parquet", f"-{part}-{number}.parquet")}
            for number in range(files // 10 // PARTITIONS)
            for file in text["files"]
        ]
        for file in text["files"]:
            Path(file["file-path"]).parent.mkdir(parents=True, exist_ok=True)
            Path(file["file-path"]).touch()
        table.commit([type(message).from_json(json.dumps(text))])
    return table


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peer(table: Any, *what: str) -> float | str:
    """Seconds that PyIceberg took, without starting; what it said if it failed, or how long it was waited for."""
    command = [peers_python(), str(PEER), table.metadata_location, *what]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"over {PATIENCE}"
    return float(done.stdout) if done.returncode == 0 else done.stderr.strip().splitlines()[-1][:80]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--write", type=Path, help="the page to put the results into")
    arguments = parser.parse_args()
    scale = 10 if arguments.quick else 1
    rows, keys, files = ROWS // scale, KEYS // scale, FILES // scale
    lines = ["| change | Frazil, s | PyIceberg, s |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as scratch:
        for mode in MODES:
            for spread, step in (("spread over all files", rows // keys), ("side by side", 1)):
                table = make_rows(Path(scratch) / "rows", rows, mode)
                # It has one way of writing: copy-on-write.
                theirs = peer(table, "upsert", str(keys), str(step)) if mode == MODES[0] else ""
                source = numbers(5, keys, step)
                source = source.set_column(1, "name", [["new"] * keys])
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                seconds = timed(lambda table=table, source=source: table.upsert(source, on=["id"]))
                grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
                assert table.scan("name = 'new'").count() == keys
                lines.append(
                    f"| upsert {keys:,} keys {spread} into {rows:,} rows, {mode} | {seconds:.2f} (+{grown:.0f} MiB) "
                    f"| {shown(theirs)} |"
                )
                shutil.rmtree(Path(scratch) / "rows")
        few = 10_000 // scale
        table = make_rows(Path(scratch) / "rows", rows // 10, MODES[0])
        theirs = peer(table, "upsert", str(few), str(rows // 10 // few))
        source = numbers(5, few, rows // 10 // few).set_column(1, "name", [["new"] * few])
        ours = timed(lambda: table.upsert(source, on=["id"]))
        lines.append(f"| upsert {few:,} keys into {rows // 10:,} rows, copy-on-write | {ours:.2f} | {shown(theirs)} |")
        table = make_files(Path(scratch) / "files", files)
        theirs = peer(table, "delete")
        ours = timed(lambda: table.delete("p = 7"))
        assert table.snapshot.summary["deleted-data-files"] == str(files // PARTITIONS)
        lines.append(f"| delete 1 of {PARTITIONS} partitions of {files:,} files | {ours:.3f} | {shown(theirs)} |")
    text = "\n".join(lines)
    print(text)
    if arguments.write:
        about = f"{machine_line()}; {peer_version()}. Command: `python {' '.join(sys.argv)}`."
        write_section(arguments.write, "row_level", f"{about}\n\n{text}")


def peer_version() -> str:
    return package_version(peers_python, "pyiceberg")()


def shown(seconds: float | str) -> str:
    return f"{seconds:.2f}" if isinstance(seconds, float) else seconds


if __name__ == "__main__":
    main()
