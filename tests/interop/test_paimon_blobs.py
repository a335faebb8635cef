"""Columns of type BLOB, whose values are in files of their own: Java's tables in Frazil, and Frazil's in Java."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from java_side import assert_whole
from paimon_java import DATABASE, LAST_IDENTIFIER, Paimon, PaimonTable

import frazil as fz

COLUMNS = {"id": "INT", "name": "STRING", "pic": "BLOB", "doc": "BLOB"}
OPTIONS = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}

Row = tuple[int, str | None, bytes | None, bytes | None]


def picture(i: int) -> bytes | None:
    return None if i % 4 == 1 else bytes([i % 256]) * (i * 31)


def made(ids: range) -> list[Row]:
    return [(i, f"n{i}" if i % 7 else None, picture(i), f"doc{i}".encode()) for i in ids]


def java_writes(table: PaimonTable, rows: list[Row]) -> None:
    """One commit of rows."""
    api, loaded = table.api, table.load()
    writer = loaded.newWrite(table.user)
    writer.withIOManager(api.disk.IOManager.create(str(table.paimon.folder)))
    for id_, name, *blobs in rows:
        row = api.data.GenericRow(4)
        row.setField(0, id_)
        row.setField(1, None if name is None else api.data.BinaryString.fromString(name))
        for at, blob in enumerate(blobs, 2):
            row.setField(at, None if blob is None else api.data.BlobData(blob))
        writer.write(row)
    commit = loaded.newCommit(table.user)
    commit.commit(LAST_IDENTIFIER, writer.prepareCommit(True, LAST_IDENTIFIER))
    commit.close()
    writer.close()


def java_reads(table: PaimonTable, options: Mapping[str, object] | None = None) -> list[Row]:
    """All rows, by `id`."""
    loaded = table.load(options)
    found = []
    for split in loaded.newScan().plan().splits():
        rows = table.api.reader.RecordReaderIterator(loaded.newRead().createReader(split))
        while rows.hasNext():
            row = rows.next()
            name = None if row.isNullAt(1) else row.getString(1).toString()
            blobs = [None if row.isNullAt(at) else bytes(row.getBlob(at).toData()) for at in (2, 3)]
            found.append((row.getInt(0), name, *blobs))
        rows.close()
    return sorted(found)


def frazil_reads(table: fz.Table, **scan: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.scan(**scan).to_arrow().to_pylist())


def arrow(rows: list[Row]) -> pa.Table:
    ids, names, pictures, documents = zip(*rows, strict=True)
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "name": pa.array(names, pa.string()),
            "pic": pa.array(pictures, pa.large_binary()),
            "doc": pa.array(documents, pa.binary()),
        }
    )


SIZES: list[dict[str, object]] = [{}, {"blob.target-file-size": "400 b"}]


@pytest.mark.parametrize("sizes", SIZES, ids=["large files", "small files"])
def test_java_tables(paimon: Paimon, sizes: dict[str, object]) -> None:
    table = paimon.create("blobs", COLUMNS, options={**OPTIONS, **sizes})
    for start in (0, 20):
        java_writes(table, made(range(start, start + 20)))
    opened, rows = table.open(), made(range(40))
    assert java_reads(table) == rows
    assert frazil_reads(opened) == rows
    assert frazil_reads(opened, select=["id", "pic"], filter="id >= 37") == [(i, picture(i)) for i in (37, 38, 39)]
    assert opened.scan(filter="pic is null").count() == 10
    assert opened.scan(filter="pic is not null and id < 10").count() == 7
    assert opened.scan(select=["name"]).count() == 40
    blobs = [file for file in opened.inspect.data_files().to_pylist() if file["file_path"].endswith(".blob")]
    assert (len(blobs) > 4) == bool(sizes)


@pytest.mark.parametrize("sizes", SIZES, ids=["large files", "small files"])
def test_frazil_tables(paimon: Paimon, tmp_path: Path, sizes: dict[str, object]) -> None:
    catalog = fz.catalog("java", warehouse=str(paimon.warehouse))
    name = f"frazil_blobs_{len(sizes)}"
    schema = arrow(made(range(1))).schema
    options = {**OPTIONS, **sizes, "blob-field": "pic,doc", "target-file-size": "2 kb"}
    table = catalog.create_table(f"{DATABASE}.{name}", schema, format="paimon", properties=options)
    for start in (0, 40):
        table.append(arrow(made(range(start, start + 40))))
    java = PaimonTable(paimon, name)
    types = [str(type_.asSQLString()) for type_ in java.load().rowType().getFieldTypes()]
    assert types == ["INT", "STRING", "BLOB", "BLOB"]
    assert java_reads(java) == made(range(80))
    java_writes(java, made(range(80, 100)))
    assert frazil_reads(java.open()) == java_reads(java) == made(range(100))
    assert_whole(str(java.root))


def test_updated_columns(paimon: Paimon) -> None:
    """Java takes each column from the newest file that has it: one that Frazil wrote."""
    table = paimon.create("blobs", COLUMNS, options=OPTIONS)
    java_writes(table, made(range(20)))
    table.open().update("id % 2 = 1", {"name": "odd"})
    wanted = [(i, "odd" if i % 2 else name, *blobs) for i, name, *blobs in made(range(20))]
    assert java_reads(table) == frazil_reads(table.open()) == wanted
    java_writes(table, made(range(20, 30)))
    table.open().update("id >= 18", {"name": None})
    wanted = [(i, None if i >= 18 else name, *blobs) for i, name, *blobs in [*wanted, *made(range(20, 30))]]
    assert java_reads(table) == frazil_reads(table.open()) == wanted
    assert_whole(str(table.root))


def test_descriptors_name_the_bytes(paimon: Paimon) -> None:
    table = paimon.create("blobs", COLUMNS, options=OPTIONS)
    java_writes(table, made(range(6)))
    table.alter(table.change.setOption("blob-as-descriptor", "true"))
    described = table.open().scan(select=["id", "doc"]).to_arrow().to_pylist()
    for row in described:
        descriptor = table.api.data.BlobDescriptor.deserialize(row["doc"])
        place = str(descriptor.uri()).removeprefix("file:")
        start, length = int(descriptor.offset()), int(descriptor.length())
        assert Path(place).read_bytes()[start : start + length] == f"doc{row['id']}".encode()
