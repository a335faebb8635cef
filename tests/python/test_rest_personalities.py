"""REST servers that are all a little different: each gets what it wants."""

from __future__ import annotations

import pathlib
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.catalog.rest import RestCatalog

import frazil as fz
from rest_cases import SCHEMA, asked, ids, one, opened
from rest_fixtures import catalog, server
from rest_server import Answer, RestServer
from rest_server.asking import ask

__all__ = ["catalog", "server"]


# ---------------------------------------------------------------- locations, drops and names


def test_a_server_that_wants_locations_gets_them(server: RestServer) -> None:
    server.switches.needs_location = True
    catalog = opened(server)
    catalog.create_namespace("db")
    where = catalog.load_namespace_properties("db")["location"]
    assert catalog.create_table("db.t", SCHEMA).location == f"{where}/t"


def test_a_server_that_wants_no_locations_gets_none(server: RestServer, tmp_path: pathlib.Path) -> None:
    server.switches.refuses_location = True
    catalog = opened(server)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    assert asked(server, "createTable")[-1].body.get("location") is None
    assert ids(table.append(one(1))) == [1]
    with pytest.raises(fz.InvalidInputError, match="location"):
        catalog.create_table("db.u", SCHEMA, location=tmp_path / "mine")


@pytest.mark.parametrize("purge", [False, True])
def test_drops_say_whether_files_go(server: RestServer, catalog: fz.Catalog, purge: bool) -> None:
    catalog.create_table("db.t", SCHEMA)
    catalog.drop_table("db.t", purge=purge)
    assert asked(server, "dropTable")[-1].query == {"purgeRequested": str(purge).lower()}


@pytest.mark.parametrize(("switch", "works"), [("purge_must", True), ("purge_never", False)])
def test_servers_that_know_one_way_to_drop(server: RestServer, catalog: fz.Catalog, switch: str, works: bool) -> None:
    server.switches.change({switch: True})
    catalog.create_table("db.t", SCHEMA).append(one(1))
    with pytest.raises(fz.InvalidInputError, match="purgeRequested"):
        catalog.drop_table("db.t", purge=not works)
    assert catalog.table_exists("db.t")
    catalog.drop_table("db.t", purge=works)
    assert not catalog.table_exists("db.t")


def test_drops_may_be_answered_in_two_ways(server: RestServer, catalog: fz.Catalog) -> None:
    server.switches.drop_answers_200 = True
    catalog.create_table("db.t", SCHEMA)
    catalog.drop_table("db.t")
    catalog.drop_namespace("db")
    assert catalog.list_namespaces() == []


def test_pages_nobody_asked_for(server: RestServer, catalog: fz.Catalog) -> None:
    names = [f"db.t{n}" for n in range(7)]
    for name in names:
        catalog.create_table(name, SCHEMA)
    for n in range(6):
        catalog.create_namespace(f"n{n}")
    server.switches.page_size = 3
    assert sorted(catalog.list_tables("db")) == names
    assert len(catalog.list_namespaces()) == 7


def test_pages_that_never_end_are_refused(server: RestServer, catalog: fz.Catalog) -> None:
    def again(answer: Answer) -> Answer:
        return Answer(200, {"identifiers": [], "next-page-token": "same"})

    server.service.faults.change("listTables", again, times=10**9)
    with pytest.raises(fz.FrazilError, match="page"):
        catalog.list_tables("db")


@pytest.mark.parametrize("separator", ["\x1f", ".", "/"])
def test_separators_of_namespaces(server: RestServer, separator: str) -> None:
    server.switches.separator = separator
    catalog = opened(server)
    catalog.create_namespace("a.b")
    catalog.create_namespace("a.b.c")
    assert catalog.list_namespaces("a.b") == ["a.b.c"]
    assert ids(catalog.create_table("a.b.t", SCHEMA).append(one(1))) == [1]
    assert catalog.list_tables("a.b") == ["a.b.t"]


@pytest.mark.parametrize("name", ["t t", "żółw", "t%2Fx", "t+x", "a&b=c", "t'x", "#1"])
def test_names_are_encoded(catalog: fz.Catalog, name: str) -> None:
    table = catalog.create_table(f"db.{name}", SCHEMA)
    assert catalog.list_tables("db") == [f"db.{name}"]
    assert catalog.load_table(f"db.{name}").uuid == table.uuid


