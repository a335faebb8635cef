"""Credentials that a callable of the user lends."""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Callable, Mapping

from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.foreign.carrying import object_of

__all__ = ["lender"]

_EXPIRES_AT = "frazil.credentials.expires-at-ms"


def lender(text: str) -> Callable[[], dict[str, str]]:
    """The provider of a text. Its result has storage options only."""
    provider = object_of(text, "the credential provider")

    def lend() -> dict[str, str]:
        given = provider()
        if inspect.isawaitable(given):
            if inspect.iscoroutine(given):
                given.close()
            raise UnsupportedError("the credential provider is asynchronous", hint="Give a function that is not async")
        if not isinstance(given, Mapping):
            raise InvalidInputError(f"the credential provider returned a '{type(given).__name__}', not a mapping")
        out = {str(name): str(value) for name, value in given.items() if name != "expires_at" and value is not None}
        if (expires := given.get("expires_at")) is not None:
            out[_EXPIRES_AT] = str(_milliseconds(expires))
        return out

    return lend


def _milliseconds(value: object) -> int:
    """A time as milliseconds since 1970. A number is seconds, and a time without a zone is in UTC."""
    try:
        if isinstance(value, str):
            value = dt.datetime.fromisoformat(value.replace("Z", "+00:00"))
        if isinstance(value, dt.datetime):
            value = (value if value.tzinfo else value.replace(tzinfo=dt.timezone.utc)).timestamp()
        return int(float(value) * 1000)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(
            f"expires_at of the credential provider is not a time but a '{type(value).__name__}'",
            hint="Give a datetime, an ISO text or seconds since 1970",
        ) from None
