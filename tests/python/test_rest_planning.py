"""Plans that a REST server makes."""

from __future__ import annotations

import datetime as dt
import json
import math
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frazil as fz
from rest_cases import SCHEMA, asked, ids, one, opened
from rest_fixtures import catalog, server
from rest_server import WHOLE, Answer, RestServer, paths, serving, with_value

__all__ = ["catalog", "server"]
TIME_LIMIT = "rest-scan-planning.poll-timeout-ms"
APPENDS = {"rest-scan-planning.appends": "true"}
VALUES: tuple[Any, ...] = (None, 7, -1, 2**70, 1.5, True, "", "x", "\x00", [], [None], {}, {"a": 1})


@pytest.fixture
def table(server: RestServer, catalog: fz.Catalog) -> fz.Table:
    """Four files, one of them with a deletion vector. From now on, the server plans."""
    properties = {"format-version": "3", "write.delete.mode": "merge-on-read"}
    made = catalog.create_table("db.t", SCHEMA, properties=properties)
    for value in range(4):
        made = made.append(one(value, value + 10))
    made.refresh().delete("id = 12")
    server.switches.change({"planning_mode": "server"})
    server.reset()
    return catalog.load_table("db.t")


def read(scan: fz.Scan) -> list[int]:
    return sorted(scan.to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("polls", [0, 2])
@pytest.mark.parametrize("files_in_a_task", [0, 1])
def test_the_server_plans(server: RestServer, table: fz.Table, polls: int, files_in_a_task: int) -> None:
    server.switches.change({"async_polls": polls, "files_in_a_task": files_in_a_task})
    assert read(table.scan()) == [0, 1, 2, 3, 10, 11, 13]
    assert table.scan("id = 3").to_arrow()["id"].to_pylist() == [3]
    counts = server.counts()
    assert counts["planTableScan"] == 2
    assert bool(counts.get("fetchPlanningResult")) == (polls > 0)
    assert bool(counts.get("fetchScanTasks")) == (files_in_a_task > 0)
    # All parts were fetched, so nothing has to be cancelled.
    assert "cancelPlanning" not in counts
    before = table.snapshots[1].id
    assert read(table.scan(at=before)) == [0, 1, 10, 11]


def test_what_the_server_is_asked(server: RestServer, table: fz.Table) -> None:
    table = opened(server, **APPENDS).load_table("db.t")
    server.reset()
    first = table.snapshots[0].id
    newest = table.snapshot.id
    table.scan("id > 2").to_arrow()
    table.scan(since=first).to_arrow()
    table.scan(select=["id"]).limit(3).to_arrow()
    bodies = [request.body for request in asked(server, "planTableScan")]
    common = {"case-sensitive": True, "use-snapshot-schema": True, "select": ["id"]}
    filter = {"type": "gt", "term": "id", "value": 2}
    assert bodies[0] == {**common, "snapshot-id": newest, "filter": filter}
    appended = {"start-snapshot-id": first, "end-snapshot-id": newest}
    assert bodies[1] == {**common, "use-snapshot-schema": False, **appended}
    assert bodies[2] == {**common, "snapshot-id": newest}
    assert all("vended-credentials" in r.headers["x-iceberg-access-delegation"] for r in asked(server, "planTableScan"))


def test_everything_works_with_a_plan_of_the_server(server: RestServer, table: fz.Table) -> None:
    server.switches.change({"files_in_a_task": 1})
    scan = table.scan("id >= 10")
    assert scan.count() == 3
    tasks = list(scan.plan_files())
    assert sorted(len(task.deletes) for task in tasks) == [0, 0, 0, 1]
    assert scan.plan_table()["record_count"].to_pylist() == [2, 2, 2, 2]
    rows = [row for split in scan.plan() for row in split.to_arrow()["id"].to_pylist()]
    assert sorted(rows) == [10, 11, 13]
    again = [row for split in pickle.loads(pickle.dumps(scan.plan())) for row in split.to_arrow()["id"].to_pylist()]
    assert sorted(again) == [10, 11, 13]
    # A scan of appends is planned here unless the user wants it otherwise.
    between = {"since": table.snapshots[1].id, "at": table.snapshots[3].id}
    for properties in ({}, APPENDS):
        server.reset()
        loaded = opened(server, **properties).load_table("db.t")
        assert read(loaded.scan(**between)) == [2, 3, 12, 13]
        assert ("planTableScan" in server.counts()) == bool(properties)
    # A scan of changes is planned here, and a row change too.
    server.reset()
    changes = table.changes(since=table.snapshots[0].id).to_arrow()
    assert changes.num_rows == 7
    assert "_row_id" in table.scan(select=["id", "_row_id"]).to_arrow().column_names
    assert ids(table.upsert(one(3, 20), on=["id"])) == [0, 1, 2, 3, 10, 11, 13, 20]
    assert read(pickle.loads(pickle.dumps(table)).scan()) == [0, 1, 2, 3, 10, 11, 13, 20]


def test_metadata_columns(server: RestServer, table: fz.Table) -> None:
    rows = table.scan("id = 3", select=["id", "_file", "_pos"]).to_arrow().to_pylist()
    assert [(row["id"], row["_pos"]) for row in rows] == [(3, 0)]
    assert rows[0]["_file"] in {task.data_file.path for task in table.scan().plan_files()}
    assert asked(server, "planTableScan")[0].body["select"] == ["id"]
    rows = table.scan("id = 3", select=["id", "_last_updated_sequence_number"]).to_arrow().to_pylist()
    assert rows == [{"id": 3, "_last_updated_sequence_number": 4}]


def test_an_explanation_says_who_planned(server: RestServer, table: fz.Table) -> None:
    explain = table.scan("id > 2").explain(files=True)
    facts = explain.to_dict()
    assert facts["server_plan"] in server.service.plans.plans
    assert [(s["name"], s["considered"], s["kept"]) for s in facts["stages"]] == [("server plan", 4, 4)]
    assert facts["deletes"]["deletion_vector"] == 1
    assert f"planned by the catalog's server (plan {facts['server_plan']})" in str(explain)
    assert explain.files.num_rows == 4
    assert explain.manifests.num_rows == 0
    html = explain.to_html()
    assert "The catalog&#x27;s server made this plan." in html
    assert "R: read: 4 data files" in html
    assert "4 files of" in html
    assert " in 1 manifest" not in html
    assert table.scan().estimate().to_dict()["bytes"] == 0
    with pytest.raises(fz.UnsupportedError, match="server plans"):
        table.scan().plan_parts()
    server.switches.change({"planning_mode": "client"})
    assert "server_plan" not in opened(server).load_table("db.t").scan().explain().to_dict()


def test_a_plan_that_nobody_wants_any_longer_is_cancelled(server: RestServer, catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA).append(one(1))
    server.switches.change({"planning_mode": "server", "async_polls": 10**6})
    loaded = opened(server, **{TIME_LIMIT: "500"}).load_table("db.t")
    began = time.monotonic()
    with pytest.raises(fz.FrazilError, match="plan"):
        loaded.scan().to_arrow()
    assert time.monotonic() - began < 5
    assert server.service.plans.cancelled == 1
    # The pauses grow.
    assert server.counts()["fetchPlanningResult"] < 8


def test_the_rest_of_a_plan_is_cancelled(server: RestServer, table: fz.Table) -> None:
    server.switches.change({"files_in_a_task": 1})
    tasks = iter(table.scan().plan_files())
    next(tasks)
    del tasks
    end = time.monotonic() + 10
    while server.service.plans.cancelled < 1 and time.monotonic() < end:
        time.sleep(0.02)
    assert server.service.plans.cancelled == 1


def test_ctrl_c_ends_the_wait(server: RestServer, table: fz.Table) -> None:
    server.switches.change({"async_polls": 10**6})
    program = (
        "import frazil as fz, time\n"
        f"table = fz.catalog('prod', type='rest', uri='{server.url}').load_table('db.t')\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    table.scan().to_arrow()\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', flush=True)\n"
        "    time.sleep(1)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        end = time.monotonic() + 10
        while not server.counts().get("fetchPlanningResult") and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.3)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "stopped\n"
        assert time.monotonic() - sent < 0.5
        process.wait(30)
    assert server.service.plans.cancelled == 1


def test_a_server_that_plans_must_be_able_to(server: RestServer, catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA).append(one(1))
    server.switches.change({"planning_mode": "server", "without": ("planTableScan",)})
    with pytest.raises(fz.UnsupportedError, match="plan"):
        opened(server).load_table("db.t").scan().to_arrow()
    server.switches.change({"planning_mode": ""})
    with pytest.raises(fz.UnsupportedError, match="plan"):
        opened(server, **{"scan-planning-mode": "server"}).load_table("db.t").scan().to_arrow()
    assert read(opened(server).load_table("db.t").scan()) == [1]


def test_who_decides_who_plans(server: RestServer, table: fz.Table) -> None:
    def plans(mode: str, **properties: str) -> bool:
        server.switches.change({"planning_mode": mode})
        server.reset()
        assert opened(server, **properties).load_table("db.t").scan().count() == 7
        return "planTableScan" in server.counts()

    assert not plans("")
    assert plans("", **{"scan-planning-mode": "SERVER"})
    assert not plans("client", **{"scan-planning-mode": "server"})
    assert plans("server", **{"scan-planning-mode": "client"})
    server.switches.change({"overrides": {"scan-planning-mode": "server"}})
    assert plans("")
    for name, value in (("scan-planning-mode", "both"), (TIME_LIMIT, "soon"), (TIME_LIMIT, "0")):
        with pytest.raises(fz.InvalidInputError, match=name):
            opened(server, **{name: value})
    server.switches.change({"overrides": {}, "planning_mode": "perhaps"})
    with pytest.raises(fz.InvalidInputError, match="perhaps"):
        opened(server).load_table("db.t").scan().to_arrow()


@pytest.mark.parametrize("kind", sorted(set(WHOLE) - {"huge", "endless"}))
@pytest.mark.parametrize("operation", ["planTableScan", "fetchPlanningResult", "fetchScanTasks"])
def test_answers_that_are_no_answers(server: RestServer, table: fz.Table, operation: str, kind: str) -> None:
    server.switches.change({"async_polls": int(operation == "fetchPlanningResult"), "files_in_a_task": 1})
    server.service.faults.change(operation, WHOLE[kind], times=100)
    try:
        rows = read(table.scan())
    except fz.FrazilError as error:
        assert not isinstance(error, fz.InternalError)
        said = f"{error} {error.context}"
        assert server.url in said
        assert "/tables/t/" in said
        assert len(str(error)) < 2_000
        assert kind != "wrong-content-type"
    else:
        # A part without tasks is a part.
        is_empty_part = (operation, kind) == ("fetchScanTasks", "empty-object")
        assert kind in ("wrong-content-type", "deep-member") or is_empty_part
        assert is_empty_part or rows == [0, 1, 2, 3, 10, 11, 13]


def good_answer(server: RestServer, table: fz.Table, operation: str) -> Any:
    kept: list[Any] = []

    def keep(answer: Answer) -> Answer:
        kept.append(json.loads(json.dumps(answer.body)))
        return answer

    server.service.faults.change(operation, keep)
    table.scan().to_arrow()
    return kept[0]


@pytest.mark.parametrize("operation", ["planTableScan", "fetchScanTasks"])
def test_every_value_of_a_plan_may_be_wrong(server: RestServer, table: fz.Table, operation: str) -> None:
    """It works, or it is an error. It is no panic, and no bug of ours."""
    server.switches.change({"files_in_a_task": 2})
    loaded = opened(server, **{TIME_LIMIT: "100"}).load_table("db.t")
    for path in paths(good_answer(server, loaded, operation)):
        for value in VALUES:
            server.service.faults.change(operation, with_value(path, value))
            try:
                loaded.scan("id >= 0").to_arrow()
            except fz.FrazilError as error:
                assert not isinstance(error, fz.InternalError), (path, value, error)
            server.service.faults.clear()
    assert read(loaded.scan()) == [0, 1, 2, 3, 10, 11, 13]


def changed(change: Callable[[Any], None]) -> Callable[[Answer], Answer]:
    def apply(answer: Answer) -> Answer:
        body = json.loads(json.dumps(answer.body))
        change(body)
        return Answer(answer.status, body, answer.headers)

    return apply


def test_plans_that_make_no_sense(server: RestServer, table: fz.Table) -> None:
    def refused(change: Callable[[Any], None], words: str, operation: str = "planTableScan") -> None:
        server.service.faults.change(operation, changed(change))
        with pytest.raises(fz.CorruptTableError, match=words):
            table.scan().to_arrow()
        server.service.faults.clear()

    def of_task(name: str, value: Any) -> Callable[[Any], None]:
        return lambda body: body["file-scan-tasks"][0].update({name: value})

    def of_file(name: str, value: Any) -> Callable[[Any], None]:
        return lambda body: body["file-scan-tasks"][0]["data-file"].update({name: value})

    refused(of_task("delete-file-references", [1]), "names the delete file 1")
    refused(of_task("delete-file-references", [-1]), "from 0 up")
    refused(of_task("delete-file-references", [2**40]), "from 0 up")

    def of_another(body: Any) -> None:
        body["file-scan-tasks"][0]["delete-file-references"] = [0]
        body["delete-files"][0]["referenced-data-file"] = "elsewhere"

    refused(of_another, "another data file")
    refused(of_file("content", "position-deletes"), "reads a delete file")
    refused(of_file("content", "rows"), "rows")
    refused(of_file("spec-id", 9), "partition spec 9")
    refused(of_file("partition", [1]), "has 1 values, not 0")
    refused(of_file("file-size-in-bytes", -1), "negative")
    refused(of_file("record-count", None), "record-count")
    refused(of_file("file-path", ""), "empty")
    refused(lambda body: body["delete-files"][0].update({"content": "data"}), "include a data file")
    refused(lambda body: body["delete-files"][0].update({"content-offset": None}), "its place")
    refused(lambda body: body["delete-files"][0].update({"content": "equality-deletes"}), "no key columns")
    refused(lambda body: body.update({"status": "ready"}), "ready")
    refused(lambda body: body.update({"status": "submitted", "plan-id": None}), "plan-id")
    server.service.faults.change("planTableScan", changed(of_file("file-format", "lance")))
    with pytest.raises(fz.UnsupportedError, match="lance"):
        table.scan().to_arrow()
    unknown = changed(lambda body: (body.update({"new": {"a": 1}}), of_file("new", [1])(body), of_task("new", 1)(body)))
    server.service.faults.change("planTableScan", unknown)
    assert read(table.scan()) == [0, 1, 2, 3, 10, 11, 13]


def test_a_plan_without_end(server: RestServer, table: fz.Table) -> None:
    server.switches.change({"files_in_a_task": 1})

    def again(answer: Answer) -> Answer:
        return Answer(answer.status, {**answer.body, "plan-tasks": [json.loads(json.dumps("again"))]}, answer.headers)

    server.service.plans.tasks["again"] = {"file-scan-tasks": [], "plan-tasks": ["again"]}
    server.service.faults.change("planTableScan", again)
    with pytest.raises(fz.CorruptTableError, match="twice"):
        table.scan().to_arrow()


def test_parts_may_have_parts(server: RestServer, table: fz.Table) -> None:
    def nested(body: Any) -> None:
        inner = {name: body.pop(name) for name in ("file-scan-tasks", "delete-files")}
        server.service.plans.tasks["inner"] = inner
        server.service.plans.tasks["outer"] = {"plan-tasks": ["inner"]}
        body["plan-tasks"] = ["outer"]

    server.service.faults.change("planTableScan", changed(nested))
    assert read(table.scan()) == [0, 1, 2, 3, 10, 11, 13]
    assert server.counts()["fetchScanTasks"] == 2


@pytest.mark.parametrize("polls", [0, 2])
def test_a_plan_that_fails(server: RestServer, table: fz.Table, polls: int) -> None:
    server.switches.change({"async_polls": polls})
    operation = "fetchPlanningResult" if polls else "planTableScan"
    error = {"message": "out of memory", "type": "PlanningException", "code": 500}
    body = {"status": "failed", "error": error}
    server.service.faults.change(operation, lambda _: Answer(200, body, {}))
    with pytest.raises(fz.FrazilError, match="PlanningException, out of memory"):
        table.scan().to_arrow()
    server.service.faults.change(operation, lambda _: Answer(200, {"status": "cancelled"}, {}))
    with pytest.raises(fz.FrazilError, match="cancelled"):
        table.scan().to_arrow()
    assert "cancelPlanning" not in server.counts()


def test_a_passing_failure_is_repeated(server: RestServer, table: fz.Table) -> None:
    from rest_server import Fault

    server.switches.change({"files_in_a_task": 1, "async_polls": 2})
    for operation in ("planTableScan", "fetchPlanningResult", "fetchScanTasks"):
        server.service.faults.plant(Fault(operation, "503"))
    assert read(table.scan()) == [0, 1, 2, 3, 10, 11, 13]


def test_plans_of_several_threads(server: RestServer, table: fz.Table) -> None:
    server.switches.change({"files_in_a_task": 1, "async_polls": 1})
    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda: found.append(read(table.scan("id < 3")))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[0, 1, 2]] * 4


