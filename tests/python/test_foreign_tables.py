"""What other writers leave in a folder or a file: stale hints, two histories, statistics that contradict each other.

Expected values are those that Java Iceberg 1.12, Java Paimon or pyarrow read.
"""

from __future__ import annotations

import base64
import glob
import json
import os
import pathlib
import shutil
import struct
import uuid
from collections.abc import Callable
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz

SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string())])
PATH_ID = 2147483546
Entry = dict[str, Any]


@pytest.fixture
def catalog(tmp_path: pathlib.Path) -> fz.Catalog:
    catalog = fz.catalog("local", type="filesystem", warehouse=str(tmp_path / "wh"))
    catalog.create_namespace("db")
    return catalog


def rows(first: int, last: int) -> pa.Table:
    return pa.table(
        [pa.array(range(first, last), pa.int64()), [f"v{i:03d}" for i in range(first, last)]], schema=SCHEMA
    )


def ids(table: fz.Table, *filters: str) -> list[int]:
    return sorted(table.scan(*filters).to_arrow()["id"].to_pylist())


def local(uri: str) -> str:
    return uri.removeprefix("file://").removeprefix("file:")


def folder_of(table: fz.Table) -> str:
    return os.path.join(local(table.location), "metadata")


def read(path: str) -> tuple[Any, dict[str, Any], list[Entry]]:
    with open(path, "rb") as file:
        reader = fastavro.reader(file)
        entries = list(reader)
        return reader.writer_schema, dict(reader.metadata), entries


def write(path: str, schema: Any, metadata: dict[str, Any], entries: list[Entry]) -> None:
    texts = {k: v if isinstance(v, str) else v.decode() for k, v in metadata.items() if not k.startswith("avro.")}
    with open(path, "wb") as file:
        fastavro.writer(file, schema, entries, metadata=texts, codec="deflate")


def metadata_of(table: fz.Table) -> tuple[str, dict[str, Any]]:
    path = local(table.metadata_location)
    return path, json.loads(pathlib.Path(path).read_text())


def edited(table: fz.Table, change: Callable[[Entry], None]) -> fz.Table:
    """The table after a change of each manifest entry, as another engine might have written it."""
    _, metadata = metadata_of(table)
    current = next(s for s in metadata["snapshots"] if s["snapshot-id"] == metadata["current-snapshot-id"])
    listed = local(current["manifest-list"])
    list_schema, list_metadata, manifests = read(listed)
    for manifest in manifests:
        path = local(manifest["manifest_path"])
        schema, own, entries = read(path)
        for entry in entries:
            change(entry["data_file"])
        write(path, schema, own, entries)
        manifest["manifest_length"] = os.path.getsize(path)
    write(listed, list_schema, list_metadata, manifests)
    return fz.open_table(table.location)


# ---------------------------------------------------------------- which version is current


@pytest.mark.parametrize("hint", ["1", "v1", "v1.metadata.json", "\ufeff2", "v3", "9999999999999999999999"])
def test_a_hint_never_hides_rows(catalog: fz.Catalog, hint: str) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    table.append(rows(0, 1)).append(rows(1, 2))
    pathlib.Path(folder_of(table), "version-hint.text").write_text(hint)
    assert ids(fz.open_table(table.location)) == [0, 1]


def test_numbers_of_time_are_versions(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.t", SCHEMA)
    table.append(rows(0, 1))
    folder = folder_of(table)
    os.rename(f"{folder}/v2.metadata.json", f"{folder}/v20240101120000.metadata.json")
    os.remove(f"{folder}/version-hint.text")
    table = fz.open_table(table.location).append(rows(1, 2))
    assert table.metadata_location.endswith("/v20240101120001.metadata.json")
    os.rename(local(table.metadata_location), f"{folder}/v{2**64 - 1}.metadata.json")
    os.remove(f"{folder}/version-hint.text")
    table = fz.open_table(table.location)
    assert ids(table) == [0, 1]
    with pytest.raises(fz.UnsupportedError, match="no version number is left"):
        table.append(rows(2, 3))


def test_a_table_that_a_catalog_took_over_is_only_read_by_its_folder(
    catalog: fz.Catalog, tmp_path: pathlib.Path
) -> None:
    """apache/iceberg#4794, trinodb/trino#17863."""
    import datetime as dt

    table = catalog.create_table("db.t", SCHEMA)
    old = table.append(rows(0, 1))
    other = fz.catalog("prod", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "wh"))
    other.create_namespace("db")
    known = other.register_table("db.t", old.metadata_location).append(rows(1, 2)).append(rows(2, 3))
    live = {local(task.data_file.path) for task in known.scan().plan_files()}
    opened = fz.open_table(table.location)
    assert ids(opened) == [0, 1, 2]
    for handle in (opened, old):
        with pytest.raises(fz.UnsupportedError, match="tracked by a catalog"):
            handle.append(rows(3, 4))
        try:
            orphans = handle.maintain.remove_orphan_files(older_than=dt.timedelta(0), dry_run=True).files
        except fz.UnsupportedError:
            orphans = []
        assert not {local(path) for path in orphans} & live
    assert ids(other.load_table("db.t")) == [0, 1, 2]


