"""Planning by executors, for tables with very many manifests.

The driver reads and prunes the manifest list and deals the manifests out in parts. Executors plan a part each, in a
first `mapInArrow`; a shuffle deals the tasks out; executors read them in a second one. No task comes to the driver.
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
from frazil.capabilities import supports
from frazil.engines import Planning
from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.expr import Predicate
from frazil.scan import PART_BYTES, PlanPart, Scan, Split
from frazil.spark.lanes.arrow import ReadTasks, no_rows, scattered, with_unknown_size
from frazil.spark.settings import setting
from frazil.spark.types import spark_schema
from frazil.spark.workers.remote import on_executors
from frazil.table import Table, open_table

__all__ = [
    "DRIVER_MAX_BYTES",
    "PART_BYTES_CONF",
    "parts_for_executors",
    "plan",
    "read_parts",
    "read_tasks",
]

DRIVER_MAX_BYTES = "spark.frazil.planning.driver-max-bytes"
"""Spark setting: the most bytes of data manifests that `planning="auto"` lets the driver plan. Default 32 MiB."""
PART_BYTES_CONF = "spark.frazil.planning.part-bytes"
"""Spark setting: about how many bytes of data manifests one executor task plans. Default 8 MiB."""

_DRIVER_MAX_BYTES = 32 << 20
# Java's table property and its words.
_MODE = "read.data-planning-mode"
_MODES: dict[str, Planning] = {"local": "driver", "distributed": "executors"}
# Spark tasks that read; many of them may find nothing, since the filter is not yet applied to files.
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
    filter: str | Predicate | None = None,
    select: Sequence[str] | None = None,
    at: At | None = None,
) -> DataFrame:
    """A scan's tasks as a Spark DataFrame, planned by executors whenever Spark runs it.

    The columns are those of `Scan.plan_table()`, and `split` with the task itself for `read_tasks`. The driver reads
    the manifest list only, here and now: later commits change nothing.

    Args:
        spark: The session, classic or Connect.
        table: A table or its location.
        filter: Rows to keep; prunes manifests and files.
        select: Columns that `read_tasks` gives.
        at: The version to read.
    """
    opened = table if isinstance(table, Table) else open_table(table)
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
    """The rows of tasks that `plan` gave, or of some of them: filter, sample, cache or store them in between.

    Args:
        tasks: A DataFrame with the column `split` of `plan`; a column made anew has lost what belongs to it.
    """
    facts = next((f.metadata or {} for f in tasks.schema.fields if f.name == "split"), {})
    if _READER not in facts:
        raise InvalidInputError(
            "these are no tasks of frazil.spark.plan",
            hint="Keep its column 'split' as it is: a copy made by an expression does not say how to read it",
        )
    reader = Split.from_json(facts[_READER])
    return _read(tasks.sparkSession, tasks.select("split"), reader, int(facts[_READERS]))


def parts_for_executors(spark: SparkSession, scan: Scan, planning: Planning) -> list[PlanPart] | None:
    """The parts that executors shall plan; None if the driver shall plan."""
    if planning not in ("auto", "driver", "executors"):
        raise InvalidInputError(f"planning must be 'auto', 'driver' or 'executors', not {planning!r}")
    if not scan._core.is_of_version:
        if planning == "executors" and not supports(scan._table, "planning_by_executors"):
            raise UnsupportedError(
                "executors plan scans of Apache Iceberg's tables only",
                hint="Write planning='driver', or leave it out",
            )
        if planning == "executors":
            raise UnsupportedError(
                "executors plan scans of a version only, not what happened between versions",
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
    """The rows of a scan, planned and read by executors."""
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
    # Adaptive execution leaves partitions alone whose number was asked for; others, being small, it would join.
    rows = splits.repartition(readers).mapInArrow(on_executors(ReadTasks(reader), "ReadPlanned"), schema)
    return with_unknown_size(spark, rows, schema)


class PlanOnExecutors:
    """Runs on executors: plans pickled parts, a row for each packed split. Spark's `explain` shows the name."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of `split`: the tasks of a split without what all have in common."""
        for part in _parts(batches):
            payloads = [text.encode() for text in part._core.splits(_core.Split.tasks_to_json)]
            yield pa.record_batch([pa.array(payloads, pa.binary())], schema=_SPLIT_ARROW)


class PlanTasksOnExecutors:
    """Runs on executors: plans pickled parts, a row for each task."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of the tasks' table."""
        for part in _parts(batches):
            yield from part.plan_table().cast(_TASK_ARROW).to_batches()


def _parts(batches: Iterable[pa.RecordBatch]) -> Iterator[PlanPart]:
    for batch in batches:
        for payload in batch.column(batch.schema.get_field_index("split")):
            yield pickle.loads(payload.as_py())
