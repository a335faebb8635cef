"""The compiled module is small, and importing it costs little."""

import subprocess
import sys

import frazil._core as core

MAX_SYMBOLS = 70
LARGE = {"pyarrow", "pyspark", "pandas", "numpy", "polars", "duckdb"}


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
