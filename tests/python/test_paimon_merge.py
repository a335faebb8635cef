"""Merges into tables of Apache Paimon, compared with a model of plain dictionaries."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

SCHEMA = pa.schema([("id", pa.int32()), ("name", pa.string()), ("v", pa.int64()), ("p", pa.string())])
KEYED = pa.schema(
    [pa.field("id", pa.int32(), nullable=False), *list(SCHEMA)[1:3], pa.field("p", pa.string(), nullable=False)]
)

TABLES: list[tuple[bool, dict[str, str]]] = [
    (False, {}),
    (False, {"file.format": "orc"}),
    (False, {"deletion-vectors.enabled": "true"}),
    (
        False,
        {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true", "bucket": "2", "bucket-key": "id"},
    ),
    (False, {"row-tracking.enabled": "true"}),
    (False, {"row-tracking.enabled": "true", "deletion-vectors.enabled": "true"}),
    (True, {"bucket": "2"}),
    (True, {"bucket": "-1", "dynamic-bucket.target-row-num": "7"}),
    (True, {"bucket": "1", "changelog-producer": "input", "file.format": "avro"}),
]


def made(folder: Path, keyed: bool, options: dict[str, str]) -> fz.Table:
    catalog = fz.catalog("c", type="filesystem", warehouse=folder)
    catalog.create_namespace("db")
    more: dict[str, Any] = {"identifier_fields": ["p", "id"]} if keyed else {}
    schema = KEYED if keyed else SCHEMA
    return catalog.create_table("db.t", schema, partition_by=["p"], properties=options, format="paimon", **more)


def rows(found: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(found, SCHEMA)


def held(table: fz.Table) -> dict[tuple[str, int], dict[str, Any]]:
    found = table.refresh().scan().to_arrow().to_pylist()
    assert len({(row["p"], row["id"]) for row in found}) == len(found)
    return {(row["p"], row["id"]): row for row in found}


@pytest.mark.parametrize(("keyed", "options"), TABLES, ids=str)
def test_model(tmp_path: Path, keyed: bool, options: dict[str, str]) -> None:
    table = made(tmp_path, keyed, options)
    dice = random.Random(str(options))
    model: dict[tuple[str, int], dict[str, Any]] = {}
    for turn in range(12):
        picked = dice.sample([(p, i) for p in "ab" for i in range(20)], dice.choice([0, 1, 9, 15]))
        source = [
            {"id": i, "name": dice.choice([None, f"{turn}-{i}"]), "v": dice.randrange(5), "p": p} for p, i in picked
        ]
        clauses: dict[str, Any] = {}
        if turn == 0 or dice.random() < 0.6:
            clauses["when_not_matched_insert"] = True
        if dice.random() < 0.6:
            clauses["when_matched_update"] = dice.choice([True, {"name": "name"}, {"v": "v", "name": "p"}])
        if dice.random() < 0.4:
            clauses["when_matched_delete"] = dice.choice(["v = 1", "name is null"])
        if not clauses or dice.random() < 0.2:
            clauses["when_not_matched_by_source_delete"] = dice.choice(["v = 0", "name like '1-%'"])
        before, ids = table.refresh().snapshot, {}
        if options.get("row-tracking.enabled"):
            tracked = table.scan(select=["id", "p", "_row_id"]).to_arrow().to_pylist()
            ids = {(row["p"], row["id"]): row["_row_id"] for row in tracked}
        table.merge(rows(source), on=["p", "id"], **clauses)
        counts = {"updated": 0, "deleted": 0, "inserted": 0}
        matched = {(row["p"], row["id"]): row for row in source}
        deletes = clauses.get("when_matched_delete")
        is_deleting = {
            "v = 1": lambda row: row["v"] == 1,
            "name is null": lambda row: row["name"] is None,
            None: lambda _: False,
        }
        missing = clauses.get("when_not_matched_by_source_delete")
        is_missing = {
            "v = 0": lambda row: row["v"] == 0,
            "name like '1-%'": lambda row: (row["name"] or "").startswith("1-"),
        }
        for key, old in list(model.items()):
            if key not in matched:
                if missing and is_missing[missing](old):
                    del model[key]
                    counts["deleted"] += 1
                continue
            new = matched[key]
            if is_deleting[deletes](new):
                del model[key]
                counts["deleted"] += 1
            elif update := clauses.get("when_matched_update"):
                names = {name: name for name in SCHEMA.names} if update is True else update
                after = {**old, **{to: new[of] for to, of in names.items()}}
                counts["updated"] += after != old
                model[key] = after
            matched.pop(key)
        if "when_not_matched_insert" in clauses:
            for key, new in matched.items():
                if not is_deleting[deletes](new):
                    model[key] = new
                    counts["inserted"] += 1
        assert held(table) == model, (turn, clauses)
        after_snapshot = table.refresh().snapshot
        if keyed and clauses == {"when_matched_update": True, "when_not_matched_insert": True}:
            continue  # an upsert, for which nobody looks at the table
        if not any(counts.values()):
            assert after_snapshot == before
            continue
        assert after_snapshot is not None
        told = {name: int(after_snapshot.summary[f"frazil.rows-{name}"]) for name in counts}
        assert told == counts
        if ids:
            tracked = table.scan(select=["id", "p", "_row_id"]).to_arrow().to_pylist()
            now = {(row["p"], row["id"]): row["_row_id"] for row in tracked}
            assert len(set(now.values())) == len(now)
            assert all(
                now[key] == ids[key] for key in now.keys() & ids.keys() if key in model and counts["inserted"] == 0
            )


def test_any_columns_match_where_there_is_no_key(tmp_path: Path) -> None:
    table = made(tmp_path, False, {})
    table.append(rows([{"id": i, "name": f"n{i % 3}", "v": i, "p": "a"} for i in range(6)]))
    source = pa.table({"key": ["n1", "n9"], "x": pa.array([100, 900], pa.int64())})
    with pytest.raises(fz.InvalidInputError, match="no such column"):
        table.merge(source, on=["name"], when_matched_delete=True)
    source = source.rename_columns(["name", "x"])
    table.merge(source, on=["name"], when_matched_update={"v": "x"}, when_not_matched_insert={"name": "name", "v": "x"})
    found = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: str(row["id"]))
    assert [(row["id"], row["v"]) for row in found] == [(0, 0), (1, 100), (2, 2), (3, 3), (4, 100), (5, 5), (None, 900)]
    with pytest.raises(fz.InvalidInputError, match="same key"):
        table.merge(pa.table({"name": ["a", "a"]}), on=["name"], when_matched_delete=True)
    # An upsert finds the rows by the columns that are named.
    table.upsert(rows([{"id": 1, "name": "z", "v": 7, "p": "a"}, {"id": 77, "name": "y", "v": 8, "p": "b"}]), on=["id"])
    assert {row["id"]: row["name"] for row in table.scan("v in (7, 8)").to_arrow().to_pylist()} == {1: "z", 77: "y"}


REFUSED: list[tuple[dict[str, str], dict[str, Any], str]] = [
    ({"merge-engine": "partial-update"}, {"when_matched_update": {"v": "v"}}, "merge engine"),
    ({"merge-engine": "aggregation"}, {"when_matched_delete": True}, "aggregation"),
    ({"merge-engine": "first-row"}, {"when_not_matched_by_source_delete": True}, "first-row"),
    ({"ignore-delete": "true"}, {"when_matched_delete": True}, "ignores deletes"),
    ({"sequence.field": "v"}, {"when_matched_update": True}, "orders the rows"),
]


@pytest.mark.parametrize(("options", "clauses", "said"), REFUSED, ids=str)
def test_what_merge_engines_would_not_do(
    tmp_path: Path, options: dict[str, str], clauses: dict[str, Any], said: str
) -> None:
    table = made(tmp_path, True, {"bucket": "1", **options})
    source = [{"id": 1, "name": "a", "v": 1, "p": "a"}]
    table.append(rows(source))
    before = table.refresh().snapshot
    with pytest.raises(fz.UnsupportedError, match=said) as refused:
        table.merge(rows(source), **clauses)
    assert refused.value.context["table"] == table.location
    assert table.refresh().snapshot == before
    with pytest.raises(fz.InvalidInputError, match="primary key is"):
        table.merge(rows(source), on=["name"], when_not_matched_insert=True)
    with pytest.raises(fz.InvalidInputError, match="lack a column of the primary key"):
        table.merge(rows(source), when_not_matched_insert={"id": "id", "v": "v"})
    table.merge(rows([{"id": 2, "name": "b", "v": 1, "p": "a"}]), when_not_matched_insert=True)
    table.maintain.compact()  # without it a table of first rows shows none
    assert len(held(table)) == 2


def test_keys_are_not_updated(tmp_path: Path) -> None:
    table = made(tmp_path, True, {"bucket": "1"})
    table.append(rows([{"id": 1, "name": "a", "v": 1, "p": "a"}]))
    source = pa.table(
        {"id": pa.array([1], pa.int32()), "p": ["a"], "to": pa.array([7], pa.int32()), "v": pa.array([5], pa.int64())}
    )
    with pytest.raises(fz.InvalidInputError, match="primary key can't be updated"):
        table.merge(source, when_matched_update={"id": "to", "v": "v"})
    table.merge(source, when_matched_update={"id": "id", "v": "v"})
    assert held(table) == {("a", 1): {"id": 1, "name": "a", "v": 5, "p": "a"}}
