"""Rust source files as tree-sitter reads them, without the code that only tests compile.

`load(root)` parses every file below `root/src`. A `RustFile` then answers what the house rules ask: which items a file
defines, which names it imports, which paths it names, and what its code is without comments and texts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Language, Node, Parser, Query, QueryCursor

ROOT = Path(__file__).resolve().parents[3]
SRC = ROOT / "src"

_LANGUAGE = Language(tree_sitter_rust.language())
_PARSER = Parser(_LANGUAGE)
_QUERY = Query(
    _LANGUAGE,
    """
    (use_declaration) @use
    [(scoped_identifier) (scoped_type_identifier)] @path
    (token_tree) @tokens
    [(identifier) (type_identifier)] @name
    (field_identifier) @field
    [(line_comment) (block_comment)] @comment
    [(string_literal) (raw_string_literal) (char_literal)] @text
    [(attribute_item) (inner_attribute_item)] @attribute
    (function_item) @function
    (impl_item) @impl
    (mod_item name: (identifier) @module)
    (call_expression function: (field_expression value: (self) field: (field_identifier) @own_call))
    """,
)
_KINDS = {
    "struct_item": "struct",
    "enum_item": "enum",
    "union_item": "union",
    "trait_item": "trait",
    "type_item": "type",
    "function_item": "fn",
    "function_signature_item": "fn",
    "const_item": "const",
    "static_item": "static",
    "macro_definition": "macro",
    "mod_item": "mod",
}
TYPES = {"struct", "enum", "union", "trait", "type"}

Segments = tuple[str, ...]


@dataclass(frozen=True)
class Item:
    """Something that a module defines."""

    file: RustFile = field(repr=False)
    module: Segments
    name: str
    kind: str
    visibility: str  # "", "pub", "pub(crate)", …
    line: int


@dataclass(frozen=True)
class Import:
    """One name of a `use` declaration; the name is `*` for all names of a module."""

    module: Segments
    name: str
    segments: Segments
    visibility: str
    line: int


@dataclass(frozen=True)
class Reference:
    """A path of two or more names in code, such as `store::open` or `Self::new`."""

    module: Segments
    segments: Segments
    line: int


@dataclass(frozen=True)
class Function:
    """A function or method with a body."""

    name: str
    line: int
    code_lines: int


@dataclass(frozen=True)
class Impl:
    """An `impl` block: the type it is for, and the functions in it."""

    module: Segments
    segments: Segments
    of_trait: bool
    functions: tuple[Item, ...]
    line: int


@dataclass(eq=False)
class RustFile:
    """One file of `src`."""

    root: Path
    path: Path
    source: bytes
    is_test: bool = False

    @cached_property
    def name(self) -> str:
        """The path from the root, such as `src/store/mod.rs`."""
        return self.path.relative_to(self.root).as_posix()

    @cached_property
    def module(self) -> Segments:
        """The module's path: `("store", "local")` for src/store/local.rs."""
        parts = self.path.relative_to(self.root / "src").with_suffix("").parts
        return parts[:-1] if parts[-1] in ("mod", "lib") else parts

    @property
    def room(self) -> str:
        """The first part of the module's path; `lib` for lib.rs."""
        return self.module[0] if self.module else "lib"

    @property
    def is_mod(self) -> bool:
        """Whether the file stands for its folder."""
        return self.path.name == "mod.rs"

    def holds(self, other: RustFile) -> bool:
        """Whether the other file is a module below this one."""
        return other.module[: len(self.module)] == self.module and other is not self

    # ------------------------------------------------------------ the syntax tree

    @cached_property
    def tree(self) -> Node:
        return _PARSER.parse(self.source).root_node

    @cached_property
    def _captures(self) -> dict[str, list[Node]]:
        return QueryCursor(_QUERY).captures(self.tree)

    @cached_property
    def _test_ranges(self) -> list[tuple[int, int]]:
        """Bytes of items under `#[cfg(test)]` or `#[test]`, in order and not nested."""
        ranges: list[tuple[int, int]] = []
        for attribute in sorted(self._captures.get("attribute", []), key=lambda node: node.start_byte):
            if (ranges and attribute.start_byte < ranges[-1][1]) or not only_in_tests(text(attribute)):
                continue
            end = attribute.parent if attribute.type == "inner_attribute_item" else attribute.next_named_sibling
            while end is not None and end.type in ("attribute_item", "line_comment", "block_comment"):
                end = end.next_named_sibling
            ranges.append((attribute.start_byte, end.end_byte if end else attribute.end_byte))
        return ranges

    def in_tests(self, node: Node) -> bool:
        """Whether a node belongs to code that only tests compile."""
        return self.is_test or _is_inside(node, self._test_ranges)

    @cached_property
    def _use_ranges(self) -> list[tuple[int, int]]:
        return sorted((node.start_byte, node.end_byte) for node in self._captures.get("use", []))

    def captured(self, name: str) -> list[Node]:
        """The nodes that a part of the query finds in code that is no test, in the order of the file."""
        found = [node for node in self._captures.get(name, []) if not self.in_tests(node)]
        return sorted(found, key=lambda node: node.start_byte)

    def _in_use(self, node: Node) -> bool:
        """Whether a node is part of a `use` declaration."""
        return _is_inside(node, self._use_ranges)

    @cached_property
    def _inline_modules(self) -> list[tuple[int, int, Segments]]:
        """Bytes and paths of `mod x { … }`, outer ones first."""

        def below(node: Node, module: Segments) -> Iterator[tuple[int, int, Segments]]:
            for child in node.named_children:
                if child.type == "mod_item" and (body := child.child_by_field_name("body")):
                    inner = (*module, name_of(child))
                    yield body.start_byte, body.end_byte, inner
                    yield from below(body, inner)

        return list(below(self.tree, self.module))

    def module_of(self, node: Node) -> Segments:
        """The module, possibly an inline one, that a node belongs to."""
        found = self.module
        for start, end, module in self._inline_modules:
            if start <= node.start_byte < end:
                found = module
        return found

    # ------------------------------------------------------------ what the file defines

    @cached_property
    def items(self) -> list[Item]:
        """The items of the file's module and of its inline modules; not those inside of functions."""

        def below(node: Node, module: Segments) -> Iterator[Item]:
            for child in node.named_children:
                kind = _KINDS.get(child.type)
                if kind is None or self.in_tests(child):
                    continue
                yield self._item(child, module, kind)
                if kind == "mod" and (body := child.child_by_field_name("body")):
                    yield from below(body, (*module, name_of(child)))

        return list(below(self.tree, self.module))

    def _item(self, node: Node, module: Segments, kind: str) -> Item:
        return Item(self, module, name_of(node), kind, visibility(node), node.start_point.row + 1)

    @cached_property
    def impls(self) -> list[Impl]:
        """The `impl` blocks outside of functions."""
        found = []
        for node in self.captured("impl"):
            segments = segments_of(node.child_by_field_name("type"))
            if segments is None:
                continue
            module = self.module_of(node)
            body = node.child_by_field_name("body")
            inside = [
                self._item(child, (*module, segments[-1]), _KINDS[child.type])
                for child in (body.named_children if body else [])
                if child.type in ("function_item", "const_item") and not self.in_tests(child)
            ]
            of_trait = node.child_by_field_name("trait") is not None
            found.append(Impl(module, segments, of_trait, tuple(inside), node.start_point.row + 1))
        return found

    @cached_property
    def functions(self) -> list[Function]:
        """The functions and methods, each with its lines of code."""
        lines = self.code_rows
        return [
            Function(
                name_of(node),
                node.start_point.row + 1,
                sum(1 for row in range(node.start_point.row, node.end_point.row + 1) if row in lines),
            )
            for node in self.captured("function")
        ]

    # ------------------------------------------------------------ what the file names

    @cached_property
    def imports(self) -> list[Import]:
        """The names that `use` declarations bring in, also those inside of functions."""
        found = []
        for node in self.captured("use"):
            module, seen, line = self.module_of(node), visibility(node), node.start_point.row + 1
            for name, segments in use_tree(node.child_by_field_name("argument"), ()):
                found.append(Import(module, name, segments, seen, line))
        return found

    @cached_property
    def references(self) -> list[Reference]:
        """The paths in code and in the arguments of macros."""
        found = []
        for node in self.captured("path"):
            if node.parent.type in ("scoped_identifier", "scoped_type_identifier") or self._in_use(node):
                continue
            if segments := segments_of(node):
                found.append(self._reference(node, segments))
        for node in self.captured("tokens"):
            found.extend(self._reference(node, segments) for node, segments in token_paths(node))
        for node in self.captured("own_call"):
            found.append(self._reference(node, ("Self", text(node))))
        return found

    def _reference(self, node: Node, segments: Segments) -> Reference:
        if segments[0] == "Self":
            segments = (*(_own_type(node) or ("Self",)), *segments[1:])
        return Reference(self.module_of(node), segments, node.start_point.row + 1)

    @cached_property
    def names(self) -> dict[str, int]:
        """The identifiers outside of declarations by `use` and `mod`, each with the first line it is in."""
        modules = {node.start_byte for node in self.captured("module")}
        named = self.captured("name")
        return self._lines_of(node for node in named if not self._in_use(node) and node.start_byte not in modules)

    @cached_property
    def identifiers(self) -> dict[str, int]:
        """All identifiers, those of fields and of `use` declarations too, each with the first line it is in."""
        return self._lines_of([*self.captured("name"), *self.captured("field")])

    def _lines_of(self, nodes: Iterator[Node] | list[Node]) -> dict[str, int]:
        found: dict[str, int] = {}
        for node in nodes:
            line = node.start_point.row + 1
            name = text(node)
            found[name] = min(line, found.get(name, line))
        return found

    # ------------------------------------------------------------ its text

    def _blank(self, nodes: list[Node], tests: bool) -> str:
        """The source with some nodes, and tests if asked, replaced by spaces; line breaks stay where they were."""
        if tests and self.is_test:
            return ""
        ranges = [(node.start_byte, node.end_byte) for node in nodes]
        ranges += self._test_ranges if tests else []
        source = bytearray(self.source)
        for start, end in ranges:
            source[start:end] = re.sub(rb"[^\n]", b" ", self.source[start:end])
        return source.decode("utf-8")

    @cached_property
    def code(self) -> str:
        """What is compiled into the library: no comments, no texts, no tests."""
        return self._blank([*self._captures.get("comment", []), *self._captures.get("text", [])], tests=True)

    @cached_property
    def code_rows(self) -> frozenset[int]:
        """The rows, from 0, that have code of the library."""
        kept = self._blank(self._captures.get("comment", []), tests=True)
        return frozenset(row for row, line in enumerate(kept.split("\n")) if line.strip())

    @property
    def code_lines(self) -> int:
        return len(self.code_rows)

    @property
    def inline_test_lines(self) -> int:
        """Lines of test code inside a file that also has other code."""
        whole = self._blank(self._captures.get("comment", []), tests=False)
        return 0 if self.is_test else sum(1 for line in whole.split("\n") if line.strip()) - self.code_lines

    @cached_property
    def comments(self) -> list[tuple[int, str]]:
        """Lines of comments and documentation outside of tests, each with its number."""
        found = []
        for node in self.captured("comment"):
            for offset, line in enumerate(text(node).rstrip("\n").split("\n")):
                found.append((node.start_point.row + 1 + offset, line))
        return found

    @cached_property
    def texts(self) -> list[tuple[int, str]]:
        """Text literals outside of tests, each with the number of its first line."""
        return [(node.start_point.row + 1, text(node)) for node in self.captured("text")]


