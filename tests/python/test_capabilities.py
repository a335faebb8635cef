"""What tables and scans can do: the core knows each name, and answers by what the format has."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pyarrow as pa
import pytest

import frazil as fz
from frazil.capabilities import TABLE_FORMATS, Capability, ScanCapability, format_name, scan_supports, supports


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, fz.Table]:
    catalog = fz.catalog("c", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    schema = pa.schema([("id", pa.int64())])
    return {format: catalog.create_table(f"db.{format}", schema, format=format) for format in TABLE_FORMATS}


def test_the_core_knows_each_name(tables: dict[str, fz.Table]) -> None:
    of_tables, of_scans = get_args(Capability), get_args(ScanCapability)
    found = {
        format: {
            *(name for name in of_tables if supports(table._core, name)),
            *(name for name in of_scans if scan_supports(table.scan()._core, name)),
        }
        for format, table in tables.items()
    }
    only_paimon, both = {"declared_types", "row_count_statistics"}, {"row_changes_by_executors"}
    assert found == {"iceberg": {*of_tables, *of_scans} - only_paimon, "paimon": only_paimon | both}


def test_another_name_is_an_error(tables: dict[str, fz.Table]) -> None:
    for table in tables.values():
        with pytest.raises(fz.InvalidInputError, match="tables have no capability 'magic'"):
            table._core.supports("magic")
        with pytest.raises(fz.InvalidInputError, match="scans have no capability 'plan_cache'"):
            table.scan()._core.supports("plan_cache")


def test_formats_have_names(tables: dict[str, fz.Table]) -> None:
    assert [format_name(table._core) for table in tables.values()] == ["Apache Iceberg", "Apache Paimon"]
