"""Steps of maintenance that Spark's executors do, without Spark: plans, parts that travel as pickles, and commits."""

from __future__ import annotations

import datetime as dt
import pathlib
import pickle
import uuid
from collections.abc import Iterable
from typing import Any, cast

import pytest

import frazil as fz
from conftest import event_rows
from frazil import _core
from frazil.maintain import Compacted, RewrittenDeletes
from frazil.requests import maintenance
from frazil.requests.maintenance import FileOrder, Maintenance, MaintenanceParts, OrphanOptions, RewriteRules

OLD = int(dt.datetime.now(dt.timezone.utc).timestamp() * 1000) + 3_600_000


def made(catalog: fz.Catalog, name: str) -> fz.Table:
    """200 rows in 20 files, some of them deleted by position."""
    rows = event_rows(0, 200)
    table = catalog.create_table(f"db.{name}", rows.schema, properties={"write.delete.mode": "merge-on-read"})
    for start in range(0, 200, 10):
        table.append(rows.slice(start, 10))
    for id_ in (3, 14, 159):
        table.delete(f"id = {id_}")
    return table.refresh()


def ids(table: fz.Table | _core.Table) -> list[int]:
    opened = fz.Table(table) if isinstance(table, _core.Table) else table
    found: list[int] = opened.scan(select=["id"]).to_arrow()["id"].to_pylist()
    return sorted(found)


def rules(**changed: Any) -> RewriteRules:
    return RewriteRules(rewrite_all=True, **changed)


def order(strategy: str = "binpack", **changed: Any) -> FileOrder:
    members: FileOrder = {
        "strategy": strategy,
        "sort_by": None,
        "zorder_by": None,
        "zorder_max_output_size": None,
        "zorder_var_length_contribution": 8,
    }
    return cast("FileOrder", {**members, **changed})


def orphan_options(**changed: Any) -> OrphanOptions:
    members: OrphanOptions = {
        "older_than_ms": None,
        "location": None,
        "dry_run": False,
        "prefix_mismatch": "error",
        "equal_schemes": {},
        "equal_authorities": {},
        "outside_locations": [],
    }
    return cast("OrphanOptions", {**members, **changed})


def compaction(**changed: Any) -> Maintenance.Compact:
    members: dict[str, Any] = {
        "order": order(),
        "filter": None,
        "rules": rules(),
        "max_commits": None,
        "max_failed_commits": None,
        "dry_run": False,
        "branch": None,
        "snapshot_properties": {"why": "test"},
    }
    return Maintenance.Compact(**members | changed)


def done_elsewhere(table: _core.Table, step: str, parts: Iterable[dict[str, Any]]) -> list[_core.CommitMessage]:
    """Does parts as an executor does them: from pickles, and on another object of the table."""
    job, other = str(uuid.uuid4()), pickle.loads(pickle.dumps(table))
    texts = []
    for number, part in enumerate(parts):
        loaded = pickle.loads(pickle.dumps(part))
        texts.append(maintenance.do_part(other, step, {**loaded, "number": number, "attempt": 0, "job": job}))
    return [_core.CommitMessage.from_json(text) for text in texts]


@pytest.mark.parametrize("how", [order(), order("sort", sort_by=["id desc"]), order("zorder", zorder_by=["id", "day"])])
def test_a_compaction_in_parts(catalog: fz.Catalog, how: FileOrder) -> None:
    table = made(catalog, "t")
    here = made(catalog, "here")
    action, before = compaction(order=how), ids(table)
    steps = MaintenanceParts(table._core)
    newest, snapshot, groups, counted = steps.plan_compaction(action)
    assert snapshot is not None
    parts = [part for group in groups for part in maintenance.compaction_parts(group, action.order)]
    for part in parts:
        assert list(part) == [
            *("strategy", "sort_by", "zorder_by", "zorder_max_output_size", "zorder_var_length_contribution"),
            *("part", "roll_at"),
        ]
    messages = done_elsewhere(newest, "compact_part", parts)
    after, done = MaintenanceParts(newest).commit_compaction(action, snapshot, groups, messages)
    assert ids(after) == before
    _, alone = here._core.maintain(action)
    assert (done.rewritten_files, done.added_files) == (alone.rewritten_files, alone.added_files)
    assert counted.rewritten_files == done.rewritten_files
    assert maintenance.result(Compacted, done)._replace(groups=1).commits == 1
    found = fz.Table(after).snapshot
    assert found is not None
    assert (found.operation, found.summary["why"]) == ("replace", "test")


def test_a_rewrite_of_deletes_in_parts(catalog: fz.Catalog) -> None:
    table = made(catalog, "t")
    before = ids(table)
    action = Maintenance.RewritePositionDeletes(None, rules(), False, None, {})
    newest, snapshot, planned, counted = MaintenanceParts(table._core).plan_delete_rewrite(action)
    assert snapshot is not None
    parts = [maintenance.delete_part(part, snapshot) for part in planned]
    assert [list(part) for part in parts] == [["deletes", "concerned", "roll_at", "snapshot"]] * len(parts)
    messages = done_elsewhere(newest, "rewrite_position_deletes_part", parts)
    after, done = MaintenanceParts(newest).commit_delete_rewrite(action, snapshot, planned, messages)
    assert ids(after) == before
    rewritten = maintenance.result(RewrittenDeletes, done)
    assert rewritten._replace(added_files=0, added_bytes=0) == maintenance.result(RewrittenDeletes, counted)
    assert rewritten.rewritten_files == 3


