"""The values of arguments and options: versions, ages, sizes, pairs."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

import click

__all__ = ["AGE", "PAIR", "SIZE", "integers", "moment_of", "pairs", "separated"]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def moment_of(text: str) -> dt.datetime | None:
    """A day or a time, in UTC if it has no zone. None if the text is another one."""
    if not re.match(r"\d{4}-\d{2}-\d{2}", text):
        return None
    try:
        found = dt.datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace("z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=dt.timezone.utc)


class _Age(click.ParamType[Any]):
    name = "age|time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if found := re.fullmatch(r"([0-9]{1,18})\s*([smhdw])", value.strip()):
            try:
                return dt.timedelta(seconds=int(found[1]) * _UNITS[found[2]])
            except OverflowError:
                self.fail(f"'{value}' is too long ago", param, ctx)
        moment = moment_of(value)
        if moment is None:
            self.fail(f"'{value}' is neither an age such as 7d or 12h nor a time such as 2026-01-31T12:00", param, ctx)
        return moment


class _Size(click.ParamType[int]):
    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"([0-9]{1,18})\s*([kmgt]?)(i?b)?", value.strip().lower())
        if found is None:
            self.fail(f"'{value}' is not a size such as 128MiB or 1g", param, ctx)
        size = int(found[1]) * _SIZES[found[2]]
        if not size:
            self.fail("a size must be greater than 0", param, ctx)
        return size


class _Pair(click.ParamType[Any]):
    name = "key=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        key, equals, rest = value.partition("=")
        if not key or not equals:
            # The value may be a secret that was given without its name.
            self.fail("write key=value", param, ctx)
        return key, rest


AGE, SIZE, PAIR = _Age(), _Size(), _Pair()


def pairs(given: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Pairs by their names. The last of several counts."""
    return dict(given)


def separated(_: click.Context | None, __: click.Parameter | None, given: Sequence[str]) -> tuple[str, ...]:
    """The values of an option that are separated by commas, or given one by one.

    Commas within brackets and quotes belong to a value: `bucket(4, id)`, `decimal(10, 2)`, `map<string, int>`.
    """
    return tuple(part for text in given for part in _parts(text))


def _parts(text: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"`":
            quote = letter
        elif letter in "(<[":
            depth += 1
        elif letter in ")>]":
            depth -= 1
        if letter == "," and not quote and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    found = [part.strip() for part in parts]
    # What is not a list of values is left to the command, which says what is wrong with it.
    return found if all(found) else [text]


def integers(ctx: click.Context | None, param: click.Parameter | None, given: Sequence[str]) -> tuple[int, ...]:
    """The integers of an option that are separated by commas, or given one by one."""
    convert = click.types.convert_type(int)
    return tuple(convert(part, param, ctx) for part in separated(ctx, param, given))
