"""Damaged tables: the right exception with the path in it, never a crash, a hang or wrong rows."""

from __future__ import annotations

import json
import pathlib
import random
import shutil
import struct
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz

ROWS = 500


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A table of two snapshots and several files, to be copied and damaged."""
    root = tmp_path_factory.mktemp("golden")
    catalog = fz.catalog("c", type="filesystem", warehouse=str(root))
    catalog.create_namespace("db")
    data = pa.table({"id": pa.array(range(ROWS)), "name": [f"n{i % 7}" for i in range(ROWS)]})
    table = catalog.create_table("db.t", data.schema, partition_by=["bucket(3, id)"])
    table.append(data)
    table.append(data)
    return root / "db" / "t"


@pytest.fixture
def copy(golden: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(golden, tmp_path / "t"))


def read(root: pathlib.Path) -> pa.Table:
    return fz.open_table(root, moved=True).scan("id >= 0").to_arrow()


def only(root: pathlib.Path, pattern: str) -> pathlib.Path:
    return sorted(root.glob(pattern))[-1]


def current_metadata(root: pathlib.Path) -> pathlib.Path:
    return root / "metadata" / "v3.metadata.json"


def current_list(root: pathlib.Path) -> pathlib.Path:
    snapshot = json.loads(current_metadata(root).read_text())["snapshots"][-1]
    return root / "metadata" / pathlib.PurePath(snapshot["manifest-list"]).name


def test_the_copy_is_whole(copy: pathlib.Path) -> None:
    assert read(copy).num_rows == 2 * ROWS


KINDS = {
    "metadata": current_metadata,
    "manifest list": current_list,
    "manifest": lambda root: only(root, "metadata/*-m0.avro"),
    "data file": lambda root: only(root, "data/**/*.parquet"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_file_is_named(copy: pathlib.Path, kind: str) -> None:
    victim = KINDS[kind](copy)
    victim.unlink()
    if kind == "metadata":  # the version before is still whole, but opening it would undo a commit
        with pytest.raises(fz.CorruptTableError, match=f"version 3 is missing; the newest version is 2.*{victim.name}"):
            read(copy)
        (copy / "metadata" / "version-hint.text").write_text("2")
        assert read(copy).num_rows == ROWS
        return
    with pytest.raises(fz.NotFoundError, match=victim.name) as failure:
        read(copy)
    if kind == "data file":
        assert failure.value.hint == f"Check that {copy} is a whole copy of the table"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_torn_file_is_corrupt_and_named(copy: pathlib.Path, kind: str, keep: float) -> None:
    victim = KINDS[kind](copy)
    whole = victim.read_bytes()
    victim.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(fz.CorruptTableError) as error:
        read(copy)
    assert victim.name in str(error.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_magic_is_corrupt_and_named(copy: pathlib.Path, kind: str) -> None:
    victim = KINDS[kind](copy)
    whole = victim.read_bytes()
    victim.write_bytes(b"NOPE" + whole[4:-4] + b"NOPE")
    with pytest.raises(fz.CorruptTableError) as error:
        read(copy)
    assert victim.name in str(error.value)


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_bytes_never_crash(copy: pathlib.Path, kind: str) -> None:
    """A flip may hit padding, a name or a value that nothing checks; else it is an error of our own."""
    victim = KINDS[kind](copy)
    whole = victim.read_bytes()
    dice = random.Random(7)
    errors = 0
    for at in sorted(dice.sample(range(len(whole)), min(150, len(whole)))):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << dice.randrange(8)
        victim.write_bytes(bytes(damaged))
        try:
            read(copy)
        except fz.FrazilError as error:
            assert not isinstance(error, fz.InternalError), error
            errors += 1
    assert errors > 0


def change(root: pathlib.Path, **members: object) -> None:
    path = current_metadata(root)
    path.write_text(json.dumps({**json.loads(path.read_text()), **members}))


@pytest.mark.parametrize("version", [0, 4, 99, -1, "2", None, 2.5])
def test_unknown_format_versions_are_refused(copy: pathlib.Path, version: object) -> None:
    change(copy, **{"format-version": version})
    with pytest.raises((fz.UnsupportedError, fz.CorruptTableError), match=r"v3\.metadata\.json"):
        fz.open_table(copy)


def test_a_snapshot_that_is_not_there_is_corrupt(copy: pathlib.Path) -> None:
    change(copy, **{"current-snapshot-id": 17})
    with pytest.raises(fz.CorruptTableError, match=r"v3\.metadata\.json"):
        fz.open_table(copy)


def test_a_folder_or_pipe_instead_of_a_file(copy: pathlib.Path) -> None:
    import os

    victim = KINDS["data file"](copy)
    victim.unlink()
    os.mkfifo(victim)
    with pytest.raises(fz.StoreError, match="regular file"):
        read(copy)
    victim.unlink()
    victim.mkdir()
    with pytest.raises(fz.StoreError, match="regular file"):
        read(copy)


def test_a_moved_table_must_be_opened_as_such(golden: pathlib.Path, copy: pathlib.Path, tmp_path: pathlib.Path) -> None:
    hidden = golden.with_name("hidden")
    golden.rename(hidden)
    try:
        with pytest.raises(fz.NotFoundError, match="moved=True"):
            fz.open_table(copy).scan().to_arrow()
        assert read(copy).num_rows == 2 * ROWS
    finally:
        hidden.rename(golden)


@pytest.mark.parametrize("text", ["nope = 1", "id = 'x'", "id = ", "name > 5 and", "name is nan", "((id = 1)"])
def test_wrong_filters_say_what_is_wrong(golden: pathlib.Path, text: str) -> None:
    with pytest.raises(fz.InvalidInputError):
        fz.open_table(golden).scan(text).to_arrow()


def test_an_unknown_column_lists_those_there_are(golden: pathlib.Path) -> None:
    with pytest.raises(fz.InvalidInputError, match=r"id.*name"):
        fz.open_table(golden).scan(select=["nope"])
    with pytest.raises(fz.InvalidInputError, match="nope"):
        fz.open_table(golden).scan("nope = 1")


def test_no_table_here(tmp_path: pathlib.Path) -> None:
    with pytest.raises(fz.NotFoundError, match=str(tmp_path)):
        fz.open_table(tmp_path)
    with pytest.raises(fz.UnsupportedError, match="hdfs"):
        fz.open_table("hdfs://host/table")


@pytest.mark.parametrize("format", ["iceberg", "paimon"])
@pytest.mark.parametrize("partitioned", [False, True])
@pytest.mark.parametrize("text", [b"\xff", b"a" * 40 + b"\xff", b"\xed\xa0\x80"])
def test_text_that_is_not_utf8(tmp_path: pathlib.Path, format: str, partitioned: bool, text: bytes) -> None:
    """Pyarrow holds such arrays without complaint; Rust's texts are UTF-8 or nothing is sure."""

    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    options = {"partition_by": ["name"]} if partitioned else {}
    t = catalog.create_table("db.t", schema, format=format, **options)
    offsets, values = pa.py_buffer(struct.pack("<ii", 0, len(text))), pa.py_buffer(text)
    bad = pa.Array.from_buffers(pa.string(), 1, [None, offsets, values])
    rows = pa.table([pa.array([1]), bad], schema=schema)
    for given in (rows, rows.to_batches()[0], rows.to_reader()):
        with pytest.raises(fz.InvalidInputError, match="name"):
            t.append(given)
    listed = pa.table([pa.array([1]), pa.ListArray.from_arrays([0, 1], bad)], names=["id", "name"])
    with pytest.raises(fz.InvalidInputError):
        t.append(listed)
    assert t.refresh().scan().count() == 0
    assert list(t.refresh().snapshots) == []


