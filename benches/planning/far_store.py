"""A store that is far away: serves a folder as S3, read only, each answer late and all answers through one link.

    python benches/planning/far_store.py FOLDER LATENCY_MS MEGABYTES_PER_SECOND

It prints its port. `GET /_stats` answers with what happened since the last such request, as JSON.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


class FarStore:
    """What all connections share."""

    def __init__(self, folder: Path, latency: float, bandwidth: float) -> None:
        self.folder, self.latency, self.bandwidth = folder, latency, bandwidth
        self.free_at = 0.0
        self.kept: dict[str, bytes] = {}
        self.reset()

    def reset(self) -> None:
        self.verbs: dict[str, int] = {}
        self.requests = self.bytes = self.in_flight = self.most_in_flight = 0
        self.waited = 0.0
        self.first = self.last = 0.0

    def content(self, path: str) -> bytes | None:
        if path not in self.kept:
            file = self.folder / path.lstrip("/")
            if not file.is_file():
                return None
            self.kept[path] = file.read_bytes()
        return self.kept[path]

    def stats(self) -> bytes:
        seconds = self.last - self.first
        turns = {"requests": self.requests, "bytes": self.bytes, "most_in_flight": self.most_in_flight}
        turns |= {verb.lower(): count for verb, count in self.verbs.items()}
        mean = self.waited / seconds if seconds else 0.0
        out = json.dumps({**turns, "mean_in_flight": mean, "seconds": seconds}).encode()
        self.reset()
        return out


class Connection(asyncio.Protocol):
    """One connection, which answers one request after the other."""

    def __init__(self, store: FarStore) -> None:
        self.store, self.buffer = store, b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
            self.asked(head.decode("latin-1"))

    def asked(self, head: str) -> None:
        first, *lines = head.split("\r\n")
        verb, url, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        path = url.partition("?")[0]
        store = self.store
        if path == "/_stats":
            return self.send(200, {}, store.stats())
        content = store.content(path)
        now = time.monotonic()
        store.first = store.first or now
        store.requests += 1
        store.verbs[verb] = store.verbs.get(verb, 0) + 1
        store.in_flight += 1
        store.most_in_flight = max(store.most_in_flight, store.in_flight)
        status, extra, body = 200, {"ETag": f'"{len(path)}"', "Last-Modified": DATE}, content or b""
        if content is None:
            status, body = 404, b"<Error><Code>NoSuchKey</Code></Error>"
        elif asked := headers.get("range"):
            begin, _, end = asked.removeprefix("bytes=").partition("-")
            start = int(begin) if begin else max(0, len(content) - int(end))
            stop = min(len(content), int(end) + 1) if begin and end else len(content)
            status, body = 206, content[start:stop]
            extra["Content-Range"] = f"bytes {start}-{stop - 1}/{len(content)}"
        if verb == "HEAD":
            extra["Content-Length"], body = str(len(body)), b""
        store.bytes += len(body)
        # The link carries one answer after the other.
        store.free_at = max(store.free_at, now + store.latency) + len(body) / store.bandwidth
        delay = store.free_at - now

        def answer() -> None:
            store.in_flight -= 1
            store.last = time.monotonic()
            store.waited += store.last - now
            self.send(status, extra, body)

        asyncio.get_running_loop().call_later(delay, answer)
        return None

    def send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        headers = {"Content-Length": str(len(body)), **headers}
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items())]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)


async def main(folder: Path, latency: float, bandwidth: float) -> None:
    store = FarStore(folder, latency, bandwidth)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(store), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2]) / 1e3, float(sys.argv[3]) * 1e6))
