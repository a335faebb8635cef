"""Rules for what code of the crate may say, and where: one home for `unsafe`, no JSON in the Python face."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rules import Offence, rule
from rust_graph import graph
from rust_source import library

UNSAFE_HOME = "src/py/arrow.rs"


@rule("unsafe")
def unsafe(root: Path) -> Iterator[Offence]:
    for file in library(root):
        if file.name != UNSAFE_HOME and re.search(r"\bunsafe\b(?!_)", file.code):
            yield Offence(file.name, f"`unsafe` belongs into {UNSAFE_HOME}")


@rule("json-in-py")
def json_in_py(root: Path) -> Iterator[Offence]:
    """Rust and Python exchange typed values; JSON travels between processes only."""
    read = graph(root)
    for file in read.files:
        if file.room == "py" and "serde_json" in {*read.crates[file.name], *file.identifiers}:
            yield Offence(file.name, "`serde_json`: take and give typed values; JSON belongs into src/format/wire")
