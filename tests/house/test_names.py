"""A type's name stands for one thing, and what is below the formats does not name them."""

from pathlib import Path

import names  # noqa: F401 (enters the rules)
import pytest
from rules import RULES
from rust_source import ROOT
from tiny_tree import plant

NAMES = ["format-names", "python-format-names", "type-names"]


@pytest.mark.parametrize("name", NAMES)
def test_the_crate_keeps_the_rule(name: str) -> None:
    assert RULES[name].faults(ROOT) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_tiny_crate_keeps_the_rule(name: str, tmp_path: Path) -> None:
    assert RULES[name].offences(plant(tmp_path, {})) == []


PLANTED = {
    "a field": ("format-names", {"src/data/read.rs": "pub struct Context { paimon: bool }\n"}, "src/data/read.rs"),
    "a type": ("format-names", {"src/format/task.rs": "pub struct IcebergTask;\n"}, "src/format/task.rs"),
    "a variable": ("format-names", {"src/codec/avro.rs": "fn f() { let is_paimon = g(); }\n"}, "src/codec/avro.rs"),
    "in the face": ("format-names", {"src/py/table.rs": "fn f() { let is_iceberg = g(); }\n"}, "src/py/table.rs"),
    "a folder": ("format-names", {"src/data/paimon_types/text.rs": ""}, "src/data/paimon_types/text.rs"),
    "a Python class": (
        "python-format-names",
        {"python/frazil/spark/read.py": "class PaimonKind:\n    pass\n"},
        "python/frazil/spark/read.py",
    ),
    "a Python variable": (
        "python-format-names",
        {"python/frazil/scan.py": "is_iceberg = True\n"},
        "python/frazil/scan.py",
    ),
    "a Python argument": (
        "python-format-names",
        {"python/frazil/scan.py": "def f(paimon): ...\n"},
        "python/frazil/scan.py",
    ),
    "a Python file": (
        "python-format-names",
        {"python/frazil/spark/paimon_kind.py": ""},
        "python/frazil/spark/paimon_kind.py",
    ),
    "two public types": ("type-names", {"src/data/read.rs": "pub struct Task;\n"}, "Task"),
    "a public type and a private one": ("type-names", {"src/data/read.rs": "struct Schema;\n"}, "Schema"),
    "three private types": (
        "type-names",
        {f"src/data/{file}.rs": "enum Step {}\n" for file in ("a", "b", "c")},
        "Step",
    ),
}


@pytest.mark.parametrize(("name", "changed", "where"), PLANTED.values(), ids=PLANTED)
def test_a_planted_offence_is_seen(name: str, changed: dict[str, str], where: str, tmp_path: Path) -> None:
    assert where in {offence.where for offence in RULES[name].offences(plant(tmp_path, changed))}


def test_every_rule_has_a_planted_offence() -> None:
    assert {name for name, _, _ in PLANTED.values()} == set(NAMES)


def test_two_private_types_may_share_a_name(tmp_path: Path) -> None:
    changed = {"src/data/a.rs": "struct Step;\n", "src/data/b.rs": "pub(super) enum Step {}\n"}
    assert RULES["type-names"].offences(plant(tmp_path, changed)) == []


def test_texts_may_name_formats(tmp_path: Path) -> None:
    changed = {
        "src/data/read.rs": '// Paimon needs this.\nconst KEY: &str = "paimon.key";\n',
        "python/frazil/scan.py": '"""Paimon needs this."""\nkey = "paimon.key"\nimport pyiceberg\n',
    }
    root = plant(tmp_path, changed)
    assert RULES["format-names"].offences(root) == RULES["python-format-names"].offences(root) == []
