"""Maintenance by Spark's executors: the same as by this process, and nothing left behind of what failed."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import inspect
import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz
import test_maintain
from conftest import event_rows
from frazil.maintain import Compacted, Maintain, RewrittenDeletes
from frazil.spark.jobs.parts import PartRows, PartsJob

pytestmark = pytest.mark.spark


def on_disk(table: fz.Table) -> set[str]:
    return {str(p) for p in pathlib.Path(table.location).rglob("*.parquet")}


def content(table: fz.Table, *columns: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.scan(select=columns or None).to_arrow().sort_by("id").to_pylist()
    return [{name: str(value) for name, value in row.items()} for row in rows]


def many_files(catalog: fz.Catalog, name: str, version: str, **how: Any) -> fz.Table:
    """200 rows in 20 files or more, some of them deleted."""
    properties = {"format-version": version, "write.delete.mode": "merge-on-read"}
    rows = event_rows(0, 200)
    table = catalog.create_table(f"db.{name}", rows.schema, properties=properties, **how)
    for start in range(0, 200, 10):
        table.append(rows.slice(start, 10))
    table.delete("id in (3, 14, 159)")
    return table.refresh()


def both(catalog: fz.Catalog, spark, version: str, table_how: dict[str, Any], how: dict[str, Any]) -> list[Compacted]:
    """Compacts two such tables, one by this process; their rows must stay, ids and all."""
    done = []
    for name, session in (("local", None), ("spark", spark)):
        table = many_files(catalog, name, version, **table_how)
        lineage = ("id", "_row_id", "_last_updated_sequence_number") if version == "3" else ("id",)
        before, ids = content(table), content(table, *lineage)
        done.append(table.maintain.compact(spark=session, **how))
        assert content(table) == before
        assert content(table, *lineage) == ids
        assert content(fz.open_table(table.location)) == before
        assert table.snapshot is not None
        assert table.snapshot.operation == "replace"
    return done


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize(
    "how",
    [
        {"rewrite_all": True},
        {"strategy": "sort", "sort_by": ["country", "id desc"], "rewrite_all": True},
        {"strategy": "zorder", "zorder_by": ["id", "day"], "rewrite_all": True},
        {"where": "country = 'NO'", "snapshot_properties": {"why": "test"}},
    ],
    ids=["binpack", "sort", "zorder", "where"],
)
def test_the_same_as_here(spark, catalog: fz.Catalog, version: str, how: dict[str, Any]) -> None:
    here, there = both(catalog, spark, version, {"partition_by": ["country"]}, how)
    assert there == here
    assert here.rewritten_files > here.added_files > 0
    if how.get("strategy") == "sort":
        table = catalog.load_table("db.spark")
        for path in {task.data_file.path for task in table.scan().plan_files()}:
            ids = pq.read_table(path)["id"].to_pylist()
            assert ids == sorted(ids, reverse=True)
    if "snapshot_properties" in how:
        assert catalog.load_table("db.spark").snapshot.summary["why"] == "test"  # type: ignore[union-attr]


def test_a_large_group_is_dealt_out(spark, catalog: fz.Catalog) -> None:
    """Parts have the size of the files that they become; large files are cut."""
    rows = pa.table({"id": range(400_000), "text": [f"{i * 7919:x}" for i in range(400_000)]})
    properties = {"write.parquet.row-group-size-bytes": "200000"}
    table = catalog.create_table("db.large", rows.schema, properties=properties)
    table.append(rows.slice(0, 300_000)).append(rows.slice(300_000, 50_000)).append(rows.slice(350_000))
    total = sum(os.path.getsize(path) for path in on_disk(table))
    size = total // 4
    done = table.maintain.compact(target_file_size_bytes=size, rewrite_all=True, spark=spark)
    assert (done.groups, done.rewritten_files, done.commits) == (1, 3, 1)
    assert 3 <= done.added_files <= 6
    sizes = [os.path.getsize(task.data_file.path) for task in table.scan().plan_files()]
    assert max(sizes) < size * 1.5
    assert table.scan().to_arrow().sort_by("id") == rows.cast(table.scan().to_arrow().schema)


def test_older_specs_are_partitioned_anew(spark, catalog: fz.Catalog) -> None:
    table = many_files(catalog, "old", "2")
    with table.update_partition_spec() as update:
        update.add_field("bucket(2, id)")
    before = content(table)
    done = table.maintain.compact(spark=spark, target_file_size_bytes=20_000, rewrite_all=True)
    assert done.added_files == 2
    assert content(table) == before
    assert {task.data_file.partition["id_bucket_2"] for task in table.scan().plan_files()} == {0, 1}


def test_dry_runs_branches_and_nothing_to_do(spark, catalog: fz.Catalog) -> None:
    table = many_files(catalog, "t", "3")
    files = on_disk(table)
    planned = table.maintain.compact(dry_run=True, spark=spark)
    assert planned == table.maintain.compact(dry_run=True)
    assert on_disk(table) == files
    table.refs.create_branch("audit")
    done = table.maintain.compact(branch="audit", spark=spark)
    assert done._replace(added_files=0, added_bytes=0, commits=0) == planned
    assert len(list(table.scan(at="audit").plan_files())) == 1
    assert len(list(table.scan().plan_files())) == 20
    again = table.maintain.compact(branch="audit", spark=spark)
    assert (again.groups, again.commits) == (0, 0)
    empty = catalog.create_table("db.empty", pa.schema([("id", pa.int64())]))
    assert empty.maintain.compact(spark=spark).groups == 0


def broken(table: fz.Table, country: str) -> str:
    """Half of a file of one partition."""
    path = next(t.data_file.path for t in table.scan(f"country = '{country}'").plan_files())
    data = pathlib.Path(path).read_bytes()
    pathlib.Path(path).write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
    return path


def test_what_fails_leaves_nothing_behind(spark, catalog: fz.Catalog) -> None:
    table = many_files(catalog, "t", "3", partition_by=["country"])
    path, files = broken(table, "SE"), on_disk(table)
    snapshot = table.snapshot
    with pytest.raises(fz.FrazilError, match=path.rsplit("/", 1)[1]):
        table.maintain.compact(rewrite_all=True, spark=spark)
    assert on_disk(table) == files
    assert table.refresh().snapshot == snapshot


def test_partial_progress(spark, catalog: fz.Catalog) -> None:
    table = many_files(catalog, "t", "3", partition_by=["country"])
    path, files = broken(table, "SE"), on_disk(table)
    done = table.maintain.compact(rewrite_all=True, max_commits=10, spark=spark)
    assert (done.groups, done.commits, done.added_files) == (4, 3, 3)
    (failed,) = done.failed
    assert path.rsplit("/", 1)[1] in failed
    assert len(on_disk(table) - files) == 3
    assert len(table.snapshots) == 24
    table = many_files(catalog, "other", "3", partition_by=["country"])
    broken(table, "SE")
    with pytest.raises(fz.FrazilError, match="1 of 4 commits of the compaction failed"):
        table.maintain.compact(rewrite_all=True, max_commits=4, max_failed_commits=0, spark=spark)
    assert len(table.refresh().snapshots) == 24


def test_conflicts_remove_what_was_written(spark, catalog: fz.Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    table = many_files(catalog, "t", "2")
    run = PartsJob.run

    def then_delete(job: PartsJob, parts: Any) -> list[str]:
        done = run(job, parts)
        fz.open_table(table.location).delete("id = 77")
        return done

    monkeypatch.setattr(PartsJob, "run", then_delete)
    data = len([p for p in on_disk(table) if "deletes" not in p])
    with pytest.raises(fz.CommitConflictError):
        table.maintain.compact(spark=spark)
    assert len([p for p in on_disk(table) if "deletes" not in p]) == data


class Dying:
    """What executors run, if their Python dies after the work; it needs no module of the tests there."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments

    def __reduce__(self) -> Any:
        real = "__import__('frazil.spark.jobs.parts', fromlist=['DoParts']).DoParts(*arguments)"
        dies = f"lambda batches: (b for b in {real}(batches) if __import__('os')._exit(9))"
        return eval, (dies, {"arguments": self._arguments})


