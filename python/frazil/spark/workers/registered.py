"""Data sources of Frazil's own, registered once in each session. Spark warns of each further time."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

__all__ = ["registered"]

# Two threads of a session that register one name at the same time would disturb each other.
_REGISTERING = threading.Lock()
_KNOWN: WeakKeyDictionary[SparkSession, dict[str, Any]] = WeakKeyDictionary()


def registered(spark: SparkSession, source: type[DataSource], key: object = None) -> str:
    """Registers a data source, unless the session has it already. Returns its name.

    Args:
        spark: The session, classic or Connect.
        source: The data source.
        key: What distinguishes it from others of its name; None for the class itself.
    """
    key = source if key is None else key
    _make_active(spark)
    with _REGISTERING:
        known = _KNOWN.setdefault(spark, {})
        if known.get(source.name()) == key:
            return source.name()
        try:
            spark.dataSource.register(source)
        except AnalysisException as error:
            # In the session of a stream's batch, PySpark 4.0 has found the format by itself.
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                raise
        known[source.name()] = key
    return source.name()


def _make_active(spark: SparkSession) -> None:
    """Makes a session that of this thread, if it has none. Spark looks for data sources in the thread's session."""
    if type(spark).__module__ == "pyspark.sql.session" and SparkSession.getActiveSession() is None:
        spark.createDataFrame([], "nothing int")
