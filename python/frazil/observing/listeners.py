"""The functions that receive reports of scans and commits."""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable
from typing import Any

from frazil.exceptions import InvalidInputError

__all__ = ["Listener", "Registration", "on_report", "registered"]

Listener = Callable[[dict[str, Any]], object]
"""A function that takes a report."""

registered: list[Registration] = []
"""All that are registered now."""

_lock = _thread.allocate_lock()


class Registration:
    """A function that receives reports, until `close()` or the end of a `with` block."""

    __slots__ = ("__weakref__", "has_failed", "listener")

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.has_failed = False

    def close(self) -> None:
        """Ends it. A second call does nothing."""
        with _lock:
            registered[:] = [other for other in registered if other is not self]

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Registration({'open' if self in registered else 'closed'})"


def on_report(listener: Listener) -> Registration:
    """Calls a function with a report of each scan and of each commit, for tables of every catalog.

    A report is a dictionary with the names of Iceberg's REST specification: `ScanReport` or `CommitReport`, as
    `report-type` says. The function is called in the thread of the scan or commit, after it has ended. It must be
    quick. An error in it does not reach the caller. Only the first one is logged, as a warning of logger `frazil`.
    Whatever the function itself does with tables is not reported.

    A forked process keeps the functions that were registered before. Other processes, such as executors of Spark, have
    none.

    Args:
        listener: The function. It can be registered several times, and is then called as often.

    Returns:
        The registration. Its `close()`, or the end of a `with` block, ends it.

    Raises:
        InvalidInputError: The listener can't be called.

    Examples:
        >>> with fz.on_report(print):  # doctest: +SKIP
        ...     table.append(rows)
    """
    if not callable(listener):
        raise InvalidInputError(
            f"on_report takes a function, not an object of class {type(listener).__name__}",
            hint="Give a function that takes one dictionary, such as print",
        )
    made = Registration(listener)
    with _lock:
        registered.append(made)
    return made


def _after_fork() -> None:
    # Another thread may have held the lock.
    global _lock
    _lock = _thread.allocate_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
