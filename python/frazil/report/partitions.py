"""Partitions on a page: their sizes, and how much of each has deleted rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.display.figures import amount, bytes_text, number
from frazil.display.tables import escaped
from frazil.report.parts import Section, folded, note, picture, section
from frazil.report.plan import Plan
from frazil.report.treemap import Box, hatches

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MOST_PARTITIONS", "partition_section"]

MOST_PARTITIONS = 30
"""The most partitions that are drawn."""

_WIDTH, _LINE, _NAMES, _FIGURES = 1000, 24, 260, 230


def partition_section(whole: Plan) -> Section | None:
    """The partitions of a snapshot, largest first.

    Args:
        whole: A plan without a filter. Only such a plan knows about the deletes of every file.
    """
    if whole.unit != "file" or not whole.objects.num_rows:
        return None
    rows = _partitions(whole.objects)
    said = f"{amount(len(rows), 'partition')}. Hatched: bytes of data files that have deleted rows."
    if len(rows) > MOST_PARTITIONS:
        said += f" The {number(MOST_PARTITIONS)} largest are drawn."
    header = ("partition", "files", "rows", "bytes", "bytes with deletes", "delete files")
    texts = (
        (
            row["partition"] or "(all)",
            number(row["files"]),
            number(row["rows"]),
            bytes_text(row["bytes"]),
            bytes_text(row["debt"]),
            number(row["delete_files"]),
        )
        for row in rows
    )
    height = min(len(rows), MOST_PARTITIONS) * _LINE
    return section(
        "partitions",
        "Partitions and deletes",
        note(said),
        picture(_WIDTH, height, "Bytes of partitions", _bars(rows[:MOST_PARTITIONS])),
        folded("Partitions as a table", header, texts, len(rows)),
    )


def _partitions(objects: pa.Table) -> list[dict[str, Any]]:
    """The figures of each partition, largest first."""
    import pyarrow.compute as pc

    is_delete = objects.column("is_delete")
    is_data, sizes = pc.invert(is_delete), objects.column("size")
    has_deletes = pc.and_(is_data, pc.greater(objects.column("deletes").cast("int64"), 0))
    figures = {
        "files": is_data.cast("int64"),
        "rows": pc.if_else(is_data, objects.column("record_count"), 0),
        "bytes": pc.if_else(is_data, sizes, 0),
        "debt": pc.if_else(has_deletes, sizes, 0),
        "delete_files": is_delete.cast("int64"),
    }
    table = objects.select(["spec_id", "partition"])
    for name, column in figures.items():
        table = table.append_column(name, column)
    sums = table.group_by(["spec_id", "partition"]).aggregate([(name, "sum") for name in figures])
    found = [
        {"partition": row["partition"], **{name: row[f"{name}_sum"] for name in figures}} for row in sums.to_pylist()
    ]
    return sorted(found, key=lambda row: (-row["bytes"], row["partition"] or ""))


def _bars(rows: list[dict[str, Any]]) -> list[str]:
    longest = max(max(row["bytes"] for row in rows), 1)
    room = _WIDTH - _NAMES - _FIGURES
    shapes, debts = [], []
    for at, row in enumerate(rows):
        y = at * _LINE + 3
        name = row["partition"] or "(all)"
        width, debt = (room * row[part] / longest for part in ("bytes", "debt"))
        debts.append(Box(_NAMES, y, debt, _LINE - 6))
        text = f"{bytes_text(row['bytes'])}, {amount(row['files'], 'file')}"
        title = f"{name}: {text}, {bytes_text(row['debt'])} with deletes"
        shapes.append(
            f'<g><title>{escaped(title)}</title><text class="t" x="0" y="{y + 13}">'
            f"{escaped(name if len(name) < 38 else name[:36] + '…')}</text>"
            f'<rect class="bar" x="{_NAMES}" y="{y}" width="{max(width, 1):.1f}" height="{_LINE - 6}"/>'
            f'<text class="t" x="{_NAMES + width + 8:.1f}" y="{y + 13}">{escaped(text)}</text></g>'
        )
    if lines := hatches(1, debts):
        shapes.append(f'<path class="debt" d="{lines}"/>')
    return shapes
