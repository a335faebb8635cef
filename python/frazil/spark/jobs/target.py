"""Tables that jobs change: opened at their newest version, and identified in options of Spark."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

from frazil.spark import wire
from frazil.spark.catalogs import table_of
from frazil.table import Table

__all__ = ["HANDLE", "handle_of", "writable"]

# The option with a table of a catalog, which can't be opened by its location.
HANDLE = "table-token"


def handle_of(table: Table) -> dict[str, str]:
    """The option with a table that can't be opened by its location alone."""
    handle = table._core.to_json()
    # Spark hides options with this name. The text may contain passwords.
    return {HANDLE: handle} if wire.needs_handle(handle) else {}


def writable(spark: SparkSession, table: Table | str | os.PathLike[str]) -> Table:
    """The table at its newest version.

    Raises:
        InvalidInputError: The table can't be written. It was opened with `moved=True`, so its recorded location is
            another table's.
        NotFoundError: The table does not exist.
    """
    if not isinstance(table, Table):
        return table_of(spark, table)
    table.writable_location()
    # A table object stays at its version.
    return Table(table._core).refresh()
