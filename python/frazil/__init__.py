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

from typing import TYPE_CHECKING

from frazil import _core
from frazil._core import CommitMessage, DataFile, DeleteFile, ScanTask
from frazil.catalog import Catalog, CatalogTransaction, View, catalog, load_table, write_table
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
    "open_table",
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


# Modules that are imported when they are first used: `frazil.spark` needs PySpark.
_MODULES = ("spark", "transforms", "variant")

if TYPE_CHECKING:
    from frazil import spark as spark
    from frazil import transforms as transforms
    from frazil import variant as variant
else:

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            import inspect

            from frazil import names

            raise names.of_module(name, inspect.currentframe())
        import importlib

        try:
            return importlib.import_module(f"frazil.{name}")
        except ImportError as error:
            # `hasattr` asks by this error.
            raise AttributeError(str(error), name=name) from error


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))})
