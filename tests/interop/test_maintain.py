"""Maintenance side by side with Java: the same files go, and Java reads what stays."""

import datetime as dt
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from java_api import JavaTable
from java_side import NAMESPACE, Java, assert_same_rows, exact

import frazil as fz

NOW = dt.timedelta(0)


def frazil_rows(table: fz.Table, at: int | None = None) -> list[str]:
    return exact(table.scan(at=at).to_arrow())


def history(java: Java, version: int) -> str:
    """A table with appends, deletes, a branch and a tag."""
    properties = {"write.delete.mode": "merge-on-read"}
    table = java.create("maintained", "id bigint, part int", "part", version, properties)
    for i in range(4):
        java.insert(table, f"({i}, 0), ({i + 10}, 1), ({i + 20}, 1), ({i + 30}, 2)")
    java.sql(f"delete from ice.{NAMESPACE}.{table} where id in (1, 10, 21, 30)")
    java.alter(table, "create tag kept")
    java.sql(f"delete from ice.{NAMESPACE}.{table} where part = 0")
    java.alter(table, "create branch audit")
    java.sql(f"insert into ice.{NAMESPACE}.{table}.branch_audit values (99, 3)")
    java.sql(f"delete from ice.{NAMESPACE}.{table} where part = 2")
    java.insert(table, "(50, 4)")
    return table


def live_entries(java: Java, table: str) -> list[tuple[Any, ...]]:
    columns = "snapshot_id, sequence_number, file_sequence_number, data_file.file_path, data_file.record_count"
    found = java.metadata(table, "entries", f"status, {columns}")
    return sorted(tuple(row)[1:] for row in found if row.status != 2)


def java_expires(java: Java, table: str, retain_last: int) -> set[str]:
    """Paths that Java would delete: its own expiry with a function that only takes note."""
    side = JavaTable(java, table)
    actions = side.jvm.org.apache.iceberg.spark.actions.SparkActions.get()
    before = set(tree(java.root(table)))
    far = int(dt.datetime.now().timestamp() * 1000) + 1000
    actions.expireSnapshots(side.table).expireOlderThan(far).retainLast(retain_last).execute()
    return {p for p in before - tree(java.root(table)) if not Path(p).name.startswith(".")}


def tree(root: str) -> set[str]:
    return {str(path) for path in Path(root).rglob("*") if path.is_file()}


@pytest.mark.parametrize("version", [2, 3])
def test_the_same_files_expire_as_with_java(java: Java, version: int) -> None:
    table = history(java, version)
    ours = fz.open_table(java.root(table))
    java.alter(table, "drop tag kept")
    ours.refresh()
    planned = ours.maintain.expire_snapshots(
        older_than=dt.datetime.now(dt.timezone.utc) + dt.timedelta(seconds=1), retain_last=2, dry_run=True
    )
    # In version 3 one file holds the deletion vectors of several data files. Some of these files stay.
    assert bool(planned.position_delete_files) == (version == 2)
    assert planned.data_files
    assert planned.manifests
    rows = java.read(table)
    theirs = java_expires(java, table, 2)
    assert {path.removeprefix("file:") for path in planned.files} == theirs
    assert_same_rows(frazil_rows(ours.refresh()), rows)


@pytest.mark.parametrize("version", [2, 3])
def test_java_goes_on_after_expiry_and_rewritten_manifests(java: Java, version: int) -> None:
    table = history(java, version)
    ours = fz.open_table(java.root(table))
    entries, rows = live_entries(java, table), java.read(table)
    done = ours.maintain.rewrite_manifests(target_size_bytes=16 << 10)
    assert done.rewritten
    assert done.added
    java.sql(f"refresh table ice.{NAMESPACE}.{table}")
    assert live_entries(java, table) == entries
    assert_same_rows(java.read(table), rows)
    kept = {
        row.snapshot_id: java.read(table, version=f"version as of {row.snapshot_id}")
        for row in java.metadata(table, "refs", "snapshot_id")
    }
    expired = ours.maintain.expire_snapshots(older_than=NOW)
    assert expired.snapshots
    assert expired.deleted
    assert expired.failed == {}
    java.sql(f"refresh table ice.{NAMESPACE}.{table}")
    assert set(java.snapshot_ids(table)) == set(kept)
    for id_, expected in kept.items():
        assert_same_rows(java.read(table, version=f"version as of {id_}"), expected)
        assert_same_rows(frazil_rows(ours, id_), expected)
    java.insert(table, "(1000, 0)")
    java.sql(f"delete from ice.{NAMESPACE}.{table} where id = 50")
    assert_same_rows(frazil_rows(ours.refresh()), java.read(table))


