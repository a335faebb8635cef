"""Tables by their location or by their name in a catalog that Spark's settings describe.

`spark.frazil.catalog.prod.uri` is the property `uri` of the catalog `prod`, and `spark.frazil.catalog.prod` its type.
PyIceberg's configuration gives the properties that these settings don't give. The settings of the connectors
(`spark.sql.catalog.prod.uri`) describe the catalogs that PyIceberg's configuration does not have.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession

from frazil.arguments import configuration
from frazil.catalog import load_table
from frazil.exceptions import InvalidInputError
from frazil.spark.connector_settings import ConnectorCatalog, connector_catalogs
from frazil.table import Table, open_table

__all__ = ["PREFIX", "Catalogs", "connectors_of", "is_name", "load_named", "own_catalogs", "session_catalogs"]
__all__ += ["table_of"]

PREFIX = "spark.frazil.catalog."
"""The beginning of the settings that describe catalogs."""

Catalogs: TypeAlias = Mapping[str, Mapping[str, object]]


def session_catalogs(spark: SparkSession) -> dict[str, dict[str, object]]:
    """The properties of the catalogs that a session's settings describe, by the catalogs' names.

    A catalog that PyIceberg's configuration describes is left out, unless Frazil's own settings name it.
    """
    settings = spark.conf.getAll
    own = own_catalogs(settings)
    connectors = {name: one.properties for name, one in connectors_of(settings).items()}
    return {name: properties for name, properties in {**own, **connectors}.items() if properties or name in own}


def connectors_of(settings: Mapping[str, str]) -> dict[str, ConnectorCatalog]:
    """The catalogs of the connectors, with the properties by which Frazil opens them.

    Where a catalog is and what it is opened with come from one source, so that no server gets the secrets of another:

    - PyIceberg's configuration, if it describes the catalog. Frazil's own settings complete it.
    - Otherwise Frazil's own settings, if they have the catalog's `type` or `uri`.
    - Otherwise the connector's settings. Frazil's own complete them.

    The connector always says what new tables get, and which namespace is current.
    """
    found = connector_catalogs(settings)
    if not found:
        return {}
    own, configured = own_catalogs(settings), configuration.known_catalogs(configuration.configured())
    for name, connector in found.items():
        given = own.get(name, {})
        if name.lower() in configured or not given.keys().isdisjoint(("type", "py-catalog-impl")):
            properties = given
        elif "uri" in given:
            warnings.warn(
                f"{PREFIX}{name}.uri describes the catalog '{name}', so spark.sql.catalog.{name}.* give it no "
                f"properties. Set {PREFIX}{name}.type as well if that is meant",
                UserWarning,
                stacklevel=4,
            )
            properties = given
        else:
            properties = {**connector.properties, **given}
        found[name] = replace(connector, properties=properties)
    return found


def own_catalogs(settings: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """The properties of the catalogs that Frazil's own settings describe."""
    out: dict[str, dict[str, object]] = {}
    for setting, value in settings.items():
        if setting.startswith(PREFIX):
            name, _, key = setting[len(PREFIX) :].partition(".")
            out.setdefault(name, {})[key or "type"] = value
    return out


def is_name(text: str) -> bool:
    """Whether a text is the name of a table in a catalog, and not the location of a table.

    A name has dots and no slash. A folder of this name has precedence.
    """
    return "." in text.strip(".") and not any(c in text for c in "/\\:~") and not Path(text).exists()


def table_of(spark: SparkSession, table: Table | str | os.PathLike[str]) -> Table:
    """A table that is given as such, by its location or by its name in a catalog.

    Raises:
        InvalidInputError: No catalog of this name is known.
        NotFoundError: The table does not exist.
    """
    if isinstance(table, Table):
        return table
    text = os.fspath(table)
    if not is_name(text):
        return open_table(text)
    return load_named(text, session_catalogs(spark))


def load_named(identifier: str, catalogs: Catalogs) -> Table:
    """A table by its name. `catalogs` are those of Spark's settings."""
    try:
        return load_table(identifier, catalogs)
    except InvalidInputError as error:
        if "catalogs" not in error.context:
            raise
        name = PREFIX + identifier.partition(".")[0]
        hint = f"In Spark, set {name}.type, {name}.uri and so on, and call frazil.spark.register(spark). {error.hint}"
        raise InvalidInputError(str(error.args[0]), error.context, hint) from error
