"""Arguments of the public functions, checked and converted to the form that the core takes."""

from __future__ import annotations

import datetime as dt
import decimal
import operator
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from frazil import _core
from frazil.exceptions import InvalidInputError, NotFoundError, UnsupportedError
from frazil.expr import Columns, Predicate, Term, time_of_numpy

At: TypeAlias = int | str | dt.datetime
"""A version of a table: a snapshot id, a branch or tag, or a point in time. A time without a zone is in UTC."""

Paths: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]"
"""Paths of files or folders, or one path."""

_PARTS = re.compile(r'"(?:[^"]|"")+"|[A-Za-z_][A-Za-z0-9_]*')
"""The names in the text of a column."""

_QUERY = re.compile(r"\?(?=[^?]*=).*", re.DOTALL)

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def version(at: At | None, argument: str = "at") -> _core.At | None:
    """A version in the form that the core takes. `argument` is its name in errors."""
    if at is None:
        return None
    if type(at).__module__ == "numpy":
        at = time_of_numpy(at)
    if isinstance(at, str):
        return _core.At.Ref(text(argument, at))
    if isinstance(at, dt.datetime):
        if is_missing(at):
            raise _no_version(at, argument)
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
    from frazil.arguments import hints

    return InvalidInputError(
        f"{argument}= must be a snapshot id, a branch or tag, or a datetime, not {shown(at)}",
        hint=hints.of_version(at, argument),
    )


def is_missing(time: dt.datetime) -> bool:
    """Whether a time is pandas' NaT, which is a datetime and equals nothing."""
    return bool(time != time)


def milliseconds(time: dt.datetime) -> int:
    """Milliseconds since the epoch. As in filters, a time without a zone is in UTC."""
    time = time.replace(tzinfo=dt.timezone.utc) if time.tzinfo is None else time
    return (time - EPOCH) // dt.timedelta(milliseconds=1)


def shown(value: object) -> str:
    """A value in the text of an error, in one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else f"{text[:100]}…"


def session(argument: str, given: Any) -> Any:
    """A Spark session of either kind. PySpark is not imported for this."""
    if type(given).__module__.startswith("pyspark.sql.") and hasattr(given, "createDataFrame"):
        return given
    raise InvalidInputError(f"{argument} must be a SparkSession, not {shown(given)}")


def paths(given: Paths, argument: str = "paths") -> list[str]:
    """Paths of files, or one path."""
    if isinstance(given, (str, os.PathLike)):
        return [path(argument, given)]
    if isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable):
        raise InvalidInputError(f"{argument} must be a list of paths, not {shown(given)}")
    return [path(argument, one) for one in given]


def no_file(error: NotFoundError, paths: Sequence[str]) -> NotFoundError:
    """The error for files that don't exist. It says so if patterns were given."""
    if not any("*" in path or "?" in path for path in paths):
        return error
    hint = "Patterns are not files: give the list of files, such as glob.glob(pattern)"
    return NotFoundError(str(error).removesuffix(f". {error.hint}"), error.context, hint)


def path(argument: str, given: str | os.PathLike[str]) -> str:
    """A path or location as text. `~` at its start is the home folder."""
    text: object
    try:
        text = os.fspath(given)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise InvalidInputError(f"{argument} must be a string or a path, not {shown(given)}")
    return at_home(unicode(argument, text))


def public_path(path: str) -> str:
    """A path without the user information and the query of a URI, which may be secrets."""
    shown = _core.public_text(path, 4 * len(path) + 1024)
    return _QUERY.sub("?***", shown) if "://" in shown else shown


def at_home(location: str) -> str:
    """A location with the home folder in place of `~` at its start."""
    if not location.startswith("~"):
        return location
    from pathlib import Path

    return str(Path(location).expanduser())


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
    raise _no_filter(filter, argument)


def _no_filter(filter: object, argument: str) -> InvalidInputError:
    from frazil.arguments import hints

    return InvalidInputError(
        f"{argument}: a filter must be text or an expression, not {shown(filter)}",
        hint=hints.of_filter(filter, argument),
    )