def test_workers_that_die_leave_nothing_behind(spark, catalog: fz.Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    table = many_files(catalog, "t", "3", partition_by=["country"])
    files = on_disk(table)
    monkeypatch.setattr("frazil.spark.jobs.parts.DoParts", Dying)
    with pytest.raises(fz.StoreError, match="Spark's executors could not finish"):
        table.maintain.compact(rewrite_all=True, spark=spark)
    assert on_disk(table) == files


def deleted_files(catalog: fz.Catalog, name: str, by: list[str], properties: dict[str, str]) -> fz.Table:
    """A table with many position delete files."""
    rows = event_rows(0, 200)
    table = catalog.create_table(
        f"db.{name}", rows.schema, partition_by=by, properties={"write.delete.mode": "merge-on-read", **properties}
    )
    table.append(rows.slice(0, 100)).append(rows.slice(100))
    for day in range(0, 200, 20):
        table.delete(f"id in ({day}, {day + 3}, {day + 5})")
    return table.refresh()


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("by", [[], ["country"]], ids=["one", "parted"])
@pytest.mark.parametrize("granularity", ["file", "partition"])
def test_position_deletes(spark, catalog: fz.Catalog, version: str, by: list[str], granularity: str) -> None:
    done: list[RewrittenDeletes] = []
    for name, session in (("local", None), ("spark", spark)):
        properties = {"format-version": "2", "write.delete.granularity": granularity}
        table = deleted_files(catalog, name, by, properties)
        if version == "3":
            table.upgrade(3)
        before, files = content(table), on_disk(table)
        planned = table.maintain.rewrite_position_deletes(rewrite_all=True, dry_run=True, spark=session)
        assert on_disk(table) == files
        done.append(table.maintain.rewrite_position_deletes(rewrite_all=True, spark=session))
        assert planned == done[-1]._replace(added_files=0, added_bytes=0)
        assert content(table) == content(fz.open_table(table.location)) == before
        assert table.snapshot is not None
        assert table.snapshot.operation == "replace"
        again = table.maintain.rewrite_position_deletes(spark=session)
        assert again == RewrittenDeletes(0, 0, 0, 0)
    here, there = done
    # Their sizes depend on the names of data files.
    assert (there.rewritten_files, there.added_files) == (here.rewritten_files, here.added_files)
    assert here.rewritten_files > here.added_files > 0


def test_deletes_of_a_broken_file(spark, catalog: fz.Catalog) -> None:
    table = deleted_files(catalog, "t", ["country"], {"format-version": "2"})
    (path, *_) = [d.path for t in table.scan("country = 'SE'").plan_files() for d in t.deletes]
    pathlib.Path(path).write_bytes(b"nothing")
    files = on_disk(table)
    with pytest.raises(fz.FrazilError, match=path.rsplit("/", 1)[1]):
        table.maintain.rewrite_position_deletes(rewrite_all=True, spark=spark)
    assert on_disk(table) == files


ORPHANS = [
    test_maintain.test_only_old_orphans_go,
    test_maintain.test_orphan_removal_refuses,
    test_maintain.test_other_prefixes_are_settled_first,
    test_maintain.test_partition_fields_may_look_hidden,
    test_maintain.test_links_are_not_followed_and_do_not_hide_what_is_live,
]
COMPACTIONS = [
    test_maintain.test_groups_that_gain_too_little_stay,
    test_maintain.test_large_files_are_cut,
    test_maintain.test_files_of_older_specs_are_partitioned_anew,
    test_maintain.test_commits_may_be_several,
    test_maintain.test_a_handle_of_an_old_version_compacts_the_newest,
]


@pytest.mark.parametrize("test", ORPHANS + COMPACTIONS, ids=lambda test: test.__name__)
def test_what_holds_without_spark_holds_with_it(
    spark,
    catalog: fz.Catalog,
    tmp_path: pathlib.Path,
    test: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("compact", "remove_orphan_files"):
        monkeypatch.setattr(Maintain, name, functools.partialmethod(getattr(Maintain, name), spark=spark))
    rows = test_maintain.rows(0).schema
    given = {
        "catalog": catalog,
        "tmp_path": tmp_path,
        "table": lambda: catalog.create_table("db.t", rows, partition_by=["part"]),
    }
    wanted = inspect.signature(test).parameters
    test(**{name: value() if name == "table" else value for name, value in given.items() if name in wanted})


def test_many_folders_and_manifests(spark, catalog: fz.Catalog) -> None:
    """More than one process lists and reads at once."""
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64())]), partition_by=["id"])
    table.append(pa.table({"id": range(300)}))
    for i in range(300, 320):
        table.append(pa.table({"id": [i]}))
    orphans = []
    for i in range(0, 300, 30):
        path = pathlib.Path(table.location, "data", f"id={i}", "left-over.parquet")
        path.write_bytes(b"half a file")
        orphans.append(str(path))
    now = dt.timedelta(0)
    assert table.maintain.remove_orphan_files(older_than=now, dry_run=True, spark=spark).files == sorted(orphans)
    done = table.maintain.remove_orphan_files(older_than=now, spark=spark)
    assert (done.files, done.deleted, done.failed) == (sorted(orphans), True, {})
    assert table.scan().count() == 320
    assert table.maintain.remove_orphan_files(older_than=now, spark=spark).files == []


