"""Views of catalogs in SQL statements: the statements of Iceberg's documentation about views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from rest_fixtures import catalog, server

pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")
pytestmark = pytest.mark.spark
__all__ = ["catalog", "server"]


@pytest.fixture
def sql(catalog: fz.Catalog, spark: Any) -> Callable[[str], list[Any]]:
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "zip": ["a", "b"]})
    catalog.create_table("db.t", rows.schema).append(rows)
    return lambda statement: fz.spark.sql(spark, statement, catalogs={"prod": catalog}).collect()


def test_views_come_and_go(sql: Callable[[str], list[Any]], catalog: fz.Catalog) -> None:
    sql("CREATE VIEW prod.db.v AS SELECT * FROM t")
    assert sorted(sql("SELECT id FROM prod.db.v WHERE zip = 'b'")) == [(2,)]
    sql("CREATE VIEW IF NOT EXISTS prod.db.v AS SELECT 1 AS one")
    assert catalog.load_view("db.v").schema.names == ["id", "zip"]
    with pytest.raises(fz.AlreadyExistsError):
        sql("CREATE VIEW prod.db.v AS SELECT 1 AS one")
    sql("CREATE OR REPLACE VIEW prod.db.v (updated_id COMMENT 'updated ID') AS SELECT id FROM prod.db.t")
    assert sql("SELECT max(updated_id) FROM prod.db.v") == [(2,)]
    assert sql("DESCRIBE prod.db.v") == [("updated_id", "bigint", "updated ID")]
    assert ("View Text",) in [row[:1] for row in sql("DESCRIBE EXTENDED prod.db.v")]
    assert sql("SHOW CREATE TABLE prod.db.v")[0][0].startswith("CREATE VIEW prod.db.v AS ")
    for place in ("prod", "prod.db"):
        assert [row.viewName for row in sql(f"SHOW VIEWS IN {place}")] == ["v"]
    sql("DROP VIEW prod.db.v")
    sql("DROP VIEW IF EXISTS prod.db.v")
    assert sql("SHOW VIEWS IN prod.db") == []


def test_properties_of_views(sql: Callable[[str], list[Any]], catalog: fz.Catalog) -> None:
    sql(
        "CREATE VIEW prod.db.v (ID COMMENT 'Unique ID', ZIP COMMENT 'Zipcode') COMMENT 'View Comment' "
        "TBLPROPERTIES ('key1' = 'val1', 'key2' = 'val2') AS SELECT id, zip FROM prod.db.t"
    )
    assert {("comment", "View Comment"), ("key1", "val1"), ("key2", "val2")} <= set(sql("SHOW TBLPROPERTIES prod.db.v"))
    sql("ALTER VIEW prod.db.v SET TBLPROPERTIES ('key1' = 'new')")
    assert catalog.load_view("db.v").properties["key1"] == "new"
    with pytest.raises(fz.UnsupportedError, match="can't be removed"):
        sql("ALTER VIEW prod.db.v UNSET TBLPROPERTIES ('key1', 'key2')")
    sql("ALTER VIEW prod.db.v RENAME TO prod.db.w")
    assert sorted(sql("SELECT ID FROM prod.db.w")) == [(1,), (2,)]
