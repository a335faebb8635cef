"""Rows of Apache Paimon's tables deleted and updated by a filter, and the tables themselves changed; Java's part is in
tests/interop."""

from __future__ import annotations

import datetime as dt
import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil import col

SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string()), ("v", pa.float64())])
OPTIONS: list[dict[str, Any]] = [
    {},
    {"deletion-vectors.enabled": True},
    {"deletion-vectors.enabled": True, "deletion-vectors.bitmap64": True, "file.format": "orc"},
    {"bucket": 2, "bucket-key": "id"},
    {"bucket": 2, "bucket-key": "id", "deletion-vectors.enabled": True},
]

Row = tuple[int, str | None, float | None]


def batch(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(["id", "g", "v"], row, strict=True)) for row in rows], SCHEMA)


def rows(start: int, end: int) -> list[Row]:
    return [(i, "abc"[i % 3], i / 2 if i % 5 else None) for i in range(start, end)]


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., fz.Table]:
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    count = iter(range(1000))

    def made(
        options: dict[str, Any] | None = None, key: list[str] | None = None, parts: Sequence[str] = ()
    ) -> fz.Table:
        fields = [SCHEMA.field(n).with_nullable(n not in (key or [])) for n in SCHEMA.names]
        return catalog.create_table(
            f"db.t{next(count)}",
            pa.schema(fields),
            partition_by=list(parts),
            properties=options or {},
            format="paimon",
            identifier_fields=key,
        )

    return made


def held(t: fz.Table, **scan: Any) -> dict[int, Row]:
    found = [tuple(r.values()) for r in t.scan(**scan).to_arrow().to_pylist()]
    out = {r[0]: r for r in found}
    assert len(out) == len(found)
    return dict(sorted(out.items()))


def matches(low: int, group: str) -> Callable[[Row], bool]:
    return lambda r: low <= r[0] < low + 7 and r[1] == group


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("parts", [[], ["g"]], ids=["plain", "parts"])
def test_random_histories(make: Callable[..., fz.Table], options: dict[str, Any], parts: list[str]) -> None:
    dice = random.Random(3)
    t, want, next_id = make(options, parts=parts), dict[int, Row](), 0
    for turn in range(25):
        low, group = dice.randrange(next_id + 1), dice.choice("abc")
        where = f"id >= {low} and id < {low + 7} and g = '{group}'"
        hit = [r for r in want.values() if matches(low, group)(r)]
        match dice.choice(["append", "delete", "update", "overwrite", "drop"]):
            case "append":
                new = rows(next_id, next_id + 8)
                next_id += 8
                t.append(batch(new))
                want |= {r[0]: r for r in new}
            case "delete":
                t.delete(where)
                want = {i: r for i, r in want.items() if r not in hit}
            case "update":
                t.update((col("id") >= low) & (col("id") < low + 7) & (col("g") == group), {"v": turn, "g": "b"})
                want |= {r[0]: (r[0], "b", float(turn)) for r in hit}
            case "overwrite":
                t.overwrite(batch(rows(next_id, next_id + 1)), where)
                want = {i: r for i, r in want.items() if r not in hit} | {r[0]: r for r in rows(next_id, next_id + 1)}
                next_id += 1
            case "drop" if turn % 5 == 0:
                t.delete(f"g = '{group}'")
                want = {i: r for i, r in want.items() if r[1] != group}
        assert held(t) == dict(sorted(want.items())), turn
        assert t.scan().count() == len(want)
    t.delete("true")
    assert (held(t), t.inspect.files().num_rows, t.inspect.table_indexes().num_rows) == ({}, 0, 0)


