"""Texts that carry values through Spark: options of reads and writes, and values of columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

__all__ = ["decimal_value", "names_of", "needs_handle", "options_of", "text_of"]


def text_of(options: Mapping[str, str]) -> str:
    """Options as the text of one option. Spark makes names of options lower case, but leaves texts alone."""
    return json.dumps(dict(options))


def options_of(text: str) -> dict[str, str]:
    """Options from their text."""
    found: dict[str, str] = json.loads(text)
    return found


def names_of(text: str) -> list[str]:
    """Column names from a JSON list.

    Raises:
        ValueError: The text is not JSON.
    """
    return list(json.loads(text))


def needs_handle(handle: str) -> bool:
    """Whether a table can only be opened by its handle: a branch, or one of a catalog or a store with options."""
    members = json.loads(handle)
    return bool(members.get("catalog") or members.get("storage-options")) or members.get("branch", "main") != "main"


def decimal_value(text: str) -> Any:
    """Member `v` of an object that Spark's function `to_json` made, with all digits of numbers."""
    return json.loads(text, parse_float=Decimal).get("v")
