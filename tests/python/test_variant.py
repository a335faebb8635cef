"""Variants as Python values and JSON text: against PySpark's own encoder and decoder, and bytes made by hand."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import struct
import uuid
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frazil as fz
from frazil import variant

UTC = dt.timezone.utc
EMPTY = b"\x01\x00\x00"
FIELDS = [pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)]
EXTENSION = {"ARROW:extension:name": "arrow.parquet.variant"}


def array_of(pairs: list[tuple[bytes, bytes] | None]) -> pa.Array:
    """Pairs of metadata and value."""
    parts = [pa.array([(pair or (b"", b""))[i] for pair in pairs], pa.binary()) for i in (0, 1)]
    return pa.StructArray.from_arrays(parts, fields=FIELDS, mask=pa.array([pair is None for pair in pairs]))


def primitive(kind: int, data: bytes = b"") -> tuple[bytes, bytes]:
    return EMPTY, bytes([kind << 2]) + data


MICROS = struct.pack("<q", 1_700_000_000_000_001)
WHEN = dt.datetime(2023, 11, 14, 22, 13, 20, 1)
ID = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
FAR = struct.pack("<q", -(2**62))
VALUES: list[tuple[tuple[bytes, bytes], Any, str]] = [
    (primitive(0), None, "null"),
    (primitive(1), True, "true"),
    (primitive(3, b"\x80"), -128, "-128"),
    (primitive(6, struct.pack("<q", 2**62)), 2**62, str(2**62)),
    (primitive(7, struct.pack("<d", 0.1)), 0.1, "0.1"),
    (primitive(14, struct.pack("<f", 0.5)), 0.5, "0.5"),
    (primitive(8, b"\x02" + struct.pack("<i", 12345)), decimal.Decimal("123.45"), "123.45"),
    (primitive(10, b"\x00" + (10**37).to_bytes(16, "little")), decimal.Decimal(10**37), str(10**37)),
    (primitive(11, struct.pack("<i", 18321)), dt.date(2020, 2, 29), '"2020-02-29"'),
    (primitive(12, MICROS), WHEN.replace(tzinfo=UTC), '"2023-11-14T22:13:20.000001+00:00"'),
    (primitive(13, MICROS), WHEN, '"2023-11-14T22:13:20.000001"'),
    (primitive(15, b"\x02\0\0\0\x00\xff"), b"\x00\xff", '"AP8="'),
    (primitive(16, b"\x03\0\0\0abc"), "abc", '"abc"'),
    (primitive(17, struct.pack("<q", 43_200_000_001)), dt.time(12, 0, 0, 1), '"12:00:00.000001"'),
    (
        primitive(18, MICROS),
        pa.scalar(1_700_000_000_000_001, pa.timestamp("ns", "UTC")),
        '"1970-01-20T16:13:20.000000001+00:00"',
    ),
    (primitive(19, MICROS), pa.scalar(1_700_000_000_000_001, pa.timestamp("ns")), '"1970-01-20T16:13:20.000000001"'),
    (primitive(20, ID.bytes), ID, f'"{ID}"'),
    (primitive(13, FAR), pa.scalar(-(2**62), pa.timestamp("us")), '"-144169-06-28T09:59:32.612096"'),
    (primitive(11, struct.pack("<i", 2**31 - 1)), pa.scalar(2**31 - 1, pa.date32()), '"+5881580-07-11"'),
    (primitive(17, struct.pack("<q", 86_400_000_000)), pa.scalar(86_400_000_000, pa.time64("us")), '"24:00:00"'),
    ((b"\x01\x01\x00\x01a", b"\x02\x01\x00\x00\x02\x0c\x07"), {"a": 7}, '{"a":7}'),
    ((EMPTY, b"\x03\x02\x00\x01\x03\x00\x0c\x07"), [None, 7], "[null,7]"),
]


def test_every_type() -> None:
    array = array_of([pair for pair, _, _ in VALUES] + [None])
    values = variant.to_python(array)
    assert values == [value for _, value, _ in VALUES] + [None]
    assert [type(v) for v in values[:-1]] == [type(value) for _, value, _ in VALUES]
    text = variant.to_json(array)
    assert text.type == pa.string()
    assert text.to_pylist() == [text for _, _, text in VALUES] + [None]
    assert variant.to_python(array[3:5]) == values[3:5]


def test_other_forms_of_arrays() -> None:
    array = array_of([VALUES[-2][0], None])
    chunked = pa.chunked_array([array, array[:0], array[1:]])
    assert variant.to_python(chunked) == [{"a": 7}, None, None]
    assert variant.to_json(chunked).to_pylist() == ['{"a":7}', None, None]
    assert isinstance(variant.to_json(chunked), pa.ChunkedArray)
    for type_ in (pa.large_binary(), pa.binary_view()):
        parts = [array.field(name).cast(type_) for name in ("value", "metadata")]
        foreign = pa.StructArray.from_arrays(parts, ["value", "metadata"], mask=array.is_null())
        assert variant.to_python(foreign) == [{"a": 7}, None]
    assert variant.to_python(array[:0]) == variant.to_json(array[:0]).to_pylist() == []


def test_variants_within() -> None:
    array = array_of([VALUES[-2][0], None, VALUES[3][0]])
    field = pa.field("v", array.type, metadata=EXTENSION)
    structs = pa.StructArray.from_arrays([array, pa.array([1, 2, 3])], fields=[field, pa.field("n", pa.int64())])
    assert variant.to_python(structs) == [{"v": {"a": 7}, "n": 1}, {"v": None, "n": 2}, {"v": 2**62, "n": 3}]
    assert variant.to_python(structs[1:]) == [{"v": None, "n": 2}, {"v": 2**62, "n": 3}]
    lists = pa.ListArray.from_arrays([0, None, 2, 3], array, type=pa.list_(field))
    assert variant.to_python(lists) == [[{"a": 7}, None], None, [2**62]]
    assert variant.to_python(lists[1:]) == [None, [2**62]]
    maps = pa.MapArray.from_arrays([0, 2, 3], pa.array(["p", "q", "r"]), array, type=pa.map_(pa.string(), field))
    assert variant.to_python(maps[1:]) == [[("r", 2**62)]]
    table = pa.table([structs[:2], maps], pa.schema([pa.field("s", structs.type), pa.field("m", maps.type)]))
    rows = variant.to_python(table)
    assert rows[0] == {"s": {"v": {"a": 7}, "n": 1}, "m": [("p", {"a": 7}), ("q", None)]}
    assert variant.to_python(pa.array([1, None])) == [1, None]


def test_what_is_no_variant() -> None:
    with pytest.raises(fz.InvalidInputError, match="no variants"):
        variant.to_json(pa.array([1]))
    with pytest.raises(fz.InvalidInputError):
        variant.to_python(7)
    with pytest.raises(fz.CorruptTableError, match="cut off"):
        variant.to_python(array_of([(EMPTY, b"\x18\x00")]))
    with pytest.raises(fz.UnsupportedError, match="unknown type 40"):
        variant.to_json(array_of([primitive(40)]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=30,
)


@given(st.lists(JSON, min_size=1, max_size=5))
def test_what_spark_encodes(values: list[Any]) -> None:
    types = pytest.importorskip("pyspark.sql.types")
    made = [types.VariantVal.parseJson(json.dumps(value)) for value in values]
    array = array_of([(v.metadata, v.value) for v in made])
    assert variant.to_python(array) == values
    assert [json.loads(text) for text in variant.to_json(array).to_pylist()] == values


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_any_bytes(metadata: bytes, value: bytes) -> None:
    array = array_of([(b"\x01" + metadata, value)])
    try:
        variant.to_python(array)
        json.loads(variant.to_json(array)[0].as_py())
    except (fz.CorruptTableError, fz.UnsupportedError):
        pass


def test_table_schemas() -> None:
    schema = pa.schema([pa.field("v", pa.struct(FIELDS), metadata=EXTENSION), pa.field("n", pa.int64())])
    ours = fz.Schema(schema)
    assert [field.type for field in ours.fields] == ["variant", "long"]
    again = pa.schema(ours)
    assert again.field("v").type == pa.struct(FIELDS)
    assert again.field("v").metadata[b"ARROW:extension:name"] == b"arrow.parquet.variant"


# ---------------------------------------------------------------- from Python and JSON


def _parts(array: pa.StructArray) -> list[tuple[bytes, bytes] | None]:
    return [None if part is None else (part["metadata"], part["value"]) for part in array.to_pylist()]


NO_NAMES = b"\x11\x00\x00"  # version 1, sorted names, none of them


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        # By hand, from the tables of VariantEncoding.md: the low two bits are the basic type, the others the type.
        (True, b"\x04"),
        (False, b"\x08"),
        (7, b"\x0c\x07"),
        (-128, b"\x0c\x80"),
        (128, b"\x10\x80\x00"),
        (-32769, b"\x14\xff\x7f\xff\xff"),
        (2**31, b"\x18\x00\x00\x00\x80\x00\x00\x00\x00"),
        (1.5, b"\x1c\x00\x00\x00\x00\x00\x00\xf8\x3f"),
        (decimal.Decimal("-1.50"), b"\x20\x02\x6a\xff\xff\xff"),
        (decimal.Decimal("1E+2"), b"\x20\x00\x64\x00\x00\x00"),
        (decimal.Decimal("12345678901.5"), b"\x24\x01\x17\x1a\x99\xbe\x1c\x00\x00\x00"),
        (2**64, b"\x28\x00" + (2**64).to_bytes(16, "little")),
        (dt.date(1970, 1, 2), b"\x2c\x01\x00\x00\x00"),
        (dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.timezone.utc), b"\x30\x40\x42\x0f\x00\x00\x00\x00\x00"),
        (dt.datetime(1969, 12, 31, 23, 59, 59), b"\x34\xc0\xbd\xf0\xff\xff\xff\xff\xff"),
        (b"\x00\xff", b"\x3c\x02\x00\x00\x00\x00\xff"),
        ("", b"\x01"),
        ("hé", b"\x0dh\xc3\xa9"),
        ("x" * 63, b"\xfd" + b"x" * 63),
        ("x" * 64, b"\x40\x40\x00\x00\x00" + b"x" * 64),
        (dt.time(0, 0, 1), b"\x44\x40\x42\x0f\x00\x00\x00\x00\x00"),
        (uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"), b"\x50" + bytes(range(0, 256, 17))),
        ([], b"\x03\x00\x00"),
        ([1, None], b"\x03\x02\x00\x02\x03\x0c\x01\x00"),
        ({}, b"\x02\x00\x00"),
    ],
)
def test_values_have_the_bytes_of_the_specification(value: Any, encoded: bytes) -> None:
    array = variant.from_python([value])
    assert _parts(array) == [(NO_NAMES, encoded)]
    assert variant.to_python(array) == [value]


def test_objects_have_the_bytes_of_the_specification() -> None:
    # Members are sorted by name, whatever order they are given in. The names are in the metadata once.
    array = variant.from_python([{"b": [{"a": True}], "a": "x"}, None])
    metadata = b"\x11\x02\x00\x01\x02ab"
    inner = b"\x02\x01\x00\x00\x01\x04"
    value = b"\x02\x02\x00\x01\x00\x02\x0c\x05x" + b"\x03\x01\x00" + bytes([len(inner)]) + inner
    assert _parts(array) == [(metadata, value), None]
    # More than 255 members, and offsets and numbers of two bytes.
    large = {f"k{n:03}": n for n in range(300)}
    ((names, members),) = [part for part in _parts(variant.from_python([large])) if part]
    assert names[:3] == b"\x51\x2c\x01"
    assert members[:5] == bytes([0b1010110]) + (300).to_bytes(4, "little")
    assert variant.to_python(variant.from_python([large, list(range(300))])) == [large, list(range(300))]


def test_pyspark_reads_our_variants() -> None:
    types = pytest.importorskip("pyspark.sql.types")
    values = [
        {"user": 7, "tags": ["a", None, {"é": 1.5}], "big": 2**40, "on": True},
        [decimal.Decimal("1.50"), "x" * 100, b"\x00"],
        dt.date(2026, 1, 2),
        dt.datetime(2026, 1, 2, 3, 4, 5, 6),
        {f"k{n}": n for n in range(1000)},
    ]
    parts = [part for part in _parts(variant.from_python(values)) if part is not None]
    assert [types.VariantVal(value, metadata).toPython() for metadata, value in parts] == values


def test_variants_from_json() -> None:
    texts = ['{"b": 1.50, "a": [true, null]}', "null", None, "1e3", "-12345678901234567890", '"\\u00e9"', "1" * 39]
    array = variant.from_json(texts)
    assert variant.to_python(array) == [
        {"a": [True, None], "b": decimal.Decimal("1.50")},
        None,
        None,
        1000.0,
        -12345678901234567890,
        "é",
        float("1" * 39),
    ]
    assert array.is_null().to_pylist() == [False, False, True, False, False, False, False]
    assert _parts(array)[1] == (NO_NAMES, b"\x00")
    assert variant.from_json(pa.array(["1", None])).null_count == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ('{"a": 1, "a": 2}', "the member 'a' twice"),
        ("NaN", "NaN is not a value of JSON"),
        ("1e999", "too large"),
        ("[" * 600 + "]" * 600, "deeper than 500"),
        ("[" * 100_000, "deeper|not JSON"),
        (5, "must be text"),
        ('"\\ud800"', "surrogate"),
    ],
)
def test_wrong_json(text: Any, message: str) -> None:
    with pytest.raises(fz.InvalidInputError, match=message) as error:
        variant.from_json(["1", text])
    assert error.value.context == {"row": "1"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "can't hold a 'object'"),
        ({1: 2}, "must be text, not 1"),
        (10**38, "38 digits"),
        (decimal.Decimal("NaN"), "can't hold the decimal"),
        (decimal.Decimal("1E+1000000"), "38 digits"),
        (dt.time(1, tzinfo=dt.timezone.utc), "can't hold a 'time'"),
        ({"a": {1}}, "can't hold a 'set'"),
    ],
)
def test_wrong_values(value: Any, message: str) -> None:
    with pytest.raises(fz.InvalidInputError, match=message):
        variant.from_python([value])


def test_what_is_no_list_of_values() -> None:
    no_lists: list[Any] = ["text", b"x", {"a": 1}, 5]
    for no_list in no_lists:
        with pytest.raises(fz.InvalidInputError, match="must be a list"):
            variant.from_python(no_list)
        with pytest.raises(fz.InvalidInputError, match="must be a list"):
            variant.from_json(no_list)


def test_variants_are_written(catalog: fz.Catalog) -> None:
    table = catalog.create_table("db.v", pa.schema([("id", pa.int64())]), properties={"format-version": 3})
    with table.update_schema() as update:
        update.add_column("v", "variant")
    values = [{"a": 7, "t": dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)}, None, [1, "x"], 2.5]
    table.append(pa.table({"id": range(4), "v": variant.from_python(values)}))
    assert variant.to_python(table.scan().to_arrow().sort_by("id")["v"]) == values
