"""Names that belong to another object: `table.to_duckdb()` is `table.scan().to_duckdb()`."""

from __future__ import annotations

import re
from typing import Any

from frazil.names import others
from frazil.names.similar import similar

__all__ = ["ALWAYS", "answer", "column_answer", "similar_answer"]

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

ALWAYS = {
    "Catalog": "a table is `load_table('namespace.table')`",
    "Term": "a member of a struct is `frazil.col('struct.member')`",
}
"""What to write for any other name, by the class that was asked."""


def answer(owner: str, name: str) -> str | None:
    """What to write for a name of a neighbour, or None.

    Args:
        owner: The name of the class that was asked.
        name: The name that it does not have.
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
        if known is not None and neighbour == "Scan":
            return others.sentence(name, (known[0], known[1].replace("scan", "table.scan()")))
    return None


def similar_answer(owner: str, name: str) -> str | None:
    """The name of the class that a mistyped one most likely means, or None."""
    cls = _class(owner)
    meant = None if cls is None else similar(name, [one for one in dir(cls) if not one.startswith("_")])
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
    found = getattr(frazil.maintain, name, None) if name not in frazil.__all__ else getattr(frazil, name)
    return found if isinstance(found, type) else None


def column_answer(asked: Any, name: str) -> str | None:
    """What to write for a column, if the name is one of the table that was asked."""
    kind = next((base.__name__ for base in type(asked).__mro__ if base.__name__ in ("Table", "Scan")), None)
    if kind is None:
        return None
    try:
        is_column = name in asked.schema.names
    except Exception:
        # The object is not complete, for example while it is unpickled.
        return None
    if not is_column:
        return None
    return f"`{name}` is a column: write `{'scan(select=' if kind == 'Table' else 'select('}{name!r})`"
