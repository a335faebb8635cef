"""Upkeep of tables: expiring snapshots, removing files that nothing leads to, rewriting others, statistics."""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from frazil import arguments
from frazil.arguments.checked import checked
from frazil.capabilities import format_name, supports
from frazil.engines import spark_engine
from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.expr import Predicate
from frazil.requests import maintenance
from frazil.requests.handle import TableHandle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "ColumnStatistics",
    "Compacted",
    "ExpiredSnapshots",
    "Maintain",
    "OrphanFiles",
    "PartitionStatistics",
    "RewrittenDeletes",
    "RewrittenManifests",
]


class Compacted(NamedTuple):
    """What was written anew.

    Attributes:
        groups: Groups of files that were planned.
        rewritten_files: Data files that are gone from the table; after a dry run, those that would go.
        rewritten_bytes: Their size.
        added_files: Data files that hold their rows.
        added_bytes: Their size.
        commits: Commits made.
        failed: Why commits failed, or what they would have committed could not be written: only with `max_commits`. It
            may be unknown how one ended; then its files are still there.
        upgraded_files: Of Apache Paimon: data files that got another level as they are.
        changelog_files: Of Apache Paimon: files that tell what changed.
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


class ExpiredSnapshots(NamedTuple):
    """What expired, and the files that nothing leads to any more; paths as the table recorded them.

    Attributes:
        snapshots: Ids of the snapshots.
        refs: Names of the branches and tags.
        data_files: Data files.
        position_delete_files: Position delete files and files of deletion vectors.
        equality_delete_files: Equality delete files.
        manifests: Manifests.
        manifest_lists: Manifest lists.
        statistics_files: Files with statistics of columns or partitions.
        deleted: Whether the files were deleted: not by a dry run, nor with `delete_files=False`.
        failed: Files that could not be deleted, and why. They are left over; `remove_orphan_files` finds them later.
        changelogs: Of tables of Apache Paimon: numbers of the change logs that had outlasted their snapshots.
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


class OrphanFiles(NamedTuple):
    """Files that nothing leads to.

    Attributes:
        files: Their paths.
        deleted: Whether they were deleted: not by a dry run.
        failed: Files that could not be deleted, and why.
    """

    files: list[str]
    deleted: bool
    failed: dict[str, str]


class RewrittenDeletes(NamedTuple):
    """What became of delete files. Deletion vectors count one by one.

    Attributes:
        rewritten_files: Delete files that are gone from the table; after a dry run, those that would go.
        rewritten_bytes: Their size.
        added_files: Delete files in their place.
        added_bytes: Their size.
    """

    rewritten_files: int
    rewritten_bytes: int
    added_files: int
    added_bytes: int


class RewrittenManifests(NamedTuple):
    """What was written anew.

    Attributes:
        rewritten: Manifests that the new snapshot does not list any more.
        added: Manifests that hold their entries; none after a dry run.
    """

    rewritten: list[str]
    added: list[str]


class ColumnStatistics(NamedTuple):
    """Statistics of columns that the table has now.

    Attributes:
        snapshot_id: The snapshot that they are about.
        path: The statistics file.
        size_bytes: Its size.
        distinct: By column, about how many distinct values it has. Up to 4,096 the number is exact, above it is
            within 5 % with 99.7 % confidence.
    """

    snapshot_id: int
    path: str
    size_bytes: int
    distinct: dict[str, int]


class PartitionStatistics(NamedTuple):
    """Statistics of partitions that the table has now.

    Attributes:
        snapshot_id: The snapshot that they are about.
        path: The statistics file, in Parquet: a row for each partition.
        size_bytes: Its size.
    """

    snapshot_id: int
    path: str
    size_bytes: int


