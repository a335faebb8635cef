"""Commands that list what a table's metadata have: snapshots, references, files, manifests, partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import frazil as fz
from frazil.capabilities import supports
from frazil.cli import json_text, output
from frazil.cli.commits import what
from frazil.cli.session import Session, looking
from frazil.display.partitions import partition_value, without_braces

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["files", "history", "manifests", "partitions", "refs", "snapshots"]

_MOST_COUNTED = 20
"""The most snapshots whose manifests are read for their numbers of files."""

_AT = click.option("--at", metavar="VERSION", help="Of this version: a snapshot's id, a branch, a tag, a time.")
_LIMIT = click.option("--limit", type=click.IntRange(0), help="The most lines.")


@looking("snapshots")
@_LIMIT
def snapshots(session: Session, table: str, limit: int | None) -> None:
    """List the snapshots, newest first."""
    opened = session.table(table)
    found = opened.snapshots[::-1][:limit]
    if session.as_json:
        names = ("id", "parent_id", "sequence_number", "timestamp", "operation", "schema_id", "summary")
        shown = [{name: getattr(s, name) for name in names} for s in found]
        output.document([{**s, "summary": output.masked_options(s["summary"])} for s in shown])
        return
    rows = [
        (
            str(s.id),
            f"{s.timestamp:%Y-%m-%d %H:%M:%S}",
            s.operation,
            str(s.parent_id or ""),
            what(opened, s, counts_files=len(found) <= _MOST_COUNTED),
        )
        for s in found
    ]
    fit = output.Fit(whole=("snapshot", "parent", "time (UTC)"), spare=("parent",))
    output.grid(("snapshot", "time (UTC)", "operation", "parent", "what"), rows, fit=fit)


@looking("history")
@_LIMIT
def history(session: Session, table: str, limit: int | None) -> None:
    """List which snapshot was current at which time, newest first."""
    opened = session.table(table)
    if supports(opened._core, "snapshot_parents"):
        found = json_text.objects(opened.inspect.history())[::-1][:limit]
    else:
        found = [
            {"made_current_at": s.timestamp, "snapshot_id": s.id, "parent_id": s.parent_id, "is_current_ancestor": True}
            for s in opened.snapshots[::-1][:limit]
        ]
    if session.as_json:
        output.document(found)
        return
    rows = [
        (f"{row['made_current_at']:%Y-%m-%d %H:%M:%S}", str(row["snapshot_id"]), row["is_current_ancestor"])
        for row in found
    ]
    output.grid(("current from (UTC)", "snapshot", "in the history of main"), rows, fit=output.Fit(whole=("snapshot",)))


@looking("refs")
def refs(session: Session, table: str) -> None:
    """List branches and tags."""
    found = list(session.table(table).refs.values())
    if session.as_json:
        output.document([ref._asdict() for ref in found])
    else:
        rows = [(ref.name, ref.type, str(ref.snapshot_id)) for ref in found]
        output.grid(("name", "type", "snapshot"), rows, fit=output.Fit(whole=("snapshot",)))


@looking("files")
@_AT
@_LIMIT
@click.option("--deletes", is_flag=True, help="Only delete files.")
def files(session: Session, table: str, at: str | None, limit: int | None, deletes: bool) -> None:
    """List data and delete files."""
    opened = session.table(table)
    version = session.at(opened, at)
    found = opened.inspect.delete_files(at=version) if deletes else opened.inspect.files(at=version)
    shown = ("content", "level", "record_count", "file_size_in_bytes", "partition", "bucket", "file_path")
    _print(session, opened, found, shown, limit)


@looking("manifests")
@_AT
@_LIMIT
def manifests(session: Session, table: str, at: str | None, limit: int | None) -> None:
    """List the manifests of a version."""
    opened = session.table(table)
    shown = (
        *("content", "added_data_files_count", "existing_data_files_count", "deleted_data_files_count", "length"),
        *("num_added_files", "num_deleted_files", "file_size", "path", "file_name"),
    )
    _print(session, opened, opened.inspect.manifests(at=session.at(opened, at)), shown, limit)


@looking("partitions")
@_AT
@_LIMIT
def partitions(session: Session, table: str, at: str | None, limit: int | None) -> None:
    """List the partitions with their rows, files, bytes and deletes."""
    opened = session.table(table)
    shown = (
        *("partition", "record_count", "file_count", "total_data_file_size_in_bytes", "file_size_in_bytes"),
        *("position_delete_record_count", "equality_delete_file_count", "last_updated_at", "last_update_time"),
    )
    _print(session, opened, opened.inspect.partitions(at=session.at(opened, at)), shown, limit)


_TITLES = {
    "record_count": "rows",
    "file_count": "files",
    "file_size_in_bytes": "bytes",
    "total_data_file_size_in_bytes": "bytes",
    "file_path": "path",
    "file_name": "path",
    "length": "bytes",
    "file_size": "bytes",
    "added_data_files_count": "added",
    "existing_data_files_count": "existing",
    "deleted_data_files_count": "deleted",
    "num_added_files": "added",
    "num_deleted_files": "deleted",
    "position_delete_record_count": "deleted rows",
    "equality_delete_file_count": "equality deletes",
    "last_updated_at": "changed (UTC)",
    "last_update_time": "changed",
}
_CONTENTS = {0: "data", 1: "deletes", 2: "equality"}


def _print(session: Session, table: fz.Table, found: pa.Table, shown: tuple[str, ...], limit: int | None) -> None:
    """Prints a metadata table: all columns as JSON, and for people those that matter."""
    if limit is not None:
        found = found.slice(0, limit)
    if session.as_json:
        output.document(json_text.objects(found))
        return
    names = [name for name in shown if name in found.schema.names]
    header = [_TITLES.get(name, name) for name in names]
    transforms = {field.name: field.transform for field in table.partition_spec.fields}
    rows = ([_cell(name, batch[name], transforms) for name in names] for batch in _rows(found.select(names)))
    output.grid(header, rows, fit=output.Fit(tail=("path",)))


def _rows(found: pa.Table) -> Any:
    for batch in found.to_batches(max_chunksize=1000):
        yield from json_text.objects(batch)


def _cell(name: str, value: Any, transforms: dict[str, str]) -> Any:
    if name == "content":
        return _CONTENTS.get(value, value)
    if name == "partition" and isinstance(value, str):
        return without_braces(value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={partition_value(transforms.get(key), member)}" for key, member in value.items())
    return f"{value:%Y-%m-%d %H:%M:%S}" if name.startswith("last_update") and hasattr(value, "year") else value
