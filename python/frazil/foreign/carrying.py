"""Objects of the user as texts of storage options.

In the process that made a text, it stands for the object itself. In another process, the object is made again from its
pickle, which is part of the text. A text can also be an import path.
"""

from __future__ import annotations

import base64
import binascii
import os
import pickle
from typing import Any

from frazil.exceptions import InvalidInputError
from frazil.foreign.named import BY_NAME, named

__all__ = ["object_of", "text_of"]

# The beginning of texts of objects that can't be pickled.
_ONLY_HERE = "only-here:"
_HERE: dict[str, Any] = {}


def text_of(thing: object) -> str:
    """The text of an object. It stays the same, also if the object changes."""
    for known, other in _HERE.items():
        if other is thing:
            return known
    try:
        text = base64.b64encode(_pickled(thing)).decode("ascii")
    except Exception as error:
        # Some objects hold locks or connections. They serve this process.
        text = f"{_ONLY_HERE}{os.urandom(16).hex()}:{type(error).__name__}: {error}"
    _HERE.setdefault(text, thing)
    return text


def _pickled(thing: object) -> bytes:
    """Functions of the main program, and those without a name, need the pickler of PySpark."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    if named.__module__ != "__main__" and "<" not in named.__qualname__:
        return pickle.dumps(thing)
    try:
        from pyspark import cloudpickle
    except ImportError:
        return pickle.dumps(thing)
    pickled: bytes = cloudpickle.dumps(thing)  # type: ignore[no-untyped-call]
    return pickled


def object_of(text: str, what: str) -> Any:
    """The object of a text. `what` names it in errors."""
    if text in _HERE:
        return _HERE[text]
    if text.startswith(BY_NAME):
        return named(text[len(BY_NAME) :], what)
    if text.startswith(_ONLY_HERE):
        reason = text.split(":", 2)[-1]
        raise InvalidInputError(
            f"{what} can't be sent to another process: {reason}",
            hint="Give an object that can be pickled, such as a function of a module",
        )
    try:
        thing = pickle.loads(base64.b64decode(text, validate=True))
    except (binascii.Error, pickle.UnpicklingError, EOFError, ValueError) as error:
        raise InvalidInputError(f"{what} in the storage options can't be read") from error
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(
            f"{what} can't be made in this process: {error}", hint="Install its module on each executor"
        ) from error
    return _HERE.setdefault(text, thing)
