"""Maintenance of tables of Apache Paimon besides compaction and expiry: what Java's procedures do, by hand."""

from __future__ import annotations

import datetime as dt
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from paimon_indexes import GlobalIndexes

SCHEMA = pa.schema([("id", pa.int32()), ("v", pa.string())])


@pytest.fixture
def catalog(tmp_path: Path) -> fz.Catalog:
    made = fz.catalog("c", type="filesystem", warehouse=tmp_path)
    made.create_namespace("db")
    return made


def rows(*values: tuple[int | None, str | None]) -> pa.Table:
    return pa.Table.from_pylist([{"id": i, "v": v} for i, v in values], SCHEMA)


def make(catalog: fz.Catalog, name: str = "db.t", **more: Any) -> fz.Table:
    return catalog.create_table(name, SCHEMA, format="paimon", **more)


def folder(table: fz.Table) -> Path:
    return Path(table.location.removeprefix("file://"))


def ids(scan: fz.Scan) -> list[int]:
    return sorted(scan.to_arrow().column("id").to_pylist())


def test_consumers(catalog: fz.Catalog) -> None:
    table = make(catalog).append(rows((1, "a"))).append(rows((2, "b")))
    table.maintain.reset_consumer("one", 1)
    # Java's layout of the file.
    assert (folder(table) / "consumer/consumer-one").read_text() == '{\n  "nextSnapshot" : 1\n}'
    table.append(rows((3, "c")))
    assert table.maintain.expire_snapshots(dt.timedelta(0), 1).snapshots == []
    with pytest.raises(fz.NotFoundError):
        table.maintain.reset_consumer("two", 99)
    with pytest.raises(fz.InvalidInputError, match="name"):
        table.maintain.reset_consumer("../two", 1)
    with pytest.raises(fz.InvalidInputError, match="regular expression"):
        table.maintain.clear_consumers("(")
    assert table.maintain.clear_consumers(excluding="on.*") == []
    assert table.maintain.clear_consumers("on.*") == ["one"]
    assert len(table.inspect.consumers()) == 0
    assert table.maintain.expire_snapshots(dt.timedelta(0), 1).snapshots == [1, 2]


def test_consumers_need_a_name(catalog: fz.Catalog) -> None:
    table = make(catalog).append(rows((1, "a")))
    for name in ("", " "):
        with pytest.raises(fz.InvalidInputError, match="needs a name"):
            table.maintain.reset_consumer(name, 1)
    assert len(table.inspect.consumers()) == 0


def test_records_of_loads(catalog: fz.Catalog) -> None:
    table = make(catalog).append(rows((1, "a")))
    now = dt.datetime(2026, 1, 2, tzinfo=dt.timezone.utc)
    table.maintain.record_loads([("s3a://me:secret@b/x.csv?sig=abc&v=1", 5, now, 3)])
    (record,) = (folder(table) / "copy-into/history").iterdir()
    assert not {"secret", "abc"} & set(re.findall(r"\w+", record.read_text()))
    # Java may have recorded more.
    record.write_text(record.read_text().replace("***@b/x.csv?***", "me:secret@b/x.csv?sig=abc"))
    assert "secret" in record.read_text()
    (row,) = table.inspect.loads().to_pylist()
    assert (row["file_path"], row["file_size_in_bytes"], row["last_modified"]) == ("s3a://***@b/x.csv?***", 5, now)
    wrong: Any
    for wrong, error in [
        (5, "list of files"),
        ("/x", "list of files"),
        ([("/x", 1, now)], "has a path, a size"),
        ([(None, 1, now, 1)], "path must be text"),
        ([("\ud800", 1, now, 1)], "lone surrogate"),
        ([("", 1, now, 1)], "must not be empty"),
        ([("/x", -1, now, 1)], "size must be an integer, 0 or above"),
        ([("/x", 2**70, now, 1)], "size must be below"),
        ([("/x", 1, "now", 1)], "must be a datetime"),
        ([("/x", 1, now, "1")], "number of rows must be an integer"),
    ]:
        with pytest.raises(fz.InvalidInputError, match=error):
            table.maintain.record_loads(wrong)
    assert len(table.inspect.loads()) == 1


