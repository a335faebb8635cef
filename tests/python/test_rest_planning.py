"""Plans that a REST server makes."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

import frazil as fz
from rest_cases import SCHEMA, one, opened
from rest_server import RestServer, serving


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[RestServer]:
    with serving(tmp_path / "wh") as server:
        yield server


@pytest.fixture
def catalog(server: RestServer) -> fz.Catalog:
    found = opened(server)
    found.create_namespace("db")
    return found


@pytest.mark.parametrize("polls", [0, 2])
@pytest.mark.parametrize("files_in_a_task", [0, 1])
def test_the_server_plans(server: RestServer, catalog: fz.Catalog, polls: int, files_in_a_task: int) -> None:
    table = catalog.create_table(
        "db.t", SCHEMA, properties={"format-version": "3", "write.delete.mode": "merge-on-read"}
    )
    for value in range(4):
        table = table.append(one(value, value + 10))
    table.refresh().delete("id = 12")
    server.switches.change({"planning_mode": "server", "async_polls": polls, "files_in_a_task": files_in_a_task})
    loaded = catalog.load_table("db.t")
    server.reset()
    assert sorted(loaded.scan().to_arrow()["id"].to_pylist()) == [0, 1, 2, 3, 10, 11, 13]
    assert loaded.scan("id = 3").to_arrow()["id"].to_pylist() == [3]
    counts = server.counts()
    assert counts["planTableScan"] == 2
    assert bool(counts.get("fetchPlanningResult")) == (polls > 0)
    assert bool(counts.get("fetchScanTasks")) == (files_in_a_task > 0)
    before = loaded.snapshots[1].id
    assert sorted(loaded.scan(at=before).to_arrow()["id"].to_pylist()) == [0, 1, 10, 11]


def test_a_plan_that_nobody_wants_any_longer_is_cancelled(server: RestServer, catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA).append(one(1))
    server.switches.change({"planning_mode": "server", "async_polls": 10**6})
    loaded = opened(server, **{"rest-scan-planning.poll-timeout-ms": "500"}).load_table("db.t")
    with pytest.raises(fz.FrazilError, match="plan"):
        loaded.scan().to_arrow()
    assert server.service.plans.cancelled == 1


def test_a_server_that_plans_must_be_able_to(server: RestServer, catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA).append(one(1))
    server.switches.change({"planning_mode": "server", "without": ("planTableScan",)})
    with pytest.raises(fz.UnsupportedError, match="plan"):
        opened(server).load_table("db.t").scan().to_arrow()
