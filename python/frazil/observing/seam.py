"""The one place through which the calls of all verbs pass.

While nobody listens, a call costs a few questions. Verbs that a verb calls itself are part of it.
"""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable
from functools import wraps
from time import perf_counter
from typing import Any, TypeVar

from frazil import _core
from frazil.observing import listeners, logs, telling
from frazil.observing.verbs import READ, Verb, is_of_frazil

__all__ = ["call", "failed", "failure_of_stream", "is_watched", "observed", "retried", "stream"]

_told = _thread._local()
"""The retries of each thread's commits that were told."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


# This is asked in each call of a verb, so it looks up little.
_modules, _registered = sys.modules, listeners.registered


def is_watched(verb: Verb) -> bool:
    """Whether somebody listens to a verb that ends well."""
    if _registered:
        return True
    logger = logs.kept or logs.logger()
    if logger is not None and logger.isEnabledFor(verb.level):
        return True
    if "opentelemetry" in _modules:
        from frazil.observing import spans

        return spans.are_configured()
    return False


def call(verb: Verb, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function of a verb that somebody listens to."""
    __tracebackhide__ = True
    state = telling.state.get()
    # The frame of the caller is above that of the function's wrapper.
    is_part = state == telling.INSIDE and is_of_frazil(sys._getframe(2).f_globals.get("__name__"))
    if is_part or state == telling.TELLING or not args or _is_of_transaction(verb, args[0]):
        return function(*args, **kwargs)
    from frazil.observing.calls import watch

    token = telling.state.set(telling.INSIDE)
    try:
        return watch(verb, function, args, kwargs)
    finally:
        telling.state.reset(token)


def failed(verb: Verb, args: tuple[Any, ...], error: BaseException, began: float) -> None:
    """Logs the failure of a verb, unless that was done before or the verb never began.

    Args:
        verb: The verb.
        args: The arguments of its function.
        error: The error that it raised, in the frame that called the function.
        began: When it began, by `perf_counter`.
    """
    if not args or not logs.is_enabled(logs.WARNING) or telling.is_told(error) or not telling.has_begun(error):
        return
    if telling.state.get() == telling.FREE and not _is_of_transaction(verb, args[0]):
        from frazil.observing.calls import log_failure

        log_failure(verb, args[0], error, began)


def retried(verb: Verb, args: tuple[Any, ...], before: int, began: float) -> None:
    """Logs that the commits of a verb were tried again, unless a verb that is part of it has told so.

    Args:
        verb: The verb, which has ended well while nobody listened.
        args: The arguments of its function.
        before: The retries of this thread's commits before the verb.
        began: When it began, by `perf_counter`.
    """
    retries = _core.CallCounter.retries_so_far()
    fresh = retries - max(before, getattr(_told, "retries", 0))
    if args and fresh > 0 and logs.is_enabled(logs.WARNING) and telling.state.get() == telling.FREE:
        from frazil.observing.calls import log_retries

        _told.retries = retries
        log_retries(verb, args[0], fresh, began)


def _is_of_transaction(verb: Verb, owner: object) -> bool:
    return verb.changes_rows and not isinstance(getattr(owner, "_core", None), _core.Table)


def observed(kind: str, named: Callable[..., str]) -> Callable[[_Function], _Function]:
    """A function as a verb.

    Args:
        kind: The kind of the verb.
        named: Gives the name of the verb, from the arguments of the function.
    """

    def decorated(function: _Function) -> _Function:
        @wraps(function)
        def observed_call(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            verb = Verb(kind, named(*args, **kwargs))
            if is_watched(verb):
                return call(verb, function, args, kwargs)
            began, before = perf_counter(), _core.CallCounter.retries_so_far()
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                failed(verb, args, error, began)
                raise
            if _core.CallCounter.retries_so_far() != before:
                retried(verb, args, before, began)
            return result

        return observed_call  # type: ignore[return-value]

    return decorated


_STREAM, _READER = Verb(READ, "__arrow_c_stream__"), Verb(READ, "to_arrow_batch_reader")


def stream(owner: object, found: _core.BatchStream) -> Any:
    """A stream for a library that takes Arrow's streams: as it is, or one whose end is told if somebody listens."""
    if telling.state.get() == telling.TELLING or not is_watched(_STREAM):
        return found
    from frazil.observing import calls

    return calls.stream(_STREAM, owner, found)


def failure_of_stream(owner: object) -> Callable[[Exception], None] | None:
    """A function that logs the error of a stream. None if the end of the stream is told anyway."""
    if telling.state.get() != telling.FREE:
        return None
    began = perf_counter()

    def tell(error: Exception) -> None:
        if logs.is_enabled(logs.WARNING):
            from frazil.observing.calls import log_failure

            log_failure(_READER, owner, error, began)

    return tell