def test_marks_of_partitions(catalog: fz.Catalog) -> None:
    schema = pa.schema([("id", pa.int32()), ("day", pa.string()), ("hour", pa.int32())])
    table = catalog.create_table("db.t", schema, partition_by=["day", "hour"], format="paimon")
    table.maintain.mark_partitions_done({"day": "2026-01-02", "hour": 3}, {"day": "a/b"})
    mark = folder(table) / "day=2026-01-02/hour=3/_SUCCESS"
    first = json.loads(mark.read_text())
    assert first["creationTime"] == first["modificationTime"]
    assert (folder(table) / "day=a%2Fb/_SUCCESS").exists()
    mark.write_text(json.dumps({"creationTime": 5, "modificationTime": 5}))
    table.maintain.mark_partitions_done({"day": "2026-01-02", "hour": 3})
    again = json.loads(mark.read_text())
    assert again["creationTime"] == 5 < first["creationTime"] <= again["modificationTime"]
    for wrong in ({"hour": 3}, {"id": 1}, {}):
        with pytest.raises(fz.InvalidInputError, match="partition"):
            table.maintain.mark_partitions_done(wrong)
    table.set_properties({"partition.mark-done-action": "success-file,http-report"})
    with pytest.raises(fz.UnsupportedError, match="http-report"):
        table.maintain.mark_partitions_done({"day": "x"})


def test_manifests_are_joined(catalog: fz.Catalog) -> None:
    table = make(catalog)
    for i in range(4):
        table.append(rows((i, "x")))
    before = table.inspect.manifests().column("file_name").to_pylist()
    assert len(before) == 4
    planned = table.maintain.rewrite_manifests(dry_run=True)
    assert (sorted(planned.rewritten), planned.added) == (sorted(before), [])
    done = table.maintain.rewrite_manifests(snapshot_properties={"by": "me"})
    after = table.inspect.manifests().column("file_name").to_pylist()
    assert (sorted(done.rewritten), done.added) == (sorted(before), after)
    assert len(after) == 1
    newest = json.loads((folder(table) / "snapshot/snapshot-5").read_text())
    assert (newest["commitKind"], newest["properties"]) == ("COMPACT", {"by": "me"})
    assert (newest["deltaRecordCount"], newest["totalRecordCount"]) == (0, 4)
    assert ids(table.scan()) == [0, 1, 2, 3]
    # There is nothing left to join.
    assert table.maintain.rewrite_manifests() == ([], [])
    assert table.snapshot.id == 5
    table.delete("id = 1").maintain.rewrite_manifests()
    assert ids(table.scan()) == [0, 2, 3]
    assert ids(table.scan(at=4)) == [0, 1, 2, 3]
    with pytest.raises(fz.UnsupportedError, match="spec_id"):
        table.maintain.rewrite_manifests(spec_id=0)


def test_lost_files(catalog: fz.Catalog) -> None:
    table = make(catalog).append(rows((1, "a"), (2, "b"))).append(rows((3, "c")))
    lost = next(path for path in folder(table).rglob("*.parquet") if path.stat().st_mtime_ns)
    kept = [row["id"] for row in table.scan().to_arrow().to_pylist()]
    first = table.inspect.files().to_pylist()[0]["file_path"].removeprefix("file://")
    lost = next(path for path in folder(table).rglob("*.parquet") if path.name == first.rsplit("/", 1)[-1])
    lost.unlink()
    planned = table.repair("lost-files")
    assert [step.object.rsplit("/", 1)[-1] for step in planned.steps] == [lost.name]
    assert table.snapshot.id == 2
    done = table.repair("lost-files", dry_run=False)
    assert (done.rows_lost, len(done.steps)) == (len(kept) - table.scan().count(), 1)
    assert table.snapshots[-1].operation == "overwrite"
    assert table.repair("lost-files", dry_run=False).steps == []
    assert table.repair().steps == []


def test_the_earliest_snapshot(catalog: fz.Catalog) -> None:
    table = make(catalog)
    with pytest.raises(fz.InvalidInputError, match="without snapshots"):
        table.maintain.set_earliest_snapshot(1)
    for i in range(4):
        table.append(rows((i, "x")))
    (folder(table) / "snapshot/snapshot-2").unlink()
    with pytest.raises(fz.InvalidInputError, match="snapshot 2 does not exist"):
        table.maintain.set_earliest_snapshot(1)
    table.maintain.set_earliest_snapshot(3)
    assert (folder(table) / "snapshot/EARLIEST").read_text() == "3"
    for wrong in (2, 5):
        with pytest.raises(fz.InvalidInputError, match="not between"):
            table.maintain.set_earliest_snapshot(wrong)


