"""The stored lists of public names are those of the code: a change of the interface has to touch them."""

from pathlib import Path

import pytest
from public_names import LISTS, differences, python_names, rust_names, stored
from rust_source import ROOT
from tiny_tree import plant


@pytest.mark.parametrize("name", LISTS)
def test_the_stored_names_are_those_of_the_code(name: str) -> None:
    found = differences(stored(name), LISTS[name](ROOT))
    assert found == [], "if the change is meant, run `make public-names` and commit the list"


RUST = {
    "src/types/mod.rs": """
mod schema;
pub(crate) mod inner;
pub use schema::{Schema, Kind as SchemaKind};
pub(crate) use schema::Hidden;
pub fn parse() {}
fn private() {}
""",
    "src/types/schema.rs": """
pub struct Schema;
pub enum Kind {}
pub struct Hidden;
impl Schema {
    pub fn check(&self) {}
    pub(crate) fn inner(&self) {}
}
""",
    "src/types/inner.rs": "pub struct Inner;\n",
}


def test_public_names_of_rust(tmp_path: Path) -> None:
    found = [line for line in rust_names(plant(tmp_path, RUST)) if "types" in line]
    assert found == [
        "frazil mod types",
        "frazil::types enum SchemaKind",
        "frazil::types fn parse",
        "frazil::types struct Schema",
        "frazil::types::Schema fn check",
    ]


PYTHON = {
    "python/frazil/__init__.py": """
from frazil._core import Task
from frazil.scan import Scan, open
__all__ = ["Scan", "Task", "open"]
""",
    "python/frazil/_core.pyi": """
class Task:
    @property
    def path(self) -> str: ...
""",
    "python/frazil/scan.py": """
from frazil.table import Table

class Scan:
    def __init__(self, rows):
        self.rows = rows
        self._hidden = rows
    def table(self, name: str, *, at: int | None = None) -> Table: ...
    def _private(self): ...

def open(path: str) -> Scan: ...
def closed(): ...
""",
    "python/frazil/table.py": "class Table:\n    version: int\n    name = 'a'\n",
}


def test_public_names_of_python(tmp_path: Path) -> None:
    assert python_names(plant(tmp_path, PYTHON)) == [
        "frazil.Scan class()",
        "frazil.Scan.__init__ (self, rows) -> ?",
        "frazil.Scan.rows value",
        "frazil.Scan.table (self, name: str, *, at: int | None=None) -> Table",
        "frazil.Task class()",
        "frazil.Task.path: str",
        "frazil.open (path: str) -> Scan",
        "frazil.table.Table class()",
        "frazil.table.Table.name value",
        "frazil.table.Table.version: int",
    ]


@pytest.mark.parametrize(
    ("read", "file", "old", "new"),
    [
        (rust_names, "src/expr/bounds.rs", "pub fn prune(_: &Schema) {}\n", "pub fn pruned() {}\n"),
        (python_names, "python/frazil/schema.py", "class Schema:\n    pass\n", "class Other:\n    pass\n"),
    ],
)
def test_a_changed_name_is_seen(read, file: str, old: str, new: str, tmp_path: Path) -> None:
    listed = {"python/frazil/__init__.py": 'from frazil.schema import Schema\n__all__ = ["Schema"]\n'}
    before = read(plant(tmp_path / "before", {**listed, file: old}))
    after = read(plant(tmp_path / "after", {**listed, file: new}))
    assert differences(before, after)
