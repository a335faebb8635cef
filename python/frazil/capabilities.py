"""What a table can do. Not every table format can do everything.

This is the only file that looks at a table's format. Everything else asks for a capability by its name:

    if supports(table, "native_reads"):
        ...
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

__all__ = ["TABLE_FORMATS", "Capability", "format_name", "supports"]

TABLE_FORMATS = ("iceberg", "paimon")
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
    # Spark's own Parquet reader can read data files.
    "native_reads",
    # Spark's own Parquet writer can write data files.
    "native_writes",
    # Decoded manifests can be kept in a folder.
    "plan_cache",
    # Parts of a plan can be planned alone.
    "planning_by_executors",
    # A snapshot names its parent, so each branch has a history.
    "snapshot_parents",
    # A stream reads the data files that each commit appended.
    "streams_of_appends",
]
"""The name of something that a table may be able to do."""

# Apache Paimon's tables have none of these yet.
_FORMATS: dict[Capability, frozenset[str]] = {
    "compaction_by_arguments": frozenset({"iceberg"}),
    "maintenance_by_executors": frozenset({"iceberg"}),
    "row_changes_by_executors": frozenset({"iceberg"}),
    "branch_writes_by_executors": frozenset({"iceberg"}),
    "independent_writers": frozenset({"iceberg"}),
    "distribution_modes": frozenset({"iceberg"}),
    "native_reads": frozenset({"iceberg"}),
    "native_writes": frozenset({"iceberg"}),
    "plan_cache": frozenset({"iceberg"}),
    "planning_by_executors": frozenset({"iceberg"}),
    "snapshot_parents": frozenset({"iceberg"}),
    "streams_of_appends": frozenset({"iceberg"}),
}
_NAMES = {"iceberg": "Apache Iceberg", "paimon": "Apache Paimon"}


class _HasFormat(Protocol):
    @property
    def format(self) -> str: ...


def supports(table: _HasFormat, capability: Capability) -> bool:
    """Whether a table can do something.

    Args:
        table: A table, or the core's.
        capability: What.
    """
    return table.format in _FORMATS[capability]


def format_name(table: _HasFormat) -> str:
    """The name of a table's format, for messages: `Apache Iceberg`."""
    return _NAMES.get(table.format, table.format)