def test_file_indexes_of_existing_files(catalog: fz.Catalog) -> None:
    keyed = {"identifier_fields": ["id"], "properties": {"bucket": "1"}}
    # Files whose rows have to be merged are read whatever their indexes say.
    for name, more, kept in [("db.plain", {}, 0), ("db.keyed", keyed, 2)]:
        table = make(catalog, name, **more)  # type: ignore[arg-type]
        table.append(rows((1, "a"), (100, "c"))).append(rows((2, "a"), (90, "c")))
        with pytest.raises(fz.InvalidInputError, match="no file index"):
            table.maintain.rewrite_file_indexes()
        table.set_properties({"file-index.bloom-filter.columns": "id", "file-index.bloom-filter.id.items": "10"})
        assert table.scan("id = 50").count() == 0
        assert len(list(table.scan("id = 50").plan_files())) > 0
        assert table.maintain.rewrite_file_indexes() == (1, 2)
        assert len(list(table.scan("id = 50").plan_files())) == kept
        assert ids(table.scan("id in (2, 100)")) == [2, 100]
        assert ids(table.scan()) == [1, 2, 90, 100]
        number = table.snapshot.id
        # The indexes are those that the options ask for.
        assert table.maintain.rewrite_file_indexes() == (0, 0)
        assert table.snapshot.id == number
        # Large indexes have files of their own.
        table.set_properties({"file-index.in-manifest-threshold": "1 b"})
        assert table.maintain.rewrite_file_indexes() == (1, 2)
        assert len(list(table.scan("id = 50").plan_files())) == kept
        assert len(list(folder(table).rglob("*.index"))) == 2
        assert table.maintain.rewrite_file_indexes() == (0, 0)
        kinds = table.inspect.snapshots().column("commit_kind").to_pylist()
        assert kinds == ["APPEND", "APPEND", "COMPACT", "COMPACT"]
        table.maintain.compact()
        assert ids(table.scan()) == [1, 2, 90, 100]


def test_indexes_cover_rows_that_are_deleted(catalog: fz.Catalog) -> None:
    """A bitmap names rows by their positions in the file."""
    table = make(catalog, properties={"deletion-vectors.enabled": "true"})
    table.append(rows((1, "a"), (2, "b"), (3, "a"), (4, "b")))
    table.delete("id = 1")
    table.set_properties({"file-index.bitmap.columns": "v"})
    assert table.maintain.rewrite_file_indexes() == (1, 1)
    assert ids(table.scan("v = 'b'")) == [2, 4]
    assert ids(table.scan("v = 'a'")) == [3]


