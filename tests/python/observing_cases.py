"""What the tests of records, reports and spans share."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import frazil as fz

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False)])
FORMATS = ("iceberg", "paimon")


def rows(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())}, SCHEMA)


def made(tmp_path: Path, table_format: str) -> fz.Table:
    catalog = fz.catalog("test", warehouse=tmp_path / table_format)
    catalog.create_namespace("db")
    return catalog.create_table("db.t", SCHEMA, format=table_format)
