"""Changes by expressions for tables that only the driver can change. Rows are found again by the table's primary key.

Spark computes the changed rows, as for other tables. The driver gets these rows and merges them by the key.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from frazil.capabilities import format_name
from frazil.exceptions import CommitConflictError, InvalidInputError, UnsupportedError
from frazil.requests.rows import merge_change
from frazil.spark.changes.merging import Key, keys_of
from frazil.spark.changes.placed_changes import FILE, MISSING, PlacedChange
from frazil.spark.columns import quoted
from frazil.spark.reading.places import Placed
from frazil.spark.workers.errors import raised_by_workers
from frazil.table import Table

__all__ = ["key_columns", "read_keyed", "write_keyed"]

_KEY, _GONE = "frazil key", "frazil gone"


def _primary_key(table: Table) -> list[Key]:
    keys = keys_of(table, None)
    if not keys:
        raise UnsupportedError(
            f"tables of {format_name(table._core)} without a primary key can't be changed by Spark's expressions",
            {"table": table.location},
            "Use filters of Frazil's, keys and columns: see Table.update, Table.delete and Table.merge",
        )
    return keys


def read_keyed(spark: SparkSession, table: Table, where: str, columns: Iterable[str], branch: str | None) -> Placed:
    """Rows of a table with their keys. Their places are only there."""
    names = dict.fromkeys([*columns, *(key.path[0] for key in _primary_key(table))])
    rows = table.scan(where, list(names), at=branch).to_spark(spark)
    return Placed(rows.withColumns({"_file": f.lit(""), "_pos": f.lit(0).cast("long")}))


def key_columns(table: Table, target: str) -> list[Column]:
    """The key of the old row."""
    keys = _primary_key(table)
    names = [".".join(map(quoted, (target, *key.path))) for key in keys]
    return [f.col(name).alias(f"{_KEY} {i}") for i, name in enumerate(names)]


def write_keyed(change: PlacedChange) -> None:
    """Merges the changed rows into the table, on the driver.

    Raises:
        InvalidInputError: A value does not fit, or a row of the table matches several rows of the source.
        UnsupportedError: The table can't be changed in this way.
        CommitConflictError: Another commit has changed the table.
    """
    table, keys = change.table, _primary_key(change.table)
    rows = _collected(change.rows)
    names = {name: f"frazil c{i}" for i, name in enumerate(change.columns)}
    old = pc.is_valid(rows[FILE])
    data: dict[str, pa.ChunkedArray] = {}
    for i, key in enumerate(keys):
        column = rows[f"{_KEY} {i}"]
        if key.name in change.inserted:
            column = pc.if_else(old, column, rows[names[key.name]].cast(column.type))
        data[key.name] = column
        if key.name in change.updated:
            changed = pc.and_(pc.and_(old, pc.invert(rows[MISSING])), pc.not_equal(column, rows[names[key.name]]))
            if pc.any(changed).as_py():
                raise InvalidInputError(
                    "a column of the primary key can't be updated",
                    {"column": key.name},
                    "Delete the rows, and append them with the new key",
                )
    key_names = {key.name for key in keys}
    data |= {name: rows[name] for name in names.values()}
    data[_GONE] = pc.if_else(pc.or_(rows[MISSING], pc.and_(old, pa.scalar(change.deletes_all))), "yes", "no")
    inserted = {name: name if name in key_names else names[name] for name in change.inserted}
    merged = merge_change(
        [key.name for key in keys],
        {name: names[name] for name in change.updated if name not in key_names},
        f"\"{_GONE}\" = 'yes'",
        inserted,
        False,
    )
    given = pa.table(data)
    new = given.filter(pc.invert(old))
    if change.deletes_all:
        given = given.take(pa.array(_firsts(given, list(key_names))))
    if new.num_rows:
        _check_keys_are_new(table, new, list(key_names), change.job.branch)
    newest, read = Table(table._core).refresh().snapshot, table.snapshot
    if (newest and newest.id) != (read and read.id):
        raise CommitConflictError("the table was changed while Spark computed the changes", {"table": table.location})
    table._change_rows(merged, given, change.job.branch, change.job.members())


def _check_keys_are_new(table: Table, inserted: pa.Table, keys: list[str], branch: str | None) -> None:
    """Refuses inserted rows whose key the table has. They would change these rows."""
    have = table.scan(select=keys, at=branch).to_arrow()
    common = inserted.select(keys).join(have.cast(inserted.select(keys).schema), keys, join_type="inner")
    if common.num_rows:
        raise UnsupportedError(
            "a row that the merge inserts has the primary key of a row of the table",
            {"key": str(common.slice(0, 1).to_pylist()[0])},
            "Let the condition of the merge compare the primary key alone, and put the rest into WHEN … AND …",
        )


def _collected(rows: DataFrame) -> pa.Table:
    with raised_by_workers():
        return rows.toArrow()


def _firsts(rows: pa.Table, keys: list[str]) -> list[int]:
    """The number of the first row with each key."""
    numbered = rows.select(keys).append_column("number", pa.array(range(rows.num_rows)))
    return sorted(numbered.group_by(keys).aggregate([("number", "min")])["number_min"].to_pylist())
