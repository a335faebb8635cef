"""Names that belong to another object: `table.to_duckdb()` is `table.scan().to_duckdb()`."""

from __future__ import annotations

import re
from typing import Any

from frazil.names import others
from frazil.names.similar import similar

__all__ = ["answer", "column_answer"]

_OWNERS: dict[str, tuple[tuple[str, str], ...]] = {
    "Table": (
        ("scan()", "Scan"),
        ("maintain", "Maintain"),
        ("inspect", "Inspect"),
        ("refs", "Refs"),
        ("schema", "Schema"),
        ("update_schema()", "UpdateSchema"),
        ("update_partition_spec()", "UpdatePartitionSpec"),
        ("update_sort_order()", "UpdateSortOrder"),
    ),
    "Transaction": (
        ("commit()", "Table"),
        ("refs", "Refs"),
        ("update_schema()", "UpdateSchema"),
        ("update_partition_spec()", "UpdatePartitionSpec"),
    ),
    "Catalog": (("load_table(name)", "Table"),),
    "CatalogTransaction": (("table(name)", "Transaction"),),
    "Split": (("to_arrow()", "pyarrow.Table"), ("the scan", "Scan")),
    "ScanTask": (("data_file", "DataFile"),),
}
"""Where a name of another class is, by the class that was asked."""


def answer(asked: Any, owner: str, name: str) -> str | None:
    """What to write for a name that the class does not have, or None.

    Args:
        asked: The object that was asked.
        owner: The name of its class.
        name: The name.
    """
    for path, neighbour in _OWNERS.get(owner, ()):
        if (cls := _class(neighbour)) is None:
            continue
        if not name.startswith("_") and hasattr(cls, name):
            return f"write `{path}.{name}{'(…)' if callable(getattr(cls, name)) else ''}`"
    for path, neighbour in _OWNERS.get(owner, ()):
        known = others.known(neighbour, name)
        word = re.match(r"[a-z_]+", known[1]) if known is not None else None
        if known is not None and word is not None and hasattr(_class(neighbour), word[0]):
            return others.sentence(name, (known[0], f"{path}.{known[1]}"))
    meant = similar(name, [one for one in dir(type(asked)) if not one.startswith("_")])
    return None if meant is None else f"did you mean `{meant}`?"


def _class(name: str) -> Any:
    """The class of a name, or None if its library is not here."""
    import frazil

    if name == "pyarrow.Table":
        try:
            import pyarrow as pa
        except ImportError:
            return None
        return pa.Table
    return frazil.maintain.Maintain if name == "Maintain" else getattr(frazil, name)


def column_answer(asked: Any, name: str) -> str | None:
    """What to write for a column, if the name is one of the table that was asked."""
    if all(base.__name__ != "Table" for base in type(asked).__mro__):
        return None
    try:
        is_column = name in asked.schema.names
    except Exception:
        # The object is not complete, for example while it is unpickled.
        return None
    if not is_column:
        return None
    return f"`{name}` is a column: write `scan(select={name!r})`"
