"""Filters as Python expressions.

    from frazil import col, day

    recent = (col("country").is_in(["NO", "SE"])) & (col("ts") >= datetime(2023, 1, 1, tzinfo=timezone.utc))
    table.scan(recent & (day("ts") < date(2023, 2, 1)))

`col` names a column. Arithmetic and functions such as `lower()` and `cast()` compute values from it: `col("price") *
col("amount") > 100`. Comparing a value gives a `Predicate`, and `&`, `|`, `~` combine predicates. A predicate holds
the text that `scan(filter=…)` takes, and `str()` shows it. The meaning is that of Spark SQL: a comparison with null is
neither true nor false, NaN equals NaN and is greater than all numbers, and -0.0 equals 0.0. Names and types are
checked when a scan is made.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

from frazil.exceptions import InvalidInputError
from frazil.names import answers, explained

if TYPE_CHECKING:
    import uuid

__all__ = [
    "Columns",
    "Filter",
    "Literal",
    "Predicate",
    "Term",
    "bucket",
    "col",
    "current_date",
    "current_timestamp",
    "day",
    "hour",
    "month",
    "truncate",
    "year",
]

Literal: TypeAlias = "bool | int | float | str | bytes | decimal.Decimal | dt.date | dt.datetime | dt.time | uuid.UUID"
"""A value that a column can be compared with."""

Operand: TypeAlias = "Term | int | float | decimal.Decimal | dt.date | dt.datetime | dt.timedelta"
"""A value that a column can be computed with."""

Columns: TypeAlias = "str | Term | Iterable[str | Term]"
"""Columns by their names or by `col`, or one column."""

Filter: TypeAlias = "str | Predicate | PyArrowExpression | PolarsExpression | PyIcebergExpression"
"""A filter: text, an expression of this module, or one of pyarrow, Polars or PyIceberg."""


class PyArrowExpression(Protocol):
    """What type checkers take for a `pyarrow.compute.Expression`. pyarrow need not have types for it."""

    def isin(self, *args: Any, **kwargs: Any) -> Any: ...
    def is_valid(self, *args: Any, **kwargs: Any) -> Any: ...


class PolarsExpression(Protocol):
    """What type checkers take for a `polars.Expr`. Polars need not be installed."""

    @property
    def meta(self) -> Any: ...
    def over(self, *args: Any, **kwargs: Any) -> Any: ...


class PyIcebergExpression(Protocol):
    """What type checkers take for a `BooleanExpression` of PyIceberg, which need not be installed."""

    def __invert__(self) -> Any: ...
    def model_dump_json(self, *args: Any, **kwargs: Any) -> Any: ...


_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_RESERVED = frozenset(
    {
        *("and", "or", "not", "in", "is", "null", "nan", "between", "like", "true", "false", "starts_with"),
        *("bucket", "truncate", "year", "month", "day", "hour", "current_date", "current_timestamp"),
    }
)


@answers("filter")
class Predicate:
    """A filter: a condition on each row, held as text.

    Make one by comparing a column: `col("x") > 5`. Combine predicates with `&`, `|` and `~`. Python's `and`, `or` and
    `not` can't be overloaded, so they raise an error.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __and__(self, other: Predicate) -> Predicate:
        return _combine("and", self, other)

    def __or__(self, other: Predicate) -> Predicate:
        return _combine("or", self, other)

    def __invert__(self) -> Predicate:
        return Predicate(f"not ({self._text})")

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a frazil predicate is neither true nor false: use & for and, | for or, ~ for not, with parentheses around "
            "each comparison, and between() for a < x < b"
        )

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Predicate({self._text!r})"

    def __eq__(self, other: object) -> bool:
        """Whether both have the same text."""
        return isinstance(other, Predicate) and self._text == other._text

    def __hash__(self) -> int:
        return hash((Predicate, self._text))

    def __reduce__(self) -> tuple[type[Predicate], tuple[str]]:
        return Predicate, (self._text,)


def _combine(word: str, left: Predicate, right: object) -> Predicate:
    if not isinstance(right, Predicate):
        hint = "Put parentheses around each comparison: (col('a') > 1) & (col('b') < 2)"
        if isinstance(right, str):
            hint = f"Write frazil.Predicate({right!r}), or both as one text"
        elif type(right).__module__.partition(".")[0] in ("polars", "pyarrow", "pyiceberg"):
            hint = "Write both with frazil.col, or both with the other library"
        raise InvalidInputError(f"a predicate can't be combined with {right!r}", hint=hint)
    return Predicate(f"({left}) {word} ({right})")


