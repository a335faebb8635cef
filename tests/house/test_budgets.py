"""Sizes and names that keep the house readable."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from rust_source import ROOT, RustFile, rust_files

import frazil._core as core

MAX_CODE_LINES = 600
MAX_INLINE_TEST_LINES = 250
MAX_SYMBOLS = 40
FORBIDDEN_NAMES = {"util", "utils", "common", "helper", "helpers", "misc"}
LARGE = {"pyarrow", "pyspark", "pandas", "numpy", "polars", "duckdb"}
PYTHON_FILES = sorted(
    path for folder in ("python", "tests", "benches", "demo") for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("file", rust_files(), ids=lambda file: file.name)
def test_rust_files_stay_short(file: RustFile) -> None:
    assert file.code_lines <= MAX_CODE_LINES, f"{file.name}: {file.code_lines} lines of code: split it by meaning"
    assert file.inline_test_lines <= MAX_INLINE_TEST_LINES, f"{file.name}: move its tests into a file of their own"


@pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_files_stay_short(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    lines = {node.lineno for node in ast.walk(tree) if hasattr(node, "lineno")}
    assert len(lines) <= MAX_CODE_LINES


def test_names_say_something() -> None:
    named = [path for path in [*(file.path for file in rust_files()), *PYTHON_FILES] if path.stem in FORBIDDEN_NAMES]
    assert not named


def test_the_compiled_module_is_small() -> None:
    symbols = [name for name in dir(core) if not name.startswith("__")]
    assert len(symbols) <= MAX_SYMBOLS, symbols


def test_import_does_no_work() -> None:
    """`import frazil` must not bring in the large libraries it talks to."""
    probe = f"import sys, frazil; print(*sorted({LARGE} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_spark_discovers_the_source_lightly() -> None:
    """Spark imports every `pyspark_*` module in each fresh process, so ours must cost nothing but PySpark itself."""
    heavy = LARGE - {"pyspark", "pyarrow"}
    probe = (
        "import sys, pyspark.sql.datasource; before = set(sys.modules); import pyspark_frazil; "
        "assert pyspark_frazil.DefaultSource.name() == 'frazil'; "
        f"print(*sorted({{name.split('.')[0] for name in set(sys.modules) - before}} & {heavy}))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
