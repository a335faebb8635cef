"""Calls of verbs that somebody listens to: what is told about them, and when."""

from __future__ import annotations

import _thread
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any

from frazil import _core
from frazil.observing import figures, listeners, logs, reports, spans, telling, verbs

__all__ = ["Call", "log_failure", "log_retries", "stream", "watch"]

_MOST_TEXT = 1024

_OUTCOMES = {"commit_conflict": "conflict", "commit_state_unknown": "unknown"}
_SAID = {
    "conflict": "lost to another commit",
    "unknown": "has an unknown outcome",
    "failed": "failed",
    "stopped": "was given up before its end",
}


def _public(text: str) -> str:
    return _core.public_text(text, _MOST_TEXT)


def _member(owner: Any, name: str) -> Any:
    """A member of an object, or None. Objects answer other questions for unknown names with hints."""
    return getattr(owner, "__dict__", {}).get(name)


def _handle(owner: Any) -> Any:
    """The table of an object: one of Python or of the core; None if it has none."""
    return owner if isinstance(_member(owner, "_core"), _core.Table) else _member(owner, "_table")


def _core_of(handle: Any) -> _core.Table | None:
    return handle if handle is None or isinstance(handle, _core.Table) else handle._core


def _facts(owner: Any) -> dict[str, Any]:
    """What is known before the verb begins."""
    if isinstance(owner, str):
        return {"location": _public(owner)}
    if tables := _member(owner, "_tables"):
        return {"table": _public(", ".join(tables))}
    handle = _handle(owner)
    core = _core_of(handle)
    if core is None:
        return {}
    name = core.name or _member(handle, "_name") or _member(owner, "_name")
    location = core.location
    return {
        "table": _public(name or location.rstrip("/").rpartition("/")[2]),
        "location": _public(location),
        "format": f"{core.format}",
    }