def test_refusals(spark, catalog: fz.Catalog) -> None:
    table = many_files(catalog, "t", "2")
    with pytest.raises(fz.InvalidInputError, match="spark must be a SparkSession"):
        table.maintain.compact(spark="local[2]")  # type: ignore[arg-type]
    with pytest.raises(fz.InvalidInputError, match="strategy"):
        table.maintain.compact(strategy="alphabetical", spark=spark)  # type: ignore[arg-type]
    paimon = catalog.create_table("db.paimon", pa.schema([("id", pa.int64())]), format="paimon")
    with pytest.raises(fz.UnsupportedError, match="Leave out spark="):
        paimon.maintain.compact(spark=spark)
    with pytest.raises(fz.UnsupportedError, match="by Spark's executors: not with tables of Apache Paimon"):
        paimon.maintain.remove_orphan_files(spark=spark)
    with pytest.raises(fz.UnsupportedError, match="by Spark's executors: not with tables of Apache Paimon"):
        paimon.maintain.rewrite_position_deletes(spark=spark)


def test_kept_rows_that_are_lost(spark, catalog: fz.Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark reads again what an executor took with it. If that fails, live files must not be taken for orphans."""
    table = many_files(catalog, "t", "2")
    table.append(event_rows(200, 10))
    manifests = list(pathlib.Path(table.location, "metadata").glob("*-m*.avro"))
    kept = PartRows.rows

    @contextlib.contextmanager
    def lost(self: PartRows, *arguments: Any) -> Iterator[Any]:
        with kept(self, *arguments) as rows:
            if self._step == "reachable_part":
                spark.catalog.clearCache()
                for manifest in manifests:
                    manifest.rename(f"{manifest}.away")
            yield rows

    monkeypatch.setattr(PartRows, "rows", lost)
    for mode in ("error", "ignore", "delete"):
        before = on_disk(table)
        with pytest.raises(fz.StoreError, match="Nothing was changed"):
            table.maintain.remove_orphan_files(older_than=dt.timedelta(0), prefix_mismatch=mode, spark=spark)
        assert on_disk(table) == before
        for manifest in manifests:
            pathlib.Path(f"{manifest}.away").rename(manifest)
    monkeypatch.undo()
    assert table.maintain.remove_orphan_files(older_than=dt.timedelta(0), spark=spark).files == []
