"""Requests over the network: the figures of verbs, and the lines of `frazil … --verbose`."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import frazil as fz
from frazil import _core
from object_fixtures import SECRET, bucket, files, lake, options, port, proxy
from object_server import Proxy
from rest_fixtures import catalog as rest_catalog
from rest_fixtures import server
from rest_server import RestServer

__all__ = ["bucket", "files", "lake", "options", "port", "proxy", "rest_catalog", "server"]


@pytest.fixture
def table(lake: fz.Catalog) -> fz.Table:
    table = lake.create_table("db.t", pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1, 2, 3]}))
    return table


@pytest.fixture
def records(caplog: pytest.LogCaptureFixture) -> Iterator[list[dict[str, Any]]]:
    class Facts(list[dict[str, Any]]):
        def __getitem__(self, number: Any) -> Any:
            return [record.frazil for record in caplog.records][number]  # type: ignore[attr-defined]

    with caplog.at_level(logging.DEBUG, "frazil"):
        yield Facts()


def test_verbs_count_what_a_server_sees(table: fz.Table, proxy: Proxy, records: list[dict[str, Any]]) -> None:
    for verb in (
        lambda: table.append(pa.table({"id": [4]})),
        lambda: table.scan().to_arrow(),
        lambda: list(table.scan().to_arrow_batch_reader()),
        lambda: table.scan("id > 1").plan(),
        lambda: table.maintain.compact(min_input_files=2),
    ):
        with proxy.watched() as seen:
            verb()
        assert len(seen) > 0
        assert (records[-1]["requests"], records[-1]["failed_requests"]) == (len(seen), 0), records[-1]["verb"]
    # The bytes of both data files, and of the metadata.
    assert records[-1]["received_bytes"] > 2 * 400


def test_attempts_that_failed_are_counted(table: fz.Table, proxy: Proxy, records: list[dict[str, Any]]) -> None:
    proxy.fault("GET", r"\.parquet", "503")
    with proxy.watched() as seen:
        assert table.scan().to_arrow().num_rows == 3
    assert (records[-1]["requests"], records[-1]["failed_requests"]) == (len(seen), 1)
    proxy.fault("GET", r"\.parquet", "lost")
    with proxy.watched() as seen:
        assert table.scan().to_arrow().num_rows == 3
    assert (records[-1]["requests"], records[-1]["failed_requests"]) == (len(seen), 1)


def test_each_thread_counts_its_own(table: fz.Table, proxy: Proxy) -> None:
    counted: list[int] = []

    def read() -> None:
        counter = _core.CallCounter()
        table.scan().to_arrow()
        counted.append(counter.requests()[0])

    with proxy.watched() as seen:
        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(counted) == len(seen)
    assert min(counted) > 0


def test_requests_of_a_catalogs_server(
    rest_catalog: fz.Catalog, server: RestServer, records: list[dict[str, Any]]
) -> None:
    table = rest_catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    server.reset()
    table.append(pa.table({"id": [1]}))
    assert records[-1]["verb"] == "append"
    # Reports are sent later, by a thread of their own.
    asked = sum(count for name, count in server.counts().items() if name != "reportMetrics")
    assert records[-1]["requests"] == asked > 0


def test_nothing_is_said_of_local_tables(events: fz.Table, records: list[dict[str, Any]]) -> None:
    events.scan().to_arrow()
    assert "requests" not in records[-1]


def shown(arguments: list[str], options: dict[str, str]) -> tuple[str, list[str]]:
    storage = [part for name, value in options.items() for part in ("--storage", f"{name}={value}")]
    done = subprocess.run(
        [sys.executable, "-m", "frazil", *arguments, *storage],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "FRAZIL_PROGRESS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.splitlines()


def test_the_command_line_shows_requests(table: fz.Table, proxy: Proxy, options: dict[str, str]) -> None:
    proxy.fault("GET", r"\.parquet", "503")
    with proxy.watched() as seen:
        out, lines = shown(["count", table.location, "--verbose"], options)
    assert out == "3\n"
    *requests, last = lines
    assert len(requests) == len(seen)
    # One by one, in any order: verb, URL without its query, status, bytes, time.
    asked = sorted((request.method, proxy.url + request.path.partition("?")[0]) for request in seen)
    assert sorted(tuple(line.split(": ")[0].split(" ")) for line in requests) == asked
    failed = sum(": 503 " in line for line in requests)
    assert last.startswith(f"frazil: {len(seen)} requests, {failed} failed, ")
    assert SECRET not in "".join(lines)
    assert "Signature" not in "".join(lines)
    out, lines = shown(["count", table.location], options)
    assert (out, lines) == ("3\n", [])


def test_lines_have_no_secrets(proxy: Proxy, table: fz.Table, options: dict[str, str]) -> None:
    address = proxy.url.removeprefix("http://")
    _, lines = shown(["count", table.location, "-v"], {**options, "s3.endpoint": f"http://me:{SECRET}@{address}"})
    assert any(line.startswith("GET http://") for line in lines)
    assert SECRET not in "".join(lines)
