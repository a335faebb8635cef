"""Whether the progress of long work is shown."""

from __future__ import annotations

import os

from frazil.exceptions import InvalidInputError

__all__ = ["chosen", "progress"]

_VARIABLE = "FRAZIL_PROGRESS"

_WORDS = {
    **dict.fromkeys(("0", "false", "no", "off"), False),
    **dict.fromkeys(("1", "true", "yes", "on"), True),
}

_choice: bool | None = None


def progress(enabled: bool | None) -> None:
    """Shows the progress of long work always, never, or where somebody can see it.

    By default, work of the main thread that takes over a second shows a bar with its rate and the time left: in a
    notebook, or on standard error if that is a terminal. The bar disappears when the work ends. Forked processes and
    workers show nothing.

    The environment variable `FRAZIL_PROGRESS` (`1` or `0`) decides where nobody has called this function.

    Args:
        enabled: `True` shows it also where standard error is no terminal, as a line every five seconds. `False` never
            shows it. `None` is the default again.

    Raises:
        InvalidInputError: The argument is something else.

    Examples:
        >>> fz.progress(False)
        >>> fz.progress(None)
    """
    global _choice
    if enabled is not None and not isinstance(enabled, bool):
        raise InvalidInputError(
            f"progress takes True, False or None, not an object of class {type(enabled).__name__}",
            hint="True shows progress always, False never, None where somebody can see it",
        )
    _choice = enabled


def chosen() -> bool | None:
    """What the user has chosen: by the function, or else by the environment variable."""
    if _choice is not None:
        return _choice
    return _WORDS.get(os.environ.get(_VARIABLE, "").strip().lower())
