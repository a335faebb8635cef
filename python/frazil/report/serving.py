"""Pages on this machine alone: a server that plans again for each request, and changes nothing."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

from frazil.display.tables import escaped
from frazil.exceptions import FrazilError, InvalidInputError, NotFoundError
from frazil.report.page import page

__all__ = ["LOOPBACK", "Asked", "PageServer"]

LOOPBACK = "127.0.0.1"
"""The only address that the server listens at."""

Asked: TypeAlias = Callable[[str | None, str | None, bool, str], str]
"""Makes the page for a filter, a version, whether to examine the table, and the HTML of the form."""

_SECONDS = 30
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class PageServer(ThreadingHTTPServer):
    """Serves the page of one table.

    It answers only requests that name this machine as their host. So a page of another site can't read the table's page
    under a name that leads here.

    Args:
        asked: Makes the page.
        title: The title of pages that show an error.
        port: The port; 0 takes a free one.

    Raises:
        InvalidInputError: The port is taken.
    """

    daemon_threads = True

    def __init__(self, asked: Asked, title: str, port: int = 0) -> None:
        self.asked = asked
        self.title = title
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            raise InvalidInputError(f"port {port} can't be used: {error.strerror}", hint="Give another port") from error

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Shows a fault. A browser that was closed is not one."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def is_named_by(self, hosts: list[str]) -> bool:
        """Whether a request's only host is this server."""
        return hosts in ([f"{LOOPBACK}:{self.server_port}"], [f"localhost:{self.server_port}"])


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "frazil"
    sys_version = ""
    timeout = _SECONDS

    def do_GET(self) -> None:
        self._served(True)

    def do_HEAD(self) -> None:
        """The same answer without its body."""
        self._served(False)

    def _served(self, has_body: bool) -> None:
        if not self.server.is_named_by(self.headers.get_all("Host", [])):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "Host must be this machine")
            return
        if not self._is_opened_by_user():
            self.send_error(HTTPStatus.FORBIDDEN, "Pages of other sites may not use this page")
            return
        try:
            address = urlsplit(self.path)
        except ValueError:
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        if address.path != "/":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        given = {name: values[-1].strip() for name, values in parse_qs(address.query).items()}
        self._answer(*_made(self.server, given), has_body)

    def _is_opened_by_user(self) -> bool:
        """Whether a page of another site only links here. It may not make this server work by images and scripts."""
        if self.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin"):
            return True
        return self.headers.get("Sec-Fetch-Mode") == "navigate" and self.headers.get("Sec-Fetch-Dest") == "document"

    def _answer(self, status: HTTPStatus, text: str, has_body: bool) -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        # A browser that was closed doesn't read the answer.
        with suppress(ConnectionError):
            self.end_headers()
            if has_body:
                self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged: filters may hold private values."""


def _made(server: PageServer, given: dict[str, str]) -> tuple[HTTPStatus, str]:
    """The page for the members of a query, or one that shows the error."""
    where, at, doctor = given.get("where") or None, given.get("at") or None, "doctor" in given
    form = _form(where or "", at or "", doctor)
    try:
        return HTTPStatus.OK, server.asked(where, at, doctor, form)
    except FrazilError as error:
        is_wrong = isinstance(error, (InvalidInputError, NotFoundError))
        status = HTTPStatus.BAD_REQUEST if is_wrong else HTTPStatus.INTERNAL_SERVER_ERROR
        message = f'<p role="alert">{escaped(error)}</p>'
        return status, page(server.title, [], [], form + message)


def _form(where: str, at: str, doctor: bool) -> str:
    # The values go back to the server, so they are not cut as shown texts are.
    return (
        '<form method="get" action="/">'
        f'<label>Filter <input name="where" size="40" value="{html.escape(where)}"></label> '
        f'<label>Version <input name="at" size="16" value="{html.escape(at)}"></label> '
        f'<label><input type="checkbox" name="doctor" value="1"{" checked" if doctor else ""}> Examine</label> '
        "<button>Plan</button></form>"
    )
