"""Completion in shells: names of catalogs, namespaces and tables, and paths."""

from __future__ import annotations

import os
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from frazil.arguments import configuration
from frazil.cli.places import Places, is_place
from frazil.cli.values import pairs
from frazil.exceptions import FrazilError

__all__ = ["COMPLETE", "TABLE", "script"]

COMPLETE = "_FRAZIL_COMPLETE"
"""The environment variable by which a shell asks for completions."""


class _TableName(click.ParamType[str]):
    """A table on the command line."""

    name = "table"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What the incomplete word can become."""
        if is_place(incomplete) or os.sep in incomplete:
            return [CompletionItem(incomplete, type="file")]
        places = Places(ctx.params.get("catalog"), pairs(ctx.params.get("storage") or ()))
        try:
            found = _names(places, incomplete)
        except (FrazilError, OSError):
            # Completion is silent: the command itself says what is wrong.
            found = []
        return [CompletionItem(name) for name in found if name.startswith(incomplete)] or [
            CompletionItem(incomplete, type="file")
        ]


TABLE = _TableName()


def _names(places: Places, incomplete: str) -> list[str]:
    if places.named is not None:
        return places.catalog().list_tables()
    known = configuration.known_catalogs(configuration.configured())
    first, dot, rest = incomplete.partition(".")
    if not dot:
        return [f"{name}." for name in known]
    if first.lower() not in known:
        return []
    catalog = places.catalog(first)
    namespace = rest.rpartition(".")[0]
    found = catalog.list_tables(namespace) if namespace else [f"{name}." for name in catalog.list_namespaces()]
    return [f"{first}.{name}" for name in found]


def script(shell: str, program: click.Command) -> str:
    """The script that a shell reads to complete the program's words."""
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for the shell '{shell}'")
    return kind(program, {}, "frazil", COMPLETE).source()