def test_a_dropped_table_is_not_opened_in_place_of_the_new_one(catalog: fz.Catalog) -> None:
    """ClickHouse/ClickHouse#87574."""
    table = catalog.create_table("db.t", SCHEMA)
    for i in range(3):
        table = table.append(rows(i, i + 1))
    folder = folder_of(table)
    os.remove(f"{folder}/version-hint.text")
    for path in sorted(glob.glob(f"{folder}/v*.metadata.json")):
        number = int(os.path.basename(path)[1:].split(".")[0])
        os.rename(path, f"{folder}/{number - 1:05d}-{uuid.uuid4()}.metadata.json")
    newest = sorted(glob.glob(f"{folder}/*.metadata.json"))[-1]
    metadata = json.loads(pathlib.Path(newest).read_text())
    ended = metadata["last-updated-ms"]
    metadata |= {"table-uuid": str(uuid.uuid4()), "snapshots": [], "snapshot-log": [], "refs": {}, "metadata-log": []}
    metadata |= {"current-snapshot-id": -1, "last-sequence-number": 0, "last-updated-ms": ended + 3_600_000}
    created = pathlib.Path(folder, f"00000-{uuid.uuid4()}.metadata.json")
    created.write_text(json.dumps(metadata))
    assert ids(fz.open_table(table.location)) == []
    # It began before the other one ended: nothing tells which is current.
    created.write_text(json.dumps(metadata | {"metadata-log": [{"timestamp-ms": ended - 1, "metadata-file": "x"}]}))
    with pytest.raises(fz.CorruptTableError, match="two tables with different table-uuid"):
        fz.open_table(table.location)
    assert ids(fz.open_table(str(created))) == []


# ---------------------------------------------------------------- statistics of other writers


def test_bounds_of_paths_in_position_deletes(catalog: fz.Catalog) -> None:
    """ClickHouse/ClickHouse#118113, #96061: inverted bounds, those of the first and last row, and cut ones."""
    properties = {"format-version": "2", "write.delete.mode": "merge-on-read", "write.delete.granularity": "partition"}
    table = catalog.create_table("db.t", SCHEMA, properties=properties)
    table = table.append(rows(0, 5)).append(rows(5, 9)).delete("id in (2, 7)")
    for lower, upper in ((b"zzzz", b"!!!!"), (b"a/b", b"a/c"), (b"file:///tmp/pyte", b"file:///tmp/pyte"), (b"", b"")):

        def lie(file: Entry, lower: bytes = lower, upper: bytes = upper) -> None:
            if file["content"] == 1:
                file |= {"referenced_data_file": None} if "referenced_data_file" in file else {}
                file["lower_bounds"] = [{"key": PATH_ID, "value": lower}]
                file["upper_bounds"] = [{"key": PATH_ID, "value": upper}]

        table = edited(table, lie)
        assert ids(table) == [0, 1, 3, 4, 5, 6, 8], (lower, upper)


