"""Changes of a table's schema that come with a DataFrame's rows (`mergeSchema`, `overwriteSchema`).

The rows are written for a version of the table that nobody else sees. Each process makes that version by the same
steps, so columns get the same ids everywhere. One commit publishes the schema and the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import types as st

from frazil import _core
from frazil._core import CommitMessage
from frazil.capabilities import supports
from frazil.evolve import UpdateSchema
from frazil.exceptions import CommitConflictError
from frazil.interop.spark_schemas import from_spark
from frazil.schema import Field, Schema
from frazil.spark.jobs.interrupts import raise_if_interrupted
from frazil.spark.jobs.job import give_up, unless_committed
from frazil.spark.types import spark_type
from frazil.spark.writing.arriving import Arriving
from frazil.spark.writing.job import WriteJob
from frazil.spark.writing.store_assignment import found_name
from frazil.spark.writing.writer import FrazilWriter, Written, messages_of
from frazil.table import Table
from frazil.transaction import Transaction

__all__ = ["EvolvingWriter", "SchemaChange", "comes_with_rows"]


@dataclass(frozen=True)
class SchemaChange:
    """A change of a table's schema, so that rows fit.

    Attributes:
        schema: The columns to add or widen, as JSON.
        dropped: The columns to drop before.
    """

    schema: str
    dropped: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, rows: st.StructType, table: Schema, key: Callable[[str], str], replaces: bool = False
    ) -> SchemaChange | None:
        """The change that rows with a schema of Spark's need. It is None if they need none.

        Args:
            rows: The rows' schema.
            table: The table's schema.
            key: As `same_name` returns it.
            replaces: Whether the table gets exactly the columns of the rows.
        """
        renamed = _by_names(rows, table.fields, key)
        known = {field.name: field for field in table.fields}
        other = [
            column
            for column in renamed.fields
            if column.name not in known or _changes(column.dataType, known[column.name], replaces)
        ]
        dropped: list[str] = []
        if replaces:
            given = {column.name for column in renamed.fields}
            dropped = [name for name in known if name not in given]
            dropped += [c.name for c in other if c.name in known and not _is_wider(c.dataType, known[c.name])]
        if not other and not dropped:
            return None
        new = [
            column if column.name in known and column.name not in dropped else _nullable(column, replaces)
            for column in other
        ]
        return cls(Schema._wrap(from_spark(st.StructType(new))).to_json(), tuple(dropped))

    def apply(self, submit: Callable[[_core.Evolution], object]) -> None:
        """Makes the change, as one or two steps."""
        if self.dropped:
            with UpdateSchema(submit, True, True) as update:
                for name in self.dropped:
                    update.drop_column(name)
        if Schema.from_json(self.schema).fields:
            with UpdateSchema(submit, True, True) as update:
                update.union_by_name(Schema.from_json(self.schema))

    @contextmanager
    def version(self, table: Table) -> Iterator[Table]:
        """The table with the change. Nobody else sees it."""
        transaction = _core.Transaction.begin(table._core, None)
        try:
            self.apply(transaction.evolve)
            yield Table(transaction.table())
        finally:
            transaction.abort()

    def schema_after(self, table: Table) -> Schema:
        """The schema with the change."""
        if not comes_with_rows(table):
            return self.committed(table).schema
        with self.version(table) as version:
            return version.schema

    def committed(self, table: Table) -> Table:
        """The table after a commit of the change alone."""
        newest = Table(table._core).refresh()
        raise_if_interrupted()
        self.apply(lambda change: newest._moved(newest._core.evolve(change)))
        return newest


def comes_with_rows(table: Table) -> bool:
    """Whether a commit can change the schema and add rows. Buckets can't be told by the files alone."""
    if not supports(table._core, "independent_writers") or table.format_version < 1:
        return False
    return not any(field.transform.startswith("bucket") for field in table.partition_spec.fields)


