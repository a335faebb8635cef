"""The server's sockets: HTTP, with TLS if wanted, and the ways in which connections break."""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import json
import socket
import socketserver
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rest_server.faults import WHOLE, Answer, Fault
from rest_server.places import Places
from rest_server.service import Broken, Service
from rest_server.switches import Switches

CONTROL = "/_control/"
STEP = 0.05


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    service: Service
    stopping: threading.Event

    def respond(self) -> None:
        content = self.content()
        if self.path.startswith(CONTROL):
            return self.send(control(self.service, self.path, content))
        headers = {name.lower(): value for name, value in self.headers.items()}
        outcome = self.service.serve(self.command, self.path, headers, content)
        if isinstance(outcome, Broken):
            return self.break_off(outcome)
        return self.send(outcome)

    def content(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def send(self, answer: Answer) -> None:
        content = answer.bytes()
        with_body = self.command == "HEAD" and self.service.switches.head_with_body and answer.status in (204, 404)
        if with_body:
            content = content or b'{"exists": true}'
            answer = Answer(200 if answer.status == 204 else answer.status, None, answer.headers)
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status not in (204, 304):
            if "Content-Type" not in answer.headers:
                self.send_header("Content-Type", "application/json")
            if answer.has_length:
                self.send_header("Content-Length", str(len(content) * answer.repeated))
        if with_body or not answer.has_length:
            self.send_header("Connection", "close")
        self.end_headers()
        if answer.status not in (204, 304) and (self.command != "HEAD" or with_body):
            for _ in range(answer.repeated):
                self.wfile.write(content)

    def break_off(self, broken: Broken) -> None:
        self.close_connection = True
        if broken.fault.kind == "timeout":
            end = time.monotonic() + broken.fault.seconds
            while time.monotonic() < end and not self.stopping.wait(STEP):
                pass
        if broken.fault.kind == "cut":
            self.send_half(broken.answer)
            return
        # Closed at once, with a reset in place of an orderly end.
        with contextlib.suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            socket.close(self.connection.detach())

    def send_half(self, answer: Answer) -> None:
        content = answer.bytes()
        if not content:
            self.wfile.write(f"HTTP/1.1 {answer.status} OK\r\nContent-Len".encode())
            return
        head = (
            f"HTTP/1.1 {answer.status} OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        self.wfile.write(head.encode() + content[: len(content) // 2])

    def log_message(self, *_: object) -> None:
        """Nothing."""


for _method in ("GET", "PUT", "POST", "HEAD", "DELETE"):
    setattr(Handler, f"do_{_method}", Handler.respond)


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128
    context: ssl.SSLContext | None = None

    def finish_request(self, request: Any, address: Any) -> None:
        # Hands are shaken in the connection's own thread.
        if self.context is not None:
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, address)
        if self.context is not None:
            with contextlib.suppress(OSError):
                request.close()

    def handle_error(self, *_: object) -> None:
        """Clients may go away."""


@dataclasses.dataclass
class RestServer:
    """A running server: where it is, and what tests do with it."""

    url: str
    service: Service

    @property
    def switches(self) -> Switches:
        return self.service.switches

    def counts(self) -> dict[str, int]:
        return self.service.counts()

    def reset(self) -> None:
        self.service.reset()

    def fault(
        self, operation: str, kind: str, when: str = "before", nth: int = 1, times: int = 1, seconds: float = 5.0
    ) -> Fault:
        """Plants a fault. `operation` is one of the specification, or `*` for every mutation."""
        return self.service.faults.plant(Fault(operation, kind, when, nth, times, seconds))

    @contextlib.contextmanager
    def counted(self) -> Iterator[dict[str, int]]:
        """How often each operation is asked for meanwhile, without reports: they come when they come."""
        before, seen = self.counts(), dict[str, int]()
        yield seen
        for name, count in self.counts().items():
            if name != "reportMetrics" and count != before.get(name, 0):
                seen[name] = count - before.get(name, 0)


@contextlib.contextmanager
def serving(
    warehouse: str | Path,
    s3: dict[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
    port: int = 0,
    **switches: Any,
) -> Iterator[RestServer]:
    """A server on this machine.

    Args:
        warehouse: The folder for tables, or a location in a bucket.
        s3: The S3 server of the bucket: `endpoint`, `key`, `secret`, `region`.
        tls: How connections are secured.
        port: Where it listens. By default at a free port.
        switches: What it does differently, by the names of `Switches`.
    """
    service = Service(str(warehouse).rstrip("/"), Places(s3))
    service.switches.change(switches)
    stopping = threading.Event()
    handler = type("Handler", (Handler,), {"service": service, "stopping": stopping})
    server = _Server(("127.0.0.1", port), handler)
    server.context = tls
    host = "localhost" if tls else "127.0.0.1"
    url = f"{'https' if tls else 'http'}://{host}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": STEP}, daemon=True)
    thread.start()
    try:
        yield RestServer(url, service)
    finally:
        stopping.set()
        server.shutdown()
        server.server_close()


def control(service: Service, path: str, content: bytes) -> Answer:
    """What tests in other processes ask for: `/_control/counts`, `asked`, `reset`, `switches`, `faults`, `changes`."""
    given = json.loads(content) if content else {}
    try:
        match path[len(CONTROL) :]:
            case "counts":
                return Answer(200, service.counts())
            case "asked":
                return Answer(200, [dataclasses.asdict(asked) for asked in service.asked])
            case "state":
                return Answer(
                    200,
                    {
                        "grants": service.guard.grants,
                        "most-token-requests-at-once": service.guard.most_token_requests_at_once,
                        "session-tokens": len(service.guard.session_tokens),
                        "replayed": service.replayed,
                        "reports": service.reports,
                        "cancelled-plans": service.plans.cancelled,
                        "purged": [".".join(name) for name in service.register.purged],
                    },
                )
            case "reset":
                service.reset()
                service.faults.clear()
            case "switches":
                service.switches.change(given)
            case "faults":
                service.faults.plant(Fault(**given))
            case "changes":
                service.faults.change(given["operation"], WHOLE[given["kind"]], given.get("times", 1))
            case _:
                return Answer(404, {"error": {"message": path, "type": "NotFoundException", "code": 404}})
    except (KeyError, TypeError, ValueError) as error:
        return Answer(400, {"error": {"message": repr(error), "type": "BadRequestException", "code": 400}})
    return Answer(200, {})
