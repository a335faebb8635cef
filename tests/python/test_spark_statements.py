"""Every statement of the Spark pages of Iceberg's and Paimon's documentation: the table it leaves, or its refusal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from spark_statements.case import ICEBERG, After, Case
from spark_statements.page import CASES, page_of_statements

pytest.importorskip("sqlglot", reason="SQL statements need sqlglot (pip install 'frazil[sql]')")
pytestmark = pytest.mark.spark

SETTINGS = (
    "spark.sql.sources.partitionOverwriteMode",
    "spark.sql.parquet.compression.codec",
    "spark.wap.branch",
    "spark.wap.id",
    "spark.paimon.write.merge-schema",
    "spark.frazil.sql.current",
)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("data", pa.string()),
        ("category", pa.string()),
        ("ts", pa.timestamp("us", tz="UTC")),
    ]
)


def _rows(*values: tuple[int, str, str, int | None]) -> pa.Table:
    utc = dt.timezone.utc
    rows = [
        {"id": i, "data": data, "category": c, "ts": day and dt.datetime(2024, 1, day, tzinfo=utc)}
        for i, data, c, day in values
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


@pytest.fixture
def catalogs(tmp_path: Path, spark: Any) -> Iterator[dict[str, Any]]:
    prod = fz.catalog("prod", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=tmp_path / "prod")
    prod.create_namespace("db")
    sample = prod.create_table("db.sample", SCHEMA)
    sample.append(_rows((1, "a", "x", 1), (2, "b", "y", 2))).append(_rows((3, "c", "x", None)))
    fz.catalog("lake", warehouse=tmp_path / "lake").create_namespace("db")
    settings = {"spark.sql.catalog.lake": "org.apache.paimon.spark.SparkCatalog"}
    settings["spark.sql.catalog.lake.warehouse"] = str(tmp_path / "lake")
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield {"prod": prod}
    for name in (*settings, *SETTINGS):
        spark.conf.unset(name)
    spark.sql("DROP TABLE IF EXISTS spark_source")
    spark.sql("DROP DATABASE IF EXISTS spark_catalog.hive_db CASCADE")


def _filled(text: str, table: fz.Table) -> str:
    first, second = table.snapshots[0], table.snapshots[min(1, len(table.snapshots) - 1)]
    between = first.timestamp + (second.timestamp - first.timestamp) / 2
    values = {"$1": first.id, "$2": second.id, "$now": table.refresh().snapshot.id, "$place": table.location}
    values["$metadata"] = table.metadata_location
    values["$time"] = between.strftime("%Y-%m-%d %H:%M:%S.%f")
    for mark, value in values.items():
        text = text.replace(mark, str(value).removeprefix("file://"))
    return text


def _name(case: Case) -> str:
    return f"{case.format}-{case.page}-{case.statement}"


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_statement(case: Case, catalogs: dict[str, Any], spark: Any) -> None:
    sample = catalogs["prod"].load_table("db.sample")
    ids = [snapshot.id for snapshot in sample.snapshots]
    for statement in case.before:
        fz.spark.sql(spark, _filled(statement, sample), catalogs=catalogs)
    if case.prepare is not None:
        case.prepare(fz.catalog("lake", warehouse=spark.conf.get("spark.sql.catalog.lake.warehouse")))
    text = _filled(case.statement, catalogs["prod"].load_table("db.sample"))
    if case.check is None:
        with pytest.raises(Exception, match=f"(?is){case.refused}"):
            fz.spark.sql(spark, text, catalogs=catalogs).collect()
        return
    rows = fz.spark.sql(spark, text, catalogs=catalogs).collect()
    catalog = catalogs["prod"]
    if case.format != ICEBERG:
        place = spark.conf.get("spark.sql.catalog.lake.warehouse")
        catalog = fz.catalog("lake", warehouse=place)
    named = case.table and catalog.table_exists(case.table)
    after = After(catalog, catalog.load_table(case.table) if named else None, rows, ids, spark)
    assert case.check(after), (after.rows, after.table and after.data)


def test_the_page_lists_these_statements() -> None:
    page = Path(__file__).parents[2] / "docs/guide/sql-statements.md"
    hint = "run: python tests/python/spark_statements/page.py docs/guide/sql-statements.md"
    assert page.read_text("utf-8") == page_of_statements(), hint
