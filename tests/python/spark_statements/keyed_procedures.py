"""Statements of Paimon's page on procedures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spark_statements.case import OTHER, PROCEDURES, After, Case
from spark_statements.keyed_definitions import APPEND, KEYED, KEYED_ROWS, MANY, T

PK = (KEYED, KEYED_ROWS, f"INSERT INTO {T} VALUES (3, 'x')")
Y = "CALL lake.sys."


def _sys(statement: str, check: Callable[[After], object], *before: str) -> Case:
    return Case(OTHER, PROCEDURES, statement, check, before, "db.t")


def _with_watermarks(lake: Any) -> None:
    """Gives the snapshots 1 and 2 the watermarks 1000 and 2000."""
    folder = Path(lake.load_table("db.t").location.removeprefix("file://")) / "snapshot"
    for number in (1, 2):
        file = folder / f"snapshot-{number}"
        file.write_text(json.dumps({**json.loads(file.read_text()), "watermark": number * 1000}))


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
    Case(
        OTHER,
        PROCEDURES,
        f"{Y}rename_branch(table => 'db.t', from_branch => 'b', to_branch => 'new_branch')",
        None,
        (*PK, SYS_TAG, f"{Y}create_branch(table => 'db.t', branch => 'b', tag => 'my_tag')"),
        "",
        "renaming branches",
        "create_branch, delete_branch",
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
    Case(
        OTHER,
        PROCEDURES,
        f"{Y}compact_manifest(`table` => 'db.t')",
        None,
        PK,
        "",
        "rewrite_manifests",
        "the connector",
    ),
    *[
        Case(OTHER, PROCEDURES, f"{Y}{name}(table => 'db.t')", None, (), "", "can't be done", remedy)
        for name, remedy in [
            ("materialize_deletion_vectors", "the connector"),
            ("compact_chain_table", "the connector"),
            ("trigger_tag_automatic_creation", "the connector"),
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
