"""Tables that are opened with the snapshots of their branches and tags only: `snapshot-loading-mode=REFS`."""

from __future__ import annotations

import datetime as dt
import json
import pathlib
import pickle
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from rest_cases import SCHEMA, asked, ids, one, opened
from rest_fixtures import server
from rest_server import RestServer, with_value

__all__ = ["server"]
REFS = {"snapshot-loading-mode": "REFS"}


@pytest.fixture
def made(server: RestServer) -> list[int]:
    """A table with five snapshots, and a tag at the second one. Returns their ids."""
    catalog = opened(server)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    for value in range(5):
        table = table.append(one(value))
        if value == 1:
            table.refs.create_tag("two")
    return [snapshot.id for snapshot in table.refresh().snapshots]


@pytest.fixture
def table(server: RestServer, made: list[int]) -> fz.Table:
    found = opened(server, **REFS).load_table("db.t")
    server.reset()
    return found


def loads(server: RestServer) -> list[str]:
    return [request.query.get("snapshots", "") for request in asked(server, "loadTable")]


def values(table: fz.Table, **given: Any) -> list[int]:
    return sorted(table.scan(**given).to_arrow()["id"].to_pylist())


def test_opening_and_reading_needs_no_more(server: RestServer, table: fz.Table, made: list[int]) -> None:
    assert values(table) == [0, 1, 2, 3, 4]
    assert values(table, filter="id > 2") == [3, 4]
    assert values(table, at="two") == [0, 1]
    assert values(table, at="main") == [0, 1, 2, 3, 4]
    assert table.snapshot is not None
    assert table.snapshot.id == made[4]
    assert sorted(table.refs) == ["main", "two"]
    assert values(table, at=made[1]) == [0, 1]
    assert loads(server) == []
    # Nor does the newest version.
    opened(server).load_table("db.t").append(one(5))
    server.reset()
    newest = table.refresh()
    assert values(newest) == [0, 1, 2, 3, 4, 5]
    assert loads(server) == ["refs"]


NEEDS: dict[str, Callable[[fz.Table, list[int]], Any]] = {
    "snapshots": lambda t, made: [s.id for s in t.snapshots] == made,
    "at": lambda t, made: values(t, at=made[2]) == [0, 1, 2],
    "since": lambda t, made: values(t, since=made[2]) == [3, 4],
    "since a tag": lambda t, made: values(t, since="two") == [2, 3, 4],
    "time": lambda t, made: values(t, at=t.snapshots[3].timestamp) == [0, 1, 2, 3],
    "changes": lambda t, made: t.changes(since=made[3]).to_arrow()["id"].to_pylist() == [4],
    "inspect": lambda t, made: t.inspect.snapshots()["snapshot_id"].to_pylist() == made,
    "history": lambda t, made: t.inspect.history()["snapshot_id"].to_pylist() == made,
    "rollback": lambda t, made: values(t.rollback(made[2])) == [0, 1, 2],
    "branch": lambda t, made: t.refs.create_branch("b", made[2])["b"].snapshot_id == made[2],
    "current": lambda t, made: values(t.set_current_snapshot(made[0])) == [0],
}


@pytest.mark.parametrize("what", NEEDS)
def test_history_is_loaded_when_it_is_needed(server: RestServer, table: fz.Table, made: list[int], what: str) -> None:
    assert NEEDS[what](table, made)
    assert "all" in loads(server)


def test_history_is_loaded_once(server: RestServer, table: fz.Table, made: list[int]) -> None:
    for _ in range(3):
        assert len(table.snapshots) == 5
        assert values(table, at=made[0]) == [0]
    assert loads(server) == ["all"]


def test_a_handle_stays_at_its_version(server: RestServer, table: fz.Table, made: list[int]) -> None:
    """History is loaded after others have committed: later snapshots are not this version's."""
    other = opened(server, "other").load_table("db.t").append(one(5))
    other.rollback(made[1])
    assert [snapshot.id for snapshot in table.snapshots] == made
    assert values(table) == [0, 1, 2, 3, 4]
    assert values(table, at=made[3]) == [0, 1, 2, 3]
    assert table.inspect.history()["snapshot_id"].to_pylist() == made
    with pytest.raises(fz.NotFoundError, match="snapshot"):
        table.scan(at=12345).to_arrow()
    assert values(table.refresh()) == [0, 1]


