"""Updates and merges of Paimon tables with data evolution: new files of the changed columns, all else stays."""

import json
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

SCHEMA = pa.schema(
    [pa.field("id", pa.int64()), ("part", pa.string()), ("name", pa.string()), ("n", pa.int64()), ("pic", pa.binary())]
)
OPTIONS = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true", "blob-field": "pic"}


def rows(ids: range) -> pa.Table:
    return pa.table(
        [
            list(ids),
            [f"p{i % 2}" for i in ids],
            [f"n{i}" if i % 3 else None for i in ids],
            [i * 10 for i in ids],
            [None if i % 4 == 1 else bytes([i % 256]) * 9 for i in ids],
        ],
        schema=SCHEMA,
    )


def create(folder: Path, options: dict[str, str] | None = None, by: list[str] | None = None) -> fz.Table:
    catalog = fz.catalog("columns", warehouse=str(folder))
    catalog.create_namespace("db", if_not_exists=True)
    properties = {**OPTIONS, **(options or {})}
    return catalog.create_table("db.t", SCHEMA, by or [], format="paimon", properties=properties)


def found(table: fz.Table, **scan: Any) -> list[dict[str, Any]]:
    return sorted(table.scan(**scan).to_arrow().to_pylist(), key=lambda row: row["id"])


def changed(all_rows: list[dict[str, Any]], ids: set[int], **values: Any) -> list[dict[str, Any]]:
    return [{**row, **values} if row["id"] in ids else row for row in all_rows]


def written(table: fz.Table) -> list[tuple[list[str] | None, int, int]]:
    """Columns, first row id and number of rows of each file."""
    files = table.inspect.data_files().to_pylist()
    return sorted((file["write_cols"], file["first_row_id"], file["record_count"]) for file in files)


NORMAL = ["id", "part", "name", "n"]


def test_an_update_writes_its_columns_alone(tmp_path: Path) -> None:
    table = create(tmp_path).append(rows(range(10))).append(rows(range(10, 15)))
    before = found(table, select=["id", "_row_id"])
    table = table.update("id in (3, 4)", {"name": "new"})
    assert found(table) == changed(rows(range(15)).to_pylist(), {3, 4}, name="new")
    assert written(table) == [
        (NORMAL, 0, 10),
        (NORMAL, 10, 5),
        (["name"], 0, 10),
        (["pic"], 0, 10),
        (["pic"], 10, 5),
    ]
    assert table.snapshot.summary["frazil.rows-updated"] == "2"
    assert found(table, select=["id", "_row_id"]) == before
    table = table.update("name = 'new'", {"name": None, "n": 7})
    table = table.update("id > 12", {"n": -1})
    wanted = changed(changed(rows(range(15)).to_pylist(), {3, 4}, name=None, n=7), {13, 14}, n=-1)
    assert found(table) == wanted
    assert found(fz.open_table(table.location), filter="n = 7", select=["id"]) == [{"id": 3}, {"id": 4}]
    assert table.scan(filter="name = 'new'").count() == 0
    # The next rows get the ids after those of all rows.
    table = table.append(rows(range(15, 17)))
    assert [row["_row_id"] for row in found(table, select=["id", "_row_id"])] == list(range(17))


def test_a_column_may_get_the_values_of_another(tmp_path: Path) -> None:
    table = create(tmp_path, by=["part"]).append(rows(range(8)))
    table = table.update("part = 'p1'", {"n": fz.col("id")})
    assert [row["n"] for row in found(table)] == [0, 1, 20, 3, 40, 5, 60, 7]


def test_deleted_rows_stay_deleted(tmp_path: Path) -> None:
    table = create(tmp_path, {"deletion-vectors.enabled": "true", "blob-field": ""}).append(rows(range(10)))
    table = table.delete("id in (0, 5)")
    table = table.update("id < 7", {"name": "x"})
    left = [row for row in rows(range(10)).to_pylist() if row["id"] not in (0, 5)]
    assert found(table) == changed(left, set(range(7)), name="x")
    assert table.snapshot.summary["frazil.rows-updated"] == "5"
    table = table.delete("name = 'x' and id > 4")
    assert [row["id"] for row in found(table)] == [1, 2, 3, 4, 7, 8, 9]
    table = table.update("true", {"n": 1})
    assert [row["n"] for row in found(table)] == [1] * 7


