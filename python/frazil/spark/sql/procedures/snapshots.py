"""Procedures that move branches between snapshots, or tell about snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frazil.exceptions import InvalidInputError, NotFoundError
from frazil.spark.sql.procedures.procedure import Given, Parameter, Procedure
from frazil.table import Table

__all__ = ["PROCEDURES"]

_TABLE = Parameter("table", required=True)
_MOVED = "previous_snapshot_id bigint, current_snapshot_id bigint"
_PICKED = "source_snapshot_id bigint, current_snapshot_id bigint"

Rows = Sequence[Sequence[Any]]


def _current(table: Table) -> int | None:
    return None if table.snapshot is None else table.snapshot.id


def _rollback_to_snapshot(given: Given) -> Rows:
    table = given.table
    before = _current(table)
    return [(before, _current(table.rollback(int(given["snapshot_id"]))))]


def _rollback_to_timestamp(given: Given) -> Rows:
    table = given.table
    before = _current(table)
    return [(before, _current(table.rollback(given["timestamp"])))]


def _set_current_snapshot(given: Given) -> Rows:
    snapshot, ref = given["snapshot_id"], given["ref"]
    if (snapshot is None) == (ref is None):
        raise InvalidInputError("set_current_snapshot needs snapshot_id or ref, and not both")
    table = given.table
    before = _current(table)
    to = int(snapshot) if ref is None else table.refs[str(ref)].snapshot_id
    return [(before, _current(table.set_current_snapshot(to)))]


def _cherrypick_snapshot(given: Given) -> Rows:
    picked = int(given["snapshot_id"])
    return [(picked, _current(given.table.cherry_pick(picked)))]


def _publish_changes(given: Given) -> Rows:
    table, wap = given.table, str(given["wap_id"])
    staged = [snapshot for snapshot in table.snapshots if snapshot.summary.get("wap.id") == wap]
    if not staged:
        raise NotFoundError(f"no snapshot was staged with wap.id '{wap}'", {"wap_id": wap})
    return [(staged[-1].id, _current(table.cherry_pick(staged[-1].id)))]


def _fast_forward(given: Given) -> Rows:
    table, branch, to = given.table, str(given["branch"]), str(given["to"])
    before = table.refs[branch].snapshot_id if branch in table.refs else None
    table.refs.fast_forward(branch, to)
    return [(branch, before, table.refs[branch].snapshot_id)]


def _ancestors_of(given: Given) -> Rows:
    table = given.table
    by_id = {snapshot.id: snapshot for snapshot in table.snapshots}
    at = _current(table) if given["snapshot_id"] is None else int(given["snapshot_id"])
    if at is not None and at not in by_id:
        raise NotFoundError(f"the table has no snapshot {at}", {"snapshot": str(at)})
    found = []
    while at in by_id:
        snapshot = by_id[at]
        found.append((snapshot.id, round(snapshot.timestamp.timestamp() * 1000)))
        at = snapshot.parent_id
    return found


PROCEDURES = {
    "rollback_to_snapshot": Procedure(
        (_TABLE, Parameter("snapshot_id", "bigint", True)), _MOVED, _rollback_to_snapshot
    ),
    "rollback_to_timestamp": Procedure(
        (_TABLE, Parameter("timestamp", "timestamp", True)), _MOVED, _rollback_to_timestamp
    ),
    "set_current_snapshot": Procedure(
        (_TABLE, Parameter("snapshot_id", "bigint"), Parameter("ref")), _MOVED, _set_current_snapshot
    ),
    "cherrypick_snapshot": Procedure((_TABLE, Parameter("snapshot_id", "bigint", True)), _PICKED, _cherrypick_snapshot),
    "publish_changes": Procedure((_TABLE, Parameter("wap_id", required=True)), _PICKED, _publish_changes),
    "fast_forward": Procedure(
        (_TABLE, Parameter("branch", required=True), Parameter("to", required=True)),
        "branch_updated string, previous_ref bigint, updated_ref bigint",
        _fast_forward,
    ),
    "ancestors_of": Procedure(
        (_TABLE, Parameter("snapshot_id", "bigint")), "snapshot_id bigint, timestamp bigint", _ancestors_of
    ),
}
"""These procedures by name."""