@pytest.mark.parametrize("options", [{}, {"file.format": "avro"}, {"bucket": -1}], ids=str)
def test_keyed_histories(make: Callable[..., fz.Table], options: dict[str, Any]) -> None:
    dice = random.Random(5)
    t, want = make({"bucket": 2, **options}, key=["id"]), dict[int, Row]()
    for turn in range(20):
        low, group = dice.randrange(40), dice.choice("abc")
        where = f"id >= {low} and id < {low + 7} and g = '{group}'"
        hit = [r for r in want.values() if matches(low, group)(r)]
        match dice.choice(["append", "delete", "update"]):
            case "append":
                new = rows(low, low + 8)
                t.append(batch(new))
                want |= {r[0]: r for r in new}
            case "delete":
                t.delete(where)
                want = {i: r for i, r in want.items() if r not in hit}
            case "update":
                t.update(where, {"v": None, "g": "a"})
                want |= {r[0]: (r[0], "a", None) for r in hit}
        assert held(t) == dict(sorted(want.items())), turn


def test_what_a_commit_is(make: Callable[..., fz.Table]) -> None:
    t = make({"deletion-vectors.enabled": True}, parts=["g"])
    t.append(batch(rows(0, 9)))
    t.delete("id = 1", snapshot_properties={"why": "test"})
    assert t.snapshot is not None
    assert (t.snapshot.operation, t.snapshot.summary["why"]) == ("overwrite", "test")
    assert t.snapshot.summary["frazil.rows-deleted"] == "1"
    (index,) = t.inspect.table_indexes().to_pylist()
    assert (index["partition"], index["row_count"], index["dv_ranges"][0]["_CARDINALITY"]) == ("{b}", 1, 1)
    # A partition whose rows all go has no vector any more, nor a file.
    t.delete("g = 'b' and id < 100")
    assert t.inspect.table_indexes().num_rows == 0
    assert t.inspect.partitions()["partition"].to_pylist() == ["g=a", "g=c"]
    before = t.snapshot.id
    for nothing in (lambda: t.delete("id = 99"), lambda: t.update("id = 99", {"v": 1}), lambda: t.delete("g = 'q'")):
        nothing()
        assert t.snapshot.id == before
    # Old versions stay as they were.
    assert len(held(t, at=1)) == 9
    assert len(held(t, at=2)) == 8
    for wrong in ("nothing = 1", "id = 'x'"):
        with pytest.raises(fz.InvalidInputError):
            t.delete(wrong)
    for values in ({}, {"nothing": 1}, {"v": "x"}, {"v": col("g")}):
        with pytest.raises(fz.InvalidInputError):
            t.update("id = 1", values)
    with pytest.raises(fz.InvalidInputError, match="another type"):
        t.update("id = 1", {"v": col("id")})


def test_branches(make: Callable[..., fz.Table]) -> None:
    t = make({"deletion-vectors.enabled": True})
    t.append(batch(rows(0, 5)))
    t.refs.create_tag("start").create_branch("side", at="start")
    t.delete("id = 1", branch="side")
    t.update("id = 2", {"v": 9}, branch="side")
    assert held(t) == {r[0]: r for r in rows(0, 5)}
    assert held(t, at="side") == {0: rows(0, 1)[0], 2: (2, "c", 9.0), 3: rows(3, 4)[0], 4: rows(4, 5)[0]}
    with pytest.raises(fz.NotFoundError):
        t.delete("id = 1", branch="none")


def change_two(location: str, number: int, failures: list[Exception]) -> None:
    try:
        own = fz.open_table(location)
        own.delete(f"id = {number}")
        own.update(f"id = {number + 10}", {"v": number})
    except Exception as error:
        failures.append(error)


