"""The exceptions that Frazil raises: one tree, with `FrazilError` at its root.

Every exception says what failed, where, and what to do. In addition to the message it has `.kind` (a short name of the
class), `.context` (where: path, snapshot, column …) and `.hint` (what the caller can do, or None). Some classes also
derive from a class of the standard library. So `except ValueError` catches a wrong filter.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from frazil import _core

__all__ = [
    "AlreadyExistsError",
    "CommitConflictError",
    "CommitStateUnknownError",
    "CorruptTableError",
    "FrazilError",
    "InternalError",
    "InvalidInputError",
    "NotFoundError",
    "PermissionDeniedError",
    "StoreError",
    "UncommittedWarning",
    "UnsupportedError",
]


_LONGEST = 18_000
"""The most bytes of a text of an error."""


def _public(text: str) -> str:
    # Names of files that are not UTF-8 have halves of characters.
    return _core.public_text(text.encode("utf-8", "backslashreplace").decode("utf-8"), _LONGEST)


class FrazilError(Exception):
    """Any error that Frazil raises. Its texts never show secrets.

    Attributes:
        kind: A short name of the class of failure, such as `"not_found"`.
        context: Where it failed: `{"path": …}`, `{"column": …}`.
        hint: What the caller can do, if known.
    """

    kind: ClassVar[str] = "error"

    def __init__(self, message: str, context: Mapping[str, str] | None = None, hint: str | None = None) -> None:
        self._message = _public(message)
        super().__init__(self._message)
        self.context: dict[str, str] = {k: _public(str(v)) for k, v in (context or {}).items()}
        self.hint = None if hint is None else _public(hint)

    def __str__(self) -> str:
        # Errors of the core have all of it in their message.
        where = ", ".join(f"{key}: {value}" for key, value in self.context.items() if not self._says(value))
        text = f"{self._message} ({where})" if where else self._message
        return text if self.hint is None or self.hint in text else f"{text}. {self.hint}"

    def _add_hint(self, hint: str, replaces: bool) -> None:
        """Adds a hint to the one that the error has, or puts it in its place."""
        self._message = str(self).removesuffix(f". {self.hint}")
        self.args = (self._message,)
        self.hint = _public(hint if self.hint is None or replaces else f"{self.hint}. {hint}")

    def _says(self, value: str) -> bool:
        """Whether the message has a value, as a word of its own."""
        return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", self._message) is not None

    def __reduce__(self) -> tuple[type[FrazilError], tuple[str, dict[str, str], str | None]]:
        return type(self), (self._message, self.context, self.hint)


class NotFoundError(FrazilError, LookupError):
    """A table, file, snapshot, reference or namespace does not exist."""

    kind = "not_found"


class AlreadyExistsError(FrazilError):
    """The object to create exists already."""

    kind = "already_exists"


class InvalidInputError(FrazilError, ValueError):
    """An argument is wrong: a filter, a column's name, a schema, an option."""

    kind = "invalid_input"


class CorruptTableError(FrazilError):
    """Bytes of the table contradict the specification: they are torn, truncated, or not what they claim to be."""

    kind = "corrupt_table"


class UnsupportedError(FrazilError, NotImplementedError):
    """The table or the request needs something that Frazil does not do."""

    kind = "unsupported"


class CommitConflictError(FrazilError):
    """Another commit came first, and the operation can't be applied on top of it."""

    kind = "commit_conflict"


class CommitStateUnknownError(FrazilError):
    """It is unknown whether the commit happened. Nothing was removed. Look at the table before you try again."""

    kind = "commit_state_unknown"


class PermissionDeniedError(FrazilError, PermissionError):
    """The store refused access."""

    kind = "permission_denied"


class StoreError(FrazilError, OSError):
    """The store failed."""

    kind = "store"


class InternalError(FrazilError):
    """A bug: Frazil has broken one of its own invariants. Please report it."""

    kind = "internal"


class UncommittedWarning(RuntimeWarning):
    """A transaction, an update or the files of a writer were dropped without a commit, so the change is lost."""


BY_KIND: dict[str, type[FrazilError]] = {
    cls.kind: cls
    for cls in (
        NotFoundError,
        AlreadyExistsError,
        InvalidInputError,
        CorruptTableError,
        UnsupportedError,
        CommitConflictError,
        CommitStateUnknownError,
        PermissionDeniedError,
        StoreError,
        InternalError,
    )
}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from frazil import names

        raise names.of_module(name, sys._getframe(), __name__)
