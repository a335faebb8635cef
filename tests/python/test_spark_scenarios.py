"""The scenarios of Iceberg's own tests of MERGE, UPDATE, DELETE and partition fields in Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import frazil as fz
from spark_scenarios.case import SAME, Mode, Scenario
from spark_scenarios.page import METHODS, SCENARIOS, page_of_scenarios
from spark_scenarios.run import Run

pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")
pytestmark = pytest.mark.spark

CASES = [
    pytest.param(one, mode, id=f"{one.of}-{one.name}-{mode.name}")
    for one in SCENARIOS
    if one.steps
    for mode in one.modes
]


@pytest.mark.parametrize(("scenario", "mode"), CASES)
def test_scenario(spark: Any, tmp_path: Path, scenario: Scenario, mode: Mode) -> None:
    lake = fz.catalog("lake", warehouse=tmp_path / "lake")
    lake.create_namespace("db")
    run = Run(spark, lake, scenario, mode)
    try:
        run.create()
        for step in scenario.steps:
            run.do(step)
    finally:
        run.end()


def test_every_scenario_is_there_once() -> None:
    names = [(one.of, one.name) for one in SCENARIOS]
    assert len(set(names)) == len(names)
    assert {of: sum(one.of == of for one in SCENARIOS) for of in METHODS} == METHODS
    assert [one.name for one in SCENARIOS if one.result != SAME and not one.note] == []


def test_the_page_lists_these_scenarios() -> None:
    page = Path(__file__).parents[2] / "docs/internals/spark-scenarios.md"
    hint = "run: python tests/python/spark_scenarios/page.py docs/internals/spark-scenarios.md"
    assert page.read_text("utf-8") == page_of_scenarios(), hint