# ---------------------------------------------------------------- the same rows as with own plans

ROWS = pa.schema([("id", pa.int32()), ("name", pa.string()), ("score", pa.float64()), ("day", pa.date32())])
DAYS = [dt.date(1969, 12, 30) + dt.timedelta(days=n) for n in range(5)]
ROW = st.fixed_dictionaries(
    {
        "id": st.none() | st.integers(-3, 6),
        "name": st.none() | st.sampled_from(["", "a", "ab", "ż"]),
        "score": st.none() | st.sampled_from([math.nan, -0.0, 0.0, 1.5, -math.inf, math.inf]),
        "day": st.none() | st.sampled_from(DAYS),
    }
)
COMMITS = st.lists(st.lists(ROW, min_size=1, max_size=4), min_size=1, max_size=3)
SPECS = st.sampled_from([[], ["day"], ["name"], ["bucket(3, id)"], ["truncate(2, id)"], ["month(day)", "score"]])
CLAUSES = st.sampled_from(
    [
        "id < 2",
        "id != 1",
        "id in (-3, 5)",
        "id is null",
        "name = 'a'",
        "not starts_with(name, 'a')",
        "score is nan",
        "score >= 0.0",
        "score > 1",
        "score = -0.0",
        "day >= '1970-01-01'",
        "month(day) = '1969-12'",
        "bucket(3, id) = 1",
        "score < 100 or id = 5",
        "_pos = 0",
    ]
)
FILTERS = st.lists(CLAUSES, max_size=3).map(" and ".join)


