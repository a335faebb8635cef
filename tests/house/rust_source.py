"""Rust source as the house rules see it: without comments, texts and test code."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"

# Comments and literals, longest forms first. A quote after an identifier or `&` starts a lifetime, not a character.
_TOKENS = re.compile(
    r"""(?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)
      |(?P<raw>b?r(?P<hashes>\#*)".*?"(?P=hashes))
      |(?P<text>b?"(?:\\.|[^"\\])*")
      |(?P<char>b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[0-9a-fA-F_]+\}|.)|[^'\\\n])')""",
    re.VERBOSE | re.DOTALL,
)
_TEST_ITEM = re.compile(
    r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:mod|fn|impl|use|struct|enum|macro_rules!)"
)
_TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[path = \"([^\"]+)\"\]\s*)?(?:pub(?:\([^)]*\))?\s+)?mod (\w+);")


def without_comments_and_texts(source: str) -> str:
    """The source with comments dropped and texts emptied; line breaks stay where they were."""

    def blank(found: re.Match[str]) -> str:
        breaks = "\n" * found.group().count("\n")
        return breaks if found.lastgroup == "comment" or found.group("comment") else '""' + breaks

    return _TOKENS.sub(blank, source)


def without_tests(code: str) -> str:
    """Code (see above) without the items under `#[cfg(test)]`."""
    while found := _TEST_ITEM.search(code):
        brace, semicolon = code.find("{", found.end()), code.find(";", found.end())
        if brace < 0 or 0 <= semicolon < brace:
            end = semicolon + 1
        else:
            depth, end = 1, brace + 1
            while depth and end < len(code):
                depth += {"{": 1, "}": -1}.get(code[end], 0)
                end += 1
        code = code[: found.start()] + code[end:]
    return code


@dataclass(frozen=True)
class RustFile:
    """One file of `src`."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def is_test(self) -> bool:
        """Whether the file as a whole is test code: it, or a folder it is in, is declared under `#[cfg(test)]`."""
        return any(place in test_modules() for place in (self.path, *self.path.parents))

    @property
    def layer(self) -> str:
        """The first part of the module's path: `iceberg` for src/iceberg/plan.rs, `table` for src/table.rs."""
        return self.path.relative_to(SRC).parts[0].removesuffix(".rs")

    @property
    def code(self) -> str:
        """What is compiled into the library."""
        return "" if self.is_test else without_tests(without_comments_and_texts(self.path.read_text("utf-8")))

    @property
    def code_lines(self) -> int:
        return sum(1 for line in self.code.splitlines() if line.strip())

    @property
    def inline_test_lines(self) -> int:
        """Lines of test code inside a file that also has other code."""
        whole = without_comments_and_texts(self.path.read_text("utf-8"))
        return 0 if self.is_test else sum(1 for line in whole.splitlines() if line.strip()) - self.code_lines


@cache
def test_modules() -> frozenset[Path]:
    """The files and folders of modules that exist in tests only."""
    found = set()
    for path in SRC.rglob("*.rs"):
        folder = path.parent if path.stem in ("mod", "lib") else path.with_suffix("")
        for explicit, name in _TEST_MODULE.findall(path.read_text("utf-8")):
            found |= {path.parent / explicit} if explicit else {folder / f"{name}.rs", folder / name}
    return frozenset(found)


def rust_files() -> list[RustFile]:
    return [RustFile(path) for path in sorted(SRC.rglob("*.rs"))]


def crate_imports(code: str) -> set[str]:
    """The top-level modules of this crate that the code names, as `crate::a::b` or inside `use crate::{a, b::c}`."""
    found = set(re.findall(r"\bcrate::([A-Za-z_]\w*)", code))
    for group in re.finditer(r"\bcrate::\{", code):
        depth, listed = 1, ""
        for char in code[group.end() :]:
            depth += {"{": 1, "}": -1}.get(char, 0)
            if depth == 0:
                break
            listed += char if depth == 1 else ""
        found.update(name for name in re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", listed))
    return found