def test_a_prefix_is_used(server: RestServer) -> None:
    server.switches.prefix = "catalogs/123"
    catalog = opened(server)
    catalog.create_namespace("db")
    assert ids(catalog.create_table("db.t", SCHEMA).append(one(1))) == [1]


def test_warehouses(server: RestServer) -> None:
    server.switches.warehouses = ("bl://projects/x y",)
    assert opened(server, warehouse="bl://projects/x y").list_namespaces() == []
    with pytest.raises(fz.NotFoundError, match="other"):
        opened(server, warehouse="other").list_namespaces()


def test_the_server_configures_the_client(server: RestServer) -> None:
    server.switches.change({"defaults": {"header.X-A": "theirs"}, "overrides": {"header.X-B": "theirs"}})
    server.switches.wanted_headers = {}
    opened(server, **{"header.X-A": "mine", "header.X-B": "mine"}).list_namespaces()
    headers = asked(server, "listNamespaces")[-1].headers
    assert (headers["x-a"], headers["x-b"]) == ("mine", "theirs")


# ---------------------------------------------------------------- what servers can and can't do


def test_without_endpoints_the_default_ones_are_used(server: RestServer) -> None:
    server.switches.no_endpoints = True
    catalog = opened(server)
    catalog.create_namespace("db")
    catalog.create_table("db.t", SCHEMA)
    assert catalog.table_exists("db.t")
    assert not catalog.table_exists("db.no")
    assert catalog.namespace_exists("db")
    # HEAD is not among them, nor are views and credentials.
    assert {request.method for request in server.service.asked} == {"GET", "POST"}


@pytest.mark.parametrize(
    ("without", "call"),
    [
        ("renameTable", lambda c: c.rename_table("db.t", "db.u")),
        ("registerTable", lambda c: c.register_table("db.u", "/x/00000-x.metadata.json")),
        ("updateProperties", lambda c: c.update_namespace_properties("db", updates={"a": "b"})),
        ("dropTable", lambda c: c.drop_table("db.t")),
    ],
)
def test_what_a_server_does_not_offer_is_not_asked(server: RestServer, without: str, call: Any) -> None:
    opened(server).create_namespace("db")
    server.switches.without = (without,)
    with pytest.raises(fz.UnsupportedError, match="does not offer"):
        call(opened(server))
    assert without not in server.counts()


def test_heads_may_be_missing(server: RestServer, catalog: fz.Catalog) -> None:
    server.switches.without = ("tableExists", "namespaceExists", "viewExists")
    other = opened(server)
    other.create_table("db.t", SCHEMA)
    assert (other.table_exists("db.t"), other.table_exists("db.no")) == (True, False)
    assert (other.namespace_exists("db"), other.namespace_exists("no")) == (True, False)


def test_heads_with_bodies(server: RestServer, catalog: fz.Catalog) -> None:
    server.switches.head_with_body = True
    catalog.create_table("db.t", SCHEMA)
    for _ in range(5):
        assert (catalog.table_exists("db.t"), catalog.table_exists("db.no")) == (True, False)
        assert catalog.namespace_exists("db")


def test_explicit_nulls(server: RestServer) -> None:
    server.switches.explicit_nulls = True
    catalog = opened(server)
    catalog.create_namespace("db")
    for version in "123":
        table = catalog.create_table(f"db.t{version}", SCHEMA, properties={"format-version": version})
        table.append(one(1)).append(one(2))
        assert ids(catalog.load_table(f"db.t{version}")) == [1, 2]
    assert len(catalog.list_tables("db")) == 3
    with pytest.raises(fz.NotFoundError):
        catalog.load_table("db.no")


def test_what_servers_send_and_nobody_knows(server: RestServer) -> None:
    server.switches.change({"unknown_config_keys": True, "decoy_signer": True})
    catalog = opened(server)
    catalog.create_namespace("db")
    assert ids(catalog.create_table("db.t", SCHEMA).append(one(1))) == [1]
    assert "signRequest" not in server.counts()
    # One's own mistakes are still errors.
    with pytest.raises(fz.InvalidInputError, match=r"s3\.regoin"):
        opened(server, **{"s3.regoin": "eu"}).load_table("db.t")


