"""Parts of one operation, which Spark's executors do.

Each part is a row of a `mapInArrow`, and its result is text for the driver. An executor returns an error of Frazil as a
value. So the driver knows what the other parts wrote when it gives up. Failures of the store are retried. Spark itself
restarts a worker that dies.
"""

from __future__ import annotations

import contextlib
import pickle
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from frazil import _core
from frazil.exceptions import FrazilError, StoreError
from frazil.requests.maintenance import do_part, read_part, remove_files_of
from frazil.spark.jobs.interrupts import raise_if_interrupted, sweep_after_failure
from frazil.spark.jobs.job import attempt_number
from frazil.spark.lanes.arrow import scattered
from frazil.spark.workers.remote import on_executors

__all__ = ["DoParts", "PartRows", "PartsJob", "ReadRows", "spark_failures"]

# How often a part is retried if its executor could not reach the store.
_RETRIES = 3

_ROWS = "number int, retried boolean, result string, error binary"
_ARROW = pa.schema(
    [
        pa.field("number", pa.int32()),
        pa.field("retried", pa.bool_()),
        pa.field("result", pa.string()),
        pa.field("error", pa.binary()),
    ]
)


@dataclass
class PartsJob:
    """The common data of the parts of one commit.

    Attributes:
        spark: The session.
        table: The table at the version that was planned.
        step: The work of executors on a part: a step of `frazil.requests.maintenance.do_part`.
        name: The job's name, which is part of the names of its files.
    """

    spark: SparkSession
    table: _core.Table
    step: str
    name: str = field(default_factory=lambda: str(uuid.uuid4()))
    # Whether attempts may have died and left files behind.
    _retried: bool = False

    def run(self, parts: Sequence[Mapping[str, Any]]) -> list[str]:
        """Does the parts; returns their results. If one fails, the files of the others are deleted.

        Raises:
            FrazilError: The error of the first part that failed.
        """
        self._retried = str(self.spark.conf.get("spark.speculation", "false")).lower() == "true"
        done: dict[int, str] = {}
        try:
            for attempt in range(_RETRIES + 1):
                raise_if_interrupted()
                missing = [number for number in range(len(parts)) if number not in done]
                errors = self._run_once({number: parts[number] for number in missing}, done)
                if not errors:
                    return [done[number] for number in range(len(parts))]
                if attempt == _RETRIES or not all(isinstance(error, StoreError) for error in errors):
                    raise errors[0]
        except BaseException as error:
            sweep_after_failure(self.give_up, error)
            raise
        return []

    def give_up(self) -> None:
        """Deletes the files that the parts wrote without a commit. Files that can't be deleted become orphans."""
        with contextlib.suppress(FrazilError):
            remove_files_of(self.table, self.name)

    def committed(self) -> None:
        """Deletes the files of attempts that died or were overtaken. Call it after the commit."""
        if self._retried:
            self.give_up()

    def _run_once(self, parts: Mapping[int, Mapping[str, Any]], done: dict[int, str]) -> list[FrazilError]:
        """Does these parts and keeps their results. Returns the errors, in the order of the parts."""
        if not parts:
            return []
        payloads = [pickle.dumps((number, dict(part))) for number, part in parts.items()]
        do_them = on_executors(DoParts(self.table, self.step, self.name), f"DoParts_{self.step}")
        errors: dict[int, FrazilError] = {}
        for row in scattered(self.spark, payloads).mapInArrow(do_them, _ROWS).collect():
            self._retried = self._retried or row.retried
            if row.error is None:
                done[row.number] = row.result
            else:
                errors[row.number] = pickle.loads(bytes(row.error))
        return [errors[number] for number in sorted(errors)]


@contextlib.contextmanager
def spark_failures(outcome: str) -> Iterator[None]:
    """Turns errors of Spark into an error of Frazil that says what happened to the work.

    Raises:
        StoreError: Spark gave up.
    """
    try:
        yield
    except FrazilError:
        raise
    except Exception as error:  # errors of Spark have no common base class
        message = " ".join(str(error).strip().splitlines()[:2])
        raise StoreError(
            f"Spark's executors could not finish their parts: {message}",
            hint=f"{outcome}. Spark's own error is the cause of this one",
        ) from error


