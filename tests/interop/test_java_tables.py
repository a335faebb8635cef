"""Java Iceberg writes, Frazil reads: rows, filters, evolved schemas, versions. Spark's answer is the expected one."""

import datetime
import shutil
from pathlib import Path

import pytest
from java_side import NAMESPACE, Java, assert_same_rows, assert_whole, exact

import frazil as fz


def read(java: Java, table: str, where: str | None = None, **options: object) -> list[str]:
    return exact(fz.open_table(java.root(table)).scan(where, **options).to_arrow())


def assert_reads_alike(java: Java, table: str, filters: list[str] | list[tuple[str, str]]) -> None:
    """Compares the whole table and each filter; a pair is (Frazil's text, Spark's text).

    Spark filters the table's rows in memory: where Java Iceberg prunes, it loses rows that hold -0.0.
    """
    assert_same_rows(read(java, table), java.read(table), table)
    assert_whole(java.root(table))
    rows = java.in_memory(table)
    for pair in filters:
        ours, spark = (pair, pair) if isinstance(pair, str) else pair
        assert_same_rows(read(java, table, ours), exact(rows.where(spark).toArrow()), f"{table} where {ours}")


# ---------------------------------------------------------------- types

ALL_TYPES = """
    id int not null, b boolean, l bigint, f float, d double, d9 decimal(9,2), d18 decimal(18,4), d38 decimal(38,10),
    dt date, ts timestamp_ntz, tz timestamp, s string, bin binary,
    st struct<x: int, y: string, deep: struct<z: double>>, li array<int>,
    ls array<struct<k: string, v: bigint>>, m map<string, int>, mm map<int, array<string>>
"""
ALL_VALUES = """
    (1, true, 34, cast(1.5 as float), 2.5d, 14.20, 14.2000, 1234567890123456789012345678.0123456789,
     date'2017-11-16', timestamp_ntz'2017-11-16 22:31:08', timestamp'2017-11-16 22:31:08.000001Z', 'iceberg',
     x'00010203', named_struct('x', 1, 'y', 'a', 'deep', named_struct('z', 1.5d)), array(1, 2, 3),
     array(named_struct('k', 'a', 'v', 1L), null), map('a', 1, 'b', null), map(1, array('p', null), 2, array())),
    (2, false, -9223372036854775808, float('NaN'), double('NaN'), -0.01, -99999999999999.9999, -0.0000000001,
     date'0001-01-01', timestamp_ntz'1969-12-31 23:59:59.999999', timestamp'1960-06-15 12:30:00Z', '', x'',
     named_struct('x', null, 'y', '', 'deep', null), array(), array(), map(), map()),
    (3, null, 9223372036854775807, float('-Infinity'), double('Infinity'), 9999999.99, 0, 0,
     date'9999-12-31', timestamp_ntz'9999-12-31 23:59:59.999999', timestamp'9999-12-31 23:59:59.999999Z',
     'été 水 \\U0001F9CA', x'ff', null, array(null), null, map('', 0), map(-1, null)),
    (4, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
    (5, true, 0, float('-0.0'), double('-0.0'), 0, 0, 0, date'1970-01-01', timestamp_ntz'1970-01-01 00:00:00',
     timestamp'1970-01-01 00:00:00Z', 'a/b c=d%', x'7f80',
     named_struct('x', 9, 'y', 'z', 'deep', named_struct('z', null)),
     array(-2147483648, 2147483647), array(named_struct('k', null, 'v', null)), null, null)
"""


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_type(java: Java, version: int) -> None:
    table = java.create("types", ALL_TYPES, version=version)
    java.insert(table, ALL_VALUES)
    java.insert(table, ALL_VALUES)
    opened = fz.open_table(java.root(table))
    assert opened.format == "iceberg"
    assert opened.format_version == version
    assert [snapshot.id for snapshot in opened.snapshots] == java.snapshot_ids(table)
    assert_reads_alike(
        java,
        table,
        [
            "b = true",
            "b is null or l > 33",
            "d9 >= 0.00 and d38 <= 0",
            "d18 = -99999999999999.9999",
            "dt < '1970-01-01'",
            "dt between '1970-01-01' and '2017-11-16'",
            "ts = '1969-12-31T23:59:59.999999'",
            "tz >= '2017-11-16T22:31:08.000001Z'",
            "s in ('', 'iceberg')",
            "s not in ('', 'iceberg')",
            "s like 'ice%'",
            "bin = x'7f80'",
            "bin > x'00'",
            "st.x > 1",
            "st.x is null",
            "st.deep.z = 1.5",
            "st is null and id < 4",
            "not (b = true and l > 0)",
        ],
    )


