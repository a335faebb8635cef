"""The clauses of a merge, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pyspark.sql import Column

from frazil.exceptions import InvalidInputError

__all__ = ["Clause", "Clauses", "Expression", "Kind"]

Kind: TypeAlias = Literal["matched", "not matched", "not matched by source"]

Expression: TypeAlias = "str | Column"
"""A condition or a value: a text of Spark's SQL, or a Column."""


@dataclass(frozen=True)
class Clause:
    """One clause: the rows that it takes, and what becomes of them.

    Attributes:
        kind: Which rows it takes.
        condition: A condition that they must fulfil; None takes all.
        action: What becomes of them.
        values: The new values by column of the table; None for all columns of the source, by name.
        of_source: Whether names without a qualifier in the condition mean columns of the source.
    """

    kind: Kind
    condition: Expression | None
    action: Literal["update", "delete", "insert"]
    values: Mapping[str, Expression] | None = None
    of_source: bool = False


@dataclass(frozen=True)
class Clauses:
    """All clauses of a merge. The first one that takes a row decides."""

    all: tuple[Clause, ...]

    def of(self, kind: Kind) -> list[Clause]:
        """The clauses for one kind of rows, in order."""
        return [clause for clause in self.all if clause.kind == kind]

    def check(self) -> None:
        """Refuses clauses that can't be used.

        Raises:
            InvalidInputError: There is no clause, or one comes after a clause without a condition.
        """
        if not self.all:
            raise InvalidInputError(
                "the merge does nothing", hint="Add a clause: whenMatched, whenNotMatched or whenNotMatchedBySource"
            )
        for kind in ("matched", "not matched", "not matched by source"):
            for clause in self.of(kind)[:-1]:
                if clause.condition is None:
                    raise InvalidInputError(
                        f"only the last clause for rows that are {kind} may have no condition",
                        hint="Give the earlier clauses conditions, or leave out the later ones",
                    )

    def are_one_delete(self) -> bool:
        """Whether matched rows are only deleted, all of them. Then a row may match several rows of the source."""
        matched = self.of("matched")
        return len(matched) == 1 and matched[0].condition is None and matched[0].action == "delete"
