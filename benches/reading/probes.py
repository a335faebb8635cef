"""Measures of Frazil's stream in a fresh process, which prints one line of JSON.

python benches/reading/probes.py memory REQUEST
python benches/reading/probes.py first-batch REQUEST ROUNDS

REQUEST is what `workers.py` is asked.
"""

import json
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow  # noqa: F401 - no part of the reads
from workers import frazil_scan, streamed


def peak_mb() -> float:
    """This process's own peak: what `getrusage` says may be its parent's."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if not found:
        raise OSError("/proc/self/status says no VmHWM")
    return int(found[1]) / 1024


def memory(request: str) -> dict[str, float]:
    """Peak memory of one stream whose batches are dropped."""
    import frazil  # noqa: F401

    before = peak_mb()
    rows = streamed(frazil_scan(json.loads(request)).to_arrow_batch_reader())
    return {"before_mb": before, "peak_mb": peak_mb(), "rows": rows}


def first_batch(request: str, rounds: str) -> dict[str, float]:
    """Median seconds from `to_arrow_batch_reader()`, and from opening the table, to the first batch with rows."""
    calls, opens = [], []
    for _ in range(int(rounds) + 1):
        opened = time.perf_counter()
        scan = frazil_scan(json.loads(request))
        called = time.perf_counter()
        reader = scan.to_arrow_batch_reader()
        next(batch for batch in reader if batch.num_rows)
        ended = time.perf_counter()
        calls.append(ended - called)
        opens.append(ended - opened)
        reader.close()
    return {"call": statistics.median(calls[1:]), "open": statistics.median(opens[1:]), "cold": calls[0]}


PROBES: dict[str, Callable[..., dict[str, float]]] = {"memory": memory, "first-batch": first_batch}

if __name__ == "__main__":
    print(json.dumps(PROBES[sys.argv[1]](*sys.argv[2:])))
