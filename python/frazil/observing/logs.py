"""Log records of the logger `frazil`.

Nothing is logged in a program that has never imported `logging`. Without a handler of the program, nothing is shown.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging
    from types import FrameType

__all__ = ["WARNING", "is_enabled", "kept", "logger", "write"]

WARNING = 30

kept: logging.Logger | None = None
"""The logger, after it was first asked for."""


def logger() -> logging.Logger | None:
    """The logger, or None if the program does not use `logging`."""
    global kept
    if kept is None and "logging" in sys.modules:
        import logging

        made = logging.getLogger("frazil")
        if not any(isinstance(handler, logging.NullHandler) for handler in made.handlers):
            # Otherwise Python would print warnings.
            made.addHandler(logging.NullHandler())
        kept = made
    return kept


def is_enabled(level: int) -> bool:
    """Whether records of a level are wanted."""
    found = kept or logger()
    return found is not None and found.isEnabledFor(level)


def write(level: int, message: str, facts: dict[str, Any]) -> None:
    """Writes a record. Its attribute `frazil` has the facts, and its place is the caller's line outside of Frazil.

    An error of the program's handlers and filters is shown as `logging` shows those of its own handlers. It must not
    reach the caller: the verb may have committed.
    """
    found = logger()
    if found is None or not found.isEnabledFor(level):
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "frazil":
        frame = frame.f_back
    file, line, name = "(unknown file)", 0, "(unknown function)"
    if frame is not None:
        file, line, name = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
    record = found.makeRecord("frazil", level, file, line, message, (), None, name, {"frazil": facts})
    try:
        found.handle(record)
    except Exception:
        import logging

        with suppress(Exception):
            logging.NullHandler().handleError(record)
