"""Numbers of files by their paths: as Spark computes them, and never two the same."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

from frazil._core import xxh64
from frazil.spark.lanes.path_numbers import BITS, SEED, PathNumbers

pytestmark = pytest.mark.spark

TEXTS = [
    "",
    "a",
    "file:/a/b.parquet",
    "żółw/" * 9,
    *("x" * n for n in range(100)),
    *(f"s3a://b/{i}" for i in range(300)),
]


def test_hashes_are_sparks(spark) -> None:
    # Of the reference implementation's tests, with its seed 0.
    assert xxh64(["", "abc"], 0) == [0xEF46DB3751D8E999, 0x44BC2CF5AD770999]
    hashed = spark.createDataFrame(pa.table({"t": TEXTS})).select("t", f.xxhash64("t").alias("h")).collect()
    assert {row.t: row.h % 2**64 for row in hashed} == dict(zip(TEXTS, xxh64(TEXTS, SEED), strict=True))


def test_numbers_are_those_that_spark_computes(spark) -> None:
    texts = sorted(set(TEXTS))
    numbers = PathNumbers(texts)
    assert sorted(numbers.by_path) == texts
    assert len(set(numbers.by_path.values())) == len(texts)
    assert all(0 <= n < 1 << BITS for n in numbers.by_path.values())
    found = spark.createDataFrame(pa.table({"t": texts})).selectExpr("t", f"{numbers.of('t')} as n")
    found = found.selectExpr("t", f"{numbers.checked('n', 't')} as n").collect()
    assert {row.t: row.n for row in found} == numbers.by_path


def test_paths_whose_first_bits_agree_are_told_apart_by_others() -> None:
    """Of very many paths, some have the same lowest bits."""
    low = {}
    paths = [f"file:/t/data/{i}.parquet" for i in range(20_000)]
    for path, number in zip(paths, xxh64(paths, SEED), strict=True):
        same = low.setdefault(number & (1 << BITS) - 1, path)
        if same != path:
            assert len(set(PathNumbers([same, path]).by_path.values())) == 2
            return
    pytest.fail("no two hashes agree")


def test_a_path_of_no_file_stops_the_query(spark) -> None:
    numbers = PathNumbers(["file:/a", "file:/b"])
    number = numbers.checked(numbers.of("'file:/c'"), "'file:/c'")
    with pytest.raises(Exception, match="this file has no number: file:/c"):
        spark.range(1).selectExpr(number).collect()
