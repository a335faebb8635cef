"""TestAlterTablePartitionFields."""

from __future__ import annotations

import datetime as dt
from typing import Any

from spark_scenarios.case import Check, Do, Mode, Scenario, Step, query

OF = "TestAlterTablePartitionFields"
MODES = (Mode("v1", "copy-on-write", 1), Mode("v2", "copy-on-write", 2))
WIDE = "id BIGINT NOT NULL, category STRING, ts TIMESTAMP, data STRING"
ALTER = "ALTER TABLE {main} "
VOID = "void"
Field = tuple[str, str, str]


def spec(id_: int, *fields: Field, first: tuple[Field, ...] = ()) -> Check:
    """The partition fields: name, transform and column. Version 1 keeps dropped fields (`first`) as void ones."""

    def check(run: Any) -> None:
        found = run.table.partition_spec
        seen = tuple((field.name, field.transform, field.column) for field in found.fields)
        expected = (*first, *fields) if run.mode.version == 1 else fields
        assert seen == expected, found
        if seen or run.mode.version == 1:
            assert found.id == id_, found

    return Check(check)


def ids(*numbers: int) -> Check:
    """The ids of the fields in version 2."""
    return Check(
        lambda run: run.mode.version == 1 or [field.field_id for field in run.table.partition_spec.fields] == [*numbers]
    )


def one(name: str, *steps: Step, columns: str = WIDE, **more: Any) -> Scenario:
    more.setdefault("modes", MODES)
    return Scenario(OF, name, steps, columns=columns, **more)


def _adds(name: str, term: str, field: Field) -> Scenario:
    return one(f"testAdd{name}Partition", spec(0), Do(f"{ALTER}ADD PARTITION FIELD {term}"), spec(1, field))


def _drops(name: str, columns: str, term: str, void: Field) -> Scenario:
    return one(
        f"testDrop{name}Partition",
        Check(lambda run: len(run.table.partition_spec.fields) == 1),
        Do(f"{ALTER}DROP PARTITION FIELD {term}"),
        spec(1, first=(void,)),
        columns=columns,
        partitioned=f"PARTITIONED BY ({term})",
    )


def _replaces(name: str, old: str | None, new: str | None) -> Scenario:
    """Days are replaced by hours."""
    day, hour = old or "ts_day", new or "ts_hour"
    named = f" AS {old}" if old else ""
    return one(
        name,
        Do(f"{ALTER}ADD PARTITION FIELD days(ts){named}"),
        spec(1, (day, "day", "ts")),
        Do(f"{ALTER}REPLACE PARTITION FIELD {old or 'days(ts)'} WITH hours(ts){f' AS {new}' if new else ''}"),
        spec(2, (hour, "hour", "ts"), first=((day, VOID, "ts"),)),
        ids(1001),
    )


def transforms(*expected: str) -> Check:
    """The transforms that are not void, in order."""

    def check(run: Any) -> None:
        fields = [field for field in run.table.partition_spec.fields if field.transform != VOID]
        assert [f"{field.transform} {field.column}" for field in fields] == [*expected]

    return Check(check)


def _dropped_column(version: int) -> Scenario:
    mode = MODES[version - 1]
    return one(
        f"testDropColumnOfOldPartitionFieldV{version}",
        Do(ALTER + "REPLACE PARTITION FIELD day_of_ts WITH days(ts)"),
        Do(ALTER + "DROP COLUMN day_of_ts"),
        Check(lambda run: run.table.schema.names == ["id", "ts"]),
        columns="id BIGINT NOT NULL, ts TIMESTAMP, day_of_ts DATE",
        partitioned="PARTITIONED BY (day_of_ts)",
        modes=(mode,),
    )


def _dropped_source(name: str, column: str, terms: tuple[str, ...], where: str, *left: tuple[Any, ...]) -> Scenario:
    """A partition field comes and goes, then its column goes."""
    steps: list[Step] = []
    insert = "INSERT INTO {{main}} VALUES ({0}000, TIMESTAMP_NTZ'2024-0{1}-01 19:25:00', 2{0}00)"
    for number, term in enumerate(terms):
        if number:
            steps += [Do("DROP TABLE {main}"), Check(lambda run: run.create())]
        steps += [
            Do(insert.format(1, 3)),
            Do(f"{ALTER}ADD PARTITION FIELD {term} AS col2_partition"),
            Do(insert.format(2, 4)),
            Do(f"{ALTER}DROP PARTITION FIELD col2_partition"),
            Do(insert.format(3, 5)),
            Do(f"{ALTER}DROP COLUMN {column}"),
            query(f"SELECT * FROM {{main}} WHERE {where}", *left),
        ]
    return one(name, *steps, columns="col_int INT, col_ts TIMESTAMP_NTZ, col_long BIGINT")