@pytest.mark.parametrize("columns", [["id"], ["s", "d38"], ["m", "id"], ["li", "ls"]])
def test_selected_columns(java: Java, columns: list[str]) -> None:
    table = java.create("select", ALL_TYPES)
    java.insert(table, ALL_VALUES)
    assert_same_rows(read(java, table, select=columns), java.read(table, columns=", ".join(columns)))
    # a filter may use columns that the result does not have
    ours = read(java, table, "tz is not null and id > 1", select=columns)
    assert_same_rows(ours, java.read(table, "tz is not null and id > 1", columns=", ".join(columns)))


def test_selected_nested_field_keeps_its_struct(java: Java) -> None:
    table = java.create("select_nested", ALL_TYPES)
    java.insert(table, ALL_VALUES)
    ours = fz.open_table(java.root(table)).scan(select=["id", "st.x"]).to_arrow().to_pylist()
    theirs = {row.id: row.st for row in java.sql(f"select id, st from ice.{NAMESPACE}.{table}")}
    assert {row["id"]: row["st"] for row in ours} == {
        key: None if struct is None else {"x": struct.x} for key, struct in theirs.items()
    }


# ---------------------------------------------------------------- filters

NUMBERS = [
    "(1, 1.5d)",
    "(2, -1.5d)",
    "(3, 0.0d)",
    "(4, double('-0.0'))",
    "(5, double('NaN'))",
    "(6, double('Infinity'))",
    "(7, double('-Infinity'))",
    "(8, null)",
]


@pytest.mark.parametrize("kind", ["float", "double"])
@pytest.mark.parametrize("layout", ["one file", "a file per row", "identity partitions"])
def test_nan_zero_and_null(java: Java, kind: str, layout: str) -> None:
    table = java.create("nan", f"id int, x {kind}", "x" if layout == "identity partitions" else "")
    if layout == "a file per row":
        for row in NUMBERS:
            java.insert(table, row)
    else:
        java.insert(table, ", ".join(NUMBERS))
    values = ["0.0", "-0.0", "1.5", "-1.5", "'NaN'", "'Infinity'", "'-Infinity'"]
    comparisons = [f"x {operator} {value}" for operator in ("=", "!=", "<", "<=", ">", ">=") for value in values]
    assert_reads_alike(
        java,
        table,
        [
            *comparisons,
            *(f"not ({comparison})" for comparison in comparisons[::4]),
            "x in (0.0, 1.5)",
            "x not in (0.0, 1.5)",
            ("x in ('NaN', 1.5)", "x in (double('NaN'), 1.5d)"),
            "x between -0.0 and 1.5",
            "x is null",
            "x is not null",
            ("x is nan", "isnan(x)"),
            ("x is not nan", "not isnan(x)"),
            "x > 0 or id = 8",
            "not (x > 0 and id < 8)",
        ],
    )


