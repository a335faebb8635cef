"""Which file of the crate imports which other, by the parser's reading of `use` declarations and paths.

An edge leads to the file that *defines* the imported item, not to the `mod.rs` that re-exports it. Declarations of
modules are no edges, and neither are re-exports of a folder's own files in its `mod.rs`. Paths `Type::f` and calls
`self.f()` also lead to the file that defines `f`, which need not be the file of the type. Other method calls are not
seen, because the parser knows no types.

    python tests/house/checkers/rust_graph.py                  rooms, arrows and circles
    python tests/house/checkers/rust_graph.py --edges A B      why A imports B; each a room or (part of) a file's path
    python tests/house/checkers/rust_graph.py --scc N          files of the Nth circle, and its cheapest cuts
    python tests/house/checkers/rust_graph.py --root PATH …    the same for another checkout
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from circles import circles, cuts, inside, opened_by
from rust_source import ROOT, TYPES, Import, Item, RustFile, Segments, library

Edge = tuple[str, str]


@dataclass(frozen=True)
class Reason:
    """One place where a file names an item of another."""

    line: int
    names: str


@dataclass(frozen=True)
class Module:
    """A module, as what a name can stand for."""

    path: Segments


Meaning = Module | Item


class Crate:
    """The modules of the crate, and what each name in them stands for."""

    def __init__(self, files: Iterable[RustFile]) -> None:
        self.files = list(files)
        self.modules: set[Segments] = {()}
        self.items: dict[tuple[Segments, str], list[Item]] = {}
        self.imports: dict[tuple[Segments, str], list[Import]] = {}
        self.declared: dict[Segments, list[Item]] = {}
        self.imported: dict[Segments, list[Import]] = {}
        self._known: dict[tuple[Segments, str], list[Meaning]] = {}
        self._asked: set[tuple[Segments, str]] = set()
        for file in self.files:
            self.modules.update(file.module[:depth] for depth in range(len(file.module) + 1))
            for item in file.items:
                self.declared.setdefault(item.module, []).append(item)
                if item.kind == "mod":
                    self.modules.add((*item.module, item.name))
                else:
                    self.items.setdefault((item.module, item.name), []).append(item)
            for imported in file.imports:
                self.imported.setdefault(imported.module, []).append(imported)
                self.imports.setdefault((imported.module, imported.name), []).append(imported)
        self.methods = self._methods()

    def _methods(self) -> dict[tuple[Item, str], list[Item]]:
        """The functions of each type by their names, from `impl` blocks in any file."""
        found: dict[tuple[Item, str], list[Item]] = {}
        for block in (block for file in self.files for block in file.impls if not block.of_trait):
            for kind in self.resolve(block.module, block.segments):
                for function in block.functions if isinstance(kind, Item) else ():
                    found.setdefault((kind, function.name), []).append(function)
        return found

    def lookup(self, module: Segments, name: str) -> list[Meaning]:
        """What a name stands for in a module: its own items, modules below it, and what it imports."""
        key = (module, name)
        if key in self._known:
            return self._known[key]
        found: list[Meaning] = list(self.items.get(key, []))
        if (*module, name) in self.modules:
            found.append(Module((*module, name)))
        if key in self._asked:
            # `pub use parse::parse` asks for the module of that name: an import does not import itself.
            return found
        self._asked.add(key)
        for imported in self.imports.get(key, []):
            found.extend(self.resolve(module, imported.segments))
        if not found:
            for imported in self.imports.get((module, "*"), []):
                for source in self.resolve(module, imported.segments):
                    found.extend(self.lookup(source.path, name) if isinstance(source, Module) else ())
        self._asked.discard(key)
        found = list(dict.fromkeys(found))
        if not self._asked:
            # Within another question the answer may be a part only.
            self._known[key] = found
        return found

    def resolve(self, module: Segments, segments: Segments) -> list[Meaning]:
        """What a path stands for in a module; nothing if it leads out of the crate."""
        first, *rest = segments
        if first == "crate":
            found: list[Meaning] = [Module(())]
        elif first == "self":
            found = [Module(module)]
        elif first == "super":
            found = [Module(module[:-1])]
        else:
            found = self.lookup(module, first) if first else []
        for at, name in enumerate(rest):
            found = [meaning for before in found for meaning in self._step(before, name, is_last=at == len(rest) - 1)]
        return list(dict.fromkeys(found))

    def _step(self, before: Meaning, name: str, *, is_last: bool) -> list[Meaning]:
        if isinstance(before, Module):
            if name in ("super", "self"):
                return [Module(before.path[:-1] if name == "super" else before.path)]
            found = self.lookup(before.path, name)
            return found if is_last else [found for found in found if isinstance(found, Module) or found.kind in TYPES]
        # Past a type come its functions, which may be defined elsewhere, its variants and what its traits give it.
        return [before, *self.methods.get((before, name), [])] if before.kind in TYPES else []


class Graph:
    """The edges between files, each with its reasons."""

    def __init__(self, root: Path) -> None:
        self.files = library(root)
        self.by_name = {file.name: file for file in self.files}
        self.crate = Crate(self.files)
        self.edges: dict[Edge, list[Reason]] = {}
        self.crates: dict[str, dict[str, int]] = {}
        for file in self.files:
            self._read(file)

    def _read(self, file: RustFile) -> None:
        outside = self.crates.setdefault(file.name, {})
        has_globs = False
        for imported in file.imports:
            found = self.crate.resolve(imported.module, imported.segments)
            has_globs |= imported.name == "*" and bool(found)
            if not found and imported.segments[0] not in ("crate", "self", "super"):
                outside.setdefault(next(name for name in imported.segments if name), imported.line)
            used = imported.name in file.names
            self._add(file, found, imported.line, imported.segments, hands_on=bool(imported.visibility) and not used)
        for reference in file.references:
            found = self.crate.resolve(reference.module, reference.segments)
            if not self.crate.resolve(reference.module, reference.segments[:1]):
                outside.setdefault(next(name for name in reference.segments if name), reference.line)
            self._add(file, found, reference.line, reference.segments)
        if has_globs:
            for name, line in file.names.items():
                self._add(file, self.crate.lookup(file.module, name), line, (name,))

    def _add(
        self, file: RustFile, found: list[Meaning], line: int, segments: Segments, *, hands_on: bool = False
    ) -> None:
        for item in found:
            if isinstance(item, Module) or item.file is file or (hands_on and file.holds(item.file)):
                continue
            reason = Reason(line, "::".join(segments))
            self.edges.setdefault((file.name, item.file.name), []).append(reason)

    @property
    def weights(self) -> dict[Edge, int]:
        """The edges between files with how many different names each needs."""
        return {edge: len({reason.names for reason in reasons}) for edge, reasons in self.edges.items()}

    @property
    def rooms(self) -> Counter[str]:
        """The rooms, each with the number of its files."""
        return Counter(file.room for file in self.files)

    def room_edges(self) -> dict[Edge, list[Edge]]:
        """The edges between rooms, each with the edges between files that make it. lib.rs, the door, is no room."""
        found: dict[Edge, list[Edge]] = {}
        for start, end in sorted(self.edges):
            pair = (self.by_name[start].room, self.by_name[end].room)
            if pair[0] != pair[1] and "lib" not in pair:
                found.setdefault(pair, []).append((start, end))
        return found


@cache
def graph(root: Path = ROOT) -> Graph:
    """The graph of a checkout, read once."""
    return Graph(root)


# ---------------------------------------------------------------- the command


def _sizes(found: list[list[str]]) -> str:
    return ", ".join(str(len(component)) for component in found) or "none"


def _in_circles(edges: Iterable[Edge]) -> int:
    return sum(len(component) for component in circles(edges))


def print_summary(read: Graph) -> None:
    rooms = read.room_edges()
    weights = read.weights
    print(f"{len(read.files)} files, {len(read.edges)} edges between files, {len(read.rooms)} rooms, lib among them")
    for room, count in sorted(read.rooms.items()):
        below = Counter(
            {end: sum(weights[edge] for edge in edges) for (start, end), edges in rooms.items() if start == room}
        )
        print(f"  {room:16} {count:4} files -> " + " ".join(f"{end}({names})" for end, names in sorted(below.items())))
    found = circles(rooms)
    print(f"\ncircles across rooms: {len(found)} (sizes: {_sizes(found)})")
    for component in found:
        print("  " + " ".join(component))
        for edge in cuts({edge: sum(weights[file] for file in rooms[edge]) for edge in inside(rooms, component)}):
            print(f"    cut {edge[0]} -> {edge[1]}: {len(rooms[edge])} edges between files")
    found = circles(read.edges)
    print(f"\ncircles across files: {len(found)}, {_in_circles(read.edges)} files in all (sizes: {_sizes(found)})")
    for number, component in enumerate(found, 1):
        shown = component if len(component) < 8 else [*component[:6], "…"]
        print(f"  {number:3}. {len(component):3} files: {' '.join(name.removeprefix('src/') for name in shown)}")


def print_edges(read: Graph, start: str, end: str) -> None:
    def fits(wanted: str) -> Callable[[str], bool]:
        return lambda name: read.by_name[name].room == wanted or (("/" in wanted or ".rs" in wanted) and wanted in name)

    for edge in sorted(
        edge for edge in read.edges if fits(start)(edge[0]) and fits(end)(edge[1]) and edge[0] != edge[1]
    ):
        print(f"{edge[0]} -> {edge[1]}")
        for reason in read.edges[edge]:
            print(f"    line {reason.line}: {reason.names}")


def print_circle(read: Graph, number: int) -> None:
    component = circles(read.edges)[number - 1]
    weights = {edge: read.weights[edge] for edge in inside(read.edges, component)}
    print(f"{len(component)} files, {len(weights)} edges between them")
    for name in component:
        print(f"  {name}")
    print("\nthese cuts together open it:")
    for edge in cuts(weights):
        _print_edge(read, edge)
    print("\nsingle cuts that take files out of the circle:")
    for gain, edge in opened_by(weights, _in_circles)[:25]:
        print(f"  {gain:3} files leave:", end="")
        _print_edge(read, edge)


def _print_edge(read: Graph, edge: Edge) -> None:
    names = sorted({reason.names for reason in read.edges[edge]})
    print(f"  {edge[0].removeprefix('src/')} -> {edge[1].removeprefix('src/')}: {' '.join(names)}")


def main() -> None:
    asked = argparse.ArgumentParser(description="Imports inside the crate")
    asked.add_argument("--root", type=Path, default=ROOT)
    asked.add_argument("--edges", nargs=2, metavar=("A", "B"))
    asked.add_argument("--scc", type=int, metavar="N")
    given = asked.parse_args()
    read = graph(given.root.resolve())
    if given.edges:
        print_edges(read, *given.edges)
    elif given.scc:
        print_circle(read, given.scc)
    else:
        print_summary(read)


if __name__ == "__main__":
    main()
