"""Rules for sizes: how much a folder, a file and a function may hold, and what they may be called."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from python_graph import PythonFile, package_files
from rules import Offence, rule
from rust_source import library, load, name_of

MAX_FILES_IN_FOLDER = 20
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_INLINE_TEST_LINES = 250
EMPTY_NAMES = {
    "util",
    "utils",
    "utility",
    "utilities",
    "common",
    "helper",
    "helpers",
    "misc",
    "shared",
    "stuff",
    "various",
}
PYTHON_FOLDERS = ("python", "packages", "tests", "benches", "demo", "tools", "examples")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_files(root: Path) -> list[Path]:
    """All Python files of the checkout, those of the package, tests and tools."""
    return sorted(path for folder in PYTHON_FOLDERS for path in (root / folder).rglob("*.py"))


@rule("folder-sizes")
def folder_sizes(root: Path) -> Iterator[Offence]:
    files = [file.path for file in library(root)] + [file.path for file in package_files(root)]
    for folder, count in Counter(path.parent for path in files).items():
        if count > MAX_FILES_IN_FOLDER:
            where = folder.relative_to(root).as_posix()
            yield Offence(where, f"{count} files; at most {MAX_FILES_IN_FOLDER}: make folders by meaning")


@rule("file-sizes")
def file_sizes(root: Path) -> Iterator[Offence]:
    for file in load(root):
        if file.code_lines > MAX_FILE_LINES:
            yield Offence(file.name, f"{file.code_lines} lines of code; at most {MAX_FILE_LINES}: split it by meaning")
        if file.inline_test_lines > MAX_INLINE_TEST_LINES:
            yield Offence(file.name, f"{file.inline_test_lines} lines of tests: move them into a file of their own")
    for path in python_files(root):
        lines = lines_with_code([ast.parse(path.read_text("utf-8"))])
        if lines > MAX_FILE_LINES:
            where = path.relative_to(root).as_posix()
            yield Offence(where, f"{lines} lines of code; at most {MAX_FILE_LINES}: split it by meaning")


@rule("function-sizes")
def function_sizes(root: Path) -> Iterator[Offence]:
    for file in library(root):
        for function in file.functions:
            if function.code_lines > MAX_FUNCTION_LINES:
                yield Offence(
                    f"{file.name} {function.name}", f"{function.code_lines} lines; at most {MAX_FUNCTION_LINES}"
                )
        for node in file.tree.named_children:
            lines = node.end_point.row - node.start_point.row + 1
            if node.type == "macro_definition" and not file.in_tests(node) and lines > MAX_FUNCTION_LINES:
                yield Offence(f"{file.name} {name_of(node)}", f"{lines} lines of a macro; at most {MAX_FUNCTION_LINES}")
    for file in package_files(root):
        for node in ast.walk(file.tree):
            if isinstance(node, Function):
                lines = function_lines(file, node)
                if lines > MAX_FUNCTION_LINES:
                    yield Offence(f"{file.name} {node.name}", f"{lines} lines; at most {MAX_FUNCTION_LINES}")


@rule("empty-names")
def empty_names(root: Path) -> Iterator[Offence]:
    """A file or folder is named by what it is about."""
    for path in [file.path for file in load(root)] + python_files(root):
        relative = path.relative_to(root)
        for part in relative.with_suffix("").parts:
            if EMPTY_NAMES & set(part.lower().split("_")):
                yield Offence(relative.as_posix(), f"{part!r} says nothing: name it by what it is about")


def lines_with_code(nodes: Iterable[ast.AST]) -> int:
    """Lines on which some part of the code starts."""
    return len({inner.lineno for node in nodes for inner in ast.walk(node) if hasattr(inner, "lineno")})


def function_lines(file: PythonFile, node: Function) -> int:
    """Lines of a function from `def` to its end, without its docstring, comments and blank lines."""
    lines = set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    if ast.get_docstring(node, clean=False) is not None:
        docstring = node.body[0]
        lines -= set(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    texts = file.source.splitlines()
    return sum(bool(line := texts[number - 1].strip()) and not line.startswith("#") for number in lines)
