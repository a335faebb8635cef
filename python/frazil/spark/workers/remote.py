"""Functions that Spark's Python workers call. Frazil may be missing there, or have another version."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa

import frazil

__all__ = ["OnBatches", "OnBatchesWith", "on_executors", "on_executors_each", "on_executors_with"]

OnBatches: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
OnBatchesWith: TypeAlias = Callable[[Iterable[pa.RecordBatch], Any], Iterator[pa.RecordBatch]]


def on_executors(function: OnBatches, name: str) -> OnBatches:
    """A function for `mapInArrow` that checks the worker's Python before it calls `function`.

    It is sent as code and not by its module's name, so it also works where Frazil is missing. Spark's `explain` shows
    `name`.
    """
    load = _loader(function)

    def run(batches):  # type: ignore[no-untyped-def]
        yield from load()(batches)

    run.__name__ = name
    return run


def on_executors_with(function: OnBatchesWith, broadcast: Any, name: str) -> OnBatches:
    """The same for a function that also receives a broadcast."""
    load = _loader(function)

    # Spark sends a broadcast that it finds while it pickles. It would not find one that the loader has pickled.
    def run(batches):  # type: ignore[no-untyped-def]
        yield from load()(batches, broadcast.value)

    run.__name__ = name
    return run


def on_executors_each(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The same for functions of columns or values."""
    load = _loader(function)

    def run(*arguments):  # type: ignore[no-untyped-def]
        return load()(*arguments)

    run.__name__ = name
    return run


def _loader(function: Callable[..., Any]) -> Callable[[], Callable[..., Any]]:
    payload, wanted = pickle.dumps(function), frazil.__version__
    loaded: list[Callable[..., Any]] = []

    def load():  # type: ignore[no-untyped-def]
        import pickle
        import sys

        if loaded:
            return loaded[0]
        try:
            import frazil
        except ImportError as error:
            raise ImportError(
                f"Frazil can't be imported by Spark's Python workers, which run {sys.executable} ({error}). Install "
                f"frazil=={wanted} there on every executor, or name the Python that has it: set PYSPARK_PYTHON, or "
                "spark.pyspark.python, before the session starts"
            ) from None
        if frazil.__version__ != wanted:
            raise ImportError(
                f"Spark's Python workers have Frazil {frazil.__version__}, the driver has {wanted}: install the same "
                f"version on every executor ({sys.executable})"
            )
        loaded.append(pickle.loads(payload))
        from frazil.spark.workers.between_tasks import lighten_next_task

        lighten_next_task()
        return loaded[0]

    return load
