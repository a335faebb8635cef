"""How rows are distributed to Spark tasks before they are written: `write.distribution-mode`.

Source: Iceberg's documentation, "Writing Distribution Modes". Defaults are those of Java's
`SparkWriteConf.distributionMode`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias, get_args

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from frazil.capabilities import supports
from frazil.exceptions import InvalidInputError
from frazil.schema import Field, PartitionField, SortField
from frazil.spark import functions as ff
from frazil.spark.types import spark_type
from frazil.table import Table

__all__ = ["Distribution", "by_partition", "distributed", "ordering", "partition_columns"]

Distribution: TypeAlias = Literal["auto", "none", "hash", "range"]

PROPERTY = "write.distribution-mode"


def distributed(df: DataFrame, table: Table, distribution: Distribution = "auto") -> DataFrame:
    """The rows, distributed to the tasks that write.

    With `hash`, all rows of a partition go to one task. Spark's adaptive execution splits it if there are too many
    rows. With `range`, tasks get ranges of the partition and the table's sort order. Writers sort their own rows.

    Raises:
        InvalidInputError: The distribution does not exist.
    """
    mode = distribution if distribution != "auto" else _mode(table)
    if mode not in get_args(Distribution):
        raise InvalidInputError(
            f"'{mode}' is not a distribution", hint=f"Use one of {', '.join(get_args(Distribution))}"
        )
    if mode == "none" or not supports(table._core, "distribution_modes"):
        return df
    sources = _given(df, table)
    partition = _partition(table, sources)
    if mode == "hash":
        return _rebalanced(df, partition) if partition else df
    order = [*partition, *(c for field in table.sort_order.fields if (c := _ordered(field, sources)) is not None)]
    return df.repartitionByRange(*order) if order else df


def by_partition(df: DataFrame, table: Table) -> DataFrame:
    """The rows with each partition of a table in one task, however many rows it has."""
    partition = _partition(table, _given(df, table))
    return df.repartition(*partition) if partition else df.repartition(1)


def partition_columns(table: Table, named: Mapping[str, str]) -> list[Column]:
    """The table's partition fields. `named` maps the table's columns to names; fields without a name are left out."""
    fields = [field._replace(name=named[field.name]) for field in table.schema.fields if field.name in named]
    return _partition(table, dict(_sources(fields, ())))


def ordering(table: Table) -> list[Column] | None:
    """The table's sort order in Spark. It is None if Spark can't express it."""
    sources = dict(_sources(table.schema.fields, ()))
    order = [_ordered(field, sources) for field in table.sort_order.fields]
    found = [column for column in order if column is not None]
    return found if len(found) == len(order) else None


def _given(df: DataFrame, table: Table) -> dict[int, tuple[Column, Field]]:
    """The table's columns that the rows have. Missing columns become null, or the writer refuses them."""
    given = {name.lower() for name in df.columns}
    return dict(_sources([field for field in table.schema.fields if field.name.lower() in given], ()))


def _partition(table: Table, sources: Mapping[int, tuple[Column, Field]]) -> list[Column]:
    return [c for field in table.partition_spec.fields if (c := _column(field, sources)) is not None]


def _mode(table: Table) -> str:
    if not supports(table._core, "distribution_modes"):
        return "none"
    given = table.properties.get(PROPERTY)
    if given is not None:
        return given.lower()
    if table.sort_order.fields:
        return "range"
    return "hash" if table.partition_spec.fields else "none"


def _rebalanced(df: DataFrame, keys: list[Column]) -> DataFrame:
    """Rows with the same keys together. Where possible, Spark splits tasks that get too large; it needs columns."""
    if str(df.sparkSession.conf.get("spark.sql.adaptive.enabled", "true")).lower() == "false":
        return df.repartition(*keys)
    named = {f"frazil partition {i}": key for i, key in enumerate(keys)}
    names = [f"`{name}`" for name in named]
    return df.withColumns(named).hint("rebalance", *map(f.col, names)).drop(*named)


def _sources(fields: Iterable[Field], path: tuple[str, ...]) -> Iterator[tuple[int, tuple[Column, Field]]]:
    """Columns by their ids, including members of structs."""
    for field in fields:
        names = (*path, field.name)
        quoted = (f"`{name.replace('`', '``')}`" for name in names)
        yield field.id, (f.col(".".join(quoted)), field)
        if field.type.startswith("struct<"):
            yield from _sources(field.children, names)


def _column(field: PartitionField | SortField, sources: Mapping[int, tuple[Column, Field]]) -> Column | None:
    """A column's transform. It is None for `void` and unknown transforms."""
    if field.source_id not in sources:
        return None
    column, source = sources[field.source_id]
    kind, _, width = field.transform.rstrip("]").partition("[")
    match kind:
        case "identity":
            return column
        case "bucket":
            return ff.bucket(int(width), column)
        case "truncate":
            return ff.truncate(int(width), column, spark_type(source))
        case "year":
            return ff.years(column)
        case "month":
            return ff.months(column)
        case "day":
            return ff.days(column)
        case "hour":
            return ff.hours(column)
    return None


def _ordered(field: SortField, sources: Mapping[int, tuple[Column, Field]]) -> Column | None:
    column = _column(field, sources)
    if column is None:
        return None
    if field.descending:
        return column.desc_nulls_first() if field.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if field.nulls_first else column.asc_nulls_last()
