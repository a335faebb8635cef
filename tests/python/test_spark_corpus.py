"""The Iceberg corpus through Spark: each lane gives the rows that Java reads.

`FRAZIL_ICEBERG_CORPUS` names its folder (format: `corpus_cases.py`); without it nothing runs. Columns of types that
Spark does not have are left out; of variants only nulls are compared.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as st

import frazil as fz
from corpus_cases import Case, Corpus, tables
from frazil.spark.types import spark_schema

pytestmark = pytest.mark.spark

_ROOT = os.environ.get("FRAZIL_ICEBERG_CORPUS")
_TABLES = tables(Path(_ROOT)) if _ROOT else []
# Reads of a table in one query of Spark.
_TOGETHER = 20
_CASE = "frazil case"
# Filters of a table; all take hours.
_FILTERS = int(os.environ.get("FRAZIL_ICEBERG_CORPUS_FILTERS", "3"))


@pytest.fixture(scope="module")
def tally() -> Iterator[Counter[tuple[str, str]]]:
    """How many cases were read, by engine; printed in the end."""
    counts: Counter[tuple[str, str]] = Counter()
    yield counts
    print({f"{engine} {what}": n for (engine, what), n in sorted(counts.items())})


def representable(scan: fz.Scan) -> list[str]:
    """The columns that Spark has types for."""
    names = []
    for field in scan.schema.fields:
        try:
            spark_schema(scan.select(field.name).schema)
        except fz.UnsupportedError:
            continue
        names.append(field.name)
    return names


@pytest.mark.skipif(_ROOT is None, reason="FRAZIL_ICEBERG_CORPUS names no folder")
@pytest.mark.parametrize("engine", ["native", "arrow", "auto"])
@pytest.mark.parametrize("name", _TABLES)
def test_rows_are_javas(spark, tally: Counter[tuple[str, str]], name: str, engine: Any) -> None:
    corpus = Corpus(Path(_ROOT or ""), name)
    frames: list[tuple[Case, list[str], DataFrame]] = []
    refused = 0
    for case in chosen(corpus.cases(), engine):
        scan = corpus.table.scan(case.filter, case.select, at=case.at)
        columns = representable(scan)
        if not columns:
            continue
        try:
            rows = fz.spark.read(spark, corpus.table, case.filter, columns, case.at, engine=engine)
        except fz.UnsupportedError:
            assert engine == "native"
            refused += 1
            continue
        frames.append((case, columns, rows))
    wrong = []
    for case, columns, rows in together(frames):
        if case.found(rows.select(columns)) != case.expected(columns):
            wrong.append((case.name, case.filter, rows.num_rows, len(case.rows)))
    tally[engine, "read"] += len(frames)
    tally[engine, "wrong"] += len(wrong)
    tally[engine, "refused"] += refused
    assert not wrong


def chosen(cases: list[Case], engine: str) -> list[Case]:
    """All reads without filters, and some with; `auto` is one of the other two, so for it the whole table will do."""
    if engine == "auto":
        return cases[:1]
    filtered = [case for case in cases if case.filter is not None]
    some = filtered[:: max(1, -(-len(filtered) // max(_FILTERS, 1)))] if _FILTERS else []
    return [case for case in cases if case.filter is None] + some


def plain(rows: DataFrame) -> DataFrame:
    """Without variants, which `toArrow` can't take where they are null."""
    variants = [field.name for field in rows.schema if isinstance(field.dataType, st.VariantType)]
    return rows.withColumns({name: f.when(f.col(name).isNotNull(), "a variant") for name in variants})


def together(frames: list[tuple[Case, list[str], DataFrame]]) -> list[tuple[Case, list[str], pa.Table]]:
    """What the frames give. Those of the same columns are asked for in one query."""
    by_schema: dict[str, list[int]] = {}
    for i, (_, _, rows) in enumerate(frames):
        by_schema.setdefault(rows.schema.simpleString(), []).append(i)
    found: list[tuple[Case, list[str], pa.Table]] = []
    for numbers in by_schema.values():
        for start in range(0, len(numbers), _TOGETHER):
            some = numbers[start : start + _TOGETHER]
            numbered = [plain(frames[i][2]).withColumn(_CASE, f.lit(i)) for i in some]
            rows = reduce(DataFrame.unionAll, numbered).toArrow()
            for i in some:
                of_case = rows.filter(pa.compute.equal(rows[_CASE], i))
                found.append((frames[i][0], frames[i][1], of_case))
    return found
