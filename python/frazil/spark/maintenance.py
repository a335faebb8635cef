"""Maintenance of tables by Spark's executors: `table.maintain.compact(spark=spark)` and others.

The driver plans and commits; executors read and write. Arguments and results are those of the methods without Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from frazil import _core
from frazil.exceptions import FrazilError
from frazil.maintain import Compacted, OrphanFiles, RewrittenDeletes
from frazil.requests.maintenance import perform, read_answer
from frazil.spark.jobs.job import unless_committed
from frazil.spark.jobs.parts import PartRows, PartsJob, spark_failures

__all__ = ["compact", "remove_orphan_files", "rewrite_position_deletes"]

# Arguments of a compaction that executors need too.
_ORDER = ("strategy", "sort_by", "zorder_by", "zorder_max_output_size", "zorder_var_length_contribution")
# The number of folders or manifests in one part.
_FOLDERS, _MANIFESTS = 8, 16
_COMMIT = ("branch", "snapshot_properties")

_Result = TypeVar("_Result")


def compact(spark: SparkSession, table: _core.Table, options: Mapping[str, Any]) -> tuple[_core.Table, Compacted]:
    """Compacts an Iceberg table, with the arguments of the core's `compact`. Also returns the table's new version.

    Raises:
        FrazilError: As `Maintain.compact`. Executors that died raise a `StoreError`.
    """
    newest, planned = perform(table, "plan_compact", options)
    counted, groups = Compacted(**planned["counted"]), planned["groups"]
    if options["dry_run"] or not groups:
        return newest, counted
    compaction = _Compaction(spark, newest, options, planned["snapshot"])
    done = counted._replace(rewritten_files=0, rewritten_bytes=0)
    most = options["max_commits"]
    size = len(groups) if most is None else -(-len(groups) // max(most, 1))
    first: FrazilError | None = None
    for start in range(0, len(groups), size):
        try:
            compaction.run(groups[start : start + size])
        except FrazilError as error:
            if most is None:
                raise
            done.failed.append(str(error))
            first = first or error
        else:
            done = compaction.added_to(done)
    if first is not None and options["max_failed_commits"] is not None:
        _check_failures(done, options["max_failed_commits"], first)
    return compaction.table, done


def _check_failures(done: Compacted, most: int, first: FrazilError) -> None:
    failed = len(done.failed)
    if failed > most:
        raise type(first)(
            f"{failed} of {failed + done.commits} commits of the compaction failed",
            {"committed": str(done.commits), "rewritten_files": str(done.rewritten_files), "failed": str(failed)},
            hint="The other commits are in the table. Compact again for the rest",
        ) from first


class _Compaction:
    """A planned compaction.

    Attributes:
        table: The table after the last commit.
    """

    def __init__(self, spark: SparkSession, planned: _core.Table, options: Mapping[str, Any], snapshot: int) -> None:
        self.table = planned
        self._spark, self._planned, self._snapshot = spark, planned, snapshot
        self._order = {name: options[name] for name in _ORDER}
        self._commit = {name: options[name] for name in _COMMIT}
        self._last = Compacted(0, 0, 0, 0, 0, 0, [])

    def run(self, groups: Sequence[Mapping[str, Any]]) -> None:
        """Rewrites groups and commits them."""
        job = PartsJob(self._spark, self._planned, "compact_part")
        parts = [
            {**self._order, "part": part, "roll_at": group["roll_at"]} for group in groups for part in group["parts"]
        ]
        messages = _run(job, parts)
        removed = [group["removed"] for group in groups]
        arguments = {**self._commit, "snapshot": self._snapshot, "removed": removed, "messages": messages}
        self.table, self._last = _commit(job, "commit_compact", arguments, Compacted)

    def added_to(self, done: Compacted) -> Compacted:
        """A result plus what the last commit did."""
        counted = ("rewritten_files", "rewritten_bytes", "added_files", "added_bytes", "commits")
        return done._replace(**{name: getattr(done, name) + getattr(self._last, name) for name in counted})


def rewrite_position_deletes(
    spark: SparkSession, table: _core.Table, options: Mapping[str, Any]
) -> tuple[_core.Table, RewrittenDeletes]:
    """Rewrites position delete files, with the arguments of the core's action. Also returns the table's new version.

    Raises:
        FrazilError: As `Maintain.rewrite_position_deletes`. Executors that died raise a `StoreError`.
    """
    newest, planned = perform(table, "plan_rewrite_position_deletes", options)
    if options["dry_run"] or not planned["parts"]:
        return newest, RewrittenDeletes(**planned["counted"])
    job = PartsJob(spark, newest, "rewrite_position_deletes_part")
    snapshot = planned["snapshot"]
    messages = _run(job, [{**part, "snapshot": snapshot} for part in planned["parts"]])
    removed = [part["deletes"] for part in planned["parts"]]
    arguments = {
        **{name: options[name] for name in _COMMIT},
        "snapshot": snapshot,
        "removed": removed,
        "messages": messages,
    }
    return _commit(job, "commit_rewrite_position_deletes", arguments, RewrittenDeletes)


def remove_orphan_files(
    spark: SparkSession, table: _core.Table, options: Mapping[str, Any]
) -> tuple[_core.Table, OrphanFiles]:
    """Removes orphan files, with the arguments of the core's action. Also returns the table's newest version.

    Executors list folders, then read manifests; Spark compares. Only the paths of orphans come to the driver, which
    deletes them.

    Raises:
        FrazilError: As `Maintain.remove_orphan_files`. Executors that died raise a `StoreError`.
    """
    _, planned = perform(table, "plan_orphans", options)
    # All executors use the same time.
    asked = {**options, "older_than_ms": planned["older_than_ms"]}
    folders = [{**asked, "folders": chunk} for chunk in _chunks(planned["folders"], _FOLDERS)]
    listing = PartRows(spark, table, "list_part", "path")
    # The list is made first: the metadata that is read later includes every listed file that was committed.
    with listing.rows(folders, planned["rows"]) as listed:
        newest, planned = perform(table, "plan_reachable", asked)
        manifests = [{**asked, "manifests": chunk} for chunk in _chunks(planned["manifests"], _MANIFESTS)]
        reading = PartRows(spark, newest, "reachable_part", "prefix")
        with reading.rows(manifests, planned["rows"]) as reachable:
            others, conflicts = reachable.where("prefix is not null"), []
            if options["prefix_mismatch"] == "delete":
                reachable = reachable.where("prefix is null")
            with spark_failures("Nothing was changed"):
                if options["prefix_mismatch"] == "error":
                    same = others.join(listed, "key", "left_semi").select("prefix").distinct()
                    conflicts = [row.prefix for row in same.collect()]
                found = listed.join(reachable, "key", "left_anti").select("path").distinct().collect()
    arguments = {**asked, "files": sorted(row.path for row in found), "conflicts": conflicts}
    newest, done = perform(newest, "delete_orphans", arguments)
    return newest, OrphanFiles(**done)


def _chunks(items: Sequence[str], size: int) -> list[Sequence[str]]:
    """Chunks of items. Neighbours are alike, so they go to different chunks."""
    number = -(-len(items) // size)
    return [items[first::number] for first in range(number)]


def _commit(
    job: PartsJob, step: str, arguments: Mapping[str, Any], result: Callable[..., _Result]
) -> tuple[_core.Table, _Result]:
    """Commits on top of the version that was planned, so that its assumptions are checked."""
    with unless_committed(job.give_up):
        table, done = perform(job.table, step, arguments)
    job.committed()
    return table, result(**done)


def _run(job: PartsJob, parts: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Does the parts; returns the answers.

    Raises:
        StoreError: Spark gave up.
    """
    with spark_failures("Nothing was committed, and what they wrote is removed"):
        return [read_answer(text) for text in job.run(parts)]
