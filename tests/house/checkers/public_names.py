"""The public names of the crate and of the package, as stored lists that a change of the interface has to touch.

python tests/house/checkers/public_names.py             writes both lists (`make public-names`)
python tests/house/checkers/public_names.py --check     says what differs
"""

from __future__ import annotations

import argparse
import ast
import difflib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from python_graph import Graph, PythonFile
from python_graph import graph as python_graph
from rust_graph import Crate, Module, graph
from rust_source import ROOT, TYPES, Item, Segments

LISTS_FOLDER = Path(__file__).resolve().parents[1]
CRATE = "frazil"
Function = ast.FunctionDef | ast.AsyncFunctionDef


# ---------------------------------------------------------------- Rust


def rust_names(root: Path) -> list[str]:
    """Items that users of the crate can name: `path kind name`, also where `pub use` hands them on; methods too."""
    crate = graph(root).crate
    found: set[str] = set()
    seen: set[Segments] = set()

    def below(module: Segments, shown: Segments) -> None:
        if shown in seen:
            return
        seen.add(shown)
        for name, meaning in _public(crate, module):
            if isinstance(meaning, Module):
                found.add(_line(shown, "mod", name))
                below(meaning.path, (*shown, name))
            else:
                found.add(_line(shown, meaning.kind, name))
                found.update(_line((*shown, name), method.kind, method.name) for method in _methods(crate, meaning))

    below((), ())
    return sorted(found)


def _line(path: Segments, kind: str, name: str) -> str:
    return f"{'::'.join((CRATE, *path))} {kind} {name}"


def _public(crate: Crate, module: Segments) -> Iterator[tuple[str, Module | Item]]:
    """The names that a module shows to everyone, each with what it stands for."""
    for item in crate.declared.get(module, []):
        if item.visibility == "pub":
            yield item.name, Module((*module, item.name)) if item.kind == "mod" else item
    for imported in crate.imported.get(module, []):
        if imported.visibility != "pub":
            continue
        for meaning in crate.resolve(module, imported.segments):
            if imported.name != "*":
                yield imported.name, meaning
            elif isinstance(meaning, Module):
                yield from _public(crate, meaning.path)


def _methods(crate: Crate, item: Item) -> Iterator[Item]:
    if item.kind in TYPES:
        for (of, _), functions in crate.methods.items():
            if of == item:
                yield from (function for function in functions if function.visibility == "pub")


# ---------------------------------------------------------------- Python


PUBLIC_PACKAGES = ("frazil", "frazil.spark")


def python_names(root: Path) -> list[str]:
    """The names in `__all__` of the public packages, and the classes that their signatures name, with all members."""
    read = python_graph(root)
    stub = PythonFile(root, root / "python" / "frazil" / "_core.pyi")
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    packages = [read.modules[package] for package in PUBLIC_PACKAGES if package in read.modules]
    asked = [name for package in packages for name in _listed_names(read, package)]
    while asked:
        in_signatures = []
        for file, name, path in asked:
            home = _home(read, file, name, stub)
            node = next((node for node in home.tree.body if getattr(node, "name", None) == name), None)
            found.update(_described(path, node))
            seen.add((home.name, name))
            in_signatures += [(_home(read, home, named, stub), named) for named in _names_in_signatures(node)]
        fresh = {
            (file, name) for file, name in in_signatures if _is_class(file, name) and (file.name, name) not in seen
        }
        asked = [(file, name, f"{file.module}.{name}") for file, name in fresh if file is not stub]
    return sorted(found)


def _listed_names(read: Graph, file: PythonFile) -> Iterator[tuple[PythonFile, str, str]]:
    """The names in a module's `__all__`, and those of modules among them: where they are, and how users name them."""
    for name in _listed(file.tree):
        imported = next((imported for imported in file.imports if imported.local == name), None)
        module = f"{imported.module}.{imported.name}" if imported else f"{file.module}.{name}"
        if module in read.modules and name not in file.defined:
            if module not in PUBLIC_PACKAGES:
                yield from _listed_names(read, read.modules[module])
        else:
            yield file, name, f"{file.module}.{name}"


