"""The graphs of imports: an edge leads to the file that defines what is imported."""

from pathlib import Path

import pytest
from circles import circles, cuts
from python_graph import Graph as PythonGraph
from rust_graph import Graph as RustGraph
from tiny_tree import plant

BASE = {
    "src/lib.rs": "pub mod a;\npub mod b;\npub mod c;\n",
    "src/b/mod.rs": "mod inner;\npub mod deep;\npub use inner::{Thing, run as start};\npub use deep::{*, deep};\n",
    "src/b/inner.rs": "pub struct Thing;\npub fn run() {}\n",
    "src/b/deep.rs": "pub enum Kind { One }\npub const MAX: u8 = 1;\npub fn deep() {}\n",
    "src/c.rs": "use crate::b::Thing;\nimpl Thing {\n    pub fn grow(&self) {}\n}\n",
}
INNER, DEEP, C = "src/b/inner.rs", "src/b/deep.rs", "src/c.rs"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("use crate::b::inner::Thing;", {INNER}),
        ("use crate::b::Thing;", {INNER}),
        ("use super::b::Thing;", {INNER}),
        ("use crate::b::{start, Kind};", {INNER, DEEP}),
        ("use crate::b;\nfn f() { b::start() }", {INNER}),
        ("use crate::b as other;\nfn f() -> other::Kind { other::Kind::One }", {DEEP}),
        ("use crate::b::*;\nfn f() -> u8 { MAX }", {DEEP}),
        ("use crate::b::Kind::One;", {DEEP}),
        ("use crate::b::Thing as T;\nfn f() { T::grow(&T) }", {INNER, C}),
        ("fn f() { vec![crate::b::MAX]; }", {DEEP}),
        ("mod m {\n    fn f() { super::super::b::start() }\n}", {INNER}),
        ("fn f() { use crate::b::MAX; }", {DEEP}),
        ("use crate::b;\nfn f() { b::deep(); b::deep::MAX }", {DEEP}),
        ("use crate::b;", set()),
        ("use std::fmt;\nuse arrow::b::Thing;\nfn f() { fmt::b() }", set()),
        ("// crate::b::start()\n#[cfg(test)]\nuse crate::b::Thing;", set()),
    ],
)
def test_edges_of_rust(source: str, expected: set[str], tmp_path: Path) -> None:
    read = _crate(tmp_path, {**BASE, "src/a.rs": source})
    assert {end for start, end in read.edges if start == "src/a.rs"} == expected


def test_a_folder_that_hands_on_its_own_files_imports_nothing(tmp_path: Path) -> None:
    assert not [edge for edge in _crate(tmp_path, BASE).edges if edge[0] == "src/b/mod.rs"]


def test_a_folder_that_hands_on_others_files_imports_them(tmp_path: Path) -> None:
    read = _crate(tmp_path, {**BASE, "src/a/mod.rs": "pub use crate::b::Thing;\n"})
    assert ("src/a/mod.rs", INNER) in read.edges


def test_a_file_that_uses_what_it_hands_on_imports_it(tmp_path: Path) -> None:
    read = _crate(tmp_path, {**BASE, "src/b/mod.rs": "mod inner;\npub use inner::Thing;\nstruct A(Thing);\n"})
    assert ("src/b/mod.rs", INNER) in read.edges


def test_a_call_on_self_leads_to_the_function(tmp_path: Path) -> None:
    read = _crate(tmp_path, {**BASE, INNER: "pub struct Thing;\nimpl Thing {\n    fn f(&self) { self.grow() }\n}\n"})
    assert circles(read.edges) == [[INNER, C]]


def test_other_crates_are_told_from_modules(tmp_path: Path) -> None:
    source = "use arrow::array::Array;\nuse crate::b;\nfn f() { b::start(); serde_json::from_str(); Vec::new(); }\n"
    read = _crate(tmp_path, {**BASE, "src/a.rs": source})
    assert set(read.crates["src/a.rs"]) == {"arrow", "serde_json", "Vec"}


def test_rooms(tmp_path: Path) -> None:
    read = _crate(tmp_path, {**BASE, "src/a.rs": "use crate::b::Thing;\n"})
    assert read.room_edges() == {("a", "b"): [("src/a.rs", INNER)], ("c", "b"): [(C, INNER)]}


def _crate(root: Path, files: dict[str, str]) -> RustGraph:
    for name, source in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, "utf-8")
    return RustGraph(root)


# ---------------------------------------------------------------- Python


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import frazil.table\n", {("table.py", "import")}),
        ("from frazil import table\n", {("table.py", "import")}),
        ("from frazil import Scan\n", {("scan.py", "import")}),
        ("from .table import Table\n", {("table.py", "import")}),
        ("from . import table\n", {("table.py", "import")}),
        ("def f():\n    from frazil.table import Table\n", {("table.py", "inside")}),
        ("class A:\n    def f(self):\n        import frazil.table\n", {("table.py", "inside")}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import frazil.table\n", {("table.py", "typing")}),
        ("try:\n    import frazil.table\nexcept ImportError:\n    pass\n", {("table.py", "import")}),
        ("import json\nfrom pyarrow import Table\n", set()),
    ],
)
def test_edges_of_python(source: str, expected: set[tuple[str, str]], tmp_path: Path) -> None:
    read = PythonGraph(plant(tmp_path, {"python/frazil/new.py": source}))
    found = {(end, reasons) for (start, end), reasons in _kinds(read).items() if start == "python/frazil/new.py"}
    assert {(end.removeprefix("python/frazil/"), kind) for end, kinds in found for kind in kinds} == expected


def test_a_package_that_hands_on_its_own_modules_imports_nothing(tmp_path: Path) -> None:
    read = PythonGraph(plant(tmp_path, {}))
    assert not [edge for edge in read.edges if edge[0] == "python/frazil/__init__.py"]


def _kinds(read: PythonGraph) -> dict[tuple[str, str], frozenset[str]]:
    return {edge: frozenset(reason.kind for reason in reasons) for edge, reasons in read.edges.items()}


# ---------------------------------------------------------------- circles


def test_circles_are_the_largest_groups_that_import_each_other() -> None:
    edges = ["ab", "bc", "ca", "cd", "de", "ed", "ef"]
    assert circles([(edge[0], edge[1]) for edge in edges]) == [["a", "b", "c"], ["d", "e"]]


def test_cuts_are_light_and_needed() -> None:
    weights = {("a", "b"): 5, ("b", "c"): 5, ("c", "a"): 1, ("c", "d"): 1}
    assert cuts(weights) == [("c", "a")]
    assert cuts(weights, preferred=[("a", "b"), ("c", "d")]) == [("a", "b")]
    assert cuts({("a", "b"): 1}) == []
