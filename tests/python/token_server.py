"""A server on this machine that gives tokens as Microsoft Entra and Google's metadata service do, and counts."""

from __future__ import annotations

import contextlib
import http.server
import json
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit


@dataclass
class TokenServer:
    """Each answer has a new token."""

    port: int = 0
    seconds: int = 3600
    """The life of a token."""
    refuses: bool = False
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """The path and the fields of each request."""
    tokens: list[str] = field(default_factory=list)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"


def _handler(server: TokenServer) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def give(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            target = urlsplit(self.path)
            fields = {name: values[0] for name, values in parse_qs(body or target.query).items()}
            server.asked.append((target.path, fields))
            if server.refuses:
                return self.answer(401, {"error": "invalid_client", "error_description": "no such client"})
            token = f"token-{len(server.tokens) + 1}"
            server.tokens.append(token)
            end = str(int(time.time()) + server.seconds)
            content = {"access_token": token, "expires_in": server.seconds, "expires_on": end, "token_type": "Bearer"}
            return self.answer(200, content)

        def answer(self, status: int, content: dict[str, object]) -> None:
            text = json.dumps(content).encode()
            self.send_response_only(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    for method in ("GET", "POST"):
        setattr(Handler, f"do_{method}", Handler.give)
    return Handler


@contextlib.contextmanager
def giving_tokens(tls: ssl.SSLContext | None = None) -> Iterator[TokenServer]:
    """A server that runs."""
    tokens = TokenServer()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(tokens))
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    tokens.port = server.server_port
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield tokens
    finally:
        server.shutdown()
        server.server_close()
