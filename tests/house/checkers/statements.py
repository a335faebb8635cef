"""Rules for what code of the crate may say, and where: homes for `unsafe` and field ids, no JSON in the Python face."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from layers import FORMATS
from rules import Offence, rule
from rust_graph import graph
from rust_source import library, text

UNSAFE_HOME = "src/py/arrow.rs"
IDS_HOME = "src/types/metadata_columns.rs"
# Reserved field ids as numbers: the last 647 below the greatest one, which itself is only a limit.
RESERVED_IDS = range(2_147_483_000, 2**31 - 1)
_NUMBER = re.compile(r"\b(?:0x[0-9a-f][0-9a-f_]*|0o[0-7_]+|0b[01_]+|[0-9][0-9_]*)", re.IGNORECASE)
# Or counted from the greatest id: `i32::MAX - 1`, `FieldId::MAX / 2`, `i32::MAX.saturating_sub(1)`, `!i32::MIN - 1`.
_FROM_MAX = re.compile(
    r"\b(?:i32|FieldId)::MAX\s*(?:[-/>]\s*\w+|\.\s*\w*(?:sub|div|shr)\w*)|!\s*(?:i32|FieldId)::MIN\b"
)
_JSON_CRATE = re.compile(r"serde\w*|pythonize|(?:simd|sonic|tiny)\w*json|sonic_rs|ciborium")
SCHEMA_JSON = "src/types/schema_json.rs"
# Attributes that take code out of a lint. Tests may.
_EXEMPTS = re.compile(r"#!?\[(?:allow|expect|cfg_attr)\((?!test,)")
_LINTS = re.compile(
    r"\b(unsafe_code|unreachable_pub|warnings|unused|clippy::(?:all|expect_used|panic|todo|unimplemented|unreachable|unwrap_used))\b"
)


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
        if file.room != "py":
            continue
        named = sorted(name for name in {*read.crates[file.name], *file.identifiers} if _JSON_CRATE.fullmatch(name))
        # Python's own library, by its name or in code.
        named += [text for _, text in file.texts if re.search(r"^b?\"json\"$|\bjson\.(?:loads|dumps)\b", text)]
        # Readers and writers of JSON elsewhere in the crate. A schema's JSON is what its pickle holds.
        below = sorted(end for start, end in read.edges if start == file.name)
        named += [end for end in below if "json" in Path(end).stem and end != SCHEMA_JSON]
        for name in named:
            yield Offence(file.name, f"`{name}`: take and give typed values; JSON belongs into src/format/wire")


@rule("format-texts")
def format_texts(root: Path) -> Iterator[Offence]:
    """Code outside of formats does not compare texts with a format's name. What travels has such members."""
    for file in library(root):
        if file.room in (*FORMATS, "tables") or file.module[:2] == ("format", "wire"):
            continue
        for line, literal in file.texts:
            if literal.strip('b"').lower() in FORMATS:
                yield Offence(file.name, f"line {line}: {literal}: ask the seam what the table does (src/rows/seam)")


@rule("lint-exceptions")
def lint_exceptions(root: Path) -> Iterator[Offence]:
    """No code of the library is exempt from the lints against panics, or from all lints."""
    for file in library(root):
        for node in file.captured("attribute"):
            attribute = re.sub(r"\s", "", text(node))
            found = _LINTS.search(attribute) if _EXEMPTS.match(attribute) else None
            if found and (found.group(1) != "unsafe_code" or file.name != UNSAFE_HOME):
                yield Offence(file.name, f"line {node.start_point.row + 1}: `{found.group(1)}` holds everywhere")
        # Clippy looks at calls of methods.
        for found in re.findall(r"\b(?:Option|Result)\b[^;{}()]{0,40}::(?:unwrap|expect)\b|\bpanic_any\b", file.code):
            yield Offence(file.name, f"`{found}`: return an error")


@rule("reserved-ids")
def reserved_ids(root: Path) -> Iterator[Offence]:
    """All reserved field ids have their names in one file, so no two columns get the same one."""
    for file in library(root):
        if file.name == IDS_HOME:
            continue
        code = [file.code, *(text for _, text in file.texts)]
        numbers = [number for part in code for number in _NUMBER.findall(part) if number.strip("0xobXOB_")]
        found = [number for number in numbers if int(number.replace("_", ""), _base(number)) in RESERVED_IDS]
        for number in [*found, *_FROM_MAX.findall(file.code)]:
            yield Offence(file.name, f"`{number}`: name the field id in {IDS_HOME}")


def _base(number: str) -> int:
    return {"0x": 16, "0o": 8, "0b": 2}.get(number[:2].lower(), 10)
