"""Changes of rows side by side with Java: the same change by each, on a table of its own, then on each other's."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from java_side import NAMESPACE, Java, assert_same_rows, exact

import frazil as fz

COLUMNS = "id bigint, g string, v int, x double"
VALUES = ", ".join(
    f"({'null' if i == 19 else i}, {'null' if i % 7 == 0 else repr('ab'[i % 2])}, {i % 5}, "
    f"{'null' if i % 6 == 0 else i / 4})"
    for i in range(40)
)
LINEAGE = "id, v, _row_id, _last_updated_sequence_number"
CASES = [(1, "copy-on-write", "g"), (2, "copy-on-write", ""), (2, "merge-on-read", "g")]
CASES += [(3, "copy-on-write", "g"), (3, "merge-on-read", "")]


def source(first: int, count: int, v: int) -> pa.Table:
    ids = list(range(first, first + count))
    schema = pa.schema([("id", pa.int64()), ("g", pa.string()), ("v", pa.int32()), ("x", pa.float64())])
    return pa.table([ids, ["ab"[i % 2] for i in ids], [v] * count, [i / 2 for i in ids]], schema=schema)


def values(rows: pa.Table) -> str:
    return ", ".join(f"({r['id']}, '{r['g']}', {r['v']}, {r['x']})" for r in rows.to_pylist())


class Side:
    """One table, changed by Frazil or by Java."""

    def __init__(self, java: Java, name: str) -> None:
        self.java, self.name = java, name
        self.full = f"ice.{NAMESPACE}.{name}"
        self.frazil = fz.open_table(java.root(name))

    def by_frazil(self, step: int) -> None:
        table = self.frazil.refresh()
        match step:
            case 0:
                table.delete("id between 3 and 5")
            case 1:
                table.update("x > 7 or g is null", {"v": 100, "x": None})
            case 2:
                table.upsert(source(30, 15, 7), on=["id"])
            case 3:
                table.merge(
                    source(10, 20, 50).set_column(2, "v", pa.array([50] * 10 + [-1] * 10, pa.int32())),
                    on=["id"],
                    when_matched_delete="v < 0",
                    when_matched_update={"v": "v"},
                    when_not_matched_by_source_delete="id >= 40",
                )
            case 4:
                table.delete("g = 'a'")
            case 5:
                table.delete("id = 7").delete("id = 9").delete("id is null")

    def by_java(self, step: int) -> None:
        table, sql = self.full, self.java.sql
        match step:
            case 0:
                sql(f"delete from {table} where id between 3 and 5")
            case 1:
                sql(f"update {table} set v = 100, x = null where x > 7 or g is null")
            case 2:
                sql(
                    f"merge into {table} t using (select * from values {values(source(30, 15, 7))} s(id, g, v, x)) s "
                    "on t.id = s.id when matched then update set * when not matched then insert *"
                )
            case 3:
                rows = source(10, 20, 50).set_column(2, "v", pa.array([50] * 10 + [-1] * 10, pa.int32()))
                sql(
                    f"merge into {table} t using (select * from values {values(rows)} s(id, g, v, x)) s on t.id = s.id "
                    "when matched and s.v < 0 then delete when matched then update set t.v = s.v "
                    "when not matched by source and t.id >= 40 then delete"
                )
            case 4:
                sql(f"delete from {table} where g = 'a'")
            case 5:
                for what in ("id = 7", "id = 9", "id is null"):
                    sql(f"delete from {table} where {what}")

    def check(self, what: str) -> list[str]:
        """Java's and Frazil's reading of the table."""
        theirs = self.java.read(self.name)
        assert_same_rows(exact(self.frazil.refresh().scan().to_arrow()), theirs, what)
        if self.frazil.format_version >= 3:
            lineage = LINEAGE.split(", ")
            ours = exact(self.frazil.scan(select=lineage).to_arrow())
            assert_same_rows(ours, self.java.read(self.name, columns=LINEAGE), f"lineage, {what}")
            vectors = self.java.metadata(self.name, "delete_files", "referenced_data_file")
            assert max(Counter(row[0] for row in vectors).values(), default=0) <= 1, what
        return theirs

    def row_ids(self) -> dict[Any, int]:
        rows = self.java.sql(f"select id, _row_id from {self.full}")
        return {row[0]: row[1] for row in rows}


@pytest.mark.parametrize(("version", "mode", "partitioned_by"), CASES)
def test_the_same_changes_by_both(java: Java, version: int, mode: str, partitioned_by: str) -> None:
    properties = {f"write.{command}.mode": mode for command in ("delete", "update", "merge")}
    names = [java.create("row_level", COLUMNS, partitioned_by, version, properties) for _ in range(2)]
    for name in names:
        java.insert(name, VALUES)
    ours, theirs = (Side(java, name) for name in names)
    for step in range(6):
        # Every other step is done by the other: each goes on where the other stopped.
        swapped = step % 2 == 1 or step == 4
        before = ours.row_ids() if version >= 3 else {}
        (ours.by_java if swapped else ours.by_frazil)(step)
        (theirs.by_frazil if swapped else theirs.by_java)(step)
        what = f"v{version} {mode}, step {step}"
        assert_same_rows(ours.check(what), theirs.check(what), what)
        after = ours.row_ids() if version >= 3 else {}
        kept = before.keys() & after.keys()
        assert {key: before[key] for key in kept} == {key: after[key] for key in kept}, what
    operations = [[row[0] for row in java.metadata(name, "snapshots", "operation")] for name in names]
    assert len(operations[0]) == len(operations[1]), operations
    for side in (ours, theirs):
        entries = java.metadata(side.name, "entries", "status, data_file.content, data_file.record_count")
        assert entries
        last = side.frazil.snapshot
        live = sum(row[2] for row in java.metadata(side.name, "data_files", "content, file_path, record_count"))
        assert last is not None
        assert int(last.summary["total-records"]) == live


def test_overwrites_as_java_sees_them(java: Java) -> None:
    name = java.create("overwrites", COLUMNS, "g", 2)
    java.insert(name, VALUES)
    table = fz.open_table(java.root(name))
    table.overwrite(source(0, 6, 9), where="id < 10")
    assert_same_rows(exact(table.scan().to_arrow()), java.read(name), "where")
    table.overwrite_partitions(source(100, 1, 9))
    assert {row[0] for row in java.sql(f"select distinct g from ice.{NAMESPACE}.{name}")} == {None, "a", "b"}
    assert java.read(name, "g = 'a'") == exact(source(100, 1, 9))
    java.sql(f"insert overwrite ice.{NAMESPACE}.{name} values (1, 'c', 1, 1.0)")
    assert_same_rows(exact(table.refresh().scan().to_arrow()), java.read(name), "insert overwrite")
    table.overwrite(source(0, 2, 1))
    assert_same_rows(java.read(name), exact(source(0, 2, 1)), "all")
