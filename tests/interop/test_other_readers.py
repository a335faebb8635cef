"""DuckDB and PyIceberg read each kind of file that Frazil writes, and get the rows that Frazil gets."""

from __future__ import annotations

import decimal
import json
import pathlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from duckdb_side import by_duckdb
from pyiceberg.table import StaticTable

import frazil as fz

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("g", pa.string()),
        pa.field("day", pa.date32()),
        pa.field("v", pa.float64()),
        pa.field("d", pa.decimal128(9, 2)),
        pa.field("s", pa.struct([("x", pa.int32()), ("l", pa.list_(pa.string()))])),
    ]
)

MERGE_ON_READ = {f"write.{command}.mode": "merge-on-read" for command in ("delete", "update", "merge")}

DUCKDB = """
rows = con.execute(f"select id, g, day::text, v, d::text, s.x, s.l from iceberg_scan('{sys.argv[2]}')").fetchall()
print(json.dumps(rows))
"""

Row = tuple[Any, ...]


def ordered(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=repr)


def plain(rows: pa.Table) -> list[Row]:
    out = []
    for row in rows.select(["id", "g", "day", "v", "d", "s"]).to_pylist():
        s = row["s"] or {"x": None, "l": None}
        day, d = (None if row[name] is None else str(row[name]) for name in ("day", "d"))
        out.append((row["id"], row["g"], day, row["v"], d, s["x"], s["l"]))
    return ordered(out)


def by_frazil(table: fz.Table) -> list[Row]:
    return plain(fz.open_table(table.location).scan().to_arrow())


def by_pyiceberg(table: fz.Table) -> list[Row]:
    return plain(StaticTable.from_metadata(table.metadata_location).scan().to_arrow())


def read_by_duckdb(table: fz.Table) -> list[Row]:
    return ordered([tuple(row) for row in json.loads(by_duckdb(DUCKDB, table.metadata_location))])


READERS = {"pyiceberg": by_pyiceberg, "duckdb": read_by_duckdb}


def rows(given: range | list[int], v: float = 0.5) -> pa.Table:
    ids = list(given)
    columns = [
        pa.array(ids, pa.int64()),
        pa.array([None if i % 7 == 6 else "abc"[i % 3] for i in ids]),
        pa.array([20454 + i % 3 for i in ids], pa.int32()).cast(pa.date32()),
        pa.array([i + v for i in ids]),
        pa.array([decimal.Decimal(i) / 4 for i in ids], pa.decimal128(9, 2)),
        pa.array([None if i % 5 == 4 else {"x": i, "l": ["ż", None][: i % 3]} for i in ids], SCHEMA.field("s").type),
    ]
    return pa.table(columns, schema=SCHEMA)


def new(root: pathlib.Path, version: int, by: list[str] | None = None, **more: str) -> fz.Table:
    catalog = fz.catalog("c", warehouse=root)
    catalog.create_namespace("db", if_not_exists=True)
    properties = {"format-version": str(version), **MERGE_ON_READ, **{k.replace("_", "."): v for k, v in more.items()}}
    return catalog.create_table("db.t", SCHEMA, partition_by=by or [], properties=properties)


# ---------------------------------------------------------------- what is read


def position_deletes(root: pathlib.Path, version: int) -> fz.Table:
    table = new(root, version, ["g"]).append(rows(range(60))).append(rows(range(60, 90)))
    return table.delete("id < 20").delete("v > 70")


def deletes_by_partition(root: pathlib.Path, version: int) -> fz.Table:
    table = new(root, version, ["g"], write_delete_granularity="partition")
    table.append(rows(range(60))).append(rows(range(60, 90))).delete("id < 20").delete("id between 55 and 65")
    table.maintain.rewrite_position_deletes(rewrite_all=True)
    return table


def deletes_of_places(root: pathlib.Path, version: int) -> fz.Table:
    table = new(root, version).append(rows(range(50)))
    table.delete_positions(table.scan("id in (3, 4, 40)", select=["_file", "_pos"]).to_arrow())
    return table.delete_positions(table.scan("id in (5, 41)", select=["_file", "_pos"]).to_arrow())


