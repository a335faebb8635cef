"""Writes Spark DataFrames into tables. Executors write files, and the driver commits once."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from frazil.engines import Engine
from frazil.exceptions import InvalidInputError
from frazil.expr import Filter
from frazil.results import LastCommit
from frazil.spark import wire
from frazil.spark.datasource import register
from frazil.spark.jobs.interrupts import raise_if_interrupted
from frazil.spark.jobs.target import handle_of, opened_for, writable
from frazil.spark.types import sent_schema
from frazil.spark.workers.errors import raised_by_casts
from frazil.spark.writing.distribution import Distribution, by_partition, distributed
from frazil.spark.writing.job import Operation, WriteJob
from frazil.spark.writing.native import ENGINE_MEMBER, WriteLane, write_job_folder, write_lane
from frazil.spark.writing.schema_changes import SchemaChange, comes_with_rows
from frazil.spark.writing.store_assignment import conformed, same_name
from frazil.spark.writing.writer import FrazilWriter, Written, commit_once
from frazil.table import Table

# Pickles of older versions look for the three classes in this module.
__all__ = ["FrazilWriter", "WriteJob", "Written", "append", "explain_write", "overwrite", "overwrite_partitions"]


SchemaMode: TypeAlias = Literal["merge", "overwrite"] | None
"""How rows may change the schema."""


def append(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
    distribution: Distribution = "auto",
    engine: Engine = "auto",
    merge_schema: bool = False,
) -> LastCommit:
    """Appends a DataFrame's rows to a table in one commit. Columns are matched by name.

    The result says what the commit did. If `job_id` was done before, no snapshot is made.

    Args:
        df: The rows.
        table: A table, its location, or its name (`catalog.namespace.table`). A table object stays at its version;
            `refresh()` shows the new rows.
        branch: The branch to change, if not `main`.
        snapshot_properties: Properties to add to the snapshot's summary.
        job_id: A name for this job. If a snapshot of the branch already has it, nothing is done. So a job that is run
            again after its driver died adds its rows once. Two jobs with the same name must not run at the same time,
            and expired snapshots are not recognised. It can't be empty.
        distribution: How rows are distributed to tasks before they are written. `none` leaves them as they are, `hash`
            brings all rows of a partition together, and `range` follows the table's sort order. `auto` follows the
            table's property `write.distribution-mode`. Without it, a table with a sort order gets `range`, and a
            partitioned table `hash`.
        engine: Who writes the files. `auto`: Spark's own Parquet writer if its files are like those of Iceberg's
            writers, otherwise Frazil's writer on the executors. `native`: Spark's writer, or an error. `arrow`:
            Frazil's writer. `explain_write` says which one. So does the summary's property `frazil.write-engine`.
        merge_schema: Add columns that only the DataFrame has to the table, and widen types, in the same commit.

    Raises:
        InvalidInputError: An argument is wrong, or a column does not exist in the table or has another type. Errors
            about values come from Spark's workers.
        UnsupportedError: The key of a table of Apache Paimon leaves out partition columns.
    """
    job = _job("append", None, branch, snapshot_properties, job_id)
    return _write(df, table, job, distribution, engine, "merge" if merge_schema else None)


def overwrite(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    where: Filter | None = None,
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
    distribution: Distribution = "auto",
    engine: Engine = "auto",
    merge_schema: bool = False,
    overwrite_schema: bool = False,
) -> LastCommit:
    """Replaces rows of a table by a DataFrame's rows in one commit, as `Table.overwrite` does.

    Rows that others commit while Spark computes are replaced as well.

    Args:
        df: The new rows. They may be read from the table itself.
        table: As for `append`.
        where: The rows to replace, as for `Table.scan`; None replaces all rows. For tables of Apache Paimon this
            selects partitions by the values of their columns.
        branch: As for `append`.
        snapshot_properties: As for `append`.
        job_id: As for `append`.
        distribution: As for `append`.
        engine: As for `append`.
        merge_schema: As for `append`.
        overwrite_schema: Give the table the DataFrame's columns, in the same commit. Needs `where=None`.

    Raises:
        InvalidInputError: As for `append`, or the filter does not fit.
        UnsupportedError: As for `append`, or the filter selects less than whole partitions of a table of Apache Paimon.
    """
    if overwrite_schema and where is not None:
        raise InvalidInputError(
            "only an overwrite of the whole table can overwrite its schema", hint="Leave out where="
        )
    mode: SchemaMode = "overwrite" if overwrite_schema else "merge" if merge_schema else None
    return _write(df, table, _job("overwrite", where, branch, snapshot_properties, job_id), distribution, engine, mode)


def overwrite_partitions(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
    job_id: str | None = None,
    distribution: Distribution = "auto",
    engine: Engine = "auto",
    merge_schema: bool = False,
) -> LastCommit:
    """Replaces all partitions that a DataFrame has rows for, as `Table.overwrite_partitions` does.

    Args:
        df: The new rows. They may be read from the table itself.
        table: As for `append`.
        branch: As for `append`.
        snapshot_properties: As for `append`.
        job_id: As for `append`.
        distribution: As for `append`.
        engine: As for `append`.
        merge_schema: As for `append`.

    Raises:
        InvalidInputError: As for `append`.
        UnsupportedError: As for `append`.
    """
    job = _job("overwrite-partitions", None, branch, snapshot_properties, job_id)
    return _write(df, table, job, distribution, engine, "merge" if merge_schema else None)


def _job(
    operation: Operation,
    where: Filter | None,
    branch: str | None,
    properties: Mapping[str, object] | None,
    job_id: str | None,
) -> WriteJob:
    """The job that arguments describe."""
    text = None if where is None else str(where)
    return replace(WriteJob.named(branch, properties, job_id), operation=operation, where=text)


def explain_write(df: DataFrame, table: Table | str | os.PathLike[str], engine: Engine = "auto") -> WriteLane:
    """Who would write a DataFrame's rows into a table, and why. Print it. The arguments are those of `append`."""
    opened = writable(df.sparkSession, table)
    return write_lane(conformed(df, opened), opened, engine)


