"""Rules for what code of the Python package may say, and where."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from layers import FORMATS
from python_graph import PythonFile, package_files
from rules import Offence, rule

# Libraries for JSON, and texts that are read as code: both would make texts an interface.
JSON_LIBRARIES = {
    "ijson",
    "json",
    "json5",
    "msgspec",
    "orjson",
    "pydantic",
    "pydantic_core",
    "rapidjson",
    "simdjson",
    "simplejson",
    "ujson",
}
READERS_OF_TEXTS = {"eval", "exec", "literal_eval", "read_json"}
# Who imports by a name in a text: the engine, the lazy names of the package, and a library that need not be installed.
DYNAMIC_IMPORTS = {
    "python/frazil/__init__.py",
    "python/frazil/arguments/configuration.py",
    "python/frazil/engines/protocol.py",
}
# A comparison, a look-up or a method call on a text asks for its content.
_ASKING = (ast.Compare, ast.Match, ast.Subscript, ast.Attribute, ast.BoolOp, ast.IfExp)


@rule("format-questions")
def format_questions(root: Path) -> Iterator[Offence]:
    """Python asks what a table supports, not which format it has."""
    for file in package_files(root):
        above = parents(file.tree)
        for node in ast.walk(file.tree):
            if _names_format(node) and not _is_documentation(node, above) and not _is_default(node, above):
                yield Offence(file.name, f"line {node.lineno}: {node.value!r} names a format: ask what the table does")
            if _reads_format(node, above) and not _is_shown(node, above):
                code = ast.unparse(node).splitlines()[0]
                yield Offence(file.name, f"line {node.lineno}: `{code}` may only be shown: ask what the table supports")


def parents(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    """The node above each node."""
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def _names_format(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip().lower() in FORMATS


def _is_documentation(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    return isinstance(above[node], ast.Expr)


def _is_default(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether a text is the default of an argument `format`, which says what to create."""
    arguments = above[node]
    if not isinstance(arguments, ast.arguments):
        return False
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults = [
        *zip(placed[len(placed) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return any(default is node and argument.arg == "format" for argument, default in defaults)


def _reads_format(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether a node reads `x.format`, `x["format"]` or `getattr(x, "format")`; calls of a method do not."""
    if isinstance(node, ast.Attribute):
        call = above.get(node)
        return node.attr == "format" and not (isinstance(call, ast.Call) and call.func is node)
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "format"
    if isinstance(node, ast.Call):
        return any(isinstance(argument, ast.Constant) and argument.value == "format" for argument in node.args)
    return False


def _is_shown(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether a format is part of a text, or the result of a property `format`, which hands it on."""
    inner = node
    while (outer := above.get(inner)) is not None:
        if isinstance(outer, ast.JoinedStr):
            return not isinstance(above.get(outer), _ASKING)
        if isinstance(outer, ast.Return):
            function = above.get(outer)
            return outer.value is node and isinstance(function, ast.FunctionDef) and function.name == "format"
        inner = outer
    return False


@rule("python-json")
def python_json(root: Path) -> Iterator[Offence]:
    """Only what travels between processes is JSON."""
    for file in package_files(root):
        for line, what in sorted(_json_of(file)):
            yield Offence(file.name, f"line {line}: `{what}`: take and give typed values instead of JSON")


def _json_of(file: PythonFile) -> Iterator[tuple[int, str]]:
    """Where a file names a library for JSON or reads a text as code."""
    for imported in file.imports:
        names = {*imported.module.split("."), imported.name}
        for name in sorted(JSON_LIBRARIES & names):
            yield imported.line, name
    # `format="json"` asks another library for a format. It names no module.
    formats = {id(node.value) for node in ast.walk(file.tree) if isinstance(node, ast.keyword) and node.arg == "format"}
    for node in ast.walk(file.tree):
        if id(node) in formats:
            continue
        if isinstance(node, ast.Attribute) and node.attr in JSON_LIBRARIES | READERS_OF_TEXTS:
            yield node.lineno, node.attr
        elif isinstance(node, ast.Name) and node.id in READERS_OF_TEXTS:
            yield node.lineno, node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_module(node.value):
            yield node.lineno, node.value


def _is_module(text: str) -> bool:
    """Whether a text names a library for JSON or a part of it, as `__import__` takes it."""
    return re.fullmatch(r"\w+(\.\w+)*", text) is not None and bool(JSON_LIBRARIES & set(text.split(".")))


@rule("python-imports")
def python_imports(root: Path) -> Iterator[Offence]:
    """Imports are statements, so that the rules about them see all of them."""
    for file in package_files(root):
        for node in ast.walk(file.tree):
            if what := _imports_by_text(node, file.name in DYNAMIC_IMPORTS):
                yield Offence(
                    file.name, f"line {node.lineno}: `{what}`: import by a statement, or let engines/protocol.py do it"
                )


def _imports_by_text(node: ast.AST, may_import: bool) -> str:
    """How a node imports a module whose name is a text; nothing if it does not."""
    if isinstance(node, ast.Name) and node.id == "__import__":
        return "__import__"
    if isinstance(node, ast.ImportFrom) and node.module in ("importlib", "runpy", "pkgutil") and not may_import:
        return f"from {node.module}"
    if isinstance(node, ast.Attribute) and node.attr in ("import_module", "run_module") and not may_import:
        return node.attr
    if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("modules") and not may_import:
        return ast.unparse(node)
    return ""