# A file of Polars 1.38.1 with the columns id = [1, 2] and h = [null, "x"] (pola-rs/polars#29321).
POLARS = """
UEFSMRUEFQoVHEwVAhUAAAAotS/9IAUpAAABAAAAeBUAFQ4VICwVAhUQFQYVBhw2AigBeBgBeAAAACi1L/0gBzkAAAIAAAADAAAVABUQFSIsFQIVEBUGFQYcNgIo
AXgYAXgAAAAotS/9IAhBAAACAAAAAgEAAxUMGTUABhAZGAFoFQwWBBauARbkASYIPDYEKAF4GAF4AAAVBBUgFTJMFQQVAAAAKLUv/SAQgQAAAQAAAAAAAAACAAAA
AAAAABUAFRAVIiwVAhUQFQYVBhw2ACgIAgAAAAAAAAAYCAEAAAAAAAAAAAAAKLUv/SAIQQAAAgAAAAIBAAMVABUSFSQsFQIVEBUGFQYcNgAoCAIAAAAAAAAAGAgB
AAAAAAAAAAAAACi1L/0gCUkAAAIAAAACAQEDARUEGTUABhAZGAJpZBUMFgQWgAIWtgImsAI8NgAoCAIAAAAAAAAAGAgBAAAAAAAAAAAAGSECAhkoAXgBeBkoAXgB
eBUAGSYCAgAZIQICGSgIAQAAAAAAAAAIAQAAAAAAAAAZKAgCAAAAAAAAAAgCAAAAAAAAABUAGSYAAAAZLBY+FVYWAAAWlAEVWBYCAAAZLBb8AhV0FgAAFvADFXYW
AgAAFQIZPEgEcm9vdBUEABUMJQIYAWglAEwcAAAAFQQlAhgCaWQAFgQZHBksJuwBHBUMGTUABhAZGAFoFQwWBBauARbkASYIPDYEKAF4GAF4AAAW3gYVJBbKBRUu
ACbmBBwVBBk1AAYQGRgCaWQVDBYEFoACFrYCJrACPDYAKAgCAAAAAAAAABgIAQAAAAAAAAAAABaCBxUmFvgFFWYAFq4DFgQmCBaaBBQAABkcGAxBUlJPVzpzY2hl
bWEY5AEvLy8vLzZJQUFBQUVBQUFBOHYvLy94UUFBQUFFQUFFQUFBQUtBQXNBQ0FBS0FBUUErUC8vL3d3QUFBQUlBQWdBQUFBRUFBSUFBQUE4QUFBQUJBQUFBTGov
Ly84b0FBQUFFQUFBQUFnQUFBQUJBZ0FBQUFBQUFQVC8vLzlBQUFBQUFRQUFBQWdBQ1FBRUFBZ0FBZ0FBQUdsa0FBRHMvLy8vTEFBQUFDQUFBQUFZQUFBQUFSUUFB
QkFBRWdBRUFCQUFFUUFJQUFBQURBQUFBQUFBL1AvLy93UUFCQUFCQUFBQWFBQT0AGAZQb2xhcnMZLBwAABwAAACyAQAAUEFSMQ==
"""


def test_nulls_that_a_writer_counts_twice(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "polars.parquet"
    path.write_bytes(base64.b64decode(POLARS))
    assert pq.read_table(path)["h"].to_pylist() == [None, "x"]
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64()), ("h", pa.string())]))
    table.add_files([str(path)])
    table = table.refresh()
    assert table.scan().to_arrow()["h"].to_pylist() == [None, "x"]
    found = {f: table.scan(f).count() for f in ("h is not null", "h = 'x'", "h is null", "h < 'z'")}
    assert found == {"h is not null": 1, "h = 'x'": 1, "h is null": 1, "h < 'z'": 1}
    # A writer that believed the footer has recorded this in the manifest.
    lie = {"value_counts": [{"key": 2, "value": 2}], "null_value_counts": [{"key": 2, "value": 2}]}
    lie |= {"lower_bounds": [{"key": 2, "value": b"x"}], "upper_bounds": [{"key": 2, "value": b"x"}]}
    table = edited(table, lambda file: file.update(lie))
    assert {f: table.scan(f).count() for f in found} == found


VALUES = {
    "id": [-5, 0, 3, 4, 7, 8],
    "s": ["a", None, "a long text, cut", "a long text, cut in two", "a b", "a l"],
    "f": [-1.5, 0.0, float("nan"), None, 2.5, 1e300],
}
FILTERS = (
    *("id = 7", "id > 4", "id < 0", "id is null", "id in (3, 8)", "id != 3"),
    *("s = 'a long text, cut in two'", "s > 'a long text, cut'", "s is null", "s is not null", "s like 'a long%'"),
    *("s = 'a l'", "f > 1", "f < 0", "f is null", "f is not null", "f is nan", "not f is nan"),
)