def rows_of(scan: fz.Scan) -> list[str]:
    return sorted(map(repr, scan.to_arrow().to_pylist()))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(COMMITS, SPECS, FILTERS, st.booleans(), st.integers(0, 2))
def test_the_rows_are_those_of_own_plans(
    tmp_path_factory: pytest.TempPathFactory,
    commits: list[list[dict[str, Any]]],
    spec: list[str],
    filter: str,
    deletes: bool,
    files_in_a_task: int,
) -> None:
    with serving(tmp_path_factory.mktemp("wh")) as server:
        catalog = opened(server)
        catalog.create_namespace("db")
        properties = {"format-version": "2", "write.delete.mode": "merge-on-read"}
        made = catalog.create_table("db.t", ROWS, partition_by=spec, properties=properties)
        for rows in commits:
            made = made.append(pa.Table.from_pylist(rows, ROWS))
        if deletes:
            made = made.delete("id > 4 or name = 'ab'")
        server.switches.change({"planning_mode": "server", "files_in_a_task": files_in_a_task})
        served = opened(server, "served").load_table("db.t").scan(filter or None)
        server.switches.change({"planning_mode": "client"})
        own = opened(server, "own").load_table("db.t").scan(filter or None)
        assert rows_of(served) == rows_of(own)
        assert served.count() == own.count()
        assert asked(server, "planTableScan")