def _listed(tree: ast.Module) -> list[str]:
    """The names in `__all__`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def _is_class(file: PythonFile, name: str) -> bool:
    return any(isinstance(node, ast.ClassDef) and node.name == name for node in file.tree.body)


def _names_in_signatures(node: ast.stmt | None) -> set[str]:
    """The names in the bases and annotations of a function, or of a class and its public members."""
    members = [node] if node is not None else []
    if isinstance(node, ast.ClassDef):
        members = [member for member in node.body if not getattr(member, "name", "").startswith("_")]
    parts: list[ast.AST | None] = list(node.bases) if isinstance(node, ast.ClassDef) else []
    for member in members:
        if isinstance(member, Function):
            parts += [member.args, member.returns]
        elif isinstance(member, ast.AnnAssign):
            parts.append(member.annotation)
    return {inner.id for part in parts if part for inner in ast.walk(part) if isinstance(inner, ast.Name)}


def _home(read: Graph, file: PythonFile, name: str, stub: PythonFile) -> PythonFile:
    """The file that defines a listed name: the stub for what is compiled."""
    for imported in file.imports:
        if imported.local == name and imported.name is not None:
            if imported.module == stub.module:
                return stub
            found = read.defining(imported.module, imported.name, frozenset())
            if found is not None and found is not file:
                return _home(read, found, imported.name, stub)
    return file


def _described(path: str, node: ast.stmt | None) -> Iterator[str]:
    """A line for a name, and one for each public member of a class."""
    if isinstance(node, Function):
        yield _function(path, node)
    elif isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        yield f"{path} class({bases})"
        for member in node.body:
            yield from _member(path, member)
    else:
        yield f"{path} value"


def _member(path: str, member: ast.stmt) -> Iterator[str]:
    if isinstance(member, Function):
        if member.name == "__init__" or not member.name.startswith("_"):
            yield _function(f"{path}.{member.name}", member)
        if member.name == "__init__":
            yield from (f"{path}.{name} value" for name in _set_on_self(member))
    elif isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
        if not member.target.id.startswith("_"):
            yield f"{path}.{member.target.id}: {ast.unparse(member.annotation)}"
    elif isinstance(member, ast.Assign):
        for target in member.targets:
            if isinstance(target, ast.Name) and not target.id.startswith("_"):
                yield f"{path}.{target.id} value"


def _set_on_self(node: Function) -> set[str]:
    """The public attributes that `__init__` sets."""
    targets = [
        inner for inner in ast.walk(node) if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)
    ]
    return {
        target.attr
        for target in targets
        if isinstance(target.value, ast.Name) and target.value.id == "self" and not target.attr.startswith("_")
    }


def _function(path: str, node: Function) -> str:
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    result = ast.unparse(node.returns) if node.returns else "?"
    if "property" in decorators:
        return f"{path}: {result}"
    kind = "".join(f"@{name} " for name in decorators if name in ("staticmethod", "classmethod"))
    return f"{path} {kind}({ast.unparse(node.args)}) -> {result}"


# ---------------------------------------------------------------- the lists

LISTS: dict[str, Callable[[Path], list[str]]] = {
    "public_names_rust.txt": rust_names,
    "public_names_python.txt": python_names,
}


def differences(stored: list[str], now: list[str]) -> list[str]:
    """What is new (`+`) and what is gone (`-`)."""
    return [line for line in difflib.ndiff(stored, now) if line[0] in "+-"]


def stored(name: str, folder: Path = LISTS_FOLDER) -> list[str]:
    path = folder / name
    return path.read_text("utf-8").splitlines() if path.exists() else []


def main() -> int:
    asked = argparse.ArgumentParser(description="Public names")
    asked.add_argument("--check", action="store_true")
    given = asked.parse_args()
    failed = 0
    for name, read in LISTS.items():
        now = read(ROOT)
        if given.check:
            found = differences(stored(name), now)
            failed |= bool(found)
            print("\n".join([f"{name}: {len(found)} differences", *found]))
        else:
            (LISTS_FOLDER / name).write_text("".join(f"{line}\n" for line in now), "utf-8")
            print(f"{name}: {len(now)} names")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
