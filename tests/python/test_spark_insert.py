"""INSERT: into temporary views as Spark means it; into tables of Spark's catalog with a message that helps."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

import frazil as fz

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("country", pa.string())])
_NUMBERS = itertools.count()


def ids(table: fz.Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


def made(
    spark, catalog: fz.Catalog, name: str, kind: str = "temporary view", options: str = ""
) -> tuple[str, fz.Table]:
    """A table with one row, and what Spark calls it."""
    table = catalog.create_table(f"db.{name}", SCHEMA, partition_by=["country"])
    table.append(pa.table({"id": [1], "country": ["DK"]}, schema=SCHEMA))
    called = f"{name}_{next(_NUMBERS)}"
    spark.sql(f"create {kind} {called} using frazil options (path '{table.location}'{options})")
    return called, table


def test_temporary_views(spark, catalog: fz.Catalog) -> None:
    a, table = made(spark, catalog, "a")
    b, other = made(spark, catalog, "b")
    spark.sql(f"insert into {a} values (2, 'NO')")
    spark.sql(f"insert into {a} select id + 10, country from {b}")
    spark.sql(f"insert into {a} (country, id) values ('SE', 3)")
    spark.sql(f"insert into {a} by name select 'SE' country, 4L id")
    spark.sql(f"insert into {a} values (5, null)")
    assert ids(table) == [1, 2, 3, 4, 5, 11]
    assert table.scan("country is null").count() == 1
    # Columns of the same names that come from another table.
    spark.sql(f"insert overwrite {b} select * from {a} where id > 3")
    assert (ids(table), ids(other)) == ([1, 2, 3, 4, 5, 11], [4, 5, 11])
    # A view keeps to the version of the first query that reads it.
    spark.sql(f"create or replace temporary view {b} using frazil options (path '{other.location}')")
    spark.sql(f"insert into {a} select * from {b}")
    assert ids(table) == [1, 2, 3, 4, 4, 5, 5, 11, 11]
    spark.range(6, 7).selectExpr("id", "'NO' country").write.insertInto(a)
    assert 6 in ids(table)
    spark.sql(f"create or replace temporary view {a} using frazil options (path '{table.location}')")
    assert spark.table(a).where("country = 'SE'").count() == 3


def test_options_of_views(spark, catalog: fz.Catalog) -> None:
    name, table = made(spark, catalog, "a", options=", `overwrite-mode` 'dynamic'")
    spark.sql(f"insert overwrite {name} values (7, 'NO')")
    assert ids(table) == [1, 7]
    name, table = made(spark, catalog, "b", options=", `replace-where` 'id = 1', `snapshot-property.why` 'test'")
    spark.sql(f"insert overwrite {name} values (8, 'NO')")
    assert ids(table) == [8]
    assert table.snapshot.summary["why"] == "test"


def test_tables_of_sparks_catalog_refuse(spark, catalog: fz.Catalog) -> None:
    """Spark does not say into which: the columns of the rows may name the table that they come from."""
    a, table = made(spark, catalog, "a", "table")
    b, other = made(spark, catalog, "b", "table")
    try:
        for query in ("values (2, 'NO')", f"select * from {b}", f"select id + 1 as id, country from {a}"):
            for verb in ("into", "overwrite"):
                with pytest.raises(Exception, match="TEMPORARY VIEW") as raised:
                    spark.sql(f"insert {verb} {a} {query}")
                assert "InvalidInputError" in str(raised.value)
        assert (ids(table), ids(other)) == ([1], [1])
    finally:
        spark.sql(f"drop table {a}")
        spark.sql(f"drop table {b}")
