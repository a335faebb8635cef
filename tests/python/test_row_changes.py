"""Delete, overwrite, update, upsert and merge: what they touch, keep, refuse, and how they race with other commits."""

from __future__ import annotations

import datetime as dt
import decimal
import pathlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from conftest import event_rows
from frazil import col

MERGE_ON_READ = {f"write.{command}.mode": "merge-on-read" for command in ("delete", "update", "merge")}
SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string()), ("v", pa.int64())])


def rows(first: int, count: int, v: int = 0) -> pa.Table:
    ids = range(first, first + count)
    return pa.table([list(ids), ["ab"[i % 2] for i in ids], [v] * count], schema=SCHEMA)


def ids(table: fz.Table) -> list[int]:
    return sorted(table.scan(select=["id"]).to_arrow()["id"].to_pylist())


def data_files(table: fz.Table) -> set[str]:
    return {str(path) for path in pathlib.Path(table.location).glob("data/**/*.*")}


@pytest.fixture(
    params=[(1, {}), (2, {}), (2, MERGE_ON_READ), (3, {}), (3, MERGE_ON_READ)], ids=lambda p: f"v{p[0]}-{len(p[1])}"
)
def table(request: pytest.FixtureRequest, catalog: fz.Catalog) -> fz.Table:
    """100 rows in two files."""
    version, modes = request.param
    properties = {"format-version": str(version), **modes}
    table = catalog.create_table("db.t", SCHEMA, properties=properties)
    return table.append(rows(0, 50)).append(rows(50, 50))


def merges_on_read(table: fz.Table) -> bool:
    return "write.delete.mode" in table.properties


def test_delete_touches_only_files_with_such_rows(table: fz.Table) -> None:
    before = {task.data_file.path for task in table.scan().plan_files()}
    table.delete("id >= 90")
    assert ids(table) == list(range(90))
    after = {task.data_file.path for task in table.scan().plan_files()}
    assert len(before & after) == (2 if merges_on_read(table) else 1)
    assert table.snapshot is not None
    assert table.snapshot.operation == ("delete" if merges_on_read(table) else "overwrite")


def test_what_matches_nothing_commits_nothing(table: fz.Table) -> None:
    last = table.snapshot
    files = data_files(table)
    table.delete("id = 1000").delete("id = 20 and g = 'b'").update("id < 0", {"v": 1})
    table.upsert(rows(3, 5), on=["id"]).upsert(rows(0, 0), on=["id"])
    table.merge(rows(500, 5), ["id"], when_matched_delete=True).overwrite_partitions(rows(0, 0))
    assert table.snapshot == last
    assert data_files(table) == files


def test_a_file_without_a_row_left_goes(table: fz.Table) -> None:
    table.delete("id < 20").delete("id >= 20 and id < 50 and v = 0")
    assert ids(table) == list(range(50, 100))
    assert len(list(table.scan().plan_files())) == 1
    assert all(not task.deletes for task in table.scan().plan_files())


