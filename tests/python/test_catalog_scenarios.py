"""Scenarios of the catalog tests of Java Iceberg and PyIceberg: on the tests' own REST server, on Iceberg's REST
fixture and on a SQL catalog. `tests/CATALOG_SCENARIOS.md` lists all of them.
"""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Iterator

import pyarrow as pa
import pytest

import frazil as fz
from rest_cases import SCHEMA, ids, one
from rest_server import serving
from server_fixtures import rest_server

__all__ = ["rest_server"]
NAMES = itertools.count(1)
KINDS = ("own", "iceberg", "sql")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def given(kind: str, request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[dict[str, object]]:
    """How the catalog is opened."""
    if kind == "own":
        with serving(tmp_path / "wh") as server:
            yield {"type": "rest", "uri": server.url}
    elif kind == "iceberg":
        yield {"type": "rest", "uri": request.getfixturevalue("rest_server")["uri"]}
    else:
        yield {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": tmp_path / "wh"}


@pytest.fixture
def catalog(given: dict[str, object]) -> fz.Catalog:
    return fz.catalog("c", **given)


@pytest.fixture
def ns(catalog: fz.Catalog) -> str:
    """A namespace of the test's own."""
    name = f"scenario{next(NAMES)}"
    catalog.create_namespace(name)
    return name


def files(location: str) -> set[str]:
    path = pathlib.Path(location.removeprefix("file:").replace("///", "/"))
    return {str(p) for p in path.rglob("*") if p.is_file()}


# ---------------------------------------------------------------- namespaces


def test_namespace_properties(catalog: fz.Catalog) -> None:
    name = f"scenario{next(NAMES)}"
    catalog.create_namespace(name, properties={"owner": "a", "team": "b"})
    assert catalog.load_namespace_properties(name).items() >= {"owner": "a", "team": "b"}.items()
    catalog.update_namespace_properties(name, updates={"owner": "c", "new": "d"})
    assert catalog.load_namespace_properties(name).items() >= {"owner": "c", "team": "b", "new": "d"}.items()
    catalog.update_namespace_properties(name, removals=["team", "never"])
    assert "team" not in catalog.load_namespace_properties(name)
    with pytest.raises(fz.InvalidInputError):
        catalog.update_namespace_properties(name, ["x"], {"x": "y"})


def test_missing_namespaces(catalog: fz.Catalog) -> None:
    assert not catalog.namespace_exists("missing")
    for act in (
        lambda: catalog.load_namespace_properties("missing"),
        lambda: catalog.update_namespace_properties("missing", updates={"a": "b"}),
        lambda: catalog.update_namespace_properties("missing", removals=["a"]),
        lambda: catalog.drop_namespace("missing"),
        lambda: catalog.list_tables("missing"),
        lambda: catalog.list_namespaces("missing"),
        lambda: catalog.create_table("missing.t", SCHEMA),
        lambda: catalog.load_table("missing.t"),
    ):
        with pytest.raises(fz.NotFoundError):
            act()


def test_namespaces_that_are_not_empty(catalog: fz.Catalog, ns: str) -> None:
    catalog.create_namespace(f"{ns}.inner")
    with pytest.raises(fz.InvalidInputError, match="not empty"):
        catalog.drop_namespace(ns)
    catalog.drop_namespace(f"{ns}.inner")
    catalog.create_table(f"{ns}.t", SCHEMA)
    with pytest.raises(fz.InvalidInputError, match="not empty"):
        catalog.drop_namespace(ns)
    catalog.drop_table(f"{ns}.t")
    catalog.drop_namespace(ns)
    assert not catalog.namespace_exists(ns)


def test_namespaces_are_listed(catalog: fz.Catalog, ns: str) -> None:
    for name in (f"{ns}.a", f"{ns}.b", f"{ns}.a.x", f"{ns}x"):
        catalog.create_namespace(name)
    assert {ns, f"{ns}x"} <= set(catalog.list_namespaces())
    assert sorted(catalog.list_namespaces(ns)) == [f"{ns}.a", f"{ns}.b"]
    assert catalog.list_namespaces(f"{ns}.a") == [f"{ns}.a.x"]
    assert catalog.list_namespaces(f"{ns}.b") == []


def test_namespaces_that_exist(catalog: fz.Catalog, ns: str) -> None:
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_namespace(ns)
    catalog.create_namespace(ns, if_not_exists=True)


# ---------------------------------------------------------------- tables


def test_defaults_of_new_tables(catalog: fz.Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA)
    assert (table.format_version, table.snapshots, list(table.refs)) == (2, [], [])
    assert (len(table.partition_spec.fields), len(table.sort_order.fields)) == (0, 0)
    loaded = catalog.load_table(f"{ns}.t")
    assert (loaded.uuid, loaded.metadata_location) == (table.uuid, table.metadata_location)


def test_a_table_that_exists_may_stay(catalog: fz.Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA, if_not_exists=True).append(one(1))
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_table(f"{ns}.t", SCHEMA)
    again = catalog.create_table(f"{ns}.t", SCHEMA, if_not_exists=True)
    assert (again.uuid, ids(again)) == (table.uuid, [1])


def test_defaults_and_overrides_of_the_catalog(given: dict[str, object], ns: str) -> None:
    given = {**given, "table-default.a": "1", "table-default.b": "1", "table-default.c": "1", "table-override.c": "2"}
    catalog = fz.catalog("c", **given, **{"table-override.d": "2"})
    mine = {"b": "0", "c": "0", "d": "0", "e": "0"}
    expected = {"a": "1", "b": "0", "c": "2", "d": "2", "e": "0"}
    table = catalog.create_table(f"{ns}.t", SCHEMA, properties=mine)
    assert expected.items() <= table.properties.items()
    with catalog.create_table_transaction(f"{ns}.u", SCHEMA, properties=mine) as tx:
        tx.append(one(1))
    assert expected.items() <= catalog.load_table(f"{ns}.u").properties.items()
    plain = fz.catalog("c", **{name: value for name, value in given.items() if not name.startswith("table-")})
    plain.create_table(f"{ns}.v", SCHEMA, properties={"a": "0", "f": "0"})
    replaced = catalog.replace_table(f"{ns}.v", SCHEMA, properties=mine)
    assert {**expected, "f": "0"}.items() <= replaced.properties.items()


def test_locations_that_are_given(catalog: fz.Catalog, ns: str, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA, location=f"{tmp_path}/given/")
    assert table.location.removeprefix("file:").rstrip("/").endswith("/given")
    assert ids(table.append(one(1))) == [1]
    assert files(f"{tmp_path}/given")


def test_types_and_defaults_of_columns(catalog: fz.Catalog, ns: str) -> None:
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False), ("d", pa.decimal128(9, 2))])
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", inner), ("l", pa.list_(inner))])
    table = catalog.create_table(f"{ns}.t", schema, identifier_fields=["id"])
    assert table.schema.names == ["id", "s", "l"]
    with table.upgrade(3).update_schema() as update:
        update.add_column("n", pa.int64(), default=7)
    rows = pa.Table.from_pylist([{"id": 1, "s": None, "l": []}], schema)
    catalog.load_table(f"{ns}.t").append(rows)
    assert catalog.load_table(f"{ns}.t").scan().to_arrow()["n"].to_pylist() == [7]


