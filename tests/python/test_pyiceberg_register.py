"""Catalogs of PyIceberg as registers: the pointer moves by their own conditional commit, once."""

from __future__ import annotations

import itertools
import pathlib
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.foreign.pyiceberg_catalogs import Register
from server_fixtures import hive_server, moto_server
from test_real_catalogs import glue, hive

__all__ = ["hive_server", "moto_server"]
NAMES = itertools.count(1)
SCHEMA = pa.schema([("id", pa.int64())])


@pytest.fixture(params=["sql", "memory", "hive", "glue"])
def other(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[Any]:
    """A catalog of PyIceberg."""
    from pyiceberg.catalog import load_catalog

    match request.param:
        case "sql":
            found = load_catalog("c", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/wh")
        case "memory":
            found = load_catalog("c", type="in-memory", warehouse=f"file://{tmp_path}/wh")
        case "hive":
            found = load_catalog("c", **hive(request, tmp_path).properties)
        case _:
            found = load_catalog("c", **glue(request, tmp_path).properties)
    yield found
    if hasattr(found, "engine"):
        found.engine.dispose()


@pytest.fixture
def ns(other: Any) -> list[str]:
    name = f"register{next(NAMES)}"
    Register(other).create([name], {"exists": "true"})
    return [name]


def next_file(other: Any, table: Any, **properties: str) -> str:
    """Another metadata file of the table, which nothing names yet."""
    from pyiceberg.serializers import ToOutputFile

    kept = dict(table.metadata.properties)
    log = [*table.metadata.metadata_log]
    metadata = table.metadata.model_copy(update={"properties": {**kept, **properties}, "metadata_log": log})
    location = f"{table.location()}/metadata/00001-{uuid.uuid4()}.metadata.json"
    ToOutputFile.table_metadata(metadata, table.io.new_output(location))
    return location


def test_namespaces(other: Any) -> None:
    register = Register(other)
    name = f"register{next(NAMES)}"
    assert register.namespaces([name]) == []
    register.create([name], {"exists": "true", "owner": "me"})
    with pytest.raises(fz.AlreadyExistsError):
        register.create([name], {"exists": "true"})
    assert register.namespaces([name]) == [[name]]
    assert [name] in register.namespaces([])
    assert register.properties([name])["owner"] == "me"
    register.set_properties([name], ["owner"], {"team": "data"})
    found = register.properties([name])
    assert (found["team"], "owner" in found) == ("data", False)
    assert not register.is_used([name])
    register.clear_properties([name])
    assert register.namespaces([name]) == []


def test_tables(other: Any, ns: list[str]) -> None:
    register = Register(other)
    table = other.create_table((*ns, "t"), SCHEMA)
    assert register.location([*ns, "t"]) == table.metadata_location
    assert register.location([*ns, "no"]) is None
    assert register.location(["nowhere", "t"]) is None
    assert (register.tables(ns), register.is_used(ns)) == (["t"], True)
    with pytest.raises(fz.AlreadyExistsError):
        register.insert([*ns, "t"], table.metadata_location)
    assert register.rename([*ns, "t"], [*ns, "u"])
    assert not register.rename([*ns, "t"], [*ns, "w"])
    other.create_table((*ns, "t"), SCHEMA)
    with pytest.raises(fz.AlreadyExistsError):
        register.rename([*ns, "t"], [*ns, "u"])
    assert register.remove([*ns, "u"])
    assert not register.remove([*ns, "u"])
    register.insert([*ns, "again"], table.metadata_location)
    assert register.location([*ns, "again"]) == table.metadata_location


def test_the_pointer_moves_once(other: Any, ns: list[str]) -> None:
    register = Register(other)
    table = other.create_table((*ns, "t"), SCHEMA)
    first, second = next_file(other, table, turn="1"), next_file(other, table, turn="2")
    assert register.swap([*ns, "t"], table.metadata_location, first)
    assert register.location([*ns, "t"]) == first
    assert not register.swap([*ns, "t"], table.metadata_location, second)
    assert register.location([*ns, "t"]) == first
    assert not register.swap([*ns, "no"], first, second)
    loaded = other.load_table((*ns, "t"))
    assert (loaded.metadata_location, loaded.properties["turn"]) == (first, "1")
    # PyIceberg goes on from there.
    with loaded.transaction() as tx:
        tx.set_properties(turn="3")
    assert other.load_table((*ns, "t")).properties["turn"] == "3"


def test_of_four_who_move_it_one_wins(other: Any, ns: list[str]) -> None:
    from pyiceberg.catalog import load_catalog

    kind = str(other.properties.get("type"))
    if kind == "in-memory":
        pytest.skip("PyIceberg's catalog in memory is another one in each thread")
    shared = Register(other)
    table = other.create_table((*ns, "t"), SCHEMA)
    at = table.metadata_location
    for turn in range(3):
        files = [next_file(other, table, turn=f"{turn}-{w}") for w in range(4)]
        won: list[str] = []
        failed: list[BaseException] = []

        def move(file: str, at: str = at, won: list[str] = won, failed: list[BaseException] = failed) -> None:
            try:
                own = Register(load_catalog("c", **other.properties))
                if own.swap([*ns, "t"], at, file):
                    won.append(file)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=move, args=(file,)) for file in files]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert len(won) == 1
        at = won[0]
        assert shared.location([*ns, "t"]) == at


