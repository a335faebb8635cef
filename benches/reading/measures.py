"""What else is measured of reading: each gives rows of a table, (what, result)."""

from collections.abc import Callable, Iterable
from pathlib import Path

from comparison import probe
from engines import HERE, request
from reads import READS

Rows = Iterable[tuple[str, str]]


def memory(reads: list[str], warehouse: Path, _rounds: int) -> Rows:
    """Peak memory of Frazil's stream, of all columns."""
    for name in reads:
        if READS[name].columns is None:
            found = probe(HERE / "probes.py", "memory", request(READS[name], warehouse))
            said = found.get("error") or f"{found['peak_mb']:.0f} MB ({found['before_mb']:.0f} MB after imports)"
            yield f"peak memory of a stream, {READS[name].title}", said


def first_batch(reads: list[str], warehouse: Path, rounds: int) -> Rows:
    """How long Frazil's stream lets one wait."""
    for name in reads:
        found = probe(HERE / "probes.py", "first-batch", request(READS[name], warehouse), str(rounds))
        said = found.get("error") or (
            f"{found['call'] * 1e3:.1f} ms after the call, {found['open'] * 1e3:.1f} ms with opening the table "
            f"({found['cold'] * 1e3:.1f} ms after a process's first call)"
        )
        yield f"first batch, {READS[name].title}", said


MEASURES: dict[str, Callable[[list[str], Path, int], Rows]] = {"memory": memory, "first-batch": first_batch}