def test_labels_are_shown(server: RestServer, catalog: fz.Catalog) -> None:
    server.switches.labels = {"object-labels": {"team": "data"}, "fields": [{"field-id": 1, "labels": {"pii": "yes"}}]}
    catalog.create_table("db.t", SCHEMA)
    assert "team" in str(catalog.load_table("db.t").labels)


# ---------------------------------------------------------------- commits


def test_one_snapshot_in_a_commit(server: RestServer, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA).append(one(1, 2, 3))
    server.switches.one_snapshot = True
    with table.transaction() as tx:
        tx.append(one(4))
        tx.append(one(5))
        tx.set_properties({"a": "b"})
    assert ids(table) == [1, 2, 3, 4, 5]
    assert len(table.refresh().snapshots) == 2
    with table.refresh().transaction() as tx:
        tx.delete("id = 1")
        tx.append(one(6))
    assert ids(table) == [2, 3, 4, 5, 6]


def test_a_server_that_shows_one_snapshot(server: RestServer, catalog: fz.Catalog) -> None:
    server.switches.last_snapshot_only = True
    table = catalog.create_table("db.t", SCHEMA)
    stale = catalog.load_table("db.t")
    for value in range(3):
        table = table.append(one(value))
    stale.append(one(3))
    table.refresh().delete("id = 0")
    assert ids(catalog.load_table("db.t")) == [1, 2, 3]
    assert len(server.service.register.tables["db", "t"].metadata["snapshots"]) == 5


@pytest.mark.parametrize("shows", ["all", "newest"])
def test_a_lost_answer_is_never_a_failure_where_history_is_hidden(
    server: RestServer, catalog: fz.Catalog, shows: str
) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    server.switches.last_snapshot_only = shows == "newest"
    other = RestCatalog("c", uri=server.url).load_table("db.t")
    server.fault("updateTable", "502", "after")
    real = server.service.answer

    def answer(call: Any) -> Any:
        made = real(call)
        if call.operation == "updateTable" and getattr(made, "status", 0) == 502:
            server.service.answer = real  # type: ignore[method-assign]
            other.refresh().append(one(2))
        return made

    server.service.answer = answer  # type: ignore[method-assign]
    try:
        table.append(one(1))
    except fz.CommitStateUnknownError:
        assert shows == "newest"
    assert ids(catalog.load_table("db.t")) == [1, 2]


@pytest.mark.parametrize("shows", ["all", "newest"])
def test_a_confirmed_commit_that_was_not_made_is_no_success(
    server: RestServer, catalog: fz.Catalog, shows: str, tmp_path: pathlib.Path
) -> None:
    """The answer is a success, but the returned version lacks the snapshot."""
    table = catalog.create_table("db.t", SCHEMA)
    server.switches.change({"last_snapshot_only": shows == "newest", "forgets_commits": 1})
    with pytest.raises(fz.CommitStateUnknownError, match="lacks the new snapshot"):
        table.append(one(1))
    assert ids(table) == []
    # Nothing is deleted, because the server may show the commit later.
    assert len(list((tmp_path / "wh").rglob("*.parquet"))) == 1
    table = table.refresh().append(one(2))
    server.switches.forgets_commits = 1
    with pytest.raises(fz.CommitStateUnknownError, match="lacks the new snapshot"):
        table.delete("id = 2")
    server.switches.forgets_commits = 1
    changes = table.refresh().transaction()
    changes.append(one(3)).append(one(4))
    with pytest.raises(fz.CommitStateUnknownError, match="lacks the new snapshot"):
        changes.commit()
    assert ids(table) == [2]


@pytest.mark.parametrize("shows", ["all", "newest"])
@pytest.mark.parametrize("first", [False, True], ids=["later", "first"])
def test_a_confirmed_commit_that_another_one_replaced_is_tried_again(
    server: RestServer, catalog: fz.Catalog, shows: str, first: bool
) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    rows = []
    if not first:
        table, rows = table.append(one(0)), [0]
    other = catalog.load_table("db.t")
    server.switches.change({"last_snapshot_only": shows == "newest", "forgets_commits": 1})
    real = server.service.answer

    def answer(call: Any) -> Any:
        made = real(call)
        if call.operation == "updateTable":
            server.service.answer = real  # type: ignore[method-assign]
            other.append(one(1))
        return made

    server.service.answer = answer  # type: ignore[method-assign]
    table.append(one(2))
    assert ids(table) == [*rows, 1, 2]
    assert len(asked(server, "updateTable")) == 3 + len(rows)


