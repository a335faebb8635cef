"""Makes the tags that a table's options ask for: one for each period that is over.

Source: Java Paimon's `TagAutoManager`, `TagAutoCreation` and `TagTimeExpire`.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from frazil.exceptions import AlreadyExistsError, InvalidInputError, UnsupportedError
from frazil.inspect import Inspect
from frazil.refs import Refs
from frazil.requests.handle import TableHandle
from frazil.tagging.periods import TagPeriods, duration, kept_for

__all__ = ["create_automatic_tags"]

_MODE = "tag.automatic-creation"
_MODES = ("none", "process-time", "watermark", "batch")
# Offsets as Java's `ZoneId.of` takes them: `Z`, `+8`, `+08:00`, `+080000`, and the same after `UTC`, `GMT` or `UT`.
_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?([+-])(?:(?P<h>[0-9]{1,2})|(?P<hm>[0-9]{4})|(?P<hms>[0-9]{6})|"
    r"(?P<parts>[0-9]{2}:[0-9]{2}(?::[0-9]{2})?))"
)
_MOST_OFFSET = dt.timedelta(hours=18)


def create_automatic_tags(table: TableHandle) -> list[str]:
    """Makes the tags that are due, and removes those that are not kept any longer. Returns the names of new tags.

    Raises:
        InvalidInputError: An option of the table has no such value.
        UnsupportedError: The time of a snapshot or a tag is after the year 9999.
    """
    options = dict(table._core.properties)
    mode = options.get(_MODE, "none").strip().lower()
    if mode not in _MODES:
        raise InvalidInputError(f"'{mode}' is no value of the option '{_MODE}'", hint=f"Values are {', '.join(_MODES)}")
    try:
        made = _Creation(table, options, mode).run() if mode in ("process-time", "watermark") else []
    except OverflowError as error:
        raise UnsupportedError(
            "automatic tags must be between the years 1 and 9999, but a time or watermark is not",
            hint=f"Set the option '{_MODE}' to process-time",
        ) from error
    if options.get("tag.time-expire-enabled", "false").strip().lower() == "true":
        _expire(table)
    return made


class _Creation:
    """The creation of tags: snapshots are looked at one by one, from the last automatic tag on."""

    def __init__(self, table: TableHandle, options: Mapping[str, str], mode: str) -> None:
        self._table = table
        self._refs = Refs(table)
        self._by_watermark = mode == "watermark"
        self._periods = TagPeriods.of(options)
        self._delay = duration(options.get("tag.creation-delay", "0 ms"))
        if self._delay >= self._periods.length:
            raise InvalidInputError("the option 'tag.creation-delay' must be shorter than a period of tags")
        self._most = _count(options, "tag.num-retained-max")
        self._completes = options.get("tag.automatic-completion", "false").strip().lower() == "true"
        zone = options.get("sink.watermark-time-zone", "UTC") if self._by_watermark else None
        self._zone = _zone(zone if zone is not None else options.get("sink.process-time-zone"))

    def run(self) -> list[str]:
        """Makes the tags."""
        automatic = self._automatic()
        begun = max(automatic, key=lambda one: one[0]) if automatic else None
        next_time = None if begun is None else begun[0] + self._periods.length
        made = []
        for row in Inspect(self._table._core).snapshots().to_pylist():
            time = self._time_of(row)
            if time is None or (begun is not None and row["snapshot_id"] <= begun[1]):
                continue
            if next_time is not None and time - self._delay < next_time + self._periods.length:
                continue
            this = self._periods.last_before(time)
            if self._completes and next_time is not None:
                this = next_time
            name = self._periods.name_of(this)
            try:
                self._refs.create_tag(name, row["snapshot_id"])
                made.append(name)
            except AlreadyExistsError:
                pass
            next_time = this + self._periods.length
            self._keep_newest()
        return made

    def _automatic(self) -> list[tuple[dt.datetime, int, str]]:
        """The automatic tags: when their periods begin, their snapshots and their names."""
        found = []
        for row in Inspect(self._table._core).tags().to_pylist():
            time = self._periods.time_of(row["tag_name"])
            if time is not None:
                found.append((time, row["snapshot_id"], row["tag_name"]))
        return found

    def _time_of(self, row: Mapping[str, Any]) -> dt.datetime | None:
        """The local time of a snapshot, or its watermark; None if it has no watermark."""
        moment: dt.datetime = row["commit_time"]
        if self._by_watermark:
            if row["watermark"] is None or row["watermark"] == -(2**63):
                return None
            moment = dt.datetime.fromtimestamp(0, dt.timezone.utc) + dt.timedelta(milliseconds=row["watermark"])
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=dt.timezone.utc)
        return moment.astimezone(self._zone).replace(tzinfo=None)

    def _keep_newest(self) -> None:
        """Removes the automatic tags of the oldest snapshots, if there are too many."""
        if self._most is None:
            return
        automatic = sorted(self._automatic(), key=lambda one: one[1])
        for _, _, name in automatic[: max(0, len(automatic) - self._most)]:
            self._refs.drop(name)


def _expire(table: TableHandle) -> None:
    """Removes the tags whose time is over. Tags without a time stay."""
    refs, now = Refs(table), dt.datetime.now()
    for row in Inspect(table._core).tags().to_pylist():
        created, kept = row["create_time"], row["time_retained"]
        if created is not None and kept is not None and now - created > kept_for(kept):
            refs.drop(row["tag_name"])


def _count(options: Mapping[str, str], option: str) -> int | None:
    text = options.get(option)
    if text is not None and not re.fullmatch(r"\s*[0-9]{1,18}\s*", text):
        raise InvalidInputError(f"the option '{option}' must be a number, not '{text}'")
    return None if text is None else int(text)


def _zone(name: str | None) -> dt.tzinfo | None:
    """A time zone; None is that of this machine.

    Raises:
        InvalidInputError: There is no such zone.
    """
    if name is None:
        return None
    if name == "Z":
        return dt.timezone.utc
    offset = _OFFSET.fullmatch(name)
    try:
        return ZoneInfo(name) if offset is None else _fixed(offset)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInputError(
            f"'{name}' is no time zone", hint="Name a zone such as 'Europe/Berlin' or 'GMT+8'"
        ) from error


def _fixed(offset: re.Match[str]) -> dt.timezone:
    """The zone of an offset.

    Raises:
        ValueError: Java has no such offset.
    """
    digits = next(text for text in offset.groups()[1:] if text is not None).replace(":", "")
    hours, rest = (digits, "") if offset["h"] is not None else (digits[:2], digits[2:])
    minutes, seconds = int(rest[:2] or 0), int(rest[2:] or 0)
    found = dt.timedelta(hours=int(hours), minutes=minutes, seconds=seconds)
    if max(minutes, seconds) > 59 or found > _MOST_OFFSET:
        raise ValueError(offset[0])
    return dt.timezone(found if offset[1] == "+" else -found)
