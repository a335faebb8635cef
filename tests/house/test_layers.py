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
    "plain-modules",
    "foreign-names",
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
    "Arrow of Parquet": (
        "lower-halves",
        {"src/iceberg/plan/tasks.rs": "use parquet::arrow::arrow_reader::RowFilter;\n"},
        "src/iceberg/plan/tasks.rs -> parquet",
    ),
    "Parquet by a path": (
        "lower-halves",
        {"src/paimon/plan/tasks.rs": "fn f() { parquet::arrow::parquet_to_arrow_schema(a, b) }\n"},
        "src/paimon/plan/tasks.rs -> parquet",
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
    "another name for a format's type": (
        "formats-behind-tables",
        {
            "src/tables/open.rs": "use crate::iceberg::state::IcebergTable;\npub type Opened = IcebergTable;\n",
            "src/py/table.rs": "use crate::tables::open::Opened;\n",
        },
        "src/tables/open.rs",
    ),
    "another name by a path": (
        "formats-behind-tables",
        {"src/tables/open.rs": "pub(crate) type Opened = Option<crate::paimon::state::PaimonTable>;\n"},
        "src/tables/open.rs",
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
    "a module with an empty line": (
        "root-modules",
        {"src/lib.rs": LIB.replace("/// Filters.\n", "///\n")},
        "src/lib.rs mod expr",
    ),
    "a silent module": ("root-modules", {"src/lib.rs": LIB.replace("/// Filters.\n", "")}, "src/lib.rs mod expr"),
    "a function": ("mod-files", {"src/rows/mod.rs": "pub mod seam;\nfn f() {}\n"}, "src/rows/mod.rs"),
    "a type": ("mod-files", {"src/rows/mod.rs": "pub mod seam;\npub struct Rows;\n"}, "src/rows/mod.rs"),
    "a module with a body": ("mod-files", {"src/rows/mod.rs": "pub mod seam {}\n"}, "src/rows/mod.rs"),
    "async": ("network", {"src/data/read.rs": "async fn f() {}\n"}, "src/data/read.rs"),
    "a database": ("network", {"src/data/read.rs": "use tokio_postgres::Client;\n"}, "src/data/read.rs"),
    "futures": ("network", {"src/data/read.rs": "fn f() { futures_util::future::join(a, b) }\n"}, "src/data/read.rs"),
    "a socket": ("network", {"src/data/read.rs": "use std::{fmt, net::TcpStream};\n"}, "src/data/read.rs"),
    "a file": ("network", {"src/data/read.rs": "fn f() { std::fs::read(path) }\n"}, "src/data/read.rs"),
    "a file by another name": ("network", {"src/data/read.rs": "use std::fs as disk;\n"}, "src/data/read.rs"),
    "another program": ("network", {"src/data/read.rs": "use std::process::Command;\n"}, "src/data/read.rs"),
    "a future": ("network", {"src/data/read.rs": "fn f() -> impl std::future::Future { g() }\n"}, "src/data/read.rs"),
    "a file in another": ("plain-modules", {"src/data/read.rs": 'include!("more.rs");\n'}, "src/data/read.rs"),
    "a file elsewhere": (
        "plain-modules",
        {"src/rows/mod.rs": '#[path = "../py/seam.rs"]\npub mod seam;\n'},
        "src/rows/mod.rs",
    ),
    "tests that are compiled": (
        "plain-modules",
        {"src/data/mod.rs": "pub mod read;\nmod read_tests;\n", "src/data/read_tests.rs": ""},
        "src/data/mod.rs",
    ),
    "a folder of tests that is compiled": (
        "plain-modules",
        {"src/data/mod.rs": "pub mod read;\nmod tests;\n", "src/data/tests/mod.rs": ""},
        "src/data/mod.rs",
    ),
    "the crate by its name": (
        "plain-modules",
        {"src/parallel.rs": "fn f() { frazil::py::table::open_table() }\n"},
        "src/parallel.rs",
    ),
    "the crate by another name": (
        "plain-modules",
        {"src/parallel.rs": "extern crate self as whole;\n"},
        "src/parallel.rs",
    ),
    "a macro for all": (
        "plain-modules",
        {"src/py/table.rs": "#[macro_export]\nmacro_rules! m { () => {} }\n"},
        "src/py/table.rs",
    ),
    "Arrow for a lower half": (
        "foreign-names",
        {"src/expr/bounds.rs": "pub use arrow::array::Array;\n"},
        "src/expr/bounds.rs",
    ),
    "Arrow as a type": (
        "foreign-names",
        {"src/iceberg/spec/metadata.rs": "pub type Rows = Vec<arrow::array::ArrayRef>;\n"},
        "src/iceberg/spec/metadata.rs",
    ),
    "JSON for Python": (
        "foreign-names",
        {"src/rows/seam.rs": "use serde_json::Value;\npub(crate) type Facts = Value;\n"},
        "src/rows/seam.rs",
    ),
    "the network for all": (
        "foreign-names",
        {"src/store/http.rs": "pub(crate) use reqwest::Client;\n"},
        "src/store/http.rs",
    ),
    "a client": ("network", {"src/data/read.rs": "fn f() -> reqwest::Client { g() }\n"}, "src/data/read.rs"),
}


@pytest.mark.parametrize(("name", "changed", "where"), PLANTED.values(), ids=PLANTED)
def test_a_planted_offence_is_seen(name: str, changed: dict[str, str], where: str, tmp_path: Path) -> None:
    assert where in {offence.where for offence in RULES[name].offences(plant(tmp_path, changed))}


def test_every_rule_has_a_planted_offence() -> None:
    assert {name for name, _, _ in PLANTED.values()} == set(NAMES)


def test_rooms_above_the_lower_halves_may_name_arrow(tmp_path: Path) -> None:
    changed = {"src/data/read.rs": "use arrow::array::ArrayRef;\npub type Rows = Vec<ArrayRef>;\n"}
    assert RULES["foreign-names"].offences(plant(tmp_path, changed)) == []


def test_there_is_code_to_check() -> None:
    assert {room for row in layers.ROWS for room in row} == {file.room for file in library()} - {"lib"}
