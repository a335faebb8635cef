"""Random changes of rows against a list of Python tuples."""

from __future__ import annotations

import math
import pathlib
import random
import shutil
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import frazil as fz
from conftest import sequences

Row = tuple[Any, ...]
NAMES = ("k", "f", "g", "v")
SCHEMA = pa.schema([("k", pa.int32()), ("f", pa.float64()), ("g", pa.string()), ("v", pa.int64())])
NAN = float("nan")
KEYS = st.one_of(st.none(), st.integers(-3, 8))
FLOATS = st.one_of(st.none(), st.sampled_from([NAN, 0.0, -0.0, 1.5, -2.0, math.inf]))
GROUPS = st.sampled_from([None, "a", "b", "null"])
ROWS = st.lists(st.tuples(KEYS, FLOATS, GROUPS, st.one_of(st.none(), st.integers(0, 3))), max_size=12)
# Each filter as text and as what it is on a row: true, false or (None) unknown.
FILTERS: list[tuple[str, Callable[[Row], bool | None]]] = [
    ("true", lambda r: True),
    ("k > 3", lambda r: None if r[0] is None else r[0] > 3),
    ("k is null", lambda r: r[0] is None),
    ("not (k in (1, 2, 5))", lambda r: None if r[0] is None else r[0] not in (1, 2, 5)),
    ("g = 'a'", lambda r: None if r[2] is None else r[2] == "a"),
    ("g is null", lambda r: r[2] is None),
    ("g = 'b' and k < 4", lambda r: r[2] == "b" and r[0] is not None and r[0] < 4),
    ("f is nan", lambda r: r[1] is not None and math.isnan(r[1])),
    ("f >= 0", lambda r: None if r[1] is None else math.isnan(r[1]) or r[1] >= 0),
    ("f = 0 or v = 1", lambda r: (r[1] is not None and r[1] == 0) or r[3] == 1),
]


