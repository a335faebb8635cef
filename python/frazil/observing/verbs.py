"""The verbs that are observed: methods, and functions of `frazil.doctor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["COMMIT", "LEVELS", "MAINTENANCE", "PLAN", "READ", "Verb", "is_of_frazil", "verb_of"]

PLAN, READ, COMMIT, MAINTENANCE = "plan", "read", "commit", "maintenance"

LEVELS = {PLAN: 10, READ: 10, COMMIT: 20, MAINTENANCE: 20}
"""The levels of log records. Plans and reads are frequent, so theirs is DEBUG. All else is of level INFO."""

_VERBS: dict[str, dict[str, tuple[str, ...]]] = {
    "Scan": {
        PLAN: ("explain", "plan", "plan_files", "plan_parts", "plan_table"),
        READ: ("count", "head", "to_arrow", "to_arrow_batch_reader", "to_pandas", "to_polars"),
    },
    "Split": {READ: ("to_arrow", "to_arrow_batch_reader")},
    "Table": {
        COMMIT: ("add_files", "append", "cherry_pick", "commit", "commit_overwrite", "commit_rewrite"),
        MAINTENANCE: ("doctor", "repair"),
    },
    "RowChanges": {
        COMMIT: (
            *("delete", "delete_keys", "delete_positions", "merge", "overwrite", "overwrite_partitions", "update"),
            "upsert",
        )
    },
    "Transaction": {COMMIT: ("commit",)},
    "CatalogTransaction": {COMMIT: ("commit",)},
    "Maintain": {
        MAINTENANCE: (
            *("compact", "compute_partition_statistics", "compute_statistics", "convert_equality_deletes"),
            *("expire_snapshots", "remove_dangling_deletes", "remove_orphan_files", "rewrite_manifests"),
            *("clear_consumers", "create_automatic_tags", "mark_partitions_done", "purge", "record_loads"),
            *("reset_consumer", "rewrite_file_indexes", "rewrite_position_deletes", "set_earliest_snapshot"),
            *("drop_global_index", "materialize_deletion_vectors", "reassign_row_ids"),
        )
    },
}
"""The methods that are verbs, by class and kind."""

_KINDS = {
    **{f"{owner}.{name}": kind for owner, kinds in _VERBS.items() for kind, names in kinds.items() for name in names},
    "examine": MAINTENANCE,
    "restore": MAINTENANCE,
}


class Verb:
    """One verb.

    Attributes:
        kind: `plan`, `read`, `commit` or `maintenance`.
        name: The name of the method.
        level: The level of its log records.
        changes_rows: Whether transactions have the method, too. There it commits nothing.
    """

    __slots__ = ("changes_rows", "kind", "level", "name")

    def __init__(self, kind: str, name: str, changes_rows: bool = False) -> None:
        self.kind = kind
        self.name = name
        self.level = LEVELS[kind]
        self.changes_rows = changes_rows

    @property
    def event(self) -> str:
        """The name of what is told: the kind, or the name of the verb of maintenance."""
        return self.name if self.kind == MAINTENANCE else self.kind


def is_of_frazil(module: object) -> bool:
    """Whether a module's name says that it is part of Frazil."""
    return str(module).partition(".")[0] == "frazil"


def verb_of(function: Callable[..., Any]) -> Verb | None:
    """The verb that a function is, if it is one."""
    kind = _KINDS.get(function.__qualname__)
    if kind is None or not is_of_frazil(function.__module__):
        return None
    return Verb(kind, function.__name__, function.__qualname__.startswith("RowChanges."))
