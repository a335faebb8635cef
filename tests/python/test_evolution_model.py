"""Random changes of a schema against a model of columns by id: ids are never used twice, and rows follow ids."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import frazil as fz
from conftest import sequences

STEPS = ["add", "add", "drop", "rename", "move", "widen", "append", "append"]


class Column:
    """A column of integers, or a struct of such."""

    def __init__(self, id_: int, name: str, default: int | None, members: list[Column] | None = None) -> None:
        self.id, self.name, self.default, self.members = id_, name, default, members
        self.wide = False

    def read(self, row: dict[int, int]) -> Any:
        """What a row has here; a row is its values by column id, of structs only that they are there."""
        if self.members is not None:
            return {m.name: m.read(row) for m in self.members} if self.id in row else None
        return row.get(self.id, self.default)

    def arrow(self) -> pa.DataType:
        if self.members is not None:
            return pa.struct([(m.name, m.arrow()) for m in self.members])
        return pa.int64() if self.wide else pa.int32()


class Model:
    """The table's columns and rows as they should be."""

    def __init__(self, table: fz.Table) -> None:
        self.table = table
        self.columns = [Column(1, "id", None), Column(2, "s", None, [Column(3, "a", None), Column(4, "b", None)])]
        self.rows: list[dict[int, int]] = []
        # What every snapshot should read for ever.
        self.then: dict[int, list[dict[str, Any]]] = {}
        self.other = fz.open_table(table.location)
        self.ids = {1, 2, 3, 4}
        self.number = itertools.count(1)

    def step(self, kind: str, draw: Any) -> None:
        if draw(st.booleans()):
            self.table, self.other = self.other.refresh(), self.table
        places = [(self.columns, "")] + [(c.members, c.name + ".") for c in self.columns if c.members is not None]
        columns, prefix = places[draw(st.integers(0, len(places) - 1))]
        column = columns[draw(st.integers(0, len(columns) - 1))]
        path = prefix + column.name
        with self.table.update_schema() as update:
            if kind == "append":
                self.append()
            elif kind == "add":
                self.add(update, columns, prefix, draw)
            elif kind == "rename":
                column.name = f"r{next(self.number)}"
                update.rename_column(path, column.name)
            elif kind == "widen" and column.members is None:
                column.wide = True
                update.update_column(path, "long")
            elif kind == "drop" and len(columns) > 1:
                columns.remove(column)
                update.drop_column(path)
            elif kind == "move" and len(columns) > 1:
                other = next(c for c in columns if c is not column)
                columns.remove(column)
                columns.insert(columns.index(other) + 1, column)
                update.move_after(path, prefix + other.name)

    def add(self, update: fz.UpdateSchema, columns: list[Column], prefix: str, draw: Any) -> None:
        # Names come back after they were dropped; ids must not.
        name = f"c{draw(st.integers(0, 2))}"
        if any(c.name == name for c in columns):
            return
        nested = draw(st.booleans()) and not prefix
        default = None if nested else draw(st.sampled_from([None, 7]))
        update.add_column(prefix + name, "struct<a: int, b: int>" if nested else "int", default=default)
        update.commit()
        field = self.table.schema.field(prefix + name)
        added = [field.id, *(child.id for child in field.children)]
        assert self.ids.isdisjoint(added)
        self.ids.update(added)
        members = [Column(child.id, child.name, None) for child in field.children] if nested else None
        columns.append(Column(field.id, name, default, members))

    def append(self) -> None:
        row: dict[int, int] = {}
        for column in self.columns:
            for leaf in [column, *(column.members or [])]:
                row[leaf.id] = next(self.number)
        self.rows.append(row)
        schema = pa.schema([(c.name, c.arrow()) for c in self.columns])
        self.table.append(pa.Table.from_pylist([{c.name: c.read(row) for c in self.columns}], schema))
        assert self.table.snapshot is not None
        self.then[self.table.snapshot.id] = self.read()

    def read(self) -> list[dict[str, Any]]:
        """What the rows should be under the columns of now."""
        return [{c.name: c.read(row) for c in self.columns} for row in self.rows]

    def check(self) -> None:
        for table in (self.table, self.other.refresh()):
            assert [f.id for f in table.schema] == [c.id for c in self.columns]
            same(table.scan().to_arrow(), self.read())
        for snapshot_id, rows in self.then.items():
            same(self.table.scan(at=snapshot_id).to_arrow(), rows)


def same(got: pa.Table, want: list[dict[str, Any]]) -> None:
    assert sorted(map(repr, got.to_pylist())) == sorted(map(repr, want))


@settings(max_examples=sequences(25), deadline=None)
@given(data=st.data())
def test_rows_follow_ids(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    catalog = fz.catalog(warehouse=tmp_path_factory.mktemp("model"))
    catalog.create_namespace("db")
    schema = pa.schema([("id", pa.int32()), ("s", pa.struct([("a", pa.int32()), ("b", pa.int32())]))])
    model = Model(catalog.create_table("db.t", schema, properties={"format-version": 3}))
    model.append()
    for kind in data.draw(st.lists(st.sampled_from(STEPS), max_size=12)):
        model.step(kind, data.draw)
    model.check()
