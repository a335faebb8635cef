"""The cost of planning, before it starts."""

from __future__ import annotations

from typing import Any, NamedTuple

from frazil.display import tables
from frazil.display.figures import amount, bytes_text, number, plain
from frazil.names import answers

__all__ = ["Estimate"]


_KINDS = {
    "bytes": "exact",
    "data_manifests": "exact",
    "delete_manifests": "exact",
    "total_bytes": "exact",
    "total_manifests": "exact",
    "data_files": "at most",
    "delete_files": "at most",
    "rows": "at most",
    "streamed_memory_bytes": "about",
    "table_memory_bytes": "about",
}


_OPENED = ("bytes", "data_manifests", "delete_manifests")


@answers()
class Estimate(NamedTuple):
    """The cost of planning a scan, from the manifest lists alone.

    `certainty` says what each figure is: `exact`, `at most` or `about`. A figure is None, and `unknown`, if an old
    writer's manifest list has no counts.

    Attributes:
        bytes: The size of the manifests to read.
        data_manifests: The number of data manifests to open.
        delete_manifests: The number of delete manifests to open.
        total_bytes: The size of all manifests of the snapshot, or for appends and changes of their commits.
        total_manifests: The number of those manifests.
        data_files: The number of live data files in those manifests: the most tasks that are possible.
        delete_files: The number of live delete files.
        rows: The number of rows in those data files, before deletes.
        streamed_memory_bytes: The memory of planning when tasks are taken one by one (`plan_files`).
        table_memory_bytes: The memory of planning when all tasks are held (`plan_table`).
        cached_manifests: How many of the manifests to open are in the plan cache; None without a cache.
        cache_trouble: Why the plan cache can't be read, if it can't.
        at_most: Whether the bytes and manifests to read are upper bounds. They are for a change log: which files the
            deletes of a commit apply to is known only after they are read.
    """

    bytes: int
    data_manifests: int
    delete_manifests: int
    total_bytes: int
    total_manifests: int
    data_files: int | None
    delete_files: int | None
    rows: int | None
    streamed_memory_bytes: int | None
    table_memory_bytes: int | None
    cached_manifests: int | None
    cache_trouble: str | None
    at_most: bool

    @property
    def certainty(self) -> dict[str, str]:
        """What each figure is: `exact`, `at most`, `about` or `unknown`."""
        kinds = {**_KINDS, **(dict.fromkeys(_OPENED, "at most") if self.at_most else {})}
        return {name: "unknown" if getattr(self, name) is None else kind for name, kind in kinds.items()}

    def to_dict(self) -> dict[str, Any]:
        """The figures by name, and `certainty`."""
        return {**self._asdict(), "certainty": self.certainty}

    def _repr_html_(self) -> str:
        head, *rest = str(self).splitlines()
        # Each line is a name and a figure, in columns.
        return tables.page(head, tables.grid(("", ""), [(line[:17].strip(), line[17:]) for line in rest]))

    def __str__(self) -> str:
        manifests = [amount(self.data_manifests, "data manifest"), amount(self.delete_manifests, "delete manifest")]
        whole = f"{bytes_text(self.total_bytes)} in {amount(self.total_manifests, 'manifest')}"
        lines = [
            f"Planning will read {'at most ' if self.at_most else ''}{bytes_text(self.bytes)}: "
            f"{' and '.join(manifests)} (of {whole})",
            f"  data files     {_at_most(self.data_files)}",
            f"  delete files   {_at_most(self.delete_files)}",
            f"  rows           {_at_most(self.rows)}",
            f"  memory         {self._memory()}",
        ]
        if self.cached_manifests is not None:
            trouble = "" if self.cache_trouble is None else f"; {plain(self.cache_trouble)}"
            lines.append(f"  plan cache     {amount(self.cached_manifests, 'manifest')}{trouble}")
        return "\n".join(lines)

    def _memory(self) -> str:
        if self.streamed_memory_bytes is None and self.table_memory_bytes is None:
            return "unknown"
        return f"{_about(self.streamed_memory_bytes)} streamed, {_about(self.table_memory_bytes)} as a table"


def _at_most(n: int | None) -> str:
    return "unknown" if n is None else f"at most {number(n)}"


def _about(n: int | None) -> str:
    return "unknown" if n is None else f"about {bytes_text(n)}"
