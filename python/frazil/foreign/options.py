"""The storage options for objects of the user."""

from __future__ import annotations

from frazil.exceptions import InvalidInputError
from frazil.foreign.carrying import text_of
from frazil.foreign.file_systems import opened

__all__ = ["FILES", "PROVIDER", "options"]

PROVIDER = "frazil.credentials.provider"
FILES = "frazil.credentials.filesystem"


def options(credential_provider: object | None, filesystem: object | None) -> dict[str, str]:
    """The storage options for objects of the user."""
    out = {}
    if credential_provider is not None:
        if not callable(credential_provider):
            raise InvalidInputError(
                f"credential_provider must be callable, not a '{type(credential_provider).__name__}'",
                hint="Give a function without arguments that returns storage options",
            )
        out[PROVIDER] = text_of(credential_provider)
    if filesystem is not None:
        opened(filesystem)
        out[FILES] = text_of(filesystem)
    return out
