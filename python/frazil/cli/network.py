"""Shows what a command asks of stores and catalogs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import frazil as fz
from frazil import _core
from frazil.cli import output
from frazil.display.figures import amount, bytes_text, time_text

__all__ = ["requests_shown"]


@contextmanager
def requests_shown() -> Iterator[None]:
    """A block in which each request is a line of standard error. A last line counts them."""
    began, counter = perf_counter(), _core.CallCounter()
    # A bar would be drawn over the lines.
    fz.progress(False)
    _core.show_requests(True)
    try:
        yield
    finally:
        _core.show_requests(False)
        fz.progress(None)
        sent, failed, received = counter.requests()
        said = f"{amount(sent, 'request')}, {failed} failed, {bytes_text(received)} received"
        output.say(f"frazil: {said}, {time_text((perf_counter() - began) * 1e3)}")
