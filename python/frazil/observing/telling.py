"""Whether this thread is inside a verb, or tells somebody about one; and which errors were told."""

from __future__ import annotations

from contextvars import ContextVar

__all__ = ["FREE", "INSIDE", "TELLING", "has_begun", "is_told", "mark_told", "state"]

FREE, INSIDE, TELLING = 0, 1, 2

state: ContextVar[int] = ContextVar("frazil_verb", default=FREE)
"""The state of this thread or task. While somebody is told, verbs are not observed."""

_TOLD = "_frazil_told"


def mark_told(error: BaseException) -> None:
    """Remembers that an error was told."""
    # Some classes of errors take no attributes.
    if hasattr(error, "__dict__"):
        error.__dict__[_TOLD] = True


def is_told(error: BaseException) -> bool:
    """Whether an error was told before."""
    return _TOLD in getattr(error, "__dict__", ())


def has_begun(error: BaseException) -> bool:
    """Whether an error came from inside of the function that was called. A wrong call has no frame of it."""
    return error.__traceback__ is None or error.__traceback__.tb_next is not None
