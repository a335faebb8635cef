"""Data and delete files in Avro and ORC by Frazil: Java reads them, records the same of its own, and goes on."""

import datetime
import decimal
import re
from typing import Any

import pyarrow as pa
import pytest
from java_side import NAMESPACE, Java, assert_same_rows, exact
from test_written_files import COLUMNS, METRICS, ROWS, records

import frazil as fz
from frazil import variant

FORMATS = ["avro", "orc"]


def properties(format: str, **more: str) -> dict[str, str]:
    modes = {f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")}
    return {"write.format.default": format, "write.delete.format.default": format, **modes, **more}


def codecs(codec: str) -> dict[str, str]:
    return {f"write.{format}.compression-codec": codec for format in FORMATS}


def ours_of(where: str) -> str:
    """Spark's text of a filter as Frazil's."""
    return re.sub(r"timestamp'(\S+) (\S+)'", r"'\1T\2'", where)


def facts(java: Java, name: str) -> list[tuple[Any, ...]]:
    """What the manifests say of all files but their sizes and places."""
    listed = []
    for f in java.metadata(name, "files"):
        maps = (f.value_counts, f.null_value_counts, f.nan_value_counts, f.lower_bounds, f.upper_bounds)
        if f.content == 1:  # bounds are the data file's path
            maps = maps[:3]
        maps = tuple(sorted((m or {}).items()) for m in maps)
        begins = None if f.split_offsets is None else f.split_offsets[:1]
        known = (f.content, f.file_format, f.record_count, sorted(f.column_sizes or {}), begins, f.sort_order_id)
        listed.append(repr((*known, maps, str(f.asDict().get("partition")))))
    return sorted(listed)


SETTINGS: list[dict[str, str]] = [
    {},
    {METRICS + "default": "counts", METRICS + "column.s": "full", **codecs("zstd")},
    {METRICS + "default": "none", METRICS + "column.d": "full", **codecs("snappy")},
]


@pytest.mark.parametrize("format", FORMATS)
def test_metrics_are_those_of_java(java: Java, format: str) -> None:
    for settings in SETTINGS:
        theirs, ours = (java.create("recorded", COLUMNS, properties=properties(format, **settings)) for _ in range(2))
        rows = pa.Table.from_pylist(ROWS, schema=fz.open_table(java.root(ours)).scan().to_arrow().schema)
        java.spark.createDataFrame(rows).coalesce(1).writeTo(f"ice.{NAMESPACE}.{theirs}").append()
        fz.open_table(java.root(ours)).append(rows)
        assert_same_rows(exact(rows), java.read(ours))
        assert records(java, ours) == records(java, theirs)
        assert facts(java, ours) == facts(java, theirs)


TYPES = """
    id int not null, b boolean, l bigint, f float, d double, d9 decimal(9,2), d18 decimal(18,4), d38 decimal(38,10),
    dt date, ts timestamp_ntz, tz timestamp, s string, bin binary,
    st struct<x: int, y: string, deep: struct<z: double>>, li array<int>,
    ls array<struct<k: string, v: bigint>>, m map<string, int>, mm map<int, array<string>>
"""


def of_every_type(n: int) -> dict[str, Any]:
    """A row: the first ones are extreme, each seventh value is null."""
    ends: list[Any] = [-(2**63), 2**63 - 1, 0, n * 1_000_003, -n]
    texts = ["", "iceberg", "été 水 \U0001f9ca", "x" * 2000, f"name {n % 11}"]
    floats = [float("nan"), -1.5, float("inf"), n / 4, -n / 8]
    day = datetime.datetime(1500, 3, 1) if n == 1 else datetime.datetime(1960 + n % 90, 1 + n % 12, 1 + n % 28)
    moment = day + datetime.timedelta(hours=n % 24, microseconds=n % 1000 * 1000 + n % 7)
    row: dict[str, Any] = {
        "b": n % 3 == 0,
        "l": ends[n % 5],
        "f": floats[n % 5],
        "d": floats[(n + 1) % 5],
        "d9": decimal.Decimal(n * 7 - 9_000).scaleb(-2),
        "d18": decimal.Decimal((-1) ** n * (10**18 - 1 - n)).scaleb(-4),
        "d38": decimal.Decimal((-1) ** n * (10**37 + n)).scaleb(-10),
        "dt": day.date(),
        "ts": moment,
        "tz": moment.replace(tzinfo=datetime.UTC),
        "s": texts[n % 5],
        "bin": bytes([n % 256]) * (n % 9),
        "st": {"x": n, "y": texts[n % 3], "deep": None if n % 4 == 0 else {"z": floats[n % 4]}},
        "li": [None if i == 1 else i * n for i in range(n % 4)],
        "ls": [None if i == 2 else {"k": texts[i], "v": n} for i in range(n % 5)],
        "m": [(f"k{i}", None if i == 1 else n) for i in range(n % 3)],
        "mm": [(i, [texts[1], None][: n % 3]) for i in range(n % 3)],
    }
    nulled = {name: None if (n + place) % 7 == 0 else value for place, (name, value) in enumerate(row.items())}
    return {"id": n} | nulled


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_type_in_partitions_and_both_in_turn(java: Java, format: str, version: int) -> None:
    theirs, ours = (
        java.create("formats", TYPES, "bucket(3, id), truncate(8, s)", version=version, properties=properties(format))
        for _ in range(2)
    )
    name = f"ice.{NAMESPACE}.{ours}"
    rows = pa.Table.from_pylist(
        [of_every_type(n) for n in range(1, 300)], schema=fz.open_table(java.root(ours)).scan().to_arrow().schema
    )
    table = fz.open_table(java.root(ours)).append(rows)
    assert_same_rows(exact(rows), java.read(ours))
    frame = java.spark.createDataFrame(rows, java.spark.table(name).schema).coalesce(1)
    frame.writeTo(f"ice.{NAMESPACE}.{theirs}").append()
    assert facts(java, ours) == facts(java, theirs)
    for where in (
        "id = 77",
        "l < 0 and s is null",
        "d9 > 0 and id < 50",
        "st.x in (3, 4)",
        "tz < timestamp'1970-01-01 00:00:00Z'",
    ):
        expected = java.read(theirs, where)
        assert_same_rows(java.read(ours, where), expected, where)
        assert_same_rows(exact(table.scan(ours_of(where)).to_arrow()), expected, where)
    if version == 1:
        return
    # Deletes of ours, changes by Java, and ours again.
    table.delete("id in (5, 6, 250)")
    java.sql(f"delete from ice.{NAMESPACE}.{theirs} where id in (5, 6, 250)")
    assert_same_rows(java.read(ours), java.read(theirs))
    if version == 2:
        kinds = {row.file_format for row in java.metadata(ours, "delete_files")}
        assert kinds == {format.upper()}
        # Java's granularity in Spark is the data file too.
        assert facts(java, ours) == facts(java, theirs)
    java.sql(f"update {name} set d9 = 1 where id % 10 = 0")
    java.sql(f"delete from {name} where id between 100 and 110")
    table = table.refresh()
    assert_same_rows(exact(table.scan().to_arrow()), java.read(ours))
    table.update("id > 290", {"s": "again"})
    table.delete("id = 291")
    assert_same_rows(exact(table.scan().to_arrow()), java.read(ours))
    assert "again" in str(java.read(ours, "id = 292"))
    java.sql(
        f"call ice.system.rewrite_data_files(table => '{NAMESPACE}.{ours}', options => map('rewrite-all', 'true'))"
    )
    assert_same_rows(exact(table.refresh().scan().to_arrow()), java.read(ours))
    table.maintain.compact(rewrite_all=True)
    assert_same_rows(exact(table.scan().to_arrow()), java.read(ours))


@pytest.mark.parametrize("codec", ["zlib", "none"])
def test_java_skips_by_the_row_index(java: Java, codec: str) -> None:
    """Java jumps to groups of rows in all streams of a stripe: of nulls, dictionaries, lists and structs."""
    columns = (
        "id bigint, few string, all string, n decimal(20,3), ts timestamp, f float, b boolean, bin binary, "
        "st struct<x: int, y: string>, l array<struct<k: string>>, m map<int, string>, late int"
    )
    size = {"write.orc.compression-codec": codec, "write.orc.stripe-size-bytes": "1500000"}
    name = java.create("skipped", columns, properties=properties("orc", **size))
    count = 65_000
    made = java.spark.sql(
        "select id, concat('name ', id % 50) few, sha1(string(id)) all, "
        "if(id % 11 = 0, null, cast(id * 7.125 as decimal(20,3))) n, timestamp_seconds(id * 1000) ts, "
        "if(id % 13 < 2, null, cast(id / 3 as float)) f, id % 3 = 0 b, if(id % 17 = 5, null, unhex(hex(id))) bin, "
        "if(id % 5 = 0, null, named_struct('x', if(id % 7 = 0, null, int(id)), 'y', string(id % 9))) st, "
        "if(id % 19 = 0, null, transform(sequence(0, id % 3), i -> named_struct('k', string(i + id)))) l, "
        "if(id % 23 = 0, null, map(int(id), 'v', int(id + 1), null)) m, if(id > 40000, int(id), null) late "
        f"from range({count})"
    ).toArrow()
    table = fz.open_table(java.root(name)).append(made)
    [file] = java.metadata(name, "files", "split_offsets, file_size_in_bytes")
    assert len(file.split_offsets) > 1
    assert_same_rows(exact(made), java.read(name))
    for where in (
        "id between 23990 and 24010",
        "id in (3, 29999, 30000, 64999)",
        "late = 45000",
        "late is not null and id < 40010",
        "n > 455000.0 and id < 64001",
        "ts = timestamp'1971-05-20 15:06:40Z'",
        "st.x = 52001 or id = 5",
        "few = 'name 7' and id > 64000",
    ):
        kept = java.read(name, where)
        assert_same_rows(exact(table.scan(ours_of(where)).to_arrow()), kept, where)
        assert kept, where


def test_tables_of_frazils_own_types(java: Java) -> None:
    """Types that Spark does not make, and variants in Avro."""
    uuids = pa.array([bytes(range(16)), None], pa.binary(16))
    columns = {
        "u": pa.ExtensionArray.from_storage(pa.uuid(), uuids),
        "fixed": pa.array([b"abc", None], pa.binary(3)),
        "odd name/#": pa.array(["x", None]),
        "s t": pa.array([{"a-b": 1}, None], pa.struct([("a-b", pa.int32())])),
    }
    rows = pa.table(columns)
    catalog = fz.catalog("own", warehouse=str(java.warehouse))
    for format in FORMATS:
        name = java.fresh("own")
        table = catalog.create_table(f"{NAMESPACE}.{name}", rows.schema, properties=properties(format)).append(rows)
        read = java.sql(f"select * from ice.{NAMESPACE}.{name} order by fixed desc")
        assert [tuple(r) for r in read] == [
            ("00010203-0405-0607-0809-0a0b0c0d0e0f", b"abc", "x", (1,)),
            (None, None, None, None),
        ]
        assert table.scan().to_arrow().equals(rows)
    source = java.create("values", "id bigint, v variant", version=3)
    java.sql(
        f"insert into ice.{NAMESPACE}.{source} select id, v "
        "from values (1, parse_json('{\"a\": [1, null]}')), (3, null) as t(id, v)"
    )
    given = fz.open_table(java.root(source)).scan().to_arrow()
    name = java.create("variants", "id bigint, v variant", version=3, properties={"write.format.default": "avro"})
    table = fz.open_table(java.root(name)).append(given)
    read = java.sql(f"select id, to_json(v) from ice.{NAMESPACE}.{name} order by id")
    assert [tuple(r) for r in read] == [(1, '{"a":[1,null]}'), (3, None)]
    assert variant.to_python(table.scan("id = 1").to_arrow()["v"]) == [{"a": [1, None]}]
    table.set_properties({"write.format.default": "orc"})
    with pytest.raises(fz.UnsupportedError, match="variant can't be written to ORC"):
        table.append(given)
