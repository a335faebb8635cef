"""Statements of Paimon's pages on DDL and altering tables."""

from __future__ import annotations

from collections.abc import Callable

from spark_statements.case import OTHER, After, Case, key, key_no

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
    key(
        ALTER,
        f"ALTER TABLE {T} SET TBLPROPERTIES ('write-buffer-size' = '256 MB')",
        lambda a: a.table.properties["write-buffer-size"] == "256 MB",
        *SIMPLE,
    ),
    key(
        ALTER,
        f"ALTER TABLE {T} UNSET TBLPROPERTIES ('write-buffer-size')",
        lambda a: "write-buffer-size" not in a.table.properties,
        APPEND,
        f"ALTER TABLE {T} SET TBLPROPERTIES ('write-buffer-size' = '256 MB')",
    ),
    key(
        ALTER,
        f"ALTER TABLE {T} SET TBLPROPERTIES ('comment' = 'table comment')",
        lambda a: a.table.properties.get("comment") == "table comment",
        APPEND,
    ),
    key(
        ALTER,
        f"ALTER TABLE {T} UNSET TBLPROPERTIES ('comment')",
        lambda a: "comment" not in a.table.properties,
        APPEND,
        f"ALTER TABLE {T} SET TBLPROPERTIES ('comment' = 'table comment')",
    ),
    *[
        key(ALTER, f"ALTER TABLE {T} RENAME TO {to}", lambda a: a.table.scan().count() == 2, *SIMPLE, table="db.new_t")
        for to in ("new_t", "db.new_t", "lake.db.new_t")
    ],
    key(
        ALTER,
        f"ALTER TABLE {T} ADD COLUMNS (c1 INT, c2 STRING)",
        lambda a: a.table.schema.names == ["id", "pt", "c1", "c2"],
        *SIMPLE,
    ),
    *[
        key(ALTER, f"ALTER TABLE {T} ADD COLUMN {path}.f3 STRING", lambda a, p=path: a.column(f"{p}.f3"), NESTED)  # type: ignore[misc]
        for path in ("v", "l.element", "m.value")
    ],
    key(ALTER, f"ALTER TABLE {T} RENAME COLUMN c0 TO c1", lambda a: "c1" in a.table.schema, NESTED),
    *[
        key(
            ALTER,
            f"ALTER TABLE {T} RENAME COLUMN {path}.f1 to f100",
            _has(path, ("f100", "string"), ("f2", "int")),
            NESTED,
        )
        for path in ("v", "l.element", "m.value")
    ],
    key(ALTER, f"ALTER TABLE {T} DROP COLUMNS (c0, a)", lambda a: a.table.schema.names == ["v", "l", "m"], NESTED),
    *[
        key(ALTER, f"ALTER TABLE {T} DROP COLUMN {path}.f2", _has(path, ("f1", "string")), NESTED)
        for path in ("v", "l.element", "m.value")
    ],
    key(
        ALTER,
        f"ALTER TABLE {T} DROP PARTITION (`pt` = 'p1')",
        lambda a: a.of("id") == [2],
        *SIMPLE,
    ),
    key(
        ALTER, f"ALTER TABLE {T} ALTER COLUMN a COMMENT 'buy count'", lambda a: a.column("a").doc == "buy count", NESTED
    ),
    key(ALTER, f"ALTER TABLE {T} ADD COLUMN c INT FIRST", lambda a: a.table.schema.names[0] == "c", *SIMPLE),
    key(ALTER, f"ALTER TABLE {T} ADD COLUMN c INT AFTER id", lambda a: a.table.schema.names[1] == "c", *SIMPLE),
    key(ALTER, f"ALTER TABLE {T} ALTER COLUMN a FIRST", lambda a: a.table.schema.names[0] == "a", NESTED),
    key(ALTER, f"ALTER TABLE {T} ALTER COLUMN a AFTER v", lambda a: a.table.schema.names[1] == "a", NESTED),
    key(ALTER, f"ALTER TABLE {T} ALTER COLUMN a TYPE DOUBLE", lambda a: a.column("a").type == "double", NESTED),
    *[
        key(
            ALTER,
            f"ALTER TABLE {T} ALTER COLUMN {path}.f2 TYPE BIGINT",
            _has(path, ("f1", "string"), ("f2", "long")),
            NESTED,
        )
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
    key(
        SQL_DDL,
        f"CREATE TABLE {T} {FULL} TBLPROPERTIES ('primary-key' = 'dt,hh,user_id')",
        lambda a: a.table.format == "paimon" and len(a.table.schema._core.identifier_field_ids) == 3,
    ),
    key(
        SQL_DDL,
        f"CREATE TABLE {T} {FULL} PARTITIONED BY (dt, hh) TBLPROPERTIES ('primary-key' = 'dt,hh,user_id')",
        lambda a: [f.column for f in a.table.partition_spec.fields] == ["dt", "hh"],
    ),
    *[
        key_no(SQL_DDL, statement, words, remedy, *SIMPLE)
        for statement, words, remedy in [
            (f"ALTER TABLE {T} ADD PARTITION (pt='p9')", "ADD PARTITION", "INSERT: partitions are in the metadata"),
            (f"MSCK REPAIR TABLE {T}", "MSCK REPAIR", "not needed: partitions are in the metadata"),
        ]
    ],
    key_no(
        SQL_DDL,
        f"ANALYZE TABLE {T} PARTITION (pt='p1') COMPUTE STATISTICS NOSCAN",
        "ANALYZE TABLE … PARTITION",
        "ANALYZE TABLE … COMPUTE STATISTICS",
        *SIMPLE,
    ),
    key(SQL_DDL, f"SHOW PARTITIONS {T}", lambda a: [r[0] for r in a.rows] == ["pt=p1", "pt=p2"], *SIMPLE),
    Case(
        OTHER,
        SQL_DDL,
        f"CREATE TABLE {T} {FULL} LOCATION '/path/to/table'",
        refused="location",
        remedy="without LOCATION: a file-system catalog decides",
    ),
    key(
        SQL_DDL,
        f"CREATE TABLE {T} AS SELECT 1 AS user_id, 2 AS item_id",
        lambda a: a.of("item_id") == [2] and a.table.format == "paimon",
    ),
    key(
        SQL_DDL,
        f"CREATE TABLE {T} PARTITIONED BY (dt) AS SELECT 1 AS id, '2025' AS dt",
        lambda a: [f.column for f in a.table.partition_spec.fields] == ["dt"] and a.of("id") == [1],
    ),
    key(
        SQL_DDL,
        f"CREATE TABLE {T} TBLPROPERTIES ('file.format' = 'orc') AS SELECT 1 AS id",
        lambda a: a.table.properties["file.format"] == "orc" and a.of("id") == [1],
    ),
    key(
        SQL_DDL,
        f"CREATE TABLE {T} TBLPROPERTIES ('primary-key' = 'dt') AS SELECT 1 AS id, '2025' AS dt",
        lambda a: a.table.schema._core.identifier_field_ids == [a.column("dt").id],
    ),
    key(
        SQL_DDL,
        f"CREATE TABLE {T} PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'dt,hh') "
        "AS SELECT 1 AS id, '2025' AS dt, '01' AS hh",
        lambda a: len(a.table.schema._core.identifier_field_ids) == 2 and a.of("id") == [1],
    ),
    key(
        SQL_DDL,
        f"REPLACE TABLE {T} (user_id BIGINT, category STRING) TBLPROPERTIES ('primary-key' = 'user_id')",
        lambda a: (
            (a.table.schema.names, a.data, "bucket" in a.table.properties) == (["user_id", "category"], [], False)
            and a.table.schema._core.identifier_field_ids == [a.column("user_id").id]
            and a.table.scan(at=1).to_arrow().to_pylist() == [{"k": 1, "v": "Hi"}, {"k": 2, "v": "Hello"}]
        ),
        KEYED,
        KEYED_ROWS,
    ),
    key(
        SQL_DDL,
        f"CREATE OR REPLACE TABLE {T} TBLPROPERTIES ('primary-key' = 'k') AS SELECT max(k) AS k FROM {T}",
        lambda a: (a.table.schema.names, a.data, a.table.scan(at=1).count()) == (["k"], [{"k": 2}], 2),
        KEYED,
        KEYED_ROWS,
    ),
    key(
        SQL_DDL,
        f"CREATE TABLE lake.db.like LIKE {T}",
        lambda a: a.table.schema.names == ["k", "v"] and a.table.properties["bucket"] == "2" and a.data == [],
        KEYED,
        table="db.like",
    ),
    Case(
        OTHER,
        SQL_DDL,
        f"CREATE VIEW lake.db.v1 AS SELECT * FROM {T}",
        None,
        SIMPLE,
        "",
        "view",
        "CREATE TEMPORARY VIEW, or a REST catalog",
    ),
    key(
        SQL_DDL,
        f"CREATE OR REPLACE TEMPORARY VIEW tv1 AS SELECT * FROM {T}",
        lambda a: a.spark.table("tv1").count() == 2,
        *SIMPLE,
    ),
    Case(
        OTHER, SQL_DDL, "DROP VIEW lake.db.v1", None, (), "", "view", "DROP VIEW of a temporary view, or a REST catalog"
    ),
    _tag_case(TAGGED, lambda a: a.table.refs["TAG-1"].snapshot_id == 2),
    _tag_case(f"ALTER TABLE {T} CREATE TAG IF NOT EXISTS `TAG-1`", lambda a: "TAG-1" in a.table.refs, TAGGED),
    _tag_case(
        f"ALTER TABLE {T} CREATE TAG `TAG-2` RETAIN 7 DAYS",
        lambda a: a.table.inspect.tags().to_pylist()[0]["time_retained"] is not None,
    ),
    _tag_case(f"ALTER TABLE {T} CREATE TAG `TAG-3` AS OF VERSION 1", lambda a: a.table.refs["TAG-3"].snapshot_id == 1),
    _tag_case(
        f"ALTER TABLE {T} CREATE TAG `TAG-4` AS OF VERSION 2 RETAIN 12 HOURS",
        lambda a: a.table.inspect.tags().to_pylist()[0]["time_retained"] is not None,
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
