"""A table's metadata: how it begins, what a commit requires of it, and what of it a client is shown."""

from __future__ import annotations

import itertools
import time
import uuid
from typing import Any

from rest_server.refusal import bad_request, commit_failed

Json = dict[str, Any]
FIRST_PARTITION_FIELD = 1000
RESERVED = ("format-version", "uuid", "snapshot-count", "current-snapshot-id", "current-snapshot-summary")
MAIN = "main"


def now_ms() -> int:
    return int(time.time() * 1000)


def without_nulls(value: Any) -> Any:
    """What a null says in requests is said by leaving the member out."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value


def fresh_schema(schema: Json) -> tuple[Json, dict[int, int], int]:
    """The schema with ids from 1, level by level; the new id of each old one; the last id."""
    counter = itertools.count(1)
    renamed: dict[int, int] = {}

    def new(old: int) -> int:
        renamed[old] = next(counter)
        return renamed[old]

    def of_type(kind: Any) -> Any:
        if isinstance(kind, str):
            return kind
        match kind.get("type"):
            case "struct":
                return {**kind, "fields": of_fields(kind["fields"])}
            case "list":
                element = new(kind["element-id"])
                return {**kind, "element-id": element, "element": of_type(kind["element"])}
            case "map":
                key, value = new(kind["key-id"]), new(kind["value-id"])
                return {
                    **kind,
                    "key-id": key,
                    "value-id": value,
                    "key": of_type(kind["key"]),
                    "value": of_type(kind["value"]),
                }
            case other:
                raise bad_request(f"Cannot parse type: {other}", "IllegalArgumentException")

    def of_fields(given: list[Json]) -> list[Json]:
        ids = [new(field["id"]) for field in given]
        return [
            {**field, "id": number, "type": of_type(field["type"])} for field, number in zip(given, ids, strict=True)
        ]

    made = {**schema, "type": "struct", "schema-id": 0, "fields": of_fields(schema["fields"])}
    if schema.get("identifier-field-ids"):
        made["identifier-field-ids"] = [renamed[number] for number in schema["identifier-field-ids"]]
    return made, renamed, next(counter) - 1


def new_metadata(request: Json, location: str) -> Json:
    """The metadata of a table that was asked for by CreateTableRequest."""
    request = without_nulls(request)
    properties = dict(request.get("properties") or {})
    version = int(properties.pop("format-version", 2))
    if not 1 <= version <= 3:
        raise bad_request(f"Unsupported format version: v{version}", "IllegalArgumentException")
    schema, renamed, last_column = fresh_schema(request["schema"])
    spec: Json = {"spec-id": 0, "fields": []}
    for position, field in enumerate((request.get("partition-spec") or {}).get("fields") or []):
        number = FIRST_PARTITION_FIELD + position
        spec["fields"].append({**field, "source-id": _source(renamed, field), "field-id": number})
    orders: list[Json] = [{"order-id": 0, "fields": []}]
    asked_order = (request.get("write-order") or {}).get("fields") or []
    if asked_order:
        fields = [{**field, "source-id": _source(renamed, field)} for field in asked_order]
        orders = [{"order-id": 1, "fields": fields}]
    made: Json = {
        "format-version": version,
        "table-uuid": str(uuid.uuid4()),
        "location": location,
        "last-updated-ms": now_ms(),
        "last-column-id": last_column,
        "schemas": [schema],
        "current-schema-id": 0,
        "partition-specs": [spec],
        "default-spec-id": 0,
        "last-partition-id": FIRST_PARTITION_FIELD - 1 + len(spec["fields"]),
        "sort-orders": orders,
        "default-sort-order-id": orders[0]["order-id"],
        "properties": {name: value for name, value in properties.items() if name not in RESERVED},
        "current-snapshot-id": -1,
        "refs": {},
        "snapshots": [],
        "snapshot-log": [],
        "metadata-log": [],
        "statistics": [],
        "partition-statistics": [],
    }
    if version > 1:
        made["last-sequence-number"] = 0
    if version > 2:
        made["next-row-id"] = 0
    return made


def empty_metadata(version: int) -> Json:
    """What the updates of a created table are applied to."""
    made: Json = {
        "format-version": version,
        "table-uuid": None,
        "location": None,
        "last-updated-ms": now_ms(),
        "last-column-id": 0,
        "schemas": [],
        "current-schema-id": -1,
        "partition-specs": [],
        "default-spec-id": -1,
        "last-partition-id": FIRST_PARTITION_FIELD - 1,
        "sort-orders": [],
        "default-sort-order-id": -1,
        "properties": {},
        "current-snapshot-id": -1,
        "refs": {},
        "snapshots": [],
        "snapshot-log": [],
        "metadata-log": [],
        "statistics": [],
        "partition-statistics": [],
    }
    if version > 1:
        made["last-sequence-number"] = 0
    if version > 2:
        made["next-row-id"] = 0
    return made


def _source(renamed: dict[int, int], field: Json) -> int:
    if field["source-id"] not in renamed:
        raise bad_request(f"Cannot find source column: {field['source-id']}", "ValidationException")
    return renamed[field["source-id"]]


# ---------------------------------------------------------------- what commits require


def check(requirement: Json, base: Json | None) -> None:
    """Refuses the commit if the table is not as the client believes."""
    kind = requirement.get("type")
    if kind == "assert-create":
        if base is not None:
            raise commit_failed("Requirement failed: table already exists")
        return
    if base is None:
        raise commit_failed("Requirement failed: table does not exist")
    match kind:
        case "assert-table-uuid":
            if requirement["uuid"].lower() != base["table-uuid"].lower():
                raise commit_failed(
                    f"Requirement failed: UUID does not match: expected {base['table-uuid']} != {requirement['uuid']}"
                )
        case "assert-ref-snapshot-id":
            _check_ref(requirement, base)
        case "assert-last-assigned-field-id":
            _same("last assigned field id", requirement["last-assigned-field-id"], base["last-column-id"])
        case "assert-current-schema-id":
            _same("current schema", requirement["current-schema-id"], base["current-schema-id"])
        case "assert-last-assigned-partition-id":
            _same("last assigned partition id", requirement["last-assigned-partition-id"], base["last-partition-id"])
        case "assert-default-spec-id":
            _same("default partition spec", requirement["default-spec-id"], base["default-spec-id"])
        case "assert-default-sort-order-id":
            _same("default sort order", requirement["default-sort-order-id"], base["default-sort-order-id"])
        case _:
            raise bad_request(f"Cannot convert update requirement, unknown type: {kind}", "IllegalArgumentException")


def _same(what: str, wanted: int, found: int) -> None:
    if wanted != found:
        raise commit_failed(f"Requirement failed: {what} changed: expected {wanted} != {found}")


def _check_ref(requirement: Json, base: Json) -> None:
    name, wanted = requirement["ref"], requirement["snapshot-id"]
    ref = base["refs"].get(name)
    if ref is None:
        if wanted is not None:
            raise commit_failed(f"Requirement failed: branch or tag {name} is missing, expected {wanted}")
    elif wanted is None:
        raise commit_failed(f"Requirement failed: {ref['type']} {name} was created concurrently")
    elif wanted != ref["snapshot-id"]:
        raise commit_failed(
            f"Requirement failed: {ref['type']} {name} has changed: expected id {wanted} != {ref['snapshot-id']}"
        )


# ---------------------------------------------------------------- what clients are shown


def current_snapshot(metadata: Json) -> Json | None:
    wanted = metadata.get("current-snapshot-id")
    return next((s for s in metadata["snapshots"] if s["snapshot-id"] == wanted), None)


def snapshots_of_refs(metadata: Json) -> Json:
    """With those snapshots alone that a branch or tag names."""
    named = {ref["snapshot-id"] for ref in metadata["refs"].values()}
    return {**metadata, "snapshots": [s for s in metadata["snapshots"] if s["snapshot-id"] in named]}


def newest_snapshot(metadata: Json) -> Json:
    """As a server that knows no history."""
    current = current_snapshot(metadata)
    kept = [] if current is None else [current]
    ids = {s["snapshot-id"] for s in kept}
    return {
        **metadata,
        "snapshots": kept,
        "snapshot-log": [entry for entry in metadata["snapshot-log"] if entry["snapshot-id"] in ids],
        "refs": {name: ref for name, ref in metadata["refs"].items() if ref["snapshot-id"] in ids},
        "metadata-log": [],
        "statistics": [s for s in metadata["statistics"] if s["snapshot-id"] in ids],
        "partition-statistics": [s for s in metadata["partition-statistics"] if s["snapshot-id"] in ids],
    }
