"""Transactions, branches, staged commits, and what the metadata says of them."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import pathlib

import pyarrow as pa
import pytest

import frazil as fz

PROCESSES = int(os.environ.get("FRAZIL_COMMIT_PROCESSES", "4"))
APPENDS = int(os.environ.get("FRAZIL_COMMIT_APPENDS", "12"))


def one(value: int) -> pa.Table:
    return pa.table({"id": pa.array([value], pa.int64())})


def ids(table: fz.Table, at: str | int | None = None) -> list[int]:
    return sorted(table.scan(at=at).to_arrow()["id"].to_pylist())


def metadata_files(table: fz.Table) -> set[str]:
    return {p.name for p in pathlib.Path(table.location, "metadata").iterdir()}


@pytest.fixture(params=[1, 2, 3])
def table(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> fz.Table:
    catalog = fz.catalog("c", warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    return catalog.create_table("db.t", one(0).schema, properties={"format-version": request.param})


def test_several_changes_are_one_version(table: fz.Table) -> None:
    with table.transaction() as tx:
        tx.append(one(1)).append(one(2))
        tx.set_properties({"owner": "me"})
        tx.append(one(3))
        assert fz.open_table(table.location).scan().count() == 0
    assert table.metadata_location.endswith("v2.metadata.json")
    assert ids(table) == [1, 2, 3]
    assert table.properties["owner"] == "me"
    first, second = table.snapshots
    assert (first.summary["added-data-files"], second.summary["added-data-files"]) == ("2", "1")
    assert second.parent_id == first.id
    assert second.summary["total-records"] == "3"


def test_rows_of_a_new_schema(table: fz.Table) -> None:
    table.append(one(1))
    with table.transaction() as tx:
        with tx.update_schema() as update:
            update.add_column("name", "string")
        tx.append(pa.table({"id": pa.array([2], pa.int64()), "name": ["b"]}))
        tx.set_properties(a=1).set_properties(a=0).remove_properties("write.parquet.compression-codec")
        with tx.update_partition_spec() as spec:
            spec.add_field("id")
        tx.append(pa.table({"id": pa.array([3], pa.int64()), "name": ["c"]}))
    rows = table.scan().to_arrow().sort_by("id").to_pylist()
    assert rows == [{"id": 1, "name": None}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"}]
    assert table.properties["a"] == "0"
    assert [task.data_file.partition for task in table.scan("id = 3").plan_files()] == [{"id": 3}]
    tx = table.transaction().append(one(4))
    again = tx.update_schema().add_column("name", "string")
    with pytest.raises(fz.InvalidInputError, match="name"):
        again.commit()
    tx.abort()
    assert len(table.refresh().snapshots) == 3


def test_an_exception_gives_a_transaction_up(table: fz.Table) -> None:
    before = metadata_files(table)
    tx = table.transaction()

    def fail() -> None:
        with tx:
            tx.append(one(1))
            tx.dry_run()
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert metadata_files(table) == before
    assert not list(pathlib.Path(table.location).glob("data/**/*.parquet"))
    with pytest.raises(fz.InvalidInputError, match="ended"):
        tx.append(one(1))


def test_an_empty_transaction_commits_nothing(table: fz.Table) -> None:
    with table.transaction() as tx:
        assert tx.dry_run() == fz.DryRun(0, 0, 0, 0, 0, 0, 0, None, None, 0, 0, 0)
    assert table.metadata_location.endswith("v1.metadata.json")


def test_a_dry_run_tells_what_would_happen(table: fz.Table) -> None:
    table.append(one(1))
    with table.transaction() as tx:
        tx.append(one(2)).append(one(3))
        before = metadata_files(table)
        told = tx.dry_run()
        assert metadata_files(table) == before
        assert ids(fz.open_table(table.location)) == [1]
        assert told._replace(metadata_bytes=0) == tx.dry_run()._replace(metadata_bytes=0)
    assert told._replace(metadata_bytes=0) == fz.DryRun(1, 2, 0, 2, 0, 0, 0, 3, 3, 1, 0, 0)
    new = [pathlib.Path(table.location, "metadata", name) for name in metadata_files(table) - before]
    written = sum(path.stat().st_size for path in new)
    # Numbers of one file may take a byte more or less: times, and how well random ids compress.
    assert abs(written - told.metadata_bytes) < 100
    assert ids(table) == [1, 2, 3]


def test_a_transaction_follows_other_commits(table: fz.Table) -> None:
    other = fz.open_table(table.location)
    with table.transaction() as tx:
        tx.append(one(1))
        tx.set_properties({"a": "b"})
        tx.append(one(2))
        tx.dry_run()
        other.append(one(3))
    assert ids(table) == [1, 2, 3]
    assert [s.summary["total-records"] for s in table.snapshots] == ["1", "2", "3"]
    # The lists of the dry run and of the attempt that was overtaken are gone.
    assert len([name for name in metadata_files(table) if name.startswith("snap-")]) == 3
    assert len([name for name in metadata_files(table) if "-m" in name]) == 3


def test_branches_are_appended_to(table: fz.Table) -> None:
    table.append(one(1))
    table.append(one(2), branch="audit", snapshot_properties={"by": "me"})
    assert ids(table) == [1]
    assert ids(table, at="audit") == [1, 2]
    assert table.snapshots[-1].summary["by"] == "me"
    assert table.snapshots[-1].summary["total-records"] == "2"
    with table.transaction(branch="audit") as tx:
        tx.append(one(3))
    table.commit([table.writer().write(one(4))], branch="audit")
    assert ids(table, at="audit") == [1, 2, 3, 4]
    assert ids(table) == [1]


def test_properties_cannot_override_what_is_computed(table: fz.Table) -> None:
    table.append(one(1), snapshot_properties={"total-records": "7", "added-data-files": "9", "mine": "x"})
    assert table.snapshot is not None
    assert table.snapshot.summary["total-records"] == "1"
    assert table.snapshot.summary["added-data-files"] == "1"
    assert table.snapshot.summary["mine"] == "x"


def test_commits_are_staged_and_published(table: fz.Table) -> None:
    with table.transaction() as tx:
        tx.set_properties({"write.wap.enabled": "true"})
    table.append(one(1))
    table.append(one(2), snapshot_properties={"wap.id": "w"})
    staged = table.snapshots[-1]
    assert ids(table) == [1]
    assert ids(table, at=staged.id) == [1, 2]
    assert table.snapshot is not None
    assert table.snapshot.id == staged.parent_id
    with pytest.raises(fz.InvalidInputError, match="no branch"):
        table.append(one(3), branch="b", snapshot_properties={"wap.id": "v"})
    table.cherry_pick(staged.id)
    assert table.snapshot.id == staged.id, "main just moved there"
    assert ids(table) == [1, 2]
    with pytest.raises(fz.InvalidInputError, match="already"):
        table.cherry_pick(staged.id)


def test_a_snapshot_is_picked_on_top_of_others(table: fz.Table) -> None:
    with table.transaction() as tx:
        tx.set_properties({"write.wap.enabled": "true"})
    table.append(one(1))
    table.append(one(2), snapshot_properties={"wap.id": "w"})
    staged = table.snapshots[-1]
    table.append(one(3))
    table.cherry_pick(staged.id)
    assert ids(table) == [1, 2, 3]
    assert table.snapshot is not None
    assert table.snapshot.id != staged.id
    assert table.snapshot.summary["source-snapshot-id"] == str(staged.id)
    assert table.snapshot.summary["published-wap-id"] == "w"
    with pytest.raises(fz.InvalidInputError, match="already"):
        table.cherry_pick(staged.id)
    with pytest.raises(fz.NotFoundError):
        table.cherry_pick(12345)


def test_metadata_can_be_compressed_and_forgotten(table: fz.Table) -> None:
    with table.transaction() as tx:
        tx.set_properties(
            {
                "write.metadata.compression-codec": "gzip",
                "write.metadata.previous-versions-max": "2",
                "write.metadata.delete-after-commit.enabled": "true",
            }
        )
    for value in range(5):
        table.append(one(value))
    assert table.metadata_location.endswith("v7.gz.metadata.json")
    text = gzip.decompress(pathlib.Path(table.metadata_location).read_bytes())
    assert len(json.loads(text)["metadata-log"]) == 2
    left = sorted(name for name in metadata_files(table) if name.endswith("metadata.json"))
    assert left == ["v5.gz.metadata.json", "v6.gz.metadata.json", "v7.gz.metadata.json"]
    assert ids(fz.open_table(table.location)) == [0, 1, 2, 3, 4]


def test_manifests_are_merged(table: fz.Table) -> None:
    with table.transaction() as tx:
        tx.set_properties({"commit.manifest.min-count-to-merge": "4"})
    for value in range(9):
        table.append(one(value))
    assert ids(table) == list(range(9))
    assert table.inspect.manifests().num_rows == 3
    assert table.snapshots[3].summary["manifests-replaced"] == "3"
    assert table.snapshots[3].summary["manifests-created"] == "1"


def test_partitions_have_summaries(tmp_path: pathlib.Path) -> None:
    catalog = fz.catalog("c", warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    properties = {"write.summary.partition-limit": "2"}
    rows = pa.table({"id": pa.array([1, 1, 2], pa.int64())})
    table = catalog.create_table("db.t", rows.schema, partition_by=["id"], properties=properties).append(rows)
    assert table.snapshot is not None
    summary = table.snapshot.summary
    assert summary["changed-partition-count"] == "2"
    assert summary["partition-summaries-included"] == "true"
    assert summary["partitions.id=1"].startswith("added-data-files=1,added-records=2,added-files-size=")
    table.append(pa.table({"id": pa.array([1, 2, 3], pa.int64())}))
    assert table.snapshot.summary["changed-partition-count"] == "3"
    assert not [key for key in table.snapshot.summary if key.startswith("partitions.")]


def test_files_are_deleted_as_a_whole(tmp_path: pathlib.Path) -> None:
    catalog = fz.catalog("c", warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "p": pa.array([1, 2, 2], pa.int32())})
    table = catalog.create_table("db.t", rows.schema, partition_by=["p"]).append(rows).append(one_in(9, 1))
    with table.transaction() as tx:
        tx.append(one_in(4, 3))
        tx.delete_files("p = 2")
        assert tx.dry_run()[:5] == (2, 1, 1, 1, 2)
    assert ids(table) == [1, 4, 9]
    assert table.snapshot is not None
    assert table.snapshot.operation == "delete"
    assert table.snapshot.summary["deleted-records"] == "2"
    two = pa.table({"id": pa.array([20, 30], pa.int64()), "p": pa.array([7, 7], pa.int32())})
    table.append(two)
    files = sorted(pathlib.Path(table.location).rglob("*.*"))
    with pytest.raises(fz.CommitConflictError, match="some rows") as caught, table.transaction() as tx:
        tx.append(one_in(5, 1)).delete_files(fz.col("id") > 25)
    assert caught.value.context["partition"] == "p=7"
    assert "id > 25" in caught.value.context["clause"]
    assert ids(table.refresh()) == [1, 4, 9, 20, 30]
    assert sorted(pathlib.Path(table.location).rglob("*.*")) == files


def one_in(id_: int, p: int) -> pa.Table:
    return pa.table({"id": pa.array([id_], pa.int64()), "p": pa.array([p], pa.int32())})


def _append_some(location: str, process: int) -> None:
    table = fz.open_table(location)
    for n in range(APPENDS):
        table.append(one(process * 1000 + n))


def test_processes_append_to_one_table(tmp_path: pathlib.Path) -> None:
    catalog = fz.catalog("c", warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    properties = {"commit.manifest.min-count-to-merge": "10"}
    table = catalog.create_table("db.t", one(0).schema, properties=properties)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_append_some, args=(table.location, n)) for n in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [p.exitcode for p in processes] == [0] * PROCESSES
    table.refresh()
    assert ids(table) == sorted(p * 1000 + n for p in range(PROCESSES) for n in range(APPENDS))
    assert len(table.snapshots) == PROCESSES * APPENDS
    assert len(list(pathlib.Path(table.location).glob("data/**/*.parquet"))) == PROCESSES * APPENDS
    # What abandoned attempts wrote is gone: one list for each snapshot.
    assert len([name for name in metadata_files(table) if name.startswith("snap-")]) == PROCESSES * APPENDS


def test_messages_are_committed_once_to_each_branch(table: fz.Table) -> None:
    table.append(one(1))
    message = table.writer().write(one(2))
    table.commit([message], branch="audit")
    table.commit([message], branch="audit")
    assert ids(table, at="audit") == [1, 2]
    assert ids(table.commit([message])) == [1, 2]
    assert ids(table.commit([message])) == [1, 2]
