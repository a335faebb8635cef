"""Reports of scans and commits, with the names of Iceberg's REST specification, and their delivery.

The core sends reports to REST servers by itself, with the same members.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from frazil import _core
from frazil.observing import listeners, logs, telling

__all__ = ["commit_report", "deliver", "scan_report"]

# Names of metrics, by their names in summaries of snapshots.
_COUNTS = {
    "added-data-files": "added-data-files",
    "deleted-data-files": "removed-data-files",
    "total-data-files": "total-data-files",
    "added-delete-files": "added-delete-files",
    "added-equality-delete-files": "added-equality-delete-files",
    "added-position-delete-files": "added-positional-delete-files",
    "added-dvs": "added-dvs",
    "removed-position-delete-files": "removed-positional-delete-files",
    "removed-dvs": "removed-dvs",
    "removed-equality-delete-files": "removed-equality-delete-files",
    "removed-delete-files": "removed-delete-files",
    "total-delete-files": "total-delete-files",
    "added-records": "added-records",
    "deleted-records": "removed-records",
    "total-records": "total-records",
    "added-position-deletes": "added-positional-deletes",
    "removed-position-deletes": "removed-positional-deletes",
    "total-position-deletes": "total-positional-deletes",
    "added-equality-deletes": "added-equality-deletes",
    "removed-equality-deletes": "removed-equality-deletes",
    "total-equality-deletes": "total-equality-deletes",
    "manifests-kept": "manifests-kept",
    "manifests-created": "manifests-created",
    "manifests-replaced": "manifests-replaced",
    "entries-processed": "manifest-entries-processed",
}
_SIZES = {
    "added-files-size": "added-files-size-bytes",
    "removed-files-size": "removed-files-size-bytes",
    "total-files-size": "total-files-size-bytes",
}

_ENGINE = {"engine-name": "frazil", "engine-version": _core.__version__}


def _counter(unit: str, value: int) -> dict[str, Any]:
    return {"unit": unit, "value": value}


def _timer(seconds: float) -> dict[str, Any]:
    return {"count": 1, "time-unit": "nanoseconds", "total-duration": int(seconds * 1e9)}


def commit_report(table: str, snapshot: _core.SnapshotInfo, attempts: int | None, seconds: float) -> dict[str, Any]:
    """The report of a snapshot that a verb has made.

    Args:
        table: The name of the table.
        snapshot: The snapshot.
        attempts: How often the commit was tried. None if that is not known.
        seconds: How long the verb took.
    """
    metrics: dict[str, Any] = {"total-duration": _timer(seconds)}
    if attempts is not None:
        metrics["attempts"] = _counter("count", attempts)
    for unit, names in (("count", _COUNTS), ("bytes", _SIZES)):
        for name, metric in names.items():
            text = snapshot.summary.get(name, "")
            if text.isdecimal():
                metrics[metric] = _counter(unit, int(text))
    return {
        "report-type": "commit-report",
        "table-name": table,
        "snapshot-id": snapshot.id,
        "sequence-number": snapshot.sequence_number,
        "operation": snapshot.operation or "append",
        "metrics": metrics,
        "metadata": dict(_ENGINE),
    }


def scan_report(
    table: str,
    scan: _core.Scan,
    counted: dict[str, int],
    figures: dict[str, Any],
    planning_seconds: float | None,
) -> dict[str, Any] | None:
    """The report of a plan or read. None for a table without snapshots.

    Args:
        table: The name of the table.
        scan: The scan.
        counted: What the core counted in its plan, by the names of metrics. Empty for a plan that it did not make, or
            that has not ended.
        figures: What is known of other plans: `files`, `delete_files`, `bytes`.
        planning_seconds: How long planning took. None if that is not known.
    """
    if scan.snapshot_id is None:
        return None
    schema = scan.schema()
    columns = list(_leaves(schema.fields))
    metrics = {name: _counter("bytes" if name.endswith("-in-bytes") else "count", n) for name, n in counted.items()}
    if planning_seconds is not None:
        metrics["total-planning-duration"] = _timer(planning_seconds)
    if planning_seconds is not None and not counted:
        known = (
            ("files", "result-data-files", "count"),
            ("delete_files", "result-delete-files", "count"),
            ("bytes", "total-file-size-in-bytes", "bytes"),
        )
        metrics |= {metric: _counter(unit, figures[name]) for name, metric, unit in known if name in figures}
    report: dict[str, Any] = {
        "report-type": "scan-report",
        "table-name": table,
        "snapshot-id": scan.snapshot_id,
        "schema-id": schema.id,
        "projected-field-ids": [id_ for id_, _ in columns],
        "projected-field-names": [name for _, name in columns],
        "metrics": metrics,
        "metadata": dict(_ENGINE),
    }
    filter_ = scan.sanitized_filter()
    if filter_ is not None:
        report["filter"] = filter_
    return report


def _leaves(fields: list[_core.Field], path: str = "") -> Iterator[tuple[int, str]]:
    """The columns without members, by id and full name."""
    for field in fields:
        if field.children:
            yield from _leaves(field.children, f"{path}{field.name}.")
        else:
            yield field.id, path + field.name


def deliver(report: dict[str, Any]) -> None:
    """Gives a report to all who listen. What they do with tables is not observed."""
    token = telling.state.set(telling.TELLING)
    try:
        for registration in tuple(listeners.registered):
            try:
                registration.listener(_copy(report))
            except Exception as error:
                if not registration.has_failed:
                    registration.has_failed = True
                    facts = {"event": "on_report", "error": type(error).__name__}
                    message = f"a function of on_report failed: {type(error).__name__}. It stays registered"
                    logs.write(logs.WARNING, message, facts)
    finally:
        telling.state.reset(token)


def _copy(value: Any) -> Any:
    """A report of its own for each function: one may change it."""
    if isinstance(value, dict):
        return {name: _copy(member) for name, member in value.items()}
    return list(value) if isinstance(value, list) else value
