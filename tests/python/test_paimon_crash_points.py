"""Commits to Paimon tables that die, or whose system calls fail, at every one of them: see `test_crash_points`."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from conftest import NIGHTLY
from test_crash_points import STEP, STRACE, Bench, Case, Point, rows

pytestmark = [
    pytest.mark.skipif(STRACE is None or not sys.platform.startswith("linux"), reason="needs strace"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
    pytest.mark.timeout(7200 if NIGHTLY else 300),
]


def append_table(catalog: fz.Catalog) -> None:
    """In partitions, without buckets."""
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", rows(1).schema, partition_by=["p"], format="paimon")
    table.append(rows(1, 2, 3, 4)).append(rows(5, 6, 7, 8))


def keyed_table(catalog: fz.Catalog) -> None:
    """Of two buckets; the manifests of the next commit are merged with those before."""
    catalog.create_namespace("db")
    table = catalog.create_table(
        "db.t",
        rows(1).schema,
        identifier_fields=["id"],
        properties={"bucket": 2, "manifest.merge-min-count": 2, "manifest.full-compaction-threshold-size": "1 b"},
        format="paimon",
    )
    table.upsert(rows(1, 2, 3, 4)).upsert(rows(4, 5, 6, 7, 8))


def changed(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "p": pa.array([7] * len(ids), pa.int32())})


CASES = [
    Case("paimon-append", append_table, lambda c: c.load_table("db.t").append(rows(9, 10))),
    Case("paimon-overwrite", append_table, lambda c: c.load_table("db.t").overwrite_partitions(rows(12, 14))),
    Case("paimon-upsert", keyed_table, lambda c: c.load_table("db.t").upsert(changed(4, 8, 9))),
    Case("paimon-delete", keyed_table, lambda c: c.load_table("db.t").delete_keys(changed(1, 4))),
    Case("paimon-compaction", keyed_table, lambda c: c.load_table("db.t").maintain.compact()),
    Case(
        "paimon-create",
        lambda c: c.create_namespace("db"),
        lambda c: c.create_table("db.t", rows(1).schema, format="paimon"),
    ),
]


class PaimonBench(Bench):
    """What Paimon's tables do not tell about themselves is found out otherwise."""

    def state(self) -> Any:
        table = self.table()
        if table is None:
            return None
        read = table.scan().to_arrow()
        kinds = [snapshot.operation for snapshot in table.snapshots]
        return read.column_names, sorted(map(repr, read.to_pylist())), kinds, dict(table.properties)

    def live(self, table: fz.Table) -> set[str]:
        """Unknown; every snapshot is read anyway, and a commit that was refused adds nothing to what was there."""
        return set()

    def commit_again(self, point: Point, table: fz.Table | None) -> None:
        if table is None:
            table = self.catalog().create_table("db.t", rows(1).schema, format="paimon")
        before = table.scan().count()
        keyed = self.case.prepare is keyed_table
        table.upsert(rows(100)) if keyed else table.append(rows(100))
        again = self.table()
        assert again is not None, point
        assert again.scan().count() == before + 1, point
        assert again.scan("id = 100").count() == 1, point


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_a_commit_happens_or_not(case: Case, tmp_path: pathlib.Path) -> None:
    PaimonBench(case, tmp_path).try_points([c.name for c in CASES].index(case.name) % STEP)
