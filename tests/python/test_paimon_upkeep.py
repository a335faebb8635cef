"""Maintenance of tables of Apache Paimon besides compaction and expiry: what Java's procedures do, by hand."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

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


def test_only_tables_of_paimon_have_these(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.ice", SCHEMA)
    for verb in (
        lambda m: m.reset_consumer("a"),
        lambda m: m.mark_partitions_done({"v": "a"}),
        lambda m: m.set_earliest_snapshot(1),
        lambda m: m.rewrite_file_indexes(),
        lambda m: m.purge(),
    ):
        with pytest.raises(fz.UnsupportedError, match="Paimon"):
            verb(table.maintain)
    with pytest.raises(fz.UnsupportedError, match="can't be merged"):
        table.refs.merge("b")
