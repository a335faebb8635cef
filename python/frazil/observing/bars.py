"""Bars that show the progress of long work.

The core calls `begin` in the thread that waits for the work, once it has taken a second. It then updates the bar some
times a second, and closes it when the work ends. There is no other thread.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from time import monotonic
from typing import Any, TextIO

from frazil.observing.showing import chosen

__all__ = ["Bar", "begin"]

_MOST_WIDTH = 30
"""The most characters of a bar."""

_LINES_EVERY = 5.0
"""The seconds between two lines where standard error is no terminal."""

_active: Bar | None = None
"""The bar that is shown. Work that other work calls is part of it."""


class Bar:
    """One bar, from its beginning to its end.

    Args:
        screen: Where it is drawn.
    """

    def __init__(self, screen: _Screen) -> None:
        self._screen = screen
        self._is_broken = False

    def update(self, phase: str, done: int, total: int | None, unit: str, seconds: float) -> None:
        """Draws it.

        Args:
            phase: What the work does now.
            done: How much of the phase is done.
            total: How much there is to do; None if that is unknown.
            unit: What is counted: bytes, files, manifests or rows.
            seconds: How long the phase takes so far.
        """
        self._safely(lambda: self._screen.draw(_Numbers(phase, done, total, unit, seconds), False))

    def finish(self, phase: str, done: int, total: int | None, unit: str, seconds: float) -> None:
        """Draws it for the last time. The arguments are those of `update`."""
        self._safely(lambda: self._screen.draw(_Numbers(phase, done, total, unit, seconds), True))

    def close(self) -> None:
        """Removes it."""
        global _active
        _active = None
        self._safely(self._screen.clear)

    def _safely(self, draw: Callable[[], None]) -> None:
        """Draws. Errors of the screen, such as a closed terminal, are ignored."""
        if self._is_broken:
            return
        try:
            draw()
        except Exception as error:
            if _is_of_handler(error):
                raise
            self._is_broken = True


def begin() -> Bar | None:
    """A bar for work of this thread; None if nobody can see it."""
    global _active
    choice = chosen()
    if choice is False or _active is not None or threading.current_thread() is not threading.main_thread():
        return None
    if _is_worker():
        return None
    try:
        screen = _Notebook.found() or _of_stream(sys.stderr, choice is True)
    except Exception as error:
        if _is_of_handler(error):
            raise
        return None
    if screen is None:
        return None
    try:
        _active = Bar(screen)
        return _active
    except BaseException:
        # An interrupt comes between the two steps. The core has no bar then, and can't close it.
        _active = None
        raise


def _is_worker() -> bool:
    """Whether this process works for another one: a worker of Spark, or a process of `multiprocessing`."""
    program = getattr(sys.modules.get("__main__"), "__spec__", None)
    if program is not None and program.name.startswith("pyspark."):
        return True
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and processes.parent_process() is not None


def _is_of_handler(error: BaseException) -> bool:
    """Whether a signal handler of the program raised an error. It may run between any two steps of this module."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {getattr(handler, "__code__", None) for handler in handlers}
    codes |= {getattr(vars(type(handler)).get("__call__"), "__code__", None) for handler in handlers}
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code in codes:
            return True
        step = step.tb_next
    return False


class _Numbers:
    """What a bar shows."""

    def __init__(self, phase: str, done: int, total: int | None, unit: str, seconds: float) -> None:
        self.phase = phase
        self.share = None if total is None else done / max(total, 1)
        self._done = done
        self._total = total
        self._unit = unit
        self._seconds = seconds

    def head(self) -> str:
        """The text before the bar."""
        return self.phase if self.share is None else f"{self.phase} {int(self.share * 100):3d} %"

    def tail(self) -> str:
        """The text after the bar: how much, how fast, and the time left, or else the time so far."""
        parts = [self._amount()]
        rate = self._done / self._seconds if self._seconds > 0 else 0.0
        if rate > 0:
            parts.append(f"{_bytes(rate)}/s" if self._unit == "bytes" else f"{_count(rate)}/s")
        if self._total is not None and rate > 0:
            parts.append(f"{_clock((self._total - self._done) / rate)} left")
        else:
            parts.append(_clock(self._seconds))
        return ", ".join(parts)

    def _amount(self) -> str:
        shown = _bytes if self._unit == "bytes" else _count
        unit = "" if self._unit == "bytes" else f" {self._unit}"
        return f"{shown(self._done)}{'' if self._total is None else f' of {shown(self._total)}'}{unit}"

    def line(self, width: int, full: str, empty: str) -> str:
        """One line of at most `width` characters."""
        head, tail = self.head(), self.tail()
        cells = min(_MOST_WIDTH, width - len(head) - len(tail) - 4)
        if self.share is None or cells < 5:
            return f"{head}  {tail}"[: max(width, 0)]
        filled = min(int(self.share * cells), cells)
        return f"{head} {full * filled}{empty * (cells - filled)}  {tail}"


