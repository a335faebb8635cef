"""Names that belong to another object: `table.to_duckdb()` is `table.scan().to_duckdb()`."""

from __future__ import annotations

import re
from typing import Any

from frazil.names import others
from frazil.names.related import does_other, related, removes_anything
from frazil.names.similar import similar

__all__ = ["answer", "column_answer", "general_answer", "related_answer", "similar_answer"]

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

_ALWAYS = {
    "Catalog": "a table is `load_table('namespace.table')`",
    "Maintain": "there are `compact(…)`, `expire_snapshots(…)`, `remove_orphan_files(…)`, and others in dir()",
    "Predicate": "conditions are combined by `&`, `|` and `~`",
    "Scan": "rows are read by `to_arrow()`, `to_pandas()`, `to_polars()` or `to_duckdb()`, which have more verbs",
    "Table": "rows are read by `scan(…)`, and changed by `append`, `overwrite`, `update`, `delete`, `upsert` and "
    "`merge`. See also `inspect`, `maintain`, `refs` and `update_schema()`",
    "Term": "a member of a struct is `frazil.col('struct.member')`",
}
"""What to write for any other name, by the class that was asked."""

_MOST_NAMES = 20
"""The most names of a class that are listed."""


def answer(owner: str, name: str) -> str | None:
    """What to write for a name of a neighbour, or None.

    Args:
        owner: The name of the class that was asked.
        name: The name that it does not have.
    """
    for path, neighbour in _OWNERS.get(owner, ()):
        if (cls := _class(neighbour)) is None:
            continue
        # `catalog.delete` may mean a table, which has more than rows.
        if not name.startswith("_") and _has(cls, name) and not removes_anything(name):
            return f"write `{path}.{name}{'(…)' if callable(getattr(cls, name)) else ''}`"
    for path, neighbour in _OWNERS.get(owner, ()):
        known = others.known(neighbour, name)
        word = re.match(r"[a-z_]+", known[1]) if known is not None else None
        if known is not None and word is not None and _has(_class(neighbour), word[0]):
            return others.sentence(name, (known[0], f"{path}.{known[1]}"))
        if known is not None and neighbour == "Scan":
            return others.sentence(name, (known[0], known[1].replace("scan", "table.scan()")))
    return None


def similar_answer(asked: Any, name: str) -> str | None:
    """The name of an object that a mistyped one most likely means, or None."""
    meant = similar(name, _names(asked))
    return None if meant is None or does_other(name, meant) else f"did you mean `{meant}`?"


def related_answer(asked: Any, name: str) -> str | None:
    """The name of an object, or of a neighbour, that shares most words with another one, or None."""
    places: list[tuple[str, Any]] = [("", asked)]
    for base in type(asked).__mro__:
        for path, neighbour in _OWNERS.get(base.__name__, ()):
            if (other := _class(neighbour)) is not None and neighbour != "pyarrow.Table":
                places.append((f"{path}.", other))
    found = [(*one, path) for path, place in places if (one := related(name, _names(place))) is not None]
    if not found:
        return None
    _, meant, path = max(found, key=lambda one: one[0])
    return f"did you mean `{path}{meant}`?"


def general_answer(asked: Any) -> str | None:
    """What to write for a name that nothing is known about."""
    for base in type(asked).__mro__:
        if (known := _ALWAYS.get(base.__name__)) is not None:
            return known
    listed = _names(asked)
    return f"its names are {', '.join(listed)}" if 0 < len(listed) <= _MOST_NAMES else None


def _names(owner: Any) -> list[str]:
    """The public names of an object or a class, without those that each tuple has."""
    cls = owner if isinstance(owner, type) else type(owner)
    of_tuples = dir(tuple) if issubclass(cls, tuple) else ()
    return [one for one in dir(owner) if not one.startswith("_") and one not in of_tuples]


def _has(cls: Any, name: str) -> bool:
    """Whether objects of a class have a name. The class itself also has those of its type, such as `register`."""
    return any(name in vars(base) for base in getattr(cls, "__mro__", ()))


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
