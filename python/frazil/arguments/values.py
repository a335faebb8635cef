"""Arguments of the public functions, checked and converted to the form that the core takes."""

from __future__ import annotations

import datetime as dt
import decimal
import importlib.util
import operator
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from frazil import _core
from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.expr import Predicate

At: TypeAlias = int | str | dt.datetime
"""A version of a table: a snapshot id, a branch or tag, or a point in time. A time without a zone is in UTC."""

_STREAMS = ("__arrow_c_stream__", "__arrow_c_array__", "read_next_batch")

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def version(at: At | None, argument: str = "at") -> _core.At | None:
    """A version in the form that the core takes. `argument` is its name in errors."""
    if at is None:
        return None
    if isinstance(at, str):
        return _core.At.Ref(text(argument, at))
    if isinstance(at, dt.datetime):
        return _core.At.Time(milliseconds(at))
    if not isinstance(at, bool):
        try:
            snapshot_id = operator.index(at)
        except TypeError:
            pass
        else:
            if -(2**63) <= snapshot_id < 2**63:
                return _core.At.Snapshot(snapshot_id)
    raise _no_version(at, argument)


def _no_version(at: object, argument: str) -> InvalidInputError:
    hint = None
    if isinstance(at, dt.date):
        hint = f"Say when: {argument}=datetime(..., tzinfo=timezone.utc)"
    elif hasattr(at, "id"):
        hint = f"Give the snapshot's id: {argument}=snapshot.id"
    return InvalidInputError(
        f"{argument}= must be a snapshot id, a branch or tag, or a datetime, not {shown(at)}", hint=hint
    )


def milliseconds(time: dt.datetime) -> int:
    """Milliseconds since the epoch. As in filters, a time without a zone is in UTC."""
    time = time.replace(tzinfo=dt.timezone.utc) if time.tzinfo is None else time
    return (time - EPOCH) // dt.timedelta(milliseconds=1)


def shown(value: object) -> str:
    """A value in the text of an error."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"


def session(argument: str, given: Any) -> Any:
    """A Spark session of either kind. PySpark is not imported for this."""
    if type(given).__module__.startswith("pyspark.sql.") and hasattr(given, "createDataFrame"):
        return given
    raise InvalidInputError(f"{argument} must be a SparkSession, not {shown(given)}")


def paths(given: Sequence[str | os.PathLike[str]], argument: str = "paths") -> list[str]:
    """Paths of files. A single path is refused, so that it is not taken for a list of letters."""
    if isinstance(given, (str, bytes, os.PathLike, Mapping)) or not isinstance(given, Iterable):
        raise InvalidInputError(f"{argument} must be a list of paths, not {shown(given)}")
    return [path(argument, one) for one in given]


def path(argument: str, given: str | os.PathLike[str]) -> str:
    """A path or location as text."""
    text: object
    try:
        text = os.fspath(given)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise InvalidInputError(f"{argument} must be a string or a path, not {shown(given)}")
    return unicode(argument, text)


_NOW = re.compile(r"current_date|current_timestamp|now\s*\(", re.IGNORECASE)


def filter_text(filter: object, argument: str = "filter") -> str:
    """A filter as text."""
    if not isinstance(filter, (str, Predicate)):
        filter = _foreign_filter(filter, argument)
    text = unicode(f"the filter {argument}", str(filter))
    # The filter may be sent to other processes, where another time is now.
    return _core.fixed_filter(text) if _NOW.search(text) else text


def _foreign_filter(filter: Any, argument: str) -> Predicate:
    """A filter of pyarrow, Polars or PyIceberg."""
    library = type(filter).__module__.partition(".")[0]
    if library in ("pyarrow", "polars", "pyiceberg"):
        from frazil.interop.filters import predicate_of

        predicate = predicate_of(filter)
        if predicate is not None:
            return predicate
    raise InvalidInputError(
        f"{argument}: a filter must be text or an expression, not {shown(filter)}",
        hint="Write scan(\"x > 5\") or scan(col('x') > 5); filters of pyarrow, Polars and PyIceberg are taken as well",
    )


def flag(argument: str, value: object) -> bool:
    """A boolean. Values that only count as booleans are refused."""
    if not isinstance(value, bool):
        numpy = sys.modules.get("numpy")
        if numpy is None or not isinstance(value, numpy.bool_):
            raise InvalidInputError(f"{argument} must be True or False, not {shown(value)}")
    return bool(value)


def text(argument: str, value: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{argument} must be text, not {shown(value)}")
    return unicode(argument, value)


def integer(argument: str, value: int) -> int:
    """An integer of 64 bits, of any integer type."""
    number: int | None
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if isinstance(value, bool) or number is None:
        raise InvalidInputError(f"{argument} must be an integer, not {shown(value)}")
    if not -(2**63) <= number < 2**63:
        raise InvalidInputError(f"{argument} must be below 2**63, not {shown(value)}")
    return number


def real(argument: str, value: float) -> float:
    """A finite number."""
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if number is None or not -1e300 < number < 1e300:
        raise InvalidInputError(f"{argument} must be a number, not {shown(value)}")
    return float(number)


def column_path(argument: str, path: str | Iterable[str]) -> str | list[str]:
    """A column: its name, or the names on the path to it."""
    if isinstance(path, str):
        return text(argument, path)
    if isinstance(path, Iterable) and not isinstance(path, (bytes, Mapping)):
        names = list(path)
        if names and all(isinstance(name, str) for name in names):
            return [unicode(argument, name) for name in names]
    raise InvalidInputError(f"{argument}: a column is given by its name or a tuple of names, not {shown(path)}")


def installed(package: str) -> None:
    """Refuses a call if a package that it needs is missing."""
    if importlib.util.find_spec(package) is None:
        raise UnsupportedError(f"{package} is not installed, but this call needs it", hint=f"pip install {package}")


def unicode(argument: str, text: str) -> str:
    """Text without lone surrogates, which are not characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"{argument} has a lone surrogate, which is not a character: {text!a}") from None
    return text


