"""Reports of scans and commits, which `frazil.on_report` gives to functions."""

from __future__ import annotations

import logging
import multiprocessing
import pickle
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import frazil as fz
from observing_cases import FORMATS, SCHEMA, made, parted, rows
from rest_cases import one
from rest_fixtures import catalog as rest_catalog
from rest_fixtures import server
from rest_server import RestServer

__all__ = ["rest_catalog", "server"]


def server_reports(server: RestServer, count: int) -> list[dict[str, Any]]:
    end = time.monotonic() + 10
    while len(server.service.reports) < count and time.monotonic() < end:
        time.sleep(0.02)
    return server.service.reports


def without_times(report: dict[str, Any]) -> dict[str, Any]:
    metrics = {name: metric for name, metric in report["metrics"].items() if "time-unit" not in metric}
    # The server's name of the table begins with the catalog.
    return {**report, "metrics": metrics, "table-name": report["table-name"].removeprefix("prod.")}


def test_reports_are_those_of_a_server(server: RestServer, rest_catalog: fz.Catalog) -> None:
    table = rest_catalog.create_table("db.t", SCHEMA)
    got: list[dict[str, Any]] = []
    with fz.on_report(got.append):
        table.append(one(1, 2))
        server.fault("updateTable", "409")
        table.append(one(3)).delete("id = 3")
        assert len(server_reports(server, 3)) == 3
        sent = sorted(server.service.reports, key=lambda report: report["sequence-number"])
        for own, its, attempts in zip(got, sent, (1, 2, 1), strict=True):
            own, its = without_times(own), without_times(its)
            assert own["metrics"]["attempts"] == {"unit": "count", "value": attempts}
            assert own == its
        assert got[0]["metrics"]["added-records"] == {"unit": "count", "value": 2}
        got.clear()
        server.reset()
        list(table.scan().plan_files())
        (own,), (its,) = got, server_reports(server, 1)
        assert own["metrics"]["result-data-files"] == {"unit": "count", "value": 1}
        assert own["metrics"]["total-planning-duration"]["time-unit"] == "nanoseconds"
        assert set(own["metrics"]) == set(its["metrics"])
        assert without_times(own) == without_times(its)


def values(report: dict[str, Any]) -> dict[str, int]:
    return {name: metric["value"] for name, metric in report["metrics"].items() if "value" in metric}


def sizes(scan: fz.Scan) -> int:
    return sum(Path(task.data_file.path.removeprefix("file://")).stat().st_size for task in scan.plan_files())


def test_metrics_of_a_plan_with_deletes(tmp_path: Path) -> None:
    table = parted(tmp_path, "iceberg").set_properties({"write.delete.mode": "merge-on-read"})
    table.delete("id = 2")
    scan = table.scan("part = 1")
    expected = {
        # The manifest of the second partition is skipped, and then the file of the third.
        "total-data-manifests": 3,
        "scanned-data-manifests": 2,
        "skipped-data-manifests": 1,
        "result-data-files": 2,
        "skipped-data-files": 1,
        # One file of position deletes, of one data file.
        "total-delete-manifests": 1,
        "scanned-delete-manifests": 1,
        "skipped-delete-manifests": 0,
        "result-delete-files": 1,
        "skipped-delete-files": 0,
        "indexed-delete-files": 1,
        "positional-delete-files": 1,
        "equality-delete-files": 0,
        "dvs": 0,
        "total-file-size-in-bytes": sizes(scan),
        "total-delete-file-size-in-bytes": sum(
            Path(delete.path.removeprefix("file://")).stat().st_size
            for task in scan.plan_files()
            for delete in task.deletes
        ),
    }
    got: list[dict[str, Any]] = []
    with fz.on_report(got.append):
        scan.plan()
        scan.explain()
        scan.to_arrow()
        list(scan.to_arrow_batch_reader())
    assert [values(report) for report in got] == [expected] * 4
    timed = ["total-planning-duration" in report["metrics"] for report in got]
    assert timed == [True, True, False, False]
    assert got[0]["metrics"]["total-file-size-in-bytes"]["unit"] == "bytes"


