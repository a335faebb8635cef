"""Rows that Spark's own reader leaves out, since they are deleted: 64 rows of a file are looked up at once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz
from frazil import interop
from frazil.exceptions import InternalError
from frazil.spark.lanes import assignment, deleted_rows
from frazil.spark.reading.places import read_placed

pytestmark = pytest.mark.spark

MERGE_ON_READ = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}
# Around the ends of what one entry is for, and beyond the first few.
DELETED = (0, 1, 62, 63, 64, 65, 127, 128, 511, 512, 4095, 4096, 9_998)


def numbers(first: int, count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64())})


def make(catalog: fz.Catalog, name: str, version: int = 2) -> fz.Table:
    properties = {"format-version": str(version), **MERGE_ON_READ}
    return catalog.create_table(f"db.{name}", numbers(0, 0).schema, properties=properties)


def added(catalog: fz.Catalog, name: str, folder: Path, *files: str) -> fz.Table:
    """A table of such files with 100 rows each: the second has ids from 1000 on."""
    table = make(catalog, name)
    for i, file in enumerate(files):
        if not (folder / file).exists():
            pq.write_table(numbers(1000 * i, 100), folder / file)
        table.add_files([str(folder / file)], check_duplicate_files=False)
    return table


def ids(rows) -> list[int]:
    return sorted(row.id for row in rows.select("id").collect())


def lanes(spark, table: fz.Table) -> set[tuple[str, str | None]]:
    found = fz.spark.explain(spark, table).files
    return set(zip(found["lane"].to_pylist(), found["reason"].to_pylist(), strict=True))


@pytest.fixture(autouse=True)
def by_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with deletes go to Spark's reader."""
    monkeypatch.setattr(assignment, "_MOST_DELETES", {"auto": 1_000, "native": 1_000})


@pytest.mark.parametrize("version", [2, 3])
def test_rows_of_many_entries(spark, catalog: fz.Catalog, version: int) -> None:
    table = make(catalog, "many", version).append(numbers(0, 5_000)).append(numbers(5_000, 5_000))
    table.delete(f"id in ({', '.join(map(str, DELETED))})")
    assert len(list(table.scan().plan_files())) == 2
    assert lanes(spark, table) == {("ND", None)}
    left = [i for i in range(10_000) if i not in DELETED]
    rows = fz.spark.read(spark, table, engine="native")
    assert ids(rows) == left
    assert rows.count() == len(left)
    assert ids(rows.where("id between 60 and 130 or id > 9990")) == [i for i in left if 60 <= i <= 130 or i > 9990]
    placed = read_placed(spark, table, "id >= 0", ["id"]).rows
    assert sorted((row.id, row._pos) for row in placed.select("id", "_pos").collect()) == [(i, i % 5_000) for i in left]


def test_every_row_of_a_file(spark, catalog: fz.Catalog) -> None:
    table = make(catalog, "all", 3).append(numbers(0, 130)).append(numbers(130, 130))
    table.delete("id < 129")
    table.delete("id in (129, 259)")
    assert ids(fz.spark.read(spark, table)) == list(range(130, 259))


def test_files_whose_paths_are_spelt_alike_are_read_by_frazil(spark, catalog: fz.Catalog, tmp_path: Path) -> None:
    """`a b` in the spelling of a URI is the name of the other file."""
    table = added(catalog, "alike", tmp_path, "a b.parquet", "a%20b.parquet", "c.parquet")
    table.delete("id in (1, 2, 70, 1003, 1071, 2005)")
    assert lanes(spark, table) == {("A", "Spark may spell its path like that of another file"), ("ND", None)}
    expected = [i for n in range(3) for i in range(1000 * n, 1000 * n + 100) if i not in (1, 2, 70, 1003, 1071, 2005)]
    assert ids(fz.spark.read(spark, table)) == expected
    placed = read_placed(spark, table, "id >= 0", ["id"])
    files = {
        row.id // 1000: row.file
        for row in placed.rows.select("id", placed.path(placed.rows._file).alias("file")).collect()
    }
    assert [Path(files[n]).name for n in range(3)] == ["a b.parquet", "a%20b.parquet", "c.parquet"]


