"""Other processes, other threads and Ctrl-C."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time

import polars as pl
import pyarrow as pa
import pytest

import frazil as fz
from conftest import event_rows


def twin(obj):
    return pickle.loads(pickle.dumps(obj))


def test_everything_pickles(catalog: fz.Catalog, events: fz.Table) -> None:
    scan = events.scan("id > 10", select=["id"], at=events.snapshots[0].id).where("id < 90").limit(7)
    assert twin(catalog).list_tables("db") == ["db.events"]
    assert twin(events).metadata_location == events.metadata_location
    assert twin(events).schema == events.schema
    assert twin(events.schema) == events.schema
    assert twin(events.partition_spec) == events.partition_spec
    assert twin(events.sort_order) == events.sort_order
    assert twin(events.snapshot) == events.snapshot
    assert dict(twin(events.refs)) == dict(events.refs)
    assert repr(twin(scan)) == repr(scan)
    assert twin(scan).to_arrow().num_rows == 7
    assert [twin(t) for t in scan.plan_files()] == list(scan.plan_files())
    assert [twin(t).to_json() for t in scan.plan_files()] == [t.to_json() for t in scan.plan_files()]
    assert twin(scan.plan()) == scan.plan()
    assert twin(scan.plan()[0]).to_arrow()["id"].to_pylist() == list(range(11, 90))
    assert str(twin(scan.explain())) != ""
    message = twin(events.writer(3)).write(event_rows(500, 5))
    assert twin(message) == message
    assert events.commit([twin(message)]).scan().count() == 205


def test_a_pickled_table_stays_at_its_version(events: fz.Table) -> None:
    pickled = pickle.dumps(events)
    events.append(event_rows(200, 10))
    old = pickle.loads(pickled)
    assert old.scan().count() == 200
    assert old.refresh().scan().count() == 210


def read_split(split: fz.Split) -> int:
    return split.to_arrow().num_rows


def write_rows(writer: fz.Writer, first: int) -> fz.CommitMessage:
    return writer.write(event_rows(first, 20))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_processes_read_and_write(events: fz.Table, method: str) -> None:
    scan = events.scan("id >= 50")
    assert scan.count() == 150
    assert scan.to_arrow().num_rows == 150  # whatever this makes lazily must not hang a forked child
    splits = scan.plan(split_size_bytes=1, open_file_cost_bytes=0)
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        assert sum(pool.map_async(read_split, splits).get(timeout=120)) == 150
        jobs = [(events.writer(i), 1000 * i) for i in (1, 2, 3)]
        messages = pool.starmap_async(write_rows, jobs).get(timeout=120)
    assert events.commit(messages).scan().count() == 260


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_stream_stays_in_its_process(events: fz.Table) -> None:
    stream = events.scan(options={"batch-rows": "5"}).to_arrow_batch_reader()
    taken = stream.read_next_batch().num_rows
    child = os.fork()
    if child == 0:
        try:
            stream.read_next_batch()
        except fz.InvalidInputError as error:
            del stream  # its threads are not here: nothing may wait for them
            os._exit(7 if "fork" in str(error) and events.scan().to_arrow().num_rows == 200 else 1)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert taken + stream.read_all().num_rows == 200


def test_threads_share_a_scan(events: fz.Table) -> None:
    scan = events.scan("country = 'NO'")
    stream = events.scan().plan_files()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(lambda _: scan.to_arrow().num_rows, range(32)))
        tasks = list(pool.map(lambda _: next(stream, None), range(32)))
    assert counts == [50] * 32
    assert sum(t is not None for t in tasks) == 10


def test_threads_append_at_once(catalog: fz.Catalog, events: fz.Table) -> None:
    def one(i: int) -> None:
        catalog.load_table("db.events").append(event_rows(1000 * i, 10))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(1, 9)))
    assert events.refresh().scan().count() == 280
    assert len(events.snapshots) == 10


class Interrupt:
    """Sends this process SIGINT, as Ctrl-C does, a moment after `with` begins."""

    def __init__(self, after: float) -> None:
        self.timer = threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT))

    def __enter__(self) -> None:
        self.timer.start()

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()


def endless(rows: pa.Table):
    while True:
        yield from rows.to_batches()


@pytest.fixture
def long(events: fz.Table) -> fz.Table:
    """A table of many files, which takes a while to read."""
    rows = event_rows(0, 1200)
    messages = [events.writer(i).write(rows) for i in range(4)]
    return events.commit(messages)


@pytest.mark.timeout(120)
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda s: s.to_arrow(), id="to_arrow"),
        pytest.param(lambda s: s.to_arrow_batch_reader().read_all(), id="reader"),
        pytest.param(lambda s: list(s.to_arrow_batch_reader()), id="batches"),
        pytest.param(lambda s: list(s.plan_files()), id="plan_files"),
        pytest.param(lambda s: s.where("id > 3").count(), id="count"),
        pytest.param(lambda s: pa.table(s), id="pyarrow"),
        pytest.param(lambda s: pl.DataFrame(s), id="polars"),
    ],
)
def test_ctrl_c_stops_a_read(long: fz.Table, read) -> None:
    scan = long.scan()

    def work() -> None:
        try:
            while True:
                read(scan)
        except (pa.ArrowException, OSError, pl.exceptions.PolarsError):
            time.sleep(1)  # compiled consumers wrap what their source raises; the interrupt still arrives

    with Interrupt(after=1.0), pytest.raises(KeyboardInterrupt):
        work()


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
def test_ctrl_c_stops_an_append(events: fz.Table) -> None:
    rows = event_rows(0, 100)
    reader = pa.RecordBatchReader.from_batches(rows.schema, endless(rows))
    before = events.snapshot.id
    with Interrupt(after=1.0), pytest.raises(KeyboardInterrupt):
        events.append(reader)
    assert events.refresh().snapshot.id == before


def test_the_interpreter_is_free_while_frazil_works(long: fz.Table) -> None:
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begun = time.monotonic()
    while time.monotonic() - begun < 0.5:
        long.scan().to_arrow()
    done.set()
    thread.join()
    assert ticks > 50
