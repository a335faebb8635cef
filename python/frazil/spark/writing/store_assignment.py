"""Spark's store assignment: how a value of one type is written into a column of another type.

The setting `spark.sql.storeAssignmentPolicy` decides. With `ANSI`, the default, numbers may become other numbers, and
a value that does not fit is an error. With `STRICT`, only wider types are allowed. With `LEGACY`, every cast is
allowed, and a value that does not fit becomes null. Columns and members of structs are found by their names. Names are
compared by the setting `spark.sql.caseSensitive`.

Source: Spark's documentation, "ANSI Compliance", section "Store assignment".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as st

from frazil.exceptions import InvalidInputError
from frazil.schema import Field
from frazil.spark.columns import quoted
from frazil.spark.types import spark_type
from frazil.table import Table

__all__ = ["RAISED", "Assigner", "check_names", "conformed", "found_name", "same_name"]

RAISED = "frazil: "
"""The beginning of errors that Spark's `raise_error` raises for values that do not fit."""

_POLICY, _CASE = "spark.sql.storeAssignmentPolicy", "spark.sql.caseSensitive"
_WHOLE = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)
_DIGITS = {st.ByteType: 3, st.ShortType: 5, st.IntegerType: 10, st.LongType: 20}
_TIMES = (st.DateType, st.TimestampType, st.TimestampNTZType)
_TEXTS = (st.StringType, st.CharType, st.VarcharType)


def same_name(spark: SparkSession) -> Callable[[str], str]:
    """A function that gives names that mean the same column in a session the same text."""
    sensitive = str(spark.conf.get(_CASE, "false")).lower() == "true"
    return str if sensitive else str.lower


def found_name(name: str, names: Iterable[str], key: Callable[[str], str]) -> str | None:
    """The name among others that means the same column. An equal name has precedence."""
    others = list(names)
    if name in others:
        return name
    found = [other for other in others if key(other) == key(name)]
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class Assigner:
    """Casts values by a policy.

    Attributes:
        policy: `ANSI`, `STRICT` or `LEGACY`.
        key: As `same_name` returns it.
        whole: Whether a struct must have all members of its column, and no others. Otherwise the writer decides.
    """

    policy: str
    key: Callable[[str], str]
    whole: bool = False

    @classmethod
    def of(cls, spark: SparkSession) -> Assigner:
        """The assigner of a session."""
        return cls(str(spark.conf.get(_POLICY, "ANSI")).upper(), same_name(spark))

    def assigned(self, value: Column, have: st.DataType, field: Field, name: str | None = None) -> Column | None:
        """A value in the type of a column. It is None if the value can stay as it is.

        Args:
            value: The value.
            have: Its type.
            field: The column.
            name: The column's full name, for messages.

        Raises:
            InvalidInputError: The policy does not allow it.
        """
        want, name = spark_type(field), name or field.name
        if isinstance(want, st.NullType) or (isinstance(want, st.StructType) and not field.type.startswith("struct<")):
            return None  # Spark has no such type, so the core decides
        if isinstance(want, st.StructType) and isinstance(have, st.StructType):
            return self._struct(value, have, field, name)
        if isinstance(want, st.ArrayType) and isinstance(have, st.ArrayType):
            return self._list(value, have, field, name)
        if isinstance(want, st.MapType) and isinstance(have, st.MapType):
            return self._map(value, have, field, name)
        if type(have) is type(want) and (have == want or isinstance(want, st.StringType)):
            return None
        if isinstance(have, _TEXTS) and isinstance(want, _TEXTS):
            return None
        if isinstance(have, st.NullType) or _is_wider(have, want):
            return value.cast(want)
        if not self._allows(have, want):
            raise InvalidInputError(
                f"a {have.simpleString()} can't be written into a column of type {want.simpleString()}",
                {"column": name},
                f"Cast it: col.cast('{want.simpleString()}')",
            )
        return self._checked(value, have, want, name)

    def _allows(self, have: st.DataType, want: st.DataType) -> bool:
        if self.policy == "LEGACY":
            return True
        if self.policy == "STRICT":
            return isinstance(want, st.StringType) and isinstance(have, st.AtomicType)
        if isinstance(have, st.NumericType) and isinstance(want, st.NumericType):
            return True
        if isinstance(want, st.StringType):
            return isinstance(have, st.AtomicType) and not isinstance(have, st.BinaryType)
        return isinstance(have, _TIMES) and isinstance(want, _TIMES)

    def _checked(self, value: Column, have: st.DataType, want: st.DataType, name: str) -> Column:
        """A value that fits, or an error. The session's ANSI mode does not matter."""
        fitting = value.try_cast(want)
        if self.policy == "LEGACY" or not isinstance(want, st.NumericType):
            return fitting
        shown = f.concat(f.lit(f"{RAISED}column '{name}': "), value.cast("string"))
        lost = f.raise_error(f.concat(shown, f.lit(f" does not fit into {want.simpleString()}")))
        return f.when(value.isNotNull() & fitting.isNull(), lost).otherwise(fitting)

    def _struct(self, value: Column, have: st.StructType, field: Field, name: str) -> Column | None:
        """Members are matched by name. The new struct has them in the order of the column."""
        known = {member.name: member for member in field.children}
        found: dict[str, st.StructField] = {}
        for member in have.fields:
            to = found_name(member.name, known, self.key)
            if to is None or to in found:
                if self.whole:
                    self._refuse(f"the column has no member '{member.name}'", name, field)
                return None  # the writer refuses it
            found[to] = member
        if self.whole and (missing := next((to for to in known if to not in found), None)):
            self._refuse(f"the value lacks member '{missing}'", name, field)
        if len({self.key(member.name) for member in have.fields}) < len(have.fields):
            return None
        members = []
        changed = [to for to in known if to in found] != [member.name for member in have.fields]
        for to, member in ((to, found[to]) for to in known if to in found):
            old = value.getField(member.name)
            new = self.assigned(old, member.dataType, known[to], f"{name}.{to}")
            changed = changed or new is not None
            members.append((old if new is None else new).alias(to))
        return f.when(value.isNotNull(), f.struct(*members)) if changed else None

    def _refuse(self, why: str, name: str, field: Field) -> None:
        names = ", ".join(member.name for member in field.children)
        raise InvalidInputError(why, {"column": name, "members": names}, "Give a struct with all members of the column")

    def _list(self, value: Column, have: st.ArrayType, field: Field, name: str) -> Column | None:
        (element,) = field.children
        if self.assigned(f.lit(None), have.elementType, element, f"{name}.element") is None:
            return None
        return f.transform(value, self._inner(have.elementType, element, f"{name}.element"))

    def _map(self, value: Column, have: st.MapType, field: Field, name: str) -> Column | None:
        key, item = field.children
        result = None
        if self.assigned(f.lit(None), have.keyType, key, f"{name}.key") is not None:
            inner = self._inner(have.keyType, key, f"{name}.key")
            result = f.transform_keys(value, lambda k, _: inner(k))
        if self.assigned(f.lit(None), have.valueType, item, f"{name}.value") is not None:
            of = self._inner(have.valueType, item, f"{name}.value")
            result = f.transform_values(value if result is None else result, lambda _, v: of(v))
        return result

    def _inner(self, have: st.DataType, field: Field, name: str) -> Callable[[Column], Column]:
        def convert(value: Column) -> Column:
            new = self.assigned(value, have, field, name)
            return value if new is None else new

        return convert


