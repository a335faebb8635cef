"""Comments, documentation and messages are in plain English and fit on a screen."""

from pathlib import Path

import pytest
from rules import RULES
from rust_source import ROOT
from tiny_tree import plant
from words import DIALECT

NAMES = ["comment-lines", "dialect"]


@pytest.mark.parametrize("name", NAMES)
def test_the_project_keeps_the_rule(name: str) -> None:
    assert RULES[name].faults(ROOT) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_tiny_project_keeps_the_rule(name: str, tmp_path: Path) -> None:
    assert RULES[name].offences(plant(tmp_path, {})) == []


PLANTED = {
    "a long line": ("comment-lines", {"src/data/read.rs": f"/// {'x' * 120}\nfn f() {{}}\n"}, "src/data"),
    "a long line that is indented": (
        "comment-lines",
        {"src/data/read.rs": f"mod m {{\n    /// {'x' * 115}\n    fn f() {{}}\n}}\n"},
        "src/data",
    ),
    "in a Rust comment": ("dialect", {"src/data/read.rs": "// The rows that is there.\n"}, "src/data"),
    "across two lines": ("dialect", {"src/data/read.rs": "/// There is none, by way\n/// of a filter.\n"}, "src/data"),
    "in a Rust message": ("dialect", {"src/data/read.rs": 'const A: &str = "there is none";\n'}, "src/data"),
    "across two lines of a message": (
        "dialect",
        {"src/data/read.rs": 'const A: &str = "there is \\\n    none";\n'},
        "src/data",
    ),
    "in a stub": ("dialect", {"python/frazil/_core.pyi": '"""Reads anew."""\n'}, "python/frazil"),
    "in a catalogue": ("dialect", {"tests/data/README.md": "Files beside others.\n"}, "tests/data"),
    "of the package": ("dialect", {"pyproject.toml": 'description = "Reads anew"\n'}, "."),
    "in a Python comment": ("dialect", {"python/frazil/scan.py": "# Reads anew.\n"}, "python/frazil"),
    "in a docstring": ("dialect", {"python/frazil/spark/read.py": '"""Upkeep."""\n'}, "python/frazil/spark"),
    "in a Python message": ("dialect", {"python/frazil/scan.py": 'raise E("so many files")\n'}, "python/frazil"),
    "in a program": ("dialect", {"benches/reading/run.py": '"""Reads anew."""\n'}, "benches/reading"),
    "in a test": ("dialect", {"tests/python/test_scan.py": '"""Reads anew."""\n'}, "tests/python"),
    "at the root": ("dialect", {"README.md": "Faster than what is beside it.\n"}, "."),
    "in the help of make": ("dialect", {"Makefile": "lock: ## resolve anew\n"}, "."),
    "in a page": ("dialect", {"docs/guide/read.md": "Files, of which two are read.\n"}, "docs/guide"),
}


@pytest.mark.parametrize(("name", "changed", "where"), PLANTED.values(), ids=PLANTED)
def test_a_planted_offence_is_seen(name: str, changed: dict[str, str], where: str, tmp_path: Path) -> None:
    assert where in {offence.where for offence in RULES[name].offences(plant(tmp_path, changed))}


@pytest.mark.parametrize("phrase", DIALECT)
def test_every_phrase_is_seen(phrase: str, tmp_path: Path) -> None:
    assert RULES["dialect"].offences(plant(tmp_path, {"docs/guide/read.md": f"Then {phrase}, says it.\n"}))


def test_every_rule_has_a_planted_offence() -> None:
    assert {name for name, _, _ in PLANTED.values()} == set(NAMES)


def test_python_code_in_texts_does_not_count(tmp_path: Path) -> None:
    changed = {"docs/guide/read.md": "The default is None.\n", "python/frazil/scan.py": "a = b is None\n"}
    assert RULES["dialect"].offences(plant(tmp_path, changed)) == []