# ---------------------------------------------------------------- all files


@cache
def load(root: Path = ROOT) -> list[RustFile]:
    """Every file below `root/src`, in the order of their paths."""
    files = [RustFile(root, path, path.read_bytes()) for path in sorted((root / "src").rglob("*.rs"))]
    tests = {place for file in files for place in _declared_tests(file)}
    for file in files:
        file.is_test = _is_named_test(file) or not tests.isdisjoint([file.path, *file.path.parents])
    return files


def _is_named_test(file: RustFile) -> bool:
    return any(is_name_of_tests(part) for part in file.module)


def is_name_of_tests(name: str) -> bool:
    """Whether a module of this name has tests only."""
    return name == "tests" or name.endswith("_tests")


@cache
def library(root: Path = ROOT) -> list[RustFile]:
    """The files that are compiled into the library."""
    return [file for file in load(root) if not file.is_test]


def _declared_tests(file: RustFile) -> Iterator[Path]:
    """The files and folders that a file declares as modules under `#[cfg(test)]`."""
    here = file.path.parent
    folder = here if file.path.stem in ("mod", "lib") else file.path.with_suffix("")
    for node in file.tree.named_children:
        if node.type != "mod_item" or node.child_by_field_name("body") or not file.in_tests(node):
            continue
        name = name_of(node)
        yield folder / f"{name}.rs"
        yield folder / name
        if (before := node.prev_named_sibling) and (given := re.search(r'path\s*=\s*"([^"]+)"', text(before))):
            yield here / given.group(1)


# ---------------------------------------------------------------- pieces of syntax


def text(node: Node) -> str:
    return node.text.decode("utf-8")


def name_of(node: Node) -> str:
    return text(node.child_by_field_name("name"))


def visibility(node: Node) -> str:
    return next((text(child) for child in node.children if child.type == "visibility_modifier"), "")


def only_in_tests(attribute: str) -> bool:
    """Whether an attribute keeps its item out of the library: `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`."""
    bare = re.sub(r"\s", "", attribute)
    if re.fullmatch(r"#!?\[test\]", bare):
        return True
    condition = re.fullmatch(r"#!?\[cfg\((.*)\)\]", bare, re.DOTALL)
    return condition is not None and _false_without_tests(condition.group(1))


def _false_without_tests(condition: str) -> bool:
    """Whether a condition of `cfg` is false for every build that is no test."""
    if nested := re.fullmatch(r"(all|any)\((.*)\)", condition):
        parts = [_false_without_tests(part) for part in _arguments(nested.group(2))]
        return any(parts) if nested.group(1) == "all" else all(parts)
    return condition == "test"


def _arguments(listed: str) -> list[str]:
    """Splits at the commas that are in no bracket."""
    parts, depth = [""], 0
    for char in listed:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part for part in parts if part]


def segments_of(node: Node | None) -> Segments | None:
    """The names of a path. An empty first name stands for a leading `::`; None is a path like `<T as X>::f`."""
    if node is None:
        return None
    if node.type in ("generic_type", "generic_type_with_turbofish", "reference_type"):
        return segments_of(node.child_by_field_name("type"))
    if node.type in ("scoped_identifier", "scoped_type_identifier"):
        path = node.child_by_field_name("path")
        before = segments_of(path) if path else ("",)
        return None if before is None else (*before, name_of(node))
    if node.type in ("identifier", "type_identifier", "crate", "self", "super", "metavariable"):
        return ("crate" if text(node) == "$crate" else text(node),)
    return None


