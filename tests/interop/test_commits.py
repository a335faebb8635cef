"""Commits by Frazil and Java on one table in turn: rows, entries, summaries, row ids, branches, staged commits."""

import pathlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from java_side import NAMESPACE, Java, assert_same_rows, exact

import frazil as fz

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.int32())])
# What differs between two engines that do the same.
OWN = {
    "frazil.files-id",
    "added-files-size",
    "removed-files-size",
    "total-files-size",
    "iceberg-version",
    "app-id",
    "app-name",
}


@pytest.fixture(scope="session")
def catalog(java: Java) -> Any:
    """Frazil's catalog over the warehouse that Java's catalog `ice` sees."""
    return fz.catalog("c", type="filesystem", warehouse=str(java.warehouse))


@pytest.fixture(autouse=True)
def no_wap(java: Java) -> Iterator[None]:
    yield
    java.spark.conf.unset("spark.wap.id")


def rows(*pairs: tuple[int, int]) -> pa.Table:
    return pa.Table.from_pylist([{"id": i, "p": p} for i, p in pairs], schema=SCHEMA)


def expected(*pairs: tuple[int, int]) -> list[str]:
    return exact(rows(*pairs))


def assert_both(java: Java, table: fz.Table, name: str, *pairs: tuple[int, int]) -> None:
    assert_same_rows(expected(*pairs), java.read(name), "Java's rows")
    assert_same_rows(exact(table.refresh().scan().to_arrow()), expected(*pairs), "Frazil's rows")


def entries(java: Java, name: str) -> list[tuple[Any, ...]]:
    """Live and deleted entries as Java reads them."""
    found = java.metadata(
        name, "entries", "status, snapshot_id, sequence_number, file_sequence_number, data_file.file_path"
    )
    return sorted((tuple(row) for row in found), key=lambda row: row[-1])


def ours(table: fz.Table) -> list[tuple[Any, ...]]:
    found = table.inspect.entries().to_pylist()
    columns = ("status", "snapshot_id", "sequence_number", "file_sequence_number")
    return sorted(
        ((*(row[c] for c in columns), row["data_file"]["file_path"]) for row in found), key=lambda row: row[-1]
    )


@pytest.mark.parametrize("version", [1, 2, 3])
def test_merging_and_removing_in_turn(java: Java, catalog: Any, version: int) -> None:
    name = java.fresh("turns")
    properties = {
        "format-version": str(version),
        "commit.manifest.min-count-to-merge": "3",
        "write.delete.mode": "copy-on-write" if version == 1 else "merge-on-read",
    }
    table = catalog.create_table(f"{NAMESPACE}.{name}", SCHEMA, partition_by=["p"], properties=properties)
    table.append(rows((1, 1), (2, 2)))
    java.insert(name, "(3, 3), (4, 1)")
    table.append(rows((5, 2), (6, 3)))
    assert table.snapshot.summary["manifests-replaced"] == "2"
    assert table.inspect.manifests().num_rows == 1
    assert_both(java, table, name, (1, 1), (2, 2), (3, 3), (4, 1), (5, 2), (6, 3))
    assert entries(java, name) == ours(table)

    with table.transaction() as tx:
        tx.delete_files("p = 2").append(rows((7, 2)))
    left = [(1, 1), (3, 3), (4, 1), (6, 3), (7, 2)]
    assert_both(java, table, name, *left)
    assert entries(java, name) == ours(table)
    snapshot = java.metadata(name, "snapshots")[-2]
    assert snapshot.operation == "delete"
    assert snapshot.summary["deleted-records"] == snapshot.summary["deleted-data-files"] == "2"
    assert snapshot.summary["total-records"] == "4"

    # Java goes on: rows of a file with another row are deleted by a delete file, where there are such.
    java.insert(name, "(8, 4), (9, 4), (10, 5)")
    java.sql(f"delete from ice.{NAMESPACE}.{name} where id = 8")
    java.sql(f"update ice.{NAMESPACE}.{name} set id = 30 where id = 3")
    assert_both(java, table, name, (1, 1), (30, 3), (4, 1), (6, 3), (7, 2), (9, 4), (10, 5))
    with table.transaction() as tx:
        tx.append(rows((11, 6))).delete_files("p = 4 or p = 1")
    assert_both(java, table, name, (30, 3), (6, 3), (7, 2), (10, 5), (11, 6))
    deletes = [row for row in entries(java, name) if row[0] != 2 and ".parquet" not in row[-1]]
    assert not deletes, "a deletion vector of a file that is gone"
    java.sql(f"call ice.system.rewrite_manifests('{NAMESPACE}.{name}')")
    java.sql(
        f"call ice.system.rewrite_data_files(table => '{NAMESPACE}.{name}', options => map('rewrite-all', 'true'))"
    )
    table.refresh().append(rows((12, 3)))
    assert_both(java, table, name, (30, 3), (6, 3), (7, 2), (10, 5), (11, 6), (12, 3))
    assert entries(java, name) == ours(table)