def test_whole_partitions_go_without_a_look_at_their_files(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.p", SCHEMA, partition_by=["g"]).append(rows(0, 20)).append(rows(20, 20))
    for path in data_files(table):
        pathlib.Path(path).unlink()
    table.delete(col("g") == "a")
    assert table.scan().count() == 20
    assert table.snapshot is not None
    assert table.snapshot.operation == "delete"
    assert table.snapshot.summary["deleted-data-files"] == "2"
    table.overwrite(rows(0, 4), where="g = 'b'")
    assert ids(table) == [0, 1, 2, 3]


def test_overwrite_is_one_snapshot(table: fz.Table) -> None:
    count = len(table.snapshots)
    table.overwrite(rows(200, 3), where="id >= 10 and id < 95", snapshot_properties={"why": "test"})
    assert len(table.snapshots) == count + 1
    assert table.snapshot is not None
    assert (table.snapshot.operation, table.snapshot.summary["why"]) == ("overwrite", "test")
    assert ids(table) == [*range(10), *range(95, 100), 200, 201, 202]
    table.overwrite(rows(0, 2))
    assert ids(table) == [0, 1]


def test_rows_keep_their_ids(catalog: fz.Catalog) -> None:
    for name, modes in (("cow", {}), ("mor", MERGE_ON_READ)):
        table = catalog.create_table(f"db.{name}", SCHEMA, properties={"format-version": "3", **modes})
        table.append(rows(0, 10))
        lineage = ["id", "_row_id", "_last_updated_sequence_number"]

        def read(table: fz.Table = table, lineage: list[str] = lineage) -> dict[int, tuple[int, int]]:
            found = table.scan(select=lineage).to_arrow().to_pylist()
            return {r["id"]: (r["_row_id"], r["_last_updated_sequence_number"]) for r in found}

        assert read() == {i: (i, 1) for i in range(10)}
        table.delete("id = 3")
        table.update("id = 4", {"v": 7})
        table.upsert(pa.concat_tables([rows(4, 2, v=7), rows(20, 1)]), on=["id"])
        new = read()
        assert new.pop(20)[0] >= 10
        expected = {i: (i, 1) for i in range(10) if i != 3}
        assert new == {**expected, 4: (4, 3), 5: (5, 4)}
        changes = table.changes(select=["id", "_change_type"], since=table.snapshots[1].id).to_arrow().to_pylist()
        kinds = sorted((c["id"], c["_change_type"]) for c in changes)
        assert kinds == [
            (4, "update_after"), (4, "update_before"), (5, "update_after"), (5, "update_before"), (20, "insert")
        ]  # fmt: skip


def test_a_data_file_has_one_deletion_vector(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA, properties={"format-version": "2", **MERGE_ON_READ})
    table.append(rows(0, 30)).delete("id < 3")
    assert [d.content for task in table.scan().plan_files() for d in task.deletes] == ["position"]
    table.upgrade(3)
    table.delete("id = 10").delete("id in (11, 29)")
    deletes = [d for task in table.scan().plan_files() for d in task.deletes]
    assert [(d.content, d.record_count) for d in deletes] == [("deletion_vector", 6)]
    assert ids(table) == [i for i in range(30) if i not in (0, 1, 2, 10, 11, 29)]
    assert table.inspect.delete_files().num_rows == 1


def test_update_values(catalog: fz.Catalog) -> None:
    day, time = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone.utc)
    data = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int64()),
            "i": pa.array([1, None, 3], pa.int32()),
            "x": pa.array([0.5, 1.5, 2.5], pa.float32()),
            "dec": pa.array([decimal.Decimal("1.25")] * 3, pa.decimal128(9, 2)),
            "d": pa.array([None] * 3, pa.date32()),
            "ts": pa.array([None] * 3, pa.timestamp("us", tz="UTC")),
            "s": pa.array(["x"] * 3),
            "other": pa.array(["a", "b", None]),
            "st": pa.array([{"m": 1}] * 3, pa.struct([("m", pa.int64())])),
        }
    )
    table = catalog.create_table("db.u", data.schema).append(data)
    values = {"i": None, "x": 0.1, "dec": decimal.Decimal("7.5"), "d": day, "ts": time, "s": col("other"), "st": None}
    with pytest.raises(fz.UnsupportedError, match="structs"):
        table.update("id = 1", {"st": None})
    values.pop("st")
    table.update(col("id") >= 2, values)
    found = {r.pop("id"): r for r in table.scan().to_arrow().to_pylist()}
    assert found[1] == {k: v for k, v in data.to_pylist()[0].items() if k != "id"}
    assert found[2]["x"] == pytest.approx(0.1)
    assert (found[2]["i"], found[2]["dec"], found[2]["d"], found[2]["ts"]) == (None, decimal.Decimal("7.50"), day, time)
    assert (found[2]["s"], found[3]["s"]) == ("b", None)
    assert table.snapshot is not None
    assert table.snapshot.summary["frazil.rows-updated"] == "2"
    for bad in ({"nope": 1}, {"i": 2**40}, {"i": "x"}, {"s": col("id")}, {}, {"i": 1.5}):
        with pytest.raises(fz.InvalidInputError):
            table.update("true", bad)


