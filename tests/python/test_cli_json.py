"""The JSON of commands that change something has the members that the reference lists."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from frazil.cli import main
from frazil.maintain import Compacted, RewrittenDeletes

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
CLASSES: dict[str, Any] = {kind.__name__: kind for kind in (Compacted, RewrittenDeletes)}
CHANGES: dict[str, tuple[str, ...]] = {
    "create": ("-c", "id long"),
    "append": ("rows.csv",),
    "set": ("owner=ada",),
    "unset": ("owner",),
    "branch": ("side",),
    "tag": ("first",),
    "compact": ("--all",),
    "rewrite-manifests": (),
    "rewrite-deletes": (),
    "rollback": ("first",),
    "expire": ("--older-than", "1d"),
    "orphans": (),
    "repair": (),
    "upgrade": ("3",),
    "drop": (),
}
"""Arguments after the table, in the order of the commands."""


def members(cell: str) -> set[str]:
    """The names in a cell of the table; of a class, its fields."""
    names = re.findall(r"`([^`]+)`", cell)
    if (name := names[0]) in CLASSES:
        return set(CLASSES[name]._fields)
    return {name for name in names if not name.startswith("table.")}


def documented() -> dict[str, tuple[set[str], set[str]]]:
    table = PAGE.read_text("utf-8").split("| command | members of `plan` | members of `result` |\n|---|---|---|\n")[1]
    found: dict[str, tuple[set[str], set[str]]] = {}
    for line in table.split("\n\n")[0].splitlines():
        commands, plan, result = line.strip("| ").split(" | ")
        for command in re.findall(r"`([^`]+)`", commands):
            found[command] = members(plan), members(result)
    return found


def test_plans_and_results(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("id\n1\n2\n", "utf-8")
    forms = documented()
    assert set(forms) == set(CHANGES)
    for command, arguments in CHANGES.items():
        for way in ("--dry-run", "--yes"):
            code = main([command, "lake/db/t", *arguments, way, "--json"])
            printed = capsys.readouterr()
            assert (code, printed.err) == (0, ""), command
            found = json.loads(printed.out)
            assert set(found) == {"done", "plan", "result"}
            assert found["done"] == (way == "--yes")
            assert set(found["plan"]) == forms[command][0], command
            assert (set(found["result"]) == forms[command][1]) if found["done"] else found["result"] is None, command
