"""Which rows of a merge match: the condition of the join, and the keys by which files of the table are selected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as st

from frazil.exceptions import InvalidInputError
from frazil.schema import Field
from frazil.spark.changes.clauses import Expression
from frazil.spark.changes.merging import Key, all_keys, keys_of
from frazil.spark.columns import as_column, quoted
from frazil.spark.types import spark_type
from frazil.spark.writing.store_assignment import found_name, same_name
from frazil.table import Table

__all__ = ["Matching", "Pair", "matching"]

_TOKEN = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`(?:[^`]|``)*`|\w+|<=>|==|.", re.DOTALL)
_PART = r"(?:\w+|`[^`]+`)"
_NAME = re.compile(rf"{_PART}(?:\s*\.\s*{_PART})*")
_EQUAL = ("=", "==", "<=>")
# Words that join conditions in another way than `and` does.
_OTHER_WORDS = ("or", "between", "case", "not", "is", "in", "like", "ilike", "rlike", "regexp", "xor", "select")


@dataclass(frozen=True)
class Pair:
    """A column of the table that equals an expression over the source.

    Attributes:
        key: The column.
        value: The expression.
        null_safe: Whether null equals null.
    """

    key: Key
    value: Column
    null_safe: bool


@dataclass(frozen=True)
class Matching:
    """The condition, and the pairs that are parts of it."""

    condition: Column
    pairs: tuple[Pair, ...]


def matching(
    df: DataFrame, table: Table, on: Expression | tuple[str, ...] | None, names: tuple[str, str], null_safe: bool
) -> Matching:
    """Reads which rows match.

    Args:
        df: The source, under its name.
        table: The table.
        on: As for `MergeTarget`.
        names: The names of the source and of the table in expressions.
        null_safe: Whether null matches null in the columns of a key.

    Raises:
        InvalidInputError: A column of the key is missing.
    """
    if isinstance(on, str):
        name = found_name(on, (field.name for field in table.schema.fields), same_name(df.sparkSession))
        on = on if name is None else (name,)
    if on is None or isinstance(on, tuple):
        return _by_key(df, table, on, names, null_safe)
    pairs = tuple(_pairs(df, table, on, names)) if isinstance(on, str) else ()
    return Matching(as_column(on), pairs)


def _by_key(df: DataFrame, table: Table, on: Sequence[str] | None, names: tuple[str, str], null_safe: bool) -> Matching:
    key = same_name(df.sparkSession)
    given = None
    if on is not None:
        every = {found.name: found for found in all_keys(table.schema.fields, ())}
        given = []
        for name in on:
            known = found_name(name, every, key)
            if known is None:
                raise InvalidInputError(f"the table has no column '{name}'", {"columns": ", ".join(every)})
            given.append(known)
    keys = keys_of(table, given)
    if not keys:
        raise InvalidInputError(
            "no key columns are named, and the table has no identifier fields",
            hint="Give a condition or on=[...], or set identifier fields",
        )
    pairs, parts = [], []
    for one in keys:
        top = found_name(one.path[0], df.columns, key)
        if top is None:
            raise InvalidInputError(
                f"the data lacks the key column '{one.name}'", {"columns": ", ".join(map(str, df.columns))}
            )
        value = _compared(f.col(_qualified(names[0], (top, *one.path[1:]))), one.field)
        target = f.col(_qualified(names[1], one.path))
        parts.append(target.eqNullSafe(value) if null_safe else target == value)
        pairs.append(Pair(one, value, null_safe))
    return Matching(reduce(Column.__and__, parts), tuple(pairs))


def _compared(value: Column, field: Field) -> Column:
    """A value in the type of a key, if that can't change it. Texts of uuids are compared in lower case."""
    if field.type == "uuid":
        return f.lower(value.cast("string"))
    numbers = field.type in ("int", "long", "float", "double") or field.type.startswith("decimal")
    return value if numbers else value.cast(spark_type(field))


def _qualified(name: str, path: Iterable[str]) -> str:
    return ".".join(map(quoted, (name, *path)))


def _pairs(df: DataFrame, table: Table, on: str, names: tuple[str, str]) -> Iterable[Pair]:
    """The parts of a text like `t.id = s.id`. A text that is more than such parts, joined by `and`, may have fewer."""
    source, target = (name.lower() for name in names)
    fold = same_name(df.sparkSession)
    known = {fold(key.name): key for key in all_keys(table.schema.fields, ())}
    for part in _conjuncts(on):
        places = [i for i, token in enumerate(part) if token in _EQUAL]
        if len(places) != 1:
            continue
        sides = [_path("".join(part[: places[0]])), _path("".join(part[places[0] + 1 :]))]
        if sides[0] and sides[0][0].lower() == source:
            sides.reverse()
        of_target, of_source = sides
        if not of_target or not of_source or of_target[0].lower() != target or of_source[0].lower() != source:
            continue
        key = known.get(fold(".".join(of_target[1:])))
        if key is None:
            continue
        value = f.col(_qualified(names[0], of_source[1:]))
        try:
            have = df.select(value).schema.fields[0].dataType
        except PySparkException:  # the join itself will raise it
            continue
        if _same_order(have, spark_type(key.field)) and key.field.type != "uuid":
            yield Pair(key, value, part[places[0]] == "<=>")


def _same_order(have: st.DataType, want: st.DataType) -> bool:
    """Whether Spark compares two types without a cast that changes values."""
    whole = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)
    return have == want or (isinstance(have, whole) and isinstance(want, whole))


def _conjuncts(text: str) -> list[list[str]]:
    """The tokens of the conditions that `and` joins. It is empty for a text that is joined in another way."""
    if "--" in text or "/*" in text or "${" in text:
        return []
    parts: list[list[str]] = [[]]
    depth = 0
    for token in _TOKEN.findall(text):
        depth += (token == "(") - (token == ")")
        word = token.lower()
        if depth == 0 and word == "and":
            parts.append([])
        elif depth == 0 and word in _OTHER_WORDS:
            return []
        elif not token.isspace():
            parts[-1].append(token)
    return parts


def _path(text: str) -> list[str]:
    """The parts of a name. It is empty if the text is another expression."""
    if not _NAME.fullmatch(text):
        return []
    return [part.strip("`") for part in re.findall(_PART, text)]
