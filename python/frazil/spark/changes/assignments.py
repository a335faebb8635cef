"""New values of columns, for the clauses of a merge and for updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from frazil.exceptions import InvalidInputError
from frazil.schema import Field
from frazil.spark.changes.clauses import Clause, Clauses, Expression
from frazil.spark.columns import as_column, quoted
from frazil.spark.lanes.arrow import no_rows
from frazil.spark.types import spark_schema
from frazil.spark.writing.store_assignment import Assigner, found_name
from frazil.table import Table

__all__ = ["Assignments", "assignments", "by_shared_columns", "new_values"]


@dataclass(frozen=True)
class Assignments:
    """The new values of all clauses.

    Attributes:
        columns: The columns of the table that get values, in the table's order.
        updated: Those that updates set.
        inserted: Those that inserted rows have.
    """

    columns: tuple[str, ...]
    updated: tuple[str, ...]
    inserted: tuple[str, ...]
    _clauses: Clauses = field(repr=False)
    _values: tuple[Mapping[str, Column], ...] = field(repr=False)
    _types: Mapping[str, str] = field(repr=False)
    _target: str

    def evaluated_on_source(self, number: int) -> dict[str, Column]:
        """Values of a clause that inserts, for columns of the source before the join.

        There, names without a qualifier mean the source's columns. Plain columns stay where they are.
        """
        return self._before(number, "not matched")

    def evaluated_on_target(self, number: int) -> dict[str, Column]:
        """Values of a clause for rows that the source lacks, for columns of the table before the join."""
        return self._before(number, "not matched by source")

    def _before(self, number: int, kind: str) -> dict[str, Column]:
        clause = self._clauses.all[number]
        if clause.kind != kind or clause.values is None:
            return {}
        return {_name(number, name): value for name, value in self._values[number].items()}

    def value(self, name: str, clause: Column) -> Column:
        """A column's new value, by the number of the clause."""
        choices: list[tuple[int, Column]] = []
        for number, values in enumerate(self._values):
            if name not in values:
                continue
            before = self._clauses.all[number].kind != "matched" and self._clauses.all[number].values is not None
            choices.append((number, f.col(quoted(_name(number, name))) if before else values[name]))
        old = f.lit(None).cast(self._types[name])
        if name in self.updated:
            old = f.col(f"{quoted(self._target)}.{quoted(name)}")
        return reduce(lambda rest, one: f.when(clause == one[0], one[1]).otherwise(rest), choices, old)


def _name(number: int, name: str) -> str:
    return f"frazil value {number} {name}"


def assignments(df: DataFrame, table: Table, clauses: Clauses, names: tuple[str, str]) -> Assignments:
    """The new values of a merge's clauses, in the types of the table's columns.

    Args:
        df: The source.
        table: The table.
        clauses: The clauses.
        names: The names of the source and of the table in expressions.

    Raises:
        InvalidInputError: A column does not exist, or a type does not fit.
    """
    spark, fields = df.sparkSession, {field.name: field for field in table.schema.fields}
    source = df.alias(names[0])
    target = no_rows(spark, spark_schema(table.schema)).alias(names[1])
    frames = {"matched": source.crossJoin(target), "not matched": source, "not matched by source": target}
    values = []
    for clause in clauses.all:
        given = _given(clause, df, fields, names[0])
        rows = frames[clause.kind]
        values.append(new_values(rows, fields, given, None if clause.action == "insert" else names[1]))
    every = list(zip(clauses.all, values, strict=True))
    updated = {name for clause, new in every if clause.action == "update" for name in new}
    inserted = {name for clause, new in every if clause.action == "insert" for name in new}
    types = {c.name: c.dataType for c in spark_schema(table.schema).fields}
    return Assignments(
        tuple(name for name in fields if name in updated | inserted),
        tuple(name for name in fields if name in updated),
        tuple(name for name in fields if name in inserted),
        clauses,
        tuple(values),
        types,  # type: ignore[arg-type]
        names[1],
    )


