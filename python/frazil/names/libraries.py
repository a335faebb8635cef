"""Names that objects of other libraries have: `table.memory_usage()` is one of pandas.

The tables of `frazil.names.words` go first. This looks only into libraries that are loaded.
"""

from __future__ import annotations

import sys

__all__ = ["answer"]

_ROWS = (
    ("pyarrow", "Table", "pyarrow", "to_arrow()"),
    ("pandas", "DataFrame", "pandas", "to_pandas()"),
    ("polars", "DataFrame", "Polars", "to_polars()"),
    ("polars", "LazyFrame", "Polars", "to_polars(lazy=True)"),
    ("duckdb", "DuckDBPyRelation", "DuckDB", "to_duckdb()"),
    ("pyspark.sql", "DataFrame", "Spark", "to_spark(spark)"),
)

_KINDS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "Table": tuple((module, kind, library, f"scan().{path}") for module, kind, library, path in _ROWS),
    "Scan": _ROWS,
    "Split": _ROWS[:1],
    "Schema": (("pyarrow", "Schema", "pyarrow", "to_arrow()"),),
    "frazil": (
        ("pyarrow", "", "pyarrow", "pyarrow"),
        ("polars", "", "Polars", "polars"),
        ("pandas", "", "pandas", "pandas"),
        ("duckdb", "", "DuckDB", "duckdb"),
    ),
}
"""By the class that is asked: a module and a class with such names, the library, and how to get such an object."""


def answer(owner: str, name: str) -> str | None:
    """What to write for a name of another library, or None."""
    from frazil.names import others

    for module, kind, library, path in _KINDS.get(owner, ()):
        found: object = sys.modules.get(module)
        if kind and found is not None:
            found = getattr(found, kind, None)
        if found is not None and hasattr(found, name):
            call = "(…)" if callable(getattr(found, name)) else ""
            return others.sentence(name, (library, f"{path}.{name}{call}"))
    return None
