"""The lists of allowed offences can only get shorter."""

import ast
from pathlib import Path

import check  # enters all rules
import pytest
import rules
from rules import RULES, Offence, Rule

OFFENCES = [Offence("a.rs", "first"), Offence("b.rs", "second"), Offence("b.rs", "third")]


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rule:
    monkeypatch.setattr(rules, "ALLOWED", tmp_path)
    return Rule("planted", lambda root: OFFENCES, counts=False)


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rule:
    monkeypatch.setattr(rules, "ALLOWED", tmp_path)
    return Rule("planted", lambda root: OFFENCES, counts=True)


def test_a_new_offence_is_a_fault(listed: Rule, tmp_path: Path) -> None:
    listed.write({"a.rs": "a grammar is recursive"})
    assert listed.faults(tmp_path) == ["b.rs: second", "b.rs: third"]


def test_a_mended_offence_has_to_leave_the_list(listed: Rule, tmp_path: Path) -> None:
    listed.write({"a.rs": "why", "b.rs": "why", "c.rs": "why"})
    (fault,) = listed.faults(tmp_path)
    assert fault.startswith("c.rs: repaired")
    listed.shrink(tmp_path)
    assert listed.allowed() == {"a.rs": "why", "b.rs": "why"}
    assert listed.faults(tmp_path) == []


def test_an_allowed_offence_needs_a_reason(listed: Rule, tmp_path: Path) -> None:
    listed.write({"a.rs": "", "b.rs": "why"})
    (fault,) = listed.faults(tmp_path)
    assert fault.startswith("a.rs: give a reason")


def test_a_count_may_not_grow(counted: Rule, tmp_path: Path) -> None:
    counted.write({"a.rs": "1", "b.rs": "1"})
    assert counted.faults(tmp_path) == ["b.rs: 2 offences, 1 allowed:", "    second", "    third"]


def test_a_count_follows_when_it_falls(counted: Rule, tmp_path: Path) -> None:
    counted.write({"a.rs": "1", "b.rs": "5", "c.rs": "1"})
    assert len(counted.faults(tmp_path)) == 2
    counted.shrink(tmp_path)
    assert counted.allowed() == {"a.rs": "1", "b.rs": "2"}
    assert counted.faults(tmp_path) == []


def test_shrinking_allows_nothing_new(listed: Rule, counted: Rule, tmp_path: Path) -> None:
    for rule in (listed, counted):
        rule.shrink(tmp_path)
        assert rule.allowed() == {}


def test_accepting_keeps_known_reasons(listed: Rule, tmp_path: Path) -> None:
    listed.write({"a.rs": "a grammar is recursive"})
    listed.accept(tmp_path, "older than the rule")
    assert listed.allowed() == {"a.rs": "a grammar is recursive", "b.rs": "older than the rule"}


def test_every_list_belongs_to_a_rule() -> None:
    assert check.RULE_MODULES
    assert {path.stem for path in rules.ALLOWED.glob("*")} <= set(RULES)


def test_every_rule_is_tested() -> None:
    """Each file of rules has a test that lists their names; that test wants a planted offence for each."""
    tested = {
        element.value
        for path in Path(__file__).parent.glob("test_*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "NAMES"
        for element in ast.walk(node.value)
        if isinstance(element, ast.Constant)
    }
    assert tested == set(RULES)


def test_no_list_gets_longer() -> None:
    """Few offences are allowed. A new one needs a better reason than a line in a list.

    Users give JSON to `variant.from_json`, so it has to be read. The command line prints JSON and appends files of it.
    """
    assert {name: list(rule.allowed()) for name, rule in RULES.items() if rule.allowed()} == {
        "python-json": [
            "python/frazil/cli/data_files.py",
            "python/frazil/cli/json_text.py",
            "python/frazil/doctor/__init__.py",
            "python/frazil/interop/variant_values.py",
            "python/frazil/spark/wire.py",
        ]
    }
