"""Errors about catalogs that a statement names and nobody knows.

Spark takes such a name for a namespace of its own catalog. Its error speaks of namespaces, and lists no catalogs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from frazil.exceptions import NotFoundError
from frazil.spark.sql.grammar.tokens import Cursor, Name
from frazil.spark.sql.session import Session

__all__ = ["condition_of", "no_such_catalog", "unknown_catalogs"]

_SPARK_CATALOG = "spark_catalog"
# The parameter of Spark's error that has the name, by the error's condition.
_NAMES = {
    "REQUIRES_SINGLE_PART_NAMESPACE": "namespace",
    "SCHEMA_NOT_FOUND": "schemaName",
    "_LEGACY_ERROR_TEMP_1126": "catalog",
}


def no_such_catalog(session: Session, name: str) -> NotFoundError:
    """The error for a catalog that is not known."""
    return NotFoundError(
        f"catalog '{name}' is not known",
        {"catalog": name, "catalogs": session.known_names},
        f"Give it by catalogs={{'{name}': frazil.catalog(…)}}, or set spark.frazil.catalog.{name}.type and its other "
        "properties. Names of tables are catalog.namespace.table",
    )


@contextmanager
def unknown_catalogs(session: Session) -> Iterator[None]:
    """Turns Spark's error about a catalog that nobody knows into one that lists the known ones.

    Raises:
        NotFoundError: The statement names such a catalog.
    """
    try:
        yield
    except PySparkException as error:
        name = _unknown_name(session, error)
        if name is None:
            raise
        raise no_such_catalog(session, name) from error


def condition_of(error: Exception) -> str | None:
    """The name of Spark's error."""
    return error.getCondition() if isinstance(error, PySparkException) else None


def _unknown_name(session: Session, error: PySparkException) -> str | None:
    parameter = _NAMES.get(condition_of(error) or "")
    text = (error.getMessageParameters() or {}).get(parameter or "")
    if not text:
        return None
    name = Cursor(text).name()
    if name[0] == _SPARK_CATALOG:
        name = name[1:]
        # One part is more likely a schema of Spark's, unless there are other catalogs.
        if len(name) < 2 and not session.catalogs:
            return None
    return name[0] if name and _is_unknown(session, name) else None


def _is_unknown(session: Session, name: Name) -> bool:
    return name[0] not in session.catalogs and session.spark.conf.get(f"spark.sql.catalog.{name[0]}", None) is None
