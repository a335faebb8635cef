"""Damaged tables of Apache Paimon: an error of our own or the right rows, never a crash or a hang."""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

import frazil as fz

DATA = Path(__file__).parent.parent / "data" / "paimon"
TABLES = ("orders", "accounts")
METADATA = ("schema/*", "snapshot/*", "tag/*", "manifest/*", "index/*")


def rows(root: Path) -> list[str]:
    table = fz.open_table(root)
    scan = table.scan("id >= 0")
    found = sorted(str(row) for row in scan.to_arrow().to_pylist())
    assert scan.count() == len(found)
    return found


def expected(error: fz.FrazilError) -> None:
    """An error that says what is wrong, not that something went wrong here."""
    assert not isinstance(error, fz.InternalError), error


def look(root: Path) -> None:
    """Everything that reads metadata, whatever it makes of it."""
    for reading in (
        lambda: fz.open_table(root).snapshots,
        lambda: dict(fz.open_table(root).refs),
        lambda: fz.open_table(root).changes().to_arrow(),
        lambda: fz.open_table(root).scan("id > 2").explain(),
        lambda: fz.open_table(root).scan("id > 2").plan_table(),
    ):
        try:
            reading()
        except fz.FrazilError as error:
            expected(error)


def test_what_compresses_very_far_is_no_damage(tmp_path: Path) -> None:
    """Zstandard makes a few bytes of a long repetition; pypaimon and Java read such tables."""
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    long = "a" * 3_000_000
    options: list[tuple[bool, dict[str, Any]]] = [
        (True, {"bucket": 1}),
        (False, {"metadata.stats-mode": "full"}),
        (False, {"file-index.bloom-filter.columns": "k", "file-index.in-manifest-threshold": "10 mb"}),
        (False, {"file.format": "avro"}),
        (False, {"file.format": "orc", "metadata.stats-mode": "full"}),
    ]
    for i, (keyed, properties) in enumerate(options):
        schema = pa.schema([pa.field("k", pa.string(), nullable=not keyed), ("v", pa.int64())])
        keys = ["k"] if keyed else None
        t = catalog.create_table(f"db.t{i}", schema, properties=properties, format="paimon", identifier_fields=keys)
        t.append(pa.table({"k": [long, "b"], "v": [1, 2]}, schema))
        t = t.refresh()
        assert sorted(t.scan().to_arrow().to_pylist(), key=lambda row: row["v"]) == [
            {"k": long, "v": 1},
            {"k": "b", "v": 2},
        ]
        assert t.scan("v = 2").count() == 1
        t.delete("v = 2")
        assert t.refresh().scan().count() == 1


def test_vectors_that_are_not_told_of_are_missed(tmp_path: Path) -> None:
    """Without them the deleted rows would be back."""
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    schema = pa.schema([("id", pa.int64())])
    t = catalog.create_table("db.t", schema, properties={"deletion-vectors.enabled": True}, format="paimon")
    t.append(pa.table({"id": list(range(10))}))
    t = t.refresh()
    t.delete("id < 5")
    place = Path(t.location.removeprefix("file://"))
    assert len(rows(place)) == 5
    (manifest,) = place.glob("manifest/index-manifest-*")
    content = manifest.read_bytes()
    manifest.write_bytes(content.replace(b"_DELETIONS_VECTORS_RANGES", b"_DELETIONS_VECTORS_RANGEZ"))
    with pytest.raises(fz.CorruptTableError, match="deletion vectors"):
        rows(place)


@pytest.fixture(params=TABLES)
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[str]]:
    root = Path(shutil.copytree(DATA / request.param, tmp_path / "t"))
    return root, rows(root)


