"""Which rows of a merge match: the condition of the join, and the keys by which files of the table are selected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as st

from frazil.exceptions import InvalidInputError
from frazil.schema import Field
from frazil.spark.changes.clauses import Expression
from frazil.spark.changes.merging import Key, all_keys, named_keys
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
_JOINING = ("or", "between", "case", "select")
# Words by which a condition is no equality, although it may contain one.
_OTHER_WORDS = ("not", "is", "in", "like", "ilike", "rlike", "regexp")
# Functions of the source's columns that give the same value each time.
_FUNCTIONS = ("cast", "date", "to_date", "upper", "lower", "trim", "concat", "substr", "substring", "abs", "coalesce")
_SIGNS = (".", ",", "(", ")", "+", "-", "*", "%")


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
    pairs, parts = [], []
    for one in named_keys(table, given):
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
    """The parts of a text like `t.id = s.id + 1`. Other parts, joined by `and`, are left out."""
    fold = same_name(df.sparkSession)
    known = {fold(key.name): key for key in all_keys(table.schema.fields, ())}
    own = {fold(name) for name in df.columns}
    if "--" in on or "/*" in on or "${" in on:
        return
    for part in _conjuncts([token for token in _TOKEN.findall(on) if not token.isspace()]):
        places = [i for i, token in enumerate(part) if token in _EQUAL]
        if len(places) != 1:
            continue
        sides = [part[: places[0]], part[places[0] + 1 :]]
        for of_target, of_source in (sides, sides[::-1]):
            key = known.get(fold(".".join(_of_target(_path(" ".join(of_target)), names, own, fold))))
            value = None if key is None else _of_source(df, of_source)
            if key is None or value is None:
                continue
            have = df.select(value).schema.fields[0].dataType
            if _same_order(have, spark_type(key.field)) and key.field.type != "uuid":
                yield Pair(key, value, part[places[0]] == "<=>")
                break


def _of_target(path: list[str], names: tuple[str, str], own: set[str], fold: Callable[[str], str]) -> list[str]:
    """The path of a column of the table, without the table's name. It is empty for a column of the source."""
    source, target = (name.lower() for name in names)
    if not path:
        return []
    if path[0].lower() == target:
        return path[1:]
    return [] if path[0].lower() == source or fold(path[0]) in own else path


def _of_source(df: DataFrame, tokens: list[str]) -> Column | None:
    """An expression over the source alone, which has the same value each time. Otherwise None."""
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        if following == "(" and token.lower() not in _FUNCTIONS and token not in _SIGNS:
            return None
        if token not in _SIGNS and not re.fullmatch(r"\w+|[`'\"].*", token, re.DOTALL):
            return None
        if token.lower().startswith(("current_", "localtime")):
            return None
    try:
        value = f.expr(" ".join(tokens))
        return value if df.select(value).schema.fields else None
    except PySparkException:  # the table's columns are in it, or the join itself will raise it
        return None


def _same_order(have: st.DataType, want: st.DataType) -> bool:
    """Whether Spark compares two types without a cast that changes values."""
    whole = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)
    return have == want or (isinstance(have, whole) and isinstance(want, whole))


def _conjuncts(tokens: list[str]) -> list[list[str]]:
    """The tokens of the conditions that `and` joins. It is empty for a condition that is joined in another way."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in _without_parentheses(tokens):
        depth += (token == "(") - (token == ")")
        if depth == 0 and token.lower() == "and":
            parts.append([])
        elif depth == 0 and token.lower() in _JOINING:
            return []
        else:
            parts[-1].append(token)
    if len(parts) > 1:
        return [inner for part in parts for inner in _conjuncts(part)]
    return [] if any(token.lower() in (*_OTHER_WORDS, *_JOINING, "and") for token in parts[0]) else parts


def _without_parentheses(tokens: list[str]) -> list[str]:
    """A part without the parentheses around it."""
    while len(tokens) > 2 and tokens[0] == "(" and tokens[-1] == ")":
        depths: list[int] = []
        for token in tokens[:-1]:
            depths.append((depths[-1] if depths else 0) + (token == "(") - (token == ")"))
        if 0 in depths:
            break
        tokens = tokens[1:-1]
    return tokens


def _path(text: str) -> list[str]:
    """The parts of a name. It is empty if the text is another expression."""
    if not _NAME.fullmatch(text):
        return []
    return [part.strip("`") for part in re.findall(_PART, text)]
