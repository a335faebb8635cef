"""A table's schema in Spark's types, and Arrow batches in exactly the types that Spark takes.

Spark only takes certain types: strings must be `string` and not large, and timestamps with a zone must be
`timestamp[us, tz=UTC]`. Types that Spark lacks are converted (uuid to string, fixed to binary) or refused (time,
nanoseconds, geometry).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from frazil.exceptions import UnsupportedError
from frazil.schema import Field, Schema

__all__ = ["arrow_schema", "arrow_type", "conform", "sent_schema", "spark_schema", "spark_type"]

# The layout and metadata by which Spark recognises variants.
_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)
_SIMPLE: dict[str, tuple[st.DataType, pa.DataType]] = {
    "boolean": (st.BooleanType(), pa.bool_()),
    "int": (st.IntegerType(), pa.int32()),
    "long": (st.LongType(), pa.int64()),
    "float": (st.FloatType(), pa.float32()),
    "double": (st.DoubleType(), pa.float64()),
    "date": (st.DateType(), pa.date32()),
    "timestamp": (st.TimestampNTZType(), pa.timestamp("us")),
    "timestamptz": (st.TimestampType(), pa.timestamp("us", tz="UTC")),
    "string": (st.StringType(), pa.string()),
    "uuid": (st.StringType(), pa.string()),
    "binary": (st.BinaryType(), pa.binary()),
    "unknown": (st.NullType(), pa.null()),
    "variant": (st.VariantType(), _VARIANT),
}
_DECIMAL = re.compile(r"decimal\((\d+), *(\d+)\)\Z")


def spark_schema(schema: Schema) -> st.StructType:
    """The schema in Spark's types, with nullability and comments.

    Raises:
        UnsupportedError: Spark has no type for some columns. The message names them all.
    """
    _refuse_unsupported_columns(schema)
    return st.StructType([_spark_field(f) for f in schema.fields])


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema in which Spark takes these rows."""
    return pa.schema([_arrow_field(f) for f in schema.fields])


def sent_schema(schema: st.StructType) -> pa.Schema:
    """The Arrow schema in which Spark sends its own rows to Python.

    Raises:
        PySparkException: Spark has no Arrow type for a column.
    """
    timezone: dict[str, Any] = {"timezone": "UTC"}
    try:
        return to_arrow_schema(schema, **timezone)
    except TypeError:  # these versions always take UTC
        return to_arrow_schema(schema)


def _refuse_unsupported_columns(schema: Schema) -> None:
    unsupported = list(_unsupported_columns(schema.fields, ""))
    if unsupported:
        columns = ", ".join(f"'{path}' ({kind})" for path, kind in unsupported)
        raise UnsupportedError(
            f"Spark has no type for {columns}",
            {"column": ", ".join(path for path, _ in unsupported)},
            "Read the other columns: give select=[...] or option 'columns'",
        )


def _unsupported_columns(fields: Iterable[Field], prefix: str) -> Iterable[tuple[str, str]]:
    for f in fields:
        if f.children:
            yield from _unsupported_columns(f.children, f"{prefix}{f.name}.")
        elif _primitive(f.type) is None and not f.type.startswith("struct<"):
            yield prefix + f.name, f.type


def _primitive(type_: str) -> tuple[st.DataType, pa.DataType] | None:
    if decimal := _DECIMAL.match(type_):
        precision, scale = int(decimal[1]), int(decimal[2])
        return st.DecimalType(precision, scale), pa.decimal128(precision, scale)
    if type_.startswith("fixed["):
        return st.BinaryType(), pa.binary()
    return _SIMPLE.get(type_)


def _spark_field(f: Field, nullable: bool = False) -> st.StructField:
    """A column, or with `nullable` a member of a struct that may be null.

    If a struct is null, so are its members, even required ones. PySpark's `toArrow` does not take this into account.
    """
    metadata = {"comment": f.doc} if f.doc else None
    return st.StructField(f.name, spark_type(f), nullable or not f.required, metadata)


