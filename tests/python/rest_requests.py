"""Plain requests to the tests' REST server, without any client library."""

from __future__ import annotations

import time
from typing import Any

from rest_server import RestServer
from rest_server.asking import Answered, ask

PLAIN = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}
Json = dict[str, Any]


def made(server: RestServer, name: str = "t", **more: Any) -> Json:
    """A table in `db`, by plain requests."""
    ask(server, "POST", "/v1/namespaces", {"namespace": ["db"]})
    answer = ask(server, "POST", "/v1/namespaces/db/tables", {"name": name, "schema": PLAIN, **more})
    assert answer.status == 200, answer.content
    return dict(answer.body)


def commit(server: RestServer, updates: list[Json], requirements: list[Json] | None = None, **headers: str) -> Answered:
    body = {"requirements": requirements or [], "updates": updates}
    return ask(server, "POST", "/v1/namespaces/db/tables/t", body, **headers)


def snapshot(number: int, sequence: int, parent: int | None = None) -> Json:
    made: Json = {
        "snapshot-id": number,
        "sequence-number": sequence,
        "timestamp-ms": int(time.time() * 1000),
        "manifest-list": f"/nowhere/{number}.avro",
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    return made if parent is None else {**made, "parent-snapshot-id": parent}


def on_main(number: int) -> Json:
    return {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": number}


def set_property(name: str, value: str = "1") -> Json:
    return {"action": "set-properties", "updates": {name: value}}