def lies() -> dict[str, Callable[[Entry], None]]:
    """Statistics that contradict themselves, another statistic or their type, by what is wrong with them."""
    bounds, counts = ("lower_bounds", "upper_bounds"), ("value_counts", "null_value_counts", "nan_value_counts")

    def swapped(file: Entry) -> None:
        file["lower_bounds"], file["upper_bounds"] = file["upper_bounds"], file["lower_bounds"]

    def all_null(file: Entry) -> None:
        file["null_value_counts"] = file["value_counts"]

    def all_nan(file: Entry) -> None:
        file["nan_value_counts"] = [{"key": 3, "value": 5}]

    def wide(file: Entry) -> None:
        for name in bounds:
            file[name] = [b | {"value": b["value"] + b"\0"} for b in file[name] if b["key"] != 2]

    def narrow(file: Entry) -> None:
        for name in bounds:
            file[name] = [b | {"value": b["value"][:3]} for b in file[name] if b["key"] != 2]

    def cut(file: Entry) -> None:
        file["upper_bounds"] = [
            b if b["key"] != 2 else b | {"value": b"a long text, cut"} for b in file["upper_bounds"]
        ]

    def not_text(file: Entry) -> None:
        for name in bounds:
            file[name] = [b | {"value": b"\xff\xfe"} if b["key"] == 2 else b for b in file[name]]

    def nan_bounds(file: Entry) -> None:
        file["upper_bounds"] = [
            b | {"value": struct.pack("<d", float("nan"))} if b["key"] == 3 else b for b in file["upper_bounds"]
        ]

    def counts_of(value: int) -> Callable[[Entry], None]:
        def change(file: Entry) -> None:
            for name in counts[1:]:
                file[name] = [c | {"value": value} for c in file[name] or []]

        return change

    def more_values(file: Entry) -> None:
        file["value_counts"] = [c | {"value": 100} for c in file["value_counts"]]
        file["null_value_counts"] = [c | {"value": 100} for c in file["null_value_counts"]]

    def rows_of_the_table(file: Entry) -> None:
        file["record_count"] = 600

    out = {f.__name__: f for f in (swapped, all_null, all_nan, wide, narrow, cut, not_text, nan_bounds, more_values)}
    out |= {"rows_of_the_table": rows_of_the_table, "negative": counts_of(-7), "huge": counts_of(2**62)}
    return out


def expected(filters: str) -> list[int]:
    import duckdb

    data = pa.table(VALUES)  # noqa: F841
    text = filters.replace("is_nan(f)", "isnan(f)").replace("s like 'a long%'", "s like 'a long%'")
    return sorted(r[0] for r in duckdb.sql(f"select id from data where {text}").fetchall())


@pytest.mark.parametrize("name", lies())
def test_no_lie_hides_a_row(catalog: fz.Catalog, name: str) -> None:
    table = catalog.create_table("db.t", pa.table(VALUES).schema)
    truth = table.append(pa.table(VALUES))
    right = {f: ids(truth, f) for f in FILTERS}
    table = edited(truth, lies()[name])
    for text in FILTERS:
        assert ids(table, text) == right[text], (name, text)


def test_the_truth_without_lies(catalog: fz.Catalog) -> None:
    """The right values are DuckDB's."""
    pytest.importorskip("duckdb")
    table = catalog.create_table("db.t", pa.table(VALUES).schema).append(pa.table(VALUES))
    for text in FILTERS:
        if "f >" in text or "nan" in text:  # NaN and null compare in another way there
            continue
        assert ids(table, text) == expected(text), text


def test_row_counts_of_clickhouse(catalog: fz.Catalog) -> None:
    """ClickHouse/ClickHouse#118942: each file has the number of rows of the whole table."""
    table = catalog.create_table("db.t", SCHEMA)
    table = table.append(rows(0, 3)).append(rows(3, 5))
    table = edited(table, lambda file: file.update(record_count=5))
    assert ids(table) == [0, 1, 2, 3, 4]
    assert ids(table, "id > 2") == [3, 4]
    # A file of another length is not the one that was committed.
    table = edited(table, lambda file: file.update(file_size_in_bytes=file["file_size_in_bytes"] + 1000))
    with pytest.raises(fz.CorruptTableError, match="replaced or cut off"):
        ids(table)


# ---------------------------------------------------------------- sound input


