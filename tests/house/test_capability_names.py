"""Python asks for capabilities by the names that the core reads."""

import ast
import re

import pytest
from rust_source import ROOT

RUST = ROOT / "src" / "rows" / "seam" / "capabilities.rs"
PYTHON = ROOT / "python" / "frazil" / "capabilities.py"


def names_in_rust(kind: str, source: str) -> list[str]:
    """The names that `kind::parse` reads."""
    return re.findall(rf'"(\w+)" => {kind}::\w+', source)


def names_in_python(alias: str, source: str) -> list[str]:
    """The texts of a `Literal`."""
    (value,) = (
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == alias
    )
    assert value is not None
    return [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]


@pytest.mark.parametrize(("kind", "alias"), [("TableCapability", "Capability"), ("ScanCapability", "ScanCapability")])
def test_both_lists_are_the_same(kind: str, alias: str) -> None:
    rust, python = names_in_rust(kind, RUST.read_text("utf-8")), names_in_python(alias, PYTHON.read_text("utf-8"))
    assert rust == python
    # Each variant of the enumeration has a name.
    (body,) = re.findall(rf"pub enum {kind} \{{(.*?)\n\}}", RUST.read_text("utf-8"), re.DOTALL)
    variants = re.findall(r"^    (\w+),$", body, re.MULTILINE)
    assert [variant.lower() for variant in variants] == [name.replace("_", "") for name in rust]


def test_another_name_would_be_found() -> None:
    rust = 'match name { "a" => TableCapability::A, "b" => TableCapability::B }'
    python = 'Capability: TypeAlias = Literal["a"]'
    assert names_in_rust("TableCapability", rust) == ["a", "b"]
    assert names_in_python("Capability", python) == ["a"]
