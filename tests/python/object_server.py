"""An S3 server on this machine, behind a proxy that notes requests and makes some of them fail."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import re
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

FORBIDDEN = (
    b"<?xml version='1.0'?><Error><Code>InvalidAccessKeyId</Code><Message>The key you gave does not exist</Message>"
    b"<AWSAccessKeyId>AKIDFRAZIL</AWSAccessKeyId></Error>"
)
HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}


@dataclass(frozen=True)
class Request:
    """A request that came in."""

    method: str
    path: str
    range: str | None
    if_none_match: str | None
    # 1 for a request that came before any answer was given, 2 for one that may follow from such an answer, and so on.
    turn: int


@dataclass
class Fault:
    """What happens to requests instead of the answer, `times` times."""

    method: str
    path: re.Pattern[str]
    kind: str
    times: int
    seconds: float = 0.0
    also: Callable[[], None] | None = None


@dataclass
class Proxy:
    """Where to connect to, what was asked there, and what is to go wrong."""

    url: str
    requests: list[Request] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    latency: float = 0.0
    # The latest turn that has an answer.
    turn: int = 0

    def fault(
        self,
        method: str,
        path: str,
        kind: str,
        times: int = 1,
        seconds: float = 0.0,
        also: Callable[[], None] | None = None,
    ) -> None:
        """`kind`: a status before anything is done; `lost`: done, but the connection breaks before the answer; `slow`;
        `forbidden`: 403."""
        self.faults.append(Fault(method, re.compile(path), kind, times, seconds, also))

    def take_fault(self, method: str, path: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and fault.method == method and fault.path.search(path):
                    fault.times -= 1
                    return fault
        return None

    @contextlib.contextmanager
    def watched(self) -> Iterator[list[Request]]:
        """The requests that come meanwhile."""
        seen: list[Request] = []
        first, self.turn = len(self.requests), 0
        yield seen
        seen.extend(self.requests[first:])


def _handler(proxy: Proxy, port: int) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def relay(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = self.headers.get
            with proxy.lock:
                turn = proxy.turn + 1
                proxy.requests.append(Request(self.command, self.path, asked("Range"), asked("If-None-Match"), turn))
            fault = proxy.take_fault(self.command, self.path)
            if fault is not None and fault.also is not None:
                fault.also()
            if fault is not None and fault.seconds:
                time.sleep(fault.seconds)
            elif proxy.latency:
                time.sleep(proxy.latency)
            if fault is not None and fault.kind == "forbidden":
                return self.answer(403, {"Content-Type": "application/xml"}, FORBIDDEN)
            if fault is not None and fault.kind.isdigit():
                return self.answer(int(fault.kind), {}, b"<Error><Code>Injected</Code></Error>")
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
            if fault is not None and fault.kind == "lost":
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return None
            headers = {name: value for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP}
            length = answer.getheader("Content-Length") if self.command == "HEAD" else None
            with proxy.lock:
                proxy.turn = max(proxy.turn, turn)
            return self.answer(answer.status, headers, content, length)

        def answer(self, status: int, headers: dict[str, str], content: bytes, length: str | None = None) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", length or str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    for method in ("GET", "PUT", "POST", "HEAD", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.relay)
    return Handler


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Clients may go away."""


@contextlib.contextmanager
def proxied(port: int) -> Iterator[Proxy]:
    """A proxy before the server at this port."""
    proxy = Proxy("")
    server = _Server(("127.0.0.1", 0), _handler(proxy, port))
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def s3_server() -> Iterator[int]:
    """moto's server, in a process of its own; gives its port."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 90
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert server.poll() is None, "moto's server does not start: is moto[s3] installed, with flask?"
                assert time.monotonic() < deadline, "moto's server does not answer"
                time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait(20)