def test_three_valued_logic(java: Java) -> None:
    table = java.create("logic", "id int, a int, b boolean, s string")
    java.insert(table, "(1, 1, true, 'a'), (2, null, false, null), (3, 3, null, ''), (4, null, null, 'ab')")
    java.insert(table, "(5, null, null, null), (6, null, null, null)")
    assert_reads_alike(
        java,
        table,
        [
            "a != 1",
            "not (a = 1)",
            "a = 1 or b = true",
            "not (a = 1 or b = true)",
            "a not in (1, 2)",
            "not (a in (1) and s = 'a')",
            "a is null and s is not null",
            "s != ''",
            "s not like 'a%'",
            "s like ''",
            "b = false or a > 2",
            "a in (1, 3) and not (s = 'a')",
            "a > 2147483647",
            "a < 3000000000",
        ],
    )


# ---------------------------------------------------------------- partitions

PARTITIONS: list[tuple[str, str, str, list[str]]] = [
    ("int", "p", "(1, 34), (2, -1), (3, 0), (4, null), (5, 2147483647)", ["p = 34", "p < 0", "p in (0, 34)"]),
    (
        "string",
        "p",
        "(1, 'ice'), (2, ''), (3, 'a/b c=d%&'), (4, null), (5, 'été')",
        ["p = ''", "p > 'a'", "p like 'a%'"],
    ),
    ("date", "p", "(1, date'1969-12-31'), (2, date'2017-11-16'), (3, null)", ["p = '1969-12-31'", "p > '1970-01-01'"]),
    ("boolean", "p", "(1, true), (2, false), (3, null)", ["p = true", "p != true", "p is null"]),
    ("decimal(9,2)", "p", "(1, 14.20), (2, -0.01), (3, null)", ["p = 14.20", "p < 0"]),
    ("binary", "p", "(1, x'00ff'), (2, x''), (3, null)", ["p = x'00ff'", "p >= x''"]),
    ("int", "bucket(4, p)", "(1, 34), (2, -1), (3, 0), (4, null), (5, 99)", ["p = 34", "p in (0, 99)", "p > 0"]),
    (
        "string",
        "bucket(4, p)",
        "(1, 'iceberg'), (2, ''), (3, null), (4, 'x')",
        ["p = 'iceberg'", "p is null", "p != 'x'"],
    ),
    ("decimal(9,2)", "bucket(4, p)", "(1, 14.20), (2, -0.01), (3, null)", ["p = -0.01", "p in (14.20)"]),
    ("bigint", "truncate(10, p)", "(1, 34), (2, -1), (3, -10), (4, -11), (5, null)", ["p = -1", "p < -10", "p > 30"]),
    (
        "string",
        "truncate(2, p)",
        "(1, 'iceberg'), (2, 'i'), (3, 'été水'), (4, null)",
        ["p = 'iceberg'", "p like 'ic%'", "p >= 'j'", "p not like 'ice%'"],
    ),
    ("decimal(9,2)", "truncate(50, p)", "(1, 10.65), (2, -10.65), (3, null)", ["p = 10.65", "p < 0"]),
    (
        "date",
        "year(p)",
        "(1, date'2017-11-16'), (2, date'1969-01-01'), (3, null)",
        ["p = '2017-11-16'", "p < '1970-01-01'"],
    ),
    (
        "date",
        "month(p)",
        "(1, date'2017-11-16'), (2, date'1969-12-31'), (3, null)",
        ["p >= '2017-11-01'", "p <= '1969-12-31'"],
    ),
    (
        "timestamp",
        "day(p)",
        "(1, timestamp'2017-11-16 22:31:08Z'), (2, timestamp'1969-12-31 23:59:59.999999Z'), (3, null)",
        ["p >= '2017-11-16T00:00:00Z'", "p < '1970-01-01T00:00:00Z'", "p = '1969-12-31T23:59:59.999999Z'"],
    ),
    (
        "timestamp_ntz",
        "hour(p)",
        "(1, timestamp_ntz'2017-11-16 22:31:08'), (2, timestamp_ntz'1969-12-31 23:00:00'), (3, null)",
        ["p > '2017-11-16T22:00:00'", "p <= '1969-12-31T23:00:00'"],
    ),
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("kind", "transform", "values", "filters"),
    PARTITIONS,
    ids=[f"{kind} {transform}" for kind, transform, *_ in PARTITIONS],
)
def test_partitions(java: Java, kind: str, transform: str, values: str, filters: list[str], version: int) -> None:
    table = java.create("part", f"id int, p {kind}", transform, version)
    java.insert(table, values)
    java.insert(table, values)
    assert_reads_alike(java, table, [*filters, "p is null", "p is not null", f"not ({filters[0]})"])
    # planning keeps every file that holds a matching row, and a filter that only one value passes leaves others out
    tasks = [task.data_file for task in fz.open_table(java.root(table)).scan(filters[0]).plan_files()]
    planned = {file.path.removeprefix("file:") for file in tasks}
    matching = java.sql(f"select distinct _file from ice.{NAMESPACE}.{table} where {filters[0]}")
    assert planned >= {row["_file"].removeprefix("file:") for row in matching}
    assert len(planned) < len(java.metadata(table, "files"))