def test_what_no_commit_took_is_removed(catalog: fz.Catalog) -> None:
    table = made(catalog, "t")
    newest, _, groups, _ = MaintenanceParts(table._core).plan_compaction(compaction())
    files = set(pathlib.Path(table.location).rglob("*.parquet"))
    job = str(uuid.uuid4())
    for part in maintenance.compaction_parts(groups[0], order()):
        maintenance.do_part(newest, "compact_part", {**part, "number": 0, "attempt": 0, "job": job})
    assert len(set(pathlib.Path(table.location).rglob("*.parquet"))) > len(files)
    maintenance.remove_files_of(newest, job)
    assert set(pathlib.Path(table.location).rglob("*.parquet")) == files
    with pytest.raises(fz.InvalidInputError, match="UUID"):
        maintenance.remove_files_of(newest, "job")


def test_orphans_in_parts(catalog: fz.Catalog) -> None:
    table = made(catalog, "t")
    orphan = pathlib.Path(table.location) / "data" / "orphan.parquet"
    orphan.write_bytes(b"x")
    options = orphan_options(older_than_ms=OLD)
    folders, listed, before = MaintenanceParts(table._core).plan_listing(options)
    part = maintenance.orphan_part(options, before, folders=folders)
    assert list(part) == [
        *("older_than_ms", "location", "dry_run", "prefix_mismatch", "equal_schemes", "equal_authorities"),
        *("outside_locations", "folders"),
    ]
    found = dict([*listed, *maintenance.read_part(table._core, "list_part", pickle.loads(pickle.dumps(part)))])
    newest, manifests, reachable = MaintenanceParts(table._core).plan_reachable(options)
    part = maintenance.orphan_part(options, before, manifests=manifests)
    known = {key for key, _ in [*reachable, *maintenance.read_part(newest, "reachable_part", part)]}
    orphans = sorted(str(path) for key, path in found.items() if key not in known)
    assert orphans == [str(orphan)]
    done = MaintenanceParts(newest).delete_orphans(options, [], orphans)
    assert (done.files, done.deleted, done.failed) == ([str(orphan)], True, {})
    assert not orphan.exists()


def test_refusals(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    table = made(catalog, "t")
    steps = MaintenanceParts(table._core)
    for wrong, said in (
        (order("best"), "no strategy 'best'"),
        (order("sort", zorder_by=["id"]), "zorder_by is of another strategy"),
        (order("zorder", sort_by=["id"]), "sort_by is of another strategy"),
        (order(sort_by=["id"]), "sort_by or zorder_by is of another strategy"),
        (order("zorder", zorder_by=["id"], zorder_max_output_size=-1), "zorder_max_output_size can't be -1"),
    ):
        with pytest.raises(fz.InvalidInputError, match=said):
            steps.plan_compaction(compaction(order=wrong))
    with pytest.raises(fz.InvalidInputError, match="min_file_size_bytes can't be -5"):
        table._core.maintain(compaction(rules=rules(min_file_size_bytes=-5)))
    with pytest.raises(fz.InvalidInputError, match='prefix_mismatch can\'t be "maybe"') as refused:
        steps.plan_listing(orphan_options(prefix_mismatch="maybe"))
    assert refused.value.hint == "Use error, ignore or delete"
    with pytest.raises(fz.InvalidInputError, match="only a compaction"):
        steps.plan_compaction(Maintenance.ComputePartitionStatistics(None))
    with pytest.raises(fz.InvalidInputError, match="delete files"):
        steps.plan_delete_rewrite(Maintenance.ComputePartitionStatistics(None))
    with pytest.raises(ValueError, match="'list_part'"):
        maintenance.do_part(table._core, "list_part", {"job": "", "number": 0, "attempt": 0})
    buckets = fz.catalog("p", warehouse=tmp_path / "p")
    buckets.create_namespace("db")
    paimon = buckets.create_table("db.t", event_rows(0, 1).select(["id"]).schema, format="paimon")
    with pytest.raises(fz.UnsupportedError, match="maintenance in parts"):
        MaintenanceParts(paimon._core).plan_compaction(compaction())
    with pytest.raises(fz.UnsupportedError, match="not with tables of Apache Paimon yet") as missing:
        paimon._core.maintain(compaction())
    assert missing.value.context["table"] == paimon.location
    with pytest.raises(fz.UnsupportedError, match="by the table's options"):
        table._core.maintain(Maintenance.CompactBuckets(None, False, {}, False, None, {}))


def test_filters_of_native_reads(catalog: fz.Catalog) -> None:
    """Values have the types that they had as JSON."""
    table = made(catalog, "t")
    text = "id in (30, 31) and (country is null or score > 1.5) and day >= '2023-01-02' and amount < 300.25"
    found = table.scan(text)._core.native_read(["file"], {}, 100, 100)
    assert isinstance(found.filter, _core.NativeFilter.And)
    first, either, day, amount = found.filter.parts
    assert isinstance(first, _core.NativeFilter.Leaf)
    assert (first.op, first.path, first.type_name, first.values) == ("in", ["id"], "long", [30, 31])
    assert isinstance(either, _core.NativeFilter.Or)
    null, score = either.parts
    assert isinstance(null, _core.NativeFilter.Leaf)
    assert (null.op, null.values) == ("is-null", [])
    assert isinstance(score, _core.NativeFilter.Leaf)
    assert (score.op, score.type_name, score.values) == ("gt", "double", [1.5])
    assert isinstance(day, _core.NativeFilter.Leaf)
    assert (day.op, day.type_name, day.values) == ("gt-eq", "date", ["2023-01-02"])
    assert isinstance(amount, _core.NativeFilter.Leaf)
    assert (amount.type_name, amount.values) == ("decimal(12, 2)", ["300.25"])
    assert found.groups
    for group in found.groups:
        assert group.filtered
        assert all(file.path.startswith(("/", "file:")) and file.record_count == 10 for file in group.files)
