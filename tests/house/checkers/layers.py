"""Rules for the arrows between rooms and files of the crate. DESIGN.md says why they point where they do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from circles import circles, cuts
from rules import RULES, Offence, rule
from rust_graph import graph
from rust_source import Item, RustFile, is_name_of_tests, library, name_of, text, visibility
from tree_sitter import Node

# A room imports from those in earlier rows only; rooms of one row don't know each other.
ROWS = [
    ["error"],
    ["types", "parallel"],
    ["expr"],
    ["codec"],
    ["store"],
    ["format"],
    ["data"],
    ["rows"],
    ["iceberg", "paimon"],
    ["tables"],
    ["py"],
]
FORMATS = ["iceberg", "paimon"]
BELOW_FORMATS = [room for row in ROWS[: ROWS.index(FORMATS)] for room in row if room != "error"]
LOWER_FOLDERS = ["spec", "manifest", "plan", "commit", "catalog"]
MAX_ROOT_MODULES = 13
# Crates of Arrow, and those that give Arrow's types.
ARROW = re.compile(r"arrow(_\w+)?|parquet(_\w+)?|orc_rust")
# Crates and parts of the standard library that reach files or the network, or wait for them.
OUTSIDE = re.compile(
    r"async_\w+|futures(_\w+)?|h2|http|hyper(_\w+)?|mio|native_tls|object_store|(tokio_)?postgres|reqwest|rusqlite|rustix"
    r"|rustls(_\w+)?|socket2|sqlx|tokio(_\w+)?|ureq|std::(fs|future|net|os|task)|std::process::Command"
)
# Crates that may not be handed on: `py` knows no JSON, and only `store` knows the network.
HANDED_ON_NOWHERE = rf"{OUTSIDE.pattern}|serde\w*"


def allowed_rooms(room: str) -> set[str]:
    """The rooms that a room may import from."""
    at = next(at for at, row in enumerate(ROWS) if room in row)
    return {below for row in ROWS[:at] for below in row}


def is_lower(file: RustFile) -> bool:
    """Whether a file belongs to the lower half of a format, which knows no Arrow."""
    return len(file.module) > 1 and file.module[0] in FORMATS and file.module[1] in LOWER_FOLDERS


@rule("room-circles")
def room_circles(root: Path) -> Iterator[Offence]:
    for component in circles(graph(root).room_edges()):
        yield Offence(" ".join(component), "these rooms import each other in a circle")


@rule("file-circles")
def file_circles(root: Path) -> Iterator[Offence]:
    """The edges that have to be cut, or listed with a reason, for the files to be without circles."""
    read = graph(root)
    listed = [tuple(where.split(" -> ")) for where in RULES["file-circles"].allowed()]
    for start, end in cuts(read.weights, preferred=listed):
        names = sorted({reason.names for reason in read.edges[start, end]})
        yield Offence(f"{start} -> {end}", f"closes a circle of imports, by {', '.join(names)}")


@rule("arrows")
def arrows(root: Path) -> Iterator[Offence]:
    read = graph(root)
    known = {room for row in ROWS for room in row}
    for room in sorted(set(read.rooms) - known - {"lib"}):
        yield Offence(f"room {room}", "give the room a place in tests/house/checkers/layers.py and in DESIGN.md")
    for (start, end), edges in sorted(read.room_edges().items()):
        if start not in known or end in allowed_rooms(start):
            continue
        for file, _ in edges:
            yield Offence(f"{file} -> {end}", f"{start} may import only from {', '.join(sorted(allowed_rooms(start)))}")


@rule("lower-halves")
def lower_halves(root: Path) -> Iterator[Offence]:
    """A format's metadata, manifests, plans and commits need neither Arrow nor what is built on them."""
    read = graph(root)
    lower = {file.name for file in read.files if is_lower(file)}
    for file in sorted(lower):
        for crate, line in read.crates[file].items():
            if ARROW.fullmatch(crate):
                yield Offence(f"{file} -> {crate}", f"line {line}: the lower half of a format knows no Arrow")
    for start, end in sorted(read.edges):
        if start not in lower:
            continue
        room = read.by_name[end].room
        if room in ("data", "rows"):
            yield Offence(f"{start} -> {room}", f"imports {end}: the lower half of a format is below {room}")
        elif room in FORMATS and end not in lower:
            yield Offence(f"{start} -> {end}", "the lower half of a format is below its verbs")


@rule("seam")
def seam(root: Path) -> Iterator[Offence]:
    """What a format shows to `tables` is its file table.rs, and no other room takes it."""
    read = graph(root)
    doors = {f"src/{room}/table.rs" for room in FORMATS}
    for start, end in sorted(read.edges):
        if end in doors and read.by_name[start].room != "tables":
            yield Offence(f"{start} -> {end}", "only src/tables imports it; the handle is state.rs")


