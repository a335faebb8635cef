"""Maintenance of tables: expire snapshots, remove orphan files, rewrite files, compute statistics."""

from __future__ import annotations

import datetime as dt
import hashlib
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from frazil import arguments
from frazil.arguments import Paths
from frazil.arguments.checked import checked
from frazil.capabilities import format_name, supports
from frazil.display import tables
from frazil.engines import spark_engine
from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.expr import Columns, Filter, time_of_numpy
from frazil.inspect import Inspect
from frazil.names import answers
from frazil.requests.handle import TableHandle
from frazil.requests.maintenance import FileOrder, LoadedFile, Maintenance, OrphanOptions, RewriteRules, result
from frazil.results import shortened
from frazil.tagging.automatic import create_automatic_tags

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "ColumnStatistics",
    "Compacted",
    "ExpiredSnapshots",
    "Maintain",
    "OrphanFiles",
    "PartitionStatistics",
    "ReassignedRowIds",
    "RewrittenDeletes",
    "RewrittenIndexes",
    "RewrittenManifests",
]


@answers()
class Compacted(NamedTuple):
    """What a compaction rewrote.

    Attributes:
        groups: The number of file groups that were planned.
        rewritten_files: The number of data files that were removed from the table. After a dry run, those that would
            be.
        rewritten_bytes: Their size.
        added_files: The number of data files that now hold their rows.
        added_bytes: Their size.
        commits: The number of commits.
        failed: Why commits failed or their files could not be written; only with `max_commits`. If the outcome of a
            commit is unknown, its files still exist.
        upgraded_files: For Apache Paimon: the number of data files that got another level without being rewritten.
        changelog_files: For Apache Paimon: the number of changelog files.
    """

    groups: int
    rewritten_files: int
    rewritten_bytes: int
    added_files: int
    added_bytes: int
    commits: int
    failed: list[str]
    upgraded_files: int = 0
    changelog_files: int = 0


@answers()
class ExpiredSnapshots(NamedTuple):
    """What expired, and the files that nothing refers to any more. Paths are as the table recorded them.

    Attributes:
        snapshots: The ids of the snapshots.
        refs: The names of the branches and tags.
        data_files: Data files.
        position_delete_files: Position delete files and files of deletion vectors.
        equality_delete_files: Equality delete files.
        manifests: Manifests.
        manifest_lists: Manifest lists.
        statistics_files: Files with statistics of columns or partitions.
        deleted: Whether the files were deleted. A dry run does not delete them, and neither does `delete_files=False`.
        failed: Files that could not be deleted, with the reasons. `remove_orphan_files` finds them later.
        changelogs: For Apache Paimon: the numbers of the change logs that had outlasted their snapshots.
    """

    snapshots: list[int]
    refs: list[str]
    data_files: list[str]
    position_delete_files: list[str]
    equality_delete_files: list[str]
    manifests: list[str]
    manifest_lists: list[str]
    statistics_files: list[str]
    deleted: bool
    failed: dict[str, str]
    changelogs: list[int]

    @property
    def files(self) -> list[str]:
        """All of the files."""
        content = self.data_files + self.position_delete_files + self.equality_delete_files
        return content + self.manifests + self.manifest_lists + self.statistics_files

    def __repr__(self) -> str:
        return shortened(self)


@answers()
class OrphanFiles(NamedTuple):
    """Files that nothing refers to.

    Attributes:
        files: Their paths.
        deleted: Whether they were deleted. A dry run does not delete them.
        failed: Files that could not be deleted, with the reasons.
    """

    files: list[str]
    deleted: bool
    failed: dict[str, str]

    def __repr__(self) -> str:
        return shortened(self)


@answers()
class RewrittenDeletes(NamedTuple):
    """How delete files changed. Each deletion vector counts as a file.

    Attributes:
        rewritten_files: The number of delete files that were removed from the table. After a dry run, those that would
            be.
        rewritten_bytes: Their size.
        added_files: The number of delete files that replace them.
        added_bytes: Their size.
    """

    rewritten_files: int
    rewritten_bytes: int
    added_files: int
    added_bytes: int


@answers()
class RewrittenManifests(NamedTuple):
    """How manifests changed.

    Attributes:
        rewritten: Manifests that the new snapshot no longer lists.
        added: Manifests that now hold their entries. The list is empty after a dry run.
    """

    rewritten: list[str]
    added: list[str]

    def __repr__(self) -> str:
        return shortened(self)


@answers()
class RewrittenIndexes(NamedTuple):
    """The indexes of data files that were written again.

    Attributes:
        partitions: The number of partitions with such files.
        files: The number of data files.
    """

    partitions: int
    files: int


@answers()
class ReassignedRowIds(NamedTuple):
    """The rows that got other ids.

    Attributes:
        previous_snapshot_id: The snapshot before.
        snapshot_id: The snapshot with the new ids. It is the one before if no row got another id.
        files: The number of data files whose entries were written again.
        rows: The number of rows.
        indexes: The number of files of global indexes whose rows got other ids.
        first_row_id: The first new id.
        next_row_id: The id that the next new row gets.
        skipped: Why no row got another id. None if some did.
    """

    previous_snapshot_id: int
    snapshot_id: int
    files: int
    rows: int
    indexes: int
    first_row_id: int
    next_row_id: int
    skipped: str | None


