"""The error for parts of other libraries' filters that have no exact translation."""

from __future__ import annotations

from frazil.exceptions import UnsupportedError

__all__ = ["refused"]


def refused(library: str, part: str, instead: str = "") -> UnsupportedError:
    """The error for a part of a filter, with Frazil's spelling if it has one."""
    hint = instead or "Write the filter with frazil.col, or as text"
    return UnsupportedError(f"{part} in a filter of {library} can't be translated exactly", hint=hint)