def table_of(rows: list[Row]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [[] for _ in NAMES]
    return pa.table(
        [pa.array(list(column), field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def multiset(rows: list[Row]) -> Counter[str]:
    return Counter(repr(row) for row in rows)


def key_of(row: Row, on: list[str]) -> Row | None:
    values = [row[NAMES.index(name)] for name in on]
    if None in values:
        return None
    return tuple("nan" if isinstance(v, float) and math.isnan(v) else v + 0 if v != v or v == 0 else v for v in values)


def distinct(rows: list[Row], on: list[str]) -> list[Row]:
    seen: set[Row] = set()
    out = []
    for row in rows:
        key = key_of(row, on)
        if key is None or key not in seen:
            out.append(row)
            seen |= set() if key is None else {key}
    return out


class Nobody:
    """A face that does nothing, for the model alone."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


class Model:
    """A table and what its rows should be; operations on both. `face` is the table or a transaction."""

    def __init__(self, table: fz.Table) -> None:
        self.table = table
        self.rows: list[Row] = []
        # Of the snapshots that were looked at: what they should read for ever.
        self.then: dict[int, list[Row]] = {}

    def step(self, face: Any, draw: random.Random, data: list[Row]) -> str:
        text, holds = draw.choice(FILTERS)
        other, holds_too = draw.choice(FILTERS)
        on = draw.choice([["k"], ["k", "g"], ["f"], ["g", "f"]])
        deltas = ["keys", "blind", "positions", "maintain"] if self.table.format_version > 1 else []
        match draw.choice(["append", "delete", "overwrite", "partitions", "update", "upsert", "merge", *deltas]):
            case "keys":
                return self.delete_keys(face, data)
            case "blind":
                return self.replace_keys(face, data)
            case "positions":
                return self.delete_positions(face, text, holds)
            case "maintain":
                return self.maintain(face, draw)
            case "append":
                face.append(table_of(data))
                self.rows += data
                return "append"
            case "delete":
                face.delete(text)
                self.rows = [r for r in self.rows if not holds(r)]
                return f"delete {text}"
            case "overwrite":
                face.overwrite(table_of(data), where=text)
                self.rows = [r for r in self.rows if not holds(r)] + data
                return f"overwrite {text}"
            case "partitions":
                face.overwrite_partitions(table_of(data))
                if data:
                    groups = {r[2] for r in data}
                    partitioned = bool(self.table.partition_spec.fields)
                    self.rows = [r for r in self.rows if partitioned and r[2] not in groups] + data
                return "overwrite partitions"
            case "update":
                face.update(text, {"v": 9, "g": "b"})
                self.rows = [(r[0], r[1], "b", 9) if holds(r) else r for r in self.rows]
                return f"update {text}"
            case "upsert":
                self.upsert(face, distinct(data, on), on)
                return f"upsert {on}"
            case _:
                self.merge(face, distinct(data, on), on, (text, holds), (other, holds_too))
                return f"merge {on}: delete where {text}, missing where {other}"

    def on(self) -> list[str]:
        """A key that tells the partition."""
        return ["k", "g"] if self.table.partition_spec.fields else ["k"]

    def delete_keys(self, face: Any, data: list[Row]) -> str:
        on = self.on()
        face.delete_keys(table_of(data), on=on)
        # Null is a key like others.
        keys = {tuple(r[NAMES.index(name)] for name in on) for r in data}
        self.rows = [r for r in self.rows if tuple(r[NAMES.index(name)] for name in on) not in keys]
        return f"delete keys {on}"

    def replace_keys(self, face: Any, data: list[Row]) -> str:
        on = self.on()
        data = [r for r in distinct(data, on) if key_of(r, on) is not None]
        face.upsert(table_of(data), on=on, blind=True)
        keys = {key_of(r, on) for r in data}
        self.rows = [r for r in self.rows if key_of(r, on) not in keys] + data
        return f"blind upsert {on}"

    def delete_positions(self, face: Any, text: str, holds: Callable[[Row], bool | None]) -> str:
        if face is not self.table:  # its rows have no file that is known
            return "nothing"
        face.delete_positions(face.refresh().scan(text, select=["_file", "_pos"]).to_arrow())
        self.rows = [r for r in self.rows if not holds(r)]
        return f"delete positions {text}"

    def maintain(self, face: Any, draw: random.Random) -> str:
        if face is not self.table:
            return "nothing"
        maintain = self.table.maintain
        actions: list[tuple[str, Callable[[], object]]] = [
            ("positions", lambda: maintain.rewrite_position_deletes(rewrite_all=True)),
            ("dangling", lambda: maintain.remove_dangling_deletes()),
            ("equality", lambda: maintain.convert_equality_deletes()),
            ("sorted", lambda: maintain.compact("sort", sort_by=["v", "k desc"], rewrite_all=True)),
            ("curve", lambda: maintain.compact("zorder", zorder_by=["k", "f", "v"], rewrite_all=True, where="k > 2")),
        ]
        name, act = draw.choice(actions)
        act()
        return f"maintenance: {name}"

    def upsert(self, face: Any, data: list[Row], on: list[str]) -> None:
        face.upsert(table_of(data), on=on)
        new = {key_of(r, on): r for r in data if key_of(r, on) is not None}
        keys = {key_of(r, on) for r in self.rows}
        self.rows = [new.get(key_of(r, on), r) for r in self.rows]
        self.rows += [r for r in data if key_of(r, on) is None or key_of(r, on) not in keys]

    def merge(self, face: Any, data: list[Row], on: list[str], delete: Any, missing: Any) -> None:
        face.merge(
            table_of(data),
            on,
            when_matched_update={"v": "v"},
            when_matched_delete=delete[0],
            when_not_matched_insert=True,
            when_not_matched_by_source_delete=missing[0],
        )
        new = {key_of(r, on): r for r in data if key_of(r, on) is not None}
        keys = {key_of(r, on) for r in self.rows}
        out = []
        for row in self.rows:
            match = new.get(key_of(row, on))
            if match is None:
                out += [] if missing[1](row) else [row]
            elif not delete[1](match):
                out.append((*row[:3], match[3]))
        # A condition of deletes keeps rows from being inserted; "true" is not one.
        new = [r for r in data if delete[0] == "true" or not delete[1](r)]
        self.rows = out + [r for r in new if key_of(r, on) is None or key_of(r, on) not in keys]


class Clients:
    """Two clients of one table: one of them may have a transaction while the other commits."""

    def __init__(self, model: Model, other: fz.Table) -> None:
        self.model, self.tables = model, [model.table, other]
        self.transaction: fz.Transaction | None = None
        self.in_transaction: list[tuple[random.Random, list[Row]]] = []
        self.before: list[Row] = []
        self.done: list[str] = []

    def step(self, seed: int, data: list[Row]) -> None:
        draw = random.Random(seed)
        table = draw.choice(self.tables)
        if self.transaction is None and draw.random() < 0.3:
            self.transaction, self.in_transaction = table.transaction(), []
            self.before = list(self.model.rows)
        elif self.transaction is not None and draw.random() < 0.25:
            self.interfere(table, random.Random(seed), data)
            return
        if self.transaction is not None:
            self.in_transaction.append((random.Random(seed), data))
        what = self.model.step(self.transaction or table, random.Random(seed), data)
        self.done.append(("in " if self.transaction else "") + what)
        if self.transaction is not None and draw.random() < 0.4:
            self.commit()

    def interfere(self, table: fz.Table, draw: random.Random, data: list[Row]) -> None:
        """Commits while the transaction is open. The transaction comes afterwards, if at all."""
        ours, self.model.rows = self.model.rows, self.before
        self.done.append("meanwhile " + self.model.step(table, draw, data))
        self.before, self.model.rows = self.model.rows, ours

    def commit(self) -> None:
        if self.transaction is None:
            return
        self.model.rows = self.before
        others = self.tables[0].refresh().metadata_location
        try:
            self.transaction.commit()
        except fz.CommitConflictError:
            self.done.append("conflict")
        else:
            self.done.append("commit")
            # What changed nothing counts as the earlier one.
            is_new = self.tables[0].refresh().metadata_location != others
            steps = self.in_transaction if is_new else []
            for draw, data in steps:
                self.model.step(Nobody(), draw, data)
        self.transaction = None


@pytest.mark.parametrize("partitioned", [False, True], ids=["whole", "partitioned"])
@pytest.mark.parametrize(
    ("version", "mode"), [(1, "copy-on-write"), (2, "copy-on-write"), (2, "merge-on-read"), (3, "merge-on-read")]
)
@settings(max_examples=sequences(12, share=8), deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(st.tuples(st.integers(0, 2**32), ROWS), min_size=2, max_size=7), first=ROWS)
def test_as_a_list_says(
    tmp_path_factory: pytest.TempPathFactory,
    version: int,
    mode: str,
    partitioned: bool,
    steps: list[tuple[int, list[Row]]],
    first: list[Row],
) -> None:
    root: pathlib.Path = tmp_path_factory.mktemp("rows")
    catalog = fz.catalog("m", warehouse=root)
    catalog.create_namespace("db")
    modes = {f"write.{command}.mode": mode for command in ("delete", "update", "merge")}
    properties = {"format-version": str(version), **modes}
    table = catalog.create_table("db.t", SCHEMA, partition_by=["g"] if partitioned else [], properties=properties)
    table.append(table_of(first))
    model = Model(table)
    model.rows += first
    clients = Clients(model, fz.open_table(table.location))
    for seed, data in steps:
        clients.step(seed, data)
        if clients.transaction is None:
            check(table.refresh(), model, clients.done, root)
    clients.commit()
    check(table.refresh(), model, clients.done, root)
    for snapshot_id, rows in model.then.items():
        assert multiset(rows_at(table, snapshot_id)) == multiset(rows), clients.done
    shutil.rmtree(root)


def rows_at(table: fz.Table, at: int | None) -> list[Row]:
    return [tuple(row[name] for name in NAMES) for row in table.scan(at=at).to_arrow().to_pylist()]


def check(table: fz.Table, model: Model, done: list[str], root: pathlib.Path) -> None:
    assert multiset(rows_at(table, None)) == multiset(model.rows), done
    if table.snapshot is not None:
        model.then[table.snapshot.id] = list(model.rows)
    if table.format_version >= 3:
        ids = table.scan(select=["_row_id"]).to_arrow()["_row_id"].to_pylist()
        assert len(set(ids)) == len(ids), done
        assert None not in ids, done
    live = {path.removeprefix("file:") for path in table.inspect.all_files()["file_path"].to_pylist()}
    assert {str(path) for path in root.glob("db/t/data/**/*.*")} <= live, done
