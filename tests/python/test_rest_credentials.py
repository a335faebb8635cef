"""Credentials for the store that a REST catalog hands out: they live for seconds, the job lives longer."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys
import threading
import time

import pytest

import frazil as fz
from rest_cases import OWN, SCHEMA, asked, ids, one, opened
from rest_fixtures import gate, port
from rest_fixtures import lending_server as server
from rest_server import Gate, RestServer, Vending

__all__ = ["gate", "port", "server"]


def prepared(server: RestServer) -> fz.Table:
    catalog = opened(server)
    catalog.create_namespace("db")
    return catalog.create_table("db.t", SCHEMA)


@pytest.mark.parametrize("within", ["storage-credentials", "config", "both"])
def test_the_table_has_its_own_keys(server: RestServer, gate: Gate, within: str) -> None:
    server.switches.vending = Vending(within=within)
    table = prepared(server)
    assert ids(table.append(one(1)).append(one(2))) == [1, 2]
    assert gate.refused == []
    assert all("vended-credentials" in r.headers["x-iceberg-access-delegation"] for r in asked(server, "createTable"))


@pytest.mark.parametrize("endpoint", ["credentials", "load"])
def test_keys_are_renewed_before_they_end(server: RestServer, gate: Gate, endpoint: str) -> None:
    server.switches.vending = Vending(seconds=5)
    if endpoint == "load":
        server.switches.without = ("loadCredentials",)
    table = prepared(server)
    end, turn = time.monotonic() + 12, 0
    while time.monotonic() < end:
        table = table.append(one(turn))
        turn += 1
        time.sleep(0.5)
    assert ids(table) == list(range(turn))
    assert gate.refused == []
    renewed = "loadCredentials" if endpoint == "credentials" else "loadTable"
    assert len(asked(server, renewed)) >= 2


def test_one_renewal_for_all_who_read(server: RestServer, gate: Gate) -> None:
    server.switches.vending = Vending(seconds=4)
    table = prepared(server)
    for value in range(8):
        table = table.append(one(value))
    server.reset()
    failed: list[BaseException] = []

    def read() -> None:
        try:
            end = time.monotonic() + 8
            while time.monotonic() < end:
                assert table.scan().count() == 8
                table.scan().to_arrow()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert gate.refused == []
    assert 1 <= len(asked(server, "loadCredentials")) + len(asked(server, "loadTable")) <= 8


READER = """
import pickle, sys, time
splits = pickle.load(open(sys.argv[1], "rb"))
time.sleep(float(sys.argv[2]))
print(sum(split.to_arrow().num_rows for split in splits))
"""


def test_tasks_in_other_processes_renew_their_keys(server: RestServer, gate: Gate, tmp_path: pathlib.Path) -> None:
    server.switches.vending = Vending(seconds=5)
    table = prepared(server)
    for value in range(4):
        table = table.append(one(value))
    tasks = list(table.scan().plan())
    kept = tmp_path / "tasks"
    kept.write_bytes(pickle.dumps(tasks))
    assert OWN["secret"].encode() not in kept.read_bytes()
    server.reset()
    command = [sys.executable, "-c", READER, str(kept)]
    readers = [subprocess.Popen([*command, str(wait)], stdout=subprocess.PIPE, text=True) for wait in (0, 7)]
    assert [reader.communicate(timeout=60)[0].strip() for reader in readers] == ["4", "4"]
    assert gate.refused == []
    assert 1 <= len(asked(server, "loadCredentials")) <= 2


def test_the_catalogs_secret_is_not_in_tasks(server: RestServer, gate: Gate) -> None:
    from rest_server import Auth

    server.switches.change({"vending": Vending(), "auth": Auth(secret="me:catalog-sesame")})
    catalog = opened(server, credential="me:catalog-sesame")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA).append(one(1))
    tasks = list(table.scan().plan())
    sent = pickle.dumps(tasks)
    assert b"catalog-sesame" not in sent
    vended = server.switches.vending
    assert vended is not None
    for text in (repr(table), repr(tasks), repr(catalog), str(table.scan().explain())):
        for secret in (vended.secret, "catalog-sesame", *server.service.guard.session_tokens):
            assert secret not in text


def test_requests_are_signed_by_the_server(server: RestServer, gate: Gate) -> None:
    server.switches.signing = True
    table = prepared(server)
    for value in range(3):
        table = table.append(one(value))
    table.delete("id = 0")
    assert ids(table) == [1, 2]
    assert gate.refused == []
    signed = asked(server, "signRequest")
    assert signed
    for request in signed:
        assert request.body["properties"]["secret-of-signer"] == "pass-me-through"
        assert request.headers["x-signer-tenant"] == "frazil"
    assert all("remote-signing" in r.headers["x-iceberg-access-delegation"] for r in asked(server, "createTable"))


def test_a_signer_that_signs_no_lists(server: RestServer, gate: Gate) -> None:
    server.switches.change({"signing": True, "signer_refuses_lists": True})
    table = prepared(server).append(one(1)).append(one(2))
    table.maintain.compact(rewrite_all=True)
    assert ids(table) == [1, 2]
    with pytest.raises(fz.FrazilError, match="sign"):
        table.refresh().maintain.remove_orphan_files()
    assert ids(table) == [1, 2]


def test_a_decoy_of_a_signer_is_not_asked(server: RestServer, gate: Gate) -> None:
    server.switches.change({"vending": Vending(), "decoy_signer": True, "unknown_config_keys": True})
    assert ids(prepared(server).append(one(1))) == [1]
    assert asked(server, "signRequest") == []


def test_keys_of_a_plan(server: RestServer, gate: Gate) -> None:
    server.switches.change({"vending": Vending(), "planning_mode": "server"})
    table = prepared(server).append(one(1))
    server.switches.vending = Vending(seconds=4)
    loaded = opened(server).load_table("db.t")
    assert loaded.scan().to_arrow().num_rows == 1
    assert asked(server, "planTableScan")
    assert ids(table) == [1]


def test_keys_of_a_plan_are_in_its_splits(server: RestServer, gate: Gate) -> None:
    server.switches.change({"vending": Vending(key="AKIDTABLE"), "planning_mode": "server"})
    prepared(server).append(one(1)).append(one(2))
    loaded = opened(server).load_table("db.t")
    # From now on, plans have other keys than the table.
    server.switches.vending = Vending(key="AKIDPLAN")
    splits = loaded.scan().plan()
    assert all(b"AKIDPLAN" in pickle.dumps(split) and b"AKIDTABLE" not in pickle.dumps(split) for split in splits)
    rows = [row for split in pickle.loads(pickle.dumps(splits)) for row in split.to_arrow()["id"].to_pylist()]
    assert sorted(rows) == [1, 2]
    assert gate.refused == []


def test_keys_of_a_plan_are_renewed(server: RestServer, gate: Gate) -> None:
    server.switches.change({"vending": Vending(seconds=2), "planning_mode": "server"})
    prepared(server).append(one(1)).append(one(2))
    splits = opened(server).load_table("db.t").scan().plan()
    server.reset()
    time.sleep(2.5)
    rows = [row for split in splits for row in split.to_arrow()["id"].to_pylist()]
    assert sorted(rows) == [1, 2]
    named = {request.query.get("planId") for request in asked(server, "loadCredentials")}
    assert named
    assert None not in named
