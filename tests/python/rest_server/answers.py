"""What answers look like: configuration, tables and views, shaped by the switches."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import quote

from rest_server.credentials import Guard
from rest_server.faults import Answer
from rest_server.register import Entry, Name, as_written
from rest_server.switches import UNIT_SEPARATOR, Switches
from rest_server.table_metadata import Json, newest_snapshot, snapshots_of_refs

LIFETIME = "PT30M"
DECOY = {
    "s3.signer.uri": "http://127.0.0.1:9/not-a-signer",
    "s3.signer.endpoint": "v1/aws/s3/sign",
    "s3.remote-signing-enabled": "false",
}
UNKNOWN_KEYS = {
    "s3.session-token-expires-at-ms": "4102444800000",
    "s3.cross-region-access-enabled": "true",
    "s3.acme.retry-mode": "adaptive",
    "acme.sauce": "secret",
    "client.factory": "com.acme.ClientFactory",
}
# Members that the specification allows to be left out. Some servers say null.
OPTIONAL: dict[str, tuple[str, ...]] = {
    "config": ("endpoints", "idempotency-key-lifetime"),
    "list": ("next-page-token",),
    "namespace": ("properties",),
    "error": ("stack",),
    "load": ("metadata-location", "config", "storage-credentials", "remote-signing-config", "labels"),
    "metadata": (
        "current-snapshot-id",
        "properties",
        "refs",
        "snapshots",
        "snapshot-log",
        "metadata-log",
        "statistics",
        "partition-statistics",
        "encryption-keys",
        "next-row-id",
        "last-sequence-number",
    ),
    "schema": ("identifier-field-ids",),
    "field": ("doc", "initial-default", "write-default"),
    "snapshot": ("parent-snapshot-id", "schema-id", "first-row-id", "added-rows", "key-id"),
    "ref": ("max-ref-age-ms", "max-snapshot-age-ms", "min-snapshots-to-keep"),
    "plan": ("plan-tasks", "storage-credentials"),
    "file": ("split-offsets", "sort-order-id", "key-metadata", "lower-bounds", "upper-bounds", "nan-value-counts"),
}


def configuration(switches: Switches, endpoints: list[str], s3: dict[str, str] | None) -> Json:
    """The answer of `config`."""
    defaults, overrides = dict(switches.defaults), dict(switches.overrides)
    if s3 is not None:
        defaults.setdefault("s3.endpoint", s3["endpoint"])
        defaults.setdefault("s3.region", s3.get("region", "us-east-1"))
        defaults.setdefault("s3.path-style-access", "true")
    if switches.prefix:
        overrides["prefix"] = switches.prefix
    if switches.separator != UNIT_SEPARATOR:
        overrides["namespace-separator"] = "%" + switches.separator.encode().hex().upper()
    if switches.unknown_config_keys:
        defaults.update(UNKNOWN_KEYS)
        overrides["acme.color"] = "blue"
    made: Json = {"defaults": defaults, "overrides": overrides}
    if not switches.no_endpoints:
        made["endpoints"] = endpoints
    if switches.idempotency:
        made["idempotency-key-lifetime"] = LIFETIME
    return made


def table(
    entry: Entry, name: Name, switches: Switches, guard: Guard, wants: set[str], refs_only: bool = False
) -> Answer:
    """The answer of load, create, register and commit. `wants`: how the client would like to get to the files."""
    metadata = as_written(shown(entry.metadata, switches, refs_only))
    made: Json = {"metadata": metadata, "config": table_config(name, switches)}
    if entry.location:
        made["metadata-location"] = entry.location
    if switches.signing:
        made["remote-signing-config"] = {
            "properties": {"table": ".".join(name), "secret-of-signer": "pass-me-through"},
            "headers": {"X-Signer-Tenant": ["frazil"]},
        }
    if switches.vending is not None and "vended-credentials" in wants:
        location = entry.metadata["location"]
        if switches.vending.within in ("config", "both"):
            made["config"].update(guard.vend(switches.vending))
        if switches.vending.within in ("storage-credentials", "both"):
            made["storage-credentials"] = storage_credentials(location, switches, guard)
    if switches.labels is not None:
        made["labels"] = switches.labels
    headers = {"ETag": etag(entry, refs_only)} if switches.etags and entry.location else {}
    return Answer(200, made, headers)


def shown(metadata: Json, switches: Switches, refs_only: bool) -> Json:
    if switches.last_snapshot_only:
        metadata = newest_snapshot(metadata)
    return snapshots_of_refs(metadata) if refs_only else metadata


def table_config(name: Name, switches: Switches) -> dict[str, str]:
    made = dict(switches.table_config)
    if switches.decoy_signer:
        made.update(DECOY)
    if switches.unknown_config_keys:
        made.update(UNKNOWN_KEYS)
    if switches.planning_mode:
        made["scan-planning-mode"] = switches.planning_mode
    if switches.signing:
        made["s3.remote-signing-enabled"] = "true"
    if switches.signing or switches.vending is not None:
        path = f"v1/{switches.prefix + '/' if switches.prefix else ''}namespaces"
        path += f"/{quote(switches.separator.join(name[:-1]), safe='')}/tables/{quote(name[-1], safe='')}"
        if switches.signing:
            made["signer.endpoint"] = f"{path}/sign"
            made["s3.signer.endpoint"] = f"{path}/sign"
        elif "loadCredentials" not in switches.without:
            made["client.refresh-credentials-endpoint"] = f"{path}/credentials"
            made["client.refresh-credentials-enabled"] = "true"
    return made


def storage_credentials(location: str, switches: Switches, guard: Guard) -> list[Json]:
    """Those of the table, and useless ones of a shorter prefix that a client must not take."""
    assert switches.vending is not None
    useless = {"s3.access-key-id": "AKIDUSELESS", "s3.secret-access-key": "useless", "s3.session-token": "useless"}
    scheme, _, rest = location.partition("://")
    made = [{"prefix": f"{scheme}://{rest.partition('/')[0]}", "config": useless}] if rest else []
    return [*made, {"prefix": location, "config": guard.vend(switches.vending)}]


def etag(entry: Entry, refs_only: bool) -> str:
    return f'"{hashlib.sha256(f"{entry.location}{refs_only}".encode()).hexdigest()[:24]}"'


def view(entry: Entry) -> Answer:
    return Answer(200, {"metadata-location": entry.location, "metadata": entry.metadata, "config": {}})


def page(member: str, names: list[Any], size: int, query: dict[str, str]) -> Json:
    """A page of names, as the server or the client wants it."""
    asked = query.get("pageToken")
    if asked is not None and query.get("pageSize"):
        size = min(size or 10**9, int(query["pageSize"]))
    if not size:
        return {member: names}
    first = int(asked) if asked else 0
    made: Json = {member: names[first : first + size]}
    if first + size < len(names):
        made["next-page-token"] = str(first + size)
    return made


# ---------------------------------------------------------------- nulls


def with_nulls(body: Any) -> Any:
    """The answer with a null for each optional member that it does not have."""
    if not isinstance(body, dict):
        return body
    if "defaults" in body:
        return _nulls(body, "config")
    if "error" in body and isinstance(body["error"], dict):
        return {**body, "error": _nulls(body["error"], "error")}
    if "metadata" in body and "view-uuid" not in body["metadata"]:
        return {**_nulls(body, "load"), "metadata": _metadata(body["metadata"])}
    if "identifiers" in body or "namespaces" in body:
        return _nulls(body, "list")
    if "file-scan-tasks" in body:
        tasks = [
            {**t, "residual-filter": None, "data-file": _nulls(t["data-file"], "file")} for t in body["file-scan-tasks"]
        ]
        return {**_nulls(body, "plan"), "file-scan-tasks": tasks}
    if "namespace" in body:
        return _nulls(body, "namespace")
    return body


def _nulls(value: Json, kind: str) -> Json:
    missing = {name: None for name in OPTIONAL[kind] if not value.get(name)}
    return {**value, **missing}


def _metadata(metadata: Json) -> Json:
    made = dict(metadata)
    if made.get("current-snapshot-id") == -1:
        made["current-snapshot-id"] = None
    made["schemas"] = [_schema(schema) for schema in made["schemas"]]
    made["snapshots"] = [_nulls(snapshot, "snapshot") for snapshot in made["snapshots"]]
    made["refs"] = {name: _nulls(ref, "ref") for name, ref in made["refs"].items()}
    kept = {name for name in ("last-sequence-number", "next-row-id") if made.get(name) is not None}
    return {**_nulls(made, "metadata"), **{name: made[name] for name in kept}}


def _schema(schema: Json) -> Json:
    return _nulls({**schema, "fields": [_field(field) for field in schema["fields"]]}, "schema")


def _field(field: Json) -> Json:
    kind = field["type"]
    if isinstance(kind, dict) and kind.get("type") == "struct":
        kind = {**kind, "fields": [_field(inner) for inner in kind["fields"]]}
    missing = {name: None for name in OPTIONAL["field"] if name not in field}
    return {**field, "type": kind, **missing}
