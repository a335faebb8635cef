"""The planners: processes that answer lines with lines. One that can't be started answers with what is missing."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import tables
from filters import DAYS
from workers import newest_metadata

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def peers_python() -> str:
    """The Python that has the peers: of `.venv-peers`, or the one named by FRAZIL_BENCH_PEERS_PYTHON."""
    return os.environ.get("FRAZIL_BENCH_PEERS_PYTHON") or str(ROOT / ".venv-peers" / "bin" / "python")


def crate() -> str:
    """The program over the `iceberg` crate, which `make bench-peers` builds."""
    return str(tables.cache() / "iceberg-rust" / "release" / "plan-with-iceberg")


def worker(python: Callable[[], str], name: str) -> Callable[[], list[str]]:
    return lambda: [python(), str(HERE / "workers.py"), name]


@dataclass
class Engine:
    """A planner."""

    name: str
    title: str
    command: Callable[[], list[str]]
    # What the planner takes for a table: its folder, or its newest metadata file.
    argument: Callable[[str], str] = str
    # Prints the version.
    version: Callable[[], str] = field(default=lambda: "")
    _process: "subprocess.Popen[str] | None" = field(default=None, init=False)
    _said: "IO[str]" = field(init=False, repr=False)

    def plan(self, table: Path, filter: str) -> dict[str, Any]:
        """Seconds, tasks and deletes of one plan, or `error`."""
        return self.ask(f"{self.argument(str(table))} {filter}")

    def ask(self, line: str) -> dict[str, Any]:
        try:
            if self._process is None:
                # A file, since a pipe that nobody reads would stop a planner that warns a lot.
                self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - read after the planner has ended
                self._process = subprocess.Popen(
                    self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True
                )
            answer = self._exchange(self._process, line)
            if not answer:
                self._said.seek(0)
                said = self._said.read().strip().splitlines()
                self.stop()
                return {"error": said[-1][:160] if said else "it ended without a word"}
            found: dict[str, Any] = json.loads(answer)
            return found
        except (OSError, RuntimeError, ImportError, ValueError) as error:
            self.stop()
            return {"error": f"{type(error).__name__}: {error}"[:160]}

    @staticmethod
    def _exchange(process: "subprocess.Popen[str]", line: str) -> str:
        if process.stdin is None or process.stdout is None:
            raise OSError("the planner has no pipes")
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


class Floor:
    """Seconds to inflate what a plan must read."""

    def __init__(self) -> None:
        program = str(tables.cache() / "floor")
        self._engine = Engine("floor", "floor", lambda: [os.environ.get("FRAZIL_BENCH_FLOOR") or program])

    def seconds(self, table: Path, filter: str) -> float | None:
        days = DAYS[filter]
        words = [newest_metadata(str(table)), "15", *(map(str, days) if days else [])]
        answer = self._engine.ask(" ".join(words))
        print(f"   {table.name}, {filter}: floor {answer}", flush=True)
        return answer.get("seconds")


def package_version(python: Callable[[], str], *packages: str) -> Callable[[], str]:
    code = f"import importlib.metadata as m; print(', '.join(f'{{p}} {{m.version(p)}}' for p in {packages!r}))"
    return lambda: subprocess.run([python(), "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def crate_version() -> str:
    lines = (HERE / "iceberg_rust" / "Cargo.lock").read_text().splitlines()
    return "iceberg crate " + lines[lines.index('name = "iceberg"') + 1].split('"')[1]


def java_version() -> str:
    from runtime_jar import COORDINATE

    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[0]
    return f"Java Iceberg {COORDINATE.rsplit(':', 1)[1]} ({said})"


def frazil_version() -> str:
    return package_version(lambda: sys.executable, "frazil")()


ENGINES = {
    engine.name: engine
    for engine in [
        Engine("frazil", "Frazil", worker(lambda: sys.executable, "frazil"), str, frazil_version),
        Engine("java", "Java Iceberg", lambda: [*tables.java(), "PlanFiles"], lambda t: f"file:{t}", java_version),
        Engine(
            "pyiceberg",
            "PyIceberg",
            worker(peers_python, "pyiceberg"),
            str,
            package_version(peers_python, "pyiceberg", "pyiceberg-core"),
        ),
        Engine("iceberg-rust", "iceberg crate", lambda: [crate()], newest_metadata, crate_version),
        Engine(
            "duckdb",
            "DuckDB",
            worker(peers_python, "duckdb"),
            str,
            package_version(peers_python, "duckdb", "duckdb-extension-iceberg"),
        ),
    ]
}


def version_line(engines: list[Engine]) -> str:
    """The versions of those that are there."""
    found = [f"Python {sys.version.split()[0]}"]
    for engine in engines:
        try:
            found.append(engine.version())
        except (OSError, subprocess.CalledProcessError, ValueError, ImportError):
            found.append(f"{engine.title} missing")
    return ", ".join(found)