def by_shared_columns(df: DataFrame, table: Table, clauses: Clauses) -> Clauses:
    """The clauses, in which all columns of the source mean those that the table has, too. Others are not set."""
    key = Assigner.of(df.sparkSession).key
    found = {field.name: found_name(field.name, list(dict.fromkeys(df.columns)), key) for field in table.schema.fields}
    shared: dict[str, Expression] = {name: column for name, column in found.items() if column is not None}
    if not shared or len(shared) == len(found):
        return clauses
    named = [one if one.action == "delete" or one.values else replace(one, values=shared) for one in clauses.all]
    return replace(clauses, all=tuple(named))


def _given(clause: Clause, df: DataFrame, fields: Mapping[str, Field], source: str) -> dict[str, Expression]:
    """The values of a clause by column of the table."""
    if clause.action == "delete":
        return {}
    key = Assigner.of(df.sparkSession).key
    own = list(dict.fromkeys(df.columns))
    if clause.values is None:
        found = {name: found_name(name, own, key) for name in fields}
        missing = [name for name, column in found.items() if column is None]
        if missing:
            raise InvalidInputError(
                f"the data lacks column '{missing[0]}', and {clause.action}All needs all columns of the table",
                {"columns": ", ".join(map(str, df.columns))},
                f"Name the columns: .{clause.action}({{'column': 'value'}})",
            )
        return {name: _of(source, column) for name, column in found.items() if column is not None}
    given: dict[str, Expression] = {}
    for name, value in clause.values.items():
        column = found_name(value, own, key) if isinstance(value, str) else None
        plain = column is not None and clause.kind != "not matched by source"
        given[name] = _of(source, column) if plain and column is not None else value
    return given


def _of(source: str, column: str) -> Column:
    return f.col(f"{quoted(source)}.{quoted(column)}")


def new_values(
    rows: DataFrame, fields: Mapping[str, Field], given: Mapping[str, Expression], target: str | None
) -> dict[str, Column]:
    """New values in the types of the columns, by the columns' names.

    Args:
        rows: Rows for which the values can be computed.
        fields: The columns of the table.
        given: Values by column, or by member of a struct with dots.
        target: The table's name in expressions, if it has an old row. Only then can members be set.

    Raises:
        InvalidInputError: A column does not exist or is set twice, or a type does not fit.
    """
    if not given:
        return {}
    assigner = replace(Assigner.of(rows.sparkSession), whole=True)
    paths = [_path(name, fields, assigner) for name in given]
    columns = [as_column(value) for value in given.values()]
    types = rows.select(*(c.alias(f"frazil {i}") for i, c in enumerate(columns))).schema.fields
    new: dict[tuple[str, ...], Column] = {}
    for name, path, column, have in zip(given, paths, columns, types, strict=True):
        names = tuple(one.name for one in path)
        if any(names[: len(other)] == other or other[: len(names)] == names for other in new):
            raise InvalidInputError("a column gets two values", {"column": name})
        if len(path) > 1 and target is None:
            raise InvalidInputError(
                "members of structs can't be set in inserted rows", {"column": name}, "Give the whole struct"
            )
        value = assigner.assigned(column, have.dataType, path[-1], name)
        new[names] = column if value is None else value
    tops = dict.fromkeys(names[0] for names in new)
    return {top: _whole(new, (top,), fields[top], target) for top in tops}


def _path(name: str, fields: Mapping[str, Field], assigner: Assigner) -> list[Field]:
    top = found_name(name, fields, assigner.key)
    if top is not None:
        return [fields[top]]
    path: list[Field] = []
    level: Sequence[Field] = list(fields.values())
    for part in name.split("."):
        by_name = {one.name: one for one in level}
        found = found_name(part, by_name, assigner.key)
        if found is None:
            raise InvalidInputError(f"the table has no column '{name}'", {"column": name, "columns": ", ".join(fields)})
        path.append(by_name[found])
        level = path[-1].children if path[-1].type.startswith("struct<") else []
    return path


def _whole(new: Mapping[tuple[str, ...], Column], path: tuple[str, ...], field: Field, target: str | None) -> Column:
    """A column with the new values of its members. Other members keep theirs."""
    if path in new:
        return new[path]
    old = f.col(".".join(map(quoted, (target or "", *path))))
    if not any(names[: len(path)] == path for names in new):
        return old
    return f.struct(*(_whole(new, (*path, c.name), c, target).alias(c.name) for c in field.children))
