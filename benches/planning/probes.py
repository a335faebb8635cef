"""Measures of a process as a whole, so each runs in a fresh one and prints one line of JSON.

python benches/planning/probes.py memory TABLE (tasks | count | table)
python benches/planning/probes.py threads TABLE
python benches/planning/probes.py buckets (frazil | pyiceberg_core)
"""

import json
import random
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

THREADS = 8


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory(table: str, how: str) -> dict[str, float]:
    """Peak memory of one plan."""
    import pyarrow  # noqa: F401 - not part of the plan

    import frazil as fz

    before = peak_mb()
    scan = fz.open_table(table).scan()
    if how == "tasks":
        sum(1 for _ in scan.plan_files())
    elif how == "count":
        scan._core.count_files()
    else:
        scan.plan_table()
    return {"before_mb": before, "peak_mb": peak_mb()}


def plan_once(table: str) -> None:
    import frazil as fz

    fz.open_table(table).scan()._core.count_files()


def at_once(table: str) -> float:
    """Seconds until as many threads have planned."""
    running = [threading.Thread(target=plan_once, args=(table,)) for _ in range(THREADS)]
    started = time.perf_counter()
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return time.perf_counter() - started


def spins(seconds: float) -> float:
    """Rounds of a Python loop that one thread does in a second."""
    done, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        for _ in range(1000):
            done += 1
    return done / (time.perf_counter() - started)


def beside_plans(table: str, planners: int) -> float:
    """`spins` while others plan without end."""
    stop = threading.Event()

    def plan() -> None:
        while not stop.is_set():
            plan_once(table)

    running = [threading.Thread(target=plan) for _ in range(planners)]
    for thread in running:
        thread.start()
    found = spins(3)
    stop.set()
    for thread in running:
        thread.join()
    return found


def beside_process(table: str) -> float:
    """`spins` while another process plans without end: the same load, but no interpreter lock in common."""
    other = subprocess.Popen([sys.executable, __file__, "plan-forever", table])
    time.sleep(1)
    found = spins(3)
    other.kill()
    other.wait()
    return found


def plan_forever(table: str) -> dict[str, float]:
    while True:
        plan_once(table)


def threads(table: str) -> dict[str, float]:
    before = peak_mb()
    plan_once(table)
    one = peak_mb() - before
    started = time.perf_counter()
    for _ in range(THREADS):
        plan_once(table)
    in_turn = time.perf_counter() - started
    together = min(at_once(table) for _ in range(3))
    together_mb = peak_mb() - before
    alone = spins(2)
    kept, share = beside_plans(table, 1) / alone, beside_process(table) / alone
    return {
        "one_mb": one,
        "in_turn": in_turn,
        "together": together,
        "together_mb": together_mb,
        "kept": kept,
        "share": share,
    }


def columns(count: int) -> dict[str, Any]:
    """Arrays of every type that hashes, without nulls, of random values."""
    import pyarrow as pa

    chance = random.Random(1)

    def raw(kind: Any, width: int) -> Any:
        return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(chance.randbytes(width * count))])

    out = {
        "int": raw(pa.int32(), 4),
        "long": raw(pa.int64(), 8),
        "date": raw(pa.date32(), 4),
        "timestamp": raw(pa.timestamp("us"), 8),
        "timestamptz": raw(pa.timestamp("us", "UTC"), 8),
        "time": pa.array([chance.randrange(86_400_000_000) for _ in range(count)], pa.time64("us")),
        "decimal(12, 2)": pa.array([chance.randrange(10**10) for _ in range(count)]).cast(pa.decimal128(19, 0)),
        "decimal(38, 0)": pa.array([chance.randrange(10**18) for _ in range(count)]).cast(pa.decimal128(38, 0)),
        "uuid": raw(pa.binary(16), 16),
        "fixed(5)": raw(pa.binary(5), 5),
        "string of 14": pa.array([f"user-{chance.randrange(10**9):09}" for _ in range(count)]),
        "string of 36": pa.array([f"{chance.getrandbits(144):036x}" for _ in range(count)]),
    }
    out["binary of 14"] = out["string of 14"].cast(pa.binary())
    return out


def buckets(library: str) -> dict[str, float]:
    """Nanoseconds for each value, the best of many rounds."""
    if library == "frazil":
        from frazil.transforms import bucket
    else:
        from pyiceberg_core.transform import bucket
    count, out = 100_000, {}
    for kind, array in columns(count).items():
        rounds = []
        for _ in range(50):
            started = time.perf_counter()
            bucket(array, 16)
            rounds.append(time.perf_counter() - started)
        out[kind] = min(rounds) / count * 1e9
    return out


PROBES: dict[str, Callable[..., dict[str, float]]] = {
    "memory": memory,
    "threads": threads,
    "plan-forever": plan_forever,
    "buckets": buckets,
}

if __name__ == "__main__":
    print(json.dumps(PROBES[sys.argv[1]](*sys.argv[2:])))
