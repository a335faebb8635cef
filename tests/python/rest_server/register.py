"""What the server knows: namespaces, and where the newest metadata of each table and view is."""

from __future__ import annotations

import copy
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any

from rest_server.places import Places
from rest_server.refusal import (
    Refusal,
    already_exists,
    bad_request,
    commit_failed,
    dotted,
    no_such_namespace,
    no_such_table,
    no_such_view,
    unsupported,
)
from rest_server.switches import Switches
from rest_server.table_metadata import Json, check, empty_metadata, new_metadata, now_ms
from rest_server.table_updates import Change
from rest_server.view_metadata import changed_view, check_view, new_view

Name = tuple[str, ...]


@dataclass
class Entry:
    """A table or view."""

    location: str
    metadata: Json
    # As long as it is this number, it is the same commit.
    version: int = 0


@dataclass
class Register:
    """The state of the server. Every operation holds the lock, so that each happens at once or not at all."""

    warehouse: str
    places: Places
    switches: Switches
    lock: threading.RLock = field(default_factory=threading.RLock)
    namespaces: dict[Name, dict[str, str]] = field(default_factory=dict)
    tables: dict[Name, Entry] = field(default_factory=dict)
    views: dict[Name, Entry] = field(default_factory=dict)
    purged: list[Name] = field(default_factory=list)

    # ---- namespaces

    def namespace_exists(self, namespace: Name) -> bool:
        return any(known[: len(namespace)] == namespace for known in self.namespaces)

    def need_namespace(self, namespace: Name) -> None:
        if not self.namespace_exists(namespace):
            raise no_such_namespace(namespace)

    def create_namespace(self, namespace: Name, properties: dict[str, str]) -> dict[str, str]:
        levels = self.switches.namespace_levels
        if not namespace or not all(namespace):
            raise bad_request("A namespace needs a name")
        if levels and len(namespace) > levels:
            raise bad_request(f"Namespaces have at most {levels} levels here: {dotted(namespace)}")
        if properties and self.switches.no_namespace_properties:
            raise unsupported("Namespaces have no properties here")
        with self.lock:
            if self.namespace_exists(namespace):
                raise already_exists("Namespace", namespace)
            kept = dict(properties)
            if self.switches.needs_location:
                kept.setdefault("location", f"{self.warehouse}/{'/'.join(namespace)}")
            self.namespaces[namespace] = kept
            return dict(kept)

    def list_namespaces(self, parent: Name) -> list[Name]:
        with self.lock:
            if parent:
                self.need_namespace(parent)
            length = len(parent)
            below = {n[: length + 1] for n in self.namespaces if len(n) > length and n[:length] == parent}
            return sorted(below)

    def namespace_properties(self, namespace: Name) -> dict[str, str]:
        with self.lock:
            self.need_namespace(namespace)
            return dict(self.namespaces.get(namespace, {}))

    def drop_namespace(self, namespace: Name) -> None:
        with self.lock:
            self.need_namespace(namespace)
            below = [n for n in self.namespaces if n != namespace and n[: len(namespace)] == namespace]
            within = [n for n in (*self.tables, *self.views) if n[:-1] == namespace]
            if below or within:
                raise Refusal(409, "NamespaceNotEmptyException", f"Namespace is not empty: {dotted(namespace)}")
            self.namespaces.pop(namespace, None)

    def update_properties(self, namespace: Name, removals: list[str], updates: dict[str, str]) -> Json:
        if self.switches.no_namespace_properties:
            raise unsupported("Namespaces have no properties here")
        if both := sorted(set(removals) & set(updates)):
            raise Refusal(
                422,
                "UnprocessableEntityException",
                f"Invalid namespace update: cannot simultaneously set and remove {both}",
            )
        with self.lock:
            self.need_namespace(namespace)
            kept = self.namespaces.setdefault(namespace, {})
            removed = [name for name in removals if name in kept]
            for name in removed:
                del kept[name]
            kept.update(updates)
            return {
                "updated": sorted(updates),
                "removed": removed,
                "missing": [name for name in removals if name not in removed],
            }

    # ---- tables

    def list_tables(self, namespace: Name) -> list[Name]:
        with self.lock:
            self.need_namespace(namespace)
            return sorted(name for name in self.tables if name[:-1] == namespace)

    def table(self, name: Name) -> Entry:
        with self.lock:
            if name not in self.tables:
                raise no_such_table(name)
            return self.tables[name]

    def create_table(self, namespace: Name, request: Json, stage: bool) -> Entry:
        name = (*namespace, request["name"])
        with self.lock:
            self.need_namespace(namespace)
            self.need_free(name)
            location = self.new_location(name, request.get("location"))
            metadata = new_metadata(request, location)
            if stage:
                return Entry("", metadata)
            entry = self.write(None, metadata)
            self.tables[name] = entry
            return entry

    def need_free(self, name: Name) -> None:
        if name in self.tables:
            raise already_exists("Table", name)
        if name in self.views:
            raise already_exists("View with same name", name)

    def need_free_for_view(self, name: Name) -> None:
        if name in self.tables:
            raise already_exists("Table with same name", name)
        if name in self.views:
            raise already_exists("View", name)

    def new_location(self, name: Name, asked: str | None) -> str:
        if asked and self.switches.refuses_location:
            raise bad_request("The location of a table is chosen by this catalog")
        if not asked and self.switches.needs_location:
            raise bad_request("A table needs a location", "InvalidInputException")
        if asked:
            return asked.rstrip("/")
        above = self.namespaces.get(name[:-1], {}).get("location")
        folder = above.rstrip("/") if above else f"{self.warehouse}/{'/'.join(name[:-1])}"
        location = f"{folder}/{name[-1]}"
        taken = {e.metadata["location"] for e in (*self.tables.values(), *self.views.values())}
        return f"{location}-{uuid.uuid4().hex[:8]}" if location in taken else location

    def commit(self, name: Name, requirements: list[Json], updates: list[Json]) -> Entry:
        with self.lock:
            return self.commit_all([(name, requirements, updates)])[0]

    def commit_all(self, changes: list[tuple[Name, list[Json], list[Json]]]) -> list[Entry]:
        """All of them, or none."""
        with self.lock:
            if len({name for name, _, _ in changes}) != len(changes):
                raise bad_request("A table is named twice in a transaction")
            bases = [self._base(name, requirements) for name, requirements, _ in changes]
            for base, (_, requirements, _) in zip(bases, changes, strict=True):
                for requirement in requirements:
                    check(requirement, base.metadata if base else None)
            made = [self._next(base, updates) for base, (_, _, updates) in zip(bases, changes, strict=True)]
            entries = [
                base if base is not None and base.metadata == metadata else self.write(base, metadata)
                for base, metadata in zip(bases, made, strict=True)
            ]
            for entry, (name, _, _) in zip(entries, changes, strict=True):
                self.tables[name] = entry
            return entries

    def _base(self, name: Name, requirements: list[Json]) -> Entry | None:
        if name in self.tables:
            return self.tables[name]
        self.need_namespace(name[:-1])
        if not any(r.get("type") == "assert-create" for r in requirements):
            raise no_such_table(name)
        if name in self.views:
            raise already_exists("View with same name", name)
        return None

    def _next(self, base: Entry | None, updates: list[Json]) -> Json:
        snapshots = sum(update.get("action") == "add-snapshot" for update in updates)
        if self.switches.one_snapshot and snapshots > 1:
            raise bad_request(f"A commit may add one snapshot, and this adds {snapshots}")
        if base is None:
            versions = [u["format-version"] for u in updates if u.get("action") == "upgrade-format-version"]
            change = Change(empty_metadata(min(versions, default=2)))
        else:
            change = Change(base.metadata)
        for update in updates:
            change.apply(update)
        if base is not None and change.metadata == base.metadata:
            return base.metadata
        made = change.finish()
        if made["table-uuid"] is None:
            made["table-uuid"] = str(uuid.uuid4())
        return made

    def write(self, base: Entry | None, metadata: Json) -> Entry:
        """Writes the next metadata file, whose log names the last one."""
        metadata, properties = copy.deepcopy(metadata), metadata["properties"]
        version = 0 if base is None else base.version + 1
        if base is not None:
            entry = {"timestamp-ms": base.metadata["last-updated-ms"], "metadata-file": base.location}
            metadata["metadata-log"].append(entry)
            keep = max(1, int(properties.get("write.metadata.previous-versions-max", 100)))
            gone, metadata["metadata-log"] = metadata["metadata-log"][:-keep], metadata["metadata-log"][-keep:]
            if properties.get("write.metadata.delete-after-commit.enabled") == "true":
                for old in gone:
                    self.places.delete(old["metadata-file"])
        folder = properties.get("write.metadata.path", f"{metadata['location']}/metadata").rstrip("/")
        ending = ".gz" if properties.get("write.metadata.compression-codec") == "gzip" else ""
        location = f"{folder}/{version:05d}-{uuid.uuid4()}{ending}.metadata.json"
        self.places.write_json(location, as_written(metadata))
        return Entry(location, metadata, version)

    def drop_table(self, name: Name, purge: bool) -> None:
        if purge and self.switches.purge_never:
            raise bad_request("This catalog removes no files: purgeRequested must be false")
        if not purge and self.switches.purge_must:
            raise bad_request("This catalog keeps no files: purgeRequested must be true")
        with self.lock:
            entry = self.table(name)
            del self.tables[name]
            if purge:
                self.purged.append(name)
                self.places.delete_folder(entry.metadata["location"])

    def unregister(self, name: Name) -> Entry:
        with self.lock:
            entry = self.table(name)
            del self.tables[name]
            return entry

    def register(self, namespace: Name, request: Json) -> Entry:
        name, location = (*namespace, request["name"]), request["metadata-location"]
        with self.lock:
            self.need_namespace(namespace)
            if name in self.views or not request.get("overwrite"):
                self.need_free(name)
            metadata = as_held(self.places.read_json(location))
            entry = Entry(location, metadata, _number(location))
            self.tables[name] = entry
            return entry

    def rename(self, source: Name, to: Name, among: dict[Name, Entry]) -> None:
        with self.lock:
            if source not in among:
                raise no_such_table(source) if among is self.tables else no_such_view(source)
            self.need_namespace(to[:-1])
            for what, known in (("Table", self.tables), ("View", self.views)):
                if to in known:
                    message = f"Cannot rename {dotted(source)} to {dotted(to)}. {what} already exists"
                    raise Refusal(409, "AlreadyExistsException", message)
            among[to] = among.pop(source)

    # ---- views

    def list_views(self, namespace: Name) -> list[Name]:
        with self.lock:
            self.need_namespace(namespace)
            return sorted(name for name in self.views if name[:-1] == namespace)

    def view(self, name: Name) -> Entry:
        with self.lock:
            if name not in self.views:
                raise no_such_view(name)
            return self.views[name]

    def create_view(self, namespace: Name, request: Json) -> Entry:
        name = (*namespace, request["name"])
        with self.lock:
            self.need_namespace(namespace)
            self.need_free_for_view(name)
            metadata = new_view(request, self.new_location(name, request.get("location")))
            self.views[name] = self.write_view(None, metadata)
            return self.views[name]

    def replace_view(self, name: Name, request: Json) -> Entry:
        with self.lock:
            base = self.view(name)
            for requirement in request.get("requirements") or []:
                check_view(requirement, base.metadata)
            made = changed_view(base.metadata, request["updates"])
            if made != base.metadata:
                self.views[name] = self.write_view(base, made)
            return self.views[name]

    def write_view(self, base: Entry | None, metadata: Json) -> Entry:
        version = 0 if base is None else base.version + 1
        folder = metadata["properties"].get("write.metadata.path", f"{metadata['location']}/metadata").rstrip("/")
        location = f"{folder}/{version:05d}-{uuid.uuid4()}.gz.metadata.json"
        self.places.write_json(location, metadata)
        return Entry(location, metadata, version)

    def register_view(self, namespace: Name, request: Json) -> Entry:
        name, location = (*namespace, request["name"]), request["metadata-location"]
        with self.lock:
            self.need_namespace(namespace)
            self.need_free_for_view(name)
            self.views[name] = Entry(location, self.places.read_json(location), _number(location))
            return self.views[name]

    def drop_view(self, name: Name) -> None:
        with self.lock:
            self.view(name)
            del self.views[name]

    # ---- for tests

    def stale(self, name: Name) -> None:
        """Something else happens to the table: its properties change."""
        change: list[dict[str, Any]] = [{"action": "set-properties", "updates": {"touched": str(now_ms())}}]
        self.commit(name, [], change)

    def conflict(self, name: Name) -> Refusal:
        return commit_failed(f"Cannot commit to {dotted(name)}: metadata location has changed")


