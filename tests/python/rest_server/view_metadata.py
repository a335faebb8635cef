"""A view's metadata: how it begins, and how replacing changes it."""

from __future__ import annotations

import copy
import uuid
from typing import Any

from rest_server.refusal import bad_request, commit_failed
from rest_server.table_metadata import Json, without_nulls

LAST_ADDED = -1


def new_view(request: Json, location: str) -> Json:
    """The metadata of a view that was asked for by CreateViewRequest."""
    schema = {**without_nulls(request["schema"]), "type": "struct", "schema-id": 0}
    version = {**without_nulls(request["view-version"]), "schema-id": 0}
    _check_version(version)
    return {
        "view-uuid": str(uuid.uuid4()),
        "format-version": 1,
        "location": location,
        "schemas": [schema],
        "current-version-id": version["version-id"],
        "versions": [version],
        "version-log": [{"timestamp-ms": version["timestamp-ms"], "version-id": version["version-id"]}],
        "properties": dict(request.get("properties") or {}),
    }


def check_view(requirement: Json, base: Json) -> None:
    if requirement.get("type") != "assert-view-uuid":
        raise bad_request(f"Unknown requirement of a view: {requirement.get('type')}", "IllegalArgumentException")
    if requirement["uuid"].lower() != base["view-uuid"].lower():
        raise commit_failed(
            f"Requirement failed: view UUID does not match: expected {base['view-uuid']} != {requirement['uuid']}"
        )


def changed_view(base: Json, updates: list[Json]) -> Json:
    m = copy.deepcopy(base)
    last_schema: int | None = None
    last_version: int | None = None
    for update in updates:
        match update.get("action"):
            case "assign-uuid":
                if update["uuid"] != m["view-uuid"]:
                    raise bad_request("Cannot reassign the uuid of a view", "IllegalArgumentException")
            case "upgrade-format-version":
                if update["format-version"] != 1:
                    raise bad_request(f"Cannot upgrade a view to v{update['format-version']}")
            case "set-location":
                m["location"] = update["location"]
            case "set-properties":
                m["properties"].update(update["updates" if "updates" in update else "updated"])
            case "remove-properties":
                for name in update["removals" if "removals" in update else "removed"]:
                    m["properties"].pop(name, None)
            case "add-schema":
                last_schema = _add_schema(m, without_nulls(update["schema"]))
            case "add-view-version":
                last_version = _add_version(m, without_nulls(update["view-version"]), last_schema)
            case "set-current-view-version":
                _set_version(m, update["view-version-id"], last_version)
            case action:
                raise bad_request(f"Unknown update of a view: {action}", "IllegalArgumentException")
    return m


def _add_schema(m: Json, schema: Json) -> int:
    for known in m["schemas"]:
        if known["fields"] == schema["fields"]:
            return int(known["schema-id"])
    number: int = max(known["schema-id"] for known in m["schemas"]) + 1
    m["schemas"].append({**schema, "type": "struct", "schema-id": number})
    return number


def _add_version(m: Json, version: Json, last_schema: int | None) -> int:
    _check_version(version)
    if version["schema-id"] == LAST_ADDED:
        if last_schema is None:
            raise bad_request("Cannot set last added schema: no schema has been added", "ValidationException")
        version = {**version, "schema-id": last_schema}
    if all(known["schema-id"] != version["schema-id"] for known in m["schemas"]):
        raise bad_request(f"Cannot add version with unknown schema: {version['schema-id']}", "ValidationException")
    for known in m["versions"]:
        if _same(known, version):
            return int(known["version-id"])
    number: int = max(known["version-id"] for known in m["versions"]) + 1
    m["versions"].append({**version, "version-id": number})
    return number


def _set_version(m: Json, wanted: int, last: int | None) -> None:
    if wanted == LAST_ADDED:
        if last is None:
            raise bad_request("Cannot set last version id: no last version id has been set", "ValidationException")
        wanted = last
    version = next((known for known in m["versions"] if known["version-id"] == wanted), None)
    if version is None:
        raise bad_request(f"Cannot set current version to unknown version: {wanted}", "ValidationException")
    if m["current-version-id"] != wanted:
        m["current-version-id"] = wanted
        m["version-log"].append({"timestamp-ms": version["timestamp-ms"], "version-id": wanted})


def _same(one: Json, other: Json) -> bool:
    members = ("schema-id", "representations", "default-namespace", "default-catalog", "summary")
    return all(one.get(member) == other.get(member) for member in members)


def _check_version(version: Json) -> None:
    dialects: list[Any] = [r.get("dialect", "").lower() for r in version.get("representations") or []]
    if not dialects:
        raise bad_request("Invalid view version: it has no representation", "ValidationException")
    twice = [dialect for dialect in dialects if dialects.count(dialect) > 1]
    if twice:
        message = f"Invalid view version: Cannot add multiple queries for dialect {twice[0]}"
        raise bad_request(message, "IllegalArgumentException")
