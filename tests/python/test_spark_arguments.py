"""Odd arguments of the functions for Spark: an error of our own that names the argument, and nothing changed."""

from __future__ import annotations

import inspect
import types
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.spark.checked import SPARK_CHECKS

pytestmark = pytest.mark.spark

ODD: list[Any] = [5, object(), [None], b"x", {5: 5}]
FUNCTIONS = [name for name in fz.spark.__all__ if isinstance(getattr(fz.spark, name), types.FunctionType)]


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    return catalog.create_table("db.t", pa.schema([("id", pa.int64())])).append(pa.table({"id": [1]}))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_odd_arguments(spark, table: fz.Table, name: str) -> None:
    function = getattr(fz.spark, name)
    good = {
        "spark": spark,
        "df": spark.range(2),
        "table": table,
        "query": "select * from e",
        "statement": "select 1",
        "tables": {"e": table},
        "scan": table.scan(),
        "schema": table.schema,
        "tasks": fz.spark.plan(spark, table),
        "where": "id = 1",
        "values": {"id": 1},
        "name": "odd",
    }
    parameters = inspect.signature(function).parameters.values()
    needed = [p.name for p in parameters if p.default is inspect.Parameter.empty]
    for parameter in parameters:
        for odd in ODD:
            arguments = {name: good[name] for name in needed} | {parameter.name: odd}
            try:
                function(**arguments)
            except fz.FrazilError as error:
                assert not isinstance(error, fz.InternalError), (parameter.name, odd, error)
            except Exception as error:
                raise AssertionError(f"{name}({parameter.name}={odd!r}) raised {error!r}") from error
            else:
                assert type(odd) not in (bytes, object), f"{name}({parameter.name}={odd!r})"
    assert table.refresh().scan().to_arrow()["id"].to_pylist() == [1]


def test_annotations_are_known() -> None:
    """A new function is checked, or says why not."""
    by_value = {"Distribution", "Engine", "Planning"}
    said = {
        str(p.annotation) for name in FUNCTIONS for p in inspect.signature(getattr(fz.spark, name)).parameters.values()
    }
    assert said - set(SPARK_CHECKS) <= by_value
