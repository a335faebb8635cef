"""`inspect` of tables of Paimon has the columns and rows of Java's system tables; expiry keeps what Java's keeps."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from paimon_java import Paimon, PaimonTable, PaimonType
from test_paimon_writes import COLUMNS, KEYED, batch, rows

import frazil as fz

DAY = dt.date(2024, 1, 1)


def listed(table: pa.Table) -> list[dict[str, Any]]:
    """Rows without what differs by the process that shows it: zones, and schemes of paths."""
    out = []
    for found in table.to_pylist():
        made = dict(found)
        for name, value in made.items():
            if isinstance(value, dt.datetime):
                made[name] = value.replace(tzinfo=None)
            elif name == "file_path":
                made[name] = Path(value.removeprefix("file:")).as_posix()
            elif name in ("fields", "partition_keys", "primary_keys") or (name == "options" and value):
                made[name] = json.loads(value)
        out.append(made)
    return sorted(out, key=repr)


def same(table: PaimonTable, *names: str) -> None:
    t = table.open()
    for name in names:
        java = table.read(system=name).rows
        mine: pa.Table = getattr(t.inspect, name)()
        assert mine.column_names == java.column_names, name
        for column in mine.column_names:
            left, right = mine.schema.field(column).type, java.schema.field(column).type
            if not pa.types.is_timestamp(left) and not pa.types.is_nested(left):
                assert left == right, (name, column)
        assert listed(mine) == listed(java), name


EVERY = ["snapshots", "schemas", "options", "tags", "files", "manifests", "partitions", "buckets", "table_indexes"]


def test_append_table(paimon: Paimon) -> None:
    columns: dict[str, PaimonType] = {
        **COLUMNS,
        "day": "DATE",
        "region": "STRING",
        "ts": "TIMESTAMP(3)",
        "dec": "DECIMAL(9, 2)",
        "list": {"type": "ARRAY", "element": "INT"},
    }
    table = paimon.create(
        "system", columns, partitioned_by=["day", "region"], options={"deletion-vectors.enabled": "true"}
    )
    assert table.open().inspect.files().num_rows == 0
    same(table, "snapshots", "schemas", "options", "tags", "files", "manifests")
    noon = dt.datetime(2024, 5, 1, 12, 30)
    made = [(*r, [DAY, None][i % 2], ["eu", "a/b"][i // 10 % 2], noon, None, [1]) for i, r in enumerate(rows(0, 40))]
    t = table.open()
    t.append(batch(columns, made[:20]))
    table.write(made[20:])
    t.refresh().delete("id = 3 or id = 4")
    t.refs.create_tag("mine")
    table.load().createTag("javas", 1)
    with t.update_schema() as update:
        update.add_column("more", "int", doc="added")
        update.rename_column("name", "label")
    t.append(batch({"id": "INT", "more": "INT"}, [(100, 5)]))
    same(table, *EVERY)
    # The entries of the manifests, and other versions.
    entries = t.inspect.entries().to_pylist()
    assert {e["kind"] for e in entries} == {"ADD"}
    assert len(entries) == t.inspect.files().num_rows
    assert t.inspect.files(at=1).num_rows < t.inspect.files().num_rows
    assert t.inspect.files(at="javas").num_rows == t.inspect.files(at=1).num_rows
    assert [r["name"] for r in t.inspect.refs().to_pylist()] == ["javas", "main", "mine"]
    with pytest.raises(fz.InvalidInputError, match="all versions"):
        t.inspect._rows("snapshots", 1)
    with pytest.raises(fz.InvalidInputError, match="no metadata table"):
        t.inspect.history()
    t.refs.create_branch("side", at="mine")
    assert t.inspect.branches()["branch_name"].to_pylist() == ["side"]
    assert listed(t.inspect.branches())[0].keys() == listed(table.read(system="branches").rows)[0].keys()


def test_keyed_table(paimon: Paimon) -> None:
    table = paimon.create("keyed_system", KEYED, ["id"], options={"bucket": 2})
    t = table.open()
    t.append(batch(KEYED, rows(0, 30)))
    table.write([(5, "j", 1, None), (6, None, 2, float("inf"))], ["+I", "-D"])
    same(table, *EVERY)
    table.compact()
    t.refresh().delete("id = 9")
    table.write([(i, "x", i, None) for i in range(50, 60)])
    table.alter(table.change.setOption("snapshot.num-retained.max", "20"))
    same(table, *EVERY)
    entries = t.refresh().inspect.entries().to_pylist()
    assert {e["kind"] for e in entries} == {"ADD", "DELETE"}


def test_expiry(paimon: Paimon) -> None:
    mine, java = (paimon.create("expiry", KEYED, ["id"], options={"bucket": 1}) for _ in range(2))
    for table in (mine, java):
        for i in range(8):
            table.write([(i, "a", i, None), (0, str(i), i, None)])
            if i % 3 == 2:
                table.compact()
        table.load().createTag("keep", 2)
    t = mine.open()
    assert t.maintain.expire_snapshots().snapshots == []
    now = dt.datetime.now(dt.timezone.utc) + dt.timedelta(seconds=1)
    planned = t.maintain.expire_snapshots(older_than=now, retain_last=2, dry_run=True)
    assert (len(t.refresh().snapshots), planned.deleted) == (10, False)
    done = t.maintain.expire_snapshots(older_than=now, retain_last=2)
    assert done.deleted
    assert (done.snapshots, done.files) == (planned.snapshots, planned.files)
    assert done.snapshots == list(range(1, 9))
    assert not any(Path(path).exists() for path in done.files)
    java.expire(2)

    def left(table: PaimonTable) -> dict[str, int]:
        folders = ["bucket-0", "snapshot", "manifest"]
        return {name: len([f for f in (table.root / name).iterdir() if not f.name.startswith(".")]) for name in folders}

    assert left(mine) == left(java)
    mine.check(None)
    mine.check(options={"scan.tag-name": "keep"}, at="keep")
    mine.write([(99, "j", 1, None)])
    mine.check(None)
    # The table's options hold for both.
    t.refresh().set_properties({"snapshot.num-retained.min": 1, "snapshot.time-retained": "1 ms"})
    assert len(t.maintain.expire_snapshots().snapshots) == 2
    assert len(t.snapshots) == 1
    for arguments in ({"snapshot_ids": [1]}, {"delete_files": False}):
        with pytest.raises(fz.UnsupportedError):
            t.maintain.expire_snapshots(**arguments)
    with pytest.raises(fz.UnsupportedError, match="not with tables of Apache Paimon"):
        t.maintain.rewrite_manifests(spec_id=0)
