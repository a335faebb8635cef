"""A small pipeline on PySpark: ingest, aggregate, correct by key. No jar is needed.

Run: python examples/pyspark_pipeline.py [FOLDER]. It needs PySpark (pip install 'frazil[spark]') and Java 17.
Without a folder, it uses a temporary one.
"""

import os
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import frazil as fz
import frazil.spark as fz_spark

SALES = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("country", pa.string()), ("amount", pa.int64())])
TOTALS = pa.schema([("country", pa.string()), ("amount", pa.int64())])


def main(folder: Path) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable  # Spark's Python workers need Frazil, too
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    catalog = fz.catalog("examples", warehouse=folder)
    catalog.create_namespace("shop", if_not_exists=True)
    for name in ("shop.sales", "shop.totals"):
        if catalog.table_exists(name):
            catalog.drop_table(name)  # left by an earlier run
    sales = catalog.create_table("shop.sales", SALES, partition_by=["day"])
    totals = catalog.create_table("shop.totals", TOTALS)

    # Ingest: one commit for each day. A job that runs again under the same job_id adds nothing.
    for day in (1, 2, 3):
        arrived = spark.range(day * 100, day * 100 + 100).selectExpr(
            "id", f"date'2026-01-0{day}' as day", "if(id % 2 = 0, 'NO', 'SE') as country", "id * 10 as amount"
        )
        for _ in range(2):
            fz_spark.append(arrived, sales, job_id=f"sales-of-day-{day}")

    # Transform: the filter and the columns are used while planning, so Spark reads two days of two columns.
    recent = fz_spark.read(spark, sales.refresh(), filter="day >= '2026-01-02'", select=["country", "amount"])
    fz_spark.overwrite(recent.groupBy("country").sum("amount").toDF("country", "amount"), totals)
    print("Totals:", totals.refresh().scan().to_arrow().sort_by("country").to_pylist())

    # Upsert: rows with a known id are replaced, the others are inserted.
    fixes = spark.range(395, 405).selectExpr("id", "date'2026-01-03' as day", "'DK' as country", "1L as amount")
    fz_spark.upsert(fixes, sales, on=["id"])
    print("Rows:", fz_spark.read(spark, sales.refresh()).count(), "of DK:", sales.scan("country = 'DK'").count())
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