def damages(content: bytes) -> Iterator[bytes]:
    for length in {0, 1, 4, len(content) // 2, len(content) - 17, len(content) - 1}:
        yield content[: max(length, 0)]
    yield content + content
    yield b"\xff" * len(content)


def test_cut_metadata(whole: tuple[Path, list[str]]) -> None:
    """Metadata that is cut or replaced is noticed, unless the rows don't depend on it."""
    root, right = whole
    newest = max(root.glob("snapshot/snapshot-*"))
    for pattern in METADATA:
        for path in sorted(root.glob(pattern)):
            content = path.read_bytes()
            for damaged in damages(content):
                path.write_bytes(damaged)
                try:
                    assert rows(root) == right, f"{path.relative_to(root)}, {len(damaged)} bytes of {len(content)}"
                except fz.FrazilError as error:
                    expected(error)
                    assert str(root) in str(error), f"{path.relative_to(root)} is not named: {error}"
                look(root)
            path.unlink()
            if path != newest:  # without which the table is at the snapshot before
                try:
                    assert rows(root) == right, f"{path.relative_to(root)} is missing"
                except fz.FrazilError as error:
                    expected(error)
            look(root)
            path.write_bytes(content)


def test_flipped_bits(whole: tuple[Path, list[str]]) -> None:
    """A flip may hit a name or a value that nothing checks; else it is an error of our own."""
    root, right = whole
    chosen, same = random.Random(11), 0
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        content = path.read_bytes()
        for _ in range(6):
            damaged = bytearray(content)
            for _ in range(chosen.choice([1, 1, 4])):
                damaged[chosen.randrange(len(damaged))] ^= 1 << chosen.randrange(8)
            path.write_bytes(damaged)
            try:
                same += rows(root) == right
            except fz.FrazilError as error:
                expected(error)
            look(root)
        path.write_bytes(content)
    assert same > 0
    assert rows(root) == right


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes every record of an Avro file."""
    reader = fastavro.reader(io.BytesIO(path.read_bytes()))
    records = list(reader)
    for record in records:
        change(record)
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(reader.writer_schema), records)
    path.write_bytes(out.getvalue())


def manifests(root: Path) -> list[Path]:
    return [path for path in sorted(root.glob("manifest/manifest-*")) if "manifest-list" not in path.name]


@pytest.mark.parametrize("name", ["../../../outside.parquet", "/etc/hostname", "..", "", "a/../../x.parquet", "x\0y"])
def test_names_that_leave_the_table(whole: tuple[Path, list[str]], name: str) -> None:
    """What metadata calls a file's name is no way out of the table's folder."""
    root, right = whole
    outside = root.parent / "outside.parquet"
    shutil.copy(next(root.rglob("data-*.parquet")), outside)
    kept = {path: path.read_bytes() for path in manifests(root)}
    for path in kept:
        rewritten(path, lambda record: record["_FILE"].update(_FILE_NAME=name))
    with pytest.raises(fz.FrazilError):
        rows(root)
    look(root)
    for path, content in kept.items():
        path.write_bytes(content)
    for path in sorted(root.glob("manifest/manifest-list-*")):
        content = path.read_bytes()
        rewritten(path, lambda record: record.update(_FILE_NAME=name))
        try:
            assert rows(root) == right
        except fz.FrazilError as error:
            expected(error)
        look(root)
        path.write_bytes(content)
    newest = max(root.glob("snapshot/snapshot-*"))
    content = newest.read_text()
    for key in {"baseManifestList", "deltaManifestList", "indexManifest"} & json.loads(content).keys():
        newest.write_text(json.dumps({**json.loads(content), key: name}))
        with pytest.raises(fz.FrazilError):
            rows(root)
        look(root)
    newest.write_text(content)
    assert rows(root) == right


@pytest.mark.parametrize(
    "change",
    [
        {"_BUCKET": -7},
        {"_KIND": 9},
        {"_KIND": 1},
        {"_TOTAL_BUCKETS": 0},
        {"_PARTITION": b""},
        {"_PARTITION": b"\xff" * 12},
        {"_PARTITION": b"\x00\x00\x00\x01" + b"\xff" * 16},
        {"_FILE": {"_ROW_COUNT": -1}},
        {"_FILE": {"_ROW_COUNT": 2**62}},
        {"_FILE": {"_FILE_SIZE": -1}},
        {"_FILE": {"_FILE_SIZE": 2**62}},
        {"_FILE": {"_SCHEMA_ID": 77}},
        {"_FILE": {"_LEVEL": -1}},
        {"_FILE": {"_MIN_KEY": b"\x00\x00\x00\x01\xff"}},
        {"_FILE": {"_MAX_KEY": b"\x7f\xff\xff\xff" + b"\x00" * 16}},
        {"_FILE": {"_EMBEDDED_FILE_INDEX": b"\x00" * 9}},
        {"_FILE": {"_EXTERNAL_PATH": "file:///etc/hostname"}},
        {"_FILE": {"_WRITE_COLS": ["nothing"]}},
        {"_FILE": {"_FIRST_ROW_ID": -(2**63)}},
    ],
)
def test_lying_manifests(whole: tuple[Path, list[str]], change: dict[str, Any]) -> None:
    root, _ = whole
    for path in manifests(root):
        content = path.read_bytes()

        def lie(record: dict[str, Any]) -> None:
            record["_FILE"].update(change.get("_FILE", {}))
            record.update({key: value for key, value in change.items() if key != "_FILE"})

        rewritten(path, lie)
        try:
            rows(root)
        except fz.FrazilError as error:
            expected(error)
        look(root)
        path.write_bytes(content)
