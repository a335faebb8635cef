"""`Table.last_commit` says what a change did. The expected numbers come from counting rows before and after."""

from __future__ import annotations

import pathlib
import pickle

import pyarrow as pa
import pytest

import frazil as fz

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string())])


def rows(*ids: int, city: str = "Oslo") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "city": [city] * len(ids)}, SCHEMA)


@pytest.fixture(params=["copy-on-write", "merge-on-read", "vectors"])
def table(request: pytest.FixtureRequest) -> fz.Table:
    """Two files: rows 1 to 4 and rows 5 to 6."""
    catalog = fz.catalog(type="memory")
    catalog.create_namespace("db")
    mode = "copy-on-write" if request.param == "copy-on-write" else "merge-on-read"
    properties = {f"write.{command}.mode": mode for command in ("delete", "update", "merge")}
    properties["format-version"] = "3" if request.param == "vectors" else "2"
    table = catalog.create_table("db.t", SCHEMA, properties=properties)
    return table.append(rows(1, 2, 3, 4)).append(rows(5, 6))


def numbers(table: fz.Table) -> tuple[int | None, int | None, int | None]:
    done = table.last_commit
    return done.rows_added, done.rows_deleted, done.rows_updated


def test_nothing_yet() -> None:
    catalog = fz.catalog(type="memory")
    catalog.create_namespace("db")
    made = catalog.create_table("db.t", SCHEMA)
    assert made.last_commit == fz.LastCommit()
    assert (made.last_commit.snapshot_id, made.last_commit.rows_added) == (None, 0)


def test_appends(table: fz.Table) -> None:
    done = table.append(rows(7, 8, 9)).last_commit
    assert table.snapshot is not None
    assert (done.snapshot_id, done.operation, done.snapshots) == (table.snapshot.id, "append", 1)
    assert numbers(table) == (3, 0, 0)
    assert (done.files_added, done.files_removed, done.delete_files_added) == (1, 0, 0)


def test_deletes(table: fz.Table) -> None:
    assert numbers(table.delete("id >= 5")) == (0, 2, 0)
    assert (table.last_commit.files_added, table.last_commit.files_removed) == (0, 1)
    assert numbers(table.delete("id = 1")) == (0, 1, 0)
    assert numbers(table.delete("id in (2, 3)")) == (0, 2, 0)
    assert numbers(table.delete("id = 77")) == (0, 0, 0)
    assert table.last_commit.snapshot_id is None
    assert table.scan().count() == 1


def test_updates_upserts_and_merges(table: fz.Table) -> None:
    assert numbers(table.update("id <= 3", {"city": "Bergen"})) == (0, 0, 3)
    assert numbers(table.upsert(rows(3, 4, 7), on="id")) == (1, 0, 1)
    assert numbers(table.merge(rows(1, 2), on="id", when_matched_delete=True)) == (0, 2, 0)


def test_overwrites(table: fz.Table) -> None:
    assert numbers(table.overwrite(rows(10, 11, 12), where="id in (1, 2)")) == (3, 2, 0)
    assert numbers(table.overwrite(rows(20))) == (1, 7, 0)


def test_transactions_count_all_of_their_changes(table: fz.Table) -> None:
    with table.transaction() as tx:
        tx.append(rows(7, 8))
        tx.update("id = 1", {"city": "Bergen"})
        tx.set_properties({"a": "b"})
    assert numbers(table) == (2, 0, 1)
    assert table.last_commit.snapshots == 2


def test_changes_of_metadata_make_no_snapshot(table: fz.Table) -> None:
    table.set_properties({"a": "b"})
    assert table.last_commit == fz.LastCommit()


def test_commits_of_others_do_not_count(tmp_path: pathlib.Path) -> None:
    catalog = fz.catalog(warehouse=tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    other = catalog.load_table("db.t")
    other.append(rows(1, 2, 3))
    assert numbers(table.append(rows(4))) == (1, 0, 0)
    other.append(rows(5))
    assert numbers(table.delete("id = 77")) == (0, 0, 0)
    other.append(rows(6))
    table.refresh()
    assert table.last_commit == fz.LastCommit()
    assert pickle.loads(pickle.dumps(table)).last_commit == fz.LastCommit()


def test_a_created_table_counts_its_rows(tmp_path: pathlib.Path) -> None:
    for catalog in (fz.catalog(type="memory"), fz.catalog(warehouse=tmp_path)):
        catalog.create_namespace("db")
        assert numbers(catalog.create_table("db.t", data=rows(1, 2))) == (2, 0, 0)


def test_what_files_can_not_tell_is_none() -> None:
    catalog = fz.catalog(type="memory")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA).append(rows(1, 2, 3))
    done = table.delete_keys(rows(1), on="id").last_commit
    # Equality deletes are not looked up, so nobody knows how many rows they hide.
    assert (done.rows_deleted, done.delete_files_added) == (None, 1)


def test_messages_of_writers(table: fz.Table) -> None:
    assert numbers(table.commit([table.writer().write(rows(7)), table.writer(1).write(rows(8, 9))])) == (3, 0, 0)


def test_paimon(tmp_path: pathlib.Path) -> None:
    catalog = fz.catalog(warehouse=tmp_path)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA, format="paimon")
    assert numbers(table.append(rows(1, 2, 3))) == (3, 0, 0)
    assert numbers(table.delete("id = 1"))[1] == 1
    # Rows 2 and 3 are there.
    assert numbers(table.overwrite(rows(7, 8, 9), where="id > 2")) == (3, 1, 0)
    assert str(table.last_commit) == "overwrite: rows 3 added, 1 deleted; files unknown"
    assert numbers(table.overwrite(rows(1))) == (1, 4, 0)
    assert numbers(table.overwrite_partitions(rows(2, 3, 4))) == (3, 1, 0)
    assert numbers(table.overwrite(rows())) == (0, 3, 0)
    assert table.scan().count() == 0


def test_paimon_does_not_guess(tmp_path: pathlib.Path) -> None:
    catalog = fz.catalog(warehouse=tmp_path)
    catalog.create_namespace("db")
    keyed = catalog.create_table("db.keyed", SCHEMA, format="paimon", identifier_fields="id", data=rows(1, 2))
    # Files of the new rows may have a key twice.
    assert numbers(keyed.overwrite(rows(7, 8, 9))) == (None, None, None)
    assert str(keyed.last_commit) == "overwrite: rows unknown; files unknown"
    options = {"deletion-vectors.enabled": "true"}
    hidden = catalog.create_table("db.hidden", SCHEMA, format="paimon", properties=options, data=rows(1, 2, 3))
    hidden.delete("id = 1")
    # The files still have the row that is deleted.
    assert numbers(hidden.overwrite(rows(7, 8, 9))) == (3, None, 0)
    assert str(hidden.last_commit) == "overwrite: rows 3 added, others unknown; files unknown"


def test_the_text_is_short(table: fz.Table) -> None:
    table.append(rows(7, 8))
    assert str(table.last_commit) == "append: rows 2 added; files 1 added"
    assert "rows_added=2" in repr(table.last_commit)
    with pytest.raises(AttributeError):
        table.last_commit.rows_added = 1  # type: ignore[misc]
