"""Commits that are tried again, because another commit was first: what records and reports tell."""

from __future__ import annotations

import logging
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from object_fixtures import bucket, files, lake, options, port, proxy
from object_server import Proxy
from observing_cases import FORMATS, SCHEMA, rows

__all__ = ["bucket", "files", "lake", "options", "port", "proxy"]

# The object that a first append to a new table publishes.
PUBLISHED = {"iceberg": r"metadata/v2\.metadata\.json", "paimon": r"snapshot/snapshot-1"}

SAID = "append of db.t was tried again, because another commit was first"


@pytest.fixture(params=FORMATS)
def overtaken(lake: fz.Catalog, proxy: Proxy, request: pytest.FixtureRequest) -> fz.Table:
    """A table whose next commit loses against one of another writer, once."""
    table = lake.create_table("db.t", SCHEMA, format=request.param)
    other = lake.load_table("db.t")

    def overtake() -> None:
        other.append(rows(7, 8))

    proxy.fault("PUT", PUBLISHED[request.param], "slow", also=overtake)
    return table


def told(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "frazil"]


def test_a_commit_after_a_conflict_is_a_warning(overtaken: fz.Table, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "frazil")
    overtaken.append(rows(1))
    overtaken.append(rows(2))
    theirs, first, second = told(caplog)
    assert [record.levelname for record in (theirs, first, second)] == ["INFO", "WARNING", "INFO"]
    figures = [(r.frazil["rows_added"], r.frazil["retries"]) for r in (theirs, first, second)]  # type: ignore[attr-defined]
    assert figures == [(2, 0), (1, 1), (1, 0)]
    facts = first.frazil  # type: ignore[attr-defined]
    assert (facts["outcome"], facts["snapshots"], facts["verb"]) == ("done", 1, "append")
    assert first.getMessage().startswith(f"{SAID}: snapshots 1, ")
    assert sorted(overtaken.scan().to_arrow()["id"].to_pylist()) == [1, 2, 7, 8]


def test_the_warning_needs_no_other_level(overtaken: fz.Table, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "frazil")
    overtaken.append(rows(1)).append(rows(2))
    (record,) = told(caplog)
    facts = record.frazil  # type: ignore[attr-defined]
    assert facts.pop("milliseconds") > 0
    expected = {"event": "commit", "verb": "append", "outcome": "done", "retries": 1, "table": "db.t"}
    assert facts == {**expected, "location": overtaken.location, "format": str(overtaken.format)}
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(f"{SAID}: retries 1, ")


def test_reports_have_the_number_of_attempts(overtaken: fz.Table) -> None:
    got: list[dict[str, Any]] = []
    with fz.on_report(got.append):
        overtaken.append(rows(1)).append(rows(2))
    # The other writer's commit ends first.
    assert [report["snapshot-id"] for report in got] == [snapshot.id for snapshot in overtaken.snapshots]
    assert [report["metrics"]["attempts"] for report in got] == [{"unit": "count", "value": n} for n in (1, 2, 1)]


def test_a_changed_schema_that_was_first(lake: fz.Catalog, proxy: Proxy, caplog: pytest.LogCaptureFixture) -> None:
    """Paimon changes schemas without a snapshot."""
    table = lake.create_table("db.t", SCHEMA, format="paimon")
    other = lake.load_table("db.t")

    def overtake() -> None:
        other.set_properties(a="b")

    proxy.fault("PUT", r"schema/schema-1", "slow", also=overtake)
    caplog.set_level(logging.WARNING, "frazil")
    table.set_properties(c="d")
    (record,) = told(caplog)
    assert record.frazil.items() >= {"verb": "set_properties", "retries": 1, "outcome": "done"}.items()  # type: ignore[attr-defined]
    found = table.refresh().properties
    assert (found["a"], found["c"]) == ("b", "d")


def test_a_transaction_over_several_tables(two_tables: fz.Catalog, caplog: pytest.LogCaptureFixture) -> None:
    """They are committed at once, and nobody else was there."""
    caplog.set_level(logging.INFO, "frazil")
    with two_tables.transaction() as several:
        several.table("db.a").append(rows(1))
        several.table("db.b").append(rows(2))
    (record,) = told(caplog)
    assert record.frazil["retries"] == 0  # type: ignore[attr-defined]


@pytest.fixture
def two_tables(tmp_path: Any) -> fz.Catalog:
    catalog = fz.catalog("sql", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    for name in ("a", "b"):
        catalog.create_table(f"db.{name}", pa.schema([pa.field("id", pa.int64(), nullable=False)]))
    return catalog
