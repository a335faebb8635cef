"""Upkeep of tables: expiring snapshots, removing files that nothing leads to, and writing files and manifests anew."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil import arguments
from frazil.exceptions import InvalidInputError

if TYPE_CHECKING:
    from frazil.table import Table

__all__ = ["ExpiredSnapshots", "Maintain"]


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

    @property
    def files(self) -> list[str]:
        """All of the files."""
        content = self.data_files + self.position_delete_files + self.equality_delete_files
        return content + self.manifests + self.manifest_lists + self.statistics_files


class Maintain:
    """The upkeep of a table: `table.maintain`.

    Each verb works on the newest version, and the table is at its new version afterwards. Files are deleted only after the
    commit that makes them unreachable certainly is in the table; whatever a branch, a tag or any other snapshot leads to
    stays. Where the property `gc.enabled` is false nothing is deleted.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def _run(self, action: str, **options: Any) -> dict[str, Any]:
        self._table._core, result = self._table._core.maintain(action, json.dumps(options))
        parsed: dict[str, Any] = json.loads(result)
        return parsed

    def expire_snapshots(
        self,
        older_than: dt.datetime | dt.timedelta | None = None,
        retain_last: int | None = None,
        snapshot_ids: Iterable[int] | None = None,
        dry_run: bool = False,
        delete_files: bool = True,
    ) -> ExpiredSnapshots:
        """Removes old snapshots, and then the files that only they led to.

        A branch keeps its snapshots that are not older, and at least the last `retain_last`; branches and tags whose own
        retention says otherwise follow that, and go if it says so themselves, except for `main`. Snapshots that no branch
        or tag leads to go when they are older.

        Args:
            older_than: Snapshots made before, in UTC if it has no zone, are old; or an age. None follows the property
                `history.expire.max-snapshot-age-ms`, 5 days if it is not set.
            retain_last: None follows the property `history.expire.min-snapshots-to-keep`, 1 if it is not set.
            snapshot_ids: Snapshots that go whatever their age, beside those that are old.
            dry_run: Only tell what would go.
            delete_files: False leaves the files to `remove_orphan_files`.

        Raises:
            InvalidInputError: A snapshot of `snapshot_ids` is that of a branch or tag; the property `gc.enabled` is false.
            NotFoundError: There is no such snapshot.
            CommitStateUnknownError: It can't be told whether the commit happened. No file was deleted.
        """
        result = self._run(
            "expire_snapshots",
            older_than_ms=_milliseconds(older_than, "older_than"),
            retain_last=None if retain_last is None else arguments.count("retain_last", retain_last),
            snapshot_ids=None if snapshot_ids is None else [arguments.count("a snapshot id", i) for i in snapshot_ids],
            dry_run=bool(dry_run),
            keep_files=not delete_files,
        )
        return ExpiredSnapshots(**result)


def _milliseconds(time: dt.datetime | dt.timedelta | None, what: str) -> int | None:
    """Milliseconds since the epoch."""
    if time is None:
        return None
    if isinstance(time, dt.timedelta):
        time = dt.datetime.now(dt.timezone.utc) - time
    if not isinstance(time, dt.datetime):
        raise InvalidInputError(f"{what}= must be a datetime or an age as timedelta, not {time!r}")
    time = time.replace(tzinfo=dt.timezone.utc) if time.tzinfo is None else time
    return (time - arguments.EPOCH) // dt.timedelta(milliseconds=1)
