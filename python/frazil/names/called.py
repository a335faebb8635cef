"""Calls of properties: `table.name()` says that `name` is a property.

The value of such a property is a plain text, number or dictionary: libraries take these, and no class below them. So
nothing can be added to the value. Instead, the property looks at the instruction that reads it. Python reads what it
calls next by an instruction of its own.
"""

from __future__ import annotations

import functools
import opcode
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

__all__ = ["refuse_calls", "said_of"]

_Class = TypeVar("_Class", bound=type)

_EXTENDED_ARG = opcode.EXTENDED_ARG
_CACHE = opcode.opmap.get("CACHE")
"""The place for what the interpreter knows about the instruction before it. Python 3.12 may stand at its end."""

_LOAD_METHOD = opcode.opmap.get("LOAD_METHOD")
"""The instruction of Python 3.10 and 3.11 that reads what is called next."""

_LOAD_ATTR = opcode.opmap["LOAD_ATTR"] if sys.version_info >= (3, 12) else None
"""The instruction of later versions that reads an attribute. The last bit of its argument says whether it is called."""


_MOST_PLACES = 64
"""How many places in code each property remembers."""


def refuse_calls(cls: _Class) -> _Class:
    """A class whose properties raise a TypeError with the answer if their value is about to be called.

    Items of named tuples are left alone. They are read often, and fast.
    """
    for name, member in list(vars(cls).items()):
        if isinstance(member, property) and member.fget is not None and not name.startswith("_"):
            setattr(cls, name, property(_refusing(member.fget, name), doc=member.__doc__))
    return cls


def said_of(name: str) -> str:
    """What to write in place of a call of a property."""
    if name == "filter":
        return "`filter` is a property of a scan: its filter. Write `scan.where(...)` to add a filter"
    return f"`{name}` is a property here: write it without ()"


def _refusing(read: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    # Code by its identity and the place of the instruction that read the property without calling it. The identity is
    # not given to other code while the code is here. Threads share the places: each access is one step.
    seen: dict[tuple[int, int], CodeType] = {}

    @functools.wraps(read)
    def refusing(self: Any) -> Any:
        try:
            # `sys._getframe().f_back` makes two frames visible, and takes twice as long.
            frame = sys._getframe(1)
        except ValueError:
            # A thread of native code has no frame.
            frame = None
        if frame is not None and (place := (id(code := frame.f_code), frame.f_lasti)) not in seen:
            if _is_called(frame, name):
                raise TypeError(said_of(name))
            if len(seen) >= _MOST_PLACES:
                seen.clear()
            seen[place] = code
        return read(self)

    return refusing


def _is_called(frame: FrameType, name: str) -> bool:
    """Whether the instruction of a frame reads the attribute `name` to call it."""
    code, at = frame.f_code.co_code, frame.f_lasti
    while at > 0 and code[at] == _CACHE:
        at -= 2
    while at >= 2 and code[at - 2] == _EXTENDED_ARG:
        at -= 2
    argument = 0
    while 0 <= at < len(code) and code[at] == _EXTENDED_ARG:
        argument = (argument | code[at + 1]) << 8
        at += 2
    if not 0 <= at < len(code):
        return False
    argument |= code[at + 1]
    if _LOAD_METHOD is not None and code[at] == _LOAD_METHOD:
        place = argument
    elif _LOAD_ATTR is not None and code[at] == _LOAD_ATTR and argument & 1:
        place = argument >> 1
    else:
        return False
    names = frame.f_code.co_names
    return place < len(names) and names[place] == name
