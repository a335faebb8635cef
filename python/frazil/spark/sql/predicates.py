"""Conditions of Spark's SQL as filters of Frazil, where both mean the same.

Spark computes the constants of a condition, cast to the type of the column. What can't be said as a filter is left to
the caller.
"""

from __future__ import annotations

import re
from functools import reduce
from typing import Any

from pyspark.errors import PySparkException

from frazil.exceptions import InvalidInputError
from frazil.expr import Predicate, Term, col
from frazil.schema import Field, Schema
from frazil.spark.sql.grammar.tokens import tokens_of
from frazil.spark.sql.session import Session
from frazil.spark.sql.values import values_of
from frazil.spark.types import spark_type

__all__ = ["check_condition", "constants_of", "equal_to", "predicate_of"]

# Types of columns whose constants are the same for Spark and Frazil.
_TYPES = ("boolean", "int", "long", "date", "string", "timestamp", "timestamptz")
# Texts that sqlglot does not read as every setting of Spark's parser does: quotes and backslashes in strings.
_READ_OTHERWISE = re.compile(r"''|\"\"|\\")
_QUOTED_NAMES = "spark.sql.ansi.doubleQuotedIdentifiers"
_WHOLE_NUMBER = re.compile(r"\d{1,18}\Z")
# Types whose constants sqlglot writes as casts.
_CAST_TYPES = {"DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ", "BIGINT", "INT"}
_TURNED = {"EQ": "EQ", "NEQ": "NEQ", "LT": "GT", "LTE": "GTE", "GT": "LT", "GTE": "LTE"}
# Functions of Spark's that may give another value each time.
_CHANGING = {
    *("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id"),
    *("spark_partition_id", "input_file_name", "input_file_block_start", "input_file_block_length"),
    *("reflect", "try_reflect", "java_method"),
}


class _UnsaidError(Exception):
    """The condition can't be said as a filter."""


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


def predicate_of(session: Session, condition: str, schema: Schema, alias: str | None = None) -> Predicate | None:
    """The filter that a condition means, or None if it can't be said.

    Args:
        session: The session, which computes constants.
        condition: The condition.
        schema: The columns that it may name.
        alias: The table's name before its columns.
    """
    from sqlglot import errors, parse_one

    if condition.strip().lower() == "true" or _is_read_otherwise(session, condition):
        return None
    try:
        tree = parse_one(condition, read="spark")
    except (errors.ParseError, errors.TokenError):
        return None
    try:
        return _Reader(session, schema, alias).of(tree)
    except (_UnsaidError, PySparkException, InvalidInputError):
        return None


def _is_read_otherwise(session: Session, condition: str) -> bool:
    """Whether strings of a condition may be others for Spark than for sqlglot."""
    if '"' in condition and ("'" in condition or (session.spark.conf.get(_QUOTED_NAMES, "false") or "") == "true"):
        return True
    return _READ_OTHERWISE.search(condition) is not None


def equal_to(session: Session, schema: Schema, values: dict[str, str]) -> Predicate:
    """The filter that columns have these values: the texts of expressions."""
    found = constants_of(session, schema, values)
    parts = [col(name).is_null() if value is None else col(name) == value for name, value in found.items()]
    return reduce(lambda a, b: a & b, parts)


def constants_of(session: Session, schema: Schema, values: dict[str, str]) -> dict[str, Any]:
    """The values of constant expressions, cast to the types of their columns. All casts of Spark's are allowed.

    Raises:
        InvalidInputError: A value can't be cast.
    """
    pairs: list[tuple[str, str | None]] = []
    for name, text in values.items():
        pairs += [(text, _spark_name(schema.field(name))), (f"({text}) IS NULL", "boolean")]
    found = values_of(session, pairs)
    for name, text, value, is_null in zip(values, values.values(), found[::2], found[1::2], strict=True):
        if value is None and not is_null:
            raise InvalidInputError(f"{text} does not fit into {_spark_name(schema.field(name))}", {"column": name})
    return dict(zip(values, found[::2], strict=True))