@checked
class Maintain:
    """The upkeep of a table: `table.maintain`.

    Each verb works on the newest version, and the table is at its new version afterwards. Files are deleted only
    after the commit that makes them unreachable certainly is in the table; whatever a branch, a tag or any other
    snapshot leads to stays. Where the property `gc.enabled` is false nothing is deleted.
    """

    def __init__(self, table: TableHandle) -> None:
        self._table = table

    def _run(self, action: str, **options: Any) -> dict[str, Any]:
        return self._try(action, **options) or {}

    def _try(self, action: str, **options: Any) -> dict[str, Any] | None:
        """As `_run`, for actions that may have nothing to do."""
        answer: dict[str, Any] | None
        self._table._core, answer = maintenance.perform(self._table._core, action, options)
        return answer

    def _check_executors(self, what: str, hint: str | None = None) -> None:
        """Refuses maintenance by Spark's executors if the table's format does not have it."""
        table = self._table._core
        if not supports(table, "maintenance_by_executors"):
            raise UnsupportedError(
                f"{what} by Spark's executors: not with tables of {format_name(table)} yet",
                {"table": table.location},
                hint,
            )

    def expire_snapshots(
        self,
        older_than: dt.datetime | dt.timedelta | None = None,
        retain_last: int | None = None,
        snapshot_ids: Iterable[int] | None = None,
        dry_run: bool = False,
        delete_files: bool = True,
    ) -> ExpiredSnapshots:
        """Removes old snapshots, and then the files that only they led to.

        A branch keeps its snapshots that are not older, and at least the last `retain_last`; branches and tags whose
        own retention says otherwise follow that, and go if it says so themselves, except for `main`. Snapshots that
        no branch or tag leads to go when they are older.

        Args:
            older_than: Snapshots made before, in UTC if it has no zone, are old; or an age. None follows the property
                `history.expire.max-snapshot-age-ms`, 5 days if it is not set.
            retain_last: None follows the property `history.expire.min-snapshots-to-keep`, 1 if it is not set.
            snapshot_ids: Snapshots that go whatever their age, beside those that are old.
            dry_run: Only tell what would go.
            delete_files: False leaves the files to `remove_orphan_files`.

        Raises:
            InvalidInputError: A snapshot of `snapshot_ids` is that of a branch or tag; the property `gc.enabled` is
                false.
            NotFoundError: There is no such snapshot.
            CommitStateUnknownError: It can't be told whether the commit happened. No file was deleted.
        """
        result = self._run(
            "expire_snapshots",
            older_than_ms=_milliseconds(older_than, "older_than"),
            retain_last=None if retain_last is None else arguments.count("retain_last", retain_last),
            snapshot_ids=None if snapshot_ids is None else list(snapshot_ids),
            dry_run=dry_run,
            keep_files=not delete_files,
        )
        return ExpiredSnapshots(**result)

    def remove_orphan_files(
        self,
        older_than: dt.datetime | dt.timedelta | None = None,
        location: str | None = None,
        dry_run: bool = False,
        prefix_mismatch: Literal["error", "ignore", "delete"] = "error",
        equal_schemes: Mapping[str, str] | None = None,
        equal_authorities: Mapping[str, str] | None = None,
        spark: SparkSession | None = None,
    ) -> OrphanFiles:
        """Deletes files in the table's folder that no snapshot, statistics or metadata file leads to.

        Failed or killed writers leave such files behind. Files that a writer has made and not yet committed look the
        same, so give writers time: an age below that of
        the longest write loses its rows. Hidden files and folders (names that begin with `_` or `.`) stay, except for
        folders of partition fields with such names. Links are not followed. Folders of other tables within this one's
        are left alone.

        Args:
            older_than: Files changed before, in UTC if it has no zone, may go; or an age. None is three days, of
                tables of Apache Paimon, as with Java, a day. They take no other argument but `dry_run`.
            location: The folder to look in: the table's, one in it, or one that a property of the table names
                (`write.data.path`). None is the table's.
            dry_run: Only tell what would go.
            prefix_mismatch: What to do about a file that the table records with another scheme or authority: refuse
                to go on, leave it, or delete it.
            equal_schemes: Schemes that mean the same as another, `{"s3a,s3n": "s3"}`.
            equal_authorities: Authorities that mean the same as another.
            spark: A session whose executors list folders and read manifests, as for `compact`, and compare; this
                process gets the orphans' paths and deletes them.

        Raises:
            InvalidInputError: Prefixes do not match, `location` is not the table's, or the property `gc.enabled` is
                false. Nothing was deleted.
        """
        given = {
            "older_than_ms": _milliseconds(older_than, "older_than"),
            "location": location,
            "dry_run": dry_run,
            "prefix_mismatch": prefix_mismatch,
            "equal_schemes": arguments.texts(equal_schemes),
            "equal_authorities": arguments.texts(equal_authorities),
        }
        if spark is None:
            return OrphanFiles(**self._run("remove_orphan_files", **given))
        self._check_executors("removal of orphan files", "Leave out spark=: this process removes them")
        done: OrphanFiles
        self._table._core, done = spark_engine().remove_orphan_files(spark, self._table._core, given)
        return done

    def rewrite_manifests(
        self,
        spec_id: int | None = None,
        target_size_bytes: int | None = None,
        dry_run: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> RewrittenManifests:
        """Writes manifests anew, sorted by partition, so that plans with a filter on partitions open few of them.

        No file is added or removed, and no row changes: the new snapshot is of operation `replace`. Nothing is
        committed if there is nothing to gain, that is for a single manifest that is not too large.

        Args:
            spec_id: Only manifests of this partition spec.
            target_size_bytes: How large the new ones should be. None follows the property
                `commit.manifest.target-size-bytes`, 8 MiB if it is not set.
            dry_run: Only tell which would be rewritten.
            branch: The branch, if not `main`.
            snapshot_properties: Members for the snapshot's summary.

        Raises:
            InvalidInputError: There is no such partition spec.
            NotFoundError: There is no such branch.
        """
        result = self._run(
            "rewrite_manifests",
            spec_id=spec_id,
            target_size_bytes=target_size_bytes,
            dry_run=dry_run,
            branch=branch,
            snapshot_properties=arguments.texts(snapshot_properties),
        )
        return RewrittenManifests(**result)

    def compact(
        self,
        strategy: Literal["binpack", "sort", "zorder", "full", "minor"] | None = None,
        where: str | Predicate | None = None,
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
        sort_by: Sequence[str] | None = None,
        zorder_by: Sequence[str] | None = None,
        zorder_max_output_size: int | None = None,
        zorder_var_length_contribution: int = 8,
        options: Mapping[str, object] | None = None,
        spark: SparkSession | None = None,
    ) -> Compacted:
        """Writes data files anew that are too small or too large, or have too many deletes.

        Rows that are deleted are gone then. Files are put together partition by partition, in groups
        that are read and written in parallel; files of older
        partition specs are partitioned by the current one. Rows keep their ids, and equality deletes that are committed
        meanwhile still reach them.

        Tables of Apache Paimon are compacted by their own options, partition by partition and bucket by bucket, in one
        snapshot of kind `COMPACT`; of the arguments, `where` (of partition columns), `dry_run`, `branch`,
        `snapshot_properties` and `options` are for them too.

        Args:
            strategy: `binpack`, if you don't say, keeps rows in the order in which they are read. `sort` sorts the
                rows of each group, in bounded memory, and `zorder` along a curve that narrows the bounds of several
                columns; files follow one another in that order. All choose files alike: to sort a whole table say
                `rewrite_all=True`. Of tables of Apache Paimon, `full`, if you don't say, compacts all files of a
                bucket, and `minor` those that their number and sizes ask for.
            where: Only files that may have such rows, as text or expression.
            target_file_size_bytes: How large files should be; None follows the property
                `write.target-file-size-bytes`, 512 MiB if it is not set.
            min_file_size_bytes: Smaller files are written anew; None is three quarters of the target.
            max_file_size_bytes: Larger files are written anew; None is 1.8 times the target.
            min_input_files: So many files make a group worth it, and so does more than the target in two files or more.
            delete_file_threshold: A file with so many delete files is written anew whatever its size.
            delete_ratio_threshold: So is one of which this share of rows is deleted, as far as delete files of one
                data file tell.
            rewrite_all: Write all files anew.
            max_group_size_bytes: How large a group gets.
            max_commits: Commit in so many parts, of which one that fails does not keep the others; None commits once.
            max_failed_commits: So many of these parts may fail, as `failed` of the result then tells; None allows all.
            dry_run: Only tell what would be written anew.
            branch: The branch, if not `main`.
            snapshot_properties: Members for the snapshots' summaries.
            sort_by: What to sort by, as for `Catalog.create_table` (`"ts desc nulls last"`); None is the table's own
                order. Files record the order if it is one of the table's.
            zorder_by: The columns of the curve. Those that the table is partitioned by as they are do not count.
            zorder_max_output_size: How many bytes of the curve's value are compared at most; None is all.
            zorder_var_length_contribution: How many bytes of strings and binaries count.
            options: Of Apache Paimon: options for this compaction, in the place of those of the table.
            spark: A session, classic or Connect, whose executors read and write; this process plans and commits. Each
                commit is a Spark job. Rows in the order in which they are read are dealt out in parts of the size of a
                file; a group that is sorted or partitioned anew is one executor's task, so `max_group_size_bytes`
                says how much that is.

        Raises:
            InvalidInputError: The filter or an order does not fit, no file could have these sizes, or there is no such
                strategy.
            CommitConflictError: Another commit removed one of the files, or deleted rows of it by position.
            UnsupportedError: The table has columns that can't be written yet, or that no z-order is of: decimals, for
                one.
        """
        given = {k: v for k, v in locals().items() if k != "self"}
        if not supports(self._table._core, "compaction_by_arguments"):
            return self._compact_by_options(given)
        if options is not None or strategy in ("full", "minor"):
            raise InvalidInputError(
                f"{'options' if options is not None else f'the strategy {strategy}'} is for tables of Apache Paimon"
            )
        given_core = {
            "strategy": strategy or "binpack",
            "sort_by": arguments.order(sort_by),
            "zorder_by": None if zorder_by is None else list(zorder_by),
            "zorder_max_output_size": zorder_max_output_size,
            "zorder_var_length_contribution": zorder_var_length_contribution,
            "filter": None if where is None else str(where),
            "target_file_size_bytes": target_file_size_bytes,
            "min_file_size_bytes": min_file_size_bytes,
            "max_file_size_bytes": max_file_size_bytes,
            "min_input_files": arguments.count("min_input_files", min_input_files),
            "delete_file_threshold": delete_file_threshold,
            "delete_ratio_threshold": delete_ratio_threshold,
            "rewrite_all": rewrite_all,
            "max_group_size_bytes": arguments.count("max_group_size_bytes", max_group_size_bytes),
            "max_commits": max_commits,
            "max_failed_commits": max_failed_commits,
            "dry_run": dry_run,
            "branch": branch,
            "snapshot_properties": arguments.texts(snapshot_properties),
        }
        if spark is None:
            return Compacted(**self._run("compact", **given_core))
        done: Compacted
        self._table._core, done = spark_engine().compact(spark, self._table._core, given_core)
        return done

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
                    hint="Their files follow options of the table, or those given as options={...}",
                )
        result = self._run(
            "compact",
            strategy=given["strategy"],
            filter=None if given["where"] is None else str(given["where"]),
            dry_run=given["dry_run"],
            branch=given["branch"],
            snapshot_properties=arguments.texts(given["snapshot_properties"]),
            options=arguments.texts(given["options"]),
        )
        return Compacted(**result)

    def rewrite_position_deletes(
        self,
        where: str | Predicate | None = None,
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
        """Writes position delete files anew, without what they say of data files that are gone.

        In format version 2, files of a partition that are too small or too large are put together: per data file, or
        per partition where the property `write.delete.granularity` says so. In version 3, all of them become deletion
        vectors, one for each data file: what is left of a table that was upgraded. No row changes; the snapshot is of
        operation `replace`.

        Args:
            where: Only delete files of data files that may have such rows, as text or expression.
            target_file_size_bytes: How large delete files should be; None follows the property
                `write.delete.target-file-size-bytes`, 64 MiB if it is not set.
            min_file_size_bytes: Smaller files are written anew; None is three quarters of the target.
            max_file_size_bytes: Larger files are written anew; None is 1.8 times the target.
            min_input_files: So many files of a partition make it worth it.
            rewrite_all: Write all of them anew.
            max_group_size_bytes: How much is read at once.
            dry_run: Only tell what would be written anew.
            branch: The branch, if not `main`.
            snapshot_properties: Members for the snapshot's summary.
            spark: A session whose executors read and write, as for `compact`. A part is a group of files of one
                partition (version 2), or of files that concern the same data files.

        Raises:
            InvalidInputError: The filter does not fit, or no file could have these sizes.
            UnsupportedError: A data file is in the table more than once, with other deletes each time.
            CommitConflictError: Another commit removed one of the files, or (version 3) deleted rows of the same data
                files or removed them.
        """
        given = {
            "filter": None if where is None else str(where),
            "target_file_size_bytes": target_file_size_bytes,
            "min_file_size_bytes": min_file_size_bytes,
            "max_file_size_bytes": max_file_size_bytes,
            "min_input_files": arguments.count("min_input_files", min_input_files),
            "rewrite_all": rewrite_all,
            "max_group_size_bytes": arguments.count("max_group_size_bytes", max_group_size_bytes),
            "dry_run": dry_run,
            "branch": branch,
            "snapshot_properties": arguments.texts(snapshot_properties),
        }
        if spark is None:
            return RewrittenDeletes(**self._run("rewrite_position_deletes", **given))
        self._check_executors("rewriting deletes")
        done: RewrittenDeletes
        self._table._core, done = spark_engine().rewrite_position_deletes(spark, self._table._core, given)
        return done

    def remove_dangling_deletes(
        self,
        dry_run: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> RewrittenDeletes:
        """Removes delete files and deletion vectors that delete no row of any data file.

        They are older than the data of their partition, or the data files that they name are gone. No row changes; the
        snapshot is of operation `replace`.

        Args:
            dry_run: Only tell what would go.
            branch: The branch, if not `main`.
            snapshot_properties: Members for the snapshot's summary.

        Raises:
            CommitConflictError: Another commit removed one of them.
        """
        result = self._run(
            "remove_dangling_deletes",
            dry_run=dry_run,
            branch=branch,
            snapshot_properties=arguments.texts(snapshot_properties),
        )
        return RewrittenDeletes(**result)

    def convert_equality_deletes(
        self,
        dry_run: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, object] | None = None,
    ) -> RewrittenDeletes:
        """Makes deletes by position of equality deletes, which cost readers less.

        Of the data files that they may reach, the key columns are read; the rows found are named in position delete
        files, or (format version 3) in deletion vectors, and the equality delete files go. No row changes, but the
        snapshot is of operation `delete`, so that a compaction that was planned before is a conflict.

        Args:
            dry_run: Only tell which equality delete files there are.
            branch: The branch, if not `main`.
            snapshot_properties: Members for the snapshot's summary.

        Raises:
            CommitConflictError: Another commit rewrote one of the data files, removed one of the delete files, or
                (version 3) deleted rows of the same data files.
        """
        result = self._run(
            "convert_equality_deletes",
            dry_run=dry_run,
            branch=branch,
            snapshot_properties=arguments.texts(snapshot_properties),
        )
        return RewrittenDeletes(**result)

    def compute_statistics(
        self, columns: Iterable[str] | None = None, snapshot: int | None = None
    ) -> ColumnStatistics | None:
        """Estimates how many distinct values columns have, and stores that as the snapshot's statistics.

        The rows are read, files in parallel; a column takes some 100 kB of memory for each thread. The statistics file
        is a Puffin file of theta sketches, as Java Iceberg's `compute_table_stats` writes it: query engines use it for
        the order of joins. Nulls do not count, nor do text and binary of no length. Statistics that the snapshot had
        before are replaced.

        Args:
            columns: Dotted names of primitive columns outside of lists and maps; None takes all that are in no other
                column.
            snapshot: The id of the snapshot, if not the current one.

        Returns:
            The statistics, or None for a table without snapshots.

        Raises:
            InvalidInputError: There is no such column, or its values can't be counted.
            NotFoundError: There is no such snapshot.
        """
        result = self._try(
            "compute_statistics",
            columns=None if columns is None else list(columns),
            snapshot=None if snapshot is None else arguments.count("snapshot", snapshot),
        )
        return None if result is None else ColumnStatistics(**result)

    def compute_partition_statistics(self, snapshot: int | None = None) -> PartitionStatistics | None:
        """Counts the files and rows of each partition, and stores that as the snapshot's partition statistics.

        The numbers are those of `inspect.partitions()`, but for two things: each partition spec has partitions of its
        own, and a removal of files counts as an update of the partition. Manifests are read, data files are not. If the
        snapshot has partition statistics already, they stay.

        Args:
            snapshot: The id of the snapshot, if not the current one.

        Returns:
            The statistics, or None if there is no snapshot, or it names no file.

        Raises:
            InvalidInputError: The table was never partitioned.
            NotFoundError: There is no such snapshot.
        """
        result = self._try(
            "compute_partition_statistics",
            snapshot=None if snapshot is None else arguments.count("snapshot", snapshot),
        )
        if result is None:
            return None
        return PartitionStatistics(result["snapshot_id"], result["path"], result["size_bytes"])


def _milliseconds(time: dt.datetime | dt.timedelta | None, what: str) -> int | None:
    """Milliseconds since the epoch, before which things are old. What has just the age given as timedelta is old."""
    if time is None:
        return None
    if isinstance(time, dt.timedelta):
        if time < dt.timedelta(0):
            raise InvalidInputError(f"{what}= is an age, which is not below 0: {time}")
        try:
            # Times of files and snapshots are whole milliseconds, rounded down: this one counts as past.
            time = dt.datetime.now(dt.timezone.utc) - time + dt.timedelta(milliseconds=1)
        except OverflowError:
            raise InvalidInputError(f"{what}= is an age beyond all times: {time}") from None
    if not isinstance(time, dt.datetime):
        raise InvalidInputError(f"{what}= must be a datetime or an age as timedelta, not {arguments.shown(time)}")
    return arguments.milliseconds(time)
