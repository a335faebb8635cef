"""What code of the crate may say, and where."""

from pathlib import Path

import pytest
import statements  # noqa: F401 (enters the rules)
from rules import RULES
from rust_source import ROOT
from tiny_tree import plant

NAMES = ["unsafe", "json-in-py", "format-texts", "lint-exceptions", "reserved-ids"]


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
    "by another crate": ("json-in-py", "use simd_json::Value;\n"),
    "by serde": ("json-in-py", "#[derive(serde::Deserialize)]\nstruct A;\n"),
    "by another name": ("json-in-py", "extern crate serde_json as j;\n"),
    "Python's": ("json-in-py", 'fn f() { py.import("json") }\n'),
    "Python's in code": ("json-in-py", 'fn f() { py.eval(c"json.loads(text)") }\n'),
    "a format's name": ("format-texts", 'fn f() -> bool { table.format() == "iceberg" }\n'),
    "in a match": ("format-texts", 'fn f() { match kind { "Paimon" => g(), _ => h() } }\n'),
    "as bytes": ("format-texts", 'const A: &[u8] = b"paimon";\n'),
    "a lint": ("lint-exceptions", "#[allow(clippy::unwrap_used)]\nfn f() {}\n"),
    "a lint that is expected": ("lint-exceptions", "#[expect(clippy::panic)]\nfn f() {}\n"),
    "a lint for a file": ("lint-exceptions", "#![allow(\n    clippy::expect_used,\n)]\n"),
    "a lint by a condition": ("lint-exceptions", "#![cfg_attr(unix, allow(clippy::panic))]\n"),
    "all lints": ("lint-exceptions", "#[allow(warnings)]\nfn f() {}\n"),
    "unsafe code": ("lint-exceptions", "#[allow(unsafe_code)]\nfn f() {}\n"),
    "unwrap as a function": ("lint-exceptions", "fn f() { a.map(Option::unwrap) }\n"),
    "unwrap of a type": ("lint-exceptions", "fn f() { Result::<u8, E>::unwrap(a) }\n"),
    "a panic": ("lint-exceptions", "fn f() { std::panic::panic_any(1) }\n"),
    "a number": ("reserved-ids", "const A: i32 = 2_147_483_546;\n"),
    "with its type": ("reserved-ids", "fn f() { g(2147483645i32) }\n"),
    "in hexadecimal": ("reserved-ids", "const A: i32 = 0x7FFF_FF9A;\n"),
    "in octal": ("reserved-ids", "const A: i32 = 0o17_777_777_632;\n"),
    "in binary": ("reserved-ids", "const A: i32 = 0b0111_1111_1111_1111_1111_1111_1001_1010;\n"),
    "by a method": ("reserved-ids", "const A: i32 = i32::MAX.saturating_sub(101);\n"),
    "below by a name": ("reserved-ids", "const A: i32 = i32::MAX - OFFSET;\n"),
    "from the least": ("reserved-ids", "const A: i32 = !i32::MIN - 101;\n"),
    "in a text": ("reserved-ids", 'const A: &str = r#"{"field-id":2147483545}"#;\n'),
    "below the greatest": ("reserved-ids", "fn f() { g(i32::MAX - 101) }\n"),
    "of the alias": ("reserved-ids", "const A: FieldId = FieldId::MAX / 2;\n"),
}


@pytest.mark.parametrize(("name", "source"), PLANTED.values(), ids=PLANTED)
def test_a_planted_offence_is_seen(name: str, source: str, tmp_path: Path) -> None:
    assert FILE in {offence.where for offence in RULES[name].offences(plant(tmp_path, {FILE: source}))}


def test_every_rule_has_a_planted_offence() -> None:
    assert {name for name, _ in PLANTED.values()} == set(NAMES)


def test_readers_of_json_elsewhere_are_seen(tmp_path: Path) -> None:
    changed = {
        "src/types/mod.rs": "pub mod json_text;\npub mod schema_json;\npub mod schema;\npub use schema::Schema;\n",
        "src/types/json_text.rs": "pub fn parse() {}\n",
        "src/types/schema_json.rs": "pub fn schema_from_text() {}\n",
        FILE: "use crate::types::{json_text, schema_json::schema_from_text};\nfn f() { json_text::parse() }\n",
    }
    (offence,) = RULES["json-in-py"].offences(plant(tmp_path, changed))
    assert "src/types/json_text.rs" in offence.what


def test_what_travels_may_name_formats(tmp_path: Path) -> None:
    text = 'const A: &str = "paimon";\n'
    changed = {"src/format/wire.rs": text, "src/tables/open.rs": text, "src/paimon/state.rs": text}
    assert RULES["format-texts"].offences(plant(tmp_path, changed)) == []


def test_tests_may_panic(tmp_path: Path) -> None:
    changed = {FILE: "#![cfg_attr(test, allow(clippy::panic))]\n#[cfg(test)]\n#[allow(clippy::panic)]\nmod tests {}\n"}
    assert RULES["lint-exceptions"].offences(plant(tmp_path, changed)) == []


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