PARTITION_FIELDS = [
    _adds("Identity", "category", ("category", "identity", "category")),
    _adds("Bucket", "bucket(16, id)", ("id_bucket_16", "bucket[16]", "id")),
    _adds("Truncate", "truncate(data, 4)", ("data_trunc_4", "truncate[4]", "data")),
    *(
        _adds(f"{unit.capitalize()}{plural}", f"{unit}{plural}(ts)", (f"ts_{unit}", unit, "ts"))
        for plural in ("s", "")
        for unit in ("year", "month", "day", "hour")
    ),
    _adds("Named", "bucket(16, id) AS shard", ("shard", "bucket[16]", "id")),
    _drops("Identity", "id BIGINT NOT NULL, category STRING, data STRING", "category", ("category", VOID, "category")),
    _drops("Days", "id BIGINT NOT NULL, ts TIMESTAMP, data STRING", "days(ts)", ("ts_day", VOID, "ts")),
    _drops("Bucket", "id BIGINT NOT NULL, data STRING", "bucket(16, id)", ("id_bucket", VOID, "id")),
    one(
        "testDropPartitionByName",
        Do(ALTER + "ADD PARTITION FIELD bucket(16, id) AS shard"),
        spec(1, ("shard", "bucket[16]", "id")),
        Do(ALTER + "DROP  PARTITION \n FIELD shard"),
        spec(2, first=(("shard", VOID, "id"),)),
    ),
    _replaces("testReplacePartition", None, None),
    _replaces("testReplacePartitionAndRename", None, "hour_col"),
    _replaces("testReplaceNamedPartition", "day_col", None),
    _replaces("testReplaceNamedPartitionAndRenameDifferently", "day_col", "hour_col"),
    one(
        "testSparkTableAddDropPartitions",
        transforms(),
        Do(ALTER + "ADD PARTITION FIELD bucket(16, id) AS shard"),
        transforms("bucket[16] id"),
        Do(ALTER + "ADD PARTITION FIELD truncate(data, 4)"),
        transforms("bucket[16] id", "truncate[4] data"),
        Do(ALTER + "ADD PARTITION FIELD years(ts)"),
        transforms("bucket[16] id", "truncate[4] data", "year ts"),
        Do(ALTER + "DROP PARTITION FIELD years(ts)"),
        transforms("bucket[16] id", "truncate[4] data"),
        Do(ALTER + "DROP PARTITION FIELD truncate(4, data)"),
        transforms("bucket[16] id"),
        Do(ALTER + "DROP PARTITION FIELD shard"),
        Do("DESCRIBE {main}"),
        transforms(),
        columns="id BIGINT NOT NULL, ts TIMESTAMP, data STRING",
    ),
    _dropped_column(1),
    _dropped_column(2),
    _dropped_source(
        "testDropPartitionAndSourceColumnLong",
        "col_ts",
        ("col_ts", "year(col_ts)", "month(col_ts)", "day(col_ts)"),
        "col_long >= 2200",
        (2000, 2200),
        (3000, 2300),
    ),
    _dropped_source(
        "testDropPartitionAndSourceColumnTimestamp",
        "col_long",
        ("col_long", "truncate(2, col_long)", "bucket(16, col_long)"),
        "col_ts >= '2024-04-01 19:25:00'",
        (2000, dt.datetime(2024, 4, 1, 19, 25)),
        (3000, dt.datetime(2024, 5, 1, 19, 25)),
    ),
    one(
        "deleteAfterDroppingPartitionAndSourceColumn",
        Do("INSERT INTO {main} VALUES (1, 'data1')"),
        Do(ALTER + "ADD PARTITION FIELD data"),
        Do("INSERT INTO {main} VALUES (2, 'data2')"),
        Do(ALTER + "DROP PARTITION FIELD data"),
        Do("INSERT INTO {main} VALUES (3, 'data3')"),
        Do(ALTER + "DROP COLUMN data"),
        query("SELECT * FROM {main} WHERE id >= 1", (1,), (2,), (3,)),
        Do("DELETE FROM {main} WHERE id >= 1"),
        query("SELECT * FROM {main} WHERE id >= 1"),
        columns="id INT, data STRING",
    ),
    one(
        "testReaddColumnAfterIdentityPartitionDrop",
        Do(ALTER + "DROP PARTITION FIELD category"),
        Do(ALTER + "DROP COLUMN category"),
        Do(ALTER + "ADD COLUMN category STRING"),
        Do("INSERT INTO {main} (id, category, data) VALUES (1, 'books', 'a')"),
        query("SELECT id, category, data FROM {main}", (1, "books", "a")),
        columns="id BIGINT NOT NULL, category STRING, data STRING",
        partitioned="PARTITIONED BY (category)",
    ),
]