def test_many_at_once(make: Callable[..., fz.Table]) -> None:
    """Each writer deletes and updates its own rows of the same files: all of it is there in the end."""
    for options, key in (({"deletion-vectors.enabled": True}, None), ({}, None), ({"bucket": 1}, ["id"])):
        t = make(options, key=key)
        t.append(batch(rows(0, 20)))
        failures: list[Exception] = []

        threads = [threading.Thread(target=change_two, args=(t.location, n, failures)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        found = held(t.refresh())
        assert set(found) == set(range(4, 20))
        assert [found[n + 10][2] for n in range(4)] == [0.0, 1.0, 2.0, 3.0]


def test_row_tracking_and_data_evolution(make: Callable[..., fz.Table]) -> None:
    tracked = make({"row-tracking.enabled": True, "deletion-vectors.enabled": True})
    tracked.append(batch(rows(0, 6)))
    tracked.delete("id in (1, 2)")
    ids = tracked.scan(select=["id", "_row_id"]).to_arrow().to_pylist()
    assert [(r["id"], r["_row_id"]) for r in ids] == [(i, i) for i in (0, 3, 4, 5)]
    tracked.update("id = 4", {"v": 44})
    found = tracked.scan(select=["id", "v", "_row_id", "_last_updated_sequence_number"]).to_arrow().to_pylist()
    assert sorted(tuple(r.values()) for r in found) == [
        (0, None, 0, 1),
        (3, 1.5, 3, 1),
        (4, 44.0, 4, 3),
        (5, None, 5, 1),
    ]
    rewritten = make({"row-tracking.enabled": True})
    rewritten.append(batch(rows(0, 5))).append(batch(rows(5, 8)))
    rewritten.delete("id = 1")
    rewritten.update("id in (2, 6)", {"g": "z"})
    rewritten.append(batch(rows(8, 9)))
    found = rewritten.scan(select=["id", "_row_id", "_last_updated_sequence_number"]).to_arrow().to_pylist()
    wanted = [(0, 0, 1), (2, 2, 4), (3, 3, 1), (4, 4, 1), (5, 5, 2), (6, 6, 4), (7, 7, 2), (8, 8, 5)]
    assert sorted(tuple(r.values()) for r in found) == wanted
    evolving = make({"row-tracking.enabled": True, "data-evolution.enabled": True})
    evolving.append(batch(rows(0, 3)))
    with pytest.raises(fz.UnsupportedError, match="data-evolution"):
        evolving.delete("id = 1")
    evolving.delete("true")
    assert held(evolving) == {}


def test_keyed_tables_refuse(make: Callable[..., fz.Table]) -> None:
    t = make({"bucket": 1}, key=["id"])
    t.append(batch(rows(0, 3)))
    with pytest.raises(fz.InvalidInputError, match="primary key"):
        t.update("id = 1", {"id": 5})
    with pytest.raises(fz.UnsupportedError, match="primary key"):
        t.overwrite(batch([]), "v > 1")
    with pytest.raises(fz.UnsupportedError, match=r"writer\(\)"):
        t.transaction()


@pytest.mark.parametrize(
    "options",
    [
        {"merge-engine": "partial-update"},
        {"merge-engine": "aggregation"},
        {"merge-engine": "first-row"},
        {"ignore-delete": True},
        {"deduplicate.ignore-delete": True},
    ],
)
def test_deletes_that_would_do_nothing(make: Callable[..., fz.Table], options: dict[str, Any]) -> None:
    t = make({"bucket": 1, **options}, key=["id"])
    t.append(batch(rows(0, 3)))
    for delete in (t.delete_keys, t.writer().delete_keys):
        with pytest.raises(fz.UnsupportedError, match="delete"):
            delete(pa.table({"id": [1]}))
    assert len(t.refresh().snapshots) == 1


def test_deletes_say_what_they_are_newer_than(make: Callable[..., fz.Table]) -> None:
    t = make({"bucket": 1, "sequence.field": "v"}, key=["id"])
    t.append(batch([(1, "a", 5.0), (2, "a", 5.0), (3, "a", 5.0)]))
    for delete in (t.delete_keys, t.writer().delete_keys):
        with pytest.raises(fz.InvalidInputError, match=r"columns that order the rows(.|\n)*delete\(where\)"):
            delete(pa.table({"id": [1]}))
        with pytest.raises(fz.InvalidInputError, match="order the rows of a key"):
            delete(pa.table({"id": [1, 2], "v": [6.0, None]}))
    t.delete_keys(pa.table({"id": [1, 2], "v": [6.0, 4.0]}))
    t.delete("id = 3")
    assert set(held(t)) == {2}
    t = make(
        {
            "bucket": 1,
            "merge-engine": "partial-update",
            "fields.v.sequence-group": "g",
            "partial-update.remove-record-on-sequence-group": "v",
        },
        key=["id"],
    )
    t.append(batch([(1, "a", 5.0), (2, "a", 5.0)]))
    for keys in (pa.table({"id": [1]}), pa.table({"id": [1], "v": pa.array([None], pa.float64())})):
        with pytest.raises(fz.InvalidInputError, match="order the rows of a key"):
            t.delete_keys(keys)
    t.delete_keys(pa.table({"id": [1], "v": [6.0]}))
    assert set(held(t)) == {2}


def test_columns_that_order_rows_are_not_updated(make: Callable[..., fz.Table]) -> None:
    groups = {"merge-engine": "partial-update", "fields.v.sequence-group": "g"}
    for options in ({"sequence.field": "v"}, groups):
        t = make({"bucket": 1, **options}, key=["id"])
        t.append(batch([(1, "a", 5.0)]))
        with pytest.raises(fz.UnsupportedError, match="orders the rows"):
            t.update("id = 1", {"g": "b", "v": 4.0})
        t.update("id = 1", {"g": "b"})
        assert held(t) == {1: (1, "b", 5.0)}


@pytest.mark.parametrize("key", [None, ["id"]])
def test_messages_whose_files_have_expired(make: Callable[..., fz.Table], key: list[str] | None) -> None:
    t = make({"bucket": 1, **({} if key else {"bucket-key": "id"})}, key=key)
    message = t.writer().write(batch(rows(0, 3)))
    t.commit([message])
    assert t.commit([message]).snapshot == t.refresh().snapshot
    t.append(batch(rows(3, 6)))
    if key:
        t.maintain.compact()
    else:
        t.overwrite(batch(rows(0, 6)))
    t.append(batch(rows(6, 9)))
    t.refresh()
    # Its snapshot tells still that it was committed, whatever became of its files.
    assert len(t.commit([message]).snapshots) == 4
    t.maintain.expire_snapshots(retain_last=1, older_than=dt.datetime.now(dt.timezone.utc))
    t.refresh()
    assert len(t.snapshots) == 1
    with pytest.raises(fz.InvalidInputError, match=r"no longer exists(.|\n)*expired"):
        t.commit([message])
    assert sorted(held(t)) == list(range(9))


def test_deleted_rows_do_not_come_back_without_options(make: Callable[..., fz.Table]) -> None:
    for options in ({"deletion-vectors.enabled": True}, {"ignore-delete": True}):
        t = make({"bucket": 1, **options}, key=["id"])
        t.append(batch(rows(0, 3)))
        with pytest.raises(fz.InvalidInputError, match="has data"):
            t.remove_properties(*options)
    t = make({"bucket": 1, "deletion-vectors.enabled": False}, key=["id"])
    t.append(batch(rows(0, 3)))
    t.remove_properties("deletion-vectors.enabled")


def test_statistics_and_estimates(make: Callable[..., fz.Table]) -> None:
    t = make({"deletion-vectors.enabled": True}, parts=["g"])
    for start in (0, 30):
        t.append(batch(rows(start, start + 30)))
    s = t.scan().statistics()
    assert (s.row_count.value, s.row_count.exact, s.files) == (60, True, 6)
    assert (s["id"].min.value, s["id"].max.value, s["id"].max.exact) == (0, 59, True)
    assert (s["v"].null_count.value, s["v"].null_count.exact) == (12, True)
    assert (s["g"].min.value, s["g"].max.value) == ("a", "c")
    t.delete("id = 0")
    s = t.scan().statistics("id")
    assert (s.row_count.value, s.row_count.exact) == (59, True)
    assert (s["id"].min.value, s["id"].min.exact) == (0, False)
    part = t.scan("g = 'a' and id > 40").statistics("id")
    assert part.row_count.value == 10
    assert not part.row_count.exact
    with pytest.raises(fz.InvalidInputError):
        t.scan().statistics("nothing")
    estimate = t.scan("g = 'a'").estimate()
    assert 0 < estimate.bytes <= estimate.total_bytes
    assert estimate.data_files is not None
    assert "Planning will read" in str(estimate)
    empty = make().scan()
    assert (empty.statistics().row_count.value, empty.estimate().bytes) == (0, 0)
    keyed = make({"bucket": 1}, key=["id"])
    keyed.append(batch(rows(0, 10))).append(batch(rows(5, 15)))
    s = keyed.scan().statistics("id")
    assert (s.row_count.value, s.row_count.exact, s["id"].max.value) == (20, False, 14)


def test_schemas_and_options(make: Callable[..., fz.Table]) -> None:
    t = make({"note": "x"})
    t.append(batch(rows(0, 3)))
    with t.update_schema() as update:
        update.add_column("place", pa.struct([("x", pa.int32())]), doc="where")
        update.rename_column("g", "group")
        update.move_first("v")
    assert [f.name for f in t.schema.fields] == ["v", "id", "group", "place"]
    assert t.scan().to_arrow().to_pylist()[1] == {"v": 0.5, "id": 1, "group": "b", "place": None}
    with t.update_schema() as update:
        update.add_column("place.y", "string")
        update.add_column("late", "long", write_default=7)
    fields = t.inspect.schemas()["fields"].to_pylist()
    assert len(fields) == 3
    assert '"defaultValue":"7"' in fields[-1]
    t.update_schema().commit()
    assert t.inspect.schemas().num_rows == 3
    t.set_properties({"a": 1}, b=True).remove_properties("note")
    assert t.properties == {"a": "1", "b": "true"}
    assert t.inspect.options().to_pylist() == [{"key": "a", "value": "1"}, {"key": "b", "value": "true"}]
    with pytest.raises(fz.InvalidInputError, match="has data"):
        t.set_properties({"row-tracking.enabled": True})
    other = fz.open_table(t.location)
    with t.update_schema() as update:
        update.drop_column("late")
    with pytest.raises(fz.CommitConflictError):
        other.update_schema().drop_column("place").commit()


def test_wrong_options_are_refused_at_once(make: Callable[..., fz.Table]) -> None:
    groups = {"bucket": 1, "merge-engine": "partial-update", "fields.v.sequence-group": "g"}
    for wrong in ({"target-file-size": "zz"}, {"fields.g.aggregate-function": "summ"}, {"fields.none.distinct": True}):
        with pytest.raises(fz.InvalidInputError, match=next(iter(wrong)).replace(".", r"\.")):
            make({**groups, **wrong}, key=["id"])
        with pytest.raises(fz.InvalidInputError):
            make(groups, key=["id"]).set_properties(wrong)
    t = make(groups, key=["id"]).append(batch([(1, "a", 5.0)]))
    with t.update_schema() as update:
        update.rename_column("g", "group")
    with pytest.raises(fz.InvalidInputError, match="can't be dropped"):
        t.update_schema().drop_column("group").commit()
    assert t.properties["fields.v.sequence-group"] == "group"
    assert t.scan().to_arrow().to_pylist() == [{"id": 1, "group": "a", "v": 5.0}]
    t = make({"bucket": 1, "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}, key=["id"])
    with pytest.raises(fz.InvalidInputError, match="sum"):
        t.update_schema().update_column("v", "string").commit()


def test_deletion_vectors_stay_while_they_hide_rows(make: Callable[..., fz.Table]) -> None:
    t = make({"deletion-vectors.enabled": True, "deletion-vectors.modifiable": True})
    t = t.append(batch(rows(0, 8))).delete("id = 3")
    with pytest.raises(fz.InvalidInputError, match="come back"):
        t.set_properties({"deletion-vectors.enabled": False})
    t.maintain.compact(options={"compaction.delete-ratio-threshold": "0"})
    t = t.refresh().set_properties({"deletion-vectors.enabled": False})
    assert set(held(t)) == {0, 1, 2, 4, 5, 6, 7}


@pytest.mark.parametrize("options", [*OPTIONS, {"row-tracking.enabled": True}], ids=str)
@pytest.mark.parametrize("key", [None, ["id"]], ids=["plain", "key"])
def test_defaults_are_for_new_rows_only(
    make: Callable[..., fz.Table], options: dict[str, Any], key: list[str] | None
) -> None:
    if key and "row-tracking.enabled" in options:
        pytest.skip("rows of a table with a key are not tracked")
    t = make(options, key=key)
    t.append(batch(rows(0, 8)))
    with t.update_schema() as update:
        update.add_column("late", "long", write_default=7)
    t.append(batch(rows(8, 10)))
    t.update("id = 1 or id = 8", {"v": 2.0})
    t.delete("id = 2 or id = 9")
    if key:
        t.maintain.compact()
    late = {r["id"]: r["late"] for r in t.scan().to_arrow().to_pylist()}
    assert late == {i: 7 if i == 8 else None for i in (0, 1, 3, 4, 5, 6, 7, 8)}


def test_numbers_without_a_magnitude_are_not_indexed(make: Callable[..., fz.Table]) -> None:
    t = make({"file-index.bsi.columns": "id"})
    for low in (-(2**63), -5):
        t.append(batch([(low, "a", 1.0), (3, None, None)]))
    for where, ids in [
        (f"id = {-(2**63)}", [-(2**63)]),
        ("id = 3", [3, 3]),
        ("id < -4", [-(2**63), -5]),
        ("id = 4", []),
    ]:
        assert sorted(t.scan(where).to_arrow()["id"].to_pylist()) == ids


def test_expiry(make: Callable[..., fz.Table]) -> None:
    t = make({"deletion-vectors.enabled": True})
    for i in range(4):
        t.append(batch(rows(i * 4, i * 4 + 4))).delete(f"id = {i * 4}")
    t.delete("id = 5")
    t.refs.create_tag("keep", at=2)
    soon = dt.datetime.now(dt.timezone.utc) + dt.timedelta(seconds=1)
    planned = t.maintain.expire_snapshots(older_than=soon, retain_last=1, dry_run=True)
    assert len(t.refresh().snapshots) == 9
    done = t.maintain.expire_snapshots(older_than=soon, retain_last=1)
    assert (done.files, done.snapshots, done.deleted) == (planned.files, list(range(1, 9)), True)
    assert done.position_delete_files
    assert not any(Path(file).exists() for file in done.files)
    assert len(held(t)) == 11
    assert sorted(held(t, at="keep")) == [1, 2, 3]
    t.refs.drop("keep")
    assert len(held(t)) == 11
    assert t.maintain.expire_snapshots().snapshots == []
    with pytest.raises(fz.UnsupportedError):
        t.maintain.expire_snapshots(snapshot_ids=[8])


def test_refs_and_rollback(make: Callable[..., fz.Table]) -> None:
    t = make()
    with pytest.raises(fz.NotFoundError):
        t.refs.create_tag("none")
    t.refs.create_branch("empty")
    assert dict(t.refs) == {}
    t.refs.drop("empty")
    for i in range(3):
        t.append(batch(rows(i, i + 1)))
    t.refs.create_tag("one", at=1).create_tag("three", at=t.snapshots[2].timestamp)
    t.refs.create_branch("b", at=1)
    assert {n: r.type for n, r in t.refs.items()} == {"b": "branch", "main": "branch", "one": "tag", "three": "tag"}
    for wrong in ("b", "main", "one"):
        with pytest.raises(fz.AlreadyExistsError):
            t.refs.create_tag(wrong)
    with pytest.raises(fz.AlreadyExistsError):
        t.refs.create_branch("one", at=1)
    with pytest.raises(fz.AlreadyExistsError):
        t.refs.create_branch("b", at=1)
    with pytest.raises(fz.InvalidInputError):
        t.refs.create_branch("5", at=1)
    with pytest.raises(fz.NotFoundError):
        t.refs.drop("none")
    with pytest.raises(fz.InvalidInputError):
        t.refs.drop("main")
    with pytest.raises(fz.AlreadyExistsError):
        t.refs.rename("b", "one")
    t.refs.rename("b", "c").rename("c", "b")
    with pytest.raises(fz.UnsupportedError):
        t.set_current_snapshot(1)
    t.refs.rename("three", "last")
    t.rollback("last")
    t.rollback(2)
    assert (len(held(t)), set(t.refs)) == (2, {"b", "main", "one"})
    t.append(batch(rows(7, 8)))
    assert set(held(t)) == {0, 1, 7}
    t.rollback("one")
    t.append(batch(rows(9, 10)), branch="b")
    t.refs.fast_forward("main", to="b")
    assert set(held(t.refresh())) == {0, 9}


@pytest.mark.parametrize("function", ["default", "hive", "mod"])
@pytest.mark.parametrize("wider", ["long", "string", "double"])
def test_filters_of_a_bucket_key_that_has_another_type_now(tmp_path: Path, function: str, wider: str) -> None:
    """Its older rows are in the buckets of the older type's hashes."""
    if (function, wider) in (("mod", "string"), ("mod", "double")):
        pytest.skip("keys of mod are integers")
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    schema = pa.schema([("id", pa.int32()), ("v", pa.int64())])
    options = {"bucket": 4, "bucket-key": "id", "bucket-function.type": function}
    t = catalog.create_table("db.t", schema, properties=options, format="paimon")
    t.append(pa.table({"id": list(range(-20, 20)), "v": list(range(40))}, schema))
    t = t.refresh()
    with t.update_schema() as update:
        update.update_column("id", wider)
    t = t.refresh()
    for i in range(-20, 20):
        where = f"id = '{i}'" if wider == "string" else f"id = {i}"
        assert t.scan(where).count() == 1, where
    t.delete("id = '-5'" if wider == "string" else "id = -5")
    assert t.refresh().scan().count() == 39


PLACES: list[dict[str, str]] = [
    {"scan.snapshot-id": "1"},
    {"scan.mode": "from-snapshot", "scan.version": "1"},
    {"scan.mode": "from-file-creation-time", "scan.file-creation-time-millis": str(2**62)},
    {"incremental-between": "1,2"},
]


@pytest.mark.parametrize("place", PLACES, ids=lambda p: ",".join(p))
@pytest.mark.parametrize("key", [None, ["id"]])
def test_what_is_changed_is_the_newest(
    make: Callable[..., fz.Table], key: list[str] | None, place: dict[str, str]
) -> None:
    """The version that a table's options name is for readers, not for changes."""
    t = make({"bucket": "1", **({} if key else {"bucket-key": "id"})}, key)
    for i in range(3):
        t.append(batch(rows(10 * i, 10 * i + 10)))
    t.set_properties(place)
    t.delete("id = 12")
    t.update("id = 23", {"v": 99.0})
    if key is None:
        t.overwrite(batch([(5, "new", 1.0)]), "id = 5")
    else:
        t.append(batch([(5, "new", 1.0)]))
    t.maintain.compact()
    t.remove_properties(*place)
    expected = {r[0]: r for r in rows(0, 30)}
    del expected[12]
    expected |= {5: (5, "new", 1.0), 23: (23, "c", 99.0)}
    assert held(t) == expected


def test_a_key_that_moves_from_what_readers_do_not_see(make: Callable[..., fz.Table]) -> None:
    t = make({"bucket": "-1"}, ["id"], ["g"])
    for i in range(3):
        t.append(batch([(i, "a", 1.0)]))
    t.set_properties({"scan.snapshot-id": "1"})
    t.append(batch([(2, "b", 2.0)]))
    t.remove_properties("scan.snapshot-id")
    assert held(t) == {0: (0, "a", 1.0), 1: (1, "a", 1.0), 2: (2, "b", 2.0)}


def test_a_version_is_asked_for_in_spite_of_stored_changes(make: Callable[..., fz.Table]) -> None:
    t = make({"bucket": "1", "bucket-key": "id"})
    for i in range(3):
        t.append(batch(rows(i, i + 1)))
    t.set_properties({"incremental-between": "1,2", "incremental-between-tag-to-snapshot": "true"})
    assert list(held(t, at=1)) == [0]
    assert t.changes(since=2).count() == 1
    with pytest.raises(fz.InvalidInputError, match="options can't ask for a scan of changes"):
        t.scan()
    t.remove_properties("incremental-between")
    pinned = fz.open_table(t.location)
    t.append(batch(rows(3, 4)))
    assert (len(held(pinned)), len(held(pinned.refresh()))) == (3, 4)


@pytest.mark.parametrize("mode", ["latest", "compacted-full"])
def test_a_table_stays_at_its_version_whatever_mode_it_is_read_in(make: Callable[..., fz.Table], mode: str) -> None:
    t = make({"bucket": "1", "scan.mode": mode}, ["id"])
    t.append(batch(rows(0, 1)))
    t.maintain.compact(strategy="full")
    pinned = fz.open_table(t.location)
    t.refresh().append(batch(rows(1, 2)))
    t.refresh().maintain.compact(strategy="full")
    assert (list(held(pinned)), list(held(pinned.refresh()))) == ([0], [0, 1])


@pytest.mark.parametrize("mode", ["latest", "latest-full", "full", "compacted-full", "from-timestamp"])
def test_a_version_is_asked_for_in_spite_of_the_tables_options(make: Callable[..., fz.Table], mode: str) -> None:
    t = make()
    for i in range(3):
        t.append(batch(rows(i, i + 1)))
    first = t.snapshots[0].id
    t.set_properties({"scan.mode": mode, **({"scan.timestamp-millis": "1"} if mode == "from-timestamp" else {})})
    assert list(held(t, at=first)) == [0]
    with pytest.raises(fz.InvalidInputError, match="both at="):
        t.scan(at=first, options={"scan.mode": "latest"})


KINDS = ["+I", "-u", "+U", "-D"]


def kinds_table(make: Callable[..., fz.Table], options: dict[str, str], key: list[str] | None) -> fz.Table:
    return make({"bucket": "1", "rowkind.field": "g", **({} if key else {"bucket-key": "id"}), **options}, key)


def test_kinds_of_appended_rows(make: Callable[..., fz.Table]) -> None:
    given = [(i, kind, None) for i, kind in enumerate(KINDS)]
    for kind in ("-D", "-u"):
        t = kinds_table(make, {}, None)
        with pytest.raises(fz.InvalidInputError, match="without a primary key"):
            t.append(batch([(1, "+I", None), (2, kind, None)]))
        assert t.snapshot is None
    assert list(held(kinds_table(make, {"ignore-delete": "true"}, None).append(batch(given)))) == [0, 2]
    t = kinds_table(make, {"ignore-update-before": "true"}, None).append(batch(given[:3]))
    assert list(held(t)) == [0, 2]
    # The first of the options' names that is set counts.
    first_says_no = {"ignore-delete": "false", "deduplicate.ignore-delete": "true"}
    t2 = kinds_table(make, first_says_no, None)
    with pytest.raises(fz.InvalidInputError, match="without a primary key"):
        t2.append(batch(given))
    keyed = make({"bucket": "1", **first_says_no}, ["id"])
    keyed.append(batch(rows(0, 3)))
    keyed.delete("id = 1")
    assert list(held(keyed)) == [0, 2]
    with pytest.raises(fz.InvalidInputError, match="not a row kind"):
        t.append(batch([(1, "+X", None)]))


def test_rows_before_an_update_are_left_out(make: Callable[..., fz.Table]) -> None:
    given = batch([(1, "+U", 20.0), (1, "-U", 10.0)])
    assert held(kinds_table(make, {"ignore-update-before": "true"}, ["id"]).append(given)) == {1: (1, "+U", 20.0)}
    assert held(kinds_table(make, {}, ["id"]).append(given)) == {}
