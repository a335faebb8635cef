"""What Spark refuses in UPDATE, DELETE and MERGE before it runs them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from frazil.exceptions import InvalidInputError
from frazil.spark.sql.grammar.tokens import Name, shown, tokens_of

__all__ = ["check_assigned", "check_condition", "check_inserted"]

# Functions of Spark's that may give another value each time.
_CHANGING = {
    *("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id"),
    *("spark_partition_id", "input_file_name", "input_file_block_start", "input_file_block_length"),
    *("reflect", "try_reflect", "java_method"),
}


def check_condition(condition: str | None) -> None:
    """Refuses a condition whose value may be another each time, since Spark may compute it more than once.

    Raises:
        InvalidInputError: The condition calls such a function.
    """
    tokens = tokens_of(condition or "")
    for i, token in enumerate(tokens[:-1]):
        if token.kind == "word" and token.text.lower() in _CHANGING and tokens[i + 1].text == "(":
            raise InvalidInputError(
                f"a condition can't call {token.text.lower()}: it is not deterministic",
                {"condition": condition or ""},
                "Write the values into a table first, and compare with its rows",
            )


def check_assigned(spark: SparkSession, names: Sequence[Name]) -> None:
    """Refuses columns that are set twice.

    Raises:
        InvalidInputError: A column, or a field of a struct, is set more than once.
    """
    by_case = str(spark.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
    paths = [name if by_case else tuple(part.lower() for part in name) for name in names]
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