HIDDEN = pa.array([False, True, False, False])
STRICT = pa.field("item", pa.int64(), nullable=False)
NUMBERS = pa.array([1, 2, None, None, 5, 6, 7, 8])
TEXTS = pa.array(["é", "ü" * 20, "", "日本", "x", "ß" * 9])
RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3, 4], pa.int16()), TEXTS[:3])
# Whole arrays of four rows: nulls under null rows, where the type allows none, and values that start anywhere.
SLICED = {
    "struct": (
        pa.struct([("a", pa.int64())]),
        pa.StructArray.from_arrays([pa.array([1, None, 3, 4])], fields=[STRICT.with_name("a")], mask=HIDDEN),
    ),
    "fixed-size list": (
        pa.list_(pa.int64()),
        pa.FixedSizeListArray.from_arrays(NUMBERS, type=pa.list_(STRICT, 2), mask=HIDDEN),
    ),
    "list": (
        pa.list_(pa.int64()),
        pa.ListArray.from_arrays(pa.array([0, 2, 4, 5, 8], pa.int32()), NUMBERS, type=pa.list_(STRICT), mask=HIDDEN),
    ),
    "list of an empty slice": (
        pa.list_(pa.string()),
        pa.ListArray.from_arrays(pa.array([0, 0, 0, 0, 0], pa.int32()), TEXTS.slice(5, 0)),
    ),
    "list view": (
        pa.list_(pa.string()),
        pa.ListViewArray.from_arrays(pa.array([4, 5, 1, 0], pa.int32()), pa.array([2, 0, 2, 3], pa.int32()), TEXTS),
    ),
    "struct of structs": (
        pa.struct([("s", pa.struct([("t", pa.string())]))]),
        pa.StructArray.from_arrays([pa.StructArray.from_arrays([TEXTS[:4]], ["t"])], ["s"]),
    ),
    "map": (
        pa.map_(pa.string(), pa.string()),
        pa.array([[("é", "ü")], None, [], [("ß", "日"), ("b", None)]], pa.map_(pa.string(), pa.string())),
    ),
    "run ends": (pa.string(), RUNS),
    "run ends in a struct": (pa.struct([("t", pa.string())]), pa.StructArray.from_arrays([RUNS], ["t"])),
    "run ends in a list": (
        pa.list_(pa.string()),
        pa.ListArray.from_arrays(pa.array([0, 1, 1, 3, 4], pa.int32()), RUNS),
    ),
    "dictionary": (pa.string(), pa.array(["é", None, "ü", "é"]).dictionary_encode()),
    "text": (pa.string(), TEXTS[:4]),
    "large text": (pa.string(), TEXTS[:4].cast(pa.large_string())),
    "view": (pa.string(), TEXTS[:4].cast(pa.string_view())),
    "booleans": (pa.bool_(), pa.array([True, None, False, True])),
}


