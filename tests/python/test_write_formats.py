"""Data files in Avro and ORC: other libraries read them, and all that a table can do goes on with them."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc
import pytest

import frazil as fz

FORMATS = ["avro", "orc"]
FORMAT = "write.format.default"


def rows_of(table: fz.Table, *where: str) -> list[dict[str, Any]]:
    return sorted(table.scan(*where).to_arrow().to_pylist(), key=lambda row: repr(row["id"]))


def files(table: fz.Table, suffix: str) -> list[str]:
    return sorted(str(p) for p in Path(table.location, "data").rglob(f"*.{suffix}"))


def plain(value: Any) -> Any:
    """Values as both libraries and Arrow have them alike."""
    match value:
        case dict():
            return {key: plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case dt.datetime():
            return value.replace(tzinfo=None)
        case float():
            return repr(value)
        case uuid.UUID():
            return value.bytes
        case _:
            return value


@pytest.mark.parametrize("format", FORMATS)
def test_other_libraries_read_every_type(catalog: fz.Catalog, every_type: fz.Table, format: str) -> None:
    rows = every_type.scan().to_arrow()
    table = catalog.create_table("db.other", every_type.schema, properties={FORMAT: format}).append(rows)
    expected = [plain(row) for row in rows.to_pylist()]
    assert [plain(row) for row in table.scan().to_arrow().to_pylist()] == expected
    [path] = files(table, format)
    if format == "avro":
        with open(path, "rb") as file:
            found = [dict(row) for row in fastavro.reader(file)]
        for row in expected:
            row["m"] = None if row["m"] is None else dict(row["m"])
    else:
        found = pyarrow.orc.read_table(path).to_pylist()
    assert [plain(row) for row in found] == expected


def test_maps_of_any_keys_and_times(catalog: fz.Catalog) -> None:
    keys = [(pa.int32(), 5), (pa.date32(), dt.date(2020, 1, 1)), (pa.binary(3), b"abc"), (pa.int64(), 2**60)]
    columns = {
        f"m{n}": pa.array([[(key, "x"), (key, None)], None], pa.map_(ty, pa.string()))
        for n, (ty, key) in enumerate(keys)
    }
    columns["t"] = pa.array([dt.time(23, 59, 59, 999999), None], pa.time64("us"))
    rows = pa.table(columns)
    for format in FORMATS:
        table = catalog.create_table(f"db.maps_{format}", rows.schema, properties={FORMAT: format}).append(rows)
        assert table.scan().to_arrow().to_pylist() == rows.to_pylist()


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("version", [2, 3])
def test_rows_are_changed_and_compacted(catalog: fz.Catalog, format: str, version: int) -> None:
    modes = {f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")}
    properties = {FORMAT: format, "write.delete.format.default": format, **modes}
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.string()), ("n", pa.decimal128(9, 2))])
    properties["format-version"] = str(version)
    table = catalog.create_table("db.changed", schema, partition_by=["p"], properties=properties)
    made = [{"id": i, "p": "ab"[i % 2], "n": decimal.Decimal(i)} for i in range(1000)]
    table.append(pa.Table.from_pylist(made, schema=schema))
    table.delete("id in (3, 4, 500)")
    table.update("id >= 990", {"n": decimal.Decimal("-1.00")})
    table.upsert(
        pa.Table.from_pylist([{"id": 7, "p": "b", "n": None}, {"id": 5000, "p": "c", "n": None}], schema=schema),
        on=["id"],
    )
    expected = {row["id"]: dict(row) for row in made if row["id"] not in (3, 4, 500)}
    for i in range(990, 1000):
        expected[i]["n"] = decimal.Decimal("-1.00")
    expected[7] = {"id": 7, "p": "b", "n": None}
    expected[5000] = {"id": 5000, "p": "c", "n": None}
    in_order = sorted(expected.values(), key=lambda row: repr(row["id"]))
    assert rows_of(table) == in_order
    assert rows_of(table, "n < 0 and p = 'a'") == [
        r for r in in_order if r["n"] is not None and r["n"] < 0 and r["p"] == "a"
    ]
    tasks = list(table.scan().plan_files())
    assert {task.data_file.format for task in tasks} == {format}
    kinds = {d.path.rsplit(".", 1)[1] for task in tasks for d in task.deletes}
    assert kinds == {"puffin" if version == 3 else format}
    ids = table.scan().select("id", "_row_id").to_arrow().sort_by("id") if version == 3 else None
    table.maintain.compact(rewrite_all=True)
    if ids:
        assert table.scan().select("id", "_row_id").to_arrow().sort_by("id") == ids
    assert rows_of(table) == in_order
    assert not any(task.deletes for task in table.scan().plan_files())
    # Files of several formats in one table.
    table.set_properties({FORMAT: "parquet"})
    table.append(pa.Table.from_pylist([{"id": 6000, "p": "a", "n": None}], schema=schema))
    assert {task.data_file.format for task in table.scan().plan_files()} == {format, "parquet"}
    assert table.scan().count() == len(in_order) + 1


def test_files_roll_over_and_split(catalog: fz.Catalog) -> None:
    rows = pa.table(
        {"id": pa.array(range(200_000), pa.int64()), "s": pa.array([f"{i * 7919:x}" for i in range(200_000)])}
    )
    for format in FORMATS:
        properties = {FORMAT: format, "write.target-file-size-bytes": "150000", "write.orc.stripe-size-bytes": "50000"}
        table = catalog.create_table(f"db.rolled_{format}", rows.schema, properties=properties).append(rows)
        sizes = [Path(f).stat().st_size for f in files(table, format)]
        assert len(sizes) > 3
        assert max(sizes) < 300_000
        splits = table.scan().plan(split_size_bytes=30_000, open_file_cost_bytes=1)
        assert len(splits) > len(sizes)
        read = [i for split in splits for i in split.to_arrow_batch_reader().read_all()["id"].to_pylist()]
        assert sorted(read) == list(range(200_000))


def test_unwritable_types_and_values(catalog: fz.Catalog) -> None:
    times = pa.table({"t": pa.array([dt.datetime(1969, 12, 31, 23, 59, 59, 500_000)], pa.timestamp("us"))})
    table = catalog.create_table("db.times", times.schema, properties={FORMAT: "orc"})
    with pytest.raises(fz.UnsupportedError, match="last second before 1970") as refused:
        table.append(times)
    assert refused.value.context["column"] == "t"
    assert table.snapshot is None
    assert not files(table, "orc")
    table.set_properties({FORMAT: "avro"})
    assert table.append(times).scan().to_arrow().to_pylist() == times.to_pylist()
    with pytest.raises(fz.InvalidInputError, match="Use parquet, avro, orc"):
        table.set_properties({FORMAT: "csv"})


@pytest.mark.parametrize("format", ["parquet", *FORMATS])
def test_required_members_of_null_structs_come_back(catalog: fz.Catalog, format: str) -> None:
    inner = pa.struct([pa.field("m", pa.struct([pa.field("x", pa.bool_(), nullable=False)]), nullable=False)])
    outer = pa.struct([pa.field("o", inner)])
    value = {"m": {"x": True}}
    columns = {
        "s": (inner, [None, value, value, None]),
        "l": (pa.list_(inner), [[None], [value, None], None, []]),
        "m": (pa.map_(pa.string(), inner), [[("a", None)], [("b", value), ("c", None)], None, []]),
        "n": (pa.list_(outer), [[{"o": None}, None], [{"o": value}], [], None]),
    }
    rows = pa.table([pa.array(values, kind) for kind, values in columns.values()], names=list(columns))
    table = catalog.create_table("db.inner", data=rows, properties={FORMAT: format})
    assert table.scan().to_arrow().to_pylist() == rows.to_pylist()
