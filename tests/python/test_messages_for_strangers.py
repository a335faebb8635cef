"""What people do by mistake who know PyIceberg, Spark or SQL is answered with what to write. Results fit a prompt."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz
from frazil.maintain import ExpiredSnapshots, RewrittenManifests


@pytest.fixture
def catalog() -> fz.Catalog:
    made = fz.catalog("prod", type="memory")
    made.create_namespace("db")
    return made


@pytest.fixture
def table(catalog: fz.Catalog) -> fz.Table:
    rows = pa.table({"id": [1, 2], "ts": [dt.datetime(2026, 1, 5, 3), dt.datetime(2025, 1, 5)], "name": ["a", "b"]})
    return catalog.create_table("db.t", data=rows)


def said(call, *args, **kwargs) -> str:
    with pytest.raises((fz.FrazilError, AttributeError, TypeError)) as caught:
        call(*args, **kwargs)
    return str(caught.value)


def test_properties_in_the_wrong_place(catalog: fz.Catalog, tmp_path: Path) -> None:
    assert "Write catalog(name, **properties)" in said(fz.catalog, "prod", {"type": "sql"})
    assert "properties={…}" in said(catalog.create_namespace, "x", {"owner": "me"})
    assert not catalog.namespace_exists("x")
    relative = f"sqlite://{tmp_path}/none/c.db"
    assert "sqlite:////lake/catalog.db" in said(fz.catalog, "c", type="sql", uri=relative, warehouse=str(tmp_path))


def test_names_in_other_forms(catalog: fz.Catalog, table: fz.Table) -> None:
    assert said(catalog.load_table, ("db", "t")).endswith("Write 'db.t'")
    assert said(catalog.load_table, "prod.db.t").endswith("Leave out the catalog's name: 'db.t'")
    assert "Leave out" not in said(catalog.load_table, "db.u")
    assert "Leave out" not in said(catalog.load_table, "prod.t")


def test_objects_of_other_libraries(catalog: fz.Catalog) -> None:
    pytest.importorskip("pyiceberg")
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table.sorting import SortField, SortOrder
    from pyiceberg.transforms import BucketTransform
    from pyiceberg.types import LongType, NestedField

    schema = Schema(NestedField(1, "id", LongType(), required=True))
    assert "PyIceberg's 'Schema'" in (text := said(catalog.create_table, "db.u", schema))
    assert "schema.as_arrow()" in text
    ours = pa.schema([("id", pa.int64())])
    spec = PartitionSpec(PartitionField(1, 1000, BucketTransform(4), "x"))
    assert "not PyIceberg's PartitionSpec. Write its fields" in said(
        catalog.create_table, "db.u", ours, partition_by=spec
    )
    order = SortOrder(SortField(1))
    assert "not PyIceberg's SortOrder" in said(catalog.create_table, "db.u", ours, sort_by=order)


@pytest.mark.parametrize(
    ("name", "answer"),
    [("older_than", "older_than=…"), ("by_ids", "snapshot_ids=[…]"), ("commit", "each call commits")],
)
def test_chains_of_pyiceberg(table: fz.Table, name: str, answer: str) -> None:
    assert answer in said(lambda: getattr(table.maintain.expire_snapshots(dry_run=True), name))
    assert "each call commits" in said(lambda: table.refs.commit)
    assert "last_commit.rows_updated" in said(lambda: table.rows_updated)


def test_duckdb_with_a_name(table: fz.Table) -> None:
    pytest.importorskip("duckdb")
    assert "to_duckdb(connection).create_view" in said(table.scan().to_duckdb, "t")
    assert "to_duckdb(connection).create_view" in said(table.scan().to_duckdb, table_name="t")


def test_filters(table: fz.Table) -> None:
    assert "Text has single quotes: 'a'" in said(table.scan, 'name = "a"')
    assert "so 2026 is 3996. Write the period as text: year(ts) = '2026'" in said(table.scan, "year(ts) = 2026")
    assert "counts hours from 1970" in said(table.scan, fz.hour("ts") == 3)
    assert table.scan("year(ts) = '2026'").count() == table.scan("year(ts) = 56").count() == 1
    assert table.scan("hour(ts) = '2026-01-05-03'").count() == 1


def test_times_as_text(table: fz.Table) -> None:
    assert "A time is not text: give a datetime" in said(table.scan, at="2026-01-05 12:00")
    assert "A time is not text" in said(table.rollback, to="2026-01-05")
    assert "A time" not in said(table.scan, at="audit")


def test_partition_fields_twice(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.p", pa.schema([("id", pa.int64())]), partition_by="bucket(4, id)")
    again = table.update_partition_spec().add_field("bucket(4, id)")
    assert "the partition field 'id_bucket' has this column and transform already" in said(again.commit)
    twice = table.update_partition_spec().add_field("bucket(8, id)", "id_b")
    assert "Leave out the second one. A name is given as name=…" in said(twice.commit)
    text = said(table.maintain.compact, "binpack", sort_by=["id"])
    assert text.endswith("sort_by belongs to strategy='sort', zorder_by to strategy='zorder'")


def test_results_fit_a_prompt(table: fz.Table) -> None:
    many = RewrittenManifests([f"/lake/{n}.avro" for n in range(400)], ["/lake/new.avro"])
    assert repr(many) == "RewrittenManifests(rewritten=['/lake/0.avro', … 400 in all], added=['/lake/new.avro'])"
    assert len(many.rewritten) == 400
    empty = table.maintain.expire_snapshots(dry_run=True)
    assert isinstance(empty, ExpiredSnapshots)
    assert repr(empty).startswith("ExpiredSnapshots(snapshots=[], refs=[], data_files=[]")
    failed = empty._replace(failed={f"f{n}": "denied" for n in range(9)})
    assert "failed={'f0', … 9 in all}" in repr(failed)


def test_paimon_tables_that_hide_rows(tmp_path: Path) -> None:
    catalog = fz.catalog("lake", warehouse=tmp_path)
    catalog.create_namespace("db")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    hiding = {"deletion-vectors.enabled": "true", "bucket": 1}
    table = catalog.create_table("db.h", schema, format="paimon", identifier_fields=["id"], properties=hiding)
    table.append(pa.table([[1]], schema=schema))
    note = "Rows show only after a compaction (deletion-vectors.enabled = true)"
    assert note in str(table.scan().explain())
    assert table.scan().explain().to_dict()["hidden_by"] == "deletion-vectors.enabled = true"
    plain = catalog.create_table("db.p", schema, format="paimon", identifier_fields=["id"])
    assert "hidden_by" not in plain.scan().explain().to_dict()
    append = catalog.create_table("db.a", schema, format="paimon", properties={"deletion-vectors.enabled": "true"})
    assert "hidden_by" not in append.scan().explain().to_dict()
