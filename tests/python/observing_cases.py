"""What the tests of records, reports and spans share."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import frazil as fz

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False)])
FORMATS = ("iceberg", "paimon")


def rows(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64())}, SCHEMA)


PAIRS = pa.schema([("id", pa.int64()), ("part", pa.int64())])


def parted(tmp_path: Path, table_format: str) -> fz.Table:
    """Three manifests: of the first partition, of the second, of the first and third. Four files."""
    catalog = fz.catalog("test", warehouse=tmp_path / table_format)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", PAIRS, format=table_format, partition_by=["part"])
    for ids, parts in (([1, 2], [1, 1]), ([3], [2]), ([4, 5], [1, 3])):
        table.append(pa.table({"id": ids, "part": parts}, PAIRS))
    return table


def made(tmp_path: Path, table_format: str) -> fz.Table:
    catalog = fz.catalog("test", warehouse=tmp_path / table_format)
    catalog.create_namespace("db")
    return catalog.create_table("db.t", SCHEMA, format=table_format)
