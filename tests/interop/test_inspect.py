"""Metadata tables: Frazil's `table.inspect` gives the rows, columns and types that Java's metadata tables give."""

from typing import Any

import pyarrow as pa
import pytest
from java_side import NAMESPACE, Java, _plain, assert_same_rows

import frazil as fz

OF_ONE_VERSION = ["manifests", "entries", "files", "data_files", "delete_files", "partitions", "position_deletes"]
OF_ALL = [
    *("snapshots", "history", "refs", "metadata_log_entries"),
    *("all_manifests", "all_entries", "all_files", "all_data_files", "all_delete_files"),
]
COLUMNS = """
    id bigint, country string, ts timestamp, amount decimal(9,2), score double, ratio float, raw binary, day date,
    ok boolean, payload struct<a: int, b: string>, tags array<string>, props map<string, int>
"""


def values(first: int, with_tags: bool = True, count: int = 8) -> str:
    def row(i: int) -> str:
        country = ("'NO'", "'SE'", "null")[i % 3]
        score = "double('NaN')" if i % 4 == 1 else f"{i}.5d"
        tags = f"array('t{i}', null), " if with_tags else ""
        return (
            f"({i}, {country}, timestamp'2023-01-0{i % 4 + 1} 10:00:00Z', {i}.25, {score}, float('{i}e9'), "
            f"x'0{i % 4}ff', date'2023-0{i % 3 + 1}-01', {'true' if i % 2 else 'null'}, "
            f"named_struct('a', {i}, 'b', 'b{i}'), {tags}map('k', {i}))"
        )

    return ", ".join(row(i) for i in range(first, first + count))


def plain(value: Any) -> Any:
    """As in the other comparisons; the entries of a map have no order."""
    match value:
        case dict():
            return {key: plain(inner) for key, inner in value.items()}
        case [(_, _), *_]:
            return sorted(repr(plain(list(pair))) for pair in value)
        case list():
            return [plain(inner) for inner in value]
        case _:
            return _plain(value)


def exact(rows: pa.Table) -> list[str]:
    return sorted(repr([(name, plain(row[name])) for name in rows.column_names]) for row in rows.to_pylist())


def shape(type_: pa.DataType) -> Any:
    """A type without nullability, the names inside lists and maps, and the width of offsets."""
    if pa.types.is_struct(type_):
        return [(field.name, shape(field.type)) for field in type_]
    if pa.types.is_list(type_):
        return ["list", shape(type_.value_type)]
    if pa.types.is_map(type_):
        return ["map", shape(type_.key_type), shape(type_.item_type)]
    return str(type_).removeprefix("large_")


def assert_alike(java: Java, table: str, kind: str, at: int | None = None) -> pa.Table:
    reader = java.spark.read.format("iceberg")
    if at is not None:
        reader = reader.option("versionAsOf", str(at))
    theirs = reader.load(f"ice.{NAMESPACE}.{table}.{kind}").toArrow()
    inspect = fz.open_table(java.root(table)).inspect
    ours = getattr(inspect, kind)(**({} if at is None else {"at": at}))
    what = f"{table}.{kind} at {at}"
    assert [(f.name, shape(f.type)) for f in ours.schema] == [(f.name, shape(f.type)) for f in theirs.schema], what
    assert_same_rows(exact(ours), exact(theirs), what)
    return ours


def assert_all_alike(java: Java, table: str) -> dict[str, pa.Table]:
    tables = {kind: assert_alike(java, table, kind) for kind in (*OF_ONE_VERSION, *OF_ALL)}
    for snapshot in java.snapshot_ids(table)[:-1:2]:
        for kind in OF_ONE_VERSION:
            assert_alike(java, table, kind, snapshot)
    return tables


def merge_on_read(version: int) -> dict[str, str]:
    return {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")} if version > 1 else {}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_evolved_and_changed(java: Java, version: int) -> None:
    """Partition fields added, dropped and made again; columns renamed, promoted, dropped; rows deleted and updated."""
    name = java.create("inspect", COLUMNS, "country, years(ts)", version, merge_on_read(version))
    full = f"ice.{NAMESPACE}.{name}"
    java.insert(name, values(0))
    java.sql(f"delete from {full} where id in (1, 2)")
    java.alter(name, "add partition field bucket(4, id)")
    java.insert(name, values(10))
    java.alter(name, "drop partition field country")
    java.alter(name, "add partition field truncate(1, raw)")
    java.alter(name, "add partition field ratio")
    java.insert(name, values(20))
    java.sql(f"update {full} set amount = 0 where id = 12")
    java.alter(name, "create tag kept retain 30 days")
    java.alter(name, "create branch side retain 7 days with snapshot retention 2 snapshots 3 days")
    java.alter(name, "rename column score to points")
    java.alter(name, "alter column ratio type double")
    java.alter(name, "drop column tags")
    java.insert(name, values(30, with_tags=False))
    java.sql(f"delete from {full} where country = 'SE'")
    tables = assert_all_alike(java, name)
    assert len(tables["partitions"]) > 5
    assert (len(tables["delete_files"]) > 0) == (version > 1)
    assert set(tables["refs"]["name"].to_pylist()) == {"main", "kept", "side"}


def test_rolled_back_and_expired(java: Java) -> None:
    name = java.create("inspect", "id bigint, part int", "part")
    for i in range(4):
        java.insert(name, f"({i}, {i % 2}), ({i + 10}, null)")
    snapshots = java.snapshot_ids(name)
    java.sql(f"call ice.system.rollback_to_snapshot('{NAMESPACE}.{name}', {snapshots[2]})")
    java.insert(name, "(20, 7)")
    tables = assert_all_alike(java, name)
    assert tables["history"]["is_current_ancestor"].to_pylist().count(False) == 1
    old = f"table => '{NAMESPACE}.{name}', older_than => timestamp'2100-01-01'"
    java.sql(f"call ice.system.expire_snapshots({old}, retain_last => 2)")
    tables = assert_all_alike(java, name)
    assert len(tables["snapshots"]) == 2
    assert None in tables["partitions"]["last_updated_at"].to_pylist()


@pytest.mark.parametrize("partitioned_by", ["", "part"])
def test_without_rows(java: Java, partitioned_by: str) -> None:
    """Tables without snapshots, and with a snapshot that has no files any more."""
    name = java.create("inspect", "id bigint, part int", partitioned_by)
    assert_all_alike(java, name)
    java.insert(name, "(1, 1)")
    java.sql(f"delete from ice.{NAMESPACE}.{name}")
    tables = assert_all_alike(java, name)
    assert len(tables["files"]) == 0
    assert len(tables["entries"]) == 1


def test_dropped_source_of_a_partition_field(java: Java) -> None:
    name = java.create("inspect", "id bigint, part int, other string", "part, other")
    java.insert(name, "(1, 1, 'a'), (2, null, null)")
    java.alter(name, "drop partition field part")
    java.insert(name, "(3, 3, 'c')")
    java.alter(name, "drop column part")
    java.insert(name, "(4, 'd')")
    assert_alike(java, name, "files")
    tables = {kind: assert_alike(java, name, kind) for kind in ("files", "entries", "all_files", "partitions")}
    assert tables["files"].schema.field("partition").type == pa.struct([("other", pa.string())])
