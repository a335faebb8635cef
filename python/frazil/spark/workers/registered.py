"""Data sources of Frazil's own, registered in a session."""

from __future__ import annotations

import threading

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

__all__ = ["registered"]

# Two threads of a session that register one name at the same time would disturb each other.
_REGISTERING = threading.Lock()


def registered(spark: SparkSession, source: type[DataSource]) -> str:
    """Registers a data source, and returns its name. Another session of the program may have registered it already."""
    with _REGISTERING:
        try:
            spark.dataSource.register(source)
        except AnalysisException as error:
            # In the session of a stream's batch, PySpark 4.0 has found the format by itself.
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                raise
    return source.name()
