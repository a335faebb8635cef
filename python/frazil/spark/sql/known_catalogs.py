"""The catalogs that statements name: given ones, and those of Spark's settings.

`spark.frazil.catalog.NAME.KEY` has Frazil's own properties. `spark.sql.catalog.NAME` with a class of Iceberg's or
Paimon's connector has theirs, so that the configuration of a job can stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from pyspark.sql import SparkSession

from frazil.capabilities import TABLE_FORMATS
from frazil.catalog import Catalog, catalog
from frazil.exceptions import UnsupportedError
from frazil.spark.catalogs import session_catalogs

__all__ = ["KnownCatalog", "known_catalogs"]

_SPARK = "spark.sql.catalog."
_CONNECTOR = ("org.apache.iceberg.spark.SparkCatalog", "org.apache.iceberg.spark.SparkSessionCatalog")
_OTHER = ("org.apache.paimon.spark.SparkCatalog", "org.apache.paimon.spark.SparkGenericCatalog")
_SESSION = (_CONNECTOR[1], _OTHER[1])
# Implementations of Java by the types of Frazil's catalogs.
_IMPLEMENTATIONS = {
    "org.apache.iceberg.rest.RESTCatalog": "rest",
    "org.apache.iceberg.jdbc.JdbcCatalog": "sql",
    "org.apache.iceberg.hadoop.HadoopCatalog": "filesystem",
    "org.apache.iceberg.hive.HiveCatalog": "hive",
    "org.apache.iceberg.aws.glue.GlueCatalog": "glue",
    "org.apache.iceberg.aws.dynamodb.DynamoDbCatalog": "dynamodb",
    "org.apache.iceberg.gcp.bigquery.BigQueryMetastoreCatalog": "bigquery",
}
# Settings of the connectors that concern Java alone.
_OF_JAVA = (
    "cache",
    "cache-enabled",
    "catalog-impl",
    "client",
    "clients",
    "default-namespace",
    "defaultDatabase",
    "io-impl",
    "lock",
    "lock-impl",
    "metastore",
    "metrics-reporter-impl",
    "table-default",
    "table-override",
    "use-nullable-query-schema",
)
_HADOOP = {
    "hadoop.fs.s3a.access.key": "s3.access-key-id",
    "hadoop.fs.s3a.secret.key": "s3.secret-access-key",
    "hadoop.fs.s3a.session.token": "s3.session-token",
    "hadoop.fs.s3a.endpoint": "s3.endpoint",
    "hadoop.fs.s3a.endpoint.region": "s3.region",
    "s3.access-key": "s3.access-key-id",
    "s3.secret-key": "s3.secret-access-key",
    "client.region": "s3.region",
}


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
    properties: Mapping[str, object] = field(default_factory=dict)
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
    """The catalogs of a session by their names. Given ones have precedence, then Frazil's settings."""
    found: dict[str, KnownCatalog] = {}
    settings = spark.conf.getAll
    for setting, value in settings.items():
        name = setting.removeprefix(_SPARK)
        if name != setting and "." not in name and value in _CONNECTOR + _OTHER:
            found[name] = _of_connector(name, value, settings)
    for name, properties in session_catalogs(spark).items():
        found[name] = KnownCatalog(name, properties=properties)
    for name, one in (given or {}).items():
        found[name] = KnownCatalog(name, one) if isinstance(one, Catalog) else KnownCatalog(name, properties=one)
    return found


def _of_connector(name: str, implementation: str, settings: Mapping[str, str]) -> KnownCatalog:
    prefix = f"{_SPARK}{name}."
    given = {key[len(prefix) :]: value for key, value in settings.items() if key.startswith(prefix)}
    own = {_HADOOP.get(key, key): value for key, value in given.items() if not _concerns_java(key)}
    own["type"] = _type_of(given, implementation)
    if own.get("uri", "").startswith("jdbc:"):
        own["uri"] = _url(own["uri"])
    return KnownCatalog(
        name,
        properties=own,
        new_format=next(one for one in TABLE_FORMATS if f".{one}." in implementation),
        defaults=_below("table-default.", given),
        overrides=_below("table-override.", given),
        default_namespace=given.get("default-namespace") or given.get("defaultDatabase"),
        shared=implementation in _SESSION,
    )


def _concerns_java(key: str) -> bool:
    if key in _HADOOP:
        return False
    return key in _OF_JAVA or any(key.startswith(f"{one}.") for one in (*_OF_JAVA, "hadoop"))


def _below(prefix: str, given: Mapping[str, str]) -> dict[str, str]:
    return {key[len(prefix) :]: value for key, value in given.items() if key.startswith(prefix)}


def _type_of(given: Mapping[str, str], implementation: str) -> str:
    java = given.get("catalog-impl")
    if java is not None:
        return _IMPLEMENTATIONS.get(java, java)
    if implementation in _OTHER:
        kind = given.get("metastore", "filesystem")
        return "sql" if kind == "jdbc" else kind
    return given.get("type", "hive")


def _url(uri: str) -> str:
    """The URL of a database, as Frazil has it, for one of Java's."""
    kind, _, rest = uri.removeprefix("jdbc:").partition(":")
    if kind == "sqlite":
        return f"sqlite:///{rest.removeprefix('file:')}"
    if kind == "postgresql":
        return f"postgresql:{rest}"
    raise UnsupportedError(
        f"databases of kind '{kind}' can't hold a catalog", {"uri": uri}, "Use SQLite, PostgreSQL or a REST catalog"
    )