def test_metrics_of_a_plan_of_paimon(tmp_path: Path) -> None:
    scan = parted(tmp_path, "paimon").scan("part = 1")
    expected = {
        "total-data-manifests": 3,
        "scanned-data-manifests": 2,
        "skipped-data-manifests": 1,
        "result-data-files": 2,
        "skipped-data-files": 2,
        "result-delete-files": 0,
        "dvs": 0,
        "total-file-size-in-bytes": sizes(scan),
        "total-delete-file-size-in-bytes": 0,
    }
    got: list[dict[str, Any]] = []
    with fz.on_report(got.append):
        scan.plan()
        scan.to_arrow()
    assert [values(report) for report in got] == [expected] * 2


@pytest.mark.parametrize("table_format", FORMATS)
def test_reports_of_every_catalog(tmp_path: Path, table_format: str) -> None:
    table = made(tmp_path, table_format)
    got: list[dict[str, Any]] = []
    with fz.on_report(got.append):
        table.append(rows(1, 2))
        table.scan("id > 0", select=["id"]).to_arrow()
        table.set_properties(a="b")
        table.maintain.compact()
    commit, scan = got
    assert (commit["report-type"], commit["table-name"]) == ("commit-report", "db.t")
    assert (commit["snapshot-id"], commit["operation"]) == (table.snapshot.id, "append")
    assert commit["metrics"]["total-records"] == {"unit": "count", "value": 2}
    assert (scan["report-type"], scan["snapshot-id"]) == ("scan-report", table.snapshot.id)
    assert (scan["projected-field-names"], scan["projected-field-ids"]) == (["id"], [table.schema.fields[0].id])
    assert scan["metadata"] == {"engine-name": "frazil", "engine-version": fz.__version__}
    # Of literals only the kind and the length are reported.
    assert scan["filter"] == {"type": "gt", "term": "id", "value": "(1-digit-int)"}


@pytest.mark.parametrize("table_format", FORMATS)
def test_filters_of_reports(tmp_path: Path, table_format: str) -> None:
    """The descriptions of literals are those of Java's `TestExpressionUtil`."""
    table = made(tmp_path, table_format)
    got: list[dict[str, Any]] = []
    with fz.on_report(got.append):
        for filter_ in (None, "id in (34, -345) or id > 1000", f"id in ({', '.join(map(str, range(1001)))})"):
            table.append(rows(1)).scan(filter_).to_arrow()
    every, some, long = (report for report in got if report["report-type"] == "scan-report")
    assert every["filter"] is True
    assert some["filter"] == {
        "type": "or",
        "left": {"type": "in", "term": "id", "values": ["(3-digit-int)", "(2-digit-int)"]},
        "right": {"type": "gt", "term": "id", "value": "(4-digit-int)"},
    }
    assert "filter" not in long


def test_reports_of_compactions_and_of_several_snapshots(tmp_path: Path) -> None:
    table = made(tmp_path, "iceberg")
    got: list[dict[str, Any]] = []
    with fz.on_report(got.append):
        with table.transaction() as tx:
            tx.append(rows(1))
            tx.delete("id = 1")
        assert [report["snapshot-id"] for report in got] == [snapshot.id for snapshot in table.snapshots]
        for value in range(6):
            table.append(rows(value))
        got.clear()
        table.maintain.compact()
    (report,) = got
    assert (report["operation"], report["snapshot-id"]) == ("replace", table.snapshot.id)
    assert report["metrics"]["removed-data-files"] == {"unit": "count", "value": 6}


def test_what_is_not_reported(tmp_path: Path) -> None:
    table = made(tmp_path, "iceberg")
    got: list[dict[str, Any]] = []
    with fz.on_report(got.append):
        assert table.scan().count() == 0
        table.append(rows(1)).append(rows(2))
        got.clear()
        next(iter(table.scan().plan_files()))
        table.changes().to_arrow()
        table.scan(since=table.snapshots[0].id).to_arrow()
        with pytest.raises(fz.InvalidInputError):
            table.cherry_pick(table.snapshot.id)
    assert got == []