@answers()
class ColumnStatistics(NamedTuple):
    """The statistics of columns that were stored.

    Attributes:
        snapshot_id: The id of the snapshot that they describe.
        path: The statistics file.
        size_bytes: Its size.
        distinct: The estimated number of distinct values of each column. Numbers up to 4,096 are exact. Larger numbers
            are within 5 % with 99.7 % confidence.
    """

    snapshot_id: int
    path: str
    size_bytes: int
    distinct: dict[str, int]


@answers()
class PartitionStatistics(NamedTuple):
    """The statistics of partitions that were stored.

    Attributes:
        snapshot_id: The id of the snapshot that they describe.
        path: The statistics file, in Parquet, with a row for each partition.
        size_bytes: Its size.
    """

    snapshot_id: int
    path: str
    size_bytes: int


@answers("maintain")
@checked
class Maintain:
    """The maintenance of a table: `table.maintain`.

    Each method works on the newest version, and the table is at its new version afterwards. A file is deleted only
    after the commit that makes it unreachable is certainly in the table. Everything that a branch, a tag or another
    snapshot refers to stays. If the property `gc.enabled` is false, nothing is deleted.
    """

    def __init__(self, table: TableHandle) -> None:
        self._table = table

    def __repr__(self) -> str:
        verbs = ", ".join(name for name in vars(type(self)) if not name.startswith("_"))
        return f"Maintain({tables.public(self._table._core.location)!r}: {verbs})"

    def _check_executors(self, work: str, hint: str | None = None) -> None:
        """Refuses maintenance by Spark's executors if the table can't have it."""
        table = self._table._core
        if not supports(table, "maintenance_by_executors"):
            raise UnsupportedError(
                f"{work} by Spark's executors: not with tables of {format_name(table)} yet",
                {"table": table.location},
                hint,
            )

    def expire_snapshots(
        self,
        older_than: dt.datetime | dt.timedelta | None = None,
        retain_last: int | None = None,
        snapshot_ids: int | Iterable[int] | None = None,
        dry_run: bool = False,
        delete_files: bool = True,
        outside_locations: Paths | None = None,
    ) -> ExpiredSnapshots:
        """Removes old snapshots, and then the files that only they referred to.

        A branch keeps its newer snapshots, and at least the last `retain_last`. Branches and tags with their own
        retention follow it. They are removed if it says so, except `main`. Snapshots that no branch or tag refers to
        are removed when they are old.

        Args:
            older_than: Snapshots made before this time are old; a time without a zone is in UTC. An age is possible
                too. None follows the property `history.expire.max-snapshot-age-ms`, whose default is 5 days.
            retain_last: None follows the property `history.expire.min-snapshots-to-keep`, whose default is 1.
            snapshot_ids: Snapshots to remove whatever their age, in addition to the old ones.
            dry_run: Only report what would be removed.
            delete_files: False leaves the files to `remove_orphan_files`.
            outside_locations: Folders outside of the table's own in which files are deleted too, such as the folders of
                files that `add_files` added. Nothing else may use these files. Other files outside stay, and `failed`
                lists them.

        Raises:
            InvalidInputError: A branch or tag refers to one of `snapshot_ids`, or the property `gc.enabled` is false.
            NotFoundError: A snapshot does not exist.
            CommitStateUnknownError: It is unknown whether the commit happened. No file was deleted.
        """
        action = Maintenance.ExpireSnapshots(
            older_than_ms=_milliseconds(older_than, "older_than"),
            retain_last=None if retain_last is None else arguments.count("retain_last", retain_last),
            snapshot_ids=_ids(snapshot_ids),
            dry_run=dry_run,
            keep_files=not delete_files,
            outside_locations=arguments.outside_folders(outside_locations),
        )
        self._table._core, done = self._table._core.maintain(action)
        return result(ExpiredSnapshots, done)

    def remove_orphan_files(
        self,
        older_than: dt.datetime | dt.timedelta | None = None,
        location: str | None = None,
        dry_run: bool = False,
        prefix_mismatch: Literal["error", "ignore", "delete"] = "error",
        equal_schemes: Mapping[str, str] | None = None,
        equal_authorities: Mapping[str, str] | None = None,
        spark: SparkSession | None = None,
        outside_locations: Paths | None = None,
    ) -> OrphanFiles:
        """Deletes files in the table's folder that no snapshot, statistics or metadata file refers to.

        Failed or killed writers leave such files. The files of a writer that has not committed yet look the same. So
        `older_than` must be longer than the longest write, or rows are lost. Hidden files and folders (names that begin
        with `_` or `.`) stay, except folders of partition fields with such names. Links are not followed. Folders of
        other tables inside this one's are not touched.

        Args:
            older_than: Only files that were changed before this time are deleted; a time without a zone is in UTC. An
                age is possible too. None is three days. For tables of Apache Paimon it is one day, as in Java, and
                `dry_run` is the only other argument.
            location: The folder to look in: the table's, one inside it, or one that a property of the table names
                (`write.data.path`). None is the table's.
            dry_run: Only report what would be deleted.
            prefix_mismatch: What to do with a file that the table records with another scheme or authority: raise an
                error, ignore it, or delete it.
            equal_schemes: Schemes that mean the same as another, `{"s3a,s3n": "s3"}`.
            equal_authorities: Authorities that mean the same as another.
            spark: A session whose executors list folders, read manifests and compare. This process gets the paths of
                the orphans and deletes them. See `compact`.
            outside_locations: Folders outside of the table's own that `location` may be in, for example one that
                `write.data.path` named before. All files there that this table does not use are deleted.

        Raises:
            InvalidInputError: Prefixes do not match, `location` does not belong to the table, or the property
                `gc.enabled` is false. Nothing was deleted.
        """
        options = OrphanOptions(
            older_than_ms=_milliseconds(older_than, "older_than"),
            location=location,
            dry_run=dry_run,
            prefix_mismatch=prefix_mismatch,
            equal_schemes=arguments.texts(equal_schemes),
            equal_authorities=arguments.texts(equal_authorities),
            outside_locations=arguments.outside_folders(outside_locations),
        )
        if spark is None:
            self._table._core, done = self._table._core.maintain(Maintenance.RemoveOrphanFiles(options))
            return result(OrphanFiles, done)
        self._check_executors("removal of orphan files", "Leave out spark=: this process removes them")
        removed: OrphanFiles
        self._table._core, removed = spark_engine().remove_orphan_files(spark, self._table._core, options)
        return removed

    def rewrite_manifests(
        self,
        spec_id: int | None = None,
        target_size_bytes: int | None = None,
        dry_run: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> RewrittenManifests:
        """Rewrites manifests, sorted by partition, so that plans with a filter on partitions open few of them.

        No file is added or removed, and no row changes: the new snapshot has operation `replace`. A single manifest
        that is not too large stays as it is, and nothing is committed.

        In tables of Apache Paimon, it joins small manifests, and divides those above four times the option
        `manifest.target-file-size` into parts of at least 64,000 bytes. The entries are not sorted.

        Args:
            spec_id: Only manifests of this partition spec.
            target_size_bytes: The target size of the new manifests. None follows the property
                `commit.manifest.target-size-bytes`, whose default is 8 MiB.
            dry_run: Only report which manifests would be rewritten.
            branch: The branch, if not `main`.
            snapshot_properties: Properties to add to the snapshot's summary.

        Raises:
            InvalidInputError: The partition spec does not exist.
            NotFoundError: The branch does not exist.
        """
        action = Maintenance.RewriteManifests(
            spec_id=spec_id,
            target_size_bytes=target_size_bytes,
            dry_run=dry_run,
            branch=branch,
            snapshot_properties=arguments.texts(snapshot_properties),
        )
        self._table._core, done = self._table._core.maintain(action)
        return result(RewrittenManifests, done)

    def compact(
        self,
        strategy: Literal["binpack", "sort", "zorder", "full", "minor"] | None = None,
        where: Filter | None = None,
        target_file_size_bytes: int | None = None,
        min_file_size_bytes: int | None = None,
        max_file_size_bytes: int | None = None,
        min_input_files: int = 5,
        delete_file_threshold: int | None = None,
        delete_ratio_threshold: float = 0.3,
        rewrite_all: bool = False,
        max_group_size_bytes: int = 100 << 30,
        max_commits: int | None = None,
        max_failed_commits: int | None = None,
        dry_run: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
        sort_by: Columns | None = None,
        zorder_by: Columns | None = None,
        zorder_max_output_size: int | None = None,
        zorder_var_length_contribution: int = 8,
        options: Mapping[str, object] | None = None,
        spark: SparkSession | None = None,
    ) -> Compacted:
        """Rewrites data files that are too small, too large, or have too many deletes.

        Deleted rows are removed. Files are combined partition by partition, in groups that are read and written in
        parallel. Files of older partition specs are partitioned by the current spec. Rows keep their ids, and equality
        deletes that are committed meanwhile still apply to them.

        Tables of Apache Paimon are compacted by their own options, partition by partition and bucket by bucket, in one
        snapshot of kind `COMPACT`. They take only the arguments `where` (of partition columns), `strategy`, `dry_run`,
        `branch`, `snapshot_properties` and `options`.

        Args:
            strategy: `binpack` keeps the order in which rows are read. `sort` sorts the rows of each group, in bounded
                memory. `zorder` sorts along a curve that narrows the bounds of several columns. Files follow one
                another in that order. Without a strategy, `sort_by` means `sort`, `zorder_by` means `zorder`, and else
                it is `binpack`. All three choose the same files: use `rewrite_all=True` to sort a whole table. For
                Apache Paimon, `full`, the default, compacts all files of a bucket. `minor` chooses files by their
                number and sizes.
            where: Only files that may have such rows, as text or expression.
            target_file_size_bytes: The target size of files. None follows the property `write.target-file-size-bytes`,
                whose default is 512 MiB.
            min_file_size_bytes: Smaller files are rewritten; None is three quarters of the target.
            max_file_size_bytes: Larger files are rewritten; None is 1.8 times the target.
            min_input_files: A group with this number of files is rewritten. So is a group of two files or more that is
                larger than the target.
            delete_file_threshold: A file with this number of delete files is rewritten whatever its size.
            delete_ratio_threshold: A file with this share of deleted rows is rewritten. Only delete files that belong
                to a single data file count.
            rewrite_all: Rewrite all files.
            max_group_size_bytes: The largest size of a group.
            max_commits: The number of commits. If one fails, the others still count. None makes one commit.
            max_failed_commits: The number of these commits that may fail; `failed` of the result lists them. None
                allows all.
            dry_run: Only report what would be rewritten.
            branch: The branch, if not `main`.
            snapshot_properties: Properties to add to the snapshots' summaries.
            sort_by: How to sort, as for `Catalog.create_table` (`"ts desc nulls last"`); None is the table's own order.
                Files record the order if it is one of the table's.
            zorder_by: The columns of the curve. Columns that the table is partitioned by without a transform are
                ignored.
            zorder_max_output_size: How many bytes of the curve's value are compared at most; None is all.
            zorder_var_length_contribution: How many bytes of strings and binaries are used.
            options: For Apache Paimon: options for this compaction, which override those of the table.
            spark: A session, classic or Connect, whose executors read and write. This process plans and commits, and
                each commit is a Spark job. With `binpack`, groups are divided into parts of the size of a file. A group
                that is sorted or partitioned again is one executor's task, whose size is `max_group_size_bytes`.

        Raises:
            InvalidInputError: The filter or an order does not fit, no file could have these sizes, or the strategy does
                not exist.
            CommitConflictError: Another commit removed one of the files, or deleted rows of it by position.
            UnsupportedError: The table has columns that can't be written yet, or that can't be z-ordered, such as
                decimals.
        """
        given = {k: v for k, v in locals().items() if k != "self"}
        if not supports(self._table._core, "compaction_by_arguments"):
            return self._compact_by_options(given)
        _refuse_table_options(strategy, options)
        action = Maintenance.Compact(
            order=FileOrder(
                strategy=strategy
                or ("zorder" if zorder_by is not None else "sort" if sort_by is not None else "binpack"),
                sort_by=arguments.order(sort_by),
                zorder_by=None if zorder_by is None else list(arguments.columns(zorder_by, "zorder_by")),
                zorder_max_output_size=zorder_max_output_size,
                zorder_var_length_contribution=zorder_var_length_contribution,
            ),
            filter=None if where is None else str(where),
            rules=_rewrite_rules(
                target_file_size_bytes=target_file_size_bytes,
                min_file_size_bytes=min_file_size_bytes,
                max_file_size_bytes=max_file_size_bytes,
                min_input_files=min_input_files,
                delete_file_threshold=delete_file_threshold,
                delete_ratio_threshold=delete_ratio_threshold,
                rewrite_all=rewrite_all,
                max_group_size_bytes=max_group_size_bytes,
            ),
            max_commits=max_commits,
            max_failed_commits=max_failed_commits,
            dry_run=dry_run,
            branch=branch,
            snapshot_properties=arguments.texts(snapshot_properties),
        )
        if spark is None:
            self._table._core, done = self._table._core.maintain(action)
            return result(Compacted, done)
        compacted: Compacted
        self._table._core, compacted = spark_engine().compact(spark, self._table._core, action)
        return compacted

    def _compact_by_options(self, given: dict[str, Any]) -> Compacted:
        """Compacts a table by its own options, and by those arguments of `compact` that it takes."""
        taken = {"strategy", "where", "dry_run", "branch", "snapshot_properties", "options"}
        if given["spark"] is not None:
            self._check_executors(
                "compaction", "Leave out spark=: this process compacts them, with a thread for each core"
            )
        for name, parameter in inspect.signature(Maintain.compact).parameters.items():
            if name in given and name not in taken and given[name] != parameter.default:
                raise InvalidInputError(
                    f"{name} is not for tables of {format_name(self._table._core)}",
                    {"table": self._table._core.location},
                    hint="Their files follow the table's options, or those given as options={...}",
                )
        strategy = given["strategy"]
        if strategy not in (None, "full", "minor"):
            raise InvalidInputError(
                f"there is no strategy '{strategy}' of compacting tables of {format_name(self._table._core)} "
                f"(table: {self._table._core.location})",
                {"table": self._table._core.location},
                hint="Use full or minor",
            )
        action = Maintenance.CompactBuckets(
            filter=None if given["where"] is None else str(given["where"]),
            minor=strategy == "minor",
            options=arguments.texts(given["options"]),
            dry_run=given["dry_run"],
            branch=given["branch"],
            snapshot_properties=arguments.texts(given["snapshot_properties"]),
        )
        self._table._core, done = self._table._core.maintain(action)
        return result(Compacted, done)

    def rewrite_position_deletes(
        self,
        where: Filter | None = None,
        target_file_size_bytes: int | None = None,
        min_file_size_bytes: int | None = None,
        max_file_size_bytes: int | None = None,
        min_input_files: int = 5,
        rewrite_all: bool = False,
        max_group_size_bytes: int = 100 << 30,
        dry_run: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
        spark: SparkSession | None = None,
    ) -> RewrittenDeletes:
        """Rewrites position delete files without the deletes of data files that were removed.

        In format version 2, files of a partition that are too small or too large are combined. The result has a file
        for each data file, or for each partition if the property `write.delete.granularity` says so. In version 3, all
        position delete files become deletion vectors, one for each data file. They come from the time before the table
        was upgraded. No row changes; the snapshot has operation `replace`.

        Args:
            where: Only delete files of data files that may have such rows, as text or expression.
            target_file_size_bytes: The target size of delete files. None follows the property
                `write.delete.target-file-size-bytes`, whose default is 64 MiB.
            min_file_size_bytes: Smaller files are rewritten; None is three quarters of the target.
            max_file_size_bytes: Larger files are rewritten; None is 1.8 times the target.
            min_input_files: A partition with this number of files is rewritten.
            rewrite_all: Rewrite all of them.
            max_group_size_bytes: How much is read at once.
            dry_run: Only report what would be rewritten.
            branch: The branch, if not `main`.
            snapshot_properties: Properties to add to the snapshot's summary.
            spark: A session whose executors read and write, as for `compact`. A part is a group of files of one
                partition (version 2), or of files that concern the same data files.

        Raises:
            InvalidInputError: The filter does not fit, or no file could have these sizes.
            UnsupportedError: A data file is in the table more than once, with different deletes.
            CommitConflictError: Another commit removed one of the files. In version 3: another commit deleted rows of
                the same data files, or removed them.
        """
        action = Maintenance.RewritePositionDeletes(
            filter=None if where is None else str(where),
            rules=_rewrite_rules(
                target_file_size_bytes=target_file_size_bytes,
                min_file_size_bytes=min_file_size_bytes,
                max_file_size_bytes=max_file_size_bytes,
                min_input_files=min_input_files,
                rewrite_all=rewrite_all,
                max_group_size_bytes=max_group_size_bytes,
            ),
            dry_run=dry_run,
            branch=branch,
            snapshot_properties=arguments.texts(snapshot_properties),
        )
        if spark is None:
            self._table._core, done = self._table._core.maintain(action)
            return result(RewrittenDeletes, done)
        self._check_executors("rewriting deletes")
        rewritten: RewrittenDeletes
        self._table._core, rewritten = spark_engine().rewrite_position_deletes(spark, self._table._core, action)
        return rewritten

    def remove_dangling_deletes(
        self,
        dry_run: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> RewrittenDeletes:
        """Removes delete files and deletion vectors that delete no row of any data file.

        They are older than the data of their partition, or their data files were removed. No row changes; the snapshot
        has operation `replace`.

        Args:
            dry_run: Only report what would be removed.
            branch: The branch, if not `main`.
            snapshot_properties: Properties to add to the snapshot's summary.

        Raises:
            CommitConflictError: Another commit removed one of them.
        """
        action = Maintenance.RemoveDanglingDeletes(
            dry_run=dry_run, branch=branch, snapshot_properties=arguments.texts(snapshot_properties)
        )
        self._table._core, done = self._table._core.maintain(action)
        return result(RewrittenDeletes, done)

    def convert_equality_deletes(
        self,
        dry_run: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> RewrittenDeletes:
        """Converts equality deletes to deletes by position, which are cheaper for readers.

        The key columns of the data files that they may apply to are read. The rows found are named in position delete
        files or, in format version 3, in deletion vectors. The equality delete files are removed. No row changes, but
        the snapshot has operation `delete`, so that a compaction that was planned before gets a conflict.

        Args:
            dry_run: Only report which equality delete files exist.
            branch: The branch, if not `main`.
            snapshot_properties: Properties to add to the snapshot's summary.

        Raises:
            CommitConflictError: Another commit rewrote one of the data files or removed one of the delete files. In
                version 3: another commit deleted rows of the same data files.
        """
        action = Maintenance.ConvertEqualityDeletes(
            dry_run=dry_run, branch=branch, snapshot_properties=arguments.texts(snapshot_properties)
        )
        self._table._core, done = self._table._core.maintain(action)
        return result(RewrittenDeletes, done)

    def compute_statistics(self, columns: Columns | None = None, snapshot: int | None = None) -> ColumnStatistics | Any:
        """Estimates the number of distinct values of columns, and stores it as the snapshot's statistics.

        Rows are read, with files in parallel. Each column needs about 100 kB of memory for each thread. The statistics
        file is a Puffin file of theta sketches, as Java Iceberg's `compute_table_stats` writes it. Query engines use it
        to order joins. Nulls do not count, and neither do empty texts and binaries. Earlier statistics of the snapshot
        are replaced.

        Args:
            columns: Dotted names of primitive columns outside lists and maps. None takes all such columns at the top
                level.
            snapshot: The id of the snapshot, if not the current one.

        Returns:
            The statistics, or None for a table without snapshots.

        Raises:
            InvalidInputError: A column does not exist, or its values can't be counted.
            NotFoundError: The snapshot does not exist.
        """
        action = Maintenance.ComputeStatistics(
            columns=None if columns is None else list(arguments.columns(columns, "columns")),
            snapshot_id=None if snapshot is None else arguments.count("snapshot", snapshot),
        )
        self._table._core, done = self._table._core.maintain(action)
        # `Any` in the annotation: type checkers must not ask for a check of None after each call.
        return None if done is None else result(ColumnStatistics, done)

    def compute_partition_statistics(self, snapshot: int | None = None) -> PartitionStatistics | Any:
        """Counts the files and rows of each partition, and stores that as the snapshot's partition statistics.

        The numbers are those of `inspect.partitions()`, with two differences: each partition spec has its own
        partitions, and removing files counts as an update of the partition. Manifests are read, data files are not. If
        the snapshot already has partition statistics, they stay.

        Args:
            snapshot: The id of the snapshot, if not the current one.

        Returns:
            The statistics, or None if there is no snapshot or it has no files.

        Raises:
            InvalidInputError: The table was never partitioned.
            NotFoundError: The snapshot does not exist.
        """
        action = Maintenance.ComputePartitionStatistics(
            snapshot_id=None if snapshot is None else arguments.count("snapshot", snapshot)
        )
        self._table._core, done = self._table._core.maintain(action)
        return None if done is None else result(PartitionStatistics, done)

    def rewrite_file_indexes(
        self,
        where: Filter | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> RewrittenIndexes:
        """For tables of Apache Paimon: writes the indexes of existing data files, as the table's options ask for them.

        Set an option such as `file-index.bloom-filter.columns` first. Data files are read and stay as they are. A file
        whose schema has other names or types for the indexed columns keeps its indexes.

        Args:
            where: Which partitions. It can use partition columns only.
            branch: The branch, if not `main`.
            snapshot_properties: Properties to add to the snapshot.

        Raises:
            InvalidInputError: The table's options ask for no index, or the filter uses other columns.
            CommitConflictError: Another commit removed one of the files.
        """
        action = Maintenance.RewriteFileIndexes(
            filter=None if where is None else str(where),
            branch=branch,
            snapshot_properties=arguments.texts(snapshot_properties),
        )
        self._table._core, done = self._table._core.maintain(action)
        return result(RewrittenIndexes, done)

    def materialize_deletion_vectors(
        self,
        where: Filter | None = None,
        options: Mapping[str, object] | None = None,
        dry_run: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> Compacted:
        """For tables of Apache Paimon with columns in several files: writes rows again without the deleted ones.

        Such tables have the option `data-evolution.enabled`. Files with a deletion vector are written again, and small
        neighbours with them. The columns of these rows are in one file afterwards, and the rows get new ids. Global
        indexes of these partitions are taken out of the table. If another commit changes the same rows, all is done
        again on its version.

        Args:
            where: Which partitions. It can use partition columns only.
            options: Options of how files are written, such as `target-file-size`. They override those of the table.
            dry_run: Only report what would be written again.
            branch: The branch, if not `main`.
            snapshot_properties: Properties to add to the snapshot.

        Raises:
            InvalidInputError: The table has no deletion vectors, or no columns in several files, or the filter uses
                other columns.
            UnsupportedError: The table has columns of type BLOB.
            CommitConflictError: Other commits changed the same rows each time.
        """
        action = Maintenance.MaterializeDeletionVectors(
            filter=None if where is None else str(where),
            options=arguments.texts(options),
            dry_run=dry_run,
            branch=branch,
            snapshot_properties=arguments.texts(snapshot_properties),
        )
        self._table._core, done = self._table._core.maintain(action)
        return result(Compacted, done)

    def reassign_row_ids(
        self,
        where: Filter | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> ReassignedRowIds:
        """For tables of Apache Paimon with columns in several files: gives rows ids that follow each other.

        Partitions whose ids have gaps get new ids, above all ids of the table. Only manifests are written. Global
        indexes move with their rows; an index that would have gaps is taken out. Runs of more ids than the option
        `data-evolution.reassign.skip-contiguous-row-count` says stay.

        Args:
            where: Which partitions. It can use partition columns only.
            branch: The branch, if not `main`.
            snapshot_properties: Properties to add to the snapshot.

        Raises:
            InvalidInputError: The table has no row ids, no columns in several files or no snapshot, or the filter uses
                other columns.
            UnsupportedError: A file stores the ids of its rows.
        """
        action = Maintenance.ReassignRowIds(
            filter=None if where is None else str(where),
            branch=branch,
            snapshot_properties=arguments.texts(snapshot_properties),
        )
        self._table._core, done = self._table._core.maintain(action)
        return result(ReassignedRowIds, done)

    def drop_global_index(
        self,
        columns: Columns,
        index_type: str,
        where: Filter | None = None,
        dry_run: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> int:
        """For tables of Apache Paimon: takes the global indexes of columns out of the table.

        Expiry of the earlier snapshots deletes their files.

        Args:
            columns: The columns of the index, in its order.
            index_type: The kind of index, such as `btree` or `bitmap`.
            where: Which partitions. It can use partition columns only.
            dry_run: Only count the files.
            branch: The branch, if not `main`.
            snapshot_properties: Properties to add to the snapshot.

        Returns:
            The number of index files. With 0, there is no new snapshot.

        Raises:
            InvalidInputError: A column does not exist, the table has no snapshot, or the filter uses other columns.
        """
        action = Maintenance.DropGlobalIndex(
            columns=list(arguments.columns(columns, "columns")),
            index_type=index_type,
            filter=None if where is None else str(where),
            dry_run=dry_run,
            branch=branch,
            snapshot_properties=arguments.texts(snapshot_properties),
        )
        self._table._core, done = self._table._core.maintain(action)
        return done

    def reset_consumer(self, consumer: str, next_snapshot: int | None = None) -> None:
        """For tables of Apache Paimon: sets the snapshot that a consumer reads next, or removes the consumer.

        A consumer is a stream that has said which snapshots it still needs. Expiry keeps these snapshots.

        Args:
            consumer: Its name. A consumer that does not exist is made.
            next_snapshot: The id of the snapshot. None removes the consumer.

        Raises:
            NotFoundError: The snapshot does not exist.
            InvalidInputError: The name is empty, or can't be that of a file.
        """
        if not consumer.strip():
            raise InvalidInputError("a consumer needs a name, not an empty text")
        action = Maintenance.ResetConsumer(
            consumer=consumer,
            next_snapshot=None if next_snapshot is None else arguments.count("next_snapshot", next_snapshot),
        )
        self._table._core, _ = self._table._core.maintain(action)

    def clear_consumers(self, including: str | None = None, excluding: str | None = None) -> list[str]:
        """For tables of Apache Paimon: removes consumers, so that expiry no longer keeps their snapshots.

        Args:
            including: A regular expression of whole names. None is all consumers.
            excluding: A regular expression of the names of consumers that stay.

        Returns:
            The names of the consumers that were removed.
        """
        chosen, kept = (None if text is None else _pattern(text) for text in (including, excluding))
        names: list[str] = Inspect(self._table._core).consumers().column("consumer_id").to_pylist()
        names = [name for name in names if chosen is None or chosen.fullmatch(name)]
        names = [name for name in names if kept is None or not kept.fullmatch(name)]
        for name in names:
            self.reset_consumer(name)
        return names

    def mark_partitions_done(self, *partitions: Mapping[str, object]) -> None:
        """For tables of Apache Paimon: marks partitions as complete, by a file `_SUCCESS` in the folder of each.

        Other jobs can wait for this file. Its content is the time of the first and of the last mark.

        Args:
            partitions: The values of partition columns, as they are in the names of folders: `{"day": "2026-01-02"}`.
                The last columns may be left out.

        Raises:
            InvalidInputError: A column is no partition column.
            UnsupportedError: The table's option `partition.mark-done-action` asks for another action.
        """
        action = Maintenance.MarkPartitionsDone(partitions=[arguments.texts(one) for one in partitions])
        self._table._core, _ = self._table._core.maintain(action)

    def set_earliest_snapshot(self, snapshot_id: int) -> None:
        """For tables of Apache Paimon: makes a snapshot the earliest one that other engines look for.

        This repairs tables whose oldest snapshots have lost files. No file is deleted.

        Args:
            snapshot_id: The id. All snapshots from there on must exist.

        Raises:
            InvalidInputError: It is earlier than the present earliest one, or a later snapshot is missing.
        """
        action = Maintenance.SetEarliestSnapshot(snapshot_id=arguments.count("snapshot_id", snapshot_id))
        self._table._core, _ = self._table._core.maintain(action)

    def create_automatic_tags(self) -> list[str]:
        """For tables of Apache Paimon: makes the tags that options such as `tag.automatic-creation` ask for.

        Java's writers make them after each commit. With `tag.num-retained-max` the oldest ones are removed, and with
        `tag.time-expire-enabled` all tags whose time is over.

        Returns:
            The names of the new tags.

        Raises:
            InvalidInputError: An option of the table has no such value.
        """
        return create_automatic_tags(self._table)

    def record_loads(self, files: Sequence[tuple[str, int, dt.datetime, int]]) -> None:
        """For tables of Apache Paimon: records that rows of files were loaded, so that COPY INTO skips these files.

        `inspect.loads()` lists the records. A file that has another size or time is another file.

        Args:
            files: The path, the size in bytes, the time of the last change and the number of rows of each file. User
                information and queries in URIs are not recorded.

        Raises:
            InvalidInputError: The table has no snapshot, or a file is described wrongly.
        """
        loaded = _described(files)
        snapshot = self._table._core.snapshot()
        if snapshot is None:
            raise InvalidInputError("a table without snapshots has loaded no files")
        now = arguments.milliseconds(dt.datetime.now(dt.timezone.utc))
        loads: list[LoadedFile] = [
            {
                "path_hash": hashlib.sha256(path.encode()).hexdigest()[:16],
                "path": arguments.public_path(path),
                "size_bytes": size,
                "modified_ms": changed,
                "loaded_at_ms": now,
                "snapshot_id": snapshot.id,
                "rows": rows,
            }
            for path, size, changed, rows in loaded
        ]
        self._table._core, _ = self._table._core.maintain(Maintenance.RecordLoads(loads))

    def purge(self) -> None:
        """For tables of Apache Paimon: removes all rows, branches, tags, consumers, old snapshots and unused files.

        Only the table itself and one empty snapshot stay. Do it only while nobody writes to the table: files of writers
        that have not committed yet are deleted, too.
        """
        self._table._core, _ = self._table._core.maintain(Maintenance.Purge())


def _described(files: Any) -> list[tuple[str, int, int, int]]:
    """The path, the size, the time of the last change in milliseconds, and the rows of each file.

    Raises:
        InvalidInputError: A file is described wrongly.
    """
    if isinstance(files, (str, bytes, Mapping)) or not isinstance(files, Iterable):
        raise InvalidInputError(f"files must be a list of files, not {arguments.shown(files)}")
    found = []
    for file in files:
        if not isinstance(file, (tuple, list)) or len(file) != 4:
            raise InvalidInputError(
                f"files: a file has a path, a size, a time and a number of rows, not {arguments.shown(file)}"
            )
        path, size, changed, rows = file
        if not isinstance(changed, dt.datetime):
            raise InvalidInputError(f"files: the time of a change must be a datetime, not {arguments.shown(changed)}")
        text = arguments.text("files: a path", path)
        if not text:
            raise InvalidInputError("files: a path must not be empty")
        size, rows = arguments.count("files: a size", size), arguments.count("files: a number of rows", rows)
        found.append((text, size, arguments.milliseconds(changed), rows))
    return found


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise InvalidInputError(f"'{text}' is no regular expression: {error}") from error


def _rewrite_rules(
    *,
    target_file_size_bytes: int | None,
    min_file_size_bytes: int | None,
    max_file_size_bytes: int | None,
    min_input_files: int,
    rewrite_all: bool,
    max_group_size_bytes: int,
    delete_file_threshold: int | None = None,
    delete_ratio_threshold: float | None = None,
) -> RewriteRules:
    """Says which files are rewritten, after a check of the counts."""
    return RewriteRules(
        target_file_size_bytes=target_file_size_bytes,
        min_file_size_bytes=min_file_size_bytes,
        max_file_size_bytes=max_file_size_bytes,
        min_input_files=arguments.count("min_input_files", min_input_files),
        delete_file_threshold=delete_file_threshold,
        delete_ratio_threshold=delete_ratio_threshold,
        rewrite_all=rewrite_all,
        max_group_size_bytes=arguments.count("max_group_size_bytes", max_group_size_bytes),
    )


def _refuse_table_options(strategy: str | None, options: Mapping[str, object] | None) -> None:
    """Refuses arguments of `compact` that are only for tables that are compacted by their own options."""
    if options is not None or strategy in ("full", "minor"):
        raise InvalidInputError(
            f"{'options' if options is not None else f'the strategy {strategy}'} is for tables of Apache Paimon"
        )


def _ids(snapshot_ids: int | Iterable[int] | None) -> list[int]:
    if snapshot_ids is None:
        return []
    return [snapshot_ids] if isinstance(snapshot_ids, int) else list(snapshot_ids)


def _milliseconds(time: dt.datetime | dt.timedelta | None, argument: str) -> int | None:
    """Milliseconds since the epoch: older things are old. Something of exactly the age given as timedelta is old."""
    if time is None:
        return None
    time = time_of_numpy(time)
    if isinstance(time, dt.timedelta):
        if time < dt.timedelta(0):
            raise InvalidInputError(f"{argument}= is an age and can't be negative: {time}")
        try:
            # Times of files and snapshots are rounded down to milliseconds, so the present millisecond counts as past.
            time = dt.datetime.now(dt.timezone.utc) - time + dt.timedelta(milliseconds=1)
        except OverflowError:
            raise InvalidInputError(f"{argument}= is an age that is too large: {time}") from None
    if not isinstance(time, dt.datetime) or arguments.is_missing(time):
        from frazil.arguments import hints

        raise InvalidInputError(
            f"{argument}= must be a datetime or an age as timedelta, not {arguments.shown(time)}",
            hint=hints.of_age(time, argument),
        )
    return arguments.milliseconds(time)
