"""Ctrl-C while Spark works for a function of Frazil: it cancels the jobs, commits nothing, and Spark goes on.

The rows of most verbs come from tasks that wait for ever. So an interrupt comes at a random moment of a running job.
The other verbs are run once, to know how long they take, then interrupted at random moments of that time. No time is
asserted. The longest wait is printed (`pytest -rP` shows it).
"""

from __future__ import annotations

import datetime as dt
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from conftest import NIGHTLY

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send"),
]

COLUMNS = "id bigint, x double, p bigint"
HANG = 60
Verb = Callable[[Any, fz.Table, Any], object]

# Verbs that read a DataFrame whose tasks wait.
WAITING: dict[str, Verb] = {
    "append": lambda spark, table, df: fz.spark.append(df, table, engine="arrow"),
    "append by Spark's writer": lambda spark, table, df: fz.spark.append(df, table, engine="native"),
    "append with a new column": lambda spark, table, df: fz.spark.append(
        df.selectExpr("*", "id as y"), table, merge_schema=True
    ),
    "overwrite": lambda spark, table, df: fz.spark.overwrite(df, table, where="p = 1", engine="arrow"),
    "overwrite partitions": lambda spark, table, df: fz.spark.overwrite_partitions(df, table),
    "upsert": lambda spark, table, df: fz.spark.upsert(df, table, on="id"),
    "merge": lambda spark, table, df: fz.spark.merge(df, table, on="id", when_matched_delete=True),
    "merge into": lambda spark, table, df: (
        fz.spark.merge_into(df.alias("s"), table, on="s.id = t.id").whenMatched().delete().merge()
    ),
    "delete by a condition of Spark's": lambda spark, table, df: fz.spark.delete(
        spark, table, "id in (select id from waiting)"
    ),
    "insert": lambda spark, table, df: fz.spark.sql(spark, "insert into t select * from waiting", {"t": table}),
    "merge by SQL": lambda spark, table, df: fz.spark.sql(
        spark, "merge into t using waiting s on t.id = s.id when matched then delete", {"t": table}
    ),
}
# Verbs whose work is mostly done by Frazil's code on executors.
TIMED: dict[str, Verb] = {
    "delete": lambda spark, table, df: fz.spark.delete(spark, table, "x > 500.5"),
    "update": lambda spark, table, df: fz.spark.update(spark, table, "x > 500.5", {"x": 0.5}),
    "delete by SQL": lambda spark, table, df: fz.spark.sql(spark, "delete from t where x > 500.5", {"t": table}),
    "compact": lambda spark, table, df: table.maintain.compact(rewrite_all=True, spark=spark),
    "sort": lambda spark, table, df: table.maintain.compact("sort", sort_by="x", rewrite_all=True, spark=spark),
    "remove orphan files": lambda spark, table, df: table.maintain.remove_orphan_files(spark=spark),
    "query": lambda spark, table, df: fz.spark.sql(spark, "select sum(x) from t where id > 5", {"t": table}),
    "read": lambda spark, table, df: fz.spark.read(spark, table, filter="x > 5.5", planning="executors"),
}
SWEPT = ("compact", "sort")
"""Verbs whose files have the job's name, so that the driver finds all of them."""
ROUNDS, MOST_ROUNDS = 4 if NIGHTLY else 1, 8


