"""The storage options for objects of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from frazil.exceptions import InvalidInputError

__all__ = ["BY_IMPORT_PATH", "FILES", "PROVIDER", "CredentialProvider", "options"]

CredentialProvider: TypeAlias = Callable[[], Mapping[str, object]]

BY_IMPORT_PATH = "credential-provider"
"""A catalog's property, and an option of Spark's format: the import path of a credential provider."""

PROVIDER = "frazil.credentials.provider"
FILES = "frazil.credentials.filesystem"


def options(credential_provider: object | None, filesystem: object | None) -> dict[str, str]:
    """The storage options for objects of the user."""
    out = {}
    if credential_provider is not None:
        from frazil.foreign.carrying import text_of
        from frazil.foreign.named import BY_NAME, named

        by_name = isinstance(credential_provider, str)
        found = named(str(credential_provider), "the credential provider") if by_name else credential_provider
        if not callable(found):
            raise InvalidInputError(
                f"credential_provider must be callable, not a '{type(found).__name__}'",
                hint="Give a function without arguments that returns storage options, or its import path",
            )
        out[PROVIDER] = f"{BY_NAME}{credential_provider}" if by_name else text_of(found)
    if filesystem is not None:
        from frazil.foreign.carrying import text_of
        from frazil.foreign.file_systems import opened

        opened(filesystem)
        out[FILES] = text_of(filesystem)
    return out