@rule("formats-behind-tables")
def formats_behind_tables(root: Path) -> Iterator[Offence]:
    """Of the rooms above the formats only `tables` imports from a format, whether from one or from both."""
    read = graph(root)
    above = {room for row in ROWS[ROWS.index(FORMATS) + 1 :] for room in row} - {"tables"}
    for start, end in sorted(read.edges):
        room, below = read.by_name[start].room, read.by_name[end].room
        if room in above and below in FORMATS:
            yield Offence(start, f"{room} imports {end}: let it ask src/tables")
    for file in read.files:
        for node in aliases(file) if file.room == "tables" else ():
            words = re.findall(r"\w+", text(node.child_by_field_name("type")))
            meant = [found for word in words for found in read.crate.lookup(file.module, word)]
            rooms = {found.file.room for found in meant if isinstance(found, Item)}
            if rooms & set(FORMATS) or set(FORMATS) & set(words):
                yield Offence(file.name, f"`{name_of(node)}` is a type of one format: hand on a trait of src/rows/seam")


def aliases(file: RustFile) -> list[Node]:
    """The types that a file gives another name, and lets others use."""
    return [
        node
        for node in file.tree.named_children
        if node.type == "type_item" and visibility(node) and not file.in_tests(node)
    ]


@rule("root-modules")
def root_modules(root: Path) -> Iterator[Offence]:
    """lib.rs lists the rooms, each with a line that says what it is."""
    for file in library(root):
        if file.room != "lib":
            continue
        docs = "\n".join(line for _, line in file.comments if line.startswith("//!"))
        modules = [item for item in file.items if item.kind == "mod"]
        if len(modules) > MAX_ROOT_MODULES:
            yield Offence(file.name, f"{len(modules)} modules; at most {MAX_ROOT_MODULES}")
        lines = dict(file.comments)
        for item in modules:
            row = item.line - 1
            while row and text_of_line(file, row).startswith("#["):
                row -= 1
            if not re.match(r"///\s*\w", lines.get(row, "")) and not re.search(rf"`{item.name}`", docs):
                yield Offence(f"{file.name} mod {item.name}", "say in one line what the module is")


def text_of_line(file: RustFile, number: int) -> str:
    return file.source.decode("utf-8").split("\n")[number - 1].strip()


@rule("mod-files")
def mod_files(root: Path) -> Iterator[Offence]:
    """mod.rs documents and lists modules and hands names on; it has no logic."""
    plain = {"line_comment", "block_comment", "attribute_item", "inner_attribute_item", "use_declaration"}
    for file in library(root):
        if file.path.name not in ("mod.rs", "lib.rs"):
            continue
        for node in file.tree.named_children:
            is_declared = node.type == "mod_item" and node.child_by_field_name("body") is None
            if node.type not in plain and not is_declared and not file.in_tests(node):
                first = text(node).split("\n")[0]
                yield Offence(file.name, f"line {node.start_point.row + 1}: `{first}` belongs into a file with a name")
                break


@rule("network")
def network(root: Path) -> Iterator[Offence]:
    """Files, network, databases and asynchronous code are in `store`."""
    read = graph(root)
    for file in read.files:
        if file.room == "store":
            continue
        if re.search(r"\basync\b|\.await\b", file.code):
            yield Offence(file.name, "`async` belongs into src/store")
        paths = {named.segments for named in [*file.imports, *file.references]}
        crates = {(crate,) for crate in read.crates[file.name]}
        found = {match.group() for path in paths | crates if (match := OUTSIDE.match("::".join(filter(None, path))))}
        found = {name for name in found if name.split("::")[0] in read.crates[file.name]}
        for name in sorted(found):
            yield Offence(file.name, f"`{name}` belongs into src/store")


@rule("plain-modules")
def plain_modules(root: Path) -> Iterator[Offence]:
    """Modules are found by their names, so that the rules about imports see all code of the library."""
    hidden = re.compile(r"\binclude!|\bextern\s+crate\b|\bfrazil::|#\[\s*macro_(?:export|use)\b")
    for file in library(root):
        for found in hidden.findall(file.code):
            yield Offence(file.name, f"`{found}` hides code from the rules: declare a module, and name it by `crate`")
        for node in file.captured("attribute"):
            if re.match(r"#\[\s*path\b", text(node)):
                yield Offence(file.name, f"line {node.start_point.row + 1}: `#[path]` is for tests only")
        for item in file.items:
            if item.kind == "mod" and is_name_of_tests(item.name):
                yield Offence(file.name, f"line {item.line}: `mod {item.name}` lacks #[cfg(test)]")


@rule("foreign-names")
def foreign_names(root: Path) -> Iterator[Offence]:
    """A file names another crate itself; handed on under a name of ours, that crate would pass the other rules."""
    above_lower_halves = {room for row in ROWS[ROWS.index(["data"]) :] for room in row}
    read = graph(root)
    for file in read.files:
        knows_arrow = file.room in above_lower_halves and not is_lower(file)
        watched = re.compile(HANDED_ON_NOWHERE if knows_arrow else rf"{HANDED_ON_NOWHERE}|{ARROW.pattern}")
        foreign = {
            imported.name
            for imported in file.imports
            if not read.crate.resolve(imported.module, imported.segments)
            and watched.fullmatch(next(filter(None, imported.segments)))
        }
        for imported in file.imports:
            if imported.name in foreign and imported.visibility:
                yield Offence(file.name, f"line {imported.line}: hands on `{'::'.join(imported.segments)}`")
        for node in aliases(file):
            words = set(re.findall(r"\w+", text(node.child_by_field_name("type"))))
            if any(word in foreign or watched.fullmatch(word) for word in words):
                yield Offence(file.name, f"line {node.start_point.row + 1}: `{name_of(node)}` is another crate's type")