def outside_folders(locations: Sequence[str] | None) -> list[str]:
    """Folders for the argument `outside_locations`."""
    if isinstance(locations, str):
        raise InvalidInputError(f"outside_locations= takes a list of folders, not {shown(locations)}")
    return [] if locations is None else [os.fspath(location) for location in locations]


def columns(select: Iterable[str], argument: str = "select") -> tuple[str, ...]:
    """Column names."""
    if isinstance(select, (str, bytes, Mapping)) or not isinstance(select, Iterable):
        hint = f"Write [{select!r}]" if isinstance(select, str) else None
        given = f"the string {select!r}" if isinstance(select, str) else shown(select)
        raise InvalidInputError(f"{argument} must be a list of columns, not {given}", hint=hint)
    columns = tuple(select)
    for name in columns:
        if not isinstance(name, str):
            raise InvalidInputError(f"{argument}: a column's name must be a string, not {shown(name)}")
        unicode(f"{argument}: a column's name", name)
    return columns


def order(sort_by: Sequence[str] | None) -> list[str] | None:
    """How rows are sorted; None is the table's order."""
    return None if sort_by is None else list(columns(sort_by, "sort_by"))


def count(argument: str, value: int) -> int:
    """An integer of 0 or above, of any integer type."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if isinstance(value, bool) or number < 0:
        raise InvalidInputError(f"{argument} must be an integer, 0 or above, not {value!r}")
    if number >= 2**63:
        raise InvalidInputError(f"{argument} must be below 2**63, not {value!r}")
    return number


def texts(options: Mapping[str, object] | None, argument: str = "options") -> dict[str, str]:
    """Options as text. Booleans are in lower case, as the table formats write them."""
    if options is not None and not isinstance(options, Mapping):
        raise InvalidInputError(f"{argument} must be a dictionary, not {shown(options)}")
    out = {}
    for key, value in (options or {}).items():
        number = hasattr(value, "__index__") and not isinstance(value, type)
        plain = number or isinstance(value, (str, float, decimal.Decimal, os.PathLike))
        if not isinstance(key, str) or not plain:
            raise InvalidInputError(
                f"{argument}: an option needs a name that is a string and a value that is text or a number, "
                f"not {shown(key)} with a value of type '{type(value).__name__}'",
                hint="Leave out options that you do not want to set",
            )
        value = str(value).lower() if isinstance(value, bool) else str(value)
        out[unicode(argument, key)] = unicode(argument, value)
    return out


def rows(data: Any) -> Any:
    """Rows with an Arrow stream. A pandas data frame has one, but it would contain the index as a column."""
    if isinstance(data, type) or not any(hasattr(data, name) for name in _STREAMS):
        raise InvalidInputError(
            f"data: rows can't be read from a '{type(data).__name__}'",
            hint="Give an object with __arrow_c_stream__: pyarrow, polars, duckdb, pandas",
        )
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        from frazil import interop

        return interop.pandas_rows(data)
    return data
