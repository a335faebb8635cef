"""Ctrl-C in functions that have Spark jobs: signals at their edges, before commits, and after them.

Spark is not needed. The jobs here only count. A call of Spark is a function in a module with the name of Spark's
connection.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException, PySparkValueError, PythonException
from pyspark.sql import SparkSession

from frazil.exceptions import CommitStateUnknownError, StoreError
from frazil.maintain import Compacted
from frazil.spark import maintenance
from frazil.spark.jobs import interrupts
from frazil.spark.jobs.interrupts import cancelled_by_interrupts, interruptible, raise_if_interrupted
from frazil.spark.jobs.job import unless_committed, unless_interrupted
from frazil.spark.writing import writer
from frazil.spark.writing.job import WriteJob

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.skipif(sys.platform == "win32", reason="no SIGURG"),
]


class Jobs:
    """Jobs that count what is done with them. A step's name in `signals` sends a signal during this step."""

    def __init__(self, signals: str = "") -> None:
        self.marks = 0
        self.cancelled = threading.Event()
        self.signals = signals

    def begin(self) -> None:
        self.marks += 1
        self._send("begin")

    def cancel(self) -> None:
        self.cancelled.set()

    def end(self) -> None:
        self._send("end")
        self.marks -= 1

    def _send(self, step: str) -> None:
        if step == self.signals:
            signal.raise_signal(signal.SIGINT)


class OwnSession(SparkSession):
    def __init__(self) -> None:
        pass

    def __del__(self) -> None:
        pass


class Anything:
    """As a Column of Spark's, it has every attribute."""

    __module__ = "pyspark.sql.column"

    def __getattr__(self, name: str) -> Anything:
        return Anything()


spark = OwnSession()
spark_call: dict[str, Any] = {"__name__": "py4j.java_gateway"}
exec("def waits_for_spark(work):\n    return work()", spark_call)
waits_for_spark: Callable[[Callable[[], Any]], Any] = spark_call["waits_for_spark"]


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def interrupted_call() -> None:
    """A call of Spark in which an interrupt comes."""
    waits_for_spark(interrupt)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    """The jobs of the session. After the test, handlers, marks and threads are as before."""
    made = Jobs()
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    inner = signal.getsignal(signal.SIGURG)
    monkeypatch.setattr(interrupts, "_jobs_of", lambda _: made)
    try:
        yield made
        monkeypatch.undo()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGURG) == inner
        assert made.marks == 0
        assert interrupts._Interrupts.current is None
        assert "frazil-cancel" not in {thread.name for thread in threading.enumerate()}
    finally:
        signal.signal(signal.SIGINT, previous)
        signal.signal(signal.SIGURG, inner)


@pytest.fixture
def no_inner_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_INNER", None)


def test_a_call_without_an_interrupt_returns_its_result(jobs: Jobs) -> None:
    assert cancelled_by_interrupts(spark, lambda: jobs.marks) == 1
    assert not jobs.cancelled.is_set()


def test_a_column_is_no_session() -> None:
    assert interrupts._session([1, Anything(), spark]) is spark
    assert interrupts._session([Anything(), None]) is None


def test_a_session_may_be_any_argument(jobs: Jobs) -> None:
    function = interruptible(lambda where, spark: jobs.marks)
    assert function(where=Anything(), spark=spark) == 1
    assert function(Anything(), spark) == 1
    assert function(Anything(), None) == 0


@pytest.mark.parametrize("step", ["begin", "end"])
def test_a_signal_while_jobs_are_marked_is_raised_at_the_end(jobs: Jobs, step: str) -> None:
    jobs.signals, done = step, []
    with pytest.raises(KeyboardInterrupt) as raised:
        cancelled_by_interrupts(spark, lambda: done.append(1))
    assert done == ([1] if step == "end" else [])
    assert ("had finished" in str(raised.value)) == (step == "end")


