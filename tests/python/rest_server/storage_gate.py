"""Stands before an S3 server and lets in only who has keys of the REST server that still live, or its signature."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rest_server.service import Service
from rest_server.sockets import _Server

HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}


@dataclass
class Gate:
    """Where the store is for clients, and who was turned away: the reasons."""

    url: str
    service: Service | None = None
    refused: list[str] = field(default_factory=list)
    allowed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextlib.contextmanager
def gated(port: int) -> Iterator[Gate]:
    """A gate before the S3 server at this port. Set `service` once the REST server is there; before, all may pass."""
    gate = Gate("")
    server = _Server(("127.0.0.1", 0), _handler(gate, port))
    gate.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield gate
    finally:
        server.shutdown()
        server.server_close()


def _handler(gate: Gate, port: int) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def relay(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reason = gate.service.guard.store_allows(headers) if gate.service else None
            with gate.lock:
                if reason is not None:
                    gate.refused.append(reason)
                else:
                    gate.allowed += 1
            if reason is not None:
                status = 400 if reason == "ExpiredToken" else 403
                text = f"<Error><Code>{reason}</Code><Message>{reason}</Message></Error>".encode()
                return self.answer(status, {"Content-Type": "application/xml"}, text)
            behind = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            behind.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in HOP_BY_HOP:
                    behind.putheader(name, value)
            if body or self.command in ("PUT", "POST"):
                behind.putheader("Content-Length", str(len(body)))
            behind.endheaders(body or None)
            answer = behind.getresponse()
            content = answer.read()
            behind.close()
            kept = {name: value for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP}
            return self.answer(answer.status, kept, content, answer.getheader("Content-Length"))

        def answer(self, status: int, headers: dict[str, str], content: bytes, length: str | None = None) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            known = length if self.command == "HEAD" and length else str(len(content))
            self.send_header("Content-Length", known)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    for method in ("GET", "PUT", "POST", "HEAD", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.relay)
    return Handler
