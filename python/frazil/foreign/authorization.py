"""The user's own class for authorization, as PyIceberg's configuration names it (`auth.impl`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from frazil.exceptions import InvalidInputError
from frazil.foreign.named import named

__all__ = ["auth_manager"]


def auth_manager(path: str, settings: Mapping[str, str]) -> Callable[[], dict[str, str]]:
    """Gives the header that an object of a class says. The settings are the arguments of the class.

    Raises:
        InvalidInputError: There is no such class, it does not take the settings, or it has no method `auth_header`.
    """
    kind = named(path, "the class of auth.impl")
    try:
        manager = kind(**settings)
    except Exception as error:
        # The text of another error may show the settings, which may be secret.
        said = str(error) if isinstance(error, TypeError) else "the class raises it"
        raise InvalidInputError(
            f"the class '{path}' of auth.impl can't be set up: {type(error).__name__}, {said}",
            hint="Give its arguments as auth.custom.NAME",
        ) from None
    header = getattr(manager, "auth_header", None)
    if not callable(header):
        raise InvalidInputError(
            f"the class '{path}' of auth.impl has no method auth_header",
            hint="Give a class like PyIceberg's AuthManager. Its auth_header() returns the header Authorization",
        )

    def headers() -> dict[str, str]:
        given = header()
        if given is None:
            return {}
        if not isinstance(given, str):
            raise InvalidInputError(
                f"auth_header of the class '{path}' returned a '{type(given).__name__}'",
                hint="Return the text of the header Authorization, or None",
            )
        return {"authorization": given}

    return headers