def test_upserts_and_merges(tmp_path: Path) -> None:
    table = create(tmp_path).append(rows(range(10)))
    wanted = {row["id"]: row for row in rows(range(10)).to_pylist()}
    new = pa.table({"id": [8, 9, 10, 11], "name": ["a", "b", "c", "d"]})
    table = table.upsert(new, on=["id"])
    for id_, name in ((8, "a"), (9, "b")):
        wanted[id_]["name"] = name
    for id_, name in ((10, "c"), (11, "d")):
        wanted[id_] = {"id": id_, "part": None, "name": name, "n": None, "pic": None}
    assert found(table) == list(wanted.values())
    assert (["name"], 0, 10) in written(table)
    # Only inserted rows have values of the other columns.
    more = rows(range(20, 22))
    table = table.upsert(more, on=["id"])
    assert found(table, filter="id >= 20") == more.to_pylist()
    with pytest.raises(fz.UnsupportedError, match=r"columns of type BLOB"):
        table.upsert(more, on=["id"])
    with pytest.raises(fz.UnsupportedError, match=r"deletes of rows"):
        table.merge(new, on=["id"], when_matched_delete=True)


def test_racing_updates_all_count(tmp_path: Path) -> None:
    table = create(tmp_path).append(rows(range(12)))
    failures: list[BaseException] = []

    def change(id_: int) -> None:
        try:
            fz.open_table(table.location).update(f"id = {id_}", {"n": -id_})
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=change, args=(i,)) for i in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    ns = [row["n"] for row in found(table.refresh())]
    assert ns == [0, -1, -2, -3, -4, -5, -6, *range(70, 120, 10)]


@pytest.mark.parametrize(
    ("assigned", "reason"),
    [({"pic": b"x"}, "columns of type BLOB"), ({"part": "p9"}, "partition columns")],
)
def test_columns_that_are_not_changed(tmp_path: Path, assigned: dict[str, Any], reason: str) -> None:
    table = create(tmp_path, by=["part"]).append(rows(range(4)))
    files = set(Path(table.location).rglob("data-*"))
    with pytest.raises(fz.UnsupportedError, match=reason):
        table.update("id = 1", assigned)
    with pytest.raises(fz.UnsupportedError, match="deletes of rows"):
        table.delete("id = 1")
    assert set(Path(table.location).rglob("data-*")) == files
    assert found(table.refresh()) == rows(range(4)).to_pylist()


