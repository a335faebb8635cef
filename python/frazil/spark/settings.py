"""Settings of Spark sessions: read, and changed for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from frazil.exceptions import InvalidInputError

__all__ = ["changed_setting", "count_setting", "setting"]


# The original values of changed settings, and how many threads use the change. Sessions stay alive meanwhile.
_CHANGED: dict[tuple[int, str], tuple[str | None, int]] = {}


_CHANGING = threading.Lock()


@contextmanager
def changed_setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """Gives a setting of a session another value for a while.

    Threads that change the same setting at the same time share the change. The last one restores the original value.
    """
    key = (id(spark), name)
    with _CHANGING:
        before, users = _CHANGED.get(key) or (spark.conf.get(name, None), 0)
        spark.conf.set(name, value)
        _CHANGED[key] = (before, users + 1)
    try:
        yield
    finally:
        with _CHANGING:
            before, users = _CHANGED.pop(key)
            if users > 1:
                _CHANGED[key] = (before, users - 1)
            elif before is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, before)


def count_setting(spark: SparkSession, name: str, default: int) -> int:
    """The value of a setting that is a count.

    Raises:
        InvalidInputError: It is not a number.
    """
    text = spark.conf.get(name, str(default)) or ""
    if not text.isdigit():
        raise InvalidInputError(f"setting {name} must be a number, not '{text}'")
    return int(text)


def setting(spark: SparkSession, name: str, default: int, of: str = "bytes") -> int:
    """The value of a setting that is a number.

    Raises:
        InvalidInputError: It is not a number, or it is negative.
    """
    text = spark.conf.get(name, str(default))
    try:
        value = int(text or "")
    except ValueError as error:
        raise InvalidInputError(f"setting {name} must be a number of {of}, not '{text}'") from error
    if value < 0:
        raise InvalidInputError(f"setting {name} must not be negative")
    return value
