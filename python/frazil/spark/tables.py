"""Tables made of DataFrames, and temporary views of tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession

from frazil.exceptions import UnsupportedError
from frazil.table import Table

__all__ = ["save_as_table", "view"]


def save_as_table(
    df: DataFrame,
    name: str,
    mode: Literal["error", "append", "overwrite", "ignore"] = "error",
    *,
    catalog: Any | None = None,
    partition_by: Any | None = None,
    properties: Mapping[str, object] | None = None,
    format: str = "iceberg",
    location: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
) -> Table:
    """Makes a table of a DataFrame's schema and rows, as Spark's `saveAsTable` does. Returns the table.

    Nullability and comments of columns are kept.

    Args:
        df: The rows.
        name: The table's name: `catalog.namespace.table`, or without the catalog if `catalog` is given.
        mode: What happens if the table exists. `error` refuses. `append` adds the rows, matched by name. `overwrite`
            replaces the table's schema, partitions and rows, and keeps its history. `ignore` does nothing.
        catalog: The catalog, as `frazil.catalog` returns it; None for one that settings or PyIceberg's configuration
            describe.
        partition_by: As for `Catalog.create_table`.
        properties: The new table's properties.
        format: The new table's format.
        location: Where the new table is; None for where the catalog puts it.
        snapshot_properties: Properties to add to the snapshot's summary.

    Raises:
        AlreadyExistsError: The table exists, and the mode is `error`.
        InvalidInputError: An argument is wrong, or the rows do not fit.
    """
    raise UnsupportedError("not built yet")


def view(spark: SparkSession, name: str, table: Table | str | os.PathLike[str]) -> DataFrame:
    """Makes a temporary view of a table. Returns its DataFrame.

    Spark's own queries see the table as it is now: Spark plans the view once. `frazil.spark.sql` plans it again for
    each query, so it sees the newest version.

    Args:
        spark: The session, classic or Connect.
        name: The view's name. A view of this name is replaced.
        table: A table, its location, or its name (`catalog.namespace.table`). A table object stays at its version.
    """
    raise UnsupportedError("not built yet")
