"""What errors say: what was meant, perhaps, which table and file, and times as people write them."""

from __future__ import annotations

import datetime as dt
import pickle
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz


def said(ask: Any, kind: type[fz.FrazilError] = fz.InvalidInputError) -> str:
    with pytest.raises(kind) as caught:
        ask()
    return str(caught.value)


def test_times_are_written_as_dates(events: fz.Table) -> None:
    first = events.snapshots[0].timestamp
    early = dt.datetime(2001, 2, 3, 4, 5, 6, 7000, tzinfo=dt.timezone.utc)
    begins = first.strftime("Its history begins at %Y-%m-%dT%H:%M:%S")
    text = said(lambda: events.scan(at=early), fz.NotFoundError)
    assert "no snapshot yet at 2001-02-03T04:05:06.007Z" in text
    assert begins in text


def test_versions_are_named_as_they_were_given(events: fz.Table) -> None:
    assert "since: nope)" in said(lambda: events.scan(since="nope"), fz.NotFoundError)
    assert f"table: {events.location}" in said(lambda: events.scan(since=5))
    assert "at=snapshot.id" in said(lambda: events.scan(at=events.snapshot))  # type: ignore[arg-type]
    assert "since=datetime(" in said(lambda: events.scan(since=dt.date(2026, 1, 1)))  # type: ignore[arg-type]


def test_near_columns_are_suggested_wherever_columns_are_named(events: fz.Table) -> None:
    assert "Did you mean `country`?" in said(lambda: events.scan("contry = 'NO'"))
    assert "Did you mean 'country'?" in said(lambda: events.scan(select=["contry"]))
    assert "Did you mean 'country'?" in said(lambda: events.scan().statistics("Country"))
    assert "Columns are: id, country" in said(lambda: events.scan(select=["something_else"]))


def test_options(events: fz.Table) -> None:
    assert "not true or false" in said(lambda: events.scan(options={"case-sensitive": "maybe"}))
    assert "below 2**63" in said(lambda: events.scan().limit(2**63))
    assert "'split-size' with a value of type 'NoneType'" in said(lambda: events.scan(options={"split-size": None}))
    assert "twice" in said(lambda: events.scan(select=["id", "id"]))
    snapshot = f"snapshot: {events.snapshot.id}"
    assert snapshot in said(lambda: events.scan(max_plan_bytes=1).explain())
    assert snapshot in said(lambda: events.scan(max_plan_bytes=1).plan_parts())


def test_a_moved_table_names_the_file_that_was_read(events: fz.Table, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(events.location, root)
    for manifest in (root / "metadata").glob("*-m0.avro"):
        manifest.write_bytes(b"no Avro")
    moved = fz.open_table(root, moved=True)
    for ask in (lambda: list(moved.scan().plan_files()), lambda: moved.scan().explain(files=True)):
        text = said(ask, fz.CorruptTableError)
        assert f"path: {root}/metadata/" in text
        assert f"snapshot: {moved.snapshot.id}" in text


def test_an_explanation_knows_exact_rows(events: fz.Table) -> None:
    rows = events.scan().count()
    assert f"  {rows} rows in the files kept" in str(events.scan().explain())
    assert "  0 rows in the files kept" in str(events.scan("id > 100000").explain())
    assert "  At most " in str(events.scan("id > 3").explain())
    assert f">{rows} rows in the files kept" in events.scan().explain()._repr_html_()


def test_splits_with_nan_in_their_partition_equal_themselves(catalog: fz.Catalog) -> None:
    rows = pa.table({"x": [float("nan"), 1.0]})
    table = catalog.create_table("db.nan", rows.schema, partition_by=["x"]).append(rows)
    splits = table.scan().plan()
    assert pickle.loads(pickle.dumps(splits)) == splits
    assert table.scan().plan() == splits


@pytest.mark.parametrize("as_stream", [True, False])
def test_slices_of_structs_in_structs_are_appended(catalog: fz.Catalog, as_stream: bool) -> None:
    deep = [{"a": {"b": {"c": n}, "l": [{"d": {"e": n}}] * (n % 3)}} if n % 5 else None for n in range(30)]
    rows = pa.table({"id": range(30), "s": deep}).slice(7, 16)
    table = catalog.create_table("db.deep", rows.schema)
    table.append(rows if as_stream else rows.to_batches()[0])
    # A struct that is sliced itself, in a batch that is not.
    inner = rows.combine_chunks()["s"].chunk(0)
    again = pa.record_batch({"id": pa.array(range(16)), "s": inner}).slice(3)
    table.append(again.slice(1))
    back = table.scan(at=table.snapshots[0].id).to_arrow().sort_by("id")
    assert back["s"].to_pylist() == deep[7:23]
    back = table.scan(since=table.snapshots[0].id).to_arrow().sort_by("id")
    assert back["s"].to_pylist() == deep[11:23]


def test_near_columns_are_suggested_by_all_changes(events: fz.Table, catalog: fz.Catalog) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64()), "contry": ["NO"]})
    country = "Did you mean 'country'?"
    assert country in said(lambda: events.append(rows))
    assert country in said(lambda: events.upsert(rows, on=["id"]))
    plain = catalog.create_table("db.plain", events.schema)
    assert country in said(lambda: plain.upsert(rows, on=["id"], blind=True))
    assert country in said(lambda: events.merge(rows, on=["id"], when_matched_update={"contry": "id"}))
    assert "Did you mean 'contry'?" in said(lambda: events.merge(rows, on=["country"], when_matched_delete=True))
    assert country in said(lambda: events.update("id = 1", {"contry": "NO"}))
    assert country in said(lambda: events.update("id = 1", {"raw": fz.col("contry")}))
    assert country in said(lambda: events.delete_keys(rows, on=["contry"]))
    assert "Did you mean `country`?" in said(lambda: events.delete("contry = 'NO'"))
    maintain = events.maintain
    assert country in said(lambda: maintain.compute_statistics(["contry"]))
    assert country in said(lambda: maintain.compact("zorder", zorder_by=["contry"]))
    assert country in said(lambda: maintain.compact("sort", sort_by=["contry desc"]))
    assert country in said(lambda: events.append(rows.select(["id"]), sort_by=["contry"]))
    schema = events.scan(select=["id", "country"]).to_arrow().schema
    for options in ({"partition_by": ["contry"]}, {"sort_by": ["contry"]}, {"identifier_fields": ["contry"]}):
        assert country in said(lambda options=options: catalog.create_table("db.x", schema, **options))
    assert "Columns are: id, country" in said(lambda: events.update("id = 1", {"something_else": 1}))


