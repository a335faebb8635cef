"""Data files written by the same properties: what Java records of its files, Frazil records of its own."""

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from java_api import JavaTable
from java_side import NAMESPACE, Java, assert_same_rows, exact
from pyspark.sql import functions as fn

import frazil as fz
from frazil import variant

COLUMNS = (
    "id bigint, s string, d double, f float, bin binary, dec decimal(20,3), ts timestamp, day date, "
    "st struct<x: int, t: string>, l array<string>, m map<string, int>"
)
TEXTS = ["", "plain", "ż" * 20, "\U0010ffff" * 20, "a longer text than sixteen characters", None]
DOUBLES = [float("nan"), -0.0, 0.0, 1.5, None, float("-inf")]
ROWS: list[dict[str, Any]] = [
    {
        "id": (n * 7) % 40,
        "s": TEXTS[n % 6],
        "d": DOUBLES[n % 6],
        "f": DOUBLES[(n + 1) % 6],
        "bin": None if n % 5 == 0 else bytes([n, 255]) * (n % 20),
        "dec": None,
        "ts": datetime.datetime(2020, 1, 1 + n % 28, n % 24, tzinfo=datetime.UTC),
        "day": datetime.date(2020, 1 + n % 12, 1),
        "st": None if n % 4 == 0 else {"x": n, "t": TEXTS[(n + 2) % 6]},
        "l": TEXTS[: n % 4],
        "m": [("k", n)],
    }
    for n in range(40)
]

METRICS = "write.metadata.metrics."
PROPERTIES: list[tuple[dict[str, str], str]] = [
    ({}, ""),
    ({METRICS + "default": "counts", METRICS + "column.s": "full", METRICS + "column.st.t": "truncate(3)"}, ""),
    ({METRICS + "default": "none", METRICS + "column.d": "truncate(2)", METRICS + "column.bin": "none"}, "s desc, id"),
    ({METRICS + "max-inferred-column-defaults": "3"}, "bucket(4, id), day"),
    ({"write.parquet.stats-enabled.column.s": "false", "write.parquet.row-group-size-bytes": "1000"}, "id"),
]


def records(java: Java, name: str) -> dict[str, Any]:
    """What the one file of a table has in the manifest, without sizes, which writers do not share."""
    [file] = java.metadata(name, "files")
    maps = ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
    out: dict[str, Any] = {kind: dict(sorted((file[kind] or {}).items())) for kind in maps}
    out["sized"] = sorted(file.column_sizes or {})
    return out | {"rows": file.record_count, "order": file.sort_order_id, "spec": file.spec_id}


@pytest.mark.parametrize("number", range(len(PROPERTIES)))
def test_metrics_are_those_of_java(java: Java, number: int) -> None:
    properties, order = PROPERTIES[number]
    theirs, ours = (java.create("recorded", COLUMNS, properties=properties) for _ in range(2))
    for name in (theirs, ours):
        if order:
            java.alter(name, f"write ordered by {order}")
        java.alter(name, "set tblproperties ('write.distribution-mode'='none')")
    rows = pa.Table.from_pylist(ROWS, schema=fz.open_table(java.root(ours)).scan().to_arrow().schema)
    java.spark.createDataFrame(rows).coalesce(1).writeTo(f"ice.{NAMESPACE}.{theirs}").append()
    table = fz.open_table(java.root(ours))
    table.append(rows)
    assert_same_rows(exact(rows), java.read(ours))
    assert records(java, ours) == records(java, theirs)
    if order.startswith(("s", "id")):
        [by_java], [by_us] = (sorted(Path(java.root(n)).rglob("*.parquet")) for n in (theirs, ours))
        assert pq.read_table(by_us)["id"].to_pylist() == pq.read_table(by_java)["id"].to_pylist()


def test_places_are_those_of_java(java: Java, tmp_path: Path) -> None:
    storage = "write.object-storage."
    for properties in (
        {},
        {storage + "enabled": "true"},
        {storage + "enabled": "true", storage + "partitioned-paths": "false"},
        {storage + "enabled": "true", "write.data.path": str(tmp_path / "elsewhere")},
        {"write.data.path": f"{tmp_path}/there/"},
    ):
        name = java.create("placed", "id bigint, `p #/x` string", "`p #/x`", properties=properties)
        fz.open_table(java.root(name)).append(pa.table({"id": [1, 2], "p #/x": ["a b/ż", None]}))
        assert len(java.read(name)) == 2
        provider = JavaTable(java, name).table.locationProvider()
        for file in java.metadata(name, "files"):
            path = file.file_path
            stem = path.rsplit("/", 1)[-1]
            if properties.get(storage + "partitioned-paths") == "false":
                assert path == provider.newDataLocation(stem.split("-", 1)[1])
            else:
                assert path == provider.newDataLocation("/".join(path.rsplit("/", 2)[-2:])), properties


def test_types_and_defaults_of_version_3(java: Java) -> None:
    source = java.create("values3", "id bigint, v variant", version=3)
    java.sql(
        f"insert into ice.{NAMESPACE}.{source} select id, v from values (1, parse_json('{{\"a\": [1, null, 2.5]}}')), "
        "(2, parse_json('\"text\"')), (3, null) as t(id, v)"
    )
    rows = fz.open_table(java.root(source)).scan().to_arrow()
    name = java.create("written3", "id bigint, v variant", version=3)
    table = fz.open_table(java.root(name))
    table.append(rows)
    with table.update_schema() as update:
        update.add_column("n", "int", required=True, default=7)
        update.add_column("s", "string", default="old")
    with table.update_schema() as update:
        update.set_default_value("s", "new")
    table.append(rows)
    table.append(rows.append_column("s", pa.array(["given", None, "x"])))
    read = java.spark.table(f"ice.{NAMESPACE}.{name}")
    got = [tuple(r) for r in read.select("id", fn.to_json("v"), "n", "s").collect()]
    texts = {1: '{"a":[1,null,2.5]}', 2: '"text"', 3: None}
    third = {1: "given", 2: None, 3: "x"}
    expected = [(i, texts[i], 7, s) for i in (1, 2, 3) for s in ("old", "new", third[i])]
    assert sorted(got, key=repr) == sorted(expected, key=repr)
    assert variant.to_python(table.scan("id = 1").to_arrow()["v"]) == [{"a": [1, None, 2.5]}] * 3
    counts = [(f.value_counts, f.null_value_counts) for f in java.metadata(name, "files")]
    assert all(values[2] == 3 and nulls[2] == 1 for values, nulls in counts), counts
    # Java goes on.
    java.sql(f"delete from ice.{NAMESPACE}.{name} where id = 2")
    assert fz.open_table(java.root(name)).scan().count() == 6
