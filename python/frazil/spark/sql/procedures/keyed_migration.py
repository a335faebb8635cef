"""The procedures of the namespace `sys` that make tables of Paimon of Spark's own tables.

Java moves the files of such tables. Here their rows are written again, so the files may have another format before.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from pyspark.sql import types as st

from frazil.capabilities import TABLE_FORMATS
from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.schema import Schema
from frazil.spark.columns import quoted
from frazil.spark.sql.grammar.tokens import Cursor, Name, shown
from frazil.spark.sql.procedures.procedure import Given, Parameter, Procedure, pairs_of
from frazil.spark.sql.session import dotted
from frazil.spark.sql.types import declared_types, parsed
from frazil.spark.write import append

__all__ = ["PROCEDURES"]

_HIVE = "hive"
_VIEW = "VIEW"
# Where Spark keeps the type of a column that has a length.
_EXACT = "__CHAR_VARCHAR_TYPE_STRING"
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"

Rows = Sequence[Sequence[Any]]


def _options(given: Given) -> dict[str, str]:
    return {**pairs_of(given["options"]), **dict(given["options_map"] or {})}


def _check_source(given: Given) -> None:
    kind = str(given["source_type"]).lower()
    if kind != _HIVE:
        raise UnsupportedError(f"tables of type '{kind}' can't be migrated", hint="source_type => 'hive'")
    if given.catalog is None:
        raise InvalidInputError(f"{given.procedure} needs a catalog", hint=f"CALL catalog.{given.procedure}(…)")


def _migrate(given: Given, source: Name, target: Name, options: dict[str, str], drops: bool) -> None:
    """Makes a table with the rows of one of Spark's.

    Raises:
        InvalidInputError: The name of the source lacks its database, or is that of a view.
        AlreadyExistsError: The target exists.
        UnsupportedError: A part of a column has a type such as `varchar(n)`.
    """
    if len(source) != 2:
        raise InvalidInputError(f"{shown(source)} is no name of a table with its database", hint="'default.t'")
    spark = given.session.spark
    name = ".".join(map(quoted, ("spark_catalog", *source)))
    described = spark.catalog.getTable(name)
    if described.tableType == _VIEW:
        raise InvalidInputError(f"{shown(source)} is a view", hint="Name a table")
    rows = spark.table(name)
    parts = [column.name for column in spark.catalog.listColumns(name) if column.isPartition]
    catalog = given.session.catalogs[str(given.catalog)].catalog
    catalog.create_namespace(dotted(target[:-1]), if_not_exists=True)
    if parts:
        options = {"partition.default-name": _NO_VALUE, **options}
    if described.description:
        options = {"comment": described.description, **options}
    # A table of this format is made here, whatever the catalog makes by default.
    table = catalog.create_table(
        dotted(target),
        Schema(rows.schema),
        partition_by=parts,
        properties=options,
        format=TABLE_FORMATS[1],
        declared_types=declared_types(_types(rows.schema)),
    )
    try:
        append(rows, table)
        if drops:
            spark.sql(f"DROP TABLE {name}")
    except BaseException:
        # The target has the only copy of the rows if the source was dropped all the same.
        if spark.catalog.tableExists(name):
            catalog.drop_table(dotted(target), purge=True)
        raise


def _types(columns: st.StructType) -> st.StructType:
    """Columns with the types of the catalog. A query has texts instead of `char(n)` and `varchar(n)`."""
    exact = {one.name: parsed(one.metadata[_EXACT]) for one in columns if _EXACT in one.metadata}
    return st.StructType([st.StructField(one.name, exact.get(one.name, one.dataType)) for one in columns])


def _migrate_table(given: Given) -> Rows:
    _check_source(given)
    source = Cursor(str(given["table"])).name()
    target = source if not given["target_table"] else Cursor(str(given["target_table"])).name()
    keeps = given["delete_origin"] is not None and not given["delete_origin"]
    _migrate(given, source, target, _options(given), not keeps)
    return [(True,)]


def _migrate_database(given: Given) -> Rows:
    _check_source(given)
    database = str(given["database"])
    done, failed = 0, 0
    for table in given.session.spark.catalog.listTables(f"spark_catalog.{quoted(database)}"):
        if table.isTemporary or table.tableType == _VIEW:
            continue
        name = (database, table.name)
        try:
            _migrate(given, name, name, _options(given), True)
            done += 1
        except Exception as error:
            warnings.warn(f"table {shown(name)} was not migrated: {error}", stacklevel=2)
            failed += 1
    return [(f"migrate database is finished, success cnt: {done} , failed cnt: {failed}",)]


_COMMON = (Parameter("options_map", "map<string,string>"), Parameter("parallelism", "int"))
PROCEDURES = {
    "migrate_table": Procedure(
        (
            Parameter("source_type", required=True),
            Parameter("table", required=True),
            Parameter("options"),
            Parameter("delete_origin", "boolean"),
            Parameter("target_table"),
            *_COMMON,
        ),
        "result boolean",
        _migrate_table,
    ),
    "migrate_database": Procedure(
        (
            Parameter("source_type", required=True),
            Parameter("database", required=True),
            Parameter("options"),
            *_COMMON,
        ),
        "result string",
        _migrate_database,
    ),
}
"""These procedures by name."""
