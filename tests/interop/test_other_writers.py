"""The doctor finds no error in tables that DuckDB and PyIceberg write, and Frazil reads their rows."""

from __future__ import annotations

import datetime as dt
import json
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from duckdb_side import by_duckdb
from java_side import assert_whole
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table as PyIcebergTable
from pyiceberg.transforms import BucketTransform, DayTransform, TruncateTransform

import frazil as fz

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("s", pa.string()),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("x", pa.float64()),
        pa.field("d", pa.decimal128(9, 2)),
        pa.field("l", pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())]))),
        pa.field("m", pa.map_(pa.string(), pa.int64())),
    ]
)


def rows(first: int, last: int) -> pa.Table:
    start = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
    made = [
        {
            "id": i,
            "s": None if i % 7 == 6 else "long text " * 5 + str(i),
            "at": start + dt.timedelta(hours=i),
            "x": [0.5, float("nan"), -0.0, None][i % 4],
            "d": i * 100 % 9000,
            "l": None if i % 5 == 4 else [{"a": i, "b": None}] * (i % 3),
            "m": [("k", i)] * (i % 2),
        }
        for i in range(first, last)
    ]
    return pa.Table.from_pylist(made, schema=SCHEMA)


def same(table: Any, of: PyIcebergTable) -> None:
    """Frazil reads what PyIceberg reads."""
    theirs = of.refresh().scan().to_arrow().sort_by("id")
    ours = table.scan().to_arrow().sort_by("id")
    assert ours.select(["id", "s", "at"]).to_pydict() == theirs.select(["id", "s", "at"]).to_pydict()
    assert ours.num_rows == table.scan().count() == theirs.num_rows


@pytest.fixture
def other(tmp_path: pathlib.Path) -> Iterator[Catalog]:
    found = load_catalog("c", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/wh")
    found.create_namespace("db")
    yield found
    found.engine.dispose()


PARTITIONS = {
    "none": [],
    "day": [("at", DayTransform())],
    "bucket and truncate": [("id", BucketTransform(4)), ("s", TruncateTransform(3))],
}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("partitions", PARTITIONS)
def test_a_table_that_pyiceberg_writes_is_whole(other: Catalog, partitions: str, version: int) -> None:
    table = other.create_table("db.t", SCHEMA, properties={"format-version": str(version)})
    with table.update_spec() as spec:
        for name, transform in PARTITIONS[partitions]:
            spec.add_field(name, transform)
    table.append(rows(0, 100))
    table.append(rows(100, 150))
    table.delete("id < 10")
    table.overwrite(rows(20, 25), "id >= 20 and id < 25")
    table.manage_snapshots().create_branch(table.current_snapshot().snapshot_id, "side").commit()
    assert_whole(table.metadata_location)
    same(fz.open_table(table.metadata_location), table)


def test_a_table_whose_schema_pyiceberg_changed_is_whole(other: Catalog) -> None:
    table = other.create_table("db.t", SCHEMA)
    table.append(rows(0, 50))
    with table.update_schema() as change:
        change.rename_column("x", "y")
        change.delete_column("m")
    later = rows(50, 90).rename_columns({"x": "y"}).drop(["m"])
    table.append(later)
    table.upsert(rows(80, 100).rename_columns({"x": "y"}).drop(["m"]), join_cols=["id"])
    assert_whole(table.metadata_location)
    same(fz.open_table(table.metadata_location), table)


DUCKDB = """
con.execute(f"ATTACH '' AS c (TYPE iceberg, ENDPOINT '{sys.argv[2]}', AUTHORIZATION_TYPE 'none')")
for statement in json.loads(sys.argv[3]):
    con.execute(statement)
print(json.dumps({t: con.execute(f"select id from c.db.{t} order by id").fetchall() for t in ("t", "p", "v3")}))
"""

STATEMENTS = [
    "create schema c.db",
    "create table c.db.t (id bigint, s varchar, x double, l struct(a int, b varchar)[])",
    "insert into c.db.t select range, 'v' || range, range / 2, [{'a': range, 'b': null}] from range(1000)",
    "insert into c.db.t select range, null, 'nan', null from range(1000, 1100)",
    "delete from c.db.t where id % 7 = 0",
    "update c.db.t set s = 'u' where id < 10",
    "create table c.db.p (id bigint, d date, s varchar) partitioned by (month(d), bucket(4, id), truncate(2, s))",
    "insert into c.db.p select range, date '2026-01-01' + range::int, 'abc' || range from range(100)",
    "delete from c.db.p where id between 40 and 49",
    "create table c.db.v3 (id bigint, s varchar) with ('format-version' = '3')",
    "insert into c.db.v3 select range, 'v' || range from range(100)",
    "delete from c.db.v3 where id < 5",
    "insert into c.db.v3 select range, null from range(100, 120)",
    "delete from c.db.v3 where id in (7, 110)",
]


@pytest.fixture
def rest_server(tmp_path: pathlib.Path) -> Iterator[str]:
    """The address of a REST catalog."""
    command = [sys.executable, "-m", "rest_server", str(tmp_path / "wh")]
    folder = pathlib.Path(__file__).parents[1] / "python"
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin
        assert server.stdout
        yield server.stdout.readline().strip()
        server.stdin.close()


def test_tables_that_duckdb_writes_are_whole(rest_server: str) -> None:
    extensions = '["httpfs", "avro", "iceberg"]'
    found = json.loads(by_duckdb(DUCKDB, rest_server, json.dumps(STATEMENTS), extensions=extensions))
    catalog = fz.catalog("rest", type="rest", uri=rest_server)
    for name, ids in found.items():
        table = catalog.load_table(f"db.{name}")
        assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [one for [one] in ids]
        assert_whole(table.metadata_location)
    assert [len(ids) for ids in found.values()] == [942, 90, 113]
