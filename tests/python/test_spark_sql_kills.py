"""A pipeline of SQL statements whose workers, executors and driver are killed at random times: each row is right."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from spark_sql_pipeline import Rows, steps

pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")
pytestmark = pytest.mark.spark

SCRIPT = Path(__file__).with_name("spark_sql_pipeline.py")
SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string()), ("v", pa.int64())])
# Executors of a local cluster are processes of their own.
MASTERS = {"iceberg": "local-cluster[2,1,1024]", "paimon": "local[2,20]"}
OPTIONS: dict[str, dict[str, Any]] = {
    "iceberg": {"format-version": 3, "write.merge.mode": "merge-on-read", "write.update.mode": "merge-on-read"},
    "paimon": {"deletion-vectors.enabled": "true"},
}
DRIVER_KILLS, OTHER_KILLS = 3, 9


def processes() -> dict[int, tuple[int, str]]:
    """The parent and the command line of each process."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            found[int(folder.name)] = (parent, (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def below(root: int) -> dict[int, str]:
    """The command lines of the processes that a process started, and those that these started."""
    every = processes()
    found: dict[int, str] = {}
    level = {root}
    while level:
        level = {process for process, (parent, _) in every.items() if parent in level}
        found |= {process: every[process][1] for process in level}
    return found


def kill_one(driver: int, dice: random.Random) -> bool:
    """Kills a worker of Python, or an executor."""
    for what in dice.sample(["pyspark.daemon", "CoarseGrainedExecutorBackend"], 2):
        if found := sorted(process for process, command in below(driver).items() if what in command):
            with contextlib.suppress(ProcessLookupError):
                os.kill(dice.choice(found), signal.SIGKILL)
            return True
    return False


def kill_all(driver: subprocess.Popen[bytes]) -> None:
    """Kills a driver and everything below it, which may have sessions of its own."""
    for process in [driver.pid, *below(driver.pid)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    driver.wait()


def run(folder: Path, format: str, dice: random.Random) -> tuple[int, int]:
    """Runs the pipeline to its end. Returns how many drivers were killed, and how many others."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"}
    drivers = others = 0
    with (folder / "log").open("w") as log:
        while True:
            arguments = [sys.executable, str(SCRIPT), str(folder), MASTERS[format]]
            driver = subprocess.Popen(arguments, env=environment, stdout=log, stderr=log, start_new_session=True)
            # A new driver gets the time for some steps, so that the pipeline ends.
            until = time.monotonic() + dice.uniform(25, 60)
            try:
                while driver.poll() is None:
                    time.sleep(dice.uniform(2, 8))
                    if drivers < DRIVER_KILLS and time.monotonic() > until:
                        break
                    others += others < OTHER_KILLS and kill_one(driver.pid, dice)
                if driver.poll() is not None:
                    assert driver.returncode == 0, (folder / "log").read_text()[-5000:]
                    return drivers, others
            finally:
                kill_all(driver)
            drivers += 1


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("format", MASTERS)
def test_a_pipeline_that_is_killed_at_random_times(tmp_path: Path, format: str, seed: int) -> None:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 (no 'java' on the PATH)")
    folder = tmp_path / str(seed)
    lake = fz.catalog("lake", warehouse=folder / "lake")
    lake.create_namespace("db")
    table = lake.create_table("db.t", SCHEMA, partition_by="g", format=format, properties=OPTIONS[format])
    drivers, others = run(folder, format, random.Random(seed))
    print(f"{format}, seed {seed}: {drivers} drivers and {others} others were killed")
    assert drivers
    assert others
    expected: Rows = {}
    for step in steps(seed):
        expected = step.change(expected)
    found = sorted(table.refresh().scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert found == [{"id": i, "g": g, "v": v} for i, (g, v) in sorted(expected.items())]
    assert len(table.snapshots) <= len(steps(seed))
    assert not [finding for finding in table.doctor(deep=True).findings if finding.severity != "info"]