@pytest.mark.parametrize("deleted", [False, True])
def test_a_file_that_is_there_twice_is_read_by_frazil(
    spark, catalog: fz.Catalog, tmp_path: Path, deleted: bool
) -> None:
    table = added(catalog, "twice", tmp_path, "a.parquet", "a.parquet", "b.parquet")
    if deleted:
        table.delete("id in (3, 64)")
    expected = sorted(table.scan().to_arrow()["id"].to_pylist())
    assert len(expected) in (300, 296)
    assert ids(fz.spark.read(spark, table)) == expected
    assert ("A", "the table has it more than once") in lanes(spark, table)


def test_files_whose_paths_hadoop_changes_are_read_by_frazil(spark, catalog: fz.Catalog, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    table = added(catalog, "changed", tmp_path, "x/a.parquet", "x//a.parquet", "x/./a.parquet", "x/b:c.parquet")
    table.delete("id in (3, 3064)")
    expected = sorted(table.scan().to_arrow()["id"].to_pylist())
    assert len(expected) == 396
    assert ids(fz.spark.read(spark, table)) == expected
    assert ("A", "engines spell its path in another way") in lanes(spark, table)


@pytest.mark.parametrize("spelt", ["{}//odd//t", "/{}/odd/t", "file://localhost{}/odd/t"])
def test_a_table_whose_place_hadoop_changes(spark, tmp_path: Path, spelt: str) -> None:
    catalog = fz.catalog("c", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    properties = {"format-version": "2", **MERGE_ON_READ}
    place = spelt.format(tmp_path)
    table = catalog.create_table("db.odd", numbers(0, 0).schema, properties=properties, location=place)
    assert "another way" in str(fz.spark.explain_write(spark.range(3), table))
    fz.spark.append(spark.range(100), table)
    table = table.refresh()
    table.delete("id in (3, 64)")
    fz.spark.merge(spark.range(90, 110), table, ["id"], when_not_matched_insert=True)
    assert ids(fz.spark.read(spark, table.refresh())) == [i for i in range(110) if i not in (3, 64)]


def test_a_number_for_two_files_is_found_out(spark, catalog: fz.Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(catalog, "guarded").append(numbers(0, 10)).append(numbers(10, 10))
    table.delete("id in (3, 13)")
    monkeypatch.setattr(
        deleted_rows,
        "_renumbered",
        lambda deleted, _: pa.table({deleted_rows._WORD: [7, 7], deleted_rows._MASK: [1, 2]}),
    )
    with pytest.raises(InternalError, match="the same number"):
        fz.spark.read(spark, table)


def test_names_of_our_own_columns(spark, catalog: fz.Catalog) -> None:
    for name in (
        deleted_rows._FILE,
        deleted_rows._PATH,
        deleted_rows._POSITION,
        deleted_rows._WORD,
        deleted_rows._BIT,
        deleted_rows._MASK,
    ):
        assert name.startswith("__frazil_")
    rows = pa.table({"id": pa.array(range(10), pa.int64()), "__Frazil_word": pa.array(range(10), pa.int64())})
    table = catalog.create_table("db.own", rows.schema, properties=MERGE_ON_READ).append(rows)
    table.delete("id = 3")
    assert ids(fz.spark.read(spark, table)) == [i for i in range(10) if i != 3]
    assert lanes(spark, table) == {("A", "columns that begin with '__frazil_' are Frazil's own in Spark")}
    assert ids(fz.spark.read(spark, table, select=["id"], engine="native")) == [i for i in range(10) if i != 3]


def test_words_are_as_the_core_packs_them(catalog: fz.Catalog) -> None:
    """File by file: its number above `_WORD_BITS` bits of the rows' numbers divided by 64."""
    table = make(catalog, "packed", 3).append(numbers(0, 200)).append(numbers(200, 200))
    table.delete("id in (63, 64, 327)")
    deleted = interop.table_of(table.scan()._core.native_read(["file"], {}, 10, 10).deleted).to_pydict()
    bits = deleted_rows._WORD_BITS
    found = [
        (word >> bits, word & ((1 << bits) - 1), mask)
        for word, mask in zip(deleted["word"], deleted["mask"], strict=True)
    ]
    by_file = [[(word, mask) for number, word, mask in found if number == file] for file in (0, 1)]
    assert sorted(by_file, key=len) == [[(1, -(1 << 63))], [(0, -(1 << 63)), (1, 1)]]
