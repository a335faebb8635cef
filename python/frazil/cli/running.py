"""Runs a command, and turns what stopped it into an exit code.

| code | meaning |
|---|---|
| 0 | the command succeeded |
| 1 | a fault was found, the command failed, or a question was answered with no |
| 2 | the command was used wrongly: arguments, options, names, a change without `--yes` |
| 3 | another commit came first: nothing was committed |
| 4 | it is unknown whether the commit happened |

Ctrl-C and a closed pipe end the process by their signals, so shells see 130 and 141.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import warnings
from typing import NoReturn

import click
from click.shell_completion import shell_complete

from frazil.cli import output
from frazil.cli.completing import COMPLETE
from frazil.cli.json_text import error_json
from frazil.cli.places import has_lost_metadata
from frazil.cli.wording import error_text, in_commands
from frazil.exceptions import (
    CommitConflictError,
    CommitStateUnknownError,
    CorruptTableError,
    FrazilError,
    InvalidInputError,
    NotFoundError,
)

__all__ = ["CONFLICT", "FAULT", "UNKNOWN", "USAGE", "run"]

_DOCTOR = "frazil doctor says what is wrong with the table"
FAULT, USAGE, CONFLICT, UNKNOWN = 1, 2, 3, 4


def run(arguments: list[str]) -> int:
    """Runs the program with arguments. Returns its exit code."""
    if sys.stdout is None:
        # It was closed. The next file that is opened would get its number, and what is printed.
        _end_by(getattr(signal, "SIGPIPE", None))
    with warnings.catch_warnings():
        warnings.showwarning = _warned
        return _ended(arguments)


def _ended(arguments: list[str]) -> int:
    from frazil.cli.app import app

    if instruction := os.environ.get(COMPLETE):
        return shell_complete(app, {}, "frazil", COMPLETE, instruction)
    try:
        with app.make_context("frazil", list(arguments)) as context:
            app.invoke(context)
        sys.stdout.flush()
        return 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except (click.exceptions.Abort, KeyboardInterrupt):
        _end_by(signal.SIGINT)
    except BrokenPipeError:
        _end_by(getattr(signal, "SIGPIPE", None))
    except click.ClickException as error:
        return _usage(error, "--json" in arguments)
    except FrazilError as error:
        return _failed(error, "--json" in arguments)
    except OSError as error:
        output.say(error_json("error", str(error)) if "--json" in arguments else f"frazil: {error}")
        if error.errno in (errno.ENOSPC, errno.EIO):
            _forget_output()
        return FAULT


def _usage(error: click.ClickException, as_json: bool) -> int:
    if as_json:
        output.say(error_json("usage", error.format_message()))
    else:
        shown = io.StringIO()
        error.show(shown)
        output.say(shown.getvalue().rstrip("\n"))
    return error.exit_code if isinstance(error, click.UsageError) else FAULT


def _failed(error: FrazilError, as_json: bool) -> int:
    hint = None if error.hint is None else in_commands(error.hint)
    message = in_commands(str(error))
    if _is_damage(error) and "frazil doctor" not in message:
        hint = f"{hint}. {_DOCTOR}" if hint else _DOCTOR
        message = f"{message}. {_DOCTOR}"
    if as_json:
        output.say(error_json(error.kind, message, error.context, hint))
    else:
        output.say(f"frazil: {error_text(message)}")
    if isinstance(error, CommitConflictError):
        return CONFLICT
    if isinstance(error, CommitStateUnknownError):
        return UNKNOWN
    if isinstance(error, NotFoundError):
        return FAULT if _is_damage(error) else USAGE
    return USAGE if isinstance(error, InvalidInputError) else FAULT


def _is_damage(error: FrazilError) -> bool:
    """Whether a table is damaged. A table or a version that does not exist is a wrong name."""
    if isinstance(error, NotFoundError):
        return has_lost_metadata(error) or str(error).startswith(("cannot ", "no manifest list remains"))
    return isinstance(error, CorruptTableError)


def _end_by(number: int | None) -> NoReturn:
    """Ends the process by a signal, as shells expect it: a script that runs the command stops too."""
    _forget_output()
    if number is not None and os.name == "posix":
        if sys.stderr is not None:
            sys.stderr.flush()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(130 if number == signal.SIGINT else FAULT)


def _forget_output() -> None:
    """Drops what is still buffered: it has no reader, or belongs to work that was given up."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)


def _warned(message: Warning | str, *_: object, **__: object) -> None:
    """Shows a warning as a message, without the lines of code that gave it."""
    output.say(f"frazil: warning: {output.public(str(message), 8000)}")
