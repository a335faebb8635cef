"""Java Iceberg's JdbcCatalog and Frazil's SQL catalog over one SQLite file, in turn."""

import itertools
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import frazil as fz

NUMBERS = itertools.count(1)
ROWS = pa.schema([("id", pa.int64()), ("name", pa.string())])


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"f{i}" for i in ids]})


def ids(table: fz.Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


@pytest.mark.parametrize(("first", "layout"), [("frazil", "V1"), ("java", "V1"), ("java", "V0")])
def test_one_sqlite_file(spark: SparkSession, tmp_path: Path, first: str, layout: str) -> None:
    name = f"jdbc{next(NUMBERS)}"
    conf = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "jdbc",
        ".uri": f"jdbc:sqlite:{tmp_path}/catalog.db",
        ".warehouse": str(tmp_path / "wh"),
        ".jdbc.schema-version": layout,
        ".cache-enabled": "false",
    }
    for key, value in conf.items():
        spark.conf.set(f"spark.sql.catalog.{name}{key}", value)

    def java(text: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in spark.sql(text.replace("ice.", f"{name}.")).collect()]

    if first == "java":
        java(f"show namespaces in {name}")
    catalog = fz.catalog(name, uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=tmp_path / "wh")
    catalog.create_namespace("db", properties={"owner": "frazil"})
    java("create namespace ice.db.inner")
    assert catalog.list_namespaces("db") == ["db.inner"]
    assert java(f"show namespaces in {name}") == [("db",)]

    ours = catalog.create_table("db.ours", ROWS, properties={"format-version": "2"}).append(rows(1, 2))
    java("create table ice.db.inner.theirs (id bigint, name string) using iceberg")
    java("insert into ice.db.inner.theirs values (10, 'j')")
    assert [t[1] for t in java("show tables in ice.db")] == ["ours"]
    assert catalog.list_tables("db.inner") == ["db.inner.theirs"]
    theirs = catalog.load_table("db.inner.theirs")
    assert ids(theirs) == [10]

    for turn in range(2):
        java(f"insert into ice.db.ours values ({100 + turn}, 'j')")
        ours.append(rows(200 + turn))
        theirs.append(rows(300 + turn))
        java(f"delete from ice.db.inner.theirs where id = {300 + turn - 1}")
    assert ids(ours) == [1, 2, 100, 101, 200, 201]
    assert [r[0] for r in java("select id from ice.db.ours order by id")] == ids(ours)
    assert [r[0] for r in java("select id from ice.db.inner.theirs order by id")] == ids(theirs) == [10, 301]
    assert len(java("select * from ice.db.ours.snapshots")) == len(ours.refresh().snapshots) == 5
    # Both write the row in the same way.
    database = sqlite3.connect(tmp_path / "catalog.db")
    found = database.execute("select table_namespace, table_name, metadata_location from iceberg_tables").fetchall()
    assert sorted(found) == sorted(
        (*t.location.removeprefix(f"{tmp_path}/wh/").replace("/", ".").rsplit(".", 1), t.metadata_location)
        for t in (ours.refresh(), theirs.refresh())
    )

    java("alter table ice.db.ours rename to db.inner.renamed")
    catalog.rename_table("db.inner.theirs", "db.back")
    assert ids(catalog.load_table("db.inner.renamed").append(rows(7))) == [1, 2, 7, 100, 101, 200, 201]
    assert len(java("select * from ice.db.back")) == 2
    java("alter table ice.db.back add column more int")
    assert catalog.load_table("db.back").schema.names == ["id", "name", "more"]
    catalog.drop_table("db.back", purge=True)
    assert java("show tables in ice.db") == []
    java("drop table ice.db.inner.renamed")
    java("drop namespace ice.db.inner")
    catalog.drop_namespace("db")
    assert java(f"show namespaces in {name}") == []
