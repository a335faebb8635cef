"""Updates and deletes whose conditions and values Spark evaluates."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from frazil.exceptions import InvalidInputError
from frazil.expr import Filter, Term
from frazil.results import LastCommit
from frazil.spark.changes.assignments import new_values
from frazil.spark.changes.clauses import Expression
from frazil.spark.changes.merging import branch_or_none
from frazil.spark.changes.placed_changes import FILE, MISSING, POSITION, PlacedChange
from frazil.spark.changes.pruning import pushed
from frazil.spark.changes.ways import way_of
from frazil.spark.columns import as_column, as_sql, column_of, is_column, quoted
from frazil.spark.jobs.job import Job
from frazil.spark.lanes.arrow import no_rows
from frazil.spark.reading.whole_rows import whole_rows
from frazil.spark.types import spark_schema
from frazil.table import Table

__all__ = ["change_by_expression", "needs_spark"]


def needs_spark(
    spark: SparkSession, table: Table, where: Filter | Expression, values: Mapping[str, object], alias: str
) -> bool:
    """Whether only Spark understands a condition or a value.

    Raises:
        InvalidInputError: Nobody understands the condition.
    """
    if is_column(where) or any(is_column(value) for value in values.values()):
        return True
    try:
        table.scan(where)
    except InvalidInputError:
        if not isinstance(where, str):
            raise
        if not _is_known_to_spark(no_rows(spark, spark_schema(table.schema)).alias(alias), where):
            raise
        return True
    return False


def _is_known_to_spark(rows: DataFrame, where: str) -> bool:
    try:
        return bool(rows.where(where).schema.fields)
    except PySparkException:
        return False


def change_by_expression(
    spark: SparkSession,
    table: Table,
    where: Filter | Expression,
    values: Mapping[str, object] | None,
    alias: str,
    job: Job,
) -> LastCommit:
    """Updates or deletes the rows for which a condition of Spark's is true, in one commit. Returns what it did.

    Args:
        spark: The session.
        table: The table at its newest version.
        where: The condition.
        values: The new values by column; None deletes the rows.
        alias: The table's name in expressions.
        job: The branch, the name and the properties of the commit.

    Raises:
        InvalidInputError: A column or value does not fit.
        UnsupportedError: The table can't be changed in this way.
        CommitConflictError: Another commit changed what this one relies on.
    """
    if job.is_done(table):
        return LastCommit()
    exact = None if is_column(where) else _filter_of(table, where)
    condition = f.lit(True) if exact is not None else as_column(where)  # type: ignore[arg-type]
    fields = {one.name: one for one in table.schema.fields}
    empty = no_rows(spark, spark_schema(table.schema)).alias(alias)
    given = {name: _value(value) for name, value in (values or {}).items()}
    new = new_values(empty.where(condition), fields, given, alias)
    columns = [name for name in fields if name in new]
    way = way_of(table)

    def changes(rows: DataFrame) -> DataFrame:
        named = rows.withColumnsRenamed({"_file": FILE, "_pos": POSITION}).alias(alias).where(condition)
        own = [new[name].alias(f"frazil c{i}") for i, name in enumerate(columns)]
        places = [f.col(quoted(FILE)), f.col(quoted(POSITION)), f.lit(values is None).alias(MISSING)]
        return named.select(*own, *way.old(table, alias), *places)

    needs = pushed(spark, table, changes, [where if isinstance(where, str) else condition, *given.values()])
    filter = exact or ("true" if needs is None or needs.filter is None else str(needs.filter))
    select = list(fields) if needs is None else list(needs.columns) or list(fields)[:1]
    placed = way.read(spark, table, filter, select, branch_or_none(table, job))
    whole = whole_rows(placed.rows, spark_schema(table.schema), ("_file", "_pos"))
    change = PlacedChange(
        table=table,
        rows=changes(whole),
        placed=placed,
        updated=tuple(columns),
        inserted=(),
        deletes_all=False,
        command="delete" if values is None else "update",
        job=job,
    )
    way.write(change, filter)
    return job.done(table)


def _filter_of(table: Table, where: Filter | Expression) -> str | None:
    """The text of a condition that Frazil understands. It then chooses the rows itself."""
    try:
        return str(table.scan(where).filter)
    except InvalidInputError:
        return None


def _value(value: object) -> Expression:
    if is_column(value):
        return value  # type: ignore[return-value]
    return column_of(as_sql(str(value))) if isinstance(value, Term) else f.lit(value)
