"""What Frazil tells about its verbs: log records, reports, spans and metrics."""

from __future__ import annotations

import datetime as dt
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from object_server import s3_server
from observing_cases import FORMATS, SCHEMA, made, parted, rows
from rest_cases import new_bucket
from rest_fixtures import catalog as rest_catalog
from rest_fixtures import server
from rest_server import RestServer

__all__ = ["rest_catalog", "server"]


Records = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def records(caplog: pytest.LogCaptureFixture) -> Records:
    """The facts of the records since the last call, without times. The test hears all levels."""
    caplog.set_level(logging.DEBUG, "frazil")

    def taken() -> list[dict[str, Any]]:
        found = [dict(record.frazil) for record in caplog.records if record.name == "frazil"]  # type: ignore[attr-defined]
        for facts in found:
            assert facts.pop("milliseconds", 0) >= 0
        caplog.clear()
        return found

    return taken


def known(table: fz.Table, table_format: str) -> dict[str, Any]:
    return {"table": "db.t", "location": table.location, "format": table_format, "outcome": "done"}


# ---------------------------------------------------------------- records


@pytest.mark.parametrize("table_format", FORMATS)
def test_commits_of_rows(tmp_path: Path, records: Records, table_format: str) -> None:
    table = made(tmp_path, table_format)
    assert records() == []
    table.append(rows(1, 2, 3))
    (facts,) = records()
    expected = {"event": "commit", "verb": "append", "snapshots": 1, "operation": "append", "rows_added": 3}
    expected["retries"] = 0
    assert facts.items() >= {**known(table, table_format), **expected, "snapshot_id": table.snapshot.id}.items()
    table.overwrite(rows(7))
    (facts,) = records()
    assert (facts["verb"], facts["snapshot_id"]) == ("overwrite", table.snapshot.id)
    table.set_properties(a="b")
    (facts,) = records()
    expected = {"event": "commit", "verb": "set_properties", "snapshots": 0, "retries": 0}
    assert facts == {**known(table, table_format), **expected}


@pytest.mark.parametrize("table_format", FORMATS)
def test_commits_of_others_do_not_count(tmp_path: Path, records: Records, table_format: str) -> None:
    table = made(tmp_path, table_format)
    other = fz.open_table(table.location)
    other.append(rows(1, 2, 3)).append(rows(4))
    records()
    table.append(rows(5))
    (facts,) = records()
    assert (facts["snapshots"], facts["rows_added"], facts["snapshot_id"]) == (1, 1, table.snapshot.id)


def test_figures_of_commits(tmp_path: Path, records: Records) -> None:
    table = made(tmp_path, "iceberg")
    table.append(rows(1, 2, 3))
    (facts,) = records()
    assert (facts["files_added"], facts["manifests_added"]) == (1, 1)
    (task,) = table.scan().plan_files()
    assert facts["bytes_added"] == task.data_file.size_bytes
    records()
    table.delete("id = 2")
    (facts,) = records()
    assert (facts["rows_deleted"], facts["files_added"], facts["files_removed"]) == (1, 1, 1)
    table.update("id = 1", {"id": 9})
    table.merge(rows(9, 10), on="id", when_matched_update=True, when_not_matched_insert=True)
    table.delete("id = 77")
    update, merge, nothing = records()
    assert (update["verb"], update["rows_updated"]) == ("update", 1)
    assert (merge["verb"], merge["rows_added"], merge["operation"]) == ("merge", 1, "append")
    assert (nothing["verb"], nothing["snapshots"], nothing["outcome"]) == ("delete", 0, "done")
    assert "snapshot_id" not in nothing


def test_commits_of_metadata(tmp_path: Path, records: Records) -> None:
    table = made(tmp_path, "iceberg").append(rows(1))
    records()
    with table.update_schema() as update:
        update.add_column("name", "string")
    table.refs.create_tag("done")
    table.refs.create_branch("audit").drop("audit")
    table.rollback("done")
    assert [(facts["event"], facts["verb"]) for facts in records()] == [
        ("commit", "update_schema"),
        ("commit", "create_tag"),
        ("commit", "create_branch"),
        ("commit", "drop_ref"),
        ("commit", "roll_back"),
    ]