class Call:
    """A verb that is running."""

    def __init__(self, verb: verbs.Verb, owner: Any) -> None:
        self._verb = verb
        self._owner = owner
        self._process = os.getpid()
        self._handle = _handle(owner)
        self._before = _core_of(self._handle)
        self._facts = _facts(owner)
        self._is_open = True
        self._ended: tuple[float, figures.Counted] | None = None
        self._counter = _core.CallCounter()
        self._measured = spans.begin(verb.event, verb.name, self._facts)
        self._began = perf_counter()

    def current(self) -> AbstractContextManager[Any]:
        """A block in which the span of the verb is the current one."""
        return nullcontext() if self._measured is None else self._measured.current()

    def drop(self) -> None:
        """The function was called in a wrong way. Nothing is told."""
        self._is_open = False
        if self._measured is not None:
            self._measured.drop()

    def end(self, found: dict[str, Any], error: BaseException | None = None, outcome: str | None = None) -> None:
        """The verb has ended. Only the first call counts, and only in the process that began the verb.

        Args:
            found: The figures.
            error: The error that it raised.
            outcome: How it ended, if it neither was done nor raised an error.
        """
        if not self._is_open or os.getpid() != self._process or sys.is_finalizing():
            return
        self._is_open = False
        seconds, counted = self._stop()
        found = {**found, **{name: value for name, value in counted.figures.items() if name not in found}}
        if error is not None:
            outcome = _OUTCOMES.get(getattr(error, "kind", ""), "failed")
            found = {**found, "error": type(error).__name__}
        outcome = outcome or "done"
        snapshot = {"snapshot_id": self._owner.snapshot_id} if self._is_of_scan() else {}
        facts = _written(self._verb, outcome, {**self._facts, **snapshot, **found}, seconds)
        token = telling.state.set(telling.TELLING)
        try:
            if self._measured is not None:
                self._measured.end(facts, seconds)
        finally:
            telling.state.reset(token)
        if outcome == "done":
            self._report(found, seconds)

    def _stop(self) -> tuple[float, figures.Counted]:
        """The verb's time, and what the core counted. What follows is not the verb's."""
        if self._ended is None:
            seconds = perf_counter() - self._began
            self._ended = seconds, figures.Counted(self._counter, self._verb.kind in (verbs.PLAN, verbs.READ))
        return self._ended

    def _is_of_scan(self) -> bool:
        return isinstance(_member(self._owner, "_core"), _core.Scan)

    def _report(self, found: dict[str, Any], seconds: float) -> None:
        if not listeners.registered:
            return
        # Servers are not told about scans of several versions either.
        if self._is_of_scan() and self._owner._since is None and not self._owner._changes:
            planning = seconds if self._verb.kind == verbs.PLAN else None
            metrics = self._stop()[1].metrics
            report = reports.scan_report(self._facts["table"], self._owner._core, metrics, found, planning)
            if report is not None:
                reports.deliver(report)

    def returned(self, result: Any) -> Any:
        """The function returned. Streams are told about at their end."""
        name = self._verb.name
        if name == "to_arrow_batch_reader":
            return self.counted(result)
        if name == "plan_files":
            return _Tasks(iter(result), self)
        self._stop()
        if hasattr(result, "collect"):
            # A lazy frame reads later.
            self.drop()
        elif isinstance(result, dict):
            self._committed_several(result)
        elif self._verb.kind in (verbs.COMMIT, verbs.MAINTENANCE):
            self._changed(result)
        else:
            # Spans are left on in production, so they do without the files of splits.
            in_detail = bool(listeners.registered) or logs.is_enabled(self._verb.level)
            is_read = self._verb.kind == verbs.READ
            self.end(figures.of_read(result) if is_read else figures.of_plan(name, result, in_detail))
        return result

    def _changed(self, result: Any) -> None:
        """A table has changed, or was examined."""
        after, before = _core_of(self._handle), self._before
        made = figures.made_snapshots(before, after) if after is not None and before is not None else []
        found: dict[str, Any] = {}
        if self._verb.kind == verbs.MAINTENANCE:
            found = figures.of_maintenance(self._verb.name, result)
            if made:
                found["snapshot_id"] = made[-1].id
        elif after is not None:
            found = figures.of_commit(after, made)
        self.end(found)
        if listeners.registered:
            seconds, counted = self._stop()
            for snapshot in made:
                reports.deliver(reports.commit_report(self._facts["table"], snapshot, counted.attempts, seconds))

    def _committed_several(self, tables: dict[str, Any]) -> None:
        """A transaction over several tables was committed. The figures are those of all tables."""
        made = {name: _made_by_last_commit(table._core) for name, table in tables.items()}
        found: dict[str, Any] = {}
        for name, snapshots in made.items():
            for figure, value in figures.of_commit(tables[name]._core, snapshots).items():
                if figure not in ("snapshot_id", "operation"):
                    found[figure] = found.get(figure, 0) + value
        found["snapshot_ids"] = [snapshot.id for snapshots in made.values() for snapshot in snapshots]
        self.end(found)
        if listeners.registered:
            seconds, counted = self._stop()
            for name, snapshots in made.items():
                for snapshot in snapshots:
                    reports.deliver(reports.commit_report(_public(name), snapshot, counted.attempts, seconds))

    def counted(self, reader: Any) -> Any:
        """A reader of batches whose end is told."""
        from frazil import interop

        rows = _Rows(self)
        return interop.counted(reader, rows.add, rows.end)


def _made_by_last_commit(core: _core.Table) -> list[_core.SnapshotInfo]:
    ids = core.committed or []
    return [snapshot for snapshot in core.snapshots() if snapshot.id in ids]


