"""Counts, minima and maxima from metadata alone."""

from __future__ import annotations

from typing import Any, NamedTuple

from frazil.display import tables
from frazil.display.figures import amount, plain
from frazil.names import answers

__all__ = ["ColumnStatistics", "Fact", "Statistics"]


class Fact(NamedTuple):
    """A figure, which is exact or a bound.

    Attributes:
        value: The figure. If it is not exact, it is an upper bound of a count or maximum, or a lower bound of a
            minimum. None means unknown if not exact, and no value if exact.
        exact: Whether the figure is exact.
    """

    value: Any
    exact: bool


@answers()
class ColumnStatistics(NamedTuple):
    """Statistics of one column of a scan's rows, from metadata.

    Attributes:
        name: Its dotted path.
        field_id: Its field id.
        type: Its type.
        value_count: The number of values, including nulls and NaNs: one for each row.
        null_count: The number of nulls, including those of structs around it.
        nan_count: The number of NaNs.
        min: The smallest value. It is NaN only if there is no other value, as in SQL, and None if there is no value.
        max: The largest value. It is NaN if there is a NaN.
    """

    name: str
    field_id: int
    type: str
    value_count: Fact
    null_count: Fact
    nan_count: Fact
    min: Fact
    max: Fact


@answers()
class Statistics:
    """Statistics of the rows of a scan, from metadata. `statistics["id"].max` is a figure of one column.

    Attributes:
        row_count: The number of rows.
        files: The number of data files that may have rows.
        columns: The statistics of each column by its dotted path.
    """

    def __init__(self, facts: dict[str, Any]) -> None:
        self.row_count = Fact(*facts["row_count"])
        self.files: int = facts["files"]
        self.columns: dict[str, ColumnStatistics] = {c["name"]: _column(c) for c in facts["columns"]}

    def __getitem__(self, name: str) -> ColumnStatistics:
        return self.columns[name]

    def to_dict(self) -> dict[str, Any]:
        """The figures as a dictionary. Each fact is `{"value": …, "exact": …}`."""
        columns = {
            name: {key: v._asdict() if isinstance(v, Fact) else v for key, v in column._asdict().items()}
            for name, column in self.columns.items()
        }
        return {"row_count": self.row_count._asdict(), "files": self.files, "columns": columns}

    def _head(self) -> str:
        return f"{_shown(self.row_count, '≤')} rows in {amount(self.files, 'file')}"

    def _rows(self) -> list[tuple[str, ...]]:
        """A row for each column, as texts."""
        rows: list[tuple[str, ...]] = []
        for c in self.columns.values():
            nans = _shown(c.nan_count, "≤") if c.type in ("float", "double") else ""
            rows.append((plain(c.name), _shown(c.min, "≥"), _shown(c.max, "≤"), _shown(c.null_count, "≤"), nans))
        return rows

    def _repr_html_(self) -> str:
        return tables.page(self._head(), tables.grid(_HEADER, self._rows()))

    def __str__(self) -> str:
        rows = [_HEADER, *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADER))]
        lines = [self._head(), ""]
        for row in rows:
            lines.append("  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())
        return "\n".join(lines if self.columns else lines[:1])

    __repr__ = __str__


_HEADER = ("column", "min", "max", "nulls", "NaNs")


def _column(facts: dict[str, Any]) -> ColumnStatistics:
    read: dict[str, Any] = {key: Fact(*v) if isinstance(v, tuple) else v for key, v in facts.items()}
    return ColumnStatistics(**read)


def _shown(fact: Fact, sign: str, most: int = 26) -> str:
    """A figure for people: `5`, `≤ 5` for a bound, `?` for unknown, `-` for no value."""
    if fact.value is None:
        return "-" if fact.exact else "?"
    text = plain(f"{fact.value:,}" if type(fact.value) is int else str(fact.value))
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text if fact.exact else f"{sign} {text}"
