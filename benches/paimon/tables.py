"""The tables of the Paimon benchmark: written once by Java Paimon and kept, some 1.5 GB."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "tests" / "interop")]
import comparison  # noqa: E402 - the folder above

DATABASE = "bench.db"
NEEDED_JARS = ("hadoop-client-api", "hadoop-client-runtime", "slf4j-api", "log4j")


@dataclass(frozen=True)
class Shape:
    """What a table holds, and what makes it: a program and its arguments."""

    title: str
    program: str
    arguments: tuple[str, ...]
    # Rows that a read gives; 0 for tables without data files.
    rows: int = 0
    # The table whose files it shares.
    like: str = ""


TABLES = {
    "f1200": Shape("1,200 files", "MakeFiles", ("1200", "1200", "append")),
    "f100k": Shape("100,000 files", "MakeFiles", ("100000", "10000", "append")),
    "f500k": Shape("500,000 files", "MakeFiles", ("500000", "10000", "append")),
    "k100k": Shape("100,000 files with keys", "MakeFiles", ("100000", "10000", "keyed")),
    "keyed": Shape("keys, 5 runs of 2,000,000 rows", "MakeRows", ("keyed", "2000000", "5"), 8_000_000),
    "append": Shape("append, 10,000,000 rows", "MakeRows", ("append", "1000000", "10"), 10_000_000),
    "append_vectors": Shape("append, 5 % deleted", "MakeRows", ("delete",), 9_499_223, "append"),
    "keyed_vectors": Shape("keys, deletion vectors", "MakeRows", ("keyed-vectors", "4000000", "4"), 4_000_000),
}


def java() -> list[str]:
    """The command that runs the benchmark's Java programs: Paimon from Maven, Hadoop's client from PySpark's jars.

    Raises:
        RuntimeError: If Java is missing.
    """
    from runtime_jar import paimon_jar

    return comparison.java(HERE / "java", paimon_jar(), NEEDED_JARS, comparison.cache() / "java-paimon")


def make(name: str, warehouse: Path) -> Path:
    """The table's folder, written now if it is not there."""
    folder, shape = warehouse / DATABASE / name, TABLES[name]
    part = warehouse / f"{name}.part"
    if part.exists() or (folder.exists() and not (folder / "snapshot" / "LATEST").is_file()):
        sys.exit(f"{folder} is incomplete: remove it and {part}")
    if not folder.exists():
        if shape.like:
            make(shape.like, warehouse)
        print(f"== Writing {name} ({shape.title}) by Java Paimon, once", flush=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
        if shape.like:
            share(warehouse / DATABASE / shape.like, folder)
        subprocess.run([*java(), shape.program, str(folder), *shape.arguments], check=True)
        part.unlink()
    return folder


def share(source: Path, folder: Path) -> None:
    """The same table with deletion vectors: files are never changed in place, so both may have them by hard links."""
    shutil.copytree(source, folder, copy_function=os.link)
    schema = folder / "schema" / "schema-0"
    found = json.loads(schema.read_text("utf-8"))
    found["options"]["deletion-vectors.enabled"] = "true"
    latest = folder / "snapshot" / "LATEST"
    for changed, text in ((schema, json.dumps(found)), (latest, latest.read_text("utf-8"))):
        changed.unlink()
        changed.write_text(text, "utf-8")