def test_what_is_gone_meanwhile_is_said(server: RestServer, table: fz.Table, made: list[int]) -> None:
    other = opened(server, "other").load_table("db.t")
    other.maintain.expire_snapshots(snapshot_ids=[made[0], made[2]])
    assert [snapshot.id for snapshot in table.snapshots] == [made[1], made[3], made[4]]
    with pytest.raises(fz.NotFoundError):
        table.scan(at=made[0]).to_arrow()
    opened(server, "other").drop_table("db.t")
    fresh = opened(server, **REFS)
    fresh.create_table("db.t", SCHEMA)
    old = pickle.loads(pickle.dumps(table))
    assert values(old) == [0, 1, 2, 3, 4]


def test_commits_start_from_all_snapshots(server: RestServer, table: fz.Table, made: list[int]) -> None:
    """A commit must not say that snapshots are removed which the client never saw."""
    table.append(one(5))
    table.delete("id = 0")
    with table.transaction() as tx:
        tx.append(one(6))
        tx.set_properties({"a": "b"})
    for request in asked(server, "updateTable"):
        actions = [update["action"] for update in request.body["updates"]]
        assert "remove-snapshots" not in actions
        assert "remove-snapshot-ref" not in actions
    found = opened(server, "other").load_table("db.t")
    assert values(found) == [1, 2, 3, 4, 5, 6]
    assert [snapshot.id for snapshot in found.snapshots][:5] == made
    assert len(found.snapshots) == 8


def test_transactions_over_tables_start_from_all_snapshots(server: RestServer, made: list[int]) -> None:
    catalog = opened(server, **REFS)
    catalog.create_table("db.u", SCHEMA)
    with catalog.transaction() as tx:
        tx.table("db.t").append(one(5))
        tx.table("db.t").create_tag("third", made[2])
        tx.table("db.u").append(one(1))
    found = opened(server, "other").load_table("db.t")
    assert [snapshot.id for snapshot in found.snapshots][:5] == made
    assert (values(found), values(found, at="third")) == ([0, 1, 2, 3, 4, 5], [0, 1, 2])


def test_stale_handles_see_concurrent_commits(server: RestServer, table: fz.Table) -> None:
    """The other commits are in no list that this handle has."""
    other = opened(server, "other").load_table("db.t")
    for value in (5, 6):
        other = other.append(one(value))
    assert ids(table.append(one(7))) == [0, 1, 2, 3, 4, 5, 6, 7]
    other.refresh().append(one(20, 21, 22))
    stale = opened(server, **REFS).load_table("db.t")
    tx = stale.transaction()
    tx.delete("id = 20")
    opened(server, "other").load_table("db.t").delete("id = 21")
    with pytest.raises(fz.CommitConflictError):
        tx.commit()
    # Two handles of one moment delete different rows.
    first, second = (opened(server, **REFS).load_table("db.t") for _ in range(2))
    first.delete("id = 1")
    second.delete("id = 2")
    assert ids(table) == [0, 3, 4, 5, 6, 7, 20, 22]


def test_expiry_works_on_all_snapshots(server: RestServer, table: fz.Table, made: list[int]) -> None:
    expired = table.maintain.expire_snapshots(older_than=dt.datetime.now(dt.timezone.utc), retain_last=1)
    assert sorted(expired.snapshots) == sorted([made[0], made[2], made[3]])
    found = opened(server, "other").load_table("db.t")
    # The tag keeps its snapshot.
    assert [snapshot.id for snapshot in found.snapshots] == [made[1], made[4]]
    assert values(found) == [0, 1, 2, 3, 4]
    assert values(found, at="two") == [0, 1]


