"""The periods of automatic tags: a tag's name says the period that it closes."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass

from frazil.exceptions import InvalidInputError

__all__ = ["TagPeriods", "duration", "kept_for"]

_UNITS = {
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
_DURATION = re.compile(r"P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?\Z")
_PERIODS = {"daily": dt.timedelta(days=1), "hourly": dt.timedelta(hours=1), "two_hours": dt.timedelta(hours=2)}
_DAYS = {"with_dashes": "%Y-%m-%d", "without_dashes": "%Y%m%d", "without_dashes_and_spaces": "%Y%m%d"}
_HOURS = {"with_dashes": "%Y-%m-%d %H", "without_dashes": "%Y%m%d %H", "without_dashes_and_spaces": "%Y%m%d%H"}
_LENGTHS = {"%Y": 4, "%m": 2, "%d": 2, "%H": 2, "%M": 2}
_START = dt.datetime(1970, 1, 1)


def duration(text: object) -> dt.timedelta:
    """A time such as `1 d` or `12h`.

    Raises:
        InvalidInputError: It is no duration.
    """
    match = re.fullmatch(r"\s*([0-9]+)\s*([A-Za-z]*)\s*", str(text))
    unit = None if match is None else _UNITS.get(match[2].lower() or "ms")
    if match is None or unit is None:
        raise InvalidInputError(f"'{text}' is no duration", hint="Write '1 d', '12 h' or '30 min'")
    try:
        return dt.timedelta(milliseconds=int(match[1]) * unit)
    except (OverflowError, ValueError) as error:
        # Texts of thousands of digits are no numbers for Python.
        raise InvalidInputError(f"the duration '{text}' is too long", hint="At most 999999999 days") from error


def kept_for(text: str) -> dt.timedelta:
    """A duration such as `PT24H`. One that is longer than Python's durations is the longest of these.

    Raises:
        InvalidInputError: The text is no duration.
    """
    match = _DURATION.match(text)
    if match is None or text in ("P", "PT"):
        raise InvalidInputError(f"'{text}' is no duration")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    try:
        return dt.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        return dt.timedelta.max


def _one_of(options: Mapping[str, str], option: str, default: str, values: Mapping[str, object]) -> str:
    value = options.get(option, default).strip().lower().replace("-", "_")
    if value not in values:
        raise InvalidInputError(
            f"'{options[option]}' is no value of the option '{option}'", hint=f"Values are {', '.join(values)}"
        )
    return value


@dataclass(frozen=True)
class TagPeriods:
    """The periods of a table's automatic tags.

    Attributes:
        length: The length of a period.
        pattern: The format of the names, as `strftime` takes it.
    """

    length: dt.timedelta
    pattern: str

    @classmethod
    def of(cls, options: Mapping[str, str]) -> TagPeriods:
        """The periods that a table's options ask for.

        Raises:
            InvalidInputError: An option has no such value.
        """
        given = options.get("tag.creation-period-duration")
        if given is not None:
            length = duration(given)
            if not length:
                raise InvalidInputError("the option 'tag.creation-period-duration' must be longer than 0")
            return cls(length, "%Y%m%d%H%M")
        period = _one_of(options, "tag.creation-period", "daily", _PERIODS)
        written = _one_of(options, "tag.period-formatter", "with_dashes", _DAYS)
        if period == "two_hours":
            return cls(_PERIODS[period], _HOURS["with_dashes"])
        return cls(_PERIODS[period], (_DAYS if period == "daily" else _HOURS)[written])

    def time_of(self, tag: str) -> dt.datetime | None:
        """When the period of a tag begins; None if its name is not that of an automatic tag."""
        text = tag.split(" ")[0] if self.pattern in _DAYS.values() else tag
        expected = re.sub(r"%.", lambda part: rf"\d{{{_LENGTHS[part[0]]}}}", self.pattern)
        if not re.fullmatch(expected, text, re.ASCII):
            return None
        try:
            return dt.datetime.strptime(text, self.pattern)
        except ValueError:
            return None

    def name_of(self, time: dt.datetime) -> str:
        """The name of the tag of a period that begins at a time."""
        # `%Y` has fewer digits than four for early years on some systems.
        return time.strftime(self.pattern.replace("%Y", f"{time.year:04}"))

    def last_before(self, time: dt.datetime) -> dt.datetime:
        """When the last period began that was over at a time."""
        return _START + (time - _START) // self.length * self.length - self.length
