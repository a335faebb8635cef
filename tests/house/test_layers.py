"""The arrows between layers: a module imports only from what stands below it. DESIGN.md says why."""

import re

import pytest
from rust_source import RustFile, crate_imports, rust_files, without_comments_and_texts, without_tests

CORE = ["error", "manifest_count", "types", "workers", "expr", "codec", "store", "format", "task", "task_json"]
TOWERS = ["iceberg", "paimon"]  # know neither each other nor `data`
FACADE = [
    "explain",
    "plan_table",
    "plan_parts",
    "inspect",
    "splits",
    "changes",
    "statistics",
    "batch_stream",
    "scan",
    "scan_options",
    "scan_shape",
    "hand_over",
    "packed_plan",
    "table",
    "paimon_scan",
    "paimon_table",
    "paimon_write",
    "paimon_catalog",
    "paimon_compact",
    "either",
    "transaction",
    "maintain",
    "messages",
    "add_files",
    "evolution",
    "row_level",
    "catalog",
]  # they may name each other
ALLOWED: dict[str, set[str]] = {name: set(CORE[:position]) for position, name in enumerate(CORE)}
ALLOWED |= {tower: set(CORE) for tower in TOWERS}
ALLOWED["data"] = set(CORE)
ALLOWED |= {name: {*CORE, *TOWERS, "data", *FACADE} for name in FACADE}
ALLOWED["py"] = {*CORE, *TOWERS, "data", *FACADE}
# `expect(…)?` is a method of a parser that gives an error.
PANICS = r"\.unwrap\(\)|\.expect\([^()]*\)(?!\?)|\b(?:panic|unreachable|todo|unimplemented)!"
FILES = [file for file in rust_files() if file.layer != "lib" and not file.is_test]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_module_imports_only_from_below(file: RustFile) -> None:
    assert file.layer in ALLOWED, (
        f"{file.name}: give the new layer {file.layer!r} a place in this test and in DESIGN.md"
    )
    upward = crate_imports(file.code) - ALLOWED[file.layer] - {file.layer}
    assert not upward, f"{file.name} imports {sorted(upward)}: {file.layer} may use {sorted(ALLOWED[file.layer])}"


def test_there_is_code_to_check() -> None:
    assert {"error", "types", "expr", "codec", "store", "task", "data", "iceberg", "table", "scan", "py"} <= {
        file.layer for file in FILES
    }


@pytest.mark.parametrize("file", rust_files(), ids=lambda file: file.name)
def test_unsafe_and_async_have_one_home(file: RustFile) -> None:
    if file.name != "src/py/arrow.rs":
        assert not re.search(r"\bunsafe\b(?!_)", file.code), f"{file.name}: `unsafe` belongs into src/py/arrow.rs"
    if file.layer != "store":
        assert not re.search(r"\basync\b|\.await\b", file.code), f"{file.name}: `async` belongs into src/store"


@pytest.mark.parametrize("file", rust_files(), ids=lambda file: file.name)
def test_no_panics_outside_tests(file: RustFile) -> None:
    calls = re.findall(PANICS, file.code)
    assert not calls, f"{file.name}: {calls}: return an error instead"


# ---------------------------------------------------------------- the reader of Rust code itself


def test_imports_are_found_in_every_form() -> None:
    code = """
use crate::error::{Error, Result};
use crate::{types, iceberg::{plan::Plan, commit}, store::Store as S};
fn f() { crate::data::g() }
"""
    assert crate_imports(code) == {"error", "types", "iceberg", "store", "data"}


def test_comments_texts_and_tests_do_not_count() -> None:
    source = r"""
//! crate::py in a comment
fn f<'a>(x: &'a str) -> char { let _ = "crate::py \" // {"; let _ = r#"unsafe " {"#; '{' }
/* crate::data */
#[cfg(test)]
mod tests { fn g() { x.unwrap(); } }
fn after() { crate::error::h() }
#[cfg(test)]
#[path = "x_tests.rs"]
mod more;
"""
    code = without_tests(without_comments_and_texts(source))
    assert crate_imports(code) == {"error"}
    assert "unwrap" not in code
    assert "mod more" not in code
    assert "fn after" in code
    assert code.count("{") == code.count("}")
