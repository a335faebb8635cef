"""Procedures that expire snapshots, rewrite files and compute statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from frazil.capabilities import supports
from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.spark.sql.grammar.tokens import Cursor
from frazil.spark.sql.procedures.procedure import Given, Parameter, Procedure, flag
from frazil.spark.sql.terms import sort_term
from frazil.table import Table

__all__ = ["PROCEDURES", "executors_for", "sort_arguments"]

_TABLE = Parameter("table", required=True)
_OPTIONS = Parameter("options", "map<string,string>")

Rows = Sequence[Sequence[Any]]

# Tables with less than this are maintained by the driver, which is faster.
_FEW_FILES = 1000
_FEW_BYTES = 256 << 20
# Options of the connector that only say how its jobs run.
_OF_JOBS = (
    "compression-factor",
    "max-concurrent-file-group-rewrites",
    "partial-progress.enabled",
    "rewrite-job-order",
    "shuffle-partitions-per-file",
    "use-starting-sequence-number",
)


def executors_for(given: Given, table: Table) -> SparkSession | None:
    """The session if executors should do the work, or None for the driver."""
    if not supports(table._core, "maintenance_by_executors") or table.snapshot is None:
        return None
    summary = table.snapshot.summary
    files, size = int(summary.get("total-data-files", 0)), int(summary.get("total-files-size", 0))
    return given.session.spark if files >= _FEW_FILES or size >= _FEW_BYTES else None


def _expire_snapshots(given: Given) -> Rows:
    if given["clean_expired_metadata"]:
        raise UnsupportedError("clean_expired_metadata is not done", hint="Leave it out: specs and schemas stay")
    ids, last = given["snapshot_ids"], given["retain_last"]
    done = given.table.maintain.expire_snapshots(
        given["older_than"],
        None if last is None else int(last),
        None if ids is None else [int(one) for one in ids],
    )
    kinds = (
        done.data_files,
        done.position_delete_files,
        done.equality_delete_files,
        done.manifests,
        done.manifest_lists,
        done.statistics_files,
    )
    return [tuple(len(files) for files in kinds)]


def _remove_orphan_files(given: Given) -> Rows:
    if given["file_list_view"] is not None:
        raise UnsupportedError("file_list_view can't be used", hint="Leave it out: Frazil lists the files itself")
    table = given.table
    mode = str(given["prefix_mismatch_mode"] or "error").lower()
    if mode not in ("error", "ignore", "delete"):
        raise InvalidInputError(f"prefix_mismatch_mode is ERROR, IGNORE or DELETE, not '{mode}'")
    done = table.maintain.remove_orphan_files(
        given["older_than"],
        given["location"],
        bool(given["dry_run"]),
        mode,  # type: ignore[arg-type]
        given["equal_schemes"],
        given["equal_authorities"],
        executors_for(given, table),
    )
    return [(path,) for path in done.files]


def sort_arguments(strategy: str | None, order: str | None, options: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of `compact` for a strategy and an order."""
    cursor = Cursor(order or "")
    if cursor.at("ZORDER"):
        cursor.take()
        columns = [part.strip(" `") for part in cursor.parentheses().split(",")]
        found: dict[str, Any] = {"strategy": "zorder", "zorder_by": columns}
        if "max-output-size" in options:
            found["zorder_max_output_size"] = int(options["max-output-size"])
        if "var-length-contribution" in options:
            found["zorder_var_length_contribution"] = int(options["var-length-contribution"])
        return found
    if order is None:
        return {} if strategy is None else {"strategy": strategy}
    if strategy == "binpack":
        raise InvalidInputError("strategy 'binpack' has no sort_order", hint="Use strategy => 'sort'")
    fields, cursor = [], Cursor(order)
    while True:
        term = sort_term(cursor.until(signs=","))
        nulls = "" if term.nulls is None else f" nulls {term.nulls}"
        fields.append(f"{term.term} {'desc' if term.descending else 'asc'}{nulls}")
        if not cursor.accept_sign(","):
            return {"strategy": "sort", "sort_by": fields}


def _rules(options: Mapping[str, str], known: Sequence[str]) -> dict[str, Any]:
    """The arguments that options mean.

    Raises:
        InvalidInputError: An option does not exist.
    """
    unknown = [key for key in options if key not in known and key not in _OF_JOBS]
    if unknown:
        raise InvalidInputError(f"there is no option '{unknown[0]}'", hint=f"Options are {', '.join(known)}")
    names = {
        "target-file-size-bytes": "target_file_size_bytes",
        "min-file-size-bytes": "min_file_size_bytes",
        "max-file-size-bytes": "max_file_size_bytes",
        "min-input-files": "min_input_files",
        "max-file-group-size-bytes": "max_group_size_bytes",
        "delete-file-threshold": "delete_file_threshold",
    }
    found: dict[str, Any] = {names[key]: int(value) for key, value in options.items() if key in names}
    if "delete-ratio-threshold" in options:
        found["delete_ratio_threshold"] = float(options["delete-ratio-threshold"])
    if "rewrite-all" in options:
        found["rewrite_all"] = flag(options["rewrite-all"])
    return found


_REWRITE = [
    "target-file-size-bytes",
    "min-file-size-bytes",
    "max-file-size-bytes",
    "min-input-files",
    "max-file-group-size-bytes",
    "rewrite-all",
]
_REWRITE_DATA = [
    *_REWRITE,
    *[
        "delete-file-threshold",
        "delete-ratio-threshold",
        "remove-dangling-deletes",
        "partial-progress.max-commits",
        "partial-progress.max-failed-commits",
        "output-spec-id",
        "max-output-size",
        "var-length-contribution",
    ],
]


