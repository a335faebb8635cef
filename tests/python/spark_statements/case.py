"""A statement of the documentation, and what a test sees after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

DDL, WRITES, QUERIES, PROCEDURES = "DDL", "Writes", "Queries", "Procedures"
ICEBERG = "Iceberg"
OTHER = "Paimon"


@dataclass(frozen=True)
class After:
    """What a check sees: the catalog, the table that the statement names, and the rows of its answer."""

    catalog: Any
    table: Any
    rows: list[Any]
    ids: list[int]
    spark: Any

    def column(self, name: str) -> Any:
        """A column of the table."""
        return self.table.schema.field(name)

    @property
    def data(self) -> list[dict[str, Any]]:
        """The rows of the table, sorted by their first column."""
        first = self.table.schema.names[0]
        return sorted(self.table.scan().to_arrow().to_pylist(), key=lambda row: (row[first] is None, row[first]))

    def of(self, name: str) -> list[Any]:
        """The values of a column, in the order of the first column."""
        return [row[name] for row in self.data]


@dataclass(frozen=True)
class Case:
    """A statement.

    Attributes:
        format: Whose documentation it is from.
        page: The page.
        statement: Its text. `$1` and `$2` are the first and the second snapshot of the table, `$time` the time between.
        check: Whether the outcome is right; None if the statement is refused.
        before: Statements that come before it.
        table: The table that `check` sees.
        refused: Words of the message, if it is refused.
        remedy: What to do instead, for the page.
        prepare: Changes the table before the statement, in a way that no statement does.
    """

    format: str
    page: str
    statement: str
    check: Callable[[After], object] | None = None
    before: tuple[str, ...] = ()
    table: str = "db.sample"
    refused: str = ""
    remedy: str = ""
    prepare: Callable[[Any], object] | None = None


def ok(page: str, statement: str, check: Callable[[After], object], *before: str, table: str = "db.sample") -> Case:
    return Case(ICEBERG, page, statement, check, before, table)


def no(page: str, statement: str, refused: str, remedy: str, *before: str) -> Case:
    return Case(ICEBERG, page, statement, None, before, "db.sample", refused, remedy)


def key(page: str, statement: str, check: Callable[[After], object], *before: str, table: str = "db.t") -> Case:
    return Case(OTHER, page, statement, check, before, table)


def key_no(page: str, statement: str, refused: str, remedy: str, *before: str) -> Case:
    return Case(OTHER, page, statement, None, before, "db.t", refused, remedy)


def terms(table: Any) -> list[str]:
    return [str(field) for field in table.partition_spec.fields]


def order(table: Any) -> list[str]:
    return [str(field) for field in table.sort_order.fields]


S = "prod.db.sample"
NEW = "prod.db.fresh"
OTHERS = "CREATE TABLE prod.db.others USING iceberg AS SELECT 2L AS id, 'zwei' AS data"
TWO_KEYS = "CREATE TABLE prod.db.two (id bigint NOT NULL, data string NOT NULL) USING iceberg"
BRANCH = f"ALTER TABLE {S} CREATE BRANCH `audit-branch`"
TAG = f"ALTER TABLE {S} CREATE TAG `historical-tag`"
STRUCTS = (
    f"ALTER TABLE {S} ADD COLUMNS (point struct<x: double, y: double>, points array<struct<x: double, y: double>>, "
    "m map<struct<x: int>, struct<a: int>>, measurement float)"
)


def ids(expected: list[int]) -> Callable[[After], object]:
    return lambda a: sorted(row[0] for row in a.rows) == expected
