"""Upkeep: what goes, what stays, and that every version that stays reads as before."""

from __future__ import annotations

import datetime as dt
import pathlib

import pyarrow as pa
import pytest

import frazil as fz

NOW = dt.timedelta(0)


def rows(*values: int, part: int = 0) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int64()), "part": pa.array([part] * len(values), pa.int32())})


def read(table: fz.Table, at: int | str | None = None) -> list[int]:
    ids: list[int] = table.scan(at=at).to_arrow()["id"].to_pylist()
    return sorted(ids)


def on_disk(table: fz.Table) -> set[str]:
    return {str(p) for p in pathlib.Path(table.location).rglob("*") if p.is_file()}


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    return catalog.create_table("db.t", rows(0).schema, partition_by=["part"])


def test_expiry_deletes_what_only_old_snapshots_had(table: fz.Table) -> None:
    table.append(rows(1, 2)).append(rows(3, part=1))
    before = on_disk(table)
    planned = table.maintain.expire_snapshots(older_than=NOW, dry_run=True)
    assert on_disk(table) == before and not planned.deleted
    done = table.maintain.expire_snapshots(older_than=NOW)
    assert done.deleted and done.failed == {}
    assert done._replace(deleted=False) == planned
    assert len(table.snapshots) == 1 and len(done.snapshots) == 1
    assert before - on_disk(table) == set(done.files)
    assert (len(done.manifest_lists), done.manifests, done.data_files) == (1, [], [])
    assert read(fz.open_table(table.location)) == [1, 2, 3]
    again = table.maintain.expire_snapshots(older_than=NOW)
    assert again.snapshots == [] and again.files == []


def test_branches_tags_and_newest_snapshots_stay(table: fz.Table) -> None:
    for value in range(6):
        table.append(rows(value))
        if value == 1:
            table.refs.create_tag("keep")
        if value == 3:
            table.refs.create_branch("audit", min_snapshots_to_keep=2)
    ids = [s.id for s in table.snapshots]
    expected = {id_: read(table, id_) for id_ in ids}
    done = table.maintain.expire_snapshots(older_than=NOW, retain_last=1)
    assert done.snapshots == [ids[0], ids[4]]
    assert done.data_files == []
    for id_ in set(ids) - {ids[0], ids[4]}:
        assert read(table, id_) == expected[id_]
    assert [s.id for s in table.snapshots] == [ids[1], ids[2], ids[3], ids[5]]
    table.refs.drop("audit").drop("keep")
    done = table.maintain.expire_snapshots(older_than=dt.timedelta(days=1), snapshot_ids=[ids[2]])
    assert done.snapshots == [ids[2]]
    assert read(table, "main") == [0, 1, 2, 3, 4, 5]


def test_refusals(table: fz.Table) -> None:
    table.append(rows(1)).append(rows(2))
    current = table.snapshot
    assert current is not None
    with pytest.raises(fz.InvalidInputError, match="branch or tag"):
        table.maintain.expire_snapshots(snapshot_ids=[current.id])
    with pytest.raises(fz.NotFoundError, match="no such snapshot"):
        table.maintain.expire_snapshots(snapshot_ids=[1])
    with pytest.raises(fz.InvalidInputError, match="at least 1"):
        table.maintain.expire_snapshots(retain_last=0)
    with pytest.raises(fz.InvalidInputError, match="older_than"):
        table.maintain.expire_snapshots(older_than="yesterday")  # type: ignore[arg-type]
    table.set_properties({"gc.enabled": "false"})
    before = on_disk(table)
    with pytest.raises(fz.InvalidInputError, match=r"gc\.enabled"):
        table.maintain.expire_snapshots(older_than=NOW)
    assert len(table.maintain.expire_snapshots(older_than=NOW, dry_run=True).snapshots) == 1
    assert on_disk(table) == before


def test_files_may_be_left_to_orphan_removal(table: fz.Table) -> None:
    table.append(rows(1)).append(rows(2))
    before = on_disk(table)
    done = table.maintain.expire_snapshots(older_than=NOW, delete_files=False)
    assert len(done.snapshots) == 1 and done.files == [] and not done.deleted
    assert before < on_disk(table)


def test_metadata_that_cannot_be_read_keeps_every_file(table: fz.Table) -> None:
    table.append(rows(1))
    (broken,) = table.inspect.manifests()["path"].to_pylist()
    for value in (3, 4):
        table.append(rows(value))
    # Files of a snapshot that goes may be shared with one whose manifest can't be read.
    pathlib.Path(broken).write_bytes(b"no manifest")
    before = on_disk(table)
    done = table.maintain.expire_snapshots(older_than=NOW)
    assert done.data_files == [] and before - on_disk(table) == set(done.manifest_lists)
