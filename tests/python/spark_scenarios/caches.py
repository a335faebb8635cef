"""Cached views, and views that are always new."""

from __future__ import annotations

from typing import Any

import frazil as fz
from spark_scenarios.case import DIFFERS, MAIN, Check, Do, Scenario, Step, query

NOTE = "a view that Spark has cached keeps its rows; `fz.spark.view` with `fz.spark.sql` shows the newest ones"


def cached(of: str, name: str, select: str, change: str, old: Any, new: Any, *before: Step, **more: Any) -> Scenario:
    """A query of a view is cached, and another view is not. Then the table changes."""

    def start(run: Any) -> None:
        frame = fz.spark.sql(run.spark, select.replace("{v}", "lake.db.t"), catalogs={"lake": run.catalog})
        frame.createOrReplaceTempView("kept")
        run.spark.catalog.cacheTable("kept")
        fz.spark.view(run.spark, "fresh", run.table)
        run.views |= {"kept", "fresh"}
        assert _rows(run.spark.table("kept")) == sorted(old, key=repr)

    def after(run: Any) -> None:
        assert _rows(run.spark.table("kept")) == sorted(old, key=repr)

    fresh = select.replace("{v}", "fresh")
    steps = (*before, Check(start), query(fresh, *old), Do(change), query(fresh, *new), Check(after))
    return Scenario(of, name, steps, result=DIFFERS, note=NOTE, modes=MAIN, **more)


def _rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)
