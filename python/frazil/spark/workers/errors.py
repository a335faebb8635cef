"""Frazil's errors in Spark's Python workers, raised again with their own classes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from frazil.exceptions import BY_KIND, FrazilError, InvalidInputError

__all__ = ["of_workers", "raised_by_casts", "raised_by_workers"]

_BY_NAME = {cls.__name__: cls for cls in BY_KIND.values()}
# The last line of a traceback. Text of Spark and of the JVM follows on other lines.
_RAISED = re.compile(r"^frazil\.exceptions\.(\w+): (.*)$", re.MULTILINE)


# Errors that conditions of Frazil raise in the JVM: see `frazil.spark.writing.store_assignment`.
_RAISED_BY_SPARK = re.compile(r"\[USER_RAISED_EXCEPTION\] frazil: (.*?)(?: SQLSTATE: \w+)?$", re.MULTILINE)


def of_workers(text: str) -> FrazilError | None:
    """The error of Frazil at the end of a traceback that Spark shows, if there is one."""
    if by_spark := _RAISED_BY_SPARK.search(text):
        return InvalidInputError(by_spark[1])
    found = [match for match in _RAISED.finditer(text) if match[1] in _BY_NAME]
    return _BY_NAME[found[-1][1]](found[-1][2].strip()) if found else None


@contextmanager
def raised_by_casts() -> Iterator[None]:
    """Raises Frazil's own error instead of Spark's error about a value that does not fit into a column."""
    try:
        yield
    except PySparkException as error:
        found = _RAISED_BY_SPARK.search(str(error))
        if found is None:
            raise
        raise InvalidInputError(found[1]) from error


@contextmanager
def raised_by_workers() -> Iterator[None]:
    """Raises Frazil's own errors instead of Spark's errors that report them."""
    try:
        yield
    except PySparkException as error:
        ours = of_workers(str(error))
        if ours is None:
            raise
        raise ours from error