def test_partition_values_of_tasks(java: Java) -> None:
    table = java.create("part_values", "id int, ts timestamp, s string", "days(ts), truncate(1, s), bucket(4, id)")
    java.insert(table, "(34, timestamp'2017-11-16 22:31:08Z', 'ice'), (1, timestamp'1969-12-31 23:00:00Z', null)")
    ours = {
        task.data_file.path.removeprefix("file:"): task.data_file.partition
        for task in fz.open_table(java.root(table)).scan().plan_files()
    }
    theirs = {row.file_path.removeprefix("file:"): row.partition for row in java.metadata(table, "files")}
    assert ours == {path: partition.asDict() for path, partition in theirs.items()}


def test_partition_evolution(java: Java) -> None:
    table = java.create("part_evolve", "id int, ts timestamp, s string", "s")
    java.insert(table, "(1, timestamp'2020-01-01 00:00:00Z', 'a'), (2, timestamp'2020-01-02 00:00:00Z', null)")
    java.alter(table, "add partition field days(ts)")
    java.insert(table, "(3, timestamp'2020-01-01 00:00:00Z', 'a'), (4, null, 'b')")
    java.alter(table, "drop partition field s")
    java.alter(table, "add partition field bucket(4, id)")
    java.insert(table, "(5, timestamp'2020-01-02 12:00:00Z', 'c')")
    filters = ["s = 'a'", "s is null", "ts >= '2020-01-02T00:00:00Z'", "id = 5", "s != 'a' and id > 1"]
    assert_reads_alike(java, table, filters)


# ---------------------------------------------------------------- schemas


def evolve(java: Java, version: int) -> str:
    """A table whose columns were added, dropped, renamed, reordered, widened and re-added under an old name."""
    table = java.create(
        "evolve", "id int, a int, b string, f float, d decimal(9,2), st struct<x: int, y: string>", version=version
    )
    java.insert(
        table,
        "(1, 10, 'old', cast(1.5 as float), 1.25, named_struct('x', 1, 'y', 'p')), (2, null, null, null, null, null)",
    )
    java.alter(table, "add column c string after id")
    java.alter(table, "alter column a type bigint")
    java.alter(table, "alter column f type double")
    java.alter(table, "alter column d type decimal(18,2)")
    java.insert(table, "(3, 'c', 3000000000, 'mid', 2.5d, 1234567890123.25, named_struct('x', 2, 'y', 'q'))")
    java.alter(table, "rename column a to renamed")
    java.alter(table, "drop column b")
    java.alter(table, "add column b string")
    java.alter(table, "alter column f first")
    java.alter(table, "add column st.z double")
    java.alter(table, "rename column st.y to why")
    java.alter(table, "drop column st.x")
    java.insert(table, "(3.5d, 4, 'd', 11, 1.50, named_struct('why', 'r', 'z', 9.5d), 'new')")
    return table


