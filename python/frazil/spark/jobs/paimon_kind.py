"""What the options of a table of Apache Paimon say about the rows of its commits.

Source: Java's `CoreOptions`; `docs/guide/paimon.md` tells what follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frazil.spark import wire
from frazil.table import Table

__all__ = ["PaimonKind"]


@dataclass(frozen=True)
class PaimonKind:
    """What decides which rows a table of Apache Paimon has by a commit, by one of its schemas."""

    keyed: bool
    producer: str
    """Of changelogs."""
    merged: bool
    """Whether rows are put together of several."""
    hidden: bool
    """Whether scans leave out what was not compacted yet."""
    postponed: bool
    """Whether new rows have no buckets yet, until they are compacted."""
    evolving: bool

    @classmethod
    def by_schema(cls, table: Table) -> dict[int, PaimonKind]:
        """Those of the table's schemas, by their ids."""
        return {schema["schema_id"]: cls._of(schema) for schema in table.inspect.schemas().to_pylist()}

    @staticmethod
    def now(kinds: Mapping[int, PaimonKind]) -> PaimonKind:
        """That of the newest schema."""
        return kinds[max(kinds)]

    @classmethod
    def _of(cls, schema: Mapping[str, Any]) -> PaimonKind:
        options = {name: value.lower() for name, value in wire.json_member(schema["options"]).items()}
        keyed, engine = bool(wire.json_member(schema["primary_keys"])), options.get("merge-engine", "deduplicate")
        hiding = options.get("deletion-vectors.enabled") == "true" or engine == "first-row"
        return cls(
            keyed=keyed,
            producer=options.get("changelog-producer", "none"),
            merged=engine in ("partial-update", "aggregation"),
            hidden=keyed and (hiding or options.get("bucket") == "-2"),
            postponed=keyed and options.get("bucket") == "-2",
            evolving=options.get("data-evolution.enabled") == "true",
        )

    @property
    def told_late(self) -> bool:
        """Whether compactions write the changelog."""
        return self.producer in ("lookup", "full-compaction")
