"""Iceberg's partition transforms as functions of Spark columns. They equal `system.bucket` and others of its connector.

    from frazil.spark import functions as ff

    df.repartition(ff.bucket(16, "user_id"), ff.days("ts"))

Frazil computes them in Spark's Python workers, on Arrow columns. PySpark 4.0 only has functions of pandas columns, so
values travel as text there, which is slow. Null stays null. The time zone of the Spark session has no effect: instants
are in UTC.
"""

from __future__ import annotations

import base64
import datetime as dt
import struct
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as st

from frazil import transforms
from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.spark import wire
from frazil.spark.workers.remote import on_executors_each

__all__ = ["bucket", "days", "descriptor_to_string", "hours", "months", "path_to_descriptor", "truncate", "years"]


def bucket(buckets: int, column: str | Column) -> Column:
    """The bucket of each value, from 0 to `buckets - 1`, as int.

    Args:
        buckets: The number of buckets.
        column: Integers, decimals, dates, timestamps, strings or binary. Other types fail when Spark runs the query.
    """
    return _apply(Transform("bucket", transforms._parameter("buckets", buckets)), column, "int")


def truncate(width: int, column: str | Column, type: str | st.DataType = "string") -> Column:
    """Each value cut to a width: numbers to a multiple of it, strings to characters, binary to bytes.

    Args:
        width: The width.
        column: Integers, decimals, strings or binary.
        type: The column's type. Spark needs it before it looks at the column.
    """
    return _apply(Transform("truncate", transforms._parameter("width", width)), column, type)


def years(column: str | Column) -> Column:
    """Years since 1970 of dates and timestamps, as int."""
    return _apply(Transform("year"), column, "int")


def months(column: str | Column) -> Column:
    """Months since 1970-01 of dates and timestamps, as int."""
    return _apply(Transform("month"), column, "int")


def days(column: str | Column) -> Column:
    """The day of dates and timestamps, as date."""
    return _apply(Transform("day"), column, "date")


def hours(column: str | Column) -> Column:
    """Hours since 1970-01-01T00 of timestamps, as int."""
    return _apply(Transform("hour"), column, "int")


class Transform:
    """Runs on executors: one of `frazil.transforms`."""

    def __init__(self, name: str, parameter: int | None = None) -> None:
        self._name = name
        self._parameters = () if parameter is None else (parameter,)

    @property
    def shown(self) -> str:
        """Its name in Spark's plans."""
        return "_".join(map(str, (self._name, *self._parameters)))

    def __call__(self, array: pa.Array) -> pa.Array:
        """The transformed column, in a type that Spark takes."""
        if pa.types.is_timestamp(array.type) and array.type.tz is not None:
            array = array.cast(pa.timestamp(array.type.unit, "UTC"))
        elif pa.types.is_int8(array.type) or pa.types.is_int16(array.type):
            array = array.cast(pa.int32())
        result = getattr(transforms, self._name)(array, *self._parameters)
        return result.combine_chunks() if isinstance(result, pa.ChunkedArray) else result


class TransformTexts:
    """Runs on executors: the same for values that come as JSON, with Spark's name of their type."""

    def __init__(self, transform: Transform | DescriptorFunction) -> None:
        self._transform = transform

    def __call__(self, texts: Any, types: Any) -> Any:
        """The transformed values. The pandas series that Spark passes has no nullable integers and lacks some times."""
        import pandas as pd

        parsed = [wire.decimal_value(text) for text in texts]
        array = _array_of(parsed, types.iloc[0]) if parsed else pa.array([], pa.int32())
        return pd.Series(self._transform(array).to_pylist(), dtype=object)


_BY_NAME: dict[str, pa.DataType] = {
    **dict.fromkeys(("tinyint", "smallint", "int"), pa.int32()),
    "bigint": pa.int64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
}


def _array_of(values: list[Any], type: str) -> pa.Array:
    if type.startswith("decimal("):
        precision, _, scale = type[len("decimal(") : -1].partition(",")
        return pa.array([v if v is None else Decimal(v) for v in values], pa.decimal128(int(precision), int(scale)))
    if type in ("boolean", "float", "double"):
        raise InvalidInputError(f"values of type {type} can't be transformed")
    parse: Callable[[str], Any] | None = None
    if type == "binary":
        parse = base64.b64decode
    elif type == "date":
        parse = dt.date.fromisoformat
    elif type.startswith("timestamp"):
        parse = _timestamp
    parsed = values if parse is None else [v if v is None else parse(v) for v in values]
    return pa.array(parsed, _BY_NAME.get(type, pa.string()))