def test_statistics_of_columns(catalog: fz.Catalog) -> None:
    schema = pa.schema(
        [
            ("i", pa.int64()),
            ("f", pa.float64()),
            ("b", pa.bool_()),
            ("d", pa.date32()),
            ("t", pa.timestamp("us")),
            ("n", pa.decimal128(20, 2)),
            ("s", pa.string()),
            ("x", pa.binary()),
            ("l", pa.list_(pa.int32())),
        ]
    )
    table = catalog.create_table("db.t", schema, format="paimon")
    assert table.maintain.compute_statistics() is None
    values = [
        {"i": 5, "f": 1.5, "b": True, "d": dt.date(1970, 1, 3), "n": None, "s": "héé", "x": b"", "l": [1]},
        {"i": -7, "f": 100.0, "b": False, "d": dt.date(1969, 12, 31), "n": None, "s": "", "x": b"abc", "l": None},
        {"i": 5, "f": None, "b": True, "d": None, "n": None, "s": None, "x": b"abc", "l": None},
    ]
    moments = [dt.datetime(2026, 1, 2, 3, 4, 5, 600), dt.datetime(2025, 1, 1), None]
    for row, moment in zip(values, moments, strict=True):
        table.append(pa.Table.from_pylist([{**row, "t": moment}], schema))
    done = table.maintain.compute_statistics()
    assert (done.snapshot_id, Path(done.path).stat().st_size) == (3, done.size_bytes)
    assert done.distinct == {"i": 2, "f": 2, "b": 2, "d": 2, "t": 2, "n": 0, "s": 2, "x": 2}
    found = json.loads(Path(done.path).read_text())
    columns = found.pop("colStats")
    assert {key: found[key] for key in ("snapshotId", "schemaId", "mergedRecordCount")} == {
        "snapshotId": 3,
        "schemaId": 0,
        "mergedRecordCount": 3,
    }
    assert found["mergedRecordSize"] == sum(path.stat().st_size for path in folder(table).glob("bucket-*/*.parquet"))

    def said(column: str) -> list[Any]:
        return [columns[column].get(key) for key in ("min", "max", "nullCount", "avgLen", "maxLen")]

    assert said("i") == ["-7", "5", 0, 8, 8]
    assert said("f") == ["1.5", "100.0", 1, 8, 8]
    assert said("b") == ["false", "true", 0, 1, 1]
    assert said("d") == ["-1", "2", 1, 4, 4]
    assert said("t") == ["2025-01-01 00:00:00.000000", "2026-01-02 03:04:05.000600", 1, 8, 8]
    assert said("n") == [None, None, 3, 16, 16]
    assert said("s") == [None, None, 1, 2, 3]
    assert said("x") == [None, None, 0, 2, 3]
    assert table.inspect.snapshots().column("commit_kind").to_pylist()[-1] == "ANALYZE"
    # Another schema ends the statistics; commits keep them.
    table.append(pa.Table.from_pylist([{"i": 1}], schema))
    newest = json.loads((folder(table) / "snapshot/snapshot-5").read_text())
    assert newest["statistics"] == Path(done.path).name
    for wrong in (["l"], ["none"]):
        with pytest.raises(fz.InvalidInputError):
            table.maintain.compute_statistics(wrong)
    with pytest.raises(fz.UnsupportedError, match="earlier snapshots"):
        table.maintain.compute_statistics(snapshot=1)


def test_statistics_count_merged_rows(catalog: fz.Catalog) -> None:
    table = make(catalog, identifier_fields=["id"], properties={"bucket": "1"})
    table.append(rows((1, "a"), (2, "b"))).append(rows((2, "c"), (3, "d")))
    found = json.loads(Path(table.maintain.compute_statistics([]).path).read_text())
    size = sum(path.stat().st_size for path in folder(table).glob("bucket-0/*.parquet"))
    assert (found["mergedRecordCount"], found["mergedRecordSize"]) == (3, int(size * 3 / 4))
    assert found["colStats"] == {}


def test_branches_are_renamed_and_merged(catalog: fz.Catalog) -> None:
    table = make(catalog).append(rows((1, "a")))
    table.refs.create_tag("start").create_branch("b", "start")
    table.append(rows((2, "b")), branch="b")
    table.append(rows((3, "c")))
    table.refs.rename("b", "c")
    assert sorted(table.refs) == ["c", "main", "start"]
    assert ids(table.scan(at="c")) == [1, 2]
    for wrong, error in [("main", fz.InvalidInputError), ("none", fz.NotFoundError)]:
        with pytest.raises(error):
            table.refs.rename(wrong, "d")
    with pytest.raises(fz.AlreadyExistsError):
        table.refs.rename("c", "start")
    table.refs.merge("c")
    assert ids(table.scan()) == [1, 2, 3]
    number = table.snapshot.id
    table.refs.merge("c")
    assert table.snapshot.id == number
    table.refs.merge("main", "c")
    assert ids(table.scan(at="c")) == [1, 2, 3]
    # Files of a dropped branch stay, since `main` has them.
    table.refs.drop("c")
    table.maintain.remove_orphan_files(dt.timedelta(0))
    assert ids(table.scan()) == [1, 2, 3]
    table.refs.create_branch("e", "start")
    table.delete("id = 1")
    with pytest.raises(fz.InvalidInputError, match="OVERWRITE"):
        table.refs.merge("e")
    with pytest.raises(fz.InvalidInputError, match="itself"):
        table.refs.merge("main")


