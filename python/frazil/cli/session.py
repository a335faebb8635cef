"""What all commands share: the options of each, and the state that they make."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any, TextIO, TypeAlias, TypeVar

import click

import frazil as fz
from frazil.arguments import At
from frazil.cli import output
from frazil.cli.completing import TABLE
from frazil.cli.network import requests_shown
from frazil.cli.places import Places, at_of
from frazil.cli.values import PAIR, pairs

__all__ = ["Session", "changing", "command", "looking"]

Function: TypeAlias = Callable[..., None]
Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_COMMON = (
    click.option("--catalog", metavar="NAME", help="The catalog that names of tables belong to."),
    click.option(
        "--storage",
        metavar="KEY=VALUE",
        type=PAIR,
        multiple=True,
        help="An option of the store or a property of the catalog, such as s3.region=eu-north-1. Repeatable.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    click.option("--verbose", "-v", is_flag=True, help="Show each request to stores and catalogs."),
)

_CHANGING = (
    click.option("--yes", "-y", is_flag=True, help="Do it without asking. Needed if there is no terminal."),
    click.option("--dry-run", "-n", is_flag=True, help="Only show what would be done."),
)


class Session:
    """One run of a command.

    Args:
        places: What opens tables.
        as_json: Whether to print JSON.
        yes: Whether a change is made without asking.
        dry_run: Whether a change is only shown.
    """

    def __init__(self, places: Places, as_json: bool, yes: bool = False, dry_run: bool = False) -> None:
        self.places = places
        self.as_json = as_json
        self.yes = yes
        self.dry_run = dry_run

    def table(self, text: str) -> fz.Table:
        """The table that an argument means."""
        return self.places.table(text)

    @staticmethod
    def at(table: fz.Table, text: str | None) -> At | None:
        """The version that an argument means."""
        return at_of(table, text)

    def agreed(self, plan: dict[str, Any], sentence: str, is_empty: bool = False) -> bool:
        """Shows what a change would do, and whether it is to be done.

        Args:
            plan: What would be done, for JSON.
            sentence: The same for people: `Remove 3 snapshots`.
            is_empty: Whether nothing would change, so that there is nothing to ask.

        Raises:
            click.UsageError: There is no terminal to ask, and `--yes` was not given.
        """
        if self.dry_run:
            self._shown(plan, sentence)
            return False
        if self.yes:
            return True
        is_asked = _is_terminal(sys.stdin) and _is_terminal(sys.stderr)
        if is_asked and is_empty:
            return True
        if is_asked or not self.as_json:
            # Without a terminal, JSON has one line on standard error: the error.
            output.say(output.shown(sentence))
        if not is_asked:
            raise click.UsageError("there is no terminal to ask: give --yes to do it, or --dry-run to only look")
        if not click.confirm("Do it?", err=True):
            output.say("Nothing was changed.")
            raise click.exceptions.Exit(1)
        return True

    def _shown(self, plan: dict[str, Any], sentence: str) -> None:
        if self.as_json:
            output.document({"done": False, "plan": output.masked_all(plan), "result": None})
        else:
            output.lines(sentence)

    def done(self, plan: dict[str, Any], result: dict[str, Any], sentence: str) -> None:
        """Prints what a change did."""
        if self.as_json:
            output.document({"done": True, "plan": output.masked_all(plan), "result": output.masked_all(result)})
        else:
            output.lines(sentence)


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal. A closed one is None."""
    return stream is not None and stream.isatty()


def looking(name: str, *, table: bool = True) -> Callable[[Function], click.Command]:
    """Makes a command that changes nothing.

    Args:
        name: Its name.
        table: Whether its first argument is a table.
    """
    return command(name, _COMMON, table)


def changing(name: str) -> Callable[[Function], click.Command]:
    """Makes a command that changes a table. It shows what it would do, and asks."""
    return command(name, (*_CHANGING, *_COMMON), True)


def command(name: str, options: tuple[Any, ...], table: bool) -> Callable[[Function], click.Command]:
    """Makes a command of a function that takes a `Session`."""

    def decorate(function: Function) -> click.Command:
        @wraps(function)
        def invoke(
            catalog: str | None,
            storage: tuple[tuple[str, str], ...],
            as_json: bool,
            verbose: bool,
            yes: bool = False,
            dry_run: bool = False,
            **given: Any,
        ) -> None:
            session = Session(Places(catalog, pairs(storage)), as_json, yes, dry_run)
            with requests_shown() if verbose else nullcontext():
                function(session, **given)

        found: Any = invoke
        for option in reversed(options):
            found = option(found)
        if table:
            found = click.argument("table", type=TABLE, metavar="TABLE")(found)
        return click.command(name, cls=_Command, short_help=_first_sentence(function))(found)

    return decorate


_OPTIONS_ELSEWHERE = {
    **dict.fromkeys(("branch", "tag", "ref", "version", "snapshot", "snapshot-id", "timestamp", "as-of"), "at"),
    **dict.fromkeys(("until", "end", "end-snapshot-id"), "at"),
    **dict.fromkeys(("from", "start", "start-snapshot-id"), "since"),
    **dict.fromkeys(("filter", "row-filter", "predicate", "query"), "where"),
    **dict.fromkeys(("column", "columns", "fields", "projection", "selected-fields"), "select"),
    **dict.fromkeys(("sort", "order-by"), "sort-by"),
    **dict.fromkeys(("rows", "head", "top"), "limit"),
}
"""Names of options in other programs, and the option here."""


class _Command(click.Command):
    """A command that answers names of other programs, and filters without their option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = {name for parameter in self.params for name in parameter.opts}
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            meant = f"--{_OPTIONS_ELSEWHERE.get(error.option_name.lstrip('-'), '')}"
            if meant in options:
                ctx.fail(f"No such option '{error.option_name}'. Write {meant}")
            raise
        except click.UsageError as error:
            if "unexpected extra argument" in error.message and "--where" in options:
                ctx.fail(f"{error.message}. Write --where FILTER to choose rows")
            raise


def _first_sentence(function: Function) -> str:
    return (function.__doc__ or "").partition("\n")[0].rstrip(".")
