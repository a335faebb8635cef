"""Which rows go to which Spark task before they are written: `write.distribution-mode`.

Source: Iceberg's documentation, "Writing Distribution Modes"; defaults as Java's `SparkWriteConf.distributionMode`.
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
    """The rows as they go to writing tasks.

    By hash, all rows of a partition go to one task, unless there are so many that Spark splits them (adaptive
    execution). By range, tasks have ranges of the partition and the table's sort order. Writers sort their own rows.

    Raises:
        InvalidInputError: There is no such distribution.
    """
    mode = distribution if distribution != "auto" else _mode(table)
    if mode not in get_args(Distribution):
        raise InvalidInputError(
            f"'{mode}' is no distribution", hint=f"It is one of {', '.join(get_args(Distribution))}"
        )
    if mode == "none" or not supports(table, "distribution_modes"):
        return df
    sources = _given(df, table)
    partition = _partition(table, sources)
    if mode == "hash":
        return _rebalanced(df, partition) if partition else df
    order = [*partition, *(c for field in table.sort_order.fields if (c := _ordered(field, sources)) is not None)]
    return df.repartitionByRange(*order) if order else df


def by_partition(df: DataFrame, table: Table) -> DataFrame:
    """The rows with all of a partition of a table in one task, however many there are."""
    partition = _partition(table, _given(df, table))
    return df.repartition(*partition) if partition else df.repartition(1)


def partition_columns(table: Table, named: Mapping[str, str]) -> list[Column]:
    """The table's partition fields of rows in which the table's columns have these names; others are left out."""
    fields = [field._replace(name=named[field.name]) for field in table.schema.fields if field.name in named]
    return _partition(table, dict(_sources(fields, ())))


def ordering(table: Table) -> list[Column] | None:
    """The table's sort order as Spark has it; None if it has no words for it."""
    sources = dict(_sources(table.schema.fields, ()))
    order = [_ordered(field, sources) for field in table.sort_order.fields]
    found = [column for column in order if column is not None]
    return found if len(found) == len(order) else None


def _given(df: DataFrame, table: Table) -> dict[int, tuple[Column, Field]]:
    """The table's columns that the rows have. What they lack becomes null, or the writer refuses it."""
    given = {name.lower() for name in df.columns}
    return dict(_sources([field for field in table.schema.fields if field.name.lower() in given], ()))


def _partition(table: Table, sources: Mapping[int, tuple[Column, Field]]) -> list[Column]:
    return [c for field in table.partition_spec.fields if (c := _column(field, sources)) is not None]


def _mode(table: Table) -> str:
    if not supports(table, "distribution_modes"):
        return "none"
    given = table.properties.get(PROPERTY)
    if given is not None:
        return given.lower()
    if table.sort_order.fields:
        return "range"
    return "hash" if table.partition_spec.fields else "none"


def _rebalanced(df: DataFrame, keys: list[Column]) -> DataFrame:
    """Rows with the same keys together. Where it may, Spark splits tasks that become too large; by columns only."""
    if str(df.sparkSession.conf.get("spark.sql.adaptive.enabled", "true")).lower() == "false":
        return df.repartition(*keys)
    named = {f"frazil partition {i}": key for i, key in enumerate(keys)}
    names = [f"`{name}`" for name in named]
    return df.withColumns(named).hint("rebalance", *map(f.col, names)).drop(*named)


def _sources(fields: Iterable[Field], path: tuple[str, ...]) -> Iterator[tuple[int, tuple[Column, Field]]]:
    """Columns by their ids, members of structs too."""
    for field in fields:
        names = (*path, field.name)
        quoted = (f"`{name.replace('`', '``')}`" for name in names)
        yield field.id, (f.col(".".join(quoted)), field)
        if field.type.startswith("struct<"):
            yield from _sources(field.children, names)


def _column(field: PartitionField | SortField, sources: Mapping[int, tuple[Column, Field]]) -> Column | None:
    """A column's transform; None for `void` and what is not known, which tell nothing."""
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
