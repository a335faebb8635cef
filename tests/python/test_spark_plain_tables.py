"""UPDATE, DELETE and MERGE by Spark's expressions of Paimon tables without a primary key: tasks do them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import frazil as fz
from frazil.spark.changes import keyed, merging, rewriting

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("n", pa.int32()), ("s", pa.string())])
ROWS = [(1, "a", 10, "x"), (2, "a", None, "y"), (3, "b", 30, None), (None, None, 40, "z"), (5, "b", 50, "x")]
MODES = {
    "plain": {},
    "partitions": {"partition_by": ["p"]},
    "vectors": {"properties": {"deletion-vectors.enabled": "true"}},
    "buckets": {"properties": {"bucket": "2", "bucket-key": "id"}},
}


@pytest.fixture
def lake(tmp_path: Path) -> fz.Catalog:
    catalog = fz.catalog("lake", warehouse=tmp_path / "lake")
    catalog.create_namespace("db")
    return catalog


@pytest.fixture(autouse=True)
def nothing_on_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise AssertionError("the driver would get the rows")

    for module, name in ((merging, "_on_driver"), (keyed, "_collected")):
        monkeypatch.setattr(module, name, refused)


def created(lake: fz.Catalog, mode: str = "plain", rows: list[Any] = ROWS, schema: pa.Schema = SCHEMA) -> fz.Table:
    table = lake.create_table("db.t", schema, format="paimon", **MODES[mode])
    for some in (rows[::2], rows[1::2]):
        if some:
            table.append(pa.table([list(column) for column in zip(*some, strict=True)], schema=schema))
    return table.refresh()


def content(table: fz.Table, at: str | None = None) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.refresh().scan(at=at).to_arrow().to_pylist()), key=repr)


def in_order(*rows: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


@pytest.mark.parametrize("mode", MODES)
def test_updates_and_deletes_by_expressions(spark: Any, lake: fz.Catalog, mode: str) -> None:
    table = created(lake, mode)
    done = fz.spark.update(spark, table, f.expr("n * 2 < 70"), {"n": f.expr("n + id"), "s": f.expr("concat(s, '!')")})
    assert (done.rows_updated, done.rows_added, done.rows_deleted) == (2, 0, 0)
    after = [(1, "a", 11, "x!"), ROWS[1], (3, "b", 33, None), ROWS[3], ROWS[4]]
    assert content(table) == in_order(*after)
    done = fz.spark.delete(spark, table, "length(concat(p, s)) = 2 and id % 2 = 0", snapshot_properties={"why": "test"})
    assert (done.rows_updated, done.rows_added, done.rows_deleted) == (0, 0, 1)
    assert content(table) == in_order(after[0], *after[2:])
    assert table.refresh().snapshot.summary["why"] == "test"
    before = len(table.snapshots)
    fz.spark.delete(spark, table, f.expr("id + n < 0"))
    assert len(table.refresh().snapshots) == before
    fz.spark.update(spark, table, f.expr("p is null and abs(n) = 40"), {"p": f.lit("c"), "id": f.lit(4)})
    assert content(table) == in_order(after[0], after[2], (4, "c", 40, "z"), after[4])
    fz.spark.delete(spark, table, f.expr("length(coalesce(s, '')) >= 0"))
    assert content(table) == []


@pytest.mark.parametrize("mode", MODES)
def test_merges_with_all_clauses(spark: Any, lake: fz.Catalog, mode: str) -> None:
    table = created(lake, mode)
    rows = spark.createDataFrame([(1, 5, "u"), (2, 7, "d"), (5, 1, "-"), (9, 9, "i"), (10, 10, "-")], "id long, n int, op string")
    done = (
        fz.spark.merge_into(rows, table, "t.id = s.id")
        .whenMatched("s.op = 'u'")
        .update({"n": "t.n + s.n", "s": "concat(t.s, s.op)"})
        .whenMatched("t.n is null")
        .delete()
        .whenNotMatched("s.op = 'i'")
        .insert({"id": "s.id", "p": "'new'", "n": "s.n"})
        .whenNotMatchedBySource("t.id is null")
        .update({"n": "t.n + 1"})
        .whenNotMatchedBySource("t.p = 'b'")
        .delete()
        .merge()
    )
    assert content(table) == in_order((1, "a", 15, "xu"), (9, "new", 9, None), (None, None, 41, "z"), ROWS[4])
    assert (done.rows_updated, done.rows_added, done.rows_deleted) == (2, 1, 2)
    assert len(table.refresh().snapshots) == 3
