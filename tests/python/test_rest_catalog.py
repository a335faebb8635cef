"""Tables in a REST catalog: what works, on servers that are all a little different."""

from __future__ import annotations

import datetime as dt
import pathlib
import pickle
import ssl
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

import frazil as fz
from rest_server import Auth, RestServer, serving

SCHEMA = pa.schema([("id", pa.int64())])
TOKENS = "grant_type"


def one(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())})


def ids(table: fz.Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


def opened(server: RestServer, name: str = "prod", **properties: object) -> fz.Catalog:
    return fz.catalog(name, type="rest", uri=server.url, **properties)


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[RestServer]:
    with serving(tmp_path / "wh") as server:
        yield server


@pytest.fixture
def catalog(server: RestServer) -> fz.Catalog:
    found = opened(server)
    found.create_namespace("db")
    return found


def asked(server: RestServer, operation: str) -> list[Any]:
    return [request for request in server.service.asked if request.operation == operation]


# ---------------------------------------------------------------- operations


def test_namespaces(server: RestServer) -> None:
    catalog = opened(server)
    catalog.create_namespace("a.b", properties={"owner": "me"})
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_namespace("a.b")
    catalog.create_namespace("a.b", if_not_exists=True)
    assert catalog.list_namespaces() == ["a"]
    assert catalog.list_namespaces("a") == ["a.b"]
    catalog.update_namespace_properties("a.b", removals=["owner"], updates={"team": "data"})
    assert catalog.load_namespace_properties("a.b") == {"team": "data"}
    assert catalog.namespace_exists("a.b")
    assert not catalog.namespace_exists("x")
    for gone in (catalog.list_tables, catalog.drop_namespace, catalog.load_namespace_properties):
        with pytest.raises(fz.NotFoundError, match="x"):
            gone("x")
    catalog.create_table("a.b.t", SCHEMA)
    with pytest.raises(fz.InvalidInputError, match="not empty"):
        catalog.drop_namespace("a.b")


def test_tables_come_and_go(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA, properties={"owner": "me", "format-version": "3"})
    assert (table.format_version, table.properties["owner"]) == (3, "me")
    with pytest.raises(fz.AlreadyExistsError, match=r"db\.t"):
        catalog.create_table("db.t", SCHEMA)
    with pytest.raises(fz.NotFoundError, match="namespace"):
        catalog.create_table("no.t", SCHEMA)
    assert ids(table.append(one(1)).append(one(2))) == [1, 2]
    assert catalog.list_tables("db") == ["db.t"]
    catalog.rename_table("db.t", "db.u")
    assert not catalog.table_exists("db.t")
    renamed = catalog.load_table("db.u")
    assert (renamed.uuid, ids(renamed)) == (table.uuid, [1, 2])
    newest = renamed.metadata_location
    catalog.drop_table("db.u")
    assert pathlib.Path(newest).exists()
    again = catalog.register_table("db.v", newest)
    assert ids(again.append(one(3))) == [1, 2, 3]
    with pytest.raises(fz.AlreadyExistsError):
        catalog.register_table("db.v", newest)
    catalog.drop_table("db.v", purge=True)
    assert not pathlib.Path(newest).exists()
    for gone in (catalog.load_table, catalog.drop_table):
        with pytest.raises(fz.NotFoundError, match=r"db\.v"):
            gone("db.v")


def test_created_tables_are_as_asked_for(catalog: fz.Catalog) -> None:
    inner = pa.struct([("x", pa.int32()), ("l", pa.list_(pa.string()))])
    schema = pa.schema(
        [("s", inner), ("id", pa.int64()), ("ts", pa.timestamp("us")), ("m", pa.map_(pa.string(), inner))]
    )
    table = catalog.create_table(
        "db.t",
        schema,
        partition_by=["day(ts)", "bucket(4, id)"],
        sort_by=["id desc nulls last"],
        identifier_fields=None,
    )
    assert table.schema.names == ["s", "id", "ts", "m"]
    assert [field.name for field in table.partition_spec.fields] == ["ts_day", "id_bucket"]
    assert len(table.sort_order.fields) == 1
    stamp = dt.datetime(2024, 1, 1)
    row = {"s": {"x": 1, "l": ["a"]}, "id": 1, "ts": stamp, "m": [("k", {"x": 2, "l": []})]}
    table.append(pa.Table.from_pylist([row], schema))
    assert catalog.load_table("db.t").scan().to_arrow().to_pylist() == [row]


def test_rows_change(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA, properties={"format-version": "3"})
    table = table.append(one(*range(10)))
    table.delete("id < 3")
    table.upsert(one(20), on=["id"])
    table.overwrite(one(30), where="id >= 5 and id < 20")
    assert ids(catalog.load_table("db.t")) == [3, 4, 20, 30]


def test_every_change_of_metadata_goes_through(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA, properties={"format-version": "1", "a": "b"}).append(one(1))
    first = table.snapshot
    assert first is not None
    with table.update_schema() as schema:
        schema.add_column("name", pa.string())
    with table.refresh().update_partition_spec() as spec:
        spec.add_field("bucket(4, id)")
    with table.refresh().update_sort_order() as order:
        order.asc("id")
    table = table.refresh().set_properties({"k": "v"}).remove_properties("a")
    with table.transaction() as tx:
        tx.create_tag("first", at=first.id)
        tx.create_branch("dev")
    table = table.refresh().upgrade(2).upgrade(3)
    table = table.append(pa.table({"id": [2], "name": ["two"]}))
    table.append(pa.table({"id": [3], "name": ["three"]}), branch="dev")
    found = catalog.load_table("db.t")
    assert (found.format_version, found.properties["k"], "a" in found.properties) == (3, "v", False)
    assert set(found.refs) == {"main", "first", "dev"}
    assert found.schema.names == ["id", "name"]
    assert ids(found) == [1, 2]
    assert found.scan(at="first").count() == 1
    assert sorted(found.scan(at="dev").to_arrow()["id"].to_pylist()) == [1, 2, 3]
    found = found.rollback(first.id)
    assert ids(found) == [1]
    with found.transaction() as tx:
        tx.refs.drop_branch("dev")
    assert set(found.refresh().refs) == {"main", "first"}


def test_tables_are_maintained(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    for value in range(4):
        table = table.append(one(value))
    table.maintain.compact(rewrite_all=True)
    table.maintain.rewrite_manifests()
    table.maintain.expire_snapshots(older_than=dt.datetime.now(dt.timezone.utc) + dt.timedelta(1), retain_last=1)
    table = catalog.load_table("db.t")
    assert len(table.snapshots) == 1
    assert ids(table) == [0, 1, 2, 3]


def test_pyiceberg_sees_the_same_tables(server: RestServer, catalog: fz.Catalog) -> None:
    other = RestCatalog("c", uri=server.url)
    ours = catalog.create_table("db.t", SCHEMA).append(one(1))
    theirs = other.load_table("db.t")
    theirs.append(one(2))
    ours.append(one(3))
    assert sorted(theirs.refresh().scan().to_arrow()["id"].to_pylist()) == ids(ours) == [1, 2, 3]
    other.create_table("db.u", SCHEMA).append(one(7))
    assert ids(catalog.load_table("db.u").append(one(8))) == [7, 8]


def test_a_stale_handle_commits_after_others(catalog: fz.Catalog) -> None:
    first = catalog.create_table("db.t", SCHEMA)
    stale = catalog.load_table("db.t")
    first.append(one(1))
    stale.append(one(2))
    assert ids(first) == [1, 2]
    with first.refresh().update_schema() as update:
        update.add_column("name", pa.string())
    stale.append(one(3))
    assert ids(first) == [1, 2, 3]


def test_a_conflict_is_told(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA).append(one(1, 2))
    late = catalog.load_table("db.t").transaction()
    late.delete("id = 1")
    table.delete("id = 2")
    with pytest.raises(fz.CommitConflictError):
        late.commit()
    assert ids(table) == [1]


def test_a_table_that_was_replaced_is_not_committed_to(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    catalog.drop_table("db.t")
    with pytest.raises(fz.NotFoundError):
        table.append(one(1))
    catalog.create_table("db.t", SCHEMA)
    with pytest.raises(fz.CorruptTableError, match="uuid"):
        table.append(one(1))


def test_several_tables_commit_at_once(server: RestServer, catalog: fz.Catalog) -> None:
    left, right = (catalog.create_table(f"db.{name}", SCHEMA) for name in ("left", "right"))
    with catalog.transaction() as tx:
        tx.table("db.left").append(one(1))
        tx.table("db.right").append(one(2))
        assert (ids(left), ids(right)) == ([], [])
    assert (ids(left), ids(right)) == ([1], [2])
    assert server.counts()["commitTransaction"] == 1
    assert "updateTable" not in server.counts()


def test_several_tables_or_none(catalog: fz.Catalog) -> None:
    left, right = (catalog.create_table(f"db.{name}", SCHEMA).append(one(0)) for name in ("left", "right"))
    tx = catalog.transaction()
    tx.table("db.left").append(one(1))
    tx.table("db.right").delete("id = 0")
    right.delete("id = 0")
    with pytest.raises(fz.CommitConflictError):
        tx.commit()
    assert (ids(left), ids(right)) == ([0], [])


def test_a_name_is_enough(server: RestServer, catalog: fz.Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog.create_table("db.t", SCHEMA).append(one(5))
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__TYPE", "rest")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", server.url)
    assert ids(fz.load_table("prod.db.t")) == [5]


def test_handles_pickle(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    copy = pickle.loads(pickle.dumps(table))
    copy.append(one(1))
    assert ids(table.append(one(2))) == [1, 2]
    again = pickle.loads(pickle.dumps(catalog))
    assert again.list_tables("db") == ["db.t"]


def test_four_writers_lose_nothing(server: RestServer, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA, properties={"commit.retry.num-retries": "100"})
    failed: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            own = opened(server).load_table("db.t")
            for turn in range(5):
                own = own.append(one(writer * 10 + turn))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(w,)) for w in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert ids(table) == sorted(w * 10 + t for w in range(4) for t in range(5))
    assert len(table.refresh().snapshots) == 20


# ---------------------------------------------------------------- what operations cost


def test_requests_of_operations(server: RestServer) -> None:
    with server.counted() as seen:
        catalog = opened(server)
        catalog.create_namespace("db")
        table = catalog.create_table("db.t", SCHEMA)
    assert seen == {"getConfig": 1, "createNamespace": 1, "createTable": 1}
    with server.counted() as seen:
        table = table.append(one(1))
    assert set(seen) <= {"loadTable", "updateTable", "reportMetrics"}
    assert (seen["updateTable"], seen.get("loadTable", 0) <= 1) == (1, True)
    with server.counted() as seen:
        loaded = catalog.load_table("db.t")
    assert seen == {"loadTable": 1}
    with server.counted() as seen:
        scan = loaded.scan()
        list(scan.plan_files())
        scan.to_arrow()
    assert set(seen) <= {"reportMetrics"}
    with server.counted() as seen:
        catalog.table_exists("db.t")
        catalog.namespace_exists("db")
    assert seen == {"tableExists": 1, "namespaceExists": 1}
    with server.counted() as seen:
        catalog.rename_table("db.t", "db.u")
        catalog.drop_table("db.u")
    assert seen == {"renameTable": 1, "dropTable": 1}


def test_commits_say_what_they_require(server: RestServer, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    table.append(one(1))
    body = asked(server, "updateTable")[-1].body
    kinds = {requirement["type"] for requirement in body["requirements"]}
    assert {"assert-table-uuid", "assert-ref-snapshot-id"} <= kinds
    assert [update["action"] for update in body["updates"]] == ["add-snapshot", "set-snapshot-ref"]
    table.refresh().set_properties({"a": "b"})
    body = asked(server, "updateTable")[-1].body
    assert {requirement["type"] for requirement in body["requirements"]} == {"assert-table-uuid"}
    assert [update["action"] for update in body["updates"]] == ["set-properties"]


def test_metrics_are_reported(server: RestServer, catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA).append(one(1))
    table.scan(where="id > 0").to_arrow()
    end = time.monotonic() + 10
    while len(server.service.reports) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    kinds = [report["report-type"] for report in server.service.reports]
    assert sorted(kinds) == ["commit-report", "scan-report"]
    scan = next(report for report in server.service.reports if report["report-type"] == "scan-report")
    assert (scan["table-name"], scan["projected-field-names"]) == ("prod.db.t", ["id"])


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
    from rest_server import Answer

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
    assert "team" in str(catalog.load_table("db.t").inspect.labels())


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
    assert server.service.replayed == 2


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


# ---------------------------------------------------------------- who asks


@pytest.mark.parametrize("ended", [401, 419])
def test_tokens_that_end(server: RestServer, ended: int) -> None:
    server.switches.auth = Auth(seconds=1.0, ended=ended)
    catalog = opened(server, credential="frazil:sesame", **{"oauth2-server-uri": f"{server.url}/token"})
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    end, turn = time.monotonic() + 3, 0
    while time.monotonic() < end:
        table = table.append(one(turn))
        turn += 1
        time.sleep(0.2)
    assert ids(table) == list(range(turn))
    assert 2 <= len(server.service.guard.grants) <= 8


def test_one_refresh_at_a_time(server: RestServer) -> None:
    server.switches.auth = Auth(seconds=1.0, delay=0.3)
    catalog = opened(server, credential="frazil:sesame", **{"oauth2-server-uri": f"{server.url}/token"})
    catalog.list_namespaces()
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            end = time.monotonic() + 3
            while time.monotonic() < end:
                catalog.list_namespaces()
                time.sleep(0.05)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert server.service.guard.most_token_requests_at_once == 1
    assert len(server.service.guard.grants) <= 8


@pytest.mark.parametrize(
    ("auth", "good", "bad"),
    [
        (Auth("token", "t-1"), {"token": "t-1"}, {"token": "t-2"}),
        (
            Auth("basic", "me:pw"),
            {"rest.auth.type": "basic", "rest.auth.basic.username": "me", "rest.auth.basic.password": "pw"},
            {},
        ),
        (Auth(), {"credential": "frazil:sesame"}, {"credential": "frazil:wrong"}),
        (
            Auth(wants={"scope": "PRINCIPAL_ROLE:ALL", "audience": "a", "resource": "r"}),
            {"credential": "frazil:sesame", "scope": "PRINCIPAL_ROLE:ALL", "audience": "a", "resource": "r"},
            {"credential": "frazil:sesame"},
        ),
        (
            Auth("sigv4", "AKID:secret", service="s3tables", region="eu-west-1"),
            {
                "rest.sigv4-enabled": "true",
                "rest.signing-name": "s3tables",
                "rest.signing-region": "eu-west-1",
                "rest.access-key-id": "AKID",
                "rest.secret-access-key": "secret",
            },
            {},
        ),
    ],
    ids=["token", "basic", "oauth2", "oauth2-scope", "sigv4"],
)
def test_ways_to_be_known(server: RestServer, auth: Auth, good: dict[str, str], bad: dict[str, str]) -> None:
    server.switches.auth = auth
    catalog = opened(server, **good)
    catalog.create_namespace("db")
    catalog.create_namespace("db.inner")
    assert ids(catalog.create_table("db.inner.t", SCHEMA).append(one(1))) == [1]
    with pytest.raises(fz.PermissionDeniedError) as raised:
        opened(server, **bad).list_namespaces()
    for secret in (*good.values(), *bad.values()):
        if secret in ("t-1", "t-2", "pw", "secret", "frazil:sesame", "frazil:wrong"):
            for text in (str(raised.value), repr(catalog), repr(catalog.properties)):
                assert secret not in text


def test_headers_from_a_callable(server: RestServer) -> None:
    server.switches.wanted_headers = {"X-Goog-User-Project": "p-1"}
    calls: list[int] = []

    def headers() -> dict[str, str]:
        calls.append(1)
        return {"X-Goog-User-Project": "p-1"}

    catalog = opened(server, headers=headers)
    catalog.create_namespace("db")
    assert calls


# ---------------------------------------------------------------- TLS


@pytest.fixture
def certificates(tmp_path: pathlib.Path) -> pathlib.Path:
    """An authority, a server's certificate and a client's, by it."""
    folder = tmp_path / "certificates"
    folder.mkdir()

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "rsa:2048", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-days", "2")
    (folder / "names").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    for name in ("server", "client"):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *by)
    both = (folder / "client.pem").read_text() + (folder / "client.key").read_text()
    (folder / "both.pem").write_text(both)
    return folder


def test_private_authorities_and_client_certificates(tmp_path: pathlib.Path, certificates: pathlib.Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    ca = {"ssl.cabundle": str(certificates / "ca.pem")}
    with serving(tmp_path / "wh", tls=context) as server:
        assert opened(server, **ca).list_namespaces() == []
        with pytest.raises(fz.StoreError, match="certificate"):
            opened(server).list_namespaces()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    context.load_verify_locations(certificates / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with serving(tmp_path / "wh", tls=context) as server:
        own = {"ssl.client.cert": str(certificates / "client.pem"), "ssl.client.key": str(certificates / "client.key")}
        assert opened(server, **ca, **own).list_namespaces() == []
        with pytest.raises(fz.StoreError):
            opened(server, **ca).list_namespaces()


# ---------------------------------------------------------------- planning by the server


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
    assert loaded.scan(where="id = 3").to_arrow()["id"].to_pylist() == [3]
    counts = server.counts()
    assert counts["planTableScan"] == 2
    assert bool(counts.get("fetchPlanningResult")) == (polls > 0)
    assert bool(counts.get("fetchScanTasks")) == (files_in_a_task > 0)
    before = loaded.snapshots[1].id
    assert sorted(loaded.scan(at=before).to_arrow()["id"].to_pylist()) == [0, 1, 10, 11]


def test_a_plan_that_nobody_wants_any_longer_is_cancelled(server: RestServer, catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA).append(one(1))
    server.switches.change({"planning_mode": "server", "async_polls": 10**6})
    loaded = catalog.load_table("db.t")
    with pytest.raises(fz.FrazilError, match="plan"):
        loaded.scan(options={"rest.plan.timeout-ms": "500"}).to_arrow()
    assert server.service.plans.cancelled == 1


def test_a_server_that_plans_must_be_able_to(server: RestServer, catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA).append(one(1))
    server.switches.change({"planning_mode": "server", "without": ("planTableScan",)})
    with pytest.raises(fz.UnsupportedError, match="plan"):
        opened(server).load_table("db.t").scan().to_arrow()
