"""Commits in odd situations: files listed twice, upgrades and other commits in between, transactions that end oddly."""

from __future__ import annotations

import copy
import gc
import os
import pathlib
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz


def ids_table(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(table: fz.Table, at: str | None = None) -> list[int]:
    return sorted(table.refresh().scan(at=at).to_arrow()["id"].to_pylist())


def data_files(table: fz.Table) -> set[str]:
    return {p.name for p in pathlib.Path(table.location).glob("data/**/*") if p.is_file()}


def files(table: fz.Table) -> set[str]:
    return {str(p) for p in pathlib.Path(table.location).rglob("*") if p.is_file()}


def create(tmp_path: pathlib.Path, version: int, mode: str = "copy-on-write", **properties: str) -> fz.Table:
    catalog = fz.catalog("c", warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    modes = {f"write.{command}.mode": mode for command in ("delete", "update", "merge")}
    all_properties = {"format-version": version, **modes, **properties}
    return catalog.create_table("db.t", ids_table(0).schema, properties=all_properties)


# ---------------------------------------------------------------- files that a table lists twice


@pytest.fixture(params=["apart", "together", "merged"])
def twice(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> fz.Table:
    """Ids 0 to 9 twice, in one file that is listed twice, in two manifests or in one; and others."""
    merge = {"commit.manifest.min-count-to-merge": "2"} if request.param == "merged" else {}
    table = create(tmp_path, 3, "copy-on-write", **merge)
    path = tmp_path / "listed.parquet"
    pq.write_table(ids_table(*range(10)), path)
    table.add_files([path]).append(ids_table(100))
    table.add_files([path], check_duplicate_files=False)
    if request.param == "together":
        table.maintain.rewrite_manifests()
    return table.append(ids_table(200))


TWICE = sorted([*range(10)] * 2)


def test_rows_of_repeated_files_are_deleted(twice: fz.Table) -> None:
    twice.delete("id = 3 or id = 100")
    assert ids(twice) == [i for i in TWICE if i != 3] + [200]
    assert twice.snapshot is not None
    summary = twice.snapshot.summary
    # As Java counts, the total still has what is told apart.
    total = int(summary["total-data-files"]) - int(summary.get("deleted-duplicate-files", 0))
    assert total == len(list(twice.scan().plan_files()))
    twice.delete("id < 5")
    assert ids(twice) == [i for i in TWICE if i >= 5] + [200]


def test_repeated_files_are_deleted_whole(twice: fz.Table) -> None:
    twice.delete("id < 10")
    assert ids(twice) == [100, 200]
    assert twice.snapshot is not None
    summary = twice.snapshot.summary
    # As Java counts: a file that one manifest lists twice is one file and one duplicate.
    counted = int(summary["deleted-data-files"]) + int(summary.get("deleted-duplicate-files", 0))
    assert counted == 2
    assert int(summary["deleted-records"]) == 10 * int(summary["deleted-data-files"])


def test_repeated_files_are_replaced(twice: fz.Table) -> None:
    with twice.transaction() as tx:
        tx.update("id = 4", {"id": 40})
        tx.delete("id = 200")
    assert ids(twice) == sorted([i for i in TWICE if i != 4] + [40, 40, 100])
    twice.overwrite(ids_table(7), where="id < 10")
    assert ids(twice) == [7, 40, 40, 100]


def test_repeated_files_are_compacted(twice: fz.Table) -> None:
    done = twice.maintain.compact(rewrite_all=True)
    assert done.rewritten_files == 4
    assert ids(twice) == sorted([*TWICE, 100, 200])
    assert len(list(twice.scan().plan_files())) == 1


def test_repeated_files_lose_rows_on_read(tmp_path: pathlib.Path) -> None:
    table = create(tmp_path, 2, "merge-on-read")
    path = tmp_path / "listed.parquet"
    pq.write_table(ids_table(*range(10)), path)
    table.add_files([path]).add_files([path], check_duplicate_files=False)
    table.delete("id = 3")
    assert ids(table) == [i for i in TWICE if i != 3]
    table.delete("id < 8")
    table.delete("id in (8, 9)")
    assert ids(table) == []


# ---------------------------------------------------------------- upgrades in between


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("change", ["delete", "update"])
def test_an_upgrade_is_a_conflict_for_rows_written_anew(tmp_path: pathlib.Path, mode: str, change: str) -> None:
    table = create(tmp_path, 2, mode).append(ids_table(1, 2, 3))
    tx = table.transaction()
    tx.delete("id = 2") if change == "delete" else tx.update("id = 2", {"id": 5})
    other = fz.open_table(table.location)
    other.upgrade(3)
    other.append(ids_table(4))
    lineage = other.scan(select=["id", "_row_id"]).to_arrow().sort_by("id")
    with pytest.raises(fz.CommitConflictError, match="upgraded") as caught:
        tx.commit()
    assert caught.value.context["format-version"] == "3"
    assert len(data_files(table)) == 2, "what it wrote is gone"
    assert other.refresh().scan(select=["id", "_row_id"]).to_arrow().sort_by("id") == lineage
    table.delete("id = 2")
    kept = table.scan("id != 4", select=["id", "_row_id"]).to_arrow().sort_by("id").to_pylist()
    assert kept == [row for row in lineage.to_pylist() if row["id"] in (1, 3)]


def test_an_upgrade_in_the_same_transaction_is_none(tmp_path: pathlib.Path) -> None:
    table = create(tmp_path, 2).append(ids_table(1, 2, 3))
    with table.transaction() as tx:
        tx.delete("id = 2")
        tx.set_properties({"format-version": "3"})
        tx.update("id = 3", {"id": 4})
        tx.append(ids_table(7))
    assert (table.format_version, ids(table)) == (3, [1, 4, 7])


def test_files_of_an_older_version_are_appended(tmp_path: pathlib.Path) -> None:
    table = create(tmp_path, 1).append(ids_table(1))
    tx = table.transaction().append(ids_table(2))
    fz.open_table(table.location).upgrade(3)
    tx.commit()
    assert ids(table) == [1, 2]
    rows = table.scan(select=["_row_id"]).to_arrow()["_row_id"].to_pylist()
    assert sorted(rows) == [0, 1]


# ---------------------------------------------------------------- picked snapshots


@pytest.fixture(params=[2, 3])
def staged(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> tuple[fz.Table, int]:
    table = create(tmp_path, request.param, **{"write.wap.enabled": "true"}).append(ids_table(1))
    table.append(ids_table(2, 3, 4), snapshot_properties={"wap.id": "w"})
    return table, table.snapshots[-1].id


@pytest.mark.parametrize("when", ["never", "before", "meanwhile"])
def test_picked_rows_are_changed(staged: tuple[fz.Table, int], when: str) -> None:
    table, snapshot_id = staged
    other = fz.open_table(table.location)
    if when == "before":
        table.append(ids_table(9))
    tx = table.transaction().cherry_pick(snapshot_id)
    tx.update("id = 2", {"id": 20})
    tx.delete("id = 3")
    tx.append(ids_table(5))
    if when == "meanwhile":
        other.append(ids_table(9))
    tx.commit()
    assert ids(table) == sorted([1, 4, 5, 20] + [9] * (when != "never"))
    if table.format_version == 3:
        rows = table.scan(select=["_row_id"]).to_arrow()["_row_id"].to_pylist()
        assert len(set(rows)) == len(rows)
        assert None not in rows


@pytest.mark.parametrize("when", ["never", "before", "meanwhile"])
def test_a_tag_is_at_what_was_published(staged: tuple[fz.Table, int], when: str) -> None:
    table, snapshot_id = staged
    if when == "before":
        table.append(ids_table(9))
    tx = table.transaction().cherry_pick(snapshot_id)
    tx.create_tag("done").create_branch("work", "main")
    tx.create_tag("audited", snapshot_id)
    if when == "meanwhile":
        fz.open_table(table.location).append(ids_table(9))
    tx.commit()
    assert table.snapshot is not None
    published = table.snapshot.id
    assert (published == snapshot_id) == (when == "never")
    assert {name: ref.snapshot_id for name, ref in table.refs.items()} == {
        "main": published,
        "done": published,
        "work": published,
        "audited": snapshot_id,
    }


def test_a_wap_id_is_published_once(staged: tuple[fz.Table, int]) -> None:
    table, snapshot_id = staged
    table.append(ids_table(7), snapshot_properties={"wap.id": "w"})
    second = table.snapshots[-1].id
    tx = table.transaction().cherry_pick(snapshot_id).cherry_pick(second)
    with pytest.raises(fz.InvalidInputError, match=r"wap\.id is published already"):
        tx.commit()
    assert ids(table.refresh()) == [1]
    table.cherry_pick(snapshot_id)
    with pytest.raises(fz.InvalidInputError, match=r"wap\.id is published already"):
        table.cherry_pick(second)
    table.append(ids_table(9)).append(ids_table(8), snapshot_properties={"wap.id": "w"})
    with pytest.raises(fz.InvalidInputError, match=r"wap\.id is published already"):
        table.cherry_pick(table.snapshots[-1].id)
    assert ids(table) == [1, 2, 3, 4, 9]


def test_rows_of_others_are_no_picked_ones(staged: tuple[fz.Table, int]) -> None:
    table, snapshot_id = staged
    tx = table.transaction().cherry_pick(snapshot_id)
    tx.delete("id = 3")
    fz.open_table(table.location).append(ids_table(3))
    with pytest.raises(fz.CommitConflictError, match="added data"):
        tx.commit()
    assert ids(table) == [1, 3]


def test_picked_rows_are_changed_on_top_of_others(staged: tuple[fz.Table, int]) -> None:
    table, snapshot_id = staged
    table.set_properties({"write.delete.isolation-level": "snapshot"})
    other = fz.open_table(table.location)
    tx = table.transaction().cherry_pick(snapshot_id)
    tx.delete("id = 3")
    other.append(ids_table(9))
    # Planned where main just moves there; committed where the same is done again.
    tx.commit()
    assert ids(table) == [1, 2, 4, 9]
    rows = table.scan(select=["_row_id"]).to_arrow()["_row_id"].to_pylist() if table.format_version == 3 else [0]
    assert len(set(rows)) == len(rows)
    with pytest.raises(fz.InvalidInputError, match="already"):
        table.cherry_pick(snapshot_id)


# ---------------------------------------------------------------- transactions that end oddly


@pytest.fixture
def table(tmp_path: pathlib.Path) -> fz.Table:
    return create(tmp_path, 2).append(ids_table(1, 2))


def test_a_forgotten_transaction_leaves_nothing(table: fz.Table) -> None:
    before = files(table)
    tx = table.transaction().append(ids_table(3))
    tx.delete("id = 1")
    tx.append(ids_table(4))
    assert len(files(table)) > len(before)
    del tx
    gc.collect()
    assert files(table) == before


def test_a_transaction_is_committed_once(table: fz.Table) -> None:
    with table.transaction() as tx:
        tx.append(ids_table(3))
        tx.commit()
        assert ids(table) == [1, 2, 3]
        with pytest.raises(fz.InvalidInputError, match="ended"):
            tx.append(ids_table(4))
        with pytest.raises(fz.InvalidInputError, match="ended"):
            tx.commit()
    assert len(table.snapshots) == 2
    with pytest.raises(fz.InvalidInputError, match="ended"), tx:
        pass
    with table.transaction() as tx:
        tx.append(ids_table(3))
        tx.abort()
    assert len(table.refresh().snapshots) == 2


def test_a_committed_transaction_survives_an_exception(table: fz.Table) -> None:
    def fail() -> None:
        with table.transaction() as tx:
            tx.append(ids_table(3)).commit()
            raise ValueError("afterwards")

    with pytest.raises(ValueError, match="afterwards"):
        fail()
    assert ids(table) == [1, 2, 3]
    del fail
    gc.collect()
    assert ids(table) == [1, 2, 3]


def test_a_transaction_stays_in_its_process(table: fz.Table) -> None:
    tx = table.transaction().append(ids_table(3))
    for twin in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(fz.UnsupportedError, match="pickled"):
            twin(tx)
    assert ids(tx.commit()) == [1, 2, 3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_no_part_in_a_transaction(table: fz.Table) -> None:
    tx = table.transaction().append(ids_table(3))
    pid = os.fork()
    if pid == 0:
        refused = 0
        for use in (lambda: tx.append(ids_table(4)), lambda: tx.delete("id = 1"), tx.dry_run, tx.commit):
            try:
                use()
            except fz.InvalidInputError as error:
                refused += "fork" in str(error)
        del tx
        gc.collect()
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4
    assert ids(tx.commit()) == [1, 2, 3]


def test_staged_commits_to_branches_write_nothing(table: fz.Table) -> None:
    table.set_properties({"write.wap.enabled": "true"})
    before = files(table)
    wap = {"wap.id": "w"}
    with pytest.raises(fz.InvalidInputError, match="no branch"):
        table.append(ids_table(3), branch="b", snapshot_properties=wap)
    with pytest.raises(fz.InvalidInputError, match="no branch"):
        table.update("id = 1", {"id": 3}, branch="b", snapshot_properties=wap)
    tx = table.transaction(branch="b")
    with pytest.raises(fz.InvalidInputError, match="no branch"):
        tx.append(ids_table(3), snapshot_properties=wap)
    with pytest.raises(fz.InvalidInputError, match="no branch"):
        tx.update("id = 1", {"id": 3}, snapshot_properties=wap)
    assert files(table) == before
    tx.append(ids_table(3)).commit()
    assert ids(table, at="b") == [1, 2, 3]


# ---------------------------------------------------------------- all kinds of changes in a transaction


def test_references_and_upgrades_are_part_of_a_transaction(table: fz.Table, tmp_path: pathlib.Path) -> None:
    first = table.snapshot
    assert first is not None
    other = fz.open_table(table.location)
    pq.write_table(ids_table(7), tmp_path / "seven.parquet")
    with table.transaction() as tx:
        tx.append(ids_table(3))
        tx.create_tag("three", max_ref_age_ms=1000).create_branch("begin", at=first.id)
        tx.upgrade(3)
        tx.add_files([tmp_path / "seven.parquet"])
        tx.refs.create_tag("seven").set_retention("begin", min_snapshots_to_keep=2)
        tx.delete("id = 1")
        with pytest.raises(fz.InvalidInputError, match="already"):
            tx.add_files([tmp_path / "seven.parquet"])
        with pytest.raises(fz.AlreadyExistsError):
            tx.create_tag("seven")
        with pytest.raises(fz.NotFoundError, match="there-is-none"):
            tx.add_files("there-is-none.parquet")
        with pytest.raises(fz.InvalidInputError):
            tx.upgrade(2)
        other.append(ids_table(9), branch="begin2")
    assert (table.format_version, ids(table)) == (3, [2, 3, 7])
    assert ids(table, at="three") == [1, 2, 3]
    assert ids(table, at="seven") == [1, 2, 3, 7]
    assert ids(table, at="begin") == [1, 2]
    assert ids(table, at="begin2") == [1, 2, 9]
    assert table.refs["three"].max_ref_age_ms == 1000
    assert table.refs["begin"].min_snapshots_to_keep == 2
    assert (tmp_path / "seven.parquet").exists()


def test_a_tag_that_another_made_is_a_conflict(table: fz.Table) -> None:
    tx = table.transaction().append(ids_table(3)).create_tag("t")
    fz.open_table(table.location).refs.create_tag("t")
    before = files(table)
    with pytest.raises(fz.CommitConflictError, match="'t'"):
        tx.commit()
    assert len(files(table)) < len(before)
    assert ids(table) == [1, 2]


def test_added_files_stay_when_a_transaction_is_given_up(table: fz.Table, tmp_path: pathlib.Path) -> None:
    pq.write_table(ids_table(7), tmp_path / "seven.parquet")
    before = files(table)
    table.transaction().add_files([tmp_path / "seven.parquet"]).abort()
    assert (tmp_path / "seven.parquet").exists()
    assert files(table) == before


# ---------------------------------------------------------------- what a transaction found nothing to do for


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("change", ["update", "delete", "merge"])
def test_what_a_transaction_did_not_find_must_not_come(tmp_path: pathlib.Path, mode: str, change: str) -> None:
    table = create(tmp_path, 2, mode).append(ids_table(1, 2))

    def change_nothing(tx: fz.Transaction) -> None:
        if change == "update":
            tx.update("id = 7", {"id": 8})
        elif change == "delete":
            tx.delete("id = 7")
        else:
            tx.merge(ids_table(7), on=["id"], when_matched_update=True)

    # Both are there, or the row would have to be changed.
    tx = table.transaction()
    change_nothing(tx)
    tx.append(ids_table(3))
    table.append(ids_table(7))
    with pytest.raises(fz.CommitConflictError, match="id"):
        tx.commit()
    assert ids(table) == [1, 2, 7]
    # Other rows don't matter, nor does anything to a transaction that changes nothing.
    with table.transaction() as tx:
        tx.delete("id = 70")
        tx.append(ids_table(3))
        table.append(ids_table(8))
    with table.transaction() as tx:
        tx.delete("id = 71")
        assert tx.dry_run().snapshots == 0
        table.append(ids_table(71))
    assert ids(table) == [1, 2, 3, 7, 8, 71]
    assert [s.operation for s in table.refresh().snapshots] == ["append"] * 5
