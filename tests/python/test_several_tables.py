"""Transactions over several tables of a catalog: all tables have their changes, or none has any."""

from __future__ import annotations

import copy
import gc
import pathlib
import threading
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from rest_cases import SCHEMA, asked, ids, one, opened
from rest_fixtures import server
from rest_server import RestServer

__all__ = ["server"]
KINDS = ("rest", "sql", "memory")
WRITERS, TURNS = 4, 4


@pytest.fixture(params=KINDS)
def catalog(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> fz.Catalog:
    """A catalog with the tables `db.a` and `db.b`, each with the row 0."""
    if request.param == "rest":
        catalog = opened(request.getfixturevalue("server"))
    elif request.param == "sql":
        catalog = fz.catalog("c", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=tmp_path / "wh")
    else:
        catalog = fz.catalog("c", type="memory", warehouse=tmp_path / "wh")
    return with_tables(catalog)


def with_tables(catalog: fz.Catalog, **properties: object) -> fz.Catalog:
    catalog.create_namespace("db")
    for name in ("a", "b"):
        catalog.create_table(f"db.{name}", SCHEMA, properties=properties).append(one(0))
    return catalog


def rows(catalog: fz.Catalog) -> tuple[list[int], list[int]]:
    return ids(catalog.load_table("db.a")), ids(catalog.load_table("db.b"))


def files(tmp_path: pathlib.Path) -> set[str]:
    return {path.name for path in (tmp_path / "wh").rglob("*") if path.is_file()}


# ---------------------------------------------------------------- what a transaction does


def test_tables_change_together(catalog: fz.Catalog) -> None:
    with catalog.transaction() as tx:
        tx.table("db.a").append(one(1))
        tx.table("db.b").append(one(2))
        assert rows(catalog) == ([0], [0])
    assert rows(catalog) == ([0, 1], [0, 2])


def test_changes_of_every_kind(catalog: fz.Catalog) -> None:
    with catalog.transaction() as tx:
        a, b = tx.table("db.a"), tx.table("db.b", branch="dev")
        with a.update_schema() as update:
            update.add_column("name", pa.string())
        a.append(pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["one", "two"]}))
        a.upsert(pa.table({"id": pa.array([2, 3], pa.int64()), "name": ["zwei", "drei"]}), on=["id"])
        a.update("id = 0", {"name": "nil"})
        a.delete("id = 1")
        a.set_properties(owner="me")
        a.create_tag("done")
        with a.update_partition_spec() as spec:
            spec.add_field("bucket(4, id)")
        b.overwrite(one(7, 8), where="id >= 0")
    a, b = catalog.load_table("db.a"), catalog.load_table("db.b")
    found = {row["id"]: row["name"] for row in a.scan().to_arrow().to_pylist()}
    assert found == {0: "nil", 2: "zwei", 3: "drei"}
    assert a.properties["owner"] == "me"
    assert a.scan(at="done").count() == 3
    assert [field.transform for field in a.partition_spec.fields] == ["bucket[4]"]
    assert ids(b) == [0]
    assert sorted(b.scan(at="dev").to_arrow()["id"].to_pylist()) == [7, 8]


def test_one_table_named_twice_has_one_group_of_changes(catalog: fz.Catalog) -> None:
    with catalog.transaction() as tx:
        tx.table("db.a").append(one(1))
        tx.table("db.a").delete("id = 1")
        tx.table("db.a").append(one(2))
        tx.table("db.b").append(one(3))
    assert rows(catalog) == ([0, 2], [0, 3])
    with catalog.transaction() as tx:
        tx.table("db.a", branch="dev").append(one(4))
        tx.table("db.a").append(one(5))
        with pytest.raises(fz.InvalidInputError, match="one branch"):
            tx.table("db.a", branch="main")
    assert sorted(catalog.load_table("db.a").scan(at="dev").to_arrow()["id"].to_pylist()) == [0, 2, 4, 5]


