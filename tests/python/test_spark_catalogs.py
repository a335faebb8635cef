"""Catalogs that several sources describe: which of them counts, and that no server gets the secrets of another."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

pytest.importorskip("pyspark")
pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")

from frazil.catalog import catalog_of
from frazil.spark.catalogs import session_catalogs
from frazil.spark.sql.known_catalogs import known_catalogs

ICEBERG = "org.apache.iceberg.spark.SparkCatalog"
PAIMON = "org.apache.paimon.spark.SparkCatalog"
CONNECTOR = {"": ICEBERG, ".type": "rest", ".uri": "http://a", ".token": "secret of a", ".warehouse": "w"}
OF_CONNECTOR = {"type": "rest", "uri": "http://a", "token": "secret of a", "warehouse": "w"}
BY_SETTING = {"type": "rest", "uri": "http://b", "token": "secret of b"}


def session(connector: dict[str, str], own: dict[str, str]) -> Any:
    settings = {f"spark.sql.catalog.prod{key}": value for key, value in connector.items()}
    settings |= {f"spark.frazil.catalog.prod.{key}": value for key, value in own.items()}
    return SimpleNamespace(conf=SimpleNamespace(getAll=settings))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, str]]:
    """The properties of catalogs that were opened, without a server."""
    found: list[dict[str, str]] = []
    # The package has a function of the name `catalog`, too.
    opening, statements = import_module("frazil.catalog"), import_module("frazil.spark.sql.known_catalogs")
    monkeypatch.setattr(opening, "_open", lambda _, properties, *__: found.append(properties))
    # Both keep catalogs for the process.
    monkeypatch.setattr(opening, "_kept", opening._kept.__wrapped__)
    monkeypatch.setattr(statements, "_opened", statements._opened.__wrapped__)
    for name in ("HOME", "PYICEBERG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    return found


def both_ways(spark: Any, opened: list[dict[str, str]]) -> dict[str, str]:
    """The properties by which the functions of `fz.spark`, and its statements, open the catalog `prod`."""
    catalog_of("prod.db.t", session_catalogs(spark))
    _ = known_catalogs(spark, None)["prod"].catalog
    of_functions, of_statements = opened
    assert of_functions == of_statements
    return of_functions


FILE = {"uri": "http://b", "token": "secret of b"}


@pytest.mark.parametrize(
    ("file", "own", "expected"),
    [
        ({}, {}, OF_CONNECTOR),
        (FILE, {}, BY_SETTING),
        ({"uri": "http://b"}, {}, {"type": "rest", "uri": "http://b"}),
        ({"warehouse": "/lake"}, {}, {"type": "filesystem", "warehouse": "/lake"}),
        ({}, {"type": "rest", "uri": "http://b"}, {"type": "rest", "uri": "http://b"}),
        ({}, {"type": "filesystem", "warehouse": "/lake"}, {"type": "filesystem", "warehouse": "/lake"}),
        ({}, {"s3.region": "eu"}, {**OF_CONNECTOR, "s3.region": "eu"}),
        ({}, {"warehouse": "x"}, {**OF_CONNECTOR, "warehouse": "x"}),
        (FILE, {"s3.region": "eu"}, {**BY_SETTING, "s3.region": "eu"}),
    ],
)
def test_a_catalog_is_taken_whole_from_one_source(
    file: dict[str, str],
    own: dict[str, str],
    expected: dict[str, str],
    opened: list[dict[str, str]],
    tmp_path: Path,
) -> None:
    text = "".join(f"    {key}: {value}\n" for key, value in file.items())
    if file:
        (tmp_path / ".pyiceberg.yaml").write_text(f"catalog:\n  prod:\n{text}")
    found = both_ways(session(CONNECTOR, own), opened)
    assert found == expected
    assert "secret of a" not in found.values() or found["uri"] == "http://a"


def test_a_variable_of_the_environment_describes_a_catalog_as_a_file_does(
    opened: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", "http://b")
    assert both_ways(session(CONNECTOR, {}), opened) == {"type": "rest", "uri": "http://b"}


def test_another_server_in_the_own_settings_takes_nothing_of_the_connector_and_warns(
    opened: list[dict[str, str]],
) -> None:
    with pytest.warns(UserWarning, match=r"spark\.sql\.catalog\.prod\.\* give it no properties"):
        found = both_ways(session(CONNECTOR, {"uri": "http://b"}), opened)
    assert found == {"type": "rest", "uri": "http://b"}


def test_a_connector_says_what_new_tables_get_whoever_describes_the_catalog(opened: list[dict[str, str]]) -> None:
    connector = {**CONNECTOR, ".table-default.k": "v", ".default-namespace": "db"}
    known = known_catalogs(session(connector, {"type": "filesystem", "warehouse": "/lake"}), None)["prod"]
    assert (known.defaults, known.namespace) == ({"k": "v"}, ("db",))


@pytest.mark.parametrize("kind", ["jdbc", "hive", "rest", "JDBC"])
def test_metastores_of_paimon_are_refused_in_the_settings_of_its_connector(
    kind: str, opened: list[dict[str, str]], tmp_path: Path
) -> None:
    database = tmp_path / "c.db"
    uri = f"jdbc:sqlite:{database}" if kind.lower() == "jdbc" else "http://127.0.0.1:1"
    spark = session({"": PAIMON, ".metastore": kind, ".uri": uri, ".warehouse": str(tmp_path)}, {})
    with pytest.raises(fz.UnsupportedError, match=f"metastore '{kind}' are not supported.*catalog: prod"):
        catalog_of("prod.db.t", session_catalogs(spark))
    with pytest.raises(fz.UnsupportedError, match=f"metastore '{kind}' are not supported.*catalog: prod"):
        _ = known_catalogs(spark, None)["prod"].catalog
    assert opened == []
    assert not database.exists()


@pytest.mark.parametrize("kind", [{}, {".metastore": "filesystem"}, {".metastore": "FileSystem"}])
def test_folders_of_paimon_are_opened_by_the_settings_of_its_connector(
    kind: dict[str, str], opened: list[dict[str, str]]
) -> None:
    found = both_ways(session({"": PAIMON, ".warehouse": "/lake", **kind}, {}), opened)
    assert found == {"type": "filesystem", "warehouse": "/lake"}


@pytest.mark.spark
def test_a_session_reads_the_table_that_the_configuration_names(
    spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, ids in (("a", [1]), ("b", [1, 2])):
        made = fz.catalog(name, warehouse=tmp_path / name)
        made.create_namespace("db")
        made.create_table("db.t", data=pa.table({"id": ids}))
    keys = {"": ICEBERG, ".type": "hadoop", ".warehouse": str(tmp_path / "a")}
    for key, value in keys.items():
        spark.conf.set(f"spark.sql.catalog.chosen{key}", value)
    try:
        assert fz.spark.load_table(spark, "chosen.db.t").scan().count() == 1
        monkeypatch.setenv("PYICEBERG_CATALOG__CHOSEN__WAREHOUSE", str(tmp_path / "b"))
        assert fz.spark.load_table(spark, "chosen.db.t").scan().count() == 2
        assert fz.spark.read(spark, "chosen.db.t").count() == 2
        assert fz.spark.sql(spark, "select * from chosen.db.t").count() == 2
    finally:
        for key in keys:
            spark.conf.unset(f"spark.sql.catalog.chosen{key}")