@pytest.mark.parametrize("name", ["with/slash", "with space", "ünïcode", "UPPER"])
def test_odd_names_of_tables(catalog: fz.Catalog, ns: str, name: str) -> None:
    """They work, or they are refused before anything is made."""
    try:
        table = catalog.create_table(f"{ns}.{name}", SCHEMA)
    except fz.InvalidInputError:
        assert catalog.list_tables(ns) == []
        return
    assert catalog.load_table(f"{ns}.{name}").uuid == table.uuid
    assert catalog.list_tables(ns) == [f"{ns}.{name}"]
    catalog.drop_table(f"{ns}.{name}")
    assert not catalog.table_exists(f"{ns}.{name}")


@pytest.mark.parametrize("wrong", ["t", "", ".", "{}.", ".t", "{}..t"])
def test_names_that_are_none(catalog: fz.Catalog, ns: str, wrong: str) -> None:
    with pytest.raises((fz.InvalidInputError, fz.NotFoundError)):
        catalog.create_table(wrong.format(ns), SCHEMA)


def test_a_table_whose_metadata_file_is_lost(catalog: fz.Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA)
    path = pathlib.Path(table.metadata_location.removeprefix("file:").replace("///", "/"))
    kept = path.read_bytes()
    path.unlink()
    with pytest.raises(fz.NotFoundError, match="metadata"):
        catalog.load_table(f"{ns}.t")
    path.write_bytes(kept)
    assert catalog.load_table(f"{ns}.t").uuid == table.uuid


