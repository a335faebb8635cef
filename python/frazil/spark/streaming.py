"""Streams into tables: each batch is written exactly once.

A query that writes puts its name and the batch into the snapshot's summary, as Iceberg's Spark connector does. So a
batch that Spark runs again after a failure is recognised.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.exceptions import InvalidInputError
from frazil.spark import wire
from frazil.spark.datasource import register
from frazil.spark.jobs.target import handle_of, opened_for
from frazil.spark.streams.reader import _Rows
from frazil.spark.streams.writer import _StreamWritten, check_stream_writes
from frazil.spark.writing.job import WriteJob
from frazil.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

# Pickles of older versions look for the two private classes in this module.
__all__ = ["_Rows", "_StreamWritten", "write_stream"]


def write_stream(
    df: DataFrame,
    table: Table | str | os.PathLike[str],
    branch: str | None = None,
    snapshot_properties: Mapping[str, object] | None = None,
) -> DataStreamWriter:
    """Spark's writer of a stream into a table, each batch once: `.option("checkpointLocation", …)`, `.start()`.

    It is `df.writeStream.format("frazil")` for any table, including tables of catalogs in databases and of stores with
    options.

    Args:
        df: A stream.
        table: A table, its location, or its name (`catalog.namespace.table`).
        branch: The branch to change, if not `main`.
        snapshot_properties: Properties to add to the snapshots' summaries.

    Raises:
        InvalidInputError: The DataFrame is not a stream.
        UnsupportedError: PySpark is older than 4.1.
    """
    if not df.isStreaming:
        raise InvalidInputError("the DataFrame is not a stream", hint="Write it with frazil.spark.append(df, table)")
    opened, job = opened_for(df.sparkSession, table, WriteJob.named(branch, snapshot_properties, None))
    check_stream_writes()
    job.check(opened)
    # A process of the data source commits the batches, so the format must be registered.
    register(df.sparkSession)
    options = {"path": opened.writable_location(), **handle_of(opened)}
    options |= {} if job.branch is None else {"branch": job.branch}
    options["snapshot-properties"] = wire.text_of(job.properties)
    return df.writeStream.format("frazil").options(**options)