def test_names_that_are_given_twice(catalog: fz.Catalog) -> None:
    events = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"])
    for change in (
        lambda: events.delete_keys(twice, on=["id"]),
        lambda: events.upsert(twice, on=["id"]),
        lambda: events.upsert(twice, on=["id"], blind=True),
        lambda: events.append(twice),
        lambda: events.merge(twice, on=["id"], when_matched_delete=True),
    ):
        assert "two columns with the same name (column: id)" in said(change)
    once = twice.select([0])
    for blind in (True, False):
        assert "in the key twice" in said(lambda blind=blind: events.upsert(once, on=["id", "id"], blind=blind))
    assert "in the key twice" in said(lambda: events.delete_keys(once, on=["id", "id"]))


def test_columns_in_others(events: fz.Table) -> None:
    rows = pa.table({"payload": [{"a": 1}]})
    for change, hint in (
        (lambda: events.delete_keys(rows, on=["payload.a"]), "when_matched_delete=True"),
        (lambda: events.upsert(rows, on=["payload.a"], blind=True), "without blind=True"),
        (lambda: events.upsert(rows, on=["payload"]), 'on=["payload.a", ...]'),
        (lambda: events.update("id = 1", {"payload.a": 1}), "at the top level"),
    ):
        text = said(change, fz.UnsupportedError)
        assert "column: payload" in text
        assert hint in text


def test_values_of_other_types(events: fz.Table) -> None:
    """An update gives values; nothing is compared."""
    for value, hint in (("x", "a number"), (1.5, "a number"), (True, "a number"), (dt.date(2026, 1, 2), "a number")):
        text = said(lambda value=value: events.update("id = 1", {"id": value}))
        assert "is not a value of the type long (column: id)" in text
        assert hint in text
    assert "Use upsert or merge" in said(lambda: events.update("id = 1", {"payload": {"a": 1}}))


def test_namespaces_that_are_missing(catalog: fz.Catalog, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    for other in (catalog, fz.catalog("m", type="memory", warehouse=tmp_path / "m")):
        text = said(lambda other=other: other.create_table("nope.t", schema), fz.NotFoundError)
        assert "nope" in text
        assert "create_namespace" in text


def test_nothing_is_written_for_a_dropped_table(catalog: fz.Catalog) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64())})
    table = catalog.create_table("db.gone", rows.schema).append(rows)
    writer, tx = table.writer(), table.transaction()
    catalog.drop_table("db.gone")
    for change in (
        lambda: table.append(rows),
        lambda: writer.write(rows),
        lambda: writer.rewrite(rows),
        lambda: writer.upsert(rows, on=["id"]),
        lambda: table.overwrite(rows),
        lambda: tx.append(rows),
        lambda: tx.commit(),
    ):
        said(change, fz.NotFoundError)
        assert not Path(table.location).exists()
