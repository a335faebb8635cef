"""Planners and readers in processes of their own: each reads lines "HOW TABLE FILTER" and answers with a line of JSON.

    python benches/paimon/workers.py (frazil | frazil-count | pypaimon | pypaimon-rust)

HOW is `cold` (a plan with a table that is opened again), `warm` (a plan with a table that was planned before) or
`read` (all rows to Arrow, of a table that is opened again; FILTER is `all` or `two`, for two columns). TABLE is a
folder WAREHOUSE/DATABASE.db/NAME. Plans end with the list of splits. Imports are inside the functions, since each
worker has only its own library; they are not timed.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from filters import LEAVES, TEXT

TWO = ["id", "score"]


class Library(Protocol):
    """What is asked of each library."""

    def open(self, folder: Path) -> Any:
        """The table."""

    def plan(self, table: Any, filter: str) -> int:
        """The number of splits."""

    def read(self, table: Any, columns: list[str] | None) -> int:
        """The number of rows."""


class Frazil:
    def __init__(self) -> None:
        import pyarrow  # noqa: F401 - Frazil imports it with its first table

        import frazil as fz

        self.fz = fz

    def open(self, folder: Path) -> Any:
        return self.fz.open_table(str(folder))

    def plan(self, table: Any, filter: str) -> int:
        return len(table.scan(TEXT[filter]).plan())

    def read(self, table: Any, columns: list[str] | None) -> int:
        rows: int = table.scan(select=columns).to_arrow().num_rows
        return rows


class FrazilCount(Frazil):
    """Without objects of Python."""

    def plan(self, table: Any, filter: str) -> int:
        files: int = table.scan(TEXT[filter])._core.count_files()
        return files


class PyPaimon:
    def __init__(self) -> None:
        import pypaimon

        self.factory = pypaimon.CatalogFactory

    def open(self, folder: Path) -> Any:
        catalog = self.factory.create({"warehouse": str(folder.parent.parent)})
        return catalog.get_table(f"{folder.parent.name.removesuffix('.db')}.{folder.name}")

    def plan(self, table: Any, filter: str) -> int:
        builder = table.new_read_builder()
        if leaf := LEAVES[filter]:
            column, _, method, value = leaf
            predicates = builder.new_predicate_builder()
            asked = {"equal": predicates.equal, "greaterThan": predicates.greater_than}[method]
            builder = builder.with_filter(asked(column, value))
        return len(builder.new_scan().plan().splits())

    def read(self, table: Any, columns: list[str] | None) -> int:
        builder = table.new_read_builder()
        if columns:
            builder = builder.with_projection(columns)
        rows: int = builder.new_read().to_arrow(builder.new_scan().plan().splits()).num_rows
        return rows


class PyPaimonRust:
    def __init__(self) -> None:
        import pyarrow  # noqa: F401
        from pypaimon_rust.datafusion import PaimonCatalog

        self.catalog = PaimonCatalog

    def open(self, folder: Path) -> Any:
        catalog = self.catalog({"warehouse": str(folder.parent.parent)})
        return catalog.get_table(f"{folder.parent.name.removesuffix('.db')}.{folder.name}")

    def plan(self, table: Any, filter: str) -> int:
        builder = table.new_read_builder()
        if leaf := LEAVES[filter]:
            column, place, method, value = leaf
            builder.with_filter({"method": method, "index": place, "field": column, "literals": [value]})
        return len(builder.new_scan().plan().splits())

    def read(self, table: Any, columns: list[str] | None) -> int:
        builder = table.new_read_builder()
        if columns:
            builder.with_projection(columns)
        splits = builder.new_scan().plan().splits()
        return sum(batch.num_rows for batch in builder.new_read().read(splits))


LIBRARIES: dict[str, Callable[[], Library]] = {
    "frazil": Frazil,
    "frazil-count": FrazilCount,
    "pypaimon": PyPaimon,
    "pypaimon-rust": PyPaimonRust,
}


def answer(library: Library, opened: dict[str, Any], how: str, table: str, asked: str) -> dict[str, Any]:
    processor, began = time.process_time(), time.perf_counter()
    try:
        if how == "read":
            count = library.read(library.open(Path(table)), TWO if asked == "two" else None)
        elif how == "cold":
            count = library.plan(library.open(Path(table)), asked)
        else:
            found = opened.get(table) or opened.setdefault(table, library.open(Path(table)))
            count = library.plan(found, asked)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:160]}
    return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - processor, "count": count}


def main() -> None:
    library = LIBRARIES[sys.argv[1]]()
    opened: dict[str, Any] = {}
    if len(sys.argv) > 2:
        print(json.dumps(answer(library, opened, *sys.argv[2:5])), flush=True)
        return
    for line in sys.stdin:
        print(json.dumps(answer(library, opened, *line.split())), flush=True)


if __name__ == "__main__":
    main()
