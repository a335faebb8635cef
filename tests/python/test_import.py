"""Importing Frazil is cheap and does no work."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import frazil as fz


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def loads(code: str) -> set[str]:
    """The modules that code loads, and that the interpreter has not loaded for itself."""
    return set(run(f"import sys; known = set(sys.modules)\n{code}\nprint(*(set(sys.modules) - known))").split())


# A name of the package loads the module that defines it.
IMPORTED = {
    "atexit",
    "frazil",
    "frazil._core",
    "importlib",
    "importlib._bootstrap",
    "importlib._bootstrap_external",
    "types",
}

# What opens a table, reads it and changes its rows.
OPENED = {
    *("arguments", "arguments.checked", "arguments.rows", "arguments.values", "display", "display.commits"),
    *(
        "display.figures",
        "display.tables",
        "display.terms",
        "engines",
        "engines.protocol",
        "exceptions",
        "capabilities",
        "expr",
        "foreign",
        "foreign.options",
        "names",
    ),
    *(
        "names.answers",
        "names.called",
        "names.operations",
        "names.similar",
        "requests",
        "requests.evolution",
        "requests.handle",
        "requests.maintenance",
    ),
    *("requests.rows", "requests.unfinished", "row_changes", "scan", "schema", "table"),
    "arguments.configuration",
    *("observing", "observing.listeners", "observing.logs", "observing.seam", "observing.showing"),
    *("observing.telling", "observing.verbs"),
}
OF_CATALOGS = {"catalog", "foreign.pyiceberg_catalogs", "names.properties", "requests.new_table"}

# Modules of Python that take long to load, and libraries that need not be installed.
HEAVY = {
    *("asyncio", "base64", "concurrent", "dataclasses", "difflib", "html", "inspect", "pathlib", "pickle", "pkgutil"),
    *("textwrap", "threading", "urllib.parse", "uuid"),
    *("click", "rich"),
    *("daft", "duckdb", "numpy", "pandas", "polars", "pyarrow", "pyiceberg", "pyspark", "ray", "torch"),
}


def test_the_import_loads_the_core_alone() -> None:
    # Only some versions of Python load `warnings` for themselves.
    assert loads("import frazil") - {"warnings"} <= IMPORTED


def own(loaded: set[str]) -> set[str]:
    return {name.removeprefix("frazil.") for name in loaded if name.startswith("frazil.")} - {"_core"}


def test_a_table_loads_what_it_needs(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    opened = loads(f"import frazil as fz\ntable = fz.open_table({table.location!r})\ntable.scan('id > 1').plan()")
    assert own(opened) == OPENED
    assert not opened & HEAVY
    warehouse = catalog.properties["warehouse"]
    loaded = loads(f"import frazil as fz\nfz.catalog(warehouse={warehouse!r}).load_table('db.t').refresh().name")
    assert own(loaded) == OPENED | OF_CATALOGS
    assert not loaded & HEAVY


def test_each_name_loads_its_own_module() -> None:
    assert own(loads("import frazil; frazil.NotFoundError")) == {"exceptions"}
    assert "table" not in own(loads("from frazil import col, day"))
    assert own(loads("import frazil; dir(frazil); hasattr(frazil, '__path__')")) == set()


def test_the_table_of_names_is_complete() -> None:
    tree = ast.parse(Path(fz.__file__).read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    typed = {
        alias.name: node.module.removeprefix("frazil.")
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module and node.module != "frazil"
        for alias in node.names
    }
    named = {name: module for module, names in fz._HOMES.items() for name in names}  # type: ignore[attr-defined]
    assert typed == named
    eager = {"CommitMessage", "DataFile", "DeleteFile", "ScanTask", "__version__"}
    assert set(fz.__all__) == set(named) | eager
    assert all(getattr(fz, name).__name__ == name for name in named)


def test_modules_of_the_package_are_attributes() -> None:
    folder = Path(fz.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    for name in modules - {"__init__", "__main__", "catalog"}:
        module = run(f"import frazil; print(frazil.{name}.__name__)")
        assert module == f"frazil.{name}"


def test_the_catalog_is_a_function_whoever_imports_its_module() -> None:
    said = [
        run(f"{code}\nimport frazil\nprint(type(frazil.catalog).__name__)")
        for code in ("import frazil.catalog", "from frazil.catalog import Catalog", "from frazil import *", "")
    ]
    assert said == ["function"] * 4
    # Another function can stand in for it, as in tests of users.
    assert run("import frazil; frazil.catalog = 5; print(frazil.catalog)") == "5"


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
    assert len([n for n in dir(fz._core) if not n.startswith("_")]) <= 70
