"""Tables that are replaced: another definition and no rows, while identity and history stay."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator

import pyarrow as pa
import pytest

import frazil as fz
from rest_cases import SCHEMA, asked, ids, one, opened
from rest_server import RestServer, serving

KINDS = ("filesystem", "sql", "memory", "rest")
NAMED = pa.schema([("name", pa.string()), ("id", pa.int64())])


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[RestServer]:
    with serving(tmp_path / "wh") as server:
        yield server


@pytest.fixture(params=KINDS)
def catalog(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> fz.Catalog:
    match request.param:
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


def named(*values: int) -> pa.Table:
    return pa.table({"name": [f"n{value}" for value in values], "id": pa.array(values, pa.int64())}, NAMED)


def test_a_replaced_table_keeps_its_history(catalog: fz.Catalog) -> None:
    old = catalog.create_table("db.t", SCHEMA, properties={"a": "1"}).append(one(1)).append(one(2))
    old.refs.create_tag("kept")
    before = old.refresh()
    new = catalog.replace_table("db.t", NAMED, partition_by=["bucket(4, id)"], sort_by=["name"], properties={"b": "2"})
    assert new.uuid == before.uuid
    assert new.location == before.location
    # `id` keeps its number, `name` gets the next one.
    assert [(field.name, field.id) for field in new.schema.fields] == [("name", 2), ("id", 1)]
    assert (new.properties["a"], new.properties["b"]) == ("1", "2")
    assert [snapshot.id for snapshot in new.snapshots] == [snapshot.id for snapshot in before.snapshots]
    assert new.snapshot is None
    assert new.scan().count() == 0
    assert list(new.refs) == ["kept"]
    assert new.scan(at=before.snapshots[0].id).count() == 1
    assert sorted(new.scan(at="kept").to_arrow()["id"].to_pylist()) == [1, 2]
    again = new.append(named(7))
    assert again.scan().to_arrow().column_names == ["name", "id"]
    assert ids(again) == [7]
    assert again.refresh().snapshot.parent_id is None
    assert ids(catalog.load_table("db.t")) == [7]


def test_a_transaction_fills_the_replaced_table(catalog: fz.Catalog) -> None:
    old = catalog.create_table("db.t", SCHEMA).append(one(1))
    with catalog.replace_table_transaction("db.t", NAMED) as tx:
        tx.append(named(5)).append(named(6))
        assert ids(catalog.load_table("db.t")) == [1]
    found = catalog.load_table("db.t")
    assert ids(found) == [5, 6]
    assert found.uuid == old.uuid
    assert len(found.snapshots) == 2
    given_up = catalog.replace_table_transaction("db.t", SCHEMA)
    given_up.append(one(9))
    given_up.abort()
    assert ids(catalog.load_table("db.t")) == [5, 6]


def test_rows_of_others_are_replaced_too(catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA).append(one(1))
    with catalog.replace_table_transaction("db.t", NAMED) as tx:
        tx.append(named(5))
        catalog.load_table("db.t").append(one(2))
    found = catalog.load_table("db.t")
    assert ids(found) == [5]
    assert len(found.snapshots) == 3


def test_other_columns_of_others_are_a_conflict(catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA)
    tx = catalog.replace_table_transaction("db.t", NAMED)
    tx.append(named(5))
    with catalog.load_table("db.t").update_schema() as update:
        update.add_column("other", "string")
    with pytest.raises(fz.CommitConflictError, match="columns"):
        tx.commit()
    assert catalog.load_table("db.t").scan().count() == 0


def test_create_or_replace(catalog: fz.Catalog) -> None:
    with pytest.raises(fz.NotFoundError):
        catalog.replace_table("db.t", SCHEMA)
    with pytest.raises(fz.NotFoundError):
        catalog.replace_table_transaction("db.t", SCHEMA)
    made = catalog.create_or_replace_table("db.t", SCHEMA)
    made.append(one(1))
    replaced = catalog.create_or_replace_table("db.t", NAMED)
    assert replaced.uuid == made.uuid
    assert replaced.scan().count() == 0
    for turn, name in enumerate(("db.t", "db.new")):
        with catalog.replace_table_transaction(name, NAMED, or_create=True) as tx:
            tx.append(named(turn))
        assert ids(catalog.load_table(name)) == [turn]


def test_versions_go_up_only(catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA, partition_by=["id"], properties={"format-version": "1"}).append(one(1))
    new = catalog.replace_table("db.t", NAMED, partition_by=["name"], properties={"format-version": "2"})
    assert new.format_version == 2
    # Version 1 identifies partition fields by their places.
    fields = [(field.name, str(field.transform)) for field in new.partition_spec.fields]
    assert fields == [("id", "void"), ("name", "identity")]
    assert ids(new.append(named(3))) == [3]
    with pytest.raises(fz.InvalidInputError, match="go back"):
        catalog.replace_table("db.t", SCHEMA, properties={"format-version": "1"})


def test_wrong_definitions_change_nothing(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table("db.t", SCHEMA).append(one(1))
    for wrong in ({"partition_by": ["missing"]}, {"sort_by": ["missing"]}, {"identifier_fields": ["missing"]}):
        with pytest.raises(fz.InvalidInputError, match="missing"):
            catalog.replace_table("db.t", SCHEMA, **wrong)
    with pytest.raises(fz.UnsupportedError, match="location"):
        catalog.replace_table("db.t", SCHEMA, location=tmp_path / "elsewhere")
    assert catalog.replace_table("db.t", SCHEMA, location=table.location).location == table.location


def test_paimon_tables_are_replaced(tmp_path: pathlib.Path) -> None:
    catalog = fz.catalog("c", warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    old = pa.schema([("k", pa.int32()), ("v", pa.string()), ("n", pa.int32())])
    made = catalog.create_or_replace_table(
        "db.p", old, properties={"bucket": "2"}, format="paimon", identifier_fields=["k"]
    )
    made.append(pa.table({"k": pa.array([1, 2], pa.int32()), "v": ["a", "b"], "n": pa.array([5, 6], pa.int32())}))
    ids = {field.name: field.id for field in made.schema}
    # A column of the same name and type keeps its id. `n` has another type.
    new = pa.schema([("n", pa.string()), ("k", pa.int32()), ("w", pa.float64())])
    replaced = catalog.replace_table("db.p", new, properties={"bucket": "4"}, format="paimon", identifier_fields=["k"])
    assert replaced.scan().count() == 0
    assert replaced.properties == {"bucket": "4"}
    assert {field.name: field.id for field in replaced.schema} == {"n": 3, "k": ids["k"], "w": 4}
    replaced.append(pa.table({"n": ["x"], "k": pa.array([1], pa.int32()), "w": [0.5]}))
    assert replaced.scan().to_arrow().to_pylist() == [{"n": "x", "k": 1, "w": 0.5}]
    assert sorted(row["v"] for row in replaced.scan(at=1).to_arrow().to_pylist()) == ["a", "b"]
    assert [snapshot.operation for snapshot in replaced.snapshots] == ["append", "overwrite", "append"]


def test_what_a_replaced_paimon_table_keeps(tmp_path: pathlib.Path) -> None:
    catalog = fz.catalog("c", warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    schema = pa.schema([("id", pa.int64()), ("p", pa.string())])
    table = catalog.create_table("db.p", schema, partition_by="p", format="paimon")
    table.append(pa.table({"id": [1], "p": ["a"]}))
    for wrong, error in [
        ({"format": "iceberg"}, "can't be replaced by one of Apache Iceberg"),
        ({"format": "paimon"}, "other partition columns"),
        ({"format": "paimon", "partition_by": "p", "properties": {"bucket": "0"}}, "buckets"),
    ]:
        with pytest.raises(fz.FrazilError, match=error):
            catalog.replace_table("db.p", schema, **wrong)  # type: ignore[arg-type]
    with pytest.raises(fz.UnsupportedError, match="replace_table_transaction"):
        catalog.replace_table_transaction("db.p", schema, partition_by="p", format="paimon")
    with pytest.raises(fz.NotFoundError):
        catalog.replace_table("db.none", schema, format="paimon")
    assert table.refresh().scan().count() == 1


def test_a_server_gets_one_commit(server: RestServer) -> None:
    catalog = opened(server)
    catalog.create_namespace("db")
    catalog.create_table("db.t", SCHEMA).append(one(1))
    server.reset()
    with catalog.replace_table_transaction("db.t", NAMED) as tx:
        tx.append(named(5))
    (sent,) = asked(server, "updateTable")
    body = sent.body if isinstance(sent.body, dict) else json.loads(sent.body)
    assert [update["action"] for update in body["updates"]][:2] == ["add-schema", "set-current-schema"]
    assert {"type": "assert-last-assigned-field-id", "last-assigned-field-id": 1} in body["requirements"]
    assert asked(server, "createTable") == []