def test_transactions(tmp_path: Path, records: Records) -> None:
    uri = f"sqlite:///{tmp_path}/c.db"
    catalog = fz.catalog("sql", type="sql", uri=uri, warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    # A table that is created with rows is committed once.
    first = catalog.create_table("db.a", data=rows(1, 2))
    second = catalog.create_table("db.b", SCHEMA)
    (facts,) = records()
    assert facts.items() >= {"verb": "commit", "table": "db.a", "rows_added": 2}.items()
    with first.transaction() as tx:
        tx.append(rows(3))
        tx.delete("id = 1")
    (facts,) = records()
    expected = {"event": "commit", "verb": "commit", "table": "db.a", "snapshots": 2, "rows_added": 1}
    assert facts.items() >= {**expected, "rows_deleted": 1, "snapshot_id": first.snapshot.id}.items()
    with catalog.transaction() as several:
        several.table("db.a").append(rows(4))
        several.table("db.b").append(rows(5, 6))
    (facts,) = records()
    ids = [first.refresh().snapshot.id, second.refresh().snapshot.id]
    expected = {"table": "db.a, db.b", "rows_added": 3, "files_added": 2, "snapshot_ids": ids}
    assert facts.items() >= {**expected, "event": "commit", "outcome": "done"}.items()
    # What was given up is not told.
    first.transaction().append(rows(8)).abort()
    assert records() == []


@pytest.mark.parametrize("table_format", FORMATS)
def test_plans(tmp_path: Path, records: Records, table_format: str) -> None:
    table = made(tmp_path, table_format).append(rows(1, 2)).append(rows(3))
    scan = table.scan()
    records()
    files = [task.data_file for task in scan.plan_files()]
    size = sum(file.size_bytes for file in files)
    counts = {"tasks": 2, "files": 2, "rows": 3, "bytes": size}
    counts |= {"files_considered": 2, "manifests": 2, "manifests_considered": 2}
    plan = {**known(table, table_format), "event": "plan", "snapshot_id": table.snapshot.id, **counts}
    assert records() == [{**plan, "verb": "plan_files", "delete_files": 0}]
    splits = scan.plan()
    assert records() == [{**plan, "verb": "plan", "delete_files": 0, "splits": len(splits)}]
    scan.plan_table()
    assert records() == [{**plan, "verb": "plan_table"}]
    scan.explain()
    (facts,) = records()
    assert facts.items() >= {**plan, "verb": "explain"}.items() - {("tasks", 2)}


@pytest.mark.parametrize("table_format", FORMATS)
def test_what_a_plan_skips(tmp_path: Path, records: Records, table_format: str) -> None:
    scan = parted(tmp_path, table_format).scan("part = 1")
    records()
    # Iceberg counts the files of the manifests that it opens. Paimon's lists count those of all.
    expected = {"files": 2, "files_considered": 3 if table_format == "iceberg" else 4, "manifests": 2}
    for verb in ("plan", "plan_files", "plan_table", "explain", "to_arrow", "count"):
        result = getattr(scan, verb)()
        if verb == "plan_files":
            list(result)
        (facts,) = records()
        assert facts.items() >= {"verb": verb, **expected, "manifests_considered": 3}.items()
    assert sum(batch.num_rows for batch in scan.to_arrow_batch_reader()) == 3
    (facts,) = records()
    assert facts.items() >= {"event": "read", "rows": 3, **expected}.items()
    # Who shares the thread with another plan does not get the counts of that.
    tasks = iter(scan.plan_files())
    next(tasks)
    scan.plan()
    del tasks
    other, stopped = records()
    assert (other["files"], other["manifests"]) == (2, 2)
    assert (stopped["outcome"], "manifests" in stopped) == ("stopped", False)


def test_a_plan_with_deletes_and_a_cache(tmp_path: Path, records: Records) -> None:
    table = made(tmp_path, "iceberg").set_properties({"write.delete.mode": "merge-on-read"})
    table.append(rows(1, 2)).append(rows(3)).delete("id = 2")
    scan = table.scan(options={"plan-cache": str(tmp_path / "cache")})
    records()
    for hits, verb in ((0, scan.plan), (3, scan.plan), (3, scan.explain), (3, scan.to_arrow)):
        verb()
        (facts,) = records()
        assert (facts["cache_hits"], facts["manifests_read"]) == (hits, 3)
        assert (facts["manifests"], facts["manifests_considered"]) == (3, 3)
        assert facts.get("delete_files", 1) == 1


@pytest.mark.parametrize("table_format", FORMATS)
def test_reads(tmp_path: Path, records: Records, table_format: str) -> None:
    table = made(tmp_path, table_format).append(rows(1, 2)).append(rows(3))
    scan = table.scan()
    (split,) = table.scan().plan()
    size = sum(task.data_file.size_bytes for task in split.tasks)
    records()
    read = {**known(table, table_format), "event": "read", "snapshot_id": table.snapshot.id, "rows": 3}
    planned = {"files": 2, "files_considered": 2, "bytes": size, "manifests": 2, "manifests_considered": 2}
    for verb in ("to_arrow", "to_pandas", "to_polars", "count"):
        getattr(scan, verb)()
        assert records() == [{**read, "verb": verb, **planned}]
    # A limit may end the read before the plan.
    table.head(2)
    (facts,) = records()
    assert facts.items() >= {**read, "verb": "to_arrow", "rows": 2}.items()
    scan.head(1)
    (facts,) = records()
    assert facts.items() >= {**read, "verb": "head", "rows": 1}.items()
    pa.table(scan)
    (facts,) = records()
    assert (facts["verb"], facts["rows"]) == ("__arrow_c_stream__", 3)
    split.to_arrow()
    assert records() == [{"event": "read", "verb": "to_arrow", "outcome": "done", "rows": 3}]
    # A lazy frame is read when it is collected.
    lazy = scan.to_polars(lazy=True)
    assert records() == []
    assert lazy.collect().height == 3
    assert sum(facts["rows"] for facts in records()) == 3


def test_streams_are_told_at_their_end(tmp_path: Path, records: Records) -> None:
    table = made(tmp_path, "iceberg").append(rows(1, 2)).append(rows(3))
    records()
    reader = table.scan().to_arrow_batch_reader(ordered=True)
    reader.read_next_batch()
    assert records() == []
    assert reader.read_all().num_rows == 1
    (facts,) = records()
    assert (facts["rows"], facts["batches"], facts["outcome"]) == (3, 2, "done")
    # A stream that is closed half-way.
    batches = iter(table.scan().to_arrow_batch_reader(ordered=True))
    next(batches)
    del batches
    (facts,) = records()
    assert (facts["rows"], facts["batches"], facts["outcome"]) == (2, 1, "stopped")
    tasks = iter(table.scan().plan_files())
    next(tasks)
    del tasks
    (facts,) = records()
    assert (facts["tasks"], facts["outcome"]) == (1, "stopped")
    reader = table.scan().to_arrow_batch_reader(ordered=True)
    for task in table.scan().plan_files():
        Path(task.data_file.path).unlink()
    records()
    with pytest.raises(fz.NotFoundError):
        reader.read_all()
    facts = records()[-1]
    assert (facts["event"], facts["outcome"], facts["error"]) == ("read", "failed", "NotFoundError")


@pytest.mark.parametrize("table_format", FORMATS)
def test_maintenance(tmp_path: Path, records: Records, table_format: str) -> None:
    table = made(tmp_path, table_format)
    for value in range(6):
        table.append(rows(value))
    records()
    done = table.maintain.compact()
    (facts,) = records()
    assert facts["snapshot_id"] == table.snapshot.id
    assert (facts["event"], facts["verb"], facts["table"]) == ("compact", "compact", "db.t")
    assert (facts["rewritten_files"], facts["added_files"], facts["failed"]) == (6, 1, 0)
    assert facts["rewritten_bytes"] == done.rewritten_bytes
    expired = table.maintain.expire_snapshots(dt.timedelta(0), retain_last=1)
    table.maintain.remove_orphan_files(dry_run=True)
    expire, orphans = records()
    assert (expire["event"], expire["snapshots"]) == ("expire_snapshots", len(expired.snapshots))
    assert (orphans["event"], orphans["files"], orphans["deleted"]) == ("remove_orphan_files", 0, False)
    table.doctor()
    (facts,) = records()
    assert (facts["event"], facts["errors"]) == ("doctor", 0)


def test_more_maintenance(tmp_path: Path, records: Records) -> None:
    table = made(tmp_path, "iceberg").append(rows(1)).append(rows(2))
    records()
    table.maintain.rewrite_manifests()
    table.maintain.compute_statistics()
    table.repair()
    fz.doctor.examine(table.location)
    manifests, statistics, repair, examined = records()
    assert (manifests["event"], manifests["rewritten"], manifests["added"]) == ("rewrite_manifests", 2, 1)
    assert (statistics["event"], statistics["distinct"]) == ("compute_statistics", 1)
    assert statistics["snapshot_id"] == table.snapshot.id
    assert (repair["event"], repair["steps"], repair["dry_run"]) == ("repair", 0, True)
    assert (examined["event"], examined["location"], examined["errors"]) == ("examine", table.location, 0)


def test_levels_and_texts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(tmp_path, "iceberg")
    caplog.set_level(logging.INFO, "frazil")
    table.append(rows(1))
    table.scan().to_arrow()
    assert [record.levelname for record in caplog.records] == ["INFO"]
    (record,) = caplog.records
    text = record.getMessage()
    assert text.startswith("append of db.t: snapshots 1, snapshot id ")
    assert "rows added 1, " in text
    assert text.endswith(" ms")
    # The place of a record is the line of the caller.
    assert Path(record.pathname) == Path(__file__)
    caplog.clear()
    caplog.set_level(logging.DEBUG, "frazil")
    table.scan().to_arrow()
    assert [record.levelname for record in caplog.records] == ["DEBUG"]
    caplog.clear()
    caplog.set_level(logging.WARNING, "frazil")
    table.append(rows(2)).scan().to_arrow()
    assert caplog.records == []


# ---------------------------------------------------------------- failures


def test_a_conflict_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(tmp_path, "iceberg")
    other = fz.open_table(table.location)
    for level in (logging.WARNING, logging.DEBUG):
        caplog.set_level(level, "frazil")
        update = table.refresh().update_schema().add_column(f"name_{level}", "string")
        with other.refresh().update_schema() as earlier:
            earlier.add_column(f"name_{level}", "int")
        caplog.clear()
        with pytest.raises(fz.CommitConflictError):
            update.commit()
        (record,) = caplog.records
        assert (record.levelname, record.exc_info) == ("WARNING", None)
        facts = record.frazil  # type: ignore[attr-defined]
        assert (facts["outcome"], facts["error"], facts["table"]) == ("conflict", "CommitConflictError", "db.t")
        assert facts["verb"] == "update_schema"
        assert record.getMessage().startswith("update_schema of db.t lost to another commit: ")


def test_an_unknown_outcome_is_a_warning(
    server: RestServer, rest_catalog: fz.Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    table = rest_catalog.create_table("db.t", SCHEMA)
    server.fault("updateTable", "502", "after")
    server.fault("loadTable", "503", nth=2, times=50)
    caplog.set_level(logging.WARNING, "frazil")
    with pytest.raises(fz.CommitStateUnknownError):
        table.append(rows(1))
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    facts = record.frazil  # type: ignore[attr-defined]
    assert (facts["verb"], facts["outcome"], facts["error"]) == ("append", "unknown", "CommitStateUnknownError")
    assert facts["milliseconds"] > 0


def test_a_failure_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(tmp_path, "iceberg").append(rows(1))
    scan = table.scan()
    for task in scan.plan_files():
        Path(task.data_file.path).unlink()
    for level, verb in ((logging.WARNING, "to_arrow"), (logging.DEBUG, "to_pandas")):
        caplog.set_level(level, "frazil")
        caplog.clear()
        with pytest.raises(fz.NotFoundError):
            scan.to_pandas()
        (record,) = caplog.records
        assert (record.levelname, record.frazil["verb"]) == ("WARNING", verb)  # type: ignore[attr-defined]
        assert record.frazil["outcome"] == "failed"  # type: ignore[attr-defined]
    caplog.clear()
    # Wrong calls are errors of the program.
    with pytest.raises(fz.InvalidInputError):
        scan.head("x")  # type: ignore[arg-type]
    with pytest.raises((TypeError, fz.InvalidInputError)):
        scan.to_arrow(1, 2, 3)  # type: ignore[call-arg]
    assert caplog.records == []


def test_the_failure_of_a_stream_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = made(tmp_path, "iceberg").append(rows(1))
    for task in table.scan().plan_files():
        Path(task.data_file.path).unlink()
    for level in (logging.WARNING, logging.DEBUG):
        caplog.set_level(level, "frazil")
        reader = table.scan().to_arrow_batch_reader()
        caplog.clear()
        for _ in range(2):
            with pytest.raises(fz.NotFoundError):
                reader.read_next_batch()
        (record,) = caplog.records
        assert record.levelname == "WARNING"
        facts = record.frazil  # type: ignore[attr-defined]
        assert (facts["verb"], facts["outcome"]) == ("to_arrow_batch_reader", "failed")


def test_errors_of_users_pass(tmp_path: Path, records: Records) -> None:
    table = made(tmp_path, "iceberg")

    def batches() -> Iterator[pa.RecordBatch]:
        yield rows(1).to_batches()[0]
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        table.append(batches())
    (facts,) = records()
    assert (facts["outcome"], facts["error"]) == ("failed", "KeyError")


class _Raising(logging.Handler):
    """A handler with a fault of its own: it does not catch what it raises."""

    def emit(self, record: logging.LogRecord) -> None:
        raise ValueError(record.getMessage())


def test_errors_of_handlers_do_not_reach_callers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first commit has happened, so its caller must not see an error and try again."""
    table = made(tmp_path, "iceberg")
    logger, handler = logging.getLogger("frazil"), _Raising(logging.DEBUG)
    reports: list[dict[str, Any]] = []
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        with fz.on_report(lambda _: 1 / 0), fz.on_report(reports.append):
            table = table.append(rows(1, 2))
        assert table.scan().to_arrow().num_rows == 2
        assert len(list(table.scan().plan_files())) == 1
        with pytest.raises(fz.InvalidInputError):
            table.scan("no_such_column = 1").to_arrow()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert len(table.snapshots) == 1
    assert [report["report-type"] for report in reports] == ["commit-report"]
    assert "Logging error" in capsys.readouterr().err


def test_verbs_inside_of_verbs(tmp_path: Path, records: Records) -> None:
    """What a user's generator reads is a verb of its own."""
    table = made(tmp_path, "iceberg").append(rows(1))
    records()
    table.append(batch for part in [table.scan()] for batch in part.to_arrow().to_batches())
    assert sorted(facts["verb"] for facts in records()) == ["append", "to_arrow"]


def test_silence_by_default(tmp_path: Path) -> None:
    code = f"""
import logging, sys
import frazil as fz, pyarrow as pa
catalog = fz.catalog(warehouse={str(tmp_path)!r})
catalog.create_namespace("db")
table = catalog.create_table("db.t", data=pa.table({{"id": [1]}}))
for task in table.scan().plan_files():
    __import__("os").remove(task.data_file.path)
try:
    table.scan().to_arrow()
except fz.NotFoundError:
    pass
assert "frazil.observing.calls" in sys.modules
assert [type(h).__name__ for h in logging.getLogger("frazil").handlers] == ["NullHandler"]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_secret_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "frazil")
    reports: list[dict[str, Any]] = []
    with s3_server() as port, fz.on_report(reports.append):
        bucket, store = new_bucket(port)
        assert len(store["secret"]) > 5
        options = {
            "s3.endpoint": f"http://127.0.0.1:{port}",
            "s3.access-key-id": store["key"],
            "s3.secret-access-key": store["secret"],
            "s3.region": "us-east-1",
        }
        uri = f"sqlite:///{tmp_path}/c.db"
        catalog = fz.catalog("s", type="sql", uri=uri, warehouse=f"s3://{bucket}/wh", **options)
        catalog.create_namespace("db")
        table = catalog.create_table("db.t", SCHEMA).append(rows(1), snapshot_properties={"my-token": store["secret"]})
        table.scan("id > 0").to_arrow()
        table.doctor()
        wrong = {**options, "s3.secret-access-key": "sesame-" + store["secret"]}
        with pytest.raises(fz.FrazilError):
            fz.doctor.examine(f"s3://user:{store['secret']}@{bucket}/missing", wrong)
    assert len(caplog.records) == 4
    assert len(reports) == 2
    told = [record.getMessage() + str(vars(record)) for record in caplog.records] + [json.dumps(r) for r in reports]
    assert not [text for text in told if store["secret"] in text]