def test_threads_share_a_catalog(other: Any, ns: list[str]) -> None:
    """Each thread has a table of its own; the catalog's connection is one."""
    if str(other.properties.get("type")) == "in-memory":
        pytest.skip("PyIceberg's catalog in memory is another one in each thread")
    register, failed = Register(other), list[BaseException]()
    tables = [other.create_table((*ns, f"t{n}"), SCHEMA) for n in range(4)]

    def work(number: int) -> None:
        try:
            at = tables[number].metadata_location
            for turn in range(4):
                file = next_file(other, tables[number], turn=str(turn))
                assert register.swap([*ns, f"t{number}"], at, file)
                at = file
                assert register.location([*ns, f"t{number}"]) == at
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_a_lost_answer_is_unknown(other: Any, ns: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog did it, and its answer was lost; or it was not reached at all."""
    register = Register(other)
    table = other.create_table((*ns, "t"), SCHEMA)
    first, kind = next_file(other, table, turn="1"), type(other)
    real = kind.commit_table

    def lost(*arguments: Any, **named: Any) -> Any:
        real(*arguments, **named)
        raise ConnectionError("the connection broke")

    monkeypatch.setattr(kind, "commit_table", lost)
    with pytest.raises(fz.CommitStateUnknownError, match="connection broke"):
        register.swap([*ns, "t"], table.metadata_location, first)
    assert register.location([*ns, "t"]) == first

    def unreached(*_: Any, **__: Any) -> Any:
        raise ConnectionError("no route")

    monkeypatch.setattr(kind, "commit_table", unreached)
    with pytest.raises(fz.StoreError, match="no route"):
        register.swap([*ns, "t"], first, next_file(other, table, turn="2"))


@pytest.mark.parametrize("is_made", [False, True], ids=["before", "after"])
def test_an_interrupt_of_a_commit_loses_no_table(
    is_made: bool, other: Any, ns: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """Ctrl-C reaches PyIceberg's code, before the catalog was asked or after it moved the pointer."""
    if type(other).__name__ == "SqlCatalog":
        pytest.skip("Frazil has SQL catalogs of its own")
    catalog, kind, name = fz.catalog(other), type(other), ".".join([*ns, "t"])
    table = catalog.create_table(name, data=pa.table({"id": [1, 2]}))
    there = {path for path in tmp_path.rglob("*") if path.suffix in (".parquet", ".avro", ".json")}
    real = kind.commit_table

    def interrupted(*arguments: Any, **named: Any) -> Any:
        if is_made:
            real(*arguments, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(kind, "commit_table", interrupted)
        with pytest.raises(KeyboardInterrupt):
            table.append(pa.table({"id": [3]}))
    time.sleep(0)  # No further interrupt is left.
    found = catalog.load_table(name).scan().to_arrow()["id"].to_pylist()
    assert sorted(found) == ([1, 2, 3] if is_made else [1, 2])
    if not is_made:
        assert {path for path in tmp_path.rglob("*") if path.suffix in (".parquet", ".avro", ".json")} == there


def test_an_interrupt_of_a_creation_loses_no_table(other: Any, ns: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if type(other).__name__ == "SqlCatalog":
        pytest.skip("Frazil has SQL catalogs of its own")
    catalog, kind, name = fz.catalog(other), type(other), ".".join([*ns, "t"])
    real = kind.register_table

    def interrupted(*arguments: Any, **named: Any) -> Any:
        real(*arguments, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(kind, "register_table", interrupted)
        with pytest.raises(KeyboardInterrupt):
            catalog.create_table(name, data=pa.table({"id": [1, 2]}))
    time.sleep(0)
    assert catalog.load_table(name).scan().to_arrow()["id"].to_pylist() == [1, 2]


def test_what_pyiceberg_can_not_is_said() -> None:
    from pyiceberg.catalog.noop import NoopCatalog

    register = Register(NoopCatalog("c"))
    for act in (
        lambda: register.swap(["a", "t"], "/x", "/y"),
        lambda: register.insert(["a", "t"], "/x"),
        lambda: register.tables(["a"]),
        lambda: register.remove(["a", "t"]),
    ):
        with pytest.raises(fz.UnsupportedError, match="NoopCatalog"):
            act()
