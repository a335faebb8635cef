"""Rules for texts that people read: comments, documentation and messages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from python_graph import package_files
from rules import Offence, rule
from rust_source import library

MAX_COMMENT_LINE = 120
# Phrases that stop readers whose English is plain. Say it in the everyday technical words instead.
DIALECT = [
    "so many",
    "of which",
    "is none",
    "are none",
    "none any more",
    "anew",
    "beside",
    "upkeep",
    "that is there",
    "what it says",
    "by way of",
    "it is that",
]
# Folders of Python programs that are no part of the package.
PROGRAMS = ("benches", "demo", "examples", "fuzz", "packages", "tests", "tools")
# These name the phrases.
NAMING = {"tests/house/checkers/words.py", "tests/house/test_words.py"}
# `None` is Python's.
_DIALECT = re.compile(r"\b(?:" + "|".join(DIALECT).replace(" ", r"(?:\s|\\\n)+") + r")\b(?<!(?-i:None))", re.IGNORECASE)

Text = tuple[int, str]


@rule("comment-lines", counts=True)
def comment_lines(root: Path) -> Iterator[Offence]:
    """Lines of comments and documentation in Rust; ruff looks after those in Python."""
    for file in library(root):
        lines = file.source.decode("utf-8").split("\n")
        for number, _ in file.comments:
            if len(lines[number - 1]) > MAX_COMMENT_LINE:
                yield Offence(folder_of(file.name), f"{file.name}:{number} has {len(lines[number - 1])} characters")


@rule("dialect", counts=True)
def dialect(root: Path) -> Iterator[Offence]:
    for name, texts in [*rust_texts(root), *python_texts(root), *pages(root)]:
        for line, text in texts:
            for found in _DIALECT.finditer(text):
                at = line + text.count("\n", 0, found.start())
                yield Offence(folder_of(name), f"{name}:{at}: `{' '.join(found.group().split())}`")


def folder_of(name: str) -> str:
    """The folder that an offence is counted for: the room, or the page's folder."""
    parts = name.split("/")[:-1] or ["."]
    return "/".join(parts[:3] if parts[0] == "python" else parts[:2])


def rust_texts(root: Path) -> Iterator[tuple[str, list[Text]]]:
    """Comments and text literals; successive lines of comments as one text, so that phrases are found across lines."""
    for file in library(root):
        comments = [(line, re.sub(r"^//[/!]?|^/\*+|\*/$", "", text)) for line, text in file.comments]
        yield file.name, [*joined(comments), *file.texts]


def python_texts(root: Path) -> Iterator[tuple[str, list[Text]]]:
    """Comments and text constants, docstrings among them."""
    others = [path for folder in PROGRAMS for path in sorted((root / folder).rglob("*.py"))]
    others += sorted((root / "python").rglob("*.pyi"))
    for path in [*(file.path for file in package_files(root)), *others]:
        if path.relative_to(root).as_posix() in NAMING:
            continue
        source = path.read_text("utf-8")
        comments = [
            (token.start[0], token.string.lstrip("#"))
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.COMMENT
        ]
        constants = [
            (node.lineno, node.value)
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        yield path.relative_to(root).as_posix(), [*joined(comments), *constants]


def pages(root: Path) -> Iterator[tuple[str, list[Text]]]:
    """The documentation and all other pages, the help of `make`, and what the packages say about themselves."""
    folders = ("docs", "benches", "tests", "demo", "examples", "fuzz")
    paths = [*root.glob("*.md"), *(path for folder in folders for path in (root / folder).rglob("*.md"))]
    paths += [root / "Makefile", root / "pyproject.toml", root / "Cargo.toml"]
    for path in sorted(path for path in paths if path.exists()):
        yield path.relative_to(root).as_posix(), [(1, path.read_text("utf-8"))]


def joined(lines: list[Text]) -> list[Text]:
    """Lines that follow each other as one text."""
    found: list[Text] = []
    last = None
    for number, text in lines:
        if last is not None and number == last + 1:
            found[-1] = (found[-1][0], f"{found[-1][1]}\n{text}")
        else:
            found.append((number, text))
        last = number
    return found
