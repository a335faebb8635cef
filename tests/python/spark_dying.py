"""A Spark driver whose tasks die after they have written, or which waits around its commit to be killed.

python spark_dying.py tasks HOW VERB TABLE      tasks die: HOW is raise, exit or kill, with -always in every attempt
python spark_dying.py driver WHEN VERB TABLE PLACE [SOURCE]   waits before or after the commit, and says so in PLACE
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

import frazil as fz
import frazil.spark.changes.job
import frazil.spark.datasource
from frazil.spark.changes.job import ChangeSink
from frazil.spark.datasource import FrazilDataSource

WHAT, JOBS, TABLE, *MORE = sys.argv[1:]
PLACE = "FRAZIL_DYING"
JOB = "the job"


def how_now() -> str:
    """How tasks end now. A session registers a data source once, so this can't travel with it."""
    return Path(os.environ[PLACE]).read_text()


def die() -> None:
    """Ends the first attempt of a task, or every attempt, at the end of its work."""
    context = TaskContext.get()
    assert context is not None
    how, _, always = how_now().partition("-")
    if context.partitionId() != 0 or (context.attemptNumber() > 0 and not always):
        return
    if how == "raise":
        raise OSError("the task fails")
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)


def wait(when: str) -> None:
    """Waits for the end of the driver, if this is the moment."""
    if WHAT != "driver" or when != how_now():
        return
    driver = os.getppid()
    Path(MORE[0]).write_text(when)
    while os.getppid() == driver:
        time.sleep(0.05)
    os._exit(0)


class Dying:
    """A writer that dies."""

    def __init__(self, writer: Any) -> None:
        self.writer = writer

    def write(self, iterator: Any) -> Any:
        written = self.writer.write(iterator)
        if WHAT == "tasks":
            die()
        return written

    def commit(self, messages: Any, *batch: int) -> None:
        wait("before")
        self.writer.commit(messages, *batch)
        wait("after")

    def abort(self, messages: Any, *batch: int) -> None:
        self.writer.abort(messages, *batch)


def dying(writer: Any, base: type) -> Any:
    return type("DyingWriter", (Dying, base), {})(writer)


class DyingSink(ChangeSink):
    def writer(self, schema: Any, overwrite: bool) -> Any:
        from pyspark.sql.datasource import DataSourceArrowWriter

        return dying(super().writer(schema, overwrite), DataSourceArrowWriter)


class DyingSource(FrazilDataSource):
    def writer(self, schema: Any, overwrite: bool) -> Any:
        from pyspark.sql.datasource import DataSourceArrowWriter

        return dying(super().writer(schema, overwrite), DataSourceArrowWriter)

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802
        from pyspark.sql.datasource import DataSourceStreamArrowWriter

        return dying(super().streamWriter(schema, overwrite), DataSourceStreamArrowWriter)


def rows(spark: SparkSession) -> DataFrame:
    """In two partitions."""
    return spark.range(20, 60, 1, 2).selectExpr(
        "id", "element_at(array('a', 'b', 'c'), int(id % 3) + 1) as g", "-1.0D as x"
    )


def stream(spark: SparkSession, source: str, table: str, checkpoint: str) -> None:
    frazil.spark.datasource.register(spark)
    frame = spark.readStream.format("frazil").load(source)
    writer = frame.writeStream.format("frazil").option("checkpointLocation", checkpoint).trigger(availableNow=True)
    writer.start(table).awaitTermination()


VERBS: dict[str, Callable[[SparkSession, str], None]] = {
    "append": lambda spark, table: fz.spark.append(rows(spark), table, job_id=JOB, distribution="none", engine="arrow"),
    "upsert": lambda spark, table: fz.spark.upsert(rows(spark), table, ["id"], job_id=JOB),
    "delete": lambda spark, table: fz.spark.delete(spark, table, "x >= 10", job_id=JOB),
    "stream": lambda spark, table: stream(spark, MORE[1], table, MORE[2]),
}


def main() -> None:
    # Workers inherit it.
    how = os.environ[PLACE] = str(Path(tempfile.mkdtemp()) / "how")
    frazil.spark.changes.job.ChangeSink = DyingSink  # type: ignore[misc]
    frazil.spark.datasource.FrazilDataSource = DyingSource  # type: ignore[misc]
    spark = (
        SparkSession.builder.master("local[2,3]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.adaptive.coalescePartitions.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    for name in ("driver-max-rows", "driver-max-bytes"):
        spark.conf.set(f"spark.frazil.changes.{name}", "0")
    for job in JOBS.split(","):
        kind, _, verb = job.partition(":")
        Path(how).write_text(kind)
        try:
            VERBS[verb](spark, TABLE if WHAT == "driver" else f"{TABLE}/{kind}_{verb}")
            print(job, "done", flush=True)
        except Exception as error:
            print(job, "failed", type(error).__name__, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
