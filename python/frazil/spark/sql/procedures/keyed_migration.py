"""The procedures of the namespace `sys` that make tables of Paimon of Spark's own tables.

Java moves the files of such tables. Here their rows are written again, so the files may have another format before.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from frazil.capabilities import TABLE_FORMATS
from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.schema import Schema
from frazil.spark.columns import quoted
from frazil.spark.sql.grammar.tokens import Cursor, Name, shown
from frazil.spark.sql.procedures.procedure import Given, Parameter, Procedure, pairs_of
from frazil.spark.sql.session import dotted
from frazil.spark.write import append

__all__ = ["PROCEDURES"]

_HIVE = "hive"
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
        InvalidInputError: The name of the source lacks its database.
        AlreadyExistsError: The target exists.
    """
    if len(source) != 2:
        raise InvalidInputError(f"{shown(source)} is no name of a table with its database", hint="'default.t'")
    spark = given.session.spark
    name = ".".join(map(quoted, ("spark_catalog", *source)))
    rows = spark.table(name)
    parts = [column.name for column in spark.catalog.listColumns(name) if column.isPartition]
    catalog = given.session.catalogs[str(given.catalog)].catalog
    catalog.create_namespace(dotted(target[:-1]), if_not_exists=True)
    if parts:
        options = {"partition.default-name": _NO_VALUE, **options}
    # A table of this format is made here, whatever the catalog makes by default.
    table = catalog.create_table(
        dotted(target), Schema(rows.schema), partition_by=parts, properties=options, format=TABLE_FORMATS[1]
    )
    try:
        append(rows, table)
    except BaseException:
        catalog.drop_table(dotted(target), purge=True)
        raise
    if drops:
        spark.sql(f"DROP TABLE {name}")


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
    tables = given.session.spark.sql(f"SHOW TABLES IN spark_catalog.{quoted(database)}").toArrow().to_pylist()
    done, failed = 0, 0
    for row in tables:
        if row["isTemporary"]:
            continue
        name = (database, row["tableName"])
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