def test_renames(catalog: fz.Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA).append(one(1))
    other = catalog.create_table(f"{ns}.other", SCHEMA)
    catalog.create_namespace(f"{ns}.inner")
    with pytest.raises(fz.NotFoundError):
        catalog.rename_table(f"{ns}.missing", f"{ns}.x")
    with pytest.raises(fz.NotFoundError):
        catalog.rename_table(f"{ns}.t", "missing.t")
    with pytest.raises(fz.AlreadyExistsError):
        catalog.rename_table(f"{ns}.t", f"{ns}.other")
    assert catalog.load_table(f"{ns}.other").uuid == other.uuid
    catalog.rename_table(f"{ns}.t", f"{ns}.inner.t")
    assert sorted(catalog.list_tables(ns)) == [f"{ns}.other"]
    assert ids(catalog.load_table(f"{ns}.inner.t")) == [1]
    # Another table of the old name does not disturb it, nor does dropping that one with its files.
    fresh = catalog.create_table(f"{ns}.t", SCHEMA).append(one(2))
    assert fresh.uuid != table.uuid
    catalog.drop_table(f"{ns}.t", purge=True)
    assert ids(catalog.load_table(f"{ns}.inner.t")) == [1]


def test_drops(catalog: fz.Catalog, ns: str) -> None:
    kept = catalog.create_table(f"{ns}.kept", SCHEMA).append(one(1))
    gone = catalog.create_table(f"{ns}.gone", SCHEMA).append(one(1))
    catalog.drop_table(f"{ns}.kept", purge=False)
    assert any(name.endswith(".parquet") for name in files(kept.location))
    catalog.drop_table(f"{ns}.gone", purge=True)
    assert not any(name.endswith(".parquet") for name in files(gone.location))
    for name in ("kept", "gone", "missing"):
        with pytest.raises(fz.NotFoundError):
            catalog.drop_table(f"{ns}.{name}")
    assert catalog.list_tables(ns) == []


def test_registering(catalog: fz.Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA).append(one(1))
    with table.refresh().update_schema() as update:
        update.add_column("name", pa.string())
    newest = table.refresh().metadata_location
    catalog.drop_table(f"{ns}.t")
    again = catalog.register_table(f"{ns}.u", newest)
    assert (again.uuid, again.metadata_location, again.schema.names) == (table.uuid, newest, ["id", "name"])
    with pytest.raises(fz.AlreadyExistsError):
        catalog.register_table(f"{ns}.u", newest)
    with pytest.raises(fz.NotFoundError):
        catalog.register_table(f"{ns}.v", newest + ".missing")


# ---------------------------------------------------------------- commits


def test_schemas_change(catalog: fz.Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA)
    stale = catalog.load_table(f"{ns}.t")
    with table.update_schema() as update:
        update.add_column("a", pa.string())
    # Not in conflict: it is done on top.
    stale.set_properties({"k": "v"})
    found = catalog.load_table(f"{ns}.t")
    assert (found.schema.names, found.properties["k"]) == (["id", "a"], "v")
    with found.update_schema() as update:
        update.delete_column("a")
    assert catalog.load_table(f"{ns}.t").schema.names == ["id"]


def test_schemas_that_change_at_once(catalog: fz.Catalog, ns: str) -> None:
    first = catalog.create_table(f"{ns}.t", SCHEMA)
    late = catalog.load_table(f"{ns}.t").update_schema()
    late.add_column("b", pa.string())
    with first.update_schema() as update:
        update.add_column("a", pa.string())
    try:
        late.commit()
    except fz.CommitConflictError:
        assert catalog.load_table(f"{ns}.t").schema.names == ["id", "a"]
    else:
        assert catalog.load_table(f"{ns}.t").schema.names == ["id", "a", "b"]
    columns = [field.id for field in catalog.load_table(f"{ns}.t").schema.fields]
    assert len(columns) == len(set(columns))


def test_specs_change(catalog: fz.Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA, partition_by=["bucket(4, id)"]).append(one(1))
    stale = catalog.load_table(f"{ns}.t")
    with table.refresh().update_partition_spec() as spec:
        spec.add_field("bucket(8, id)")
    stale.set_properties({"k": "v"})
    with catalog.load_table(f"{ns}.t").update_partition_spec() as spec:
        spec.remove_field("id_bucket_8")
    found = catalog.load_table(f"{ns}.t")
    assert [field.name for field in found.partition_spec.fields] == ["id_bucket"]
    assert ids(found.append(one(2))) == [1, 2]


def test_orders_change(catalog: fz.Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA, sort_by=["id"])
    stale = catalog.load_table(f"{ns}.t")
    with table.update_sort_order() as order:
        order.desc("id")
    stale.set_properties({"k": "v"})
    found = catalog.load_table(f"{ns}.t")
    assert (found.properties["k"], len(found.sort_order.fields)) == ("v", 1)


def test_appends_of_stale_handles(catalog: fz.Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA)
    empty = catalog.load_table(f"{ns}.t")
    table.append(one(1))
    empty.append(one(2))
    stale = catalog.load_table(f"{ns}.t")
    table.refresh().append(one(3))
    stale.append(one(4))
    assert ids(table) == [1, 2, 3, 4]
    assert len(table.refresh().snapshots) == 4


def test_a_transaction_of_many_changes(catalog: fz.Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA)
    before = table.metadata_location
    with table.transaction() as tx:
        tx.update_schema().add_column("name", pa.string()).commit()
        tx.update_partition_spec().add_field("bucket(4, id)").commit()
        tx.append(pa.table({"id": [1], "name": ["one"]}))
        tx.set_properties({"k": "v"})
        assert catalog.load_table(f"{ns}.t").metadata_location == before
    found = catalog.load_table(f"{ns}.t")
    assert (found.schema.names, found.properties["k"], ids(found)) == (["id", "name"], "v", [1])


def test_a_transaction_that_is_given_up(catalog: fz.Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA)

    def fail() -> None:
        with table.transaction() as tx:
            tx.append(one(1))
            raise RuntimeError("given up")

    with pytest.raises(RuntimeError):
        fail()
    assert catalog.load_table(f"{ns}.t").metadata_location == table.metadata_location


def test_old_metadata_files_go(catalog: fz.Catalog, ns: str) -> None:
    properties = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "2"}
    table = catalog.create_table(f"{ns}.t", SCHEMA, properties=properties)
    for value in range(6):
        table = table.append(one(value))
    kept = {name for name in files(table.location) if name.endswith(".metadata.json")}
    assert len(kept) <= 4
    assert ids(catalog.load_table(f"{ns}.t")) == list(range(6))


def test_metadata_in_another_place(catalog: fz.Catalog, ns: str, tmp_path: pathlib.Path) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA)
    moved = table.set_properties({"write.metadata.path": f"{tmp_path}/meta"})
    assert moved.metadata_location.removeprefix("file:").startswith(f"{tmp_path}/meta/")
    assert ids(catalog.load_table(f"{ns}.t").append(one(1))) == [1]


def test_versions_of_the_format(catalog: fz.Catalog, ns: str) -> None:
    for version in (1, 2, 3):
        table = catalog.create_table(f"{ns}.t{version}", SCHEMA, properties={"format-version": version})
        assert table.append(one(version)).format_version == version
    upgraded = catalog.load_table(f"{ns}.t1").upgrade(2).upgrade(3)
    assert (upgraded.format_version, ids(upgraded.append(one(9)))) == (3, [1, 9])
    with pytest.raises(fz.InvalidInputError):
        upgraded.refresh().upgrade(2)


def test_a_table_that_another_one_replaced(catalog: fz.Catalog, ns: str) -> None:
    table = catalog.create_table(f"{ns}.t", SCHEMA)
    catalog.drop_table(f"{ns}.t")
    with pytest.raises(fz.NotFoundError):
        table.append(one(1))
    catalog.create_table(f"{ns}.t", SCHEMA)
    with pytest.raises(fz.CorruptTableError, match="uuid"):
        table.append(one(1))
    assert ids(catalog.load_table(f"{ns}.t")) == []
