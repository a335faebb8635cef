"""Maintenance of tables by Spark's executors: `table.maintain.compact(spark=spark)` and others.

The driver plans and commits; executors read and write. Arguments and results are those of the methods without Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from frazil import _core
from frazil.exceptions import FrazilError
from frazil.maintain import Compacted, OrphanFiles, RewrittenDeletes
from frazil.requests.maintenance import (
    CompactionGroup,
    Maintenance,
    MaintenanceParts,
    OrphanOptions,
    compaction_parts,
    delete_part,
    orphan_part,
    result,
)
from frazil.spark.jobs.interrupts import interruptible, raise_if_interrupted
from frazil.spark.jobs.job import unless_committed, unless_interrupted
from frazil.spark.jobs.parts import PartRows, PartsJob, spark_failures

__all__ = ["compact", "remove_orphan_files", "rewrite_position_deletes"]

# The number of folders or manifests in one part.
_FOLDERS, _MANIFESTS = 8, 16

_Result = TypeVar("_Result")


@interruptible
def compact(spark: SparkSession, table: _core.Table, action: Maintenance.Compact) -> tuple[_core.Table, Compacted]:
    """Compacts an Iceberg table. Also returns the table's new version.

    Raises:
        FrazilError: As `Maintain.compact`. Executors that died raise a `StoreError`.
    """
    newest, snapshot, groups, counted = MaintenanceParts(table).plan_compaction(action)
    done = result(Compacted, counted)
    if action.dry_run or snapshot is None or not groups:
        return newest, done
    compaction = _Compaction(spark, newest, action, snapshot)
    done = done._replace(rewritten_files=0, rewritten_bytes=0)
    most = action.max_commits
    size = len(groups) if most is None else -(-len(groups) // max(most, 1))
    first: FrazilError | None = None
    for start in range(0, len(groups), size):
        try:
            compaction.run(groups[start : start + size])
        except FrazilError as error:
            if most is None:
                raise
            raise_if_interrupted()
            done.failed.append(str(error))
            first = first or error
        else:
            done = compaction.added_to(done)
    if first is not None and action.max_failed_commits is not None:
        _check_failures(done, action.max_failed_commits, first)
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

    def __init__(self, spark: SparkSession, planned: _core.Table, action: Maintenance.Compact, snapshot: int) -> None:
        self.table = planned
        self._spark, self._planned, self._snapshot = spark, planned, snapshot
        self._action = action
        self._last = Compacted(0, 0, 0, 0, 0, 0, [])

    def run(self, groups: list[CompactionGroup]) -> None:
        """Rewrites groups and commits them."""
        job = PartsJob(self._spark, self._planned, "compact_part")
        messages = _run(job, [part for group in groups for part in compaction_parts(group, self._action.order)])
        steps = MaintenanceParts(self._planned)
        self.table, done = _commit(job, lambda: steps.commit_compaction(self._action, self._snapshot, groups, messages))
        self._last = result(Compacted, done)

    def added_to(self, done: Compacted) -> Compacted:
        """A result plus that of the last commit."""
        counted = ("rewritten_files", "rewritten_bytes", "added_files", "added_bytes", "commits")
        return done._replace(**{name: getattr(done, name) + getattr(self._last, name) for name in counted})


@interruptible
def rewrite_position_deletes(
    spark: SparkSession, table: _core.Table, action: Maintenance.RewritePositionDeletes
) -> tuple[_core.Table, RewrittenDeletes]:
    """Rewrites position delete files. Also returns the table's new version.

    Raises:
        FrazilError: As `Maintain.rewrite_position_deletes`. Executors that died raise a `StoreError`.
    """
    newest, snapshot, parts, counted = MaintenanceParts(table).plan_delete_rewrite(action)
    if action.dry_run or snapshot is None or not parts:
        return newest, result(RewrittenDeletes, counted)
    job = PartsJob(spark, newest, "rewrite_position_deletes_part")
    messages = _run(job, [delete_part(part, snapshot) for part in parts])
    steps, since = MaintenanceParts(newest), snapshot
    newest, done = _commit(job, lambda: steps.commit_delete_rewrite(action, since, parts, messages))
    return newest, result(RewrittenDeletes, done)


@interruptible
def remove_orphan_files(
    spark: SparkSession, table: _core.Table, options: OrphanOptions
) -> tuple[_core.Table, OrphanFiles]:
    """Removes orphan files. Also returns the table's newest version.

    Executors list folders, then read manifests; Spark compares. Only the paths of orphans come to the driver, which
    deletes them.

    Raises:
        FrazilError: As `Maintain.remove_orphan_files`. Executors that died raise a `StoreError`.
    """
    # All executors use the same time.
    folders, rows, before = MaintenanceParts(table).plan_listing(options)
    parts = [orphan_part(options, before, folders=chunk) for chunk in _chunks(folders, _FOLDERS)]
    listing = PartRows(spark, table, "list_part", "path")
    # The list is made first: the metadata that is read later includes every listed file that was committed.
    with listing.rows(parts, rows) as listed:
        newest, manifests, others_read = MaintenanceParts(table).plan_reachable(options)
        parts = [orphan_part(options, before, manifests=chunk) for chunk in _chunks(manifests, _MANIFESTS)]
        reading = PartRows(spark, newest, "reachable_part", "prefix")
        with reading.rows(parts, others_read) as reachable:
            others, conflicts = reachable.where("prefix is not null"), []
            if options["prefix_mismatch"] == "delete":
                reachable = reachable.where("prefix is null")
            with spark_failures("Nothing was changed"):
                if options["prefix_mismatch"] == "error":
                    same = others.join(listed, "key", "left_semi").select("prefix").distinct()
                    conflicts = [row.prefix for row in same.collect()]
                found = listed.join(reachable, "key", "left_anti").select("path").distinct().collect()
    raise_if_interrupted()
    done = MaintenanceParts(newest).delete_orphans(options, conflicts, sorted(row.path for row in found))
    return newest, result(OrphanFiles, done)


def _chunks(items: list[str], size: int) -> list[list[str]]:
    """Chunks of items. Neighbours are alike, so they go to different chunks."""
    number = -(-len(items) // size)
    return [items[first::number] for first in range(number)]


def _commit(job: PartsJob, commit: Callable[[], tuple[_core.Table, _Result]]) -> tuple[_core.Table, _Result]:
    """Commits on top of the version that was planned, so that its preconditions are checked."""
    with unless_committed(job.give_up):
        table, done = commit()
    job.committed()
    return table, done


def _run(job: PartsJob, parts: Sequence[dict[str, Any]]) -> list[_core.CommitMessage]:
    """Does the parts; returns the messages of their writers.

    Raises:
        StoreError: Spark gave up.
    """
    with spark_failures("Nothing was committed, and what they wrote is removed"):
        texts = job.run(parts)
    with unless_interrupted(job.give_up):
        return [_core.CommitMessage.from_json(text) for text in texts]
