"""Times commits: one append to tables of few and of very many files, and loading a large metadata file.

    python benches/commits/run.py [--quick] [--files 1000,100000] [--rounds 31] [--write benches/RESULTS.md]

The tables are made once by Java Iceberg and kept; they have metadata alone, since a commit opens no data file. Tables
and engines take turns, round by round, on the same tables: so all of them see as many small manifests. The first commit
to a table, which merges the manifests that it was made with, does not count; it is told apart. What is timed is the
commit of one file that was written before.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "planning")]
import engines as planners  # noqa: E402 - the folder `planning`
import tables  # noqa: E402
from comparison import (  # noqa: E402 - the folder above
    Answer,
    Engine,
    add_run_options,
    in_turns,
    machine_line,
    markdown,
    names,
    own_python,
    package_version,
    peers_python,
    version_line,
    write_section,
)

FILES = ["1000", "100000", "1000000"]
FILES_PER_MANIFEST = 10_000
SNAPSHOTS, METADATA_BYTES = 20_000, 100_000_000


def worker(python: str, name: str) -> list[str]:
    return [python, str(HERE / "workers.py"), name]


def committers() -> dict[str, Engine]:
    own = Engine("frazil", "Frazil", lambda: worker(own_python(), "frazil"), package_version(own_python, "frazil"))
    java = Engine("java", "Java Iceberg", lambda: [*tables.java(), "CommitFiles"], planners.java_version)
    peer = Engine(
        "pyiceberg",
        "PyIceberg",
        lambda: worker(peers_python(), "pyiceberg"),
        package_version(peers_python, "pyiceberg"),
    )
    return {engine.name: engine for engine in (own, java, peer)}


def make_table(files: int, warehouse: Path) -> Path:
    """The table's folder, written by Java now if it is not there."""
    folder, part = warehouse / f"t{files}", warehouse / f"t{files}.part"
    if part.exists():
        sys.exit(f"{folder} is incomplete: remove it and {part}")
    if not folder.exists():
        print(f"== Writing a table of {files:,} files by Java Iceberg, once", flush=True)
        warehouse.mkdir(parents=True, exist_ok=True)
        part.touch()
        arguments = [f"file:{folder}", str(files), str(min(files, FILES_PER_MANIFEST)), "2", "none"]
        subprocess.run([*tables.java(), "MakeTable", *arguments], check=True)
        part.unlink()
    return folder


def make_metadata(of: Path, warehouse: Path) -> Path:
    """A metadata file of very many snapshots, after one of the table `of`."""
    path = warehouse / f"{SNAPSHOTS}-snapshots.metadata.json"
    if path.exists():
        return path
    metadata = json.loads((of / "metadata" / "v2.metadata.json").read_text("utf-8"))
    (one,) = metadata["snapshots"]
    member = ',"engine.member-000":"0000000000000000"'
    more = (METADATA_BYTES // SNAPSHOTS - len(json.dumps(one)) - 90) // len(member)
    snapshots = []
    for number in range(SNAPSHOTS):
        summary = {f"engine.member-{n:03}": f"{number * n % 10**16:016}" for n in range(more)}
        parent = {"parent-snapshot-id": number} if number else {}
        own = {"snapshot-id": number + 1, "sequence-number": number + 1, "timestamp-ms": one["timestamp-ms"] + number}
        snapshots.append({**one, **parent, **own, "summary": {**one["summary"], **summary}})
    last = snapshots[-1]
    log = [{"timestamp-ms": s["timestamp-ms"], "snapshot-id": s["snapshot-id"]} for s in snapshots]
    metadata |= {"snapshots": snapshots, "snapshot-log": log, "current-snapshot-id": last["snapshot-id"]}
    metadata |= {"last-sequence-number": SNAPSHOTS, "last-updated-ms": last["timestamp-ms"]}
    metadata["refs"] = {"main": {"snapshot-id": last["snapshot-id"], "type": "branch"}}
    path.write_text(json.dumps(metadata, separators=(",", ":")), "utf-8")
    return path


def milliseconds(answer: Answer, least: Answer | None = None) -> str:
    if "error" in answer:
        return f"fails: `{answer['error']}`"
    text = f"{answer['seconds'] * 1e3:.1f}"
    grown = f", {answer['seconds'] / least['seconds']:.2f}×" if least and "seconds" in least else ""
    return f"{text}{grown}"


def appends(engines: list[Engine], folders: dict[int, Path], rounds: int) -> list[str]:
    """A row for each size: medians, how many times that of the smallest table, and the first commit's time."""
    # The first engine to come pays for merging what the table was made with.
    first = {(e.name, files): e.ask(f"append {folder}") for files, folder in folders.items() for e in engines}
    asks = {
        (engine.name, files): lambda engine=engine, folder=folder: engine.ask(f"append {folder}")
        for files, folder in folders.items()
        for engine in engines
    }
    answers = in_turns(asks, rounds)
    least = min(folders)
    rows = []
    for files in folders:
        cells = [
            milliseconds(answers[e.name, files], answers[e.name, least] if files != least else None) for e in engines
        ]
        merging = first[engines[0].name, files]
        rows.append([f"{files:,}", *cells, milliseconds(merging)])
    head = ["files in the table", *(f"{engine.title}, ms" for engine in engines), "Frazil's first commit, ms"]
    return markdown(head, rows)


def loads(engines: list[Engine], path: Path, rounds: int) -> list[str]:
    plain = Engine("json", "Python's json.loads", lambda: worker(own_python(), "json"))
    asks = {e.title: lambda e=e: e.ask(f"load {path}") for e in [plain, *engines]}
    answers = in_turns(asks, rounds)
    plain.stop()
    base = answers[plain.title]
    head = [f"{path.stat().st_size / 1e6:.0f} MB of metadata, {SNAPSHOTS:,} snapshots", "ms"]
    return markdown(head, [[title, milliseconds(answer, base)] for title, answer in answers.items()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=names(FILES), default=FILES)
    parser.add_argument("--peers", type=names(["java", "pyiceberg"]), default=["java", "pyiceberg"])
    parser.add_argument("--note", default="", help="a sentence about the circumstances, put above the results")
    add_run_options(parser, 31, "5 rounds, and not the table of 1,000,000 files", "commits")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.files = min(options.rounds, 5), [n for n in options.files if n != FILES[-1]]
    warehouse = options.warehouse.resolve()
    folders = {int(files): make_table(int(files), warehouse) for files in options.files}
    engines = [engine for name, engine in committers().items() if name in ["frazil", *options.peers]]
    metadata = make_metadata(folders[min(folders)], warehouse)
    command = f"python benches/commits/run.py {' '.join(sys.argv[1:])}".strip()
    lines = [
        *([options.note, ""] if options.note else []),
        f"Medians of {options.rounds} rounds in turns; behind them, how many times that of the smallest table.",
        "",
        f"{machine_line()}; {version_line(engines)}. Command: `{command}`.",
        "",
        *appends(engines, folders, options.rounds),
        "",
        *loads(engines, metadata, min(options.rounds, 5)),
    ]
    for engine in engines:
        engine.stop()
    text = "\n".join(lines)
    print(f"\n{text}")
    if options.write:
        write_section(options.write, "commits", text)


if __name__ == "__main__":
    main()
