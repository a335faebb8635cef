"""Reports of scans and commits that a REST server gets."""

from __future__ import annotations

import multiprocessing
import time
from typing import Any

import pytest

import frazil as fz
from rest_cases import SCHEMA, ids, one, opened
from rest_fixtures import catalog, server
from rest_server import Answer, Fault, RestServer

__all__ = ["catalog", "server"]
OFF = {"rest-metrics-reporting-enabled": "false"}


def reports(server: RestServer, count: int) -> list[dict[str, Any]]:
    end = time.monotonic() + 10
    while len(server.service.reports) < count and time.monotonic() < end:
        time.sleep(0.02)
    return server.service.reports


def test_metrics_are_reported(server: RestServer, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA).append(one(1))
    table.scan("id > 0").to_arrow()
    kinds = [report["report-type"] for report in reports(server, 2)]
    assert sorted(kinds) == ["commit-report", "scan-report"]
    scan = next(report for report in server.service.reports if report["report-type"] == "scan-report")
    assert (scan["table-name"], scan["projected-field-names"]) == ("prod.db.t", ["id"])


def test_what_a_scan_tells(server: RestServer, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA, partition_by=["bucket(4, id)"])
    table = table.append(one(7)).append(one(1))
    reports(server, 2)
    server.reset()
    assert table.scan("id = 7").to_arrow().num_rows == 1
    (report,) = reports(server, 1)
    assert report["snapshot-id"] == table.snapshot.id
    assert report["schema-id"] == table.schema.id
    assert report["projected-field-ids"] == [1]
    # No report has a literal of a filter.
    assert report["filter"] == {"type": "eq", "term": "id", "value": "(1-digit-int)"}
    metrics = report["metrics"]
    value = {name: metric["value"] for name, metric in metrics.items() if "value" in metric}
    assert value["total-data-manifests"] == 2
    assert value["scanned-data-manifests"] + value["skipped-data-manifests"] == 2
    assert (value["result-data-files"], value["result-delete-files"]) == (1, 0)
    assert metrics["total-file-size-in-bytes"]["unit"] == "bytes"
    assert metrics["total-planning-duration"]["time-unit"] == "nanoseconds"
    assert report["metadata"]["engine-name"] == "frazil"
    # Plans that were not finished, and those of the server, are not reported.
    server.reset()
    next(iter(table.scan().plan_files()))
    server.switches.change({"planning_mode": "server"})
    opened(server).load_table("db.t").scan().to_arrow()
    time.sleep(0.3)
    assert server.service.reports == []


def test_what_a_commit_tells(server: RestServer, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    stale = table
    table.append(one(1))
    reports(server, 1)
    server.reset()
    table = stale.append(one(2, 3))
    (report,) = reports(server, 1)
    assert report["report-type"] == "commit-report"
    assert (report["snapshot-id"], report["sequence-number"]) == (table.snapshot.id, 2)
    assert report["operation"] == "append"
    metrics = report["metrics"]
    assert metrics["added-records"] == {"unit": "count", "value": 2}
    assert metrics["total-data-files"] == {"unit": "count", "value": 2}
    assert metrics["added-files-size-bytes"]["unit"] == "bytes"
    assert metrics["attempts"]["value"] == 1
    server.reset()
    # A change of properties makes no snapshot.
    table.set_properties({"a": "b"})
    time.sleep(0.3)
    assert server.service.reports == []


def test_attempts_are_counted(server: RestServer, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    server.service.faults.plant(Fault("updateTable", "409"))
    table.append(one(1))
    assert reports(server, 1)[0]["metrics"]["attempts"]["value"] == 2


def test_reports_can_be_switched_off(server: RestServer, catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA)
    opened(server, **OFF).load_table("db.t").append(one(1)).scan().to_arrow()
    server.switches.change({"without": ("reportMetrics",)})
    opened(server).load_table("db.t").append(one(2)).scan().to_arrow()
    server.switches.change({"without": (), "overrides": OFF})
    opened(server).load_table("db.t").append(one(3)).scan().to_arrow()
    time.sleep(0.3)
    assert "reportMetrics" not in server.counts()


@pytest.mark.parametrize("kind", ["500", "timeout", "reset", "cut"])
def test_a_report_that_fails_is_nobodys_concern(server: RestServer, catalog: fz.Catalog, kind: str) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    server.service.faults.plant(Fault("reportMetrics", kind, times=100, seconds=20))
    began = time.monotonic()
    for value in range(12):
        table = table.append(one(value))
    assert table.scan().count() == 12
    assert time.monotonic() - began < 60


def test_a_refused_report_is_not_repeated(server: RestServer, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    server.service.faults.change("reportMetrics", lambda _: Answer(503, None, {}), times=10)
    table.append(one(1))
    end = time.monotonic() + 30
    while "reportMetrics" not in server.counts() and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.5)
    assert server.counts()["reportMetrics"] == 1


def _scanned(table: fz.Table) -> None:
    assert table.scan().count() == 1


def test_a_forked_process_reports_too(server: RestServer, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA).append(one(1))
    reports(server, 1)

    process = multiprocessing.get_context("fork").Process(target=_child, args=(table,))
    process.start()
    process.join(30)
    assert process.exitcode == 0
    assert [r["report-type"] for r in reports(server, 2)] == ["commit-report", "scan-report"]
    assert ids(table) == [1]


def _child(table: fz.Table) -> None:
    _scanned(table)
    # The process lives until its report is sent.
    time.sleep(1)


def test_headers_of_a_function(server: RestServer, catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA)
    found = fz.catalog("own", type="rest", uri=server.url, headers=lambda: {"X-Own": "1"})
    found.load_table("db.t").append(one(1))
    assert [r["table-name"] for r in reports(server, 1)] == ["own.db.t"]