@pytest.mark.parametrize("version", [1, 2, 3])
def test_schema_evolution(java: Java, version: int) -> None:
    table = evolve(java, version)
    assert_reads_alike(
        java,
        table,
        [
            "renamed > 10",
            "renamed = 10",
            "b = 'old'",
            "b is null",
            "b = 'new'",
            "c is null",
            "f <= 2.5",
            "d > 1.25",
            "st.z is null",
            "st.why = 'p'",
            "st.why in ('q', 'r') and c is not null",
        ],
    )
    names = fz.open_table(java.root(table)).scan().to_arrow().column_names
    assert names == java.spark.table(f"ice.{NAMESPACE}.{table}").columns


def test_identity_partition_of_a_renamed_column(java: Java) -> None:
    table = java.create("part_renamed", "id int, p string", "p")
    java.insert(table, "(1, 'x'), (2, null)")
    java.alter(table, "rename column p to q")
    java.insert(table, "(3, 'y'), (4, null)")
    assert_reads_alike(java, table, ["q = 'x'", "q is null", "q != 'x'"])


# ---------------------------------------------------------------- versions


def test_time_travel(java: Java) -> None:
    table = java.create("travel", "id int, old string")
    java.insert(table, "(1, 'a')")
    java.alter(table, "create branch audit")
    java.alter(table, "create tag first")
    java.insert(table, "(2, 'b')")
    java.sql(f"insert into ice.{NAMESPACE}.{table}.branch_audit values (10, 'x')")
    java.alter(table, "rename column old to name")
    java.alter(table, "add column extra int")
    java.insert(table, "(3, 'c', 30)")

    opened = fz.open_table(java.root(table))
    for snapshot in java.snapshot_ids(table):
        ours = exact(opened.scan(at=snapshot).to_arrow())
        assert_same_rows(ours, java.read(table, version=f"version as of {snapshot}"), f"at {snapshot}")
    for name in ("audit", "first", "main"):
        ours = exact(opened.scan(at=name).to_arrow())
        assert_same_rows(ours, java.read(table, version=f"version as of '{name}'"), f"at {name}")
    for snapshot in opened.snapshots:
        if snapshot.id in {row.snapshot_id for row in java.metadata(table, "history")}:
            when = snapshot.timestamp
            assert when.tzinfo is not None
            ours = exact(opened.scan(at=when).to_arrow())
            clause = f"timestamp as of '{when.astimezone(datetime.UTC):%Y-%m-%d %H:%M:%S.%f}'"
            assert_same_rows(ours, java.read(table, version=clause), clause)
    with pytest.raises(fz.NotFoundError, match="nowhere"):
        opened.scan(at="nowhere").to_arrow()


def test_rewritten_and_overwritten_files(java: Java) -> None:
    """Copy-on-write row changes and rewritten manifests leave existing and deleted entries behind."""
    table = java.create("rewritten", "id int, s string", "truncate(1, s)")
    for start in range(0, 40, 10):
        java.insert(table, ", ".join(f"({n}, '{chr(97 + n % 3)}{n}')" for n in range(start, start + 10)))
    java.sql(f"delete from ice.{NAMESPACE}.{table} where id % 7 = 0")
    java.sql(f"update ice.{NAMESPACE}.{table} set s = concat(s, '!') where id > 30")
    java.sql(f"call ice.system.rewrite_manifests('{NAMESPACE}.{table}')")
    java.sql(f"insert overwrite ice.{NAMESPACE}.{table} select id, s from ice.{NAMESPACE}.{table} where s like 'b%'")
    java.sql(f"delete from ice.{NAMESPACE}.{table} where s like 'c%'")
    assert_reads_alike(java, table, ["id > 20", "s like 'a%'", "s = 'b10'"])
    opened = fz.open_table(java.root(table))
    assert opened.scan().count() == len(java.read(table))
    for snapshot in java.snapshot_ids(table):
        ours = exact(opened.scan(at=snapshot).to_arrow())
        assert_same_rows(ours, java.read(table, version=f"version as of {snapshot}"), f"at {snapshot}")