def flag(argument: str, value: object) -> bool:
    """A boolean. Values that only count as booleans are refused."""
    if not isinstance(value, bool):
        numpy = sys.modules.get("numpy")
        if numpy is None or not isinstance(value, numpy.bool_):
            hint = "Name the argument: properties={…}" if isinstance(value, Mapping) else None
            raise InvalidInputError(f"{argument} must be True or False, not {shown(value)}", hint=hint)
    return bool(value)


def text(argument: str, value: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{argument} must be text, not {shown(value)}", hint=_named(argument, value))
    return unicode(argument, value)


def _named(argument: str, parts: object) -> str | None:
    """What to write for a name that was given in parts, as PyIceberg takes it, or as a table."""
    if isinstance(getattr(parts, "_core", None), _core.Table):
        return f"Write {argument}=table.name"
    if not isinstance(parts, (tuple, list)) or not parts or not all(isinstance(part, str) for part in parts):
        return None
    return f"Write '{'.'.join(parts)}'"


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
    import importlib.util

    # A folder of this name, without a module in it, is found as well.
    found = importlib.util.find_spec(package)
    if found is None or found.loader is None:
        raise UnsupportedError(f"{package} is not installed, but this call needs it", hint=f"pip install {package}")


def unicode(argument: str, text: str) -> str:
    """Text without lone surrogates, which are not characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"{argument} has a lone surrogate, which is not a character: {text!a}") from None
    return text


def outside_folders(locations: Paths | None) -> list[str]:
    """Folders for the argument `outside_locations`."""
    return [] if locations is None else paths(locations, "outside_locations")


def columns(select: Columns, argument: str = "select") -> tuple[str, ...]:
    """Column names, or one name. Columns by `frazil.col` count by their names."""
    given: Any = (select,) if isinstance(select, (str, Term)) else select
    if isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable):
        from frazil.arguments import hints

        hint = hints.of_columns(given, argument)
        raise InvalidInputError(f"{argument} must be a list of columns, not {shown(select)}", hint=hint)
    columns = tuple(str(name) if isinstance(name, Term) else _plain_text(name) for name in given)
    for name in columns:
        if not isinstance(name, str):
            from frazil.arguments import hints

            hint = hints.of_columns(name, argument) or "Give the column's name as text"
            raise InvalidInputError(f"{argument}: a column's name must be a string, not {shown(name)}", hint=hint)
        unicode(f"{argument}: a column's name", name)
    return columns


def _plain_text(name: Any) -> Any:
    """A text of an Arrow array as text. Other values stay as they are."""
    is_scalar = type(name).__module__ == "pyarrow.lib" and type(name).__name__.endswith("StringScalar")
    return name.as_py() if is_scalar else name


def selection(select: Any, argument: str = "select") -> tuple[str, ...]:
    """Columns to read. A scan has each column once."""
    given = select
    if isinstance(given, tuple) and len(given) == 1:
        # `select(["a", "b"])` for `select("a", "b")`.
        several = isinstance(given[0], Iterable) and not isinstance(given[0], (str, bytes, Mapping))
        given = given[0] if several else given
    if isinstance(given, (str, Term)):
        given = (given,)
    if isinstance(given, Iterable) and not isinstance(given, (bytes, Mapping)):
        given = [column_name(one, argument) if isinstance(one, Term) else one for one in given]
    names = columns(given, argument)
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise InvalidInputError(
            f"{argument} has the column '{twice}' twice, and a scan has each column once",
            {"column": twice},
            "Leave one out. To get a column twice, copy it in the rows that you read",
        )
    return names


def column_name(column: Term, argument: str) -> str:
    """The dotted path of a column that was given as `frazil.col`."""
    parts = _PARTS.findall(str(column))
    names = [part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts]
    if ".".join(parts) != str(column) or any("." in name for name in names):
        raise InvalidInputError(f"{argument} takes columns, not {shown(column)}", hint="Give the column's name as text")
    return ".".join(names)


def order(sort_by: Columns | None) -> list[str] | None:
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
