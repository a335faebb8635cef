"""Faults to plant in tables: functions that edit metadata, manifest lists, manifests and data files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

import frazil as fz

Json = dict[str, Any]


class Planted:
    """An Iceberg table in a folder, whose files a fault edits."""

    def __init__(self, table: fz.Table) -> None:
        self.root = Path(table.location.removeprefix("file://"))
        self.metadata = Path(table.metadata_location)

    def document(self, change: Callable[[Json], object]) -> None:
        """Edits the metadata file."""
        document = json.loads(self.metadata.read_text())
        change(document)
        self.metadata.write_text(json.dumps(document))

    def now(self) -> Json:
        return json.loads(self.metadata.read_text())

    def snapshot(self) -> Json:
        document = self.now()
        return next(s for s in document["snapshots"] if s["snapshot-id"] == document["current-snapshot-id"])

    def list_path(self) -> Path:
        return Path(self.snapshot()["manifest-list"])

    def lists(self, change: Callable[[list[Json]], object]) -> None:
        """Edits the manifest list of the current snapshot."""
        rewritten(self.list_path(), change)

    def manifest_paths(self, content: int = 0) -> list[Path]:
        with self.list_path().open("rb") as file:
            return [Path(m["manifest_path"]) for m in fastavro.reader(file) if m["content"] == content]

    def entries(self, change: Callable[[list[Json]], object], content: int = 0) -> None:
        """Edits the newest manifest, and the length that the list records."""
        path = self.manifest_paths(content)[0]
        rewritten(path, change)
        self.record_length(path)

    def manifest_schema(self, change: Callable[[Json], object]) -> None:
        """Edits the Avro schema of the newest manifest, and the length that the list records."""
        path = self.manifest_paths()[0]
        rewritten(path, lambda _: None, change)
        self.record_length(path)

    def record_length(self, path: Path) -> None:
        """Records the length of a manifest in the list."""
        size = path.stat().st_size

        def record(manifests: list[Json]) -> None:
            for m in manifests:
                if m["manifest_path"] == str(path):
                    m["manifest_length"] = size

        self.lists(record)

    def entry(self, change: Callable[[Json], object], content: int = 0) -> None:
        """Edits the first entry of the newest manifest."""
        self.entries(lambda entries: change(entries[0]), content)

    def files(self, content: int = 0) -> list[Json]:
        found = []
        for path in self.manifest_paths(content):
            with path.open("rb") as file:
                found += [e["data_file"] for e in fastavro.reader(file) if e["status"] != 2]
        return found

    def data_path(self, content: int = 0) -> Path:
        """The file of the first entry of the newest manifest."""
        with self.manifest_paths(content)[0].open("rb") as file:
            return Path(next(iter(fastavro.reader(file)))["data_file"]["file_path"])

    def rewrite_data(self, change: Callable[[pa.Table], pa.Table]) -> None:
        """Writes a data file again with other rows, and records its new length."""
        path = self.data_path()
        pq.write_table(change(pq.read_table(path, partitioning=None)), path)
        size = path.stat().st_size
        self.entry(lambda e: e["data_file"].update(file_size_in_bytes=size, split_offsets=None))


def rewritten(
    path: Path, change: Callable[[list[Json]], object], schema_change: Callable[[Json], object] = lambda _: None
) -> None:
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        records: list[Any] = list(reader)
        schema, metadata = json.loads(reader.metadata["avro.schema"]), dict(reader.metadata)
    change(records)
    schema_change(schema)
    metadata = {k: v for k, v in metadata.items() if not k.startswith("avro.")}
    with path.open("wb") as file:
        fastavro.writer(file, schema, records, metadata=metadata, codec="deflate")


def cut(path: Path, share: float = 0.5) -> None:
    """Cuts off the end of a file."""
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


def encrypt_footer(path: Path) -> None:
    """Marks a Parquet file as one whose footer is encrypted."""
    path.write_bytes(b"PARE" + path.read_bytes()[4:-4] + b"PARE")


def pairs(entry: Json, name: str) -> list[Json]:
    """The map `name` of a data file, as a list of pairs."""
    found: list[Json] = entry["data_file"][name]
    return found


def set_pair(entry: Json, name: str, column: int, value: Any) -> None:
    for pair in pairs(entry, name):
        if pair["key"] == column:
            pair["value"] = value


def twice(items: list[Any]) -> None:
    items.append(items[0])


def copy_of(path: Path, name: str) -> Path:
    return Path(shutil.copy(path, path.with_name(name)))
