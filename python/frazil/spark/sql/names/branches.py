"""Branches that statements change and read: those that they name, and those of write-audit-publish."""

from __future__ import annotations

from typing import Any

from frazil.exceptions import NotFoundError
from frazil.spark.sql.session import Session, Target
from frazil.table import Table

__all__ = ["commit_options", "read_branch"]

_ENABLED = "write.wap.enabled"
_BRANCH = "spark.wap.branch"
_ID = "spark.wap.id"


def commit_options(session: Session, target: Target) -> dict[str, Any]:
    """The branch that a statement changes, the name of its job, and the properties of its snapshot.

    Raises:
        NotFoundError: The statement names a branch that the table does not have.
    """
    table = target.table
    if target.branch is not None and target.branch != "main" and target.branch not in table.refs:
        raise NotFoundError(
            f"the table has no branch '{target.branch}'",
            {"branch": target.branch, "branches": ", ".join(sorted(table.refs)) or "none"},
            f"ALTER TABLE … CREATE BRANCH `{target.branch}` makes it",
        )
    return {
        "branch": target.branch or _staged(session, table, _BRANCH),
        "snapshot_properties": {**(session.snapshot_properties or {}), **_staged_id(session, table)},
        "job_id": session.job_id,
    }


def read_branch(session: Session, table: Table) -> str | None:
    """The branch that a query reads if it names none: that of `spark.wap.branch`, once the table has it."""
    branch = _staged(session, table, _BRANCH)
    return branch if branch is not None and branch in table.refs else None


def _staged_id(session: Session, table: Table) -> dict[str, str]:
    """The property of the summary that makes a commit staged."""
    found = _staged(session, table, _ID)
    return {"wap.id": found} if found else {}


def _staged(session: Session, table: Table, setting: str) -> str | None:
    """A setting of the session, for tables that stage their changes."""
    if table.properties.get(_ENABLED, "false").lower() != "true":
        return None
    return session.spark.conf.get(setting, None)
