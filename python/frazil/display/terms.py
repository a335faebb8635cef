"""Transforms of columns, as texts for people."""

from __future__ import annotations

__all__ = ["term_text"]


def term_text(transform: str | None, column: str) -> str:
    """A transform of a column, as in `partition_by`: `day(ts)`, `bucket(16, id)`. `identity` is only the column."""
    if transform is None or transform == "identity":
        return column
    kind, _, width = transform.removesuffix("]").partition("[")
    return f"{kind}({width}, {column})" if width else f"{kind}({column})"
