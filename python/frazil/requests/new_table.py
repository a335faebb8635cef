"""The definition of a new table, as the core takes it."""

from __future__ import annotations

from typing import TypedDict

from frazil import _core

__all__ = ["NewTable"]


class NewTable(TypedDict):
    """What a new table is like."""

    schema: _core.Schema
    partition_by: list[str]
    sort_by: list[str]
    properties: dict[str, str]
    location: str | None
    identifier_fields: list[str] | None
    declared_types: dict[str, str]
    format: str
