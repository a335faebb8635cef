"""What code of the crate may say, and where."""

from pathlib import Path

import pytest
import statements  # noqa: F401 (enters the rules)
from rules import RULES
from rust_source import ROOT
from tiny_tree import plant

NAMES = ["unsafe", "json-in-py"]


@pytest.mark.parametrize("name", NAMES)
def test_the_crate_keeps_the_rule(name: str) -> None:
    assert RULES[name].faults(ROOT) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_tiny_crate_keeps_the_rule(name: str, tmp_path: Path) -> None:
    assert RULES[name].offences(plant(tmp_path, {})) == []


FILE = "src/py/table.rs"
PLANTED = {
    "a block": ("unsafe", "fn f() { unsafe { g() } }\n"),
    "an impl": ("unsafe", "unsafe impl Send for A {}\n"),
    "by `use`": ("json-in-py", "use serde_json::Value;\n"),
    "by a path": ("json-in-py", "fn f() { serde_json::from_str(g()) }\n"),
    "by a macro": ("json-in-py", "fn f() { serde_json::json!({}) }\n"),
}


@pytest.mark.parametrize(("name", "source"), PLANTED.values(), ids=PLANTED)
def test_a_planted_offence_is_seen(name: str, source: str, tmp_path: Path) -> None:
    assert FILE in {offence.where for offence in RULES[name].offences(plant(tmp_path, {FILE: source}))}


def test_every_rule_has_a_planted_offence() -> None:
    assert {name for name, _ in PLANTED.values()} == set(NAMES)


def test_attributes_may_name_unsafe_code(tmp_path: Path) -> None:
    assert RULES["unsafe"].offences(plant(tmp_path, {FILE: "#![forbid(unsafe_code)]\n"})) == []