def test_upsert_counts_and_refusals(table: fz.Table) -> None:
    new = pa.concat_tables([rows(40, 5, v=1), rows(48, 1), rows(98, 4, v=2)])
    table.upsert(new, on=["id"])
    assert table.snapshot is not None
    summary = table.snapshot.summary
    assert (summary["frazil.rows-updated"], summary["frazil.rows-inserted"]) == ("7", "2")
    read = table.scan("v > 0").to_arrow().sort_by("id")
    assert read["id"].to_pylist() == [40, 41, 42, 43, 44, 98, 99, 100, 101]
    assert read["v"].to_pylist() == [1] * 5 + [2] * 4
    last, files = table.snapshot, data_files(table)
    with pytest.raises(fz.InvalidInputError, match="same key"):
        table.upsert(pa.concat_tables([rows(1, 3), rows(3, 1)]), on=["id"])
    with pytest.raises(fz.InvalidInputError, match="no such column"):
        table.upsert(rows(1, 3), on=["nope"])
    with pytest.raises(fz.InvalidInputError, match="identifier"):
        table.upsert(rows(1, 3))
    with pytest.raises(fz.InvalidInputError, match="no such column"):
        table.upsert(rows(1, 3).append_column("more", [[1, 2, 3]]), on=["id"])
    with pytest.raises(fz.InvalidInputError):
        table.upsert(rows(1, 3).drop_columns(["id"]), on=["id"])
    assert table.refresh().snapshot == last
    assert data_files(table) == files


def test_upsert_leaves_columns_that_the_data_lacks(table: fz.Table) -> None:
    table.upsert(pa.table({"v": [5, 6], "id": [7, 300]}), on=["id"])
    read = table.scan("id in (7, 300)").to_arrow().sort_by("id").to_pylist()
    assert read == [{"id": 7, "g": "b", "v": 5}, {"id": 300, "g": None, "v": 6}]


def test_identifier_fields_are_the_key(catalog: fz.Catalog) -> None:
    schema = SCHEMA.set(0, pa.field("id", pa.int64(), nullable=False))
    table = catalog.create_table("db.i", schema, identifier_fields=["id"]).append(rows(0, 10))
    table.upsert(rows(9, 2, v=4))
    assert ids(table) == list(range(11))


def test_merge_of_a_change_feed(table: fz.Table) -> None:
    feed = pa.table({"id": [1, 2, 60, 700, 701], "value": [10, 0, 30, 40, 0], "op": ["U", "D", "U", "U", "D"]})
    table.merge(
        feed,
        on=["id"],
        when_matched_update={"v": "value"},
        when_matched_delete=col("op") == "D",
        when_not_matched_insert={"id": "id", "v": "value"},
    )
    assert ids(table) == [0, 1, *range(3, 100), 700]
    assert {r["id"]: r["v"] for r in table.scan("v > 0").to_arrow().to_pylist()} == {1: 10, 60: 30, 700: 40}
    table.merge(rows(0, 10), on=["id"], when_not_matched_by_source_delete="id < 50")
    assert ids(table) == [0, 1, *range(3, 10), *range(50, 100), 700]


def test_merge_that_deletes_or_inserts(table: fz.Table) -> None:
    table.merge(rows(90, 20), on=["id"], when_matched_delete=True, when_not_matched_insert=True)
    assert ids(table) == [*range(90), *range(100, 110)]
    assert table.snapshot is not None
    counts = [table.snapshot.summary[f"frazil.rows-{what}"] for what in ("updated", "deleted", "inserted")]
    assert counts == ["0", "10", "10"]
    with pytest.raises(fz.InvalidInputError, match="merge does nothing"):
        table.merge(rows(0, 1), on=["id"])