class _Rows:
    """The rows of a stream. The reader that counts them is the only one that knows this object."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._rows = 0
        self._batches = 0

    def _figures(self) -> dict[str, int]:
        return {"rows": self._rows, "batches": self._batches}

    def add(self, rows: int) -> None:
        self._rows += rows
        self._batches += 1

    def end(self, error: BaseException | None) -> None:
        _safely(lambda: self._call.end(self._figures(), error))

    def __del__(self) -> None:
        _safely(lambda: self._call.end(self._figures(), outcome="stopped"))


class _Tasks:
    """The tasks of a plan, counted one by one."""

    def __init__(self, tasks: Iterator[_core.ScanTask], call: Call) -> None:
        self._tasks = tasks
        self._call = call
        self._planned = figures.Planned()
        self._lock = _thread.allocate_lock()

    def __iter__(self) -> _Tasks:
        return self

    def __next__(self) -> _core.ScanTask:
        try:
            task = next(self._tasks)
        except StopIteration:
            _safely(lambda: self._call.end(self._planned.figures()))
            raise
        except BaseException as error:
            self._end_with(error)
            raise
        with self._lock:
            self._planned.add(task)
        return task

    def _end_with(self, error: BaseException) -> None:
        _safely(lambda: self._call.end(self._planned.figures(), error))

    def __del__(self) -> None:
        _safely(lambda: self._call.end(self._planned.figures(), outcome="stopped"))


def _written(verb: verbs.Verb, outcome: str, found: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Writes the log record. Returns its facts."""
    facts = {"event": verb.event, "verb": verb.name, "outcome": outcome, **found, "milliseconds": seconds * 1e3}
    retries = found.get("retries", 0)
    is_bad = outcome in _OUTCOMES.values() or outcome == "failed" or bool(found.get("failed")) or retries > 0
    level = logs.WARNING if is_bad else verb.level
    if logs.is_enabled(level):
        hidden = ("event", "verb", "outcome", "table", "location", "format", "milliseconds")
        figures_text = [f"{name.replace('_', ' ')} {value}" for name, value in facts.items() if name not in hidden]
        said = f"{verb.name} of {facts.get('table', 'a split')}"
        if outcome in _SAID:
            said += f" {_SAID[outcome]}"
        elif retries > 0:
            said += " was tried again, because another commit was first"
        logs.write(level, f"{said}: {', '.join([*figures_text, f'{seconds * 1e3:.1f} ms'])}", facts)
    return facts


def _safely(tell: Callable[[], None]) -> None:
    """Tells something. An error in it concerns nobody but the log."""
    try:
        tell()
    except Exception as error:
        facts = {"event": "observing", "error": type(error).__name__}
        logs.write(logs.WARNING, f"a verb could not be told about: {type(error).__name__}", facts)


def log_retries(verb: verbs.Verb, owner: Any, retries: int, began: float) -> None:
    """Logs that a commit was tried again, for a verb that nobody else listens to."""

    def tell() -> None:
        _written(verb, "done", {**_facts(owner), "retries": retries}, perf_counter() - began)

    _safely(tell)


def log_failure(verb: verbs.Verb, owner: Any, error: BaseException, began: float) -> None:
    """Logs the failure of a verb that nobody else listens to."""

    def tell() -> None:
        outcome = _OUTCOMES.get(getattr(error, "kind", ""), "failed")
        _written(verb, outcome, {**_facts(owner), "error": type(error).__name__}, perf_counter() - began)
        telling.mark_told(error)

    _safely(tell)


def stream(verb: verbs.Verb, owner: Any, found: _core.BatchStream) -> Any:
    """A stream whose end is told."""
    from frazil import interop

    made: list[Any] = []
    _safely(lambda: made.append(Call(verb, owner).counted(interop.reader_of(found))))
    return made[0] if made else found


def watch(verb: verbs.Verb, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function of a verb, and tells what it did."""
    __tracebackhide__ = True
    begun: list[Call] = []
    _safely(lambda: begun.append(Call(verb, args[0])))
    if not begun:
        return function(*args, **kwargs)
    call = begun[0]
    try:
        with call.current():
            result = function(*args, **kwargs)
    except BaseException as error:
        raised = error
        if telling.has_begun(error):
            _safely(lambda: call.end({}, raised))
            telling.mark_told(error)
        else:
            _safely(call.drop)
        raise
    returned: list[Any] = []
    _safely(lambda: returned.append(call.returned(result)))
    if not returned:
        _safely(call.drop)
        return result
    return returned[0]
