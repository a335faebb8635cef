"""What the options of a table of Apache Paimon say about the rows of its commits.

Source: Java's `CoreOptions`. `docs/guide/paimon.md` describes the effects.
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
    """The options that decide which rows a commit to a table of Apache Paimon brings, for one of its schemas."""

    has_key: bool
    changelog_producer: str
    """How changelogs are produced."""
    merged: bool
    """Whether a row is merged from several."""
    hidden_until_compacted: bool
    """Whether scans leave out rows that were not compacted yet."""
    buckets_postponed: bool
    """Whether new rows have no buckets until they are compacted."""
    data_evolution: bool

    @classmethod
    def by_schema(cls, table: Table) -> dict[int, PaimonKind]:
        """The kinds of the table's schemas, by the ids of the schemas."""
        return {schema["schema_id"]: cls._of(schema) for schema in table.inspect.schemas().to_pylist()}

    @staticmethod
    def now(kinds: Mapping[int, PaimonKind]) -> PaimonKind:
        """The kind of the newest schema."""
        return kinds[max(kinds)]

    @classmethod
    def _of(cls, schema: Mapping[str, Any]) -> PaimonKind:
        options = {name: value.lower() for name, value in wire.json_member(schema["options"]).items()}
        has_key, engine = bool(wire.json_member(schema["primary_keys"])), options.get("merge-engine", "deduplicate")
        hiding = options.get("deletion-vectors.enabled") == "true" or engine == "first-row"
        return cls(
            has_key=has_key,
            changelog_producer=options.get("changelog-producer", "none"),
            merged=engine in ("partial-update", "aggregation"),
            hidden_until_compacted=has_key and (hiding or options.get("bucket") == "-2"),
            buckets_postponed=has_key and options.get("bucket") == "-2",
            data_evolution=options.get("data-evolution.enabled") == "true",
        )

    @property
    def reported_by_compactions(self) -> bool:
        """Whether compactions write the changelog."""
        return self.changelog_producer in ("lookup", "full-compaction")