def test_row_ids_survive_merges(java: Java, catalog: Any) -> None:
    name = java.fresh("lineage")
    properties = {"format-version": "3", "commit.manifest.min-count-to-merge": "2"}
    table = catalog.create_table(f"{NAMESPACE}.{name}", SCHEMA, partition_by=["p"], properties=properties)
    for n in range(4):
        table.append(rows((10 * n, 1), (10 * n + 1, 2)))
        java.insert(name, f"({10 * n + 2}, 1)")
    before = {row.id: (row._row_id, row._last_updated_sequence_number) for row in lineage(java, name)}
    assert len({row_id for row_id, _ in before.values()}) == 12
    with table.refresh().transaction() as tx:
        tx.append(rows((100, 1))).delete_files("p = 2")
    after = {row.id: (row._row_id, row._last_updated_sequence_number) for row in lineage(java, name)}
    assert {i: after[i] for i in after if i != 100} == {i: v for i, v in before.items() if i % 10 != 1}
    columns = ["id", "_row_id", "_last_updated_sequence_number"]
    read = table.scan(select=columns).to_arrow().to_pylist()
    assert {row["id"]: (row["_row_id"], row["_last_updated_sequence_number"]) for row in read} == after


def lineage(java: Java, name: str) -> list[Any]:
    return java.sql(f"select id, _row_id, _last_updated_sequence_number from ice.{NAMESPACE}.{name}")


@pytest.mark.parametrize("limit", ["0", "5"])
def test_summaries_are_javas(java: Java, catalog: Any, limit: str) -> None:
    properties = {"write.summary.partition-limit": limit, "write.distribution-mode": "none"}
    theirs = java.create("summary", "id bigint, p int", "p", properties=properties)
    name = java.fresh("summary")
    table = catalog.create_table(f"{NAMESPACE}.{name}", SCHEMA, partition_by=["p"], properties=properties)
    for pairs in ([(1, 1)], [(2, 2)], [(3, 1)]):
        table.append(rows(*pairs))
        java.insert(theirs, ", ".join(str(pair) for pair in pairs))
    with table.transaction() as tx:
        tx.delete_files("p = 1")
    java.sql(f"delete from ice.{NAMESPACE}.{theirs} where p = 1")
    for one, two in zip(java.metadata(name, "snapshots"), java.metadata(theirs, "snapshots"), strict=True):
        assert one.operation == two.operation
        assert plain(one.summary, two.summary) == plain(two.summary, two.summary)


def plain(summary: dict[str, str], of_java: dict[str, str]) -> dict[str, str]:
    """Without what only engines, versions or sizes differ in."""
    left = {k: v for k, v in summary.items() if k not in OWN and not k.startswith(("spark.", "engine-"))}
    counts = {k for k in left if k.startswith("manifests-") and k not in of_java}
    return {k: ",".join(m for m in v.split(",") if "files-size" not in m) for k, v in left.items() if k not in counts}


def test_staged_commits_and_branches(java: Java, catalog: Any) -> None:
    name = java.fresh("wap")
    table = catalog.create_table(f"{NAMESPACE}.{name}", SCHEMA, properties={"write.wap.enabled": "true"})
    table.append(rows((1, 1)))
    table.append(rows((2, 1)), snapshot_properties={"wap.id": "ours"})
    staged = table.snapshots[-1].id
    java.spark.conf.set("spark.wap.id", "javas")
    java.insert(name, "(3, 1)")
    java.spark.conf.unset("spark.wap.id")
    assert_both(java, table, name, (1, 1))
    java.sql(f"call ice.system.cherrypick_snapshot('{NAMESPACE}.{name}', {staged})")
    assert_both(java, table, name, (1, 1), (2, 1))
    [javas] = [s for s in table.snapshots if s.summary.get("wap.id") == "javas"]
    table.cherry_pick(javas.id)
    assert_both(java, table, name, (1, 1), (2, 1), (3, 1))
    assert table.snapshot.summary["published-wap-id"] == "javas"
    with pytest.raises(Exception, match=r"(?i)already|duplicate"):
        java.sql(f"call ice.system.cherrypick_snapshot('{NAMESPACE}.{name}', {javas.id})")
    table.append(rows((4, 1)), branch="b")
    java.sql(f"insert into ice.{NAMESPACE}.{name}.branch_b values (5, 1)")
    table.refresh().append(rows((6, 1)), branch="b")
    everything = expected(*((n, 1) for n in range(1, 7)))
    assert_same_rows(everything, java.read(name, version="version as of 'b'"))
    assert_same_rows(exact(table.scan(at="b").to_arrow()), everything)
    assert_both(java, table, name, (1, 1), (2, 1), (3, 1))


def test_added_files(java: Java, catalog: Any, tmp_path: pathlib.Path) -> None:
    name = java.fresh("added")
    table = catalog.create_table(f"{NAMESPACE}.{name}", SCHEMA, partition_by=["p"])
    for p in (1, 2):
        pq.write_table(rows((p, p), (10 * p, p)), tmp_path / f"{p}.parquet")
    table.add_files([tmp_path / "1.parquet", tmp_path / "2.parquet"])
    assert_both(java, table, name, (1, 1), (10, 1), (2, 2), (20, 2))
    assert_same_rows(java.read(name, "p = 2 and id > 5"), expected((20, 2)))
    java.sql(f"delete from ice.{NAMESPACE}.{name} where p = 1")
    assert_both(java, table, name, (2, 2), (20, 2))
