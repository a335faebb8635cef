"""How statements find their tables: catalogs that are given and those of settings, USE, parameters, other tables."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import frazil as fz
from sql_fixtures import empty_lake, lake, settings

pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")
pytestmark = pytest.mark.spark
__all__ = ["empty_lake", "lake", "settings"]


def test_catalogs_of_settings(spark: Any, settings: Any, lake: fz.Catalog, tmp_path: Path) -> None:
    place = str(tmp_path / "lake")
    settings({"spark.frazil.catalog.one.type": "filesystem", "spark.frazil.catalog.one.warehouse": place})
    connector = {"type": "hadoop", "warehouse": place, "io-impl": "org.apache.iceberg.hadoop.HadoopFileIO"}
    connector |= {"table-default.k": "v", "table-override.format-version": "3", "cache-enabled": "false"}
    settings({f"spark.sql.catalog.two.{key}": value for key, value in connector.items()})
    settings({"spark.sql.catalog.two": "org.apache.iceberg.spark.SparkCatalog"})
    for name in ("one", "two"):
        assert fz.spark.sql(spark, f"select count(*) from {name}.db.t").first()[0] == 3
    fz.spark.sql(spark, "create table two.db.made (id bigint) tblproperties ('format-version' = '1')")
    made = lake.load_table("db.made")
    assert (made.format_version, made.properties["k"]) == (3, "v")
    assert fz.spark.sql(spark, f"select count(*) from iceberg.`{place}/db/t`").first()[0] == 3
    shown = [row[0] for row in fz.spark.sql(spark, "show catalogs like 'one|two'").collect()]
    assert shown == ["one", "two"]


def test_jdbc_settings(spark: Any, settings: Any, tmp_path: Path) -> None:
    settings(
        {
            "spark.sql.catalog.three": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.three.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "spark.sql.catalog.three.uri": f"jdbc:sqlite:file:{tmp_path}/c.db",
            "spark.sql.catalog.three.warehouse": str(tmp_path),
        }
    )
    fz.spark.sql(spark, "create namespace three.ns")
    assert fz.spark.sql(spark, "show namespaces in three").collect() == [("ns",)]
    assert (tmp_path / "c.db").exists()


def test_use(spark: Any, settings: Any, lake: fz.Catalog) -> None:
    def sql(statement: str) -> list[Any]:
        return fz.spark.sql(spark, statement, catalogs={"lake": lake}).collect()

    sql("use lake.db")
    assert sql("show current namespace") == [("lake", "db")]
    assert sql("select max(id) from t") == [(3,)]
    assert sql("select count(*) from t.files") == [(1,)]
    assert [row.tableName for row in sql("show tables")] == ["t"]
    spark.range(7).createOrReplaceTempView("t")
    try:
        assert sql("select count(*) from t") == [(7,)]
        assert sql("select count(*) from db.t") == [(3,)]
    finally:
        spark.catalog.dropTempView("t")
    with pytest.raises(fz.NotFoundError, match=r"namespace lake\.nothing does not exist"):
        sql("use lake.nothing")
    with pytest.raises(fz.NotFoundError, match="nothing"):
        sql("select * from nothing")
    sql("use spark_catalog")
    assert spark.conf.get("spark.frazil.sql.current", None) is None


def test_what_is_not_frazils(spark: Any, lake: fz.Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = type(spark).sql

    def seen(self: Any, query: str, *args: Any, **more: Any) -> Any:
        asked.append(query)
        return real(self, query, *args, **more)

    monkeypatch.setattr(type(spark), "sql", seen)
    spark.range(3).createOrReplaceTempView("own")
    for statement in (
        "select  id from own -- here",
        "set spark.sql.x=1",
        "describe own",
        "show tables",
        "drop view own",
    ):
        fz.spark.sql(spark, statement, catalogs={"lake": lake})
        assert asked[-1] == statement
    with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
        fz.spark.sql(spark, "insert own select 1", catalogs={"lake": lake})


def test_tables_of_both(spark: Any, settings: Any, lake: fz.Catalog, tmp_path: Path) -> None:
    def sql(statement: str, **given: Any) -> Any:
        return fz.spark.sql(spark, statement, catalogs={"lake": lake}, **given)

    spark.range(2, 9).createOrReplaceTempView("own")
    joined = "select t.c, own.id, '{}' as braces from lake.db.t join own on t.id = own.id where t.id < 3"
    assert sql(joined).collect() == [("b", 2, "{}")]
    target = str(tmp_path / "out")
    sql(f"insert overwrite directory '{target}' using json select c from lake.db.t where id = 2")
    rows = sql("select t.* from lake.db.t, lake.db.t as u where t.id = u.id and u.c = :c", args={"c": "b"})
    assert rows.collect() == [(2, "b")]
    assert sql("select count(*) from lake.db.t where c = ? and id > ?", args=["a", 1]).collect() == [(1,)]
    sql("update lake.db.t set c = ? where id = ?", args=["it's", 2])
    assert sql("select c from lake.db.t where c = :c", args={"c": "it's"}).collect() == [("it's",)]
    # What a backslash means in a text of SQL depends on a setting.
    for escapes in ("false", "true"):
        settings({"spark.sql.parser.escapedStringLiterals": escapes})
        for text in ("\\' or true --", "c:\\new\\'table'", 'a"b`c'):
            sql("update lake.db.t set c = ? where id = ? and c <> ?", args=[text, 2, text])
            # Spark 4.1 itself changes backslashes in parameters of queries if this is set.
            if escapes == "false":
                assert sql("select id from lake.db.t where c = ?", args=[text]).collect() == [(2,)]
            assert sorted(lake.load_table("db.t").scan().to_arrow()["c"].to_pylist()) == sorted(["a", text, "a"])
            sql("delete from lake.db.t where concat(c, '') = ? and id < 0", args=[text])
    with pytest.raises(fz.InvalidInputError, match="2 parameters, and args has 1"):
        sql("select ? from lake.db.t where id = ?", args=[1])
    spark.catalog.dropTempView("own")


def test_given_tables(spark: Any, lake: fz.Catalog) -> None:
    table = lake.load_table("db.t")
    done = {
        "insert into t values (9, 'z')": [1, 2, 3, 9],
        "delete from t where id = 1": [2, 3, 9],
        "merge into t using (select 2L as id) s on t.id = s.id when matched then delete": [3, 9],
        "alter table t add column d int": [3, 9],
        "call system.rewrite_data_files(table => 't', options => map('rewrite-all', 'true'))": [3, 9],
        "insert overwrite t select 5L, 'v', 1": [5],
        "truncate table t": [],
    }
    for statement, left in done.items():
        fz.spark.sql(spark, statement, tables={"t": table}).collect()
        assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == left, statement
    assert fz.spark.sql(spark, "select operation from t.snapshots limit 1", tables={"t": table}).count() == 1
    with pytest.raises(fz.InvalidInputError, match="has no catalog here"):
        fz.spark.sql(spark, "alter table t rename to u", tables={"t": table})


REFUSED = {
    "analyze table lake.db.t compute statistics for columns nope": "nope",
    "cache table lake.db.t": "CACHE TABLE of lake.db.t can't be done",
    "load data inpath '/x' into table lake.db.t": "LOAD DATA",
    "from lake.db.t insert into lake.db.t select *": "FROM … INSERT INTO",
    "alter table lake.db.t replace columns (a int)": "REPLACE COLUMNS",
    "alter table lake.db.t write sideways": "'sideways' is where",
    "insert into lake.db.t values (1)": "1 columns, and 2 are needed",
    "insert into lake.db.t values ('x', 'y')": "can't be written into a column of type bigint",
    "create table lake.db.t (id int)": "exists",
    "create table elsewhere.t (id int) using iceberg": "belongs to no catalog",
    "call lake.system.expire_snapshots()": "needs 'table'",
    "call lake.system.expire_snapshots(tables => 'db.t')": "has no parameter 'tables'",
    "call other.system.expire_snapshots('db.t')": "catalog 'other' is not known",
    "select * from lake.db.t.nothing": "a table has no part 'nothing'",
    "select * from lake.db.t version as of 'nothing'": "nothing",
    "describe table lake.db.t as json": "AS JSON",
    "lock table lake.db.t": "LOCK TABLE can't be done",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_refusals_say_what_to_do(statement: str, spark: Any, lake: fz.Catalog) -> None:
    with pytest.raises(fz.FrazilError, match=REFUSED[statement]):
        fz.spark.sql(spark, statement, catalogs={"lake": lake})


SCRIPT = """
import sys
from pyspark.sql import SparkSession
import frazil as fz

spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
lake = fz.catalog("lake", warehouse=sys.argv[1])
def sql(statement, **given):
    return fz.spark.sql(spark, statement, catalogs={"lake": lake}, **given)
sql("create table lake.db.made (id bigint not null comment 'x', c string) partitioned by (c)")
sql("insert into lake.db.made select id, c from lake.db.t where id < :most", args={"most": 3})
assert sql("select count(*) from lake.db.made.files").first()[0] == 2
sql("update lake.db.made set c = concat(c, '!') where id = 1")
sql("merge into lake.db.made t using lake.db.t s on t.id = s.id when matched and s.id = 2 then delete "
    "when not matched then insert *")
assert sorted(map(tuple, sql("select * from lake.db.made").collect())) == [(1, "a!"), (3, "a")]
sql("delete from lake.db.made where id in (select max(id) from lake.db.t)")
assert sql("select id from lake.db.made").collect() == [(1,)]
sql("use lake.db")
assert [row.tableName for row in sql("show tables").collect()] == ["made", "t"]
assert sql("call lake.system.ancestors_of('made')").count() >= 3
assert "== Frazil" in sql("explain select id from made where id = 1").first()[0]
spark.stop()
print("all right")
"""


def test_connect(lake: fz.Catalog, tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect is not installed (pip install 'pyspark[connect]')")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 (no 'java' on the PATH)")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "lake")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip().endswith("all right"), done.stdout + done.stderr[-3000:]