@pytest.mark.parametrize("call", [0, 1, 2, 3])
@pytest.mark.parametrize("is_before", [True, False])
def test_a_signal_while_handlers_change_leaves_none_behind(
    jobs: Jobs, call: int, is_before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def changed(number: int, handler: Any) -> Any:
        calls.append(number)
        if is_before and len(calls) - 1 == call:
            interrupt()
        found = signal.signal(number, handler)
        if not is_before and len(calls) - 1 == call:
            interrupt()
        return found

    replaced = SimpleNamespace(**{**vars(signal), "signal": changed})
    monkeypatch.setattr(interrupts, "signal", replaced)
    with pytest.raises(KeyboardInterrupt):
        cancelled_by_interrupts(spark, lambda: None)


def test_signals_at_random_moments_leave_nothing_behind(jobs: Jobs) -> None:
    dice, interrupted = random.Random(7), 0
    for _ in range(200):
        sent = threading.Event()
        sender = threading.Thread(target=_send_after, args=(dice.uniform(0, 0.004), sent))
        try:
            sender.start()
            while not sent.is_set():
                cancelled_by_interrupts(spark, lambda: waits_for_spark(lambda: time.sleep(0.0002)))
            time.sleep(0)  # a late interrupt arrives here
        except KeyboardInterrupt:
            interrupted += 1
        sender.join()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert (jobs.marks, interrupts._Interrupts.current) == (0, None)
    assert interrupted == 200


def _send_after(seconds: float, sent: threading.Event) -> None:
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGINT)
    sent.set()


def test_a_signal_that_comes_as_the_work_returns_is_raised(jobs: Jobs, no_inner_signal: None) -> None:
    with pytest.raises(KeyboardInterrupt, match="the call had finished, and its changes are committed"):
        cancelled_by_interrupts(spark, interrupted_call)


def test_a_signal_outside_of_spark_ends_the_work_at_once(jobs: Jobs) -> None:
    done = []
    with pytest.raises(KeyboardInterrupt):
        cancelled_by_interrupts(spark, lambda: (interrupt(), done.append(1)))
    assert done == []


def test_a_signal_during_a_short_call_of_spark_ends_the_work(jobs: Jobs) -> None:
    def work() -> None:
        interrupted_call()
        end = time.monotonic() + 30
        while time.monotonic() < end:
            time.sleep(0.001)

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        cancelled_by_interrupts(spark, work)
    assert time.monotonic() - begun < 15
    assert jobs.cancelled.is_set()


def test_a_signal_as_an_object_dies_is_not_lost(jobs: Jobs) -> None:
    class Dying:
        def __del__(self) -> None:
            interrupt()

    def work() -> None:
        Dying()
        for _ in range(30_000):
            time.sleep(0.001)

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        cancelled_by_interrupts(spark, work)
    assert time.monotonic() - begun < 15


def test_a_second_signal_does_not_wait_for_spark(jobs: Jobs) -> None:
    done = []
    with pytest.raises(KeyboardInterrupt):
        cancelled_by_interrupts(spark, lambda: waits_for_spark(lambda: (interrupt(), interrupt(), done.append(1))))
    assert done == []


def test_work_that_began_in_a_handler_of_an_error_is_ended_too(jobs: Jobs) -> None:
    def work() -> None:
        interrupted_call()
        time.sleep(0.001)
        while not jobs.cancelled.wait(0.001):
            pass
        for _ in range(30_000):
            time.sleep(0.001)

    def after_an_error() -> None:
        try:
            raise ValueError
        except ValueError:
            cancelled_by_interrupts(spark, work)

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        after_an_error()
    assert time.monotonic() - begun < 15


def test_nothing_is_committed_after_a_signal(jobs: Jobs, no_inner_signal: None) -> None:
    done: list[str] = []

    def work() -> None:
        interrupted_call()
        with unless_committed(lambda: done.append("undone")):
            done.append("committed")

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        cancelled_by_interrupts(spark, work)
    assert done == ["undone"]