@answers()
@explained
class Term:
    """A column, or a value computed from columns. It can be compared with values and with other terms.

    `+`, `-`, `*`, `/` and `%` compute with numbers. Days and `datetime.timedelta` can be added to dates and timestamps.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compare("=", value)

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compare("!=", value)

    def __lt__(self, value: Literal | Term) -> Predicate:
        return self._compare("<", value)

    def __le__(self, value: Literal | Term) -> Predicate:
        return self._compare("<=", value)

    def __gt__(self, value: Literal | Term) -> Predicate:
        return self._compare(">", value)

    def __ge__(self, value: Literal | Term) -> Predicate:
        return self._compare(">=", value)

    __hash__ = None  # type: ignore[assignment]
    # A number of numpy on the left leaves the operation to the term.
    __array_ufunc__ = None

    def __add__(self, value: Operand) -> Term:
        return self._with("+", value)

    def __radd__(self, value: Operand) -> Term:
        return self._with("+", value, swapped=True)

    def __sub__(self, value: Operand) -> Term:
        return self._with("-", value)

    def __rsub__(self, value: Operand) -> Term:
        return self._with("-", value, swapped=True)

    def __mul__(self, value: Operand) -> Term:
        return self._with("*", value)

    def __rmul__(self, value: Operand) -> Term:
        return self._with("*", value, swapped=True)

    def __truediv__(self, value: Operand) -> Term:
        return self._with("/", value)

    def __rtruediv__(self, value: Operand) -> Term:
        return self._with("/", value, swapped=True)

    def __mod__(self, value: Operand) -> Term:
        return self._with("%", value)

    def __rmod__(self, value: Operand) -> Term:
        return self._with("%", value, swapped=True)

    def __neg__(self) -> Term:
        return Term(f"-({self._text})")

    def lower(self) -> Term:
        """The string in lower case."""
        return Term(f"lower({self._text})")

    def upper(self) -> Term:
        """The string in upper case."""
        return Term(f"upper({self._text})")

    def cast(self, type: str) -> Term:
        """The value in another type, as in `col("code").cast("int")`. A value that the type lacks is an error."""
        return Term(f"cast({self._text} as {_type(type)})")

    def try_cast(self, type: str) -> Term:
        """Like `cast`, but a value that the type lacks becomes null."""
        return Term(f"try_cast({self._text} as {_type(type)})")

    def like(self, pattern: str) -> Predicate:
        """Keeps rows where the string matches a pattern. `%` stands for any text, `_` for any one character."""
        return Predicate(f"{self._text} like {_text(pattern, 'pattern')}")

    def ilike(self, pattern: str) -> Predicate:
        """Like `like`, without regard to upper and lower case."""
        return Predicate(f"{self._text} ilike {_text(pattern, 'pattern')}")

    def contains(self, text: str) -> Predicate:
        """Keeps rows where the string has `text` in it."""
        return Predicate(f"contains({self._text}, {_text(text, 'text')})")

    def ends_with(self, suffix: str) -> Predicate:
        """Keeps rows where the string ends with `suffix`."""
        return Predicate(f"ends_with({self._text}, {_text(suffix, 'suffix')})")

    def is_true(self) -> Predicate:
        """Keeps rows where the boolean is true. Its negation keeps null, unlike that of `col("b") == True`."""
        return Predicate(f"{self._text} is true")

    def is_false(self) -> Predicate:
        """Keeps rows where the boolean is false. Its negation keeps null."""
        return Predicate(f"{self._text} is false")

    def is_null(self) -> Predicate:
        """Keeps rows where the term is null."""
        return Predicate(f"{self._text} is null")

    def is_not_null(self) -> Predicate:
        """Keeps rows where the term is not null."""
        return Predicate(f"{self._text} is not null")

    def is_nan(self) -> Predicate:
        """Keeps rows where the term is NaN."""
        return Predicate(f"{self._text} is nan")

    def is_not_nan(self) -> Predicate:
        """Keeps rows where the term is a number. Null is neither NaN nor a number."""
        return Predicate(f"{self._text} is not nan")

    def is_in(self, values: Iterable[Literal | Term]) -> Predicate:
        """Keeps rows where the term equals one of the values. Without values, no row is kept."""
        texts = self._members(values)
        return Predicate(f"{self._text} in ({', '.join(texts)})" if texts else "false")

    def not_in(self, values: Iterable[Literal | Term]) -> Predicate:
        """Keeps rows where the term is not null and equals none of the values. Without values, all rows are kept."""
        texts = self._members(values)
        return Predicate(f"{self._text} not in ({', '.join(texts)})" if texts else "true")

    def between(self, low: Literal | Term, high: Literal | Term) -> Predicate:
        """Keeps rows where `low <= term <= high`."""
        return Predicate(f"{self._text} between {_compared(low)} and {_compared(high)}")

    def starts_with(self, prefix: str) -> Predicate:
        """Keeps rows where the string starts with `prefix`."""
        if not isinstance(prefix, str):
            raise InvalidInputError(f"a prefix must be a string, not {prefix!r}")
        return Predicate(f"starts_with({self._text}, {_literal(prefix)})")

    def __bool__(self) -> NoReturn:
        raise TypeError("a frazil column is neither true nor false: compare it with a value, as in col('x') == True")

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Term({self._text!r})"

    def __reduce__(self) -> tuple[type[Term], tuple[str]]:
        return Term, (self._text,)

    def _compare(self, operator: str, value: object) -> Predicate:
        return Predicate(f"{self._text} {operator} {_compared(value)}")

    def _with(self, operator: str, value: object, swapped: bool = False) -> Term:
        operand = _operand(value)
        return Term(f"({operand} {operator} {self._text})" if swapped else f"({self._text} {operator} {operand})")

    @staticmethod
    def _members(values: Iterable[Literal | Term]) -> list[str]:
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise InvalidInputError(
                f"is_in and not_in take a list of values, not {values!r}", hint=f"Write is_in([{values!r}])"
            )
        return [_compared(v) for v in values]


@explained
def col(*names: str) -> Term:
    """A column by its name.

    One argument is a dotted path: `col("payload.a")` is member `a` of struct `payload`, or a column whose name contains
    the dot. Several arguments are the names of the path one by one: `col("payload", "odd.name")`.

    Examples:
        >>> str(col("x") > 5)
        'x > 5'
        >>> str(col("payload", "odd.name").is_null())
        'payload."odd.name" is null'
    """
    if not names or not all(isinstance(n, str) and n for n in names):
        raise InvalidInputError(f"a column's name must be a string that is not empty, not {names!r}")
    parts = names[0].split(".") if len(names) == 1 else list(names)
    if not all(parts):
        parts = list(names)
    return Term(".".join(map(_identifier, parts)))


@explained
def current_date() -> Term:
    """The date in UTC, at the time when a scan or another call takes the filter.

    Examples:
        >>> str(col("day") >= current_date() - 7)
        'day >= (current_date - 7)'
    """
    return Term("current_date")


@explained
def current_timestamp() -> Term:
    """The time when a scan or another call takes the filter.

    Examples:
        >>> str(col("ts") >= current_timestamp() - dt.timedelta(days=1))
        "ts >= (current_timestamp - interval '1 days')"
    """
    return Term("current_timestamp")


@explained
def bucket(buckets: int, column: str | Term) -> Term:
    """The bucket of a column's value, 0 to `buckets - 1`, as the table format hashes it: `bucket(16, "id") == 3`."""
    return Term(f"bucket({_positive('buckets', buckets)}, {_column(column)})")


