"""Variants that Java writes, shredded and not: the same values here, through Arrow and back in Spark."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from java_side import NAMESPACE, Java
from paimon_java import Paimon
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

import frazil as fz
from frazil import variant

ROWS = [
    """parse_json('{"a": 1, "b": {"c": "x", "d": [1, null, "y", {"e": 2.5}]}, "when": "now"}')""",
    """parse_json('{"a": 2, "b": {"c": "z"}, "extra": true}')""",
    """parse_json('{"a": "text", "b": 7}')""",
    "parse_json('null')",
    "cast(null as variant)",
    "to_variant_object(named_struct('ts', timestamp'2020-01-01 00:00:00', "
    "'n', timestamp_ntz'1960-01-01 00:00:00.000001', 'd', date'2020-02-29', 'bin', X'00ff', 'dec', 123.45bd, "
    "'f', 0.5f, 's', 7s, 'long', 'y' || repeat('y', 80)))",
    "cast(9007199254740993 as variant)",
]


@pytest.mark.parametrize("shredded", [False, True])
def test_variants_of_java(spark: SparkSession, java: Java, shredded: bool) -> None:
    columns = "id int, v variant, l array<variant>, s struct<v: variant>, m map<string, variant>"
    properties = {
        "write.parquet.shred-variants": str(shredded).lower(),
        # What to shred is decided by the first rows, which are objects; the others fit in part or not at all.
        "write.parquet.variant-inference-buffer-size": "2",
    }
    table = java.create("variants", columns, version=3, properties=properties)
    name = f"ice.{NAMESPACE}.{table}"
    selects = [
        f"select {i} id, {row} v, array({row}, null) l, named_struct('v', {row}) s, map('k', {row}) m"
        for i, row in enumerate(ROWS)
    ]
    java.sql(f"insert into {name} select /*+ COALESCE(1) */ * from ({' union all '.join(selects)})")
    root = java.root(table)
    stored = {f for path in Path(root).rglob("*.parquet") for f in pq.ParquetFile(path).schema_arrow.field("v").type}
    assert any(f.name == "typed_value" for f in stored) == shredded

    theirs = java.sql(f"select id, to_json(v), to_json(l), to_json(s), to_json(m) from {name} order by id")
    ours = fz.open_table(root).scan().to_arrow().sort_by("id")
    rows = variant.to_python(ours)
    text = variant.to_json(ours["v"]).to_pylist()
    assert [row["id"] for row in rows] == list(range(len(ROWS)))
    for (i, expected, *_), row, mine in zip(theirs, rows, text, strict=True):
        assert (expected is None) == (mine is None) == (i == 4)
        assert row["l"] == [row["v"], None]
        assert row["s"]["v"] == row["m"][0][1] == row["v"]
        if expected is not None and i != 5:
            assert json.loads(mine) == json.loads(expected) == row["v"]
    assert fz.open_table(root).scan("v is null").to_arrow()["id"].to_pylist() == [4]
    assert fz.open_table(root).scan("v is not null and id >= 3").count() == 3

    frame = fz.open_table(root).scan().to_spark(spark)
    assert frame.schema["v"].dataType.simpleString() == "variant"
    columns = ["id", *(fn.to_json(name).alias(name) for name in ("v", "l", "s", "m"))]
    assert frame.select(*columns).orderBy("id").collect() == theirs
    assert frame.where(fn.variant_get("v", "$.b.c", "string") == "z").count() == 1


def test_variants_in_paimon(paimon: Paimon) -> None:
    """Java reads the variants that Frazil writes to Paimon, byte by byte, and Frazil those that Java writes."""
    values = [{"a": 1, "b": {"c": [True, None, "y"]}}, None, 2.5, "text"]
    array = variant.from_python(values)
    table = paimon.create("variants", {"id": "INT", "v": "VARIANT"})
    table.open().append(pa.table({"id": pa.array(range(4), pa.int32()), "v": array}))
    java = table.read().rows.sort_by("id")
    assert [value and (value["metadata"], value["value"]) for value in java["v"].to_pylist()] == [
        value and (value["metadata"], value["value"]) for value in array.to_pylist()
    ]
    table.write([(4 + row["id"], row["v"]) for row in java.to_pylist()])
    rows = sorted(variant.to_python(table.open().scan().to_arrow()), key=lambda row: row["id"])
    assert rows == [{"id": number, "v": value} for number, value in enumerate(values * 2)]
