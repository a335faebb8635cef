"""Row deltas and rewrites by Frazil as Java reads them, and Java going on."""

from typing import Any

import pyarrow as pa
import pytest
from java_side import NAMESPACE, Java, assert_same_rows, exact

import frazil as fz

SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string()), ("v", pa.int32())])
LINEAGE = ["id", "v", "_row_id", "_last_updated_sequence_number"]


def rows(ids: list[int | None], g: str | None, v: int) -> pa.Table:
    return pa.table([ids, [g] * len(ids), [v] * len(ids)], schema=SCHEMA)


def entries(java: Java, name: str) -> list[tuple[Any, ...]]:
    columns = "status, sequence_number, data_file.content, data_file.file_path, data_file.record_count"
    return sorted(tuple(row) for row in java.metadata(name, "entries", columns))


def ours(table: fz.Table) -> list[tuple[Any, ...]]:
    found = table.inspect.entries().to_pylist()
    inner = ("content", "file_path", "record_count")
    return sorted((r["status"], r["sequence_number"], *(r["data_file"][c] for c in inner)) for r in found)


def check(java: Java, table: fz.Table, name: str, what: str) -> None:
    java.sql(f"refresh table ice.{NAMESPACE}.{name}")
    assert_same_rows(exact(table.refresh().scan().to_arrow()), java.read(name), what)
    assert ours(table) == entries(java, name), what
    if table.format_version > 2:
        lineage = exact(table.scan(select=LINEAGE).to_arrow())
        assert_same_rows(lineage, java.read(name, columns=", ".join(LINEAGE)), f"lineage, {what}")


@pytest.mark.parametrize(("version", "by"), [(2, "g"), (2, ""), (3, "g"), (3, "")])
def test_deltas_in_turn(java: Java, version: int, by: str) -> None:
    properties = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}
    name = java.create("deltas", "id bigint, g string, v int", by, version, properties)
    full = f"ice.{NAMESPACE}.{name}"
    java.insert(name, ", ".join(f"({i}, '{'ab'[i % 2]}', 0)" for i in range(20)))
    java.insert(name, "(null, 'a', 1), (30, null, 1)")
    table = fz.open_table(java.root(name))
    on = ["id", "g"] if by else ["id"]
    table.delete_keys(pa.concat_tables([rows([2, 4, None], "a", 0), rows([30], None, 0)]), on=on)
    check(java, table, name, "keys")
    table.upsert(rows([6, 8, 100], "a", 7), on=on, blind=True)
    check(java, table, name, "upsert")
    table.delete_positions(table.scan("id in (10, 11)", select=["_file", "_pos"]).to_arrow())
    check(java, table, name, "positions")
    # Java goes on: with vectors and position deletes on the same files, and its own reading of equality deletes.
    java.sql(f"delete from {full} where id in (12, 100)")
    java.sql(f"update {full} set v = 50 where id in (1, 3)")
    check(java, table, name, "after Java")
    writers = [table.writer(task) for task in range(3)]
    messages = [
        writers[0].upsert(rows([5, 200], "b", 9), on=on),
        writers[1].delete_positions(table.scan("id = 7", select=["_file", "_pos"]).to_arrow()),
        writers[2].delete_positions(table.scan("id = 9", select=["_file", "_pos"]).to_arrow()),
    ]
    table.commit(messages)
    check(java, table, name, "messages")
    operations = [row[0] for row in java.metadata(name, "snapshots", "operation")]
    assert operations[2:5] == ["delete", "overwrite", "delete"]
    assert operations[-1] == "overwrite"
    before = java.read(name)
    java.sql(
        f"call ice.system.rewrite_data_files(table => '{NAMESPACE}.{name}', options => map('rewrite-all', 'true'))"
    )
    assert_same_rows(exact(table.refresh().scan().to_arrow()), before, "rewritten by Java")
    table.upsert(rows([5], "b", 10), on=on, blind=True)
    check(java, table, name, "at the end")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rewrites_by_messages(java: Java, version: int) -> None:
    name = java.create("rewrites", "id bigint, g string, v int", "g", version)
    java.insert(name, "(1, 'a', 0), (2, 'a', 0), (3, 'b', 0)")
    java.insert(name, "(4, 'a', 0)")
    table = fz.open_table(java.root(name))
    columns = ["id", "g", "v", *(LINEAGE[2:] if version > 2 else [])]
    before, tasks = java.read(name, columns=", ".join(columns)), list(table.scan().plan_files())
    messages = [
        table.writer(i).rewrite(table.scan(w, select=columns).to_arrow()) for i, w in enumerate(["id < 3", "id >= 3"])
    ]
    java.insert(name, "(5, 'b', 0)")
    assert table.snapshot is not None
    table.commit_rewrite(tasks, messages, at=table.snapshot.id)
    java.sql(f"refresh table ice.{NAMESPACE}.{name}")
    assert_same_rows(java.read(name, "id < 5", columns=", ".join(columns)), before, "rewritten")
    check(java, table, name, "rewritten")
    java.sql(f"delete from ice.{NAMESPACE}.{name} where id = 2")
    java.insert(name, "(6, 'a', 0)")
    check(java, table, name, "after Java")
    (snapshot,) = java.metadata(name, "snapshots where operation = 'replace'", "summary")
    assert snapshot.summary["added-records"] == snapshot.summary["deleted-records"] == "4"
