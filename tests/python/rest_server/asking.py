"""Plain requests to a server."""

from __future__ import annotations

import http.client
import json
from typing import Any

from rest_server.sockets import RestServer


class Answered:
    """What a plain request was answered."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self.content = answer.read()

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    @property
    def error(self) -> str:
        return str(self.body["error"]["type"])


def ask(server: RestServer, method: str, path: str, body: Any = None, **headers: str) -> Answered:
    connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=20)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, None if body is None else json.dumps(body), names)
    try:
        return Answered(connection.getresponse())
    finally:
        connection.close()
