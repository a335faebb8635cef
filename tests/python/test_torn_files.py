"""Files that were cut off or lack parts, although each of them looks whole: lengths and counts above them tell."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

import frazil as fz

IDS = pa.schema([("id", pa.int64())])


def folder(table: fz.Table) -> Path:
    return Path(table.location.removeprefix("file://"))


def new_catalog(root: Path) -> fz.Catalog:
    catalog = fz.catalog("c", warehouse=root / "wh")
    catalog.create_namespace("n")
    return catalog


def hundreds(root: Path, **options: Any) -> fz.Table:
    table = new_catalog(root).create_table("n.t", IDS, **options)
    table = table.append(pa.table({"id": range(100)}, schema=IDS))
    return table.append(pa.table({"id": range(100, 200)}, schema=IDS))


def without_blocks(path: Path) -> bytes:
    """Leaves only the container's header; the old content. The sync marker is the last 16 bytes of a file."""
    content = path.read_bytes()
    sync = content[-16:]
    path.write_bytes(content[: content.index(sync) + 16])
    return content


def refused(table: fz.Table, path: Path) -> None:
    """Reading and maintaining a table refuse a file that was cut off."""
    content = without_blocks(path)
    for attempt in (
        lambda: fz.open_table(table.location).scan().to_arrow(),
        lambda: fz.open_table(table.location).maintain.remove_orphan_files(dry_run=True),
    ):
        with pytest.raises(fz.CorruptTableError, match="cut off or replaced"):
            attempt()
    path.write_bytes(content)
    fz.open_table(table.location).scan().to_arrow()


def test_manifests_and_lists_of_iceberg(tmp_path: Path) -> None:
    table = hundreds(tmp_path, properties={"write.delete.mode": "merge-on-read"})
    before = set(folder(table).glob("metadata/*.avro"))
    table.delete("id in (3, 105)")
    for path in sorted(folder(table).glob("metadata/*-m*.avro")):
        refused(table, path)
    (newest,) = set(folder(table).glob("metadata/snap-*.avro")) - before
    refused(table, newest)
    assert fz.open_table(table.location).scan().count() == 198


def test_manifests_and_lists_of_paimon(tmp_path: Path) -> None:
    table = hundreds(tmp_path, format="paimon")
    manifests = sorted(folder(table).glob("manifest/manifest-*"))
    snapshot = json.loads((folder(table) / "snapshot/snapshot-2").read_text())
    current = {snapshot["baseManifestList"], snapshot["deltaManifestList"]}
    for path in manifests:
        if "list" not in path.name or path.name in current:
            content = without_blocks(path)
            with pytest.raises(fz.CorruptTableError, match="cut off or replaced"):
                fz.open_table(table.location).scan().to_arrow()
            path.write_bytes(content)
    assert fz.open_table(table.location).scan().count() == 200


def rewrite(path: Path, change: Callable[[dict[str, Any], list[dict[str, Any]]], None]) -> None:
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        records = list(reader)
        schema = json.loads(reader.metadata["avro.schema"])
        metadata = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
    change(schema, records)
    with path.open("wb") as file:
        fastavro.writer(file, schema, records, codec="deflate", metadata=metadata)


def relisted(table: fz.Table, manifest: Path) -> None:
    """Writes the new length of a manifest into the manifest list."""
    for path in folder(table).glob("metadata/snap-*.avro"):

        def change(_: dict[str, Any], records: list[dict[str, Any]]) -> None:
            for record in records:
                if record["manifest_path"].endswith(manifest.name):
                    record["manifest_length"] = manifest.stat().st_size

        rewrite(path, change)


def test_a_partition_struct_without_the_field_of_its_spec(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("s", pa.string())])
    table = new_catalog(tmp_path).create_table("n.t", schema, partition_by=["s"])
    table = table.append(pa.table({"id": [1, 2], "s": ["a", "a"]}, schema=schema))
    (manifest,) = folder(table).glob("metadata/*-m0.avro")

    def change(avro: dict[str, Any], records: list[dict[str, Any]]) -> None:
        file = next(field for field in avro["fields"] if field["name"] == "data_file")["type"]
        next(field for field in file["fields"] if field["name"] == "partition")["type"]["fields"] = []
        for record in records:
            record["data_file"]["partition"] = {}

    rewrite(manifest, change)
    relisted(table, manifest)
    with pytest.raises(fz.CorruptTableError, match="lack the field 's'"):
        fz.open_table(table.location).scan("s = 'a'").to_arrow()


@pytest.mark.parametrize("format", ["iceberg", "paimon"])
@pytest.mark.parametrize("type", [pa.binary(0), pa.list_(pa.binary(0)), pa.struct([])], ids=str)
def test_types_that_cant_be_written_are_refused_at_once(tmp_path: Path, format: str, type: pa.DataType) -> None:
    with pytest.raises(fz.InvalidInputError, match="can't be stored"):
        new_catalog(tmp_path).create_table("n.t", pa.schema([("id", pa.int64()), ("c", type)]), format=format)


def test_partition_fields_with_one_name_are_told_apart(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("s", pa.string())])
    table = new_catalog(tmp_path).create_table("n.t", schema, partition_by=["truncate(1, s)"])
    table.append(pa.table({"id": [0, 1], "s": ["v000", "v001"]}, schema=schema))
    path = Path(fz.open_table(table.location).metadata_location.removeprefix("file://"))
    metadata = json.loads(path.read_text())
    first = metadata["partition-specs"][0]["fields"][0]
    twin = first | {"transform": "truncate[10]", "field-id": 1001}
    metadata["partition-specs"].append({"spec-id": 1, "fields": [twin]})
    path.write_text(json.dumps(metadata | {"default-spec-id": 1, "last-partition-id": 1001}))
    table = fz.open_table(table.location)
    table = table.append(pa.table({"id": [2, 3], "s": ["v002", "v003"]}, schema=schema))
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [0, 1, 2, 3]
    assert table.scan("s = 'v003'").to_arrow()["id"].to_pylist() == [3]
    names = {"s_trunc", "s_trunc_1000"}
    for row in table.inspect.files().to_pylist() + table.inspect.partitions().to_pylist():
        assert set(row["partition"]) == names
    found = {row["id"]: row["_partition"] for row in table.scan(select=["id", "_partition"]).to_arrow().to_pylist()}
    assert found[0] == {"s_trunc": None, "s_trunc_1000": "v"}
    assert found[3] == {"s_trunc": "v003", "s_trunc_1000": None}
