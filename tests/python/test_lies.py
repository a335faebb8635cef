"""Random lies in all statistics, in both formats: a filter finds the right rows, or a FrazilError tells why not.

Each lie contradicts itself, another statistic or its type. A lie that agrees with everything else can't be found.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import struct
from collections.abc import Callable
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz
from conftest import NIGHTLY
from test_foreign_tables import FILTERS as MORE_FILTERS
from test_foreign_tables import VALUES, Entry, edited, ids, lies
from thrift_compact import Fields, Items, read, written

SEEDS = 400 if NIGHTLY else 40
ROWS = 120
SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string()), ("f", pa.float64()), ("n", pa.int32())])
# The numbers of fields in Parquet's structs.
NUM_ROWS, COLUMNS, ROW_GROUPS = 3, 1, 4
META, OFFSETS_AT, OFFSETS_LENGTH, BOUNDS_AT, BOUNDS_LENGTH = 3, 4, 5, 6, 7
NUM_VALUES, STATISTICS = 5, 12
NULL_COUNT, MAX_VALUE, MIN_VALUE = 3, 5, 6
NULL_PAGES, MIN_VALUES, MAX_VALUES, NULL_COUNTS = 1, 2, 3, 5
PAGE_OFFSET, PAGE_SIZE, FIRST_ROW = 1, 2, 3

Lie = Callable[[random.Random, Any], None]


def data() -> pa.Table:
    ids = range(ROWS)
    columns = {
        "id": list(ids),
        "s": [None if i % 11 == 3 else f"text {i // 7:03d}" for i in ids],
        "f": [float("nan") if i % 13 == 5 else None if i % 17 == 4 else i / 4 - 10 for i in ids],
        "n": [None if i < 30 else i % 50 for i in ids],
    }
    return pa.table(columns, schema=SCHEMA)


# What each filter keeps, by Python. Iceberg and Paimon order NaN above all numbers.
FILTERS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "id = 77": lambda r: r["id"] == 77,
    "id > 100": lambda r: r["id"] > 100,
    "id < 9": lambda r: r["id"] < 9,
    "id is null": lambda r: False,
    "s = 'text 005'": lambda r: r["s"] == "text 005",
    "s is null": lambda r: r["s"] is None,
    "s is not null": lambda r: r["s"] is not None,
    "s < 'text 002'": lambda r: r["s"] is not None and r["s"] < "text 002",
    "f < -5": lambda r: r["f"] is not None and r["f"] < -5,
    "f = 7.5": lambda r: r["f"] == 7.5,
    "f is nan": lambda r: r["f"] is not None and r["f"] != r["f"],
    "f is null": lambda r: r["f"] is None,
    "n = 3": lambda r: r["n"] == 3,
    "n is null": lambda r: r["n"] is None,
    "n > 40 and id < 60": lambda r: r["n"] is not None and r["n"] > 40 and r["id"] < 60,
}
RIGHT = {text: sorted(row["id"] for row in data().to_pylist() if keeps(row)) for text, keeps in FILTERS.items()}


def check(location: str, told: object) -> int:
    """Returns how many filters found their rows; the others raised errors."""
    right = 0
    for text, rows in RIGHT.items():
        try:
            found = sorted(fz.open_table(location).scan(text).to_arrow()["id"].to_pylist())
        except fz.FrazilError:
            continue
        assert found == rows, (told, text)
        right += 1
    return right


# ---------------------------------------------------------------- Parquet


def of_all_nulls(statistics: Fields, values: int) -> None:
    if statistics.get(NULL_COUNT) is not None:
        statistics[NULL_COUNT] = values


def count_of(draw: random.Random) -> int:
    return draw.choice([-1, -7, 2**31, 2**62, ROWS + 1])


def odd_bytes(draw: random.Random, column: int, value: bytes) -> bytes:
    """Bytes that no value of the column has."""
    if column == 1:
        return b"\xff\xfe" + value
    if column == 2 and draw.random() < 0.5:
        return struct.pack("<d", float("nan"))
    return value[: draw.randrange(len(value))] if draw.random() < 0.5 else value + b"\0"


def lie_in_row_group(draw: random.Random, column: int, chunk: Fields) -> str:
    """Statistics of a column chunk."""
    meta = chunk[META]
    statistics = meta.get(STATISTICS)
    kind = draw.choice(["swapped", "nulls", "count", "odd"])
    if statistics is None or statistics.get(MIN_VALUE) is None:
        return "nothing"
    match kind:
        case "swapped":
            statistics[MIN_VALUE], statistics[MAX_VALUE] = statistics[MAX_VALUE], statistics[MIN_VALUE]
        case "nulls":
            of_all_nulls(statistics, meta[NUM_VALUES])
        case "count" if statistics.get(NULL_COUNT) is not None:
            statistics[NULL_COUNT] = count_of(draw)
        case _:
            for number in draw.choice([[MIN_VALUE], [MAX_VALUE], [MIN_VALUE, MAX_VALUE]]):
                statistics[number] = odd_bytes(draw, column, statistics[number])
    return kind


def lie_in_column_index(draw: random.Random, column: int, index: Fields) -> str:
    """Bounds of pages."""
    lows, highs, empty = index[MIN_VALUES].items, index[MAX_VALUES].items, index[NULL_PAGES].items
    kind = draw.choice(["swapped", "shorter", "null pages", "counts", "odd"])
    full = [page for page, is_empty in enumerate(empty) if not is_empty]
    match kind:
        case "swapped":
            index[MIN_VALUES], index[MAX_VALUES] = index[MAX_VALUES], index[MIN_VALUES]
        case "shorter":
            draw.choice([lows, highs, empty]).pop()
        case "null pages" if full:
            empty[draw.choice(full)] = True
        case "counts" if index.get(NULL_COUNTS) is not None:
            counts = index[NULL_COUNTS].items
            counts[draw.randrange(len(counts))] = count_of(draw)
        case _ if full:
            page = draw.choice(full)
            for values in draw.choice([[lows], [highs], [lows, highs]]):
                values[page] = odd_bytes(draw, column, values[page])
    return kind


def lie_in_offset_index(draw: random.Random, column: int, index: Fields) -> str:
    """Places of pages."""
    pages: Items = index[1]
    kind = draw.choice(["lost first", "lost last", "order", "row", "offset", "size"])
    page = draw.choice(pages.items)
    match kind:
        case "lost first":
            pages.items.pop(0)
        case "lost last":
            pages.items.pop()
        case "order":
            pages.items.reverse()
        case "row":
            page[FIRST_ROW] = draw.choice([-1, ROWS, 2**40])
        case "offset":
            page[PAGE_OFFSET] += draw.choice([-1, 1, 2**40, -(2**40)])
        case _:
            page[PAGE_SIZE] = draw.choice([-1, 0, 1, 2**31 - 1, page[PAGE_SIZE] + 1])
    return kind


def with_parquet_lies(draw: random.Random, path: pathlib.Path) -> list[str]:
    """Puts up to three lies into a Parquet file."""
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    footer, body, told = read(content[-8 - length : -8]), bytearray(content[: -8 - length]), []
    for _ in range(draw.randint(1, 3)):
        column = draw.randrange(len(SCHEMA))
        group = draw.choice(footer[ROW_GROUPS].items)
        chunk = group[COLUMNS].items[column]
        layer = draw.choice(["group", "bounds", "offsets"])
        if layer == "group":
            told.append(f"{layer} {SCHEMA.names[column]}: {lie_in_row_group(draw, column, chunk)}")
            continue
        at, size = (BOUNDS_AT, BOUNDS_LENGTH) if layer == "bounds" else (OFFSETS_AT, OFFSETS_LENGTH)
        index = read(bytes(body[chunk[at] : chunk[at] + chunk[size]]))
        lie = lie_in_column_index if layer == "bounds" else lie_in_offset_index
        told.append(f"{layer} {SCHEMA.names[column]}: {lie(draw, column, index)}")
        packed = written(index)
        chunk[at], chunk[size] = len(body), len(packed)
        body += packed
    packed = written(footer)
    path.write_bytes(bytes(body) + packed + len(packed).to_bytes(4, "little") + b"PAR1")
    return told


def write_pages(path: pathlib.Path) -> None:
    """A file of three row groups with small pages and both indexes."""
    pq.write_table(
        data(),
        path,
        row_group_size=40,
        data_page_size=40,
        write_batch_size=8,
        write_page_index=True,
        use_dictionary=False,
    )


def test_the_written_structs_are_read_as_they_were(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.parquet"
    write_pages(path)
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    footer = read(content[-8 - length : -8])
    assert written(footer) == content[-8 - length : -8]
    chunk = footer[ROW_GROUPS].items[0][COLUMNS].items[0]
    assert len(read(content[chunk[OFFSETS_AT] :])[1].items) > 2
    assert read(content[chunk[BOUNDS_AT] :])[NULL_COUNTS] is not None


@pytest.mark.parametrize("seed", range(SEEDS))
def test_lies_of_parquet_files_of_iceberg(catalog: fz.Catalog, tmp_path: pathlib.Path, seed: int) -> None:
    path = tmp_path / "x.parquet"
    write_pages(path)
    table = catalog.create_table("db.t", SCHEMA).add_files([str(path)]).refresh()
    assert check(table.location, "no lie") == len(RIGHT)
    told = with_parquet_lies(random.Random(seed), path)
    size = os.path.getsize(path)
    table = edited(table, lambda file: file.update(file_size_in_bytes=size, split_offsets=None))
    check(table.location, told)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_lies_of_manifests_of_iceberg(catalog: fz.Catalog, seed: int) -> None:
    table = catalog.create_table("db.t", pa.table(VALUES).schema).append(pa.table(VALUES))
    right = {text: ids(table, text) for text in MORE_FILTERS}
    draw, known = random.Random(seed), lies()
    told = draw.sample(sorted(known), draw.randint(2, 3))
    # These lies agree with each other: bounds of half the width are those of a narrower type, and a column without
    # bounds may be all null.
    for one, other in (("narrow", "wide"), ("cut", "swapped"), ("narrow", "all_null"), ("wide", "all_null")):
        if one in told and other in told:
            told.remove(other)
    for name in told:
        table = edited(table, known[name])
    for text in MORE_FILTERS:
        try:
            found = ids(table, text)
        except fz.FrazilError:
            continue
        assert found == right[text], (told, text)


# ---------------------------------------------------------------- Paimon


def paimon_table(folder: pathlib.Path, **options: str) -> fz.Table:
    catalog = fz.catalog("p", type="filesystem", warehouse=str(folder / "paimon"))
    catalog.create_namespace("db")
    properties = {"manifest.compression": "null", **{k.replace("_", "-"): v for k, v in options.items()}}
    return catalog.create_table("db.t", SCHEMA, format="paimon", properties=properties).append(data())


def avro(path: pathlib.Path) -> tuple[Any, list[Entry]]:
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        entries = list(reader)
        return reader.writer_schema, entries


def put_avro(path: pathlib.Path, schema: Any, entries: list[Entry]) -> None:
    with path.open("wb") as file:
        fastavro.writer(file, schema, entries, codec="null")


def edit_paimon(table: fz.Table, change: Callable[[Entry], None]) -> None:
    """Changes each file's entry of a manifest. Recorded lengths follow."""
    root = pathlib.Path(table.location)
    snapshot = max(root.glob("snapshot/snapshot-*"), key=lambda path: int(path.name.split("-")[1]))
    content = json.loads(snapshot.read_text())
    for kind in ("base", "delta"):
        listed = root / "manifest" / content[f"{kind}ManifestList"]
        list_schema, manifests = avro(listed)
        for manifest in manifests:
            path = root / "manifest" / manifest["_FILE_NAME"]
            schema, entries = avro(path)
            for entry in entries:
                change(entry["_FILE"])
            put_avro(path, schema, entries)
            manifest["_FILE_SIZE"] = path.stat().st_size
        put_avro(listed, list_schema, manifests)
        content[f"{kind}ManifestListSize"] = listed.stat().st_size
    snapshot.write_text(json.dumps(content))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_lies_of_parquet_files_of_paimon(tmp_path: pathlib.Path, seed: int) -> None:
    table = paimon_table(tmp_path)
    (path,) = pathlib.Path(table.location).rglob("*.parquet")
    write_pages(path)
    told = with_parquet_lies(random.Random(seed), path)
    edit_paimon(table, lambda file: file.update(_FILE_SIZE=path.stat().st_size))
    check(table.location, told)


