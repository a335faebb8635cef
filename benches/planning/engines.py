"""The planners, and the floor."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tables
from filters import DAYS
from workers import newest_metadata

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from comparison import Engine, cache, own_python, package_version, peers_python  # noqa: E402 - the folder above


def crate() -> str:
    """The program over the `iceberg` crate, which `make bench-peers` builds."""
    return str(cache() / "iceberg-rust" / "release" / "plan-with-iceberg")


def worker(python: Callable[[], str], name: str) -> Callable[[], list[str]]:
    return lambda: [python(), str(HERE / "workers.py"), name]


@dataclass
class Planner(Engine):
    """A planner."""

    # What the planner takes for a table: its folder, or its newest metadata file.
    argument: Callable[[str], str] = str

    def plan(self, table: Path, filter: str) -> dict[str, Any]:
        """Seconds, tasks and deletes of one plan, or `error`."""
        return self.ask(f"{self.argument(str(table))} {filter}")


class Floor:
    """Seconds to inflate what a plan must read."""

    def __init__(self) -> None:
        program = str(cache() / "floor")
        self._engine = Engine("floor", "floor", lambda: [os.environ.get("FRAZIL_BENCH_FLOOR") or program])

    def seconds(self, table: Path, filter: str) -> float | None:
        days = DAYS[filter]
        words = [newest_metadata(str(table)), "15", *(map(str, days) if days else [])]
        answer = self._engine.ask(" ".join(words))
        print(f"   {table.name}, {filter}: floor {answer}", flush=True)
        return answer.get("seconds")


def crate_version() -> str:
    lines = (HERE / "iceberg_rust" / "Cargo.lock").read_text().splitlines()
    return "iceberg crate " + lines[lines.index('name = "iceberg"') + 1].split('"')[1]


def java_version() -> str:
    from runtime_jar import COORDINATE

    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[0]
    return f"Java Iceberg {COORDINATE.rsplit(':', 1)[1]} ({said})"


ENGINES = {
    engine.name: engine
    for engine in [
        Planner("frazil", "Frazil", worker(own_python, "frazil"), package_version(own_python, "frazil")),
        Planner(
            "java",
            "Java Iceberg",
            lambda: [*tables.java(), "PlanFiles"],
            java_version,
            argument=lambda folder: f"file:{folder}",
        ),
        Planner(
            "pyiceberg",
            "PyIceberg",
            worker(peers_python, "pyiceberg"),
            package_version(peers_python, "pyiceberg", "pyiceberg-core"),
        ),
        Planner("iceberg-rust", "iceberg crate", lambda: [crate()], crate_version, argument=newest_metadata),
        Planner(
            "duckdb",
            "DuckDB",
            worker(peers_python, "duckdb"),
            package_version(peers_python, "duckdb", "duckdb-extension-iceberg"),
        ),
    ]
}
