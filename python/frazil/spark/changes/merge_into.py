"""Merges by clauses, with the methods of PySpark's `DataFrame.mergeInto`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import Column

from frazil import arguments
from frazil.exceptions import InvalidInputError
from frazil.results import LastCommit
from frazil.spark.changes.clauses import Clause, Clauses, Expression, Kind
from frazil.spark.changes.joined import MergeTarget, merge_by_clauses
from frazil.spark.columns import is_column
from frazil.spark.jobs.interrupts import cancelled_by_interrupts

__all__ = ["MergeInto", "MergeTarget", "WhenMatched", "WhenNotMatched", "WhenNotMatchedBySource"]


@dataclass(frozen=True)
class MergeInto:
    """A merge that is being described. `merge()` does it. Each method returns a new description.

        (
            fz.spark.merge_into(changes, table, "t.id = s.id")
            .whenMatched("s.op = 'D'").delete()
            .whenMatched("s.ts > t.ts").update({"n": "t.n + s.n", "ts": "s.ts"})
            .whenNotMatched("s.op <> 'D'").insertAll()
            .whenNotMatchedBySource("t.day = current_date()").delete()
            .merge()
        )

    The methods have the names and the meaning of PySpark's `MergeIntoWriter`. Of the clauses for a row, the first one
    whose condition is true decides. A row that no clause takes stays as it is.
    """

    _what: MergeTarget
    _clauses: tuple[Clause, ...] = ()
    _evolves: bool = field(default=False)

    def whenMatched(self, condition: str | Column | None = None) -> WhenMatched:
        """Begins a clause for rows of the table that match a row of the source.

        Args:
            condition: A condition over both sides; None takes all.
        """
        return WhenMatched(self, _condition(condition))

    def whenNotMatched(self, condition: str | Column | None = None) -> WhenNotMatched:
        """Begins a clause for rows of the source that match nothing.

        Args:
            condition: A condition over the source; None takes all.
        """
        return WhenNotMatched(self, _condition(condition))

    def whenNotMatchedBySource(self, condition: str | Column | None = None) -> WhenNotMatchedBySource:
        """Begins a clause for rows of the table that match nothing. It makes the merge read the whole table.

        Args:
            condition: A condition over the table; None takes all.
        """
        return WhenNotMatchedBySource(self, _condition(condition))

    def withSchemaEvolution(self) -> MergeInto:
        """Adds columns that only the source has to the table, and widens types, before rows are merged.

        Only `updateAll` and `insertAll` bring new columns.
        """
        return replace(self, _evolves=True)

    def merge(self) -> LastCommit:
        """Does the merge, in one commit. Returns what it did.

        Raises:
            InvalidInputError: Columns, expressions or clauses do not fit. Also if a row of the table matches several
                rows of the source (MERGE_CARDINALITY_VIOLATION), unless the only clause for matched rows deletes all.
            UnsupportedError: The table can't be changed in this way.
            CommitConflictError: Another commit changed what this one relies on (`write.merge.isolation-level`).
        """
        clauses = Clauses(self._clauses)
        clauses.check()
        spark = self._what.df.sparkSession
        return cancelled_by_interrupts(spark, lambda: merge_by_clauses(self._what, clauses, self._evolves))

    def _with(self, kind: Kind, condition: Expression | None, action: str, values: object = None) -> MergeInto:
        clause = Clause(kind, condition, action, None if values is None else _values(values))  # type: ignore[arg-type]
        return replace(self, _clauses=(*self._clauses, clause))


@dataclass(frozen=True)
class WhenMatched:
    """A clause for matched rows, without its action."""

    _merge: MergeInto
    _condition: Expression | None

    def update(self, assignments: Mapping[str, str | Column]) -> MergeInto:
        """Sets columns of the table. Other columns keep their values.

        Args:
            assignments: The new values by column: texts of Spark's SQL or Columns, over both sides. A text that is the
                name of a column of the source means this column. Members of structs are named with dots.
        """
        return self._merge._with("matched", self._condition, "update", assignments)

    def updateAll(self) -> MergeInto:
        """Sets all columns of the table that the source has, by name."""
        return self._merge._with("matched", self._condition, "update")

    def delete(self) -> MergeInto:
        """Deletes the rows of the table."""
        return self._merge._with("matched", self._condition, "delete")


@dataclass(frozen=True)
class WhenNotMatched:
    """A clause for rows of the source that match nothing, without its action."""

    _merge: MergeInto
    _condition: Expression | None

    def insert(self, assignments: Mapping[str, str | Column]) -> MergeInto:
        """Inserts rows with these values. Other columns are null, or get their default.

        Args:
            assignments: Values by column of the table, over the source.
        """
        return self._merge._with("not matched", self._condition, "insert", assignments)

    def insertAll(self) -> MergeInto:
        """Inserts rows with all columns of the source, by name."""
        return self._merge._with("not matched", self._condition, "insert")


@dataclass(frozen=True)
class WhenNotMatchedBySource:
    """A clause for rows of the table that match nothing, without its action."""

    _merge: MergeInto
    _condition: Expression | None

    def update(self, assignments: Mapping[str, str | Column]) -> MergeInto:
        """Sets columns of the table. Other columns keep their values.

        Args:
            assignments: The new values by column, over the table.
        """
        return self._merge._with("not matched by source", self._condition, "update", assignments)

    def delete(self) -> MergeInto:
        """Deletes the rows of the table."""
        return self._merge._with("not matched by source", self._condition, "delete")


def _condition(value: object) -> Expression | None:
    if value is None or isinstance(value, str) or is_column(value):
        return value  # type: ignore[return-value]
    raise InvalidInputError(f"condition must be a text of SQL or a Column, not {arguments.shown(value)}")


def _values(values: object) -> dict[str, Expression]:
    if not isinstance(values, Mapping) or not values:
        raise InvalidInputError(
            f"assignments must be a dictionary of columns and values, not {arguments.shown(values)}"
        )
    wrong = next((v for v in values.values() if not isinstance(v, str) and not is_column(v)), None)
    if wrong is not None:
        raise InvalidInputError(
            f"a value must be a text of SQL or a Column, not {arguments.shown(wrong)}",
            hint="pyspark.sql.functions.lit(value) makes a Column of a value",
        )
    return {arguments.text("assignments", name): value for name, value in values.items()}
