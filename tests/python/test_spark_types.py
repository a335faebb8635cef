"""Schemas and batches in the forms that Spark takes; no session needed."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import uuid

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

import frazil as fz
from frazil.spark.types import arrow_schema, conform, spark_schema


def schema_of(**types: object) -> fz.Schema:
    fields = [{"id": i + 1, "name": n, "required": False, "type": t} for i, (n, t) in enumerate(types.items())]
    return fz.Schema.from_json(json.dumps({"type": "struct", "schema-id": 0, "fields": fields}))


def list_of(element: object, id_: int = 100, required: bool = False) -> dict[str, object]:
    return {"type": "list", "element-id": id_, "element": element, "element-required": required}


def map_of(key: object, value: object, id_: int = 200) -> dict[str, object]:
    return {"type": "map", "key-id": id_, "key": key, "value-id": id_ + 1, "value": value, "value-required": False}


def struct_of(id_: int = 300, **types: object) -> dict[str, object]:
    fields = [{"id": id_ + i, "name": n, "required": i == 0, "type": t} for i, (n, t) in enumerate(types.items())]
    return {"type": "struct", "fields": fields}


EVERYTHING = schema_of(
    b="boolean",
    i="int",
    l="long",
    f="float",
    d="double",
    dec="decimal(38, 10)",
    date="date",
    ts="timestamp",
    tstz="timestamptz",
    s="string",
    u="uuid",
    fix="fixed[3]",
    bin="binary",
    unknown="unknown",
    li=list_of("int"),
    us=list_of("uuid", 101),
    m=map_of("uuid", list_of("uuid", 250)),
    st=struct_of(u="uuid", x=list_of(struct_of(400, y="timestamptz"), 320)),
    empty=struct_of(500),
)


def test_the_arrow_schema_is_sparks_own() -> None:
    assert arrow_schema(EVERYTHING) == to_arrow_schema(spark_schema(EVERYTHING))


def test_nullability_and_comments() -> None:
    j = {"id": 1, "name": "id", "required": True, "type": "long", "doc": "the key"}
    schema = fz.Schema.from_json(json.dumps({"type": "struct", "fields": [j]}))
    (field,) = spark_schema(schema)
    assert not field.nullable
    assert field.metadata == {"comment": "the key"}


def test_what_spark_has_no_type_for() -> None:
    schema = schema_of(
        a="time",
        b="timestamp_ns",
        c="timestamptz_ns",
        d=list_of("timestamp_ns", 150),
        e=list_of("time"),
        f=struct_of(ok="int", no="time"),
    )
    with pytest.raises(fz.UnsupportedError) as caught:
        spark_schema(schema)
    for name in ("'a' (time)", "'b' (timestamp_ns)", "'c'", "'d.element'", "'e.element' (time)", "'f.no' (time)"):
        assert name in str(caught.value)
    assert "'f.ok'" not in str(caught.value)
    assert "select=" in caught.value.hint


def test_variants_are_sparks() -> None:
    schema = schema_of(v="variant", l=list_of("variant"), st=struct_of(v="variant"))
    target = arrow_schema(schema)
    assert target == to_arrow_schema(spark_schema(schema))
    assert [f.dataType.simpleString() for f in spark_schema(schema)] == [
        "variant",
        "array<variant>",
        "struct<v:variant>",
    ]
    parts = [pa.array([b"\x01\0\0", b"", b"\x01\0\0"]), pa.array([b"\x0c\x07", b"", b"\x00"])]
    fields = [pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)]
    variants = pa.StructArray.from_arrays(parts, fields=fields, mask=pa.array([False, True, False]))
    lists = pa.ListArray.from_arrays([0, 2, 2, 3], variants)
    batch = pa.RecordBatch.from_arrays(
        [variants, lists, pa.StructArray.from_arrays([variants], ["v"])], ["v", "l", "st"]
    )
    for start in (0, 1):
        made = conform(batch[start:], target)
        assert made.schema == target
        made.validate(full=True)
        assert made.to_pylist() == batch[start:].to_pylist()


def batch_of(count: int) -> pa.RecordBatch:
    """Rows in the types in which the reader gives them; every third value is null."""

    def column(make, type_: pa.DataType) -> pa.Array:
        return pa.array([None if i % 3 == 2 else make(i) for i in range(count)], type_)

    def raw(i: int) -> bytes:
        return uuid.UUID(int=i * 0x0123456789ABCDEF0123456789).bytes

    def uuids(i: int) -> list[bytes | None]:
        return [raw(i + k) if k % 2 == 0 else None for k in range(i % 4)]

    bin16, zoned = pa.binary(16), pa.timestamp("us", tz="UTC")
    when = dt.datetime(2023, 1, 1)
    nested = pa.struct([pa.field("u", bin16, False), ("x", pa.list_(pa.struct([("y", zoned)])))])
    columns = {
        "b": column(lambda i: i % 2 == 0, pa.bool_()),
        "i": column(int, pa.int32()),
        "l": column(int, pa.int64()),
        "f": column(float, pa.float32()),
        "d": column(float, pa.float64()),
        "dec": column(decimal.Decimal, pa.decimal128(38, 10)),
        "date": column(lambda i: when.date(), pa.date32()),
        "ts": column(lambda i: when, pa.timestamp("us")),
        "tstz": column(lambda i: when, zoned),
        "s": column(str, pa.large_string()),
        "u": column(raw, bin16),
        "fix": column(lambda i: bytes([i % 256] * 3), pa.binary(3)),
        "bin": column(lambda i: bytes([i % 256]), pa.large_binary()),
        "unknown": pa.nulls(count),
        "li": column(lambda i: list(range(i % 5)), pa.large_list(pa.int32())),
        "us": column(uuids, pa.list_(bin16)),
        "m": column(lambda i: [(raw(i), uuids(i))], pa.map_(bin16, pa.list_(bin16))),
        "st": column(lambda i: {"u": raw(i), "x": [{"y": when}] * (i % 3)}, nested),
        "empty": column(lambda i: {}, pa.struct([])),
    }
    if hasattr(pa, "uuid"):
        columns["u"] = pa.ExtensionArray.from_storage(pa.uuid(), columns["u"])
    return pa.RecordBatch.from_pydict(columns)


def plain(type_: pa.DataType, value: object) -> object:
    """A value with uuids as text."""
    if value is None or isinstance(value, uuid.UUID):
        return value and str(value)
    if pa.types.is_fixed_size_binary(type_) and type_.byte_width == 16:
        return str(uuid.UUID(bytes=value))
    if pa.types.is_struct(type_):
        return {f.name: plain(f.type, value[f.name]) for f in type_}
    if pa.types.is_map(type_):
        return [(plain(type_.key_type, k), plain(type_.item_type, v)) for k, v in value]
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return [plain(type_.value_type, v) for v in value]
    return value


@pytest.mark.parametrize("part", [slice(None), slice(3, 50), slice(5, 6), slice(0, 0), slice(2, 3)])
def test_conform(part: slice) -> None:
    batch = batch_of(100)
    batch = batch.slice(part.start or 0, (part.stop if part.stop is not None else 100) - (part.start or 0))
    got = conform(batch, arrow_schema(EVERYTHING))
    got.validate(full=True)
    assert got.schema == arrow_schema(EVERYTHING)
    for name in batch.schema.names:
        column = batch.column(name)
        assert got.column(name).to_pylist() == [plain(column.type, v) for v in column.to_pylist()], name


def test_conform_keeps_rows_without_columns() -> None:
    empty = pa.RecordBatch.from_struct_array(pa.array([{}] * 5, pa.struct([])))
    assert conform(empty, pa.schema([])).num_rows == 5


@given(st.uuids())
def test_uuids_as_text(value: uuid.UUID) -> None:
    batch = pa.record_batch({"u": pa.array([value.bytes], pa.binary(16))})
    assert conform(batch, pa.schema([("u", pa.string())])).to_pylist() == [{"u": str(value)}]
