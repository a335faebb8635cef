"""Statements of Iceberg's pages on writes and queries."""

from __future__ import annotations

from collections.abc import Callable

from spark_statements.case import BRANCH, ICEBERG, OTHERS, QUERIES, TAG, WRITES, After, Case, S, ids, ok

WRITE_CASES = [
    ok(
        WRITES,
        f"INSERT INTO {S} VALUES (4, 'd', 'z', NULL), (5, 'e', 'z', TIMESTAMP '2024-01-05 00:00:00')",
        lambda a: a.of("data") == ["a", "b", "c", "d", "e"],
    ),
    ok(
        WRITES,
        f"INSERT INTO {S} SELECT id + 10, data, category, ts FROM {S} WHERE id < 3",
        lambda a: a.of("id") == [1, 2, 3, 11, 12],
    ),
    ok(
        WRITES,
        f"INSERT INTO {S} (data, id) SELECT 'd', 4",
        lambda a: (a.of("data")[3], a.of("category")[3]) == ("d", None),
    ),
    ok(
        WRITES,
        f"INSERT INTO {S} BY NAME SELECT 'd' AS data, 4 AS id",
        lambda a: (a.of("id")[3], a.of("data")[3]) == (4, "d"),
    ),
    ok(
        WRITES,
        f"INSERT INTO {S} REPLACE WHERE id = 2 SELECT 2L, 'new', 'y', NULL",
        lambda a: a.of("data") == ["a", "new", "c"],
    ),
    ok(
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
    ok(
        WRITES,
        f"MERGE INTO {S} t USING prod.db.others s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.data = s.data "
        "WHEN NOT MATCHED THEN INSERT (id, data) VALUES (s.id, s.data)",
        lambda a: a.of("data") == ["a", "zwei", "c"],
        OTHERS,
    ),
    ok(
        WRITES,
        f"MERGE INTO {S} t USING (SELECT id, data, category, ts FROM {S} WHERE id > 1) s ON t.id <=> s.id + 2 "
        "WHEN NOT MATCHED THEN INSERT *",
        lambda a: a.of("id") == [1, 2, 2, 3, 3],
    ),
    ok(
        WRITES,
        f"INSERT OVERWRITE {S} SELECT id, first(data), first(category), first(ts) FROM {S} WHERE id > 1 GROUP BY id",
        lambda a: a.of("id") == [2, 3],
    ),
    ok(
        WRITES,
        f"INSERT OVERWRITE {S} SELECT 8L, 'h', 'x', NULL -- spark.sql.sources.partitionOverwriteMode=dynamic",
        lambda a: a.of("id") == [2, 8],
        f"REPLACE TABLE {S} USING iceberg PARTITIONED BY (category) AS SELECT * FROM {S}",
        "SET spark.sql.sources.partitionOverwriteMode=dynamic",
    ),
    ok(
        WRITES,
        f"INSERT OVERWRITE {S} PARTITION (category = 'x') SELECT 8L, 'h', NULL",
        lambda a: a.of("id") == [2, 8] and a.of("category") == ["y", "x"],
        f"REPLACE TABLE {S} USING iceberg PARTITIONED BY (category) AS SELECT * FROM {S}",
    ),
    ok(
        WRITES,
        f"DELETE FROM {S} WHERE ts >= '2024-01-02 00:00:00' and ts < '2024-02-01 00:00:00'",
        lambda a: a.of("id") == [1, 3],
    ),
    ok(
        WRITES,
        f"DELETE FROM {S} WHERE id < (SELECT min(id) FROM prod.db.others)",
        lambda a: a.of("id") == [2, 3],
        OTHERS,
    ),
    ok(
        WRITES,
        f"DELETE FROM {S} AS t1 WHERE EXISTS (SELECT id FROM prod.db.others WHERE t1.id = id)",
        lambda a: a.of("id") == [1, 3],
        OTHERS,
    ),
    ok(
        WRITES,
        f"UPDATE {S} SET data = 'update_c1', category = 'update_c2' "
        "WHERE ts >= '2024-01-02 00:00:00' and ts < '2024-02-01 00:00:00'",
        lambda a: a.of("data") == ["a", "update_c1", "c"] and a.of("category") == ["x", "update_c2", "x"],
    ),
    ok(
        WRITES,
        f"UPDATE {S} SET data = concat(data, '!') WHERE id < (SELECT min(id) FROM prod.db.others)",
        lambda a: a.of("data") == ["a!", "b", "c"],
        OTHERS,
    ),
    ok(
        WRITES,
        f"UPDATE {S} AS t1 SET category = 'returned' WHERE EXISTS (SELECT id FROM prod.db.others WHERE t1.id = id)",
        lambda a: a.of("category") == ["x", "returned", "x"],
        OTHERS,
    ),
    ok(WRITES, f"TRUNCATE TABLE {S}", lambda a: a.data == []),
    ok(
        WRITES,
        f"INSERT INTO {S}.`branch_audit-branch` VALUES (4, 'd', 'z', NULL)",
        lambda a: a.of("id") == [1, 2, 3] and a.table.scan(at="audit-branch").count() == 4,
        BRANCH,
    ),
    ok(
        WRITES,
        f"MERGE INTO {S}.`branch_audit-branch` t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        lambda a: a.of("id") == [1, 2, 3] and a.table.scan(at="audit-branch").count() == 2,
        BRANCH,
    ),
    ok(
        WRITES,
        f"UPDATE {S}.`branch_audit-branch` AS t1 SET data = 'c'",
        lambda a: a.of("data") == ["a", "b", "c"] and a.table.scan("data = 'c'", at="audit-branch").count() == 3,
        BRANCH,
    ),
    ok(
        WRITES,
        f"DELETE FROM {S}.`branch_audit-branch` WHERE id = 2",
        lambda a: a.of("id") == [1, 2, 3] and a.table.scan(at="audit-branch").count() == 2,
        BRANCH,
    ),
    ok(
        WRITES,
        f"INSERT INTO {S} VALUES (4, 'd', 'z', NULL) -- spark.wap.branch=audit-branch",
        lambda a: a.of("id") == [1, 2, 3] and a.table.scan(at="audit-branch").count() == 4,
        BRANCH,
        f"ALTER TABLE {S} SET TBLPROPERTIES ('write.wap.enabled'='true')",
        "SET spark.wap.branch=audit-branch",
    ),
    ok(
        WRITES,
        f"ALTER TABLE {S} SET TBLPROPERTIES ('write.spark.accept-any-schema'='true')",
        lambda a: a.table.properties["write.spark.accept-any-schema"] == "true",
    ),
]


def _query(statement: str, check: Callable[[After], object], *before: str) -> Case:
    return Case(ICEBERG, QUERIES, statement, check, before)


METADATA_TABLES = [
    "history",
    "metadata_log_entries",
    "snapshots",
    "entries",
    "files",
    "manifests",
    "partitions",
    "position_deletes",
    "all_data_files",
    "all_delete_files",
    "all_entries",
    "all_manifests",
    "refs",
]
# How many rows these tables have after two appends, the first with a file for two rows.
METADATA_ROWS = {"position_deletes": 0, "all_delete_files": 0, "metadata_log_entries": 3, "refs": 1, "partitions": 1}
METADATA_ROWS |= {"all_manifests": 3}


def _count(expected: int) -> Callable[[After], object]:
    return lambda a: len(a.rows) == expected


QUERY_CASES = [
    _query(f"SELECT * FROM {S}", ids([1, 2, 3])),
    _query(f"SELECT * FROM {S}.files", lambda a: len(a.rows) == 2 and a.rows[0].file_format == "PARQUET"),
    _query(f"SELECT * FROM {S} TIMESTAMP AS OF '$time'", ids([1, 2])),
    _query(f"SELECT * FROM {S} VERSION AS OF $1", ids([1, 2])),
    _query(f"SELECT * FROM {S} VERSION AS OF 'audit-branch'", ids([1, 2]), BRANCH + " AS OF VERSION $1"),
    _query(f"SELECT * FROM {S} VERSION AS OF 'historical-tag'", ids([1, 2]), TAG + " AS OF VERSION $1"),
    _query(f"SELECT * FROM {S} FOR SYSTEM_TIME AS OF '$time'", ids([1, 2])),
    _query(f"SELECT * FROM {S} FOR SYSTEM_VERSION AS OF $1", ids([1, 2])),
    _query(f"SELECT * FROM {S} FOR SYSTEM_VERSION AS OF 'audit-branch'", ids([1, 2, 3]), BRANCH),
    _query(f"SELECT * FROM {S} FOR SYSTEM_VERSION AS OF 'historical-tag'", ids([1, 2, 3]), TAG),
    _query(f"SELECT * FROM {S} TIMESTAMP AS OF 4102444800", ids([1, 2, 3])),
    _query(f"SELECT * FROM {S} FOR SYSTEM_TIME AS OF 4102444800", ids([1, 2, 3])),
    _query(f"SELECT * FROM {S}.`branch_audit-branch`", ids([1, 2]), BRANCH + " AS OF VERSION $1"),
    _query(f"SELECT * FROM {S}.`tag_historical-tag`", ids([1, 2]), TAG + " AS OF VERSION $1"),
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
    *[_query(f"SELECT * FROM {S}.{name}", _count(METADATA_ROWS.get(name, 2))) for name in METADATA_TABLES],
    _query(
        "select h.made_current_at, s.operation, h.snapshot_id, h.is_current_ancestor, s.summary['added-records'] "
        f"from {S}.history h join {S}.snapshots s on h.snapshot_id = s.snapshot_id order by made_current_at",
        lambda a: (
            [tuple(row)[1:] for row in a.rows] == [("append", a.ids[0], True, "2"), ("append", a.ids[1], True, "1")]
        ),
    ),
    _query(f"SELECT * FROM {S}.manifests TIMESTAMP AS OF '$time'", lambda a: len(a.rows) == 1),
    _query(f"SELECT * FROM {S}.partitions VERSION AS OF $1", lambda a: a.rows[0].record_count == 2),
    _query(
        f"SELECT system.bucket(16, id), system.days(ts) FROM {S} WHERE id = 1",
        lambda a: [tuple(map(str, row)) for row in a.rows] == [("4", "2024-01-01")],
    ),
    _query(f"SELECT prod.system.bucket(16, id) FROM {S} WHERE id = 1", lambda a: a.rows[0][0] == 4),
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
