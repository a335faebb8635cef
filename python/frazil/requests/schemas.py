"""Schemas, as the core gives them: the JSON of the Iceberg specification, read into Python values."""

from __future__ import annotations

import json
from typing import Any

from frazil import _core

__all__ = ["identifier_ids", "members"]


def members(schema: _core.Schema) -> dict[str, Any]:
    """A schema's members by the names of the specification: `schema-id`, `fields`, and others."""
    found: dict[str, Any] = json.loads(schema.to_json())
    return found


def identifier_ids(schema: _core.Schema) -> list[int]:
    """The ids of the identifier fields."""
    return list(members(schema).get("identifier-field-ids", []))
