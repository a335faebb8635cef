"""Ctrl-C while Spark works for a function of Frazil.

PySpark's own handler calls Spark on the connection that waits for the job. That fails: Python gets a `Py4JError`, and
the job goes on and may commit later. Here another thread cancels the function's jobs, which have a tag. When Spark has
answered, the function cleans up and raises `KeyboardInterrupt`. A second Ctrl-C does not wait for Spark.
"""

from __future__ import annotations

import _thread
import functools
import os
import signal
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Protocol, TypeVar, cast

from pyspark.sql import SparkSession

from frazil.exceptions import FrazilError

__all__ = ["interruptible", "interrupts_cancel", "sweep_twice"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

# The pause between two attempts to cancel, in seconds. A function may start further jobs after the first attempt.
_PAUSE = 0.1
# How long the end of a function waits for an attempt that Spark does not answer.
_LAST_WAIT = 2.0
# Spark kills a Python worker 2 seconds after its task was cancelled (`spark.python.task.killTimeout`).
_WORKERS_DEAD = 3.0
# A signal that hardly any program uses. Python's main thread gets it, the operating system does not.
_WAKE: signal.Signals | None = getattr(signal, "SIGURG", None)
# Modules whose calls wait for Spark. An exception there would break their connection.
_CONNECTIONS = ("py4j", "grpc", "pyspark.sql.connect.client")


def interruptible(function: _Function) -> _Function:
    """A function whose Spark jobs end at Ctrl-C. One of its arguments is a session or a DataFrame."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with interrupts_cancel(_session((*args, *kwargs.values()))):
            return function(*args, **kwargs)

    return cast("_Function", call)


@contextmanager
def interrupts_cancel(spark: SparkSession | None) -> Iterator[None]:
    """Ctrl-C cancels the jobs that the block starts. `KeyboardInterrupt` is raised in the block, or at its end.

    This does nothing outside of the main thread, in another such block, or if the program has a handler of its own.
    """
    jobs = None if spark is None or not _is_free() else _jobs_of(spark)
    if jobs is None:
        yield
        return
    interrupt = _Interrupt(jobs)
    with interrupt.handled():
        try:
            yield
        except Exception as error:
            if interrupt.presses:
                raise KeyboardInterrupt from error
            raise
        if interrupt.presses:
            raise KeyboardInterrupt


def sweep_twice(sweep: Callable[[], None], error: BaseException) -> None:
    """Deletes the files of a job that failed. If Spark gave up, it does so again when its tasks have ended.

    Args:
        sweep: Deletes the files.
        error: What ended the job. After an error of Frazil, no task is running any more.
    """
    sweep()
    if not isinstance(error, FrazilError):
        # The process ends after this thread.
        threading.Timer(_WORKERS_DEAD, sweep).start()


class _Jobs(Protocol):
    """The jobs of a block, which have a tag."""

    def begin(self) -> None: ...
    def cancel(self) -> None: ...
    def end(self) -> None: ...


class _ClassicJobs:
    def __init__(self, spark: SparkSession, tag: str) -> None:
        self._context, self._tag = spark.sparkContext, tag

    def begin(self) -> None:
        self._context.addJobTag(self._tag)

    def cancel(self) -> None:
        self._context.cancelJobsWithTag(self._tag)

    def end(self) -> None:
        self._context.removeJobTag(self._tag)


class _ConnectJobs:
    def __init__(self, spark: SparkSession, tag: str) -> None:
        self._spark, self._tag = spark, tag

    def begin(self) -> None:
        self._spark.addTag(self._tag)

    def cancel(self) -> None:
        self._spark.interruptTag(self._tag)

    def end(self) -> None:
        self._spark.removeTag(self._tag)


class _Interrupt:
    """What Ctrl-C does to one block.

    Attributes:
        presses: How often the user has pressed Ctrl-C.
    """

    def __init__(self, jobs: _Jobs) -> None:
        self.presses = 0
        self._jobs = jobs
        self._raised = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._cancel, name="frazil-cancel", daemon=True)

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Takes Ctrl-C in the block, and marks its jobs."""
        self._jobs.begin()
        previous = {number: signal.signal(number, handler) for number, handler in self._handlers().items()}
        try:
            yield
        finally:
            self._raised = True
            self._ended.set()
            try:
                if self._thread.ident is not None:
                    self._thread.join(_LAST_WAIT)
            finally:  # a further Ctrl-C ends the wait
                for number, handler in self._handlers().items():
                    if signal.getsignal(number) == handler:
                        signal.signal(number, previous[number] or signal.SIG_DFL)
                with suppress(Exception):  # the session may have been stopped
                    self._jobs.end()

    def _handlers(self) -> Mapping[signal.Signals, Callable[[int, FrameType | None], None]]:
        return {signal.SIGINT: self._press} | ({} if _WAKE is None else {_WAKE: self._wake})

    def _press(self, _: int, frame: FrameType | None) -> None:
        self.presses += 1
        if self.presses == 1:
            self._thread.start()
            if _waits_for_spark(frame):
                return
        self._raise()

    def _wake(self, _: int, frame: FrameType | None) -> None:
        # Cleanup runs to its end, and the block itself raises afterwards.
        if self.presses and not self._raised and sys.exc_info()[0] is None and not _waits_for_spark(frame):
            self._raise()

    def _raise(self) -> None:
        self._raised = True
        raise KeyboardInterrupt

    def _cancel(self) -> None:
        """Runs in a thread of its own, which has a connection of its own."""
        while True:
            with suppress(Exception):  # the main thread will find out what is wrong with the session
                self._jobs.cancel()
            if self._ended.wait(_PAUSE):
                return
            if _WAKE is not None and not self._raised:
                _thread.interrupt_main(_WAKE)


def _waits_for_spark(frame: FrameType | None) -> bool:
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if any(module == name or module.startswith(f"{name}.") for name in _CONNECTIONS):
            return True
        frame = frame.f_back
    return False


def _is_free() -> bool:
    """Whether Ctrl-C would be answered by Python or by PySpark."""
    if threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGINT)
    return handler is signal.default_int_handler or getattr(handler, "__module__", "") in (
        "pyspark.core.context",
        "pyspark.context",
    )


def _jobs_of(spark: SparkSession) -> _Jobs | None:
    tag = f"frazil-{uuid.uuid4()}"
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return _ConnectJobs(spark, tag)
    # Without pinned threads, a tag would not reach the jobs of this thread.
    pinned = os.environ.get("PYSPARK_PIN_THREAD", "true").lower() == "true"
    return _ClassicJobs(spark, tag) if pinned else None


def _session(values: Iterable[object]) -> SparkSession | None:
    for value in values:
        if type(value).__module__.startswith("pyspark.sql"):
            found = value if type(value).__name__ == "SparkSession" else getattr(value, "sparkSession", None)
            if found is not None:
                return cast("SparkSession", found)
    return None