def test_a_branch_is_changed_alone(table: fz.Table) -> None:
    table.delete("id < 10", branch="b").upsert(rows(200, 1), on=["id"], branch="b")
    assert ids(table) == list(range(100))
    assert table.scan(at="b").count() == 91
    table.refs.create_tag("t")
    with pytest.raises(fz.InvalidInputError, match="tag"):
        table.delete("id < 10", branch="t")


def test_later_changes_of_a_transaction_see_the_earlier_ones(table: fz.Table) -> None:
    versions = len(table.snapshots)
    with table.transaction() as tx:
        tx.append(rows(100, 10)).delete("id >= 105").upsert(rows(104, 2, v=1), on=["id"])
        tx.update("id < 5", {"v": 3}).overwrite(rows(0, 1, v=8), where="id = 0").delete("id = 104")
        with pytest.raises(fz.InvalidInputError, match="branch"):
            tx.delete("id = 1", branch="b")
    assert ids(table) == [*range(104), 105]
    assert len(table.snapshots) > versions
    assert table.scan("v = 3").count() == 4
    assert table.scan("v = 8").count() == 1


def test_a_transaction_keeps_ids_apart_when_it_comes_second(catalog: fz.Catalog) -> None:
    for name, modes in (("cow", {}), ("mor", MERGE_ON_READ)):
        table = catalog.create_table(f"db.{name}", SCHEMA, properties={"format-version": "3", **modes})
        table.append(rows(0, 10))
        transaction = table.transaction()
        transaction.append(rows(100, 10)).delete("id = 103").update("id in (1, 105)", {"v": 1}).delete("id in (2, 106)")
        fz.open_table(table.location).append(rows(1000, 10))
        transaction.commit()
        read = {r["id"]: r["_row_id"] for r in table.scan(select=["id", "_row_id"]).to_arrow().to_pylist()}
        assert len(read) == 10 - 1 + 10 - 2 + 10
        assert len(set(read.values())) == len(read)
        assert read[1] == 1


# ---------------------------------------------------------------- races

Change = Callable[[Any], Any]
CONFLICT = "conflict"


def race(table: fz.Table, mine: Change, theirs: Change) -> str | list[int]:
    """What becomes of a change that was planned before another commit and is committed after it."""
    transaction = table.refresh().transaction()
    mine(transaction)
    other = fz.open_table(table.location)
    theirs(other)
    files = data_files(table)
    try:
        transaction.commit()
    except fz.CommitConflictError as e:
        assert {"snapshot", "clause"} <= set(e.context) or "file" in e.context, e.context
        left = {path.removeprefix("file:") for path in other.inspect.all_files()["file_path"].to_pylist()}
        assert data_files(table) == left, "a conflict leaves no files behind"
        return CONFLICT
    assert files >= {task.data_file.path for task in other.scan().plan_files()}
    return ids(table)


def test_a_delete_of_rows_races_with_an_append(table: fz.Table) -> None:
    matching, other = rows(90, 3, v=1), rows(200, 3)
    assert race(table, lambda t: t.delete("id >= 90 and id < 95"), lambda t: t.append(matching)) == CONFLICT
    found = race(table, lambda t: t.delete("id >= 90 and id < 95"), lambda t: t.append(other))
    assert [i for i in found if i >= 95] == [95, 96, 97, 98, 99, 200, 201, 202]
    assert not {90, 91, 92, 93, 94} & set(found)


def test_snapshot_isolation_lets_others_append(table: fz.Table) -> None:
    table.set_properties({"write.delete.isolation-level": "snapshot"})
    found = race(table, lambda t: t.delete("id >= 90"), lambda t: t.append(rows(95, 2)))
    assert found == [*range(90), 95, 96]
    found = race(table, lambda t: t.delete("id >= 0"), lambda t: t.append(rows(300, 2)))
    assert found == [300, 301], "rows that came later stay"


