"""Processes that commit to one Paimon table at once: nothing is lost or doubled."""

from __future__ import annotations

import pathlib
from multiprocessing.synchronize import Barrier

import pyarrow as pa
import pytest

import frazil as fz
from conftest import NIGHTLY
from test_concurrency import run_at_once

PROCESSES, COMMITS = (8, 50) if NIGHTLY else (4, 20)
SHARED = 5
pytestmark = pytest.mark.timeout(3600 if NIGHTLY else 300)


def catalog_of(folder: pathlib.Path) -> fz.Catalog:
    return fz.catalog("c", type="filesystem", warehouse=folder)


def rows(process: int, *ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "by": pa.array([process] * len(ids), pa.int32())})


def append_some(folder: pathlib.Path, process: int, start: Barrier) -> None:
    table = catalog_of(folder).load_table("db.t")
    start.wait()
    for n in range(COMMITS):
        table.append(rows(process, 1000 * process + n))


def upsert_some(folder: pathlib.Path, process: int, start: Barrier) -> None:
    """Keys of its own, once more each, and some that all have; each commit also takes one away."""
    table = catalog_of(folder).load_table("db.t")
    start.wait()
    for n in range(COMMITS):
        own = 1000 * (process + 1) + n // 2
        if n % 5 == 4:
            table.delete_keys(rows(process, own))
        else:
            table.upsert(rows(process, own, n % SHARED))


@pytest.mark.parametrize("partition_by", [[], ["by"]])
def test_appends_are_all_there(tmp_path: pathlib.Path, partition_by: list[str]) -> None:
    catalog = catalog_of(tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", rows(0).schema, partition_by=partition_by, format="paimon")
    run_at_once([(append_some, tmp_path, p) for p in range(PROCESSES)])
    table.refresh()
    found = table.scan().to_arrow()
    assert sorted(found["id"].to_pylist()) == sorted(1000 * p + n for p in range(PROCESSES) for n in range(COMMITS))
    assert all(row["id"] // 1000 == row["by"] for row in found.to_pylist())
    assert [s.id for s in table.snapshots] == list(range(1, PROCESSES * COMMITS + 1))
    # Attempts that lost a race left nothing.
    root = pathlib.Path(table.location)
    assert len(list(root.glob("**/data-*.parquet"))) == PROCESSES * COMMITS
    lists = len(list(root.glob("manifest/manifest-list-*")))
    assert lists == 2 * PROCESSES * COMMITS


def test_upserts_are_all_there(tmp_path: pathlib.Path) -> None:
    catalog = catalog_of(tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table(
        "db.t", rows(0).schema, identifier_fields=["id"], properties={"bucket": 2}, format="paimon"
    )
    run_at_once([(upsert_some, tmp_path, p) for p in range(PROCESSES)])
    table.refresh()
    found = {row["id"]: row["by"] for row in table.scan().to_arrow().to_pylist()}
    expected = {}
    for process in range(PROCESSES):
        for n in range(COMMITS):
            own = 1000 * (process + 1) + n // 2
            expected.pop(own, None) if n % 5 == 4 else expected.update({own: process})
    own = {n: by for n, by in found.items() if n >= 1000}
    assert own == expected
    assert sorted(found.keys() - own.keys()) == list(range(SHARED - 1))
    assert [s.id for s in table.snapshots] == list(range(1, PROCESSES * COMMITS + 1))
