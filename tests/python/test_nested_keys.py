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


def row(id: int, a: int | None, n: int, v: str) -> dict[str, Any]:
    return {"id": id, "s": {"deep": {"a": a, "b": f"b{a}"}, "n": n}, "v": v}


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


OLD = {i: "old" for i in range(1, 7)}


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
    assert values(table) == {id: v for id, v in left.items() if id != 2}


def test_the_files_read_are_those_that_can_have_the_keys(tmp_path: pathlib.Path) -> None:
    table = catalog(tmp_path).create_table("db.t", SCHEMA)
    for start in range(0, 50, 10):
        table = table.append(rows(*(row(i, i, 0, "old") for i in range(start, start + 10))))
    before = {f.data_file.path for f in table.scan().plan_files()}
    table = table.upsert(rows(row(25, 25, 0, "new")), on=["s.deep.a"])
    assert len(before - {f.data_file.path for f in table.scan().plan_files()}) == 1
    assert values(table)[25] == "new"


@pytest.mark.parametrize("partition_by", [None, ["bucket(3, s.deep.a)"]])
def test_blind(tmp_path: pathlib.Path, partition_by: list[str] | None) -> None:
    table = made(tmp_path, partition_by)
    # Of the struct only the key, and beside it members that are no key.
    key = pa.table({"s": [{"deep": {"a": 20}, "n": 7}, {"deep": {"a": 40}, "n": 7}]})
    table = table.delete_keys(key, on=["s.deep.a"])
    assert values(table) == {i: "old" for i in (1, 3, 5, 6)}
    table = table.upsert(rows(row(3, 30, 1, "new"), row(7, 70, 1, "new")), on=["s.deep.a"], blind=True)
    assert values(table) == {1: "old", 3: "new", 5: "old", 6: "old", 7: "new"}
    flat = pa.table({"s.deep.a": pa.array([10], pa.int64())})
    assert values(table.delete_keys(flat, on=["s.deep.a"])) == {3: "new", 5: "old", 6: "old", 7: "new"}
    for null in ({"deep": {"a": None}}, {"deep": None}, None):
        some = pa.table({"s": pa.array([null], pa.struct([("deep", pa.struct([("a", pa.int64())]))]))})
        with pytest.raises(fz.InvalidInputError, match="a key is null"):
            table.delete_keys(some, on=["s.deep.a"])


def test_other_processes_delete_by_them(tmp_path: pathlib.Path) -> None:
    table = made(tmp_path)
    writer = table.writer()
    key = pa.table({"s": [{"deep": {"a": 20}}]})
    table.commit([writer.delete_keys(key, on=["s.deep.a"])])
    assert sorted(values(table)) == [1, 3, 4, 5, 6]


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
        table.delete_keys(pa.table({"s": [{"deep": 1}]}), on=["s.deep.a"])


def test_identifier_fields_in_structs(tmp_path: pathlib.Path) -> None:
    required = pa.struct([pa.field("k", pa.int64(), nullable=False), ("x", pa.string())])
    schema = pa.schema([pa.field("s", required, nullable=False), ("v", pa.string())])
    table = catalog(tmp_path).create_table("db.t", schema, identifier_fields=["s.k"])
    of = lambda k, v: {"s": {"k": k, "x": "x"}, "v": v}  # noqa: E731
    table = table.append(pa.Table.from_pylist([of(1, "a"), of(2, "a")], schema=schema))
    table = table.upsert(pa.Table.from_pylist([of(2, "b"), of(3, "b")], schema=schema))
    table = table.delete_keys(pa.Table.from_pylist([of(1, "")], schema=schema))
    assert {r["s"]["k"]: r["v"] for r in table.scan().to_arrow().to_pylist()} == {2: "b", 3: "b"}
