"""The reader of Rust files: what counts as code, as a test, as an import."""

from pathlib import Path

import pytest
from rust_source import RustFile, library, only_in_tests
from tiny_tree import plant


def read(source: str, name: str = "src/room/file.rs") -> RustFile:
    return RustFile(Path("/root"), Path("/root") / name, source.encode())


def test_comments_texts_and_tests_are_no_code() -> None:
    file = read(
        r"""
//! crate::py in a comment
fn f<'a>(x: &'a str) -> char { let _ = "crate::py \" // {"; let _ = r#"unsafe " {"#; '{' }
/* crate::data */
#[cfg(test)]
mod tests { fn g() { x.unwrap(); crate::py::g() } }
fn after() { crate::error::h() }
#[cfg(test)]
#[path = "x_tests.rs"]
mod more;
"""
    )
    assert [reference.segments for reference in file.references] == [("crate", "error", "h")]
    assert [item.name for item in file.items] == ["f", "after"]
    assert "unwrap" not in file.code
    assert "unsafe" not in file.code
    assert "mod more" not in file.code
    assert file.code.count("{") == file.code.count("}")
    assert (file.code_lines, file.inline_test_lines) == (2, 5)


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("#[cfg(test)]", True),
        ("#[test]", True),
        ("#![cfg(test)]", True),
        ('#[cfg(all(test, feature = "python"))]', True),
        ("#[cfg(any(test, fuzzing))]", False),
        ("#[cfg(not(test))]", False),
        ('#[cfg(feature = "test")]', False),
        ("#[derive(Debug)]", False),
    ],
)
def test_attributes_of_tests(attribute: str, expected: bool) -> None:
    assert only_in_tests(attribute) is expected


def test_imports_in_every_form() -> None:
    file = read(
        """
use crate::error::{self, Error, kind::*};
pub(crate) use super::{types as t, iceberg::{plan::Plan, commit}};
use ::arrow::array;
fn f() { use std::fmt::Write as _; }
"""
    )
    assert [(found.name, "::".join(found.segments), found.visibility) for found in file.imports] == [
        ("error", "crate::error", ""),
        ("Error", "crate::error::Error", ""),
        ("*", "crate::error::kind", ""),
        ("t", "super::types", "pub(crate)"),
        ("Plan", "super::iceberg::plan::Plan", "pub(crate)"),
        ("commit", "super::iceberg::commit", "pub(crate)"),
        ("array", "::arrow::array", ""),
        ("_", "std::fmt::Write", ""),
    ]


def test_paths_in_every_form() -> None:
    file = read(
        """
#[derive(serde::Serialize)]
struct A<T: a::Trait> { b: Vec<b::B<c::C>> }
impl d::Trait for A { fn f(&self) { Self::g(e::f::<g::G>(1)); self.h(); other.i(); <A as j::J>::k() } }
macro_rules! m { () => { $crate::l::m() }; }
fn n() { o::p!(q::r(s), t::u::V { w }); }
"""
    )
    found = {"::".join(reference.segments) for reference in file.references}
    assert found == {
        "serde::Serialize",
        "a::Trait",
        "b::B",
        "c::C",
        "d::Trait",
        "A::g",
        "e::f",
        "g::G",
        "A::h",
        "j::J",
        "crate::l::m",
        "o::p",
        "q::r",
        "t::u::V",
    }


def test_items_and_inline_modules() -> None:
    file = read("pub mod a { pub(super) struct B; mod c { enum D {} } }\nconst E: u8 = 0;\nfn f() { struct G; }\n")
    assert [("::".join(item.module), item.name, item.kind, item.visibility) for item in file.items] == [
        ("room::file", "a", "mod", "pub"),
        ("room::file::a", "B", "struct", "pub(super)"),
        ("room::file::a", "c", "mod", ""),
        ("room::file::a::c", "D", "enum", ""),
        ("room::file", "E", "const", ""),
        ("room::file", "f", "fn", ""),
    ]


def test_files_of_tests_are_left_out(tmp_path: Path) -> None:
    changed = {
        "src/types/mod.rs": (
            "mod schema;\n#[cfg(test)]\nmod testing;\n#[cfg(test)]\nmod samples;\n"
            '#[cfg(test)]\n#[path = "elsewhere.rs"]\nmod named;\n'
        ),
        "src/types/testing.rs": "",
        "src/types/samples/large.rs": "",
        "src/types/elsewhere.rs": "",
        "src/types/tests.rs": "",
        "src/types/schema/tests/deep.rs": "",
    }
    kept = [file.name for file in library(plant(tmp_path, changed)) if file.room == "types"]
    assert kept == ["src/types/mod.rs", "src/types/schema.rs"]
