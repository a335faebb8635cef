"""Planning by executors, for tables with very many manifests.

The driver reads and prunes the manifest list, and divides the manifests into parts. Executors plan a part each, in a
first `mapInArrow`. A shuffle distributes the tasks, and executors read them in a second `mapInArrow`. No task comes to
the driver.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from frazil import _core
from frazil.arguments import At
from frazil.capabilities import scan_supports
from frazil.engines import Planning, check_planning
from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.expr import Columns, Filter
from frazil.scan import PART_BYTES, PlanPart, Scan, Split
from frazil.spark.catalogs import table_of
from frazil.spark.lanes.arrow import ReadTasks, no_rows, scattered, with_unknown_size
from frazil.spark.settings import setting
from frazil.spark.types import spark_schema
from frazil.spark.workers.remote import on_executors
from frazil.table import Table

__all__ = [
    "DRIVER_MAX_BYTES",
    "PART_BYTES_CONF",
    "parts_for_executors",
    "plan",
    "read_parts",
    "read_tasks",
]

DRIVER_MAX_BYTES = "spark.frazil.planning.driver-max-bytes"
"""Spark setting: the most bytes of data manifests that the driver plans with `planning="auto"`. Default 32 MiB."""
PART_BYTES_CONF = "spark.frazil.planning.part-bytes"
"""Spark setting: the approximate size of the data manifests that one executor task plans. Default 8 MiB."""

_DRIVER_MAX_BYTES = 32 << 20
# Java's table property and its values.
_MODE = "read.data-planning-mode"
_MODES: dict[str, Planning] = {"local": "driver", "distributed": "executors"}
# The most Spark tasks that read. Many of them may find nothing, because the filter is applied to files later.
_MOST_READERS = 4096
_READER, _READERS = "frazil.reader", "frazil.readers"

_TASK_TYPES: dict[str, st.DataType] = {
    "file_path": st.StringType(),
    "file_format": st.StringType(),
    "record_count": st.LongType(),
    "file_size_in_bytes": st.LongType(),
    "spec_id": st.IntegerType(),
    "partition": st.StringType(),
    "sequence_number": st.LongType(),
    "start": st.LongType(),
    "length": st.LongType(),
    "delete_files": st.LongType(),
    "residual": st.StringType(),
}
_TASK_ARROW = pa.schema(
    [
        pa.field("file_path", pa.string()),
        pa.field("file_format", pa.string()),
        pa.field("record_count", pa.int64()),
        pa.field("file_size_in_bytes", pa.int64()),
        pa.field("spec_id", pa.int32()),
        pa.field("partition", pa.string()),
        pa.field("sequence_number", pa.int64()),
        pa.field("start", pa.int64()),
        pa.field("length", pa.int64()),
        pa.field("delete_files", pa.int64()),
        pa.field("residual", pa.string()),
        pa.field("split", pa.binary()),
    ]
)
_SPLIT_ARROW = pa.schema([pa.field("split", pa.binary())])


def plan(
    spark: SparkSession,
    table: Table | str | os.PathLike[str],
    filter: Filter | None = None,
    select: Columns | None = None,
    at: At | None = None,
) -> DataFrame:
    """A scan's tasks as a Spark DataFrame. Executors plan them whenever Spark runs the DataFrame.

    The columns are those of `Scan.plan_table()`, and `split` with the task itself for `read_tasks`. The driver reads
    only the manifest list, now. So later commits have no effect.

    Args:
        spark: The session, classic or Connect.
        table: A table, its location, or its name (`catalog.namespace.table`).
        filter: The rows to keep. The filter prunes manifests and files.
        select: The columns that `read_tasks` returns.
        at: The version to read.
    """
    opened = table_of(spark, table)
    scan = opened.scan(filter, select, at=at)
    parts = scan.plan_parts(setting(spark, PART_BYTES_CONF, PART_BYTES))
    facts = {_READER: Split(scan._core.reader()).to_json(), _READERS: readers_of(scan, parts)}
    fields = [st.StructField(name, type_, name == "sequence_number") for name, type_ in _TASK_TYPES.items()]
    schema = st.StructType([*fields, st.StructField("split", st.BinaryType(), False, facts)])
    if not parts:
        return no_rows(spark, schema)
    return scattered(spark, [pickle.dumps(part) for part in parts]).mapInArrow(
        on_executors(PlanTasksOnExecutors(), "PlanTasksOnExecutors"), schema
    )


def read_tasks(tasks: DataFrame) -> DataFrame:
    """The rows of tasks that `plan` returned, or of some of them. Filter, sample, cache or store the tasks in between.

    Args:
        tasks: A DataFrame with the column `split` of `plan`. A new column made by an expression loses its metadata.
    """
    facts = next((f.metadata or {} for f in tasks.schema.fields if f.name == "split"), {})
    if _READER not in facts:
        raise InvalidInputError(
            "the DataFrame does not have tasks of frazil.spark.plan",
            hint="Keep its column 'split' unchanged: a copy made by an expression loses the information how to read it",
        )
    reader = Split.from_json(facts[_READER])
    return _read(tasks.sparkSession, tasks.select("split"), reader, int(facts[_READERS]))


def parts_for_executors(spark: SparkSession, scan: Scan, planning: Planning) -> list[PlanPart] | None:
    """The parts that executors plan. It is None if the driver plans."""
    check_planning(planning)
    if not scan._core.is_of_version:
        if planning == "executors" and not scan_supports(scan._core, "planning_by_executors"):
            raise UnsupportedError(
                "executors can only plan scans of Apache Iceberg's tables",
                hint="Write planning='driver', or leave it out",
            )
        if planning == "executors":
            raise UnsupportedError(
                "executors can only plan scans of one version, not changes between versions",
                hint="Write planning='driver', or leave it out",
            )
        return None
    if scan._core.is_planned_by_server:
        if planning == "executors":
            raise UnsupportedError(
                "the catalog's server plans scans of this table, so executors can't",
                hint="Write planning='driver', or leave it out",
            )
        return None
    if planning == "auto":
        planning = _MODES.get(scan._table.properties.get(_MODE, "").lower(), "auto")
    if planning == "driver":
        return None
    part_bytes = setting(spark, PART_BYTES_CONF, PART_BYTES)
    if planning == "executors":
        return scan.plan_parts(part_bytes)
    parts = scan._core.plan_parts(part_bytes, setting(spark, DRIVER_MAX_BYTES, _DRIVER_MAX_BYTES))
    return [PlanPart(part) for part in parts] if len(parts) > 1 else None


def read_parts(spark: SparkSession, scan: Scan, parts: Sequence[PlanPart]) -> DataFrame:
    """The rows of a scan that executors plan and read."""
    schema = spark_schema(scan.schema)
    if not parts:
        return no_rows(spark, schema)
    plan_them = on_executors(PlanOnExecutors(), "PlanOnExecutors")
    splits = scattered(spark, [pickle.dumps(part) for part in parts]).mapInArrow(plan_them, "split binary")
    return _read(spark, splits, Split(scan._core.reader()), readers_of(scan, parts))


def readers_of(scan: Scan, parts: Sequence[PlanPart]) -> int:
    """How many Spark tasks read the parts' files."""
    return min(scan._core.estimate_splits([part._core for part in parts]), _MOST_READERS)


def _read(spark: SparkSession, splits: DataFrame, reader: Split, readers: int) -> DataFrame:
    schema = spark_schema(reader.schema)
    # Adaptive execution would join partitions this small, but not if their number was given.
    rows = splits.repartition(readers).mapInArrow(on_executors(ReadTasks(reader), "ReadPlanned"), schema)
    return with_unknown_size(spark, rows, schema)


class PlanOnExecutors:
    """Runs on executors: plans pickled parts, with a row for each packed split. Spark's `explain` shows the name."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of `split`: the tasks of a split without the data that all splits share."""
        for part in _parts(batches):
            payloads = [text.encode() for text in part._core.splits(_core.Split.tasks_to_json)]
            yield pa.record_batch([pa.array(payloads, pa.binary())], schema=_SPLIT_ARROW)


class PlanTasksOnExecutors:
    """Runs on executors: plans pickled parts, with a row for each task."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of the tasks' table."""
        for part in _parts(batches):
            yield from part.plan_table().cast(_TASK_ARROW).to_batches()


def _parts(batches: Iterable[pa.RecordBatch]) -> Iterator[PlanPart]:
    for batch in batches:
        for payload in batch.column(batch.schema.get_field_index("split")):
            yield pickle.loads(payload.as_py())
