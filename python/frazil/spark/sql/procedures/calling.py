"""Finds a procedure, gives it its arguments, and returns its rows."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.spark.jobs.interrupts import raise_if_interrupted
from frazil.spark.sql.grammar import nodes
from frazil.spark.sql.procedures.key_tables import PROCEDURES as OF_SYS
from frazil.spark.sql.procedures.maintenance import PROCEDURES as OF_MAINTENANCE
from frazil.spark.sql.procedures.migration import PROCEDURES as OF_MIGRATION
from frazil.spark.sql.procedures.procedure import Given, Procedure
from frazil.spark.sql.procedures.snapshots import PROCEDURES as OF_SNAPSHOTS
from frazil.spark.sql.session import Session
from frazil.spark.sql.values import values_of

__all__ = ["PROCEDURES", "call"]

PROCEDURES: dict[str, dict[str, Procedure]] = {
    "system": {**OF_SNAPSHOTS, **OF_MAINTENANCE, **OF_MIGRATION},
    "sys": OF_SYS,
}
"""The procedures of each namespace by their names."""


def call(session: Session, node: nodes.Call, statement: str) -> DataFrame:
    """CALL of a procedure. Its result has the columns of the connector's."""
    space = node.name[-2].lower() if len(node.name) > 1 else ""
    if space not in PROCEDURES:
        return session.spark.sql(statement, session.args)
    catalog = node.name[0] if len(node.name) > 2 else None
    if catalog is not None and catalog not in session.catalogs and catalog not in session.tables:
        raise session.no_such_catalog(catalog)
    if catalog is None and session.current:
        catalog = session.current[0]
    name = node.name[-1].lower()
    procedure = PROCEDURES[space].get(name)
    if procedure is None:
        known = ", ".join(sorted(PROCEDURES[space]))
        raise UnsupportedError(f"there is no procedure {space}.{name}", {"procedure": name}, f"Procedures are {known}")
    if procedure.run is None:
        raise UnsupportedError(f"procedure {space}.{name} can't be done", {"procedure": name}, procedure.remedy)
    given = Given(session, catalog, f"{space}.{name}", _values(session, procedure, name, node.arguments))
    raise_if_interrupted()
    return session.rows(procedure.columns, procedure.run(given))


def _values(session: Session, procedure: Procedure, name: str, arguments: tuple[nodes.Argument, ...]) -> dict[str, Any]:
    """The arguments by the names of their parameters."""
    parameters = {parameter.name.lower(): parameter for parameter in procedure.parameters}
    chosen: dict[str, tuple[str, str]] = {}
    for i, argument in enumerate(arguments):
        if argument.name is None and i >= len(procedure.parameters):
            raise InvalidInputError(f"{name} takes {len(procedure.parameters)} arguments, not {len(arguments)}")
        key = procedure.parameters[i].name if argument.name is None else argument.name
        parameter = parameters.get(key.lower())
        if parameter is None:
            known = ", ".join(one.name for one in procedure.parameters)
            raise InvalidInputError(f"{name} has no parameter '{key}'", {"parameter": key}, f"Parameters are {known}")
        if parameter.name in chosen:
            raise InvalidInputError(f"{name}: '{parameter.name}' is given twice", {"parameter": parameter.name})
        chosen[parameter.name] = (argument.text, parameter.type)
    missing = [one.name for one in procedure.parameters if one.required and one.name not in chosen]
    if missing:
        raise InvalidInputError(f"{name} needs '{missing[0]}'", {"parameter": missing[0]})
    typed = [(text, None if type_ in ("", "string") else type_) for text, type_ in chosen.values()]
    found = values_of(session, typed)
    return dict(zip(chosen, found, strict=True))
