"""Every program in examples/ runs, twice in the same folder, and prints what it promises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parents[2] / "examples"
MAX_LINES = 60
PRINTED = {
    "distributed_write.py": ["Rows before the commit: 0", "Rows after it: 6000 in 1 snapshot"],
    "first_table.py": ["Rows: [{'id': 3, 'amount': 30.0}, {'id': 6, 'amount': 60.0}]", "All rows: 9"],
    "maintenance.py": ["Before: 8 rows, 8 data files", "Compacted: 8 rows, 1 data files", "Removed 1 orphan file(s)"],
    "plan_and_explain.py": ["Scan of ", "2 of 4 manifests", "Splits: 1 with rows: [50]"],
    "pyspark_pipeline.py": [
        "Totals: [{'country': 'NO', 'amount': 299000}, {'country': 'SE', 'amount': 300000}]",
        "Rows: 305 of DK: 10",
    ],
    "upsert_and_time_travel.py": [
        "iceberg, now: [(1, 'Ada', 10), (2, 'Bo', 25), (3, 'Cy', 30)]",
        "paimon, now: [(1, 'Ada', 10), (2, 'Bo', 25), (3, 'Cy', 30)]",
        "iceberg, before: [(1, 'Ada', 10), (2, 'Bo', 20)]",
        "paimon, before: [(1, 'Ada', 10), (2, 'Bo', 20)]",
    ],
}


def test_all_programs_are_listed() -> None:
    programs = {path.name: path for path in PROGRAMS.glob("*.py")}
    assert sorted(programs) == sorted(PRINTED)
    assert not [name for name, path in programs.items() if len(path.read_text("utf-8").splitlines()) > MAX_LINES]


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_programs_run_again_and_again(name: str, tmp_path: Path) -> None:
    environment = {**os.environ, "TZ": "UTC", "SPARK_LOCAL_IP": "127.0.0.1"}
    for run in (1, 2):
        done = subprocess.run(
            [sys.executable, PROGRAMS / name, tmp_path / "lake"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
            timeout=200,
        )
        assert done.returncode == 0, f"run {run}: {done.stderr[-4000:]}\n{done.stdout[-1000:]}"
        missing = [line for line in PRINTED[name] if line not in done.stdout]
        assert not missing, f"run {run}: {done.stdout}"