def _is_wider(have: st.DataType, want: st.DataType) -> bool:
    """Whether each value of the first type is one of the second."""
    if isinstance(have, _WHOLE):
        if isinstance(want, _WHOLE):
            return _WHOLE.index(type(have)) < _WHOLE.index(type(want))
        if isinstance(want, st.DecimalType):
            return want.precision - want.scale >= _DIGITS[type(have)]
        return isinstance(want, (st.FloatType, st.DoubleType))
    if isinstance(have, st.FloatType):
        return isinstance(want, st.DoubleType)
    if isinstance(have, st.DecimalType) and isinstance(want, st.DecimalType):
        return want.scale >= have.scale and want.precision - want.scale >= have.precision - have.scale
    return isinstance(have, st.DateType) and isinstance(want, (st.TimestampType, st.TimestampNTZType))


def check_names(rows: st.StructType, prefix: str = "") -> None:
    """Refuses two columns of one name, at any depth. Spark's Arrow batches give them other names.

    Raises:
        InvalidInputError: There are two.
    """
    names = [field.name for field in rows.fields]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InvalidInputError(
            "the data has two columns of one name", {"column": prefix + twice}, "Rename or drop one of them"
        )
    for field in rows.fields:
        _check_inner(field.dataType, f"{prefix}{field.name}.")


def _check_inner(type_: st.DataType, prefix: str) -> None:
    if isinstance(type_, st.StructType):
        check_names(type_, prefix)
    elif isinstance(type_, st.ArrayType):
        _check_inner(type_.elementType, f"{prefix}element.")
    elif isinstance(type_, st.MapType):
        _check_inner(type_.keyType, f"{prefix}key.")
        _check_inner(type_.valueType, f"{prefix}value.")


def conformed(df: DataFrame, table: Table, fields: Sequence[Field] | None = None) -> DataFrame:
    """A DataFrame with the names and types of a table's columns, as far as it has them. Other columns stay.

    Raises:
        InvalidInputError: A type can't be written into its column.
    """
    check_names(df.schema)
    assigner = Assigner.of(df.sparkSession)
    known = {field.name: field for field in (table.schema.fields if fields is None else fields)}
    names, columns, changed = list(df.columns), [], False
    numbered = [f"frazil {i}" for i in range(len(names))]
    to_names = [found_name(name, known, assigner.key) for name in names]
    taken = [to for to in to_names if to is not None]
    if twice := next((to for to in taken if taken.count(to) > 1), None):
        given = ", ".join(name for name, to in zip(names, to_names, strict=True) if to == twice)
        raise InvalidInputError(
            f"two columns of the rows are meant for column '{twice}' of the table",
            {"columns": given},
            "Drop one of them, or set spark.sql.caseSensitive to true",
        )
    for number, column, to in zip(numbered, df.schema.fields, to_names, strict=True):
        value = f.col(quoted(number))
        new = None if to is None else assigner.assigned(value, column.dataType, known[to])
        changed = changed or new is not None or (to is not None and to != column.name)
        columns.append((value if new is None else new).alias(to or column.name, metadata=column.metadata))
    return df.toDF(*numbered).select(*columns) if changed else df
