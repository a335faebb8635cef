"""Imports of modules that Frazil does not have: `import frazil.types` says what to write instead."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from types import FrameType

__all__ = ["refuse_import"]


def refuse_import(module: str, asked: FrameType, public: Iterable[str], modules: Iterable[str]) -> None:
    """Raises the error for a module of the package that does not exist, with what to write.

    Args:
        module: The full name of the module.
        asked: The frame of Python's search for modules.
        public: The public names of the package.
        modules: The modules of the package.
    """
    parent, _, name = module.rpartition(".")
    if name.startswith("_"):
        return
    from frazil.names import others
    from frazil.names.similar import similar

    known = next((found for owner in (parent, "frazil") if (found := others.known(owner, name)) is not None), None)
    if known is not None:
        answer = others.sentence(name, known)
    elif name in public:
        answer = f"write `frazil.{name}`"
    elif parent == "frazil" and (meant := similar(name, modules)) is not None:
        answer = f"did you mean `frazil.{meant}`?"
    elif _is_there(name):
        answer = f"write `import {name}`"
    else:
        answer = "the names of Frazil are in `frazil` itself, such as `frazil.catalog` and `frazil.open_table`"
    raise ModuleNotFoundError(f"No module named {module!r}: {'. '.join([answer, *_of_names(asked)])}", name=module)


def _is_there(module: str) -> bool:
    """Whether a module without a package can be imported."""
    import importlib.util

    if sys.modules.get(module) is not None:
        return True
    with suppress(ImportError, ValueError):
        return importlib.util.find_spec(module) is not None
    return False


def _of_names(asked: FrameType) -> list[str]:
    """The answers to the names that a statement `from … import …` takes from the module."""
    import dis

    from frazil.names import others

    frame: FrameType | None = asked
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    if frame is None:
        return []
    here = [one for one in dis.get_instructions(frame.f_code) if one.offset >= frame.f_lasti]
    if not here or here[0].opname != "IMPORT_NAME":
        return []
    answers = []
    for one in here[1:]:
        if one.opname == "IMPORT_FROM" and (known := others.known("frazil", one.argval)) is not None:
            answers.append(others.sentence(one.argval, known))
        elif one.opname != "IMPORT_FROM" and not one.opname.startswith("STORE_"):
            break
    return answers
