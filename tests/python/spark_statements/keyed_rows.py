"""Statements of Paimon's pages on writes and queries, and others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from spark_statements.case import OTHER, After, Case, ids, key, key_no
from spark_statements.keyed_definitions import (
    APPEND,
    AUXILIARY,
    DEFAULTS,
    FUNCTIONS,
    KEYED,
    KEYED_ROWS,
    MANY,
    SIMPLE,
    SQL_QUERY,
    SQL_WRITE,
    T,
)

TARGET = f"CREATE TABLE {T} (a INT, b DOUBLE, c STRING) TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '1')"
PLAIN = f"CREATE TABLE {T} (a INT, b DOUBLE, c STRING)"
TARGET_ROWS = f"INSERT INTO {T} VALUES (1, 1.0, 'c1'), (5, 5.0, 'c5')"
SOURCE = "(SELECT * FROM VALUES (1, 10.0D, 'c3'), (5, 50.0D, 'c1'), (9, 90.0D, 'c99') AS v(a, b, c))"
TYPED = f"CREATE TABLE {T} (id INT, s STRUCT<c1: INT, c2: STRING>, name STRING) TBLPROPERTIES ('primary-key' = 'id')"
DYNAMIC = "SET spark.sql.sources.partitionOverwriteMode=dynamic"
CSV_FILES = "COPY INTO '$place/csv_files/' FROM (SELECT 3 AS id, 'p1' AS pt) FILE_FORMAT = (TYPE = CSV)"
STATISTICS_OF_ID = {
    "colId": 0,
    "distinctCount": 2,
    "min": "1",
    "max": "2",
    "nullCount": 0,
    "avgLen": 4,
    "maxLen": 4,
}
STATISTICS_OF_PT = {"colId": 1, "distinctCount": 2, "nullCount": 0, "avgLen": 2, "maxLen": 2}
PLACE_OF_BLOB = "version=2, uri='file:///path/to/blob_file', offset=0, length=-1"
BLOB = f"CREATE TABLE {T} (id INT, content BINARY)"
DESCRIPTOR = f"INSERT INTO {T} SELECT 1, sys.path_to_descriptor('file:///path/to/blob_file')"


def _statistics(a: After, columns: dict[str, Any]) -> bool:
    """Whether the newest snapshot names statistics of all rows with these columns."""
    folder = Path(a.table.location.removeprefix("file://"))
    newest = json.loads((folder / f"snapshot/snapshot-{a.table.snapshot.id}").read_text())
    found = json.loads((folder / "statistics" / newest["statistics"]).read_text())
    size = found.pop("mergedRecordSize")
    expected = {"snapshotId": 1, "schemaId": 0, "mergedRecordCount": 2, "colStats": columns}
    files = sum(path.stat().st_size for path in folder.glob("pt=*/bucket-*/*.parquet"))
    return (newest["commitKind"], found, size) == ("ANALYZE", expected, files)


SQL_WRITE_CASES = [
    key(SQL_WRITE, f"INSERT INTO {T} SELECT 3, 'p3'", lambda a: a.of("id") == [1, 2, 3], *SIMPLE),
    key(SQL_WRITE, f"INSERT OVERWRITE {T} SELECT 3, 'p1'", lambda a: a.of("id") == [3], *SIMPLE),
    key(SQL_WRITE, f"INSERT OVERWRITE {T} VALUES (3, 'p1')", lambda a: a.of("id") == [3], *SIMPLE),
    key(SQL_WRITE, f"INSERT OVERWRITE {T} PARTITION (pt) VALUES (3, 'p1')", lambda a: a.of("id") == [3], *SIMPLE),
    key(SQL_WRITE, f"INSERT OVERWRITE {T} PARTITION (pt='p1') VALUES (3)", lambda a: a.of("id") == [2, 3], *SIMPLE),
    key(
        SQL_WRITE,
        f"INSERT OVERWRITE {T} VALUES (4, 'p1') -- spark.sql.sources.partitionOverwriteMode=dynamic",
        lambda a: a.of("id") == [2, 4],
        *SIMPLE,
        DYNAMIC,
    ),
    key(SQL_WRITE, f"TRUNCATE TABLE {T}", lambda a: a.data == [], *SIMPLE),
    key(SQL_WRITE, f"TRUNCATE TABLE {T} PARTITION (pt = 'p1')", lambda a: a.of("id") == [2], *SIMPLE),
    key(
        SQL_WRITE,
        f"UPDATE {T} SET v = 'a_new' WHERE k = 1",
        lambda a: a.of("v") == ["a_new", "Hello"],
        KEYED,
        KEYED_ROWS,
    ),
    key(
        SQL_WRITE,
        f"UPDATE {T} SET s.c2 = 'a_new' WHERE s.c1 = 1",
        lambda a: a.of("s") == [{"c1": 1, "c2": "a_new"}],
        TYPED,
        f"INSERT INTO {T} VALUES (7, named_struct('c1', 1, 'c2', 'x'), 'n')",
    ),
    key(SQL_WRITE, f"DELETE FROM {T} WHERE k = 1", lambda a: a.of("k") == [2], KEYED, KEYED_ROWS),
    key(
        SQL_WRITE,
        f"MERGE INTO {T} USING (SELECT 2 AS k, 'zwei' AS v UNION ALL SELECT 3, 'drei') source ON t.k = source.k "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        lambda a: a.of("v") == ["Hi", "zwei", "drei"],
        KEYED,
        KEYED_ROWS,
    ),
    key(
        SQL_WRITE,
        f"MERGE INTO {T} target USING {SOURCE} source ON target.a = source.a "
        "WHEN MATCHED AND target.a = 5 THEN UPDATE SET b = source.b + target.b "
        "WHEN MATCHED AND source.c > 'c2' THEN UPDATE SET * WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED AND c > 'c9' THEN INSERT (a, b, c) VALUES (a, b * 1.1, c) WHEN NOT MATCHED THEN INSERT *",
        lambda a: a.of("a") == [1, 5, 9] and [round(b, 6) for b in a.of("b")] == [10.0, 55.0, 99.0],
        TARGET,
        TARGET_ROWS,
    ),
    key(
        SQL_WRITE,
        f"INSERT INTO {T} BY NAME SELECT 3 AS a, 3 AS c2 -- spark.paimon.write.merge-schema=true",
        lambda a: a.of("c2") == [None, 3, None] and a.table.schema.names == ["a", "b", "c", "c2"],
        PLAIN,
        TARGET_ROWS,
        "SET `spark.paimon.write.merge-schema` = true",
    ),
    key(
        SQL_WRITE,
        f"COPY INTO {T} FROM '$place/csv_files/' FILE_FORMAT = (TYPE = CSV)",
        lambda a: tuple(a.rows[0])[1:] == ("LOADED", 1, 1, 0, None) and a.of("id") == [3] and a.of("pt") == ["p1"],
        APPEND,
        CSV_FILES,
    ),
    key(
        SQL_WRITE,
        f"COPY INTO '$place/export/' FROM {T} FILE_FORMAT = (TYPE = JSON)",
        lambda a: (
            tuple(a.rows[0])[1:] == (a.rows[0].file_count, 2)
            and sorted(map(tuple, a.spark.read.json(a.rows[0].output_path).collect())) == [(1, "p1"), (2, "p2")]
        ),
        *SIMPLE,
    ),
]
SQL_QUERY_CASES = [
    key(SQL_QUERY, f"SELECT * FROM {T}", ids([1, 2]), *SIMPLE),
    key(SQL_QUERY, f"SELECT * FROM {T} VERSION AS OF 1", ids([1, 2]), *MANY),
    key(SQL_QUERY, f"SELECT * FROM {T} TIMESTAMP AS OF '2100-01-01 00:00:00.123'", ids([1, 2, 3]), *MANY),
    key(SQL_QUERY, f"SELECT * FROM {T} TIMESTAMP AS OF 4102444800", ids([1, 2, 3]), *MANY),
    key(
        SQL_QUERY,
        f"SELECT * FROM {T} VERSION AS OF 'my-tag'",
        ids([1, 2, 3]),
        *MANY,
        f"ALTER TABLE {T} CREATE TAG `my-tag`",
    ),
    key(SQL_QUERY, "SELECT * FROM paimon_incremental_query('lake.db.t', 1, 2)", ids([3]), *MANY),
    key(
        SQL_QUERY,
        "SELECT * FROM paimon_incremental_between_timestamp('lake.db.t', '1692169000000', '4102444800000')",
        ids([1, 2, 3]),
        *MANY,
    ),
    key(
        SQL_QUERY,
        "SELECT * FROM paimon_incremental_between_timestamp('lake.db.t', '2025-03-12 00:00:00', '2100-03-12 00:08:00')",
        ids([1, 2, 3]),
        *MANY,
    ),
    key(
        SQL_QUERY,
        "SELECT * FROM paimon_incremental_to_auto_tag('lake.db.t', '2024-12-04')",
        ids([3]),
        *MANY,
        f"ALTER TABLE {T} CREATE TAG `2024-12-02` AS OF VERSION 1",
        f"ALTER TABLE {T} CREATE TAG `2024-12-04` AS OF VERSION 2",
    ),
    key(SQL_QUERY, f"SELECT * FROM {T} WHERE k=1", ids([1]), KEYED, KEYED_ROWS),
    key(SQL_QUERY, f"SELECT * FROM {T} WHERE k>1 AND v<'I'", ids([2]), KEYED, KEYED_ROWS),
    key(SQL_QUERY, "SELECT * FROM lake.db.`t$files`", lambda a: len(a.rows) == 2, *SIMPLE),
    key(SQL_QUERY, "SELECT * FROM lake.db.`t$snapshots`", lambda a: len(a.rows) == 2, *MANY),
    key(SQL_QUERY, "SELECT * FROM lake.db.`t$schemas`", lambda a: len(a.rows) == 1, *SIMPLE),
    key(
        SQL_QUERY, "SELECT * FROM lake.db.`t$audit_log`", lambda a: [r.rowkind for r in a.rows] == ["+I", "+I"], *SIMPLE
    ),
    key(SQL_QUERY, "SELECT * FROM lake.db.`t$ro`", ids([1, 2]), *SIMPLE),
]
AUXILIARY_CASES = [
    key(
        AUXILIARY,
        f"DESCRIBE TABLE {T}",
        lambda a: [tuple(r)[:2] for r in a.rows[:2]] == [("id", "int"), ("pt", "string")],
        APPEND,
    ),
    key(AUXILIARY, f"DESCRIBE TABLE EXTENDED {T}", lambda a: ("Provider", "paimon", "") in map(tuple, a.rows), APPEND),
    key(AUXILIARY, f"SHOW CREATE TABLE {T}", lambda a: "USING paimon\nPARTITIONED BY (pt)" in a.rows[0][0], APPEND),
    key(AUXILIARY, f"SHOW COLUMNS FROM {T}", lambda a: [r[0] for r in a.rows] == ["id", "pt"], APPEND),
    key(AUXILIARY, f"SHOW PARTITIONS {T} PARTITION (pt='p2')", lambda a: [r[0] for r in a.rows] == ["pt=p2"], *SIMPLE),
    key(
        AUXILIARY, "SHOW TABLE EXTENDED IN lake.db LIKE 't*'", lambda a: [r.tableName for r in a.rows] == ["t"], APPEND
    ),
    key(
        AUXILIARY,
        "SHOW TABLE EXTENDED IN lake.db LIKE 't' PARTITION(pt = 'p1')",
        lambda a: "[pt=p1]" in a.rows[0].information,
        *SIMPLE,
    ),
    key(AUXILIARY, "SHOW VIEWS IN lake.db LIKE 'test*'", lambda a: a.rows == [], APPEND),
    key(AUXILIARY, f"ANALYZE TABLE {T} COMPUTE STATISTICS", lambda a: _statistics(a, {}), *SIMPLE),
    key(
        AUXILIARY,
        f"ANALYZE TABLE {T} COMPUTE STATISTICS FOR COLUMNS id",
        lambda a: _statistics(a, {"id": STATISTICS_OF_ID}),
        *SIMPLE,
    ),
    key(
        AUXILIARY,
        f"ANALYZE TABLE {T} COMPUTE STATISTICS FOR ALL COLUMNS",
        lambda a: _statistics(a, {"id": STATISTICS_OF_ID, "pt": STATISTICS_OF_PT}),
        *SIMPLE,
    ),
    key(AUXILIARY, f"REFRESH TABLE {T}", lambda a: True, APPEND),
    Case(OTHER, AUXILIARY, "SET spark.sql.sources.partitionOverwriteMode=dynamic", lambda a: len(a.rows) == 1, (), ""),
    Case(OTHER, AUXILIARY, "RESET spark.sql.sources.partitionOverwriteMode", lambda a: True, (DYNAMIC,), ""),
]
DEFAULT_CASES = [
    key(
        DEFAULTS,
        f"CREATE TABLE {T} (a BIGINT, b STRING DEFAULT 'my_value', c INT DEFAULT 5)",
        lambda a: a.table.schema.names == ["a", "b", "c"],
    ),
    key(
        DEFAULTS,
        f"INSERT INTO {T} (a) VALUES (1), (2)",
        lambda a: a.of("b") == ["my_value", "my_value"] and a.of("c") == [5, 5],
        f"CREATE TABLE {T} (a BIGINT, b STRING DEFAULT 'my_value', c INT DEFAULT 5)",
    ),
    key(
        DEFAULTS,
        f"ALTER TABLE {T} ALTER COLUMN b SET DEFAULT 3",
        lambda a: a.table.schema.names == ["a", "b"],
        f"CREATE TABLE {T} (a INT, b INT DEFAULT 2)",
    ),
]
FUNCTION_CASES = [
    key(FUNCTIONS, f"SELECT * FROM {T} WHERE pt = sys.max_pt('lake.db.t')", ids([2]), *SIMPLE),
    key(
        FUNCTIONS,
        DESCRIPTOR,
        lambda a: a.of("content") == [b"\x02CSEDBOLB\x19\0\0\0file:///path/to/blob_file" + b"\0" * 8 + b"\xff" * 8],
        BLOB,
    ),
    key(
        FUNCTIONS,
        f"SELECT sys.descriptor_to_string(content) FROM {T}",
        lambda a: [r[0] for r in a.rows] == [f"BlobDescriptor{{{PLACE_OF_BLOB}}}"],
        BLOB,
        DESCRIPTOR,
    ),
    key_no(
        FUNCTIONS,
        f"SELECT sys.descriptor_to_presigned_url('db.t', pt, INTERVAL '5' MINUTE) FROM {T}",
        "can't be used in SQL",
        "the bytes of the column",
        *SIMPLE,
    ),
]
