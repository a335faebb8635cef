"""Apache Paimon tables whose keys are given buckets as they come, as Frazil writes them."""

from __future__ import annotations

import pickle
import random
import re
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz

SCHEMA = pa.schema(
    [
        pa.field("p", pa.string()),
        pa.field("id", pa.int32(), nullable=False),
        pa.field("v", pa.int64()),
    ]
)
KEYED = pa.schema([SCHEMA.field("p").with_nullable(False), SCHEMA.field("id"), SCHEMA.field("v")])


def batch(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(["p", "id", "v"], row, strict=True)) for row in rows], SCHEMA)


def table(folder: Path, over_partitions: bool = False, **options: Any) -> fz.Table:
    return table_named(folder, "t", over_partitions, **options)


def table_named(folder: Path, name: str, over_partitions: bool = False, **options: Any) -> fz.Table:
    properties = {"dynamic-bucket.target-row-num": 5, **{k.replace("_", "-"): v for k, v in options.items()}}
    return fz.catalog("c", type="filesystem", warehouse=str(folder)).create_table(
        f"db.{name}",
        SCHEMA if over_partitions else KEYED,
        partition_by=["p"],
        properties=properties,
        format="paimon",
        identifier_fields=["id"] if over_partitions else ["p", "id"],
    )


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    fz.catalog("c", type="filesystem", warehouse=str(tmp_path)).create_namespace("db")
    return tmp_path


def read(t: fz.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in t.refresh().scan().to_arrow().to_pylist()), key=repr)


def places(t: fz.Table) -> dict[tuple[str, int], set[str]]:
    """The buckets whose files have a key."""
    out: dict[tuple[str, int], set[str]] = {}
    for file in t.refresh().scan().plan_files():
        path = Path(file.data_file.path)
        found = pq.read_table(path, columns=["p", "id"], partitioning=None)
        for row in found.to_pylist():
            out.setdefault((row["p"], row["id"]), set()).add(path.parent.name)
    return out


def test_keys_stay_in_their_buckets(warehouse: Path) -> None:
    t = table(warehouse)
    t.append(batch([("a", i, i) for i in range(12)] + [("b", i, i) for i in range(3)]))
    before = places(t)
    assert {len(found) for found in before.values()} == {1}
    assert {bucket for (p, _), found in before.items() if p == "a" for bucket in found} == {
        "bucket-0",
        "bucket-1",
        "bucket-2",
    }
    t.refresh().append(batch([("a", i, 100 + i) for i in range(20)]))
    t.refresh().delete_keys(pa.table({"p": ["a", "b"], "id": pa.array([3, 1], pa.int32())}))
    after = places(t)
    assert {len(found) for found in after.values()} == {1}
    assert all(after[key] == found for key, found in before.items())
    assert read(t) == sorted(
        [("a", i, 100 + i) for i in range(20) if i != 3] + [("b", 0, 0), ("b", 2, 2)],
        key=repr,
    )
    indexes = len(list((Path(t.location) / "index").iterdir()))
    # Known keys change no index.
    t.append(batch([("a", 1, 7)]))
    assert len(list((Path(t.location) / "index").iterdir())) == indexes
    t.overwrite(batch([("a", 1, 8)]), "p = 'a'")
    assert read(t) == [("a", 1, 8), ("b", 0, 0), ("b", 2, 2)]
    t.overwrite_partitions(batch([("b", i, 8) for i in range(7)]))
    t.append(batch([("b", i, 9) for i in range(3)]))
    assert [row[2] for row in read(t)] == [8, 9, 9, 9, 8, 8, 8, 8]
    assert {len(found) for found in places(t).values()} == {1}


@pytest.mark.parametrize("options", [{"dynamic_bucket.max_buckets": 2}, {"dynamic_bucket.initial_buckets": 3}], ids=str)
def test_numbers_of_buckets(warehouse: Path, options: dict[str, int]) -> None:
    t = table(warehouse, **options)
    t.append(batch([("a", i, i) for i in range(40)]))
    t.refresh().append(batch([("a", i, 2 * i) for i in range(60)]))
    assert read(t) == sorted([("a", i, 2 * i) for i in range(60)], key=repr)
    buckets = {int(re.sub(r"\D", "", bucket)) for found in places(t).values() for bucket in found}
    assert buckets == {0, 1} if "dynamic_bucket.max_buckets" in options else {0, 1, 2} < buckets
    assert {len(found) for found in places(t).values()} == {1}


def test_commits_that_gave_a_key_two_buckets(warehouse: Path) -> None:
    t = table(warehouse, changelog_producer="input")
    t.append(batch([("a", i, i) for i in range(3)]))
    t = t.refresh()
    # Both find room for two keys in bucket 0.
    first = t.writer().write(batch([("a", i, 1) for i in range(10, 18)]))
    second = t.writer().write(batch([("a", i, 2) for i in range(17, 9, -1)] + [("a", 99, 2)]))
    t.commit([first])
    t.refresh().append(batch([("a", 12, 5)]))
    t.commit([second])
    assert t.commit([second]).snapshot == t.refresh().snapshot
    assert read(t) == sorted([("a", i, i) for i in range(3)] + [("a", i, 2) for i in [*range(10, 18), 99]], key=repr)
    assert {len(found) for found in places(t).values()} == {1}
    # Messages that contradict each other.
    messages = [t.refresh().writer().write(batch([("b", i, n) for i in range(8)][::n])) for n in (1, -1)]
    t.commit(pickle.loads(pickle.dumps(messages)))
    assert {len(found) for found in places(t).values()} == {1}
    assert [row[2] for row in read(t) if row[0] == "b"] == [-1] * 8
    told = t.refresh().changes(since=t.refresh().snapshots[-2].id).to_arrow()
    assert sorted(told["v"].to_pylist()) == [-1] * 8 + [1] * 8


def test_racing_writers_lose_nothing(warehouse: Path) -> None:
    t = table(warehouse)
    failures: list[BaseException] = []

    def write(name: int) -> None:
        try:
            for turn in range(4):
                keys = random.Random(name * 10 + turn).sample(range(40), 15)
                fz.open_table(t.location).append(batch([("a", i, name) for i in keys]))
        except BaseException as error:
            failures.append(error)

    writers = [threading.Thread(target=write, args=[n]) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not failures
    wanted = {i for n in range(3) for turn in range(4) for i in random.Random(n * 10 + turn).sample(range(40), 15)}
    assert [row[1] for row in sorted(read(t), key=lambda row: row[1])] == sorted(wanted)
    assert {len(found) for found in places(t).values()} == {1}


def test_random_histories(warehouse: Path) -> None:
    dice = random.Random(5)
    t = table(warehouse, **{"dynamic_bucket.target_row_num": 7})
    model: dict[tuple[str, int], int] = {}
    for turn in range(25):
        keys = [(dice.choice("abc"), dice.randrange(60)) for _ in range(dice.randrange(1, 20))]
        match dice.randrange(5):
            case 0:
                t.refresh().delete_keys(batch([(*key, 0) for key in keys]).select(["p", "id"]))
                for key in keys:
                    model.pop(key, None)
            case 1 if turn % 3 == 0:
                keys = [("b", i) for _, i in keys]
                t.refresh().overwrite(batch([(*key, turn) for key in keys]), "p = 'b'")
                model = {key: v for key, v in model.items() if key[0] != "b"} | dict.fromkeys(keys, turn)
            case _:
                t.refresh().append(batch([(*key, turn) for key in keys]))
                model |= dict.fromkeys(keys, turn)
        assert read(t) == sorted(((*key, v) for key, v in model.items()), key=repr)


def test_keys_move_between_partitions(warehouse: Path) -> None:
    t = table(warehouse, over_partitions=True)
    t.append(batch([("a", i, i) for i in range(8)] + [(None, i, i) for i in range(8, 12)]))
    t.append(batch([("b", i, 10) for i in (1, 5, 9)] + [("b", 20, 10), ("c", 20, 11), ("a", 2, 12)]))
    assert read(t) == sorted(
        [("a", i, i) for i in (0, 3, 4, 6, 7)]
        + [(None, i, i) for i in (8, 10, 11)]
        + [("b", i, 10) for i in (1, 5, 9)]
        + [("c", 20, 11), ("a", 2, 12)],
        key=repr,
    )
    # Rows are deleted wherever they are.
    t.refresh().delete_keys(pa.table({"id": pa.array([20, 5, 8, 0, 777], pa.int32())}))
    assert sorted(row[1] for row in read(t)) == [1, 2, 3, 4, 6, 7, 9, 10, 11]
    with pytest.raises(fz.UnsupportedError, match="one writer must see"):
        t.writer().write(batch([("a", 1, 1)]))
    with pytest.raises(fz.UnsupportedError, match="append"):
        t.overwrite(batch([("a", 1, 1)]), "p = 'a'")
    t.refresh().overwrite(batch([("z", 1, 1), ("y", 1, 2)]))
    assert read(t) == [("y", 1, 2)]


@pytest.mark.parametrize(
    ("engine", "wanted"),
    [
        ({"merge_engine": "first-row"}, None),
        ({"merge_engine": "partial-update"}, [("a", 1, 9), ("a", 2, 5), ("b", 3, 3), ("b", 4, 8)]),
        (
            {"merge_engine": "aggregation", "fields.v.aggregate_function": "sum"},
            [("a", 1, 10), ("a", 2, 7), ("b", 3, 3), ("b", 4, 8)],
        ),
    ],
    ids=str,
)
def test_engines_over_partitions(warehouse: Path, engine: dict[str, str], wanted: list[tuple[Any, ...]] | None) -> None:
    t = table(warehouse, over_partitions=True, **engine)
    t.append(batch([("a", 1, 1), ("a", 2, 2), ("b", 3, 3)]))
    t.refresh().append(batch([("b", 1, 9), ("a", 2, 5), ("c", 3, None), ("b", 4, 8)]))
    if wanted is not None:
        assert read(t) == wanted
    else:  # Rows of level 0 are not seen before compaction.
        found = {row for file in Path(t.location).rglob("data-*.parquet") for row in rows_of(file)}
        assert found == {("a", 1, 1), ("a", 2, 2), ("b", 3, 3), ("a", 2, 5), ("b", 4, 8)}


def rows_of(file: Path) -> list[tuple[Any, ...]]:
    found = pq.read_table(file, columns=["p", "id", "v"], partitioning=None)
    return [tuple(row.values()) for row in found.to_pylist()]


def test_random_moves(warehouse: Path) -> None:
    dice = random.Random(6)
    t = table(warehouse, over_partitions=True)
    model: dict[int, tuple[str, int]] = {}
    for turn in range(20):
        rows = [(dice.choice("abc"), dice.randrange(30), turn) for _ in range(dice.randrange(1, 12))]
        if dice.random() < 0.2:
            t.refresh().delete_keys(batch(rows).select(["id"]))
            for _, key, _ in rows:
                model.pop(key, None)
        else:
            t.refresh().append(batch(rows))
            model |= {key: (p, v) for p, key, v in rows}
        assert read(t) == sorted(((p, key, v) for key, (p, v) in model.items()), key=repr)


def test_racing_moves(warehouse: Path) -> None:
    """Each key ends in one partition, whoever wrote it last."""
    t = table(warehouse, over_partitions=True)
    failures: list[BaseException] = []

    def write(name: str) -> None:
        try:
            for turn in range(4):
                keys = random.Random(name + str(turn)).sample(range(20), 8)
                fz.open_table(t.location).append(batch([(name, i, turn) for i in keys]))
        except BaseException as error:
            failures.append(error)

    writers = [threading.Thread(target=write, args=[n]) for n in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not failures
    keys = [row[1] for row in read(t)]
    assert len(keys) == len(set(keys))
    assert set(keys) == {
        i for n in "abc" for turn in range(4) for i in random.Random(n + str(turn)).sample(range(20), 8)
    }


def test_file_indexes_of_writers_that_give_up(warehouse: Path) -> None:
    t = table(warehouse, **{"file_index.bloom_filter.columns": "v", "file_index.in_manifest_threshold": "1 b"})
    message = t.writer().write(batch([("a", 1, 1)]))
    assert len(list(Path(t.location).rglob("*.index"))) == 1
    t.abort([pickle.loads(pickle.dumps(message))])
    with pytest.raises(fz.InvalidInputError):
        t.append(batch([("a", 1, 1)]).append_column("nope", pa.array([1])))
    assert not list(Path(t.location).rglob("data-*"))
    for columns, told in (("v,nope", "nope"), ("p", "no file index of this kind")):
        with pytest.raises(fz.InvalidInputError, match=told):
            table_named(warehouse, f"bad_{columns[0]}", **{"file_index.bsi.columns": columns})


def test_rows_that_wait_for_buckets(warehouse: Path) -> None:
    t = table(warehouse, bucket=-2)
    t.append(batch([("a", i, i) for i in (3, 1, 3)]))
    t.refresh().delete_keys(pa.table({"p": ["a"], "id": pa.array([3], pa.int32())}))
    assert read(t) == []
    assert [path.parent.name for path in Path(t.location).rglob("*.avro")] == ["bucket-postpone"] * 2
    first = table_named(warehouse, "first", bucket=-2, merge_engine="first-row")
    with pytest.raises(fz.UnsupportedError, match="the first row of a key stays"):
        first.delete_keys(pa.table({"p": ["a"], "id": pa.array([3], pa.int32())}))
