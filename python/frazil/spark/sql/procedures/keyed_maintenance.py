"""The procedures of the namespace `sys` that maintain tables: consumers, marks of partitions, indexes, lost files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frazil.doctor import missing_files
from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.spark.sql.grammar.tokens import shown
from frazil.spark.sql.procedures.procedure import Given, Parameter, Procedure, pairs_of

__all__ = ["PROCEDURES"]

_TABLE = Parameter("table", required=True)
_RESULT = "result boolean"

Rows = Sequence[Sequence[Any]]


def _reset_consumer(given: Given) -> Rows:
    following = given["nextSnapshotId"]
    given.table.maintain.reset_consumer(str(given["consumerId"]), None if following is None else int(following))
    return [(True,)]


def _clear_consumers(given: Given) -> Rows:
    chosen, kept = (str(given[name] or "").strip() or None for name in ("includingConsumers", "excludingConsumers"))
    given.table.maintain.clear_consumers(chosen, kept)
    return [(True,)]


def _mark_partition_done(given: Given) -> Rows:
    partitions = [pairs_of(part) for part in str(given["partitions"]).split(";") if part.strip()]
    if not partitions:
        raise InvalidInputError("mark_partition_done needs a partition", hint="partitions => 'day=2026-01-02'")
    given.table.maintain.mark_partitions_done(*partitions)
    return [(True,)]


def _purge_files(given: Given) -> Rows:
    given.table.maintain.purge()
    return [("Success",)]


def _trigger_tag_automatic_creation(given: Given) -> Rows:
    given.table.maintain.create_automatic_tags()
    return [(True,)]


def _remove_unexisting_files(given: Given) -> Rows:
    """The repair `lost-files`, for files that do not exist.

    Raises:
        UnsupportedError: Files that exist are damaged. The repair would take them out, too.
    """
    table, repair = given.table, "lost-files"
    lost = [step.object for step in table.repair(repair).steps]
    missing = set()
    if lost:
        missing = missing_files(table._core)
    damaged = [path for path in lost if path not in missing]
    if damaged:
        raise UnsupportedError(
            f"{given.procedure} takes out missing files only, but {len(damaged)} files that exist are damaged",
            {"path": damaged[0]},
            f"table.repair('{repair}') takes out damaged files, too",
        )
    if given["dry_run"]:
        return [(path,) for path in lost]
    return [(step.object,) for step in table.repair(repair, dry_run=False).steps]


def _repair_earliest_snapshot(given: Given) -> Rows:
    table, chosen = given.table, int(given["snapshot_id"])
    before = table.snapshots[0].id if table.snapshots else None
    table.maintain.set_earliest_snapshot(chosen)
    return [(before, chosen)]


def _rewrite_file_index(given: Given) -> Rows:
    table = given.table
    done = table.maintain.rewrite_file_indexes(given.where(table))
    return [(done.partitions, done.files)]


def _materialize_deletion_vectors(given: Given) -> Rows:
    table = given.table
    table.maintain.materialize_deletion_vectors(given.partitions(table), given.options())
    return [(True,)]


def _drop_global_index(given: Given) -> Rows:
    table = given.table
    columns = [name.strip() for name in str(given["index_column"]).split(",") if name.strip()]
    count = table.maintain.drop_global_index(
        columns, str(given["index_type"]), given.partitions(table), dry_run=bool(given["dry_run"])
    )
    return [(True, count)]


def _reassign_row_id(given: Given) -> Rows:
    table, name = given.table, shown(given.name()[-2:])
    done = table.maintain.reassign_row_ids(given.partitions(table))
    if done.skipped is not None:
        return [
            (
                f"Skipped. Row IDs for table '{name}' were not reassigned because {done.skipped}: "
                f"snapshot {done.snapshot_id} unchanged, nextRowId={done.next_row_id}.",
            )
        ]
    return [
        (
            f"Success. Reassigned row IDs for table '{name}': "
            f"snapshot {done.previous_snapshot_id} -> {done.snapshot_id}, "
            f"nextRowId {done.first_row_id} -> {done.next_row_id}, "
            f"files={done.files}, rows={done.rows}, indexFiles={done.indexes}.",
        )
    ]


def _compact_manifest(given: Given) -> Rows:
    for name in ("manifest_sort_enabled", "manifest_sort_partition_field", "manifest_sort_max_rewrite_size", "options"):
        if given[name] is not None:
            raise InvalidInputError(
                f"compact_manifest can't have '{name}' here", hint="Set options of manifests with ALTER TABLE"
            )
    given.table.maintain.rewrite_manifests(dry_run=bool(given["dry_run"]))
    return [(True,)]


def _merge_branch(given: Given) -> Rows:
    target = given["target_branch"]
    given.table.refs.merge(str(given["source_branch"]), "main" if target is None else str(target))
    return [(True,)]


PROCEDURES = {
    "reset_consumer": Procedure(
        (_TABLE, Parameter("consumerId", required=True), Parameter("nextSnapshotId", "bigint")),
        _RESULT,
        _reset_consumer,
    ),
    "clear_consumers": Procedure(
        (_TABLE, Parameter("includingConsumers"), Parameter("excludingConsumers")), _RESULT, _clear_consumers
    ),
    "mark_partition_done": Procedure((_TABLE, Parameter("partitions", required=True)), _RESULT, _mark_partition_done),
    "purge_files": Procedure((_TABLE,), "result string", _purge_files),
    "trigger_tag_automatic_creation": Procedure((_TABLE,), _RESULT, _trigger_tag_automatic_creation),
    "remove_unexisting_files": Procedure(
        (_TABLE, Parameter("dry_run", "boolean"), Parameter("parallelism", "int")),
        "fileName string",
        _remove_unexisting_files,
    ),
    "repair_earliest_snapshot": Procedure(
        (_TABLE, Parameter("snapshot_id", "bigint", True)),
        "previous_earliest_snapshot_id bigint, current_earliest_snapshot_id bigint",
        _repair_earliest_snapshot,
    ),
    "rewrite_file_index": Procedure(
        (_TABLE, Parameter("where")), "written_partitions int, written_indexes int", _rewrite_file_index
    ),
    "compact_manifest": Procedure(
        (
            _TABLE,
            Parameter("options", ""),
            Parameter("dry_run", "boolean"),
            Parameter("manifest_sort_enabled", "boolean"),
            Parameter("manifest_sort_partition_field"),
            Parameter("manifest_sort_max_rewrite_size"),
        ),
        _RESULT,
        _compact_manifest,
    ),
    "materialize_deletion_vectors": Procedure(
        (_TABLE, Parameter("partitions"), Parameter("options", ""), Parameter("where")),
        _RESULT,
        _materialize_deletion_vectors,
    ),
    "drop_global_index": Procedure(
        (
            _TABLE,
            Parameter("index_column", required=True),
            Parameter("index_type", required=True),
            Parameter("partitions"),
            Parameter("dry_run", "boolean"),
        ),
        "result boolean, dropped_file_count bigint",
        _drop_global_index,
    ),
    "reassign_row_id": Procedure((_TABLE, Parameter("partitions")), "result string", _reassign_row_id),
    "merge_branch": Procedure(
        (_TABLE, Parameter("source_branch", required=True), Parameter("target_branch")), _RESULT, _merge_branch
    ),
}
"""These procedures by name."""
