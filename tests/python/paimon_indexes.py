"""Global indexes in Paimon tables. Frazil does not make them, so tests enter them into index manifests by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastavro

import frazil as fz

Json = dict[str, Any]


def _optional(type_: Any) -> list[Any]:
    return ["null", type_]


def _field(name: str, type_: Any) -> Json:
    return {"name": name, "type": type_, "default": None} if isinstance(type_, list) else {"name": name, "type": type_}


_RANGE = {
    "type": "record",
    "name": "record__DELETIONS_VECTORS_RANGES",
    "fields": [
        _field("f0", "string"),
        _field("f1", "int"),
        _field("f2", "int"),
        _field("_CARDINALITY", _optional("long")),
    ],
}
_GLOBAL = {
    "type": "record",
    "name": "record__GLOBAL_INDEX",
    "fields": [
        _field("_ROW_RANGE_START", "long"),
        _field("_ROW_RANGE_END", "long"),
        _field("_INDEX_FIELD_ID", "int"),
        _field("_EXTRA_FIELD_IDS", _optional({"type": "array", "items": "int"})),
        _field("_INDEX_META", _optional("bytes")),
        _field("_SOURCE_META", _optional("bytes")),
    ],
}
SCHEMA = {
    "type": "record",
    "name": "org.apache.paimon.avro.generated.record",
    "fields": [
        _field("_VERSION", "int"),
        _field("_KIND", "int"),
        _field("_PARTITION", "bytes"),
        _field("_BUCKET", "int"),
        _field("_INDEX_TYPE", "string"),
        _field("_FILE_NAME", "string"),
        _field("_FILE_SIZE", "long"),
        _field("_ROW_COUNT", "long"),
        _field("_DELETIONS_VECTORS_RANGES", _optional({"type": "array", "items": _optional(_RANGE)})),
        _field("_EXTERNAL_PATH", _optional("string")),
        _field("_GLOBAL_INDEX", _optional(_GLOBAL)),
    ],
}
"""The schema of index manifests of Paimon 2."""


class GlobalIndexes:
    """The index files of the newest snapshot of a table."""

    def __init__(self, table: fz.Table) -> None:
        self.root = Path(table.location.removeprefix("file://"))

    def _snapshot_path(self) -> Path:
        return max((self.root / "snapshot").glob("snapshot-*"), key=lambda path: int(path.name.split("-")[1]))

    def snapshot(self) -> Json:
        found: Json = json.loads(self._snapshot_path().read_text())
        return found

    def _records(self, name: str) -> list[Any]:
        with (self.root / "manifest" / name).open("rb") as file:
            return list(fastavro.reader(file))

    def entries(self) -> list[Any]:
        """All index files, deletion vectors among them."""
        name = self.snapshot().get("indexManifest")
        return [] if name is None else self._records(name)

    def ranges(self) -> dict[str, tuple[int, int]]:
        """The first and the last row id of each global index, by its name."""
        found = [(entry["_FILE_NAME"], entry["_GLOBAL_INDEX"]) for entry in self.entries()]
        return {name: (of["_ROW_RANGE_START"], of["_ROW_RANGE_END"]) for name, of in found if of is not None}

    def partition(self, text: str) -> bytes:
        """The bytes of the partition whose values contain a text of at most 7 letters."""
        snapshot = self.snapshot()
        lists = [snapshot["baseManifestList"], snapshot["deltaManifestList"]]
        manifests = [entry["_FILE_NAME"] for name in lists for entry in self._records(name)]
        rows: set[bytes] = {entry["_PARTITION"] for name in manifests for entry in self._records(name)}
        (found,) = (row for row in rows if text.encode() in row)
        return found

    def add(
        self,
        name: str,
        rows: tuple[int, int],
        field_ids: tuple[int, ...] = (0,),
        *,
        kind: str = "btree",
        partition: str = "",
    ) -> None:
        """Enters an index of columns and of the rows from the first to the last id."""
        entry = {
            "_VERSION": 1,
            "_KIND": 0,
            "_PARTITION": self.partition(partition),
            "_BUCKET": 0,
            "_INDEX_TYPE": kind,
            "_FILE_NAME": name,
            "_FILE_SIZE": 10,
            "_ROW_COUNT": rows[1] - rows[0] + 1,
            "_DELETIONS_VECTORS_RANGES": None,
            "_EXTERNAL_PATH": None,
            "_GLOBAL_INDEX": {
                "_ROW_RANGE_START": rows[0],
                "_ROW_RANGE_END": rows[1],
                "_INDEX_FIELD_ID": field_ids[0],
                "_EXTRA_FIELD_IDS": list(field_ids[1:]) or None,
                "_INDEX_META": b"meta",
                "_SOURCE_META": b"source",
            },
        }
        manifest = f"index-manifest-by-hand-{name}"
        path = self._snapshot_path()
        entries = [*self.entries(), entry]
        with (self.root / "manifest" / manifest).open("wb") as file:
            fastavro.writer(file, SCHEMA, entries)
        path.write_text(json.dumps({**json.loads(path.read_text()), "indexManifest": manifest}))
