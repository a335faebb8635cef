"""What differs between two versions of a table."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import time
import uuid
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil.cli import main

PAIMON = Path(__file__).parents[1] / "data" / "paimon" / "orders"
SCHEMA = pa.schema([("id", pa.int64()), ("country", pa.string())])


@pytest.fixture(params=["2", "3"])
def table(catalog: fz.Catalog, request: pytest.FixtureRequest) -> fz.Table:
    """Five rows in two partitions; a row of NO deleted, a row of SE changed; then three rows of DK."""
    properties = {
        "format-version": request.param,
        "write.delete.mode": "merge-on-read",
        "write.update.mode": "copy-on-write",
    }
    made = catalog.create_table("db.t", SCHEMA, partition_by="country", properties=properties)
    made.append(pa.table({"id": [1, 2, 3, 4, 5], "country": ["NO", "NO", "SE", "SE", "SE"]}, SCHEMA))
    made.refs.create_tag("first")
    made.delete("id = 1")
    made.update("id = 4", {"id": 40})
    return made.append(pa.table({"id": [6, 7, 8], "country": ["DK"] * 3}, SCHEMA))


def test_totals_files_and_partitions(table: fz.Table) -> None:
    found = table.diff("first")
    assert (found.before, found.after) == (table.refs["first"].snapshot_id, table.snapshot.id)
    assert [(t.rows, t.data_files, t.delete_files) for t in found.totals] == [(5, 2, 0), (7, 3, 1)]
    by_partition = {row.pop("partition"): row for row in found.partitions.to_pylist()}
    assert sorted(by_partition) == ["country=DK", "country=SE"]
    assert by_partition["country=DK"]["rows_added"] == 3
    # The update wrote the file of SE again.
    counts = {name: n for name, n in by_partition["country=SE"].items() if not name.startswith("bytes")}
    assert counts == {"files_added": 1, "files_removed": 1, "rows_added": 3, "rows_removed": 3}
    files = found.to_arrow().to_pylist()
    assert sorted((f["change"], f["content"], f["partition"]) for f in files) == [
        ("added", "data", "country=DK"),
        ("added", "data", "country=SE"),
        ("added", "deletes", "country=NO"),
        ("removed", "data", "country=SE"),
    ]
    assert found.rows is None
    assert not found.is_empty


def counted(added: int, removed: int, changed: int) -> dict[str, int]:
    return {"added": added, "removed": removed, "changed": changed}


def test_rows(table: fz.Table) -> None:
    # The update wrote three rows again, and one of them has other values. Rows of format version 3 have ids.
    has_ids = table.format_version == 3
    assert table.diff("first", rows=True).rows == (counted(3, 1, 1) if has_ids else counted(3 + 1, 1 + 1, 0))
    assert table.diff("main", "first", rows=True).rows == (counted(1, 3, 1) if has_ids else counted(1 + 1, 3 + 1, 0))
    assert table.diff("main", "main", rows=True).rows == counted(0, 0, 0)
    # Compaction changes no row.
    table.maintain.compact(rewrite_all=True)
    assert table.diff("first", rows=True).rows == (counted(3, 1, 1) if has_ids else counted(4, 2, 0))


def test_the_other_way_round(table: fz.Table) -> None:
    there, back = table.diff("first", "main"), table.diff("main", "first")
    assert there.totals == back.totals[::-1]
    assert there.files.num_rows == back.files.num_rows
    assert sorted(there.files["change"].to_pylist()) == sorted(
        {"added": "removed", "removed": "added"}[change] for change in back.files["change"].to_pylist()
    )


def test_nothing_differs(table: fz.Table) -> None:
    assert table.diff("main", "main").is_empty
    assert table.diff(table.snapshot.id).is_empty


def test_columns_differ_by_their_ids(table: fz.Table) -> None:
    old = fz.open_table(table.metadata_location)
    with table.update_schema() as update:
        update.add_column("note", "string")
        update.rename_column("id", "number")
        update.update_column("country", doc="ISO")
    with table.update_schema() as update:
        update.drop_column("note")
        update.add_column("note", "long")
    found = table.diff("first")
    assert {(c.kind, c.name, c.before, c.after) for c in found.schema} == {
        ("added", "note", None, "long"),
        ("comment", "country", "", "ISO"),
        ("renamed", "number", "id", "number"),
    }
    table.set_properties(owner="ada", **{"s3.secret-access-key": "hush"})
    with table.update_partition_spec() as spec:
        spec.add_field("bucket(4, number)")
    between = table.diff(old)
    assert {(c.kind, c.name, c.after) for c in between.properties} == {
        ("added", "owner", "ada"),
        ("added", "s3.secret-access-key", "***"),
    }
    assert [c.kind for c in between.partitioning] == ["added"]
    assert "hush" not in str(between) + repr(between) + json.dumps(between.to_dict(), default=str)


def properties_of(found: fz.Diff) -> set[tuple[str, str, str | None, str | None]] | None:
    return None if found.properties is None else {tuple(change) for change in found.properties}


def test_properties_partitioning_and_order_of_snapshots(catalog: fz.Catalog) -> None:
    rows = pa.table({"id": [1], "country": ["NO"]}, SCHEMA)
    table = catalog.create_table("db.defined", SCHEMA, properties={"owner": "ada"})
    first = table.append(rows).snapshot
    # Times of metadata files are in milliseconds.
    time.sleep(0.002)
    table.set_properties(owner="grace", note="x")
    second = table.append(rows).snapshot
    table.refs.create_tag("second")
    table.set_properties(note="y")
    with table.update_partition_spec() as spec:
        spec.add_field("country")
    with table.update_sort_order() as order:
        order.asc("id")
    third = table.append(rows).snapshot
    table.refs.create_branch("dev", "second")
    table.set_properties(note="z")

    owner = ("changed", "owner", "ada", "grace")
    assert properties_of(table.diff(first.id, second.id)) == {owner, ("added", "note", None, "x")}
    assert properties_of(table.diff(second.id, first.id)) == {
        ("changed", "owner", "grace", "ada"),
        ("removed", "note", "x", None),
    }
    assert properties_of(table.diff(first.id, "second")) == {owner, ("added", "note", None, "x")}
    found = table.diff("second", third.id)
    assert properties_of(found) == {("changed", "note", "x", "y")}
    assert [(c.kind, c.name) for c in found.partitioning] == [("added", "country: country")]
    assert [c.kind for c in found.sorting] == ["added"]
    assert table.diff(first.id, second.id).partitioning == []
    # The newest version, and each branch, has what was set since its last snapshot.
    assert properties_of(table.diff(third.id)) == {("changed", "note", "y", "z")}
    assert properties_of(table.diff("dev", "main")) == set()
    assert properties_of(table.diff("second", "dev")) == {("changed", "note", "x", "z")}
    assert properties_of(table.diff(first.timestamp, "main")) == {owner, ("added", "note", None, "z")}
    assert "properties   changed owner: ada -> grace" in str(table.diff(first.id, second.id))


def test_properties_of_metadata_that_is_no_longer_kept(catalog: fz.Catalog, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pa.table({"id": [1], "country": ["NO"]}, SCHEMA)
    table = catalog.create_table("db.lost", SCHEMA, properties={"write.metadata.previous-versions-max": "2"})
    first = table.append(rows).snapshot.id
    table.append(rows)
    second = table.append(rows).snapshot.id
    third = table.append(rows).snapshot.id
    found = table.diff(first, third)
    assert (found.properties, found.partitioning, found.sorting) == (None, None, None)
    assert found.to_dict()["properties"] is None
    assert "partitioning and sorting are not known" in str(found)
    assert not found.is_empty
    assert properties_of(table.diff(second, third)) == set()
    assert main(["diff", table.location, str(first), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sorting"] is None
    # The log names a file that somebody removed.
    log = table.inspect.metadata_log_entries().to_pylist()
    lost = Path(log[-2]["file"].removeprefix("file://"))
    lost.write_text("{")
    assert properties_of(table.diff(second, third)) is None
    lost.unlink()
    found = table.diff(second, third)
    assert properties_of(found) is None
    assert properties_of(table.diff(third)) == set()
    # It is not known that nothing differs.
    assert not table.diff(second, second).is_empty


def local(path: str) -> Path:
    return Path(path.removeprefix("file://"))


def edited(table: fz.Table, **members: Any) -> fz.Table:
    """The table by a copy of its metadata file with other members."""
    newest = local(table.metadata_location)
    copy = newest.with_name(f"00099-{uuid.uuid4()}.metadata.json")
    copy.write_text(json.dumps(json.loads(newest.read_text()) | members))
    return fz.open_table(copy)


def test_properties_by_a_log_that_lacks_files(catalog: fz.Catalog) -> None:
    rows = pa.table({"id": [1], "country": ["NO"]}, SCHEMA)
    table = catalog.create_table("db.log", SCHEMA)
    for owner in "abc":
        table.set_properties(owner=owner)
        table.append(rows)
    first, second, third = (snapshot.id for snapshot in table.snapshots)
    newest = json.loads(local(table.metadata_location).read_text())
    log = newest["metadata-log"]
    assert properties_of(table.diff(first, third)) == {("changed", "owner", "a", "c")}
    # A log is optional. Without one, only the last commit's properties are known.
    without = edited(table, **{"metadata-log": []})
    assert properties_of(without.diff(first, third)) is None
    assert properties_of(without.diff(third)) == set()
    # The log begins with the file of a later version, which has the time of the second snapshot.
    later = local(log[-1]["metadata-file"])
    made = next(s["timestamp-ms"] for s in newest["snapshots"] if s["snapshot-id"] == second)
    facts = json.loads(later.read_text()) | {"last-updated-ms": made}
    facts["metadata-log"] = [entry | {"timestamp-ms": made} for entry in facts["metadata-log"]]
    moved = later.with_name("00098-moved.metadata.json")
    moved.write_text(json.dumps(facts))
    trimmed = edited(table, **{"metadata-log": [{"timestamp-ms": made, "metadata-file": str(moved)}]})
    assert properties_of(trimmed.diff(second, third)) is None
    # An entry of another table.
    other = catalog.create_table("db.other", SCHEMA)
    foreign = [entry | {"metadata-file": other.metadata_location} for entry in log]
    assert properties_of(edited(table, **{"metadata-log": foreign}).diff(first, third)) is None


def test_order_and_names_of_fields(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.fields", SCHEMA, partition_by=["country"], sort_by=["id", "country"])
    first = table.append(pa.table({"id": [1], "country": ["NO"]}, SCHEMA)).snapshot.id
    with table.update_sort_order() as order:
        order.asc("country").asc("id")
    found = table.diff(first)
    assert found.sorting == [
        (
            "changed",
            "order",
            "id asc nulls first, country asc nulls first",
            "country asc nulls first, id asc nulls first",
        )
    ]
    assert not found.is_empty
    second = table.append(pa.table({"id": [1], "country": ["NO"]}, SCHEMA)).snapshot.id
    with table.update_schema() as update:
        update.rename_column("country", "land")
    found = table.diff(second)
    assert (found.partitioning, found.sorting) == ([], [])


def test_secrets_that_changed(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.secret", SCHEMA, properties={"s3.secret-access-key": "hush-a"})
    first = table.append(pa.table({"id": [1], "country": ["NO"]}, SCHEMA)).snapshot.id
    table.set_properties({"s3.secret-access-key": "hush-b"})
    found = table.diff(first)
    assert properties_of(found) == {("changed", "s3.secret-access-key", "***", "***")}
    assert not found.is_empty
    assert "hush" not in str(found) + json.dumps(found.to_dict())


def test_properties_by_times_of_clocks_that_differ(catalog: fz.Catalog) -> None:
    """The time of a metadata file says where to look for a snapshot. Its snapshots decide."""
    rows = pa.table({"id": [1], "country": ["NO"]}, SCHEMA)
    table = catalog.create_table("db.clocks", SCHEMA)
    for note in "abc":
        table.set_properties(note=note)
        table.append(rows)
    snapshots = [snapshot.id for snapshot in table.snapshots]
    wanted = {("changed", "note", "a", "b")}
    assert properties_of(table.diff(snapshots[0], snapshots[1])) == wanted
    newest = Path(table.metadata_location.removeprefix("file://"))
    facts = json.loads(newest.read_text())
    # 500 ms later or earlier than they were written.
    for step in (500, -500):
        moved = json.loads(newest.read_text())
        for snapshot in moved["snapshots"]:
            snapshot["timestamp-ms"] = min(snapshot["timestamp-ms"] + step, facts["last-updated-ms"])
        moved["snapshot-log"] = []
        other = newest.with_name(f"00099-{step}.metadata.json")
        other.write_text(json.dumps(moved))
        assert properties_of(fz.open_table(other).diff(snapshots[0], snapshots[1])) == wanted


def test_branches_that_parted(table: fz.Table) -> None:
    table.refs.create_branch("dev", "first")
    table.append(pa.table({"id": [9], "country": ["NO"]}, SCHEMA), branch="dev")
    found = table.diff("main", "dev")
    assert [t.rows for t in found.totals] == [7, 6]
    # Only `dev` has the rows 1, 4 and 9, and only `main` has 6, 7, 8 and 40, which was 4.
    has_ids = table.format_version == 3
    assert table.diff("main", "dev", rows=True).rows == (counted(2, 3, 1) if has_ids else counted(3, 4, 0))
    assert table.diff("dev", "main", rows=True).rows == (counted(3, 2, 1) if has_ids else counted(4, 3, 0))


def test_equal_rows_are_counted(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.equal", SCHEMA)
    table.append(pa.table({"id": [1, 1, 1, 2], "country": [None] * 4}, SCHEMA))
    table.refs.create_branch("dev")
    table.overwrite(pa.table({"id": [1, 2, 2, 3], "country": [None] * 4}, SCHEMA))
    # Two rows of 1 are gone; a row of 2 and one of 3 are new.
    assert table.diff("dev", "main", rows=True).rows == counted(2, 2, 0)
    assert table.diff("main", "dev", rows=True).rows == counted(2, 2, 0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_rows_of_branches_after_random_changes(catalog: fz.Catalog, mode: str, seed: int) -> None:
    random = Random(seed)
    properties = {"format-version": "2", "write.delete.mode": mode, "write.update.mode": mode}
    table = catalog.create_table("db.random", SCHEMA, partition_by="country", properties=properties)

    def some_rows() -> pa.Table:
        picked = [(random.randrange(6), random.choice(["NO", "SE", None])) for _ in range(8)]
        return pa.table([list(column) for column in zip(*picked, strict=True)], schema=SCHEMA)

    table.append(some_rows())
    table.refs.create_branch("dev")
    for _ in range(6):
        branch = random.choice(["main", "dev"])
        match random.choice(["append", "delete", "update"]):
            case "append":
                table.append(some_rows(), branch=branch)
            case "delete":
                table.delete(f"id = {random.randrange(6)}", branch=branch)
            case _:
                table.update(f"id = {random.randrange(6)}", {"id": random.randrange(6)}, branch=branch)
    before, after = (
        Counter((row["id"], row["country"]) for row in table.scan(at=at).to_arrow().to_pylist())
        for at in ("dev", "main")
    )
    wanted = counted((after - before).total(), (before - after).total(), 0)
    assert table.diff("dev", "main", rows=True).rows == wanted


def test_rows_with_keys(catalog: fz.Catalog) -> None:
    schema = fz.Schema.from_json(
        json.dumps(
            {
                "type": "struct",
                "identifier-field-ids": [3],
                "fields": [
                    {"id": 1, "name": "value", "required": False, "type": "string"},
                    {
                        "id": 2,
                        "name": "at",
                        "required": True,
                        "type": {
                            "type": "struct",
                            "fields": [{"id": 3, "name": "key", "required": True, "type": "int"}],
                        },
                    },
                ],
            }
        )
    )
    table = catalog.create_table("db.keys", schema)

    def rows(values: dict[int, str]) -> pa.Table:
        found = {"value": list(values.values()), "at": [{"key": key} for key in values]}
        return pa.table({name: pa.array(found[name], table.scan().arrow_schema.field(name).type) for name in found})

    table.append(rows({1: "a", 2: "b", 3: "c"}).cast(table.scan().arrow_schema))
    table.refs.create_branch("dev")
    table.overwrite(rows({1: "a", 2: "other", 4: "c"}).cast(table.scan().arrow_schema))
    # 1 is the same, 2 has another value, 3 is gone, 4 is new.
    assert table.diff("dev", "main", rows=True).rows == counted(1, 1, 1)
    assert table.diff("main", "dev", rows=True).rows == counted(1, 1, 1)


def test_rows_of_versions_with_other_columns(table: fz.Table) -> None:
    before = table.snapshot.id
    with table.update_schema() as update:
        update.add_column("note", "string")
        update.rename_column("id", "number")
    table.update("number = 5", {"note": "new"})
    found = table.diff(before, table.snapshot.id, rows=True)
    assert [(c.kind, c.name) for c in found.schema] == [("added", "note"), ("renamed", "number")]
    # Three rows were written again, one with a note. A new column without a value changes no row.
    changed = counted(0, 0, 1) if table.format_version == 3 else counted(1, 1, 0)
    assert found.rows == changed
    assert table.diff(table.snapshot.id, before, rows=True).rows == changed


def test_rows_of_every_type(every_type: fz.Table) -> None:
    every_type.refs.create_branch("dev")
    rows = every_type.scan().to_arrow()
    every_type.overwrite(rows)
    assert every_type.diff("dev", "main").files.num_rows > 1
    assert every_type.diff("dev", "main", rows=True).rows == counted(0, 0, 0)
    every_type.overwrite(rows.slice(1))
    assert every_type.diff("main", "dev", rows=True).rows == counted(1, 0, 0)


def test_all_rows_are_gone(table: fz.Table) -> None:
    table.delete("true")
    assert table.diff("first", rows=True).rows == counted(0, 5, 0)
    assert table.diff("main", "first", rows=True).rows == counted(5, 0, 0)


def test_an_empty_table_and_another_one(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.empty", SCHEMA)
    empty = fz.open_table(table.metadata_location)
    table.append(pa.table({"id": [1], "country": ["NO"]}, SCHEMA))
    found = table.diff(empty)
    assert found.before is None
    assert found.totals[0] == (0, 0, 0, 0)
    assert found.files["partition"].to_pylist() == [""]
    other = catalog.create_table("db.other", SCHEMA)
    with pytest.raises(fz.InvalidInputError, match="two different tables"):
        table.diff(other)
    with pytest.raises(fz.NotFoundError):
        table.diff("no-such-tag")


def test_partitions_of_every_type(catalog: fz.Catalog) -> None:
    schema = pa.schema([("b", pa.binary()), ("d", pa.date32()), ("n", pa.int32()), ("u", pa.uuid())])
    table = catalog.create_table("db.kinds", schema, partition_by=["b", "month(d)", "n", "u"])
    empty = fz.open_table(table.metadata_location)
    key = uuid.UUID("6f9619ff-8b86-d011-b42d-00c04fc964ff")
    keys = pa.array([key.bytes, None], pa.uuid())
    table.append(pa.table({"b": [b"x", None], "d": [dt.date(2026, 1, 1)] * 2, "n": [None, 5], "u": keys}, schema))
    texts = table.diff(empty).partitions["partition"].to_pylist()
    assert len(texts) == 2
    assert any("n=null" in text for text in texts)
    assert any("b=null" in text and "n=5" in text for text in texts)
    assert any(f"u={key}" in text for text in texts)
    assert all("d_month=2026-01" in text for text in texts)


def test_paimon() -> None:
    table = fz.open_table(PAIMON)
    found = table.diff(1, 4)
    assert (found.before, found.after) == (1, 4)
    assert found.totals[1].rows == table.scan(at=4).count()
    assert {f["change"] for f in found.to_arrow().to_pylist()} <= {"added", "removed"}


PAIMON_SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("country", pa.string())])


def test_rows_of_paimon(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.plain", SCHEMA, format="paimon")
    table.append(pa.table({"id": [1, 2, 2], "country": ["NO"] * 3}, SCHEMA))
    table.refs.create_tag("first").create_branch("dev", at="first")
    table.append(pa.table({"id": [3], "country": ["SE"]}, SCHEMA))
    table.append(pa.table({"id": [4, 5], "country": ["DK"] * 2}, SCHEMA), branch="dev")
    table.maintain.compact("full")
    assert table.diff("first", rows=True).rows == counted(1, 0, 0)
    assert table.diff("main", "first", rows=True).rows == counted(0, 1, 0)
    # Both branches have a second snapshot.
    found = table.diff("dev", "main", rows=True)
    assert found.rows == counted(1, 2, 0)
    assert [t.rows for t in found.totals] == [5, 4]
    assert table.diff("main", "dev", rows=True).rows == counted(2, 1, 0)
    with table.update_schema() as update:
        update.add_column("note", "string")
    with pytest.raises(fz.InvalidInputError, match="different columns"):
        table.diff("main", "dev", rows=True)


def test_options_of_paimon(catalog: fz.Catalog) -> None:
    rows = pa.table({"id": [1], "country": ["NO"]}, SCHEMA)
    table = catalog.create_table("db.options", SCHEMA, format="paimon", properties={"owner": "ada"})
    first = table.append(rows).snapshot
    table.set_properties(owner="grace", note="x")
    second = table.append(rows).snapshot
    table.refs.create_tag("second").create_branch("dev", at="second")
    old = fz.open_table(table.location)
    table.set_properties(note="y")
    owner = ("changed", "owner", "ada", "grace")
    assert properties_of(table.diff(first.id, second.id)) == {owner, ("added", "note", None, "x")}
    assert properties_of(table.diff(first.id)) == {owner, ("added", "note", None, "y")}
    assert properties_of(table.diff("second", "main")) == {("changed", "note", "x", "y")}
    assert properties_of(table.diff("dev", "main")) == {("changed", "note", "x", "y")}
    assert properties_of(table.diff(old)) == {("changed", "note", "x", "y")}
    time.sleep(0.002)
    between = dt.datetime.now(dt.timezone.utc)
    time.sleep(0.002)
    table.append(rows)
    table.set_properties(note="z")
    assert properties_of(table.diff(between, "main")) == {("changed", "note", "y", "z")}
    assert properties_of(table.diff(second.timestamp, "main")) == {("changed", "note", "x", "z")}
    assert properties_of(table.diff(dt.datetime.now(dt.timezone.utc), "main")) == set()
    table.set_properties(note="y")
    assert table.diff(first.id).partitioning == table.diff(first.id).sorting == []
    third = table.append(rows).snapshot
    with pytest.raises(fz.FrazilError, match="refresh"):
        old.diff(first.id, third.id)
    assert properties_of(old.refresh().diff(first.id, third.id)) == {owner, ("added", "note", None, "y")}


def test_rows_of_paimon_with_keys(catalog: fz.Catalog) -> None:
    table = catalog.create_table(
        "db.keyed", PAIMON_SCHEMA, format="paimon", properties={"primary-key": "id", "bucket": "1"}
    )
    table.append(pa.table({"id": [1, 2, 3], "country": ["NO"] * 3}, PAIMON_SCHEMA))
    first = table.snapshot.id
    table.append(pa.table({"id": [2, 3, 4], "country": ["SE", "NO", "SE"]}, PAIMON_SCHEMA))
    table.delete("id = 1")
    # 1 is gone, 2 has another country, 3 was written again, 4 is new.
    assert table.diff(first, rows=True).rows == counted(1, 1, 1)
    assert table.diff("main", first, rows=True).rows == counted(1, 1, 1)
    with table.update_schema() as update:
        update.add_column("note", "string")
    table.append(pa.table({"id": [3], "country": ["NO"], "note": ["x"]}))
    assert table.diff(first, rows=True).rows == counted(1, 1, 2)


def test_rows_of_paimon_after_options_changed(catalog: fz.Catalog) -> None:
    properties = {"primary-key": "id", "bucket": "1"}
    table = catalog.create_table("db.keyed", PAIMON_SCHEMA, format="paimon", properties=properties)
    table.append(pa.table({"id": [1, 2], "country": ["NO"] * 2}, PAIMON_SCHEMA))
    table.append(pa.table({"id": [2, 3], "country": ["SE"] * 2}, PAIMON_SCHEMA))
    table.refs.create_tag("newest").create_branch("later", at="newest")
    table.set_properties({"snapshot.num-retained.min": "3"})  # the schema of main gets another number
    table.rollback(to=1)
    table.append(pa.table({"id": [4], "country": ["DK"]}, PAIMON_SCHEMA))
    # In the branch, 2 has another country, 3 is new, and 4 is not there.
    assert table.diff("main", "later", rows=True).rows == counted(1, 1, 1)


def test_text_and_pickle(table: fz.Table) -> None:
    found = table.diff("first", rows=True)
    text = str(found)
    assert "rows         5 -> 7 (+2)" in text
    assert "partition    country=DK: +1 -0 files, +3 -0 rows in them" in text
    assert pickle.loads(pickle.dumps(found)) == found
    assert "Diff(" in repr(found)


def test_the_command(table: fz.Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", table.location, "first", "--rows", "--files"]) == 0
    assert "rows         5 -> 7 (+2)" in capsys.readouterr().out
    assert main(["diff", table.location, "first", "main", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["totals"]["after"]["rows"] == 7
    assert len(facts["files"]) == 4
    assert main(["diff", table.location, table.metadata_location, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == []
