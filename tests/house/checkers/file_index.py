"""Writes FILES.md: what each source file is for, in its own first sentence."""

import ast
import re
import subprocess
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
INDEX = "FILES.md"
FOLDERS = ("src", "python", "packages", "tests", "examples", "benches", "demo", "fuzz", "tools")
HEAD = """# Source files, a line for each
This list is for searching. [DESIGN.md](DESIGN.md) has the tree and the main paths. [CONTRIBUTING.md](CONTRIBUTING.md)
says where to change what. Each line is the first sentence of the file's own documentation. `make files` writes it.
"""
DEFINITION = re.compile(r"^(class|def) ", re.MULTILINE)
SENTENCE = re.compile(r"(.*?[.!?])(?=\s+[A-Z]|$)", re.DOTALL)


def documentation(path: Path, text: str) -> str:
    if path.suffix == ".rs":
        lines = []
        for line in text.splitlines():
            if not line.startswith("//!"):
                break
            lines.append(line[3:].strip())
        return "\n".join(lines)
    return ast.get_docstring(ast.parse(text)) or ""


def first_sentence(documentation: str) -> str:
    paragraph = " ".join(documentation.strip().split("\n\n")[0].split())
    found = SENTENCE.match(paragraph)
    return (found[1] if found else paragraph).rstrip(":")


def is_listed(path: Path, root: Path) -> bool:
    """Whether the list has the file: `__init__.py` only where it defines something."""
    if path.suffix not in (".rs", ".py") or path.parts[:2] == ("tests", "data"):
        return False
    return path.name != "__init__.py" or bool(DEFINITION.search((root / path).read_text("utf-8")))


def index(root: Path, paths: list[Path]) -> str:
    """The text of FILES.md. Files without documentation are left out."""
    out = [HEAD]
    for folder, files in groupby(
        sorted((p for p in paths if is_listed(p, root)), key=lambda p: (p.parent.parts, p.name)),
        key=lambda p: p.parent,
    ):
        lines: list[str] = []
        for path in files:
            sentence = first_sentence(documentation(path, (root / path).read_text("utf-8")))
            if path.name == "mod.rs":
                lines.insert(0, f"\n{sentence}\n")
            elif sentence:
                lines.append(f"- `{path.as_posix()}`: {sentence}\n")
        if lines:
            out.append(f"\n## {folder.as_posix()}\n" + "".join(lines))
    return "".join(out)


def tracked(root: Path) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *FOLDERS], cwd=root, capture_output=True, text=True, check=True
    )
    return [path for path in map(Path, listed.stdout.splitlines()) if (root / path).is_file()]


if __name__ == "__main__":
    (ROOT / INDEX).write_text(index(ROOT, tracked(ROOT)), "utf-8")