def test_empty_table(java: Java) -> None:
    table = java.create("empty", "id int, s string")
    opened = fz.open_table(java.root(table))
    assert opened.snapshot is None
    assert opened.scan("id > 1").to_arrow().schema.names == ["id", "s"]
    assert opened.scan().count() == 0
    java.insert(table, "(1, 'a')")
    java.sql(f"truncate table ice.{NAMESPACE}.{table}")
    assert opened.refresh().scan().count() == 0


# ---------------------------------------------------------------- files and folders


def test_gzipped_metadata(java: Java) -> None:
    table = java.create("gzip", "id int", properties={"write.metadata.compression-codec": "gzip"})
    java.insert(table, "(1), (2)")
    assert list(Path(java.root(table), "metadata").glob("v*.gz.metadata.json"))
    assert_reads_alike(java, table, ["id > 1"])


@pytest.mark.parametrize("hint", ["absent", "stale", "nonsense"])
def test_version_hint_is_only_a_hint(java: Java, hint: str) -> None:
    table = java.create("hint", "id int")
    java.insert(table, "(1)")
    java.insert(table, "(2)")
    expected = java.read(table)
    file = Path(java.root(table), "metadata", "version-hint.text")
    Path(file.parent, ".version-hint.text.crc").unlink(missing_ok=True)
    match hint:
        case "absent":
            file.unlink()
        case "stale":
            file.write_text("2")
        case _:
            file.write_text("??")
    assert_same_rows(read(java, table), expected, hint)


def test_one_metadata_file_is_one_version(java: Java) -> None:
    table = java.create("metadata_file", "id int")
    java.insert(table, "(1)")
    java.insert(table, "(2)")
    ours = fz.open_table(f"file:{java.root(table)}/metadata/v2.metadata.json").scan().to_arrow()
    assert ours.to_pylist() == [{"id": 1}]


def test_copied_table(java: Java, tmp_path: Path) -> None:
    table = java.create("moved", "id int, s string", "s")
    java.insert(table, "(1, 'a'), (2, null)")
    expected = java.read(table)
    shutil.copytree(java.root(table), tmp_path / "copy")
    shutil.rmtree(java.root(table))
    copied = fz.open_table(str(tmp_path / "copy"), moved=True)
    assert_same_rows(exact(copied.scan().to_arrow()), expected)


# ---------------------------------------------------------------- deletes


