"""Java Iceberg writes, Frazil tells what changed: compared with Java's changelog, and, where Java refuses, with the
rows before and after each commit."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import pytest
from java_side import NAMESPACE, Java

import frazil as fz

CHANGE_COLUMNS = ["_change_type", "_change_ordinal", "_commit_snapshot_id"]


def rows_of(table: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def write(java: Java, mode: str, version: int, partitioned_by: str = "") -> str:
    """A table with appends, deletes, updates and merges."""
    modes = {f"write.{what}.mode": mode for what in ("delete", "update", "merge")}
    table = java.create("changes", "id bigint, country string, n int", partitioned_by, version, modes)
    name = f"ice.{NAMESPACE}.{table}"
    java.insert(table, ", ".join(f"({i}, '{'NO' if i % 2 else 'SE'}', {i % 7})" for i in range(40)))
    java.insert(table, "(100, 'DK', 1), (101, 'NO', 4), (102, null, 3), (103, 'NO', null)")
    java.sql(f"delete from {name} where id in (3, 4, 100)")
    java.sql(f"update {name} set n = n + 100 where id between 10 and 14 or id = 101")
    java.sql(f"delete from {name} where id = 5 or id = 12")
    java.sql(
        f"""merge into {name} t using
            (select * from values (20L, 'NO', -1), (500L, 'FI', 0) as v(id, country, n)) s on t.id = s.id
            when matched then update set n = s.n, country = s.country when not matched then insert *"""
    )
    java.sql(f"delete from {name} where country = 'SE'")
    java.sql(f"insert overwrite {name} select id, country, n + 1 from {name} where country = 'NO'")
    return table


@pytest.mark.parametrize(("version", "partitioned_by"), [(1, ""), (2, "country"), (2, "bucket(3, id)")])
def test_copy_on_write_as_java(java: Java, version: int, partitioned_by: str) -> None:
    table = write(java, "copy-on-write", version, partitioned_by)
    theirs = java.spark.sql(f"select * from ice.{NAMESPACE}.{table}.changes").toArrow()
    scan = fz.open_table(java.root(table)).changes()
    ours = scan.to_arrow()
    assert ours.schema.names[-3:] == CHANGE_COLUMNS
    as_java = Counter((*row[:-3], row[-3].upper(), *row[-2:]) for row in rows_of(ours).elements())
    assert as_java == rows_of(theirs)
    assert scan.count() == ours.num_rows == theirs.num_rows


def test_rows_with_ids_are_netted_as_java(java: Java) -> None:
    table = write(java, "copy-on-write", 3)
    java.sql(
        f"""call ice.system.create_changelog_view(table => '{NAMESPACE}.{table}', changelog_view => 'netted',
            compute_updates => true, identifier_columns => array('id'))"""
    )
    opened = fz.open_table(java.root(table))
    # Java tells updates by key. The last commit writes all rows again: updates to Java, but with new ids.
    last = opened.snapshot
    assert last is not None
    theirs = java.spark.sql(f"select * from netted where _commit_snapshot_id <> {last.id}").toArrow()
    ours = opened.changes(at=last.parent_id).to_arrow()
    as_java = Counter((*row[:-3], row[-3].upper(), *row[-2:]) for row in rows_of(ours).elements())
    assert as_java == rows_of(theirs)
    assert {"insert", "delete", "update_before", "update_after"} == set(ours["_change_type"].to_pylist())


@pytest.mark.parametrize(("version", "partitioned_by"), [(2, ""), (2, "country"), (3, ""), (3, "bucket(3, id)")])
def test_merge_on_read_is_the_difference_of_versions(java: Java, version: int, partitioned_by: str) -> None:
    table = write(java, "merge-on-read", version, partitioned_by)
    java.sql(f"call ice.system.rewrite_position_delete_files(table => '{NAMESPACE}.{table}')")
    opened = fz.open_table(java.root(table))
    counting = [s for s in opened.snapshots if s.operation != "replace"]
    everything = opened.changes().to_arrow().to_pylist()
    splits = pickle.loads(pickle.dumps(opened.changes().plan(split_size_bytes=500)))
    in_splits = Counter(tuple(row.values()) for split in splits for row in split.to_arrow().to_pylist())
    assert in_splits == Counter(tuple(row.values()) for row in everything)
    for filter in (None, "id > 10 and country = 'NO'", "n < 3"):
        versions = {s.id: rows_of(opened.scan(filter, at=s.id).to_arrow()) for s in opened.snapshots}
        versions[None] = Counter()
        for ordinal, snapshot in enumerate(counting):
            since = None if snapshot.parent_id is None else snapshot.parent_id
            changes = opened.changes(filter, since=since, at=snapshot.id).to_arrow()
            got: Counter[tuple[Any, ...]] = Counter()
            for row in changes.to_pylist():
                kind, _, commit = (row.pop(name) for name in CHANGE_COLUMNS)
                assert commit == snapshot.id
                got[tuple(row.values())] += 1 if kind in ("insert", "update_after") else -1
            want = versions[snapshot.id].copy()
            want.subtract(versions[snapshot.parent_id])
            assert {k: v for k, v in got.items() if v} == {k: v for k, v in want.items() if v}
            if filter is None:
                assert [r["_change_ordinal"] for r in everything].count(ordinal) == changes.num_rows
                if snapshot.operation in ("delete", "append"):
                    only = {"delete": "delete", "append": "insert"}[snapshot.operation]
                    assert set(changes["_change_type"].to_pylist()) == {only}
    if version == 3:
        updates = [r for r in everything if r["_change_type"].startswith("update")]
        assert sorted(r["id"] for r in updates if r["_change_type"] == "update_after") == [10, 11, 12, 13, 14, 20, 101]


def test_appends_are_read_alone(java: Java) -> None:
    table = write(java, "merge-on-read", 2)
    opened = fz.open_table(java.root(table))
    first = opened.snapshots[0]
    theirs = java.spark.read.format("iceberg").option("start-snapshot-id", str(first.id))
    for at in opened.snapshots[1:]:
        expected = theirs.option("end-snapshot-id", str(at.id)).load(f"ice.{NAMESPACE}.{table}")
        assert rows_of(opened.scan(since=first.id, at=at.id).to_arrow()) == rows_of(expected.toArrow())
