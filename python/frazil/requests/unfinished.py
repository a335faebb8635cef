"""Warnings for changes that nobody committed.

A transaction or an update does nothing before its commit, and a writer's files are not in the table before theirs. To
forget the commit loses the change without an error. So a warning names the line that began it.

Nothing is said in another process (after a fork), after an exception, and after the change was given up.
"""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from types import FrameType, TracebackType
from typing import Any, Protocol

from frazil.exceptions import UncommittedWarning

__all__ = ["Unfinished", "WrittenFiles"]


class _Warns(Protocol):
    def at_exit(self) -> None:
        """Called when the interpreter exits."""


_alive: weakref.WeakSet[Any] = weakref.WeakSet()


def _watch(change: _Warns) -> None:
    _alive.add(change)


@atexit.register
def _at_exit() -> None:
    # A program that ends by an exception didn't forget anything.
    if hasattr(sys, "last_type") or hasattr(sys, "last_exc"):
        return
    for change in list(_alive):
        change.at_exit()


class _Place:
    """Where something began: the process, and the line of the caller outside of Frazil."""

    __slots__ = ("_file", "_line", "_process")

    def __init__(self) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "frazil":
            frame = frame.f_back
        self._file = "<unknown>" if frame is None else frame.f_code.co_filename
        self._line = 1 if frame is None else frame.f_lineno
        self._process = os.getpid()

    def warn(self, text: str) -> None:
        if os.getpid() != self._process:
            return
        import warnings

        warnings.warn_explicit(text, UncommittedWarning, self._file, self._line)


class Unfinished:
    """A change that waits for its commit. Each step is made inside of a `with` block.

        with self._unfinished:
            self._core.append(rows)

    Args:
        what: What it is, for the warning: "a transaction".
        how: How to commit it.
    """

    __slots__ = ("__weakref__", "_given_up", "_how", "_place", "_what", "is_pending")

    def __init__(self, what: str, how: str) -> None:
        self._what = what
        self._how = how
        self._place = _Place()
        self._given_up = False
        self.is_pending = False
        _watch(self)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._given_up = self._given_up or kind is not None
        self.is_pending = not self._given_up

    def end(self) -> None:
        """The change was committed or given up."""
        self.is_pending = False

    def at_exit(self) -> None:
        """Warns at the end of the process."""
        if self.is_pending:
            self.is_pending = False
            self._place.warn(f"{self._what} was never committed, so its changes are lost. {self._how}")

    def __del__(self) -> None:
        # After an exception, and while modules are taken apart, nothing is said.
        if self.is_pending and not sys.is_finalizing() and not _is_of_exception():
            self.at_exit()


class WrittenFiles:
    """The files of a writer's message. The core calls this object if the message is dropped before it is used."""

    __slots__ = ("__weakref__", "_place")

    def __init__(self) -> None:
        self._place = _Place()
        _watch(self)

    def at_exit(self) -> None:
        """Warns at the end of the process."""
        self._place.warn(
            "what a writer wrote was never committed, so the table does not have it. Give the messages of the writer "
            "to table.commit(), or to table.abort() to remove the files"
        )

    def __call__(self, files: int, rows: int) -> None:
        """Warns: a message of some files and rows was dropped."""
        if not sys.is_finalizing() and not _is_of_exception():
            self.at_exit()


def _is_of_exception() -> bool:
    """Whether an object dies because of an exception: one that is being handled, or whose handler just ended."""
    if sys.exc_info()[0] is not None:
        return True
    frame: FrameType | None = sys._getframe(2)
    return frame is not None and _ends_handler(frame)


def _ends_handler(frame: FrameType) -> bool:
    """Whether a frame is leaving an `except` block. An exception that was caught there dies with all its frames."""
    import opcode

    at, code = frame.f_lasti, frame.f_code.co_code
    names = [opcode.opname[code[i]] for i in range(max(at - 8, 0), at + 1, 2)]
    if names[-1:] == ["POP_EXCEPT"]:
        return True
    # `except … as e` drops the exception when it sets `e` to None.
    return names[-1].startswith("STORE_") and "POP_EXCEPT" in names
