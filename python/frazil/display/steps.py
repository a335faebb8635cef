"""The steps of updates, as texts for people."""

from __future__ import annotations

from functools import singledispatch

from frazil import _core
from frazil._core import NewSortField, Position, SchemaOperation, SpecOperation
from frazil.display.terms import term_text

__all__ = ["step_text"]


@singledispatch
def step_text(step: object) -> str:
    """A step of an update: `add note string`, `add day(ts)`, `ts desc nulls last`."""
    raise NotImplementedError(f"there is no text for a step '{type(step).__qualname__}'")


@step_text.register
def _(step: SchemaOperation.Add) -> str:
    nulls = " required" if step.required else ""
    return f"add {_path(step.path)} {_type(step.column_type)}{nulls}{_place(step.position)}"


@step_text.register
def _(step: SchemaOperation.Drop) -> str:
    return f"drop {_path(step.path)}"


@step_text.register
def _(step: SchemaOperation.Rename) -> str:
    return f"rename {_path(step.path)} to {step.name}"


@step_text.register
def _(step: SchemaOperation.Retype) -> str:
    return f"make {_path(step.path)} {_type(step.column_type)}"


@step_text.register
def _(step: SchemaOperation.Require) -> str:
    return f"make {_path(step.path)} {'required' if step.required else 'optional'}"


@step_text.register
def _(step: SchemaOperation.Comment) -> str:
    return f"comment {_path(step.path)}"


@step_text.register
def _(step: SchemaOperation.SetDefault) -> str:
    return f"default of {_path(step.path)} is {step.default!r}"


@step_text.register
def _(step: SchemaOperation.Move) -> str:
    return f"move {_path(step.path)}{_place(step.position)}"


@step_text.register
def _(step: SchemaOperation.Identify) -> str:
    return f"identify rows by {', '.join(map(_path, step.paths)) or 'nothing'}"


@step_text.register
def _(step: SchemaOperation.Union) -> str:
    return f"add the columns of {', '.join(field.name for field in step.schema.fields)}"


@step_text.register
def _(step: SpecOperation.Add) -> str:
    return f"add {term_text(step.transform, step.source)}" + ("" if step.name is None else f" as {step.name}")


@step_text.register
def _(step: SpecOperation.Remove) -> str:
    return f"remove {step.field}"


@step_text.register
def _(step: SpecOperation.Rename) -> str:
    return f"rename {step.name} to {step.to}"


@step_text.register
def _(step: NewSortField) -> str:
    nulls_first = not step.descending if step.nulls_first is None else step.nulls_first
    term = term_text(step.transform, step.source)
    return f"{term} {'desc' if step.descending else 'asc'} nulls {'first' if nulls_first else 'last'}"


def _path(path: str | list[str]) -> str:
    return path if isinstance(path, str) else ".".join(path)


def _type(type_: str | _core.Schema) -> str:
    """A type as text. A schema stands for the type of its only column."""
    return type_ if isinstance(type_, str) else type_.fields[0].type


def _place(position: Position | None) -> str:
    if isinstance(position, (Position.Before, Position.After)):
        word = "before" if isinstance(position, Position.Before) else "after"
        return f" {word} {_path(position.path)}"
    return "" if position is None else " first"
