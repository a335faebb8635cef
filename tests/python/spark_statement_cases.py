"""The statements of the Spark pages of Iceberg's and Paimon's documentation, each with the table that it should leave.

`python tests/python/spark_statement_cases.py docs/guide/sql-statements.md` writes the page that lists them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DDL, WRITES, QUERIES, PROCEDURES = "DDL", "Writes", "Queries", "Procedures"
ICEBERG = "Iceberg"
OTHER = "Paimon"


@dataclass(frozen=True)
class After:
    """What a check sees: the catalog, the table that the statement names, and the rows of its answer."""

    catalog: Any
    table: Any
    rows: list[Any]
    ids: list[int]
    spark: Any

    def column(self, name: str) -> Any:
        """A column of the table."""
        return self.table.schema.field(name)

    @property
    def data(self) -> list[dict[str, Any]]:
        """The rows of the table, sorted by their first column."""
        first = self.table.schema.names[0]
        return sorted(self.table.scan().to_arrow().to_pylist(), key=lambda row: (row[first] is None, row[first]))

    def of(self, name: str) -> list[Any]:
        """The values of a column, in the order of the first column."""
        return [row[name] for row in self.data]


@dataclass(frozen=True)
class Case:
    """A statement.

    Attributes:
        format: Whose documentation it is from.
        page: The page.
        statement: Its text. `$1` and `$2` are the first and the second snapshot of the table, `$time` the time between.
        check: Whether the outcome is right; None if the statement is refused.
        before: Statements that come before it.
        table: The table that `check` sees.
        refused: Words of the message, if it is refused.
        remedy: What to do instead, for the page.
    """

    format: str
    page: str
    statement: str
    check: Callable[[After], object] | None = None
    before: tuple[str, ...] = ()
    table: str = "db.sample"
    refused: str = ""
    remedy: str = ""


def _ok(page: str, statement: str, check: Callable[[After], object], *before: str, table: str = "db.sample") -> Case:
    return Case(ICEBERG, page, statement, check, before, table)


def _no(page: str, statement: str, refused: str, remedy: str, *before: str) -> Case:
    return Case(ICEBERG, page, statement, None, before, "db.sample", refused, remedy)


def _key(page: str, statement: str, check: Callable[[After], object], *before: str, table: str = "db.t") -> Case:
    return Case(OTHER, page, statement, check, before, table)


def _key_no(page: str, statement: str, refused: str, remedy: str, *before: str) -> Case:
    return Case(OTHER, page, statement, None, before, "db.t", refused, remedy)


def _terms(table: Any) -> list[str]:
    return [str(field) for field in table.partition_spec.fields]


def _order(table: Any) -> list[str]:
    return [str(field) for field in table.sort_order.fields]


S = "prod.db.sample"
NEW = "prod.db.fresh"
OTHERS = "CREATE TABLE prod.db.others USING iceberg AS SELECT 2L AS id, 'zwei' AS data"
TWO_KEYS = "CREATE TABLE prod.db.two (id bigint NOT NULL, data string NOT NULL) USING iceberg"
BRANCH = f"ALTER TABLE {S} CREATE BRANCH `audit-branch`"
TAG = f"ALTER TABLE {S} CREATE TAG `historical-tag`"
STRUCTS = (
    f"ALTER TABLE {S} ADD COLUMNS (point struct<x: double, y: double>, points array<struct<x: double, y: double>>, "
    "m map<struct<x: int>, struct<a: int>>, measurement float)"
)

DDL_CASES = [
    _ok(
        DDL,
        f"CREATE TABLE {NEW} (id bigint NOT NULL COMMENT 'unique id', data string) USING iceberg",
        lambda a: (
            [(c.name, c.type, c.required, c.doc) for c in a.table.schema]
            == [("id", "long", True, "unique id"), ("data", "string", False, None)]
        ),
        table="db.fresh",
    ),
    _ok(
        DDL,
        f"CREATE TABLE {NEW} (id bigint, data string, category string) USING iceberg PARTITIONED BY (category)",
        lambda a: _terms(a.table) == ["category: category"],
        table="db.fresh",
    ),
    _ok(
        DDL,
        f"CREATE TABLE {NEW} (id bigint, data string, category string, ts timestamp) USING iceberg "
        "PARTITIONED BY (bucket(16, id), days(ts), category)",
        lambda a: _terms(a.table) == ["id_bucket: bucket(16, id)", "ts_day: day(ts)", "category: category"],
        table="db.fresh",
    ),
    _ok(
        DDL,
        f"CREATE TABLE {NEW} (i int, a timestamp, b timestamp, c timestamp, d timestamp, s string) USING iceberg "
        "PARTITIONED BY (year(a), month(b), date(c), date_hour(d), truncate(s, 4), truncate(10, i)) "
        "COMMENT 'about it' TBLPROPERTIES ('format-version'='3', 'k'='v')",
        lambda a: (
            [t.partition(": ")[2] for t in _terms(a.table)]
            == ["year(a)", "month(b)", "day(c)", "hour(d)", "truncate(4, s)", "truncate(10, i)"]
            and (a.table.format_version, a.table.properties["comment"], a.table.properties["k"]) == (3, "about it", "v")
        ),
        table="db.fresh",
    ),
    _ok(
        DDL,
        f"CREATE TABLE IF NOT EXISTS {S} (other int) USING iceberg",
        lambda a: a.table.schema.names == ["id", "data", "category", "ts"],
    ),
    _ok(
        DDL,
        f"CREATE TABLE {NEW} USING iceberg AS SELECT id, data FROM {S}",
        lambda a: a.of("data") == ["a", "b", "c"] and not a.table.partition_spec.fields,
        table="db.fresh",
    ),
    _ok(
        DDL,
        f"CREATE TABLE {NEW} USING iceberg PARTITIONED BY (category) TBLPROPERTIES ('key'='value') "
        f"AS SELECT id, category FROM {S}",
        lambda a: a.of("category") == ["x", "y", "x"] and a.table.properties["key"] == "value" and _terms(a.table),
        table="db.fresh",
    ),
    _ok(
        DDL,
        f"REPLACE TABLE {S} USING iceberg AS SELECT 7L AS seven",
        lambda a: a.of("seven") == [7] and len(a.table.snapshots) == 3,
    ),
    _ok(
        DDL,
        f"REPLACE TABLE {S} USING iceberg PARTITIONED BY (part) TBLPROPERTIES ('key'='value') AS SELECT 1 AS part",
        lambda a: _terms(a.table) == ["part: part"] and a.table.properties["key"] == "value",
    ),
    _ok(
        DDL,
        f"CREATE OR REPLACE TABLE {S} USING iceberg AS SELECT id + 1 AS id FROM {S}",
        lambda a: a.of("id") == [2, 3, 4],
    ),
    _ok(
        DDL,
        f"CREATE OR REPLACE TABLE {NEW} (id int) USING iceberg",
        lambda a: a.table.schema.names == ["id"],
        table="db.fresh",
    ),
    _ok(
        DDL,
        f"CREATE TABLE {NEW} LIKE {S}",
        lambda a: a.table.schema.names == ["id", "data", "category", "ts"] and a.data == [],
        table="db.fresh",
    ),
    _ok(DDL, f"DROP TABLE {S}", lambda a: not a.catalog.table_exists("db.sample"), table=""),
    _ok(DDL, f"DROP TABLE {S} PURGE", lambda a: not a.catalog.table_exists("db.sample"), table=""),
    _ok(DDL, "DROP TABLE IF EXISTS prod.db.nothing", lambda a: True, table=""),
    _ok(
        DDL,
        f"ALTER TABLE {S} RENAME TO prod.db.new_name",
        lambda a: a.of("id") == [1, 2, 3] and not a.catalog.table_exists("db.sample"),
        table="db.new_name",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} SET TBLPROPERTIES ('read.split.target-size'='268435456')",
        lambda a: a.table.properties["read.split.target-size"] == "268435456",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} UNSET TBLPROPERTIES ('read.split.target-size')",
        lambda a: "read.split.target-size" not in a.table.properties,
        f"ALTER TABLE {S} SET TBLPROPERTIES ('read.split.target-size'='268435456')",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} SET TBLPROPERTIES ('comment' = 'A table comment.')",
        lambda a: a.table.properties["comment"] == "A table comment.",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} ADD COLUMNS (new_column string comment 'new_column docs')",
        lambda a: (a.column("new_column").type, a.column("new_column").doc) == ("string", "new_column docs"),
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} ADD COLUMN point2 struct<x: double, y: double>",
        lambda a: [c.name for c in a.column("point2").children] == ["x", "y"],
    ),
    _ok(DDL, f"ALTER TABLE {S} ADD COLUMN point.z double", lambda a: a.column("point.z").type == "double", STRUCTS),
    _ok(
        DDL,
        f"ALTER TABLE {S} ADD COLUMN points.element.z double",
        lambda a: a.column("points.element.z").type == "double",
        STRUCTS,
    ),
    _ok(DDL, f"ALTER TABLE {S} ADD COLUMN m.value.b int", lambda a: a.column("m.value.b").type == "int", STRUCTS),
    _ok(
        DDL,
        f"ALTER TABLE {S} ADD COLUMN new_column bigint AFTER data",
        lambda a: a.table.schema.names == ["id", "data", "new_column", "category", "ts"],
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} ADD COLUMN point.new_column bigint FIRST",
        lambda a: [c.name for c in a.column("point").children] == ["new_column", "x", "y"],
        STRUCTS,
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} RENAME COLUMN data TO payload",
        lambda a: a.of("payload") == ["a", "b", "c"],
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} RENAME COLUMN point.x TO latitude",
        lambda a: [c.name for c in a.column("point").children] == ["latitude", "y"],
        STRUCTS,
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} ALTER COLUMN measurement TYPE double",
        lambda a: a.column("measurement").type == "double",
        STRUCTS,
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} ALTER COLUMN measurement TYPE double COMMENT 'unit is bytes per second'",
        lambda a: (a.column("measurement").type, a.column("measurement").doc) == ("double", "unit is bytes per second"),
        STRUCTS,
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} ALTER COLUMN measurement COMMENT 'unit is kilobytes per second'",
        lambda a: a.column("measurement").doc == "unit is kilobytes per second",
        STRUCTS,
    ),
    _ok(DDL, f"ALTER TABLE {S} ALTER COLUMN ts FIRST", lambda a: a.table.schema.names[0] == "ts"),
    _ok(
        DDL,
        f"ALTER TABLE {S} ALTER COLUMN point.x AFTER y",
        lambda a: [c.name for c in a.column("point").children] == ["y", "x"],
        STRUCTS,
    ),
    _ok(DDL, f"ALTER TABLE {S} ALTER COLUMN id DROP NOT NULL", lambda a: not a.column("id").required),
    _ok(DDL, f"ALTER TABLE {S} DROP COLUMN data", lambda a: a.table.schema.names == ["id", "category", "ts"]),
    _ok(
        DDL,
        f"ALTER TABLE {S} DROP COLUMN point.y",
        lambda a: [c.name for c in a.column("point").children] == ["x"],
        STRUCTS,
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} ADD PARTITION FIELD category -- identity transform",
        lambda a: _terms(a.table) == ["category: category"],
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} ADD PARTITION FIELD bucket(16, id)",
        lambda a: _terms(a.table) == ["id_bucket_16: bucket(16, id)"],
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} ADD PARTITION FIELD truncate(4, data)",
        lambda a: _terms(a.table) == ["data_trunc_4: truncate(4, data)"],
    ),
    _ok(DDL, f"ALTER TABLE {S} ADD PARTITION FIELD year(ts)", lambda a: _terms(a.table) == ["ts_year: year(ts)"]),
    _ok(
        DDL,
        f"ALTER TABLE {S} ADD PARTITION FIELD bucket(16, id) AS shard",
        lambda a: _terms(a.table) == ["shard: bucket(16, id)"],
    ),
    *[
        _ok(
            DDL,
            f"ALTER TABLE {S} DROP PARTITION FIELD {field}",
            lambda a: _terms(a.table) == [],
            f"ALTER TABLE {S} ADD PARTITION FIELD {added}",
        )
        for field, added in [
            ("category", "category"),
            ("bucket(16, id)", "bucket(16, id)"),
            ("truncate(4, data)", "truncate(4, data)"),
            ("year(ts)", "year(ts)"),
            ("shard", "bucket(16, id) AS shard"),
        ]
    ],
    _ok(
        DDL,
        f"ALTER TABLE {S} REPLACE PARTITION FIELD ts_day WITH hour(ts)",
        lambda a: _terms(a.table) == ["ts_hour: hour(ts)"],
        f"ALTER TABLE {S} ADD PARTITION FIELD days(ts)",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} REPLACE PARTITION FIELD ts_day WITH hour(ts) AS hour_of_ts",
        lambda a: _terms(a.table) == ["hour_of_ts: hour(ts)"],
        f"ALTER TABLE {S} ADD PARTITION FIELD days(ts)",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} WRITE ORDERED BY category, id",
        lambda a: (
            _order(a.table) == ["category asc nulls first", "id asc nulls first"]
            and a.table.properties["write.distribution-mode"] == "range"
        ),
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} WRITE ORDERED BY category ASC, id DESC",
        lambda a: _order(a.table) == ["category asc nulls first", "id desc nulls last"],
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} WRITE ORDERED BY category ASC NULLS LAST, id DESC NULLS FIRST",
        lambda a: _order(a.table) == ["category asc nulls last", "id desc nulls first"],
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} WRITE LOCALLY ORDERED BY category, id",
        lambda a: len(_order(a.table)) == 2 and a.table.properties["write.distribution-mode"] == "none",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} WRITE UNORDERED",
        lambda a: _order(a.table) == [] and a.table.properties["write.distribution-mode"] == "none",
        f"ALTER TABLE {S} WRITE ORDERED BY id",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} WRITE DISTRIBUTED BY PARTITION",
        lambda a: _order(a.table) == [] and a.table.properties["write.distribution-mode"] == "hash",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY category, id",
        lambda a: len(_order(a.table)) == 2 and a.table.properties["write.distribution-mode"] == "hash",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} SET IDENTIFIER FIELDS id",
        lambda a: a.table.schema._core.identifier_field_ids == [a.column("id").id],
    ),
    _ok(
        DDL,
        "ALTER TABLE prod.db.two SET IDENTIFIER FIELDS id, data",
        lambda a: len(a.table.schema._core.identifier_field_ids) == 2,
        TWO_KEYS,
        table="db.two",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} DROP IDENTIFIER FIELDS id",
        lambda a: a.table.schema._core.identifier_field_ids == [],
        f"ALTER TABLE {S} SET IDENTIFIER FIELDS id",
    ),
    _ok(
        DDL,
        "ALTER TABLE prod.db.two DROP IDENTIFIER FIELDS id, data",
        lambda a: a.table.schema._core.identifier_field_ids == [],
        TWO_KEYS,
        "ALTER TABLE prod.db.two SET IDENTIFIER FIELDS id, data",
        table="db.two",
    ),
    _ok(DDL, BRANCH, lambda a: a.table.refs["audit-branch"].snapshot_id == a.ids[1]),
    _ok(
        DDL,
        f"ALTER TABLE {S} CREATE BRANCH IF NOT EXISTS `audit-branch`",
        lambda a: a.table.refs["audit-branch"].snapshot_id == a.ids[0],
        f"ALTER TABLE {S} CREATE BRANCH `audit-branch` AS OF VERSION $1",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} CREATE OR REPLACE BRANCH `audit-branch`",
        lambda a: a.table.refs["audit-branch"].snapshot_id == a.ids[1],
        f"ALTER TABLE {S} CREATE BRANCH `audit-branch` AS OF VERSION $1",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} CREATE BRANCH `audit-branch` AS OF VERSION $1",
        lambda a: a.table.refs["audit-branch"].snapshot_id == a.ids[0],
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} CREATE BRANCH `audit-branch` AS OF VERSION $1 RETAIN 30 DAYS "
        "WITH SNAPSHOT RETENTION 3 SNAPSHOTS 2 DAYS",
        lambda a: tuple(a.table.refs["audit-branch"])[1:] == (a.ids[0], "branch", 3, 172_800_000, 2_592_000_000),
    ),
    _ok(DDL, TAG, lambda a: a.table.refs["historical-tag"].snapshot_id == a.ids[1]),
    _ok(
        DDL,
        f"ALTER TABLE {S} CREATE TAG IF NOT EXISTS `historical-tag`",
        lambda a: a.table.refs["historical-tag"].type == "tag",
        TAG,
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} CREATE OR REPLACE TAG `historical-tag`",
        lambda a: a.table.refs["historical-tag"].snapshot_id == a.ids[1],
        f"ALTER TABLE {S} CREATE TAG `historical-tag` AS OF VERSION $1",
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} CREATE TAG `historical-tag` AS OF VERSION $1",
        lambda a: a.table.refs["historical-tag"].snapshot_id == a.ids[0],
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} CREATE TAG `historical-tag` AS OF VERSION $1 RETAIN 365 DAYS",
        lambda a: a.table.refs["historical-tag"].max_ref_age_ms == 365 * 86_400_000,
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} REPLACE BRANCH `audit-branch` AS OF VERSION $1 RETAIN 60 DAYS",
        lambda a: (
            a.table.refs["audit-branch"].snapshot_id == a.ids[0]
            and a.table.refs["audit-branch"].max_ref_age_ms == 60 * 86_400_000
        ),
        BRANCH,
    ),
    _ok(
        DDL,
        f"ALTER TABLE {S} REPLACE TAG `historical-tag` AS OF VERSION $1 RETAIN 60 DAYS",
        lambda a: a.table.refs["historical-tag"].snapshot_id == a.ids[0],
        TAG,
    ),
    _ok(
        DDL, f"ALTER TABLE {S} DROP BRANCH `audit-branch`", lambda a: list(a.table.refs) == ["main"], BRANCH
    ),
    _ok(DDL, f"ALTER TABLE {S} DROP TAG `historical-tag`", lambda a: list(a.table.refs) == ["main"], TAG),
]

WRITE_CASES = [
    _ok(
        WRITES,
        f"INSERT INTO {S} VALUES (4, 'd', 'z', NULL), (5, 'e', 'z', TIMESTAMP '2024-01-05 00:00:00')",
        lambda a: a.of("data") == ["a", "b", "c", "d", "e"],
    ),
    _ok(
        WRITES,
        f"INSERT INTO {S} SELECT id + 10, data, category, ts FROM {S} WHERE id < 3",
        lambda a: a.of("id") == [1, 2, 3, 11, 12],
    ),
    _ok(
        WRITES,
        f"INSERT INTO {S} (data, id) SELECT 'd', 4",
        lambda a: (a.of("data")[3], a.of("category")[3]) == ("d", None),
    ),
    _ok(
        WRITES,
        f"INSERT INTO {S} BY NAME SELECT 'd' AS data, 4 AS id",
        lambda a: (a.of("id")[3], a.of("data")[3]) == (4, "d"),
    ),
    _ok(
        WRITES,
        f"INSERT INTO {S} REPLACE WHERE id = 2 SELECT 2L, 'new', 'y', NULL",
        lambda a: a.of("data") == ["a", "new", "c"],
    ),
    _ok(
        WRITES,
        f"MERGE INTO {S} t USING (SELECT * FROM VALUES (1L, 'delete', 'D'), (2L, 'increment', 'I'), (9L, 'new', 'N') "
        "AS v(id, op, data)) s ON t.id = s.id WHEN MATCHED AND s.op = 'delete' THEN DELETE "
        "WHEN MATCHED AND t.category IS NULL AND s.op = 'increment' THEN UPDATE SET t.data = '0' "
        "WHEN MATCHED AND s.op = 'increment' THEN UPDATE SET t.data = concat(t.data, s.data) "
        "WHEN NOT MATCHED AND s.op = 'new' THEN INSERT (id, data) VALUES (s.id, s.data) "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET category = 'invalid'",
        lambda a: (
            a.of("id") == [2, 3, 9] and a.of("data") == ["bI", "c", "N"] and a.of("category") == ["y", "invalid", None]
        ),
    ),
    _ok(
        WRITES,
        f"MERGE INTO {S} t USING prod.db.others s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.data = s.data "
        "WHEN NOT MATCHED THEN INSERT (id, data) VALUES (s.id, s.data)",
        lambda a: a.of("data") == ["a", "zwei", "c"],
        OTHERS,
    ),
    _ok(
        WRITES,
        f"MERGE INTO {S} t USING (SELECT id, data, category, ts FROM {S} WHERE id > 1) s ON t.id <=> s.id + 2 "
        "WHEN NOT MATCHED THEN INSERT *",
        lambda a: a.of("id") == [1, 2, 2, 3, 3],
    ),
    _ok(
        WRITES,
        f"INSERT OVERWRITE {S} SELECT id, first(data), first(category), first(ts) FROM {S} WHERE id > 1 GROUP BY id",
        lambda a: a.of("id") == [2, 3],
    ),
    _ok(
        WRITES,
        f"INSERT OVERWRITE {S} SELECT 8L, 'h', 'x', NULL -- spark.sql.sources.partitionOverwriteMode=dynamic",
        lambda a: a.of("id") == [2, 8],
        f"REPLACE TABLE {S} USING iceberg PARTITIONED BY (category) AS SELECT * FROM {S}",
        "SET spark.sql.sources.partitionOverwriteMode=dynamic",
    ),
    _ok(
        WRITES,
        f"INSERT OVERWRITE {S} PARTITION (category = 'x') SELECT 8L, 'h', NULL",
        lambda a: a.of("id") == [2, 8] and a.of("category") == ["y", "x"],
        f"REPLACE TABLE {S} USING iceberg PARTITIONED BY (category) AS SELECT * FROM {S}",
    ),
    _ok(
        WRITES,
        f"DELETE FROM {S} WHERE ts >= '2024-01-02 00:00:00' and ts < '2024-02-01 00:00:00'",
        lambda a: a.of("id") == [1, 3],
    ),
    _ok(
        WRITES,
        f"DELETE FROM {S} WHERE id < (SELECT min(id) FROM prod.db.others)",
        lambda a: a.of("id") == [2, 3],
        OTHERS,
    ),
    _ok(
        WRITES,
        f"DELETE FROM {S} AS t1 WHERE EXISTS (SELECT id FROM prod.db.others WHERE t1.id = id)",
        lambda a: a.of("id") == [1, 3],
        OTHERS,
    ),
    _ok(
        WRITES,
        f"UPDATE {S} SET data = 'update_c1', category = 'update_c2' "
        "WHERE ts >= '2024-01-02 00:00:00' and ts < '2024-02-01 00:00:00'",
        lambda a: a.of("data") == ["a", "update_c1", "c"] and a.of("category") == ["x", "update_c2", "x"],
    ),
    _ok(
        WRITES,
        f"UPDATE {S} SET data = concat(data, '!') WHERE id < (SELECT min(id) FROM prod.db.others)",
        lambda a: a.of("data") == ["a!", "b", "c"],
        OTHERS,
    ),
    _ok(
        WRITES,
        f"UPDATE {S} AS t1 SET category = 'returned' WHERE EXISTS (SELECT id FROM prod.db.others WHERE t1.id = id)",
        lambda a: a.of("category") == ["x", "returned", "x"],
        OTHERS,
    ),
    _ok(WRITES, f"TRUNCATE TABLE {S}", lambda a: a.data == []),
    _ok(
        WRITES,
        f"INSERT INTO {S}.`branch_audit-branch` VALUES (4, 'd', 'z', NULL)",
        lambda a: a.of("id") == [1, 2, 3] and a.table.scan(at="audit-branch").count() == 4,
        BRANCH,
    ),
    _ok(
        WRITES,
        f"MERGE INTO {S}.`branch_audit-branch` t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        lambda a: a.of("id") == [1, 2, 3] and a.table.scan(at="audit-branch").count() == 2,
        BRANCH,
    ),
    _ok(
        WRITES,
        f"UPDATE {S}.`branch_audit-branch` AS t1 SET data = 'c'",
        lambda a: a.of("data") == ["a", "b", "c"] and a.table.scan("data = 'c'", at="audit-branch").count() == 3,
        BRANCH,
    ),
    _ok(
        WRITES,
        f"DELETE FROM {S}.`branch_audit-branch` WHERE id = 2",
        lambda a: a.of("id") == [1, 2, 3] and a.table.scan(at="audit-branch").count() == 2,
        BRANCH,
    ),
    _ok(
        WRITES,
        f"INSERT INTO {S} VALUES (4, 'd', 'z', NULL) -- spark.wap.branch=audit-branch",
        lambda a: a.of("id") == [1, 2, 3] and a.table.scan(at="audit-branch").count() == 4,
        BRANCH,
        f"ALTER TABLE {S} SET TBLPROPERTIES ('write.wap.enabled'='true')",
        "SET spark.wap.branch=audit-branch",
    ),
    _ok(
        WRITES,
        f"ALTER TABLE {S} SET TBLPROPERTIES ('write.spark.accept-any-schema'='true')",
        lambda a: a.table.properties["write.spark.accept-any-schema"] == "true",
    ),
]


def _ids(expected: list[int]) -> Callable[[After], object]:
    return lambda a: sorted(row[0] for row in a.rows) == expected


def _query(statement: str, check: Callable[[After], object], *before: str) -> Case:
    return Case(ICEBERG, QUERIES, statement, check, before)


METADATA_TABLES = (
    "history metadata_log_entries snapshots entries files manifests partitions position_deletes all_data_files "
    "all_delete_files all_entries all_manifests refs"
).split()
# How many rows these tables have after two appends, the first with a file for two rows.
METADATA_ROWS = {"position_deletes": 0, "all_delete_files": 0, "metadata_log_entries": 3, "refs": 1, "partitions": 1}
METADATA_ROWS |= {"all_manifests": 3}

QUERY_CASES = [
    _query(f"SELECT * FROM {S}", _ids([1, 2, 3])),
    _query(f"SELECT * FROM {S}.files", lambda a: len(a.rows) == 2 and a.rows[0].file_format == "PARQUET"),
    _query(f"SELECT * FROM {S} TIMESTAMP AS OF '$time'", _ids([1, 2])),
    _query(f"SELECT * FROM {S} VERSION AS OF $1", _ids([1, 2])),
    _query(f"SELECT * FROM {S} VERSION AS OF 'audit-branch'", _ids([1, 2]), BRANCH + " AS OF VERSION $1"),
    _query(f"SELECT * FROM {S} VERSION AS OF 'historical-tag'", _ids([1, 2]), TAG + " AS OF VERSION $1"),
    _query(f"SELECT * FROM {S} FOR SYSTEM_TIME AS OF '$time'", _ids([1, 2])),
    _query(f"SELECT * FROM {S} FOR SYSTEM_VERSION AS OF $1", _ids([1, 2])),
    _query(f"SELECT * FROM {S} FOR SYSTEM_VERSION AS OF 'audit-branch'", _ids([1, 2, 3]), BRANCH),
    _query(f"SELECT * FROM {S} FOR SYSTEM_VERSION AS OF 'historical-tag'", _ids([1, 2, 3]), TAG),
    _query(f"SELECT * FROM {S} TIMESTAMP AS OF 4102444800", _ids([1, 2, 3])),
    _query(f"SELECT * FROM {S} FOR SYSTEM_TIME AS OF 4102444800", _ids([1, 2, 3])),
    _query(f"SELECT * FROM {S}.`branch_audit-branch`", _ids([1, 2]), BRANCH + " AS OF VERSION $1"),
    _query(f"SELECT * FROM {S}.`tag_historical-tag`", _ids([1, 2]), TAG + " AS OF VERSION $1"),
    _query(
        f"SELECT * FROM {S} VERSION AS OF $1 -- the schema of the snapshot",
        lambda a: list(a.rows[0].asDict()) == ["id", "data", "category", "ts"],
        f"ALTER TABLE {S} ADD COLUMN total DOUBLE",
    ),
    _query(
        f"SELECT * FROM {S}.`branch_audit-branch` -- the schema of the table",
        lambda a: list(a.rows[0].asDict()) == ["id", "data", "category", "ts", "total"],
        BRANCH,
        f"ALTER TABLE {S} ADD COLUMN total DOUBLE",
    ),
    *[
        _query(f"SELECT * FROM {S}.{name}", lambda a, n=METADATA_ROWS.get(name, 2): len(a.rows) == n)  # type: ignore[misc]
        for name in METADATA_TABLES
    ],
    _query(
        "select h.made_current_at, s.operation, h.snapshot_id, h.is_current_ancestor, s.summary['added-records'] "
        f"from {S}.history h join {S}.snapshots s on h.snapshot_id = s.snapshot_id order by made_current_at",
        lambda a: [tuple(row)[1:] for row in a.rows] == [("append", a.ids[0], True, "2"), ("append", a.ids[1], True, "1")],
    ),
    _query(f"SELECT * FROM {S}.manifests TIMESTAMP AS OF '$time'", lambda a: len(a.rows) == 1),
    _query(f"SELECT * FROM {S}.partitions VERSION AS OF $1", lambda a: a.rows[0].record_count == 2),
    _query(
        f"SELECT system.bucket(16, id), system.days(ts), prod.system.truncate(1, data) FROM {S} WHERE id = 1",
        lambda a: [str(value) for value in a.rows[0]] == ["4", "2024-01-01", "a"],
    ),
    Case(
        ICEBERG,
        QUERIES,
        "SELECT system.iceberg_version()",
        refused="iceberg_version",
        remedy="`fz.__version__`",
    ),
    _query(
        f"SELECT _change_type, id FROM {S}.changes",
        lambda a: sorted(map(tuple, a.rows)) == [("INSERT", 1), ("INSERT", 2), ("INSERT", 3)],
    ),
]


def _call(statement: str, check: Callable[[After], object], *before: str) -> Case:
    return Case(ICEBERG, PROCEDURES, statement, check, before)


def _call_no(statement: str, refused: str, remedy: str) -> Case:
    return Case(ICEBERG, PROCEDURES, statement, None, (), "db.sample", refused, remedy)


C = "CALL prod.system."
COMPACTED = f"CALL prod.system.rewrite_data_files(table => 'db.sample', options => map('rewrite-all', 'true'))"
PROCEDURE_CASES = [
    _call(f"{C}rollback_to_snapshot('db.sample', $1)", lambda a: tuple(a.rows[0]) == (a.ids[1], a.ids[0])),
    _call(
        f"{C}rollback_to_timestamp('db.sample', TIMESTAMP '$time')",
        lambda a: tuple(a.rows[0]) == (a.ids[1], a.ids[0]) and a.of("id") == [1, 2],
    ),
    _call(f"{C}set_current_snapshot('db.sample', $1)", lambda a: a.of("id") == [1, 2]),
    _call(
        f"{C}set_current_snapshot(table => 'db.sample', ref => 'historical-tag')",
        lambda a: a.of("id") == [1, 2],
        TAG + " AS OF VERSION $1",
    ),
    _call(
        f"{C}cherrypick_snapshot('db.sample', $2)",
        lambda a: a.rows[0].source_snapshot_id == a.ids[1] and a.of("id") == [1, 2, 3],
        f"{C}set_current_snapshot('db.sample', $1)",
    ),
    _call(
        f"{C}cherrypick_snapshot(snapshot_id => $2, table => 'db.sample')",
        lambda a: a.of("id") == [1, 2, 3],
        f"{C}set_current_snapshot('db.sample', $1)",
    ),
    *[
        _call(
            f"{C}publish_changes({arguments})",
            lambda a: a.of("id") == [1, 2, 3, 4] and a.rows[0].current_snapshot_id == a.table.snapshot.id,
            f"ALTER TABLE {S} SET TBLPROPERTIES ('write.wap.enabled'='true')",
            "SET spark.wap.id=wap_id_1",
            f"INSERT INTO {S} VALUES (4, 'd', 'z', NULL)",
        )
        for arguments in ("'db.sample', 'wap_id_1'", "wap_id => 'wap_id_1', table => 'db.sample'")
    ],
    _call(
        f"{C}fast_forward('db.sample', 'main', 'audit-branch')",
        lambda a: tuple(a.rows[0]) == ("main", a.ids[1], a.table.snapshot.id) and a.of("id") == [1, 2, 3, 4],
        BRANCH,
        f"INSERT INTO {S}.`branch_audit-branch` VALUES (4, 'd', 'z', NULL)",
    ),
    _call(
        f"{C}expire_snapshots('db.sample', TIMESTAMP '2100-01-01 00:00:00.000', 1)",
        lambda a: len(a.table.snapshots) == 1 and a.rows[0].deleted_manifest_lists_count == 1,
    ),
    _call(
        f"{C}expire_snapshots(table => 'db.sample', snapshot_ids => ARRAY($1))",
        lambda a: [s.id for s in a.table.snapshots] == [a.ids[1]],
    ),
    *[
        _call(f"{C}remove_orphan_files(table => 'db.sample', {argument})", lambda a: a.rows == [])
        for argument in (
            "dry_run => true",
            "prefix_mismatch_mode => 'IGNORE'",
            "prefix_mismatch_mode => 'DELETE'",
            "equal_schemes => map('file', 'file1')",
            "equal_authorities => map('ns1', 'ns2')",
            "prefix_listing => true",
        )
    ],
    _call(
        f"{C}remove_orphan_files(table => 'db.sample', location => '$place/data')",
        lambda a: a.rows == [],
    ),
    _call_no(
        f"{C}remove_orphan_files(table => 'db.sample', file_list_view => 'files_view')",
        "file_list_view can't be used",
        "without the argument: Frazil lists the files",
    ),
    _call(f"{C}rewrite_data_files('db.sample')", lambda a: a.rows[0].rewritten_data_files_count == 0),
    _call(
        f"{C}rewrite_data_files(table => 'db.sample', strategy => 'sort', "
        "sort_order => 'id DESC NULLS LAST,data ASC NULLS FIRST', options => map('rewrite-all', 'true'))",
        lambda a: tuple(a.rows[0])[:2] == (2, 1) and a.table.scan().to_arrow()["id"].to_pylist() == [3, 2, 1],
    ),
    _call(
        f"{C}rewrite_data_files(table => 'db.sample', strategy => 'sort', sort_order => 'zorder(id,data)', "
        "options => map('rewrite-all', 'true'))",
        lambda a: tuple(a.rows[0])[:2] == (2, 1) and a.of("id") == [1, 2, 3],
    ),
    _call(
        f"{C}rewrite_data_files(table => 'db.sample', "
        "options => map('min-input-files', '2', 'remove-dangling-deletes', 'true'))",
        lambda a: tuple(a.rows[0])[:2] == (2, 1) and a.of("id") == [1, 2, 3],
    ),
    _call(
        f"{C}rewrite_data_files(table => 'db.sample', where => 'id = 3 and data = \"c\"')",
        lambda a: a.rows[0].rewritten_data_files_count == 0,
    ),
    _call(f"{C}rewrite_manifests('db.sample')", lambda a: tuple(a.rows[0]) == (2, 1)),
    _call(f"{C}rewrite_manifests(table => 'db.sample', spec_id => 0)", lambda a: tuple(a.rows[0]) == (2, 1)),
    _call(
        f"{C}rewrite_manifests(table => 'db.sample', sort_by => array('category'))",
        lambda a: a.of("id") == [1, 2, 3],
        f"REPLACE TABLE {S} USING iceberg PARTITIONED BY (category) AS SELECT * FROM {S}",
    ),
    _call(f"{C}rewrite_position_delete_files('db.sample')", lambda a: tuple(a.rows[0]) == (0, 0, 0, 0)),
    *[
        _call(
            f"{C}rewrite_position_delete_files(table => 'db.sample', options => map({options}))",
            lambda a: a.rows[0].added_delete_files_count <= 1 and a.of("id") == [3],
            f"ALTER TABLE {S} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')",
            f"DELETE FROM {S} WHERE id = 1",
            f"INSERT INTO {S} VALUES (2, 'z', 'z', NULL)",
            f"DELETE FROM {S} WHERE id = 2",
        )
        for options in ("'rewrite-all', 'true'", "'min-input-files', '2'")
    ],
    _call(
        f"{C}snapshot('spark_source', 'db.fresh')",
        lambda a: a.rows[0].imported_files_count >= 1 and a.catalog.load_table("db.fresh").scan().count() == 3,
        "SET spark.sql.parquet.compression.codec=zstd",
        "CREATE TABLE spark_source USING parquet AS SELECT id FROM range(3)",
    ),
    _call(
        f"{C}snapshot('spark_source', 'db.fresh', '$place-fresh')",
        lambda a: a.catalog.load_table("db.fresh").location.endswith("-fresh"),
        "SET spark.sql.parquet.compression.codec=zstd",
        "CREATE TABLE spark_source USING parquet AS SELECT id FROM range(3)",
    ),
    _call_no(f"{C}migrate('spark_catalog.db.sample', map('foo', 'bar'))", "migrate can't be done", "`system.snapshot`, then drop the source"),
    _call_no(f"{C}migrate('db.sample')", "migrate can't be done", "`system.snapshot`, then drop the source"),
    _call(
        f"{C}add_files(table => 'db.fresh', source_table => 'spark_source', partition_filter => map('part', 'A'))",
        lambda a: a.rows[0].added_files_count >= 1 and a.catalog.load_table("db.fresh").scan().count() == 3,
        "SET spark.sql.parquet.compression.codec=zstd",
        "CREATE TABLE spark_source USING parquet PARTITIONED BY (part) AS "
        "SELECT id, if(id < 3, 'A', 'B') AS part FROM range(5)",
        f"CREATE TABLE {NEW} (id bigint, part string) PARTITIONED BY (part)",
    ),
    _call(
        f"{C}add_files(table => 'db.fresh', source_table => '`parquet`.`$place-files`')",
        lambda a: a.catalog.load_table("db.fresh").scan().count() == 3,
        "SET spark.sql.parquet.compression.codec=zstd",
        "INSERT OVERWRITE DIRECTORY '$place-files' USING parquet SELECT id FROM range(3)",
        f"CREATE TABLE {NEW} (id bigint)",
    ),
    _call(
        f"{C}register_table(table => 'db.registered', metadata_file => '$metadata')",
        lambda a: tuple(a.rows[0]) == (a.ids[1], 3, 2),
    ),
    _call(f"{C}ancestors_of('db.sample')", lambda a: [row.snapshot_id for row in a.rows] == a.ids[::-1]),
    _call(f"{C}ancestors_of('db.sample', $1)", lambda a: [row.snapshot_id for row in a.rows] == a.ids[:1]),
    _call(
        f"{C}ancestors_of(snapshot_id => $1, table => 'db.sample')",
        lambda a: [row.snapshot_id for row in a.rows] == a.ids[:1],
    ),
    _call(
        f"{C}create_changelog_view(table => 'db.sample', "
        "options => map('start-snapshot-id', '$1', 'end-snapshot-id', '$2'))",
        lambda a: [(r.id, r._change_type) for r in a.spark.table("sample_changes").collect()] == [(3, "INSERT")],
    ),
    _call(
        f"{C}create_changelog_view(table => 'db.sample', options => map('start-timestamp', '1678335750489', "
        "'end-timestamp', '4102444800000'), changelog_view => 'my_changelog_view')",
        lambda a: a.rows[0].changelog_view == "my_changelog_view" and a.spark.table("my_changelog_view").count() == 3,
    ),
    _call(
        f"{C}create_changelog_view(table => 'db.sample', options => map('start-snapshot-id', '$2'), "
        "identifier_columns => array('id'))",
        lambda a: (
            sorted((r._change_type, r.data) for r in a.spark.table("sample_changes").collect())
            == [("UPDATE_AFTER", "new"), ("UPDATE_BEFORE", "a")]
        ),
        f"UPDATE {S} SET data = 'new' WHERE id = 1",
    ),
    _call(
        f"{C}create_changelog_view(table => 'db.sample', net_changes => true)",
        lambda a: sorted(r.id for r in a.spark.table("sample_changes").collect()) == [2, 3],
        f"DELETE FROM {S} WHERE id = 1",
    ),
    _call(f"{C}compute_table_stats('db.sample')", lambda a: a.rows[0].statistics_file.endswith(".stats")),
    _call(
        f"{C}compute_table_stats(table => 'db.sample', snapshot_id => '$1')",
        lambda a: str(a.ids[0]) in a.rows[0].statistics_file,
    ),
    _call(
        f"{C}compute_table_stats(table => 'db.sample', snapshot_id => '$2', columns => array('id', 'data'))",
        lambda a: a.rows[0].statistics_file.endswith(".stats"),
    ),
    _call(f"{C}compute_partition_stats('db.sample')", lambda a: len(a.rows) == 1, _PARTITIONED := (
        f"REPLACE TABLE {S} USING iceberg PARTITIONED BY (category) AS SELECT * FROM {S}"
    )),
    _call(f"{C}compute_partition_stats(table => 'db.sample', snapshot_id => '$now')", lambda a: len(a.rows) == 1, _PARTITIONED),
    *[
        _call_no(
            f"{C}rewrite_table_path(table => 'db.sample', source_prefix => 'hdfs://nn/a', {rest})",
            "rewrite_table_path can't be done",
            "`fz.open_table(folder, moved=True)` reads a copy",
        )
        for rest in ("target_prefix => 's3a://b/c'", "target_prefix => 's3a://b/c', start_version => 'v2.metadata.json'")
    ],
]


# ---------------------------------------------------------------- Paimon

ALTER, SQL_DDL, SQL_WRITE, SQL_QUERY, AUXILIARY, DEFAULTS, FUNCTIONS = (
    "Altering Tables",
    "SQL DDL",
    "SQL Write",
    "SQL Query",
    "Auxiliary",
    "Default Value",
    "SQL Functions",
)
T = "lake.db.t"
APPEND = f"CREATE TABLE {T} (id INT, pt STRING) USING paimon PARTITIONED BY (pt)"
ROWS = f"INSERT INTO {T} VALUES (1, 'p1'), (2, 'p2')"
KEYED = f"CREATE TABLE {T} (k INT, v STRING) USING paimon TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')"
KEYED_ROWS = f"INSERT INTO {T} VALUES (1, 'Hi'), (2, 'Hello')"
NESTED = (
    f"CREATE TABLE {T} (v STRUCT<f1: STRING, f2: INT>, l ARRAY<STRUCT<f1: STRING, f2: INT>>, "
    "m MAP<INT, STRUCT<f1: STRING, f2: INT>>, c0 INT, a INT)"
)
SIMPLE = (APPEND, ROWS)


def _members(column: str) -> Callable[[After], list[tuple[str, str]]]:
    return lambda a: [(c.name, c.type) for c in a.column(column).children]


def _has(column: str, *expected: tuple[str, str]) -> Callable[[After], object]:
    return lambda a: _members(column)(a) == list(expected)


ALTER_CASES = [
    _key(
        ALTER,
        f"ALTER TABLE {T} SET TBLPROPERTIES ('write-buffer-size' = '256 MB')",
        lambda a: a.table.properties["write-buffer-size"] == "256 MB",
        *SIMPLE,
    ),
    _key(
        ALTER,
        f"ALTER TABLE {T} UNSET TBLPROPERTIES ('write-buffer-size')",
        lambda a: "write-buffer-size" not in a.table.properties,
        APPEND,
        f"ALTER TABLE {T} SET TBLPROPERTIES ('write-buffer-size' = '256 MB')",
    ),
    _key(
        ALTER,
        f"ALTER TABLE {T} SET TBLPROPERTIES ('comment' = 'table comment')",
        lambda a: a.table.properties.get("comment") == "table comment",
        APPEND,
    ),
    _key(
        ALTER,
        f"ALTER TABLE {T} UNSET TBLPROPERTIES ('comment')",
        lambda a: "comment" not in a.table.properties,
        APPEND,
        f"ALTER TABLE {T} SET TBLPROPERTIES ('comment' = 'table comment')",
    ),
    *[
        _key(ALTER, f"ALTER TABLE {T} RENAME TO {to}", lambda a: a.table.scan().count() == 2, *SIMPLE, table="db.new_t")
        for to in ("new_t", "db.new_t", "lake.db.new_t")
    ],
    _key(
        ALTER,
        f"ALTER TABLE {T} ADD COLUMNS (c1 INT, c2 STRING)",
        lambda a: a.table.schema.names == ["id", "pt", "c1", "c2"],
        *SIMPLE,
    ),
    *[
        _key(ALTER, f"ALTER TABLE {T} ADD COLUMN {path}.f3 STRING", lambda a, p=path: a.column(f"{p}.f3"), NESTED)  # type: ignore[misc]
        for path in ("v", "l.element", "m.value")
    ],
    _key(ALTER, f"ALTER TABLE {T} RENAME COLUMN c0 TO c1", lambda a: "c1" in a.table.schema, NESTED),
    *[
        _key(ALTER, f"ALTER TABLE {T} RENAME COLUMN {path}.f1 to f100", _has(path, ("f100", "string"), ("f2", "int")), NESTED)
        for path in ("v", "l.element", "m.value")
    ],
    _key(ALTER, f"ALTER TABLE {T} DROP COLUMNS (c0, a)", lambda a: a.table.schema.names == ["v", "l", "m"], NESTED),
    *[
        _key(ALTER, f"ALTER TABLE {T} DROP COLUMN {path}.f2", _has(path, ("f1", "string")), NESTED)
        for path in ("v", "l.element", "m.value")
    ],
    _key(
        ALTER,
        f"ALTER TABLE {T} DROP PARTITION (`pt` = 'p1')",
        lambda a: a.of("id") == [2],
        *SIMPLE,
    ),
    _key(ALTER, f"ALTER TABLE {T} ALTER COLUMN a COMMENT 'buy count'", lambda a: a.column("a").doc == "buy count", NESTED),
    _key(ALTER, f"ALTER TABLE {T} ADD COLUMN c INT FIRST", lambda a: a.table.schema.names[0] == "c", *SIMPLE),
    _key(ALTER, f"ALTER TABLE {T} ADD COLUMN c INT AFTER id", lambda a: a.table.schema.names[1] == "c", *SIMPLE),
    _key(ALTER, f"ALTER TABLE {T} ALTER COLUMN a FIRST", lambda a: a.table.schema.names[0] == "a", NESTED),
    _key(ALTER, f"ALTER TABLE {T} ALTER COLUMN a AFTER v", lambda a: a.table.schema.names[1] == "a", NESTED),
    _key(ALTER, f"ALTER TABLE {T} ALTER COLUMN a TYPE DOUBLE", lambda a: a.column("a").type == "double", NESTED),
    *[
        _key(ALTER, f"ALTER TABLE {T} ALTER COLUMN {path}.f2 TYPE BIGINT", _has(path, ("f1", "string"), ("f2", "long")), NESTED)
        for path in ("v", "l.element", "m.value")
    ],
    Case(
        OTHER,
        ALTER,
        "ALTER DATABASE lake.db SET DBPROPERTIES ('a' = 'b')",
        refused="properties",
        remedy="a catalog that keeps properties of namespaces: SQL or REST",
    ),
    Case(
        OTHER,
        ALTER,
        "ALTER DATABASE lake.db SET LOCATION 'file:/temp/my_database.db'",
        refused="properties",
        remedy="a catalog that keeps properties of namespaces: SQL or REST",
    ),
]

FULL = "(user_id BIGINT, item_id BIGINT, behavior STRING, dt STRING, hh STRING)"
MANY = (APPEND, ROWS, f"INSERT INTO {T} VALUES (3, 'p1')")


def _tag_case(statement: str, check: Callable[[After], object], *before: str) -> Case:
    return Case(OTHER, SQL_DDL, statement, check, (*MANY, *before), "db.t")


TAGGED = f"ALTER TABLE {T} CREATE TAG `TAG-1`"
SQL_DDL_CASES = [
    Case(OTHER, SQL_DDL, "USE lake.db", lambda a: a.spark.conf.get("spark.frazil.sql.current") == "lake.db", (), ""),
    _key(
        SQL_DDL,
        f"CREATE TABLE {T} {FULL} TBLPROPERTIES ('primary-key' = 'dt,hh,user_id')",
        lambda a: a.table.format == "paimon" and len(a.table.schema._core.identifier_field_ids) == 3,
    ),
    _key(
        SQL_DDL,
        f"CREATE TABLE {T} {FULL} PARTITIONED BY (dt, hh) TBLPROPERTIES ('primary-key' = 'dt,hh,user_id')",
        lambda a: [f.column for f in a.table.partition_spec.fields] == ["dt", "hh"],
    ),
    *[
        _key_no(SQL_DDL, statement, words, remedy, *SIMPLE)
        for statement, words, remedy in [
            (f"ALTER TABLE {T} ADD PARTITION (pt='p9')", "ADD PARTITION", "INSERT: partitions are in the metadata"),
            (f"MSCK REPAIR TABLE {T}", "MSCK REPAIR", "not needed: partitions are in the metadata"),
            (f"ANALYZE TABLE {T} PARTITION (pt='p1') COMPUTE STATISTICS NOSCAN", "statistics", "`scan.statistics()`"),
        ]
    ],
    _key(SQL_DDL, f"SHOW PARTITIONS {T}", lambda a: [r[0] for r in a.rows] == ["pt=p1", "pt=p2"], *SIMPLE),
    Case(
        OTHER,
        SQL_DDL,
        f"CREATE TABLE {T} {FULL} LOCATION '/path/to/table'",
        refused="location",
        remedy="without LOCATION: a file-system catalog decides",
    ),
    _key(
        SQL_DDL,
        f"CREATE TABLE {T} AS SELECT 1 AS user_id, 2 AS item_id",
        lambda a: a.of("item_id") == [2] and a.table.format == "paimon",
    ),
    _key(
        SQL_DDL,
        f"CREATE TABLE {T} PARTITIONED BY (dt) AS SELECT 1 AS id, '2025' AS dt",
        lambda a: [f.column for f in a.table.partition_spec.fields] == ["dt"] and a.of("id") == [1],
    ),
    _key(
        SQL_DDL,
        f"CREATE TABLE {T} TBLPROPERTIES ('file.format' = 'orc') AS SELECT 1 AS id",
        lambda a: a.table.properties["file.format"] == "orc" and a.of("id") == [1],
    ),
    _key(
        SQL_DDL,
        f"CREATE TABLE {T} TBLPROPERTIES ('primary-key' = 'dt') AS SELECT 1 AS id, '2025' AS dt",
        lambda a: a.table.schema._core.identifier_field_ids == [a.column("dt").id],
    ),
    _key(
        SQL_DDL,
        f"CREATE TABLE {T} PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'dt,hh') "
        "AS SELECT 1 AS id, '2025' AS dt, '01' AS hh",
        lambda a: len(a.table.schema._core.identifier_field_ids) == 2 and a.of("id") == [1],
    ),
    Case(
        OTHER,
        SQL_DDL,
        f"REPLACE TABLE {T} (user_id BIGINT, category STRING) TBLPROPERTIES ('primary-key' = 'user_id')",
        before=(KEYED,),
        refused="replace",
        remedy="DROP TABLE and CREATE TABLE",
    ),
    Case(
        OTHER,
        SQL_DDL,
        f"CREATE OR REPLACE TABLE {T} TBLPROPERTIES ('primary-key' = 'k') AS SELECT 1 AS k",
        before=(KEYED,),
        refused="replace",
        remedy="DROP TABLE and CREATE TABLE",
    ),
    _key(
        SQL_DDL,
        f"CREATE TABLE lake.db.like LIKE {T}",
        lambda a: a.table.schema.names == ["k", "v"] and a.table.properties["bucket"] == "2" and a.data == [],
        KEYED,
        table="db.like",
    ),
    Case(OTHER, SQL_DDL, f"CREATE VIEW lake.db.v1 AS SELECT * FROM {T}", None, SIMPLE, "", "view", "CREATE TEMPORARY VIEW, or a REST catalog"),
    _key(
        SQL_DDL,
        f"CREATE OR REPLACE TEMPORARY VIEW tv1 AS SELECT * FROM {T}",
        lambda a: a.spark.table("tv1").count() == 2,
        *SIMPLE,
    ),
    Case(OTHER, SQL_DDL, "DROP VIEW lake.db.v1", None, (), "", "view", "DROP VIEW of a temporary view, or a REST catalog"),
    _tag_case(TAGGED, lambda a: a.table.refs["TAG-1"].snapshot_id == 2),
    _tag_case(f"ALTER TABLE {T} CREATE TAG IF NOT EXISTS `TAG-1`", lambda a: "TAG-1" in a.table.refs, TAGGED),
    _tag_case(
        f"ALTER TABLE {T} CREATE TAG `TAG-2` RETAIN 7 DAYS",
        lambda a: a.table.refs["TAG-2"].max_ref_age_ms == 7 * 86_400_000,
    ),
    _tag_case(f"ALTER TABLE {T} CREATE TAG `TAG-3` AS OF VERSION 1", lambda a: a.table.refs["TAG-3"].snapshot_id == 1),
    _tag_case(
        f"ALTER TABLE {T} CREATE TAG `TAG-4` AS OF VERSION 2 RETAIN 12 HOURS",
        lambda a: a.table.refs["TAG-4"].max_ref_age_ms == 12 * 3_600_000,
    ),
    _tag_case(
        f"ALTER TABLE {T} REPLACE TAG `TAG-1` AS OF VERSION 1 RETAIN 24 HOURS",
        lambda a: a.table.refs["TAG-1"].snapshot_id == 1,
        TAGGED,
    ),
    _tag_case(
        f"ALTER TABLE {T} CREATE OR REPLACE TAG `TAG-5` AS OF VERSION 2 RETAIN 24 HOURS",
        lambda a: a.table.refs["TAG-5"].snapshot_id == 2,
    ),
    _tag_case(f"ALTER TABLE {T} DELETE TAG `TAG-1`", lambda a: "TAG-1" not in a.table.refs, TAGGED),
    _tag_case(f"ALTER TABLE {T} DELETE TAG IF EXISTS `TAG-1`", lambda a: True),
    _tag_case(
        f"ALTER TABLE {T} DELETE TAG `TAG-1,TAG-2`",
        lambda a: "TAG-1" not in a.table.refs,
        TAGGED,
        f"ALTER TABLE {T} CREATE TAG `TAG-2`",
    ),
    _tag_case(f"ALTER TABLE {T} RENAME TAG `TAG-1` TO `TAG-2`", lambda a: "TAG-2" in a.table.refs, TAGGED),
    _tag_case(f"SHOW TAGS {T}", lambda a: [row[0] for row in a.rows] == ["TAG-1"], TAGGED),
]
TARGET = f"CREATE TABLE {T} (a INT, b DOUBLE, c STRING)"
TARGET_ROWS = f"INSERT INTO {T} VALUES (1, 1.0, 'c1'), (5, 5.0, 'c5')"
SOURCE = "(SELECT * FROM VALUES (1, 10.0D, 'c3'), (5, 50.0D, 'c1'), (9, 90.0D, 'c99') AS v(a, b, c))"
TYPED = f"CREATE TABLE {T} (id INT, s STRUCT<c1: INT, c2: STRING>, name STRING) TBLPROPERTIES ('primary-key' = 'id')"
DYNAMIC = "SET spark.sql.sources.partitionOverwriteMode=dynamic"
COPIES = [
    ("COPY INTO lake.db.t FROM '/data/csv_files/' FILE_FORMAT = (TYPE = CSV)", "`spark.read`, then INSERT … SELECT"),
    ("COPY INTO '/export/a/' FROM lake.db.t FILE_FORMAT = (TYPE = JSON)", "`fz.spark.sql('SELECT …').write`"),
]
SQL_WRITE_CASES = [
    _key(SQL_WRITE, f"INSERT INTO {T} SELECT 3, 'p3'", lambda a: a.of("id") == [1, 2, 3], *SIMPLE),
    _key(SQL_WRITE, f"INSERT OVERWRITE {T} SELECT 3, 'p1'", lambda a: a.of("id") == [3], *SIMPLE),
    _key(SQL_WRITE, f"INSERT OVERWRITE {T} VALUES (3, 'p1')", lambda a: a.of("id") == [3], *SIMPLE),
    _key(SQL_WRITE, f"INSERT OVERWRITE {T} PARTITION (pt) VALUES (3, 'p1')", lambda a: a.of("id") == [3], *SIMPLE),
    _key(SQL_WRITE, f"INSERT OVERWRITE {T} PARTITION (pt='p1') VALUES (3)", lambda a: a.of("id") == [2, 3], *SIMPLE),
    _key(
        SQL_WRITE,
        f"INSERT OVERWRITE {T} VALUES (4, 'p1') -- spark.sql.sources.partitionOverwriteMode=dynamic",
        lambda a: a.of("id") == [2, 4],
        *SIMPLE,
        DYNAMIC,
    ),
    _key(SQL_WRITE, f"TRUNCATE TABLE {T}", lambda a: a.data == [], *SIMPLE),
    _key(SQL_WRITE, f"TRUNCATE TABLE {T} PARTITION (pt = 'p1')", lambda a: a.of("id") == [2], *SIMPLE),
    _key(SQL_WRITE, f"UPDATE {T} SET v = 'a_new' WHERE k = 1", lambda a: a.of("v") == ["a_new", "Hello"], KEYED, KEYED_ROWS),
    _key(
        SQL_WRITE,
        f"UPDATE {T} SET s.c2 = 'a_new' WHERE s.c1 = 1",
        lambda a: a.of("s") == [{"c1": 1, "c2": "a_new"}],
        TYPED,
        f"INSERT INTO {T} VALUES (7, named_struct('c1', 1, 'c2', 'x'), 'n')",
    ),
    _key(SQL_WRITE, f"DELETE FROM {T} WHERE k = 1", lambda a: a.of("k") == [2], KEYED, KEYED_ROWS),
    _key(
        SQL_WRITE,
        f"MERGE INTO {T} USING (SELECT 2 AS k, 'zwei' AS v UNION ALL SELECT 3, 'drei') source ON t.k = source.k "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        lambda a: a.of("v") == ["Hi", "zwei", "drei"],
        KEYED,
        KEYED_ROWS,
    ),
    _key(
        SQL_WRITE,
        f"MERGE INTO {T} target USING {SOURCE} source ON target.a = source.a "
        "WHEN MATCHED AND target.a = 5 THEN UPDATE SET b = source.b + target.b "
        "WHEN MATCHED AND source.c > 'c2' THEN UPDATE SET * WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED AND c > 'c9' THEN INSERT (a, b, c) VALUES (a, b * 1.1, c) WHEN NOT MATCHED THEN INSERT *",
        lambda a: a.of("a") == [1, 5, 9] and [round(b, 6) for b in a.of("b")] == [10.0, 55.0, 99.0],
        TARGET,
        TARGET_ROWS,
    ),
    _key(
        SQL_WRITE,
        f"INSERT INTO {T} BY NAME SELECT 3 AS a, 3 AS c2 -- spark.paimon.write.merge-schema=true",
        lambda a: a.of("c2") == [None, 3, None] and a.table.schema.names == ["a", "b", "c", "c2"],
        TARGET,
        TARGET_ROWS,
        "SET spark.paimon.write.merge-schema=true",
    ),
    *[_key_no(SQL_WRITE, statement, "COPY INTO", remedy, APPEND) for statement, remedy in COPIES],
]
SQL_QUERY_CASES = [
    _key(SQL_QUERY, f"SELECT * FROM {T}", _ids([1, 2]), *SIMPLE),
    _key(SQL_QUERY, f"SELECT * FROM {T} VERSION AS OF 1", _ids([1, 2]), *MANY),
    _key(SQL_QUERY, f"SELECT * FROM {T} TIMESTAMP AS OF '2100-01-01 00:00:00.123'", _ids([1, 2, 3]), *MANY),
    _key(SQL_QUERY, f"SELECT * FROM {T} TIMESTAMP AS OF 4102444800", _ids([1, 2, 3]), *MANY),
    _key(SQL_QUERY, f"SELECT * FROM {T} VERSION AS OF 'my-tag'", _ids([1, 2, 3]), *MANY, f"ALTER TABLE {T} CREATE TAG `my-tag`"),
    _key(SQL_QUERY, "SELECT * FROM paimon_incremental_query('lake.db.t', 1, 2)", _ids([3]), *MANY),
    _key(
        SQL_QUERY,
        "SELECT * FROM paimon_incremental_between_timestamp('lake.db.t', '1692169000000', '4102444800000')",
        _ids([1, 2, 3]),
        *MANY,
    ),
    _key(
        SQL_QUERY,
        "SELECT * FROM paimon_incremental_between_timestamp('lake.db.t', '2025-03-12 00:00:00', '2100-03-12 00:08:00')",
        _ids([1, 2, 3]),
        *MANY,
    ),
    _key_no(
        SQL_QUERY,
        "SELECT * FROM paimon_incremental_to_auto_tag('lake.db.t', '2024-12-04')",
        "paimon_incremental_to_auto_tag can't be read",
        "`paimon_incremental_query` between two tags",
        *MANY,
    ),
    _key(SQL_QUERY, f"SELECT * FROM {T} WHERE k=1", _ids([1]), KEYED, KEYED_ROWS),
    _key(SQL_QUERY, f"SELECT * FROM {T} WHERE k>1 AND v<'I'", _ids([2]), KEYED, KEYED_ROWS),
    _key(SQL_QUERY, "SELECT * FROM lake.db.`t$files`", lambda a: len(a.rows) == 2, *SIMPLE),
    _key(SQL_QUERY, "SELECT * FROM lake.db.`t$snapshots`", lambda a: len(a.rows) == 2, *MANY),
    _key(SQL_QUERY, "SELECT * FROM lake.db.`t$schemas`", lambda a: len(a.rows) == 1, *SIMPLE),
    _key(SQL_QUERY, "SELECT * FROM lake.db.`t$audit_log`", lambda a: [r.rowkind for r in a.rows] == ["+I", "+I"], *SIMPLE),
    _key(SQL_QUERY, "SELECT * FROM lake.db.`t$ro`", _ids([1, 2]), *SIMPLE),
]
AUXILIARY_CASES = [
    _key(AUXILIARY, f"DESCRIBE TABLE {T}", lambda a: [tuple(r)[:2] for r in a.rows[:2]] == [("id", "int"), ("pt", "string")], APPEND),
    _key(AUXILIARY, f"DESCRIBE TABLE EXTENDED {T}", lambda a: ("Provider", "paimon", "") in map(tuple, a.rows), APPEND),
    _key(AUXILIARY, f"SHOW CREATE TABLE {T}", lambda a: "USING paimon\nPARTITIONED BY (pt)" in a.rows[0][0], APPEND),
    _key(AUXILIARY, f"SHOW COLUMNS FROM {T}", lambda a: [r[0] for r in a.rows] == ["id", "pt"], APPEND),
    _key(AUXILIARY, f"SHOW PARTITIONS {T} PARTITION (pt='p2')", lambda a: [r[0] for r in a.rows] == ["pt=p2"], *SIMPLE),
    _key(AUXILIARY, "SHOW TABLE EXTENDED IN lake.db LIKE 't*'", lambda a: [r.tableName for r in a.rows] == ["t"], APPEND),
    _key(
        AUXILIARY,
        "SHOW TABLE EXTENDED IN lake.db LIKE 't' PARTITION(pt = 'p1')",
        lambda a: "[pt=p1]" in a.rows[0].information,
        *SIMPLE,
    ),
    _key(AUXILIARY, "SHOW VIEWS IN lake.db LIKE 'test*'", lambda a: a.rows == [], APPEND),
    *[
        _key_no(AUXILIARY, f"ANALYZE TABLE {T} COMPUTE STATISTICS{rest}", "can't be stored", "`scan.statistics()`", APPEND)
        for rest in ("", " FOR COLUMNS id", " FOR ALL COLUMNS")
    ],
    _key(AUXILIARY, f"REFRESH TABLE {T}", lambda a: True, APPEND),
    Case(OTHER, AUXILIARY, "SET spark.sql.sources.partitionOverwriteMode=dynamic", lambda a: len(a.rows) == 1, (), ""),
    Case(OTHER, AUXILIARY, "RESET spark.sql.sources.partitionOverwriteMode", lambda a: True, (DYNAMIC,), ""),
]
DEFAULT_CASES = [
    _key(
        DEFAULTS,
        f"CREATE TABLE {T} (a BIGINT, b STRING DEFAULT 'my_value', c INT DEFAULT 5)",
        lambda a: a.table.schema.names == ["a", "b", "c"],
    ),
    _key(
        DEFAULTS,
        f"INSERT INTO {T} (a) VALUES (1), (2)",
        lambda a: a.of("b") == ["my_value", "my_value"] and a.of("c") == [5, 5],
        f"CREATE TABLE {T} (a BIGINT, b STRING DEFAULT 'my_value', c INT DEFAULT 5)",
    ),
    _key(
        DEFAULTS,
        f"ALTER TABLE {T} ALTER COLUMN b SET DEFAULT 3",
        lambda a: a.table.schema.names == ["a", "b"],
        f"CREATE TABLE {T} (a INT, b INT DEFAULT 2)",
    ),
]
PK = (KEYED, KEYED_ROWS, f"INSERT INTO {T} VALUES (3, 'x')")
Y = "CALL lake.sys."


def _sys(statement: str, check: Callable[[After], object], *before: str) -> Case:
    return Case(OTHER, PROCEDURES, statement, check, before, "db.t")


SYS_TAG = f"{Y}create_tag(table => 'db.t', tag => 'my_tag')"
SYS_CASES = [
    _sys(f"{Y}compact(table => 'db.t')", lambda a: a.rows[0][0] is True and len(a.data) == 3, *PK),
    _sys(f"{Y}compact(table => 'db.t', compact_strategy => 'minor')", lambda a: a.rows[0][0] is True, *PK),
    _sys(f"{Y}compact(table => 'db.t', partitions => 'pt=p1;pt=p2')", lambda a: a.rows[0][0] is True, *MANY),
    _sys(f"{Y}compact(table => 'db.t', where => \"pt > 'p0' and pt < 'p3'\")", lambda a: a.rows[0][0] is True, *MANY),
    _sys(f"{Y}compact_database(including_databases => 'db', including_tables => 'db.t')", lambda a: a.rows[0][0], *PK),
    _sys(f"{Y}expire_snapshots(table => 'db.t', retain_max => 1)", lambda a: a.rows[0][0] == 1, *PK),
    _sys(f"{Y}create_tag(table => 'db.t', tag => 'my_tag', snapshot => 1, time_retained => '1 d')", lambda a: a.table.refs["my_tag"].snapshot_id == 1, *PK),
    _sys(SYS_TAG, lambda a: a.table.refs["my_tag"].snapshot_id == 2, *PK),
    _sys(
        f"{Y}create_tag_from_timestamp(`table` => 'db.t', `tag` => 'my_tag', `timestamp` => 1724404318750)",
        lambda a: a.table.refs["my_tag"].snapshot_id == 1,
        *PK,
    ),
    _sys(f"{Y}rename_tag(table => 'db.t', tag => 'my_tag', target_tag => 'tag2')", lambda a: "tag2" in a.table.refs, *PK, SYS_TAG),
    _sys(f"{Y}replace_tag(table => 'db.t', tag => 'my_tag', snapshot => 1, time_retained => '1 d')", lambda a: a.table.refs["my_tag"].snapshot_id == 1, *PK, SYS_TAG),
    _sys(f"{Y}delete_tag(table => 'db.t', tag => 'my_tag')", lambda a: "my_tag" not in a.table.refs, *PK, SYS_TAG),
    _sys(f"{Y}rollback(table => 'db.t', version => '1')", lambda a: len(a.data) == 2, *PK),
    _sys(f"{Y}rollback(table => 'db.t', snapshot => 1)", lambda a: tuple(a.rows[0]) == (2, 1), *PK),
    _sys(
        f"{Y}rollback(table => 'db.t', tag => 'my_tag')",
        lambda a: len(a.data) == 2,
        *PK,
        f"{Y}create_tag(table => 'db.t', tag => 'my_tag', snapshot => 1)",
    ),
    _sys(f"{Y}rollback_to_timestamp(table => 'db.t', timestamp => 4102444800000)", lambda a: len(a.data) == 3, *PK),
    _sys(f"{Y}create_branch(table => 'db.t', branch => 'b', tag => 'my_tag')", lambda a: "b" in a.table.refs, *PK, SYS_TAG),
    _sys(
        f"{Y}delete_branch(table => 'db.t', branch => 'b')",
        lambda a: "b" not in a.table.refs,
        *PK,
        SYS_TAG,
        f"{Y}create_branch(table => 'db.t', branch => 'b', tag => 'my_tag')",
    ),
    _sys(
        f"{Y}rename_branch(table => 'db.t', from_branch => 'b', to_branch => 'new_branch')",
        lambda a: "new_branch" in a.table.refs,
        *PK,
        SYS_TAG,
        f"{Y}create_branch(table => 'db.t', branch => 'b', tag => 'my_tag')",
    ),
    _sys(
        f"{Y}fast_forward(table => 'db.t', branch => 'b')",
        lambda a: len(a.data) == 3,
        *PK,
        SYS_TAG,
        f"{Y}create_branch(table => 'db.t', branch => 'b', tag => 'my_tag')",
    ),
    _sys(f"{Y}remove_orphan_files(table => 'db.t', older_than => '2000-10-31 12:00:00')", lambda a: a.rows[0][0] == 0, *PK),
    _sys(f"{Y}compact_manifest(`table` => 'db.t')", lambda a: a.rows[0][0] is True, *PK),
    *[
        Case(OTHER, PROCEDURES, f"{Y}{name}(table => 'db.t')", None, (), "", "can't be done", remedy)
        for name, remedy in [
            ("materialize_deletion_vectors", "the connector"),
            ("compact_chain_table", "the connector"),
            ("expire_partitions", "DELETE"),
            ("expire_tags", "SHOW TAGS, delete_tag"),
            ("trigger_tag_automatic_creation", "the connector"),
            ("rollback_to_watermark", "rollback"),
            ("purge_files", "TRUNCATE, expire_snapshots"),
            ("migrate_database", "CREATE TABLE AS SELECT"),
            ("migrate_table", "CREATE TABLE AS SELECT"),
            ("remove_unexisting_files", "the connector"),
            ("repair", "not needed"),
            ("repair_earliest_snapshot", "the connector"),
            ("merge_branch", "INSERT … SELECT"),
            ("reset_consumer", "the connector"),
            ("clear_consumers", "the connector"),
            ("mark_partition_done", "the connector"),
            ("alter_view_dialect", "the connector"),
            ("create_function", "the connector"),
            ("alter_function", "the connector"),
            ("drop_function", "the connector"),
            ("rewrite_file_index", "the connector"),
            ("create_global_index", "the connector"),
            ("drop_global_index", "the connector"),
            ("reassign_row_id", "the connector"),
        ]
    ],
]

CASES: list[Case] = [
    *DDL_CASES,
    *WRITE_CASES,
    *QUERY_CASES,
    *PROCEDURE_CASES,
    *ALTER_CASES,
    *SQL_DDL_CASES,
    *SQL_WRITE_CASES,
    *SQL_QUERY_CASES,
    *AUXILIARY_CASES,
    *DEFAULT_CASES,
    *SYS_CASES,
]


def page_of_statements() -> str:
    """The page that lists the statements."""
    lines = [
        "# SQL statements in PySpark",
        "These statements are those of the Spark documentation of Iceberg and Paimon. `fz.spark.sql` does them, or says what to do",
        "instead. Each line is tested. [SQL in PySpark](pyspark.md#sql) explains how to call it.",
        "",
        "| documentation | page | work | refused, with a remedy |",
        "|---|---|---|---|",
    ]
    pages = list(dict.fromkeys((case.format, case.page) for case in CASES))
    for format_, page in pages:
        own = [case for case in CASES if (case.format, case.page) == (format_, page)]
        lines.append(f"| {format_} | {page} | {sum(not c.refused for c in own)} | {sum(bool(c.refused) for c in own)} |")
    for format_, page in pages:
        lines += ["", f"## {format_}: {page}", "| statement | |", "|---|---|"]
        for case in CASES:
            if (case.format, case.page) == (format_, page):
                said = f"refused: {case.remedy}" if case.refused else "works"
                lines.append(f"| `` {case.statement.replace('|', chr(92) + '|')} `` | {said} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page_of_statements(), "utf-8")
