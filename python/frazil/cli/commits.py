"""What commits did, and what keys and buckets mean for the numbers of a table's rows and files."""

from __future__ import annotations

import frazil as fz
from frazil.capabilities import supports
from frazil.display.commits import changed, integer_of
from frazil.display.figures import amount
from frazil.exceptions import FrazilError

__all__ = ["buckets_of", "files_added_by", "merges_rows", "what"]


def files_added_by(table: fz.Table, snapshot_id: int | None) -> int | None:
    """The number of data files that an append to main added, from the manifests of this commit.

    None without a commit, and if its manifests can't be read.
    """
    if snapshot_id is None:
        return None
    before = max((snapshot.id for snapshot in table.snapshots if snapshot.id < snapshot_id), default=None)
    try:
        return sum(1 for _ in table.scan(since=before, at=snapshot_id).plan_files())
    except FrazilError:
        return None


def merges_rows(table: fz.Table) -> bool:
    """Whether readers merge stored rows of the same key, so that more are stored than are read."""
    return bool(table.schema.identifier_fields) and not supports(table._core, "snapshot_parents")


def buckets_of(table: fz.Table) -> str | None:
    """The number of buckets of each partition, as text. None for tables without buckets."""
    if supports(table._core, "snapshot_parents"):
        return None
    number = table.properties.get("bucket", "-1")
    named = {"-1": "dynamic" if merges_rows(table) else None, "-2": "postponed"}
    return named.get(number, number)


def what(table: fz.Table, snapshot: fz.Snapshot, counts_files: bool = False) -> str:
    """What a commit did: `+100 rows, +1 file, 300 rows in all`.

    Args:
        table: Its table.
        snapshot: The snapshot that it made.
        counts_files: Whether to read manifests for the number of files, if the summary does not have it.
    """
    summary = snapshot.summary
    rows, total = (integer_of(summary.get(name, "")) for name in ("delta-records", "total-records"))
    if rows is None or total is None or "added-records" in summary:
        return ", ".join(changed(summary))
    found = [f"{'+' if rows > 0 else '-'}{amount(abs(rows), 'row')}"] if rows else []
    if counts_files and snapshot.operation == "append":
        files = files_added_by(table, snapshot.id)
        found += [] if files is None else [f"+{amount(files, 'file')}"]
    stored = amount(total, "row")
    found.append(f"{stored} stored, before merging" if merges_rows(table) else f"{stored} in all")
    return ", ".join(found)
