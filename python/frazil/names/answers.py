"""Answers to names that do not exist. Nothing here runs before a mistake is made."""

from __future__ import annotations

import functools
import itertools
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping
from types import FrameType, FunctionType
from typing import Any, NoReturn, TypeVar

from frazil.names.called import refuse_calls, said_of
from frazil.names.operations import refuse_operations
from frazil.names.similar import similar

__all__ = [
    "Answering",
    "Snapshots",
    "answers",
    "explained",
    "no_attribute",
    "of_call",
    "of_module",
    "of_value",
    "wrong_call",
]

_Class = TypeVar("_Class", bound=type)
_Item = TypeVar("_Item")


class Answering(ABCMeta):
    """The type of classes that answer names which the class itself does not have, as in `Schema.from_arrow`."""


def _no_class_attribute(cls: type, name: str) -> NoReturn:
    message = f"type object '{cls.__name__}' has no attribute {name!r}"
    answer = None
    if not name.startswith("_"):
        answer = _answer([base.__name__ for base in cls.__mro__], name)
        if answer is None and (instead := _constructed(cls)) is not None:
            answer = f"write `{instead}`"
    raise AttributeError(message if answer is None else f"{message}: {answer}", name=name, obj=cls)


# Type checkers must not see this: every attribute would exist for them.
setattr(Answering, "__getattr__", _no_class_attribute)  # noqa: B010


def answers(property_name: str | None = None) -> Callable[[_Class], _Class]:
    """A class whose unknown attributes are answered with Frazil's word. So are calls of its properties.

    Args:
        property_name: The property that gives objects of the class. A call of such an object says so.
    """

    def decorated(cls: _Class) -> _Class:
        # Type checkers must not see these: every attribute would exist for them.
        setattr(cls, "__getattr__", no_attribute)  # noqa: B010
        refuse_operations(cls)
        refuse_calls(cls)
        maker = "__new__" if issubclass(cls, tuple) else "__init__"
        if maker in vars(cls):
            setattr(cls, maker, _explained_maker(cls, vars(cls)[maker]))
        if property_name is not None:
            setattr(cls, "__call__", _refuse_calls(property_name))  # noqa: B010
        return cls

    return decorated


def _constructed(cls: type) -> str | None:
    from frazil.names import modules

    return modules.CONSTRUCTED.get(cls.__name__)


