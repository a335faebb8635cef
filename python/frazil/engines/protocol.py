"""Engines, which do the work of a table outside of this process. There is one: Spark.

A scan or the maintenance of a table asks an engine to work for it, and an engine is built on scans and tables. Neither
may import the other. So this module says what an engine does, and finds it by the name of its module.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

from frazil import _core
from frazil.exceptions import InvalidInputError
from frazil.requests.maintenance import Maintenance, OrphanOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Engine", "Planning", "SparkEngine", "check_engine", "check_planning", "spark_engine"]

Planning: TypeAlias = Literal["auto", "driver", "executors"]
"""Who plans a read of Spark."""

Engine: TypeAlias = Literal["auto", "native", "arrow"]
"""Who reads or writes files: Spark's own reader and writer, or Frazil's."""


def check_planning(planning: object) -> None:
    """Raises `InvalidInputError` for another value."""
    if planning not in ("auto", "driver", "executors"):
        raise InvalidInputError(f"planning must be 'auto', 'driver' or 'executors', not {planning!r}")


def check_engine(engine: object) -> None:
    """Raises `InvalidInputError` for another value."""
    if engine not in ("auto", "native", "arrow"):
        raise InvalidInputError(f"engine must be 'auto', 'native' or 'arrow', not {engine!r}")


class SparkEngine(Protocol):
    """What tables and scans ask of Spark. The module `frazil.spark.engine` does it."""

    def read_scan(self, spark: SparkSession, scan: Any, planning: Planning, engine: Engine) -> DataFrame:
        """The rows of a scan as a DataFrame."""

    def compact(self, spark: SparkSession, table: _core.Table, action: Maintenance.Compact) -> tuple[_core.Table, Any]:
        """Compacts a table; returns its new version, and what was done."""

    def rewrite_position_deletes(
        self, spark: SparkSession, table: _core.Table, action: Maintenance.RewritePositionDeletes
    ) -> tuple[_core.Table, Any]:
        """Rewrites position delete files; returns the table's new version, and what was done."""

    def remove_orphan_files(
        self, spark: SparkSession, table: _core.Table, options: OrphanOptions
    ) -> tuple[_core.Table, Any]:
        """Removes orphan files; returns the table's newest version, and what was done."""


def spark_engine() -> SparkEngine:
    """The engine for Spark, imported when it is first used.

    Raises:
        ImportError: PySpark is not installed.
    """
    return cast("SparkEngine", importlib.import_module("frazil.spark.engine"))
