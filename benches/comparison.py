"""What the benchmarks share: engines as processes of their own, rounds in which they take turns, the results page."""

import argparse
import json
import os
import platform
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar

ROOT = Path(__file__).resolve().parents[1]
# Rounds that an engine takes part in, by the seconds its first answer took: nobody waits for the tenth of 90 seconds.
PATIENCE = [(20.0, 1), (4.0, 3)]
# Before each turn.
REST_SECONDS = 0.1
# Of all answers of a turn.
QUICK_SECONDS = 0.05
Key = TypeVar("Key", bound=Hashable)
Answer = dict[str, Any]


def cache() -> Path:
    """Where tables and compiled peers are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "frazil-bench"


def own_python() -> str:
    """The Python that has Frazil: the one that runs the benchmark."""
    return sys.executable


def peers_python() -> str:
    """The Python that has the peers: of `.venv-peers`, or the one named by FRAZIL_BENCH_PEERS_PYTHON."""
    return os.environ.get("FRAZIL_BENCH_PEERS_PYTHON") or str(ROOT / ".venv-peers" / "bin" / "python")


def java(sources: Path, jar: Path, needed: tuple[str, ...], classes: Path) -> list[str]:
    """The command that runs Java programs, compiled now if they are not: `jar`, and those of PySpark's that are needed.

    Raises:
        RuntimeError: Java is missing.
    """
    import pyspark

    folder = Path(pyspark.__file__).parent / "jars"
    jars = [found for found in sorted(folder.glob("*.jar")) if found.name.startswith(needed)]
    path = os.pathsep.join(str(one) for one in [jar, *jars])
    programs = sorted(sources.glob("*.java"))
    compiled = [classes / f"{program.stem}.class" for program in programs]
    newest = max(program.stat().st_mtime for program in programs)
    try:
        if not all(one.is_file() and one.stat().st_mtime >= newest for one in compiled):
            classes.mkdir(parents=True, exist_ok=True)
            subprocess.run(["javac", "-nowarn", "-cp", path, "-d", str(classes), *map(str, programs)], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(f"the Java programs can't be compiled: {error}") from error
    return ["java", "-Xmx4g", "-cp", os.pathsep.join([path, str(classes)])]


@dataclass
class Engine:
    """A process that answers lines with lines of JSON. One that can't be started answers with what is missing."""

    name: str
    title: str
    command: Callable[[], list[str]]
    # Prints the version.
    version: Callable[[], str] = field(default=lambda: "")
    # Seconds after which an engine is stopped and its answer is an error with `longer_than`; None for never.
    limit: float | None = None
    _process: "subprocess.Popen[str] | None" = field(default=None, init=False)
    _said: "IO[str]" = field(init=False, repr=False)

    def ask(self, line: str) -> Answer:
        """The answer, or `error`."""
        try:
            if self._process is None:
                # A file, since a pipe that nobody reads would stop an engine that warns a lot.
                self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - read after the engine has ended
                self._process = subprocess.Popen(
                    self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True
                )
            answer = self._exchange(self._process, line)
            if answer is None:
                self.stop()
                return {"error": f"no answer within {self.limit:.0f} s", "longer_than": self.limit}
            if not answer:
                self._said.seek(0)
                said = self._said.read().strip().splitlines()
                self.stop()
                return {"error": said[-1][:160] if said else "it ended without a word"}
            found: Answer = json.loads(answer)
            return found
        except (OSError, RuntimeError, ImportError, ValueError) as error:
            self.stop()
            return {"error": f"{type(error).__name__}: {error}"[:160]}

    def _exchange(self, process: "subprocess.Popen[str]", line: str) -> str | None:
        """The line that answers, empty if the process has ended; None if it takes too long."""
        if process.stdin is None or process.stdout is None:
            raise OSError("the engine has no pipes")
        process.stdin.write(line + "\n")
        process.stdin.flush()
        # Nothing is left over from before: each line was answered by one.
        if not select.select([process.stdout], [], [], self.limit)[0]:
            return None
        return process.stdout.readline()

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def package_version(python: Callable[[], str], *packages: str) -> Callable[[], str]:
    code = f"import importlib.metadata as m; print(', '.join(f'{{p}} {{m.version(p)}}' for p in {packages!r}))"
    return lambda: subprocess.run([python(), "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def version_line(engines: list[Engine]) -> str:
    """The versions of those that are there."""
    found = [f"Python {sys.version.split()[0]}"]
    for engine in engines:
        try:
            found.append(engine.version())
        except (OSError, subprocess.CalledProcessError, ValueError, ImportError):
            found.append(f"{engine.title} missing")
    return ", ".join(dict.fromkeys(word for word in found if word))


def machine_line() -> str:
    """Cores and the processor's model."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} cores, {model}"


def patience_line() -> str:
    return ", ".join(f"{most} of those slower than {seconds:.0f} s" for seconds, most in PATIENCE)


def rounds_of(first: float, rounds: int) -> int:
    return next((min(rounds, most) for seconds, most in PATIENCE if first > seconds), rounds)


def in_turns(
    asks: Mapping[Key, Callable[[], Answer]],
    rounds: int,
    warm_ups: Callable[[Key], int] = lambda _: 1,
    measured: Sequence[str] = ("seconds",),
    least: int = 1,
    most: int = 1,
) -> dict[Key, Answer]:
    """Asks each, round by round: its last answer with the medians of what is measured (all under `runs`), or its error.

    Each round begins with another one, and each waits until those before have come to rest: a virtual machine compiles
    and collects on after its answer, and nobody shall always come next. `most`: how many answers a turn may have that
    together are quick: the first finds the processor's caches full of what others left.

    The warming answers do not count, but the last of them says how many rounds the asked one takes part in, which
    are `least` or more. If only one would be left, it is the answer.
    """
    out: dict[Key, Answer] = {}
    taken: dict[Key, list[Answer]] = {key: [] for key in asks}
    wanted: dict[Key, int] = {}
    for key, ask in asks.items():
        for _ in range(warm_ups(key)):
            out[key] = ask()
            if "error" in out[key]:
                break
        wanted[key] = max(rounds_of(out[key].get("seconds", 0), rounds), min(least, rounds))
        if wanted[key] == 1 < rounds and "error" not in out[key]:
            # What takes so long is not helped by warming.
            wanted[key], taken[key] = 0, [dict(out[key])]
    keys = list(asks)
    for number in range(rounds):
        turn = number % len(keys) if keys else 0
        for key in keys[turn:] + keys[:turn]:
            if number < wanted[key] and "error" not in out[key]:
                time.sleep(REST_SECONDS)
                began = time.monotonic()
                for _ in range(most):
                    answer = asks[key]()
                    out[key] |= answer
                    taken[key].append(answer)
                    if "error" in answer or time.monotonic() - began > QUICK_SECONDS:
                        break
    for key, answers in taken.items():
        if "error" not in out[key]:
            runs = {name: [answer.get(name, float("nan")) for answer in answers] for name in measured}
            medians = {name: statistics.median(values) for name, values in runs.items()}
            out[key] |= {**medians, "rounds": len(answers), "runs": runs}
    return out


def probe(script: Path, *arguments: str, python: str = sys.executable) -> Answer:
    """What a script says as its last line in a fresh process, or `error`."""
    try:
        done = subprocess.run([python, str(script), *arguments], capture_output=True, text=True)
    except OSError as error:
        return {"error": str(error)}
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"error": lines[-1][:160] if lines else f"ended with {done.returncode}"}
    found: Answer = json.loads(done.stdout.splitlines()[-1])
    return found


def ratio(theirs: float, ours: float) -> str:
    value = theirs / ours
    return f"{value:.0f}×" if value >= 20 else f"{value:.1f}×"


def markdown(head: list[str], rows: list[list[str]]) -> list[str]:
    """The lines of a table."""
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows)]


def write_section(path: Path, mark: str, text: str) -> None:
    """Replaces the part of the results page between a benchmark's marks."""
    start, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    page = path.read_text("utf-8")
    before, rest = page.split(start, 1)
    after = rest.split(end, 1)[1]
    path.write_text(f"{before}{start}\n{text}\n{end}{after}", "utf-8")


def add_run_options(parser: argparse.ArgumentParser, rounds: int, quick: str, warehouse: str) -> None:
    """Adds the options of benchmarks over tables that are made once: how much is run, where tables and results are."""
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--warehouse", type=Path, default=cache() / warehouse, help="where the tables are kept")
    parser.add_argument("--write", type=Path, help="results page to put the measures into")


def names(known: list[str]) -> Callable[[str], list[str]]:
    """What parses an option that lists names with commas."""

    def parse(text: str) -> list[str]:
        found = [name for name in text.split(",") if name]
        if odd := [name for name in found if name not in known]:
            raise argparse.ArgumentTypeError(f"{odd[0]} is not one of {', '.join(known)}")
        return found

    return parse