def waiting(spark: Any, folder: Path) -> Any:
    """A DataFrame of two tasks. Each gives some rows, makes a file in the folder, and waits."""

    def wait(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            (folder / f"task-{os.getpid()}").touch()
            time.sleep(HANG)

    folder.mkdir()
    rows = spark.range(0, 2000, 1, 2).selectExpr("id", "cast(id as double) as x", "id % 3 as p")
    df = rows.mapInArrow(wait, COLUMNS)
    df.createOrReplaceTempView("waiting")
    return df


def created(catalog: fz.Catalog, name: str = "db.t") -> fz.Table:
    """A table of six files in three partitions."""
    ids = range(1000)
    rows = pa.table({"id": ids, "x": [float(i * 7919 % 1009) for i in ids], "p": [i % 3 for i in ids]})
    table = catalog.create_table(name, rows.schema, partition_by=["p"])
    return table.append(rows.slice(0, 500)).append(rows.slice(500))


def data_files(table: fz.Table) -> set[str]:
    files = (path for path in Path(table.location).rglob("*") if path.is_file())
    return {str(path) for path in files if path.parent.name != "metadata"}


def state(table: fz.Table) -> tuple[str | None, list[int]]:
    table = table.refresh()
    return table.metadata_location, sorted(table.scan().to_arrow()["id"].to_pylist())


class Interrupt:
    """Sends this process SIGINT when `ready` says so."""

    def __init__(self, ready: Callable[[threading.Event], bool]) -> None:
        self.sent = 0.0
        self.ended = threading.Event()
        self.ready = ready
        self.thread = threading.Thread(target=self.send)

    def send(self) -> None:
        if self.ready(self.ended):
            self.sent = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

    def answered(self, work: Callable[[], object]) -> float | None:
        """The seconds until an interrupt of `work` was answered; None if the work ended before."""
        try:
            try:
                self.thread.start()
                work()
            finally:
                self.ended.set()
                self.thread.join()
            time.sleep(0)  # a late interrupt arrives here
        except KeyboardInterrupt:
            return time.monotonic() - self.sent
        return None


def after(seconds: float) -> Callable[[threading.Event], bool]:
    return lambda ended: not ended.wait(seconds)


def when_tasks_wait(folder: Path, seconds: float) -> Callable[[threading.Event], bool]:
    def ready(ended: threading.Event) -> bool:
        end = time.monotonic() + HANG
        while not ended.wait(0.02) and time.monotonic() < end:
            if any(folder.iterdir()):
                return not ended.wait(seconds)
        return False

    return ready


def swept() -> None:
    """Waits for threads that delete the files of cancelled tasks."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()


def check_spark_goes_on(spark: Any) -> None:
    """No job of the interrupted call runs, no tag is left, and the next statement works."""
    if hasattr(spark, "_jsparkSession"):
        tracker, end = spark.sparkContext.statusTracker(), time.monotonic() + HANG / 2
        while tracker.getActiveJobsIds() and time.monotonic() < end:
            time.sleep(0.05)  # cancelling does not wait
        assert tracker.getActiveJobsIds() == []
        assert len(spark.sparkContext.getJobTags()) == 0
    else:
        assert spark.getTags() == set()
    assert spark.range(0, 100, 1, 2).count() == 100


def check_interrupted(spark: Any, name: str, catalog: fz.Catalog, folder: Path) -> None:
    """Interrupts a verb whose tasks wait."""
    table, verb, dice = created(catalog), WAITING[name], random.Random(name)
    before, files = state(table), data_files(table)
    df = waiting(spark, folder)
    handler = signal.getsignal(signal.SIGINT)
    took = Interrupt(when_tasks_wait(folder, dice.uniform(0, 0.4))).answered(lambda: verb(spark, table, df))
    assert took is not None
    print(f"{name}: answered within {took:.3f} s")
    assert signal.getsignal(signal.SIGINT) == handler
    check_spark_goes_on(spark)
    swept()
    # A new column is committed before the rows.
    assert state(table) == before if name != "append with a new column" else state(table)[1] == before[1]
    if name == "append by Spark's writer":
        assert data_files(table) == files
    check_orphans(name, table, files)


def check_orphans(name: str, table: fz.Table, files: set[str]) -> None:
    """Spark kills the processes of cancelled tasks. What they had begun to write is an orphan."""
    print(f"{name}: {len(data_files(table) - files)} files left")
    table.refresh().maintain.remove_orphan_files(older_than=dt.datetime.now(dt.timezone.utc) + dt.timedelta(days=1))
    assert data_files(table) == files


@pytest.mark.parametrize("name", WAITING)
def test_ctrl_c_cancels_the_jobs_of_a_verb(
    name: str, spark: Any, executors: None, catalog: fz.Catalog, tmp_path: Path
) -> None:
    check_interrupted(spark, name, catalog, tmp_path / "tasks")


@pytest.mark.parametrize("name", TIMED)
def test_ctrl_c_at_any_moment_of_a_verb(name: str, spark: Any, executors: None, catalog: fz.Catalog) -> None:
    verb, dice, longest = TIMED[name], random.Random(name), 0.0
    for warm in ("cold", "warm"):
        table = created(catalog, f"db.{warm}")
        begun = time.monotonic()
        verb(spark, table, None)
        lasts, whole = time.monotonic() - begun, state(table)[1]
    interrupted = number = 0
    # A round may end before its interrupt. Then another one follows.
    while number < ROUNDS or (not interrupted and number < MOST_ROUNDS):
        number += 1
        table = created(catalog, f"db.t{number}")
        before, files = state(table), data_files(table)
        moment = after(dice.uniform(0.05, 0.9) * lasts)
        took = Interrupt(moment).answered(partial(verb, spark, table, None))
        longest = max(longest, took or 0.0)
        interrupted += took is not None
        check_spark_goes_on(spark)
        swept()
        if state(table) == before:
            assert name not in SWEPT or data_files(table) == files
            check_orphans(name, table, files)
        else:
            assert state(table)[1] == whole
    assert interrupted
    print(f"{name}: answered within {longest:.3f} s, of {lasts:.3f} s")


def test_a_second_ctrl_c_does_not_wait_for_spark(
    spark: Any, catalog: fz.Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from frazil.spark.jobs import interrupts

    monkeypatch.setattr(interrupts._ClassicJobs, "cancel", lambda self: None)
    df, folder = waiting(spark, tmp_path / "tasks"), tmp_path / "tasks"

    def twice(ended: threading.Event) -> bool:
        if when_tasks_wait(folder, 0.0)(ended):
            os.kill(os.getpid(), signal.SIGINT)
        return not ended.wait(0.5)

    try:
        table = created(catalog)
        before = state(table)
        took = Interrupt(twice).answered(lambda: fz.spark.append(df, table, engine="arrow"))
        assert took is not None
        print(f"answered within {took:.3f} s")
    finally:
        spark.sparkContext.cancelAllJobs()
    check_spark_goes_on(spark)
    assert state(table) == before


def test_a_handler_of_the_program_stays(spark: Any, catalog: fz.Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    from frazil.spark import write

    table, seen = created(catalog), []
    conformed = write.conformed

    def during_the_call(*given: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        assert seen == [signal.SIGINT]
        return conformed(*given)

    monkeypatch.setattr(write, "conformed", during_the_call)
    previous = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        df = spark.range(5).selectExpr("id + 1000 as id", "1.5D as x", "1L as p")
        fz.spark.append(df.where("id = 1000"), table)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert seen == [signal.SIGINT]
    assert table.refresh().scan("id = 1000").count() == 1


def test_a_column_may_come_before_the_session(spark: Any, catalog: fz.Catalog) -> None:
    from pyspark.sql import functions as f

    table = created(catalog)
    fz.spark.delete(where=f.col("id") > 1, spark=spark, table=table)
    assert state(table)[1] == [0, 1]


CONNECT = """
import random, signal, sys
from pathlib import Path
from pyspark.sql import SparkSession
import frazil as fz
import test_spark_interrupts as tests

signal.signal(signal.SIGINT, signal.default_int_handler)
folder = Path(sys.argv[1])
spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "2")
signal.signal(signal.SIGINT, signal.default_int_handler)  # as with a server elsewhere
for number, name in enumerate(sys.argv[2:]):
    catalog = fz.catalog("c", warehouse=folder / f"{number}")
    catalog.create_namespace("db")
    tests.check_interrupted(spark, name, catalog, folder / f"tasks-{number}")
print("all right")
"""


def test_ctrl_c_with_spark_connect(tmp_path: Path) -> None:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 (no 'java' on the PATH)")
    pytest.importorskip("grpc")
    names = ["append", "append by Spark's writer", "upsert"]
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", CONNECT, str(tmp_path), *names],
        env=environment,
        capture_output=True,
        text=True,
        timeout=5 * HANG,
        check=False,
    )
    print(done.stdout)
    assert done.stdout.endswith("all right\n"), done.stderr[-3000:]
