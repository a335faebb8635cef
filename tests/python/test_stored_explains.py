"""What `explain` prints, stored in tests/python/snapshots."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz
from conftest import event_rows
from frazil import col
from stored_texts import check_stored, steady

PAIMON = Path(__file__).parent.parent / "data" / "paimon"
ORDERS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("country", pa.string()), ("pieces", pa.int32())])


def orders(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table([list(numbers), [("no", "se")[n % 2] for n in numbers], [n % 7 for n in numbers]], schema=ORDERS)


@pytest.fixture
def visits(catalog: fz.Catalog) -> fz.Table:
    """A table of Iceberg with a partition for each day, some equality deletes and some position deletes."""
    rows = event_rows(0, 200).select(["id", "country", "ts", "score"])
    merge = {"write.delete.mode": "merge-on-read", "commit.manifest-merge.enabled": "false"}
    table = catalog.create_table("db.visits", rows.schema, partition_by=["day(ts)"], properties=merge)
    for first in (0, 100):
        table.append(rows.slice(first, 100))
    table.delete("id in (3, 4, 150)")
    return table


def text(explained: fz.Explain, tmp_path: Path) -> str:
    """The printed explanation. In the funnel, columns after the counts are as wide as figures that differ each time."""

    def narrow(line: re.Match[str]) -> str:
        return line[1] + re.sub(" {2,}", "  ", line[2])

    said = steady(str(explained), warehouse=tmp_path / "warehouse", paimon=PAIMON)
    return re.sub(r"(?m)^(  .{20,}\d of +\d+ [a-z]+(?: files?)?)(.*)$", narrow, said)


def files(explained: fz.Explain) -> str:
    """The verdict on each file: what does not differ from run to run."""
    columns = ["content", "kept", "stage", "reason", "deletes", "partition", "record_count"]
    rows = sorted(tuple(map(str, row.values())) for row in explained.files.select(columns).to_pylist())
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (tuple(columns), *rows)
    )


def test_explain_iceberg(visits: fz.Table, catalog: fz.Catalog, tmp_path: Path) -> None:
    empty = catalog.create_table("db.empty", visits.schema)
    days = "ts >= '2023-01-03T00:00:00Z' and ts < '2023-01-05T00:00:00Z'"
    first = visits.snapshots[0].id
    asked = {
        "all rows": visits.scan(),
        "a table without snapshots": empty.scan("id > 5"),
        "partitions and metrics": visits.scan(f"{days} and id < 60", select=["id", "ts"]),
        "every manifest is pruned": visits.scan("ts < '2022-01-01T00:00:00Z'"),
        "a filter that prunes nothing": visits.scan("score is nan or country is null"),
        "an expression": visits.scan((col("id") == 150) & col("country").is_not_null()),
        "no columns": visits.scan(select=[]),
        "an earlier version": visits.scan("id < 10", at=first),
        "appended since": visits.scan("id < 120", since=first),
        "changes": visits.changes("id < 120"),
    }
    check_stored("explain_iceberg", {title: text(scan.explain(), tmp_path) for title, scan in asked.items()})


def test_explain_paimon(catalog: fz.Catalog, tmp_path: Path) -> None:
    keyed = catalog.create_table(
        "db.keyed",
        ORDERS,
        partition_by=["country"],
        identifier_fields=["id", "country"],
        properties={"bucket": 2},
        format="paimon",
    )
    keyed.append(orders(0, 40)).append(orders(30, 20))
    appended = fz.open_table(PAIMON / "orders")
    asked = {
        "primary key, all rows": keyed.scan(),
        "primary key, a partition and a key": keyed.scan("country = 'no' and id = 34"),
        "primary key, a column that can't prune": keyed.scan("pieces = 3"),
        "append table, all rows": appended.scan(),
        "append table, a partition and statistics": appended.scan("country = 'se' and id > 15", select=["id"]),
        "append table, an earlier version": appended.scan("id > 15", at=2),
        "change log": fz.open_table(PAIMON / "accounts").changes(since=1),
    }
    check_stored("explain_paimon", {title: text(scan.explain(), tmp_path) for title, scan in asked.items()})


def test_explain_files(visits: fz.Table) -> None:
    asked = {
        "Iceberg, a filter": visits.scan("ts >= '2023-01-03T00:00:00Z' and id < 60"),
        "Iceberg, changes": visits.changes("id < 120", since=visits.snapshots[0].id),
        "Paimon, a filter": fz.open_table(PAIMON / "orders").scan("country = 'se' and id > 15"),
        "Paimon, keys": fz.open_table(PAIMON / "accounts").scan("id = 5"),
    }
    check_stored("explain_files", {title: files(scan.explain(files=True)) for title, scan in asked.items()})


def test_statistics_and_estimates(visits: fz.Table) -> None:
    scan = visits.scan("id < 60")
    texts = {
        "statistics, all rows": str(visits.scan().statistics()),
        "statistics, a filter": str(scan.statistics()),
        "estimate, all rows": steady(str(visits.scan().estimate())),
        "estimate, a filter": steady(str(scan.estimate())),
        "estimate, Paimon": steady(str(fz.open_table(PAIMON / "orders").scan("id > 15").estimate())),
    }
    check_stored("statistics_and_estimates", texts)