def test_unregistering(tmp_path: Path) -> None:
    table = made(tmp_path, "iceberg")
    got: list[str] = []
    first = fz.on_report(lambda report: got.append("first"))
    second = fz.on_report(lambda report: got.append("second"))
    table.append(rows(1))
    first.close()
    first.close()
    table.append(rows(2))
    second.close()
    table.append(rows(3))
    assert got == ["first", "second", "second"]
    with fz.on_report(got.append) as third:  # type: ignore[arg-type]
        assert repr(third) == "Registration(open)"
    assert repr(third) == "Registration(closed)"
    with pytest.raises(fz.InvalidInputError, match="on_report takes a function"):
        fz.on_report(3)  # type: ignore[arg-type]


def test_a_function_that_fails(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(tmp_path, "iceberg")
    got: list[dict[str, Any]] = []

    def failing(report: dict[str, Any]) -> None:
        report.clear()
        raise RuntimeError("password")

    caplog.set_level(logging.WARNING, "frazil")
    with fz.on_report(failing), fz.on_report(got.append):
        table.append(rows(1)).append(rows(2))
    assert table.scan().count() == 2
    # Others get their own copies.
    assert [report["report-type"] for report in got] == ["commit-report"] * 2
    (record,) = caplog.records
    assert record.getMessage() == "a function of on_report failed: RuntimeError. It stays registered"


def test_a_function_that_writes_reports_to_a_table(tmp_path: Path) -> None:
    table = made(tmp_path, "iceberg")
    log = made(tmp_path / "log", "iceberg")

    def keep(report: dict[str, Any]) -> None:
        log.append(rows(report["metrics"]["added-records"]["value"]))

    with fz.on_report(keep):
        table.append(rows(1, 2, 3))
    assert log.scan().to_arrow()["id"].to_pylist() == [3]


def test_threads(tmp_path: Path) -> None:
    table = made(tmp_path, "iceberg").append(rows(1))
    got: list[str] = []
    stop = threading.Event()

    def register() -> None:
        while not stop.is_set():
            with fz.on_report(lambda report: None):
                pass

    def read() -> None:
        for _ in range(50):
            table.scan().to_arrow()

    busy = threading.Thread(target=register)
    busy.start()
    with fz.on_report(lambda report: got.append(threading.current_thread().name)):
        readers = [threading.Thread(target=read, name=f"reader {number}") for number in range(4)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    stop.set()
    busy.join()
    # The reports of each thread come in this thread.
    assert {name: got.count(name) for name in set(got)} == {f"reader {number}": 50 for number in range(4)}


def _in_child(table: fz.Table, begun: Any, got: list[str], told: Any) -> None:
    del begun
    table.append(rows(2))
    with fz.on_report(lambda report: got.append("child")):
        table.append(rows(3))
    told.put(got)


def test_a_fork(tmp_path: Path) -> None:
    table = made(tmp_path, "iceberg").append(rows(1))
    got: list[str] = []
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    with fz.on_report(lambda report: got.append(report["report-type"])):
        begun = iter(table.scan().to_arrow_batch_reader())
        child = context.Process(target=_in_child, args=(table, begun, got, told))
        child.start()
        assert told.get(timeout=30) == ["commit-report", "commit-report", "child"]
        child.join(30)
        assert child.exitcode == 0
        assert got == []
        assert sum(batch.num_rows for batch in begun) == 1
    assert got == ["scan-report"]


def test_nothing_of_it_is_pickled(tmp_path: Path) -> None:
    table = made(tmp_path, "iceberg").append(rows(1))
    scan = table.scan("id > 0")
    before = [pickle.dumps(thing) for thing in (table, scan, scan.plan()[0])]
    with fz.on_report(lambda report: None):
        assert [pickle.dumps(thing) for thing in (table, scan, scan.plan()[0])] == before
        assert pickle.loads(pickle.dumps(scan)).count() == 1
