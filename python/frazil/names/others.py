"""Names of other libraries, and what to write here.

`ATTRIBUTES` has names of attributes and methods by the class that is asked for them; `frazil.names.words` lists them.
`ARGUMENTS` has names of arguments by the function. Each name has the library that uses it, and Frazil's words. The page
`docs/guide/names.md` shows the same tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from frazil.names.arguments import ARGUMENTS
from frazil.names.words import NAMES

__all__ = ["ARGUMENTS", "ATTRIBUTES", "Known", "known", "page", "sentence"]

Known: TypeAlias = tuple[str, str]
"""The library, and Frazil's words for the name."""

_MOST_SHOWN = 9
"""The most names in a row of the page."""


def sentence(name: str, known: Known) -> str:
    """The answer to a name: "PyIceberg's `row_filter` is `filter` here"."""
    library, here = known
    genitive = f"{library}'" if library.endswith("s") else f"{library}'s"
    return f"{genitive} `{name}` is `{here}` here"


def known(owner: str, name: str) -> Known | None:
    """The library and Frazil's words for an attribute of a class, or None."""
    return ATTRIBUTES.get(owner, {}).get(name)


ATTRIBUTES: dict[str, dict[str, Known]] = {
    owner: {name: (library, here.replace("{name}", name)) for library, here, names in rows for name in names.split()}
    for owner, rows in NAMES.items()
}
"""Attributes by the class that is asked for them; `frazil` is the package, `frazil.spark` a module."""


def page() -> str:
    """The tables of the page `docs/guide/names.md`, in Markdown."""
    out = []
    for owner, rows in NAMES.items():
        out += [f"### {'The package' if owner == 'frazil' else owner}", *_table("Names", map(_row, rows))]
    arguments = [
        (f"`{name}` of `{function}`", library, here)
        for function, names in ARGUMENTS.items()
        for name, (library, here) in names.items()
    ]
    out += ["### Arguments", *_table("Argument", arguments)]
    return "\n".join(out).rstrip()


def _row(answer: tuple[str, str, str]) -> tuple[str, str, str]:
    """A row of the page. It shows the first of many names."""
    library, here, names = answer
    listed = names.split()
    shown = listed if len(listed) <= _MOST_SHOWN else [*listed[: _MOST_SHOWN - 1], "…"]
    return ", ".join(f"`{name}`" if name != "…" else name for name in shown), library, here.replace("{name}", "…")


def _table(title: str, rows: Iterable[tuple[str, str, str]]) -> list[str]:
    lines = [f"| {title} | Library | Here |", "|---|---|---|"]
    for names, library, here in rows:
        escaped = here.replace(" | ", r" \| ")
        lines.append(f"| {names} | {library} | `{escaped}` |")
    return [*lines, ""]