def _timestamp(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text.replace("Z", "+00:00"))


_JSON = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def _apply(transform: Transform | DescriptorFunction, column: str | Column, type: str | st.DataType) -> Column:
    column = f.col(column) if isinstance(column, str) else column
    # Spark asks for type hints, but a function of any type has no hints.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return _udf(transform, type)(column)


class DescriptorFunction:
    """Runs on executors: one of the functions about descriptors of blobs."""

    def __init__(self, name: str) -> None:
        self.shown = name

    def __call__(self, array: pa.Array) -> pa.Array:
        """The results as Arrow."""
        if self.shown == "path_to_descriptor":
            return pa.array([None if v is None else _descriptor(v) for v in array.to_pylist()], pa.binary())
        return pa.array([None if v is None else _shown_descriptor(v) for v in array.to_pylist()], pa.string())


_MAGIC = 0x424C4F4244455343
_VERSION = 2


def _descriptor(uri: str, offset: int = 0, length: int = -1) -> bytes:
    """What Paimon writes about a blob: a version, a mark, the place of its file, and where it is in the file."""
    path = uri.encode()
    return struct.pack("<bqi", _VERSION, _MAGIC, len(path)) + path + struct.pack("<qq", offset, length)


def _shown_descriptor(descriptor: bytes) -> str:
    """A descriptor as Java shows it.

    Raises:
        InvalidInputError: The bytes are no descriptor.
    """
    try:
        (version,) = struct.unpack_from("<b", descriptor)
        at = 1 if version < _VERSION else 9
        known = version <= _VERSION and (at == 1 or struct.unpack_from("<q", descriptor, 1) == (_MAGIC,))
        (size,) = struct.unpack_from("<i", descriptor, at)
        path = descriptor[at + 4 : at + 4 + size]
        offset, length = struct.unpack_from("<qq", descriptor, at + 4 + size)
        if not known or size < 0:
            raise InvalidInputError("the bytes are no descriptor of a blob")
        return f"BlobDescriptor{{version={version}, uri='{path.decode()}', offset={offset}, length={length}}}"
    except (struct.error, UnicodeDecodeError) as error:
        raise InvalidInputError("the bytes are no descriptor of a blob") from error


def path_to_descriptor(column: str | Column) -> Column:
    """The descriptor of the blob that is a whole file, as binary: Paimon's `sys.path_to_descriptor`.

    Args:
        column: The paths of the files.
    """
    return _apply(DescriptorFunction("path_to_descriptor"), column, "binary")


def descriptor_to_string(column: str | Column) -> Column:
    """A descriptor of a blob as text: Paimon's `sys.descriptor_to_string`. Other bytes fail when Spark runs the query.

    Args:
        column: Descriptors, as binary.
    """
    return _apply(DescriptorFunction("descriptor_to_string"), column, "string")


def register_transform(spark: SparkSession, name: str, transform: Transform, type: str) -> None:
    """Makes a transform a function of SQL in a session.

    Raises:
        UnsupportedError: PySpark is older than 4.1.
    """
    register_function(spark, name, transform, type)


def register_function(spark: SparkSession, name: str, function: Transform | DescriptorFunction, type: str) -> None:
    """Makes a function on Arrow columns a function of SQL in a session.

    Raises:
        UnsupportedError: PySpark is older than 4.1.
    """
    try:
        from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf
    except ImportError as error:
        raise UnsupportedError(
            "PySpark 4.0 can't register transforms as functions of SQL",
            hint="Use frazil.spark.functions in a DataFrame, or PySpark 4.1",
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        kernel: Any = arrow_udf(on_executors_each(function, function.shown), type, ArrowUDFType.SCALAR)
        spark.udf.register(name, kernel)


def _udf(transform: Transform | DescriptorFunction, type: str | st.DataType) -> Callable[[Column], Column]:
    try:
        from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf
    except ImportError:
        from pyspark.sql.pandas.functions import PandasUDFType, pandas_udf

        by_text = on_executors_each(TransformTexts(transform), transform.shown)
        function = pandas_udf(by_text, cast(Any, type), PandasUDFType.SCALAR)
        return lambda column: function(f.to_json(f.struct(column.alias("v")), _JSON), f.typeof(column))
    kernel: Callable[[Column], Column] = arrow_udf(
        on_executors_each(transform, transform.shown), type, ArrowUDFType.SCALAR
    )
    return kernel