def test_a_purged_table(catalog: fz.Catalog) -> None:
    options = {"changelog-producer": "input", "bucket": "1", "changelog.num-retained.min": "5"}
    table = make(catalog, identifier_fields=["id"], properties=options)
    for i in range(3):
        table.append(rows((i, "x")))
    table.refs.create_tag("kept").create_branch("b", "kept")
    table.maintain.reset_consumer("one", 1)
    table.maintain.purge()
    assert (list(table.refs), len(table.snapshots), table.scan().count()) == (["main"], 1, 0)
    left = [path for path in folder(table).rglob("*") if path.is_file() and not path.name.startswith(".")]
    kinds = {path.parent.name for path in left}
    assert not [path for path in left if path.suffix == ".parquet"]
    assert kinds <= {"schema", "snapshot", "manifest", "changelog"}
    assert not list(folder(table).glob("changelog/changelog-*"))
    assert ids(table.append(rows((7, "y"))).scan()) == [7]


def test_declared_types(catalog: fz.Catalog) -> None:
    declared = {"v": "VARCHAR(3)", "id": "TINYINT"}
    table = make(catalog, declared_types=declared)
    types = {f["name"]: f["type"] for f in json.loads((folder(table) / "schema/schema-0").read_text())["fields"]}
    assert types == {"id": "TINYINT", "v": "VARCHAR(3)"}
    assert ids(table.append(rows((1, "äöü"), (-128, None))).scan()) == [-128, 1]
    for wrong in ((1, "abcd"), (128, "a")):
        with pytest.raises(fz.InvalidInputError, match="not a value of the type"):
            table.append(rows(wrong))
        with pytest.raises(fz.InvalidInputError, match="not a value of the type"):
            table.upsert(rows(wrong), on=["id"])
    assert table.refresh().scan().count() == 2
    for bad in ({"v": "INT"}, {"none": "INT"}, {"v": "VARCHAR("}):
        with pytest.raises(fz.InvalidInputError):
            make(catalog, "db.bad", declared_types=bad)
    with pytest.raises(fz.UnsupportedError, match="declared types"):
        catalog.create_table("db.ice", SCHEMA, declared_types=declared)


EVOLVING = {"manifest.compression": "null", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
PARTED = pa.schema([("id", pa.int32()), ("p", pa.string())])


def parted(catalog: fz.Catalog, **options: str) -> fz.Table:
    properties = {**EVOLVING, **options}
    return catalog.create_table("db.t", PARTED, partition_by="p", format="paimon", properties=properties)


def add(table: fz.Table, partition: str, *numbers: int) -> None:
    """Appends rows of a partition: one file."""
    table.append(pa.Table.from_pylist([{"id": i, "p": partition} for i in numbers], PARTED))


def row_ids(scan: fz.Scan) -> dict[int, int]:
    found = scan.to_arrow().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row["_row_id"] for row in found}


def snapshot_file(table: fz.Table, number: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder(table) / f"snapshot/snapshot-{number}").read_text())
    return found


def test_row_ids_of_a_partition_follow_each_other(catalog: fz.Catalog) -> None:
    table = parted(catalog)
    with pytest.raises(fz.InvalidInputError, match="without snapshots"):
        table.maintain.reassign_row_ids()
    for partition, numbers in [("b", (1, 2)), ("a", (3,)), ("b", (4, 5, 6)), ("a", (7,)), ("c", (8, 9))]:
        add(table, partition, *numbers)
    columns = ["id", "_row_id"]
    before = {number: number - 1 for number in range(1, 10)}
    assert row_ids(table.scan(select=columns)) == before
    # `c` has no gap. `a` comes before `b`.
    done = table.maintain.reassign_row_ids(snapshot_properties={"by": "me"})
    assert done == (5, 6, 4, 7, 0, 9, 16, None)
    after = {3: 9, 7: 10, 1: 11, 2: 12, 4: 13, 5: 14, 6: 15, 8: 7, 9: 8}
    assert row_ids(table.scan(select=columns)) == after
    assert row_ids(table.scan(select=columns, at=5)) == before
    assert sorted(table.scan().to_arrow().column("p").to_pylist()) == ["a"] * 2 + ["b"] * 5 + ["c"] * 2
    newest = snapshot_file(table, 6)
    assert (newest["commitKind"], newest["properties"]["by"]) == ("OVERWRITE", "me")
    counts = ("deltaRecordCount", "totalRecordCount", "nextRowId")
    assert [newest[key] for key in counts] == [0, 9, 16]
    done = table.maintain.reassign_row_ids()
    assert (done.snapshot_id, done.rows, done.skipped) == (6, 0, "no partition requires row-id reassignment")
    # Rows that are written next come after the new ids. Files that were removed do not count.
    add(table, "a", 10)
    table.delete("p = 'b'")
    assert table.maintain.reassign_row_ids("p = 'c'").snapshot_id == 8
    done = table.maintain.reassign_row_ids("p = 'a'")
    assert done == (8, 9, 3, 3, 0, 17, 20, None)
    assert row_ids(table.scan(select=columns)) == {3: 17, 7: 18, 10: 19, 8: 7, 9: 8}
    assert table.scan().count() == 5
    with pytest.raises(fz.InvalidInputError, match="partition columns"):
        table.maintain.reassign_row_ids("id = 1")


