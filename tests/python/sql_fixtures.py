"""What the tests of SQL statements start with. A test file imports the fixtures that it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

ROWS = pa.table(
    [[1, 2, 3], ["a", "b", "a"]],
    schema=pa.schema([pa.field("id", pa.int64(), nullable=False), ("c", pa.string())]),
)


@pytest.fixture
def empty_lake(tmp_path: Path) -> fz.Catalog:
    """A catalog of a folder with the namespace `db`."""
    catalog = fz.catalog("lake", warehouse=tmp_path / "lake")
    catalog.create_namespace("db")
    return catalog


@pytest.fixture
def lake(empty_lake: fz.Catalog) -> fz.Catalog:
    """A catalog of a folder with the table `db.t`."""
    empty_lake.create_table("db.t", data=ROWS)
    return empty_lake


@pytest.fixture
def settings(spark: Any) -> Iterator[Callable[[dict[str, str]], None]]:
    """Sets settings of the session. They are removed after the test."""
    made: list[str] = ["spark.frazil.sql.current"]

    def set_all(given: dict[str, str]) -> None:
        for name, value in given.items():
            made.append(name)
            spark.conf.set(name, value)

    yield set_all
    for name in made:
        spark.conf.unset(name)
