"""Names of properties of catalogs and tables, to find those that are mistyped.

Properties with other names are allowed: other engines and servers have their own. A name that is almost one of these
is a mistake.
"""

from __future__ import annotations

from frazil.names.similar import similar

__all__ = ["catalog_property", "table_property"]

_CATALOG = """
type uri warehouse token credential scope audience resource prefix oauth2-server-uri py-catalog-impl py-io-impl
credential-provider default-namespace client ssl auth headers auth.manager auth.type auth.impl ssl.cabundle
ssl.client.cert ssl.client.key snapshot-loading-mode scan-planning-mode rest-scan-planning.appends
rest-scan-planning.poll-timeout-ms rest-metrics-reporting-enabled rest-page-size namespace-separator
view-endpoints-supported table-name token-expires-in-ms token-refresh-enabled token-exchange-enabled
rest.sigv4-enabled rest.signing-name rest.signing-region rest.access-key-id rest.secret-access-key rest.session-token
rest.auth.type rest.auth.basic.username rest.auth.basic.password rest.auth.sigv4.delegate-auth-type
rest.sigv4.max-retries rest.client.connection-timeout-ms rest.client.socket-timeout-ms rest.client.max-retries
rest.client.max-answer-bytes rest.client.user-agent rest.client.proxy.hostname rest.client.proxy.port
rest.client.proxy.username rest.client.proxy.password rest.one-snapshot-commits gcp.auth.credentials-path
gcp.auth.scopes jdbc.user jdbc.password jdbc.schema-version jdbc.init-catalog-tables init_catalog_tables
schema_version echo pool_pre_ping io-impl catalog-impl cache-enabled cache.case-sensitive cache.expiration-interval-ms
clients lock-impl lock-check-max-wait-time lock-check-min-wait-time lock-check-retries hive.hive2-compatible
hive.kerberos-authentication hive.kerberos-service-name downcast-ns-timestamp-to-us-on-write
legacy-current-snapshot-id max-workers metastore table-default-file-format max_retries retry_timeout allow_http
botocore_session location owner metrics-reporter-impl list-all-tables urn database user password host port
"""

_TABLE = """
format-version comment owner schema.name-mapping.default write.data.path write.metadata.path write.folder-storage.path
write.object-storage.path write.object-storage.enabled write.object-storage.partitioned-paths
write.location-provider.impl write.py-location-provider.impl commit.manifest-merge.enabled
commit.manifest.min-count-to-merge commit.manifest.target-size-bytes commit.retry.max-wait-ms commit.retry.min-wait-ms
commit.retry.num-retries commit.retry.total-timeout-ms commit.status-check.num-retries commit.status-check.max-wait-ms
commit.status-check.min-wait-ms commit.status-check.total-timeout-ms gc.enabled history.expire.max-ref-age-ms
history.expire.max-snapshot-age-ms history.expire.min-snapshots-to-keep read.split.adaptive-size.enabled
read.split.metadata-target-size read.split.open-file-cost read.split.planning-lookback read.split.target-size
read.parquet.vectorization.enabled read.parquet.vectorization.batch-size read.orc.vectorization.enabled
read.orc.vectorization.batch-size read.data-planning-mode read.delete-planning-mode write.avro.compression-codec
write.avro.compression-level write.distribution-mode write.delete.distribution-mode write.delete.format.default
write.delete.granularity write.delete.isolation-level write.delete.mode write.delete.target-file-size-bytes
write.delete.parquet.compression-codec write.delete.parquet.compression-level
write.delete.parquet.row-group-size-bytes write.delete.parquet.page-size-bytes write.delete.parquet.page-row-limit
write.delete.parquet.dict-size-bytes write.delete.parquet.row-group-check-min-record-count
write.delete.parquet.row-group-check-max-record-count write.delete.avro.compression-codec
write.delete.avro.compression-level write.delete.orc.compression-codec write.delete.orc.compression-strategy
write.delete.orc.stripe-size-bytes write.delete.orc.block-size-bytes write.delete.orc.vectorized.batch-size
write.format.default write.manifest.compression-codec write.manifest.compression-level write.manifest-lists.enabled
write.merge.distribution-mode write.merge.isolation-level write.merge.mode write.metadata.compression-codec
write.metadata.delete-after-commit.enabled write.metadata.metrics.default
write.metadata.metrics.max-inferred-column-defaults write.metadata.previous-versions-max write.orc.block-size-bytes
write.orc.bloom.filter.columns write.orc.bloom.filter.fpp write.orc.compression-codec write.orc.compression-strategy
write.orc.stripe-size-bytes write.orc.vectorized.batch-size write.parquet.bloom-filter-max-bytes
write.parquet.compression-codec write.parquet.compression-level write.parquet.dict-size-bytes
write.parquet.page-row-limit write.parquet.page-size-bytes write.parquet.page-version write.parquet.row-group-limit
write.parquet.row-group-check-max-record-count write.parquet.row-group-check-min-record-count
write.parquet.row-group-size-bytes write.parquet.shred-variants write.parquet.variant-inference-buffer-size
write.parquet.vectorization.batch-size write.spark.accept-any-schema write.spark.advisory-partition-size-bytes
write.spark.auto-schema-evolution.enabled write.spark.fanout.enabled write.summary.partition-limit
write.target-file-size-bytes write.update.distribution-mode write.update.isolation-level write.update.mode
write.upsert.enabled write.wap.enabled
compatibility.snapshot-id-inheritance.enabled encryption.data-key-length encryption.key-id engine.hive.enabled
flink.max-continuous-empty-commits iceberg.hive.lock-heartbeat-interval-ms commit.max-retries commit.max-retry-wait
commit.min-retry-wait commit.timeout commit.force-compact commit.callbacks commit.callback.metastore
commit.force-create-snapshot commit.user-prefix commit.strict-mode.last-safe-snapshot commit.discard-duplicate-files
read.batch-size
"""