def use_tree(node: Node, before: Segments) -> Iterator[tuple[str, Segments]]:
    """The names that a `use` declaration brings in, each with the whole path it stands for."""
    if node.type == "use_list":
        for child in node.named_children:
            yield from use_tree(child, before)
    elif node.type == "scoped_use_list":
        path = node.child_by_field_name("path")
        inner = (*before, *(segments_of(path) or ())) if path else (*before, "")
        yield from use_tree(node.child_by_field_name("list"), inner)
    elif node.type == "use_as_clause":
        path = segments_of(node.child_by_field_name("path")) or ()
        yield text(node.child_by_field_name("alias")), _without_self(before, path)
    elif node.type == "use_wildcard":
        path = next((segments_of(child) for child in node.named_children), None) or ()
        yield "*", (*before, *path)
    elif path := segments_of(node):
        whole = _without_self(before, path)
        yield whole[-1], whole


def _without_self(before: Segments, path: Segments) -> Segments:
    """`a::{self}` is `a`; `self::a` stays."""
    return before if before and path == ("self",) else (*before, *path)


def token_paths(tokens: Node) -> Iterator[tuple[Node, Segments]]:
    """The paths directly in the tokens of a macro: names joined by `::`."""
    names = ("identifier", "type_identifier", "crate", "self", "super", "metavariable")
    path: list[str] = []
    joined, start = False, tokens
    for node in [*tokens.children, None]:
        if node is not None and node.type == "::":
            joined = bool(path)
        elif node is not None and node.type in names and joined:
            path.append(text(node))
            joined = False
        else:
            if len(path) > 1:
                yield start, tuple("crate" if name == "$crate" else name for name in path)
            joined = False
            path, start = ([text(node)], node) if node is not None and node.type in names else ([], tokens)


def _is_inside(node: Node, ranges: list[tuple[int, int]]) -> bool:
    """Whether a node starts in one of the ranges, which are in order and don't overlap."""
    at = bisect_right(ranges, (node.start_byte, 1 << 60)) - 1
    return at >= 0 and node.start_byte < ranges[at][1]


def _own_type(node: Node) -> Segments | None:
    """The type that `Self` is at a node: that of the innermost `impl` around it."""
    above = node.parent
    while above is not None and above.type != "impl_item":
        above = above.parent
    return segments_of(above.child_by_field_name("type")) if above else None
