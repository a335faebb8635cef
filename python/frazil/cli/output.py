"""What commands print. Data goes to standard output; messages and progress go to standard error.

No secret is printed: texts pass `public` first. Colours and widths follow the terminal, `NO_COLOR` and `COLUMNS`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import click
from rich.cells import cell_len, set_cell_size
from rich.console import Console

from frazil import _core
from frazil.cli import json_text
from frazil.display.figures import plain
from frazil.display.tables import masked, public, public_options

__all__ = [
    "document",
    "facts",
    "grid",
    "heading",
    "lines",
    "masked",
    "masked_all",
    "masked_options",
    "public",
    "public_options",
    "say",
    "width_of_terminal",
]

_MEASURED = 200
"""The rows that decide how wide the columns of a table are. A table of more rows is not held."""


def width_of_terminal() -> int | None:
    """How many columns the terminal has. None if standard output is not a terminal."""
    return Console(file=sys.stdout).width if sys.stdout.isatty() else None


def _styled(text: str, **style: Any) -> str:
    """A text in a style, if a terminal shows it and wants styles."""
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
    return text if is_plain else click.style(text, **style)


def masked_all(found: Any) -> Any:
    """Nested values without secrets in their texts."""
    if isinstance(found, str):
        return masked(found)
    if isinstance(found, Mapping):
        return {key: masked_all(member) for key, member in found.items()}
    return [masked_all(member) for member in found] if isinstance(found, (list, tuple)) else found


def masked_options(options: Mapping[str, str]) -> dict[str, str]:
    """Options for JSON, whole. Stars stand for the values of secrets."""
    return {name: "***" if _core.is_secret_option(name) else masked(value) for name, value in options.items()}


def say(text: str) -> None:
    """Prints a message for people, with its lines."""
    click.echo(_plain_lines(text), err=True)


def document(value: Any) -> None:
    """Prints one JSON document."""
    click.echo(json_text.document(value))


def lines(text: str) -> None:
    """Prints text, with its lines."""
    click.echo(_plain_lines(masked(text)))


def _plain_lines(text: str) -> str:
    """Lines without other control characters. Names and values come from tables."""
    return "\n".join(map(plain, text.split("\n")))


def heading(text: str) -> None:
    """Prints the title of a part of a screen."""
    click.echo(_styled(text, bold=True))


def facts(named: Mapping[str, Any]) -> None:
    """Prints names and values, one pair a line. A value of None is left out."""
    shown = {name: value for name, value in named.items() if value is not None}
    width = max((len(name) for name in shown), default=0)
    for name, value in shown.items():
        click.echo(f"{_styled(f'{name:<{width}}', fg='cyan')}  {_cell(value, 2000)}")


def grid(header: Sequence[str], rows: Iterable[Sequence[Any]], indent: str = "") -> int:
    """Prints a table. Rows are printed as they come. Returns their number.

    On a terminal, long cells are cut so that a row fits into a line. In a pipe nothing is cut.
    """
    waiting = iter(rows)
    first = list(islice(waiting, _MEASURED))
    terminal = width_of_terminal()
    widths, right = _layout(header, first, None if terminal is None else terminal - len(indent))
    cuts = terminal is not None
    out = sys.stdout
    out.write(_styled(indent + _row([public(name) for name in header], widths, right, cuts), bold=True) + "\n")
    count = 0
    for count, row in enumerate(_chained(first, waiting), 1):
        out.write(indent + _row([_cell(cell) for cell in row], widths, right, cuts) + "\n")
        if count == len(first):
            out.flush()
    out.flush()
    return count


def _chained(first: list[Sequence[Any]], rest: Iterator[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    yield from first
    yield from rest


def _layout(header: Sequence[str], rows: list[Sequence[Any]], width: int | None) -> tuple[list[int], list[bool]]:
    """The width of each column, and whether it has numbers, which stand at the right."""
    texts = [[_cell(cell) for cell in row] for row in rows]
    widths = [max(cell_len(text) for text in column) for column in zip(header, *texts, strict=True)]
    right = [
        bool(rows) and all(isinstance(row[at], (int, float)) or row[at] is None for row in rows)
        for at in range(len(header))
    ]
    if width is not None:
        _narrow(widths, width)
    return widths, right


def _narrow(widths: list[int], width: int) -> None:
    """Makes the widest columns narrower until a row fits, if it can."""
    while sum(widths) + 2 * (len(widths) - 1) > width and (most := max(widths, default=0)) > 8:
        widths[widths.index(most)] = most - 1


def _row(cells: Sequence[str], widths: list[int], right: list[bool], cuts: bool) -> str:
    placed = []
    for cell, width, is_right in zip(cells, widths, right, strict=True):
        missing = width - cell_len(cell)
        if missing < 0 and cuts:
            cell, missing = set_cell_size(cell, width - 1) + "…", 0
        placed.append(" " * max(missing, 0) + cell if is_right else cell + " " * max(missing, 0))
    return "  ".join(placed).rstrip()


def _cell(value: Any, most: int = 300) -> str:
    """A value in a cell, in one line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return public(value if isinstance(value, str) else json_text.plain_text(value), most)