def lie_in_manifest(draw: random.Random, file: Entry) -> str:
    """Statistics of a file in a manifest: rows of minima and maxima, and counts of nulls."""
    stats = file["_VALUE_STATS"]
    kind = draw.choice(["swapped", "nulls", "count", "fewer counts", "cut", "longer", "arity", "offset", "columns"])
    low, high = draw.choice([("_MIN_VALUES", "_MAX_VALUES"), ("_MAX_VALUES", "_MIN_VALUES")])
    match kind:
        case "swapped":
            stats[low], stats[high] = stats[high], stats[low]
        case "nulls":
            stats["_NULL_COUNTS"] = [ROWS] * len(stats["_NULL_COUNTS"])
        case "count":
            stats["_NULL_COUNTS"] = [count_of(draw) for _ in stats["_NULL_COUNTS"]]
        case "fewer counts":
            stats["_NULL_COUNTS"] = stats["_NULL_COUNTS"][:-1]
        case "cut":
            stats[low] = stats[low][: draw.randrange(len(stats[low]))]
        case "longer":
            stats[low] += bytes(draw.randrange(1, 9))
        case "arity":
            stats[low] = draw.choice([0, 1, 3, 5, 200, 2**31 - 1]).to_bytes(4, "big") + stats[low][4:]
        case "offset":
            # The text is the second column: where it is, and its length.
            at = 4 + 8 + 8
            stats[low] = stats[low][:at] + draw.randbytes(4) + b"\xff\xff\xff\x7f" + stats[low][at + 8 :]
        case _:
            file["_VALUE_STATS_COLS"] = draw.choice([["id"], ["id", "s", "f", "x"], []])
    return kind


