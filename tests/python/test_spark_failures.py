"""Jobs of Spark whose tasks or driver die: each row once, no live file gone."""

from __future__ import annotations

import datetime as dt
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from conftest import NIGHTLY
from frazil._core import RowChange
from frazil.spark.changes.job import PLACES, ChangeJob, ChangeWriter
from frazil.spark.jobs.job import Job

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string()), ("x", pa.float64())])
SCRIPT = Path(__file__).with_name("spark_dying.py")
JOB = "the job"


def rows(start: int, end: int) -> pa.Table:
    ids = range(start, end)
    return pa.table([list(ids), ["abc"[i % 3] for i in ids], [float(i) for i in ids]], schema=SCHEMA)


def created(catalog: fz.Catalog, verb: str, name: str | None = None) -> fz.Table:
    """30 rows in two files of each of three partitions."""
    properties = {"format-version": 3, "write.merge.mode": "merge-on-read", "write.delete.mode": "merge-on-read"}
    table = catalog.create_table(f"db.{name or verb}", SCHEMA, partition_by=["g"], properties=properties)
    return table.append(rows(0, 15)).append(rows(15, 30))


EXPECTED = {
    "append": sorted([*range(30), *range(20, 60)]),
    "upsert": [*range(60)],
    "delete": [*range(10)],
    "stream": [*range(30), *range(100, 130)],
}


def ids(table: fz.Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


def files(table: fz.Table) -> set[str]:
    folder = Path(table.location.removeprefix("file://")) / "data"
    return {str(p) for p in folder.rglob("*") if p.suffix in (".parquet", ".puffin")}


def live(table: fz.Table) -> set[str]:
    found = {path.removeprefix("file://") for path in table.refresh().inspect.files()["file_path"].to_pylist()}
    deletes = table.inspect.delete_files()["file_path"].to_pylist()
    return found | {path.removeprefix("file://") for path in deletes}


def started(*arguments: str, **more: Any) -> subprocess.Popen[str]:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 (no 'java' on the PATH)")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"}
    return subprocess.Popen([sys.executable, str(SCRIPT), *arguments], env=environment, text=True, **more)


def sweep(table: fz.Table) -> None:
    """What attempts left behind that nobody knows of goes as orphans; no live file does."""
    ahead = dt.datetime.now(dt.timezone.utc) + dt.timedelta(days=1)
    before = ids(table)
    table.maintain.remove_orphan_files(older_than=ahead)
    assert live(table) <= files(table)
    assert ids(table) == before


FAILURES = {
    "done": ["raise:append", "kill:append", "raise:upsert", "exit:upsert", "kill:upsert", "kill:delete"],
    "failed": ["raise-always:append", "raise-always:upsert", "kill-always:delete"],
}


