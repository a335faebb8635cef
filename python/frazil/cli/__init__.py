"""The command line: `frazil`, or `python -m frazil`. It needs the libraries of `pip install 'frazil[cli]'`.

Nothing else of the package imports this part. `frazil.cli.main` is the program.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Runs the program. Returns its exit code.

    Args:
        arguments: The arguments after the program's name; None takes those of the process.
    """
    given = sys.argv[1:] if arguments is None else arguments
    with _silent_interrupts():
        run = _program(given)
    return run if isinstance(run, int) else run(given)


def _program(given: list[str]) -> Callable[[list[str]], int] | int:
    """What runs the program, or the exit code if there is nothing to run. Its imports take most of a short command."""
    if given == ["--version"]:
        from frazil import __version__

        print(f"frazil {__version__}")
        return 0
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ImportError:
        print("frazil: the command line needs more libraries: pip install 'frazil[cli]'", file=sys.stderr)
        return 2
    # The commands are imported here too.
    from frazil.cli import app  # noqa: F401
    from frazil.cli.running import run

    return run


@contextmanager
def _silent_interrupts() -> Iterator[None]:
    """A block in which Ctrl-C ends the process at once: imports would show where they were stopped."""
    is_plain = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_plain or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
