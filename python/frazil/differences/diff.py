"""The difference of two versions, as an object, text, dictionary and Arrow tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from frazil.display import tables
from frazil.display.figures import amount, bytes_text, number
from frazil.display.partitions import without_braces
from frazil.names import answers

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Change", "Diff", "Totals"]

_MOST_LINES = 20


class Change(NamedTuple):
    """A column, property or field that differs.

    Attributes:
        kind: `added`, `removed`, `renamed`, `type`, `nulls`, `comment` or `changed`.
        name: Its name; of a column the dotted name afterwards.
        before: The value before; None if it was added.
        after: The value afterwards; None if it was removed.
    """

    kind: str
    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None or self.after is None:
            return f"{self.kind} {self.name}" + (f": {value}" if (value := self.after or self.before) else "")
        return f"{self.kind} {self.name}: {self.before} -> {self.after}"


class Totals(NamedTuple):
    """The size of a version.

    Attributes:
        rows: The exact number of rows.
        data_files: The number of data files.
        delete_files: The number of delete files and deletion vectors.
        bytes: The size of all of them. A file with several deletion vectors counts for each.
    """

    rows: int
    data_files: int
    delete_files: int
    bytes: int


@answers()
class Diff(NamedTuple):
    """What differs between two versions of a table: `table.diff(a, b)`.

    `print(diff)` shows it, `to_dict()` has all of it, and `to_arrow()` lists the files.

    Attributes:
        before: The id of the first snapshot; None if the table had no snapshot.
        after: The id of the second snapshot.
        schema: The columns that differ.
        partitioning: The partition fields that differ. This, `sorting` and `properties` are None if the metadata of one
            of the versions is no longer kept or can't be read.
        sorting: The fields of the sort order that differ.
        properties: The table properties that differ.
        totals: The size of both versions.
        files: The files that were added and removed, as a pyarrow table.
        partitions: The partitions whose files differ, as a pyarrow table.
        rows: How many rows were `added`, `removed` and `changed`; None unless `rows=True`.
    """

    before: int | None
    after: int | None
    schema: list[Change]
    partitioning: list[Change] | None
    sorting: list[Change] | None
    properties: list[Change] | None
    totals: tuple[Totals, Totals]
    files: pa.Table
    partitions: pa.Table
    rows: dict[str, int] | None

    @property
    def is_empty(self) -> bool:
        """Whether it is known that nothing differs."""
        metadata = (self.schema, self.partitioning, self.sorting, self.properties)
        return None not in metadata and not any(metadata) and len(self.files) == 0 and self.totals[0] == self.totals[1]

    def to_arrow(self) -> pa.Table:
        """The files that differ.

        Columns: `change` (`added` or `removed`), `content` (`data` or `deletes`), `file_path`, `partition` (text),
        `record_count`, `file_size_in_bytes`.
        """
        return self.files

    def to_dict(self) -> dict[str, Any]:
        """All of it as a dictionary, with lists of dictionaries for files and partitions."""
        return {
            "before": self.before,
            "after": self.after,
            **{name: None if found is None else [c._asdict() for c in found] for name, found in self._changes()},
            "totals": {name: size._asdict() for name, size in zip(("before", "after"), self.totals, strict=True)},
            "rows": self.rows,
            "partitions": self.partitions.to_pylist(),
            "files": self.files.to_pylist(),
        }

    def __str__(self) -> str:
        lines = [f"From snapshot {self.before or 'none'} to {self.after or 'none'}"]
        before, after = self.totals
        lines += [
            _total("rows", before.rows, after.rows),
            _total("data files", before.data_files, after.data_files),
            _total("delete files", before.delete_files, after.delete_files),
            f"  {'size':<13}{bytes_text(before.bytes)} -> {bytes_text(after.bytes)}",
        ]
        if self.rows is not None:
            said = ", ".join(f"{number(count)} {what}" for what, count in self.rows.items())
            lines.append(f"  {'changes':<13}{said}")
        for title, found in self._changes():
            lines += [f"  {title:<13}{tables.public(change)}" for change in found or ()]
        if self.properties is None:
            lines.append(
                "  properties, partitioning and sorting are not known: their metadata is lost or can't be read"
            )
        lines += self._partition_lines()
        return "\n".join(lines)

    def _changes(self) -> list[tuple[str, list[Change] | None]]:
        names = ("schema", "partitioning", "sorting", "properties")
        return [(name, getattr(self, name)) for name in names]

    def _partition_lines(self) -> list[str]:
        lines = []
        for row in self.partitions.slice(0, _MOST_LINES).to_pylist():
            name = tables.public(without_braces(row["partition"]) or "(all)")
            files = f"+{row['files_added']} -{row['files_removed']} files"
            lines.append(
                f"  {'partition':<13}{name}: {files}, +{row['rows_added']} -{row['rows_removed']} rows in them"
            )
        if len(self.partitions) > _MOST_LINES:
            lines.append(f"  {'':<13}and {amount(len(self.partitions) - _MOST_LINES, 'more partition')}")
        return lines

    def __repr__(self) -> str:
        counts = f"{len(self.schema)} columns, {len(self.files)} files, {len(self.partitions)} partitions"
        return f"Diff({self.before} to {self.after}: {counts})"


def _total(name: str, before: int, after: int) -> str:
    change = after - before
    return f"  {name:<13}{number(before)} -> {number(after)}" + (f" ({change:+,})" if change else "")