def test_tasks_that_die_after_they_have_written(catalog: fz.Catalog) -> None:
    """They are run again; if that doesn't help either, the job fails and takes the others' files along."""
    ends = {job: end for end, jobs in FAILURES.items() for job in jobs}
    tables = {job: created(catalog, job.split(":")[1], job.replace(":", "_")) for job in ends}
    before = {job: files(table) for job, table in tables.items()}
    folder = str(Path(tables["raise:append"].location.removeprefix("file://")).parent)
    script = started("tasks", ",".join(ends), folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, errors = script.communicate(timeout=400)
    assert [line.split()[:2] for line in out.splitlines()] == [list(end) for end in ends.items()], out + errors[-3000:]
    for job, table in tables.items():
        done, verb = ends[job] == "done", job.split(":")[1]
        assert ids(table) == (EXPECTED[verb] if done else list(range(30))), job
        assert len(table.snapshots) == (3 if done else 2), job
        left = files(table) - live(table) - before[job]
        # What an attempt wrote that died is an orphan; what others wrote for a job that failed is gone.
        assert left, f"{job}: the attempt has left nothing: did it die before it wrote?"
        sweep(table)
        assert done or files(table) == before[job]


KILLED = [("append", "before"), ("upsert", "after"), ("append", "after"), ("upsert", "before"), ("delete", "after")]


# Each starts a driver of its own, which takes half a minute.
@pytest.mark.parametrize(("verb", "when"), KILLED if NIGHTLY else KILLED[:2])
def test_a_driver_that_is_killed_around_its_commit(
    spark, executors, catalog: fz.Catalog, tmp_path: Path, verb: str, when: str
) -> None:
    table = created(catalog, verb)
    place = table.location.removeprefix("file://")
    killed(when, verb, place, tmp_path / "here")
    assert ids(table) == (list(range(30)) if when == "before" else EXPECTED[verb])
    # The job is run again by another driver.
    source = spark.range(20, 60, 1, 2).selectExpr(
        "id", "element_at(array('a', 'b', 'c'), int(id % 3) + 1) as g", "-1.0D as x"
    )
    if verb == "append":
        fz.spark.append(source, place, job_id=JOB)
    elif verb == "upsert":
        fz.spark.upsert(source, place, ["id"], job_id=JOB)
    else:
        fz.spark.delete(spark, place, "x >= 10", job_id=JOB)
    assert ids(table) == EXPECTED[verb]
    assert len(table.snapshots) == 3
    sweep(table)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_stream_whose_driver_is_killed_goes_on(spark, catalog: fz.Catalog, tmp_path: Path, when: str) -> None:
    table = created(catalog, "stream")
    source = catalog.create_table("db.source", SCHEMA).append(rows(100, 130))
    places = [t.location.removeprefix("file://") for t in (table, source)]
    checkpoint = tmp_path / "checkpoint"
    killed(when, "stream", places[0], tmp_path / "here", places[1], str(checkpoint))
    assert len(ids(table)) == (30 if when == "before" else 60)
    frame = spark.readStream.format("frazil").load(places[1])
    writer = frame.writeStream.format("frazil").option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start(places[0]).awaitTermination()
    assert ids(table) == EXPECTED["stream"]
    assert len(table.snapshots) == 3
    sweep(table)


def killed(when: str, verb: str, table: str, marker: Path, *more: str) -> None:
    """A driver that is killed, with its JVM, when it stands before or after its commit."""
    log = marker.with_suffix(".log")
    with log.open("w") as output:
        script = started(
            "driver", f"{when}:{verb}", table, str(marker), *more, stdout=output, stderr=output, start_new_session=True
        )
        try:
            patience = time.monotonic() + 240
            while not marker.exists():
                assert script.poll() is None, log.read_text()[-3000:]
                assert time.monotonic() < patience, log.read_text()[-3000:]
                time.sleep(0.05)
        finally:
            os.killpg(script.pid, signal.SIGKILL)
            script.wait()


def test_two_attempts_of_one_task(catalog: fz.Catalog) -> None:
    """Speculation: both write, one counts."""
    table = created(catalog, "upsert")
    change = RowChange.Merge(["id"], True, None, True, None)
    job = ChangeJob(table, change, "id >= 20", Job(id=JOB), columns=tuple(SCHEMA.names))
    where = table.scan("id >= 20", select=["id", "_file", "_pos"]).to_arrow()
    source = rows(20, 40).set_column(2, "x", pa.array([-1.0] * 20))
    matched = source.join(where, "id", join_type="left outer").combine_chunks()
    matched = matched.append_column(PLACES[2], pa.array([False] * len(matched)))
    batches = matched.rename_columns([*SCHEMA.names, *PLACES]).to_batches()
    first, second = (pickle.loads(pickle.dumps(ChangeWriter(job))).write(iter(batches)) for _ in range(2))
    ChangeWriter(job).commit([second])
    assert ids(table) == list(range(40))
    assert table.scan("x = -1").count() == 20
    # Spark tells the loser nothing; if it did, what counts would stay.
    ChangeWriter(job).abort([first, None])
    assert ids(table) == list(range(40))
    assert live(table) == files(table)


def test_both_attempts_of_one_task_never_count(catalog: fz.Catalog) -> None:
    table = created(catalog, "delete")
    change = RowChange.Delete("x >= 10")
    _, parts = table._core.change_files(change, None)
    job = ChangeJob(table, change, "x >= 10", Job(id=JOB))
    payload = pa.record_batch({"split": [pickle.dumps([path for path, _ in parts])]})
    attempts = [ChangeWriter(job).write(iter([payload])) for _ in range(2)]
    with pytest.raises(fz.InvalidInputError, match="two parts changed the same data file"):
        ChangeWriter(job).commit(attempts)
    assert ids(table) == list(range(30))
    assert live(table) == files(table)
