"""Frazil plans, reads and commits Apache Iceberg tables from Python and PySpark. It needs no JVM.

    import frazil as fz
    from frazil import col

    table = fz.open_table("/warehouse/db/events")
    scan = table.scan(col("country").is_in(["NO", "SE"]), select=["id", "ts"])
    print(scan.explain())          # what was pruned, and why
    scan.to_arrow()                # or to_pandas(), to_polars(), to_spark(spark)

    fz.catalog(warehouse="/warehouse").load_table("db.events").append(rows)
    fz.load_table("prod.db.events")  # the catalog `prod` of the configuration

Everything starts at `Table`. `Table.scan` returns a `Scan`, which works out its tasks and rows when you ask for them.
`Table.append` commits. A filter is text or an expression (`frazil.expr`). All errors derive from `FrazilError`. Rows
come in and go out as Arrow data. `frazil.spark` reads and writes tables with PySpark.
"""

import sys
from importlib import import_module
from types import FrameType, ModuleType

from frazil import _core
from frazil._core import CommitMessage, DataFile, DeleteFile, ScanTask

# `typing` would take longer to load than all that this file needs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from frazil import doctor as doctor
    from frazil import spark as spark
    from frazil import transforms as transforms
    from frazil import variant as variant
    from frazil.catalog import Catalog, CatalogTransaction, View, catalog, load_table, write_table
    from frazil.differences import Diff
    from frazil.estimate import Estimate
    from frazil.evolve import UpdatePartitionSpec, UpdateSchema, UpdateSortOrder
    from frazil.exceptions import (
        AlreadyExistsError,
        CommitConflictError,
        CommitStateUnknownError,
        CorruptTableError,
        FrazilError,
        InternalError,
        InvalidInputError,
        NotFoundError,
        PermissionDeniedError,
        StoreError,
        UncommittedWarning,
        UnsupportedError,
    )
    from frazil.explain import Explain
    from frazil.expr import (
        Predicate,
        Term,
        bucket,
        col,
        current_date,
        current_timestamp,
        day,
        hour,
        month,
        truncate,
        year,
    )
    from frazil.inspect import Inspect
    from frazil.observing import on_report, progress
    from frazil.refs import Ref, Refs
    from frazil.results import LastCommit
    from frazil.scan import Scan, Split
    from frazil.schema import Field, PartitionField, PartitionSpec, Schema, SortField, SortOrder
    from frazil.statistics import Statistics
    from frazil.table import Snapshot, Table, Writer, open_table
    from frazil.transaction import DryRun, Transaction

__all__ = [
    "AlreadyExistsError",
    "Catalog",
    "CatalogTransaction",
    "CommitConflictError",
    "CommitMessage",
    "CommitStateUnknownError",
    "CorruptTableError",
    "DataFile",
    "DeleteFile",
    "Diff",
    "DryRun",
    "Estimate",
    "Explain",
    "Field",
    "FrazilError",
    "Inspect",
    "InternalError",
    "InvalidInputError",
    "LastCommit",
    "NotFoundError",
    "PartitionField",
    "PartitionSpec",
    "PermissionDeniedError",
    "Predicate",
    "Ref",
    "Refs",
    "Scan",
    "ScanTask",
    "Schema",
    "Snapshot",
    "SortField",
    "SortOrder",
    "Split",
    "Statistics",
    "StoreError",
    "Table",
    "Term",
    "Transaction",
    "UncommittedWarning",
    "UnsupportedError",
    "UpdatePartitionSpec",
    "UpdateSchema",
    "UpdateSortOrder",
    "View",
    "Writer",
    "__version__",
    "bucket",
    "catalog",
    "col",
    "current_date",
    "current_timestamp",
    "day",
    "hour",
    "load_table",
    "month",
    "on_report",
    "open_table",
    "progress",
    "truncate",
    "write_table",
    "year",
]

__version__: str = _core.__version__

if _core.DEBUG_BUILD:
    import warnings

    warnings.warn(
        "frazil was built without optimisations and is slow: build it with 'maturin develop --release'",
        RuntimeWarning,
        stacklevel=2,
    )


