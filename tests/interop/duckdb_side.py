"""DuckDB in an interpreter of its own.

Its extension for Iceberg comes as a package for certain versions of DuckDB (`requirements/bench.txt`), so it may be in
another interpreter: `FRAZIL_DUCKDB_PYTHON`, or that of `make bench-peers`. Where none has it, its tests are skipped.
"""

from __future__ import annotations

import functools
import os
import pathlib
import subprocess
import sys

import pytest

LOADING = """
import importlib.util, json, pathlib, sys
import duckdb
con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
def load(name):
    spec = importlib.util.find_spec("duckdb_extension_" + name)
    found = sorted(pathlib.Path(spec.origin).parent.glob("extensions/*/*.duckdb_extension")) if spec else []
    con.execute(f"LOAD '{found[-1]}'" if found else f"LOAD {name}")
try:
    for name in json.loads(sys.argv[1]):
        load(name)
except Exception as e:
    sys.exit(f"no extension: {e}")
"""


def _run(python: str, script: str, extensions: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [python, "-c", LOADING + script, extensions, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@functools.cache
def _python(extensions: str) -> str | None:
    """An interpreter whose DuckDB has the extensions."""
    peers = pathlib.Path(__file__).parents[2] / ".venv-peers" / "bin" / "python"
    candidates = (os.environ.get("FRAZIL_DUCKDB_PYTHON"), str(peers) if peers.exists() else None, sys.executable)
    return next((python for python in filter(None, candidates) if _run(python, "", extensions).returncode == 0), None)


def by_duckdb(script: str, *arguments: str, extensions: str = '["avro", "iceberg"]') -> str:
    """What a script prints. It has the connection `con` and finds its arguments from `sys.argv[2]` on."""
    python = _python(extensions)
    if python is None:
        pytest.skip("no DuckDB with its extensions: name a Python that has them in FRAZIL_DUCKDB_PYTHON")
    done = _run(python, script, extensions, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout
