"""What differs between two versions of a table."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import uuid
from pathlib import Path

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


def test_rows_by_the_change_log(table: fz.Table) -> None:
    found = table.diff("first", rows=True)
    # Rows of format version 3 have ids. Without them, the three rows of the file that the update wrote again count as
    # removed and added.
    with_ids, without = {"added": 3, "removed": 1, "changed": 1}, {"added": 3 + 3, "removed": 1 + 3, "changed": 0}
    assert found.rows == (with_ids if table.format_version == 3 else without)
    assert table.diff("main", "main", rows=True).rows == {"added": 0, "removed": 0, "changed": 0}
    with pytest.raises(fz.InvalidInputError):
        table.diff("main", "first", rows=True)


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


def test_branches_that_parted(table: fz.Table) -> None:
    table.refs.create_branch("dev", "first")
    table.append(pa.table({"id": [9], "country": ["NO"]}, SCHEMA), branch="dev")
    found = table.diff("main", "dev")
    assert [t.rows for t in found.totals] == [7, 6]
    with pytest.raises(fz.InvalidInputError):
        table.diff("main", "dev", rows=True)


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
