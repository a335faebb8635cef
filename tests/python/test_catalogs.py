"""Catalogs of every type: the same behaviour, and SQL catalogs shared with PyIceberg."""

from __future__ import annotations

import os
import pathlib
import pickle
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import frazil as fz

SCHEMA = pa.schema([("id", pa.int64())])
Opener = Callable[[], fz.Catalog]


def one(value: int) -> pa.Table:
    return pa.table({"id": pa.array([value], pa.int64())})


def ids(table: fz.Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


def sql(folder: pathlib.Path, name: str = "prod", **properties: object) -> fz.Catalog:
    uri = f"sqlite:///{folder}/catalog.db"
    return fz.catalog(name, type="sql", uri=uri, warehouse=folder / "wh", **properties)


@pytest.fixture(params=["filesystem", "sql", "memory"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def catalog(kind: str, tmp_path: pathlib.Path) -> fz.Catalog:
    match kind:
        case "sql":
            return sql(tmp_path)
        case "memory":
            return fz.catalog("prod", type="memory")
        case _:
            return fz.catalog("prod", type=kind, warehouse=tmp_path / "wh")


# ---------------------------------------------------------------- every catalog


@pytest.mark.filterwarnings("ignore:the warehouse .* does not exist")
def test_namespaces_nest(catalog: fz.Catalog) -> None:
    assert catalog.list_namespaces() == []
    catalog.create_namespace("a")
    catalog.create_namespace("a.b")
    catalog.create_namespace("x.y")
    catalog.create_namespace("a", if_not_exists=True)
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_namespace("a")
    assert sorted(catalog.list_namespaces()) == ["a", "x"]
    assert catalog.list_namespaces("a") == ["a.b"]
    assert catalog.list_namespaces("a.b") == []
    assert catalog.namespace_exists("x")
    assert not catalog.namespace_exists("y")
    assert catalog.load_namespace_properties("a.b")["location"].endswith("/a/b")
    with pytest.raises(fz.InvalidInputError, match="not empty"):
        catalog.drop_namespace("a")
    catalog.drop_namespace("a.b")
    catalog.drop_namespace("a")
    for gone in (catalog.list_namespaces, catalog.list_tables, catalog.drop_namespace):
        with pytest.raises(fz.NotFoundError):
            gone("a")


def test_names_are_not_patterns(catalog: fz.Catalog) -> None:
    for name in ("a_b", "axb.c", "p%"):
        catalog.create_namespace(name)
    assert catalog.list_namespaces("a_b") == []
    assert catalog.list_namespaces("axb") == ["axb.c"]
    for other in ("p", "pq", "A_B", "a", "AXB"):
        assert not catalog.namespace_exists(other), other


def test_tables_come_and_go(catalog: fz.Catalog) -> None:
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, properties={"owner": "me"})
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_table("db.t", SCHEMA)
    with pytest.raises(fz.NotFoundError, match="namespace"):
        catalog.create_table("no.t", SCHEMA)
    with pytest.raises(fz.InvalidInputError, match="not empty"):
        catalog.drop_namespace("db")
    assert catalog.list_tables("db") == ["db.t"]
    assert catalog.table_exists("db.t")
    table.append(one(1))
    assert ids(catalog.load_table("db.t")) == [1]
    files = list(pathlib.Path(table.location).glob("data/**/*.parquet"))
    assert len(files) == 1
    catalog.drop_table("db.t", purge=True)
    assert not files[0].exists()
    assert not list(pathlib.Path(table.location).glob("metadata/*.json"))
    assert not catalog.table_exists("db.t")
    for gone in (catalog.load_table, catalog.drop_table):
        with pytest.raises(fz.NotFoundError):
            gone("db.t")


def test_handles_see_each_other(catalog: fz.Catalog) -> None:
    catalog.create_namespace("db")
    first = catalog.create_table("db.t", SCHEMA)
    second = catalog.load_table("db.t")
    for value in range(3):
        first.append(one(2 * value))
        second.append(one(2 * value + 1))
    assert ids(first) == list(range(6))
    with second.refresh().update_schema() as update:
        update.add_column("name", pa.string())
    assert first.refresh().schema.names == ["id", "name"]
    with first.refresh().transaction() as tx:
        tx.append(pa.table({"id": pa.array([7], pa.int64()), "name": ["seven"]}))
        tx.set_properties({"k": "v"})
    assert second.refresh().properties["k"] == "v"
    assert ids(second) == [*range(6), 7]


def test_rows_change_through_the_catalog(catalog: fz.Catalog) -> None:
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, properties={"format-version": "3"})
    old = table.append(pa.table({"id": pa.array(range(10), pa.int64())}))
    old.delete("id < 3")
    old.upsert(one(20), on=["id"])
    old.overwrite(one(30), where="id >= 5 and id < 20")
    assert ids(catalog.load_table("db.t")) == [3, 4, 20, 30]


def test_a_dropped_table_is_not_committed_to(catalog: fz.Catalog) -> None:
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    catalog.drop_table("db.t", purge=True)
    with pytest.raises(fz.NotFoundError):
        table.append(one(1))
    assert not list(pathlib.Path(table.location).glob("data/**/*.parquet"))
    catalog.create_table("db.t", SCHEMA)
    with pytest.raises(fz.CorruptTableError, match="uuid"):
        table.append(one(1))


def test_names_of_new_tables_are_refused_early(catalog: fz.Catalog) -> None:
    catalog.create_namespace("db")
    for wrong in ("db.", "t", "db.a/b", "db..t"):
        with pytest.raises(fz.InvalidInputError):
            catalog.create_table(wrong, SCHEMA)


# ---------------------------------------------------------------- catalogs with a register


@pytest.mark.parametrize("kind", ["sql", "memory"])
def test_namespaces_have_properties(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    catalog.create_namespace("db", properties={"owner": "me", "location": str(tmp_path / "elsewhere")})
    catalog.update_namespace_properties("db", removals=["owner"], updates={"team": "data"})
    assert catalog.load_namespace_properties("db") == {"team": "data", "location": str(tmp_path / "elsewhere")}
    assert catalog.create_table("db.t", SCHEMA).location == str(tmp_path / "elsewhere" / "t")
    with pytest.raises(fz.InvalidInputError, match="both removed and set"):
        catalog.update_namespace_properties("db", ["a"], {"a": "b"})
    with pytest.raises(fz.InvalidInputError, match="reserved"):
        catalog.update_namespace_properties("db", ["exists"])
    catalog.create_namespace("other", properties={"a": "b"})
    catalog.update_namespace_properties("other", removals=["a"])
    assert catalog.namespace_exists("other")


@pytest.mark.parametrize("kind", ["sql", "memory"])
def test_renaming_and_registering(catalog: fz.Catalog) -> None:
    catalog.create_namespace("db")
    catalog.create_namespace("other")
    table = catalog.create_table("db.t", SCHEMA).append(one(1))
    catalog.create_table("db.taken", SCHEMA)
    for to, error in (("db.taken", fz.AlreadyExistsError), ("no.t", fz.NotFoundError)):
        with pytest.raises(error):
            catalog.rename_table("db.t", to)
    catalog.rename_table("db.t", "other.u")
    with pytest.raises(fz.NotFoundError):
        table.append(one(2))
    renamed = catalog.load_table("other.u")
    assert (renamed.uuid, ids(renamed.append(one(2)))) == (table.uuid, [1, 2])
    # The old folder is still that of the renamed table.
    fresh = catalog.create_table("db.t", SCHEMA)
    assert fresh.location != table.location
    newest = renamed.refresh().metadata_location
    catalog.drop_table("other.u")
    again = catalog.register_table("db.again", newest)
    assert ids(again.append(one(3))) == [1, 2, 3]
    with pytest.raises(fz.AlreadyExistsError):
        catalog.register_table("db.again", newest)


def test_a_name_is_of_one_table_whatever_its_format(tmp_path: pathlib.Path) -> None:
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    schema = pa.schema([("id", pa.int64())])
    other = {"iceberg": "paimon", "paimon": "iceberg"}
    for format in other:
        catalog.create_table(f"db.{format}", schema, format=format)
    for format in other:
        for taken in ("iceberg", "paimon"):
            with pytest.raises(fz.AlreadyExistsError, match=f"db.{taken}"):
                catalog.create_table(f"db.{taken}", schema, format=format)
    with pytest.raises(fz.AlreadyExistsError, match=r"db\.iceberg"):
        catalog.rename_table("db.paimon", "db.iceberg")
    metadata = catalog.load_table("db.iceberg").metadata_location
    with pytest.raises(fz.AlreadyExistsError, match=r"db\.paimon"):
        catalog.register_table("db.paimon", metadata)
    for format in other:
        assert catalog.load_table(f"db.{format}").format == format


@pytest.mark.parametrize("kind", ["sql", "memory"])
def test_metadata_files(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    catalog.create_namespace("db")
    properties = {
        "write.metadata.compression-codec": "gzip",
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "2",
    }
    table = catalog.create_table("db.t", SCHEMA, properties=properties, location=tmp_path / "there")
    for value in range(5):
        table = table.append(one(value))
    names = sorted(p.name for p in (tmp_path / "there" / "metadata").glob("*.metadata.json"))
    assert [name.split("-")[0] for name in names] == ["00003", "00004", "00005"]
    assert all(name.endswith(".gz.metadata.json") for name in names)
    moved = table.set_properties({"write.metadata.path": str(tmp_path / "meta")})
    assert moved.metadata_location.startswith(str(tmp_path / "meta" / "00006-"))
    assert ids(catalog.load_table("db.t").append(one(5))) == list(range(6))


def test_a_folder_of_a_catalog_is_not_committed_to(tmp_path: pathlib.Path) -> None:
    catalog = sql(tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    with pytest.raises(fz.UnsupportedError, match="catalog"):
        fz.open_table(table.location).append(one(1))


# ---------------------------------------------------------------- across processes


def test_handles_of_sql_catalogs_pickle(tmp_path: pathlib.Path) -> None:
    catalog = pickle.loads(pickle.dumps(sql(tmp_path)))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    copy = pickle.loads(pickle.dumps(table))
    copy.append(one(1))
    assert ids(table.append(one(2))) == [1, 2]


def test_spark_appends_through_the_catalog(tmp_path: pathlib.Path, spark: SparkSession) -> None:
    catalog = sql(tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA).append(one(100))
    fz.spark.append(spark.range(10), table)
    assert ids(table) == [*range(10), 100]
    assert fz.spark.read(spark, table.refresh()).count() == 11
    with pytest.raises(Exception, match="tracked by a catalog"):
        fz.spark.append(spark.range(10), table.location)


def test_catalogs_in_memory_stay(tmp_path: pathlib.Path) -> None:
    catalog = fz.catalog(type="memory")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA).append(one(1))
    folder = pathlib.Path(table.location).parents[1]
    with pytest.raises(fz.UnsupportedError, match="process"):
        pickle.dumps(catalog)
    copy = pickle.loads(pickle.dumps(table))
    assert copy.scan().count() == 1
    with pytest.raises(fz.UnsupportedError, match="catalog"):
        copy.append(one(2))
    assert fz.catalog(type="memory").list_namespaces() == []
    del catalog, copy
    assert folder.exists()
    del table
    assert not folder.exists()


WRITER = """
import sys, pyarrow as pa, frazil as fz
folder, writer = sys.argv[1], int(sys.argv[2])
catalog = fz.catalog("prod", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"{folder}/wh")
table = catalog.load_table("db.t")
for i in range(20):
    table = table.append(pa.table({"id": pa.array([writer * 100 + i], pa.int64())}))
"""


def test_no_commit_of_racing_processes_is_lost(tmp_path: pathlib.Path) -> None:
    catalog = sql(tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(w)]) for w in range(8)]
    assert [w.wait() for w in writers] == [0] * 8
    assert ids(table) == sorted(w * 100 + i for w in range(8) for i in range(20))
    table = table.refresh()
    assert len(table.snapshots) == 160
    # Losers removed their metadata files: one is left of each version.
    assert len(list(pathlib.Path(table.location).glob("metadata/*.metadata.json"))) == 161


# ---------------------------------------------------------------- with PyIceberg


def theirs(folder: pathlib.Path, name: str = "prod", **properties: str) -> object:
    from pyiceberg.catalog.sql import SqlCatalog

    return SqlCatalog(name, uri=f"sqlite:///{folder}/catalog.db", warehouse=str(folder / "wh"), **properties)


@pytest.mark.parametrize("first", ["frazil", "pyiceberg"])
def test_pyiceberg_shares_the_catalog(tmp_path: pathlib.Path, first: str) -> None:
    pytest.importorskip("pyiceberg.catalog.sql", exc_type=ImportError)
    if first == "frazil":
        ours, other = sql(tmp_path), theirs(tmp_path)
    else:
        other, ours = theirs(tmp_path), sql(tmp_path)
    ours.create_namespace("db.nested", properties={"owner": "me"})
    assert other.list_namespaces("db") == [("db", "nested")]
    assert other.load_namespace_properties("db.nested")["owner"] == "me"
    other.create_namespace("theirs")
    assert sorted(ours.list_namespaces()) == ["db", "theirs"]
    assert "exists" not in ours.load_namespace_properties("theirs")

    table = ours.create_table("db.nested.t", SCHEMA)
    there = other.create_table("theirs.u", SCHEMA)
    assert other.list_tables("db.nested") == [("db", "nested", "t")]
    assert ours.list_tables("theirs") == ["theirs.u"]
    mine, same = ours.load_table("theirs.u"), other.load_table("db.nested.t")
    for value in range(3):
        table.append(one(2 * value))
        same.refresh().append(one(2 * value + 1))
        there.refresh().append(one(2 * value))
        mine.append(one(2 * value + 1))
    assert ids(table) == ids(mine) == list(range(6))
    for read in (same, there):
        assert sorted(read.refresh().scan().to_arrow()["id"].to_pylist()) == list(range(6))
        assert len(read.metadata.snapshots) == 6
    ours.rename_table("theirs.u", "db.nested.v")
    other.rename_table("db.nested.t", "theirs.w")
    assert ids(ours.load_table("theirs.w")) == ids(ours.load_table("db.nested.v")) == list(range(6))
    assert other.load_table("db.nested.v").metadata.table_uuid == there.metadata.table_uuid
    ours.drop_table("db.nested.v")
    assert not other.table_exists("db.nested.v")


def test_layouts_of_the_database(tmp_path: pathlib.Path) -> None:
    with pytest.raises(fz.NotFoundError, match="init_catalog_tables"):
        sql(tmp_path, init_catalog_tables="false")
    database = sqlite3.connect(tmp_path / "catalog.db")
    database.execute(
        "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, "
        "table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), "
        "PRIMARY KEY (catalog_name, table_namespace, table_name))"
    )
    old = sql(tmp_path)
    old.create_namespace("db")
    table = old.create_table("db.t", SCHEMA)
    columns = [row[1] for row in database.execute("PRAGMA table_info(iceberg_tables)")]
    assert "iceberg_type" not in columns
    new = sql(tmp_path, schema_version="v1")
    assert new.list_tables("db") == ["db.t"]
    second = new.create_table("db.u", SCHEMA)
    assert database.execute("SELECT iceberg_type FROM iceberg_tables ORDER BY table_name").fetchall() == [
        (None,),
        ("TABLE",),
    ]
    first_location = second.metadata_location
    second = second.append(one(1))
    assert database.execute(
        "SELECT metadata_location, previous_metadata_location FROM iceberg_tables WHERE table_name = 'u'"
    ).fetchall() == [(second.metadata_location, first_location)]
    table.append(one(1))
    # A view is no table, but its name is taken, and its namespace not empty.
    database.execute("INSERT INTO iceberg_tables VALUES ('prod', 'views', 'v', '/v.json', NULL, 'VIEW')")
    database.commit()
    assert new.list_tables("views") == []
    assert not new.table_exists("views.v")
    with pytest.raises(fz.AlreadyExistsError):
        new.create_table("views.v", SCHEMA)
    assert not list((tmp_path / "wh" / "views").rglob("*.json"))
    with pytest.raises(fz.InvalidInputError, match="not empty"):
        new.drop_namespace("views")


def test_catalogs_of_one_database_are_apart(tmp_path: pathlib.Path) -> None:
    sql(tmp_path, "a").create_namespace("db")
    assert sql(tmp_path, "b").list_namespaces() == []


def test_a_locked_database_refuses(tmp_path: pathlib.Path) -> None:
    uri = f"sqlite:///{tmp_path}/catalog.db?timeout=0.2"
    catalog = fz.catalog("prod", uri=uri, warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    # From another process: a process's locks do not keep it out itself.
    code = "import sqlite3, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None); d.execute('BEGIN IMMEDIATE'); "
    command = [sys.executable, "-c", code + "print(flush=True); input()", str(tmp_path / "catalog.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin
        assert other.stdout
        other.stdout.readline()
        with pytest.raises(fz.StoreError, match="locked"):
            table.append(one(1))
        other.stdin.close()
    assert not list(pathlib.Path(table.location).glob("data/**/*.parquet"))
    assert len(list(pathlib.Path(table.location).glob("metadata/*"))) == 1
    assert ids(table.append(one(2))) == [2]


@pytest.mark.skipif("FRAZIL_TEST_POSTGRES" not in os.environ, reason="FRAZIL_TEST_POSTGRES names no database")
def test_postgresql(tmp_path: pathlib.Path) -> None:
    uri, warehouse = os.environ["FRAZIL_TEST_POSTGRES"], str(tmp_path / "wh")
    name = f"prod-{uuid.uuid4()}"
    catalog = fz.catalog(name, uri=uri, warehouse=warehouse)
    catalog.create_namespace("a_b.c", properties={"owner": "me"})
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_namespace("a_b")
    assert catalog.list_namespaces("a_b") == ["a_b.c"]
    table = catalog.create_table("a_b.c.t", SCHEMA)
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_table("a_b.c.t", SCHEMA)
    other = pickle.loads(pickle.dumps(table))
    for value in range(3):
        table.append(one(2 * value))
        other.append(one(2 * value + 1))
    assert ids(table) == list(range(6))
    code = WRITER.replace('"prod"', "sys.argv[3]").replace('f"sqlite:///{folder}/catalog.db"', "sys.argv[4]")
    command = [sys.executable, "-c", code.replace("db.t", "a_b.c.t"), str(tmp_path)]
    writers = [subprocess.Popen([*command, str(w), name, uri]) for w in range(1, 5)]
    assert [w.wait() for w in writers] == [0] * 4
    assert ids(table) == [*range(6), *(w * 100 + i for w in range(1, 5) for i in range(20))]
    catalog.rename_table("a_b.c.t", "a_b.c.u")
    with pytest.raises(fz.NotFoundError):
        table.append(one(9))
    theirs = pytest.importorskip("pyiceberg.catalog.sql", exc_type=ImportError)
    pytest.importorskip("psycopg2")
    driver = uri.replace("postgresql://", "postgresql+psycopg2://")
    read = theirs.SqlCatalog(name, uri=driver, warehouse=warehouse).load_table("a_b.c.u")
    read.append(one(1000))
    assert catalog.load_table("a_b.c.u").scan().count() == 87
    catalog.drop_table("a_b.c.u", purge=True)
    catalog.drop_namespace("a_b.c")
    assert catalog.list_namespaces() == []


# ---------------------------------------------------------------- what is refused, and what is hidden


@pytest.mark.parametrize(
    ("properties", "error", "match"),
    [
        ({"type": "nothing"}, fz.UnsupportedError, "filesystem, sql, rest, memory"),
        ({"type": "rest"}, fz.InvalidInputError, "uri"),
        ({"uri": "http://127.0.0.1:1", "rest.client.max-retries": "0"}, fz.StoreError, "cannot connect"),
        ({"uri": "odd:thing"}, fz.InvalidInputError, "type"),
        ({"type": "sql"}, fz.InvalidInputError, "uri"),
        ({"type": "sql", "uri": "mysql://h/d"}, fz.UnsupportedError, "sqlite, postgresql"),
        ({"type": "sql", "uri": "sqlite:////no/such/folder/c.db"}, fz.StoreError, "folder"),
        ({"type": "sql", "uri": "sqlite:////tmp/c.db?mode=ro"}, fz.UnsupportedError, "timeout"),
        ({"type": "sql", "uri": "sqlite:////x.db", "schema_version": "v7"}, fz.InvalidInputError, "v0 or v1"),
        ({"type": "sql", "uri": "sqlite:////x.db", "init_catalog_tables": "x"}, fz.InvalidInputError, "true or false"),
    ],
)
def test_refusals(properties: dict[str, str], error: type[fz.FrazilError], match: str) -> None:
    with pytest.raises(error, match=match):
        fz.catalog("c", **properties)  # type: ignore[arg-type]


def test_secrets_are_not_shown() -> None:
    uri = "postgresql+psycopg2://me:hush@127.0.0.1:1/db?connect_timeout=2"
    with pytest.raises(fz.StoreError) as raised:
        fz.catalog("c", uri=uri)
    assert "hush" not in str(raised.value)
    assert "hush" not in repr(raised.value)
    shown = repr(
        fz.catalog("c", type="memory", uri=uri, token="hush", **{"s3.secret-access-key": "hush", "s3.region": "x"})
    )
    assert "hush" not in shown
    assert "'s3.region': 'x'" in shown


def test_sqlite_in_memory_is_a_catalog_in_memory() -> None:
    catalog = fz.catalog("c", uri="sqlite:///:memory:")
    catalog.create_namespace("db")
    assert ids(catalog.create_table("db.t", SCHEMA).append(one(1))) == [1]


# ---------------------------------------------------------------- PyIceberg's configuration


@pytest.fixture
def home(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    for folder in ("home", "cwd", "config"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "cwd")
    return tmp_path


def write_config(folder: pathlib.Path, marker: str) -> None:
    (folder / ".pyiceberg.yaml").write_text(
        f"default-catalog: Prod\ncatalog:\n  Prod:\n    TYPE: memory\n    marker: {marker}\n    s3.region: 7\n"
        f"  other:\n    uri: sqlite:///{folder}/c.db\n"
    )


def test_the_configuration_file(home: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("strictyaml")
    write_config(home / "cwd", "cwd")
    assert fz.catalog().name == "Prod"
    assert fz.catalog().properties == {"type": "memory", "marker": "cwd", "s3.region": "7"}
    write_config(home / "home", "home")
    assert fz.catalog("prod").properties["marker"] == "home"
    write_config(home / "config", "config")
    monkeypatch.setenv("PYICEBERG_HOME", str(home / "config"))
    assert fz.catalog("PROD").properties["marker"] == "config"
    assert fz.catalog("prod", marker="given").properties["marker"] == "given"
    assert fz.catalog("other").properties["type"] == "sql"
    (home / "config" / ".pyiceberg.yaml").write_text("catalog: [")
    with pytest.raises(fz.InvalidInputError, match="YAML"):
        fz.catalog("prod")


def test_environment_variables(home: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__MY_CAT__TYPE", "memory")
    monkeypatch.setenv("PYICEBERG_CATALOG__MY_CAT__S3__ACCESS_KEY_ID", "k")
    monkeypatch.setenv("PYICEBERG_DEFAULT_CATALOG", "my-cat")
    assert fz.catalog().properties == {"type": "memory", "s3.access-key-id": "k"}
    assert fz.catalog("unknown", warehouse=home).properties == {"type": "filesystem", "warehouse": str(home)}
    monkeypatch.setenv("PYICEBERG_CATALOG__ODD", "text")
    with pytest.raises(fz.InvalidInputError, match="properties"):
        fz.catalog("odd")
    config = pytest.importorskip("pyiceberg.utils.config").Config()
    assert config.get_default_catalog_name() == fz.catalog().name
    assert config.get_catalog_config("my-cat") == fz.catalog().properties


@pytest.mark.parametrize("path", ["C:\\lake", "C:/lake", "lake\\db", "./lake", "~/lake"])
def test_a_path_in_the_place_of_a_name_is_recognised(path: str) -> None:
    with pytest.raises(fz.InvalidInputError) as caught:
        fz.catalog(path)
    assert f"Give it as warehouse={path!r}" in str(caught.value)
