"""The planners and readers, each a process of `workers.py` or of `java/Serve.java`."""

import os
import subprocess
import sys
from pathlib import Path

import tables

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from comparison import ROOT, Engine, own_python, package_version  # noqa: E402 - the folder above

# Seconds for one answer.
LIMIT = 180.0


def paimon_python() -> str:
    """The Python that has Paimon's peers: of `.venv-pypaimon`, or the one named by FRAZIL_BENCH_PYPAIMON_PYTHON."""
    return os.environ.get("FRAZIL_BENCH_PYPAIMON_PYTHON") or str(ROOT / ".venv-pypaimon" / "bin" / "python")


def java_version() -> str:
    from runtime_jar import PAIMON

    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[0]
    return f"Java Paimon {PAIMON.rsplit(':', 1)[1]} ({said})"


def worker(name: str, python: str) -> list[str]:
    return [python, str(HERE / "workers.py"), name]


ENGINES = {
    engine.name: engine
    for engine in [
        Engine(
            "frazil", "Frazil", lambda: worker("frazil", own_python()), package_version(own_python, "frazil"), LIMIT
        ),
        Engine(
            "pypaimon-rust",
            "pypaimon-rust",
            lambda: worker("pypaimon-rust", paimon_python()),
            package_version(paimon_python, "pypaimon-rust"),
            LIMIT,
        ),
        Engine(
            "pypaimon",
            "pypaimon",
            lambda: worker("pypaimon", paimon_python()),
            package_version(paimon_python, "pypaimon", "pyarrow"),
            LIMIT,
        ),
        Engine("java", "Java Paimon", lambda: [*tables.java(), "Serve"], java_version, LIMIT),
    ]
}
PEERS = [name for name in ENGINES if name != "frazil"]
