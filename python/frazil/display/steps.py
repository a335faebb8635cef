"""The steps of updates, as texts for people."""

from __future__ import annotations

from frazil import _core
from frazil._core import Position, SchemaOperation, SpecOperation

__all__ = ["schema_step", "sort_step", "spec_step"]


def schema_step(step: SchemaOperation) -> str:
    """A change of columns: `add note string`."""
    if isinstance(step, SchemaOperation.Add):
        nulls = " required" if step.required else ""
        return f"add {_path(step.path)} {_type(step.column_type)}{nulls}{_place(step.position)}"
    if isinstance(step, SchemaOperation.Drop):
        return f"drop {_path(step.path)}"
    if isinstance(step, SchemaOperation.Rename):
        return f"rename {_path(step.path)} to {step.name}"
    if isinstance(step, SchemaOperation.Retype):
        return f"make {_path(step.path)} {_type(step.column_type)}"
    if isinstance(step, SchemaOperation.Require):
        return f"make {_path(step.path)} {'required' if step.required else 'optional'}"
    if isinstance(step, SchemaOperation.Comment):
        return f"comment {_path(step.path)}"
    if isinstance(step, SchemaOperation.SetDefault):
        return f"default of {_path(step.path)} is {step.default!r}"
    if isinstance(step, SchemaOperation.Move):
        return f"move {_path(step.path)}{_place(step.position)}"
    if isinstance(step, SchemaOperation.Identify):
        return f"identify rows by {', '.join(map(_path, step.paths)) or 'nothing'}"
    return "add the columns of another schema"


def spec_step(step: SpecOperation) -> str:
    """A change of a partition spec: `add day(ts)`."""
    if isinstance(step, SpecOperation.Add):
        return f"add {_term(step.source, step.transform)}" + ("" if step.name is None else f" as {step.name}")
    if isinstance(step, SpecOperation.Remove):
        return f"remove {step.field}"
    if isinstance(step, SpecOperation.Rename):
        return f"rename {step.name} to {step.to}"
    return "change"


def sort_step(source: str, transform: object, descending: bool, nulls_first: bool | None) -> str:
    """A field of a sort order: `ts desc nulls last`."""
    nulls = not descending if nulls_first is None else nulls_first
    term = _term(source, None if transform is None else str(transform))
    return f"{term} {'desc' if descending else 'asc'} nulls {'first' if nulls else 'last'}"


def _term(source: str, transform: str | None) -> str:
    return source if transform is None else f"{transform}({source})"


def _path(path: str | list[str]) -> str:
    return path if isinstance(path, str) else ".".join(path)


def _type(type_: str | _core.Schema) -> str:
    """A type as text. A schema stands for the type of its only column."""
    return type_ if isinstance(type_, str) else type_.fields[0].type


def _place(position: Position | None) -> str:
    if isinstance(position, Position.First):
        return " first"
    if isinstance(position, Position.Before):
        return f" before {_path(position.path)}"
    return f" after {_path(position.path)}" if isinstance(position, Position.After) else ""
