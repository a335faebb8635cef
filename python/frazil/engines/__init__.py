"""Engines, which do the work of a table outside of this process."""

from frazil.engines.protocol import Engine, Planning, SparkEngine, check_engine, check_planning, spark_engine

__all__ = ["Engine", "Planning", "SparkEngine", "check_engine", "check_planning", "spark_engine"]
