"""INSERT and TRUNCATE."""

from __future__ import annotations

import datetime as dt

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as st

from frazil.exceptions import InvalidInputError
from frazil.spark import row_changes
from frazil.spark.columns import quoted
from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.names.branches import commit_options
from frazil.spark.sql.predicates import constants_of, equal_to, predicate_of
from frazil.spark.sql.queries import run, spliced
from frazil.spark.sql.session import Session
from frazil.spark.sql.values import literal
from frazil.spark.types import spark_schema
from frazil.spark.write import append, overwrite, overwrite_partitions
from frazil.table import Table

__all__ = ["constant", "insert", "truncate"]

_PARTITION_MODE = "spark.sql.sources.partitionOverwriteMode"


def insert(session: Session, node: nodes.Insert, statement: str) -> DataFrame:
    """INSERT INTO and INSERT OVERWRITE."""
    target = session.target(node.target)
    if target is None:
        return spliced(session, statement, node.query)
    rows = run(session, node.query)
    table = target.table
    evolves = node.by_name and (node.evolve or merges_schema(session, table))
    rows = assign_rows(session, table, rows, node)
    options = commit_options(session, target)
    if node.replace_where is not None:
        where = predicate_of(session, node.replace_where, table.schema)
        if where is None and node.replace_where.strip().lower() != "true":
            raise InvalidInputError(
                f"REPLACE WHERE {node.replace_where} can't be said as a filter",
                hint="Compare columns with constants, or DELETE the rows and INSERT the new ones",
            )
        done = overwrite(rows, table, where, **options)
    elif not node.overwrite:
        done = append(rows, table, **options, merge_schema=evolves)
    elif (session.spark.conf.get(_PARTITION_MODE, "static") or "").lower() == "dynamic":
        done = overwrite_partitions(rows, table, **options)
    else:
        static = {column: text for column, text in node.partition if text is not None}
        replaced = equal_to(session, table.schema, named(table, static)) if static else None
        done = overwrite(rows, table, replaced, **options)
    return session.done(done)


def truncate(session: Session, node: nodes.Truncate, statement: str) -> DataFrame:
    """TRUNCATE TABLE: removes all rows, or those of partitions."""
    target = session.target(node.target)
    if target is None:
        return session.spark.sql(statement)
    where = None
    if node.partition:
        where = equal_to(session, target.table.schema, named(target.table, constant(node.partition)))
    options = commit_options(session, target)
    done = row_changes.delete(session.spark, target.table, "true" if where is None else where, **options)
    return session.done(done)


def constant(partition: tuple[tuple[str, str | None], ...]) -> dict[str, str]:
    """The columns of a PARTITION clause, which must have values here."""
    missing = [column for column, text in partition if text is None]
    if missing:
        raise InvalidInputError(f"PARTITION: column '{missing[0]}' needs a value")
    return {column: text for column, text in partition if text is not None}


def named(table: Table, values: dict[str, str]) -> dict[str, str]:
    """The values by the table's own names of the columns."""
    known = {name.lower(): name for name in table.schema.names}
    return {known.get(column.lower(), column): text for column, text in values.items()}


def assign_rows(session: Session, table: Table, rows: DataFrame, node: nodes.Insert) -> DataFrame:
    """The rows with the names of the table's columns. Writing them gives them the table's types."""
    static = named(table, {column: text for column, text in node.partition if text is not None})
    if not node.by_name:
        listed = list(node.columns) or [name for name in table.schema.names if name not in static]
        rows = _by_position(rows, table, listed)
    if static:
        rows = _with_static(rows, constants_of(session, table.schema, static))
    return rows


def _by_position(rows: DataFrame, table: Table, columns: list[str]) -> DataFrame:
    """The rows whose columns are those of the table, in order. Members of structs are taken in order, too."""
    if len(rows.columns) != len(columns):
        raise InvalidInputError(
            f"the query has {len(rows.columns)} columns, and {len(columns)} are needed",
            {"columns": ", ".join(columns), "query": ", ".join(rows.columns)},
            "Give a column list, or INSERT INTO … BY NAME",
        )
    wanted = {field.name: field.dataType for field in spark_schema(table.schema)}
    have = [field.dataType for field in rows.schema.fields]
    numbered = rows.toDF(*(f"frazil {i}" for i in range(len(columns))))
    chosen = []
    for i, name in enumerate(columns):
        column, want = f.col(quoted(f"frazil {i}")), wanted.get(name)
        named = have[i] if want is None else _with_names(have[i], want)
        chosen.append((column if named == have[i] else column.cast(named)).alias(name))
    return numbered.select(*chosen)


def _with_names(have: st.DataType, want: st.DataType) -> st.DataType:
    """A type with the names that members of structs have in another, by their order. Values keep their types."""
    if isinstance(have, st.StructType) and isinstance(want, st.StructType) and len(have) == len(want):
        return st.StructType(
            [
                st.StructField(named.name, _with_names(field.dataType, named.dataType), field.nullable)
                for field, named in zip(have.fields, want.fields, strict=True)
            ]
        )
    if isinstance(have, st.ArrayType) and isinstance(want, st.ArrayType):
        return st.ArrayType(_with_names(have.elementType, want.elementType), have.containsNull)
    if isinstance(have, st.MapType) and isinstance(want, st.MapType):
        key, value = _with_names(have.keyType, want.keyType), _with_names(have.valueType, want.valueType)
        return st.MapType(key, value, have.valueContainsNull)
    return have


def _with_static(rows: DataFrame, values: dict[str, object]) -> DataFrame:
    for name, value in values.items():
        # Spark takes a datetime without a zone for one in Python's zone.
        column = f.expr(literal(value)) if isinstance(value, dt.datetime) else f.lit(value)
        rows = rows.select("*", column.alias(name))
    return rows


# ---------------------------------------------------------------- schemas that grow


def merges_schema(session: Session, table: Table) -> bool:
    """Whether settings and the table let columns be added by an INSERT."""
    accepts = table.properties.get("write.spark.accept-any-schema", "false").lower() == "true"
    names = ("spark.sql.iceberg.merge-schema",) if accepts else ("spark.paimon.write.merge-schema",)
    return any((session.spark.conf.get(name, "false") or "").lower() == "true" for name in names)
