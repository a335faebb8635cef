"""What else is measured of planning, and the bucket transform: each gives rows of a table, (what, result)."""

import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import comparison
from comparison import own_python, peers_python
from engines import ENGINES, HERE, Planner, worker

Rows = Iterable[tuple[str, str]]


def probe(name: str, *arguments: str, python: str = sys.executable) -> dict[str, Any]:
    """What `probes.py` says, or `error`."""
    return comparison.probe(HERE / "probes.py", name, *arguments, python=python)


def medians(engines: list[Planner], folder: Path, filter: str, rounds: int) -> dict[str, dict[str, Any]]:
    """Median seconds of each engine, in turns."""
    answers = comparison.in_turns({engine.name: partial(engine.plan, folder, filter) for engine in engines}, rounds)
    for engine in engines:
        engine.stop()
    return answers


def times(answers: dict[str, dict[str, Any]], ours: str, theirs: str) -> str:
    if "error" in answers[ours]:
        return f"not available: {answers[ours]['error']}"
    text = f"{answers[ours]['seconds']:.3f} s"
    if "error" in answers[theirs]:
        return f"{text}; {theirs} fails: {answers[theirs]['error']}"
    factor = answers[theirs]["seconds"] / answers[ours]["seconds"]
    return f"{text}; {theirs} {answers[theirs]['seconds']:.3f} s: {factor:.1f}×"


def own(name: str) -> Planner:
    return Planner(name, name, worker(own_python, name))


def python_tasks(folders: dict[str, Path], rounds: int) -> Rows:
    """Every task as a Python object, its deletes looked at, compared with PyIceberg's; and the columnar form."""
    if "t100k" in folders:
        engines = [own("frazil-tasks"), own("frazil-table"), ENGINES["pyiceberg"]]
        answers = medians(engines, folders["t100k"], "none", rounds)
        yield "iterating 100,000 ScanTasks", times(answers, "frazil-tasks", "pyiceberg")
        yield "plan_table() of 100,000 files", times(answers, "frazil-table", "pyiceberg")


def plan_cache(folders: dict[str, Path], rounds: int) -> Rows:
    """A second plan with the plan cache, compared with the cold plan."""
    if "t100k" in folders:
        engines = [own("frazil-cached"), ENGINES["frazil"]]
        answers = medians(engines, folders["t100k"], "metrics", rounds)
        yield "second plan with the plan cache, metrics filter", times(answers, "frazil-cached", "frazil")


def memory(folders: dict[str, Path], _rounds: int) -> Rows:
    for name, how in (("t100k", "tasks"), ("t1m", "tasks"), ("t1m", "count"), ("t1m", "table")):
        if name in folders:
            found = probe("memory", str(folders[name]), how)
            said = found.get("error") or f"{found['peak_mb']:.0f} MB ({found['before_mb']:.0f} MB after imports)"
            yield f"peak memory of {how}, {name}", said


def threads(folders: dict[str, Path], _rounds: int) -> Rows:
    if "t100k" in folders:
        found = probe("threads", str(folders["t100k"]))
        if "error" in found:
            yield "8 threads planning 8 tables", found["error"]
            return
        factor = found["together"] / found["in_turn"]
        yield (
            "8 Python threads planning 8 tables at once",
            f"{found['together']:.3f} s, one after another {found['in_turn']:.3f} s: {factor:.2f}×; "
            f"peak memory above imports {found['together_mb']:.0f} MB, of one plan {found['one_mb']:.0f} MB",
        )
        yield (
            "speed that a busy Python thread keeps while another thread plans",
            f"{found['kept'] / found['share']:.0%} of what it keeps while another process does "
            f"({found['kept']:.0%} and {found['share']:.0%} of its speed alone)",
        )


def buckets(_folders: dict[str, Path], _rounds: int) -> Rows:
    """`frazil.transforms.bucket` and `pyiceberg_core.transform.bucket`, one core, arrays of 100,000 values."""
    ours = probe("buckets", "frazil")
    theirs = probe("buckets", "pyiceberg_core", python=peers_python())
    if "error" in ours or "error" in theirs:
        yield "bucket hashing", str(ours.get("error") or theirs.get("error"))
        return
    for kind, nanos in ours.items():
        other = theirs.get(kind)
        comparison = f"; pyiceberg_core {other:.1f} ns: {other / nanos:.1f}×" if other else "; pyiceberg_core fails"
        yield f"bucket(16) of {kind}, a value", f"{nanos:.2f} ns{comparison}"


MEASURES: dict[str, Callable[[dict[str, Path], int], Rows]] = {
    "tasks": python_tasks,
    "cache": plan_cache,
    "memory": memory,
    "threads": threads,
    "buckets": buckets,
}