def test_long_runs_of_row_ids_stay(catalog: fz.Catalog) -> None:
    table = parted(catalog, **{"data-evolution.reassign.skip-contiguous-row-count": "3"})
    # The ids of `a`: 0 to 1 and 2 to 3 are a run of four, then 5, then 7.
    for partition, numbers in [("a", (1, 2)), ("a", (3, 4)), ("b", (5,)), ("a", (6,)), ("b", (7,)), ("a", (8,))]:
        add(table, partition, *numbers)
    done = table.maintain.reassign_row_ids("p = 'a'")
    assert done == (6, 7, 2, 2, 0, 8, 10, None)
    wanted = {1: 0, 2: 1, 3: 2, 4: 3, 5: 4, 6: 8, 7: 6, 8: 9}
    assert row_ids(table.scan(select=["id", "_row_id"])) == wanted


def test_tables_whose_row_ids_stay(catalog: fz.Catalog) -> None:
    plain = make(catalog, "db.plain").append(rows((1, "a")))
    tracked = make(catalog, "db.tracked", properties={"row-tracking.enabled": "true"}).append(rows((1, "a")))
    for table in (plain, tracked):
        with pytest.raises(fz.InvalidInputError, match="columns in several files"):
            table.maintain.reassign_row_ids()
    whole = make(catalog, "db.whole", properties=EVOLVING).append(rows((1, "a"))).append(rows((2, "b")))
    done = whole.maintain.reassign_row_ids()
    assert done == (2, 2, 0, 0, 0, 2, 2, "table is not partitioned")


def test_global_indexes_move_with_their_rows(catalog: fz.Catalog) -> None:
    table = parted(catalog)
    for partition, numbers in [("a", (1, 2)), ("a", (3, 4)), ("b", (5,)), ("a", (6, 7))]:
        add(table, partition, *numbers)
    indexes = GlobalIndexes(table)
    # The ids of `a`: 0 to 3, and 5 to 6. They become 7 to 10, and 11 to 12.
    for name, ids_, partition in [
        *[("one", (0, 1), "a"), ("two", (1, 3), "a"), ("last", (5, 6), "a")],
        *[("gap", (2, 5), "a"), ("other", (4, 4), "b")],
    ]:
        indexes.add(name, ids_, partition=partition)
    table = catalog.load_table("db.t")
    done = table.maintain.reassign_row_ids()
    assert (done.rows, done.indexes, done.first_row_id) == (6, 3, 7)
    # An index over the gap would name rows that do not exist.
    assert indexes.ranges() == {"one": (7, 8), "two": (8, 10), "last": (11, 12), "other": (4, 4)}
    kept = {entry["_FILE_NAME"]: entry["_GLOBAL_INDEX"] for entry in indexes.entries()}
    assert (kept["one"]["_INDEX_META"], kept["one"]["_SOURCE_META"]) == (b"meta", b"source")
    assert ids(table.scan()) == [1, 2, 3, 4, 5, 6, 7]


