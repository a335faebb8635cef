"""What commands print. Data goes to standard output; messages and progress go to standard error.

No secret is printed: texts pass `public` first. Colours and widths follow the terminal, `NO_COLOR` and `COLUMNS`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import click
from rich.cells import cell_len, set_cell_size

from frazil import _core
from frazil.cli import json_text
from frazil.display.figures import plain
from frazil.display.tables import masked, public, public_options

__all__ = [
    "Fit",
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
    "shown",
    "width_of_terminal",
]

_MEASURED = 200
"""The rows that decide how wide the columns of a table are. A table of more rows is not held."""

_LEAST = 8
"""The width that columns keep, however narrow the terminal is."""


def width_of_terminal() -> int | None:
    """How many columns the terminal has. None if standard output is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


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


def shown(text: str) -> str:
    """A text without secrets and control characters, with its lines."""
    return _plain_lines(masked(text))


def lines(text: str) -> None:
    """Prints text, with its lines."""
    click.echo(shown(text))


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


class Fit(NamedTuple):
    """What happens to the columns of a table that is wider than the terminal. Columns are given by their titles.

    Attributes:
        whole: These are never cut.
        tail: The beginning of these is cut, as the ends of paths differ.
        spare: These are left out.
    """

    whole: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    spare: tuple[str, ...] = ()


class _Column:
    """A column of a table.

    Args:
        at: Its place in the rows.
        title: Its title.
        cells: The first cells.
        fit: What happens if the table is too wide.
    """

    def __init__(self, at: int, title: str, cells: Sequence[Any], fit: Fit) -> None:
        self.at = at
        self.title = title
        self.width = max((cell_len(_cell(cell)) for cell in (title, *cells)), default=0)
        # Numbers stand at the right. A part of a number is another number.
        self.is_number = bool(cells) and all(cell is None or isinstance(cell, (int, float)) for cell in cells)
        self.is_cut = not self.is_number and title not in fit.whole
        self.keeps_tail = title in fit.tail

    def placed(self, cell: str, cuts: bool) -> str:
        """A cell in the width of the column."""
        missing = self.width - cell_len(cell)
        if missing < 0 and cuts and self.is_cut:
            return _tail(cell, self.width) if self.keeps_tail else set_cell_size(cell, self.width - 1) + "…"
        return " " * max(missing, 0) + cell if self.is_number else cell + " " * max(missing, 0)


def grid(header: Sequence[str], rows: Iterable[Sequence[Any]], indent: str = "", fit: Fit | None = None) -> int:
    """Prints a table. Rows are printed as they come. Returns their number.

    On a terminal, long cells are cut so that a row fits into a line. In a pipe nothing is cut.
    """
    waiting = iter(rows)
    first = list(islice(waiting, _MEASURED))
    terminal = width_of_terminal()
    room = None if terminal is None else terminal - len(indent)
    columns = _columns(header, first, fit or Fit(), room)
    out = sys.stdout
    titles = [column.placed(public(column.title), room is not None) for column in columns]
    out.write(_styled((indent + "  ".join(titles)).rstrip(), bold=True) + "\n")
    count = 0
    for count, row in enumerate(chain(first, waiting), 1):
        cells = [_cell(row[column.at]) for column in columns]
        if room is not None:
            _grow(columns, cells, room)
        placed = (column.placed(cell, room is not None) for column, cell in zip(columns, cells, strict=True))
        out.write((indent + "  ".join(placed)).rstrip() + "\n")
        if count == len(first):
            out.flush()
    out.flush()
    return count


def _columns(header: Sequence[str], rows: list[Sequence[Any]], fit: Fit, room: int | None) -> list[_Column]:
    """The columns of a table, as wide as the first rows need, and no wider than the terminal if they can."""
    found = [_Column(at, title, [row[at] for row in rows], fit) for at, title in enumerate(header)]
    if room is None:
        return found
    if _width(found) > room:
        found = [column for column in found if column.title not in fit.spare]
    while _width(found) > room:
        widest = max((column for column in found if column.is_cut), key=lambda column: column.width, default=None)
        if widest is None or widest.width <= _LEAST:
            break
        widest.width -= 1
    return found


def _width(columns: list[_Column]) -> int:
    return sum(column.width for column in columns) + 2 * (len(columns) - 1)


def _grow(columns: list[_Column], cells: list[str], room: int) -> None:
    """Makes columns wider for the cells of a later row, as far as the line has room."""
    free = room - _width(columns)
    for column, cell in zip(columns, cells, strict=True):
        if free <= 0:
            return
        more = min(max(cell_len(cell) - column.width, 0), free)
        column.width, free = column.width + more, free - more


def _tail(text: str, width: int) -> str:
    """The end of a text, in a number of columns of the terminal."""
    while cell_len(text) > width - 1:
        text = text[1:]
    return "…" + text + " " * (width - 1 - cell_len(text))


def _cell(value: Any, most: int = 300) -> str:
    """A value in a cell, in one line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return public(value if isinstance(value, str) else json_text.plain_text(value), most)
