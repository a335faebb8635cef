"""Rules for what code of the crate may say, and where: homes for `unsafe` and field ids, no JSON in the Python face."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rules import Offence, rule
from rust_graph import graph
from rust_source import library

UNSAFE_HOME = "src/py/arrow.rs"
IDS_HOME = "src/types/metadata_columns.rs"
# Reserved field ids as numbers: the last 647 below the greatest one, which itself is only a limit.
RESERVED_IDS = range(2_147_483_000, 2**31 - 1)
_NUMBER = re.compile(r"\b(?:0x[0-9a-f][0-9a-f_]*|[0-9][0-9_]*)", re.IGNORECASE)
# Or counted from the greatest id: `i32::MAX - 1`, `FieldId::MAX / 2`.
_FROM_MAX = re.compile(r"\b(?:i32|FieldId)::MAX\s*[-/]\s*[0-9][0-9_]*")


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


@rule("reserved-ids")
def reserved_ids(root: Path) -> Iterator[Offence]:
    """All reserved field ids have their names in one file, so no two columns get the same one."""
    for file in library(root):
        if file.name == IDS_HOME:
            continue
        code = [file.code, *(text for _, text in file.texts)]
        numbers = [number for part in code for number in _NUMBER.findall(part)]
        found = [number for number in numbers if int(number.replace("_", ""), _base(number)) in RESERVED_IDS]
        for number in [*found, *_FROM_MAX.findall(file.code)]:
            yield Offence(file.name, f"`{number}`: name the field id in {IDS_HOME}")


def _base(number: str) -> int:
    return 16 if number[:2] in ("0x", "0X") else 10
