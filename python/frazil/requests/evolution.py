"""Changes of a table's metadata, as the core takes them: schemas, specs, properties, branches and tags.

A table commits a change at once; a transaction collects several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from frazil import _core, arguments, observing
from frazil._core import Evolution, NewSortField, Retention, SchemaOperation, SpecOperation
from frazil.arguments import At
from frazil.requests.handle import TableHandle

__all__ = [
    "Evolution",
    "add_to_transaction",
    "commit",
    "create_branch",
    "create_tag",
    "drop_ref",
    "fast_forward",
    "merge_branch",
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

_Table = TypeVar("_Table", bound=TableHandle)


def _name_of(_: object, change: Evolution, __: object = None) -> str:
    """The name of a change, as a verb: `update_schema`."""
    name = type(change).__name__
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


@observing.observed("commit", _name_of)
def commit(table: _Table, change: Evolution, planned_on: _core.Table | None = None) -> _Table:
    """Commits a change; returns the table, now at its new version.

    Args:
        table: The table.
        change: The change.
        planned_on: The version that the change was planned on, if not the table's. It is a conflict if somebody has
            changed the same since that version.
    """
    table._core = (planned_on or table._core).evolve(change)
    return table


def add_to_transaction(transaction: _core.Transaction, change: Evolution) -> None:
    """Adds a change to a transaction."""
    transaction.evolve(change)


# ---------------------------------------------------------------- properties, location, format version


def set_properties(properties: Mapping[str, str]) -> Evolution:
    """Sets table properties."""
    return Evolution.SetProperties(dict(properties))


def remove_properties(names: Sequence[str]) -> Evolution:
    """Removes table properties."""
    return Evolution.RemoveProperties(list(names))


def set_location(location: str) -> Evolution:
    """Records another location."""
    return Evolution.SetLocation(location)


def upgrade(format_version: int) -> Evolution:
    """Raises the format version."""
    return Evolution.Upgrade(format_version)


# ---------------------------------------------------------------- schema, spec, order


def update_schema(operations: Sequence[SchemaOperation], case_sensitive: bool, allow_incompatible: bool) -> Evolution:
    """Changes columns."""
    return Evolution.UpdateSchema(list(operations), case_sensitive, allow_incompatible)


def update_spec(operations: Sequence[SpecOperation], case_sensitive: bool) -> Evolution:
    """Changes partition fields."""
    return Evolution.UpdateSpec(list(operations), case_sensitive)


def update_sort_order(fields: Sequence[NewSortField], case_sensitive: bool) -> Evolution:
    """Replaces the sort order."""
    return Evolution.UpdateSortOrder(list(fields), case_sensitive)


# ---------------------------------------------------------------- branches and tags


def create_branch(name: str, at: At | None, retention: Retention) -> Evolution:
    """Creates a branch."""
    return Evolution.CreateBranch(name, arguments.version(at), retention)


def create_tag(name: str, at: At | None, retention: Retention) -> Evolution:
    """Creates a tag."""
    return Evolution.CreateTag(name, arguments.version(at), retention)


def replace_ref(name: str, at: At) -> Evolution:
    """Lets a branch or tag name another snapshot."""
    return Evolution.ReplaceRef(name, arguments.version(at))


def drop_ref(name: str) -> Evolution:
    """Removes a branch or tag."""
    return Evolution.DropRef(name)


def rename_branch(name: str, to: str) -> Evolution:
    """Gives a branch another name."""
    return Evolution.RenameBranch(name, to)


def merge_branch(name: str, source: str) -> Evolution:
    """Adds the files of another branch to a branch."""
    return Evolution.MergeBranch(name, source)


def fast_forward(name: str, to: str) -> Evolution:
    """Moves a branch forward to the snapshot of another reference."""
    return Evolution.FastForward(name, to)


def set_retention(name: str, retention: Retention) -> Evolution:
    """Says what expiry keeps of a branch or tag."""
    return Evolution.SetRetention(name, retention)


def roll_back(branch: str, to: At) -> Evolution:
    """Moves a branch back to an ancestor of its snapshot."""
    return Evolution.RollBack(branch, arguments.version(to, "to"))


def set_snapshot(branch: str, to: At) -> Evolution:
    """Moves a branch to any snapshot."""
    return Evolution.SetSnapshot(branch, arguments.version(to, "to"))