def test_a_delete_of_whole_files_takes_those_that_came_meanwhile(table: fz.Table) -> None:
    assert race(table, lambda t: t.delete("id >= 50"), lambda t: t.append(rows(60, 2))) == list(range(50))
    assert race(table, lambda t: t.delete("id < 50"), lambda t: t.append(rows(40, 20))) == CONFLICT


def test_two_changes_of_one_file(table: fz.Table) -> None:
    both = race(table, lambda t: t.delete("id = 1"), lambda t: t.delete("id = 2"))
    if table.format_version == 2 and merges_on_read(table):
        assert both == [0, *range(3, 100)]
    else:
        assert both == CONFLICT
    assert race(table, lambda t: t.update("id = 11", {"v": 1}), lambda t: t.delete("id = 11")) == CONFLICT
    assert race(table, lambda t: t.upsert(rows(12, 1, v=1), on=["id"]), lambda t: t.delete("id = 12")) == CONFLICT
    other_file = race(table, lambda t: t.delete("id = 20"), lambda t: t.delete("id = 70"))
    assert other_file != CONFLICT or merges_on_read(table)


def test_two_upserts_of_a_new_key(table: fz.Table) -> None:
    mine: Change = lambda t: t.upsert(rows(200, 2, v=1), on=["id"])  # noqa: E731
    assert race(table, mine, lambda t: t.upsert(rows(201, 2), on=["id"])) == CONFLICT
    assert race(table, mine, lambda t: t.append(rows(400, 1))) == [*range(100), 200, 201, 202, 400]


def test_an_overwrite_races(table: fz.Table) -> None:
    mine: Change = lambda t: t.overwrite(rows(500, 1), where="id = 5")  # noqa: E731
    assert race(table, mine, lambda t: t.delete("id = 6")) == CONFLICT
    assert race(table, lambda t: t.overwrite(rows(600, 1)), lambda t: t.append(rows(700, 1))) == [600]


# ---------------------------------------------------------------- tables with a past


@pytest.mark.parametrize("modes", [{}, MERGE_ON_READ], ids=["cow", "mor"])
def test_every_column_survives(catalog: fz.Catalog, modes: dict[str, str]) -> None:
    data = event_rows(0, 60)
    table = catalog.create_table("db.e", data.schema, partition_by=["day(ts)"], properties=modes)
    table.append(data.slice(0, 30)).append(data.slice(30))
    table.delete("id in (3, 33) or payload.a = 42")
    kept = [r for r in data.to_pylist() if r["id"] not in (3, 33, 42)]
    key = lambda r: r["id"]  # noqa: E731
    assert repr(sorted(table.scan().to_arrow().to_pylist(), key=key)) == repr(kept)
    table.update("id = 5", {"ok": None, "raw": b"new"})
    table.upsert(event_rows(58, 4).set_column(1, "country", [["X"] * 4]), on=["id"])
    new = {**{r["id"]: r for r in kept}, **{r["id"]: {**r, "country": "X"} for r in event_rows(58, 4).to_pylist()}}
    new[5] = {**new[5], "ok": None, "raw": b"new"}
    assert repr(sorted(table.scan().to_arrow().to_pylist(), key=key)) == repr([new[i] for i in sorted(new)])
    version = table.metadata_location
    table.upsert(event_rows(40, 2), on=["id"]).upsert(event_rows(10, 5).select(["payload", "id"]), on=["id"])
    assert table.metadata_location == version, "equal rows stay, nested values too"


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("modes", [{}, MERGE_ON_READ], ids=["cow", "mor"])
def test_after_evolution_of_schema_and_spec(catalog: fz.Catalog, version: int, modes: dict[str, str]) -> None:
    properties = {"format-version": str(version), **modes}
    table = catalog.create_table("db.e", SCHEMA, partition_by=["g"], properties=properties).append(rows(0, 20))
    with table.update_partition_spec() as spec:
        spec.add_field("bucket(4, id)")
    table.append(rows(20, 20))
    with table.update_schema() as update:
        update.rename_column("v", "w")
        update.add_column("note", "string")
    table.delete("id in (1, 21) or note = 'x'")
    table.update("id < 3", {"note": "small"})
    table.upsert(pa.table({"id": [5, 25, 45], "w": [1, 1, 1], "note": ["u"] * 3}), on=["id"])
    assert ids(table) == [*(i for i in range(40) if i not in (1, 21)), 45]
    read = {r["id"]: r for r in table.scan().to_arrow().to_pylist()}
    assert read[2] == {"id": 2, "g": "a", "w": 0, "note": "small"}
    assert read[25] == {"id": 25, "g": "b", "w": 1, "note": "u"}
    assert read[39] == {"id": 39, "g": "b", "w": 0, "note": None}


