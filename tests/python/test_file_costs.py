"""What a file may cost: sizes and counts that it claims take no memory before the bytes are there."""

from __future__ import annotations

import os
import pathlib
import struct
import subprocess
import sys
import textwrap
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz

IDS = pa.schema([("id", pa.int64())])
TEXTS = pa.schema([("s", pa.string())])

# Reads a table with little memory. Ends with 0 if the rows are there, and with 3 after an error of our own.
CHILD = textwrap.dedent(
    """
    import resource, sys
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import frazil as fz
    try:
        fz.open_table(sys.argv[1]).scan().to_arrow()
    except fz.InternalError as error:
        print(error)
        sys.exit(1)
    except fz.FrazilError as error:
        print(error)
        sys.exit(3)
    """
)


def read_elsewhere(table: fz.Table, **environment: str) -> tuple[int, str]:
    """The exit code of a process that reads a table, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, table.location],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
    )
    return done.returncode, done.stdout


def new_table(root: pathlib.Path, schema: pa.Schema, **options: str) -> fz.Table:
    catalog = fz.catalog("c", warehouse=root / "wh")
    catalog.create_namespace("n")
    return catalog.create_table("n.t", schema, **options)


def one_file(root: pathlib.Path, pattern: str) -> pathlib.Path:
    (path,) = root.glob(pattern)
    return path


@pytest.mark.parametrize(
    ("format", "pattern"),
    [
        ("iceberg", "metadata/v2.metadata.json"),
        ("iceberg", "metadata/*-m0.avro"),
        ("iceberg", "metadata/snap-*.avro"),
        ("iceberg", "metadata/version-hint.text"),
        ("iceberg", "data/*.parquet"),
        ("paimon", "snapshot/LATEST"),
        ("paimon", "snapshot/snapshot-1"),
        ("paimon", "schema/schema-0"),
        ("paimon", "manifest/manifest-list-*-1"),
    ],
)
def test_a_sparse_file_of_terabytes_is_an_error(tmp_path: pathlib.Path, format: str, pattern: str) -> None:
    table = new_table(tmp_path, IDS, format=format)
    table = table.append(pa.table({"id": [1]}, schema=IDS))
    path = one_file(pathlib.Path(table.location.removeprefix("file://")), pattern)
    os.truncate(path, 1 << 42)
    code, text = read_elsewhere(table)
    is_hint = path.name in ("LATEST", "version-hint.text")
    assert code == (0 if is_hint else 3), text
    if "data" not in pattern and not is_hint:
        assert str(1 << 42) in text
        assert "FRAZIL_MAX_READ_BYTES" in text


def test_the_limit_of_reads_can_be_set(tmp_path: pathlib.Path) -> None:
    table = new_table(tmp_path, IDS).append(pa.table({"id": [1]}, schema=IDS))
    assert read_elsewhere(table)[0] == 0
    code, text = read_elsewhere(table, FRAZIL_MAX_READ_BYTES="100")
    assert code == 3
    assert "more than 100" in text


def varint(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append((n & 127) | 128)
        n >>= 7
    return bytes([*out, n])


def zigzag(n: int) -> bytes:
    return varint(((n << 1) ^ (n >> 63)) & (2**64 - 1))


def structure(*fields: tuple[int, int, bytes]) -> bytes:
    out, last = b"", 0
    for field, code, value in fields:
        out += bytes([((field - last) << 4) | code]) + value
        last = field
    return out + b"\0"


def items(code: int, *values: bytes) -> bytes:
    return bytes([(len(values) << 4) | code]) + b"".join(values)


def text_of(value: bytes) -> bytes:
    return varint(len(value)) + value


def parquet_file(encoding: int, page: bytes, rows: int) -> bytes:
    """A Parquet file of one page of a required column of strings."""
    counts = structure((1, 5, zigzag(rows)), (2, 5, zigzag(encoding)), (3, 5, zigzag(3)), (4, 5, zigzag(3)))
    size = zigzag(len(page))
    head = structure((1, 5, zigzag(0)), (2, 5, size), (3, 5, size), (5, 12, counts))
    total = zigzag(len(head) + len(page))
    column = structure(
        (1, 5, zigzag(6)), (3, 5, zigzag(0)), (4, 8, text_of(b"s")), (6, 5, zigzag(0)), (9, 5, zigzag(1))
    )
    schema = items(12, structure((4, 8, text_of(b"r")), (5, 5, zigzag(1))), column)
    chunk = structure(
        (1, 5, zigzag(6)),
        (2, 9, items(5, zigzag(encoding), zigzag(3))),
        (3, 9, items(8, text_of(b"s"))),
        (4, 5, zigzag(0)),
        (5, 6, zigzag(rows)),
        (6, 6, total),
        (7, 6, total),
        (9, 6, zigzag(4)),
    )
    group = structure(
        (1, 9, items(12, structure((2, 6, zigzag(0)), (3, 12, chunk)))), (2, 6, total), (3, 6, zigzag(rows))
    )
    footer = structure((1, 5, zigzag(1)), (2, 9, schema), (3, 6, zigzag(rows)), (4, 9, items(12, group)))
    return b"PAR1" + head + page + footer + struct.pack("<I", len(footer)) + b"PAR1"


@pytest.mark.parametrize("encoding", [6, 7], ids=["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
def test_a_page_that_claims_a_trillion_strings_is_damaged(tmp_path: pathlib.Path, encoding: int) -> None:
    table = new_table(tmp_path, TEXTS).append(pa.table({"s": ["a", "b", "c"]}))
    path = pathlib.Path(next(iter(table.scan().plan_files())).data_file.path.removeprefix("file://"))
    page = varint(1 << 40) + varint(1) + varint(1 << 40) + zigzag(0) + zigzag(0) + b"\0"
    path.write_bytes(parquet_file(encoding, page, 3))
    assert read_elsewhere(table)[0] == 3


@pytest.mark.parametrize("codec", ["brotli", "gzip", "zstd", "snappy", "lz4"])
def test_a_sound_page_of_few_bytes_is_read_within_the_budget(tmp_path: pathlib.Path, codec: str) -> None:
    table = new_table(tmp_path, TEXTS)
    path = tmp_path / "few.parquet"
    rows = pa.table({"s": ["x" * 30_000_000]})
    pq.write_table(rows, path, compression=codec, use_dictionary=False, write_statistics=False)
    table = table.add_files([str(path)])
    assert len(table.scan().to_arrow()["s"][0].as_py()) == 30_000_000
    if codec in ("brotli", "zstd"):
        code, text = read_elsewhere(table, FRAZIL_MAX_INFLATED_BYTES="1000000")
        assert code == 3
        assert "FRAZIL_MAX_INFLATED_BYTES" in text


@pytest.mark.parametrize("codec", ["brotli", "gzip"])
def test_pages_of_several_codecs_and_columns_are_read(tmp_path: pathlib.Path, codec: str) -> None:
    schema = pa.schema([("i", pa.int64()), ("s", pa.string()), ("l", pa.list_(pa.int32()))])
    rows = pa.table(
        {
            "i": pa.array(range(5000), pa.int64()),
            "s": [None if i % 7 == 0 else f"text {i % 50}" for i in range(5000)],
            "l": pa.array([[i, None] for i in range(5000)], pa.list_(pa.int32())),
        },
        schema=schema,
    )
    path = tmp_path / "rows.parquet"
    pq.write_table(rows, path, compression=codec, data_page_size=4000, data_page_version="2.0")
    table = new_table(tmp_path, schema).add_files([str(path)])
    assert table.scan().to_arrow().equals(rows)
    assert table.scan("i >= 4990", select=["i", "s"]).to_arrow().equals(rows.slice(4990).select(["i", "s"]))


def test_names_with_many_dots_take_linear_time(tmp_path: pathlib.Path) -> None:
    table = new_table(tmp_path, IDS)
    begun = time.perf_counter()
    for name in ("a" + ".a" * 50_000, "A" + ".a" * 50_000):
        with pytest.raises(fz.InvalidInputError, match="no column"):
            table.scan(f"{name} = 1").count()
        with pytest.raises(fz.InvalidInputError, match="no column"):
            table.scan(select=[name]).count()
    assert time.perf_counter() - begun < 20
    with pytest.raises(fz.InvalidInputError, match="100000 parts"):
        table.scan("a" + ".a" * 200_000 + " = 1")
    with pytest.raises(fz.InvalidInputError, match="at most 100000"):
        table.scan(select=["a" + ".a" * 200_000]).count()
