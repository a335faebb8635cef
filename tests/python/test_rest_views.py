"""Views of a REST catalog: their SQL text is kept and shown, and never executed."""

from __future__ import annotations

import pyarrow as pa
import pytest

import frazil as fz
from rest_cases import SCHEMA, asked, opened
from rest_fixtures import catalog, server
from rest_server import RestServer

__all__ = ["catalog", "server"]
OTHER = pa.schema([("id", pa.int64()), ("name", pa.string())])


def test_views_come_and_go(catalog: fz.Catalog) -> None:
    view = catalog.create_view("db.v", sql="select id from t", schema=SCHEMA, dialect="spark", properties={"a": "b"})
    assert (view.sql("spark"), view.schema.names, view.properties) == ("select id from t", ["id"], {"a": "b"})
    loaded = catalog.load_view("db.v")
    assert (loaded.uuid, loaded.location, loaded.sql()) == (view.uuid, view.location, "select id from t")
    assert catalog.list_views("db") == ["db.v"]
    assert catalog.list_tables("db") == []
    assert (catalog.view_exists("db.v"), catalog.view_exists("db.w")) == (True, False)
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_view("db.v", sql="select 1", schema=SCHEMA)
    with pytest.raises(fz.NotFoundError, match="namespace"):
        catalog.create_view("no.v", sql="select 1", schema=SCHEMA)
    catalog.rename_view("db.v", "db.w")
    with pytest.raises(fz.NotFoundError, match=r"db\.v"):
        catalog.load_view("db.v")
    again = catalog.register_view("db.x", catalog.load_view("db.w").metadata_location)
    assert again.sql() == "select id from t"
    for name in ("db.w", "db.x"):
        catalog.drop_view(name)
    with pytest.raises(fz.NotFoundError, match=r"db\.w"):
        catalog.drop_view("db.w")
    assert catalog.list_views("db") == []


def test_defaults_and_overrides_of_the_catalog(server: RestServer) -> None:
    """Those of the server count as well."""
    server.switches.change({"defaults": {"view-default.a": "1", "view-default.b": "1"}})
    server.switches.change({"overrides": {"view-override.c": "2", "table-override.c": "3", "table-default.a": "3"}})
    catalog = opened(server, **{"view-default.d": "1"})
    catalog.create_namespace("db")
    view = catalog.create_view("db.v", sql="select 1 as id", schema=SCHEMA, properties={"b": "0", "c": "0"})
    assert view.properties == {"a": "1", "b": "0", "c": "2", "d": "1"}
    table = catalog.create_table("db.t", SCHEMA, properties={"c": "0"})
    assert {"a": "3", "c": "3"}.items() <= table.properties.items()


def test_names_are_taken_by_transactions_too(catalog: fz.Catalog) -> None:
    catalog.create_view("db.v", sql="select 1 as id", schema=SCHEMA)
    catalog.create_table("db.t", SCHEMA)
    begun = catalog.create_table_transaction("db.w", SCHEMA)
    catalog.create_view("db.w", sql="select 1 as id", schema=SCHEMA)
    with pytest.raises(fz.AlreadyExistsError, match="view"):
        begun.commit()
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_table_transaction("db.v", SCHEMA)
    with pytest.raises(fz.NotFoundError):
        catalog.replace_table("db.v", SCHEMA)
    for replace in (catalog.create_or_replace_table, lambda *a: catalog.replace_table_transaction(*a, or_create=True)):
        with pytest.raises(fz.AlreadyExistsError):
            replace("db.v", SCHEMA)
    with pytest.raises(fz.NotFoundError):
        catalog.replace_view("db.t", sql="select 1 as id", schema=SCHEMA)
    assert (catalog.list_tables("db"), sorted(catalog.list_views("db"))) == (["db.t"], ["db.v", "db.w"])


def test_views_have_texts_in_dialects(catalog: fz.Catalog) -> None:
    texts = {"spark": "select `id` from t", "trino": 'select "id" from t'}
    view = catalog.create_view("db.v", sql=texts, schema=SCHEMA)
    assert {dialect: view.sql(dialect) for dialect in texts} == texts
    assert view.sql("SPARK") == texts["spark"]
    with pytest.raises(fz.NotFoundError, match="dialect"):
        view.sql("duckdb")
    assert [r["dialect"] for r in view.representations] == ["spark", "trino"]


def test_views_are_replaced(server: RestServer, catalog: fz.Catalog) -> None:
    first = catalog.create_view("db.v", sql="select id from t", schema=SCHEMA)
    second = catalog.replace_view("db.v", sql="select id, name from t", schema=OTHER, properties={"k": "v"})
    assert (second.uuid, second.version, second.schema.names) == (first.uuid, first.version + 1, ["id", "name"])
    assert second.properties["k"] == "v"
    body = asked(server, "replaceView")[-1].body
    assert body["requirements"] == [{"type": "assert-view-uuid", "uuid": first.uuid}]
    back = catalog.replace_view("db.v", sql="select id from t", schema=SCHEMA)
    assert back.sql() == first.sql()
    with pytest.raises(fz.NotFoundError, match=r"db\.no"):
        catalog.replace_view("db.no", sql="select 1", schema=SCHEMA)


def test_names_of_views_and_tables_are_one(catalog: fz.Catalog) -> None:
    catalog.create_table("db.t", SCHEMA)
    catalog.create_view("db.v", sql="select 1", schema=SCHEMA)
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_view("db.t", sql="select 1", schema=SCHEMA)
    with pytest.raises(fz.AlreadyExistsError):
        catalog.create_table("db.v", SCHEMA)
    for to in ("db.t", "db.v"):
        with pytest.raises(fz.AlreadyExistsError):
            catalog.rename_table("db.t", "db.v") if to == "db.v" else catalog.rename_view("db.v", "db.t")
    with pytest.raises(fz.NotFoundError, match=r"db\.v"):
        catalog.load_table("db.v")
    with pytest.raises(fz.InvalidInputError, match="not empty"):
        catalog.drop_namespace("db")


def test_views_are_only_asked_for_where_they_are_offered(server: RestServer) -> None:
    server.switches.no_endpoints = True
    catalog = opened(server)
    catalog.create_namespace("db")
    with pytest.raises(fz.UnsupportedError, match="views"):
        catalog.list_views("db")
    with pytest.raises(fz.UnsupportedError, match="views"):
        catalog.create_view("db.v", sql="select 1", schema=SCHEMA)
    assert opened(server, **{"view-endpoints-supported": "true"}).list_views("db") == []


@pytest.mark.parametrize("switch", ["explicit_nulls", "head_with_body", "drop_answers_200"])
def test_servers_that_are_different(server: RestServer, switch: str) -> None:
    server.switches.change({switch: True, "page_size": 2, "separator": "."})
    catalog = opened(server)
    catalog.create_namespace("a.b")
    for n in range(5):
        catalog.create_view(f"a.b.v{n}", sql=f"select {n}", schema=SCHEMA)
    assert len(catalog.list_views("a.b")) == 5
    assert catalog.view_exists("a.b.v3")
    catalog.drop_view("a.b.v3")
    assert not catalog.view_exists("a.b.v3")