def test_orphans_are_not_files_of_unseen_snapshots(server: RestServer, table: fz.Table, made: list[int]) -> None:
    time.sleep(0.01)
    removed = table.maintain.remove_orphan_files(
        older_than=dt.datetime.now(dt.timezone.utc) + dt.timedelta(seconds=1), dry_run=True
    )
    assert list(removed.files) == []
    for snapshot in made:
        opened(server, "other").load_table("db.t").scan(at=snapshot).to_arrow()


def test_messages_of_writers(server: RestServer, table: fz.Table) -> None:
    messages = [table.writer().write(pa.table({"id": pa.array([n], pa.int64())})) for n in (5, 6)]
    assert ids(table.commit(messages)) == [0, 1, 2, 3, 4, 5, 6]
    # Again: they are there already.
    stale = opened(server, **REFS).load_table("db.t")
    assert ids(stale.commit(messages)) == [0, 1, 2, 3, 4, 5, 6]


def test_marks_of_versions_are_not_mixed(server: RestServer, made: list[int]) -> None:
    """A server may give the same mark to both answers: it is sent only with the request that it belongs to."""
    server.switches.etags = True
    catalog = opened(server, **REFS)
    catalog.load_table("db.t")
    server.reset()
    table = catalog.load_table("db.t")
    first = asked(server, "loadTable")[0]
    assert (first.status, first.query["snapshots"]) == (304, "refs")
    assert len(table.snapshots) == 5
    request = asked(server, "loadTable")[-1]
    assert (request.status, "if-none-match" in request.headers) == (200, False)
    assert values(table.append(one(9)).refresh()) == [0, 1, 2, 3, 4, 9]


def test_servers_choose_too(server: RestServer, made: list[int]) -> None:
    server.switches.overrides = {"snapshot-loading-mode": "refs"}
    server.reset()
    assert len(opened(server).load_table("db.t").snapshots) == 5
    assert loads(server) == ["refs", "all"]
    server.switches.overrides = {}
    server.reset()
    assert len(opened(server).load_table("db.t").snapshots) == 5
    assert loads(server) == ["all"]
    for wrong in ("some", "REF"):
        with pytest.raises(fz.InvalidInputError, match="snapshot-loading-mode"):
            opened(server, **{"snapshot-loading-mode": wrong})


def test_a_server_that_hides_history(server: RestServer, made: list[int]) -> None:
    server.switches.last_snapshot_only = True
    table = opened(server, **REFS).load_table("db.t")
    assert [snapshot.id for snapshot in table.snapshots] == [made[4]]
    assert ids(table.append(one(5))) == [0, 1, 2, 3, 4, 5]


def test_tables_of_other_processes(server: RestServer, table: fz.Table, made: list[int]) -> None:
    again = pickle.loads(pickle.dumps(table))
    assert values(again, at=made[0]) == [0]
    assert len(again.snapshots) == 5
    assert ids(again.append(one(5))) == [0, 1, 2, 3, 4, 5]
    assert len(opened(server, "other").load_table("db.t").snapshots) == 6


def test_a_view_of_no_snapshots(server: RestServer, made: list[int]) -> None:
    catalog = opened(server, **REFS)
    catalog.create_table("db.empty", SCHEMA)
    table = catalog.load_table("db.empty")
    assert (table.snapshot, table.snapshots, values(table)) == (None, [], [])
    assert ids(table.append(one(1))) == [1]


def test_members_that_nobody_knows_are_shown(server: RestServer, made: list[int]) -> None:
    acme = {"color": "blue", "token": "sesame", "list": [{"secret-key": "sesame", "n": 1}]}
    server.service.faults.change("loadTable", with_value(("acme",), acme), times=2)
    table = opened(server).load_table("db.t")
    shown = json.loads(table.catalog_members["acme"])
    assert (shown["color"], shown["list"][0]["n"]) == ("blue", 1)
    assert "sesame" not in str(table.catalog_members)
    # They are those of the last load. A commit's answer has none.
    assert "blue" in table.append(one(9)).catalog_members["acme"]
    assert table.refresh().catalog_members == {}


def test_folders_have_no_such_members(tmp_path: pathlib.Path) -> None:
    catalog = fz.catalog("c", type="memory")
    catalog.create_namespace("db")
    assert catalog.create_table("db.t", SCHEMA).catalog_members == {}