@pytest.mark.parametrize("version", [2, 3], ids=["position deletes", "deletion vectors"])
def test_merge_on_read(java: Java, version: int) -> None:
    modes = {f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")}
    # Many small row groups: positions go on counting where a row group is skipped.
    properties = {
        **modes,
        "write.parquet.row-group-size-bytes": "4096",
        "write.parquet.row-group-check-min-record-count": "50",
    }
    table = java.create("deletes", "id int, p int, s string", "p", version=version, properties=properties)
    name = f"ice.{NAMESPACE}.{table}"
    java.sql(f"insert into {name} select /*+ coalesce(1) */ id, id % 3, repeat(string(id), 5) from range(5000)")
    java.sql(f"delete from {name} where id in (3, 50, 4999) or id between 2000 and 2500")
    java.sql(f"insert into {name} select id, id % 3, string(id) from range(5000, 5100)")
    java.sql(f"update {name} set s = 'new' where id % 7 = 0")
    java.sql(
        f"merge into {name} t using (select id from range(4900, 5200)) u on t.id = u.id "
        "when matched and t.id % 2 = 0 then delete when not matched then insert (id, p, s) values (u.id, 0, 'merged')"
    )
    assert java.metadata(table, "delete_files")
    assert_reads_alike(
        java,
        table,
        ["id >= 4000", "id between 2400 and 2600", "s = 'new'", "p = 1 and id < 60", "id = 50", "s is null"],
    )
    scan = fz.open_table(java.root(table)).scan()
    assert scan.count() == len(java.read(table))
    assert scan.where("id < 2600").count() == len(java.read(table, "id < 2600"))
    splits = scan.select("s").plan(split_size_bytes=20_000)
    assert len(splits) > 3
    rows = [row for split in splits for row in exact(split.to_arrow_batch_reader().read_all())]
    assert_same_rows(sorted(rows), java.read(table, columns="s"))


# ---------------------------------------------------------------- Avro


def test_avro_with_deletes_in_avro(java: Java) -> None:
    modes = {f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")}
    properties = {**modes, "write.format.default": "avro", "write.delete.format.default": "avro"}
    columns = "id int, p int, s string, n decimal(9,2), t timestamp, l array<struct<x: int>>, m map<int, string>"
    table = java.create("avro", columns, "p", properties=properties)
    name = f"ice.{NAMESPACE}.{table}"
    java.sql(
        f"insert into {name} select /*+ coalesce(1) */ id, 0, repeat(string(id), 40), id / 4,"
        " timestamp_seconds(id), array(struct(id), null), map(id, 'v', 7 + id, null) from range(3000)"
    )
    java.sql(f"delete from {name} where id in (3, 50, 2999) or id between 1200 and 1300")
    java.alter(table, "rename column s to r")
    java.sql(f"update {name} set r = null where id % 7 = 0")
    scan = fz.open_table(java.root(table)).scan()
    assert {task.data_file.format for task in scan.plan_files()} == {"avro"}
    assert any(task.deletes for task in scan.plan_files())
    assert_same_rows(exact(scan.to_arrow()), java.read(table))
    where = "id > 1000 and r is not null and n < 600"
    assert_same_rows(exact(scan.where(where).to_arrow()), java.read(table, where))
    # Splits of one file: positions count from its start.
    splits = scan.select("id", "m").plan(split_size_bytes=12_000, open_file_cost_bytes=1)
    assert len(splits) > 3
    rows = [row for split in splits for row in exact(split.to_arrow_batch_reader().read_all())]
    assert_same_rows(sorted(rows), java.read(table, columns="id, m"))


def test_bloom_filters(java: Java) -> None:
    properties = {f"write.parquet.bloom-filter-enabled.column.{name}": "true" for name in ("id", "s", "d9", "u")}
    table = java.create("bloom", "id bigint, s string, d9 decimal(9,2), u string, f float", properties=properties)
    java.sql(
        f"insert into ice.{NAMESPACE}.{table} select /*+ coalesce(1) */ id * 2, concat('s', id % 500 * 2), id / 4,"
        " if(id % 3 = 0, null, string(id)), id from range(20000)"
    )
    filters = [
        "id = 20",
        "id = 21",
        "id in (1, 3, 9, 4)",
        "s = 's20' and id < 1000",
        "s = 's21'",
        "d9 = 2.25",
        "d9 = 2.26",
    ]
    assert_reads_alike(java, table, [(text, text) for text in [*filters, "u = '5' or u = 'x'", "u = '6'"]])


# ---------------------------------------------------------------- file formats


@pytest.mark.parametrize("codec", ["zlib", "snappy", "lz4", "zstd", "none"])
def test_orc(java: Java, codec: str) -> None:
    properties = {
        "write.format.default": "orc",
        "write.delete.format.default": "orc",
        "write.orc.compression-codec": codec,
        "write.delete.mode": "merge-on-read",
    }
    table = java.create(f"orc_{codec}", ALL_TYPES, properties=properties)
    java.insert(table, ALL_VALUES)
    name = f"ice.{NAMESPACE}.{table}"
    copies = f"select cast(t.id + 100 * (n + 1) as int), t.* except (id) from {name} t cross join range(300) as r(n)"
    java.sql(f"insert into {name} {copies}")
    java.sql(f"delete from {name} where d9 = 14.20 and id > 100")
    filters = ["id in (1, 2)", "s = 'iceberg'", "st.x is null", "l > 0 and b is null", "tz < '1970-01-01T00:00:00Z'"]
    assert_reads_alike(java, table, [(text, text.replace("T00:00:00Z", " 00:00:00Z")) for text in filters])
