"""What a table or a scan can do. Not every table format can do everything.

The core answers. Nothing in Python looks at a table's format; everything asks for a capability by its name:

    if supports(table._core, "native_writes"):
        ...
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from frazil import _core

__all__ = [
    "TABLE_FORMATS",
    "Capability",
    "ScanCapability",
    "format_name",
    "rows_of_next_commit",
    "scan_supports",
    "supports",
]

TABLE_FORMATS: tuple[str, ...] = tuple(_core.TABLE_FORMATS)
"""The table formats that tables can be created in."""

Capability: TypeAlias = Literal[
    # Compaction follows its arguments (sizes, orders); else it follows the table's options.
    "compaction_by_arguments",
    # Spark's executors compact, rewrite deletes and find orphan files.
    "maintenance_by_executors",
    # Spark's executors find and change rows.
    "row_changes_by_executors",
    # Spark's executors write to branches.
    "branch_writes_by_executors",
    # Any number of tasks can write any rows: no writer needs to see what the others write.
    "independent_writers",
    # Rows can be distributed by partition and sort order before they are written.
    "distribution_modes",
    # Spark's own Parquet writer can write data files.
    "native_writes",
    # Decoded manifests can be kept in a folder.
    "plan_cache",
    # A snapshot names its parent, so each branch has a history.
    "snapshot_parents",
    # A stream reads the data files that each commit appended.
    "streams_of_appends",
    # Statistics of a snapshot have its number of rows, without any column.
    "row_count_statistics",
    # Columns can have exact types such as `VARCHAR(20)`.
    "declared_types",
]
"""The name of something that a table may be able to do."""

ScanCapability: TypeAlias = Literal[
    # Spark's own Parquet reader can read data files.
    "native_reads",
    # Parts of a plan can be planned alone.
    "planning_by_executors",
]
"""The name of something that a scan may be able to do."""


def supports(table: _core.Table, capability: Capability) -> bool:
    """Whether a table can do something."""
    return table.supports(capability)


def scan_supports(scan: _core.Scan, capability: ScanCapability) -> bool:
    """Whether a scan can do something."""
    return scan.supports(capability)


def format_name(table: _core.Table) -> str:
    """The name of a table's format, for messages."""
    return table.format_name


def rows_of_next_commit(by_schema: Mapping[int, _core.CommitRows]) -> _core.CommitRows:
    """Which rows a commit with the newest schema brings. `by_schema` has those of each schema by its id."""
    return by_schema[max(by_schema)]
