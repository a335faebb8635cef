"""The Arrow lane: Frazil's reader makes a Spark DataFrame of splits. Executors run it inside `mapInArrow`.

It can read any split. `native` has a faster lane for the files that Spark's own reader can read as well.
"""

from __future__ import annotations

import base64
import pickle
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.serializers import Serializer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from frazil import _core
from frazil.scan import Split
from frazil.spark.types import arrow_schema, conform, sent_schema
from frazil.spark.workers.registered import registered
from frazil.spark.workers.remote import on_executors, on_executors_with

__all__ = [
    "MANY_SPLITS",
    "ReadPackedTasks",
    "ReadTasks",
    "SplitSource",
    "Splits",
    "arrow_lane",
    "no_rows",
    "pack_from",
    "rows_of",
    "scattered",
    "with_unknown_size",
]

MANY_SPLITS = 2_000
"""From this number of splits on, tasks are only numbers, and each executor gets all packed splits once."""

Splits: TypeAlias = "list[_core.Split] | _core.PackedSplits"
"""The splits of one scan: a list, or many splits packed into a few bytes."""

_LENGTH = struct.Struct(">i")
# The number of bytes that are joined before they are written.
_FRAMES_BYTES = 1 << 20


def pack_from(spark: SparkSession) -> int | None:
    """The number of splits from which `arrow_lane` takes them packed. It is None if it never does."""
    return None if _is_connect(spark) else MANY_SPLITS


def arrow_lane(spark: SparkSession, splits: Splits, schema: StructType) -> DataFrame:
    """Reads splits of one scan with Frazil's reader. Each split is a Spark task."""
    count, least = len(splits), pack_from(spark)
    if count == 0:
        return no_rows(spark, schema)
    name = f"frazil arrow lane: {count} splits"
    if isinstance(splits, list):
        reader = splits[0].with_tasks('{"specs": [], "tasks": []}')
        if least is None or count < least:
            read = on_executors(ReadTasks(Split(reader)), name)
            return scattered(spark, _core.Split.encode_tasks(splits)).mapInArrow(read, schema)
        packed = _core.Split.pack_tasks(splits)
    else:
        reader, packed = splits.reader(), splits.packed()
    read = on_executors_with(ReadPackedTasks(Split(reader)), _broadcast(spark, packed), name)
    return _numbers(spark, count).mapInArrow(read, schema)


def no_rows(spark: SparkSession, schema: StructType) -> DataFrame:
    """A DataFrame without rows. For an empty Arrow table Spark starts no task; for a Python list it makes an RDD."""
    try:
        return spark.createDataFrame(sent_schema(schema).empty_table(), schema)
    except PySparkException:  # this version has no Arrow type for a column
        return spark.createDataFrame([], schema)


def scattered(spark: SparkSession, payloads: list[bytes]) -> DataFrame:
    """A row with column `split` for each payload, each in its own partition."""
    return _tasks_connect(spark, payloads) if _is_connect(spark) else _tasks_classic(spark, payloads)


def with_unknown_size(spark: SparkSession, rows: DataFrame, schema: StructType) -> DataFrame:
    """The same rows, with a size that Spark can't know.

    After a shuffle of tasks, adaptive execution knows its few bytes. It takes the rows that are read for as small, and
    would broadcast them into a join whatever their size is. The size of a union with an RDD without partitions, or with
    a data source, is always unknown to it.
    """
    if _is_connect(spark):
        nothing = _tasks_connect(spark, []).mapInArrow(on_executors(_nothing, "nothing"), schema)
    else:
        nothing = spark.createDataFrame(spark.sparkContext.emptyRDD(), schema)
    return rows.unionAll(nothing)


