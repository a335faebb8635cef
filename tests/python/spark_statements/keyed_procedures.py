"""Statements of Paimon's page on procedures."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimon_indexes import GlobalIndexes
from spark_statements.case import OTHER, PROCEDURES, After, Case
from spark_statements.keyed_definitions import APPEND, KEYED, KEYED_ROWS, MANY, ROWS, SIMPLE, T

PK = (KEYED, KEYED_ROWS, f"INSERT INTO {T} VALUES (3, 'x')")
EVOLVING = f"{APPEND} TBLPROPERTIES ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true')"
Y = "CALL lake.sys."


def _sys(statement: str, check: Callable[[After], object], *before: str) -> Case:
    return Case(OTHER, PROCEDURES, statement, check, before, "db.t")


def _folder(a: After) -> Path:
    return Path(a.table.location.removeprefix("file://"))


def _kinds(a: After) -> list[str]:
    kinds: list[str] = a.table.inspect.snapshots().column("commit_kind").to_pylist()
    return kinds


def _consumers(a: After) -> list[tuple[str, int]]:
    return [tuple(row.values()) for row in a.table.inspect.consumers().to_pylist()]  # type: ignore[misc]


def _data_files(a: After) -> list[Path]:
    return [path for path in _folder(a).rglob("bucket-*/*") if path.is_file() and not path.name.startswith(".")]


def _day_before(a: After) -> str:
    """The day before that of the first snapshot, on this machine."""
    made = a.table.snapshots[0].timestamp.astimezone()
    return f"{made - dt.timedelta(days=1):%Y-%m-%d}"


def _without_first_file(lake: Any) -> None:
    """Deletes the file of the partition p1."""
    folder = Path(lake.load_table("db.t").location.removeprefix("file://"))
    for path in folder.glob("pt=p1/bucket-*/*.parquet"):
        path.unlink()


def _with_global_indexes(lake: Any) -> None:
    """Enters an index of the column `id` for each partition."""
    indexes = GlobalIndexes(lake.load_table("db.t"))
    for number in (0, 1):
        indexes.add(f"of-p{number + 1}", (number, number), partition=f"p{number + 1}")


def _row_ids(a: After) -> dict[int, int]:
    return {row["id"]: row["_row_id"] for row in a.table.scan(select=["id", "_row_id"]).to_arrow().to_pylist()}


def _with_watermarks(lake: Any) -> None:
    """Gives the snapshots 1 and 2 the watermarks 1000 and 2000."""
    folder = Path(lake.load_table("db.t").location.removeprefix("file://")) / "snapshot"
    for number in (1, 2):
        file = folder / f"snapshot-{number}"
        file.write_text(json.dumps({**json.loads(file.read_text()), "watermark": number * 1000}))


CONSUMER = f"{Y}reset_consumer(table => 'db.t', consumerId => 'myid', nextSnapshotId => 2)"
SYS_TAG = f"{Y}create_tag(table => 'db.t', tag => 'my_tag')"
SYS_CASES = [
    _sys(f"{Y}compact(table => 'db.t')", lambda a: a.rows[0][0] is True and len(a.data) == 3, *PK),
    _sys(f"{Y}compact(table => 'db.t', compact_strategy => 'minor')", lambda a: a.rows[0][0] is True, *PK),
    _sys(f"{Y}compact(table => 'db.t', partitions => 'pt=p1;pt=p2')", lambda a: a.rows[0][0] is True, *MANY),
    _sys(f"{Y}compact(table => 'db.t', where => \"pt > 'p0' and pt < 'p3'\")", lambda a: a.rows[0][0] is True, *MANY),
    _sys(f"{Y}compact_database(including_databases => 'db', including_tables => 'db.t')", lambda a: a.rows[0][0], *PK),
    _sys(f"{Y}expire_snapshots(table => 'db.t', retain_max => 1)", lambda a: a.rows[0][0] == 1, *PK),
    _sys(
        f"{Y}create_tag(table => 'db.t', tag => 'my_tag', snapshot => 1, time_retained => '1 d')",
        lambda a: a.table.refs["my_tag"].snapshot_id == 1,
        *PK,
    ),
    _sys(SYS_TAG, lambda a: a.table.refs["my_tag"].snapshot_id == 2, *PK),
    _sys(
        f"{Y}create_tag_from_timestamp(`table` => 'db.t', `tag` => 'my_tag', `timestamp` => 1724404318750)",
        lambda a: a.table.refs["my_tag"].snapshot_id == 1,
        *PK,
    ),
    _sys(
        f"{Y}rename_tag(table => 'db.t', tag => 'my_tag', target_tag => 'tag2')",
        lambda a: "tag2" in a.table.refs,
        *PK,
        SYS_TAG,
    ),
    _sys(
        f"{Y}replace_tag(table => 'db.t', tag => 'my_tag', snapshot => 1, time_retained => '1 d')",
        lambda a: a.table.refs["my_tag"].snapshot_id == 1,
        *PK,
        SYS_TAG,
    ),
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
    _sys(
        f"{Y}create_branch(table => 'db.t', branch => 'b', tag => 'my_tag')",
        lambda a: "b" in a.table.refs,
        *PK,
        SYS_TAG,
    ),
    _sys(
        f"{Y}delete_branch(table => 'db.t', branch => 'b')",
        lambda a: "b" not in a.table.refs,
        *PK,
        SYS_TAG,
        f"{Y}create_branch(table => 'db.t', branch => 'b', tag => 'my_tag')",
    ),
    _sys(
        f"{Y}rename_branch(table => 'db.t', from_branch => 'b', to_branch => 'new_branch')",
        lambda a: (
            sorted(a.table.refs) == ["main", "my_tag", "new_branch"] and a.table.scan(at="new_branch").count() == 3
        ),
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
    _sys(
        f"{Y}remove_orphan_files(table => 'db.t', older_than => '2000-10-31 12:00:00')",
        lambda a: a.rows[0][0] == 0,
        *PK,
    ),
    _sys(
        f"{Y}expire_partitions(table => 'db.t', expiration_time => '1 d', timestamp_formatter => 'yyyy-MM-dd', "
        "timestamp_pattern => '$pt')",
        lambda a: a.rows == [("pt=2020-01-01",)] and a.of("id") == [2],
        APPEND,
        f"INSERT INTO {T} VALUES (1, '2020-01-01'), (2, '2999-01-01')",
    ),
    _sys(
        f"{Y}expire_tags(table => 'db.t', older_than => '2999-01-01 00:00:00')",
        lambda a: a.rows == [("my_tag",)] and "my_tag" not in a.table.refs,
        *PK,
        f"{Y}create_tag(table => 'db.t', tag => 'my_tag', time_retained => '1 d')",
    ),
    Case(
        OTHER,
        PROCEDURES,
        f"{Y}rollback_to_watermark(table => 'db.t', watermark => 1500)",
        lambda a: tuple(a.rows[0]) == (2, 1) and len(a.data) == 2,
        PK,
        "db.t",
        prepare=_with_watermarks,
    ),
    _sys(
        f"{Y}compact_manifest(`table` => 'db.t')",
        lambda a: (
            (len(a.table.inspect.manifests()), _kinds(a)) == (1, ["APPEND", "APPEND", "COMPACT"]) and len(a.data) == 3
        ),
        *PK,
    ),
    _sys(
        f"{Y}trigger_tag_automatic_creation(table => 'db.t')",
        lambda a: list(a.table.refs) == [_day_before(a), "main"],
        f"CREATE TABLE {T} (k INT) TBLPROPERTIES ('tag.automatic-creation' = 'process-time')",
        f"INSERT INTO {T} VALUES (1)",
        f"INSERT INTO {T} VALUES (2)",
    ),
    _sys(
        f"{Y}purge_files(table => 'db.t')",
        lambda a: (
            (a.rows[0][0], list(a.table.refs), a.data, _data_files(a)) == ("Success", ["main"], [], [])
            and len(a.table.snapshots) == 1
            and len(a.table.inspect.consumers()) == 0
        ),
        *PK,
        SYS_TAG,
        f"{Y}create_branch(table => 'db.t', branch => 'b', tag => 'my_tag')",
        CONSUMER,
    ),
    _sys(
        f"{Y}migrate_database(source_type => 'hive', database => 'hive_db', options => 'file.format=orc')",
        lambda a: (
            a.rows[0][0] == "migrate database is finished, success cnt: 1 , failed cnt: 0"
            and a.catalog.load_table("hive_db.events").scan().to_arrow().to_pylist() == [{"id": 1, "v": "a"}]
            and not a.spark.catalog.tableExists("spark_catalog.hive_db.events")
        ),
        "CREATE DATABASE spark_catalog.hive_db",
        "CREATE TABLE spark_catalog.hive_db.events USING parquet AS SELECT 1 AS id, 'a' AS v",
    ),
    _sys(
        f"{Y}migrate_table(source_type => 'hive', table => 'default.spark_source', target_table => 'db.t')",
        lambda a: (
            a.data == [{"id": 1, "pt": "x"}, {"id": 2, "pt": None}]
            and [f.column for f in a.table.partition_spec.fields] == ["pt"]
            and a.table.properties["partition.default-name"] == "__HIVE_DEFAULT_PARTITION__"
            and not a.spark.catalog.tableExists("spark_source")
        ),
        "CREATE TABLE spark_source USING parquet PARTITIONED BY (pt) AS "
        "SELECT * FROM VALUES (1, 'x'), (2, NULL) AS t(id, pt)",
    ),
    Case(
        OTHER,
        PROCEDURES,
        f"{Y}remove_unexisting_files(table => 'db.t')",
        lambda a: len(a.rows) == 1 and a.rows[0].fileName.endswith(".parquet") and a.of("id") == [2],
        SIMPLE,
        "db.t",
        prepare=_without_first_file,
    ),
    _sys(
        f"{Y}repair_earliest_snapshot(table => 'db.t', snapshot_id => 2)",
        lambda a: tuple(a.rows[0]) == (1, 2) and (_folder(a) / "snapshot/EARLIEST").read_text() == "2",
        *PK,
    ),
    Case(
        OTHER,
        PROCEDURES,
        f"{Y}merge_branch(table => 'db.t', source_branch => 'b')",
        lambda a: a.of("id") == [1, 2, 3, 4] and a.table.scan(at="b").count() == 3,
        (
            *SIMPLE,
            f"{Y}create_tag(table => 'db.t', tag => 'start')",
            f"{Y}create_branch(table => 'db.t', branch => 'b', tag => 'start')",
            f"INSERT INTO {T} VALUES (3, 'p1')",
        ),
        "db.t",
        prepare=lambda catalog: catalog.load_table("db.t").append(
            pa.table({"id": pa.array([4], pa.int32()), "pt": ["p1"]}), branch="b"
        ),
    ),
    _sys(CONSUMER, lambda a: _consumers(a) == [("myid", 2)], *PK),
    _sys(
        f"{Y}clear_consumers(table => 'db.t', includingConsumers => 'myid.*', excludingConsumers => 'myid1.*')",
        lambda a: _consumers(a) == [("myid1", 1), ("other", 1)],
        *PK,
        CONSUMER,
        f"{Y}reset_consumer(table => 'db.t', consumerId => 'myid1', nextSnapshotId => 1)",
        f"{Y}reset_consumer(table => 'db.t', consumerId => 'other', nextSnapshotId => 1)",
    ),
    _sys(
        f"{Y}mark_partition_done(table => 'db.t', partitions => 'pt=p1;pt=p2')",
        lambda a: all(
            sorted(json.loads((_folder(a) / f"pt={p}/_SUCCESS").read_text())) == ["creationTime", "modificationTime"]
            for p in ("p1", "p2")
        ),
        *SIMPLE,
    ),
    _sys(
        f"{Y}rewrite_file_index(table => 'db.t', where => \"pt = 'p1'\")",
        # The index alone shows that the file does not have this value.
        lambda a: tuple(a.rows[0]) == (1, 1) and len(list(a.table.scan("id = 50").plan_files())) == 0,
        APPEND,
        f"INSERT INTO {T} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 'p1'), (100, 'p1'), (1, 'p2')",
        f"ALTER TABLE {T} SET TBLPROPERTIES ('file-index.bloom-filter.columns' = 'id')",
    ),
    _sys(
        f"{Y}materialize_deletion_vectors(table => 'db.t', partitions => 'pt=p1')",
        lambda a: (
            (a.rows[0][0], a.of("id"), _row_ids(a), _kinds(a)[-1]) == (True, [2, 4], {2: 4, 4: 3}, "COMPACT")
            and sorted(a.table.inspect.files().column("record_count").to_pylist()) == [1, 2]
        ),
        EVOLVING.removesuffix(")") + ", 'deletion-vectors.enabled' = 'true')",
        f"INSERT INTO {T} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 'p1'), (2, 'p1')",
        f"INSERT INTO {T} SELECT /*+ COALESCE(1) */ * FROM VALUES (3, 'p2'), (4, 'p2')",
        f"DELETE FROM {T} WHERE id IN (1, 3)",
    ),
    Case(
        OTHER,
        PROCEDURES,
        f"{Y}drop_global_index(table => 'db.t', index_column => 'id', index_type => 'btree', partitions => 'pt=p1')",
        lambda a: tuple(a.rows[0]) == (True, 1) and list(GlobalIndexes(a.table).ranges()) == ["of-p2"],
        (EVOLVING.removesuffix(")") + ", 'manifest.compression' = 'null')", ROWS),
        "db.t",
        prepare=_with_global_indexes,
    ),
    _sys(
        f"{Y}reassign_row_id(table => 'db.t')",
        lambda a: (
            a.rows[0][0]
            == "Success. Reassigned row IDs for table 'db.t': snapshot 3 -> 4, nextRowId 3 -> 5, "
            "files=2, rows=2, indexFiles=0."
            and _row_ids(a) == {1: 3, 2: 1, 3: 4}
        ),
        EVOLVING,
        *[f"INSERT INTO {T} VALUES {row}" for row in ("(1, 'p1')", "(2, 'p2')", "(3, 'p1')")],
    ),
    *[
        Case(OTHER, PROCEDURES, f"{Y}{name}(table => 'db.t')", None, (), "", "can't be done", remedy)
        for name, remedy in [
            ("compact_chain_table", "the connector"),
            ("repair", "not needed"),
            ("alter_view_dialect", "the connector"),
            ("create_function", "the connector"),
            ("alter_function", "the connector"),
            ("drop_function", "the connector"),
            ("create_global_index", "the connector"),
        ]
    ],
]
