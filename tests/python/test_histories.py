"""The checker of random histories (tests/histories): it finds every kind of fault, and a short history has none."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from replay import apart, differences, replay, torn_groups

RUN = pathlib.Path(__file__).parents[1] / "histories" / "run.py"


def row(group: str, n: int, size: int = 2, value: int = 0) -> dict[str, Any]:
    return {"g": group, "n": n, "k": size, "v": value}


def logged(folder: pathlib.Path, *lines: dict[str, Any]) -> pathlib.Path:
    (folder / "log-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"begin": 9, "ve')
    return folder


def step(number: int, verb: str, group: str, how: str | None, value: int = 0) -> list[dict[str, Any]]:
    began = {"begin": number, "verb": verb, "g": group, "k": 2, "v": value}
    return [began] if how is None else [began, {"end": number, "how": how, "reason": None}]


WHOLE = [row("a", 0, value=3), row("a", 1, value=3), row("c", 0), row("c", 1)]


def history(folder: pathlib.Path) -> pathlib.Path:
    return logged(
        folder,
        *step(1, "append", "a", "done"),
        *step(2, "append", "b", "not"),
        *step(3, "update", "a", "done", value=3),
        *step(4, "append", "c", "unknown"),
        *step(5, "append", "d", "done"),
        *step(6, "delete", "d", "done"),
        *step(7, "delete", "a", None),
    )


def test_the_table_may_have_what_the_logs_say(tmp_path: pathlib.Path) -> None:
    found = replay(history(tmp_path))
    assert found.faults == []
    assert (found.counts["done"], found.counts["not"], found.counts["cut off"]) == (4, 1, 1)
    # The unknown step and the one that was cut off count or do not.
    for rows in (WHOLE, WHOLE[:2], WHOLE[2:], []):
        assert differences(found.states, rows) == []


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([*WHOLE, row("b", 0), row("b", 1)], "group b is not as it was left"),
        ([*WHOLE, row("d", 0), row("d", 1)], "group d is not as it was left"),
        ([*WHOLE, row("x", 0), row("x", 1)], "group x is not as it was left"),
        ([row("a", 0), row("a", 1)], "group a is not as it was left"),
        (WHOLE[:3], "group c is torn"),
        ([row("a", 0, value=3), row("a", 1)], "group a is torn"),
        ([*WHOLE, WHOLE[0]], "group a is doubled"),
    ],
)
def test_faults_are_found(tmp_path: pathlib.Path, rows: list[dict[str, Any]], word: str) -> None:
    (fault,) = differences(replay(history(tmp_path)).states, rows)
    assert fault.startswith(word)


def test_lost_rows_are_found(tmp_path: pathlib.Path) -> None:
    states = replay(logged(tmp_path, *step(1, "append", "a", "done"))).states
    (fault,) = differences(states, [])
    assert fault.startswith("group a is lost")
    assert torn_groups(WHOLE) == []
    assert torn_groups(WHOLE[1:]) == ["a"]


def test_faults_of_processes_are_told(tmp_path: pathlib.Path) -> None:
    folder = logged(
        tmp_path, {"read": 3, "torn": ["a"], "version": None}, {"broken": "ValueError: x"}, {"orphans": ["y"]}
    )
    assert len(replay(folder).faults) == 3


def test_tables_of_joint_changes_are_equal() -> None:
    assert apart({"t": WHOLE, "u": WHOLE[::-1]}) == []
    assert apart({"t": [], "u": []}) == []
    for other, group in ((WHOLE[:2], "c"), ([row("a", 0), row("a", 1), *WHOLE[2:]], "a"), (WHOLE[:3], "c")):
        (fault,) = apart({"t": WHOLE, "u": other})
        assert fault.startswith(f"group {group} is not the same in all tables")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", ["folder:v2-copy", "folder:keyed", "rest-faults:joint-vectors"])
def test_a_short_history(case: str) -> None:
    command = [sys.executable, str(RUN), "--minutes", "0.1", "--processes", "3", case]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"right  {case}")
