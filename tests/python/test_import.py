"""Importing Frazil is cheap and does no work."""

from __future__ import annotations

import subprocess
import sys

import frazil as fz


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_imports_nothing_heavy() -> None:
    heavy = ["pyarrow", "pyspark", "pandas", "numpy", "polars", "duckdb"]
    heavy += ["asyncio", "concurrent", "threading", "dataclasses", "uuid"]
    loaded = run(f"import frazil, sys; print([m for m in {heavy!r} if m in sys.modules])")
    assert loaded == "[]"


def test_a_debug_build_warns() -> None:
    code = (
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as w:\n"
        "    warnings.simplefilter('always')\n"
        "    import frazil\n"
        "print(len(w) == frazil._core.DEBUG_BUILD)"
    )
    assert run(code) == "True"


def test_names_resolve() -> None:
    for name in set(fz.__all__) - {"spark"}:
        assert hasattr(fz, name), name
    assert not hasattr(fz, "no_such_name")
    assert fz.__version__.count(".") == 2


def test_the_core_stays_small() -> None:
    assert len([n for n in dir(fz._core) if not n.startswith("_")]) <= 60