def _count(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 or number == int(number) else f"{number:.1f}"


def _bytes(number: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if number >= 100 or unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"


def _clock(seconds: float) -> str:
    whole = int(min(seconds, 359_999))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


class _Screen:
    """Where a bar is drawn."""

    def draw(self, numbers: _Numbers, is_last: bool) -> None:
        """Shows the numbers."""
        raise NotImplementedError

    def clear(self) -> None:
        """Removes what is shown."""
        raise NotImplementedError


def _of_stream(stream: TextIO | None, is_wanted: bool) -> _Screen | None:
    if stream is None or stream.closed:
        return None
    if _is_terminal(stream):
        return _Terminal(stream)
    return _Lines(stream) if is_wanted else None


def _is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal that can draw over a line, and belongs to this process at the moment."""
    if not stream.isatty() or os.environ.get("TERM") == "dumb":
        return False
    if not hasattr(os, "tcgetpgrp"):
        return True
    try:
        return os.tcgetpgrp(stream.fileno()) == os.getpgrp()
    except OSError:
        # It is not the terminal that controls this process.
        return True


class _Terminal(_Screen):
    """One line of a terminal, which is drawn again and again."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._cells = ("█", "░") if (stream.encoding or "").lower().startswith("utf") else ("#", "-")

    def _width(self) -> int:
        try:
            # A character in the last column would move the cursor to the next line.
            return (os.get_terminal_size(self._stream.fileno()).columns or 80) - 1
        except OSError:
            return 79

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def draw(self, numbers: _Numbers, is_last: bool) -> None:
        width = self._width()
        # The cursor waits at the beginning: what the terminal writes at Ctrl-C is drawn over, too.
        self._write(f"\r{numbers.line(width, *self._cells).ljust(width)}\r")

    def clear(self) -> None:
        self._write("\r" + " " * self._width() + "\r")


class _Lines(_Screen):
    """Lines of a log, every few seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._written: float | None = None

    def draw(self, numbers: _Numbers, is_last: bool) -> None:
        if is_last or self._written is None or monotonic() - self._written >= _LINES_EVERY:
            self._stream.write(f"{numbers.head()}  {numbers.tail()}\n")
            self._stream.flush()
            self._written = monotonic()

    def clear(self) -> None:
        """Lines of a log stay."""


class _Notebook(_Screen):
    """A part of the output of a notebook's cell.

    Args:
        display: The function `IPython.display.display`.
    """

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None

    @classmethod
    def found(cls) -> _Notebook | None:
        """The notebook that this process belongs to. IPython is not imported to find out."""
        ipython = sys.modules.get("IPython")
        if ipython is None or "ipykernel" not in sys.modules:
            return None
        shell = ipython.get_ipython()
        if getattr(shell, "kernel", None) is None:
            return None
        from IPython.display import display

        return cls(display)

    def _show(self, text: str, html: str) -> None:
        data = {"text/plain": text, "text/html": html}
        if self._handle is None:
            self._handle = self._display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def draw(self, numbers: _Numbers, is_last: bool) -> None:
        head, tail = numbers.head(), numbers.tail()
        bar = "" if numbers.share is None else f'<progress value="{numbers.share:.4f}" max="1"></progress> '
        self._show(f"{head}  {tail}", f"<div>{head} {bar}{tail}</div>")

    def clear(self) -> None:
        if self._handle is not None:
            self._show("", "")
