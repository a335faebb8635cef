"""Read options, by the names of Iceberg's Spark connector, as scans."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from frazil.arguments import At
from frazil.exceptions import InvalidInputError, NotFoundError
from frazil.expr import Columns, Filter
from frazil.scan import Scan
from frazil.spark import wire
from frazil.table import Table

__all__ = ["CHANGES", "KNOWN", "PACKING", "VERSIONS", "integer", "scan_of"]

VERSIONS = ("snapshot-id", "branch", "tag", "as-of-timestamp")
"""Options that name a version to read."""
CHANGES = ("start-snapshot-id", "end-snapshot-id")
"""Options for rows that were appended after the first version, up to and including the second."""
PACKING = ("split-size", "lookback", "file-open-cost")
_SCAN = ("max-plan-bytes", "plan-cache", "plan-cache-bytes", "batch-rows", "case-sensitive")
KNOWN = ("columns", "filter", *VERSIONS, *CHANGES, *PACKING, *_SCAN)
"""All read options."""


def scan_of(
    table: Table,
    options: Mapping[str, object],
    filter: Filter | None = None,
    select: Columns | None = None,
    at: At | None = None,
) -> Scan:
    """The scan that options describe. The names may have any case, because Spark's have.

    Raises:
        InvalidInputError: An option does not exist, its value is wrong, or two options contradict each other.
        NotFoundError: The version does not exist.
    """
    given = {name.lower(): str(value) for name, value in options.items()}
    unknown = [name for name in given if name not in KNOWN]
    if unknown:
        raise InvalidInputError(
            f"there is no option {', '.join(map(repr, unknown))}", hint=f"The options are {', '.join(KNOWN)}"
        )
    for name, argument in (("filter", filter), ("columns", select)):
        if name in given and argument is not None:
            raise InvalidInputError(f"option '{name}' can't be combined with the argument of the same meaning")
    for name in PACKING:
        if name in given:
            integer(name, given[name])
    filter = given.get("filter", filter) if filter is None else filter
    select = _columns(given) if select is None else select
    since, version = _since(given), _at(table, given)
    if at is not None and version is not None:
        raise InvalidInputError("at= can't be combined with options that name a version")
    to_scan = {name: given[name] for name in (*PACKING, *_SCAN) if name in given}
    extra: dict[str, Any] = {} if since is None else {"since": since}
    return table.scan(filter, select, at=version if at is None else at, options=to_scan, **extra)


def _columns(options: Mapping[str, str]) -> list[str] | None:
    text = options.get("columns")
    if text is None:
        return None
    if not text.lstrip().startswith("["):
        return [name.strip() for name in text.split(",")]
    try:
        return wire.names_of(text)
    except ValueError as error:
        raise InvalidInputError(f"option 'columns' is not a JSON list: {error}") from error


def _since(options: Mapping[str, str]) -> int | None:
    if "end-snapshot-id" in options and "start-snapshot-id" not in options:
        raise InvalidInputError(
            "option 'end-snapshot-id' needs 'start-snapshot-id'", hint="Give both, or use 'snapshot-id'"
        )
    return integer("start-snapshot-id", options["start-snapshot-id"]) if "start-snapshot-id" in options else None


def _at(table: Table, options: Mapping[str, str]) -> At | None:
    given = [name for name in (*VERSIONS, "end-snapshot-id") if name in options]
    if not given:
        return None
    if len(given) > 1 or (given[0] != "end-snapshot-id" and "start-snapshot-id" in options):
        given += [name for name in ("start-snapshot-id",) if name in options]
        raise InvalidInputError(f"options {', '.join(given)} can't be combined", hint="Give one of them")
    name, value = given[0], options[given[0]]
    if name in ("snapshot-id", "end-snapshot-id"):
        return integer(name, value)
    if name == "as-of-timestamp":
        return _timestamp(value)
    ref = table.refs[value]
    if ref.type != name:
        raise NotFoundError(f"'{value}' is a {ref.type}, not a {name}", {"ref": value}, f"Use option '{ref.type}'")
    return value


def _timestamp(value: str) -> dt.datetime:
    try:
        return dt.datetime.fromtimestamp(0, dt.timezone.utc) + dt.timedelta(milliseconds=int(value))
    except OverflowError as error:
        raise InvalidInputError(f"option 'as-of-timestamp': {value} is out of range") from error
    except ValueError:
        pass
    try:
        parsed = dt.datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError as error:
        raise InvalidInputError(
            f"option 'as-of-timestamp': '{value}' is not a timestamp",
            hint="Give milliseconds since the epoch, or ISO text",
        ) from error
    return parsed


def integer(name: str, value: str) -> int:
    """The value of an option that is an integer."""
    try:
        return int(value)
    except ValueError as error:
        raise InvalidInputError(f"option '{name}' must be an integer, not '{value}'") from error
