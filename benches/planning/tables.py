"""The tables of the planning benchmark: written once by Java Iceberg and kept."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "tests" / "interop")]
import comparison  # noqa: E402 - the folder above


@dataclass(frozen=True)
class Shape:
    """What a table holds."""

    title: str
    files: int
    per_manifest: int
    version: int
    deletes: str


TABLES = {
    "t100k": Shape("100,000 files", 100_000, 10_000, 2, "none"),
    "p100k": Shape("100,000 files, 50,000 position deletes", 100_000, 10_000, 2, "position"),
    "e100k": Shape("100,000 files, 5,000 equality deletes", 100_000, 10_000, 2, "equality"),
    "d100k": Shape("100,000 files, 100,000 deletion vectors", 100_000, 10_000, 3, "vector"),
    "s100k": Shape("100,000 files, 1,000 small manifests", 100_000, 100, 2, "none"),
    "t1m": Shape("1,000,000 files", 1_000_000, 10_000, 2, "none"),
}
NEEDED_JARS = ("hadoop-client-api", "hadoop-client-runtime", "slf4j-api", "commons-logging", "log4j", "scala-library")


def java() -> list[str]:
    """The command that runs the benchmark's Java programs: Iceberg from Maven, Hadoop's client from PySpark's jars.

    Raises:
        RuntimeError: If Java is missing.
    """
    from runtime_jar import runtime_jar

    return comparison.java(HERE / "java", runtime_jar(), NEEDED_JARS, comparison.cache() / "java")


def make(name: str, warehouse: Path) -> Path:
    """The table's folder, written now if it is not there."""
    folder = warehouse / name
    if not (folder / "metadata" / "version-hint.text").is_file():
        shape = TABLES[name]
        print(f"== Writing {name} ({shape.title}) by Java Iceberg, once", flush=True)
        part = warehouse / f"{name}.part"  # the location is recorded, so the folder can't be renamed after
        if part.exists() or folder.exists():
            sys.exit(f"{folder} is incomplete: remove it and {part}")
        part.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
        arguments = [f"file:{folder}", str(shape.files), str(shape.per_manifest), str(shape.version), shape.deletes]
        subprocess.run([*java(), "MakeTable", *arguments], check=True)
        part.unlink()
    elif (warehouse / f"{name}.part").exists():
        sys.exit(f"{folder} is incomplete: remove it and {warehouse / name}.part")
    return folder
