"""Bloom filters in ORC files: bit for bit those of Java's writer, and Java's reader skips groups of rows by them."""

from typing import Any

import pytest
from java_side import NAMESPACE, Java, assert_same_rows, exact
from py4j.java_gateway import get_field

import frazil as fz

COLUMNS = (
    "l bigint, i int, f float, d double, s string, bin binary, dt date, ts timestamp_ntz, tz timestamp, "
    "d9 decimal(9,2), d38 decimal(38,10), b boolean, st struct<x: bigint, y: string>, li array<string>, "
    "not_asked bigint"
)
ASKED = "l, I,f,d,s,bin,dt,ts,tz,d9,d38,b,st.x,li,nothing"
COUNT = 24_000
# Unordered, so that least and greatest values rule out nothing; even numbers alone.
ROWS = f"""
    select n * 2 + 8000000000 as l, int(n * 2) i, cast(n / 8 as float) f, if(n % 7 = 0, double('nan'), n / -16) d,
    if(n % 11 = 0, null, concat('name ', n * 2, repeat('é', n % 9))) s, unhex(hex(n)) bin,
    date_add(date'1950-01-01', int(n * 2)) dt,
    timestamp_ntz'1999-01-01 00:00:00.000123' - make_dt_interval(0, 0, 0, n * 2 * 100.5) ts,
    timestamp_millis(n * 2000 - 9000000123) tz, cast(n * 2.5 - 9000 as decimal(9,2)) d9,
    cast(n * -1.0000000010 as decimal(38,10)) d38, n % 2 = 0 b,
    if(n % 5 = 0, null, named_struct('x', n * 2, 'y', string(n))) st,
    if(n % 4 = 0, null, array(string(n), string(n * 2))) li, n not_asked
    from (select (id * 7919) % {COUNT} n from range({COUNT}))
"""


class Orc:
    """A file, read by Java's ORC in Spark."""

    def __init__(self, java: Java, path: str) -> None:
        self.jvm: Any = java.spark._jvm
        self.gateway: Any = java.spark.sparkContext._gateway
        self.orc = self.jvm.org.apache.orc
        configuration = java.spark._jsc.hadoopConfiguration()
        path = self.jvm.org.apache.hadoop.fs.Path(path)
        self.reader = self.orc.OrcFile.createReader(
            path, self.orc.OrcFile.readerOptions(configuration).useUTCTimestamp(True)
        )

    def filters(self) -> list[list[dict[str, str]]]:
        """By stripe and column: the filters of all groups, or nothing."""
        columns = self.reader.getSchema().getMaximumId() + 1
        every = self.gateway.new_array(self.jvm.boolean, columns)
        for column in range(columns):
            every[column] = True
        rows, out = self.reader.rows(), []
        for stripe in range(self.reader.getStripes().size()):
            indexes = rows.readRowIndex(stripe, every, every).getBloomFilterIndex()
            found = [indexes[column] for column in range(columns)]
            out.append([[] if f is None else self.shown(f) for f in found])
        rows.close()
        return out

    @staticmethod
    def shown(index: Any) -> list[str]:
        groups = [index.getBloomFilter(i) for i in range(index.getBloomFilterCount())]
        # Columns that nothing is put into have filters in Java's files too.
        shown = [f"{f.getNumHashFunctions()} {f.getUtf8Bitset().toByteArray().hex()}" for f in groups]
        return [] if all(set(s.split()[1]) <= {"0"} for s in shown) else shown

    def read(self, column: str, kind: str, value: Any) -> int:
        """How many rows a reader that asks for a value has to look at."""
        sarg = self.jvm.org.apache.hadoop.hive.ql.io.sarg
        kind = getattr(self.jvm.org.apache.hadoop.hive.ql.io.sarg.PredicateLeaf.Type, kind)
        built = sarg.SearchArgumentFactory.newBuilder().startAnd().equals(column, kind, value).end().build()
        options = self.reader.options().searchArgument(built, None)
        rows, batch, count = self.reader.rows(options), self.reader.getSchema().createRowBatch(), 0
        while rows.nextBatch(batch):
            count += get_field(batch, "size")
        rows.close()
        return count


@pytest.mark.parametrize("fpp", ["", "0.0001"])
def test_filters_are_those_of_java(java: Java, fpp: str) -> None:
    properties = {"write.format.default": "orc", "write.orc.bloom.filter.columns": ASKED}
    if fpp:
        properties["write.orc.bloom.filter.fpp"] = fpp
    theirs, ours = (java.create("filtered", COLUMNS, properties=properties) for _ in range(2))
    made = java.spark.sql(ROWS)
    rows = made.toArrow()
    java.spark.createDataFrame(rows, made.schema).coalesce(1).writeTo(f"ice.{NAMESPACE}.{theirs}").append()
    table = fz.open_table(java.root(ours)).append(rows)
    assert_same_rows(java.read(ours), exact(rows))
    files = {}
    for name in (ours, theirs):
        [file] = java.metadata(name, "files", "file_path")
        files[name] = Orc(java, file.file_path)
    [own], [javas] = files[ours].filters(), files[theirs].filters()
    # Java has one of the lengths of lists, too, which no filter can ask about.
    assert [f for column, f in enumerate(own) if column != 16] == [f for column, f in enumerate(javas) if column != 16]
    with_filters = [column for column, filters in enumerate(own) if filters]
    # l to d38, not the boolean; x of the struct; of the list its elements; all three groups.
    assert with_filters == [*range(1, 12), 14, 17]
    assert all(len(filters) == 3 for filters in own if filters)
    if not fpp:
        return
    for file in files.values():
        assert file.read("l", "LONG", 8_000_000_000 + 4000) in (4_000, 10_000)
        assert file.read("l", "LONG", 8_000_000_000 + 4001) == 0
        assert file.read("s", "STRING", "name 20") < COUNT
        assert file.read("s", "STRING", "name 21") == 0
        assert file.read("st.x", "LONG", 8_000_000_001) == 0
        assert file.read("not_asked", "LONG", 8_000_000_001) in (0, COUNT)
    for where in (
        "l = 8000004000",
        "l in (8000004001, 8000004002)",
        "s = 'name 20'",
        "st.x = 48",
        "d9 = 2.5",
        "d9 = 2.51",
    ):
        kept = java.read(ours, where)
        assert_same_rows(exact(table.scan(where).to_arrow()), kept, where)
        assert_same_rows(java.read(theirs, where), kept, where)
