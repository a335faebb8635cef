"""Where a history runs: the catalogs, and the kinds of tables."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
        joint: Whether each step changes two tables by one transaction of the catalog.
    """

    format: str
    properties: dict[str, Any]
    keyed: bool = False
    hidden: bool = False
    joint: bool = False

    @property
    def tables(self) -> tuple[str, ...]:
        return ("db.t", "db.u") if self.joint else ("db.t",)


@dataclass
class Place:
    """A catalog.

    Attributes:
        arguments: Those of `fz.catalog`.
        disturb: Lets some of the next requests fail. Called again and again.
        calm: Lets no more requests fail.
    """

    arguments: dict[str, Any]
    disturb: Callable[[random.Random], None] = lambda draw: None
    calm: Callable[[], None] = lambda: None


def _modes(version: int, mode: str) -> dict[str, Any]:
    modes = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    return {"format-version": version, "commit.manifest.min-count-to-merge": 5, **modes}


VECTORS = {"deletion-vectors.enabled": "true"}
KEEP = {"snapshot.num-retained.min": 10, "snapshot.num-retained.max": 40, "snapshot.time-retained": "1 s"}
KINDS = {
    "v2-copy": Kind("iceberg", _modes(2, "copy-on-write")),
    "v2-deletes": Kind("iceberg", _modes(2, "merge-on-read")),
    "v3-vectors": Kind("iceberg", _modes(3, "merge-on-read")),
    "joint-copy": Kind("iceberg", _modes(2, "copy-on-write"), joint=True),
    "joint-deletes": Kind("iceberg", _modes(2, "merge-on-read"), joint=True),
    "joint-vectors": Kind("iceberg", _modes(3, "merge-on-read"), joint=True),
    "append": Kind("paimon", KEEP),
    "append-vectors": Kind("paimon", {**KEEP, **VECTORS}),
    "buckets": Kind("paimon", {**KEEP, "bucket": 2, "bucket-key": "g"}),
    "keyed": Kind("paimon", {**KEEP, "bucket": 2}, keyed=True),
    "keyed-changelog": Kind("paimon", {**KEEP, "bucket": 2, "changelog-producer": "input"}, keyed=True),
    "keyed-vectors": Kind("paimon", {**KEEP, **VECTORS, "bucket": 2}, keyed=True, hidden=True),
}
# The tests' own REST server and its switches. `faults` and `keys` also fail on demand, `keys` knows idempotency keys.
REST: dict[str, dict[str, Any]] = {
    "rest": {},
    "rest-faults": {"etags": True},
    "rest-keys": {"idempotency": True},
    "rest-plans": {"planning_mode": "server", "files_in_a_task": 3, "async_polls": 1},
}
FAILING = ("rest-faults", "rest-keys")
CATALOGS = ("folder", "sqlite", "postgresql", "s3", *REST)
# Each catalog with an Iceberg table, joint changes of two tables, and each kind of Paimon's tables.
CASES = (
    "folder:v2-copy",
    "sqlite:v2-deletes",
    "postgresql:v3-vectors",
    "s3:v2-copy",
    "rest:v2-deletes",
    "rest-faults:v3-vectors",
    "rest-plans:v3-vectors",
    "sqlite:joint-copy",
    "postgresql:joint-deletes",
    "rest-faults:joint-vectors",
    "rest-keys:joint-copy",
    *(f"folder:{name}" for name, kind in KINDS.items() if kind.format == "paimon"),
    "s3:append",
)
TESTS = pathlib.Path(__file__).parents[1]


@contextlib.contextmanager
def catalog_at(place: str, folder: pathlib.Path) -> Iterator[Place | str]:
    """The catalog of a place; the reason if its server is missing."""
    warehouse = str(folder / "warehouse")
    if place == "folder":
        yield Place({"type": "filesystem", "warehouse": warehouse})
    elif place == "sqlite":
        yield Place({"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": warehouse})
    elif place == "postgresql":
        with _postgres(folder / "postgres") as (uri, reason):
            # The name makes the catalog one of its own in a shared database.
            name = f"c-{folder.name}"
            yield Place({"name": name, "type": "sql", "uri": uri, "warehouse": warehouse}) if uri else reason
    elif place == "s3":
        with _s3() as place_in_s3:
            yield place_in_s3
    elif place in REST:
        with _rest(place, warehouse) as served:
            yield served
    else:
        raise ValueError(f"there is no place {place!r}: {', '.join(CATALOGS)}")


@contextlib.contextmanager
def _postgres(folder: pathlib.Path) -> Iterator[tuple[str, str]]:
    """The address of a database, or why no database can be had."""
    if uri := os.environ.get("FRAZIL_TEST_POSTGRES"):
        yield uri, ""
        return
    sys.path.insert(0, str(TESTS / "services"))
    from servers import postgres
    from starting import CannotStart

    try:
        server = postgres(folder)
    except CannotStart as reason:
        yield "", f"FRAZIL_TEST_POSTGRES names no database, and {reason}"
        return
    try:
        yield server["uri"], ""
    finally:
        server.stop()


@contextlib.contextmanager
def _s3() -> Iterator[Place]:
    """The server of the Python tests."""
    sys.path.insert(0, str(TESTS / "python"))
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
        yield Place({"type": "filesystem", "warehouse": "s3://histories/wh", **endpoint, **access})


@contextlib.contextmanager
def _rest(place: str, warehouse: str) -> Iterator[Place]:
    """The REST server of the Python tests."""
    sys.path.insert(0, str(TESTS / "python"))
    from rest_server import KINDS as WAYS
    from rest_server import serving

    with serving(warehouse, **REST[place]) as server:

        def disturb(draw: random.Random) -> None:
            server.reset()
            server.service.faults.clear()
            if place not in FAILING:
                return
            for operation in ("updateTable", "commitTransaction"):
                for _ in range(3):
                    when = draw.choice(("before", "after"))
                    server.fault(operation, draw.choice(WAYS), when, nth=draw.randrange(1, 12), seconds=0.3)
            server.fault("loadTable", draw.choice(("503", "502", "reset", "cut")), nth=draw.randrange(1, 12))

        yield Place({"type": "rest", "uri": server.url}, disturb, server.service.faults.clear)


def open_catalog(arguments: dict[str, Any]) -> fz.Catalog:
    """The catalog, in any process."""
    return fz.catalog(**{"name": "c", **arguments})


def create(arguments: dict[str, Any], kind: Kind) -> None:
    """The tables of a history."""
    catalog = open_catalog(arguments)
    catalog.create_namespace("db")
    more: dict[str, Any] = {"identifier_fields": ["g", "n"]} if kind.keyed else {}
    for name in kind.tables:
        catalog.create_table(name, SCHEMA, format=kind.format, properties=kind.properties, **more)
