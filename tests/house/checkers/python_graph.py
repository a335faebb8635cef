"""Which file of the Python package imports which other, by the reading of `ast`.

An edge leads to the file that defines the imported name, not to the `__init__.py` that hands it on; that a package's
`__init__.py` hands names on is no edge either. There are three kinds of imports, counted apart:

- `import`: when the module is loaded;
- `inside`: when a function is called;
- `typing`: under `TYPE_CHECKING`, for the type checker alone.

    python tests/house/checkers/python_graph.py                  parts, arrows and circles
    python tests/house/checkers/python_graph.py --edges A B      why A imports B; each (part of) a file's path
    python tests/house/checkers/python_graph.py --scc N          files of the Nth circle, and its cheapest cuts
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from circles import circles, cuts, inside, opened_by

ROOT = Path(__file__).resolve().parents[3]
KINDS = ("import", "inside", "typing")
RUNTIME = ("import", "inside")

Edge = tuple[str, str]


@dataclass(frozen=True)
class Reason:
    """One import: where it is, what it imports, and when."""

    line: int
    names: str
    kind: str


@dataclass(frozen=True)
class Imported:
    """An import of a file as it is written."""

    module: str
    name: str | None
    local: str
    line: int
    kind: str


@dataclass(eq=False)
class PythonFile:
    """One file of the package."""

    root: Path
    path: Path

    @cached_property
    def name(self) -> str:
        """The path from the root, such as `python/frazil/scan.py`."""
        return self.path.relative_to(self.root).as_posix()

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @cached_property
    def module(self) -> str:
        """The module's dotted name: `frazil.spark` for frazil/spark/__init__.py."""
        parts = self.path.relative_to(self.root / "python").with_suffix("").parts
        return ".".join(parts[:-1] if self.is_package else parts)

    @property
    def folder(self) -> str:
        """The dotted name of the package that the file is in."""
        return self.module if self.is_package else self.module.rpartition(".")[0]

    @property
    def part(self) -> str:
        """The part of the package that the file is, or is in: `scan`, `requests`, `spark.read` or `spark.lanes`.

        Public modules keep their paths, so a file of `frazil` or `frazil.spark` is a part of its own, as a folder is.
        """
        package, *inner = self.module.split(".")
        if package != "frazil":
            return package
        inner = inner or ["__init__"]
        if inner[0] != "spark":
            return inner[0]
        return ".".join(inner[:2]) if len(inner) > 1 else "spark.__init__"

    @cached_property
    def source(self) -> str:
        return self.path.read_text("utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def imports(self) -> list[Imported]:
        return list(self._imports(self.tree, "import"))

    def _imports(self, node: ast.AST, kind: str) -> Iterator[Imported]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    local = alias.asname or alias.name.partition(".")[0]
                    yield Imported(alias.name, None, local, child.lineno, kind)
            elif isinstance(child, ast.ImportFrom):
                module = self._absolute(child)
                for alias in child.names:
                    yield Imported(module, alias.name, alias.asname or alias.name, child.lineno, kind)
            elif isinstance(child, ast.If) and _asks_for_type_checking(child.test):
                for inner in child.body:
                    yield from self._imports(ast.Module([inner], []), "typing")
                for inner in child.orelse:
                    yield from self._imports(ast.Module([inner], []), kind)
            else:
                is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from self._imports(child, "inside" if is_function and kind == "import" else kind)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.folder.split(".")
        parts = parts[: len(parts) - node.level + 1]
        return ".".join([*parts, *([node.module] if node.module else [])])

    @cached_property
    def defined(self) -> set[str]:
        """The names that the file itself defines at its top."""
        found: set[str] = set()
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
            for target in node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]:
                if isinstance(target, ast.Name):
                    found.add(target.id)
        return found

    @cached_property
    def identifiers(self) -> set[str]:
        """The names of everything that the file defines, takes or reads."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            for member in ("id", "name", "attr", "arg", "asname"):
                if isinstance(word := getattr(node, member, None), str):
                    found.update(word.split("."))
        return found

    @cached_property
    def used(self) -> set[str]:
        """The names that the file reads anywhere."""
        return {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}


def _asks_for_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name | ast.Attribute) and ast.unparse(test).split(".")[-1] == "TYPE_CHECKING"


@cache
def package_files(root: Path = ROOT) -> list[PythonFile]:
    """Every file of the package `frazil`, and of `pyspark_frazil`, where Spark looks for it."""
    return [PythonFile(root, path) for path in sorted((root / "python").rglob("*.py"))]


class Graph:
    """The edges between files, each with its reasons."""

    def __init__(self, root: Path) -> None:
        self.files = package_files(root)
        self.modules = {file.module: file for file in self.files}
        self.by_name = {file.name: file for file in self.files}
        self.edges: dict[Edge, list[Reason]] = {}
        for file in self.files:
            for imported in file.imports:
                target = self.defining(imported.module, imported.name, frozenset())
                if target is None or target is file:
                    continue
                hands_on = file.is_package and imported.local not in file.used
                if hands_on and target.module.startswith(file.module + "."):
                    continue
                names = imported.module + (f".{imported.name}" if imported.name else "")
                reason = Reason(imported.line, names, imported.kind)
                self.edges.setdefault((file.name, target.name), []).append(reason)

    def defining(self, module: str, name: str | None, asked: frozenset[str]) -> PythonFile | None:
        """The file that defines what an import names; None for other packages."""
        if name is None or f"{module}.{name}" in self.modules:
            return self.modules.get(f"{module}.{name}" if name else module)
        file = self.modules.get(module)
        if file is None or name in file.defined or module in asked:
            return file
        for imported in file.imports:
            if imported.local == name and imported.name is not None:
                return self.defining(imported.module, imported.name, asked | {module})
        return file

    def of_kinds(self, *kinds: str) -> dict[Edge, list[Reason]]:
        """The edges that an import of one of these kinds makes."""
        found = {edge: [reason for reason in reasons if reason.kind in kinds] for edge, reasons in self.edges.items()}
        return {edge: reasons for edge, reasons in found.items() if reasons}

    def part_edges(self, *kinds: str) -> dict[Edge, list[Edge]]:
        """The edges between parts of the package, each with the edges between files that make it.

        The package's own `__init__.py` defines nothing that others import but the compiled module, so it is left out.
        """
        found: dict[Edge, list[Edge]] = {}
        for edge in sorted(self.of_kinds(*kinds)):
            pair = (self.by_name[edge[0]].part, self.by_name[edge[1]].part)
            if pair[0] != pair[1] and pair[1] != "__init__":
                found.setdefault(pair, []).append(edge)
        return found


@cache
def graph(root: Path = ROOT) -> Graph:
    """The graph of a checkout, read once."""
    return Graph(root)


# ---------------------------------------------------------------- the command


def print_summary(read: Graph) -> None:
    counts = {kind: len(read.of_kinds(kind)) for kind in KINDS}
    print(f"{len(read.files)} files; edges between files: {counts}")
    parts = Counter(file.part for file in read.files)
    between = read.part_edges(*RUNTIME)
    for part, count in sorted(parts.items()):
        below = " ".join(f"{end}({len(edges)})" for (start, end), edges in sorted(between.items()) if start == part)
        print(f"  {part:28} {count:3} files -> {below}")
    for title, kinds in (("when loaded", ("import",)), ("at runtime", RUNTIME), ("with those for typing", KINDS)):
        found = circles(read.of_kinds(*kinds))
        across = circles(read.part_edges(*kinds))
        print(f"\ncircles {title}: across files {[len(c) for c in found]}, across parts {[len(c) for c in across]}")
        for number, component in enumerate(found, 1):
            print(f"  {number}. " + " ".join(name.removeprefix("python/frazil/") for name in component))
        for component in across:
            print("  parts: " + " ".join(component))


def print_edges(read: Graph, start: str, end: str) -> None:
    for edge, reasons in sorted(read.edges.items()):
        if start in edge[0] and end in edge[1]:
            print(f"{edge[0]} -> {edge[1]}")
            for reason in reasons:
                print(f"    line {reason.line}: {reason.names} ({reason.kind})")


def print_circle(read: Graph, number: int) -> None:
    edges = read.of_kinds(*RUNTIME)
    component = circles(edges)[number - 1]
    weights = {edge: len({reason.names for reason in edges[edge]}) for edge in inside(edges, component)}
    print(f"{len(component)} files, {len(weights)} edges between them")
    print("\nthese cuts together open it:")
    for edge in cuts(weights):
        print(f"  {edge[0]} -> {edge[1]}: {sorted({(reason.names, reason.kind) for reason in edges[edge]})}")
    print("\nsingle cuts that take files out of the circle:")
    for gain, edge in opened_by(weights, _in_circles)[:15]:
        print(f"  {gain:3} files leave: {edge[0]} -> {edge[1]}")


def _in_circles(edges: Iterable[Edge]) -> int:
    return sum(len(component) for component in circles(edges))


def main() -> None:
    asked = argparse.ArgumentParser(description="Imports inside the Python package")
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