def upserts(root: pathlib.Path, version: int) -> fz.Table:
    table = new(root, version, ["bucket(3, id)"]).append(rows(range(50)))
    return table.upsert(rows(range(40, 60), 0.25), on=["id"]).update("id < 5", {"v": -1.0, "g": None})


def merges_written_anew(root: pathlib.Path, version: int) -> fz.Table:
    table = new(root, version, ["day"]).append(rows(range(50)))
    table.set_properties(dict.fromkeys(MERGE_ON_READ, "copy-on-write"))
    table.merge(rows(range(40, 60), 0.25), on=["id"], when_matched_delete="v < 45", when_not_matched_insert=True)
    return table.overwrite(rows([1, 2], 0.75), where="id < 3")


def converted_keys(root: pathlib.Path, version: int) -> fz.Table:
    table = new(root, version).append(rows(range(50)))
    table.delete_keys(rows([1, 2, 45]), on=["id"])
    table.maintain.convert_equality_deletes()
    return table


def sorted_files(root: pathlib.Path, version: int) -> fz.Table:
    table = new(root, version, ["g"])
    for first in range(0, 60, 20):
        table.append(rows(range(first, first + 20)))
    table.delete("id = 7")
    table.maintain.compact("sort", sort_by=["v desc nulls last", "id"], rewrite_all=True)
    return table


def z_ordered_files(root: pathlib.Path, version: int) -> fz.Table:
    table = new(root, version)
    for first in range(0, 60, 20):
        table.append(rows(range(first, first + 20)))
    table.maintain.compact("zorder", zorder_by=["id", "v", "g"], rewrite_all=True)
    return table


def evolved_partitions(root: pathlib.Path, version: int) -> fz.Table:
    table = new(root, version, ["day"]).append(rows(range(20)))
    with table.update_partition_spec() as update:
        update.add_field("bucket(4, id)").remove_field("day")
    table.append(rows(range(20, 40)))
    with table.update_partition_spec() as update:
        update.add_field("truncate(1, g)").add_field("month(day)")
    return table.append(rows(range(40, 60))).delete("id in (5, 25, 45)")


def evolved_columns(root: pathlib.Path, version: int) -> fz.Table:
    table = new(root, version).append(rows(range(20)))
    with table.update_schema() as update:
        update.rename_column("v", "old")
    with table.update_schema() as update:
        update.add_column("v", "double")
    with table.update_schema() as update:
        update.drop_column("old").move_first("g")
    return table.append(rows(range(20, 30)))


def messages(root: pathlib.Path, version: int) -> fz.Table:
    table = new(root, version, ["g"]).append(rows(range(20)))
    writers = [table.writer(task) for task in range(2)]
    places = table.scan("id in (1, 2)", select=["_file", "_pos"]).to_arrow()
    return table.commit([writers[0].write(rows(range(20, 30))), writers[1].delete_positions(places)])


def key_deletes(root: pathlib.Path, version: int) -> fz.Table:
    table = new(root, version).append(rows(range(50)))
    return table.upsert(rows(range(45, 55), 0.25), on=["id"], blind=True).delete_keys(rows([1, 2]), on=["id"])


CASES: list[Callable[[pathlib.Path, int], fz.Table]] = [
    position_deletes,
    deletes_by_partition,
    deletes_of_places,
    upserts,
    merges_written_anew,
    converted_keys,
    sorted_files,
    z_ordered_files,
    evolved_partitions,
    evolved_columns,
    messages,
    key_deletes,
]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_rows_are_the_same(
    tmp_path: pathlib.Path, case: Callable[[pathlib.Path, int], fz.Table], version: int, reader: str
) -> None:
    table = case(tmp_path, version)
    expected = by_frazil(table)
    assert expected
    if (case, reader) == (key_deletes, "pyiceberg"):
        with pytest.raises(ValueError, match="equality deletes"):
            by_pyiceberg(table)
        return
    assert READERS[reader](table) == expected
