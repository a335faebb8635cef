"""The table of names, in a file for each part of the API. `frazil.names.others` reads all of it."""

from __future__ import annotations

from frazil.names.words import catalogs, expressions, maintenance, package, scans, schemas, tables

__all__ = ["NAMES"]

NAMES: dict[str, list[tuple[str, str, str]]] = {
    **package.NAMES,
    **catalogs.NAMES,
    **tables.NAMES,
    **scans.NAMES,
    **schemas.NAMES,
    **expressions.NAMES,
    **maintenance.NAMES,
}
"""By the class that is asked: the library, what to write, and the names. `{name}` in an answer is the name itself."""