def test_a_confirmed_commit_that_its_answer_does_not_show_is_looked_for(
    server: RestServer, catalog: fz.Catalog
) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    old = ask(server, "GET", "/v1/namespaces/db/tables/t").body
    kept = {name: old[name] for name in ("metadata-location", "metadata")}
    server.service.faults.change("updateTable", lambda answer: Answer(answer.status, kept, answer.headers))
    assert ids(table.append(one(1))) == [1]
    assert len(asked(server, "updateTable")) == 1


@pytest.mark.parametrize("shows", ["all", "newest"])
def test_a_confirmed_commit_to_several_tables_that_was_not_made_is_no_success(
    server: RestServer, catalog: fz.Catalog, shows: str
) -> None:
    tables = [catalog.create_table(f"db.{name}", SCHEMA).append(one(1)) for name in "ab"]
    server.switches.change({"last_snapshot_only": shows == "newest", "forgets_commits": 1})
    changes = catalog.transaction()
    for name in "ab":
        changes.table(f"db.{name}").append(one(2))
    with pytest.raises(fz.CommitStateUnknownError, match="lacks the new snapshot"):
        changes.commit()
    assert [ids(table) for table in tables] == [[1], [1]]
    with catalog.transaction() as changes:
        for name in "ab":
            changes.table(f"db.{name}").append(one(3))
    assert [ids(table) for table in tables] == [[1, 3], [1, 3]]


def test_unknown_in_a_400(server: RestServer, catalog: fz.Catalog) -> None:
    server.switches.unknown_as_400 = True
    table = catalog.create_table("db.t", SCHEMA)
    server.fault("updateTable", "500", "after")
    assert ids(table.append(one(1))) == [1]
    assert len(asked(server, "updateTable")) == 1


def test_slow_answers(server: RestServer, catalog: fz.Catalog) -> None:
    server.switches.slow_after_commit = 1.0
    table = catalog.create_table("db.t", SCHEMA)
    assert ids(table.append(one(1))) == [1]
    assert len(asked(server, "updateTable")) == 1


def test_idempotency_keys(server: RestServer) -> None:
    plain = opened(server)
    plain.create_namespace("db")
    assert all("idempotency-key" not in request.headers for request in server.service.asked)
    server.switches.idempotency = True
    catalog = opened(server)
    table = catalog.create_table("db.t", SCHEMA)
    server.fault("updateTable", "503", "after")
    server.fault("updateTable", "reset", "before", nth=3)
    assert ids(table.append(one(1)).append(one(2))) == [1, 2]
    keys = [request.headers["idempotency-key"] for request in asked(server, "updateTable")]
    assert len(keys) == 4
    assert len(set(keys)) == 2
    assert {uuid.UUID(key).version for key in keys} == {7}
    # The second commit was not made before its repetition.
    assert server.service.replayed == 1


def test_reads_are_retried_and_mutations_are_not(server: RestServer, catalog: fz.Catalog) -> None:
    server.fault("loadTable", "503", times=2)
    server.fault("listTables", "reset")
    catalog.create_table("db.t", SCHEMA)
    assert catalog.load_table("db.t").schema.names == ["id"]
    assert catalog.list_tables("db") == ["db.t"]
    server.fault("createNamespace", "503")
    with pytest.raises(fz.FrazilError):
        catalog.create_namespace("x")
    assert len([r for r in asked(server, "createNamespace") if r.body["namespace"] == ["x"]]) == 1


def test_a_server_that_is_asked_too_much(server: RestServer, catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA)
    server.switches.change({"throttle_every": 2, "retry_after": "1"})
    start = time.monotonic()
    for _ in range(2):
        catalog.load_table("db.t")
    assert 1.0 <= time.monotonic() - start < 8.0


