"""Commits of others while a statement runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

import frazil as fz
from frazil.spark import row_changes
from frazil.spark.changes import merging, placed_changes

ROW = ((1, "hr"),)
ON_EXECUTORS: dict[str, str | None] = {merging.DRIVER_MAX_ROWS: "0", merging.DRIVER_MAX_BYTES: "0"}
"""Nothing is too small for executors. The driver alone would do a small change again, over the newest version."""


def _during(run: Any, statement: str) -> None:
    """Runs a statement. After it has read the table, somebody else appends a row that it would change."""
    done: list[bool] = []

    def first(then: Callable[..., Any]) -> Callable[..., Any]:
        def act(*given: Any, **named: Any) -> Any:
            if not done:
                done.append(True)
                run.append(ROW)
            return then(*given, **named)

        return act

    places = [(module, "change_rows") for module in (merging, row_changes, placed_changes)]
    places += [(placed_changes, "commit_parts"), (fz.Table, "_change_rows")]
    patches = [mock.patch.object(owner, name, first(getattr(owner, name))) for owner, name in places]
    for patch in patches:
        patch.start()
    try:
        run.sql(statement)
    finally:
        for patch in patches:
            patch.stop()
    assert done


def conflicts(statement: str) -> Callable[[Any], None]:
    """The statement must fail, and leave what the other has written."""

    def check(run: Any) -> None:
        with pytest.raises(fz.CommitConflictError):
            _during(run, statement)

    return check


def passes(statement: str) -> Callable[[Any], None]:
    """The statement must not fail."""
    return lambda run: _during(run, statement)
