"""Planning by the server: the files of a scan, as JSON."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import math
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any

from rest_server.places import Places
from rest_server.refusal import Refusal, bad_request
from rest_server.table_metadata import Json, current_snapshot

CONTENTS = ("data", "position-deletes", "equality-deletes")
DELETED = 2
COUNTS = {
    "column-sizes": "column_sizes",
    "value-counts": "value_counts",
    "null-value-counts": "null_value_counts",
    "nan-value-counts": "nan_value_counts",
}


@dataclass
class Plan:
    """A plan, which is ready after some polls."""

    tasks: Json
    polls_left: int
    is_cancelled: bool = False


@dataclass
class Plans:
    """The plans and tasks that clients may ask for."""

    places: Places
    plans: dict[str, Plan] = field(default_factory=dict)
    tasks: dict[str, Json] = field(default_factory=dict)
    cancelled: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def submit(self, metadata: Json, request: Json, polls: int, files_in_a_task: int) -> Json:
        """The answer to a request for a plan."""
        made = self._split(self.scan(metadata, request), files_in_a_task)
        number = f"plan-{uuid.uuid4().hex}"
        with self.lock:
            self.plans[number] = Plan(made, polls)
        if polls > 0:
            return {"status": "submitted", "plan-id": number}
        return {"status": "completed", "plan-id": number, **made}

    def fetch(self, number: str) -> Json:
        with self.lock:
            plan = self.plans.get(number)
            if plan is None:
                raise Refusal(404, "NoSuchPlanIdException", f"The plan id does not exist: {number}")
            if plan.is_cancelled:
                return {"status": "cancelled"}
            if plan.polls_left > 0:
                plan.polls_left -= 1
            if plan.polls_left > 0:
                return {"status": "submitted", "plan-id": number}
            return {"status": "completed", **plan.tasks}

    def cancel(self, number: str) -> None:
        with self.lock:
            if number not in self.plans:
                raise Refusal(404, "NoSuchPlanIdException", f"The plan id does not exist: {number}")
            self.plans[number].is_cancelled = True
            self.cancelled += 1

    def task(self, number: str) -> Json:
        with self.lock:
            if number not in self.tasks:
                raise Refusal(404, "NoSuchPlanTaskException", f"The plan task does not exist: {number}")
            return self.tasks[number]

    def _split(self, found: Json, files: int) -> Json:
        """The first files come at once, the others by tasks, each with the deletes that it needs."""
        all_tasks, deletes = found["file-scan-tasks"], found["delete-files"]
        if not files or len(all_tasks) <= files:
            return found
        parts = [_part(all_tasks[at : at + files], deletes) for at in range(0, len(all_tasks), files)]
        names = [f"task-{uuid.uuid4().hex}" for _ in parts[1:]]
        with self.lock:
            self.tasks.update(zip(names, parts[1:], strict=True))
        return {**parts[0], "plan-tasks": names}

    # ---- files

    def scan(self, metadata: Json, request: Json) -> Json:
        by_id = {s["snapshot-id"]: s for s in metadata["snapshots"]}
        end = request.get("end-snapshot-id")
        if end is not None or request.get("start-snapshot-id") is not None:
            if end is None or request.get("snapshot-id") is not None:
                raise bad_request("An incremental scan has end-snapshot-id, and no snapshot-id")
            return self._appended(metadata, by_id, request.get("start-snapshot-id"), end)
        wanted = request.get("snapshot-id")
        snapshot = current_snapshot(metadata) if wanted is None else by_id.get(wanted)
        if snapshot is None:
            if wanted is not None:
                raise bad_request(f"Cannot find snapshot with ID {wanted}", "ValidationException")
            return {"file-scan-tasks": [], "delete-files": []}
        data: list[Json] = []
        deletes: list[Json] = []
        for entry in self.entries(snapshot):
            (data if entry["data_file"].get("content", 0) == 0 else deletes).append(entry)
        shown = [self.shown(entry, metadata) for entry in deletes]
        tasks = []
        for entry in data:
            matching = [at for at, delete in enumerate(deletes) if _applies(delete, entry)]
            task: Json = {"data-file": self.shown(entry, metadata)}
            if matching:
                task["delete-file-references"] = matching
            tasks.append(task)
        return {"file-scan-tasks": tasks, "delete-files": shown}

    def _appended(self, metadata: Json, by_id: dict[int, Json], start: int | None, end: int) -> Json:
        tasks: list[Json] = []
        at: int | None = end
        while at is not None and at != start:
            if at not in by_id:
                raise bad_request(f"Cannot find snapshot with ID {at}", "ValidationException")
            snapshot = by_id[at]
            if snapshot.get("summary", {}).get("operation") == "append":
                for entry in self.entries(snapshot):
                    if entry["status"] == 1 and entry["snapshot_id"] == at:
                        tasks.append({"data-file": self.shown(entry, metadata)})
            at = snapshot.get("parent-snapshot-id")
        return {"file-scan-tasks": tasks, "delete-files": []}

    def entries(self, snapshot: Json) -> list[Json]:
        """The live files of a snapshot, with what they inherit."""
        found = []
        for manifest in self.avro(snapshot["manifest-list"]):
            next_row = manifest.get("first_row_id")
            for entry in self.avro(manifest["manifest_path"]):
                if entry["status"] == DELETED:
                    continue
                number = manifest.get("sequence_number") or 0
                if entry.get("sequence_number") is None:
                    entry["sequence_number"] = number if entry["status"] == 1 else 0
                if entry.get("snapshot_id") is None:
                    entry["snapshot_id"] = manifest.get("added_snapshot_id")
                entry["spec_id"] = manifest.get("partition_spec_id") or 0
                file = entry["data_file"]
                if next_row is not None and file.get("content", 0) == 0 and file.get("first_row_id") is None:
                    file["first_row_id"] = next_row
                    next_row += file["record_count"]
                found.append(entry)
        return found

    def avro(self, location: str) -> list[Json]:
        import fastavro

        return [dict(record) for record in fastavro.reader(io.BytesIO(self.places.read(location)))]  # type: ignore[arg-type]

    def shown(self, entry: Json, metadata: Json) -> Json:
        file = entry["data_file"]
        content = file.get("content") or 0
        made: Json = {
            "content": CONTENTS[content],
            "file-path": file["file_path"],
            "file-format": file["file_format"].lower(),
            "spec-id": entry["spec_id"],
            "partition": _partition(file.get("partition") or {}, entry["spec_id"], metadata),
            "file-size-in-bytes": file["file_size_in_bytes"],
            "record-count": file["record_count"],
        }
        for name, member in (
            ("split-offsets", "split_offsets"),
            ("sort-order-id", "sort_order_id"),
            ("first-row-id", "first_row_id"),
            ("content-offset", "content_offset"),
            ("content-size-in-bytes", "content_size_in_bytes"),
            ("referenced-data-file", "referenced_data_file"),
            ("equality-ids", "equality_ids"),
        ):
            if file.get(member) is not None:
                made[name] = file[member]
        if file.get("key_metadata"):
            made["key-metadata"] = file["key_metadata"].hex().upper()
        for name, member in COUNTS.items():
            if file.get(member):
                pairs = [(p["key"], p["value"]) for p in file[member]]
                made[name] = {"keys": [k for k, _ in pairs], "values": [v for _, v in pairs]}
        return made


def _part(tasks: list[Json], deletes: list[Json]) -> Json:
    used = sorted({at for task in tasks for at in task.get("delete-file-references", ())})
    renamed = {old: new for new, old in enumerate(used)}
    made = []
    for task in tasks:
        references = [renamed[at] for at in task.get("delete-file-references", ())]
        made.append({**task, "delete-file-references": references} if references else task)
    return {"file-scan-tasks": made, "delete-files": [deletes[at] for at in used]}


def _applies(delete: Json, data: Json) -> bool:
    file, of = delete["data_file"], data["data_file"]
    if file.get("referenced_data_file"):
        return bool(file["referenced_data_file"] == of["file_path"])
    partition, other = file.get("partition") or {}, of.get("partition") or {}
    is_same = (delete["spec_id"], partition) == (data["spec_id"], other)
    if file["content"] == 1:
        return is_same and delete["sequence_number"] >= data["sequence_number"]
    return (is_same or not partition) and delete["sequence_number"] > data["sequence_number"]


def _partition(values: Json, spec_id: int, metadata: Json) -> list[Any]:
    """The values in the order of the spec's fields, as single values are written in JSON."""
    spec = next((s for s in metadata["partition-specs"] if s["spec-id"] == spec_id), None)
    fields = [] if spec is None else spec["fields"]
    named = list(values.values())
    return [_value(named[at]) if at < len(named) else None for at in range(len(fields))]


def _value(value: Any) -> Any:
    match value:
        case bytes():
            return value.hex().upper()
        case dt.datetime():
            text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
            return f"{text}+00:00" if value.tzinfo else text
        case dt.date() | dt.time():
            return value.isoformat()
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case decimal.Decimal() | uuid.UUID():
            return str(value)
        case _:
            return value