def test_columns_of_many_structs(catalog: fz.Catalog) -> None:
    """Java Iceberg 1.12 makes and reads a column of 44 structs in one another. pyarrow takes 63."""
    for depth in (30, 44, 60):
        inner: pa.DataType = pa.int64()
        for _ in range(depth):
            inner = pa.struct([("a", inner)])
        table = catalog.create_table(f"db.t{depth}", pa.schema([("id", pa.int64()), ("c", inner)]))
        table.append(pa.table({"id": [1]}))
        assert ids(fz.open_table(table.location)) == [1]


@pytest.mark.parametrize(
    ("location", "recorded"),
    [
        ("s3a://b/t", "s3://b/t"),
        ("./lineitem", "lineitem"),
        ("s3://b//t", "s3://b/t"),
        ("hdfs://nn/x/t", "/x/t"),
        ("/x/t", "hdfs://nn:8020/x/t"),
    ],
)
def test_a_moved_table_is_spelt_in_any_way(
    catalog: fz.Catalog, tmp_path: pathlib.Path, location: str, recorded: str
) -> None:
    """DuckDB's demonstration table has the location ./lineitem_iceberg, and files lineitem_iceberg/..."""
    table = catalog.create_table("db.t", SCHEMA).append(rows(0, 2))
    root, copy = local(table.location), str(tmp_path / "copy")
    shutil.copytree(root, copy)
    path, metadata = metadata_of(table)
    for snapshot in metadata["snapshots"]:
        listed = copy + local(snapshot["manifest-list"])[len(root) :]
        list_schema, list_metadata, manifests = read(listed)
        for manifest in manifests:
            own = local(manifest["manifest_path"])[len(root) :]
            schema, own_metadata, entries = read(copy + own)
            for entry in entries:
                entry["data_file"]["file_path"] = recorded + local(entry["data_file"]["file_path"])[len(root) :]
            write(copy + own, schema, own_metadata, entries)
            manifest |= {"manifest_length": os.path.getsize(copy + own), "manifest_path": recorded + own}
        write(listed, list_schema, list_metadata, manifests)
        snapshot["manifest-list"] = recorded + local(snapshot["manifest-list"])[len(root) :]
    text = json.dumps(metadata | {"location": location, "metadata-log": []})
    pathlib.Path(copy, "metadata", os.path.basename(path)).write_text("\ufeff" + text)
    assert ids(fz.open_table(copy, moved=True)) == [0, 1]


