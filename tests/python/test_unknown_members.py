"""Members of metadata files that only later versions know survive all commits of this one."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa

import frazil as fz

IDS = pa.schema([("id", pa.int64()), ("p", pa.string())])
MARK = "x-later"


def folder(table: fz.Table) -> Path:
    return Path(table.location.removeprefix("file://"))


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": ids, "p": ["a"] * len(ids)}, schema=IDS)


def new_table(root: Path, **options: Any) -> fz.Table:
    catalog = fz.catalog("c", warehouse=root / "wh")
    catalog.create_namespace("n")
    return catalog.create_table("n.t", IDS, **options)


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        records = list(reader)
        metadata = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
        return json.loads(reader.metadata["avro.schema"]), metadata, records


def extend(path: Path, inner: str | None = None) -> None:
    """Adds members of several types to the records of an Avro file, and to the record in one of their members."""
    schema, metadata, records = read(path)
    later = [
        {"name": "later_text", "type": ["null", "string"], "default": None, "field-id": 9001},
        {
            "name": "later_map",
            "type": [
                "null",
                {"type": "map", "values": {"type": "record", "name": "v", "fields": [{"name": "n", "type": "long"}]}},
            ],
            "default": None,
            "field-id": 9002,
        },
    ]
    number = {"name": "later_number", "type": "double", "default": 0.5, "field-id": 9003}
    # Unknown members may stand anywhere.
    schema["fields"] = [later[0], *schema["fields"], later[1]]
    if inner:
        file = next(field for field in schema["fields"] if field["name"] == inner)["type"]
        file["fields"].insert(1, number)
    for record in records:
        record |= {"later_text": f"text of {path.name}", "later_map": {"k": {"n": 7}}}
        if inner:
            record[inner]["later_number"] = 2.25
    with path.open("wb") as file:
        fastavro.writer(file, schema, records, codec="deflate", metadata=metadata)


def extend_json(value: Any, free: tuple[str, ...] = ()) -> Any:
    """Adds a member to every object, except to those that hold names of users."""
    if isinstance(value, list):
        return [extend_json(item, free) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {key: item if key in free else extend_json(item, free) for key, item in value.items()}
    return inner | {MARK: {"n": [1, None, "t"]}}


def marks(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where the added members are, without places in lists."""
    if isinstance(value, list):
        for item in value:
            yield from marks(item, path)
    elif isinstance(value, dict):
        if MARK in value:
            assert value[MARK] == {"n": [1, None, "t"]}
            yield path
        for key, item in value.items():
            if key != MARK:
                yield from marks(item, (*path, key))


def relist(table: fz.Table) -> None:
    """Writes the lengths of all manifests into the manifest lists."""
    for path in folder(table).glob("metadata/snap-*.avro"):
        schema, metadata, records = read(path)
        for record in records:
            record["manifest_length"] = Path(record["manifest_path"].removeprefix("file://")).stat().st_size
        with path.open("wb") as file:
            fastavro.writer(file, schema, records, codec="deflate", metadata=metadata)


def current(table: fz.Table) -> dict[str, Any]:
    table = fz.open_table(table.location)
    return json.loads(Path(table.metadata_location.removeprefix("file://")).read_text())


def current_list(table: fz.Table) -> list[dict[str, Any]]:
    metadata = current(table)
    (snapshot,) = [s for s in metadata["snapshots"] if s["snapshot-id"] == metadata["current-snapshot-id"]]
    return read(Path(snapshot["manifest-list"].removeprefix("file://")))[2]


def test_iceberg(tmp_path: Path) -> None:
    properties = {"commit.manifest.min-count-to-merge": "100"}
    table = new_table(tmp_path, partition_by=["p"], properties=properties)
    for i in range(3):
        table = table.append(rows(i))
    table.refs.create_tag("t")
    for path in folder(table).glob("metadata/*-m*.avro"):
        extend(path, "data_file")
    relist(table)
    for path in folder(table).glob("metadata/snap-*.avro"):
        extend(path)
    path = Path(fz.open_table(table.location).metadata_location.removeprefix("file://"))
    before = extend_json(json.loads(path.read_text()), free=("properties", "summary", "type"))
    before["refs"].pop(MARK)
    path.write_text(json.dumps(before))

    table = fz.open_table(table.location).append(rows(9))
    table = table.set_properties({"a": "b"})
    assert set(marks(before)) <= set(marks(current(table)))
    listed = current_list(table)
    assert len(listed) == 4
    assert sorted(str(m["later_text"]) for m in listed)[0] == "None"
    assert sum(m["later_map"] == {"k": {"n": 7}} for m in listed) == 3

    # The manifests are joined; a file is removed from the result, and the rest is rewritten.
    table.maintain.rewrite_manifests()
    table = fz.open_table(table.location)
    table.delete("id = 1")
    assert sorted(fz.open_table(table.location).scan().to_arrow()["id"].to_pylist()) == [0, 2, 9]
    entries = [e for m in current_list(table) for e in read(Path(m["manifest_path"].removeprefix("file://")))[2]]
    later = [(e["later_map"], e["data_file"]["later_number"]) for e in entries if e["status"] != 2]
    assert later.count(({"k": {"n": 7}}, 2.25)) == 2
    assert later.count((None, 0.5)) == 1