def _nothing(_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return iter(())


class ReadTasks:
    """Runs on executors: reads rows of encoded tasks, which are in the only column. `reader` has their shared data."""

    def __init__(self, reader: Split) -> None:
        self._reader = reader

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows in the form that Spark takes."""
        for batch in batches:
            for payload in batch.column(0):
                yield from rows_of(Split(self._reader._core.with_tasks(payload.as_py().decode())))


class ReadPackedTasks:
    """The same for packed tasks, which every executor has. The only column has the numbers of the splits to read."""

    def __init__(self, reader: Split) -> None:
        self._reader = reader

    def __call__(self, batches: Iterable[pa.RecordBatch], packed: bytes) -> Iterator[pa.RecordBatch]:
        """The rows in the form that Spark takes."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from rows_of(Split(self._reader._core.with_packed_tasks(packed, number)))


def rows_of(split: Split) -> Iterator[pa.RecordBatch]:
    """A split's rows in the form that Spark takes."""
    target = arrow_schema(split.schema)
    # Spark has a worker for each core, so one thread that reads ahead is enough.
    for batch in split.to_arrow_batch_reader(ordered=True, threads=1):
        yield conform(batch, target)


def _is_connect(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


class _Frames(Serializer):
    """Writes payloads as Spark's serializers do, but many at once. Each write of Spark's is a call in Python."""

    def dump_stream(self, iterator: Iterable[bytes], stream: Any) -> None:
        """Writes the payloads, each after its length."""
        joined = bytearray()
        for payload in iterator:
            joined += _LENGTH.pack(len(payload))
            joined += payload
            if len(joined) > _FRAMES_BYTES:
                stream.write(joined)
                joined = bytearray()
        stream.write(joined)


def _tasks_classic(spark: SparkSession, payloads: list[bytes]) -> DataFrame:
    """The task list: an RDD of bytes, with a partition for each."""
    context: Any = spark.sparkContext
    jvm, count = context._jvm, len(payloads)
    rdd = context._serialize_to_jvm(
        payloads,
        _Frames(),
        lambda file: jvm.PythonRDD.readRDDFromFile(context._jsc, file, count),
        lambda: jvm.PythonParallelizeServer(context._jsc.sc(), count),
    )
    return _of_rdd(spark, rdd.rdd(), jvm.org.apache.spark.sql.Encoders.BINARY()).withColumnRenamed("value", "split")


def _numbers(spark: SparkSession, count: int) -> DataFrame:
    """A row with each number below `count`, each in its own partition. Spark makes them."""
    context: Any = spark.sparkContext
    numbers = context._jsc.sc().range(0, count, 1, count)
    return _of_rdd(spark, numbers, context._jvm.org.apache.spark.sql.Encoders.LONG())


def _of_rdd(spark: SparkSession, rdd: Any, encoder: Any) -> DataFrame:
    """The values of an RDD as the only column. Spark assumes that the result is huge."""
    return DataFrame(spark._jsparkSession.createDataset(rdd, encoder), spark)


def _broadcast(spark: SparkSession, value: bytes) -> Any:
    """A broadcast variable of Spark."""
    context: Any = spark.sparkContext
    broadcast = context.broadcast(value)
    # Spark has read the file, which would stay until the session ends. Only local workers read it again.
    path = getattr(broadcast, "_path", None)
    if path is not None and not context._jsc.isLocal():
        Path(path).unlink(missing_ok=True)
    return broadcast


def _tasks_connect(spark: SparkSession, payloads: list[bytes]) -> DataFrame:
    """The task list.

    Connect knows the size of a local relation and would broadcast a DataFrame made of it. It knows nothing about a
    data source.
    """
    packed = base64.b64encode(zlib.compress(pickle.dumps(payloads), 1)).decode("ascii")
    return spark.read.format(registered(spark, SplitSource)).option("splits", packed).load()


class SplitSource(DataSource):
    """A data source with one partition for each split in option `splits`. A partition holds one pickled split."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "frazil_splits"

    def schema(self) -> str:
        """One column."""
        return "split binary"

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader."""
        return _SplitReader(self.options["splits"])


class _SplitReader(DataSourceReader):
    def __init__(self, packed: str) -> None:
        self._packed = packed

    def partitions(self) -> Sequence[InputPartition]:
        payloads = pickle.loads(zlib.decompress(base64.b64decode(self._packed)))
        self._packed = ""  # executors only get their own payload
        return [InputPartition(payload) for payload in payloads]

    def read(self, partition: InputPartition | None) -> Iterator[tuple[bytes]]:
        # If there are no partitions, Spark passes None or a partition of None.
        if partition is not None and partition.value is not None:
            yield (partition.value,)
