"""Statements of Iceberg's page on DDL."""

from __future__ import annotations

from spark_statements.case import BRANCH, DDL, NEW, STRUCTS, TAG, TWO_KEYS, S, ok, order, terms

DDL_CASES = [
    ok(
        DDL,
        f"CREATE TABLE {NEW} (id bigint NOT NULL COMMENT 'unique id', data string) USING iceberg",
        lambda a: (
            [(c.name, c.type, c.required, c.doc) for c in a.table.schema]
            == [("id", "long", True, "unique id"), ("data", "string", False, None)]
        ),
        table="db.fresh",
    ),
    ok(
        DDL,
        f"CREATE TABLE {NEW} (id bigint, data string, category string) USING iceberg PARTITIONED BY (category)",
        lambda a: terms(a.table) == ["category: category"],
        table="db.fresh",
    ),
    ok(
        DDL,
        f"CREATE TABLE {NEW} (id bigint, data string, category string, ts timestamp) USING iceberg "
        "PARTITIONED BY (bucket(16, id), days(ts), category)",
        lambda a: terms(a.table) == ["id_bucket: bucket(16, id)", "ts_day: day(ts)", "category: category"],
        table="db.fresh",
    ),
    ok(
        DDL,
        f"CREATE TABLE {NEW} (i int, a timestamp, b timestamp, c timestamp, d timestamp, s string) USING iceberg "
        "PARTITIONED BY (year(a), month(b), date(c), date_hour(d), truncate(s, 4), truncate(10, i)) "
        "COMMENT 'about it' TBLPROPERTIES ('format-version'='3', 'k'='v')",
        lambda a: (
            [t.partition(": ")[2] for t in terms(a.table)]
            == ["year(a)", "month(b)", "day(c)", "hour(d)", "truncate(4, s)", "truncate(10, i)"]
            and (a.table.format_version, a.table.properties["comment"], a.table.properties["k"]) == (3, "about it", "v")
        ),
        table="db.fresh",
    ),
    ok(
        DDL,
        f"CREATE TABLE IF NOT EXISTS {S} (other int) USING iceberg",
        lambda a: a.table.schema.names == ["id", "data", "category", "ts"],
    ),
    ok(
        DDL,
        f"CREATE TABLE {NEW} USING iceberg AS SELECT id, data FROM {S}",
        lambda a: a.of("data") == ["a", "b", "c"] and not a.table.partition_spec.fields,
        table="db.fresh",
    ),
    ok(
        DDL,
        f"CREATE TABLE {NEW} USING iceberg PARTITIONED BY (category) TBLPROPERTIES ('key'='value') "
        f"AS SELECT id, category FROM {S}",
        lambda a: a.of("category") == ["x", "y", "x"] and a.table.properties["key"] == "value" and terms(a.table),
        table="db.fresh",
    ),
    ok(
        DDL,
        f"REPLACE TABLE {S} USING iceberg AS SELECT 7L AS seven",
        lambda a: a.of("seven") == [7] and len(a.table.snapshots) == 3,
    ),
    ok(
        DDL,
        f"REPLACE TABLE {S} USING iceberg PARTITIONED BY (part) TBLPROPERTIES ('key'='value') AS SELECT 1 AS part",
        lambda a: terms(a.table) == ["part: part"] and a.table.properties["key"] == "value",
    ),
    ok(
        DDL,
        f"CREATE OR REPLACE TABLE {S} USING iceberg AS SELECT id + 1 AS id FROM {S}",
        lambda a: a.of("id") == [2, 3, 4],
    ),
    ok(
        DDL,
        f"CREATE OR REPLACE TABLE {NEW} (id int) USING iceberg",
        lambda a: a.table.schema.names == ["id"],
        table="db.fresh",
    ),
    ok(
        DDL,
        f"CREATE TABLE {NEW} LIKE {S}",
        lambda a: a.table.schema.names == ["id", "data", "category", "ts"] and a.data == [],
        table="db.fresh",
    ),
    ok(DDL, f"DROP TABLE {S}", lambda a: not a.catalog.table_exists("db.sample"), table=""),
    ok(DDL, f"DROP TABLE {S} PURGE", lambda a: not a.catalog.table_exists("db.sample"), table=""),
    ok(DDL, "DROP TABLE IF EXISTS prod.db.nothing", lambda a: True, table=""),
    ok(
        DDL,
        f"ALTER TABLE {S} RENAME TO prod.db.new_name",
        lambda a: a.of("id") == [1, 2, 3] and not a.catalog.table_exists("db.sample"),
        table="db.new_name",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} SET TBLPROPERTIES ('read.split.target-size'='268435456')",
        lambda a: a.table.properties["read.split.target-size"] == "268435456",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} UNSET TBLPROPERTIES ('read.split.target-size')",
        lambda a: "read.split.target-size" not in a.table.properties,
        f"ALTER TABLE {S} SET TBLPROPERTIES ('read.split.target-size'='268435456')",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} SET TBLPROPERTIES ('comment' = 'A table comment.')",
        lambda a: a.table.properties["comment"] == "A table comment.",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} ADD COLUMNS (new_column string comment 'new_column docs')",
        lambda a: (a.column("new_column").type, a.column("new_column").doc) == ("string", "new_column docs"),
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} ADD COLUMN point2 struct<x: double, y: double>",
        lambda a: [c.name for c in a.column("point2").children] == ["x", "y"],
    ),
    ok(DDL, f"ALTER TABLE {S} ADD COLUMN point.z double", lambda a: a.column("point.z").type == "double", STRUCTS),
    ok(
        DDL,
        f"ALTER TABLE {S} ADD COLUMN points.element.z double",
        lambda a: a.column("points.element.z").type == "double",
        STRUCTS,
    ),
    ok(DDL, f"ALTER TABLE {S} ADD COLUMN m.value.b int", lambda a: a.column("m.value.b").type == "int", STRUCTS),
    ok(
        DDL,
        f"ALTER TABLE {S} ADD COLUMN new_column bigint AFTER data",
        lambda a: a.table.schema.names == ["id", "data", "new_column", "category", "ts"],
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} ADD COLUMN point.new_column bigint FIRST",
        lambda a: [c.name for c in a.column("point").children] == ["new_column", "x", "y"],
        STRUCTS,
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} RENAME COLUMN data TO payload",
        lambda a: a.of("payload") == ["a", "b", "c"],
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} RENAME COLUMN point.x TO latitude",
        lambda a: [c.name for c in a.column("point").children] == ["latitude", "y"],
        STRUCTS,
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} ALTER COLUMN measurement TYPE double",
        lambda a: a.column("measurement").type == "double",
        STRUCTS,
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} ALTER COLUMN measurement TYPE double COMMENT 'unit is bytes per second'",
        lambda a: (a.column("measurement").type, a.column("measurement").doc) == ("double", "unit is bytes per second"),
        STRUCTS,
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} ALTER COLUMN measurement COMMENT 'unit is kilobytes per second'",
        lambda a: a.column("measurement").doc == "unit is kilobytes per second",
        STRUCTS,
    ),
    ok(DDL, f"ALTER TABLE {S} ALTER COLUMN ts FIRST", lambda a: a.table.schema.names[0] == "ts"),
    ok(
        DDL,
        f"ALTER TABLE {S} ALTER COLUMN point.x AFTER y",
        lambda a: [c.name for c in a.column("point").children] == ["y", "x"],
        STRUCTS,
    ),
    ok(DDL, f"ALTER TABLE {S} ALTER COLUMN id DROP NOT NULL", lambda a: not a.column("id").required),
    ok(DDL, f"ALTER TABLE {S} DROP COLUMN data", lambda a: a.table.schema.names == ["id", "category", "ts"]),
    ok(
        DDL,
        f"ALTER TABLE {S} DROP COLUMN point.y",
        lambda a: [c.name for c in a.column("point").children] == ["x"],
        STRUCTS,
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} ADD PARTITION FIELD category -- identity transform",
        lambda a: terms(a.table) == ["category: category"],
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} ADD PARTITION FIELD bucket(16, id)",
        lambda a: terms(a.table) == ["id_bucket_16: bucket(16, id)"],
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} ADD PARTITION FIELD truncate(4, data)",
        lambda a: terms(a.table) == ["data_trunc_4: truncate(4, data)"],
    ),
    ok(DDL, f"ALTER TABLE {S} ADD PARTITION FIELD year(ts)", lambda a: terms(a.table) == ["ts_year: year(ts)"]),
    ok(
        DDL,
        f"ALTER TABLE {S} ADD PARTITION FIELD bucket(16, id) AS shard",
        lambda a: terms(a.table) == ["shard: bucket(16, id)"],
    ),
    *[
        ok(
            DDL,
            f"ALTER TABLE {S} DROP PARTITION FIELD {field}",
            lambda a: terms(a.table) == [],
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
    ok(
        DDL,
        f"ALTER TABLE {S} REPLACE PARTITION FIELD ts_day WITH hour(ts)",
        lambda a: terms(a.table) == ["ts_hour: hour(ts)"],
        f"ALTER TABLE {S} ADD PARTITION FIELD days(ts)",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} REPLACE PARTITION FIELD ts_day WITH hour(ts) AS hour_of_ts",
        lambda a: terms(a.table) == ["hour_of_ts: hour(ts)"],
        f"ALTER TABLE {S} ADD PARTITION FIELD days(ts)",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} WRITE ORDERED BY category, id",
        lambda a: (
            order(a.table) == ["category asc nulls first", "id asc nulls first"]
            and a.table.properties["write.distribution-mode"] == "range"
        ),
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} WRITE ORDERED BY category ASC, id DESC",
        lambda a: order(a.table) == ["category asc nulls first", "id desc nulls last"],
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} WRITE ORDERED BY category ASC NULLS LAST, id DESC NULLS FIRST",
        lambda a: order(a.table) == ["category asc nulls last", "id desc nulls first"],
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} WRITE LOCALLY ORDERED BY category, id",
        lambda a: len(order(a.table)) == 2 and a.table.properties["write.distribution-mode"] == "none",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} WRITE UNORDERED",
        lambda a: order(a.table) == [] and a.table.properties["write.distribution-mode"] == "none",
        f"ALTER TABLE {S} WRITE ORDERED BY id",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} WRITE DISTRIBUTED BY PARTITION",
        lambda a: order(a.table) == [] and a.table.properties["write.distribution-mode"] == "hash",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY category, id",
        lambda a: len(order(a.table)) == 2 and a.table.properties["write.distribution-mode"] == "hash",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} SET IDENTIFIER FIELDS id",
        lambda a: a.table.schema._core.identifier_field_ids == [a.column("id").id],
    ),
    ok(
        DDL,
        "ALTER TABLE prod.db.two SET IDENTIFIER FIELDS id, data",
        lambda a: len(a.table.schema._core.identifier_field_ids) == 2,
        TWO_KEYS,
        table="db.two",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} DROP IDENTIFIER FIELDS id",
        lambda a: a.table.schema._core.identifier_field_ids == [],
        f"ALTER TABLE {S} SET IDENTIFIER FIELDS id",
    ),
    ok(
        DDL,
        "ALTER TABLE prod.db.two DROP IDENTIFIER FIELDS id, data",
        lambda a: a.table.schema._core.identifier_field_ids == [],
        TWO_KEYS,
        "ALTER TABLE prod.db.two SET IDENTIFIER FIELDS id, data",
        table="db.two",
    ),
    ok(DDL, BRANCH, lambda a: a.table.refs["audit-branch"].snapshot_id == a.ids[1]),
    ok(
        DDL,
        f"ALTER TABLE {S} CREATE BRANCH IF NOT EXISTS `audit-branch`",
        lambda a: a.table.refs["audit-branch"].snapshot_id == a.ids[0],
        f"ALTER TABLE {S} CREATE BRANCH `audit-branch` AS OF VERSION $1",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} CREATE OR REPLACE BRANCH `audit-branch`",
        lambda a: a.table.refs["audit-branch"].snapshot_id == a.ids[1],
        f"ALTER TABLE {S} CREATE BRANCH `audit-branch` AS OF VERSION $1",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} CREATE BRANCH `audit-branch` AS OF VERSION $1",
        lambda a: a.table.refs["audit-branch"].snapshot_id == a.ids[0],
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} CREATE BRANCH `audit-branch` AS OF VERSION $1 RETAIN 30 DAYS "
        "WITH SNAPSHOT RETENTION 3 SNAPSHOTS 2 DAYS",
        lambda a: tuple(a.table.refs["audit-branch"])[1:] == (a.ids[0], "branch", 3, 172_800_000, 2_592_000_000),
    ),
    ok(DDL, TAG, lambda a: a.table.refs["historical-tag"].snapshot_id == a.ids[1]),
    ok(
        DDL,
        f"ALTER TABLE {S} CREATE TAG IF NOT EXISTS `historical-tag`",
        lambda a: a.table.refs["historical-tag"].type == "tag",
        TAG,
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} CREATE OR REPLACE TAG `historical-tag`",
        lambda a: a.table.refs["historical-tag"].snapshot_id == a.ids[1],
        f"ALTER TABLE {S} CREATE TAG `historical-tag` AS OF VERSION $1",
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} CREATE TAG `historical-tag` AS OF VERSION $1",
        lambda a: a.table.refs["historical-tag"].snapshot_id == a.ids[0],
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} CREATE TAG `historical-tag` AS OF VERSION $1 RETAIN 365 DAYS",
        lambda a: a.table.refs["historical-tag"].max_ref_age_ms == 365 * 86_400_000,
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} REPLACE BRANCH `audit-branch` AS OF VERSION $1 RETAIN 60 DAYS",
        lambda a: (
            a.table.refs["audit-branch"].snapshot_id == a.ids[0]
            and a.table.refs["audit-branch"].max_ref_age_ms == 60 * 86_400_000
        ),
        BRANCH,
    ),
    ok(
        DDL,
        f"ALTER TABLE {S} REPLACE TAG `historical-tag` AS OF VERSION $1 RETAIN 60 DAYS",
        lambda a: a.table.refs["historical-tag"].snapshot_id == a.ids[0],
        TAG,
    ),
    ok(DDL, f"ALTER TABLE {S} DROP BRANCH `audit-branch`", lambda a: list(a.table.refs) == ["main"], BRANCH),
    ok(DDL, f"ALTER TABLE {S} DROP TAG `historical-tag`", lambda a: list(a.table.refs) == ["main"], TAG),
]
