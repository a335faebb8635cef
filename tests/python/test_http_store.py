"""Tables behind HTTP: they are read with ranges, and never written."""

from __future__ import annotations

import contextlib
import http.server
import pathlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

import frazil as fz


@dataclass
class Site:
    """A folder that is served, and the requests that came."""

    url: str
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    # Whether ranges are answered, and how often the next requests fail first.
    has_ranges: bool = True
    failures: int = 0


@contextlib.contextmanager
def served(folder: pathlib.Path) -> Iterator[Site]:
    site = Site("")

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            site.requests.append((self.command, self.path, wanted))
            path = folder / self.path.lstrip("/")
            if site.failures > 0:
                site.failures -= 1
                return self.answer(503, b"", {"Retry-After": "0"})
            if not path.is_file():
                return self.answer(404, b"", {})
            content = path.read_bytes()
            found = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted or "")
            if found is None or not site.has_ranges:
                return self.answer(200, content, {})
            first, last = found.groups()
            start = int(first) if first else max(0, len(content) - int(last))
            end = min(int(last), len(content) - 1) if first and last else len(content) - 1
            if start >= len(content):
                return self.answer(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            extent = {"Content-Range": f"bytes {start}-{end}/{len(content)}"}
            return self.answer(206, content[start : end + 1], extent)

        do_HEAD = do_GET  # noqa: N815

        def do_PUT(self) -> None:
            site.requests.append((self.command, self.path, None))
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.answer(405, b"", {})

        def answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
            self.send_response_only(status)
            for name, value in {"Accept-Ranges": "bytes", "ETag": f'"{len(content)}"', **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    """A table of two commits, by its newest metadata file."""
    catalog = fz.catalog("c", warehouse=tmp_path / "wh")
    catalog.create_namespace("db")
    wide = pa.table({"id": pa.array(range(2, 50_002), pa.int64()), "text": ["x" * 50] * 50_000})
    table = catalog.create_table("db.t", wide.schema)
    table.append(wide).append(pa.table({"id": pa.array([1], pa.int64()), "text": ["one"]}))
    with served(tmp_path / "wh") as site:
        yield site


def newest(site: Site, tmp_path: pathlib.Path) -> str:
    file = max((tmp_path / "wh/db/t/metadata").glob("v*.metadata.json"), key=lambda p: int(p.name[1:].split(".")[0]))
    return f"{site.url}/{file.relative_to(tmp_path / 'wh').as_posix()}"


def ids(table: fz.Table) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def test_tables_are_read(site: Site, tmp_path: pathlib.Path) -> None:
    table = fz.open_table(newest(site, tmp_path), moved=True)
    assert table.scan("id = 1").to_arrow()["text"].to_pylist() == ["one"]
    assert len(ids(table)) == 50_001
    assert any(wanted for _, _, wanted in site.requests)


def test_few_bytes_are_asked_for(site: Site, tmp_path: pathlib.Path) -> None:
    table = fz.open_table(newest(site, tmp_path), moved=True)
    site.requests.clear()
    table.scan("id < 3", select=["id"]).to_arrow()
    files = {path for _, path, _ in site.requests if path.endswith(".parquet")}
    assert len(files) <= 2
    assert all(wanted for method, path, wanted in site.requests if path in files and method == "GET")


def test_servers_without_ranges(site: Site, tmp_path: pathlib.Path) -> None:
    site.has_ranges = False
    with pytest.raises(fz.UnsupportedError, match=r"Range request not supported"):
        ids(fz.open_table(newest(site, tmp_path), moved=True))


def test_failures_are_retried(site: Site, tmp_path: pathlib.Path) -> None:
    site.failures = 2
    assert len(ids(fz.open_table(newest(site, tmp_path), moved=True))) == 50_001


def test_nothing_is_written(site: Site, tmp_path: pathlib.Path) -> None:
    table = fz.open_table(newest(site, tmp_path), moved=True)
    with pytest.raises(fz.InvalidInputError, match="read-only"):
        table.append(pa.table({"id": pa.array([3], pa.int64()), "text": ["three"]}))
    with pytest.raises(fz.UnsupportedError, match="can only be read"):
        fz.catalog("c", type="filesystem", warehouse=site.url).create_namespace("db")
    assert {method for method, _, _ in site.requests} <= {"GET", "HEAD"}


def test_what_is_missing(site: Site) -> None:
    with pytest.raises(fz.NotFoundError, match=r"v9\.metadata\.json"):
        fz.open_table(f"{site.url}/db/t/metadata/v9.metadata.json")
