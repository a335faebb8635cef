"""Columns of every table that only queries which name them see: the file of a row, its place, and its identity."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from frazil.exceptions import InvalidInputError
from frazil.scan import Scan
from frazil.spark.sql.grammar.tokens import Token, tokens_of

__all__ = ["with_metadata_columns"]

_NAMES = ("_file", "_pos", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number")
# What may stand before the `*` that means all columns.
_BEFORE_STAR = ("SELECT", "DISTINCT", "ALL", ",", ".")


def with_metadata_columns(query: str, scans: Mapping[str, Scan]) -> dict[str, Scan]:
    """The scans of a query's tables, with the metadata columns that the query names and the tables have.

    Raises:
        InvalidInputError: The query also has `*`, in which metadata columns would be seen.
    """
    tokens = tokens_of(query)
    words = {
        token.text.lower()
        for before, token in zip([None, *tokens], tokens, strict=False)
        if token.kind in ("word", "quoted") and (before is None or before.text.upper() != "AS")
    }
    named = [name for name in _NAMES if name in words]
    if not named or not scans:
        return dict(scans)
    found = {slot: _with(scan, named) for slot, scan in scans.items()}
    if any(found[slot] is not scan for slot, scan in scans.items()) and _has_star(tokens):
        raise InvalidInputError(
            f"'*' can't be combined with the metadata column '{named[0]}'", hint="Name the columns that you need"
        )
    return found


def _with(scan: Scan, named: list[str]) -> Scan:
    names = scan.schema.names
    wider = scan
    for name in named:
        if name not in names:
            with suppress(InvalidInputError):  # the table has no such column
                wider = scan.select(*names, name)
                names = [*names, name]
    return wider


def _has_star(tokens: list[Token]) -> bool:
    stars = (i for i, token in enumerate(tokens) if i and token.kind == "sign" and token.text == "*")
    return any(tokens[i - 1].text.upper() in _BEFORE_STAR for i in stars)
