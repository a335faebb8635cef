"""Maintenance of tables, as the core takes it: an action by its name, with options and an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from frazil import _core

__all__ = ["perform", "perform_remotely", "read_answer"]


def perform(table: _core.Table, action: str, options: Mapping[str, Any]) -> tuple[_core.Table, Any]:
    """Performs an action; returns the table's new version, and the answer.

    The answer is None if there was nothing to do.
    """
    newest, text = table.maintain(action, json.dumps(dict(options)))
    return newest, json.loads(text)


def perform_remotely(table: _core.Table, step: str, options: Mapping[str, Any]) -> str:
    """Performs a step of an action on an executor; returns the answer as text, which the driver reads."""
    _, text = table.maintain(step, json.dumps(dict(options)))
    return text


def read_answer(text: str) -> Any:
    """The answer of a step, from its text."""
    return json.loads(text)
