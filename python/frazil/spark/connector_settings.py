"""Catalogs that the settings of the connectors describe: `spark.sql.catalog.NAME` and `spark.sql.catalog.NAME.*`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from frazil.capabilities import TABLE_FORMATS

__all__ = ["ConnectorCatalog", "connector_catalogs"]

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
class ConnectorCatalog:
    """A catalog of a connector.

    Attributes:
        properties: Its properties, as `frazil.catalog` takes them.
        new_format: The format of new tables that don't say theirs.
        defaults: Properties of new tables that are not given.
        overrides: Properties of new tables whatever is given.
        default_namespace: The namespace after USE of the catalog.
        shared: Whether Spark has tables of its own in it: it is Spark's own catalog with tables of Iceberg added.
    """

    # They may have secrets.
    properties: dict[str, object] = field(repr=False)
    new_format: str
    defaults: dict[str, str] = field(default_factory=dict)
    overrides: dict[str, str] = field(default_factory=dict)
    default_namespace: str | None = None
    shared: bool = False


def connector_catalogs(settings: Mapping[str, str]) -> dict[str, ConnectorCatalog]:
    """The catalogs of the connectors by their names."""
    found: dict[str, ConnectorCatalog] = {}
    for setting, value in settings.items():
        name = setting.removeprefix(_SPARK)
        if name != setting and "." not in name and value in _CONNECTOR + _OTHER:
            found[name] = _of_connector(name, value, settings)
    return found


def _of_connector(name: str, implementation: str, settings: Mapping[str, str]) -> ConnectorCatalog:
    prefix = f"{_SPARK}{name}."
    given = {key[len(prefix) :]: value for key, value in settings.items() if key.startswith(prefix)}
    own: dict[str, object] = {_HADOOP.get(key, key): text for key, text in given.items() if not _concerns_java(key)}
    kind = _type_of(given, implementation)
    if kind is None:
        # Opening the catalog refuses this kind. Until then, it keeps no statement from running.
        own["metastore"] = given["metastore"]
    else:
        own["type"] = kind
    if given.get("uri", "").startswith("jdbc:"):
        own["uri"] = _url(given["uri"])
    return ConnectorCatalog(
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


def _type_of(given: Mapping[str, str], implementation: str) -> str | None:
    """The type of Frazil's catalog, or None if the connector's kind of catalog has no such type."""
    java = given.get("catalog-impl")
    if java is not None:
        return _IMPLEMENTATIONS.get(java, java)
    if implementation in _OTHER:
        kind = given.get("metastore", "filesystem").lower()
        return kind if kind == "filesystem" else None
    return given.get("type", "hive")


def _url(uri: str) -> str:
    """Frazil's URL of a database, from one of Java's."""
    kind, _, rest = uri.removeprefix("jdbc:").partition(":")
    if kind == "sqlite":
        return f"sqlite:///{rest.removeprefix('file:')}"
    if kind == "postgresql":
        return f"postgresql:{rest}"
    # Opening the catalog refuses other databases. Until then, they keep no statement from running.
    return uri