@pytest.mark.parametrize("seed", range(SEEDS))
def test_lies_of_manifests_of_paimon(tmp_path: pathlib.Path, seed: int) -> None:
    table = paimon_table(tmp_path)
    assert check(table.location, "no lie") == len(RIGHT)
    draw, told = random.Random(seed), []
    for _ in range(draw.randint(1, 2)):
        edit_paimon(table, lambda file: told.append(lie_in_manifest(draw, file)))
    check(table.location, told)


def spoiled(draw: random.Random, index: bytes) -> bytes:
    """A file index whose structure is broken: its values stay, as far as they can be read."""
    head = int.from_bytes(index[12:16], "big")  # magic, version, length of the header
    match draw.randrange(4):
        case 0:
            return index[: draw.randrange(len(index))]
        case 1:
            return draw.randbytes(8) + index[8:]
        case 2:
            return index[:12] + draw.choice([0, 1, head + 1, 2**31 - 1]).to_bytes(4, "big") + index[16:]
        case _:
            # Names, offsets and lengths of the columns' indexes.
            at = draw.randrange(16, min(head, len(index)))
            return index[:at] + b"\xff\xff\xff" + index[at + 3 :]


@pytest.mark.parametrize("where", ["manifest", "file"])
@pytest.mark.parametrize("kind", ["bloom-filter", "bitmap", "bsi"])
@pytest.mark.parametrize("seed", range(SEEDS // 8))
def test_broken_file_indexes_of_paimon(tmp_path: pathlib.Path, kind: str, where: str, seed: int) -> None:
    columns = "id,n" if kind == "bsi" else "id,s,n"
    options = {f"file-index.{kind}.columns": columns, "file-index.in-manifest-threshold": "16 mb"}
    if where == "file":
        options["file-index.in-manifest-threshold"] = "1 b"
    table = paimon_table(tmp_path, **options)
    assert check(table.location, "no lie") == len(RIGHT)
    draw, changed = random.Random(seed), []
    if where == "file":
        for path in pathlib.Path(table.location).rglob("*.index"):
            path.write_bytes(spoiled(draw, path.read_bytes()))
            changed.append(path)
    else:

        def spoil(file: Entry) -> None:
            if file["_EMBEDDED_FILE_INDEX"]:
                file["_EMBEDDED_FILE_INDEX"] = spoiled(draw, file["_EMBEDDED_FILE_INDEX"])
                changed.append(file)

        edit_paimon(table, spoil)
    assert changed
    check(table.location, (kind, where))