@pytest.mark.parametrize("name", SLICED)
def test_slices_are_whole_data(tmp_path: pathlib.Path, name: str) -> None:
    """Slices point into arrays that are longer: what is there too is neither theirs nor a fault of theirs."""
    kind, array = SLICED[name]
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    batch = pa.record_batch([array], names=["c"])
    slices = [batch.slice(*at) for at in [(0, 4), (1, 3), (1, 1), (2, 2), (3, 1), (2, 0), (4, 0), (0, 1)]]
    want = [row for part in slices for row in part.to_pylist()]
    given = {
        "batches": pa.RecordBatchReader.from_batches(batch.schema, slices),
        "table": pa.Table.from_batches(slices),
        "nested": pa.Table.from_batches(slices).to_reader(max_chunksize=1),
    }
    for label, rows in given.items():
        t = catalog.create_table(f"db.{label}", pa.schema([("c", kind)]))
        t.append(rows)
        assert t.refresh().scan().to_arrow().to_pylist() == want, label


def test_a_required_member_holds_no_null(tmp_path: pathlib.Path) -> None:
    """Whatever the data's own type says of it."""
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    t = catalog.create_table("db.t", pa.schema([("c", pa.struct([STRICT.with_name("a")]))]))
    for nullable in (False, True):
        field = STRICT.with_name("a").with_nullable(nullable)
        bad = pa.table({"c": pa.StructArray.from_arrays([pa.array([1, 2, None, 4])], fields=[field])})
        for rows in (bad, bad.slice(1), bad.slice(2, 1)):
            with pytest.raises(fz.InvalidInputError, match=r"c\.a"):
                t.append(rows)
        t.append(bad.slice(3))
    assert t.refresh().scan().to_arrow().to_pylist() == [{"c": {"a": 4}}] * 2