class PartRows:
    """Parts that only read, and return many rows of a key and a text. The rows stay in Spark."""

    def __init__(self, spark: SparkSession, table: _core.Table, step: str, column: str) -> None:
        self._spark, self._table, self._step = spark, table, step
        self._schema = f"key string, {column} string"

    @contextlib.contextmanager
    def rows(self, parts: Sequence[Mapping[str, Any]], more: Sequence[Sequence[str | None]]) -> Iterator[DataFrame]:
        """The rows of the parts and `more`, computed now, and kept until the end of the block.

        Kept rows may be lost with an executor, and Spark then computes them again. A part that fails at that fails the
        job that needs the rows, because they must not be missing.

        Raises:
            FrazilError: The error of a part that failed; a `StoreError` if Spark gave up.
        """
        first = self._spark.createDataFrame([(*row, None) for row in more], f"{self._schema}, error binary")
        read = on_executors(ReadRows(self._table, self._step, first.columns), f"ReadRows_{self._step}")
        payloads = [pickle.dumps(dict(part)) for part in parts] or [pickle.dumps(None)]
        found = scattered(self._spark, payloads).mapInArrow(read, first.schema)
        kept = found.unionAll(first).persist()
        try:
            with spark_failures("Nothing was changed"):
                error = kept.where("error is not null").select("error").first()
            if error is not None:
                raise pickle.loads(bytes(error[0]))
            lost = f.raise_error(f.lit("lost rows could not be read again"))
            key = f.when(f.col("error").isNull(), f.col("key")).otherwise(lost)
            yield kept.withColumn("key", key).drop("error")
        finally:
            kept.unpersist()


class ReadRows:
    """Runs on executors: the rows of pickled parts, or a row with an error."""

    def __init__(self, table: _core.Table, step: str, columns: Sequence[str]) -> None:
        self._table, self._step = table, step
        key, text, error = columns
        self._arrow = pa.schema([(key, pa.string()), (text, pa.string()), (error, pa.binary())])

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of keys and texts."""
        for batch in batches:
            for payload in batch.column(batch.schema.get_field_index("split")):
                part = pickle.loads(payload.as_py())
                if part is not None:
                    yield self._rows(part)

    def _rows(self, part: Mapping[str, Any]) -> pa.RecordBatch:
        try:
            found = read_part(self._table, self._step, part)
        except FrazilError as error:
            return pa.record_batch([[None], [None], [pickle.dumps(error)]], schema=self._arrow)
        columns = [[row[0] for row in found], [row[1] for row in found], [None] * len(found)]
        return pa.record_batch(columns, schema=self._arrow)


class DoParts:
    """Runs on executors: does pickled parts, with a row for each. Spark's `explain` shows the step."""

    def __init__(self, table: _core.Table, step: str, job: str) -> None:
        self._table = table
        self._step = step
        self._job = job

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of the parts' numbers, results and errors."""
        context = TaskContext.get()
        retried = context is not None and context.attemptNumber() > 0
        for batch in batches:
            for payload in batch.column(batch.schema.get_field_index("split")):
                number, part = pickle.loads(payload.as_py())
                yield self._row(number, retried, self._do(part | {"number": number, "attempt": attempt_number()}))

    def _do(self, part: dict[str, Any]) -> str | FrazilError:
        try:
            return do_part(self._table, self._step, {**part, "job": self._job})
        except FrazilError as error:
            return error

    def _row(self, number: int, retried: bool, found: str | FrazilError) -> pa.RecordBatch:
        failed = isinstance(found, FrazilError)
        row = {
            "number": number,
            "retried": retried,
            "result": None if failed else found,
            "error": pickle.dumps(found) if failed else None,
        }
        return pa.RecordBatch.from_pylist([row], _ARROW)