def _write(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    job: WriteJob,
    distribution: Distribution,
    engine: Engine,
    schema_mode: SchemaMode = None,
) -> LastCommit:
    opened, job = opened_for(df.sparkSession, table, job)
    if job.is_done(opened):
        return LastCommit()
    if schema_mode is not None:
        opened, change = _with_schema(df, opened, job, schema_mode)
        if change is not None:
            register(df.sparkSession)
            _write_by_tasks(conformed(df, opened, change.schema_after(opened).fields), opened, job, schema_mode)
            return job.done(opened)
    # This comes after the check above: a job that is done may no longer fit the table.
    job.check(opened)
    df = conformed(df, opened)
    lane = write_lane(df, opened, engine)
    if lane.engine == "arrow":
        _check_columns(df, opened, job)
    job = replace(job, properties={**job.properties, ENGINE_MEMBER: lane.engine})
    if distribution == "auto" and job.needs_one_writer(opened):
        rows = by_partition(df, opened)
    else:
        rows = distributed(df, opened, distribution)
    with raised_by_casts():
        if lane.engine == "native":
            commit_once(opened, job, [write_job_folder(rows, opened, str(uuid.uuid4()))])
        else:
            _write_by_tasks(rows, opened, job)
    return job.done(opened)


def _with_schema(df: DataFrame, table: Table, job: WriteJob, mode: SchemaMode) -> tuple[Table, SchemaChange | None]:
    """The change of the schema that is committed with the rows. Otherwise the table after a commit of it."""
    change = SchemaChange.of(df.schema, table.schema, same_name(df.sparkSession), mode == "overwrite")
    if change is None or (comes_with_rows(table) and job.operation != "overwrite-partitions"):
        return table, change
    return change.committed(table), None


def _check_columns(df: DataFrame, table: Table, job: WriteJob) -> None:
    """Refuses columns that the table can't have, before a task starts. A batch without rows is enough for that."""
    try:
        schema = sent_schema(df.schema)
    except PySparkException:  # the workers will raise the right error
        return
    nothing = pa.RecordBatchReader.from_batches(schema, [pa.RecordBatch.from_pylist([], schema)])
    table.writer(branch=job.branch, overwrite=job.overwrites).write(nothing)


def _write_by_tasks(rows: DataFrame, table: Table, job: WriteJob, schema_mode: SchemaMode = None) -> None:
    """Writes rows by the data source's writer, which commits and cleans up."""
    register(rows.sparkSession)
    writer = rows.write.format("frazil")
    writer = writer.mode("append" if job.operation == "append" else "overwrite").option("job-id", job.id)
    if job.operation == "overwrite-partitions":
        writer = writer.option("overwrite-mode", "dynamic")
    if job.where is not None:
        writer = writer.option("replace-where", job.where)
    if job.branch is not None:
        writer = writer.option("branch", job.branch)
    if schema_mode is not None:
        writer = writer.option(f"{schema_mode}-schema", "true")
    # Spark changes names of options to lower case, but not their values.
    writer = writer.option("snapshot-properties", wire.text_of(job.properties))
    writer = writer.options(**handle_of(table))
    raise_if_interrupted()
    writer.save(table.writable_location())
