"""Arguments of the public functions, checked and brought to the form that the core takes."""

from __future__ import annotations

import datetime as dt
import importlib.util
import operator
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.expr import Predicate

At: TypeAlias = int | str | dt.datetime
"""A version of a table: snapshot id, branch or tag, or a point in time, in UTC if it has no zone."""

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def at_version(at: At | None, what: str = "at") -> dict[str, Any]:
    """`at` as keyword arguments of the core's scan; `what` names the argument in errors."""
    if at is None:
        return {}
    if isinstance(at, str):
        return {"reference": at}
    if isinstance(at, dt.datetime):
        # As in filters, a time without a zone is UTC.
        at = at.replace(tzinfo=dt.timezone.utc) if at.tzinfo is None else at
        return {"timestamp_ms": (at - EPOCH) // dt.timedelta(milliseconds=1)}
    if not isinstance(at, bool):
        try:
            snapshot_id = operator.index(at)
        except TypeError:
            pass
        else:
            if -(2**63) <= snapshot_id < 2**63:
                return {"snapshot_id": snapshot_id}
    raise _no_version(at, what)


def _no_version(at: object, what: str) -> InvalidInputError:
    hint = None
    if isinstance(at, dt.date):
        hint = f"Say when: {what}=datetime(..., tzinfo=timezone.utc)"
    elif hasattr(at, "id"):
        hint = f"Give the snapshot's id: {what}=snapshot.id"
    text = repr(at)
    text = text if len(text) <= 100 else f"{text[:100]}…"
    return InvalidInputError(f"{what}= must be a snapshot id, a branch or tag, or a datetime, not {text}", hint=hint)


def since_version(since: At | None) -> dict[str, Any]:
    """`since` as keyword arguments of the core's scan."""
    return {f"since_{key}": value for key, value in at_version(since, "since").items()}


def paths(given: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Paths of files; one alone is not taken for a list of its letters."""
    if isinstance(given, (str, os.PathLike)):
        raise InvalidInputError("paths must be a list of paths")
    return [os.fspath(path) for path in given]


def filter_text(filter: str | Predicate) -> str:
    """A filter as text."""
    if isinstance(filter, (str, Predicate)):
        return unicode("the filter", str(filter))
    raise InvalidInputError(
        f"a filter must be text or an expression, not {filter!r}", hint="Write scan(\"x > 5\") or scan(col('x') > 5)"
    )


def flag(what: str, value: bool) -> bool:
    """A boolean, and nothing that only counts as one."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{what} must be True or False, not {value!r}")
    return value


def installed(package: str) -> None:
    """Refuses a call that needs a package that is not there."""
    if importlib.util.find_spec(package) is None:
        raise UnsupportedError(f"this needs {package}, which is not installed", hint=f"pip install {package}")


def unicode(what: str, text: str) -> str:
    """Text that has no lone surrogates: those are no characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"{what} has a lone surrogate, which is no character: {text!a}") from None
    return text


def columns(select: Sequence[str]) -> tuple[str, ...]:
    """Column names."""
    if isinstance(select, str):
        raise InvalidInputError(
            f"select must be a list of columns, not the string {select!r}", hint=f"Write [{select!r}]"
        )
    columns = tuple(select)
    for name in columns:
        if not isinstance(name, str):
            raise InvalidInputError(f"a column's name must be a string, not {name!r}")
        unicode("a column's name", name)
    return columns


def order(sort_by: Sequence[str] | None) -> list[str] | None:
    """What rows are sorted by; None is the table's order."""
    if isinstance(sort_by, str):
        raise InvalidInputError(
            f"sort_by must be a list of columns, not the string {sort_by!r}", hint=f"Write [{sort_by!r}]"
        )
    return None if sort_by is None else list(columns(sort_by))


def count(what: str, value: int) -> int:
    """An integer from 0 up, of any type that is one."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if isinstance(value, bool) or number < 0:
        raise InvalidInputError(f"{what} must be an integer, 0 or above, not {value!r}")
    if number >= 2**63:
        raise InvalidInputError(f"{what} must be below 2**63, not {value!r}")
    return number


def texts(options: Mapping[str, object] | None) -> dict[str, str]:
    """Options as text: booleans in lower case, as the table formats write them."""
    if options is not None and not isinstance(options, Mapping):
        raise InvalidInputError(f"options must be a dictionary, not {options!r}")
    out = {}
    for key, value in (options or {}).items():
        if not isinstance(key, str) or value is None:
            raise InvalidInputError(
                f"an option needs a name that is a string and a value, not {key!r}: {value!r}",
                hint="Leave out options that are not to be set",
            )
        out[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return out


def rows(data: Any) -> Any:
    """`data` with an Arrow stream. A pandas data frame has one, but with its index as a column."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        from frazil import interop

        return interop.pandas_rows(data)
    return data
