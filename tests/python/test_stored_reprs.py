"""What objects show as in a notebook or a debugger, stored in tests/python/snapshots."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz
from conftest import event_rows
from frazil import bucket, col, day, truncate
from stored_texts import check_stored, steady

PAIMON = Path(__file__).parent.parent / "data" / "paimon"


@pytest.fixture
def visits(catalog: fz.Catalog) -> fz.Table:
    rows = event_rows(0, 100).select(["id", "country", "ts", "payload"])
    table = catalog.create_table(
        "db.visits",
        rows.schema,
        partition_by=["day(ts)", "bucket(4, id)"],
        sort_by=["ts desc nulls last", "id"],
        properties={"write.delete.mode": "merge-on-read"},
        identifier_fields=None,
    )
    table.append(rows)
    table.refs.create_tag("first", max_ref_age_ms=86_400_000)
    table.delete("id in (3, 50)")
    return table


def shown(objects: dict[str, object], tmp_path: Path) -> dict[str, str]:
    return {
        name: steady(repr(thing), warehouse=tmp_path / "warehouse", paimon=PAIMON) for name, thing in objects.items()
    }


def test_reprs_of_tables(catalog: fz.Catalog, visits: fz.Table, tmp_path: Path) -> None:
    empty = catalog.create_table("db.empty", pa.schema([("id", pa.int64())]))
    orders = fz.open_table(PAIMON / "orders")
    objects = {
        "catalog": catalog,
        "catalog with a secret": fz.catalog("c", type="memory", **{"s3.secret-access-key": "sesame"}),
        "table": visits,
        "table without snapshots": empty,
        "Paimon table": orders,
        "schema": visits.schema,
        "Paimon schema": orders.schema,
        "field": visits.schema.field("payload"),
        "partition spec": visits.partition_spec,
        "Paimon partition spec": orders.partition_spec,
        "sort order": visits.sort_order,
        "snapshot": visits.snapshots[0],
        "snapshot of a delete": visits.snapshot,
        "Paimon snapshot": orders.snapshots[0],
        "references": visits.refs,
        "branch": visits.refs["main"],
        "Paimon references": orders.refs,
        "metadata tables": visits.inspect,
        "maintenance": visits.maintain,
        "writer": visits.writer(),
    }
    check_stored("reprs_of_tables", shown(objects, tmp_path))


def test_reprs_of_scans(visits: fz.Table, tmp_path: Path) -> None:
    scan = visits.scan("id < 60 and country = 'NO'", select=["id", "payload.a"], at="first").limit(5)
    day_of_3 = visits.scan("id = 3")
    changes = visits.changes(since="first")
    (task,) = day_of_3.plan_files()
    (split,) = day_of_3.plan()
    (part,) = day_of_3.plan_parts()
    keyed = next(iter(fz.open_table(PAIMON / "accounts").scan().plan_files()))
    objects = {
        "scan": visits.scan(),
        "scan with everything": scan,
        "scan of changes": changes,
        "filter as bound": scan.filter,
        "task": task,
        "task of changes": next(iter(changes.plan_files())),
        "Paimon task": keyed,
        "data file": task.data_file,
        "delete file": task.deletes[0],
        "split": split,
        "part of a plan": part,
        "statistics of a column": day_of_3.statistics()["id"],
    }
    check_stored("reprs_of_scans", shown(objects, tmp_path))


def test_reprs_of_expressions(tmp_path: Path) -> None:
    objects = {
        "term": col("payload.a"),
        "term with a name that needs quotes": col("a b"),
        "transform": bucket(16, "id"),
        "comparison": day("ts") == "2023-01-01",
        "text with a quote": col("name") == "O'Hara",
        "combination": ((col("id") > 5) & ~col("country").is_in(["NO", "SE"])) | col("ts").is_null(),
        "start of a text": truncate(3, "name").starts_with("abc"),
    }
    check_stored("reprs_of_expressions", shown(objects, tmp_path))


def test_reprs_of_changes(catalog: fz.Catalog, visits: fz.Table, tmp_path: Path) -> None:
    plain = catalog.create_table("db.plain", pa.schema([("id", pa.int64()), ("text", pa.string())]))
    message = plain.writer(task=3).write(pa.table({"id": [1, 2], "text": ["a", "b"]}))
    transaction = plain.transaction()
    transaction.append(pa.table({"id": [3], "text": ["c"]}))
    objects = {
        "message": message,
        "transaction": transaction,
        "dry run": transaction.dry_run(),
        "schema update": plain.update_schema().add_column("note", "string"),
        "partition spec update": plain.update_partition_spec().add_field("id", "bucket[4]"),
        "sort order update": plain.update_sort_order(),
        "compaction": visits.maintain.compact(dry_run=True),
        "expiry": visits.maintain.expire_snapshots(dry_run=True),
        "orphan files": visits.maintain.remove_orphan_files(dry_run=True),
        "manifests": visits.maintain.rewrite_manifests(dry_run=True),
        "deletes": visits.maintain.rewrite_position_deletes(dry_run=True),
        "partition statistics": visits.maintain.compute_partition_statistics(),
    }
    transaction.abort()
    check_stored("reprs_of_changes", shown(objects, tmp_path))
