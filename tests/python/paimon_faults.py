"""Paimon tables whose files a fault edits: snapshots, manifest lists, manifests, index manifests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa

import frazil as fz
from doctor_faults import rewritten

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
Json = dict[str, Any]


class Planted:
    """A Paimon table in a folder, whose files a fault edits."""

    def __init__(self, table: fz.Table) -> None:
        self.root = Path(table.location.removeprefix("file://"))

    def newest(self) -> Path:
        return max((self.root / "snapshot").glob("snapshot-*"), key=lambda p: int(p.name.split("-")[1]))

    def snapshot(self) -> Json:
        found: Json = json.loads(self.newest().read_text())
        return found

    def edit(self, path: Path, change: Callable[[Json], object]) -> None:
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    def list_path(self, which: str = "deltaManifestList") -> Path:
        return self.root / "manifest" / self.snapshot()[which]

    def lists(self, change: Callable[[list[Json]], object], which: str = "deltaManifestList") -> None:
        """Edits a manifest list of the newest snapshot, and its recorded length."""
        path = self.list_path(which)
        rewritten(path, change)
        self.edit(self.newest(), lambda s: s.update({f"{which}Size": path.stat().st_size}))

    def manifest_path(self, which: str = "deltaManifestList") -> Path:
        with self.list_path(which).open("rb") as file:
            return self.root / "manifest" / next(iter(fastavro.reader(file)))["_FILE_NAME"]

    def entries(self, change: Callable[[list[Json]], object], which: str = "deltaManifestList") -> None:
        """Edits the first manifest of a list, and its recorded length."""
        path = self.manifest_path(which)
        rewritten(path, change)
        size = path.stat().st_size
        self.lists(lambda manifests: manifests[0].update(_FILE_SIZE=size), which)

    def file(self, change: Callable[[Json], object], which: str = "deltaManifestList") -> None:
        """Edits the first file of the first manifest of a list."""
        self.entries(lambda entries: change(entries[0]["_FILE"]), which)

    def data_path(self) -> Path:
        with self.manifest_path().open("rb") as file:
            name = next(iter(fastavro.reader(file)))["_FILE"]["_FILE_NAME"]
        return next(self.root.rglob(name))

    def indexes(self, change: Callable[[list[Json]], object]) -> None:
        rewritten(self.root / "manifest" / self.snapshot()["indexManifest"], change)

    def index_path(self) -> Path:
        with (self.root / "manifest" / self.snapshot()["indexManifest"]).open("rb") as file:
            name = next(iter(fastavro.reader(file)))["_FILE_NAME"]
        return next(self.root.rglob(name))


def appended(tmp_path: Path) -> Planted:
    """A table without keys: two commits of 50 rows, deletion vectors."""
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    properties = {
        "bucket": "-1",
        "manifest.compression": "deflate",
        "deletion-vectors.enabled": "true",
        "row-tracking.enabled": "true",
    }
    table = catalog.create_table("db.t", SCHEMA, properties=properties, format="paimon")
    for first in (0, 50):
        keys = list(range(first, first + 50))
        table.append(pa.table({"k": keys, "v": [None if k % 10 == 3 else f"v{k:03d}" for k in keys]}, SCHEMA))
        table = table.refresh()
    return Planted(table)


def with_vectors(tmp_path: Path) -> Planted:
    planted = appended(tmp_path)
    fz.open_table(planted.root).delete("k = 7")
    return planted


def keyed(tmp_path: Path) -> Planted:
    """A table with a key and a changelog: two commits, one bucket."""
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    properties = {"bucket": "1", "manifest.compression": "deflate", "changelog-producer": "input"}
    table = catalog.create_table("db.k", SCHEMA, properties=properties, format="paimon", identifier_fields=["k"])
    for first in (0, 50):
        keys = list(range(first, first + 50))
        table.append(pa.table({"k": keys, "v": [f"v{k}" for k in keys]}, SCHEMA))
        table = table.refresh()
    return Planted(table)
