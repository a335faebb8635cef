"""Operations of Python that a class does not have, such as `table["id"]`, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["OPERATIONS", "refuse_operations"]

_ROWS = "rows and columns come from a scan: write `{0}to_arrow()[name]`, or `for batch in {0}to_arrow_batch_reader()`"
_TABLE_ROWS = _ROWS.format("table.scan(filter, select=[…]).")
_SCAN_ROWS = _ROWS.format("scan.")
_NO_CLOSE = "{0} needs no `with`: nothing is open, so use it as it is"

OPERATIONS: dict[str, dict[str, str]] = {
    "Table": {
        "__getitem__": _TABLE_ROWS,
        "__setitem__": "rows are changed by `table.update(where, {'x': 1})`, and columns by `table.update_schema()`",
        "__delitem__": "rows are deleted by `table.delete(where)`, columns by `table.update_schema().drop_column(x)`",
        "__len__": "the number of rows is `table.scan().count()`",
        "__enter__": _NO_CLOSE.format("a table") + ". Several changes in one commit: `with table.transaction() as tx:`",
        "__arrow_c_stream__": "a table is not its rows: write `table.scan()`, which Arrow libraries take",
    },
    "Scan": {
        "__getitem__": _SCAN_ROWS + ". The first rows are `scan.head(n)`",
        "__len__": "the number of rows is `scan.count()`",
    },
    "Catalog": {
        "__getitem__": "a table is `catalog.load_table('namespace.table')`. All names are `catalog.list_tables()`",
        "__len__": "the number of tables is `len(catalog.list_tables())`",
        "__contains__": "write `catalog.table_exists(name)`",
        "__enter__": _NO_CLOSE.format("a catalog"),
    },
    "Inspect": {"__getitem__": "a metadata table is a method: write `table.inspect.files()`"},
    "Term": {
        "__getitem__": "a member of a struct is `frazil.col('struct.member')`. A filter can't look into lists and maps",
        "__contains__": "write `col('x').contains(text)` for a part of a text",
        "__invert__": "`~` negates a predicate. For a boolean column, write `~col('x').is_true()`",
        "__and__": "put parentheses around each comparison: `(col('a') > 1) & (col('b') < 2)`. A boolean column is "
        "`col('x').is_true()`",
        "__or__": "put parentheses around each comparison: `(col('a') > 1) | (col('b') < 2)`. A boolean column is "
        "`col('x').is_true()`",
        "__pow__": "a filter has no powers: write the product, as in `col('x') * col('x')`",
        "__floordiv__": "a filter divides by `/`: write `(col('x') - col('x') % 2) / 2`",
        "__abs__": "a filter has no absolute values: write both cases, as in `(col('x') > 5) | (col('x') < -5)`",
        "__round__": "a filter can't round: compare with both ends, as in `col('x').between(0.5, 1.5)`",
    },
    "Predicate": {
        "__xor__": "write `(a & ~b) | (~a & b)`",
        "__neg__": "write `~predicate`",
    },
}
"""What to write, by the class and the operation.

Python and libraries take a class for what its methods say. So a table has no `__iter__` and no `__array__`, and a scan
no `__next__`. A table is a single value to them, not an iterable or an array. `for … in table` calls `__getitem__`.
"""


def refuse_operations(cls: type) -> None:
    """Gives a class operations that raise a TypeError with the answer."""
    found = OPERATIONS.get(cls.__name__, {})
    for operation, instead in found.items():
        setattr(cls, operation, _refusal(cls.__name__, operation, instead))
        if operation == "__enter__":
            setattr(cls, "__exit__", _refusal(cls.__name__, operation, instead))  # noqa: B010
        if operation in ("__and__", "__or__"):
            setattr(cls, operation.replace("__", "__r", 1), _refusal(cls.__name__, operation, instead))
    if "__len__" in found and "__bool__" not in vars(cls):
        # Without this, the truth of an object is its length.
        setattr(cls, "__bool__", lambda _: True)  # noqa: B010
    if issubclass(cls, tuple):
        setattr(cls, "__getitem__", _by_place)  # noqa: B010


def _refusal(name: str, operation: str, instead: str) -> Callable[..., NoReturn]:
    def refuse(self: object, *_: object, **__: object) -> NoReturn:
        raise TypeError(f"'{name}' object has no {operation}: {instead}")

    return refuse


def _by_place(self: Any, place: Any) -> Any:
    """The item of a named tuple."""
    if isinstance(place, str):
        known = ", ".join(self._fields)
        instead = f"write `.{place}`" if place in self._fields else f"its attributes are {known}"
        raise TypeError(f"'{type(self).__name__}' object is not a dictionary: {instead}")
    return tuple.__getitem__(self, place)
