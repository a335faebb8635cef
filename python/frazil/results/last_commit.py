"""What the last commit through a table object did, from the summaries of its snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from frazil import _core
from frazil.names import answers

__all__ = ["LastCommit", "commit_with", "last_commit", "summed"]


@answers("last_commit")
class LastCommit(NamedTuple):
    """What the last commit through a table object did: `table.append(rows).last_commit`.

    A number is None if the commit does not record it. If nothing was committed, or no snapshot was made, then
    `snapshot_id` is None and all numbers are 0.

    Attributes:
        snapshot_id: The snapshot that the commit made. If it made several, the newest.
        operation: `append`, `overwrite`, `delete` or `replace`; None without a snapshot, or if it is not recorded.
        rows_added: The number of rows that are new.
        rows_deleted: The number of rows that were removed. Rows that only moved to another file don't count.
        rows_updated: The number of rows whose values changed.
        files_added: The number of data files that were added.
        files_removed: The number of data files that were removed.
        delete_files_added: The number of delete files and deletion vectors that were added.
        snapshots: The number of snapshots that the commit made.
    """

    snapshot_id: int | None = None
    operation: str | None = None
    rows_added: int | None = 0
    rows_deleted: int | None = 0
    rows_updated: int | None = 0
    files_added: int | None = 0
    files_removed: int | None = 0
    delete_files_added: int | None = 0
    snapshots: int = 0

    def __str__(self) -> str:
        if self.snapshot_id is None:
            return "no snapshot was made"
        rows = [("added", self.rows_added), ("updated", self.rows_updated), ("deleted", self.rows_deleted)]
        files = [("added", self.files_added), ("removed", self.files_removed)]
        return f"{self.operation}: rows {_said(rows)}; files {_said(files)}"


def _said(counts: Sequence[tuple[str, int | None]]) -> str:
    """What changed, as text. Without known numbers, it is unknown whether anything did."""
    said = [f"{count} {what}" for what, count in counts if count]
    if any(count is None for _, count in counts):
        said.append("others unknown" if said else "unknown")
    return ", ".join(said) or "none changed"


_FILES_HAVE_OTHER_ROWS = ("deletion-vectors.enabled", "data-evolution.enabled")
"""Options of tables whose files have deleted rows, or have parts of the same rows."""


def last_commit(core: _core.Table, before: _core.Table | None) -> LastCommit:
    """What the commit did that led to a version.

    Args:
        core: The version.
        before: The version before, for formats whose tables don't keep what a commit made.
    """
    made = core.committed
    if made is None:
        if before is None:
            return LastCommit()
        earlier = {snapshot.id for snapshot in before.snapshots()}
        found = [snapshot for snapshot in core.snapshots() if snapshot.id not in earlier]
    else:
        if not made:
            return LastCommit()
        found = _found(core, made)
    return summed(core, found)


def commit_with(core: _core.Table, name: str, value: str) -> LastCommit:
    """What the commit did whose snapshots have a property in their summary.

    Args:
        core: A version with the commit.
        name: The name of the property.
        value: Its value.
    """
    return summed(core, [snapshot for snapshot in core.snapshots() if snapshot.summary.get(name) == value])


def summed(core: _core.Table, found: Sequence[_core.SnapshotInfo]) -> LastCommit:
    """What several snapshots of a table did together."""
    if not found:
        return LastCommit()
    hidden = any(core.properties.get(name, "").lower() == "true" for name in _FILES_HAVE_OTHER_ROWS)
    counts = [_rows(snapshot, core.format_version, hidden) for snapshot in found]
    files = [_files(snapshot.summary) for snapshot in found]
    added, deleted, updated = (_sum([count[at] for count in counts]) for at in range(3))
    files_added, files_removed, delete_files = (_sum([count[at] for count in files]) for at in range(3))
    return LastCommit(
        found[-1].id, found[-1].operation, added, deleted, updated, files_added, files_removed, delete_files, len(found)
    )


def _found(core: _core.Table, ids: Sequence[int]) -> list[_core.SnapshotInfo]:
    newest = core.snapshot()
    if newest is not None and list(ids) == [newest.id]:
        return [newest]
    return [snapshot for snapshot in core.snapshots() if snapshot.id in ids]


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _count(summary: Mapping[str, str], name: str) -> int | None:
    text = summary.get(name, "0")
    return int(text) if text.isdecimal() else None


def _files(summary: Mapping[str, str]) -> tuple[int | None, int | None, int | None]:
    names = ("added-data-files", "deleted-data-files", "added-delete-files")
    if "delta-records" in summary and not any(name in summary for name in names):
        return None, None, None
    added, removed, deletes = (_count(summary, name) for name in names)
    return added, removed, deletes


def _rows(
    snapshot: _core.SnapshotInfo, format_version: int, has_hidden_rows: bool
) -> tuple[int | None, int | None, int | None]:
    """Rows added, deleted and updated by one snapshot."""
    summary = snapshot.summary
    inserted, deleted, updated = (summary.get(f"frazil.rows-{what}") for what in ("inserted", "deleted", "updated"))
    if deleted is not None or updated is not None:
        return int(inserted or 0), int(deleted or 0), int(updated or 0)
    operation = (snapshot.operation or "").lower()
    if "delta-records" in summary and "added-records" not in summary:
        delta = summary["delta-records"]
        if inserted is not None and delta.removeprefix("-").isdecimal():
            # An overwrite counts the rows that it brings. Files may have rows that were deleted before.
            return int(inserted), None if has_hidden_rows else int(inserted) - int(delta), 0
        return (int(delta), 0, 0) if operation == "append" and delta.isdecimal() else (None, None, None)
    added, removed = _count(summary, "added-records"), _count(summary, "deleted-records")
    if operation == "append":
        return added, 0, 0
    if operation == "replace":
        return 0, 0, 0
    gone = _deleted_by_files(summary, format_version)
    if added is None or removed is None or gone is None:
        return (None if inserted is None else int(inserted)), None, 0
    # Rows that are only written again are among those added, and among those removed.
    new = int(inserted or 0)
    return new, removed - (added - new) + gone, 0


def _deleted_by_files(summary: Mapping[str, str], format_version: int) -> int | None:
    """How many more rows delete files hide. None if the summary can't tell."""
    added, removed = _count(summary, "added-position-deletes"), _count(summary, "removed-position-deletes")
    by_key, before = _count(summary, "total-equality-deletes"), _count(summary, "total-delete-files")
    new = _count(summary, "added-delete-files")
    if added is None or removed is None or by_key or before is None or new is None:
        return None
    # In version 2, files of position deletes may stay when their data files go. Their rows would count twice.
    if format_version < 3 and before > new and _count(summary, "deleted-data-files"):
        return None
    return added - removed
