"""The procedures of the namespace `sys` that remove partitions and tags by their time, or go back to a watermark."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from functools import reduce
from typing import Any

from frazil.exceptions import InvalidInputError, NotFoundError, UnsupportedError
from frazil.spark.sql.predicates import equal_to
from frazil.spark.sql.procedures.procedure import Given
from frazil.spark.sql.values import literal, value_of
from frazil.table import Table
from frazil.tagging.periods import duration, kept_for

__all__ = ["expire_partitions", "expire_tags", "rollback_to_watermark"]

Rows = Sequence[Sequence[Any]]

_LETTERS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_STANDARD = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d")
_NO_VALUE = ("null", "__DEFAULT_PARTITION__")


def expire_partitions(given: Given) -> Rows:
    """Deletes the partitions whose values say a time that is too long ago.

    Raises:
        UnsupportedError: The strategy goes by another time, or the format of the time has other letters.
    """
    table = given.table
    options = table.properties
    if not table.partition_spec.fields:
        raise InvalidInputError("expire_partitions: the table has no partitions", {"table": table.location})

    def option(name: str, property_: str) -> str | None:
        return options.get(property_) if given[name] is None else str(given[name])

    strategy = option("expire_strategy", "partition.expiration-strategy") or "values-time"
    if strategy != "values-time":
        raise UnsupportedError(
            f"expire_strategy '{strategy}' can't be used", hint="Use 'values-time', or DELETE … WHERE"
        )
    formats = _formats(option("timestamp_formatter", "partition.timestamp-formatter"))
    pattern = option("timestamp_pattern", "partition.timestamp-pattern")
    last = dt.datetime.now() - duration(given["expiration_time"])
    expired = []
    for values in _partitions(table):
        time = _time_of(values, pattern, formats)
        if time is not None and time < last:
            expired.append(values)
    most = given["max_expires"] or options.get("partition.expiration-max-num") or 100
    expired = expired[: int(most)]
    if not expired:
        return [("No expired partitions.",)]
    filters = [
        equal_to(given.session, table.schema, {name: literal(value) for name, value in values.items()})
        for values in expired
    ]
    table.delete(reduce(lambda a, b: a | b, filters))
    return [(", ".join(f"{name}={value}" for name, value in values.items()),) for values in expired]


def _partitions(table: Table) -> list[dict[str, str]]:
    """The values of each partition, in order. Partitions without a value are left out."""
    names = [field.column or field.name for field in table.partition_spec.fields]
    rows = {tuple(task.data_file.partition.get(name) for name in names) for task in table.scan().plan_files()}
    whole = [row for row in rows if not any(value is None or str(value) in _NO_VALUE for value in row)]
    return [dict(zip(names, map(str, row), strict=True)) for row in sorted(whole, key=lambda row: list(map(str, row)))]


def _formats(text: str | None) -> Sequence[str]:
    """The format of a time, as Python writes it."""
    if text is None:
        return _STANDARD
    found = re.sub(r"[A-Za-z]+", lambda match: _LETTERS.get(match[0], "\0"), re.sub(r"'([^']*)'", r"\1", text))
    joined = re.fullmatch(r"(yyyy)?(MM)?(dd)?(HH)?(mm)?(ss)?", text)
    if joined:
        found = "".join(_LETTERS[letters] for letters in joined.groups() if letters)
    if "\0" in found or "%Y" not in found:
        raise UnsupportedError(
            f"timestamp_formatter '{text}' can't be used", hint=f"Use {', '.join(_LETTERS)} and signs between them"
        )
    return (found,)


def _time_of(values: dict[str, str], pattern: str | None, formats: Sequence[str]) -> dt.datetime | None:
    """The time that a partition's values say, or None."""
    text = next(iter(values.values()))
    if pattern is not None:
        text = pattern
        for name in sorted(values, key=len, reverse=True):
            text = text.replace(f"${name}", values[name])
    for one in formats:
        try:
            return dt.datetime.strptime(text, one)
        except ValueError:
            continue
    return None


def expire_tags(given: Given) -> Rows:
    """Deletes the tags that were kept for their time, or that are older than a time. Tags without a time stay."""
    table, now = given.table, dt.datetime.now()
    older = given["older_than"]
    before = None if older is None else value_of(given.session, f"'{older}'", "timestamp_ntz")
    expired = []
    for tag in table.inspect.tags().to_pylist():
        created, kept = tag["create_time"], tag["time_retained"]
        if created is None or kept is None:
            continue
        if created + kept_for(kept) < now or (before is not None and created < before):
            expired.append(tag["tag_name"])
    for name in expired:
        table.refs.drop(name)
    return [(name,) for name in expired] or [("No expired tags.",)]


def rollback_to_watermark(given: Given) -> Rows:
    """Goes back to the newest snapshot whose watermark is not later than a time in milliseconds."""
    table, most = given.table, int(given["watermark"])
    known = table.inspect.snapshots().to_pylist()
    fitting = [row["snapshot_id"] for row in known if row["watermark"] is not None and row["watermark"] <= most]
    if not fitting:
        raise NotFoundError(f"no snapshot has a watermark up to {most}", {"table": table.location})
    before = None if table.snapshot is None else table.snapshot.id
    table.rollback(int(max(fitting)))
    return [(before, int(max(fitting)))]