def test_many_slices_of_one_batch(tmp_path: pathlib.Path) -> None:
    texts = [None if i % 11 == 5 else f"{i} zażółć gęślą jaźń" for i in range(ROWS)]
    lists = [None if i % 7 == 2 else texts[i : i + i % 4] for i in range(ROWS)]
    maps = [[(f"ключ {i}", text)] * (i % 2) for i, text in enumerate(texts)]
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("text", pa.string()),
            ("bytes", pa.binary()),
            ("lists", pa.list_(pa.string())),
            ("maps", pa.map_(pa.string(), pa.string())),
            ("nested", pa.struct([("lists", pa.list_(pa.string())), ("text", pa.string())])),
        ]
    )
    binary = [text and text.encode() for text in texts]
    nested = [{"lists": some, "text": text} for some, text in zip(lists, texts, strict=True)]
    rows = pa.table([list(range(ROWS)), texts, binary, lists, maps, nested], schema=schema)
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    parts = pa.Table.from_batches([rows.to_batches()[0].slice(i, 7) for i in range(0, ROWS, 7)])
    for label, given in {"reader": rows.to_reader(max_chunksize=7), "stream": parts}.items():
        t = catalog.create_table(f"db.{label}", schema)
        t.append(given)
        assert t.refresh().scan().to_arrow().sort_by("id").to_pylist() == rows.to_pylist()


def damaged_texts(damage: str, at: int = 50, count: int = 100) -> pa.Array:
    """Texts; of one of them only the damage is to be seen, and its neighbours are as they should."""
    texts = [f"ä{i % 100:02}".encode() for i in range(count)]
    if damage == "not UTF-8":
        texts[at] = b"\xff" * 4
    offsets = [4 * i for i in range(count + 1)]
    if damage == "half a character":
        offsets[at] += 1
    if damage == "offsets descend":
        offsets[at], offsets[at + 1] = offsets[at + 1], offsets[at]
    buffers = [None, pa.py_buffer(struct.pack(f"<{count + 1}i", *offsets)), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.string(), count, buffers)


@pytest.mark.parametrize("at", [65_534, 65_535, 65_536, 65_537, 131_071, 139_999])
@pytest.mark.parametrize("damage", ["not UTF-8", "half a character", "offsets descend"])
def test_damage_is_found_in_every_step_of_a_large_chunk(damage: str, at: int) -> None:
    """The rows of one chunk are checked some 65,536 at once."""
    texts = damaged_texts(damage, at, 140_000)
    lists = pa.ListArray.from_arrays(pa.array(range(140_001), pa.int32()), texts)
    catalog = fz.catalog(type="memory")
    catalog.create_namespace("db")
    for number, array in enumerate([texts, lists, pa.StructArray.from_arrays([texts], ["t"])]):
        t = catalog.create_table(f"db.t{number}", pa.schema([("name", array.type)]))
        with pytest.raises(fz.InvalidInputError, match=r"damaged .*name"):
            t.append(pa.table({"name": array}))
        assert t.refresh().snapshot is None