def test_brotli_makes_much_of_few_bytes(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    """apache/parquet-testing, data/large_string_map.brotli.parquet."""
    data = pa.table({"id": [1], "s": ["x" * 20_000_000]})
    for version in ("1.0", "2.0"):
        path = str(tmp_path / f"b{version}.parquet")
        pq.write_table(
            data, path, compression="brotli", compression_level=9, use_dictionary=False, data_page_version=version
        )
        table = catalog.create_table(f"db.t{version[0]}", SCHEMA)
        table.add_files([path])
        assert len(table.refresh().scan().to_arrow()["s"][0].as_py()) == 20_000_000


def test_row_groups_without_rows(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    """apache/parquet-testing, data/column_chunk_key_value_metadata.parquet. pyarrow writes one for an empty table."""
    for version in ("1.0", "2.0"):
        path = str(tmp_path / f"empty{version}.parquet")
        with pq.ParquetWriter(path, SCHEMA, data_page_version=version) as writer:
            for part in (rows(0, 0), rows(0, 2), rows(0, 0), rows(2, 3)):
                writer.write_table(part)
        groups = pq.read_metadata(path)
        assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [0, 2, 0, 1]
        table = catalog.create_table(f"db.t{version[0]}", SCHEMA).add_files([path])
        assert ids(table) == [0, 1, 2]
        assert ids(table, "s > 'v000'") == [1, 2]
        table.delete("id = 1")
        assert ids(table.refresh()) == [0, 2]


NANOS = [1_234_567_890_123_456_789, None, 1, -1, -1_500_000_000]


def test_wide_timestamps_in_columns_of_nanoseconds(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    data = pa.table({"t": pa.array(NANOS, pa.timestamp("ns"))})
    path = str(tmp_path / "wide.parquet")
    pq.write_table(data, path, use_deprecated_int96_timestamps=True)
    table = catalog.create_table("db.t", data.schema, properties={"format-version": "3"}).add_files([path])
    found = table.scan().to_arrow()
    assert found["t"].cast(pa.int64()).to_pylist() == NANOS
    assert table.scan("t = '2009-02-13T23:31:30.123456789'").count() == 1


def test_orc_files_of_others_keep_nanoseconds(catalog: fz.Catalog, tmp_path: pathlib.Path) -> None:
    """apache/orc, examples/TestOrcFile.testUnionAndTimestamp.orc. Iceberg's writers name the unit in an attribute."""
    orc = pytest.importorskip("pyarrow.orc")
    path = str(tmp_path / "t.orc")
    orc.write_table(pa.table({"t": pa.array(NANOS, pa.timestamp("ns"))}), path)
    names = json.dumps([{"field-id": 1, "names": ["t"]}])
    properties = {"format-version": "3", "schema.name-mapping.default": names}
    table = catalog.create_table("db.t", pa.schema([("t", pa.timestamp("ns"))]), properties=properties)
    table = table.append(pa.table({"t": pa.array([0] * len(NANOS), pa.timestamp("ns"))}))

    def as_orc(file: Entry) -> None:
        file |= {"file_path": path, "file_format": "ORC", "file_size_in_bytes": os.path.getsize(path)}
        file |= dict.fromkeys(("lower_bounds", "upper_bounds", "null_value_counts", "split_offsets"))

    found = edited(table, as_orc).scan().to_arrow()["t"].cast(pa.int64()).to_pylist()
    assert found == orc.read_table(path)["t"].cast(pa.int64()).to_pylist()


# ---------------------------------------------------------------- counters


def test_a_partition_field_gets_no_id_twice(catalog: fz.Catalog) -> None:
    """apache/iceberg-go#1987: Java Iceberg 1.12 refuses a table with one id for two fields."""
    table = catalog.create_table("db.t", SCHEMA, partition_by=["id"]).append(rows(0, 2))
    with table.update_partition_spec() as update:
        update.remove_field("id")
    path, metadata = metadata_of(table.refresh())
    pathlib.Path(path).write_text(json.dumps(metadata | {"last-partition-id": 999, "last-column-id": 0}))
    table = fz.open_table(table.location)
    table.update_partition_spec().add_field("bucket(16, id)").commit()
    with table.refresh().update_schema() as schema:
        schema.add_column("x", "int")
    _, metadata = metadata_of(table.refresh())
    fields = {(f["field-id"], f["transform"]) for spec in metadata["partition-specs"] for f in spec["fields"]}
    assert fields == {(1000, "identity"), (1001, "bucket[16]")}
    assert (metadata["last-partition-id"], metadata["last-column-id"]) == (1001, 3)


@pytest.mark.parametrize("version", [2, 3])
def test_counters_at_their_end_are_refused(catalog: fz.Catalog, version: int) -> None:
    table = catalog.create_table("db.t", SCHEMA, properties={"format-version": str(version)}).append(rows(0, 2))
    path, metadata = metadata_of(table)
    pathlib.Path(path).write_text(json.dumps(metadata | {"last-sequence-number": 2**63 - 1}))
    with pytest.raises(fz.InvalidInputError, match="no sequence numbers left"):
        fz.open_table(table.location).append(rows(2, 3))
    if version == 3:
        pathlib.Path(path).write_text(json.dumps(metadata | {"next-row-id": 2**63 - 1}))
        with pytest.raises(fz.CorruptTableError, match="row ids overflow"):
            fz.open_table(table.location).append(rows(2, 3))
        # A counter that is too low would give two rows one id.
        pathlib.Path(path).write_text(json.dumps(metadata | {"next-row-id": 0}))
        table = fz.open_table(table.location).append(rows(2, 4))
        assert sorted(table.scan(select=["_row_id"]).to_arrow()["_row_id"].to_pylist()) == [0, 1, 2, 3]


def test_columns_of_paimon_get_no_negative_id(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.p", pa.schema([("id", pa.int64())]), format="paimon")
    path = pathlib.Path(table.location, "schema", "schema-0")
    schema = json.loads(path.read_text())
    for highest in (2**31 - 1, 2**30):
        path.write_text(json.dumps(schema | {"highestFieldId": highest}))
        with (
            pytest.raises(fz.InvalidInputError, match="no column ids left"),
            fz.open_table(table.location).update_schema() as update,
        ):
            update.add_column("x", "string")
    path.write_text(json.dumps(schema | {"highestFieldId": -1}))
    with fz.open_table(table.location).update_schema() as update:
        update.add_column("x", "string")
    made = json.loads(path.with_name("schema-1").read_text())
    assert ([f["id"] for f in made["fields"]], made["highestFieldId"]) == ([0, 1], 1)
