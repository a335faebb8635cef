"""Data files that a table lists twice, deletes differing: no row goes that nobody deleted, none comes back."""

from __future__ import annotations

import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64())])


def rows(ids: range | list[int], v: int = 0) -> pa.Table:
    return pa.table([list(ids), [v] * len(ids)], schema=SCHEMA)


def read(table: fz.Table) -> list[int]:
    return sorted(fz.open_table(table.location).scan().to_arrow()["id"].to_pylist())


def places(table: fz.Table, *positions: int) -> pa.Table:
    path = next(iter(table.scan().plan_files())).data_file.path
    return pa.table({"file_path": [path] * len(positions), "pos": list(positions)})


@pytest.fixture(params=[2, 3])
def twice(request: pytest.FixtureRequest, catalog: fz.Catalog, tmp_path: pathlib.Path) -> fz.Table:
    """A file of 10 rows that is listed twice. Its first row is deleted once: 19 rows."""
    modes = {f"write.{command}.mode": "merge-on-read" for command in ("delete", "update", "merge")}
    table = catalog.create_table("db.t", SCHEMA, properties={"format-version": "2", **modes})
    path = tmp_path / "a.parquet"
    pq.write_table(rows(range(10)), path)
    table.add_files([path])
    table.delete("id = 0")
    table.add_files([path], check_duplicate_files=False)
    if request.param == 3:
        table.upgrade(3)
    assert read(table) == sorted([*range(10), *range(1, 10)])
    return table


def test_rewritten_deletes(twice: fz.Table) -> None:
    before = read(twice)
    with pytest.raises(fz.UnsupportedError, match="more than once") as refused:
        twice.maintain.rewrite_position_deletes(rewrite_all=True)
    assert refused.value.context["path"].endswith("a.parquet")
    assert read(twice) == before


def test_rewritten_deletes_of_all_entries(twice: fz.Table) -> None:
    if twice.format_version == 3:
        return
    twice.delete("id = 5")
    twice.maintain.compact(rewrite_all=True)
    assert read(twice) == sorted([0, *[i for i in range(1, 10) if i != 5] * 2])


def test_deletes_that_reach_one_entry_do_not_dangle(twice: fz.Table) -> None:
    before = read(twice)
    assert twice.maintain.remove_dangling_deletes().rewritten_files == 0
    assert read(twice) == before


def test_positions(twice: fz.Table) -> None:
    if twice.format_version == 3:
        for _ in range(2):
            with pytest.raises(fz.UnsupportedError, match="more than once"):
                twice.delete_positions(places(twice, 1))
        assert len(read(twice)) == 19
        return
    twice.delete_positions(places(twice, 1))
    assert read(twice) == sorted([0, *list(range(2, 10)) * 2])
    # All that is left of one entry, and not of the other.
    twice.delete_positions(places(twice, *range(1, 10)))
    assert read(twice) == [0]
    assert twice.maintain.rewrite_position_deletes(rewrite_all=True).added_files == 1
    assert read(twice) == [0]


def test_positions_of_entries_with_the_same_deletes(twice: fz.Table) -> None:
    twice.maintain.compact(rewrite_all=True)
    path = str(pathlib.Path(twice.location).parent / "b.parquet")
    pq.write_table(rows(range(100, 104)), path)
    for _ in range(2):
        twice.add_files([path], check_duplicate_files=False)
    named = pa.table({"file_path": [path], "pos": [1]})
    assert [i for i in read(twice.delete_positions(named)) if i >= 100] == [100, 100, 102, 102, 103, 103]
    named = pa.table({"file_path": [path] * 4, "pos": range(4)})
    twice.commit([twice.writer().delete_positions(named)])
    assert [i for i in read(twice) if i >= 100] == []


def test_rows_by_filter(twice: fz.Table) -> None:
    changes = [
        (lambda: twice.delete("id = 1"), lambda left: sorted(i for i in left if i != 1)),
        (lambda: twice.update("id = 2", {"v": 7}), lambda left: left),
        (lambda: twice.delete("id = 0"), lambda left: [i for i in left if i != 0]),
        (lambda: twice.upsert(rows([3], 9), on=["id"]), lambda left: left),
    ]
    for change, expected in changes:
        before = read(twice)
        if twice.format_version == 3:
            with pytest.raises(fz.UnsupportedError, match="more than once"):
                change()
            assert read(twice) == before
        else:
            change()
            assert read(twice) == expected(before)


def test_files_written_anew(twice: fz.Table) -> None:
    """Copy-on-write writes each entry again by itself."""
    twice.set_properties({f"write.{command}.mode": "copy-on-write" for command in ("delete", "update", "merge")})
    twice.merge(rows([1], 5), on=["id"], when_matched_update=True, when_not_matched_by_source_delete="id = 0 or id > 5")
    assert read(twice) == sorted([1, 2, 3, 4, 5] * 2)


def test_a_file_with_a_deletion_vector_is_not_added_again(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    properties = {"format-version": "3", "write.delete.mode": "merge-on-read"}
    table = catalog.create_table("db.v", SCHEMA, properties=properties)
    path = tmp_path / "a.parquet"
    pq.write_table(rows(range(10)), path)
    table.add_files([path]).delete("id = 0")
    with pytest.raises(fz.InvalidInputError, match="rows of it are deleted"):
        table.add_files([path], check_duplicate_files=False)
    table.maintain.compact(rewrite_all=True)
    assert table.add_files([path], check_duplicate_files=False).scan().count() == 19