def test_paimon(tmp_path: Path) -> None:
    table = new_table(
        tmp_path, format="paimon", properties={"manifest.merge-min-count": "2", "manifest.compression": "deflate"}
    )
    for i in range(2):
        table = table.append(rows(i))
    root = folder(table)
    for path in root.glob("manifest/manifest-*"):
        extend(path, None if "list" in path.name else "_FILE")
    for path in root.glob("manifest/manifest-list-*"):
        schema, metadata, records = read(path)
        for record in records:
            record["_FILE_SIZE"] = (root / "manifest" / record["_FILE_NAME"]).stat().st_size
        with path.open("wb") as file:
            fastavro.writer(file, schema, records, codec="deflate", metadata=metadata)
    for path in [*root.glob("snapshot/snapshot-*"), *root.glob("schema/schema-*")]:
        content = extend_json(json.loads(path.read_text()), free=("options", "properties"))
        for key in ("baseManifestList", "deltaManifestList"):
            if key in content:
                content[f"{key}Size"] = (root / "manifest" / content[key]).stat().st_size
        path.write_text(json.dumps(content))

    table = fz.open_table(table.location).append(rows(9))
    with table.update_schema() as update:
        update.add_column("q", pa.int32())
    table = fz.open_table(table.location)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [0, 1, 9]
    snapshot = json.loads((root / "snapshot/snapshot-3").read_text())
    merged = read(root / "manifest" / snapshot["baseManifestList"])[2]
    entries = [e for m in merged for e in read(root / "manifest" / m["_FILE_NAME"])[2]]
    assert len(entries) == 2
    assert all(e["later_map"] == {"k": {"n": 7}} and e["_FILE"]["later_number"] == 2.25 for e in entries)
    for path in root.glob("schema/schema-*"):
        schema = json.loads(path.read_text())
        assert MARK in schema
        assert MARK in schema["fields"][0]


def test_sidecars_and_bucket_totals_of_newer_lists(tmp_path: Path) -> None:
    """As pypaimon 2.1 writes lists: each manifest may have other files next to it."""
    table = new_table(tmp_path, format="paimon", properties={"manifest.compression": "deflate"})
    for i in range(2):
        table = table.append(rows(i))
    root = folder(table)
    sidecars = []
    for path in root.glob("manifest/manifest-list-*"):
        schema, metadata, records = read(path)
        schema["fields"] += [
            {"name": "_TOTAL_BUCKETS", "type": ["null", "int"], "default": None},
            {"name": "_EXTRA_FILES", "type": ["null", {"type": "array", "items": "string"}], "default": None},
        ]
        for record in records:
            name = record["_FILE_NAME"] + ".avro.sidecar"
            (root / "manifest" / name).write_bytes(b"index")
            sidecars.append(name)
            record |= {"_TOTAL_BUCKETS": 4, "_EXTRA_FILES": [name]}
        with path.open("wb") as file:
            fastavro.writer(file, schema, records, codec="deflate", metadata=metadata)
    for path in root.glob("snapshot/snapshot-*"):
        content = json.loads(path.read_text())
        for key in ("baseManifestList", "deltaManifestList"):
            content[f"{key}Size"] = (root / "manifest" / content[key]).stat().st_size
        path.write_text(json.dumps(content))
    assert sidecars
    table = fz.open_table(table.location).append(rows(9))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [0, 1, 9]
    snapshot = json.loads((root / "snapshot/snapshot-3").read_text())
    base = read(root / "manifest" / snapshot["baseManifestList"])[2]
    kept = [(record["_TOTAL_BUCKETS"], record["_EXTRA_FILES"]) for record in base]
    assert sorted(kept) == sorted((4, [record["_FILE_NAME"] + ".avro.sidecar"]) for record in base)
    stray = root / "manifest" / "manifest-x.avro.sidecar"
    stray.write_bytes(b"orphan")
    removed = fz.open_table(table.location).maintain.remove_orphan_files(older_than=dt.timedelta(0))
    assert all((root / "manifest" / name).exists() for name in sidecars)
    assert not stray.exists(), removed
