"""Tables in a REST catalog: every operation, and how often the server is asked."""

from __future__ import annotations

import datetime as dt
import pathlib
import pickle
import threading

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

import frazil as fz
from rest_cases import SCHEMA, asked, ids, one, opened
from rest_fixtures import catalog, server
from rest_server import RestServer

__all__ = ["catalog", "server"]


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
    found = catalog.load_namespace_properties("a.b")
    assert (found["team"], "owner" in found) == ("data", False)
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
    assert sorted(found.scan(at="dev").to_arrow()["id"].to_pylist()) == [1, 3]
    found = found.rollback(first.id)
    assert ids(found) == [1]
    with found.transaction() as tx:
        tx.refs.drop("dev")
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
    assert set(seen) <= {"loadTable", "updateTable"}
    assert (seen["updateTable"], seen.get("loadTable", 0) <= 1) == (1, True)
    with server.counted() as seen:
        loaded = catalog.load_table("db.t")
    assert seen == {"loadTable": 1}
    with server.counted() as seen:
        scan = loaded.scan()
        list(scan.plan_files())
        scan.to_arrow()
    assert seen == {}
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
