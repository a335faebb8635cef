"""Planning by many at once, in forked children, under Ctrl-C, and over metadata that lies or is broken."""

from __future__ import annotations

import concurrent.futures
import datetime as dt
import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable

import pyarrow as pa
import pytest
from pyiceberg.manifest import write_manifest_list
from pyiceberg.table import StaticTable

import frazil as fz
from conftest import event_rows

FILTERS = [
    "true",
    "country = 'NO'",
    "ts >= '2023-01-05T00:00:00Z'",
    "day(ts) = '2023-01-03' and score > 20",
    "id in (3, 99)",
]


def plan(table: fz.Table, filter: str) -> list[tuple[str, str, list[str]]]:
    tasks = table.scan(filter).plan_files()
    return [(t.data_file.path, str(t.residual), [d.path for d in t.deletes]) for t in tasks]


def test_threads_plan_the_same_and_different_tables(catalog: fz.Catalog, events: fz.Table) -> None:
    other = catalog.create_table("db.other", event_rows(0, 1).schema, partition_by=["bucket(4, id)"])
    other = other.append(event_rows(0, 60)).append(event_rows(60, 60))
    jobs = [(table, filter) for table in (events, other) for filter in FILTERS]
    alone = [plan(*job) for job in jobs]
    assert len({len(tasks) for tasks in alone}) > 3
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda job: plan(*job), jobs * 12))
    assert together == alone * 12


def plan_again(arguments: tuple[fz.Table, str]) -> list[tuple[str, str, list[str]]]:
    return plan(*arguments)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_amid_plans_of_other_threads(events: fz.Table) -> None:
    alone = [plan(events, filter) for filter in FILTERS]
    done = threading.Event()

    def keep_planning() -> None:
        while not done.is_set():
            plan(events, FILTERS[3])

    threads = [threading.Thread(target=keep_planning) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            with multiprocessing.get_context("fork").Pool(2) as pool:
                jobs = [(events, filter) for filter in FILTERS]
                assert pool.map_async(plan_again, jobs).get(timeout=60) == alone
    finally:
        done.set()
        for thread in threads:
            thread.join()


def inline_manifests(table: fz.Table) -> pathlib.Path:
    """A version whose snapshot lists its manifests itself, as v1 may; all are opened before anything is planned."""
    path = pathlib.Path(table.metadata_location)
    whole = json.loads(path.read_text())
    for snapshot in whole["snapshots"]:
        snapshot.pop("sequence-number", None)
        if snapshot["snapshot-id"] == whole["current-snapshot-id"]:
            del snapshot["manifest-list"]
            snapshot["manifests"] = table.inspect.manifests()["path"].to_pylist() * 100_000
    for member in ("last-sequence-number", "refs"):
        whole.pop(member, None)
    whole["format-version"] = 1
    whole["schema"], whole["partition-spec"] = whole["schemas"][0], whole["partition-specs"][0]["fields"]
    long = path.parent / "long.metadata.json"
    long.write_text(json.dumps(whole))
    return long


def many_manifests(table: fz.Table) -> pathlib.Path:
    """A version whose manifest list names its manifests again and again, so that they are planned for long."""
    current = StaticTable.from_metadata(table.metadata_location)
    snapshot = current.current_snapshot()
    assert snapshot is not None
    path = pathlib.Path(table.metadata_location)
    whole = json.loads(path.read_text())
    where = path.parent / "long-list.avro"
    output = current.io.new_output(str(where))
    number = snapshot.sequence_number
    with write_manifest_list(2, output, snapshot.snapshot_id, snapshot.parent_snapshot_id, number, "null") as writer:
        writer.add_manifests(snapshot.manifests(current.io) * 25_000)
    for s in whole["snapshots"]:
        s["manifest-list"] = str(where)
    long = path.parent / "long.metadata.json"
    long.write_text(json.dumps(whole))
    return long


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
@pytest.mark.parametrize("make", [inline_manifests, many_manifests])
def test_ctrl_c_ends_a_long_plan(events: fz.Table, make: Callable[[fz.Table], pathlib.Path]) -> None:
    code = textwrap.dedent(
        f"""
        import frazil as fz
        table = fz.open_table({str(make(events))!r})
        print("begun", flush=True)
        try:
            for task in table.scan("id >= 0").plan_files():
                pass
        except KeyboardInterrupt:
            print("stopped", flush=True)
        else:
            print("ended", flush=True)
        """
    )
    child = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "stopped\n"
    assert child.wait(timeout=10) == 0


def change_summary(table: fz.Table, **summary: str | None) -> fz.Table:
    path = pathlib.Path(table.metadata_location)
    whole = json.loads(path.read_text())
    for snapshot in whole["snapshots"]:
        for name, value in summary.items():
            key = name.replace("_", "-")
            if value is None:
                snapshot["summary"].pop(key, None)
            else:
                snapshot["summary"][key] = value
    path.write_text(json.dumps(whole))
    return fz.open_table(path)


@pytest.mark.parametrize("total", [None, "7", "-1", "99999999999", "many", ""])
def test_trap_36_totals_of_the_summary_are_not_believed(events: fz.Table, total: str | None) -> None:
    lying = change_summary(events, total_records=total, total_data_files=total, total_delete_files=total)
    assert lying.scan().count() == 200
    assert sum(t.data_file.record_count for t in lying.scan().plan_files()) == 200


def test_trap_32_time_travel_is_by_the_log(events: fz.Table) -> None:
    """The parent chain says otherwise: the log has a rollback and its entries are in no order."""
    path = pathlib.Path(events.metadata_location)
    whole = json.loads(path.read_text())
    first, second = (s["snapshot-id"] for s in whole["snapshots"])
    at = whole["snapshots"][0]["timestamp-ms"]
    whole["snapshot-log"] = [
        {"timestamp-ms": at + 3000, "snapshot-id": first},
        {"timestamp-ms": at + 1000, "snapshot-id": second},
        {"timestamp-ms": at, "snapshot-id": first},
    ]
    path.write_text(json.dumps(whole))
    table = fz.open_table(path)

    def rows(ms: int) -> int:
        return table.scan(at=dt.datetime.fromtimestamp((at + ms) / 1000, dt.timezone.utc)).count()

    assert [rows(0), rows(999), rows(1000), rows(2999), rows(3000)] == [100, 100, 200, 200, 100]


@pytest.mark.parametrize(
    "filter", ["id = 42", "country = 'NO'", "score is nan", "ts < '2023-01-02T00:00:00Z'", "country is null"]
)
def test_files_are_among_pyicebergs(events: fz.Table, filter: str) -> None:
    """PyIceberg prunes by the same metadata; what it drops for these filters holds no row, as the counts show."""
    theirs = StaticTable.from_metadata(events.metadata_location).scan(row_filter=filter.replace("Z'", "+00:00'"))
    kept = {t.file.file_path.removeprefix("file://") for t in theirs.plan_files()}
    ours = {t.data_file.path.removeprefix("file://") for t in events.scan(filter).plan_files()}
    assert ours <= kept
    assert events.scan(filter).count() == theirs.to_arrow().num_rows


def test_an_empty_file_set_is_not_an_error(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.none", pa.schema([("id", pa.int64())]))
    assert list(table.scan("id = 1").plan_files()) == []
