"""Rows that tasks get as Arrow batches: their columns by the table's names, and numbers in the table's types.

`df.write` and streams have no plan of Spark's that could cast them. So the data source checks the schema on the driver,
and the tasks cast batches by the rules of Spark's store assignment `ANSI`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as st

from frazil.exceptions import InvalidInputError
from frazil.schema import Schema
from frazil.spark.types import arrow_type
from frazil.spark.writing.store_assignment import check_names, found_name

__all__ = ["Arriving"]


@dataclass(frozen=True)
class Arriving:
    """What becomes of the columns of arriving batches.

    Attributes:
        names: The new names.
        types: The new types; None where a column stays.
    """

    names: tuple[str, ...]
    types: tuple[pa.DataType | None, ...]

    @classmethod
    def of(cls, rows: st.StructType, table: Schema, case_sensitive: bool) -> Arriving | None:
        """What becomes of rows with a schema of Spark's. It is None if they stay as they are.

        Raises:
            InvalidInputError: Two columns have one name, or are meant for one column of the table.
        """
        check_names(rows)
        known = {field.name: _spark_arrow_type(table, field.name) for field in table.fields}
        names = [found_name(c.name, known, str if case_sensitive else str.lower) or c.name for c in rows.fields]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InvalidInputError(f"two columns of the rows are meant for column '{twice}' of the table")
        types = [_narrower(c.dataType, known.get(name)) for name, c in zip(names, rows.fields, strict=True)]
        if names == [c.name for c in rows.fields] and not any(types):
            return None
        return cls(tuple(names), tuple(types))

    def batches(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches with the new names and types.

        Raises:
            InvalidInputError: A value does not fit.
        """
        for batch in rows:
            columns = [
                column if to is None else _cast(column, to, name)
                for column, to, name in zip(batch.columns, self.types, self.names, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, list(self.names))


def _spark_arrow_type(table: Schema, name: str) -> pa.DataType | None:
    """The Arrow type in which Spark would take a column. It is None for types that Spark lacks."""
    field = next(field for field in table.fields if field.name == name)
    try:
        return arrow_type(field)
    except KeyError:
        return None


def _narrower(have: st.DataType, want: pa.DataType | None) -> pa.DataType | None:
    """The type to cast numbers to, if the writer would refuse them."""
    if want is None or not isinstance(have, st.NumericType):
        return None
    whole = isinstance(have, (st.ByteType, st.ShortType, st.IntegerType, st.LongType))
    if pa.types.is_string(want) and whole:
        return want
    if pa.types.is_int32(want):
        return None if isinstance(have, (st.ByteType, st.ShortType, st.IntegerType)) else want
    if pa.types.is_int64(want):
        return None if whole else want
    if pa.types.is_float32(want):
        return None if isinstance(have, st.FloatType) else want
    if pa.types.is_float64(want):
        return None if isinstance(have, (st.FloatType, st.DoubleType)) else want
    if pa.types.is_decimal(want):
        same = isinstance(have, st.DecimalType) and (have.precision, have.scale) == (want.precision, want.scale)
        return None if same else want
    return None


def _cast(column: pa.Array, to: pa.DataType, name: str) -> pa.Array:
    try:
        if pa.types.is_decimal(to):
            whole = pa.types.is_integer(column.type)
            rounded = column if whole else pc.round(column, to.scale, "half_towards_infinity")
            return rounded.cast(pa.decimal128(38, to.scale)).cast(to)
        if pa.types.is_integer(to) and not pa.types.is_integer(column.type):
            return pc.trunc(column).cast(to)
        if pa.types.is_floating(to):
            return column.cast(pa.float64(), safe=False).cast(to, safe=False)
        return column.cast(to)
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"a value does not fit into {to}", {"column": name}, str(error)) from error
