"""The filters and columns that Spark would push down into Parquet files, read from the text of its plans.

`pushed_of` reads the nodes `Scan parquet` of `EXPLAIN FORMATTED`. Filters look like `PushedFilters: [IsNotNull(id),
Or(EqualTo(country,NO),LessThan(id,5))]`, with strings unquoted. Only two kinds of literals are accepted. The first are
numbers, dates, times and booleans of columns with such types. The second are strings that the query contains literally,
if no string of the query has a character of this syntax. Anything else makes its filter unknown.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from frazil.exceptions import InvalidInputError
from frazil.expr import Predicate, Term, col
from frazil.schema import Field, Schema

__all__ = ["Pushed", "either", "pushed_of", "string_literals"]

_NODE = re.compile(r"^\(\d+\) Scan parquet.*?(?=^\(\d+\) |\Z)", re.MULTILINE | re.DOTALL)
_LOCATION = re.compile(r"^Location: \S+ \[(.*)\]$", re.MULTILINE)
_FILTERS = re.compile(r"^PushedFilters: \[(.*)\]$", re.MULTILINE)
_SCHEMA = re.compile(r"^ReadSchema: struct<(.*)>$", re.MULTILINE)
# Strings with these characters could be read as more than one literal.
_STRUCTURE = re.compile(r"[,()\[\]\n']")
# Functions that make strings which are not in the query.
_MAKES_TEXT = re.compile(
    r"\b(ch(a)?r|unhex|unbase64|decode|to_csv|from_csv|from_json|to_json|concat_ws|format_string|printf|url_decode"
    r"|array_join|format_number|to_char|to_varchar|space|[lr]pad)\s*\(|\bx\s*'",
    re.IGNORECASE,
)
# Names that the texts of schemas and filters would not tell from their own structure.
_ODD_NAME = re.compile(r"[,:<>()\[\]`]|^\s|\s$")
_QUOTED = re.compile(r"'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"")
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_COMPARED = {
    "EqualTo": "__eq__",
    "GreaterThan": "__gt__",
    "GreaterThanOrEqual": "__ge__",
    "LessThan": "__lt__",
    "LessThanOrEqual": "__le__",
}
_TRUE = "true"
_FLOAT = re.compile(r"-?\d+(\.\d+)?(E-?\d+)?|NaN|-?Infinity")
_LITERAL = {
    "float": _FLOAT,
    "double": _FLOAT,
    "boolean": re.compile(r"true|false"),
    "int": re.compile(r"-?\d{1,10}"),
    "long": re.compile(r"-?\d{1,19}"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "decimal": re.compile(r"-?\d+(\.\d+)?(E-?\d+)?"),
    "timestamp": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?"),
    "timestamptz": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?Z"),
}


@dataclass(frozen=True)
class Pushed:
    """The columns and rows that a scan of a table's files would read."""

    location: str
    columns: tuple[str, ...]
    filter: Predicate | None


def string_literals(query: str) -> frozenset[str]:
    """The strings in a query, if they identify strings in its plan; otherwise none."""
    text = _COMMENT.sub(" ", query)
    found = [single if single or not double else double for single, double in _QUOTED.findall(text)]
    if "\\" in text or _MAKES_TEXT.search(_QUOTED.sub("''", text)) or not all(map(_is_plain, found)):
        return frozenset()
    # Patterns are shown without wildcards at their ends.
    patterns = [literal.strip("%") for literal in found]
    return frozenset([*found, *patterns]) if all(map(_is_plain, patterns)) else frozenset()


def _is_plain(literal: str) -> bool:
    return not _STRUCTURE.search(literal) and literal == literal.strip() and literal.lower() != "null"


def pushed_of(plan: str, schemas: Callable[[str], Schema | None], strings: frozenset[str]) -> list[Pushed]:
    """The scans in a plan whose locations have a schema."""
    found = []
    for node in _NODE.findall(plan):
        location, columns = _LOCATION.search(node), _SCHEMA.search(node)
        schema = schemas(location[1]) if location else None
        if location is None or schema is None:
            continue
        is_odd = _has_odd_names(schema.fields)
        if columns and not is_odd:
            read = tuple(_paths(columns[1], schema.fields))
        else:
            read = tuple(field.name for field in schema.fields)
        filters = None if is_odd else _FILTERS.search(node)
        whole = None if filters is None else _Reader(schema, strings).all_of(filters[1])
        found.append(Pushed(location[1], read, whole))
    return found


def _has_odd_names(fields: Sequence[Field]) -> bool:
    """Whether the name of a column or member has a character of this syntax, or looks like a part of it."""
    return any(_ODD_NAME.search(field.name) or _has_odd_names(field.children) for field in fields)


