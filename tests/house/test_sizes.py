"""Folders, files and functions stay small, and their names say something."""

from pathlib import Path

import pytest
import sizes  # noqa: F401 (enters the rules)
from rules import RULES
from rust_source import ROOT
from tiny_tree import plant

NAMES = ["folder-sizes", "file-sizes", "function-sizes", "empty-names"]


@pytest.mark.parametrize("name", NAMES)
def test_the_project_keeps_the_rule(name: str) -> None:
    assert RULES[name].faults(ROOT) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_tiny_project_keeps_the_rule(name: str, tmp_path: Path) -> None:
    assert RULES[name].offences(plant(tmp_path, {})) == []


CALLS = "    f();\n"
TESTS = "#[cfg(test)]\nmod tests {\n    fn g() {\n" + CALLS * 251 + "    }\n}\n"
PLANTED = {
    "21 Rust files": ("folder-sizes", {f"src/types/t{n}.rs": "" for n in range(19)}, "src/types"),
    "21 Python files": ("folder-sizes", {f"python/frazil/p{n}.py": "" for n in range(18)}, "python/frazil"),
    "601 lines of Rust": ("file-sizes", {"src/expr/bounds.rs": "const A: u8 = 0;\n" * 601}, "src/expr/bounds.rs"),
    "601 lines of Python": ("file-sizes", {"python/frazil/scan.py": "a = 0\n" * 601}, "python/frazil/scan.py"),
    "251 lines of tests": ("file-sizes", {"src/expr/bounds.rs": TESTS}, "src/expr/bounds.rs"),
    "61 lines of a Rust function": (
        "function-sizes",
        {"src/expr/bounds.rs": "fn f() {\n" + CALLS * 59 + "}\n"},
        "src/expr/bounds.rs f",
    ),
    "61 lines of a Rust method": (
        "function-sizes",
        {"src/expr/bounds.rs": "impl A {\nfn f() {\n" + CALLS * 59 + "}\n}\n"},
        "src/expr/bounds.rs f",
    ),
    "61 lines of a macro": (
        "function-sizes",
        {"src/expr/bounds.rs": "macro_rules! f {\n() => {{\n" + CALLS * 57 + "}};\n}\n"},
        "src/expr/bounds.rs f",
    ),
    "61 lines of a Python function": (
        "function-sizes",
        {"python/frazil/scan.py": "def f():\n" + "    g()\n" * 60},
        "python/frazil/scan.py f",
    ),
    "61 lines of a Python function with its arguments": (
        "function-sizes",
        {"python/frazil/scan.py": "def f(\n" + "    a,\n" * 30 + "):\n" + "    g()\n" * 29},
        "python/frazil/scan.py f",
    ),
    "61 lines of a Python method": (
        "function-sizes",
        {"python/frazil/scan.py": "class A:\n    def f(self):\n" + "        g()\n" * 60},
        "python/frazil/scan.py f",
    ),
    "a Rust file": ("empty-names", {"src/types/utils.rs": ""}, "src/types/utils.rs"),
    "a longer name": ("empty-names", {"src/types/schema_utils.rs": ""}, "src/types/schema_utils.rs"),
    "a shorter name": ("empty-names", {"src/types/util.rs": ""}, "src/types/util.rs"),
    "a general name": ("empty-names", {"src/types/shared.rs": ""}, "src/types/shared.rs"),
    "a Rust folder": ("empty-names", {"src/types/common/mod.rs": ""}, "src/types/common/mod.rs"),
    "a Python file": ("empty-names", {"tests/python/helpers.py": ""}, "tests/python/helpers.py"),
}


@pytest.mark.parametrize(("name", "changed", "where"), PLANTED.values(), ids=PLANTED)
def test_a_planted_offence_is_seen(name: str, changed: dict[str, str], where: str, tmp_path: Path) -> None:
    assert where in {offence.where for offence in RULES[name].offences(plant(tmp_path, changed))}


def test_every_rule_has_a_planted_offence() -> None:
    assert {name for name, _, _ in PLANTED.values()} == set(NAMES)


def test_comments_and_blank_lines_do_not_count(tmp_path: Path) -> None:
    changed = {
        "src/expr/bounds.rs": "fn f() {\n" + "    // why\n\n" * 400 + CALLS * 58 + "}\n",
        "python/frazil/scan.py": 'def f():\n    """Why."""\n' + "    # why\n\n" * 400 + "    g()\n" * 59,
    }
    root = plant(tmp_path, changed)
    assert RULES["function-sizes"].offences(root) == []
    assert RULES["file-sizes"].offences(root) == []
