"""Functions of Spark columns equal those of Java Iceberg's connector."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from frazil.spark import functions as ff

ROWS = """
    SELECT CAST(id * 7919 - 40000 AS INT) AS i, (id - 50) * 9007199254740993 AS l,
      CAST((id - 50) * 1.37 AS DECIMAL(12, 3)) AS d, date_add(DATE'1969-12-20', CAST(id * 97 - 3000 AS INT)) AS day,
      timestamp_micros((id - 50) * 1234567890123) AS ts,
      CAST(timestamp_micros((id - 50) * 98765432109876) AS TIMESTAMP_NTZ) AS ntz,
      substring('żółw 🐢 iceberg', 1, CAST(id % 15 AS INT)) AS s, encode(concat('ż', id), 'UTF-8') AS b
    FROM range(100) UNION ALL SELECT null, null, null, null, null, null, null, null
"""
TYPES = {"i": "int", "l": "bigint", "d": "decimal(12,3)", "s": "string", "b": "binary"}


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
def test_functions_equal_javas(spark: SparkSession, java: Any, zone: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        rows = spark.sql(ROWS)
        ours, theirs = {}, {}
        for column in ("i", "l", "d", "day", "ts", "ntz", "s", "b"):
            ours[f"bucket({column})"] = ff.bucket(13, column)
            theirs[f"bucket({column})"] = fn.expr(f"ice.system.bucket(13, {column})")
        for column, type_ in TYPES.items():
            ours[f"truncate({column})"] = ff.truncate(7, column, type_)
            theirs[f"truncate({column})"] = fn.expr(f"ice.system.truncate(7, {column})")
        for name in ("years", "months", "days", "hours"):
            for column in ("day", "ts", "ntz"):
                if (name, column) != ("hours", "day"):
                    ours[f"{name}({column})"] = getattr(ff, name)(column)
                    theirs[f"{name}({column})"] = fn.expr(f"ice.system.{name}({column})")
        got = rows.select(*[column.alias(name) for name, column in ours.items()])
        wanted = rows.select(*[column.alias(name) for name, column in theirs.items()])
        assert [field.dataType for field in got.schema] == [field.dataType for field in wanted.schema]
        assert got.collect() == wanted.collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