def test_values_are_checked(tmp_path: Path) -> None:
    catalog = fz.catalog("columns", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    options = {name: value for name, value in OPTIONS.items() if name != "blob-field"}
    schema = pa.schema([("id", pa.int64()), pa.field("must", pa.int64(), nullable=False)])
    table = catalog.create_table("db.t", schema, format="paimon", properties=options)
    table = table.append(pa.table([[1, 2], [3, 4]], schema=schema))
    with pytest.raises(fz.InvalidInputError, match="required"):
        table.update("id = 1", {"must": None})
    assert len(list(Path(table.location).rglob("data-*"))) == 1
    assert table.update("id = 1", {"must": 5}).scan().to_arrow().to_pylist() == [
        {"id": 1, "must": 5},
        {"id": 2, "must": 4},
    ]


def test_an_update_is_newer_than_files_that_number_their_rows(tmp_path: Path) -> None:
    """Other writers number the rows of the second file of a commit on, so that it looks newer than later commits."""
    table = create(tmp_path, {"blob-field": ""})
    message = table.writer().write(rows(range(3)))
    restore, (text,) = message.__reduce__()
    numbered = json.loads(text)
    for file in numbered["files"]:
        file["leveled"].update({"min-sequence-number": 8192, "max-sequence-number": 8194})
    table = table.commit([restore(json.dumps(numbered))])
    table = table.update("id = 1", {"name": "first"})
    assert found(table) == changed(rows(range(3)).to_pylist(), {1}, name="first")
    table = table.update("id = 2", {"name": "second"})
    assert [row["name"] for row in found(table)] == [None, "first", "second"]
    files = table.inspect.data_files().to_pylist()
    assert [file["max_sequence_number"] for file in files] == [8194, 8195, 8196]


def test_filters_find_rows_by_the_newest_values(tmp_path: Path) -> None:
    """The statistics of the files of a row list their columns by numbers of their manifest."""
    table = create(tmp_path, {"blob-field": ""}).append(rows(range(3)))
    table = table.update("id = 1", {"n": 25, "name": "b"}).update("id = 2", {"name": "c", "n": 200})
    assert [row["id"] for row in found(table, filter="n = 200")] == [2]
    assert [row["id"] for row in found(table, filter="n > 20")] == [1, 2]
    assert table.scan(filter="name = 'c'").count() == 1
    table = table.update("n = 200", {"part": "last"})
    assert [row["id"] for row in found(table, filter="part = 'last' and n = 200")] == [2]
    table = table.upsert(pa.table({"n": [200], "name": ["z"]}), on=["n"])
    assert [row["name"] for row in found(table)] == [None, "b", "z"]
    assert [row["id"] for row in found(table, filter="_row_id = 1")] == [1]
    assert table.scan(filter="_row_id >= 0 and not _row_id = 2").count() == 2


def test_filters_of_tables_with_blobs(tmp_path: Path) -> None:
    table = create(tmp_path).append(rows(range(3))).update("id = 1", {"name": "x", "n": 200})
    assert [row["id"] for row in found(table, filter="name = 'x'")] == [1]
    assert [row["id"] for row in found(table, filter="n < 100")] == [0, 2]


def test_updates_read_no_blobs(tmp_path: Path) -> None:
    table = create(tmp_path).append(rows(range(3)))
    for path in Path(table.location).rglob("*.blob"):
        path.unlink()
    table = table.update("id = 1", {"name": "a"}).upsert(pa.table({"id": [2], "name": ["b"]}), on=["id"])
    assert found(table, select=["id", "name"]) == [
        {"id": 0, "name": None},
        {"id": 1, "name": "a"},
        {"id": 2, "name": "b"},
    ]


def test_changes_of_columns_are_no_inserted_rows(tmp_path: Path) -> None:
    table = create(tmp_path, {"blob-field": ""}).append(rows(range(3)))
    assert table.changes(since=0, at=1).to_arrow().num_rows == 3
    table = table.update("id = 1", {"name": "a"})
    with pytest.raises(fz.UnsupportedError, match="columns are in several files"):
        table.changes(since=1, at=2).to_arrow()


def test_statistics_count_rows_once(tmp_path: Path) -> None:
    table = create(tmp_path).append(rows(range(9))).update("id < 3", {"name": "a"})
    computed = table.maintain.compute_statistics()
    recorded = json.loads(Path(computed.path).read_text())
    assert recorded["mergedRecordCount"] == 9
    assert recorded["colStats"]["id"]["nullCount"] == 0
    assert recorded["colStats"]["name"]["distinctCount"] == 1 + 4


def test_numbers_of_updated_rows(tmp_path: Path) -> None:
    table = create(tmp_path, {"deletion-vectors.enabled": "true", "blob-field": ""}).append(rows(range(10)))
    table = table.update("id = 1", {"name": "a"}).delete("id < 3").update("true", {"n": 1})
    assert table.snapshot.summary["frazil.rows-updated"] == "7"


def test_updates_of_others_stay_newer(tmp_path: Path) -> None:
    """pypaimon numbers the rows of its files of blobs on. That must not raise the number of other columns."""
    table = create(tmp_path)
    message = table.writer().write(rows(range(3)))
    restore, (text,) = message.__reduce__()
    numbered = json.loads(text)
    for file in numbered["files"]:
        if file["file-format"] == "blob":
            file["leveled"].update({"min-sequence-number": 11, "max-sequence-number": 11})
    table = table.commit([restore(json.dumps(numbered))]).update("id = 1", {"name": "first"})
    numbers = {tuple(f["write_cols"]): f["max_sequence_number"] for f in table.inspect.data_files().to_pylist()}
    assert numbers == {tuple(NORMAL): 1, ("pic",): 11, ("name",): 2}
