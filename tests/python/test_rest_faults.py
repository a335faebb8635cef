"""Requests to a REST catalog that fail before or after the server did what was asked: no row is lost, doubled or
deleted.

Each mutation × (before, after) × each kind of failure; and commits of four writers at once.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from rest_cases import SCHEMA, asked, ids, one, opened
from rest_fixtures import server
from rest_server import KINDS, RestServer

__all__ = ["server"]
WHENS = ("before", "after")
WRITERS, TURNS = 4, 3
NIGHTLY = os.environ.get("FRAZIL_NIGHTLY", "") not in ("", "0")
# With or without idempotency keys, on a server that shows all snapshots or the newest one.
VARIANTS = [("plain", "all"), ("idempotent", "newest")]
if NIGHTLY:
    VARIANTS += [("plain", "newest"), ("idempotent", "all")]
# A connection that is never answered ends after this.
SECONDS = 1.0
VIEW = {"sql": "select 1 as id", "schema": SCHEMA}


def committed(server: RestServer, name: str = "t") -> list[int]:
    """The rows that the server knows, read by a client that saw no fault."""
    return ids(opened(server, "other").load_table(f"db.{name}"))


# ---------------------------------------------------------------- four writers


@dataclass
class Written:
    """What became of the rows, as far as writers were told."""

    certain: set[int]
    unknown: set[int]
    failed: list[BaseException]


def race(server: RestServer, work: Callable[[fz.Table, int], fz.Table]) -> Written:
    """Four writers, each with its own catalog, do some work for each of their rows."""
    outcome = Written(set(), set(), [])

    def write(writer: int) -> None:
        try:
            table = opened(server, f"w{writer}").load_table("db.t")
            for turn in range(TURNS):
                row = writer * 100 + turn
                try:
                    table = work(table, row)
                    outcome.certain.add(row)
                except fz.CommitStateUnknownError:
                    outcome.unknown.add(row)
                    table = table.refresh()
                except (fz.CommitConflictError, fz.StoreError):
                    table = table.refresh()
        except BaseException as error:
            outcome.failed.append(error)

    threads = [threading.Thread(target=write, args=(w,)) for w in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcome


def check(server: RestServer, outcome: Written, base: set[int], name: str = "t") -> None:
    """Every row that is certain is there once; nothing else is, but rows whose commit is unknown."""
    assert outcome.failed == []
    found = committed(server, name)
    assert len(found) == len(set(found)), "a row is doubled"
    assert base | outcome.certain <= set(found), "a row is lost"
    assert set(found) <= base | outcome.certain | outcome.unknown, "a row is there of a commit that failed"
    # Reading has opened every file of the table. Those of older snapshots are there too.
    table = opened(server, "other").load_table(f"db.{name}")
    for snapshot in table.snapshots:
        table.scan(at=snapshot.id).to_arrow()


@pytest.mark.parametrize(("keys", "shown"), VARIANTS)
@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize("kind", KINDS)
def test_appends_of_four_writers(server: RestServer, kind: str, when: str, keys: str, shown: str) -> None:
    catalog = opened(server)
    catalog.create_namespace("db")
    catalog.create_table("db.t", SCHEMA, properties={"commit.retry.num-retries": "50"}).append(one(7))
    server.switches.change({"idempotency": keys == "idempotent", "last_snapshot_only": shown == "newest"})
    faults = [server.fault("updateTable", kind, when, nth=nth, seconds=SECONDS) for nth in (2, 5, 6, 11)]
    outcome = race(server, lambda table, row: table.append(one(row)))
    assert sum(fault.done for fault in faults) >= 3
    check(server, outcome, {7})
    if keys == "idempotent" and kind not in ("409", "429", "400-unknown"):
        assert outcome.unknown == set(), "with a key a lost answer is asked for again"
    if shown == "all" and when == "after":
        assert len(outcome.certain) == WRITERS * TURNS, "the own snapshot was in the table's history"


@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize("kind", KINDS)
def test_row_changes_of_four_writers(server: RestServer, kind: str, when: str) -> None:
    """Each writer replaces a row of its own: by an upsert, a delete and an append in one transaction."""
    catalog = opened(server)
    catalog.create_namespace("db")
    properties = {"commit.retry.num-retries": "50", "format-version": "3", "write.delete.mode": "merge-on-read"}
    rows = [w * 100 + t + 1000 for w in range(WRITERS) for t in range(TURNS)]
    table = catalog.create_table("db.t", SCHEMA, properties=properties)
    for row in rows:
        table = table.append(one(row))
    faults = [server.fault("updateTable", kind, when, nth=nth, seconds=SECONDS) for nth in (2, 5, 6)]

    def replace(table: fz.Table, row: int) -> fz.Table:
        with table.transaction() as tx:
            tx.delete(f"id = {row + 1000}")
            tx.append(one(row))
        return table.refresh()

    outcome = race(server, replace)
    assert sum(fault.done for fault in faults) >= 1
    assert outcome.failed == []
    found = committed(server)
    assert len(found) == len(set(found))
    for row in (w * 100 + t for w in range(WRITERS) for t in range(TURNS)):
        # A row was replaced, or it was not. It is not both, and it is not neither.
        assert (row in found) != (row + 1000 in found)
        if row in outcome.certain:
            assert row in found
        elif row not in outcome.unknown:
            assert row not in found


def two_tables(server: RestServer, **properties: str) -> dict[int, fz.Catalog]:
    """Makes the tables `t` and `u`. Returns a catalog for each writer."""
    catalog = opened(server)
    catalog.create_namespace("db")
    for name in ("t", "u"):
        catalog.create_table(f"db.{name}", SCHEMA, properties={"commit.retry.num-retries": "50", **properties})
    return {writer: opened(server, f"x{writer}") for writer in range(WRITERS)}


@pytest.mark.parametrize(("keys", "shown"), VARIANTS)
@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize("kind", KINDS)
def test_transactions_over_tables_of_four_writers(
    server: RestServer, kind: str, when: str, keys: str, shown: str
) -> None:
    server.switches.change({"idempotency": keys == "idempotent", "last_snapshot_only": shown == "newest"})
    catalogs = two_tables(server)
    faults = [server.fault("commitTransaction", kind, when, nth=nth, seconds=SECONDS) for nth in (2, 5, 6, 11)]

    def both(table: fz.Table, row: int) -> fz.Table:
        with catalogs[row // 100].transaction() as tx:
            tx.table("db.t").append(one(row))
            tx.table("db.u").append(one(row))
        return table.refresh()

    outcome = race(server, both)
    assert sum(fault.done for fault in faults) >= 3
    check(server, outcome, set())
    check(server, outcome, set(), "u")
    assert committed(server, "t") == committed(server, "u")
    assert asked(server, "updateTable") == []
    if keys == "idempotent" and kind not in ("409", "429", "400-unknown"):
        assert outcome.unknown == set(), "with a key a lost answer is asked for again"
    if shown == "all" and when == "after":
        assert len(outcome.certain) == WRITERS * TURNS, "the own snapshots were in the tables' histories"


@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_move_between_tables(server: RestServer, kind: str, when: str) -> None:
    """Each writer moves rows of its own from one table to the other. Each row is in one of them, at any time."""
    catalogs = two_tables(server, **{"format-version": "3", "write.delete.mode": "merge-on-read"})
    rows = [w * 100 + t for w in range(WRITERS) for t in range(TURNS)]
    table = catalogs[0].load_table("db.t")
    for row in rows:
        table = table.append(one(row))
    faults = [server.fault("commitTransaction", kind, when, nth=nth, seconds=SECONDS) for nth in (2, 5, 6)]

    def move(table: fz.Table, row: int) -> fz.Table:
        with catalogs[row // 100].transaction() as tx:
            tx.table("db.u").append(one(row))
            tx.table("db.t").delete(f"id = {row}")
        return table.refresh()

    outcome = race(server, move)
    assert sum(fault.done for fault in faults) >= 1
    assert outcome.failed == []
    left, right = committed(server, "t"), committed(server, "u")
    assert sorted(left + right) == rows, "a row is lost or doubled"
    assert outcome.certain <= set(right) <= outcome.certain | outcome.unknown


# ---------------------------------------------------------------- one after the other


def _exists(of: Callable[[fz.Catalog, str], bool], name: str) -> Callable[[fz.Catalog], bool]:
    return lambda catalog: of(catalog, name)


@dataclass
class Mutation:
    """A request that changes something: what comes before, the request, and whether it is done."""

    operation: str
    prepare: Callable[[fz.Catalog], Any]
    act: Callable[[fz.Catalog], Any]
    is_done: Callable[[fz.Catalog], bool]
    # Tells it from another one with the same operation.
    variant: str = ""

    @property
    def name(self) -> str:
        return f"{self.operation}-{self.variant}" if self.variant else self.operation


def _two_versions(catalog: fz.Catalog) -> None:
    _table(catalog).set_properties({"a": "b"})


def _first_version(catalog: fz.Catalog) -> str:
    """The file of the version with rows and without the property."""
    folder = pathlib.Path(catalog.load_table("db.t").location) / "metadata"
    return str(next(iter(sorted(folder.glob("00001-*.metadata.json")))))


def _created_with_rows(catalog: fz.Catalog) -> None:
    with catalog.create_table_transaction("db.t", SCHEMA) as tx:
        tx.append(one(1, 2))


def _table(catalog: fz.Catalog, name: str = "db.t") -> fz.Table:
    return catalog.create_table(name, SCHEMA).append(one(1))


def _view(catalog: fz.Catalog) -> Any:
    return catalog.create_view("db.v", **VIEW)


MUTATIONS = {
    mutation.name: mutation
    for mutation in (
        Mutation(
            "createNamespace",
            lambda c: None,
            lambda c: c.create_namespace("new"),
            lambda c: c.namespace_exists("new"),
        ),
        Mutation(
            "dropNamespace",
            lambda c: c.create_namespace("old"),
            lambda c: c.drop_namespace("old"),
            lambda c: not c.namespace_exists("old"),
        ),
        Mutation(
            "updateProperties",
            lambda c: None,
            lambda c: c.update_namespace_properties("db", updates={"a": "b"}),
            lambda c: "a" in c.load_namespace_properties("db"),
        ),
        Mutation(
            "createTable",
            lambda c: None,
            lambda c: c.create_table("db.t", SCHEMA),
            lambda c: c.table_exists("db.t"),
        ),
        Mutation(
            "updateTable",
            _table,
            lambda c: c.load_table("db.t").set_properties({"a": "b"}),
            lambda c: "a" in c.load_table("db.t").properties,
        ),
        Mutation(
            "dropTable",
            _table,
            lambda c: c.drop_table("db.t"),
            lambda c: not c.table_exists("db.t"),
        ),
        Mutation(
            "renameTable",
            _table,
            lambda c: c.rename_table("db.t", "db.u"),
            lambda c: c.table_exists("db.u") and not c.table_exists("db.t"),
        ),
        Mutation(
            "registerTable",
            _table,
            lambda c: c.register_table("db.r", c.load_table("db.t").metadata_location),
            lambda c: c.table_exists("db.r"),
        ),
        Mutation(
            "registerTable",
            _two_versions,
            lambda c: c.register_table("db.t", _first_version(c), overwrite=True),
            lambda c: "a" not in c.load_table("db.t").properties,
            "overwrite",
        ),
        Mutation(
            "unregisterTable",
            _table,
            lambda c: c.unregister_table("db.t"),
            lambda c: not c.table_exists("db.t"),
        ),
        Mutation(
            "createTable",
            lambda c: None,
            _created_with_rows,
            lambda c: c.table_exists("db.t"),
            "staged",
        ),
        Mutation(
            "updateTable",
            lambda c: None,
            _created_with_rows,
            lambda c: c.table_exists("db.t") and ids(c.load_table("db.t")) == [1, 2],
            "creating",
        ),
        Mutation(
            "createView",
            lambda c: None,
            _view,
            lambda c: c.view_exists("db.v"),
        ),
        Mutation(
            "replaceView",
            _view,
            lambda c: c.replace_view("db.v", sql="select 2 as id", schema=SCHEMA),
            lambda c: "2" in c.load_view("db.v").sql(),
        ),
        Mutation(
            "dropView",
            _view,
            lambda c: c.drop_view("db.v"),
            lambda c: not c.view_exists("db.v"),
        ),
        Mutation(
            "renameView",
            _view,
            lambda c: c.rename_view("db.v", "db.w"),
            lambda c: c.view_exists("db.w") and not c.view_exists("db.v"),
        ),
        Mutation(
            "registerView",
            _view,
            lambda c: c.register_view("db.r", c.load_view("db.v").metadata_location),
            lambda c: c.view_exists("db.r"),
        ),
    )
}
CASES = list(itertools.product(MUTATIONS, WHENS, KINDS))


@pytest.mark.parametrize("keys", ["plain", "idempotent"] if NIGHTLY else ["plain"])
@pytest.mark.parametrize(("name", "when", "kind"), CASES)
def test_what_is_said_is_so(server: RestServer, name: str, when: str, kind: str, keys: str) -> None:
    """Success means done. An error means not done, or says that nobody knows."""
    server.switches.idempotency = keys == "idempotent"
    catalog = opened(server)
    catalog.create_namespace("db")
    mutation = MUTATIONS[name]
    operation = mutation.operation
    mutation.prepare(catalog)
    before = {p for p in pathlib.Path(server.service.warehouse).rglob("*") if p.is_file()}
    earlier = len(asked(server, operation))
    server.fault(operation, kind, when, seconds=SECONDS)
    error: fz.FrazilError | None = None
    try:
        mutation.act(catalog)
    except fz.FrazilError as raised:
        error = raised
    is_done = mutation.is_done(opened(server, "other"))
    if error is None:
        assert is_done
    elif not isinstance(error, fz.CommitStateUnknownError):
        assert not is_done, f"it was done, but the error does not say so: {error!r}"
    assert not isinstance(error, fz.InternalError)
    attempts = asked(server, operation)[earlier:]
    if keys == "plain":
        # A commit that was certainly refused is a new commit on the newest version.
        retried = operation == "updateTable" and kind in ("409", "429")
        assert len(attempts) <= 1 + retried, "a mutation is sent once"
    else:
        # Such a commit has a key of its own.
        renewed = operation == "updateTable" and (when, kind) == ("before", "409")
        assert len({request.headers["idempotency-key"] for request in attempts}) == 1 + renewed
    # Nothing was deleted, whatever was answered.
    assert before <= {p for p in pathlib.Path(server.service.warehouse).rglob("*") if p.is_file()}


@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize("kind", KINDS)
def test_files_of_new_tables_stay(server: RestServer, kind: str, when: str) -> None:
    """A table that is created with rows: stage-create, files, commit."""
    catalog = opened(server)
    catalog.create_namespace("db")
    tx = catalog.create_table_transaction("db.t", SCHEMA).append(one(1, 2))
    server.fault("updateTable", kind, when, seconds=SECONDS)
    warehouse = pathlib.Path(server.service.warehouse)
    try:
        assert ids(tx.commit()) == [1, 2]
        assert committed(server) == [1, 2]
    except fz.CommitStateUnknownError:
        assert list(warehouse.rglob("*.parquet")), "files of an unknown commit are kept"
    except fz.FrazilError:
        assert not opened(server, "other").table_exists("db.t")
        assert not list(warehouse.rglob("*.parquet"))


# ---------------------------------------------------------------- times that go wrong


def test_a_conflict_that_was_ones_own_success(server: RestServer) -> None:
    """A proxy sends the request twice: the second is refused, though the first was done."""
    catalog = opened(server)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA).append(one(1))
    server.fault("updateTable", "409", "after")
    table = table.append(one(2))
    assert ids(table) == [1, 2]
    assert len(table.refresh().snapshots) == 2
    server.fault("updateTable", "409", "after")
    table.delete("id = 1")
    assert committed(server) == [2]


def test_an_answer_that_comes_too_late(server: RestServer) -> None:
    """The client gives up waiting; the server does it all the same, later."""
    catalog = opened(server, **{"rest.client.socket-timeout-ms": "500"})
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    server.switches.slow_after_commit = 1.5
    start = time.monotonic()
    table.append(one(1))
    assert time.monotonic() - start < 5
    assert committed(server) == [1]


def test_a_recheck_that_fails_too(server: RestServer) -> None:
    catalog = opened(server)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    server.fault("updateTable", "502", "after")
    server.fault("loadTable", "503", nth=2, times=50)
    with pytest.raises(fz.CommitStateUnknownError) as raised:
        table.append(one(1))
    server.service.faults.clear()
    assert "db.t" in str(raised.value)
    assert committed(server) == [1]


def test_a_cut_load_is_asked_again(server: RestServer) -> None:
    catalog = opened(server)
    catalog.create_namespace("db")
    catalog.create_table("db.t", SCHEMA).append(one(1))
    for kind in ("reset", "cut", "500", "502", "503", "504", "429"):
        server.fault("loadTable", kind, seconds=SECONDS)
        assert ids(catalog.load_table("db.t")) == [1]


def test_rows_written_in_parts_are_not_lost(server: RestServer) -> None:
    """Messages of writers, as executors send them, are committed once."""
    catalog = opened(server)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    writer = table.writer()
    messages = [writer.write(pa.table({"id": pa.array([n], pa.int64())})) for n in range(3)]
    server.fault("updateTable", "504", "after")
    table.commit(messages)
    assert committed(server) == [0, 1, 2]