@pytest.mark.parametrize("partition", ["bucket(8, id)", "truncate(10, id)", "id"])
def test_an_upsert_opens_only_files_that_keys_may_be_in(catalog: fz.Catalog, partition: str) -> None:
    table = catalog.create_table("db.p", SCHEMA, partition_by=[partition]).append(rows(0, 40))
    wanted = {task.data_file.path for task in table.scan("id = 13").plan_files()}
    assert len(wanted) == 1
    for path in data_files(table) - {path.removeprefix("file:") for path in wanted}:
        pathlib.Path(path).write_bytes(b"")
    table.upsert(rows(13, 1, v=6), on=["id"])
    assert table.scan("id = 13", select=["v"]).to_arrow()["v"].to_pylist() == [6]


def test_an_upsert_opens_only_files_whose_bounds_have_a_key(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.b", SCHEMA)
    for first in (0, 100, 200):
        table.append(rows(first, 50))
    tasks = list(table.scan().plan_files())
    pathlib.Path(tasks[1].data_file.path.removeprefix("file:")).write_bytes(b"")
    table.upsert(pa.concat_tables([rows(10, 1, v=1), rows(60, 1, v=1), rows(249, 1, v=1)]), on=["id"])
    assert table.snapshot is not None
    assert table.snapshot.summary["frazil.rows-updated"] == "2"


@pytest.mark.parametrize("modes", [{}, MERGE_ON_READ], ids=["cow", "mor"])
def test_pyiceberg_reads_the_result(catalog: fz.Catalog, modes: dict[str, str]) -> None:
    static = pytest.importorskip("pyiceberg.table").StaticTable
    table = catalog.create_table("db.t", SCHEMA, partition_by=["g"], properties=modes).append(rows(0, 40))
    table.delete("id in (3, 4, 17)").update("id > 35", {"v": 5}).upsert(rows(30, 15, v=9), on=["id"])
    table.merge(rows(0, 2), ["id"], when_matched_delete=True).overwrite(rows(100, 2), where="id = 5")
    theirs = static.from_metadata(table.metadata_location).scan().to_arrow()
    ours = table.scan().to_arrow()
    assert sorted(map(repr, theirs.to_pylist())) == sorted(map(repr, ours.to_pylist()))
    assert theirs.num_rows == 40 - 3 + 5 - 2 - 1 + 2


def test_rows_that_match_must_stay(table: fz.Table) -> None:
    same = pa.concat_tables([table.scan("id = 5").to_arrow(), rows(300, 1)])
    assert race(table, lambda t: t.upsert(same, on=["id"]), lambda t: t.delete("id = 5")) == CONFLICT
    more = pa.concat_tables([rows(6, 1), rows(301, 1)])

    def insert(t: Any) -> None:
        t.merge(more, on=["id"], when_not_matched_insert=True)

    assert race(table, insert, lambda t: t.delete("id = 6")) == CONFLICT
    assert 301 in race(table, insert, lambda t: t.append(rows(400, 1)))
