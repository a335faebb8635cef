"""Maintenance of tables, as the core takes it: actions with typed options, and the steps that Spark's executors do.

A part travels to an executor as a dictionary of numbers and texts. `do_part` and `read_part` turn it into typed values
there. The members of `FileOrder` and `OrphanOptions` are members of that dictionary, as the core reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, TypeVar, cast

from frazil import _core
from frazil._core import (
    CompactionGroup,
    DeletePart,
    Maintenance,
    MaintenanceParts,
    PartWriter,
    RewriteRules,
    Split,
)

__all__ = [
    "CompactionGroup",
    "DeletePart",
    "FileOrder",
    "LoadedFile",
    "Maintenance",
    "MaintenanceParts",
    "OrphanOptions",
    "RewriteRules",
    "compaction_parts",
    "delete_part",
    "do_part",
    "orphan_part",
    "read_part",
    "remove_files_of",
    "result",
]

_Result = TypeVar("_Result")


class FileOrder(TypedDict):
    """The order of rows in rewritten files."""

    strategy: str
    sort_by: list[str] | None
    zorder_by: list[str] | None
    zorder_max_output_size: int | None
    zorder_var_length_contribution: int | None


class LoadedFile(TypedDict):
    """A file of another format whose rows were loaded. Times are milliseconds since the epoch."""

    path_hash: str
    path: str
    size_bytes: int
    modified_ms: int
    loaded_at_ms: int
    snapshot_id: int
    rows: int


class OrphanOptions(TypedDict):
    """Which orphan files to remove."""

    older_than_ms: int | None
    location: str | None
    dry_run: bool
    prefix_mismatch: str
    equal_schemes: dict[str, str]
    equal_authorities: dict[str, str]
    outside_locations: list[str]


def result(kind: type[_Result], done: object) -> _Result:
    """A public result: a named tuple with the core's members of the same names."""
    make: Any = kind
    made: _Result = make(**{name: getattr(done, name) for name in make._fields})
    return made


# ---------------------------------------------------------------- what travels to executors


def compaction_parts(group: CompactionGroup, order: FileOrder) -> list[dict[str, Any]]:
    """The parts of a group of files."""
    return [{**order, "part": part.to_json(), "roll_at": group.roll_at} for part in group.parts]


def delete_part(part: DeletePart, snapshot: int) -> dict[str, Any]:
    """A part of a rewrite of position deletes."""
    return {"deletes": part.deletes, "concerned": part.concerned, "roll_at": part.roll_at, "snapshot": snapshot}


def orphan_part(options: OrphanOptions, older_than_ms: int, **paths: list[str]) -> dict[str, Any]:
    """A part of a search for orphan files: `folders` to list, or `manifests` to read."""
    return {**options, "older_than_ms": older_than_ms, **paths}


# ---------------------------------------------------------------- what executors do


def do_part(table: _core.Table, step: str, part: Mapping[str, Any]) -> str:
    """Writes the files of a part, on an executor; returns the message of the writer as text.

    Args:
        table: The table at the version that was planned.
        step: `compact_part` or `rewrite_position_deletes_part`.
        part: The part, with the names of the job and the numbers of the part and of the attempt.

    Raises:
        ValueError: There is no such step.
    """
    steps, writer = MaintenanceParts(table), PartWriter(part["job"], part["number"], part["attempt"])
    if step == "compact_part":
        split = Split.from_json(part["part"])
        message = steps.compact_part(split, part["roll_at"], cast("FileOrder", part), writer)
    elif step == "rewrite_position_deletes_part":
        deletes = DeletePart(part["deletes"], part["concerned"], part["roll_at"])
        message = steps.rewrite_deletes_part(part["snapshot"], deletes, writer)
    else:
        raise ValueError(f"no part of an action is written by a step {step!r}")
    return message.to_json()


def read_part(table: _core.Table, step: str, part: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Reads the rows of a part, on an executor: each is the key of a file and a text.

    Args:
        table: The table.
        step: `list_part` or `reachable_part`.
        part: The part.

    Raises:
        ValueError: There is no such step.
    """
    steps, options = MaintenanceParts(table), cast("OrphanOptions", part)
    if step == "list_part":
        return [*steps.list_part(options, part["folders"])]
    if step == "reachable_part":
        return steps.reachable_part(options, part["manifests"])
    raise ValueError(f"no part of an action is read by a step {step!r}")


def remove_files_of(table: _core.Table, job: str) -> None:
    """Deletes the files that the writers of a job made and that no snapshot has."""
    MaintenanceParts(table).remove_files_of(job)
