"""What code of the crate may say, and where."""

from pathlib import Path

import pytest
import statements  # noqa: F401 (enters the rules)
from rules import RULES
from rust_source import ROOT
from tiny_tree import plant

NAMES = ["unsafe", "json-in-py", "reserved-ids"]


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
    "a number": ("reserved-ids", "const A: i32 = 2_147_483_546;\n"),
    "with its type": ("reserved-ids", "fn f() { g(2147483645i32) }\n"),
    "in hexadecimal": ("reserved-ids", "const A: i32 = 0x7FFF_FF9A;\n"),
    "in a text": ("reserved-ids", 'const A: &str = r#"{"field-id":2147483545}"#;\n'),
    "below the greatest": ("reserved-ids", "fn f() { g(i32::MAX - 101) }\n"),
    "of the alias": ("reserved-ids", "const A: FieldId = FieldId::MAX / 2;\n"),
}


@pytest.mark.parametrize(("name", "source"), PLANTED.values(), ids=PLANTED)
def test_a_planted_offence_is_seen(name: str, source: str, tmp_path: Path) -> None:
    assert FILE in {offence.where for offence in RULES[name].offences(plant(tmp_path, {FILE: source}))}


def test_every_rule_has_a_planted_offence() -> None:
    assert {name for name, _ in PLANTED.values()} == set(NAMES)


def test_attributes_may_name_unsafe_code(tmp_path: Path) -> None:
    assert RULES["unsafe"].offences(plant(tmp_path, {FILE: "#![forbid(unsafe_code)]\n"})) == []


@pytest.mark.parametrize(
    "source",
    [
        "const A: i32 = 2_147_482_999 + i32::MAX;\n",
        "const A: u64 = 0x9E37_79B9_7F4A_7C15;\n",
        'const A: &str = "a whole number from 1 to 2147483647";\n',
        "fn f() { g(i64::MAX / 2, i64::from(i32::MAX) - 1) }\n",
        "#[cfg(test)]\nmod tests { const A: i32 = 2_147_483_546; }\n",
    ],
)
def test_other_numbers_are_no_reserved_ids(source: str, tmp_path: Path) -> None:
    assert RULES["reserved-ids"].offences(plant(tmp_path, {FILE: source})) == []


def test_reserved_ids_have_a_home(tmp_path: Path) -> None:
    changed = {"src/types/metadata_columns.rs": "pub const A: i32 = i32::MAX - 1;\n"}
    assert RULES["reserved-ids"].offences(plant(tmp_path, changed)) == []
