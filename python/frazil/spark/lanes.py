"""The Arrow lane: splits become a Spark DataFrame by Frazil's reader, which executors run inside `mapInArrow`.

It can read any split. `native` has the faster lanes for the files that Spark's own reader reads as well.
"""

from __future__ import annotations

import base64
import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from frazil.scan import Split
from frazil.spark.remote import on_executors
from frazil.spark.types import arrow_schema, conform

__all__ = [
    "SplitSource",
    "arrow_lane",
    "no_rows",
    "read_splits",
    "rows_of",
    "scattered",
    "with_unknown_size",
]


def arrow_lane(spark: SparkSession, splits: Sequence[Split], schema: StructType) -> DataFrame:
    """Reads splits with Frazil's reader, one Spark task each."""
    if not splits:
        return no_rows(spark, schema)
    rows = scattered(spark, [pickle.dumps(split) for split in splits]).mapInArrow(_READ_SPLITS, schema)
    return with_unknown_size(spark, rows, schema)


def no_rows(spark: SparkSession, schema: StructType) -> DataFrame:
    """No rows. Spark sees that an Arrow table has none and starts no task for it; of Python's it makes an RDD."""
    try:
        return spark.createDataFrame(to_arrow_schema(schema).empty_table(), schema)
    except PySparkException:  # types that this version has no Arrow type for
        return spark.createDataFrame([], schema)


def scattered(spark: SparkSession, payloads: list[bytes]) -> DataFrame:
    """A row with column `split` for each payload, in a partition of its own."""
    return _tasks_connect(spark, payloads) if _is_connect(spark) else _tasks_classic(spark, payloads)


def with_unknown_size(spark: SparkSession, rows: DataFrame, schema: StructType) -> DataFrame:
    """The same rows, whose size Spark can't know.

    Once a shuffle of tasks has run, adaptive execution knows its few bytes, takes what is read of them for as small,
    and would broadcast it into a join whatever it really is. Of a union with an RDD without partitions, or with a data
    source, it never knows the size.
    """
    if _is_connect(spark):
        nothing = _tasks_connect(spark, []).mapInArrow(_READ_SPLITS, schema)
    else:
        nothing = spark.createDataFrame(spark.sparkContext.emptyRDD(), schema)
    return rows.unionAll(nothing)


def read_splits(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs on executors: rows of pickled splits, which come in column `split`."""
    for batch in batches:
        for payload in batch.column(batch.schema.get_field_index("split")):
            yield from rows_of(pickle.loads(payload.as_py()))


def rows_of(split: Split) -> Iterator[pa.RecordBatch]:
    """A split's rows as Spark takes them."""
    target = arrow_schema(split.schema)
    # Spark has a worker for each core: one thread to read ahead while rows are handed over is enough.
    for batch in split.to_arrow_batch_reader(ordered=True, threads=1):
        yield conform(batch, target)


_READ_SPLITS = on_executors(read_splits, "read_splits")


def _is_connect(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _tasks_classic(spark: SparkSession, payloads: list[bytes]) -> DataFrame:
    """The task list. Spark takes a DataFrame made from Python rows for huge; of a range it would know the size."""
    tasks = spark.createDataFrame(
        list(zip(partition_keys(len(payloads)), payloads, strict=True)), "key int, split binary"
    )
    return tasks.repartition(len(payloads), "key").select("split")


def _tasks_connect(spark: SparkSession, payloads: list[bytes]) -> DataFrame:
    """The task list.

    Connect knows the size of a local relation and would broadcast what comes of it; of a data source it knows nothing.
    """
    packed = base64.b64encode(zlib.compress(pickle.dumps(payloads), 1)).decode("ascii")
    spark.dataSource.register(SplitSource)
    return spark.read.format(SplitSource.name()).option("splits", packed).load()


class SplitSource(DataSource):
    """A data source with one partition, holding one pickled split, for each split in option `splits`."""

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
        self._packed = ""  # executors get their own payload only
        return [InputPartition(payload) for payload in payloads]

    def read(self, partition: InputPartition | None) -> Iterator[tuple[bytes]]:
        # Spark asks for None, or a partition of it, if there are no partitions.
        if partition is not None and partition.value is not None:
            yield (partition.value,)


def partition_keys(count: int) -> list[int]:
    """`count` integers that Spark's hash partitioning into `count` partitions puts into one partition each.

    Spark takes the Murmur3 hash of the key (seed 42) modulo the number of partitions. Keys are tried until each
    partition has its own; that is about `count * ln(count)` hashes.
    """
    keys: list[int | None] = [None] * count
    missing, key = count, 0
    while missing:
        partition = _spark_hash(key) % count
        if keys[partition] is None:
            keys[partition] = key
            missing -= 1
        key += 1
    return [key for key in keys if key is not None]


def _spark_hash(value: int) -> int:
    """Murmur3 of a non-negative 32-bit integer with seed 42, as a signed integer."""
    mask = 0xFFFFFFFF
    k = value * 0xCC9E2D51 & mask
    k = ((k << 15 | k >> 17) & mask) * 0x1B873593 & mask
    h = 42 ^ k
    h = ((h << 13 | h >> 19) & mask) * 5 + 0xE6546B64 & mask
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h