def _paths(text: str, fields: Sequence[Field]) -> Iterable[str]:
    """The columns in a struct's text, `a:int,b:struct<c:int>`, with dots into structs. Ambiguous columns come whole."""
    for part in map(str.strip, _split(text, "<>()")):
        field = next((f for f in fields if part.startswith((f"{f.name}:", f"`{f.name}`:"))), None)
        if field is None:
            continue  # a column of Spark's own
        inner = part.partition(":struct<")[2]
        if inner and field.type.startswith("struct<") and "." not in field.name:
            below = list(_paths(inner[:-1], field.children))
            whole = not below or set(below) == {child.name for child in field.children}
            yield from (field.name,) if whole else (f"{field.name}.{path}" for path in below)
        else:
            yield field.name


def _split(text: str, brackets: str = "()[]") -> list[str]:
    """The parts between commas outside brackets. Spaces are kept, because a literal may begin or end with them."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in brackets[::2]:
            depth += 1
        elif c in brackets[1::2]:
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part for part in [*parts, text[start:]] if part.strip()]


class _AmbiguousTextError(Exception):
    """The text is ambiguous."""


class _Reader:
    def __init__(self, schema: Schema, strings: frozenset[str]) -> None:
        self._schema = schema
        self._strings = strings

    def all_of(self, text: str) -> Predicate | None:
        """The meaning of a list of filters.

        If one of them is uncertain, the others may be too, and the result is None.
        """
        try:
            found = [self._filter(part.strip()) for part in _split(text)]
        except (_AmbiguousTextError, InvalidInputError):
            return None
        certain = [predicate for predicate in found if predicate is not None]
        return reduce(lambda a, b: a & b, certain) if certain else None

    def _filter(self, text: str, exact: bool = False) -> Predicate | None:
        """The meaning of a filter, or something weaker unless `exact`. It is None if Frazil can't express it."""
        name, parenthesis, rest = text.partition("(")
        if not parenthesis or not rest.endswith(")"):
            raise _AmbiguousTextError
        parts = _split(rest[:-1])
        if name in ("And", "Or") and len(parts) == 2:
            a, b = (self._filter(part, exact) for part in parts)
            if a is None or b is None:
                return None if exact or name == "Or" else (b if a is None else a)
            return a & b if name == "And" else a | b
        if name == "Not" and len(parts) == 1:
            inner = self._filter(parts[0], exact=True)
            return None if inner is None else ~inner
        if name in ("IsNull", "IsNotNull") and len(parts) == 1:
            term = self._column(parts[0])[0]
            return term.is_null() if name == "IsNull" else term.is_not_null()
        if len(parts) != 2:
            raise _AmbiguousTextError
        return self._leaf(name, parts)

    def _leaf(self, name: str, parts: list[str]) -> Predicate | None:
        term, type_ = self._column(parts[0])
        if name == "In" and parts[1].lstrip().startswith("[") and parts[1].endswith("]"):
            return term.is_in([self._literal(part, type_) for part in parts[1].lstrip()[1:-1].split(",")])
        value = self._literal(parts[1], type_)
        if name in _COMPARED:
            predicate: Predicate = getattr(term, _COMPARED[name])(value)
            return predicate
        if name == "EqualNullSafe":
            return (term == value) & term.is_not_null()
        if name == "StringStartsWith" and isinstance(value, str):
            return term.starts_with(value)
        if name in ("StringEndsWith", "StringContains"):
            return None
        raise _AmbiguousTextError

    def _column(self, text: str) -> tuple[Term, str]:
        names = [name.strip("`") for name in text.split(".")]
        fields: Sequence[Field] = self._schema.fields
        type_ = ""
        for name in names:
            found = next((field for field in fields if field.name == name), None)
            if found is None:
                raise _AmbiguousTextError
            fields, type_ = found.children, found.type
        return col(*names) if len(names) > 1 else col(names[0]), type_

    def _literal(self, text: str, type_: str) -> bool | int | float | str | decimal.Decimal:
        kind = "decimal" if type_.startswith("decimal(") else type_
        if kind == "string" and text in self._strings:
            return text
        text = text.strip()
        if kind not in _LITERAL or not _LITERAL[kind].fullmatch(text):
            raise _AmbiguousTextError
        parse: dict[str, Callable[[str], bool | float | decimal.Decimal]] = {
            "boolean": _TRUE.__eq__,
            "decimal": decimal.Decimal,
            "float": float,
            "double": float,
        }
        if kind in ("int", "long"):
            return int(text)
        return parse[kind](text) if kind in parse else text


def either(filters: Iterable[Predicate | None]) -> Predicate | None:
    """A filter that keeps what any of these keeps. None keeps everything."""
    result: Predicate | None = None
    for number, one in enumerate(filters):
        if one is None:
            return None
        result = one if number == 0 else result | one  # type: ignore[operator]
    return result
