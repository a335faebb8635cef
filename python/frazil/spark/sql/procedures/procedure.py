"""What a procedure is: its parameters, the columns of its result, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from frazil.exceptions import InvalidInputError
from frazil.expr import Predicate
from frazil.spark.sql.grammar.tokens import Cursor, Name, shown
from frazil.spark.sql.predicates import equal_to, predicate_of
from frazil.spark.sql.session import Place, Session, Target
from frazil.table import Table

__all__ = ["Given", "Parameter", "Procedure", "Run", "flag", "pairs_of"]


@dataclass(frozen=True)
class Parameter:
    """A parameter. `type` is a type of Spark's, or empty for any."""

    name: str
    type: str = "string"
    required: bool = False


@dataclass(frozen=True)
class Given:
    """A call: its arguments, and the catalog that it names."""

    session: Session
    catalog: str | None
    procedure: str
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        """An argument, or None if it was not given."""
        return self.values.get(name)

    def name(self, parameter: str = "table") -> Name:
        """An argument that is a table's name, with the catalog of the call."""
        cursor = Cursor(str(self[parameter]))
        name = cursor.name()
        while cursor.accept_sign("$"):
            name = (*name[:-1], f"{name[-1]}${cursor.part()}")
        cursor.expect_end()
        given = len(name) == 1 and self.session.place(name) is not None
        if self.catalog is None or name[0] == self.catalog or given:
            return name
        if len(name) == 1:
            current = self.session.current
            within = current[1:] if current and current[0] == self.catalog else ()
            return (self.catalog, *within, *name)
        return name if name[0] in self.session.catalogs else (self.catalog, *name)

    def place(self, parameter: str = "table") -> Place:
        """Where an argument that is a table's name belongs."""
        name = self.name(parameter)
        place = self.session.place(name)
        if place is None:
            raise InvalidInputError(
                f"{self.procedure}: table {shown(name)} belongs to no catalog of Frazil's",
                {"table": shown(name)},
                "Name the catalog: CALL catalog.system.procedure(…), and give it by catalogs= or by settings",
            )
        return place

    @property
    def target(self) -> Target:
        """The table of the argument `table`."""
        found = self.session.target(self.name())
        if found is None:
            self.place()
            raise InvalidInputError(f"{self.procedure}: table {self['table']} is not one of Frazil's")
        return found

    @property
    def table(self) -> Table:
        """The table of the argument `table`."""
        return self.target.table

    def where(self, table: Table) -> Predicate | None:
        """The filter of the argument `where`.

        Raises:
            InvalidInputError: It can't be said as a filter.
        """
        text = self["where"]
        if not text or str(text).strip().lower() == "true":
            return None
        found = predicate_of(self.session, str(text), table.schema)
        if found is None:
            raise InvalidInputError(
                f"{self.procedure}: where => '{text}' can't be said as a filter",
                hint="Compare columns with constants",
            )
        return found

    def partitions(self, table: Table) -> Predicate | None:
        """The filter of the arguments `partitions` and `where`. `a=1,b=2;a=3` has semicolons between partitions.

        Raises:
            InvalidInputError: Both are given, or a column does not exist.
        """
        text = self["partitions"]
        if not text or not str(text).strip():
            return self.where(table)
        if self["where"]:
            raise InvalidInputError("partitions can't be combined with where")
        found = []
        for part in filter(str.strip, str(text).split(";")):
            values = {key: "'" + value.strip("'\"") + "'" for key, value in pairs_of(part).items()}
            found.append(equal_to(self.session, table.schema, values))
        return reduce(lambda a, b: a | b, found)

    def options(self) -> dict[str, str]:
        """The argument `options`: a map, or a text such as `k1=v1,k2=v2`."""
        found = self["options"]
        return dict(found) if isinstance(found, dict) else pairs_of(found)


Run = Callable[[Given], Sequence[Sequence[Any]]]


@dataclass(frozen=True)
class Procedure:
    """A procedure.

    Attributes:
        parameters: Its parameters, in order.
        columns: The columns of its result, as DDL.
        run: Does it, and returns the rows of the result.
        remedy: What to do instead, if it is known and not done.
    """

    parameters: tuple[Parameter, ...]
    columns: str
    run: Run | None = None
    remedy: str = ""


def flag(value: Any) -> bool:
    """An option that is true or false."""
    return str(value).lower() == "true"


def pairs_of(text: Any) -> dict[str, str]:
    """`k1=v1,k2=v2` as a dictionary."""
    pairs = (part.partition("=") for part in str(text or "").split(",") if part.strip())
    return {key.strip(): value.strip() for key, _, value in pairs}
