"""Checks of the arguments of public methods, by their signatures.

`@checked` makes every public method of a class check its arguments first. An argument whose type differs from the
signature raises an `InvalidInputError` that names it. So no error comes from deep inside the code. The method itself
decides what an argument means.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from time import perf_counter
from types import FunctionType
from typing import Any, TypeVar

from frazil import _core, arguments, observing
from frazil import names as names_of_others
from frazil.exceptions import FrazilError, InvalidInputError
from frazil.observing.verbs import COMMIT, MAINTENANCE

__all__ = ["CHECKS", "checked", "checked_call"]

_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Check = Callable[[str, Any], Any]


def _optional(check: _Check) -> _Check:
    return lambda argument, value: None if value is None else check(argument, value)


def _list_of(kinds: tuple[type, ...], kind: str) -> _Check:
    def check(argument: str, value: Any) -> list[Any]:
        if isinstance(value, kinds):
            return [value]
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            raise InvalidInputError(f"{argument} must be a list of {kind}, not {arguments.shown(value)}")
        items = list(value)
        for item in items:
            if not isinstance(item, kinds):
                raise InvalidInputError(f"{argument} must be {kind}, not {arguments.shown(item)}")
        return items

    return check


def _ids(argument: str, value: Any) -> list[int]:
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return [arguments.integer(argument, value)]
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{argument} must be a list of snapshot ids, not {arguments.shown(value)}")
    return [arguments.integer(argument, id_) for id_ in value]


def _condition(argument: str, value: Any) -> Any:
    return value if isinstance(value, bool) else arguments.filter_text(value, argument)


def _names(argument: str, value: Any) -> list[str]:
    """Columns by their names. Those to read are not computed."""
    return list((arguments.selection if argument == "select" else arguments.columns)(value, argument))


def _columns(argument: str, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{argument} must be True or a dictionary of columns, not {arguments.shown(value)}")
    return {arguments.text(argument, to): arguments.text(argument, source) for to, source in value.items()}


def _values(argument: str, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{argument} must be a dictionary of columns and values, not {arguments.shown(value)}")
    return {arguments.text(argument, name): new for name, new in value.items()}


def _queries(argument: str, value: Any) -> Any:
    if isinstance(value, str):
        return arguments.text(argument, value)
    if not isinstance(value, Mapping):
        message = f"{argument} must be a text or a dictionary of dialects and texts, not {arguments.shown(value)}"
        raise InvalidInputError(message)
    return {arguments.text(argument, dialect): arguments.text(argument, text) for dialect, text in value.items()}


def _catalogs(argument: str, value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InvalidInputError(
            f"{argument} must be a dictionary of catalogs and their properties, not {arguments.shown(value)}"
        )
    return {
        arguments.text(argument, name): arguments.texts(properties, f"{argument}[{name!r}]")
        for name, properties in value.items()
    }


def _version(argument: str, value: Any) -> Any:
    arguments.version(value, argument)
    if value is None:
        raise InvalidInputError(f"{argument}= must be a snapshot id, a branch or tag, or a datetime, not None")
    return value


def _side(argument: str, value: Any) -> Any:
    """A version, or a table object."""
    return value if isinstance(getattr(value, "_core", None), _core.Table) else _version(argument, value)


def _as_is(_: str, value: Any) -> Any:
    return value


CHECKS: dict[str, _Check] = {
    "str": arguments.text,
    "str | None": _optional(arguments.text),
    "bool": arguments.flag,
    "bool | None": _optional(arguments.flag),
    "int": arguments.integer,
    "int | None": _optional(arguments.integer),
    "float": arguments.real,
    "At": _version,
    "At | None": _optional(_version),
    "At | Table": _side,
    "At | Table | None": _optional(_side),
    "Filter": lambda argument, value: arguments.filter_text(value, argument),
    "Filter | None": _optional(lambda argument, value: arguments.filter_text(value, argument)),
    "bool | Filter": _condition,
    "bool | Mapping[str, str]": _columns,
    "Mapping[str, object]": _values,
    "Mapping[str, object] | None": lambda argument, value: arguments.texts(value, argument),
    "Mapping[str, str] | None": lambda argument, value: arguments.texts(value, argument),
    "Mapping[str, Mapping[str, object]] | None": _catalogs,
    "Columns": _names,
    "Columns | None": _optional(_names),
    "Sequence[str]": lambda argument, value: list(arguments.columns(value, argument)),
    "Sequence[str] | None": _optional(lambda argument, value: list(arguments.columns(value, argument))),
    "int | Iterable[int] | None": _optional(_ids),
    "str | os.PathLike[str]": arguments.path,
    "str | os.PathLike[str] | None": _optional(arguments.path),
    "Paths": lambda argument, value: arguments.paths(value, argument),
    "Paths | None": _optional(lambda argument, value: arguments.paths(value, argument)),
    "_core.CommitMessage | Iterable[_core.CommitMessage]": _list_of((_core.CommitMessage,), "messages of writers"),
    "Iterable[_core.DataFile | _core.DeleteFile | _core.ScanTask]": _list_of(
        (_core.DataFile, _core.DeleteFile, _core.ScanTask), "files or tasks of a scan"
    ),
    "Literal['binpack', 'sort', 'zorder', 'full', 'minor'] | None": _optional(arguments.text),
    "Literal['error', 'ignore', 'delete']": arguments.text,
    "SparkSession": arguments.session,
    "SparkSession | None": _optional(arguments.session),
    "Path": arguments.column_path,
    "Path | None": _optional(arguments.column_path),
    # The method itself checks these.
    "int | dt.timedelta | None": _as_is,
    "dt.datetime | dt.timedelta | None": _as_is,
    "str | Term | Sequence[str | Term]": _as_is,
    "str | Term | Iterable[str | Term]": _as_is,
    "str | Iterable[str]": _as_is,
    "str | Mapping[str, str]": _queries,
    "Any": _as_is,
    "Any | None": _as_is,
    "CredentialProvider | str | None": _as_is,
    "object": _as_is,
    "Planning": _as_is,
}
"""Checks by the text of the annotation. Each returns the argument in the form that the method takes, or refuses it."""


_TAKES_MORE = 0x04
"""The flag of functions with `*args`, as in the module `inspect`."""


def checked_call(function: _Function, known: Mapping[str, _Check] = CHECKS) -> _Function:
    """A function that checks its arguments, if a check is known for their annotations."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    checks = {}
    for name, annotation in function.__annotations__.items():
        # Annotations can have quotes of either kind.
        check = known.get(str(annotation).replace('"', "'"), _as_is)
        if check is not _as_is:
            checks[name] = check
    rest = None
    if code.co_flags & _TAKES_MORE:
        rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
    verb, is_watched, retries_so_far = (
        observing.verb_of(function),
        observing.is_watched,
        _core.CallCounter.retries_so_far,
    )
    may_commit = verb is not None and verb.kind in (COMMIT, MAINTENANCE)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        # Notebooks and pytest leave this frame out of tracebacks.
        __tracebackhide__ = True
        pairs = zip(names, args, strict=False)
        try:
            given = [checks[name](name, value) if name in checks else value for name, value in pairs]
        except InvalidInputError as error:
            _add_order(error, args, names)
            raise
        more = args[len(names) :]
        if rest is not None and rest in checks:
            more = tuple(checks[rest](rest, value) for value in more)
        for name, value in kwargs.items():
            if name in checks and name != rest:
                kwargs[name] = checks[name](name, value)
        began = perf_counter()
        try:
            if verb is not None and is_watched(verb):
                return observing.call(verb, function, (*given, *more), kwargs)
            before = retries_so_far() if may_commit else 0
            result = function(*given, *more, **kwargs)
            if may_commit and verb is not None and retries_so_far() != before:
                observing.retried(verb, args, before, began)
            return result
        except Exception as error:
            if isinstance(error, FrazilError):
                _add_hint(error, args, function)
            wrong = names_of_others.wrong_call(function, args, kwargs) if isinstance(error, TypeError) else None
            if wrong is None:
                if verb is not None:
                    observing.failed(verb, args, error, began)
                raise
        raise wrong

    return call  # type: ignore[return-value]


def _add_order(error: FrazilError, args: tuple[Any, ...], names: tuple[str, ...]) -> None:
    """Says which arguments a function has, if one that was given by its place is of a wrong type."""
    is_method = names[:1] in (("self",), ("cls",))
    if error.hint is None and len(args) > 1 + is_method:
        error._add_hint(f"The arguments in this order are {', '.join(names[is_method:])}", False)


def _add_hint(error: FrazilError, args: tuple[Any, ...], function: Callable[..., Any]) -> None:
    """Says what to write for a value that does not exist."""
    from frazil.arguments import missing

    code = function.__code__
    selects = function.__name__ == "select" or "select" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    missing.add_hint(error, args, selects)


def checked(cls: _Class) -> _Class:
    """A class whose public methods check their arguments."""
    for name, member in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, FunctionType):
            setattr(cls, name, checked_call(member))
        elif isinstance(member, classmethod):
            setattr(cls, name, classmethod(checked_call(member.__func__)))
    return cls
