"""Runs the steps of a scenario."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from spark_scenarios.case import Append, Branch, Check, Do, Fails, Mode, Rows, Scenario, Set, Step, Summary, View

NAME = "lake.db.t"
FIGURES = ("changed-partition-count", "deleted-data-files", "added-delete-files", "added-data-files")
COMMANDS = ("delete", "update", "merge")


class Run:
    """The state of a scenario: a session, a catalog, and the table `lake.db.t`."""

    def __init__(self, spark: Any, catalog: fz.Catalog, scenario: Scenario, mode: Mode) -> None:
        self.spark, self.catalog, self.scenario, self.mode = spark, catalog, scenario, mode
        self.branch: str | None = None
        self.settings: dict[str, str | None] = {}
        self.views: set[str] = set()

    @property
    def table(self) -> fz.Table:
        """The table at its newest version."""
        return self.catalog.load_table("db.t")

    @property
    def snapshot(self) -> Any:
        """The newest snapshot of the target."""
        return self.table.snapshots[-1]

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        target = f"{NAME}.branch_{self.branch}" if self.branch else NAME
        selected = f"{NAME} VERSION AS OF '{self.branch}'" if self.branch else NAME
        for mark, value in {"{t}": target, "{s}": selected, "{main}": NAME}.items():
            statement = statement.replace(mark, value)
        frame = fz.spark.sql(self.spark, statement, catalogs={"lake": self.catalog})
        return [_plain(row) for row in frame.collect()]

    def create(self) -> None:
        """Makes the table of the scenario, its first file, and the branch."""
        one = self.scenario
        if not one.columns:
            return
        properties = {f"write.{command}.mode": self.mode.write for command in COMMANDS}
        properties |= {"format-version": str(self.mode.version), **one.properties}
        said = ", ".join(f"'{key}'='{value}'" for key, value in properties.items())
        self.sql(f"CREATE TABLE {NAME} ({one.columns}) USING iceberg {one.partitioned} TBLPROPERTIES ({said})")
        if one.rows:
            self.append(one.rows, main=True)
            self.make_branch()

    def append(self, rows: tuple[tuple[Any, ...], ...], *, main: bool = False) -> None:
        """Adds one data file."""
        table = self.table
        schema = pa.schema(table.schema)
        lists = list(zip(*rows, strict=True))
        columns = [pa.array(values, field.type) for values, field in zip(lists, schema, strict=True)]
        table.append(pa.table(columns, schema=schema), branch=None if main else self.branch)

    def make_branch(self) -> None:
        """Makes the branch of the mode."""
        if self.mode.branch is not None:
            self.branch = self.mode.branch
            self.table.refs.create_branch(self.branch)

    def do(self, step: Step) -> None:
        """One step."""
        if isinstance(step, Do):
            self.sql(step.statement)
        elif isinstance(step, Rows):
            found = self.sql(step.query)
            assert sorted(found, key=repr) == sorted(step.expected, key=repr), step.query
        elif isinstance(step, Fails):
            before = self.table.snapshots if self.scenario.columns else ()
            with pytest.raises(Exception) as caught:  # noqa: PT011 - the words of the message are checked
                self.sql(step.statement)
            assert re.search(step.words, str(caught.value), re.IGNORECASE | re.DOTALL), str(caught.value)[:2000]
            assert not self.scenario.columns or self.table.snapshots == before
        elif isinstance(step, View):
            self.spark.sql(step.query).createOrReplaceTempView(step.name)
            self.views.add(step.name)
        elif isinstance(step, Append):
            self.append(step.rows, main=step.main)
        elif isinstance(step, Branch):
            self.make_branch()
        elif isinstance(step, Set):
            self._set(step.settings)
        elif isinstance(step, Summary):
            self._summary(step)
        elif isinstance(step, Check):
            assert step.function(self) is not False

    def _set(self, settings: Mapping[str, str | None]) -> None:
        for name, value in settings.items():
            self.settings.setdefault(name, self.spark.conf.get(name, None))
            self._one(name, value)

    def _one(self, name: str, value: str | None) -> None:
        if value is None:
            self.spark.conf.unset(name)
        else:
            self.spark.conf.set(name, value)

    def _summary(self, step: Summary) -> None:
        expected = step.copied if self.mode.write == "copy-on-write" else step.deleted
        if expected is None:
            return
        snapshot = self.snapshot
        found = (snapshot.operation, *(snapshot.summary.get(figure) for figure in FIGURES))
        assert found == expected, snapshot.summary
        if self.mode.version >= 3:
            assert snapshot.summary.get("added-dvs") == expected[3], snapshot.summary

    def end(self) -> None:
        """Removes the settings and views."""
        for name, value in self.settings.items():
            self._one(name, value)
        for view in self.views:
            with suppress(Exception):
                self.spark.catalog.uncacheTable(view)
            self.spark.catalog.dropTempView(view)


def _plain(value: Any) -> Any:
    """Rows as tuples, at every depth."""
    if isinstance(value, tuple):
        return tuple(_plain(one) for one in value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value
