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