class EvolvingWriter(FrazilWriter):
    """Writes rows for a table whose schema changes in the same commit."""

    def __init__(self, table: Table, job: WriteJob, change: SchemaChange, arriving: Arriving | None) -> None:
        super().__init__(table, job)
        self._change, self._arriving = change, arriving

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Writes one task's rows into new files. If that fails, the files are deleted."""
        rows = iterator if self._arriving is None else self._arriving.batches(iterator)
        with self._change.version(self._table) as version:
            return FrazilWriter(version, replace(self._job, operation="append", where=None)).write(rows)

    def commit(self, messages: list[CommitMessage | None]) -> None:  # type: ignore[override]
        """Publishes the schema and the rows in one commit, unless the job was done before."""
        written = messages_of(messages)  # type: ignore[arg-type]
        newest = Table(self._table._core).refresh()
        if self._job.is_done(newest):
            give_up(newest, written)
            return
        with unless_committed(lambda: give_up(newest, written)):
            if newest.schema.id != self._table.schema.id:
                raise CommitConflictError(
                    "the table's schema was changed while the rows were written", {"table": newest.location}
                )
            self._publish(newest, [file.path for message in written for file in message.files])

    def _publish(self, newest: Table, paths: list[str]) -> None:
        job = self._job
        transaction: Transaction = newest.transaction(branch=job.branch)
        with transaction:
            self._change.apply(transaction._evolve)
            if job.operation == "overwrite" and job.where is None:
                transaction.delete_files("true")
            elif job.operation == "overwrite":
                transaction.delete(str(job.where))
            if paths:
                transaction.add_files(paths, False, job.members())


def _by_names(rows: st.StructType, fields: tuple[Field, ...], key: Callable[[str], str]) -> st.StructType:
    """The schema with the names of the table's columns and members."""
    known = {field.name: field for field in fields}
    renamed = []
    for column in rows.fields:
        name = found_name(column.name, known, key)
        type_ = column.dataType
        if name is not None and isinstance(type_, st.StructType) and known[name].type.startswith("struct<"):
            type_ = _by_names(type_, known[name].children, key)
        renamed.append(st.StructField(name or column.name, type_, column.nullable, column.metadata))
    return st.StructType(renamed)


def _changes(have: st.DataType, field: Field, replaces: bool) -> bool:
    """Whether rows of a type change the type of a column."""
    want = spark_type(field)
    if isinstance(have, st.StructType) and isinstance(want, st.StructType):
        known = {child.name: child for child in field.children}
        return any(c.name not in known or _changes(c.dataType, known[c.name], replaces) for c in have.fields)
    if isinstance(have, st.ArrayType) and isinstance(want, st.ArrayType):
        return _changes(have.elementType, field.children[0], replaces)
    if isinstance(have, st.MapType) and isinstance(want, st.MapType):
        return _changes(have.valueType, field.children[1], replaces)
    whole = (st.ByteType, st.ShortType, st.IntegerType)
    same = type(have) is type(want) and (have == want or isinstance(want, st.StringType))
    if replaces:
        return not same and not (isinstance(have, whole) and isinstance(want, st.IntegerType))
    return not same and _is_wider(have, field)


def _is_wider(have: st.DataType, field: Field) -> bool:
    """Whether a column can widen to a type."""
    want = spark_type(field)
    if isinstance(want, (st.StructType, st.ArrayType, st.MapType)):
        return type(have) is type(want)
    if isinstance(want, st.DecimalType) and isinstance(have, st.DecimalType):
        return have.scale == want.scale and have.precision > want.precision
    pairs = ((st.IntegerType, st.LongType), (st.FloatType, st.DoubleType))
    return any(isinstance(want, old) and isinstance(have, new) for old, new in pairs)


def _nullable(column: st.StructField, replaces: bool) -> st.StructField:
    """A new column. Rows that are there already have null in it, so it takes null."""
    return column if replaces else st.StructField(column.name, column.dataType, True, column.metadata)