def as_written(metadata: Json) -> Json:
    """As files have it: version 1 says its schema and spec in two ways, and what is absent is left out."""
    made = dict(metadata)
    if made["format-version"] == 1:
        made["schema"] = next(s for s in made["schemas"] if s["schema-id"] == made["current-schema-id"])
        spec = next(s for s in made["partition-specs"] if s["spec-id"] == made["default-spec-id"])
        made["partition-spec"] = spec["fields"]
    if made["current-snapshot-id"] == -1 and made["format-version"] > 2:
        made["current-snapshot-id"] = None
    return made


def as_held(metadata: Json) -> Json:
    """As the server has it: lists are there, even if the file has none."""
    made = {"properties": {}, **metadata}
    for member in ("snapshots", "snapshot-log", "metadata-log", "statistics", "partition-statistics"):
        made[member] = made.get(member) or []
    made["refs"] = made.get("refs") or {}
    current = made.get("current-snapshot-id")
    made["current-snapshot-id"] = -1 if current is None else current
    if made["current-snapshot-id"] != -1 and "main" not in made["refs"]:
        made["refs"]["main"] = {"snapshot-id": made["current-snapshot-id"], "type": "branch"}
    if "schemas" not in made:
        made["schemas"] = [{"schema-id": 0, **made.pop("schema")}]
        made["current-schema-id"] = made["schemas"][0]["schema-id"]
    if "partition-specs" not in made:
        made["partition-specs"] = [{"spec-id": 0, "fields": made.pop("partition-spec")}]
        made["default-spec-id"] = 0
    made.setdefault("sort-orders", [{"order-id": 0, "fields": []}])
    made.setdefault("default-sort-order-id", 0)
    made.setdefault("last-partition-id", 999)
    for member in ("schema", "partition-spec"):
        made.pop(member, None)
    return made


def _number(location: str) -> int:
    digits = location.rpartition("/")[2].partition("-")[0].lstrip("v").partition(".")[0]
    return int(digits) if digits.isdigit() else 0