def _rewrite_data_files(given: Given) -> Rows:
    table, options = given.table, dict(given["options"] or {})
    arguments = _rules(options, _REWRITE_DATA)
    arguments |= sort_arguments(given["strategy"], given["sort_order"], options)
    if flag(options.get("partial-progress.enabled", "false")):
        arguments["max_commits"] = int(options.get("partial-progress.max-commits", 10))
        if "partial-progress.max-failed-commits" in options:
            arguments["max_failed_commits"] = int(options["partial-progress.max-failed-commits"])
    spec = options.get("output-spec-id")
    if spec is not None and int(spec) != table.partition_spec.id:
        raise UnsupportedError("output-spec-id must be the current spec", hint="Leave it out")
    deletes = _delete_files(table)
    done = table.maintain.compact(
        where=given.where(table), branch=given.target.branch, spark=executors_for(given, table), **arguments
    )
    table.refresh()
    if flag(options.get("remove-dangling-deletes", "false")):
        table.maintain.remove_dangling_deletes()
    removed = max(deletes - _delete_files(table), 0)
    return [(done.rewritten_files, done.added_files, done.rewritten_bytes, len(done.failed), removed)]


def _delete_files(table: Table) -> int:
    return 0 if table.snapshot is None else int(table.snapshot.summary.get("total-delete-files", 0))


def _rewrite_manifests(given: Given) -> Rows:
    table, by = given.table, list(given["sort_by"] or ())
    names = [field.name for field in table.partition_spec.fields]
    if by != names[: len(by)]:
        raise UnsupportedError(
            f"manifests can't be sorted by {', '.join(by)}",
            hint=f"They are sorted by the partition fields in order: {', '.join(names) or 'none'}",
        )
    spec = given["spec_id"]
    done = table.maintain.rewrite_manifests(None if spec is None else int(spec))
    return [(len(done.rewritten), len(done.added))]


def _rewrite_position_delete_files(given: Given) -> Rows:
    table = given.table
    arguments = _rules(dict(given["options"] or {}), _REWRITE)
    done = table.maintain.rewrite_position_deletes(
        where=given.where(table), spark=executors_for(given, table), **arguments
    )
    return [(done.rewritten_files, done.added_files, done.rewritten_bytes, done.added_bytes)]


def _compute_table_stats(given: Given) -> Rows:
    snapshot = given["snapshot_id"]
    done = given.table.maintain.compute_statistics(given["columns"], None if snapshot is None else int(snapshot))
    return [] if done is None else [(done.path,)]


def _compute_partition_stats(given: Given) -> Rows:
    snapshot = given["snapshot_id"]
    done = given.table.maintain.compute_partition_statistics(None if snapshot is None else int(snapshot))
    return [] if done is None else [(done.path,)]


_MAP = "map<string,string>"
PROCEDURES = {
    "expire_snapshots": Procedure(
        (
            _TABLE,
            Parameter("older_than", "timestamp"),
            Parameter("retain_last", "int"),
            Parameter("max_concurrent_deletes", "int"),
            Parameter("stream_results", "boolean"),
            Parameter("snapshot_ids", "array<bigint>"),
            Parameter("clean_expired_metadata", "boolean"),
        ),
        "deleted_data_files_count bigint, deleted_position_delete_files_count bigint, "
        "deleted_equality_delete_files_count bigint, deleted_manifest_files_count bigint, "
        "deleted_manifest_lists_count bigint, deleted_statistics_files_count bigint",
        _expire_snapshots,
    ),
    "remove_orphan_files": Procedure(
        (
            _TABLE,
            Parameter("older_than", "timestamp"),
            Parameter("location"),
            Parameter("dry_run", "boolean"),
            Parameter("max_concurrent_deletes", "int"),
            Parameter("file_list_view"),
            Parameter("equal_schemes", _MAP),
            Parameter("equal_authorities", _MAP),
            Parameter("prefix_mismatch_mode"),
            Parameter("prefix_listing", "boolean"),
            Parameter("stream_results", "boolean"),
        ),
        "orphan_file_location string",
        _remove_orphan_files,
    ),
    "rewrite_data_files": Procedure(
        (_TABLE, Parameter("strategy"), Parameter("sort_order"), _OPTIONS, Parameter("where"), Parameter("branch")),
        "rewritten_data_files_count int, added_data_files_count int, rewritten_bytes_count bigint, "
        "failed_data_files_count int, removed_delete_files_count int",
        _rewrite_data_files,
    ),
    "rewrite_manifests": Procedure(
        (
            _TABLE,
            Parameter("use_caching", "boolean"),
            Parameter("spec_id", "int"),
            Parameter("sort_by", "array<string>"),
        ),
        "rewritten_manifests_count int, added_manifests_count int",
        _rewrite_manifests,
    ),
    "rewrite_position_delete_files": Procedure(
        (_TABLE, _OPTIONS, Parameter("where")),
        "rewritten_delete_files_count int, added_delete_files_count int, rewritten_bytes_count bigint, "
        "added_bytes_count bigint",
        _rewrite_position_delete_files,
    ),
    "compute_table_stats": Procedure(
        (_TABLE, Parameter("snapshot_id", "bigint"), Parameter("columns", "array<string>")),
        "statistics_file string",
        _compute_table_stats,
    ),
    "compute_partition_stats": Procedure(
        (_TABLE, Parameter("snapshot_id", "bigint")), "partition_statistics_file string", _compute_partition_stats
    ),
    "rewrite_table_path": Procedure(
        (_TABLE,), "latest_version string", None, "Copy the folder, and read it by fz.open_table(folder, moved=True)"
    ),
}
"""These procedures by name."""