def test_a_large_chunk_is_taken_as_it_is() -> None:
    """Its rows are checked in steps, and its columns stay whole. An offset moves the ends of the steps."""
    count = 140_000
    texts = pa.array([None if i % 7 == 0 else f"é{i}" for i in range(count)])
    ends = pa.array(range(1, count // 4 + 1), pa.int32())
    columns = {
        "text": texts,
        "large": texts.cast(pa.large_string()),
        "view": texts.cast(pa.string_view()),
        "list": pa.ListArray.from_arrays(pa.array([0, *(i for i in range(1, count)), count], pa.int32()), texts),
        "pairs": pa.FixedSizeListArray.from_arrays(pa.array(range(2 * count)), 2),
        "struct": pa.StructArray.from_arrays([texts, pa.array(range(count))], ["t", "n"]),
        "words": pa.array([f"w{i % 11}" for i in range(count)]).dictionary_encode(),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.compute.multiply(ends, 4), texts[: count // 4]),
        "views": pa.ListViewArray.from_arrays(
            pa.array(range(count - 1, -1, -1), pa.int32()), pa.array([1] * count, pa.int32()), texts
        ),
    }
    rows = pa.table({"id": range(count), **columns})
    kinds = {"large": pa.string(), "view": pa.string(), "pairs": pa.list_(pa.int64()), "words": pa.string()}
    kinds |= {"runs": pa.string(), "views": pa.list_(pa.string())}
    schema = pa.schema([(field.name, kinds.get(field.name, field.type)) for field in rows.schema])
    catalog = fz.catalog(type="memory")
    catalog.create_namespace("db")
    for name, given in {"whole": rows, "slice": rows.slice(3, count - 10)}.items():
        t = catalog.create_table(f"db.{name}", schema).append(given.combine_chunks())
        found = t.scan().to_arrow().sort_by("id")
        assert found.num_rows == given.num_rows
        for column in given.column_names:
            assert found[column].to_pylist() == given[column].to_pylist(), column


@pytest.mark.parametrize("inside", ["text", "list", "struct", "fixed-size list"])
@pytest.mark.parametrize("damage", ["not UTF-8", "half a character", "offsets descend"])
def test_damage_counts_where_a_slice_reaches_it(tmp_path: pathlib.Path, damage: str, inside: str) -> None:
    array = damaged_texts(damage)
    kind = pa.string()
    if inside == "list":
        kind = pa.list_(pa.string())
        array = pa.ListArray.from_arrays(pa.array(range(101), pa.int32()), array)
    if inside == "struct":
        kind = pa.struct([("t", pa.string())])
        array = pa.StructArray.from_arrays([array], ["t"])
    if inside == "fixed-size list":
        kind = pa.list_(pa.string())
        array = pa.FixedSizeListArray.from_arrays(array, 1)
    rows = pa.table({"id": list(range(100)), "name": array})
    catalog = fz.catalog("c", type="filesystem", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    t = catalog.create_table("db.t", pa.schema([("id", pa.int64()), ("name", kind)]))
    batch = rows.to_batches()[0]
    later = pa.RecordBatchReader.from_batches(batch.schema, [batch.slice(0, 10), batch.slice(45, 10)])
    for given in (rows, rows.slice(45, 10), rows.to_reader(max_chunksize=5), later):
        with pytest.raises(fz.InvalidInputError, match=r"damaged .*name"):
            t.append(given)
    assert t.refresh().scan().count() == 0
    good = [rows.slice(0, 10), rows.slice(40, 9), rows.slice(52), rows.slice(53, 7)]
    for given in good:
        t.append(given)
    want = sorted((row for given in good for row in given.to_pylist()), key=lambda row: row["id"])
    assert t.refresh().scan().to_arrow().sort_by("id").to_pylist() == want


class Capsules:
    """Gives the same capsules each time, whoever has taken what is in them."""

    def __init__(self, stream: Any = None, array: Any = None) -> None:
        if stream is not None:
            self.__arrow_c_stream__ = lambda _=None: stream
        if array is not None:
            self.__arrow_c_array__ = lambda _=None: array


@pytest.mark.parametrize("by", ["pyarrow", "frazil"])
@pytest.mark.parametrize("kind", ["stream", "array"])
def test_what_was_read_already_is_refused(tmp_path: pathlib.Path, kind: str, by: str) -> None:
    """Who takes a stream or an array marks it as released, and may leave the rest of it pointing at freed memory."""
    batch = pa.record_batch({"a": ["x" * 50] * 1000})
    catalog = fz.catalog("c", type="memory", warehouse=str(tmp_path))
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", batch.schema)
    if kind == "stream":
        capsule = pa.Table.from_batches([batch]).__arrow_c_stream__()
        given = Capsules(stream=capsule)
        if by == "pyarrow":
            pa.RecordBatchReader._import_from_c_capsule(capsule).read_all()
    else:
        capsules = batch.__arrow_c_array__()
        given = Capsules(array=capsules)
        if by == "pyarrow":
            pa.RecordBatch._import_from_c_capsule(*capsules)
    if by == "frazil":
        table = table.append(given)
    with pytest.raises(fz.InvalidInputError, match="was read already"):
        table.append(given)
    assert table.scan().count() == (1000 if by == "frazil" else 0)


def test_rows_that_are_null_are_refused(tmp_path: pathlib.Path) -> None:
    rows = pa.StructArray.from_arrays([pa.array([1, 2, 3])], ["id"], mask=pa.array([False, True, False]))
    catalog = fz.catalog("c", type="memory", warehouse=str(tmp_path))
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", pa.schema([("id", pa.int64())]))
    for given in (rows, pa.chunked_array([rows]), rows[1:]):
        with pytest.raises(fz.InvalidInputError, match="can't be null"):
            table.append(given)
    assert table.append(rows[2:]).scan().to_arrow()["id"].to_pylist() == [3]
