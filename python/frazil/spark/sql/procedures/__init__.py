"""CALL: procedures by the names of the connectors of Iceberg (`system`) and Paimon (`sys`)."""

from frazil.spark.sql.procedures.calling import call

__all__ = ["call"]
