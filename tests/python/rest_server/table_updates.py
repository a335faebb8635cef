"""The updates of a commit, applied to a table's metadata one after the other."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from rest_server.refusal import bad_request
from rest_server.table_metadata import FIRST_PARTITION_FIELD, MAIN, Json, now_ms, without_nulls

LAST_ADDED = -1


class Change:
    """Metadata that is being changed."""

    def __init__(self, base: Json) -> None:
        self.metadata = copy.deepcopy(base)
        self.last_schema: int | None = None
        self.last_spec: int | None = None
        self.last_order: int | None = None
        self.added: dict[int, Json] = {}
        self.gone: set[int] = set()

    def apply(self, update: Json) -> None:
        action = update.get("action")
        handler = ACTIONS.get(str(action))
        if handler is None:
            raise bad_request(f"Cannot convert metadata update to json. Unrecognized action: {action}")
        try:
            handler(self, update)
        except (KeyError, TypeError, AttributeError) as error:
            raise bad_request(f"Cannot parse update {action}: {error!r}", "IllegalArgumentException") from None

    def finish(self) -> Json:
        m = self.metadata
        if m["location"] is None or not m["schemas"] or m["current-schema-id"] < 0:
            raise bad_request("Cannot create a table without location and schema", "ValidationException")
        # Snapshots that came and went in one commit were never current.
        kept = {s["snapshot-id"] for s in m["snapshots"]}
        between = {number for number in self.added if number != m["current-snapshot-id"]}
        log: list[Json] = []
        for entry in m["snapshot-log"]:
            if entry["snapshot-id"] in between and entry["snapshot-id"] in self.added:
                continue
            if entry["snapshot-id"] in kept:
                log.append(entry)
            elif entry["snapshot-id"] in self.gone:
                log.clear()
        m["snapshot-log"] = log
        stamps = [s["timestamp-ms"] for s in self.added.values()]
        m["last-updated-ms"] = max([m["last-updated-ms"], *(stamps or [now_ms()])])
        return m

    # ---- identity and format

    def assign_uuid(self, update: Json) -> None:
        known = self.metadata["table-uuid"]
        if known is not None and known.lower() != update["uuid"].lower():
            raise bad_request(f"Cannot reassign uuid {known} to {update['uuid']}", "IllegalArgumentException")
        self.metadata["table-uuid"] = update["uuid"]

    def upgrade(self, update: Json) -> None:
        version, wanted = self.metadata["format-version"], update["format-version"]
        if wanted < version:
            raise bad_request(f"Cannot downgrade v{version} table to v{wanted}", "IllegalArgumentException")
        if wanted > 3:
            raise bad_request(f"Cannot upgrade table to unsupported format version: v{wanted}")
        self.metadata["format-version"] = wanted
        if wanted > 1:
            self.metadata.setdefault("last-sequence-number", 0)
        if wanted > 2:
            self.metadata.setdefault("next-row-id", 0)

    # ---- schemas, specs and orders

    def add_schema(self, update: Json) -> None:
        given = {k: v for k, v in without_nulls(update["schema"]).items() if k != "schema-id"}
        last = _last_field(given)
        for known in self.metadata["schemas"]:
            if _schema_key(known) == _schema_key(given):
                self.last_schema = known["schema-id"]
                return
        number = max((s["schema-id"] for s in self.metadata["schemas"]), default=-1) + 1
        self.metadata["schemas"].append({"type": "struct", "schema-id": number, **given})
        self.metadata["last-column-id"] = max(self.metadata["last-column-id"], update.get("last-column-id") or 0, last)
        self.last_schema = number

    def set_schema(self, update: Json) -> None:
        number = _wanted(update["schema-id"], self.last_schema, "schema")
        _known(number, self.metadata["schemas"], "schema-id", "schema")
        self.metadata["current-schema-id"] = number

    def remove_schemas(self, update: Json) -> None:
        if self.metadata["current-schema-id"] in update["schema-ids"]:
            raise bad_request("Cannot remove the current schema", "IllegalArgumentException")
        kept = [s for s in self.metadata["schemas"] if s["schema-id"] not in update["schema-ids"]]
        self.metadata["schemas"] = kept

    def add_spec(self, update: Json) -> None:
        fields = without_nulls(update["spec"]).get("fields") or []
        columns = {number for schema in self.metadata["schemas"] for number in _ids(schema)}
        last = self.metadata["last-partition-id"]
        numbered = []
        for field in fields:
            if field["source-id"] not in columns:
                raise bad_request(f"Cannot find source column for partition field: {field}", "ValidationException")
            number = field.get("field-id") or last + 1
            last = max(last, number)
            numbered.append({**field, "field-id": number})
        for known in self.metadata["partition-specs"]:
            if known["fields"] == numbered:
                self.last_spec = known["spec-id"]
                return
        number = max((s["spec-id"] for s in self.metadata["partition-specs"]), default=-1) + 1
        self.metadata["partition-specs"].append({"spec-id": number, "fields": numbered})
        self.metadata["last-partition-id"] = max(last, FIRST_PARTITION_FIELD - 1)
        self.last_spec = number

    def set_spec(self, update: Json) -> None:
        number = _wanted(update["spec-id"], self.last_spec, "partition spec")
        _known(number, self.metadata["partition-specs"], "spec-id", "partition spec")
        self.metadata["default-spec-id"] = number

    def remove_specs(self, update: Json) -> None:
        if self.metadata["default-spec-id"] in update["spec-ids"]:
            raise bad_request("Cannot remove the default partition spec", "IllegalArgumentException")
        kept = [s for s in self.metadata["partition-specs"] if s["spec-id"] not in update["spec-ids"]]
        self.metadata["partition-specs"] = kept

    def add_order(self, update: Json) -> None:
        fields = without_nulls(update["sort-order"]).get("fields") or []
        for known in self.metadata["sort-orders"]:
            if known["fields"] == fields:
                self.last_order = known["order-id"]
                return
        number = 0
        if fields:
            number = max([0, *(o["order-id"] for o in self.metadata["sort-orders"])]) + 1
        self.metadata["sort-orders"].append({"order-id": number, "fields": fields})
        self.last_order = number

    def set_order(self, update: Json) -> None:
        number = _wanted(update["sort-order-id"], self.last_order, "sort order")
        _known(number, self.metadata["sort-orders"], "order-id", "sort order")
        self.metadata["default-sort-order-id"] = number

    # ---- snapshots and refs

    def add_snapshot(self, update: Json) -> None:
        snapshot, m = without_nulls(update["snapshot"]), self.metadata
        number = snapshot["snapshot-id"]
        if any(s["snapshot-id"] == number for s in m["snapshots"]):
            raise bad_request(f"Snapshot already exists for id: {number}", "ValidationException")
        if m["format-version"] > 1:
            sequence, last = snapshot["sequence-number"], m["last-sequence-number"]
            if sequence <= last and snapshot.get("parent-snapshot-id") is not None:
                raise bad_request(
                    f"Cannot add snapshot with sequence number {sequence} older than last sequence number {last}",
                    "ValidationException",
                )
            m["last-sequence-number"] = max(sequence, last)
        if m["format-version"] > 2:
            if snapshot["first-row-id"] < m["next-row-id"]:
                raise bad_request(
                    f"Cannot add a snapshot, first-row-id is behind table next-row-id: {snapshot['first-row-id']} < "
                    f"{m['next-row-id']}",
                    "ValidationException",
                )
            m["next-row-id"] += snapshot["added-rows"]
        if "schema-id" in snapshot:
            _known(snapshot["schema-id"], m["schemas"], "schema-id", "schema of the snapshot")
        m["snapshots"].append(snapshot)
        self.added[number] = snapshot

    def remove_snapshots(self, update: Json) -> None:
        gone, m = set(update["snapshot-ids"]), self.metadata
        self.gone |= gone
        m["snapshots"] = [s for s in m["snapshots"] if s["snapshot-id"] not in gone]
        for name in [name for name, ref in m["refs"].items() if ref["snapshot-id"] in gone]:
            self.remove_ref({"ref-name": name})
        for member in ("statistics", "partition-statistics"):
            m[member] = [s for s in m[member] if s["snapshot-id"] not in gone]

    def set_ref(self, update: Json) -> None:
        m, name = self.metadata, update["ref-name"]
        ref = {k: v for k, v in without_nulls(update).items() if k not in ("action", "ref-name")}
        snapshot = next((s for s in m["snapshots"] if s["snapshot-id"] == ref["snapshot-id"]), None)
        if snapshot is None:
            raise bad_request(f"Cannot set {name} to unknown snapshot: {ref['snapshot-id']}", "ValidationException")
        if m["refs"].get(name) == ref:
            return
        m["refs"][name] = ref
        if name == MAIN:
            stamp = snapshot["timestamp-ms"] if ref["snapshot-id"] in self.added else now_ms()
            m["current-snapshot-id"] = ref["snapshot-id"]
            m["snapshot-log"].append({"timestamp-ms": stamp, "snapshot-id": ref["snapshot-id"]})

    def remove_ref(self, update: Json) -> None:
        self.metadata["refs"].pop(update["ref-name"], None)
        if update["ref-name"] == MAIN:
            self.metadata["current-snapshot-id"] = -1

    # ---- properties, statistics and keys

    def set_location(self, update: Json) -> None:
        self.metadata["location"] = update["location"].rstrip("/")

    def set_properties(self, update: Json) -> None:
        given = update["updates" if "updates" in update else "updated"]
        self.metadata["properties"].update({k: v for k, v in given.items() if k != "format-version"})

    def remove_properties(self, update: Json) -> None:
        for name in update["removals" if "removals" in update else "removed"]:
            self.metadata["properties"].pop(name, None)

    def set_statistics(self, update: Json) -> None:
        self._replace("statistics", without_nulls(update["statistics"]))

    def remove_statistics(self, update: Json) -> None:
        self._drop("statistics", update["snapshot-id"])

    def set_partition_statistics(self, update: Json) -> None:
        self._replace("partition-statistics", without_nulls(update["partition-statistics"]))

    def remove_partition_statistics(self, update: Json) -> None:
        self._drop("partition-statistics", update["snapshot-id"])

    def add_key(self, update: Json) -> None:
        key = without_nulls(update["encryption-key"])
        keys = self.metadata.setdefault("encryption-keys", [])
        if all(known["key-id"] != key["key-id"] for known in keys):
            keys.append(key)

    def remove_key(self, update: Json) -> None:
        keys = self.metadata.get("encryption-keys", [])
        self.metadata["encryption-keys"] = [key for key in keys if key["key-id"] != update["key-id"]]

    def _replace(self, member: str, file: Json) -> None:
        _known(file["snapshot-id"], self.metadata["snapshots"], "snapshot-id", "snapshot")
        self._drop(member, file["snapshot-id"])
        self.metadata[member].append(file)

    def _drop(self, member: str, snapshot: int) -> None:
        self.metadata[member] = [s for s in self.metadata[member] if s["snapshot-id"] != snapshot]


ACTIONS: dict[str, Callable[[Change, Json], None]] = {
    "assign-uuid": Change.assign_uuid,
    "upgrade-format-version": Change.upgrade,
    "add-schema": Change.add_schema,
    "set-current-schema": Change.set_schema,
    "remove-schemas": Change.remove_schemas,
    "add-spec": Change.add_spec,
    "set-default-spec": Change.set_spec,
    "remove-partition-specs": Change.remove_specs,
    "add-sort-order": Change.add_order,
    "set-default-sort-order": Change.set_order,
    "add-snapshot": Change.add_snapshot,
    "remove-snapshots": Change.remove_snapshots,
    "set-snapshot-ref": Change.set_ref,
    "remove-snapshot-ref": Change.remove_ref,
    "set-location": Change.set_location,
    "set-properties": Change.set_properties,
    "remove-properties": Change.remove_properties,
    "set-statistics": Change.set_statistics,
    "remove-statistics": Change.remove_statistics,
    "set-partition-statistics": Change.set_partition_statistics,
    "remove-partition-statistics": Change.remove_partition_statistics,
    "add-encryption-key": Change.add_key,
    "remove-encryption-key": Change.remove_key,
}


def _wanted(number: int, last: int | None, what: str) -> int:
    if number != LAST_ADDED:
        return number
    if last is None:
        raise bad_request(f"Cannot set last added {what}: no {what} has been added", "ValidationException")
    return last


def _known(number: int, among: list[Json], member: str, what: str) -> None:
    if all(known[member] != number for known in among):
        raise bad_request(f"Unknown {what}: {number}", "ValidationException")


def _schema_key(schema: Json) -> Any:
    fields = without_nulls(schema["fields"])
    return fields, sorted(schema.get("identifier-field-ids") or [])


def _ids(kind: Any) -> list[int]:
    """All field ids in a type."""
    if isinstance(kind, str):
        return []
    found = [value for name, value in kind.items() if name in ("id", "element-id", "key-id", "value-id")]
    for name in ("fields", "type", "element", "key", "value"):
        inner = kind.get(name)
        for part in inner if isinstance(inner, list) else [inner]:
            if isinstance(part, dict):
                found += _ids(part)
    return found


def _last_field(schema: Json) -> int:
    return max(_ids(schema), default=0)
