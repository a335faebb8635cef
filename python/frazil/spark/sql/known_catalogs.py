"""The catalogs that statements name: given ones, and those of Spark's settings.

`spark.frazil.catalog.NAME.KEY` has Frazil's own properties. `spark.sql.catalog.NAME` with a class of Iceberg's or
Paimon's connector has theirs, so that the configuration of a job can stay. `connectors_of` says which of them count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from pyspark.sql import SparkSession

from frazil.capabilities import TABLE_FORMATS
from frazil.catalog import Catalog, catalog
from frazil.spark.catalogs import connectors_of, own_catalogs

__all__ = ["KnownCatalog", "known_catalogs"]


@dataclass(frozen=True)
class KnownCatalog:
    """A catalog by its name in Spark.

    Attributes:
        name: Its name.
        given: The catalog, if it was given as such.
        properties: Its properties otherwise.
        new_format: The format of new tables that don't say theirs.
        defaults: Properties of new tables that are not given.
        overrides: Properties of new tables whatever is given.
        default_namespace: The namespace after USE of the catalog.
        shared: Whether Spark has tables of its own in it: it is Spark's own catalog with tables of Iceberg added.
    """

    name: str
    given: Catalog | None = None
    # They may have secrets.
    properties: Mapping[str, object] = field(default_factory=dict, repr=False)
    new_format: str = TABLE_FORMATS[0]
    defaults: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)
    default_namespace: str | None = None
    shared: bool = False

    @property
    def namespace(self) -> tuple[str, ...]:
        """The parts of the default namespace."""
        return tuple(self.default_namespace.split(".")) if self.default_namespace else ()

    @property
    def catalog(self) -> Catalog:
        """The catalog, opened once for a process."""
        if self.given is not None:
            return self.given
        return _opened(self.name, tuple(sorted((key, str(value)) for key, value in self.properties.items())))


@lru_cache(maxsize=32)
def _opened(name: str, properties: tuple[tuple[str, str], ...]) -> Catalog:
    return catalog(name, **dict(properties))


def known_catalogs(
    spark: SparkSession, given: Mapping[str, Catalog | Mapping[str, object]] | None
) -> dict[str, KnownCatalog]:
    """The catalogs of a session by their names. Given ones have precedence over those of settings."""
    found: dict[str, KnownCatalog] = {}
    settings = spark.conf.getAll
    for name, properties in own_catalogs(settings).items():
        found[name] = KnownCatalog(name, properties=properties)
    for name, connector in connectors_of(settings).items():
        found[name] = KnownCatalog(name, **vars(connector))
    for name, one in (given or {}).items():
        found[name] = KnownCatalog(name, one) if isinstance(one, Catalog) else KnownCatalog(name, properties=one)
    return found
