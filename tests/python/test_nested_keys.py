"""Keys that are members of structs: `on="s.a"` of upserts, merges and deletes by key."""

from __future__ import annotations

import pathlib
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

INNER = pa.struct([("a", pa.int64()), ("b", pa.string())])
SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.struct([("deep", INNER), ("n", pa.int32())])), ("v", pa.string())])
KEYED = ("write.delete.mode", "write.update.mode", "write.merge.mode")


def row(place: int, a: int | None, n: int, v: str) -> dict[str, Any]:
    return {"id": place, "s": {"deep": {"a": a, "b": f"b{a}"}, "n": n}, "v": v}


def rows(*given: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(given), schema=SCHEMA)


def catalog(path: pathlib.Path) -> fz.Catalog:
    out = fz.catalog("c", type="filesystem", warehouse=path)
    out.create_namespace("db")
    return out


def made(path: pathlib.Path, partition_by: list[str] | None = None, **properties: str) -> fz.Table:
    properties = {"format-version": "2", **properties}
    table = catalog(path).create_table("db.t", SCHEMA, partition_by=partition_by or [], properties=properties)
    table.append(rows(*(row(i, 10 * i, i % 2, "old") for i in range(1, 5))))
    return table.append(rows(row(5, None, 0, "old"), {"id": 6, "s": None, "v": "old"}))


def values(table: fz.Table) -> dict[int, str]:
    read = table.refresh().scan().to_arrow().to_pylist()
    return {r["id"]: r["v"] for r in sorted(read, key=lambda r: r["id"])}


OLD = dict.fromkeys(range(1, 7), "old")


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_upsert_and_merge(tmp_path: pathlib.Path, mode: str) -> None:
    table = made(tmp_path, **dict.fromkeys(KEYED, mode))
    table = table.upsert(rows(row(1, 10, 1, "new"), row(7, 70, 1, "new"), row(8, None, 1, "new")), on=["s.deep.a"])
    # A null equals nothing: neither the row with a null in the struct nor the one without a struct.
    assert values(table) == OLD | {1: "new", 7: "new", 8: "new"}
    table = table.upsert(rows(row(2, 20, 0, "both"), row(9, 20, 1, "both")), on=["s.deep.a", "s.n"])
    assert values(table) == OLD | {1: "new", 2: "both", 7: "new", 8: "new", 9: "both"}
    gone = rows(row(0, 20, 0, "gone"), row(0, 70, 0, "gone"))
    table = table.merge(gone, on=["s.deep.a"], when_matched_delete=True)
    left = OLD | {1: "new", 8: "new"}
    assert values(table) == {n: v for n, v in left.items() if n != 2}


def test_the_files_read_are_those_that_can_have_the_keys(tmp_path: pathlib.Path) -> None:
    table = catalog(tmp_path).create_table("db.t", SCHEMA)
    for start in range(0, 50, 10):
        table = table.append(rows(*(row(i, i, 0, "old") for i in range(start, start + 10))))
    before = {f.data_file.path for f in table.scan().plan_files()}
    table = table.upsert(rows(row(25, 25, 0, "new")), on=["s.deep.a"])
    assert len(before - {f.data_file.path for f in table.scan().plan_files()}) == 1
    assert values(table)[25] == "new"


def test_no_equality_deletes_by_members(tmp_path: pathlib.Path) -> None:
    """Java Iceberg's readers would apply them wrongly where a query leaves the struct out."""
    table = made(tmp_path)
    new = rows(row(2, 20, 1, "new"))
    for change in (
        lambda: table.delete_keys(new, on=["s.deep.a"]),
        lambda: table.upsert(new, on=["id", "s.n"], blind=True),
        lambda: table.writer().delete_keys(new, on=["s.deep.a"]),
        lambda: table.writer().upsert(new, on=["s.deep.a"]),
    ):
        with pytest.raises(fz.UnsupportedError, match="when_matched_delete=True"):
            change()
    key = pa.table({"s": [{"deep": {"a": 20}}]})
    assert sorted(values(table.merge(key, on=["s.deep.a"], when_matched_delete=True))) == [1, 3, 4, 5, 6]


def test_what_can_not_be_a_key(tmp_path: pathlib.Path) -> None:
    schema = SCHEMA.append(pa.field("l", pa.list_(pa.struct([("x", pa.int32())]))))
    table = catalog(tmp_path).create_table("db.t", schema)
    data = pa.Table.from_pylist([row(1, 1, 1, "x")], schema=schema)
    for name, said in (
        ("l.element.x", "inside a list or map"),
        ("s.deep", r"on=\[\"s.deep.a\""),
        ("s.deep.c", "no such column"),
        ("s.b", "no such column"),
    ):
        with pytest.raises(fz.FrazilError, match=said):
            table.upsert(data, on=[name])
    with pytest.raises(fz.InvalidInputError, match="twice"):
        table.upsert(data, on=["s.n", "s.n"])
    with pytest.raises(fz.InvalidInputError, match=r"no such column.*s.deep.a"):
        table.merge(pa.table({"s": [{"deep": 1}]}), on=["s.deep.a"], when_matched_delete=True)


def test_identifier_fields_in_structs(tmp_path: pathlib.Path) -> None:
    required = pa.struct([pa.field("k", pa.int64(), nullable=False), ("x", pa.string())])
    schema = pa.schema([pa.field("s", required, nullable=False), ("v", pa.string())])
    table = catalog(tmp_path).create_table("db.t", schema, identifier_fields=["s.k"])
    of = lambda k, v: {"s": {"k": k, "x": "x"}, "v": v}  # noqa: E731
    table = table.append(pa.Table.from_pylist([of(1, "a"), of(2, "a")], schema=schema))
    table = table.upsert(pa.Table.from_pylist([of(2, "b"), of(3, "b")], schema=schema))
    table = table.merge(pa.Table.from_pylist([of(1, "")], schema=schema), when_matched_delete=True)
    assert {r["s"]["k"]: r["v"] for r in table.scan().to_arrow().to_pylist()} == {2: "b", 3: "b"}
