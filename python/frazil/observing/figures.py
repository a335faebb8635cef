"""What verbs did, in figures, from their results and from the table before and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from frazil import _core, results

__all__ = ["Counted", "Planned", "made_snapshots", "of_commit", "of_maintenance", "of_plan", "of_read"]

Figures = dict[str, Any]


class Planned:
    """Counts of the tasks of a plan. A data file that was cut counts once."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[int, int]] = {}
        self._deletes: set[tuple[str, str]] = set()
        self._tasks = 0

    def add(self, task: _core.ScanTask) -> None:
        """Counts a task."""
        file = task.data_file
        self._tasks += 1
        self._files[file.path] = (file.size_bytes, file.record_count)
        for delete in task.deletes:
            # One Puffin file has the deletion vectors of several data files.
            owner = file.path if delete.content == "deletion_vector" else ""
            self._deletes.add((delete.path, owner))

    def figures(self) -> Figures:
        """The counts. Rows are those in the files, before the filter and before deletes."""
        return {
            "tasks": self._tasks,
            "files": len(self._files),
            "delete_files": len(self._deletes),
            "rows": sum(rows for _, rows in self._files.values()),
            "bytes": sum(size for size, _ in self._files.values()),
        }


def of_plan(name: str, result: Any, in_detail: bool) -> Figures:
    """The figures of a plan.

    Args:
        name: The verb.
        result: What it returned.
        in_detail: Whether to look at each task of splits. That takes about two microseconds for a task.
    """
    if name == "explain":
        return _of_explanation(result.to_dict())
    if name == "plan_table":
        return _of_plan_table(result)
    if name == "plan_parts":
        return {"parts": len(result), "manifest_bytes": sum(part.manifest_bytes for part in result)}
    if not in_detail:
        rows, size = (sum(getattr(split, name) for split in result) for name in ("row_count", "size_bytes"))
        return {"splits": len(result), "rows": rows, "bytes": size}
    planned = Planned()
    for split in result:
        for task in split.tasks:
            planned.add(task)
    return {"splits": len(result), **planned.figures()}


def _of_plan_table(table: Any) -> Figures:
    files = table.group_by("file_path").aggregate([("file_size_in_bytes", "max"), ("record_count", "max")])
    rows, sizes = (sum(files[f"{name}_max"].to_pylist()) for name in ("record_count", "file_size_in_bytes"))
    return {"tasks": table.num_rows, "files": files.num_rows, "rows": rows, "bytes": sizes}


def _of_explanation(facts: Mapping[str, Any]) -> Figures:
    found: Figures = {"rows": facts["rows"], "delete_files": facts["deletes"]["attached"]}
    manifests = [stage for stage in facts["stages"] if stage["unit"] == "manifest"]
    # Data manifests have several stages. Delete manifests have one, if there are any.
    for stages in (
        [stage for stage in manifests if stage["name"] != "delete manifests"],
        [stage for stage in manifests if stage["name"] == "delete manifests"],
    ):
        if stages:
            found["manifests_considered"] = found.get("manifests_considered", 0) + stages[0]["considered"]
            found["manifests"] = found.get("manifests", 0) + stages[-1]["kept"]
    files = [stage for stage in facts["stages"] if stage["unit"] == "data file"]
    if files:
        found["files_considered"], found["files"] = files[0]["considered"], files[-1]["kept"]
        found["bytes"] = files[-1]["kept_bytes"]
    if facts["cache"] is not None:
        found["cache_hits"], found["manifests_read"] = facts["cache"]["served"], facts["cache"]["read"]
    return found


def of_read(result: Any) -> Figures:
    """The figures of a read: its rows."""
    return {"rows": result if isinstance(result, int) else len(result)}


