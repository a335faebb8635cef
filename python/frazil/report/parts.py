"""Pieces of pages: sections, folded tables, and pictures that scroll on narrow screens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from frazil.display.figures import number
from frazil.display.picture import svg
from frazil.display.tables import MOST_ROWS, escaped, grid, masked

__all__ = ["Section", "cut", "folded", "note", "picture", "scrolled", "section"]


class Section(NamedTuple):
    """A part of a page.

    Attributes:
        name: Its place in the page, for links.
        title: Its title.
        content: HTML.
    """

    name: str
    title: str
    content: str

    def html(self) -> str:
        """The section as HTML."""
        return f'<section id="{self.name}" aria-labelledby="{self.name}-title"><h2 id="{self.name}-title">' + (
            f"{escaped(self.title)}</h2>{self.content}</section>"
        )


def section(name: str, title: str, *content: str) -> Section | None:
    """A section. None without content."""
    text = "".join(content)
    return Section(name, title, text) if text else None


def note(text: str) -> str:
    """A sentence below a title."""
    return f"<p>{escaped(text)}</p>"


def cut(text: str, most: int) -> str:
    """The end of a long text without secrets, such as a path."""
    text = masked(text)
    return text if len(text) <= most else "…" + text[1 - most :]


def scrolled(label: str, content: str) -> str:
    """A part that scrolls sideways on narrow screens, by the keyboard too."""
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{escaped(label)}">{content}</div>'


def folded(
    title: str, header: Sequence[str], rows: Iterable[Sequence[object]], total: int, opened: bool = False
) -> str:
    """A table that opens and closes. It shows the first rows and says how many there are."""
    shown = list(islice(rows, MOST_ROWS))
    if not shown:
        return ""
    rest = "" if total <= len(shown) else f": the first {number(len(shown))} of {number(total)}"
    state = " open" if opened else ""
    table = scrolled(title, grid(header, shown))
    return f"<details{state}><summary>{escaped(title + rest)}</summary>{table}</details>"


def picture(width: int, height: int, title: str, inside: Iterable[str], reads_cells: bool = False) -> str:
    """A picture. With `reads_cells`, the arrow keys step through the parts that have a title, and a line shows it."""
    said = '<output class="said" aria-live="polite">Point at a part, or step through with the arrow keys.</output>'
    drawn = svg(height, title, inside, width)
    return scrolled(title, f'<div class="cells">{drawn}</div>') + said if reads_cells else scrolled(title, drawn)