_FAMILIES = (
    *("s3.", "s3tables.", "gcs.", "adls.", "client.", "aws_", "google_", "azure_", "header.", "table-default."),
    *("table-override.", "view-default.", "view-override.", "auth.", "frazil.", "glue.", "dynamodb.", "gcp.bigquery."),
    *("hdfs.", "hf.", "oss.", "dlf.", "fs.", "hive.metastore.", "http-client.", "pyarrow.", "jdbc.property.", "py-"),
)
"""Beginnings of properties of catalogs that others check, or that end with a name of the user."""

_COLUMNS = (
    *("write.metadata.metrics.column.", "write.parquet.bloom-filter-enabled.column."),
    *("write.parquet.bloom-filter-fpp.column.", "write.parquet.bloom-filter-ndv.column."),
    *(
        "write.parquet.dict-encoding-enabled.column.",
        "write.parquet.stats-enabled.column.",
        "iceberg.",
        "snapshot-property.",
    ),
)
"""Beginnings of properties of tables that end with the name of a column."""


_ENDINGS = {"bytes", "ms", "default", "enabled", "write"}
"""Words that are easily left out."""


_OTHERS = {"url": "uri", "path": "warehouse", "creds": "credential", "cred": "credential", "kind": "type"}
"""Other words for properties of catalogs."""


def catalog_property(name: str) -> str | None:
    """The property of catalogs that a mistyped name means, or None."""
    known = _CATALOG.split()
    if name in _OTHERS:
        return _OTHERS[name]
    if name in known or name.startswith(_FAMILIES):
        return None
    found = similar(name, known)
    # Underscores are taken in Python, for example in Spark's options, and mean nothing for a catalog.
    return found if found is not None and _is_near(name, found) else None


def table_property(name: str) -> str | None:
    """The property of tables that a mistyped name means, or None."""
    known = _TABLE.split()
    if name in known or name.startswith(_COLUMNS):
        return None
    found = similar(name, known)
    return found if found is not None and _is_near(name, found) else None


def _is_near(name: str, found: str) -> bool:
    """Whether two names differ by their spelling, not by a word: `min` and `max` are both meant."""
    words, other = (_words(one) for one in (name, found))
    if len(words) == len(other):
        return all(
            word == theirs or similar(word, [theirs]) is not None for word, theirs in zip(words, other, strict=True)
        )
    longer, shorter = (words, other) if len(words) > len(other) else (other, words)
    # A word is missing or too much, as in `write.target-file-size`.
    return any([*longer[:at], *longer[at + 1 :]] == shorter and word in _ENDINGS for at, word in enumerate(longer))


def _words(name: str) -> list[str]:
    return [word for word in name.lower().replace("_", "-").replace("-", ".").split(".") if word]
