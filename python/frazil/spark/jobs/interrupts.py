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
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType
from typing import Any, Protocol, TypeVar, cast

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from frazil.exceptions import CommitStateUnknownError

__all__ = ["cancelled_by_interrupts", "interruptible", "raise_if_interrupted", "sweep_after_failure"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Result = TypeVar("_Result")
_Handler = Callable[[int, "FrameType | None"], None]

# The pause between two attempts to cancel, in seconds. A function may start further jobs after the first attempt.
_PAUSE = 0.1
# How long the end of a function waits for an attempt that Spark does not answer, and how often it looks.
_LAST_WAIT, _STEP = 2.0, 0.02
# Spark looks every 2 seconds whether the task of a Python worker was cancelled. 2 seconds later it kills the worker
# (`spark.python.task.killTimeout`).
_WORKERS_DEAD = 5.0
# A signal that hardly any program uses. Python's main thread gets it, the operating system does not.
_INNER: signal.Signals | None = getattr(signal, "SIGURG", None)
# The classes of Spark Connect, whose modules need further packages.
_CONNECT_SESSION = ("pyspark.sql.connect.session", "SparkSession")
_CONNECT_FRAME = ("pyspark.sql.connect.dataframe", "DataFrame")
# Modules whose calls wait for Spark. An exception there would break their connection.
_CONNECTIONS = ("py4j", "grpc", "pyspark.sql.connect.client")
# Modules with functions that Python calls as an object dies. It ignores their exceptions.
_CALLBACKS = ("weakref", "_weakrefset")
# Errors that Spark or PySpark raises before any task runs.
_BEFORE_TASKS = (AnalysisException, TypeError, ValueError, AttributeError, RuntimeError)

_FINISHED = "the interrupt came too late: the call had finished, and its changes are committed"
_UNKNOWN = "the outcome of the commit is unknown: look at the table before you try again"


def interruptible(function: _Function) -> _Function:
    """A function whose Spark jobs end at Ctrl-C. One of its arguments is a session or a DataFrame."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        spark = _session((*args, *kwargs.values()))
        return cancelled_by_interrupts(spark, lambda: function(*args, **kwargs))

    return cast("_Function", call)


def cancelled_by_interrupts(spark: SparkSession | None, work: Callable[[], _Result]) -> _Result:
    """Does some work, whose Spark jobs end at Ctrl-C. `KeyboardInterrupt` is raised in the work, or at its end.

    Interrupts are left alone outside of the main thread, in other such work, and if the program has its own handler.

    Raises:
        KeyboardInterrupt: The work was interrupted. The text says so if a commit has happened, or may have happened.
    """
    jobs = None if spark is None or not _is_free() else _jobs_of(spark)
    if jobs is None:
        return work()
    interrupts = _Interrupts(jobs)
    try:
        done = interrupts.run(work)
    except CommitStateUnknownError as error:
        if interrupts.count:
            raise KeyboardInterrupt(_UNKNOWN) from error
        raise
    except Exception as error:
        if interrupts.count:
            raise KeyboardInterrupt from error
        raise
    if interrupts.count:
        raise KeyboardInterrupt(_FINISHED)
    return done


def raise_if_interrupted() -> None:
    """Ends work that was interrupted. Call it directly before a commit, and where errors do not end the work.

    Raises:
        KeyboardInterrupt: An interrupt has come since the work began.
    """
    current = _Interrupts.current
    if current is not None and current.count and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


def sweep_after_failure(sweep: Callable[[], None], error: BaseException) -> None:
    """Deletes the files of a job that failed, and again when the tasks that Spark gave up have ended.

    Args:
        sweep: Deletes the files.
        error: What ended the job.
    """
    try:
        sweep()
    finally:
        if _left_tasks(error):
            # The process ends after this thread.
            threading.Timer(_WORKERS_DEAD, sweep).start()


def _left_tasks(error: BaseException) -> bool:
    """Whether tasks may still run after an error. Errors of Frazil and of the planning leave no task."""
    if isinstance(error, PySparkException):
        return not isinstance(error, _BEFORE_TASKS)
    # PySpark without the JVM has no py4j, so its errors are known by their module.
    return isinstance(error, KeyboardInterrupt) or type(error).__module__.startswith("py4j.")


class _Jobs(Protocol):
    """The jobs of some work, which have a tag."""

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


class _Interrupts:
    """The interrupts of some work.

    Attributes:
        count: How often the user has pressed Ctrl-C.
        current: The interrupts of the work that the main thread does.
    """

    current: _Interrupts | None = None

    def __init__(self, jobs: _Jobs) -> None:
        self.count = 0
        self._jobs = jobs
        # While this is False, an interrupt only counts. Handlers are being installed or restored.
        self._armed = False
        self._marked = False
        self._handled = sys.exc_info()[1]
        self._previous: dict[signal.Signals, Any] = {}
        self._handlers = self._wanted_handlers()
        self._first, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._cancel, name="frazil-cancel", daemon=True)

    def run(self, work: Callable[[], _Result]) -> _Result:
        """Does the work, whose jobs are marked. Handlers are as before at its end, and the cancelling thread ends."""
        before = _Interrupts.current
        try:
            for number, handler in self._handlers.items():
                self._previous[number] = signal.getsignal(number)
                signal.signal(number, handler)
            self._thread.start()
            self._marked = True
            self._jobs.begin()
            _Interrupts.current, self._armed = self, True
            raise_if_interrupted()
            return work()
        finally:
            self._armed, _Interrupts.current = False, before
            self._end()

    def _end(self) -> None:
        """Ends the thread, removes the mark, and restores handlers, SIGINT's last."""
        self._ended.set()
        self._first.set()
        count, steps = self.count, 0
        # A further Ctrl-C ends the wait.
        while self._thread.is_alive() and self.count == count and steps * _STEP < _LAST_WAIT:
            self._thread.join(_STEP)
            steps += 1
        if self._marked and not self._thread.is_alive():  # a thread that is alive gets no answer of Spark
            with suppress(Exception):  # the session may have been stopped
                self._jobs.end()
        for number, handler in self._handlers.items():
            if number in self._previous and signal.getsignal(number) == handler:
                signal.signal(number, self._previous[number])

    def _wanted_handlers(self) -> dict[signal.Signals, _Handler]:
        """The handlers to install, SIGINT's last. A signal that others handle is not used, also not if C code does."""
        free = _INNER is not None and signal.getsignal(_INNER) in (signal.SIG_DFL, signal.SIG_IGN)
        inner: dict[signal.Signals, _Handler] = {_INNER: self._on_inner_signal} if _INNER is not None and free else {}
        return {**inner, signal.SIGINT: self._on_interrupt}

    def _on_interrupt(self, _: int, frame: FrameType | None) -> None:
        self.count += 1
        if self._armed and self.count == 1:  # an event must not be set while it is being set
            self._first.set()
        if self._may_raise(frame) and (self.count > 1 or not _loses_exceptions(frame)):
            raise KeyboardInterrupt

    def _on_inner_signal(self, _: int, frame: FrameType | None) -> None:
        # Cleanup runs to its end, and the work itself raises afterwards.
        is_cleanup = sys.exc_info()[1] is not self._handled
        if self.count and not is_cleanup and self._may_raise(frame) and not _loses_exceptions(frame):
            raise KeyboardInterrupt

    def _may_raise(self, frame: FrameType | None) -> bool:
        """Whether the work has begun and not ended. Between its own steps, `run` must not be interrupted."""
        return self._armed and frame is not None and frame.f_code is not _Interrupts.run.__code__

    def _cancel(self) -> None:
        """Runs in a thread of its own, which has a connection of its own."""
        self._first.wait()
        while self.count:
            self._signal_main_thread()
            with suppress(Exception):  # the main thread will find out what is wrong with the session
                self._jobs.cancel()
            self._signal_main_thread()
            if self._ended.wait(_PAUSE):
                return

    def _signal_main_thread(self) -> None:
        if _INNER in self._handlers and not self._ended.is_set():
            _thread.interrupt_main(_INNER)


def _loses_exceptions(frame: FrameType | None) -> bool:
    """Whether code waits for Spark, or is called by Python as an object dies."""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == "__del__" or module in _CALLBACKS:
            return True
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
    if isinstance(spark, _loaded(*_CONNECT_SESSION)):
        return _ConnectJobs(spark, tag)
    # Without pinned threads, a tag would not reach the jobs of this thread.
    pinned = os.environ.get("PYSPARK_PIN_THREAD", "true").lower() == "true"
    return _ClassicJobs(spark, tag) if pinned else None


def _session(values: Iterable[object]) -> SparkSession | None:
    """The session of a call's arguments. A Column has any attribute, so only the classes count."""
    sessions, frames = (SparkSession, *_loaded(*_CONNECT_SESSION)), (DataFrame, *_loaded(*_CONNECT_FRAME))
    for value in values:
        if isinstance(value, sessions):
            return cast("SparkSession", value)
        if isinstance(value, frames):
            return cast("DataFrame", value).sparkSession
    return None


def _loaded(module: str, name: str) -> tuple[type, ...]:
    """A class of a module, if that was loaded."""
    found = getattr(sys.modules.get(module), name, None)
    return (found,) if isinstance(found, type) else ()