def test_global_indexes_are_dropped(catalog: fz.Catalog) -> None:
    table = make(catalog, properties=EVOLVING)
    with pytest.raises(fz.InvalidInputError, match="without snapshots"):
        table.maintain.drop_global_index("id", "btree")
    table.append(rows((1, "a"), (2, "b"))).append(rows((3, "a"), (4, "b")))
    assert table.maintain.drop_global_index("id", "btree") == 0
    indexes = GlobalIndexes(table)
    indexes.add("first", (0, 1))
    indexes.add("second", (2, 3))
    indexes.add("bits", (0, 3), kind="bitmap")
    indexes.add("both", (0, 3), (0, 1))
    table = catalog.load_table("db.t")
    with pytest.raises(fz.UnsupportedError, match=r"global index.*column: id"):
        table.update("id = 1", {"id": 9})
    assert table.maintain.drop_global_index("id", " BTREE", dry_run=True) == 2
    assert table.maintain.drop_global_index(["v", "id"], "btree") == 0
    assert table.snapshot.id == 2
    assert table.maintain.drop_global_index("id", "btree", snapshot_properties={"by": "me"}) == 2
    assert sorted(indexes.ranges()) == ["bits", "both"]
    newest = snapshot_file(table, 3)
    assert (newest["commitKind"], newest["properties"], newest["totalRecordCount"]) == ("APPEND", {"by": "me"}, 4)
    assert table.maintain.drop_global_index("id", "btree") == 0
    assert table.snapshot.id == 3
    assert table.maintain.drop_global_index(["id", "v"], "btree") == 1
    assert sorted(indexes.ranges()) == ["bits"]
    assert ids(table.scan()) == [1, 2, 3, 4]
    for wrong in ("none", []):
        with pytest.raises(fz.InvalidInputError):
            table.maintain.drop_global_index(wrong, "btree")


def test_deleted_rows_of_evolving_tables(catalog: fz.Catalog) -> None:
    table = parted(catalog, **{"deletion-vectors.enabled": "true"})
    add(table, "a", 1, 2, 3, 4)
    add(table, "a", 5, 6)
    add(table, "b", 7, 8)
    table.delete("id in (2, 7)")
    table.delete("id = 3")
    assert row_ids(table.scan(select=["id", "_row_id"])) == {1: 0, 4: 3, 5: 4, 6: 5, 8: 7}
    assert (table.scan().count(), table.scan("p = 'a'").count(), table.scan("id < 4").count()) == (5, 4, 1)
    assert sorted(table.scan(select=["p"]).to_arrow().column("p").to_pylist()) == ["a", "a", "a", "a", "b"]
    assert ids(table.scan(at=3)) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert snapshot_file(table, 5)["commitKind"] == "OVERWRITE"
    number = table.snapshot.id
    table.delete("id = 3")
    assert table.refresh().snapshot.id == number
    # A filter that partitions alone decide.
    table.delete("p = 'b' or id = 6")
    assert ids(table.scan()) == [1, 4, 5]
    table.update("id = 1", {"id": 9})
    assert ids(table.refresh().scan()) == [4, 5, 9]


def test_deletion_vectors_are_materialized(catalog: fz.Catalog) -> None:
    table = parted(catalog, **{"deletion-vectors.enabled": "true"})
    assert table.maintain.materialize_deletion_vectors().groups == 0
    add(table, "a", 1, 2, 3, 4)
    add(table, "a", 5, 6)
    add(table, "b", 7, 8)
    table.delete("id in (2, 7)")
    indexes = GlobalIndexes(table)
    indexes.add("of-a", (0, 5), partition="a")
    indexes.add("of-b", (6, 7), partition="b")
    table = catalog.load_table("db.t")
    planned = table.maintain.materialize_deletion_vectors("p = 'a'", dry_run=True)
    assert (planned.groups, planned.rewritten_files, planned.added_files, planned.commits) == (1, 2, 0, 0)
    assert table.snapshot.id == 4
    done = table.maintain.materialize_deletion_vectors("p = 'a'", snapshot_properties={"by": "me"})
    assert (done.groups, done.rewritten_files, done.added_files, done.commits) == (1, 2, 1, 1)
    columns = ["id", "_row_id", "_last_updated_sequence_number"]
    found = sorted(tuple(row.values()) for row in table.scan(select=columns).to_arrow().to_pylist())
    # The rows count as written by this commit.
    assert found == [(1, 8, 5), (3, 9, 5), (4, 10, 5), (5, 11, 5), (6, 12, 5), (8, 7, 3)]
    newest = snapshot_file(table, 5)
    assert (newest["commitKind"], newest["properties"]) == ("COMPACT", {"by": "me"})
    # Eight rows in files, six are removed and five come back.
    assert [newest[key] for key in ("totalRecordCount", "deltaRecordCount", "nextRowId")] == [7, -1, 13]
    assert [entry["_INDEX_TYPE"] for entry in indexes.entries()] == ["DELETION_VECTORS", "btree"]
    assert indexes.ranges() == {"of-b": (6, 7)}
    assert ids(table.scan(at=4)) == [1, 3, 4, 5, 6, 8]
    # Nothing is left of `b`.
    table.delete("id = 8")
    done = table.maintain.materialize_deletion_vectors()
    assert (done.groups, done.rewritten_files, done.added_files) == (1, 1, 0)
    assert ids(table.scan()) == [1, 3, 4, 5, 6]
    assert indexes.entries() == []
    assert sorted(table.inspect.files().column("record_count").to_pylist()) == [5]
    number = table.snapshot.id
    assert table.maintain.materialize_deletion_vectors().commits == 0
    assert table.snapshot.id == number
    table.maintain.remove_orphan_files(dt.timedelta(0))
    assert ids(table.scan()) == [1, 3, 4, 5, 6]
    add(table, "b", 9)
    assert row_ids(table.scan("id = 9", select=["id", "_row_id"])) == {9: 13}