def _spark_name(field: Field) -> str:
    return spark_type(field).simpleString()


class _Reader:
    """Reads a tree of sqlglot."""

    def __init__(self, session: Session, schema: Schema, alias: str | None) -> None:
        self._session, self._schema, self._alias = session, schema, alias

    def of(self, node: Any) -> Predicate:
        """The filter that a node means."""
        kind = type(node).__name__
        if kind == "Paren":
            return self.of(node.this)
        if kind == "And":
            return self.of(node.this) & self.of(node.expression)
        if kind == "Or":
            return self.of(node.this) | self.of(node.expression)
        if kind == "Not":
            return ~self.of(node.this)
        if kind == "Is" and type(node.expression).__name__ == "Null":
            term, _ = self._column(node.this)
            return term.is_null()
        if kind == "In" and node.expressions and not node.args.get("query"):
            term, field = self._column(node.this)
            return term.is_in(self._constants(node.expressions, field))
        if kind == "Between":
            term, field = self._column(node.this)
            low, high = self._constants([node.args["low"], node.args["high"]], field)
            between: Predicate = (term >= low) & (term <= high)
            return between
        if kind in _TURNED:
            return self._comparison(node, kind)
        if kind == "Column":
            term, field = self._column(node)
            if field.type == "boolean":
                found: Predicate = term == True  # noqa: E712
                return found
        raise _UnsaidError

    def _comparison(self, node: Any, kind: str) -> Predicate:
        left, right = node.this, node.expression
        if type(left).__name__ != "Column":
            left, right, kind = right, left, _TURNED[kind]
        term, field = self._column(left)
        (value,) = self._constants([right], field)
        compared = {"EQ": "__eq__", "NEQ": "__ne__", "LT": "__lt__", "LTE": "__le__", "GT": "__gt__", "GTE": "__ge__"}
        found: Predicate = getattr(term, compared[kind])(value)
        return found

    def _column(self, node: Any) -> tuple[Term, Field]:
        if type(node).__name__ != "Column":
            raise _UnsaidError
        parts = [part.name for part in node.parts]
        if len(parts) == 2 and self._alias is not None and parts[0].lower() == self._alias.lower():
            parts = parts[1:]
        named = [field for field in self._schema.fields if field.name.lower() == parts[0].lower()]
        if len(parts) != 1 or len(named) != 1 or named[0].type not in _TYPES:
            raise _UnsaidError
        return col(named[0].name), named[0]

    def _constants(self, nodes: list[Any], field: Field) -> list[Any]:
        """Constants in the type of the column, if that changes none of them."""
        texts = [node.sql(dialect="spark") for node in nodes]
        if not all(map(_is_constant, nodes)):
            raise _UnsaidError
        type_ = _spark_name(field)
        pairs: list[tuple[str, str | None]] = []
        for text in texts:
            # Spark casts a column of strings to the type of the other side. Frazil does not.
            same = f"CAST(({text}) AS {type_}) <=> ({text})"
            same += f" AND typeof({text}) = 'string'" if type_ == "string" else ""
            pairs += [(text, type_), (same, "boolean")]
        found = values_of(self._session, pairs)
        values, equal = found[::2], found[1::2]
        if not all(equal) or any(value is None for value in values):
            raise _UnsaidError
        return values


def _is_constant(node: Any) -> bool:
    """Whether a node is a literal that means the same after sqlglot has written it again. Functions are Spark's."""
    kind = type(node).__name__
    if kind in ("Paren", "Neg"):
        return _is_constant(node.this)
    if kind == "Cast":
        return node.to.this.name in _CAST_TYPES and type(node.this).__name__ == "Literal" and _is_constant(node.this)
    if kind == "Literal":
        return bool(node.is_string or _WHOLE_NUMBER.match(node.this))
    return kind == "Boolean"
