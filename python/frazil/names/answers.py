"""Answers to names that do not exist. Nothing here runs before a mistake is made."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from types import FrameType, FunctionType
from typing import Any, NoReturn, TypeVar

from frazil.names.operations import refuse_operations
from frazil.names.similar import similar

__all__ = ["Items", "answers", "explained", "no_attribute", "of_call", "of_module", "of_value", "wrong_call"]

_Class = TypeVar("_Class", bound=type)
_Item = TypeVar("_Item")


def answers(property_name: str | None = None) -> Callable[[_Class], _Class]:
    """A class whose unknown attributes are answered with Frazil's word.

    Args:
        property_name: The property that gives objects of the class. A call of such an object says so.
    """

    def decorated(cls: _Class) -> _Class:
        # Type checkers must not see these: every attribute would exist for them.
        setattr(cls, "__getattr__", no_attribute)  # noqa: B010
        refuse_operations(cls)
        if property_name is not None:
            setattr(cls, "__call__", _refuse_calls(property_name))  # noqa: B010
        return cls

    return decorated


def no_attribute(self: Any, name: str) -> NoReturn:
    """Raises the error for an attribute that does not exist. Classes of the core call it, too."""
    cls = type(self)
    if any(name in vars(base) for base in cls.__mro__):
        # A property of this name has raised an AttributeError of its own.
        object.__getattribute__(self, name)
    message = f"'{cls.__name__}' object has no attribute {name!r}"
    if not name.startswith("_"):
        from frazil.names import neighbours

        answer = neighbours.column_answer(self, name)
        known = _answer([base.__name__ for base in cls.__mro__], name)
        if known is not None:
            answer = known if answer is None else f"{answer}. {known}"
        answer = answer or _of_neighbours(self, name)
        message = message if answer is None else f"{message}: {answer}"
    raise AttributeError(message, name=name, obj=self)


def _of_neighbours(asked: Any, name: str) -> str | None:
    from frazil.names import neighbours

    for base in type(asked).__mro__:
        if (found := neighbours.answer(asked, base.__name__, name)) is not None:
            return found
    return None


def _refuse_calls(name: str) -> Callable[..., object]:
    def refuse(self: object, *args: object, **_: object) -> object:
        if len(args) == 1 and type(args[0]).__module__.partition(".")[0] == "pandas":
            # pandas calls what can be called with its frame, as in frame.assign(x=table.last_commit).
            return self
        raise TypeError(_said_of(name))

    return refuse


def _said_of(name: str) -> str:
    if name == "filter":
        return "`filter` is a property of a scan: its filter. Write `scan.where(...)` to add a filter"
    return f"`{name}` is a property here: write it without ()"


class Items(list[_Item]):
    """The list that a property gives. A call of it says that it is a property."""

    __slots__ = ("_property",)

    def __init__(self, items: list[_Item], property_name: str) -> None:
        super().__init__(items)
        self._property = property_name

    def __reduce_ex__(self, _: Any) -> tuple[type[list[_Item]], tuple[list[_Item]]]:
        return list, (list(self),)


# Type checkers know a call of a list as a mistake.
setattr(Items, "__call__", lambda self, *_, **__: _refuse_calls(self._property)(self))  # noqa: B010


def of_module(name: str, asked: FrameType | None, module: str = "frazil", known: Iterable[str] = ()) -> Exception:
    """The error for a name that the package `frazil`, or one of its modules, does not have.

    `from frazil import name` gets an ImportError with the answer, because Python would replace the text of an
    AttributeError.

    Args:
        name: The name.
        asked: The frame of the module's `__getattr__`.
        module: The module that was asked.
        known: Its public names.
    """
    message = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(message)
    import frazil

    answer = _answer([module, "frazil"], name)
    if answer is None and module != "frazil" and name in frazil.__all__:
        answer = f"write `frazil.{name}`"
    if answer is None:
        meant = similar(name, known) or similar(name, frazil.__all__)
        return AttributeError(message if meant is None else f"{message}. Did you mean '{meant}'?")
    if asked is not None and asked.f_back is not None and _imports(asked.f_back):
        return ImportError(f"cannot import name {name!r} from {module!r}: {answer}", name=module)
    return AttributeError(f"{message}: {answer}")


def of_call(module: str) -> TypeError:
    """The error for a call of a module, as in `frazil.table("db.t")`."""
    from frazil.names import modules

    instead = modules.CALLED.get(module.partition(".")[2])
    return TypeError(f"'{module}' is a module, not a function" + ("" if instead is None else f": write `{instead}`"))


def _imports(frame: FrameType) -> bool:
    """Whether a frame is at an instruction `from … import …`."""
    import opcode

    code, at = frame.f_code.co_code, frame.f_lasti
    return 0 <= at < len(code) and opcode.opname[code[at]] == "IMPORT_FROM"


def of_value(function: str, argument: str) -> str | None:
    """The answer to an argument of a function, or None."""
    from frazil.names import others

    known = others.ARGUMENTS.get(function, {}).get(argument)
    return None if known is None else others.sentence(argument, known)


def _answer(owners: list[str], name: str) -> str | None:
    from frazil.names import others

    for owner in owners:
        if (known := others.known(owner, name)) is not None:
            return others.sentence(name, known)
    return None


_Explained = TypeVar("_Explained", bound=Callable[..., Any])


def explained(function: _Explained) -> _Explained:
    """A function, or a class with all its public methods, whose calls with wrong arguments are explained."""
    if isinstance(function, type):
        for name, member in list(vars(function).items()):
            if isinstance(member, FunctionType) and not name.startswith("_"):
                setattr(function, name, explained(member))
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except TypeError:
            if (wrong := wrong_call(function, args, kwargs)) is None:
                raise
        raise wrong

    return call  # type: ignore[return-value]


def wrong_call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> TypeError | None:
    """The error for a call whose arguments do not fit the function, or None if they fit.

    It names the method that was called, the argument of this meaning, or else one of a similar name.
    """
    import inspect

    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        said = str(error)
    else:
        return None
    names = list(signature.parameters)
    is_method = names[:1] in (["self"], ["cls"]) and bool(args)
    owner = (args[0] if isinstance(args[0], type) else type(args[0])).__name__ if is_method else ""
    called = f"{owner}.{function.__name__}" if owner else function.__name__
    unknown = next((name for name in kwargs if name not in names), None)
    if unknown is None:
        if "too many positional" in said and (more := _SEVERAL.get(function.__name__)) is not None:
            return TypeError(f"{called}(): {said}: {more}")
        return TypeError(f"{called}(): {said}. Its arguments are {_listed(names, is_method)}")
    said = f"{called}() got an unexpected keyword argument {unknown!r}"
    if (answer := of_value(function.__name__, unknown)) is not None:
        return TypeError(f"{said}: {answer}")
    if (meant := similar(unknown, names)) is not None:
        return TypeError(f"{said}. Did you mean '{meant}'?")
    return TypeError(f"{said}. Its arguments are {_listed(names, is_method)}")


_SEVERAL = {
    "where": "combine conditions by &: where((col('x') > 5) & (col('y') < 2))",
    "is_in": "write the values as one list: is_in([1, 2])",
    "not_in": "write the values as one list: not_in([1, 2])",
    "remove_properties": "write the names one by one: remove_properties('a', 'b')",
    "to_polars": "name the argument: to_polars(lazy=True)",
    "to_arrow": "columns and rows are those of the scan: scan.select(…).to_arrow()",
    "set_properties": "write set_properties({'name': value})",
}
"""What to write if a function got too many arguments."""


def _listed(names: list[str], is_method: bool) -> str:
    return ", ".join(names[1:] if is_method else names) or "none"
