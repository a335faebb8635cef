"""Where a history runs: the catalogs, and the kinds of tables."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.fs as pafs

import frazil as fz

KEY, SECRET = "AKIDFRAZIL", "sesame-sesame-sesame"
SCHEMA = pa.schema(
    [
        pa.field("g", pa.string(), nullable=False),
        pa.field("n", pa.int64(), nullable=False),
        pa.field("k", pa.int64()),
        pa.field("v", pa.int64()),
    ]
)


class Kind(NamedTuple):
    """A kind of table.

    Attributes:
        format: The table's format.
        properties: Its properties.
        keyed: Whether rows have the key (g, n). Readers then merge.
        hidden: Whether rows can be read only after a compaction.
    """

    format: str
    properties: dict[str, Any]
    keyed: bool = False
    hidden: bool = False


def _modes(version: int, mode: str) -> dict[str, Any]:
    modes = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    return {"format-version": version, "commit.manifest.min-count-to-merge": 5, **modes}


VECTORS = {"deletion-vectors.enabled": "true"}
KEEP = {"snapshot.num-retained.min": 10, "snapshot.num-retained.max": 40, "snapshot.time-retained": "1 s"}
KINDS = {
    "v2-copy": Kind("iceberg", _modes(2, "copy-on-write")),
    "v2-deletes": Kind("iceberg", _modes(2, "merge-on-read")),
    "v3-vectors": Kind("iceberg", _modes(3, "merge-on-read")),
    "append": Kind("paimon", KEEP),
    "append-vectors": Kind("paimon", {**KEEP, **VECTORS}),
    "buckets": Kind("paimon", {**KEEP, "bucket": 2, "bucket-key": "g"}),
    "keyed": Kind("paimon", {**KEEP, "bucket": 2}, keyed=True),
    "keyed-changelog": Kind("paimon", {**KEEP, "bucket": 2, "changelog-producer": "input"}, keyed=True),
    "keyed-vectors": Kind("paimon", {**KEEP, **VECTORS, "bucket": 2}, keyed=True, hidden=True),
}
CATALOGS = ("folder", "sqlite", "postgresql", "s3")
# Each catalog with an Iceberg table, and each kind of Paimon's tables.
CASES = (
    "folder:v2-copy",
    "sqlite:v2-deletes",
    "postgresql:v3-vectors",
    "s3:v2-copy",
    *(f"folder:{name}" for name, kind in KINDS.items() if kind.format == "paimon"),
    "s3:append",
)


@contextlib.contextmanager
def catalog_at(place: str, folder: pathlib.Path) -> Iterator[dict[str, Any] | None]:
    """The arguments of `fz.catalog` for a place; None if its server is missing."""
    warehouse = str(folder / "warehouse")
    if place == "folder":
        yield {"type": "filesystem", "warehouse": warehouse}
    elif place == "sqlite":
        yield {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": warehouse}
    elif place == "postgresql":
        uri = os.environ.get("FRAZIL_TEST_POSTGRES")
        # The name makes the catalog one of its own in a shared database.
        yield uri and {"name": f"c-{folder.name}", "type": "sql", "uri": uri, "warehouse": warehouse}
    elif place == "s3":
        # The server of the Python tests.
        sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))
        from object_server import s3_server

        with s3_server() as port:
            client = pafs.S3FileSystem(
                access_key=KEY,
                secret_key=SECRET,
                endpoint_override=f"127.0.0.1:{port}",
                scheme="http",
                region="us-east-1",
                allow_bucket_creation=True,
            )
            client.create_dir("histories")
            access = {"s3.access-key-id": KEY, "s3.secret-access-key": SECRET, "s3.region": "us-east-1"}
            endpoint = {"s3.endpoint": f"http://127.0.0.1:{port}"}
            yield {"type": "filesystem", "warehouse": "s3://histories/wh", **endpoint, **access}
    else:
        raise ValueError(f"there is no place {place!r}: {', '.join(CATALOGS)}")


def open_catalog(arguments: dict[str, Any]) -> fz.Catalog:
    """The catalog, in any process."""
    return fz.catalog(**{"name": "c", **arguments})


def create(arguments: dict[str, Any], kind: Kind) -> fz.Table:
    """The table of a history."""
    catalog = open_catalog(arguments)
    catalog.create_namespace("db")
    more: dict[str, Any] = {"identifier_fields": ["g", "n"]} if kind.keyed else {}
    return catalog.create_table("db.t", SCHEMA, format=kind.format, properties=kind.properties, **more)
