"""Deletes and updates by a filter in tables of Paimon: Java reads the same rows, goes on, and Frazil reads on."""

import pickle
import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from paimon_java import Paimon, PaimonTable, PaimonType
from test_paimon_writes import COLUMNS, KEYED, batch, rows

import frazil as fz
from frazil import col
from frazil.requests import rows as row_requests
from frazil.requests.rows import RowChange

Row = tuple[Any, ...]


def held(table: PaimonTable) -> dict[int, Row]:
    """The rows by their ids, as Java and Frazil read them alike."""
    table.check(None)
    found = table.open().scan().to_arrow().to_pylist()
    out = {row["id"]: tuple(row.values()) for row in found}
    assert len(out) == len(found)
    return out


def plain(columns: dict[int, Row]) -> dict[int, Row]:
    return dict(sorted(columns.items()))


APPENDS: list[dict[str, object]] = [
    {},
    {"deletion-vectors.enabled": "true"},
    {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"},
    {"deletion-vectors.enabled": "true", "deletion-vector.index-file.target-size": "1 b"},
    {"bucket": 3, "bucket-key": "id"},
    {"bucket": 3, "bucket-key": "id", "deletion-vectors.enabled": "true"},
    {"file.format": "orc", "deletion-vectors.enabled": "true"},
    {"file.format": "avro"},
]


@pytest.mark.parametrize("options", APPENDS, ids=str)
def test_append_tables(paimon: Paimon, options: dict[str, object]) -> None:
    columns: dict[str, PaimonType] = {**COLUMNS, "part": "STRING"}
    table = paimon.create("rows", columns, partitioned_by=["part"], options=options)
    made = [(*r, "ab"[i % 2]) for i, r in enumerate(rows(0, 60))]
    want = {r[0]: r for r in made}
    t = table.open()
    for start in range(0, 60, 20):
        t.append(batch(columns, made[start : start + 20]))
    t.delete("id in (3, 4, 25) or name is null")
    want = {i: r for i, r in want.items() if i not in (3, 4, 25) and r[1] is not None}
    assert plain(held(table)) == want
    assert t.snapshot is not None
    assert (t.snapshot.operation, t.snapshot.summary["frazil.rows-deleted"]) == ("overwrite", "12")
    # Java reads the vectors and adds its own rows; another delete unites with those that are there.
    java = [(100, "java", 1, None, "a"), (101, None, 2, 0.5, "c")]
    table.write(java)
    want |= {r[0]: r for r in java}
    t.refresh().delete((col("id") >= 30) & (col("id") < 40))
    want = {i: r for i, r in want.items() if not 30 <= i < 40}
    assert plain(held(table)) == plain(want)
    t.update("id = 5 or id = 100", {"name": "new", "v": None, "d": 1.5})
    for i in (5, 100):
        want[i] = (i, "new", None, 1.5, want[i][4])
    assert plain(held(table)) == plain(want)
    assert t.snapshot is not None
    assert t.snapshot.summary["frazil.rows-updated"] == "2"
    # Rows that get another partition, and a column by another.
    t.update("id < 3", {"part": "z", "v": 7})
    for i in (1, 2):
        want[i] = (*want[i][:2], 7, want[i][3], "z")
    assert plain(held(table)) == plain(want)
    # Nothing to do is no commit; what is left of whole files goes as a whole.
    before = t.snapshot.id
    t.delete("id = 12345")
    t.update("id = 12345", {"v": 1})
    assert t.snapshot.id == before
    t.delete("part = 'a' and id < 1000")
    want = {i: r for i, r in want.items() if r[4] != "a"}
    assert plain(held(table)) == plain(want)
    t.delete("part = 'c'")
    del want[101]
    assert plain(held(table)) == plain(want)
    t.overwrite(batch(columns, [(500, "o", 1, 1.0, "b")]), "id > 50")
    want = {i: r for i, r in want.items() if i <= 50} | {500: (500, "o", 1, 1.0, "b")}
    assert plain(held(table)) == plain(want)
    table.compact()
    assert plain(held(table)) == plain(want)
    t.refresh().delete("id = 500")
    del want[500]
    table.check(("=", "part", "b"), ("=", "id", 41), (">", "v", 100))
    assert plain(held(table)) == plain(want)


def test_java_deletes_after_frazil(paimon: Paimon) -> None:
    """Java's maintainer of deletion vectors takes up those of Frazil, and the other way round."""
    for wide in ("false", "true"):
        options = {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": wide}
        table = paimon.create("both", COLUMNS, options=options)
        t = table.open()
        t.append(batch(COLUMNS, rows(0, 50)))
        t.append(batch(COLUMNS, rows(50, 100)))
        t.delete("id < 10 or id > 90")
        table.delete_positions([20, 21])
        gone = {*range(10), *range(91, 100), 20, 21, 70, 71}
        assert set(held(table)) == set(range(100)) - gone
        t.refresh().delete("id = 22 or id = 51")
        assert set(held(table)) == set(range(100)) - gone - {22, 51}
        files = table.read(system="files").rows
        assert sum(files["record_count"].to_pylist()) == 100


ENGINES: list[dict[str, object]] = [
    {},
    {"sequence.field": "v"},
    {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    {"deletion-vectors.enabled": "true"},
    {"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"},
    {"changelog-producer": "lookup"},
]


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_keyed_tables(paimon: Paimon, engine: dict[str, object]) -> None:
    table = paimon.create("keyed", KEYED, ["id"], options={"bucket": 2, **engine})
    t = table.open()
    want = {r[0]: r for r in rows(0, 40)}
    t.append(batch(KEYED, rows(0, 40)))
    t.delete("id in (3, 4, 5) or name is null")
    want = {i: r for i, r in want.items() if i not in (3, 4, 5) and r[1] is not None}
    if "merge-engine" not in engine or engine["merge-engine"] == "partial-update":
        t.update("v > 200 and v < 250", {"name": "new", "d": 0.25})
        for i in range(21, 25):
            if i in want:
                want[i] = (i, "new", want[i][2], 0.25)
        with pytest.raises(fz.InvalidInputError, match="primary key"):
            t.update("id = 1", {"id": 2})
    else:
        with pytest.raises(fz.UnsupportedError, match="merged from several rows"):
            t.update("id = 1", {"v": 2})
    if "deletion-vectors.enabled" in engine:
        # Rows are seen once they are compacted.
        table.compact()
    assert plain(held(table)) == want
    table.write([(3, "java", 1000, 0.5), (50, "java", 1, None)])
    want |= {3: (3, "java", 1000, 0.5), 50: (50, "java", 1, None)}
    t.refresh().delete("name = 'java' and id = 50")
    del want[50]
    table.compact()
    assert plain(held(table)) == plain(want)
    t.refresh().delete("true")
    assert held(table) == {}


@pytest.mark.parametrize("key", [["id", "part"], ["id"]], ids=["dynamic", "over partitions"])
def test_keys_with_buckets_as_they_come(paimon: Paimon, key: list[str]) -> None:
    columns = {**KEYED, "part": "STRING NOT NULL"}
    table = paimon.create("dynamic", columns, key, ["part"])
    t = table.open()
    want = {r[0]: (*r, "ab"[r[0] % 2]) for r in rows(0, 30)}
    t.append(batch(columns, list(want.values())))
    t.delete("id in (1, 2)")
    t.update("id in (3, 4)", {"name": "new"})
    want = {i: r for i, r in want.items() if i not in (1, 2)}
    for i in (3, 4):
        want[i] = (i, "new", *want[i][2:])
    assert plain(held(table)) == want
    if key == ["id"]:
        t.update("id = 5", {"part": "c"})
        want[5] = (*want[5][:4], "c")
        assert plain(held(table)) == want
    t.delete("part = 'a'")
    want = {i: r for i, r in want.items() if r[4] != "a"}
    assert plain(held(table)) == want
    t.append(batch(columns, [(100, "x", 1, 0.5, "a")]))
    want[100] = (100, "x", 1, 0.5, "a")
    table.compact()
    assert plain(held(table)) == want


def test_what_is_not_compacted_yet_is_updated(paimon: Paimon) -> None:
    """Scans of tables with deletion vectors pass over new rows; changes of rows must not."""
    options = {"bucket": 1, "deletion-vectors.enabled": "true"}
    table = paimon.create("newest", KEYED, ["id"], options=options)
    t = table.open()
    t.append(batch(KEYED, [(1, "a", 1, None), (2, "a", 1, None)]))
    table.compact()
    t.refresh().append(batch(KEYED, [(1, "b", 2, None)]))
    t.update("id = 1", {"d": 0.5})
    t.delete("v = 1")
    table.compact()
    assert held(table) == {1: (1, "b", 2, 0.5)}


@pytest.mark.parametrize("vectors", ["false", "true"])
def test_rows_keep_their_ids(paimon: Paimon, vectors: str) -> None:
    options = {"row-tracking.enabled": "true", "deletion-vectors.enabled": vectors, "compaction.min.file-num": 2}
    table = paimon.create("tracked", COLUMNS, options=options)

    def same() -> dict[int, tuple[int, int]]:
        java = {
            r["id"]: (r["_ROW_ID"], r["_SEQUENCE_NUMBER"]) for r in table.read(system="row_tracking").rows.to_pylist()
        }
        columns = ["id", "_row_id", "_last_updated_sequence_number"]
        mine = {
            r["id"]: (r["_row_id"], r["_last_updated_sequence_number"])
            for r in table.open().scan(select=columns).to_arrow().to_pylist()
        }
        assert mine == java
        table.check(None)
        return java

    t = table.open()
    t.append(batch(COLUMNS, rows(0, 10)))
    table.write(rows(10, 20))
    t.refresh().delete("id in (1, 11)")
    t.update("id in (2, 12, 13)", {"name": "u"})
    found = same()
    assert {i: ids[0] for i, ids in found.items()} == {i: i for i in range(20) if i not in (1, 11)}
    assert {i for i, ids in found.items() if ids[1] == 4} == {2, 12, 13}
    table.write(rows(20, 22))
    table.compact()
    assert same() == {**found, 20: (20, 5), 21: (21, 5)}
    t.refresh().delete("id = 3 or id = 20")
    t.update("id = 4", {"v": 0})
    again = same()
    assert again[4] == (4, t.snapshot.id if t.snapshot else 0)
    assert (again[5], len(again)) == (found[5], 18)


def test_changelog_of_changes(paimon: Paimon) -> None:
    options = {"bucket": 1, "changelog-producer": "input"}
    table = paimon.create("input", KEYED, ["id"], options=options)
    t = table.open()
    t.append(batch(KEYED, rows(0, 4)))
    t.update("id = 1", {"name": "u"})
    t.delete("id = 2")
    assert sorted(table.check_changes(1, 3)) == ["+U", "-D"]


def test_what_keyed_tables_refuse(paimon: Paimon) -> None:
    def refused(options: dict[str, object], what: str) -> None:
        t = paimon.create("refused", KEYED, ["id"], options={"bucket": 1, **options}).open()
        t.append(batch(KEYED, rows(0, 3)))
        with pytest.raises(fz.UnsupportedError, match=what) as error:
            t.delete("id = 1")
        assert error.value.hint

    refused({"merge-engine": "partial-update"}, "partial-update")
    refused({"merge-engine": "aggregation"}, "aggregation")
    refused({"merge-engine": "first-row"}, "first row")
    refused({"ignore-delete": "true"}, "ignores deletes")
    partial = paimon.create("partial", KEYED, ["id"], options={"bucket": 1, "merge-engine": "partial-update"}).open()
    with pytest.raises(fz.UnsupportedError, match="ignores nulls"):
        partial.update("id = 1", {"name": None})


def test_random_histories(paimon: Paimon) -> None:
    """Deletes, updates and appends of both sides in turn, against a dictionary."""
    dice = random.Random(11)
    for options in [{"deletion-vectors.enabled": "true"}, {}, {"bucket": 2, "bucket-key": "id"}]:
        table = paimon.create("history", COLUMNS, options=options)
        t, want, next_id = table.open(), dict[int, Row](), 0
        for turn in range(12):
            t.refresh()
            low = dice.randrange(max(next_id, 1))
            match dice.choice(["append", "java", "delete", "delete", "update", "compact"]):
                case "append" | "java" as who:
                    new = rows(next_id, next_id + 10)
                    next_id += 10
                    table.write(new) if who == "java" else t.append(batch(COLUMNS, new))
                    want |= {r[0]: r for r in new}
                case "delete":
                    t.delete(f"id >= {low} and id < {low + 4}")
                    want = {i: r for i, r in want.items() if not low <= i < low + 4}
                case "update":
                    t.update(f"id >= {low} and id < {low + 3}", {"v": turn, "name": "u"})
                    for i in want:
                        if low <= i < low + 3:
                            want[i] = (i, "u", turn, want[i][3])
                case "compact":
                    table.compact()
            assert plain(held(table)) == plain(want), turn


def in_parts(
    t: fz.Table, columns: list[str], changes: list[tuple[int, Row | None]], new: Sequence[Row] = ()
) -> fz.Table:
    """Changes rows by their places, as Spark's tasks do. Each data file is a part. None deletes a row."""
    found = t.scan(select=["id", "_file", "_pos"]).to_arrow().to_pylist()
    places = {row["id"]: (row["_file"], row["_pos"]) for row in found}
    every = {name: name for name in t.schema.names}
    merge = RowChange.Merge([], {name: name for name in columns} or None, None, every, None)
    schema = t.schema.to_arrow()
    messages = []
    by_file: dict[str | None, list[dict[str, Any]]] = {None: [dict(zip(schema.names, row, strict=True)) for row in new]}
    for id_, values in changes:
        file, position = places[id_]
        row: dict[str, Any] = {} if values is None else dict(zip(columns, values, strict=True))
        row |= {"frazil file": file, "frazil position": position, "frazil missing": values is None}
        by_file.setdefault(file, []).append(row)
    shape = [pa.field(c.name, c.type) for c in schema]
    shape += [pa.field("frazil file", pa.string()), pa.field("frazil position", pa.int64())]
    shape.append(pa.field("frazil missing", pa.bool_()))
    for task, given in enumerate(by_file.values()):
        source = pa.Table.from_pylist(given, schema=pa.schema(shape))
        messages.append(row_requests.write_matched_part(t._core, merge, "true", source, None, task, "merge"))
    return fz.Table(row_requests.commit_parts(t._core, merge, "true", pickle.loads(pickle.dumps(messages)), {}, None))


PARTS: list[dict[str, object]] = [
    *APPENDS,
    {"row-tracking.enabled": "true"},
    {"row-tracking.enabled": "true", "deletion-vectors.enabled": "true"},
    {"row-tracking.enabled": "true", "data-evolution.enabled": "true"},
]


@pytest.mark.parametrize("options", PARTS, ids=str)
def test_changes_in_parts(paimon: Paimon, options: dict[str, object]) -> None:
    table = paimon.create("parts", COLUMNS, options=options)
    want = {r[0]: r for r in rows(0, 60)}
    t = table.open()
    for start in range(0, 60, 20):
        t.append(batch(COLUMNS, rows(start, start + 20)))
    ids = "row-tracking.enabled" in options

    def row_ids() -> dict[int, int]:
        return {row["id"]: row["_row_id"] for row in table.open().scan(select=["id", "_row_id"]).to_arrow().to_pylist()}

    before = row_ids() if ids else {}
    t = in_parts(t, ["name", "v"], [(i, (f"new{i}", None)) for i in (2, 12, 25)], [(100, "x", 1, None)])
    want |= {i: (i, f"new{i}", None, want[i][3]) for i in (2, 12, 25)}
    want[100] = (100, "x", 1, None)
    assert plain(held(table)) == want
    if "data-evolution.enabled" not in options:
        # All rows of a file, and some of another one with vectors.
        t = in_parts(t, [], [(i, None) for i in [*range(20, 40), 2, 3]])
        want = {i: row for i, row in want.items() if i not in (*range(20, 40), 2, 3)}
        assert plain(held(table)) == want
    assert ids is False or {i: row for i, row in row_ids().items() if i < 100} == {
        i: before[i] for i in want if i < 100
    }
    table.write([(200, "java", 2, 0.5)])
    t = in_parts(t.refresh(), ["v"], [(200, (7,)), (12, (8,))])
    want |= {200: (200, "java", 7, 0.5), 12: (*want[12][:2], 8, want[12][3])}
    assert plain(held(table)) == want


def test_conflicts(paimon: Paimon) -> None:
    """What another commit did meanwhile is planned again, not lost."""
    options = {"deletion-vectors.enabled": "true"}
    table = paimon.create("conflicts", COLUMNS, options=options)
    t = table.open()
    t.append(batch(COLUMNS, rows(0, 20)))
    other = table.open()
    other.delete("id = 1")
    t.delete("id = 2")
    other.update("id = 3", {"name": "x"})
    t.update("id = 4", {"name": "y"})
    found = held(table)
    assert set(found) == set(range(20)) - {1, 2}
    assert (found[3][1], found[4][1]) == ("x", "y")
    table.compact()
    t.delete("id = 5")
    assert set(held(table)) == set(range(20)) - {1, 2, 5}


def test_evolved_schema(paimon: Paimon) -> None:
    table = paimon.create("evolved", COLUMNS, options={})
    t = table.open()
    t.append(batch(COLUMNS, rows(0, 10)))
    with t.update_schema() as update:
        update.rename_column("name", "label")
        update.add_column("more", "long")
    t.update("id = 3", {"more": 9, "label": "n"})
    t.delete("id = 4 or label = 'n005'")
    found = held(table)
    assert set(found) == {0, 1, 2, 3, 6, 7, 8, 9}
    assert found[3] == (3, "n", 30, 0.75, 9)
    assert found[2] == (2, "n002", 20, 0.5, None)
    assert pa.types.is_int64(t.scan().to_arrow()["more"].type)
