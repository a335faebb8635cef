"""Facts as HTML tables for notebooks, without scripts and external resources.

All text is escaped, because names and values come from tables and users and may contain anything. Values of options
that hold secrets are never shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from frazil import _core
from frazil.display.figures import amount, plain

__all__ = ["MOST_ROWS", "escaped", "grid", "masked", "page", "public", "public_options"]

MOST_ROWS = 100
"""The most rows of one table. A last row counts the others."""

_MOST_TEXT = 300
_CELL = "text-align:left;padding:2px 10px 2px 0;vertical-align:top"


def public(text: object, most: int = _MOST_TEXT) -> str:
    """A text without secrets and control characters, cut if it is long."""
    shown = plain(_without_secrets(str(text), max(most * 4, 1024)))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def masked(text: str) -> str:
    """A text without secrets, not cut. A text is cut or split after this: else the end of a secret may remain."""
    return _without_secrets(text, max(1 << 20, 4 * len(text)))


def _without_secrets(text: str, most: int) -> str:
    # Names of files that are not UTF-8 have halves of characters.
    return _core.public_text(text.encode("utf-8", "backslashreplace").decode("utf-8"), most)


def public_options(options: Mapping[str, str]) -> dict[str, str]:
    """Options by name. Stars stand for the values of secrets."""
    return {name: "***" if _core.is_secret_option(name) else public(value) for name, value in options.items()}


def page(title: str, *parts: str) -> str:
    """Parts of HTML below a title."""
    heading = f"<div><b>{escaped(title)}</b></div>"
    return f'<div style="font-family:sans-serif;font-size:13px">{heading}{"".join(parts)}</div>'


def grid(header: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> str:
    """A table. None is an empty cell. Without rows, nothing is shown."""
    given = list(rows)
    if not given:
        return ""
    head = "".join(f'<th style="{_CELL};opacity:0.7">{escaped(name)}</th>' for name in header)
    lines = [f"<tr>{head}</tr>"] if any(header) else []
    for row in given[:MOST_ROWS]:
        cells = (f'<td style="{_CELL}">{"" if cell is None else escaped(cell)}</td>' for cell in row)
        lines.append(f"<tr>{''.join(cells)}</tr>")
    if len(given) > MOST_ROWS:
        rest = amount(len(given) - MOST_ROWS, "more row")
        lines.append(f'<tr><td colspan="{len(header)}" style="{_CELL}">{escaped(rest)}</td></tr>')
    above = f'<div style="margin-top:6px">{escaped(title)}</div>' if title else ""
    return f'{above}<table style="border-collapse:collapse">{"".join(lines)}</table>'


def escaped(text: object) -> str:
    """A text for HTML, as `public` shows it. It fits between tags and into quoted attributes."""
    import html

    return html.escape(public(text))