def spark_type(f: Field) -> st.DataType:
    """A column's type in Spark."""
    found = _primitive(f.type)
    if found is not None:
        return found[0]
    if f.type.startswith("list<"):
        (element,) = f.children
        return st.ArrayType(spark_type(element), not element.required)
    if f.type.startswith("map<"):
        key, value = f.children
        return st.MapType(spark_type(key), spark_type(value), not value.required)
    return st.StructType([_spark_field(c, not f.required) for c in f.children])


def _arrow_field(f: Field, nullable: bool = False) -> pa.Field:
    return pa.field(f.name, arrow_type(f), nullable=nullable or not f.required)


def arrow_type(f: Field) -> pa.DataType:
    """A column's type in the Arrow batches that Spark takes."""
    found = _primitive(f.type)
    if found is not None:
        return found[1]
    is_struct = f.type.startswith("struct<")
    children = [_arrow_field(c, is_struct and not f.required) for c in f.children]
    if f.type.startswith("list<"):
        return pa.list_(children[0])
    if f.type.startswith("map<"):
        return pa.map_(*children)
    return pa.struct(children)


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch's columns, in order, in the types of `schema`."""
    arrays = [_conform(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * batch.num_rows, pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _conform(array: pa.Array, target: pa.DataType) -> pa.Array:
    if array.type == target:
        return array
    source = array.type
    if target == _VARIANT:
        parts = [array.field(name) for name in ("value", "metadata")]
        return pa.StructArray.from_arrays(parts, fields=list(_VARIANT), mask=array.is_null())
    if pa.types.is_struct(target):
        children = [_conform(array.field(i), target.field(i).type) for i in range(target.num_fields)]
        if not children:
            return array.cast(target)
        return pa.StructArray.from_arrays(
            children, fields=[target.field(i) for i in range(target.num_fields)], mask=array.is_null()
        )
    if pa.types.is_map(target):
        offsets, begin, end = _offsets(array)
        keys = _conform(array.keys[begin:end], target.key_type)
        items = _conform(array.items[begin:end], target.item_type)
        return pa.MapArray.from_arrays(offsets, keys, items, type=target)
    if pa.types.is_list(target):
        offsets, begin, end = _offsets(array)
        return pa.ListArray.from_arrays(offsets, _conform(array.values[begin:end], target.value_type), type=target)
    if pa.types.is_string(target) and _is_uuid(source):
        return _uuid_text(array)
    return array.cast(target)


def _offsets(array: pa.Array) -> tuple[pa.Array, int, int]:
    """Offsets from 0, null where the list or map is null, and the range of values that they refer to."""
    offsets = array.offsets.to_numpy()
    begin, end = int(offsets[0]), int(offsets[-1])
    null = np.append(array.is_null().to_numpy(zero_copy_only=False), False) if array.null_count else None
    return pa.array((offsets - begin).astype(np.int32), mask=null), begin, end


def _is_uuid(type_: pa.DataType) -> bool:
    storage = type_.storage_type if isinstance(type_, pa.BaseExtensionType) else type_
    return bool(pa.types.is_fixed_size_binary(storage) and storage.byte_width == 16)


_HEX = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
# The positions of the 32 digits in the 36 characters of a uuid.
_DIGITS = np.array([i for i in range(36) if i not in (8, 13, 18, 23)])


def _uuid_text(array: pa.Array) -> pa.Array:
    """Uuids as text, without a Python object for each."""
    storage = array.storage if isinstance(array, pa.ExtensionArray) else array
    n = len(storage)
    raw = np.frombuffer(storage.buffers()[1], dtype=np.uint8, count=n * 16, offset=storage.offset * 16)
    digits = np.empty((n, 32), dtype=np.uint8)
    digits[:, 0::2] = _HEX[raw.reshape(n, 16) >> 4]
    digits[:, 1::2] = _HEX[raw.reshape(n, 16) & 15]
    text = np.full((n, 36), ord("-"), dtype=np.uint8)
    text[:, _DIGITS] = digits
    offsets = np.arange(n + 1, dtype=np.int32) * 36
    valid = storage.is_valid().buffers()[1] if storage.null_count else None
    return pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(text), valid)
