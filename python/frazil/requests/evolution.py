"""Changes of a table's metadata, as the core takes them: schemas, specs, properties, branches and tags.

A change is a description. A table commits one or several at once; a transaction collects them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from frazil import _core, arguments
from frazil.arguments import At
from frazil.requests.handle import TableHandle

__all__ = [
    "Evolution",
    "Operation",
    "add_to_transaction",
    "commit",
    "create_branch",
    "create_tag",
    "drop_ref",
    "fast_forward",
    "remove_properties",
    "rename_branch",
    "replace_ref",
    "roll_back",
    "set_location",
    "set_properties",
    "set_retention",
    "set_snapshot",
    "update_schema",
    "update_sort_order",
    "update_spec",
    "upgrade",
]

Evolution: TypeAlias = dict[str, Any]
"""A description of a change of metadata."""

Operation: TypeAlias = dict[str, Any]
"""One step of an update: of a column, a partition field or a sort field."""

_Table = TypeVar("_Table", bound=TableHandle)


def commit(table: _Table, change: Evolution, planned_on: _core.Table | None = None) -> _Table:
    """Commits a change; returns the table, now at its new version.

    Args:
        table: The table.
        change: The change.
        planned_on: The version that the change was planned on, if not the table's. It is a conflict if somebody has
            changed the same since that version.
    """
    table._core = (planned_on or table._core).evolve(json.dumps([change]))
    return table


def add_to_transaction(transaction: _core.Transaction, change: Evolution) -> None:
    """Adds a change to a transaction."""
    transaction.evolve(json.dumps([change]))


# ---------------------------------------------------------------- properties, location, format version


def set_properties(properties: Mapping[str, str]) -> Evolution:
    """Sets table properties."""
    return {"change": "set-properties", "properties": dict(properties)}


def remove_properties(names: Sequence[str]) -> Evolution:
    """Removes table properties."""
    return {"change": "remove-properties", "names": list(names)}


def set_location(location: str) -> Evolution:
    """Records another location."""
    return {"change": "set-location", "location": location}


def upgrade(format_version: int) -> Evolution:
    """Raises the format version."""
    return {"change": "upgrade", "format-version": format_version}


# ---------------------------------------------------------------- schema, spec, order


def update_schema(operations: Sequence[Operation], case_sensitive: bool, allow_incompatible: bool) -> Evolution:
    """Changes columns."""
    return {
        "change": "update-schema",
        "operations": list(operations),
        "case-sensitive": case_sensitive,
        "allow-incompatible": allow_incompatible,
    }


def update_spec(operations: Sequence[Operation], case_sensitive: bool) -> Evolution:
    """Changes partition fields."""
    return {"change": "update-spec", "operations": list(operations), "case-sensitive": case_sensitive}


def update_sort_order(fields: Sequence[Operation], case_sensitive: bool) -> Evolution:
    """Replaces the sort order."""
    return {"change": "update-sort-order", "fields": list(fields), "case-sensitive": case_sensitive}


# ---------------------------------------------------------------- branches and tags


def create_branch(name: str, at: At | None, retention: Mapping[str, int]) -> Evolution:
    """Creates a branch."""
    return {"change": "create-branch", "name": name, **arguments.at_version(at), **retention}


def create_tag(name: str, at: At | None, retention: Mapping[str, int]) -> Evolution:
    """Creates a tag."""
    return {"change": "create-tag", "name": name, **arguments.at_version(at), **retention}


def replace_ref(name: str, at: At) -> Evolution:
    """Lets a branch or tag name another snapshot."""
    return {"change": "replace-ref", "name": name, **arguments.at_version(at)}


def drop_ref(name: str) -> Evolution:
    """Removes a branch or tag."""
    return {"change": "drop-ref", "name": name}


def rename_branch(name: str, to: str) -> Evolution:
    """Gives a branch another name."""
    return {"change": "rename-branch", "name": name, "to": to}


def fast_forward(name: str, to: str) -> Evolution:
    """Moves a branch forward to the snapshot of another reference."""
    return {"change": "fast-forward", "name": name, "to": to}


def set_retention(name: str, retention: Mapping[str, int]) -> Evolution:
    """Says what expiry keeps of a branch or tag."""
    return {"change": "set-retention", "name": name, **retention}


def roll_back(branch: str, to: At) -> Evolution:
    """Moves a branch back to an ancestor of its snapshot."""
    return {"change": "roll-back", "name": branch, **arguments.at_version(to, "to")}


def set_snapshot(branch: str, to: At) -> Evolution:
    """Moves a branch to any snapshot."""
    return {"change": "set-snapshot", "name": branch, **arguments.at_version(to, "to")}
