"""Catalogs that the user's own PyIceberg opens: Glue (by moto, in this process), and classes of the user's own."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from moto import mock_aws
from moto.core.exceptions import JsonRESTError
from moto.glue.responses import GlueResponse
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.catalog.sql import SqlCatalog

import frazil as fz

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", "b", "c"]})
AWS = {"glue.region": "us-east-1", "glue.access-key-id": "AKIATEST", "glue.secret-access-key": "very-secret-key"}


class OwnCatalog(SqlCatalog):
    """A class of the user's own, which only PyIceberg can open."""


@pytest.fixture
def glue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The properties of a Glue catalog whose tables are local files. Moto ignores the version that Glue compares."""
    update, one_at_a_time = GlueResponse.update_table, threading.Lock()

    def compared(self: GlueResponse) -> Any:
        with one_at_a_time:
            given = self.parameters
            table = self.glue_backend.get_table(given["DatabaseName"], given["TableInput"]["Name"])
            if given.get("VersionId") != table.as_dict()["VersionId"]:
                raise JsonRESTError("ConcurrentModificationException", "the version is another one")
            return update(self)

    monkeypatch.setattr(GlueResponse, "update_table", compared)
    with mock_aws():
        yield {"type": "glue", "warehouse": str(tmp_path / "lake"), **AWS}


@pytest.fixture
def own(tmp_path: Path) -> dict[str, str]:
    kind = f"{OwnCatalog.__module__}.{OwnCatalog.__qualname__}"
    uri = f"sqlite:///{tmp_path}/own.db"
    return {"py-catalog-impl": kind, "uri": uri, "warehouse": f"file://{tmp_path}/lake", "init_catalog_tables": "true"}


def ids(table: Any) -> list[int]:
    rows = table.scan().to_arrow() if isinstance(table, fz.Table) else table.refresh().scan().to_arrow()
    return sorted(rows["id"].to_pylist())


class TestGlue:
    def test_a_table_comes_with_its_rows_and_leaves_with_its_files(self, glue: dict[str, str]) -> None:
        ours, theirs = fz.catalog("g", **glue), load_catalog("g", **glue)
        ours.create_namespace("db")
        with ours.create_table_transaction("db.t", ROWS.schema) as tx:
            tx.append(ROWS)
            assert not theirs.table_exists("db.t")
        assert ids(theirs.load_table("db.t")) == [1, 2, 3]
        table = ours.load_table("db.t")
        first = table.metadata_location
        table.delete("id = 1")
        # Its own conditional commit moves the pointer back.
        assert ids(ours.register_table("db.t", first, overwrite=True)) == [1, 2, 3]
        assert theirs.load_table("db.t").metadata_location == first
        assert ours.unregister_table("db.t") == first
        assert not theirs.table_exists("db.t")
        assert ids(theirs.register_table("db.again", first)) == [1, 2, 3]

    def test_both_see_the_same_tables(self, glue: dict[str, str]) -> None:
        ours, theirs = fz.catalog("g", **glue), load_catalog("g", **glue)
        ours.create_namespace("db", properties={"owner": "me"})
        assert theirs.load_namespace_properties("db")["owner"] == "me"
        table = ours.create_table("db.events", ROWS.schema, partition_by=["bucket(4, id)"])
        table.append(ROWS)
        known = theirs.load_table("db.events")
        assert ids(known) == [1, 2, 3]
        known.append(pa.table({"id": pa.array([4], pa.int64()), "name": ["d"]}).cast(known.schema().as_arrow()))
        assert ids(table.refresh()) == [1, 2, 3, 4]
        table.upsert(pa.table({"id": pa.array([4], pa.int64()), "name": ["D"]}), on=["id"])
        assert known.refresh().scan(row_filter="id = 4").to_arrow()["name"].to_pylist() == ["D"]
        assert ours.list_tables("db") == ["db.events"]
        assert ours.list_namespaces() == ["db"]

    def test_glue_knows_the_current_and_the_previous_file(self, glue: dict[str, str]) -> None:
        ours = fz.catalog("g", **glue)
        ours.create_namespace("db")
        table = ours.create_table("db.events", ROWS.schema)
        first = table.metadata_location
        table.append(ROWS)
        import boto3

        client = boto3.client(
            "glue", region_name="us-east-1", aws_access_key_id="AKIATEST", aws_secret_access_key="very-secret-key"
        )
        told = client.get_table(DatabaseName="db", Name="events")["Table"]["Parameters"]
        assert told["metadata_location"] == table.metadata_location
        assert told["previous_metadata_location"] == first

    def test_rename_drop_register(self, glue: dict[str, str]) -> None:
        ours = fz.catalog("g", **glue)
        ours.create_namespace("db")
        ours.create_table("db.events", ROWS.schema).append(ROWS)
        ours.rename_table("db.events", "db.clicks")
        place = ours.load_table("db.clicks").metadata_location
        ours.drop_table("db.clicks")
        assert not ours.table_exists("db.clicks")
        assert ours.register_table("db.again", place).scan().count() == 3
        with pytest.raises(fz.AlreadyExistsError):
            ours.register_table("db.again", place)
        with pytest.raises(fz.InvalidInputError):
            ours.drop_namespace("db")
        ours.drop_table("db.again", purge=True)
        ours.drop_namespace("db")
        assert ours.list_namespaces() == []
        with pytest.raises(fz.NotFoundError):
            ours.load_table("db.again")

    def test_a_lost_race_is_a_conflict_and_is_tried_again(self, glue: dict[str, str]) -> None:
        ours = fz.catalog("g", **glue)
        ours.create_namespace("db")
        table = ours.create_table("db.events", ROWS.schema)
        stale = ours.load_table("db.events")
        table.append(ROWS)
        stale.append(ROWS)
        assert stale.refresh().scan().count() == 6
        transaction = stale.transaction()
        transaction.delete("id = 1")
        table.refresh().upsert(pa.table({"id": pa.array([1], pa.int64()), "name": ["x"]}), on=["id"])
        with pytest.raises(fz.CommitConflictError):
            transaction.commit()

    def test_four_writers_lose_nothing(self, glue: dict[str, str]) -> None:
        catalog = fz.catalog("g", **glue)
        catalog.create_namespace("db")
        catalog.create_table("db.events", ROWS.schema, properties={"commit.retry.num-retries": "50"})
        failed: list[BaseException] = []

        def write() -> None:
            try:
                for _ in range(5):
                    catalog.load_table("db.events").append(ROWS)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=write) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert not failed
        assert catalog.load_table("db.events").scan().count() == 60

    def test_a_lost_answer_is_looked_into(self, glue: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        """The commit is done, but its answer is lost: the pointer tells that it was our own."""
        catalog = fz.catalog("g", **glue)
        catalog.create_namespace("db")
        table = catalog.create_table("db.events", ROWS.schema)
        update = GlueCatalog._update_glue_table

        def lost(self: Any, **arguments: Any) -> None:
            update(self, **arguments)
            raise ConnectionError("reset, and the key is very-secret-key")

        monkeypatch.setattr(GlueCatalog, "_update_glue_table", lost)
        table.append(ROWS)
        assert table.scan().count() == 3

    def test_an_unknown_result_deletes_nothing(self, glue: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        catalog = fz.catalog("g", **glue)
        catalog.create_namespace("db")
        table = catalog.create_table("db.events", ROWS.schema)
        place = Path(table.location)
        update, broken = GlueCatalog._update_glue_table, False

        def lost(self: Any, **arguments: Any) -> None:
            nonlocal broken
            update(self, **arguments)
            broken = True
            raise ConnectionError("reset, and the key is very-secret-key")

        find = GlueCatalog._get_glue_table

        def down(self: Any, *arguments: Any, **named: Any) -> Any:
            if broken:
                raise ConnectionError("down")
            return find(self, *arguments, **named)

        monkeypatch.setattr(GlueCatalog, "_update_glue_table", lost)
        monkeypatch.setattr(GlueCatalog, "_get_glue_table", down)
        with pytest.raises(fz.CommitStateUnknownError) as raised:
            table.append(ROWS)
        assert "very-secret-key" not in str(raised.value)
        monkeypatch.undo()
        assert catalog.load_table("db.events").scan().count() == 3
        assert list(place.rglob("*.parquet"))

    def test_a_creation_without_an_answer_keeps_its_file(
        self, glue: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        catalog = fz.catalog("g", **glue)
        catalog.create_namespace("db")
        register, find, broken = GlueCatalog.register_table, GlueCatalog._get_glue_table, False

        def lost(self: Any, *arguments: Any) -> None:
            nonlocal broken
            register(self, *arguments)
            broken = True
            raise ConnectionError("reset")

        def down(self: Any, *arguments: Any, **named: Any) -> Any:
            if broken:
                raise ConnectionError("down")
            return find(self, *arguments, **named)

        monkeypatch.setattr(GlueCatalog, "register_table", lost)
        monkeypatch.setattr(GlueCatalog, "_get_glue_table", down)
        with pytest.raises(fz.CommitStateUnknownError):
            catalog.create_table("db.events", ROWS.schema)
        monkeypatch.undo()
        assert catalog.load_table("db.events").scan().count() == 0

    def test_a_service_that_fails_is_an_error_without_secrets(
        self, glue: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        catalog = fz.catalog("g", **glue)

        def down(*_: Any, **__: Any) -> None:
            raise ConnectionError("no route for very-secret-key")

        monkeypatch.setattr(GlueCatalog, "list_namespaces", down)
        with pytest.raises(fz.StoreError, match="no route") as raised:
            catalog.list_namespaces()
        assert "very-secret-key" not in str(raised.value) + repr(catalog)
        monkeypatch.setattr(GlueCatalog, "list_namespaces", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            catalog.list_namespaces()


class TestObjects:
    def test_a_catalog_object_is_taken(self, own: dict[str, str]) -> None:
        theirs = load_catalog("mine", **own)
        theirs.create_namespace("db")
        theirs.create_table("db.events", ROWS.schema)
        ours = fz.catalog(theirs)
        ours.load_table("db.events").append(ROWS)
        assert ids(theirs.load_table("db.events")) == [1, 2, 3]
        assert ours.name == "mine"

    def test_catalogs_that_frazil_knows_are_its_own(self, tmp_path: Path) -> None:
        theirs = load_catalog("s", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/lake")
        theirs.create_namespace("db")
        assert fz.catalog(theirs).properties["type"] == "sql"
        assert fz.catalog(theirs).list_namespaces() == ["db"]

    def test_a_catalog_in_memory_stays_in_its_process(self, tmp_path: Path) -> None:
        theirs = InMemoryCatalog("m", warehouse=f"file://{tmp_path}/lake")
        theirs.create_namespace("db")
        theirs.create_table("db.events", ROWS.schema)
        table = fz.catalog(theirs).load_table("db.events")
        table.append(ROWS)
        assert ids(theirs.load_table("db.events")) == [1, 2, 3]
        assert pickle.loads(pickle.dumps(table)).scan().count() == 3

    def test_other_objects_are_refused(self) -> None:
        with pytest.raises(fz.InvalidInputError, match="name must be"):
            fz.catalog(3)

    def test_properties_belong_to_the_object(self, own: dict[str, str]) -> None:
        with pytest.raises(fz.InvalidInputError, match="combined with properties"):
            fz.catalog(load_catalog("mine", **own), warehouse="x")


def test_tables_commit_from_other_processes(own: dict[str, str], tmp_path: Path) -> None:
    catalog = fz.catalog("mine", **own)
    catalog.create_namespace("db")
    table = catalog.create_table("db.events", ROWS.schema)
    (tmp_path / "table.pickle").write_bytes(pickle.dumps(table))
    program = (
        "import pickle, pathlib, pyarrow as pa, sys\n"
        "table = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "table.append(pa.table({'id': pa.array([7], pa.int64()), 'name': ['x']}))\n"
    )
    folders = [str(Path(__file__).parent), *sys.path]
    subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {folders!r}\n{program}", str(tmp_path / "table.pickle")],
        check=True,
        timeout=120,
    )
    assert table.refresh().scan().count() == 1
    assert fz.catalog("mine", **own).load_table("db.events").scan().count() == 1


def test_what_pyiceberg_cannot_do_is_named(tmp_path: Path) -> None:
    with mock_aws():
        catalog = fz.catalog(
            "d",
            type="dynamodb",
            warehouse=str(tmp_path / "lake"),
            **{k.replace("glue", "dynamodb"): v for k, v in AWS.items()},
        )
        catalog.create_namespace("db")
        with pytest.raises(fz.UnsupportedError, match="DynamoDbCatalog can't do this"):
            catalog.create_table("db.events", ROWS.schema).append(ROWS)


def test_a_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog.hive", None)  # as without the library
    with pytest.raises(fz.FrazilError, match=r"pip install 'pyiceberg\[hive\]'"):
        fz.catalog("h", type="hive", uri="thrift://127.0.0.1:1").list_namespaces()
