"""Rules for names: a type's name stands for one thing, and what is below the formats does not name them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from layers import BELOW_FORMATS, FORMATS
from python_graph import package_files
from rules import Offence, rule
from rust_source import TYPES, Item, library

SEEN_IN_THE_CRATE = {"pub", "pub(crate)"}
MAX_PRIVATE = 2


@rule("format-names")
def format_names(root: Path) -> Iterator[Offence]:
    """Code that all formats share, and the face for Python, have no identifier, file or folder named after one."""
    for file in library(root):
        if file.room not in (*BELOW_FORMATS, "py"):
            continue
        named = {*file.identifiers, *file.module}
        if found := sorted(name for name in named if re.search("|".join(FORMATS), name, re.IGNORECASE)):
            yield Offence(file.name, f"{', '.join(found)}: {file.room} knows no format")


@rule("python-format-names")
def python_format_names(root: Path) -> Iterator[Offence]:
    """The package has no identifier, file or folder named after a format: the core knows them."""
    # PyIceberg is a package, not a format.
    pattern = re.compile(rf"(?<!py)(?:{'|'.join(FORMATS)})", re.IGNORECASE)
    for file in package_files(root):
        named = {*file.identifiers, *file.module.split(".")}
        if found := sorted(name for name in named if pattern.search(name)):
            yield Offence(file.name, f"{', '.join(found)}: ask the core what the table does (frazil/capabilities.py)")


@rule("type-names")
def type_names(root: Path) -> Iterator[Offence]:
    """A type that the crate sees has a name of its own; at most two private ones share a name."""
    types: dict[str, list[Item]] = {}
    for file in library(root):
        for item in file.items:
            if item.kind in TYPES:
                types.setdefault(item.name, []).append(item)
    for name, items in sorted(types.items()):
        is_seen = any(item.visibility in SEEN_IN_THE_CRATE for item in items)
        if len(items) > (1 if is_seen else MAX_PRIVATE):
            places = ", ".join(f"{item.file.name}:{item.line}" for item in items)
            yield Offence(name, f"stands for {len(items)} types: {places}")