class Counted:
    """What the core counted for a verb.

    Args:
        counter: The counter, since the verb began.
        plans: Whether the verb makes a plan that is told about.

    Attributes:
        figures: The figures of its plan, of its commits, and of its requests over the network.
        metrics: What its plan counted, by the names of reports. Empty if that is not known.
        attempts: How often its commit was tried. None if several commits were, and one of them more than once.
    """

    def __init__(self, counter: _core.CallCounter, plans: bool) -> None:
        plan = counter.plan() if plans else None
        self.metrics, cache = plan or ({}, None)
        commits, retries = counter.commits()
        self.attempts = retries + 1 if commits == 1 or not retries else None
        sent, failed, received_bytes = counter.requests()
        self.figures = _of_metrics(self.metrics)
        if cache is not None:
            self.figures["cache_hits"], self.figures["manifests_read"] = cache
        # While a stream is read, its thread may commit something else.
        if commits and not plans:
            self.figures["retries"] = retries
        if sent:
            self.figures |= {"requests": sent, "failed_requests": failed, "received_bytes": received_bytes}


_SUMS = {
    "files": ("result-data-files",),
    "files_considered": ("result-data-files", "skipped-data-files"),
    "bytes": ("total-file-size-in-bytes",),
    "manifests": ("scanned-data-manifests", "scanned-delete-manifests"),
    "manifests_considered": ("total-data-manifests", "total-delete-manifests"),
}
"""Figures of plans, as sums of what plans count."""


def _of_metrics(metrics: Mapping[str, int]) -> Figures:
    return {name: sum(metrics.get(part, 0) for part in parts) for name, parts in _SUMS.items()} if metrics else {}


def made_snapshots(before: _core.Table, after: _core.Table) -> list[_core.SnapshotInfo]:
    """The snapshots that led from one version to another, as far as the core knows who made them."""
    if after is before:
        return []
    newest = after.snapshot()
    ids = after.committed
    if ids is not None:
        if newest is not None and ids == [newest.id]:
            return [newest]
        return [snapshot for snapshot in after.snapshots() if snapshot.id in ids] if ids else []
    if newest is None:
        return []
    earlier = before.snapshot()
    known = 0 if earlier is None else earlier.id
    if newest.id <= known + 1:
        return [newest] if newest.id > known else []
    # Others may have committed meanwhile.
    user = newest.summary.get("commit-user")
    found = [snapshot for snapshot in after.snapshots() if snapshot.id > known]
    return [snapshot for snapshot in found if snapshot.summary.get("commit-user") == user]


def of_commit(after: _core.Table, made: list[_core.SnapshotInfo]) -> Figures:
    """The figures of a commit. What its snapshots don't record is left out."""
    found: Figures = {"snapshots": len(made)}
    if made:
        did = results.summed(after, made)
        rows, files = ("rows_added", "rows_deleted", "rows_updated"), ("files_added", "files_removed")
        names = ("snapshot_id", "operation", *rows, *files, "delete_files_added")
        found |= {name: getattr(did, name) for name in names}
        found["bytes_added"] = _sum(made, "added-files-size")
        found["manifests_added"] = _sum(made, "manifests-created")
    return {name: value for name, value in found.items() if value is not None}


def _sum(made: Iterable[_core.SnapshotInfo], name: str) -> int | None:
    values = [snapshot.summary.get(name, "") for snapshot in made]
    return sum(map(int, values)) if all(value.isdecimal() for value in values) else None


def of_maintenance(name: str, result: Any) -> Figures:
    """The figures of maintenance, of an examination or of a repair. Lists are counted."""
    if result is None:
        return {}
    if name in ("doctor", "examine"):
        severities = [finding.severity for finding in result.findings]
        return {f"{severity}s": severities.count(severity) for severity in ("error", "warning", "info")}
    if name in ("repair", "restore"):
        return {"dry_run": result.dry_run, "steps": len(result.steps), "rows_lost": result.rows_lost}
    values = {field: getattr(result, field) for field in result._fields}
    counted = {field: len(value) if isinstance(value, (list, dict)) else value for field, value in values.items()}
    return {field: value for field, value in counted.items() if isinstance(value, int)}