def test_only_files_with_deleted_rows_are_materialized(catalog: fz.Catalog) -> None:
    table = parted(catalog, **{"deletion-vectors.enabled": "true"})
    add(table, "a", 1, 2)
    add(table, "a", 3, 4)
    table.delete("id = 1")
    # No neighbour fits into a file of this size.
    done = table.maintain.materialize_deletion_vectors(options={"target-file-size": "1 kb"})
    assert (done.rewritten_files, done.added_files) == (1, 1)
    assert row_ids(table.scan(select=["id", "_row_id"])) == {2: 4, 3: 2, 4: 3}
    with pytest.raises(fz.InvalidInputError, match="no option"):
        table.maintain.materialize_deletion_vectors(options={"bucket": "2"})
    with pytest.raises(fz.InvalidInputError, match="partition columns"):
        table.maintain.materialize_deletion_vectors("id = 2")
    plain = make(catalog, "db.plain", properties={"deletion-vectors.enabled": "true"})
    without = make(catalog, "db.without", properties=EVOLVING)
    for other, why in [(plain, "columns are in several files"), (without, "no deletion vectors")]:
        with pytest.raises(fz.InvalidInputError, match=why):
            other.append(rows((1, "a"))).maintain.materialize_deletion_vectors()


def at_once(*works: Callable[[], object]) -> None:
    """Runs works in threads, and raises the first of their errors."""
    failures: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_maintenance_of_row_ids_among_other_commits(catalog: fz.Catalog) -> None:
    first = parted(catalog, **{"deletion-vectors.enabled": "true"})
    for number in range(20):
        add(first, "ab"[number % 2], number)

    def append() -> None:
        table = catalog.load_table("db.t")
        for number in range(20, 30):
            add(table, "ab"[number % 2], number)

    def delete() -> None:
        table = catalog.load_table("db.t")
        for number in range(0, 20, 4):
            table.delete(f"id = {number}")

    def reassign() -> None:
        for _ in range(3):
            catalog.load_table("db.t").maintain.reassign_row_ids()

    def materialize() -> None:
        for _ in range(2):
            catalog.load_table("db.t").maintain.materialize_deletion_vectors()

    at_once(append, delete, reassign, materialize)
    table = catalog.load_table("db.t")
    wanted = [number for number in range(30) if number >= 20 or number % 4]
    assert ids(table.scan()) == wanted
    table.maintain.materialize_deletion_vectors()
    table.maintain.reassign_row_ids()
    found = row_ids(table.scan(select=["id", "_row_id"]))
    assert sorted(found) == wanted
    assert len(set(found.values())) == len(wanted)
    of_a = sorted(row_id for number, row_id in found.items() if number % 2 == 0)
    assert of_a == list(range(of_a[0], of_a[0] + len(of_a)))
    assert snapshot_file(table, table.snapshot.id)["nextRowId"] > max(found.values())


def test_only_tables_of_paimon_have_these(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.ice", SCHEMA)
    for verb in (
        lambda m: m.reset_consumer("a"),
        lambda m: m.mark_partitions_done({"v": "a"}),
        lambda m: m.set_earliest_snapshot(1),
        lambda m: m.rewrite_file_indexes(),
        lambda m: m.reassign_row_ids(),
        lambda m: m.drop_global_index("id", "btree"),
        lambda m: m.materialize_deletion_vectors(),
        lambda m: m.purge(),
    ):
        with pytest.raises(fz.UnsupportedError, match="Paimon"):
            verb(table.maintain)
    with pytest.raises(fz.UnsupportedError, match="can't be merged"):
        table.refs.merge("b")