_HOMES = {
    "catalog": ("Catalog", "CatalogTransaction", "View", "catalog", "load_table", "write_table"),
    "estimate": ("Estimate",),
    "differences": ("Diff",),
    "evolve": ("UpdatePartitionSpec", "UpdateSchema", "UpdateSortOrder"),
    "exceptions": (
        *("AlreadyExistsError", "CommitConflictError", "CommitStateUnknownError", "CorruptTableError", "FrazilError"),
        *("InternalError", "InvalidInputError", "NotFoundError", "PermissionDeniedError", "StoreError"),
        *("UncommittedWarning", "UnsupportedError"),
    ),
    "explain": ("Explain",),
    "expr": (
        *("Predicate", "Term", "bucket", "col", "current_date", "current_timestamp", "day", "hour", "month"),
        *("truncate", "year"),
    ),
    "inspect": ("Inspect",),
    "observing": ("on_report", "progress"),
    "refs": ("Ref", "Refs"),
    "results": ("LastCommit",),
    "scan": ("Scan", "Split"),
    "schema": ("Field", "PartitionField", "PartitionSpec", "Schema", "SortField", "SortOrder"),
    "statistics": ("Statistics",),
    "table": ("Snapshot", "Table", "Writer", "open_table"),
    "transaction": ("DryRun", "Transaction"),
}
"""The modules that define the names of the package. Each is imported when one of its names is first used."""

_OWNERS = {name: module for module, names in _HOMES.items() for name in names}
_SHOWN_MODULES = ("doctor", "spark", "transforms", "variant")
_MODULES = {
    *(module for module in _HOMES if module != "catalog"),
    *_SHOWN_MODULES,
    *("arguments", "capabilities", "cli", "display", "engines", "foreign", "interop", "maintain", "names", "report"),
    *("requests", "row_changes", "tagging"),
}
"""The modules that are attributes of the package. `frazil.catalog` is a function."""


class _Module(ModuleType):
    """A module of the package. Names that it does not have are answered with Frazil's words."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            from frazil import names

            asked = sys._getframe().f_back
            if name == "__path__" and asked is not None and _searches(asked):
                # Python asks for it to import a module below this one, as in `import frazil.table.refs`.
                _refuse_import(asked.f_locals.get("name"), asked)
            raise names.of_module(name, sys._getframe(), self.__name__, vars(self).get("__all__", ()))

        def __call__(self, *_: object, **__: object) -> None:
            from frazil import names

            raise names.of_call(self.__name__)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        # Functions that Spark sends to executors may mention the package and its modules.
        return import_module, (self.__name__,)


class _Package(ModuleType):
    """The package. An import of the module `frazil.catalog` must not put it in the place of the function."""

    def __setattr__(self, name: str, value: object) -> None:
        # Python sets a module here after it was loaded. Tests may set another one in its place, which stays as it is.
        is_own = value is sys.modules.get(f"{__name__}.{name}")
        if is_own and (name in (*_SHOWN_MODULES, "maintain") or name in _HOMES) and type(value) is ModuleType:
            value.__class__ = _Module
            for below, module in vars(value).items():
                if type(module) is ModuleType and module.__name__ == f"{value.__name__}.{below}":
                    module.__class__ = _Module
        if name == "catalog" and isinstance(value, ModuleType):
            value = value.catalog
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        # Functions that Spark sends to executors may mention the package.
        return import_module, (self.__name__,)


def _searches(asked: FrameType) -> bool:
    """Whether a frame is Python's own search for a module to import.

    `importlib.util.find_spec` and tools that look for modules get no answer.
    """
    code = asked.f_code
    return code.co_name == "_find_and_load_unlocked" and code.co_filename.startswith("<frozen importlib")


def _refuse_import(module: object, asked: FrameType) -> None:
    """Says what to write instead of a module that does not exist."""
    if isinstance(module, str) and module.startswith("frazil.") and module.split(".")[1] not in ("names", "_core"):
        from frazil.names import imports

        imports.refuse_import(module, asked, __all__, sorted({*_MODULES, "catalog"}))


class _Imports:
    """Looks at imports of modules below `frazil` after all others. It finds none, and says what to write instead."""

    @staticmethod
    def find_spec(fullname: str, path: object = None, target: object = None) -> None:
        if not (isinstance(fullname, str) and fullname.startswith("frazil.")):
            return
        # The caller is a function of `importlib`, and its caller may be the search.
        asked = sys._getframe().f_back
        asked = None if asked is None else asked.f_back
        if asked is not None and _searches(asked):
            _refuse_import(fullname, asked)


sys.modules[__name__].__class__ = _Package
if not any(getattr(finder, "__name__", "") == "_Imports" for finder in sys.meta_path):
    sys.meta_path.append(_Imports)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in _OWNERS:
            value = getattr(import_module(f"frazil.{_OWNERS[name]}"), name)
            globals()[name] = value
            return value
        if name not in _MODULES:
            from frazil import names

            raise names.of_module(name, sys._getframe())
        try:
            return import_module(f"frazil.{name}")
        except ImportError as error:
            # `hasattr` asks by this error.
            raise AttributeError(str(error), name=name) from error


def __dir__() -> list[str]:
    return sorted({*__all__, *_SHOWN_MODULES, *(name for name in globals() if name.startswith("__"))})