def test_files_of_a_finished_job_are_deleted_if_the_signal_comes_before_the_commit(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up: list[Any] = []

    class Known:
        _core = None

        def refresh(self) -> None:
            interrupt()

    monkeypatch.setattr(writer, "Table", lambda _: Known())
    monkeypatch.setattr(writer, "give_up", lambda _, messages: given_up.extend(messages))
    table: Any = Known()
    with pytest.raises(KeyboardInterrupt):
        cancelled_by_interrupts(spark, lambda: writer.commit_once(table, WriteJob(), ["a file"]))  # type: ignore[list-item]
    assert given_up == ["a file"]


def test_files_stay_if_the_signal_comes_in_the_commit(jobs: Jobs) -> None:
    undone: list[str] = []

    def work() -> None:
        with unless_interrupted(lambda: undone.append("before")):
            pass
        with unless_committed(lambda: undone.append("in")):
            interrupt()

    with pytest.raises(KeyboardInterrupt):
        cancelled_by_interrupts(spark, work)
    assert undone == []


def test_an_unknown_outcome_is_told(jobs: Jobs, no_inner_signal: None) -> None:
    def work() -> None:
        interrupted_call()
        raise CommitStateUnknownError("no answer")

    with pytest.raises(KeyboardInterrupt, match="the outcome of the commit is unknown") as raised:
        cancelled_by_interrupts(spark, work)
    assert isinstance(raised.value.__cause__, CommitStateUnknownError)


def test_a_signal_that_c_code_handles_is_not_used(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[int] = []

    def signal_(number: int, handler: Any) -> Any:
        installed.append(number)
        return signal.signal(number, handler)

    def getsignal(number: int) -> Any:
        return None if number == signal.SIGURG else signal.getsignal(number)

    monkeypatch.setattr(
        interrupts, "signal", SimpleNamespace(**{**vars(signal), "signal": signal_, "getsignal": getsignal})
    )
    with pytest.raises(KeyboardInterrupt):
        cancelled_by_interrupts(spark, lambda: (interrupted_call(), raise_if_interrupted()))
    assert set(installed) == {signal.SIGINT}


def test_a_compaction_makes_no_commit_after_a_signal(
    jobs: Jobs, no_inner_signal: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed: list[str] = []
    ran: list[str] = []
    counted = Compacted(4, 0, 0, 0, 0, 0, [])

    class Parts:
        def __init__(self, _: object) -> None:
            pass

        def plan_compaction(self, _: object) -> tuple[object, int, list[str], Compacted]:
            return object(), 7, ["a", "b", "c", "d"], counted

        def commit_compaction(self, _: object, __: int, groups: list[str], ___: object) -> tuple[object, Compacted]:
            committed.extend(groups)
            return object(), counted

    def run(_: object, parts: list[str]) -> list[str]:
        ran.extend(parts)
        if parts == ["b"]:
            interrupted_call()
            raise StoreError("Spark's executors could not finish their parts: cancelled")
        return []

    monkeypatch.setattr(maintenance, "MaintenanceParts", Parts)
    monkeypatch.setattr(maintenance, "compaction_parts", lambda group, _: [group])
    monkeypatch.setattr(maintenance, "_run", run)
    action: Any = SimpleNamespace(dry_run=False, max_commits=4, max_failed_commits=None, order=None)
    with pytest.raises(KeyboardInterrupt):
        maintenance.compact(spark, object(), action)  # type: ignore[arg-type]
    assert (ran, committed) == (["a", "b"], ["a"])


LEFT_TASKS = [
    (KeyboardInterrupt(), True),
    (Py4JError("lost"), True),
    (PythonException("a task failed"), True),
    (PySparkException("Job aborted"), True),
    (AnalysisException("no such column"), False),
    (PySparkValueError("a wrong argument"), False),
    (ValueError("a wrong argument"), False),
    (StoreError("no answer"), False),
]


@pytest.mark.parametrize(("error", "left"), LEFT_TASKS, ids=lambda value: type(value).__name__)
def test_files_are_deleted_again_only_if_tasks_may_be_running(
    error: BaseException, left: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interrupts, "_WORKERS_DEAD", 0.0)
    timers: list[threading.Timer] = []
    monkeypatch.setattr(interrupts, "threading", SimpleNamespace(Timer=lambda *given: _kept(timers, *given)))
    swept: list[int] = []
    interrupts.sweep_after_failure(lambda: swept.append(1), error)
    for timer in timers:
        timer.join()
    assert swept == ([1, 1] if left else [1])


def test_files_are_deleted_again_if_the_first_deletion_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_WORKERS_DEAD", 0.0)
    timers: list[threading.Timer] = []
    monkeypatch.setattr(interrupts, "threading", SimpleNamespace(Timer=lambda *given: _kept(timers, *given)))
    swept: list[int] = []

    def sweep() -> None:
        swept.append(1)
        if len(swept) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupts.sweep_after_failure(sweep, KeyboardInterrupt())
    timers[0].join()
    assert swept == [1, 1]


def _kept(timers: list[threading.Timer], seconds: float, work: Callable[[], None]) -> threading.Timer:
    timers.append(threading.Timer(seconds, work))
    return timers[-1]
