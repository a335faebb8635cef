"""Columns that UPDATE and MERGE set, which Spark checks before it runs them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from frazil.exceptions import InvalidInputError
from frazil.spark.sql.grammar.tokens import Name, shown
from frazil.spark.writing.store_assignment import Assigner

__all__ = ["check_assigned", "check_inserted"]


def check_assigned(spark: SparkSession, names: Sequence[Name]) -> None:
    """Refuses columns that are set twice.

    Raises:
        InvalidInputError: A column, or a field of a struct, is set more than once.
    """
    key = Assigner.of(spark).key
    paths = [tuple(map(key, name)) for name in names]
    for i, path in enumerate(paths):
        for other in paths[:i]:
            if path == other:
                raise InvalidInputError(f"column {shown(names[i])} is set twice")
            shorter, longer = sorted((path, other), key=len)
            if longer[: len(shorter)] == shorter:
                raise InvalidInputError(
                    f"column {shown(shorter)} and its field {shown(longer)} are both set",
                    hint="Set the whole column, or only fields of it",
                )


def check_inserted(names: Sequence[Name]) -> None:
    """Refuses fields of structs in the columns of INSERT.

    Raises:
        InvalidInputError: A name is that of a field.
    """
    for name in names:
        if len(name) > 1:
            raise InvalidInputError(
                f"INSERT can't set the field {shown(name)} of a column",
                hint="Set the whole column with named_struct(…)",
            )
