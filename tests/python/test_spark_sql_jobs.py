"""Statements of SQL in jobs: names of jobs, results, unknown catalogs, and the settings of the connectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import frazil as fz
from sql_fixtures import ROWS, empty_lake, lake, settings

pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")
pytestmark = pytest.mark.spark
__all__ = ["empty_lake", "lake", "settings"]

CONNECTOR = "org.apache.iceberg.spark.SparkCatalog"


STATEMENTS = {
    "insert into lake.db.t values (4, 'd')": (1, 0, 0),
    "insert overwrite lake.db.t values (4, 'd')": (1, 3, 0),
    "insert into lake.db.t replace where id = 2 values (2, 'z')": (1, 1, 0),
    "update lake.db.t set c = 'z' where id < 3": (0, 0, 2),
    "update lake.db.t set c = concat(c, 'z') where id < 3": (0, 0, 2),
    "delete from lake.db.t where id < 3": (0, 2, 0),
    "delete from lake.db.t where id in (select 3)": (0, 1, 0),
    "truncate table lake.db.t": (0, 3, 0),
    "merge into lake.db.t t using (select * from values (3L, 'x'), (9L, 'y') as v(id, c)) s on t.id = s.id "
    "when matched then update set * when not matched then insert *": (1, 0, 1),
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_with_a_job_name_commits_once(statement: str, spark: Any, lake: fz.Catalog) -> None:
    given = {"catalogs": {"lake": lake}, "job_id": "night/1", "snapshot_properties": {"why": "test"}}
    done = fz.spark.sql(spark, statement, **given).collect()
    table = lake.load_table("db.t")
    assert [(row.rows_added, row.rows_deleted, row.rows_updated) for row in done] == [STATEMENTS[statement]]
    assert done[0].snapshot_id == table.snapshot.id
    summary = table.snapshot.summary
    assert (summary["frazil.job-id"], summary["why"]) == ("night/1", "test")
    (again,) = fz.spark.sql(spark, statement, **given).collect()
    assert (again.snapshot_id, again.rows_added, again.snapshots) == (None, 0, 0)
    assert lake.load_table("db.t").snapshot.id == table.snapshot.id


# Rows that are added, deleted and updated, one statement after the other. The rows of files of a table with a key may
# have the same key, so its overwrites record no numbers of rows.
ONE_BY_ONE = {
    "insert into {} values (4, 'd')": (1, 0, 0),
    "insert overwrite {} partition (c = 'a') values (7)": (1, 2, 0),
    "insert overwrite {} values (7, 'a'), (8, 'b')": (2, 3, 0),
    "insert into {} replace where c = 'a' values (9, 'a')": (1, 1, 0),
    "delete from {} where c = 'a'": (0, 1, 0),
    "truncate table {}": (0, 1, 0),
}


def test_overwrites_of_other_tables_say_what_they_did(spark: Any, lake: fz.Catalog) -> None:
    lake.create_table("db.p", data=ROWS, format="paimon", partition_by=["c"])
    for statement, numbers in ONE_BY_ONE.items():
        done = fz.spark.sql(spark, statement.format("lake.db.p"), catalogs={"lake": lake}).first()
        assert (done.rows_added, done.rows_deleted, done.rows_updated) == numbers, statement
    properties = {"bucket": "1"}
    lake.create_table("db.k", data=ROWS, format="paimon", identifier_fields=["id"], properties=properties)
    done = fz.spark.sql(spark, "insert overwrite lake.db.k values (4, 'd')", catalogs={"lake": lake}).first()
    assert (done.operation, done.rows_added, done.rows_deleted) == ("overwrite", None, None)


def test_a_statement_that_changes_rows_is_not_said_to_change_none(spark: Any, lake: fz.Catalog) -> None:
    statement = "from (select 4L as id, 'd' as c) insert into lake.db.t select * insert into lake.db.u select *"
    with pytest.raises(fz.InvalidInputError) as caught:
        fz.spark.sql(spark, statement, catalogs={"lake": lake}, job_id="night/1")
    assert "change rows" not in str(caught.value)
    assert "Write one INSERT for each table" in str(caught.value)


def test_secrets_of_catalogs_are_not_shown(spark: Any, settings: Any) -> None:
    from frazil.spark.connector_settings import connector_catalogs
    from frazil.spark.sql.known_catalogs import known_catalogs

    settings({"spark.sql.catalog.job": CONNECTOR, "spark.sql.catalog.job.type": "hadoop"})
    settings({"spark.sql.catalog.job.s3.secret-access-key": "hush"})
    assert connector_catalogs(spark.conf.getAll)["job"].properties["s3.secret-access-key"] == "hush"
    assert "hush" not in repr(connector_catalogs(spark.conf.getAll))
    assert "hush" not in repr(known_catalogs(spark, {"mine": {"token": "hush"}}))


def test_names_of_jobs_belong_to_a_branch(spark: Any, lake: fz.Catalog) -> None:
    lake.load_table("db.t").refs.create_branch("audit")
    for name in ("lake.db.t", "lake.db.t.branch_audit", "lake.db.t"):
        fz.spark.sql(spark, f"insert into {name} values (4, 'd')", catalogs={"lake": lake}, job_id="night/1")
    table = lake.load_table("db.t")
    assert (table.scan().count(), table.scan(at="audit").count()) == (4, 4)


RECORD_NOTHING = (
    "select * from lake.db.t",
    "drop table lake.db.t",
    "create table lake.db.u as select 1 as id",
    "call lake.system.expire_snapshots('db.t')",
    "insert into elsewhere values (1)",
    "delete from elsewhere",
    "show tables",
    "from (select 4L as id, 'd' as c) insert into lake.db.t select * insert into lake.db.u select *",
)


@pytest.mark.parametrize("statement", RECORD_NOTHING)
def test_statements_that_cannot_record_a_job_are_refused(statement: str, spark: Any, lake: fz.Catalog) -> None:
    for given in ({"job_id": "night/1"}, {"snapshot_properties": {"why": "test"}}):
        with pytest.raises(fz.InvalidInputError, match="can't record job_id and snapshot_properties"):
            fz.spark.sql(spark, statement, catalogs={"lake": lake}, **given)
    assert lake.list_tables("db") == ["db.t"]


UNKNOWN = (
    "select * from prd.db.t",
    "insert into prd.db.t values (1, 'a')",
    "update prd.db.t set c = 'a'",
    "delete from prd.db.t",
    "merge into prd.db.t t using (select 1 as id) s on t.id = s.id when matched then delete",
    "truncate table prd.db.t",
    "drop table prd.db.t",
    "alter table prd.db.t add column x int",
    "describe prd.db.t",
    "show tables in prd.db",
    "create namespace prd.db",
    "use prd.db",
    "use prd",
    "call prd.system.expire_snapshots('db.t')",
)


@pytest.mark.parametrize("statement", UNKNOWN)
def test_a_catalog_that_nobody_knows_is_an_error_that_lists_the_known_ones(
    statement: str, spark: Any, lake: fz.Catalog
) -> None:
    with pytest.raises(fz.NotFoundError, match="catalog 'prd' is not known") as raised:
        fz.spark.sql(spark, statement, catalogs={"lake": lake, "other": lake})
    assert raised.value.context["catalogs"] == "lake, other"
    assert "catalogs={'prd': frazil.catalog(…)}" in raised.value.hint
    assert "spark.frazil.catalog.prd.type" in raised.value.hint


def test_an_unknown_catalog_before_a_current_one_is_named_in_the_hint(
    spark: Any, settings: Any, lake: fz.Catalog
) -> None:
    settings({"spark.frazil.sql.current": "lake.db"})
    with pytest.raises(fz.NotFoundError, match=r"there is no table.*prd.db.t") as raised:
        fz.spark.sql(spark, "select * from prd.db.t", catalogs={"lake": lake})
    assert raised.value.context["catalogs"] == "lake"
    assert "'prd' is no catalog that is known" in raised.value.hint
    with pytest.raises(fz.NotFoundError, match=r"there is no table.*db.u") as raised:
        fz.spark.sql(spark, "select * from db.u", catalogs={"lake": lake})
    assert "catalogs" not in raised.value.context


def test_functions_find_tables_by_the_settings_of_the_connectors(
    spark: Any, settings: Any, lake: fz.Catalog, tmp_path: Path
) -> None:
    settings({"spark.sql.catalog.job": CONNECTOR, "spark.sql.catalog.job.type": "hadoop"})
    settings({"spark.sql.catalog.job.warehouse": str(tmp_path / "lake")})
    # A catalog that can't be opened is no hindrance to others.
    settings({"spark.sql.catalog.old": CONNECTOR, "spark.sql.catalog.old.type": "jdbc"})
    settings({"spark.sql.catalog.old.uri": "jdbc:mysql://127.0.0.1/db"})
    assert fz.spark.read(spark, "job.db.t").count() == 3
    assert fz.spark.append(spark.createDataFrame([(4, "d")], "id long, c string"), "job.db.t").rows_added == 1
    changed = spark.createDataFrame([(4, "e"), (5, "f")], "id long, c string")
    done = fz.spark.merge(changed, "job.db.t", on="id", when_matched_update=True, when_not_matched_insert=True)
    assert (done.rows_added, done.rows_updated) == (1, 1)
    assert fz.spark.sql(spark, "select count(*) as n from job.db.t").first().n == 5
    assert fz.spark.load_table(spark, "job.db.t").maintain.compact(rewrite_all=True, spark=spark).added_files == 1
    with pytest.raises(fz.InvalidInputError, match="no catalog of this name is known"):
        fz.spark.load_table(spark, "prd.db.t")
    fz.spark.register(spark)
    try:
        assert spark.read.format("frazil").load("job.db.t").count() == 5
    finally:
        for name in ("job", "old"):
            for key in ("", ".type", ".warehouse", ".uri"):
                spark.conf.unset(f"spark.sql.catalog.{name}{key}")
        fz.spark.register(spark)


def test_a_default_catalog_without_its_jar_keeps_no_short_name_from_being_found(
    spark: Any, settings: Any, lake: fz.Catalog, tmp_path: Path
) -> None:
    fz.spark.view(spark, "known_before", lake.load_table("db.t"))
    settings({"spark.sql.catalog.job": CONNECTOR, "spark.sql.catalog.job.type": "hadoop"})
    settings({"spark.sql.catalog.job.warehouse": str(tmp_path / "lake"), "spark.sql.defaultCatalog": "job"})
    fz.spark.sql(spark, "use job.db")
    spark.createDataFrame([(3, "z"), (7, "g")], "id long, c string").createOrReplaceTempView("arrived")
    done = fz.spark.sql(
        spark,
        "merge into t using arrived on t.id = arrived.id when matched then update set * when not matched then insert *",
    ).first()
    assert (done.rows_added, done.rows_updated) == (1, 1)
    assert fz.spark.sql(spark, "select count(*) as n from t").first().n == 4
    with pytest.raises(fz.NotFoundError, match=r"there is no table.*db.nope"):
        fz.spark.sql(spark, "delete from nope")
    assert fz.spark.sql(spark, "select count(*) as n from known_before").first().n == 4
    spark.catalog.dropTempView("arrived")
    spark.catalog.dropTempView("known_before")


def test_a_misspelt_statement_shows_the_error_of_spark(spark: Any, settings: Any, lake: fz.Catalog) -> None:
    settings({"spark.frazil.sql.current": "lake.db"})
    with pytest.raises(fz.InvalidInputError, match=r"the statement can't be read.*near 'selec'"):
        fz.spark.sql(spark, "selec id from t", catalogs={"lake": lake})
