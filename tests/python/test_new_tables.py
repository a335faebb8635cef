"""Tables that are created together with their first commit, and tables that are taken out of a catalog."""

from __future__ import annotations

import pathlib
import sqlite3
import threading

import pyarrow as pa
import pytest

import frazil as fz
from rest_cases import SCHEMA, asked, ids, one, opened
from rest_fixtures import server
from rest_server import RestServer

__all__ = ["server"]
KINDS = ("filesystem", "sql", "memory", "rest")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def catalog(kind: str, tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> fz.Catalog:
    match kind:
        case "sql":
            found = fz.catalog("prod", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=tmp_path / "wh")
        case "rest":
            found = opened(request.getfixturevalue("server"))
        case "memory":
            found = fz.catalog("prod", type="memory", warehouse=tmp_path / "wh")
        case _:
            found = fz.catalog("prod", type="filesystem", warehouse=tmp_path / "wh")
    found.create_namespace("db")
    return found


def files(folder: pathlib.Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and p.name != ".crc")


def parquet(folder: pathlib.Path) -> list[str]:
    return [name for name in files(folder) if name.endswith(".parquet")]


# ---------------------------------------------------------------- together with the first commit


def test_a_table_comes_with_its_rows(catalog: fz.Catalog) -> None:
    with catalog.create_table_transaction(
        "db.t", SCHEMA, partition_by=["bucket(4, id)"], properties={"format-version": "3", "a": "b"}
    ) as tx:
        tx.append(one(1, 2))
        assert not catalog.table_exists("db.t")
    table = catalog.load_table("db.t")
    assert ids(table) == [1, 2]
    assert (len(table.snapshots), table.format_version, table.properties["a"]) == (1, 3, "b")
    assert [field.transform for field in table.partition_spec.fields] == ["bucket[4]"]
    # It is a table like any other.
    assert ids(table.append(one(3))) == [1, 2, 3]
    assert catalog.list_tables("db") == ["db.t"]


def test_all_changes_are_in_the_first_commit(catalog: fz.Catalog) -> None:
    tx = catalog.create_table_transaction("db.t", SCHEMA)
    tx.append(one(1, 2, 3))
    with tx.update_schema() as update:
        update.add_column("name", pa.string())
    tx.delete("id = 2")
    tx.append(pa.table({"id": pa.array([4], pa.int64()), "name": ["x"]}))
    tx.set_properties(owner="me")
    tx.create_tag("first")
    table = tx.commit()
    assert table.scan().to_arrow().sort_by("id").to_pylist() == [
        {"id": 1, "name": None},
        {"id": 3, "name": None},
        {"id": 4, "name": "x"},
    ]
    assert table.properties["owner"] == "me"
    assert table.scan(at="first").count() == 3
    again = catalog.load_table("db.t")
    assert (again.uuid, again.snapshot, again.schema) == (table.uuid, table.snapshot, table.schema)
    assert ids(table.append(one(5))) == [1, 3, 4, 5]
    with pytest.raises(fz.InvalidInputError, match="ended"):
        tx.append(one(1))


def test_a_table_may_be_empty(catalog: fz.Catalog) -> None:
    with catalog.create_table_transaction("db.t", SCHEMA):
        pass
    table = catalog.load_table("db.t")
    assert (table.snapshot, table.schema.names) == (None, ["id"])
    tx = catalog.create_table_transaction("db.u", SCHEMA)
    tx.set_properties({"a": "b"})
    assert tx.dry_run().snapshots == 0
    assert tx.commit().properties["a"] == "b"


def test_a_block_that_fails_leaves_nothing(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    before = files(tmp_path)

    def fails() -> None:
        with catalog.create_table_transaction("db.t", SCHEMA, partition_by=["id"]) as tx:
            tx.append(one(1, 2))
            tx.delete("id = 1")
            assert tx.dry_run().snapshots == 2
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert not catalog.table_exists("db.t")
    assert catalog.list_tables("db") == []
    # Not even an empty folder, which would be a namespace of a file-system catalog.
    assert catalog.list_namespaces("db") == []
    assert files(tmp_path) == before
    tx = catalog.create_table_transaction("db.t", SCHEMA).append(one(7))
    tx.abort()
    assert files(tmp_path) == before
    assert ids(catalog.create_table("db.t", SCHEMA).append(one(1))) == [1]


def test_what_is_wrong_is_said_before_rows_are_written(catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA)
    with pytest.raises(fz.AlreadyExistsError, match=r"db\.t"):
        catalog.create_table_transaction("db.t", SCHEMA)
    with pytest.raises(fz.NotFoundError):
        catalog.create_table_transaction("no.t", SCHEMA)
    with pytest.raises(fz.InvalidInputError):
        catalog.create_table_transaction("db.u", SCHEMA, partition_by=["nobody"])
    with pytest.raises(fz.InvalidInputError, match="table format"):
        catalog.create_table_transaction("db.u", SCHEMA, format="delta")
    with pytest.raises(fz.UnsupportedError):
        catalog.create_table_transaction("db.u", SCHEMA, format="paimon")
    assert catalog.list_tables("db") == ["db.t"]


def test_another_client_is_first(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    tx = catalog.create_table_transaction("db.t", SCHEMA)
    tx.append(one(1))
    other = catalog.create_table("db.t", SCHEMA).append(one(9))
    kept = files(tmp_path)
    with pytest.raises(fz.AlreadyExistsError, match=r"db\.t"):
        tx.commit()
    table = catalog.load_table("db.t")
    assert (table.uuid, ids(table)) == (other.uuid, [9])
    # The files of the other table stay, and those of this one are gone.
    assert set(files(tmp_path)) < set(kept)
    assert len(parquet(tmp_path)) == 1


def test_one_of_many_creators_wins(catalog: fz.Catalog) -> None:
    transactions = [catalog.create_table_transaction("db.t", SCHEMA).append(one(n)) for n in range(4)]
    won: list[int] = []
    wrong: list[BaseException] = []

    def commit(n: int) -> None:
        try:
            transactions[n].commit()
            won.append(n)
        except fz.AlreadyExistsError:
            pass
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=commit, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(won) == 1
    assert ids(catalog.load_table("db.t")) == won


def test_a_server_is_told_all_at_once(server: RestServer) -> None:
    catalog = opened(server)
    catalog.create_namespace("db")
    server.reset()
    with catalog.create_table_transaction("db.t", SCHEMA) as tx:
        tx.append(one(1))
    # The report of the commit may come later.
    counts = {name: n for name, n in server.counts().items() if name != "reportMetrics"}
    assert counts == {"createTable": 1, "updateTable": 1}
    assert asked(server, "createTable")[0].body["stage-create"] is True
    body = asked(server, "updateTable")[0].body
    assert body["requirements"] == [{"type": "assert-create"}]
    actions = [update["action"] for update in body["updates"]]
    assert actions[:2] == ["assign-uuid", "upgrade-format-version"]
    assert {"add-schema", "set-current-schema", "add-spec", "set-location", "add-snapshot"} <= set(actions)
    assert opened(server, "other").load_table("db.t").uuid == body["updates"][0]["uuid"]


def test_a_server_that_wants_a_location_is_told_one(server: RestServer) -> None:
    server.switches.needs_location = True
    catalog = opened(server)
    catalog.create_namespace("db")
    with catalog.create_table_transaction("db.t", SCHEMA) as tx:
        tx.append(one(1))
    assert ids(catalog.load_table("db.t")) == [1]


def test_a_server_that_takes_one_snapshot(server: RestServer) -> None:
    server.switches.one_snapshot = True
    catalog = opened(server, **{"rest.one-snapshot-commits": "true"})
    catalog.create_namespace("db")
    with catalog.create_table_transaction("db.t", SCHEMA) as tx:
        tx.append(one(1))
        tx.append(one(2), snapshot_properties={"a": "b"})
    assert ids(catalog.load_table("db.t")) == [1, 2]
    assert len(catalog.load_table("db.t").snapshots) == 1


# ---------------------------------------------------------------- out of the catalog, and in again


@pytest.mark.parametrize("kind", ["sql", "memory", "rest"])
def test_a_table_leaves_the_catalog_and_keeps_its_files(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table("db.t", SCHEMA).append(one(1)).append(one(2))
    before = [name for name in files(tmp_path) if not name.startswith("c.db")]
    newest = catalog.unregister_table("db.t")
    assert newest == table.metadata_location
    assert not catalog.table_exists("db.t")
    assert [name for name in files(tmp_path) if not name.startswith("c.db")] == before
    for unknown in ("db.t", "db.no", "no.t"):
        with pytest.raises(fz.NotFoundError):
            catalog.unregister_table(unknown)
    with pytest.raises(fz.FrazilError):
        table.append(one(3))
    again = catalog.register_table("db.u", newest)
    assert (again.uuid, ids(again.append(one(4)))) == (table.uuid, [1, 2, 4])


@pytest.mark.parametrize("kind", ["sql", "memory", "rest"])
def test_a_registration_may_overwrite(catalog: fz.Catalog) -> None:
    first = catalog.create_table("db.t", SCHEMA).append(one(1))
    old = first.metadata_location
    first.append(one(2))
    with pytest.raises(fz.AlreadyExistsError):
        catalog.register_table("db.t", old)
    table = catalog.register_table("db.t", old, overwrite=True)
    assert (table.metadata_location, ids(table)) == (old, [1])
    assert ids(catalog.load_table("db.t")) == [1]
    # The same file again changes nothing.
    assert catalog.register_table("db.t", old, overwrite=True).metadata_location == old
    assert ids(table.append(one(3))) == [1, 3]
    # Another table, and a name that is free.
    other = catalog.create_table("db.other", SCHEMA).append(one(9))
    taken = catalog.register_table("db.t", other.metadata_location, overwrite=True)
    assert (taken.uuid, ids(taken)) == (other.uuid, [9])
    assert ids(catalog.register_table("db.new", other.metadata_location, overwrite=True)) == [9]
    with pytest.raises(fz.NotFoundError):
        catalog.register_table("db.t", f"{old}.missing", overwrite=True)
    assert ids(catalog.load_table("db.t")) == [9]


def test_a_folder_is_its_table(tmp_path: pathlib.Path) -> None:
    catalog = fz.catalog("prod", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA).append(one(1))
    with pytest.raises(fz.UnsupportedError, match="unregister"):
        catalog.unregister_table("db.t")
    with pytest.raises(fz.NotFoundError):
        catalog.unregister_table("db.no")
    with pytest.raises(fz.UnsupportedError, match="overwrite"):
        catalog.register_table("db.t", table.metadata_location, overwrite=True)
    catalog.create_table("db.p", SCHEMA, format="paimon")
    with pytest.raises(fz.FrazilError):
        catalog.unregister_table("db.p")
    assert sorted(catalog.list_tables("db")) == ["db.p", "db.t"]
    assert ids(catalog.load_table("db.t")) == [1]


def test_another_commit_is_not_lost_when_a_table_leaves(tmp_path: pathlib.Path) -> None:
    """A commit between the look and the removal: the register compares, and looks again."""
    catalog = fz.catalog("prod", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA).append(one(1))
    newer = table.append(one(2)).metadata_location
    with sqlite3.connect(tmp_path / "c.db") as database:
        found = database.execute("SELECT metadata_location FROM iceberg_tables").fetchall()
    assert found == [(newer,)]
    assert catalog.unregister_table("db.t") == newer


def test_servers_may_not_offer_it(server: RestServer) -> None:
    opened(server).create_namespace("db")
    opened(server).create_table("db.t", SCHEMA)
    server.switches.without = ("unregisterTable",)
    with pytest.raises(fz.UnsupportedError, match="drop_table"):
        opened(server).unregister_table("db.t")
    server.switches.change({"without": (), "no_endpoints": True})
    with pytest.raises(fz.UnsupportedError, match="does not offer"):
        opened(server).unregister_table("db.t")
    assert "unregisterTable" not in server.counts()


def test_the_server_says_which_file_was_the_last(server: RestServer) -> None:
    catalog = opened(server)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA).append(one(1))
    server.fault("unregisterTable", "cut", "after")
    with pytest.raises(fz.CommitStateUnknownError) as raised:
        catalog.unregister_table("db.t")
    # The table is gone, but the error tells where it was.
    assert table.metadata_location in str(raised.value)
    assert not catalog.table_exists("db.t")


# ---------------------------------------------------------------- files of a table that is purged


@pytest.mark.parametrize("kind", ["filesystem", "sql", "memory"])
def test_a_purge_reaches_folders_that_are_named(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    for place in ("import", "import2", "elsewhere"):
        (tmp_path / place).mkdir()
        other = fz.catalog("other", type="memory", warehouse=tmp_path / f"w-{place}")
        other.create_namespace("x")
        made = other.create_table("x.y", SCHEMA).append(one(1))
        next(iter(made.scan().plan_files()))
        source = next(iter(pathlib.Path(made.location).rglob("*.parquet")))
        source.rename(tmp_path / place / "a.parquet")
    table = catalog.create_table("db.t", SCHEMA)
    table.add_files([tmp_path / place / "a.parquet" for place in ("import", "import2", "elsewhere")], False)
    with pytest.raises(fz.InvalidInputError, match="purge=True"):
        catalog.drop_table("db.t", outside_locations=[str(tmp_path / "import")])
    for wrong in ("relative", "/", str(tmp_path / "a" / ".." / "b")):
        with pytest.raises(fz.InvalidInputError, match="outside_locations"):
            catalog.drop_table("db.t", purge=True, outside_locations=[wrong])
    assert catalog.table_exists("db.t")
    catalog.drop_table("db.t", purge=True, outside_locations=str(tmp_path / "import"))
    # Neither the folder whose name begins alike, nor another one.
    left = [place for place in ("import", "import2", "elsewhere") if (tmp_path / place / "a.parquet").exists()]
    assert left == ["import2", "elsewhere"]


def test_a_server_purges_what_it_likes(server: RestServer, tmp_path: pathlib.Path) -> None:
    catalog = opened(server)
    catalog.create_namespace("db")
    catalog.create_table("db.t", SCHEMA)
    with pytest.raises(fz.UnsupportedError, match="server deletes"):
        catalog.drop_table("db.t", purge=True, outside_locations=[str(tmp_path)])
    assert catalog.table_exists("db.t")


def test_a_missing_metadata_file_is_not_looked_for_as_a_folder(tmp_path: pathlib.Path) -> None:
    for name in ("v1.metadata.json", "00000-a.gz.metadata.json", "v1.metadata.json.gz"):
        with pytest.raises(fz.NotFoundError, match="there is no metadata file"):
            fz.open_table(str(tmp_path / name))
    with pytest.raises(fz.NotFoundError, match="there is no table"):
        fz.open_table(str(tmp_path / "table.json"))
