"""How the rows of a table are changed by Spark's expressions: by their places, or by their key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import Column, SparkSession

from frazil.capabilities import supports
from frazil.spark.changes.keyed import key_columns, read_keyed, write_keyed
from frazil.spark.changes.placed_changes import PlacedChange, write_changes
from frazil.spark.reading.places import Placed, read_placed
from frazil.table import Table

__all__ = ["Way", "way_of"]

_Read: TypeAlias = Callable[[SparkSession, Table, str, Sequence[str], "str | None"], Placed]


@dataclass(frozen=True)
class Way:
    """How rows are read, found again, and changed.

    Attributes:
        read: Reads rows with their places: some columns of the rows that a filter keeps.
        old: The columns of the old rows that the change needs. No columns were read for a plan that is only explained.
        write: Makes the change. The text is a filter that selects every row that was read.
    """

    read: _Read
    old: Callable[[Table, str], list[Column]]
    write: Callable[[PlacedChange, str], None]


def way_of(table: Table) -> Way:
    """The way for a table."""
    if supports(table._core, "row_changes_by_executors"):
        return Way(read_placed, lambda *_: [], write_changes)
    return Way(read_keyed, key_columns, lambda change, _: write_keyed(change))
