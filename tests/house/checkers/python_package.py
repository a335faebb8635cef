"""Rules for the Python package: its arrows, and what only one place of it may ask or do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from circles import cuts
from layers import FORMATS
from python_graph import RUNTIME, graph, package_files
from rules import RULES, Offence, rule


@rule("python-circles")
def python_circles(root: Path) -> Iterator[Offence]:
    """Imports at runtime, those inside of functions too, have no circles; imports for the type checker don't count."""
    edges = graph(root).of_kinds(*RUNTIME)
    listed = [tuple(where.split(" -> ")) for where in RULES["python-circles"].allowed()]
    for start, end in cuts({edge: len({r.names for r in edges[edge]}) for edge in edges}, preferred=listed):
        lines = ", ".join(f"{reason.names} in line {reason.line}" for reason in edges[start, end])
        yield Offence(f"{start} -> {end}", f"closes a circle of imports, by {lines}")


@rule("python-arrows")
def python_arrows(root: Path) -> Iterator[Offence]:
    """`frazil.spark` is loaded by nothing else: it needs PySpark."""
    read = graph(root)
    for start, end in sorted(read.of_kinds("import")):
        if end.startswith("python/frazil/spark/") and not start.startswith("python/frazil/spark/"):
            yield Offence(f"{start} -> {end}", "import frazil.spark inside of the function that needs it")


@rule("format-questions")
def format_questions(root: Path) -> Iterator[Offence]:
    """Python asks what a table supports, not which format it has."""
    for file in package_files(root):
        for node in ast.walk(file.tree):
            asked = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            asked += [case.pattern for case in node.cases] if isinstance(node, ast.Match) else []
            if any(_names_format(part) for part in asked):
                yield Offence(file.name, f"`{ast.unparse(node).splitlines()[0]}`: ask what the table supports")


def _names_format(node: ast.AST) -> bool:
    """Whether a part of a comparison is the name of a format."""
    return any(isinstance(inner, ast.Constant) and inner.value in FORMATS for inner in ast.walk(node))


@rule("python-json")
def python_json(root: Path) -> Iterator[Offence]:
    """Only what travels between processes is JSON."""
    for file in package_files(root):
        for imported in file.imports:
            if imported.module.partition(".")[0] == "json":
                yield Offence(file.name, f"line {imported.line}: take and give typed values instead of JSON")
