"""Gives the columns of a query to the columns of a table, as Spark does on INSERT."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as st

from frazil.exceptions import InvalidInputError
from frazil.schema import Schema
from frazil.spark.columns import quoted
from frazil.spark.types import spark_schema

__all__ = ["assigned", "can_assign"]

_NUMBERS = (
    st.ByteType,
    st.ShortType,
    st.IntegerType,
    st.LongType,
    st.FloatType,
    st.DoubleType,
    st.DecimalType,
)
_TIMES = (st.DateType, st.TimestampType, st.TimestampNTZType)


def assigned(
    rows: DataFrame, schema: Schema, columns: Sequence[str], by_name: bool, policy: str, case_sensitive: bool
) -> DataFrame:
    """The rows with columns of the table's names and types. Columns that are not assigned are left out.

    Args:
        rows: The query's rows.
        schema: The table's columns.
        columns: The names for the query's columns in order; by name they are not used.
        by_name: Whether columns have their own names.
        policy: `spark.sql.storeAssignmentPolicy`.
        case_sensitive: `spark.sql.caseSensitive`.

    Raises:
        InvalidInputError: The number of columns, a name or a type does not fit.
    """
    wanted = {_key(field.name, case_sensitive): field for field in spark_schema(schema)}
    given = list(rows.columns)
    names = given if by_name else list(columns)
    if not by_name and len(given) != len(names):
        raise InvalidInputError(
            f"the query has {len(given)} columns, and {len(names)} are needed",
            {"columns": ", ".join(names), "query": ", ".join(given)},
            "Give a column list, or INSERT INTO … BY NAME",
        )
    numbered = rows.toDF(*(f"frazil {i}" for i in range(len(given))))
    found: dict[str, Column] = {}
    for i, (name, field) in enumerate(zip(names, rows.schema, strict=True)):
        target = wanted.get(_key(name, case_sensitive))
        if target is None:
            raise InvalidInputError(f"the table has no column '{name}'", {"column": name}, _known(schema))
        if target.name in found:
            raise InvalidInputError(f"column '{target.name}' is assigned twice", {"column": target.name})
        found[target.name] = _cast(f.col(quoted(f"frazil {i}")), field.dataType, target, policy).alias(target.name)
    return numbered.select(*(found[field.name] for field in schema.fields if field.name in found))


def _key(name: str, case_sensitive: bool) -> str:
    return name if case_sensitive else name.lower()


def _known(schema: Schema) -> str:
    return f"Its columns are {', '.join(schema.names)}"


def _cast(column: Column, given: st.DataType, target: st.StructField, policy: str) -> Column:
    wanted = target.dataType
    if given == wanted:
        return column
    if policy.upper() == "ANSI" and not can_assign(given, wanted):
        raise InvalidInputError(
            f"column '{target.name}': {given.simpleString()} can't be stored as {wanted.simpleString()}",
            {"column": target.name},
            f"Write CAST(… AS {wanted.simpleString()})",
        )
    if policy.upper() == "STRICT" and not _is_wider(given, wanted):
        raise InvalidInputError(
            f"column '{target.name}': {given.simpleString()} is not narrower than {wanted.simpleString()}",
            {"column": target.name},
            "Cast it in the query, or set spark.sql.storeAssignmentPolicy",
        )
    return column.cast(wanted)


def can_assign(given: st.DataType, wanted: st.DataType) -> bool:
    """Whether ANSI SQL lets values of a type be stored as another."""
    if given == wanted or isinstance(given, st.NullType):
        return True
    if isinstance(given, st.StructType) and isinstance(wanted, st.StructType):
        same = len(given) == len(wanted)
        return same and all(can_assign(a.dataType, b.dataType) for a, b in zip(given, wanted, strict=True))
    if isinstance(given, st.ArrayType) and isinstance(wanted, st.ArrayType):
        return can_assign(given.elementType, wanted.elementType)
    if isinstance(given, st.MapType) and isinstance(wanted, st.MapType):
        return can_assign(given.keyType, wanted.keyType) and can_assign(given.valueType, wanted.valueType)
    if isinstance(given, (st.StructType, st.ArrayType, st.MapType, st.VariantType)):
        return False
    if isinstance(given, _NUMBERS) and isinstance(wanted, _NUMBERS):
        return True
    if isinstance(given, _TIMES) and isinstance(wanted, _TIMES):
        return True
    if isinstance(given, st.StringType):
        return isinstance(wanted, st.StringType)
    return isinstance(wanted, st.StringType) and not isinstance(given, st.BinaryType)


def _is_wider(given: st.DataType, wanted: st.DataType) -> bool:
    order: list[type[st.DataType]] = [st.ByteType, st.ShortType, st.IntegerType, st.LongType]
    if type(given) in order and type(wanted) in order:
        return order.index(type(given)) <= order.index(type(wanted))
    return isinstance(given, (st.NullType, st.FloatType)) and isinstance(wanted, (st.FloatType, st.DoubleType))
