"""How the rows of a table are changed by Spark's expressions: by their places, by their key, or by a range of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession

from frazil.capabilities import supports
from frazil.spark.changes.keyed import key_columns, read_keyed, write_keyed
from frazil.spark.changes.merging import DRIVER_MAX_ROWS, DRIVER_MAX_ROWS_DEFAULT, keys_of
from frazil.spark.changes.placed_changes import PlacedChange, write_changes
from frazil.spark.changes.ranges import can_name_ranges, old_columns, read_ranged, write_ranged
from frazil.spark.reading.places import Placed, read_placed
from frazil.spark.settings import setting
from frazil.table import Table

__all__ = ["Way", "is_for_tasks", "way_of"]

_Read: TypeAlias = Callable[[SparkSession, Table, str, Sequence[str], "str | None"], Placed]


@dataclass(frozen=True)
class Way:
    """How rows are read, found again, and changed.

    Attributes:
        read: Reads rows with their places: some columns of the rows that a filter keeps.
        old: The columns of the old rows that the change needs, of those that were read. No columns were read for a plan
            that is only explained.
        write: Makes the change. The text is a filter that selects every row that was read.
    """

    read: _Read
    old: Callable[[Table, str, Sequence[str]], list[Column]]
    write: Callable[[PlacedChange, str], None]


def way_of(table: Table) -> Way:
    """The way for a table."""
    if supports(table._core, "row_changes_by_executors"):
        return Way(read_placed, lambda *_: [], write_changes)
    if keys_of(table, None):
        return Way(read_keyed, lambda table, alias, _: key_columns(table, alias), lambda change, _: write_keyed(change))
    return Way(read_ranged, old_columns, _write_ranged)


def _write_ranged(change: PlacedChange, _: str) -> None:
    write_ranged(change)


def is_for_tasks(df: DataFrame, table: Table) -> bool:
    """Whether tasks should merge rows that the table itself could merge, because they are too many for the driver.

    Args:
        df: The rows. They are counted.
        table: The table.
    """
    if way_of(table).write is not _write_ranged or not can_name_ranges(table):
        return False
    most = setting(df.sparkSession, DRIVER_MAX_ROWS, DRIVER_MAX_ROWS_DEFAULT, "rows")
    return df.limit(most + 1).count() > most
