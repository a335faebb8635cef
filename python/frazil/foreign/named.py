"""Objects of the user by their import paths: `package.module:function` or `package.module.Class`."""

from __future__ import annotations

import pkgutil
from typing import Any

from frazil.exceptions import InvalidInputError

__all__ = ["BY_NAME", "named"]

BY_NAME = "by-name:"
"""The beginning of a storage option's text that is an import path."""


def named(path: str, what: str) -> Any:
    """The object of an import path. `what` names it in errors.

    Raises:
        InvalidInputError: There is no such module, or it has no such object.
    """
    module, _, name = path.rpartition(":" if ":" in path else ".")
    if not module or not name:
        raise InvalidInputError(
            f"{path!a} is not the import path of {what}", hint="Write package.module:function or package.module.Class"
        )
    try:
        return pkgutil.resolve_name(f"{module}:{name}")
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError(
            f"{what} {path!a} can't be imported: {str(error)!a}",
            hint="Check the path, and install the module in each process that uses it",
        ) from error