def test_loads_that_changed_nothing(server: RestServer) -> None:
    server.switches.etags = True
    catalog = opened(server)
    catalog.create_namespace("db")
    catalog.create_table("db.t", SCHEMA)
    first = catalog.load_table("db.t")
    again = catalog.load_table("db.t")
    assert [request.status for request in asked(server, "loadTable")] == [200, 304]
    assert again.metadata_location == first.metadata_location
    first.append(one(1))
    assert ids(catalog.load_table("db.t")) == [1]


# ---------------------------------------------------------------- one snapshot a commit, in good time


def parquet(server: RestServer) -> set[str]:
    return {str(path) for path in pathlib.Path(server.service.warehouse).rglob("*.parquet")}


REFUSED: dict[str, Callable[[fz.Transaction, pathlib.Path], Any]] = {
    "overwrite": lambda tx, file: tx.overwrite(one(8), "id < 100"),
    "overwrite_all": lambda tx, file: tx.overwrite(one(8)),
    "overwrite_partitions": lambda tx, file: tx.overwrite_partitions(one(8)),
    "delete_files": lambda tx, file: tx.delete_files("id < 100"),
    "cherry_pick": lambda tx, file: tx.cherry_pick(next(s.id for s in tx._table.snapshots)),
}


@pytest.mark.parametrize("verb", REFUSED)
def test_what_can_t_be_one_snapshot_writes_nothing(
    server: RestServer, catalog: fz.Catalog, tmp_path: pathlib.Path, verb: str
) -> None:
    catalog.create_table("db.t", SCHEMA).append(one(1)).append(one(2))
    limited = opened(server, **{"rest.one-snapshot-commits": "true"})
    server.switches.one_snapshot = True
    table = limited.load_table("db.t")
    tx = table.transaction()
    tx.append(one(3))
    before = {str(p) for p in pathlib.Path(server.service.warehouse).rglob("*") if p.is_file()}
    with pytest.raises(fz.UnsupportedError, match="one new snapshot in a commit"):
        REFUSED[verb](tx, tmp_path)
    after = {str(p) for p in pathlib.Path(server.service.warehouse).rglob("*") if p.is_file()}
    # Neither data files nor, before the commit, manifests of the refused change.
    assert {name for name in after - before if name.endswith(".parquet")} == set()
    # The transaction goes on without it.
    tx.commit()
    assert ids(table) == [1, 2, 3]
    assert "updateTable" in server.counts()


def test_what_can_be_one_snapshot_still_is(server: RestServer, catalog: fz.Catalog) -> None:
    properties = {"format-version": "2", "write.delete.mode": "merge-on-read"}
    catalog.create_table("db.t", SCHEMA, properties=properties).append(one(1, 2, 3))
    server.switches.one_snapshot = True
    table = opened(server, **{"rest.one-snapshot-commits": "true"}).load_table("db.t")
    with table.transaction() as tx:
        tx.delete("id = 1")
        tx.append(one(4, 5))
        tx.delete("id = 4")
        tx.upsert(one(2, 6), on=["id"])
    assert ids(table) == [2, 3, 5, 6]
    assert len(table.refresh().snapshots) == 2
    with table.refresh().transaction() as tx:
        tx.overwrite(one(7), "id = 2")
        tx.append(one(8))
    assert ids(table) == [3, 5, 6, 7, 8]


def test_deletes_by_keys_don_t_follow_new_rows(server: RestServer, catalog: fz.Catalog) -> None:
    """Deletes by keys don't reach files of their own snapshot."""
    catalog.create_table("db.t", SCHEMA, properties={"format-version": "2"}).append(one(1, 2))
    server.switches.one_snapshot = True
    table = opened(server, **{"rest.one-snapshot-commits": "true"}).load_table("db.t")
    tx = table.transaction()
    tx.append(one(3, 4))
    before = parquet(server)
    with pytest.raises(fz.UnsupportedError, match="reach no rows of the same snapshot"):
        tx.delete_keys(one(1, 3), on=["id"])
    assert parquet(server) == before
    tx.commit()
    assert ids(table) == [1, 2, 3, 4]
    # The other way round means the same in one snapshot.
    with table.refresh().transaction() as tx:
        tx.delete_keys(one(1, 3), on=["id"])
        tx.append(one(3))
    assert ids(table) == [2, 3, 4]
