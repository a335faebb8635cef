"""The arrows between rooms and files of the crate point down, and there are no circles."""

from pathlib import Path

import layers
import pytest
from rules import RULES
from rust_source import ROOT, library
from tiny_tree import good, plant

NAMES = [
    "room-circles",
    "file-circles",
    "arrows",
    "lower-halves",
    "seam",
    "formats-behind-tables",
    "root-modules",
    "mod-files",
    "network",
]
# No files import each other in a circle. A recursive type or a grammar may need one: then state the reason in the list.
MAX_ALLOWED_EDGES = 0


@pytest.mark.parametrize("name", NAMES)
def test_the_crate_keeps_the_rule(name: str) -> None:
    assert RULES[name].faults(ROOT) == []


def test_the_list_of_circles_gets_no_longer() -> None:
    assert len(RULES["file-circles"].allowed()) <= MAX_ALLOWED_EDGES


@pytest.mark.parametrize("name", NAMES)
def test_the_tiny_crate_keeps_the_rule(name: str, tmp_path: Path) -> None:
    assert RULES[name].offences(plant(tmp_path, {})) == []


LIB = good()["src/lib.rs"]
PLANTED = {
    "two rooms": (
        "room-circles",
        {"src/types/schema.rs": "use crate::expr::bounds::prune;\npub struct Schema;\n"},
        "expr types",
    ),
    "a child takes from its folder": (
        "file-circles",
        {
            "src/expr/mod.rs": "pub mod bounds;\npub fn f() { bounds::prune() }\n",
            "src/expr/bounds.rs": "pub fn prune() { super::f() }\n",
        },
        "src/expr/mod.rs -> src/expr/bounds.rs",
    ),
    "a handle that calls a verb": (
        "file-circles",
        {"src/iceberg/state.rs": "pub struct IcebergTable;\nimpl IcebergTable { fn f(&self) { self.scan() } }\n"},
        "src/iceberg/state.rs -> src/iceberg/scan.rs",
    ),
    "up by `use`": ("arrows", {"src/parallel.rs": "use crate::py::table::open_table;\n"}, "src/parallel.rs -> py"),
    "up by a path": (
        "arrows",
        {"src/parallel.rs": "fn f() { crate::data::read::read() }\n"},
        "src/parallel.rs -> data",
    ),
    "up by a re-export": (
        "arrows",
        {"src/types/mod.rs": "pub use crate::expr::bounds::prune;\n"},
        "src/types/mod.rs -> expr",
    ),
    "up in a macro": (
        "arrows",
        {"src/parallel.rs": "fn f() { vec![crate::data::read::read()] }\n"},
        "src/parallel.rs -> data",
    ),
    "sideways": (
        "arrows",
        {"src/paimon/state.rs": "use crate::iceberg::state::IcebergTable;\n"},
        "src/paimon/state.rs -> iceberg",
    ),
    "a new room": ("arrows", {"src/either.rs": "pub struct Either;\n"}, "room either"),
    "Arrow by `use`": (
        "lower-halves",
        {"src/iceberg/plan/tasks.rs": "use arrow::array::Array;\n"},
        "src/iceberg/plan/tasks.rs -> arrow",
    ),
    "Arrow by a path": (
        "lower-halves",
        {"src/paimon/spec/kind.rs": "fn f() -> arrow_schema::DataType { g() }\n"},
        "src/paimon/spec/kind.rs -> arrow_schema",
    ),
    "data": (
        "lower-halves",
        {"src/iceberg/manifest/entry.rs": "use crate::data::read::read;\n"},
        "src/iceberg/manifest/entry.rs -> data",
    ),
    "rows": (
        "lower-halves",
        {"src/iceberg/commit/attempt.rs": "use crate::rows::seam::Table;\n"},
        "src/iceberg/commit/attempt.rs -> rows",
    ),
    "a verb": (
        "lower-halves",
        {"src/iceberg/catalog/folder.rs": "use crate::iceberg::state::IcebergTable;\n"},
        "src/iceberg/catalog/folder.rs -> src/iceberg/state.rs",
    ),
    "a door inside of the format": (
        "seam",
        {
            "src/iceberg/table.rs": "pub struct Door;\n",
            "src/iceberg/scan.rs": "use super::table::Door;\n",
        },
        "src/iceberg/scan.rs -> src/iceberg/table.rs",
    ),
    "one format": (
        "formats-behind-tables",
        {"src/py/table.rs": "use crate::iceberg::state::IcebergTable;\n"},
        "src/py/table.rs",
    ),
    "one format by a path": (
        "formats-behind-tables",
        {"src/py/table.rs": "fn f() { crate::paimon::state::PaimonTable; }\n"},
        "src/py/table.rs",
    ),
    "both in one file": (
        "formats-behind-tables",
        {"src/py/table.rs": "use crate::iceberg::state::IcebergTable;\nuse crate::paimon::state::PaimonTable;\n"},
        "src/py/table.rs",
    ),
    "both in one room": (
        "formats-behind-tables",
        {
            "src/py/table.rs": "use crate::iceberg::state::IcebergTable;\n",
            "src/py/scan.rs": "use crate::paimon::state::PaimonTable;\n",
        },
        "src/py/scan.rs",
    ),
    "a module too many": ("root-modules", {"src/lib.rs": LIB + "/// More.\npub mod more;\n"}, "src/lib.rs"),
    "a silent module": ("root-modules", {"src/lib.rs": LIB.replace("/// Filters.\n", "")}, "src/lib.rs mod expr"),
    "a function": ("mod-files", {"src/rows/mod.rs": "pub mod seam;\nfn f() {}\n"}, "src/rows/mod.rs"),
    "a type": ("mod-files", {"src/rows/mod.rs": "pub mod seam;\npub struct Rows;\n"}, "src/rows/mod.rs"),
    "a module with a body": ("mod-files", {"src/rows/mod.rs": "pub mod seam {}\n"}, "src/rows/mod.rs"),
    "async": ("network", {"src/data/read.rs": "async fn f() {}\n"}, "src/data/read.rs"),
    "a client": ("network", {"src/data/read.rs": "fn f() -> reqwest::Client { g() }\n"}, "src/data/read.rs"),
}


@pytest.mark.parametrize(("name", "changed", "where"), PLANTED.values(), ids=PLANTED)
def test_a_planted_offence_is_seen(name: str, changed: dict[str, str], where: str, tmp_path: Path) -> None:
    assert where in {offence.where for offence in RULES[name].offences(plant(tmp_path, changed))}


def test_every_rule_has_a_planted_offence() -> None:
    assert {name for name, _, _ in PLANTED.values()} == set(NAMES)


def test_there_is_code_to_check() -> None:
    assert {room for row in layers.ROWS for room in row} == {file.room for file in library()} - {"lib"}