def test_an_exception_gives_all_up(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    before = files(tmp_path)

    def fail() -> None:
        with catalog.transaction() as tx:
            tx.table("db.a").append(one(1))
            tx.table("db.b").delete("id = 0")
            assert files(tmp_path) > before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert rows(catalog) == ([0], [0])
    assert files(tmp_path) == before
    part = catalog.transaction().table("db.a")
    gc.collect()
    with pytest.raises(fz.InvalidInputError, match="has ended"):
        part.append(one(1))
    assert files(tmp_path) == before


def test_the_tables_are_returned(catalog: fz.Catalog) -> None:
    tx = catalog.transaction()
    tx.table("db.a").append(one(1))
    tx.table("db.b")
    made = tx.commit()
    assert list(made) == ["db.a", "db.b"]
    assert sorted(made["db.a"].scan().to_arrow()["id"].to_pylist()) == [0, 1]
    assert made["db.b"].snapshot is not None
    assert made["db.a"].append(one(2)).scan().count() == 3
    for act in (tx.commit, lambda: tx.table("db.a"), tx.__enter__):
        with pytest.raises(fz.InvalidInputError, match="has ended"):
            act()
    tx.abort()


def test_what_a_transaction_refuses(catalog: fz.Catalog) -> None:
    with pytest.raises(fz.UnsupportedError, match="pickled"), catalog.transaction() as tx:
        copy.copy(tx)
    for refused in (lambda part: part.commit(), lambda part: part.abort(), lambda part: part.__enter__()):
        part = (tx := catalog.transaction()).table("db.a").append(one(1))
        with pytest.raises(fz.InvalidInputError, match="over several tables"):
            refused(part)
        tx.abort()
    with catalog.transaction() as tx:
        with pytest.raises(fz.NotFoundError):
            tx.table("db.none")
        wrong: Any = catalog.load_table("db.a")
        with pytest.raises(fz.InvalidInputError, match="identifier"):
            tx.table(wrong)
        with pytest.raises(fz.InvalidInputError):
            tx.table("a")
    assert rows(catalog) == ([0], [0])


# ---------------------------------------------------------------- conflicts


def test_a_lost_race_is_tried_again(catalog: fz.Catalog) -> None:
    tx = catalog.transaction()
    tx.table("db.a").append(one(1))
    tx.table("db.b").append(one(2))
    catalog.load_table("db.b").append(one(3))
    tx.commit()
    assert rows(catalog) == ([0, 1], [0, 2, 3])


def test_a_conflict_of_one_table_is_one_of_all(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    catalog.load_table("db.b").append(one(3, 4))
    tx = catalog.transaction()
    tx.table("db.a").append(one(1))
    tx.table("db.b").delete("id = 3")
    catalog.load_table("db.b").delete("id = 4")
    before = {path for path in (tmp_path / "wh").rglob("*.parquet") if "/a/" in str(path)}
    with pytest.raises(fz.CommitConflictError) as raised:
        tx.commit()
    assert raised.value.context["tables"] == "db.a, db.b"
    assert rows(catalog) == ([0], [0, 3])
    after = {path for path in (tmp_path / "wh").rglob("*.parquet") if "/a/" in str(path)}
    assert len(before) == 2
    assert after < before, "the new file of the other table is removed"


def test_a_change_that_found_nothing_is_an_assumption(catalog: fz.Catalog) -> None:
    """The transaction adds a row to b because a has no such row. Nobody may add it to a meanwhile."""
    tx = catalog.transaction()
    tx.table("db.a").delete("id = 5")
    tx.table("db.b").append(one(5))
    catalog.load_table("db.a").append(one(5))
    with pytest.raises(fz.CommitConflictError):
        tx.commit()
    assert rows(catalog) == ([0, 5], [0])
    tx = catalog.transaction()
    tx.table("db.a").delete("id = 6")
    tx.table("db.b").append(one(6))
    catalog.load_table("db.a").append(one(7))
    tx.commit()
    assert rows(catalog) == ([0, 5, 7], [0, 6])


def test_a_table_that_is_dropped_meanwhile(catalog: fz.Catalog) -> None:
    tx = catalog.transaction()
    tx.table("db.a").append(one(1))
    tx.table("db.b").append(one(2))
    catalog.drop_table("db.b")
    with pytest.raises(fz.NotFoundError):
        tx.commit()
    assert ids(catalog.load_table("db.a")) == [0]


def test_transactions_that_overlap(catalog: fz.Catalog) -> None:
    """Four writers move numbers between tables, by a, b and c in turn. The sum stays the same."""
    catalog.create_table("db.c", SCHEMA).append(one(0))
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("b", "a")]
    failed: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            for turn in range(TURNS):
                row = 1 + writer * 10 + turn
                with catalog.transaction() as tx:
                    for name in pairs[writer]:
                        tx.table(f"db.{name}").append(one(row))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(w,)) for w in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    for name in "abc":
        written = [1 + w * 10 + t for w in range(WRITERS) if name in pairs[w] for t in range(TURNS)]
        assert ids(catalog.load_table(f"db.{name}")) == [0, *sorted(written)]


# ---------------------------------------------------------------- catalogs that can't


def test_folders_commit_to_one_table(tmp_path: pathlib.Path) -> None:
    catalog = fz.catalog("c", warehouse=tmp_path / "wh")
    with pytest.raises(fz.UnsupportedError, match="version of each table by itself") as raised:
        catalog.transaction()
    assert "table.transaction()" in str(raised.value)


def test_a_server_without_the_route(server: RestServer, tmp_path: pathlib.Path) -> None:
    server.switches.without = ("commitTransaction",)
    catalog = with_tables(opened(server))
    before = files(tmp_path)
    with pytest.raises(fz.UnsupportedError, match="several tables at once") as raised:
        catalog.transaction()
    assert "POST /v1/{prefix}/transactions/commit" in str(raised.value.__cause__ or raised.value)
    assert files(tmp_path) == before


# ---------------------------------------------------------------- requests of REST catalogs


@pytest.fixture
def served(server: RestServer) -> fz.Catalog:
    return with_tables(opened(server))