@explained
def truncate(width: int, column: str | Term) -> Term:
    """The first `width` characters of a string, or a number rounded down to a multiple of `width`."""
    return Term(f"truncate({_positive('width', width)}, {_column(column)})")


@explained
def year(column: str | Term) -> Term:
    """Years since 1970 of a date or timestamp."""
    return Term(f"year({_column(column)})")


@explained
def month(column: str | Term) -> Term:
    """Months since January 1970 of a date or timestamp."""
    return Term(f"month({_column(column)})")


@explained
def day(column: str | Term) -> Term:
    """The day of a date or timestamp (in UTC)."""
    return Term(f"day({_column(column)})")


@explained
def hour(column: str | Term) -> Term:
    """Hours since 1970-01-01T00:00 UTC of a timestamp."""
    return Term(f"hour({_column(column)})")


def _column(column: str | Term) -> str:
    return str(column if isinstance(column, Term) else col(column))


def _positive(parameter: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        given: object = value
        hint = f"Write the number first, as in bucket(16, {value!r})" if isinstance(given, (str, Term)) else None
        raise InvalidInputError(f"{parameter} must be a positive integer, not {value!r}", hint=hint)
    return value


def _identifier(name: str) -> str:
    if _PLAIN_NAME.match(name) and name.lower() not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _literal(value: object) -> str:
    """A value as text. Strings that stand for dates and times are interpreted by the type of the column."""
    value = _unwrapped(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"x'{bytes(value).hex()}'"
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            raise InvalidInputError(f"a decimal column can't be compared with {value}")
        return f"{value:f}"
    if isinstance(value, dt.datetime):
        return _quoted((value if value.tzinfo is None else value.astimezone(dt.timezone.utc)).isoformat())
    if isinstance(value, (dt.date, dt.time)):
        return _quoted(value.isoformat())
    if _is_uuid(value):
        return _quoted(str(value))
    if value is None:
        raise InvalidInputError("a comparison with None keeps no row", hint="Use is_null() or is_not_null()")
    if isinstance(value, (Term, Predicate)):
        raise InvalidInputError(f"{str(value)!r} is not a value")
    hint = None
    is_array = hasattr(value, "__array__") and getattr(value, "ndim", 1) != 0
    if is_array or isinstance(value, (list, tuple, set, frozenset, range)):
        hint = "Write is_in(values)"
    elif type(value).__module__.partition(".")[0] in ("polars", "pyarrow", "pyspark"):
        hint = "Give a Python value or frazil.col, or write the whole filter with the other library"
    raise InvalidInputError(f"a '{type(value).__name__}' can't be compared with a column: {value!r}", hint=hint)


def _compared(value: object) -> str:
    """One side of a comparison as text."""
    return str(value) if isinstance(value, Term) else _literal(value)


def _operand(value: object) -> str:
    """A side of an arithmetic operation as text. Unlike in a comparison, no column tells its type."""
    value = _unwrapped(value)
    if isinstance(value, Term):
        return str(value)
    if isinstance(value, dt.timedelta):
        days, rest = divmod(value, dt.timedelta(days=1))
        micros, part = divmod(rest, dt.timedelta(microseconds=1))
        if part:
            raise InvalidInputError(f"a column can't be computed with parts of a microsecond: {value!r}")
        return f"interval '{days} days {micros} microseconds'" if micros else f"interval '{days} days'"
    if isinstance(value, dt.datetime):
        return f"timestamp {_literal(value)}"
    if isinstance(value, dt.date):
        return f"date {_literal(value)}"
    if isinstance(value, float) and math.isfinite(value):
        text = repr(float(value))
        return text if "e" in text else f"{text}e0"
    if isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool):
        return _literal(value)
    raise InvalidInputError(f"a column can't be computed with {value!r}")


def _text(value: str, parameter: str) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{parameter} must be a string, not {value!r}")
    return _quoted(value)


_TYPE = re.compile(r"[A-Za-z_]+(\(\s*\d+\s*(,\s*\d+\s*)?\))?\Z")


def _type(type_: str) -> str:
    if not isinstance(type_, str) or not _TYPE.match(type_):
        from frazil.names.types import type_here

        known = type_here(type_)
        raise InvalidInputError(
            f"a type must be a name such as 'int' or 'decimal(9, 2)', not {type_!r}",
            hint=None if known is None else f"Write cast('{known}')",
        )
    return type_


def value_text(value: object) -> str | None:
    """A value as text in the language of filters; None for null."""
    value = _unwrapped(value)
    return None if value is None else _literal(value)


def _is_uuid(value: object) -> bool:
    """Whether a value is a `uuid.UUID`. The module is not imported, because that takes longer than this one."""
    module = sys.modules.get("uuid")
    return module is not None and isinstance(value, module.UUID)


def _float(value: float) -> str:
    if math.isnan(value):
        return "'NaN'"
    if math.isinf(value):
        return "'Infinity'" if value > 0 else "'-Infinity'"
    return repr(float(value))


def _unwrapped(value: Any) -> Any:
    """The Python value of a numpy or pyarrow scalar, without importing either."""
    module, kind = type(value).__module__.partition(".")[0], type(value).__name__
    if module == "numpy" and kind == "ndarray" and value.ndim == 0:
        value = value[()]
    numpy = sys.modules.get("numpy") if module == "numpy" else None
    if numpy is not None and isinstance(value, numpy.generic):
        # The item() of times turns nanoseconds into a bare integer.
        if isinstance(value, (numpy.datetime64, numpy.timedelta64)) and str(value) == "NaT":
            return None
        if isinstance(value, numpy.datetime64):
            return str(value)
        return time_of_numpy(value) if isinstance(value, numpy.timedelta64) else value.item()
    if module == "pandas" and kind in ("NAType", "NaTType"):
        return None
    if module == "pyarrow" and hasattr(value, "as_py"):
        return value.as_py()
    return value


_UNITS_OF_TIME = ("W", "D", "h", "m", "s", "ms", "us", "ns")


def time_of_numpy(value: Any) -> Any:
    """A numpy time or age as Python's `datetime` or `timedelta`, if that is exactly the same.

    Other values stay as they are, so that the caller refuses them: those without a unit, months and years, parts of a
    microsecond, and values that Python's types can't hold.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.datetime64, numpy.timedelta64)):
        return value
    if numpy.datetime_data(value.dtype)[0] not in _UNITS_OF_TIME:
        return value
    try:
        micros = value.astype(f"{type(value).__name__}[us]")
        # A value that is too large overflows without an error. Not-a-time is not equal to itself.
        if micros.astype(value.dtype) != value:
            return value
        found = micros.item()
    except (ValueError, OverflowError):
        return value
    return found if isinstance(found, (dt.datetime, dt.timedelta)) else value
