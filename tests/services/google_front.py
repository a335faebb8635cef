"""Stands before fake-gcs-server and takes uploads and deletes in the style of XML, which that server does not know.

Preconditions on generations are passed on: the server itself decides.
"""

from __future__ import annotations

import http.client
import http.server
import json
import sys
from urllib.parse import quote, unquote, urlsplit

HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length", "host"}
PRECONDITION = "x-goog-if-generation-match"


class Front(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    behind: int

    def relay(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        bucket, _, name = urlsplit(self.path).path.lstrip("/").partition("/")
        if name and self.command == "PUT":
            return self.upload(bucket, unquote(name), body)
        path, method = self.path, self.command
        if name and method == "DELETE":
            path = f"/storage/v1/b/{bucket}/o/{quote(unquote(name), safe='')}"
        status, headers, content = self.ask(method, path, body, dict(self.headers.items()))
        return self.answer(status, headers, content)

    def upload(self, bucket: str, name: str, body: bytes) -> None:
        query = f"uploadType=media&name={quote(name, safe='')}"
        if (generation := self.headers.get(PRECONDITION)) is not None:
            query += f"&ifGenerationMatch={generation}"
        kind = {"Content-Type": self.headers.get("Content-Type") or "application/octet-stream"}
        status, headers, content = self.ask("POST", f"/upload/storage/v1/b/{bucket}/o?{query}", body, kind)
        if status >= 300:
            return self.answer(status, headers, content)
        made = json.loads(content)
        return self.answer(200, {"ETag": f'"{made["etag"]}"', "x-goog-generation": str(made["generation"])}, b"")

    def ask(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        behind = http.client.HTTPConnection("127.0.0.1", self.behind, timeout=60)
        kept = {name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP}
        behind.request(method, path, body or None, {**kept, "Accept-Encoding": "identity"})
        answer = behind.getresponse()
        content = answer.read()
        behind.close()
        found = {name: value for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP}
        if method == "HEAD" and (length := answer.getheader("Content-Length")):
            found["Content-Length"] = length
        return answer.status, found, content

    def answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing."""


for _method in ("GET", "PUT", "POST", "HEAD", "DELETE"):
    setattr(Front, f"do_{_method}", Front.relay)


def main() -> None:
    """`google_front.py PORT BEHIND`."""
    port, Front.behind = int(sys.argv[1]), int(sys.argv[2])
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Front).serve_forever()


if __name__ == "__main__":
    main()