def sent(server: RestServer) -> list[dict[str, Any]]:
    """The parts of the last request for several tables."""
    return list(asked(server, "commitTransaction")[-1].body["table-changes"])


def test_one_request_commits(server: RestServer, served: fz.Catalog) -> None:
    with server.counted() as seen, served.transaction() as tx:
        tx.table("db.a").append(one(1))
        tx.table("db.b").append(one(2))
    assert seen["commitTransaction"] == 1
    assert "updateTable" not in seen
    # To begin, before the commit, and for the new version, which the answer does not tell.
    assert seen["loadTable"] == 6
    parts = sent(server)
    assert [part["identifier"] for part in parts] == [{"namespace": ["db"], "name": name} for name in ("a", "b")]
    for part in parts:
        assert [update["action"] for update in part["updates"]] == ["add-snapshot", "set-snapshot-ref"]
        assert {r["type"] for r in part["requirements"]} == {"assert-table-uuid", "assert-ref-snapshot-id"}


def test_tables_without_changes(server: RestServer, served: fz.Catalog) -> None:
    with served.transaction() as tx:
        tx.table("db.a")
        tx.table("db.b")
    with served.transaction():
        pass
    with served.transaction() as tx:
        tx.table("db.a").delete("id = 9")
    assert asked(server, "commitTransaction") == []
    updates = len(asked(server, "updateTable"))
    with served.transaction() as tx:
        tx.table("db.a")
        tx.table("db.b").append(one(1))
    assert asked(server, "commitTransaction") == []
    assert len(asked(server, "updateTable")) == updates + 1
    with served.transaction() as tx:
        tx.table("db.a").delete("id = 9")
        tx.table("db.b").append(one(2))
    a, b = sent(server)
    current = served.load_table("db.a").snapshot
    assert current is not None
    assert a["updates"] == []
    assert {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": current.id} in a["requirements"]
    assert [update["action"] for update in b["updates"]] == ["add-snapshot", "set-snapshot-ref"]


def test_keys_are_sent_where_the_server_knows_them(server: RestServer) -> None:
    server.switches.idempotency = True
    catalog = with_tables(opened(server))
    server.fault("commitTransaction", "503", "after")
    with catalog.transaction() as tx:
        tx.table("db.a").append(one(1))
        tx.table("db.b").append(one(2))
    first, second = asked(server, "commitTransaction")
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert rows(catalog) == ([0, 1], [0, 2])


def test_one_snapshot_in_a_commit(server: RestServer, served: fz.Catalog) -> None:
    server.switches.one_snapshot = True
    with served.transaction() as tx:
        for name in ("a", "b"):
            tx.table(f"db.{name}").delete("id = 0")
            tx.table(f"db.{name}").append(one(1))
    assert rows(served) == ([1], [1])
    for part in sent(server):
        assert [update["action"] for update in part["updates"]].count("add-snapshot") == 1


def test_ones_own_success_is_recognised(server: RestServer, served: fz.Catalog) -> None:
    for row, kind in enumerate(("409", "500", "reset", "400-unknown"), 1):
        server.fault("commitTransaction", kind, "after", seconds=1.0)
        with served.transaction() as tx:
            tx.table("db.a").append(one(row))
            tx.table("db.b").set_properties({"row": row})
    assert ids(served.load_table("db.a")) == [0, 1, 2, 3, 4]
    assert served.load_table("db.b").properties["row"] == "4"
    assert len(asked(server, "commitTransaction")) == 4


def test_a_server_that_makes_half(server: RestServer, served: fz.Catalog, tmp_path: pathlib.Path) -> None:
    """It has one table's part and not the other's, and says that it failed. Nothing is removed."""
    commit_all = server.service.register.commit_all

    def half(changes: list[Any]) -> list[Any]:
        if len(changes) == 2:
            commit_all(changes[:1])
            changes = [
                (name, [{"type": "assert-current-schema-id", "current-schema-id": 7}], updates)
                for name, _, updates in changes
            ]
        return commit_all(changes)

    server.service.register.commit_all = half  # type: ignore[method-assign]
    before = files(tmp_path)
    tx = served.transaction()
    tx.table("db.a").append(one(1))
    tx.table("db.b").append(one(2))
    written = files(tmp_path) - before
    with pytest.raises(fz.CommitStateUnknownError) as raised:
        tx.commit()
    assert raised.value.context["tables"] == "db.a, db.b"
    assert written <= files(tmp_path)
    assert rows(served) == ([0, 1], [0])


def test_a_look_that_fails(server: RestServer, served: fz.Catalog) -> None:
    tx = served.transaction()
    tx.table("db.a").append(one(1))
    tx.table("db.b").append(one(2))
    server.fault("commitTransaction", "502", "after")
    server.fault("loadTable", "503", nth=3, times=50)
    with pytest.raises(fz.CommitStateUnknownError) as raised:
        tx.commit()
    server.service.faults.clear()
    assert raised.value.context["tables"] == "db.a, db.b"
    assert rows(served) == ([0, 1], [0, 2])