def test_the_same_orphans_as_with_java(java: Java) -> None:
    table = history(java, 2)
    root = Path(java.root(table))
    for name in ("data/part=0/x.parquet", "data/_hidden/x", "data/.y", "z", "metadata/w.avro"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")
    shutil.copy(next(root.glob("data/part=1/*.parquet")), root / "data" / "part=1" / "copy.parquet")
    ours = fz.open_table(str(root))
    ours.maintain.expire_snapshots(older_than=NOW, delete_files=False)
    then = (dt.datetime.now() - dt.timedelta(days=10)).timestamp()
    for path in tree(str(root)):
        os.utime(path, (then, then))
    (root / "data" / "young.parquet").write_bytes(b"x")
    java.sql(f"refresh table ice.{NAMESPACE}.{table}")
    planned = ours.maintain.remove_orphan_files(dry_run=True)
    found = java.sql(f"call ice.system.remove_orphan_files(table => '{NAMESPACE}.{table}', dry_run => true)")
    theirs = {row.orphan_file_location.removeprefix("file:") for row in found}
    assert {path.removeprefix("file:") for path in planned.files} == theirs
    assert len(theirs) > 4
    rows = java.read(table)
    assert ours.maintain.remove_orphan_files().files == planned.files
    assert java.sql(f"call ice.system.remove_orphan_files(table => '{NAMESPACE}.{table}', dry_run => true)") == []
    assert_same_rows(frazil_rows(fz.open_table(str(root))), rows)


@pytest.mark.parametrize("version", [2, 3])
def test_java_reads_what_was_compacted(java: Java, version: int) -> None:
    table = history(java, version)
    ours = fz.open_table(java.root(table))
    rows = java.read(table)
    lineage = "id, part, _row_id, _last_updated_sequence_number" if version == 3 else "id, part"
    identity = java.read(table, columns=lineage)
    ids = java.snapshot_ids(table)
    past = {id_: java.read(table, version=f"version as of {id_}") for id_ in ids}
    done = ours.maintain.compact(min_input_files=2)
    assert done.rewritten_files >= 4
    assert done.commits == 1
    java.sql(f"refresh table ice.{NAMESPACE}.{table}")
    assert_same_rows(java.read(table), rows)
    assert_same_rows(java.read(table, columns=lineage), identity)
    assert_same_rows(frazil_rows(ours), rows)
    assert not any(task.deletes for task in ours.scan().plan_files())
    for id_, expected in past.items():
        assert_same_rows(java.read(table, version=f"version as of {id_}"), expected)
        assert_same_rows(frazil_rows(ours, id_), expected)
    (snapshot,) = java.metadata(table, "snapshots where operation = 'replace'", "summary")
    assert snapshot.summary["total-data-files"] == str(len(list(ours.scan().plan_files())))
    java.sql(f"delete from ice.{NAMESPACE}.{table} where id in (11, 23)")
    java.insert(table, "(77, 1)")
    assert_same_rows(frazil_rows(ours.refresh()), java.read(table))
    ours.maintain.compact(rewrite_all=True)
    ours.maintain.expire_snapshots(older_than=NOW)
    java.sql(f"refresh table ice.{NAMESPACE}.{table}")
    assert_same_rows(java.read(table), frazil_rows(ours))
    assert java.read(table, "id in (11, 23)") == []


def test_the_same_files_are_compacted_as_with_java(java: Java) -> None:
    names = [java.create("planned", "id bigint, part int", "part", 2, {}) for _ in range(2)]
    for table in names:
        for part, count in ((0, 3), (1, 6), (2, 8)):
            for i in range(count):
                java.insert(table, ", ".join(f"({part * 10000 + i * 100 + k}, {part})" for k in range(5)))
    for options in ({}, {"min-input-files": "3"}, {"rewrite-all": "true"}):
        ours = fz.open_table(java.root(names[0]))
        arguments = {key.replace("-", "_"): json.loads(value) for key, value in options.items()}
        done = ours.maintain.compact(**arguments)
        listed = ", ".join(f"'{key}', '{value}'" for key, value in options.items())
        given = f", options => map({listed})" if listed else ""
        (theirs,) = java.sql(f"call ice.system.rewrite_data_files(table => '{NAMESPACE}.{names[1]}'{given})")
        counts = (done.rewritten_files, done.added_files)
        assert counts == (theirs.rewritten_data_files_count, theirs.added_data_files_count), options
        assert_same_rows(frazil_rows(ours), java.read(names[1]))


SPREAD = [
    (i * 7919 % 1009 - 500, (i * 104729 % 997) / 4 - 60, f"{i * 31 % 89:03d}é{i}", i % 3 == 0) for i in range(300)
]
ORDERS = {
    "sort": ["b desc nulls last", "id asc nulls first"],
    "zorder": ["a", "b"],
    "zorder, many types": ["s", "ok", "day", "ts", "raw", "b"],
}


@pytest.mark.parametrize("what", ORDERS)
def test_rows_are_in_the_order_that_java_gives_them(java: Java, what: str) -> None:
    columns = "id bigint, a int, b double, s string, ok boolean, day date, ts timestamp, raw binary"
    names = [java.create("ordered", columns, "", 2, {}) for _ in range(2)]
    values = ", ".join(
        f"({i}, {'null' if i % 17 == 0 else a}, {b}, '{s}', {str(ok).lower()}, date_add(date'1970-01-01', {a}), "
        f"timestamp'2020-01-01 00:00:00' + make_interval(0, 0, 0, {a}), cast('{s[::-1]}' as binary))"
        for i, (a, b, s, ok) in enumerate(SPREAD)
    )
    for name in names:
        java.insert(name, values)
    strategy = what.split(",")[0]
    ours = fz.open_table(java.root(names[0]))
    by = {"sort": "sort_by", "zorder": "zorder_by"}[strategy]
    done = ours.maintain.compact(strategy, rewrite_all=True, **{by: ORDERS[what]})  # type: ignore[arg-type]
    order = ", ".join(ORDERS[what])
    order = f"zorder({order})" if strategy == "zorder" else order
    java.sql(
        f"call ice.system.rewrite_data_files(table => '{NAMESPACE}.{names[1]}', strategy => 'sort', "
        f"sort_order => '{order}', options => map('rewrite-all', 'true'))"
    )
    assert done.added_files == 1
    java.sql(f"refresh table ice.{NAMESPACE}.{names[0]}")
    placed = [[row[0] for row in java.sql(f"select id from ice.{NAMESPACE}.{n} order by _file, _pos")] for n in names]
    assert placed[0] == placed[1]
    recorded = [{row[0] for row in java.metadata(n, "files", "sort_order_id")} for n in names]
    assert recorded[0] == recorded[1] == {0}


@pytest.mark.parametrize("version", [2, 3])
def test_java_goes_on_after_sorting(java: Java, version: int) -> None:
    table = history(java, version)
    java.sql(f"alter table ice.{NAMESPACE}.{table} write ordered by id desc")
    lineage = "id, part, _row_id, _last_updated_sequence_number" if version == 3 else "id, part"
    rows = java.read(table, columns=lineage)
    ours = fz.open_table(java.root(table))
    ours.maintain.compact("sort", rewrite_all=True)
    java.sql(f"refresh table ice.{NAMESPACE}.{table}")
    assert_same_rows(java.read(table, columns=lineage), rows)
    recorded = {row[0] for row in java.metadata(table, "data_files", "sort_order_id")}
    assert recorded == {ours.sort_order.id} != {0}
    java.sql(f"delete from ice.{NAMESPACE}.{table} where id = 11")
    java.insert(table, "(100, 1), (101, 1)")
    assert_same_rows(frazil_rows(ours.refresh()), java.read(table))


def with_deletes(java: Java, stem: str) -> str:
    """A table of version 2 whose partitions have several small position delete files."""
    table = java.create(stem, "id bigint, part int", "part", 2, {"write.delete.mode": "merge-on-read"})
    for part in range(3):
        java.insert(table, ", ".join(f"({part * 100 + k}, {part})" for k in range(20)))
        java.insert(table, ", ".join(f"({part * 100 + k}, {part})" for k in range(20, 40)))
    for k in (3, 4, 5, 25):
        java.sql(f"delete from ice.{NAMESPACE}.{table} where id % 100 = {k} and part < 2")
    java.sql(f"delete from ice.{NAMESPACE}.{table} where id in (210, 211)")
    return table


def test_the_same_position_deletes_are_rewritten_as_with_java(java: Java) -> None:
    names = [with_deletes(java, "positions") for _ in range(2)]
    for options in ({}, {"min-input-files": "3"}, {"rewrite-all": "true"}):
        ours = fz.open_table(java.root(names[0]))
        arguments = {key.replace("-", "_"): json.loads(value) for key, value in options.items()}
        done = ours.maintain.rewrite_position_deletes(**arguments)
        listed = ", ".join(f"'{key}', '{value}'" for key, value in options.items())
        given = f", options => map({listed})" if listed else ""
        (theirs,) = java.sql(f"call ice.system.rewrite_position_delete_files(table => '{NAMESPACE}.{names[1]}'{given})")
        counts = (done.rewritten_files, done.added_files)
        assert counts == (theirs.rewritten_delete_files_count, theirs.added_delete_files_count), options
        java.sql(f"refresh table ice.{NAMESPACE}.{names[0]}")
        assert_same_rows(frazil_rows(ours), java.read(names[0]))
        assert_same_rows(frazil_rows(ours), java.read(names[1]))
    java.sql(f"delete from ice.{NAMESPACE}.{names[0]} where id in (6, 7, 212)")
    assert_same_rows(frazil_rows(ours.refresh()), java.read(names[0]))


def test_deletes_of_an_upgraded_table_become_vectors(java: Java) -> None:
    table = with_deletes(java, "upgraded")
    full = f"ice.{NAMESPACE}.{table}"
    ours = fz.open_table(java.root(table))
    ours.delete_keys(exact_rows([(8, 0), (108, 1)]), on=["id", "part"])
    java.sql(f"alter table {full} set tblproperties ('format-version' = '3')")
    java.sql(f"delete from {full} where id = 6")
    rows = java.read(table)
    done = ours.refresh().maintain.rewrite_position_deletes()
    assert done.rewritten_files >= done.added_files > 0
    ours.maintain.convert_equality_deletes()
    java.sql(f"refresh table {full}")
    kinds = {tuple(row) for row in java.metadata(table, "delete_files", "content, file_format")}
    assert kinds == {(1, "PUFFIN")}
    assert_same_rows(java.read(table), rows)
    assert_same_rows(frazil_rows(ours), rows)
    java.sql(f"delete from {full} where id in (9, 109, 213)")
    java.sql(f"update {full} set id = 1000 where id = 10")
    assert_same_rows(frazil_rows(ours.refresh()), java.read(table))
    java.sql(
        f"call ice.system.rewrite_data_files(table => '{NAMESPACE}.{table}', options => map('rewrite-all', 'true'))"
    )
    assert_same_rows(frazil_rows(ours.refresh()), java.read(table))


def exact_rows(pairs: list[tuple[int, int]]) -> Any:
    schema = pa.schema([("id", pa.int64()), ("part", pa.int32())])
    return pa.Table.from_pylist([{"id": i, "part": p} for i, p in pairs], schema=schema)


@pytest.mark.parametrize("version", [2, 3])
def test_the_same_deletes_dangle_as_with_java(java: Java, version: int) -> None:
    names = [with_deletes(java, "dangling") for _ in range(2)]
    left = []
    for name in names:
        table = fz.open_table(java.root(name))
        table.delete_keys(exact_rows([(8, 0), (108, 1)]), on=["id", "part"])
        if version == 3:
            java.sql(f"alter table ice.{NAMESPACE}.{name} set tblproperties ('format-version' = '3')")
            java.sql(f"delete from ice.{NAMESPACE}.{name} where id in (9, 12, 109)")
    where = {"where": "part = 0"}
    ours = fz.open_table(java.root(names[0]))
    ours.maintain.compact(rewrite_all=True, **where)  # type: ignore[arg-type]
    ours.maintain.remove_dangling_deletes()
    java.sql(
        f"call ice.system.rewrite_data_files(table => '{NAMESPACE}.{names[1]}', where => 'part = 0', "
        "options => map('rewrite-all', 'true', 'remove-dangling-deletes', 'true'))"
    )
    for name in names:
        java.sql(f"refresh table ice.{NAMESPACE}.{name}")
        columns = "content, file_format, record_count, partition.part"
        left.append(sorted(tuple(row) for row in java.metadata(name, "delete_files", columns)))
    assert left[0] == left[1] != []
    assert_same_rows(frazil_rows(ours), java.read(names[1]))
    assert_same_rows(frazil_rows(ours), java.read(names[0]))
