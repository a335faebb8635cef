"""Metadata columns in statements of SQL: the file of a row, its place in it, and its identity."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from sql_fixtures import empty_lake as lake

pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")
pytestmark = pytest.mark.spark
__all__ = ["lake"]


def test_queries_name_metadata_columns(spark: Any, lake: fz.Catalog) -> None:
    def sql(statement: str) -> list[Any]:
        return fz.spark.sql(spark, statement, catalogs={"lake": lake}).collect()

    schema = pa.schema([("id", pa.int64()), ("g", pa.string())])
    table = lake.create_table("db.t", schema, partition_by="g", properties={"format-version": "3"})
    table.append(pa.table({"id": [7, 8], "g": ["a", "a"]})).append(pa.table({"id": [9], "g": ["b"]}))
    places = {row["id"]: row["_file"] for row in table.scan(select=["id", "_file"]).to_arrow().to_pylist()}
    assert sorted(sql("select id, _pos, _row_id, _file from lake.db.t")) == [
        (7, 0, 0, places[7]),
        (8, 1, 1, places[8]),
        (9, 0, 2, places[9]),
    ]
    assert sql("select id from lake.db.t where _row_id = 1 and _last_updated_sequence_number = 1") == [(8,)]
    assert sql("select t._partition.g, max(t._pos) from lake.db.t as t group by 1 order by 1") == [("a", 1), ("b", 0)]
    assert sql("select count(*) from lake.db.t where _spec_id = 0") == [(3,)]
    # Tables without such columns, and other names.
    assert sql("select g as _file, * from lake.db.t where id = 9") == [("b", 9, "b")]
    assert len(sql("select * from lake.db.t")[0]) == 2
    with pytest.raises(fz.InvalidInputError, match="can't be combined with the metadata column '_file'"):
        sql("select *, _file from lake.db.t")
    lake.create_table("db.old", data=pa.table({"id": [1]}))
    with pytest.raises(Exception, match="_row_id"):
        sql("select _row_id from lake.db.old")
    assert sql("select o.id, t._row_id from lake.db.old o join lake.db.t t on t.id = o.id + 6") == [(1, 0)]


def test_a_branch_that_is_not_there(spark: Any, lake: fz.Catalog) -> None:
    table = lake.create_table("db.t", data=pa.table({"id": [1]}))
    for change in (
        "insert into {} values (2)",
        "delete from {} where id = 1",
        "update {} set id = 3",
        "truncate table {}",
    ):
        with pytest.raises(fz.NotFoundError, match="the table has no branch 'tset'"):
            fz.spark.sql(spark, change.format("lake.db.t.branch_tset"), catalogs={"lake": lake})
    assert list(table.refresh().refs) == ["main"]
    assert table.refresh().scan().to_arrow()["id"].to_pylist() == [1]
