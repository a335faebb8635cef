"""Tables by their names: `prod.db.events` in Python, in Spark's functions, in its format and in its streams."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})


@pytest.fixture
def properties(tmp_path: Path) -> dict[str, str]:
    """The properties of a SQL catalog with the table `db.events`."""
    given = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": str(tmp_path / "lake")}
    catalog = fz.catalog("prod", **given)
    catalog.create_namespace("db")
    catalog.create_table("db.events", ROWS.schema).append(ROWS)
    return given


@pytest.fixture
def configured(properties: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """PyIceberg's configuration describes the catalog `prod`, and no file of the machine does."""
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for key, value in properties.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__PROD__{key.upper()}", value)


def test_the_first_part_is_the_catalog(configured: None) -> None:
    assert fz.load_table("prod.db.events").scan().count() == 3


def test_other_names_belong_to_the_default_catalog(configured: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_DEFAULT_CATALOG", "prod")
    assert fz.load_table("db.events").scan().count() == 3


def test_given_properties_have_precedence(configured: None, tmp_path: Path) -> None:
    other = {"type": "filesystem", "warehouse": str(tmp_path / "other")}
    catalog = fz.catalog("x", **other)
    catalog.create_namespace("db")
    catalog.create_table("db.events", ROWS.schema)
    assert fz.load_table("prod.db.events", {"prod": {**other, "uri": ""}}).scan().count() == 0


def test_a_commit_by_another_object_is_seen(configured: None) -> None:
    first = fz.load_table("prod.db.events")
    fz.load_table("prod.db.events").append(ROWS)
    assert fz.load_table("prod.db.events").scan().count() == 6
    assert first.scan().count() == 3


def test_an_unknown_catalog_is_named(configured: None) -> None:
    with pytest.raises(fz.InvalidInputError, match="no catalog of this name") as raised:
        fz.load_table("prud.db.events")
    settings = ", ".join(f"PYICEBERG_CATALOG__PROD__{name}" for name in ("TYPE", "URI", "WAREHOUSE"))
    expected = {"identifier": "prud.db.events", "catalogs": "prod", "configuration": settings}
    assert raised.value.context == expected
    assert "PYICEBERG_CATALOG__PRUD__URI" in str(raised.value)
    with pytest.raises(fz.NotFoundError):
        fz.load_table("prod.db.nothing")
    with pytest.raises(fz.InvalidInputError, match="catalogs must be a dictionary"):
        fz.load_table("prod.db.events", ["prod"])  # type: ignore[arg-type]


@pytest.mark.spark
class TestSpark:
    """Settings of the session describe the catalog."""

    @pytest.fixture(autouse=True)
    def settings(self, spark, properties: dict[str, str]):
        for key, value in properties.items():
            spark.conf.set("spark.frazil.catalog.prod" + ("" if key == "type" else f".{key}"), value)
        fz.spark.register(spark)
        yield
        for key in properties:
            spark.conf.unset("spark.frazil.catalog.prod" + ("" if key == "type" else f".{key}"))
        fz.spark.register(spark)

    def test_functions(self, spark) -> None:
        assert sorted(row.id for row in fz.spark.read(spark, "prod.db.events").collect()) == [1, 2, 3]
        fz.spark.append(spark.createDataFrame([(4,)], "id long"), "prod.db.events")
        fz.spark.delete(spark, "prod.db.events", "id = 1")
        query = fz.spark.sql(spark, "SELECT max(id) AS m FROM t", {"t": "prod.db.events"})
        assert [row.m for row in query.collect()] == [4]
        assert fz.spark.plan(spark, "prod.db.events").count() > 0

    def test_format(self, spark) -> None:
        rows = spark.createDataFrame([(4,), (5,)], "id long")
        rows.write.format("frazil").mode("append").save("prod.db.events")
        read = spark.read.format("frazil").option("filter", "id > 2").load("prod.db.events")
        assert sorted(row.id for row in read.collect()) == [3, 4, 5]

    def test_stream(self, spark, tmp_path: Path) -> None:
        stream = spark.readStream.format("frazil").load("prod.db.events")
        copies = str(tmp_path / "copies")
        query = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "check"))
        query.trigger(availableNow=True).start(copies).awaitTermination()
        assert spark.read.parquet(copies).count() == 3

    def test_an_unknown_name_says_what_to_set(self, spark) -> None:
        with pytest.raises(fz.InvalidInputError, match=r"spark\.frazil\.catalog\.prud\.type"):
            fz.spark.read(spark, "prud.db.events")
        with pytest.raises(Exception, match=r"spark\.frazil\.catalog\.prud\.type"):
            spark.read.format("frazil").load("prud.db.events")
        with pytest.raises(Exception, match="options of the store"):
            spark.read.format("frazil").option("s3.region", "x").load("prod.db.events")

    def test_a_folder_has_precedence(self, spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        catalog = fz.catalog("f", warehouse=tmp_path / "warehouse")
        catalog.create_namespace("db")
        table = catalog.create_table("db.t", ROWS.schema)
        os.rename(table.location, tmp_path / "prod.db.events")
        monkeypatch.chdir(tmp_path)
        assert fz.spark.read(spark, "prod.db.events").count() == 0


@pytest.mark.spark
def test_a_provider_by_name_in_sparks_options(
    spark, configured: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"lending_{os.urandom(4).hex()}"
    module = tmp_path / f"{name}.py"
    module.write_text("def lend():\n    return {'s3.access-key-id': 'k', 's3.secret-access-key': 's'}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    spark.sparkContext.addPyFile(str(module))
    fz.spark.register(spark)
    table = fz.load_table("prod.db.events")
    reader = spark.read.format("frazil").option("credential-provider", f"{name}:lend")
    assert reader.load(str(table.metadata_location)).count() == 3
    with pytest.raises(Exception, match="can't be combined with the name"):
        reader.load("prod.db.events").count()
    with pytest.raises(Exception, match="can't be imported"):
        spark.read.format("frazil").option("credential-provider", "no.such:lend").load(table.location).count()
    # As a property of a catalog.
    properties = {f"spark.frazil.catalog.own.{key}": value for key, value in fz.catalog("prod").properties.items()}
    properties["spark.frazil.catalog.own.credential-provider"] = f"{name}:lend"
    properties["spark.frazil.catalog.own.type"] = "filesystem"
    for key, value in properties.items():
        spark.conf.set(key, value)
    try:
        assert fz.spark.read(spark, "own.db.events").count() == 3
        spark.conf.set("spark.frazil.catalog.own.credential-provider", f"{name}:other")
        with pytest.raises(fz.InvalidInputError, match="can't be imported"):
            fz.spark.read(spark, "own.db.events")
    finally:
        for key in properties:
            spark.conf.unset(key)
