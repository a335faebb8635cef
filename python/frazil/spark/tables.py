"""Tables made of DataFrames, and temporary views of tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

from frazil.catalog import Catalog, catalog_of
from frazil.exceptions import AlreadyExistsError, FrazilError, InvalidInputError
from frazil.expr import Term
from frazil.spark.catalogs import load_named, session_catalogs, table_of
from frazil.spark.jobs.interrupts import raise_if_interrupted
from frazil.spark.read import read
from frazil.spark.write import append, overwrite
from frazil.table import Table

__all__ = ["known_views", "load_table", "save_as_table", "view"]

_MODES = ("error", "append", "overwrite", "ignore")


def save_as_table(
    df: DataFrame,
    name: str,
    mode: Literal["error", "append", "overwrite", "ignore"] = "error",
    *,
    catalog: Catalog | None = None,
    partition_by: str | Term | Sequence[str | Term] = (),
    sort_by: str | Term | Sequence[str | Term] = (),
    properties: Mapping[str, object] | None = None,
    location: str | None = None,
    format: str = "iceberg",
    identifier_fields: Sequence[str] | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
) -> Table:
    """Makes a table of a DataFrame's schema and rows, as Spark's `saveAsTable` does. Returns the table.

    Nullability and comments of columns are kept. A new table whose rows can't be written is dropped again.

    Args:
        df: The rows.
        name: The table's name: `catalog.namespace.table`, or without the catalog if `catalog` is given.
        mode: What happens if the table exists. `error` refuses. `append` adds the rows, matched by name. `overwrite`
            replaces the table's columns and rows in one commit, and keeps its partitions, properties and history.
            `ignore` does nothing.
        catalog: The catalog, as `frazil.catalog` returns it; None for one that settings of the session or PyIceberg's
            configuration describe.
        partition_by: As for `Catalog.create_table`, like the arguments up to `identifier_fields`. They count only for
            a new table.
        sort_by: How rows are sorted in files.
        properties: The new table's properties.
        location: A folder for its files.
        format: The new table's format.
        identifier_fields: The columns that together identify a row.
        snapshot_properties: Properties to add to the snapshot's summary.

    Raises:
        AlreadyExistsError: The table exists, and the mode is `error`.
        InvalidInputError: An argument is wrong, or the rows do not fit.
    """
    mode = "error" if mode == "errorifexists" else mode  # type: ignore[comparison-overlap]
    if mode not in _MODES:
        raise InvalidInputError(f"'{mode}' is not a mode", hint=f"Use one of {', '.join(_MODES)}")
    rest = name
    if catalog is None:
        catalog, rest = catalog_of(name, session_catalogs(df.sparkSession))
    if catalog.table_exists(rest):
        table = catalog.load_table(rest)
        if mode == "error":
            raise AlreadyExistsError(
                "the table exists already", {"table": name}, "Give mode='append', 'overwrite' or 'ignore'"
            )
        if mode == "append":
            append(df, table, snapshot_properties=snapshot_properties)
        elif mode == "overwrite":
            overwrite(df, table, snapshot_properties=snapshot_properties, overwrite_schema=True)
        return table.refresh()
    raise_if_interrupted()
    table = catalog.create_table(
        rest, df.schema, partition_by, sort_by, properties, location, format, identifier_fields
    )
    try:
        append(df, table, snapshot_properties=snapshot_properties)
    except BaseException:
        _drop(catalog, rest)
        raise
    return table.refresh()


def _drop(catalog: Catalog, name: str) -> None:
    try:
        catalog.drop_table(name, purge=True)
    except FrazilError:  # the error of the write is the one to show
        return


def load_table(spark: SparkSession, name: str) -> Table:
    """Opens a table by its name, in a catalog that the session's settings describe.

    These are the settings `spark.frazil.catalog.NAME.*`, and those of the connectors, `spark.sql.catalog.NAME.*`.
    PyIceberg's configuration names further catalogs, and has precedence over the connectors. The result is a table as
    that of `frazil.load_table`, with its maintenance, branches and updates.

    Args:
        spark: The session, classic or Connect.
        name: The table: `catalog.namespace.table`.

    Raises:
        InvalidInputError: No catalog of this name is known.
        NotFoundError: The table does not exist.
    """
    return load_named(name, session_catalogs(spark))


_VIEWS: WeakKeyDictionary[SparkSession, dict[str, Table | str]] = WeakKeyDictionary()


def view(spark: SparkSession, name: str, table: Table | str | os.PathLike[str]) -> DataFrame:
    """Makes a temporary view of a table. Returns its DataFrame.

    Spark plans a view once, so its own queries see the table as it was at this call. `REFRESH TABLE` does not change
    that: call `view` again. `frazil.spark.sql` plans the view for each query, so it sees the newest version, and reads
    only what the query needs.

    Args:
        spark: The session, classic or Connect.
        name: The view's name. A view of this name is replaced.
        table: A table, its location, or its name (`catalog.namespace.table`). For `frazil.spark.sql`, a table object
            means its newest version, too.
    """
    opened = table_of(spark, table)
    rows = read(spark, opened)
    rows.createOrReplaceTempView(name)
    _VIEWS.setdefault(spark, {})[name.lower()] = opened if isinstance(table, Table) else os.fspath(table)
    return rows


def known_views(spark: SparkSession) -> dict[str, Table]:
    """The newest versions of the tables that have a temporary view in a session, by the view's name in lower case.

    A view that was dropped or replaced by Spark's own means is left out, if Spark says so.
    """
    known = _VIEWS.get(spark, {})
    there = _temporary_views(spark, known) if known else set()
    return {
        name: Table(table._core).refresh() if isinstance(table, Table) else table_of(spark, table)
        for name, table in known.items()
        if name in there
    }


def _temporary_views(spark: SparkSession, known: Iterable[str]) -> set[str]:
    """The names of a session's temporary views in lower case; the known ones if Spark can't list them."""
    try:
        return {found.name.lower() for found in spark.catalog.listTables() if found.isTemporary}
    except Exception:
        # Spark lists nothing while the class of its default catalog is missing. Classes of such errors differ.
        return set(known)
