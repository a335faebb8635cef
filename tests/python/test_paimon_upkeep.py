"""Upkeep of tables of Apache Paimon in states that other writers leave behind."""

import datetime as dt
import json
import os
from pathlib import Path

import pyarrow as pa

import frazil as fz

SCHEMA = pa.schema([pa.field("id", pa.int32(), nullable=False), ("v", pa.int64())])
AGE = dt.timedelta(milliseconds=1)


def test_tags_whose_changelog_has_expired(tmp_path: Path) -> None:
    """Java's `FileDeletionBase.manifestSkippingSet`: a tag does not keep its snapshot's changelog."""
    catalog = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    catalog.create_namespace("db")
    options = {"bucket": "1", "changelog-producer": "input"}
    table = catalog.create_table("db.t", SCHEMA, properties=options, format="paimon", identifier_fields=["id"])
    folder = Path(table.location)
    for i in range(6):
        table.append(pa.Table.from_pylist([{"id": i, "v": i}], SCHEMA))
        if i == 1:
            table.refs.create_tag("kept")
    snapshot = json.loads((folder / "snapshot" / "snapshot-2").read_text())
    table.maintain.expire_snapshots(retain_last=2, older_than=AGE)
    (folder / "manifest" / snapshot["changelogManifestList"]).unlink()
    table.append(pa.Table.from_pylist([{"id": 9, "v": 9}], SCHEMA))
    orphan = folder / "bucket-0" / "left-over"
    orphan.write_text("")
    for path in folder.rglob("*"):
        os.utime(path, (0, 0))
    expired = table.maintain.expire_snapshots(retain_last=1, older_than=AGE)
    assert expired.snapshots == [5, 6]
    found = table.maintain.remove_orphan_files().files
    assert str(orphan) in found
    assert [row["id"] for row in table.scan(at="kept").to_arrow().to_pylist()] == [0, 1]
    assert table.refresh().scan().count() == 7
    table.refs.drop("kept")
    assert table.scan().count() == 7
