"""Checks of the arguments of the functions in `frazil.spark`: see `frazil.arguments.checked`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pyspark.sql import DataFrame

from frazil import arguments
from frazil.arguments.checked import CHECKS, checked_call
from frazil.catalog import Catalog
from frazil.exceptions import InvalidInputError
from frazil.scan import Scan
from frazil.schema import Schema
from frazil.spark.columns import is_column
from frazil.table import Table

__all__ = ["SPARK_CHECKS", "checked"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _frame(argument: str, value: Any) -> Any:
    if isinstance(value, DataFrame) or type(value).__module__.startswith("pyspark.sql.connect."):
        return value
    hint = "Make one with spark.createDataFrame(...)"
    raise InvalidInputError(f"{argument} must be a Spark DataFrame, not {arguments.shown(value)}", hint=hint)


def _one_of(kinds: tuple[type, ...], kind: str) -> Callable[[str, Any], Any]:
    def check(argument: str, value: Any) -> Any:
        if isinstance(value, kinds):
            return arguments.path(argument, value) if isinstance(value, (str, os.PathLike)) else value
        raise InvalidInputError(f"{argument} must be {kind}, not {arguments.shown(value)}")

    return check


_PATHS = (str, os.PathLike)
_table_or_scan = _one_of((Table, Scan, *_PATHS), "a table, a scan, a location or a name")


def _tables(argument: str, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{argument} must be a dictionary of names and tables, not {arguments.shown(value)}")
    return {
        arguments.text(argument, name): _table_or_scan(f"{argument}[{name!r}]", table) for name, table in value.items()
    }


def _or_column(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda argument, value: value if is_column(value) else check(argument, value)


def _or_none(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda argument, value: None if value is None else check(argument, value)


def _text_or_columns(argument: str, value: Any) -> Any:
    return value if isinstance(value, str) else list(arguments.columns(value, argument))


def _assignments(argument: str, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{argument} must be True or a dictionary of columns, not {arguments.shown(value)}")
    text = _or_column(arguments.text)
    return {arguments.text(argument, to): text(argument, new) for to, new in value.items()}


_filter = CHECKS["Filter"]
_filter_or_flag = CHECKS["bool | Filter"]


def _tables_or_none(argument: str, value: Any) -> Any:
    return None if value is None else _tables(argument, value)


def _parameters(argument: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {arguments.text(argument, name): one for name, one in value.items()}
    if value is None or isinstance(value, (list, tuple)):
        return value
    raise InvalidInputError(f"{argument} must be a dictionary or a list, not {arguments.shown(value)}")


def _catalogs(argument: str, value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        hint = "Write catalogs={'prod': frazil.catalog(…)}"
        raise InvalidInputError(f"{argument} must be a dictionary, not {arguments.shown(value)}", hint=hint)
    for name, one in value.items():
        if not isinstance(one, (Catalog, Mapping)):
            raise InvalidInputError(f"{argument}[{name!r}] must be a catalog, not {arguments.shown(one)}")
    return {arguments.text(argument, name): one for name, one in value.items()}


SPARK_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    **CHECKS,
    "SparkSession": arguments.session,
    "DataFrame": _frame,
    "Scan": _one_of((Scan,), "a scan"),
    "Schema": _one_of((Schema,), "a schema"),
    "Table | str | os.PathLike[str]": _one_of((Table, *_PATHS), "a table, its location or its name"),
    "Table | Scan | str | os.PathLike[str]": _table_or_scan,
    "str | Column | None": _or_none(_or_column(arguments.text)),
    "str | Column | Sequence[str] | None": _or_none(_or_column(_text_or_columns)),
    "Filter | Column": _or_column(_filter),
    "bool | Filter | Column": _or_column(_filter_or_flag),
    "bool | Mapping[str, str | Column]": _assignments,
    "Literal['error', 'append', 'overwrite', 'ignore']": arguments.text,
    "Catalog | None": _or_none(_one_of((Catalog,), "a catalog")),
    "Mapping[str, Table | Scan | str | os.PathLike[str]]": _tables,
    "Mapping[str, Table | Scan | str | os.PathLike[str]] | None": _tables_or_none,
    "Mapping[str, object] | Sequence[object] | None": _parameters,
    "Mapping[str, Catalog | Mapping[str, object]] | None": _catalogs,
}
"""Checks by the text of the annotation, as `frazil.arguments.checked.CHECKS`."""


def checked(function: _Function) -> _Function:
    """A function that checks its arguments."""
    return checked_call(function, SPARK_CHECKS)
