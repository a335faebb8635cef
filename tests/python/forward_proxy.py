"""A proxy as those of companies: it takes requests for any host, asks for a login on demand, and counts."""

from __future__ import annotations

import base64
import contextlib
import http.client
import http.server
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PER_CONNECTION = {"connection", "transfer-encoding", "keep-alive", "content-length", "proxy-authorization"}


@dataclass
class ForwardProxy:
    """Whatever host is asked for is on this machine, so a name that exists nowhere proves that the proxy was asked."""

    port: int = 0
    login: str | None = None
    """`user:password` that clients must give."""
    answer: int | None = None
    """A status that every request gets instead of an answer."""
    seen: list[tuple[str, str]] = field(default_factory=list)
    """Method and target of each request, also of those that were refused."""
    proofs: list[str | None] = field(default_factory=list)
    """The header `Authorization` of each request."""
    ports: dict[str, int] = field(default_factory=dict)
    """Ports of this machine that stand for `host:port`."""

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def hosts(self) -> set[str]:
        """The hosts that were asked for."""
        connected = {target.rpartition(":")[0] for method, target in self.seen if method == "CONNECT"}
        return connected | {str(urlsplit(target).hostname) for method, target in self.seen if method != "CONNECT"}

    def refusal(self, given: str | None) -> int | None:
        if self.login is not None and given != f"Basic {base64.b64encode(self.login.encode()).decode()}":
            return 407
        return self.answer


def _handler(proxy: ForwardProxy) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def relay(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            proxy.seen.append((self.command, self.path))
            proxy.proofs.append(self.headers.get("Authorization"))
            status = proxy.refusal(self.headers.get("Proxy-Authorization"))
            if status is not None:
                return self.give(status, {"Proxy-Authenticate": 'Basic realm="proxy"'}, b"<html>No way out</html>")
            if self.command == "CONNECT":
                return self.tunnel()
            target = urlsplit(self.path)
            behind = http.client.HTTPConnection("127.0.0.1", target.port or 80, timeout=60)
            sent = {name: value for name, value in self.headers.items() if name.lower() not in PER_CONNECTION}
            path = target.path + (f"?{target.query}" if target.query else "")
            behind.request(self.command, path, body or None, {**sent, "Accept-Encoding": "identity"})
            answer = behind.getresponse()
            content = answer.read()
            behind.close()
            headers = {name: value for name, value in answer.getheaders() if name.lower() not in PER_CONNECTION}
            length = answer.getheader("Content-Length") if self.command == "HEAD" else None
            return self.give(answer.status, headers, content, length)

        def give(self, status: int, headers: dict[str, str], content: bytes, length: str | None = None) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", length or str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def tunnel(self) -> None:
            self.close_connection = True
            port = proxy.ports.get(self.path) or int(self.path.rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port)) as behind:
                self.send_response_only(200)
                self.end_headers()
                back = threading.Thread(target=copied, args=(behind, self.connection), daemon=True)
                back.start()
                copied(self.connection, behind)
                back.join(60)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    for method in ("GET", "PUT", "POST", "HEAD", "DELETE", "CONNECT"):
        setattr(Handler, f"do_{method}", Handler.relay)
    return Handler


def copied(source: socket.socket, to: socket.socket) -> None:
    """Passes on whatever comes, until one side ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            to.sendall(data)
    with contextlib.suppress(OSError):
        to.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def forwarding() -> Iterator[ForwardProxy]:
    """A proxy that runs."""
    proxy = ForwardProxy()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(proxy))
    proxy.port = server.server_port
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