def _explained_maker(cls: type, make: Any) -> Any:
    """The `__init__` or `__new__` of a class. Without its arguments, the error says where such objects come from."""
    plain = make.__func__ if isinstance(make, staticmethod) else make

    @functools.wraps(plain)
    def made(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return plain(*args, **kwargs)
        except TypeError:
            if (instead := _constructed(cls)) is None or wrong_call(plain, args, kwargs) is None:
                raise
        raise TypeError(f"{cls.__name__}() does not take these arguments: write `{instead}`")

    return made


def no_attribute(self: Any, name: str) -> NoReturn:
    """Raises the error for an attribute that does not exist. Classes of the core call it, too."""
    cls = type(self)
    if any(name in vars(base) for base in cls.__mro__):
        # A property of this name has raised an AttributeError of its own.
        object.__getattribute__(self, name)
    message = f"'{cls.__name__}' object has no attribute {name!r}"
    answer = None if name.startswith("_") else _answer_of(self, name)
    raise AttributeError(message if answer is None else f"{message}: {answer}", name=name, obj=self)


def _answer_of(asked: Any, name: str) -> str | None:
    """What to write for an attribute that an object does not have, or None."""
    from frazil.names import libraries, neighbours
    from frazil.names.related import snake_case

    owners = [base.__name__ for base in type(asked).__mro__]
    column = neighbours.column_answer(asked, name)
    known = _answer(owners, name)
    if column is not None or known is not None:
        return ". ".join(answer for answer in (column, known) if answer is not None)
    snake = snake_case(name)
    if snake != name and hasattr(type(asked), snake):
        return f"did you mean `{snake}`?"
    if snake != name and (known := _answer(owners, snake, name)) is not None:
        return known
    for find, owner in itertools.product((neighbours.answer, libraries.answer), owners):
        for written in dict.fromkeys((name, snake)):
            if (found := find(owner, written)) is not None:
                return found.replace(f"`{written}` is", f"`{name}` is", 1)
    return (
        neighbours.similar_answer(asked, name)
        or neighbours.related_answer(asked, name)
        or neighbours.general_answer(asked)
    )


def _refuse_calls(name: str) -> Callable[..., object]:
    def refuse(self: object, *args: object, **_: object) -> object:
        if len(args) == 1 and type(args[0]).__module__.partition(".")[0] == "pandas":
            # pandas calls what can be called with its frame, as in frame.assign(x=table.last_commit).
            return self
        raise TypeError(said_of(name))

    return refuse


class Snapshots(list[_Item]):
    """The snapshots of a table: a list. Its errors say where else snapshots are found."""

    __slots__ = ()

    def __reduce_ex__(self, _: Any) -> tuple[type[list[_Item]], tuple[list[_Item]]]:
        return list, (list(self),)


def _by_place(self: list[Any], place: Any) -> Any:
    try:
        return list.__getitem__(self, place)
    except IndexError:
        if -(2**31) < place < 2**31:
            raise
    raise IndexError(
        f"{place} is no place in the list: for the snapshot of this id, write table.snapshot_by_id({place})"
    )


# Type checkers know a call of a list as a mistake.
setattr(Snapshots, "__call__", _refuse_calls("snapshots"))  # noqa: B010
setattr(Snapshots, "__getitem__", _by_place)  # noqa: B010
setattr(Snapshots, "__getattr__", no_attribute)  # noqa: B010


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
    meant = None if answer is not None else similar(name, known) or similar(name, frazil.__all__)
    if answer is None and meant is None and module == "frazil":
        from frazil.names import libraries

        answer = libraries.answer(module, name)
    if answer is None and meant is None:
        answer = _of_related(module, name, known)
    said = f": {answer}" if answer is not None else "" if meant is None else f". Did you mean '{meant}'?"
    if asked is not None and asked.f_back is not None and _imports(asked.f_back):
        # Python would replace the text of an AttributeError.
        return ImportError(f"cannot import name {name!r} from {module!r}{said}", name=module)
    return AttributeError(f"{message}{said}")


def _of_related(module: str, name: str, known: Iterable[str]) -> str | None:
    """What to write for a name of a module that nothing is known about."""
    import frazil
    from frazil.names.related import related

    # Functions go before classes: `open_catalog` means `catalog` rather than `Catalog`.
    if (found := related(name, sorted(known or frazil.__all__, key=lambda one: one[:1].isupper()))) is not None:
        return f"did you mean `{module}.{found[1]}`?"
    if module != "frazil":
        return f"its names are listed by dir({module})"
    return "start with `frazil.catalog(…)`, `frazil.load_table(name)` or `frazil.open_table(path)`"


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


def _answer(owners: list[str], name: str, written: str | None = None) -> str | None:
    """The answer of the table to a name of some classes. The user may have written it in another way."""
    from frazil.names import others

    for owner in owners:
        if (known := others.known(owner, name)) is not None:
            return others.sentence(written or name, known)
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
        many = "too many positional" in said or "multiple values" in said
        if many and (more := _SEVERAL.get(function.__name__)) is not None:
            return TypeError(f"{called}(): {said}: {more}")
        return TypeError(f"{called}(): {said}. {_listed(names, is_method)}")
    said = f"{called}() got an unexpected keyword argument {unknown!r}"
    if (answer := of_value(function.__name__, unknown)) is not None:
        return TypeError(f"{said}: {answer}")
    if is_method and (column := _of_column(args[0], unknown)) is not None:
        return TypeError(f"{said}: {column}")
    if (meant := similar(unknown, names)) is not None:
        return TypeError(f"{said}. Did you mean '{meant}'?")
    return TypeError(f"{said}. {_listed(names, is_method)}")


def _of_column(asked: Any, name: str) -> str | None:
    """What to write for a column that was given as an argument, as in `scan(id=1)`."""
    from frazil.names import neighbours

    if neighbours.column_answer(asked, name) is None:
        return None
    return f"`{name}` is a column: write a filter, col({name!r}) == value, or a dictionary, {{{name!r}: value}}"


_SEVERAL = {
    "where": "combine conditions by &: where((col('x') > 5) & (col('y') < 2))",
    "is_in": "write the values as one list: is_in([1, 2])",
    "not_in": "write the values as one list: not_in([1, 2])",
    "remove_properties": "write the names one by one: remove_properties('a', 'b')",
    "to_pandas": "a scan plans by itself: write scan.to_pandas(), or split.to_arrow() for one of its splits",
    "to_arrow_batch_reader": "a scan plans by itself: write scan.to_arrow_batch_reader(), or that of one of its splits",
    "to_duckdb": "name the relation afterwards: to_duckdb(connection).create_view(name)",
    "drop_table": "name the argument: purge=True deletes the files, if_exists=True accepts a table that does not exist",
    "load_table": "write one name: load_table('namespace.table')",
    "rename_table": "write both names: rename_table('db.old', 'db.new')",
    "to_polars": "name the argument: to_polars(lazy=True)",
    "to_arrow": "columns and rows are those of the scan: scan.select(…).to_arrow()",
    "set_properties": "write set_properties({'name': value})",
}
"""What to write if a function got too many arguments."""


def _listed(names: list[str], is_method: bool) -> str:
    listed = ", ".join(names[1:] if is_method else names)
    return f"Its arguments are {listed}" if listed else "It takes no arguments"
