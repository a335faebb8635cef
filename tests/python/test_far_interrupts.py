"""Ctrl-C while a far store or catalog takes its time: it raises `KeyboardInterrupt`, and leaves the table as it was.

Each answer of the store takes a while. A verb is run once, to know how long it takes, then interrupted at random
moments of that time. Other tests interrupt verbs while a server says nothing at all, and the interrupt must come before
the server's silence ends. The longest wait is printed (`pytest -rP` shows it).
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

import frazil as fz
from conftest import NIGHTLY
from object_fixtures import KEY, SECRET, bucket, files, lake, options, port, proxy
from object_server import Proxy, proxied
from rest_server import serving

__all__ = ["bucket", "files", "lake", "options", "port", "proxy"]

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send"),
]

LATENCY = 0.05
SILENCE = 20.0
ROUNDS = 5 if NIGHTLY else 2
Verb = Callable[[fz.Table], Any]


def rows(first: int, count: int) -> pa.Table:
    ids = range(first, first + count)
    return pa.table({"id": ids, "x": [float(i * 7919 % 1009) for i in ids], "p": [i % 3 for i in ids]})


def soon() -> dt.datetime:
    """A time after which no file was made yet."""
    return dt.datetime.now(dt.timezone.utc) + dt.timedelta(days=1)


def in_a_transaction(table: fz.Table) -> None:
    with table.transaction() as transaction:
        transaction.append(rows(5000, 10))
        transaction.delete("id < 10")


CHANGES: dict[str, Verb] = {
    "append": lambda t: t.append(rows(5000, 1000)),
    "append of a large file": lambda t: t.append(noise()),
    "overwrite": lambda t: t.overwrite(rows(0, 100)),
    "upsert": lambda t: t.upsert(rows(900, 200), on="id"),
    "delete": lambda t: t.delete("x > 500.5"),
    "update": lambda t: t.update("x > 500.5", {"x": 0.5}),
    "transaction": in_a_transaction,
    "compact": lambda t: t.maintain.compact(rewrite_all=t.format == "iceberg"),
    "rewrite manifests": lambda t: t.maintain.rewrite_manifests(),
}
PAIMON = ("append", "delete", "overwrite", "compact")
DELETES: dict[str, Verb] = {
    "expire snapshots": lambda t: t.maintain.expire_snapshots(retain_last=1, older_than=soon()),
    "remove orphan files": lambda t: t.maintain.remove_orphan_files(older_than=soon()),
}
READS: dict[str, Verb] = {
    "refresh": lambda t: t.refresh(),
    "read": lambda t: t.refresh().scan().to_arrow(),
    "plan": lambda t: t.refresh().scan().plan_table(),
    "statistics": lambda t: t.refresh().scan("x > 5.5").statistics("x"),
    "changes": lambda t: t.changes(since=t.snapshots[0].id).to_arrow(),
    "metadata": lambda t: t.inspect.data_files(),
    "doctor": lambda t: t.doctor(),
    "find orphan files": lambda t: t.maintain.remove_orphan_files(older_than=soon(), dry_run=True),
}
# Verbs that ask the store before they write to it. Others wait until the files are deleted that they began to write.
ASKING = ("upsert", "compact", "expire snapshots", "refresh", "read", "plan", "statistics", "find orphan files")


def noise() -> pa.Table:
    """Rows that do not compress: their file goes to the store in parts."""
    found = rows(5000, 160_000)
    return found.set_column(1, "x", pa.array([random.random() for _ in range(found.num_rows)]))


def made(catalog: fz.Catalog, name: str, format: str) -> fz.Table:
    """A table of four commits."""
    more: dict[str, Any] = (
        {}
        if format == "iceberg"
        else {"format": format, "properties": {"bucket": "-1", "compaction.min.file-num": "2"}}
    )
    table = catalog.create_table(name, rows(0, 1).schema, partition_by=["p"], **more)
    for part in range(4):
        table = table.append(rows(part * 250, 250))
    return table


def interrupted(work: Callable[[], object], seconds: float) -> float | None:
    """The seconds until an interrupt of `work` was answered; None if the work ended before."""
    ended, sent = threading.Event(), [0.0]

    def send() -> None:
        if not ended.wait(seconds):
            sent[0] = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    try:
        try:
            thread.start()
            work()
        finally:
            ended.set()
            thread.join()
        time.sleep(0)  # a late interrupt arrives here
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    return None


def ids_of(table: fz.Table) -> tuple[object, list[int]]:
    table = table.refresh()
    assert table.snapshot is not None
    return table.snapshot.id, sorted(table.scan().to_arrow()["id"].to_pylist())


def objects(store: pafs.S3FileSystem, table: fz.Table) -> set[str]:
    found = store.get_file_info(pafs.FileSelector(table.location.removeprefix("s3://"), recursive=True))
    return {info.path for info in found if info.type == pafs.FileType.File}


@contextlib.contextmanager
def latency(proxy: Proxy, seconds: float) -> Iterator[None]:
    proxy.latency = seconds
    try:
        yield
    finally:
        proxy.latency = 0.0


CASES = [("iceberg", name) for name in (*CHANGES, *DELETES, *READS)] + [("paimon", name) for name in PAIMON]


@pytest.mark.parametrize(("format", "name"), CASES)
def test_ctrl_c_with_a_far_store(
    format: str, name: str, lake: fz.Catalog, proxy: Proxy, files: pafs.S3FileSystem
) -> None:
    verb, dice, longest = {**CHANGES, **DELETES, **READS}[name], random.Random(f"{format} {name}"), 0.0
    table = made(lake, "db.first", format)
    begun = time.monotonic()
    with latency(proxy, LATENCY):
        verb(table)
    lasts, whole = time.monotonic() - begun, ids_of(table)[1]
    for number in range(ROUNDS):
        table = made(lake, f"db.t{number}", format)
        before, there = ids_of(table), objects(files, table)
        with latency(proxy, LATENCY):
            took = interrupted(partial(verb, table), dice.uniform(0.05, 0.9) * lasts)
        longest = max(longest, took or 0.0)
        time.sleep(10 * LATENCY)  # requests that were sent arrive
        left = objects(files, table) - there
        if ids_of(table) == before and name not in DELETES:
            assert not left
        elif ids_of(table) != before:
            assert ids_of(table)[1] == whole
    print(f"{format}, {name}: answered within {longest:.3f} s, of {lasts:.3f} s")


def test_ctrl_c_while_a_table_with_rows_is_made(
    lake: fz.Catalog, bucket: str, proxy: Proxy, files: pafs.S3FileSystem
) -> None:
    moments = [0.1 * turn for turn in range(12 if NIGHTLY else 6)]
    for number, moment in enumerate(moments):
        name = f"db.made{number}"
        with latency(proxy, LATENCY):
            took = interrupted(partial(lake.create_table, name, data=rows(0, 100)), moment)
        time.sleep(10 * LATENCY)
        if lake.table_exists(name):
            assert lake.load_table(name).scan().count() == 100
        else:
            assert took is not None
            found = files.get_file_info(pafs.FileSelector(f"{bucket}/wh", recursive=True))
            assert [info.path for info in found if f"/made{number}/" in info.path and info.size] == []


@pytest.mark.parametrize("name", ASKING)
def test_ctrl_c_while_a_store_says_nothing(name: str, lake: fz.Catalog, proxy: Proxy) -> None:
    table, verb = made(lake, "db.t", "iceberg"), {**CHANGES, **DELETES, **READS}[name]
    dice = random.Random(name)
    with latency(proxy, SILENCE):
        took = interrupted(partial(verb, table), dice.uniform(0.1, 0.6))
    assert took is not None
    assert took < SILENCE / 2
    print(f"{name}: answered within {took:.3f} s")


@contextlib.contextmanager
def deaf() -> Iterator[int]:
    """The port of a server that takes no connection: its queue is full."""
    with socket.socket() as server, contextlib.ExitStack() as clients:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            client = clients.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@contextlib.contextmanager
def silent() -> Iterator[int]:
    """The port of a server that takes connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(64)
        yield server.getsockname()[1]


@pytest.mark.parametrize("server", [deaf, silent])
def test_ctrl_c_while_a_server_is_not_there(server: Callable[[], Any], tmp_path: Path) -> None:
    with server() as port:
        url = f"http://127.0.0.1:{port}"
        store = {"s3.endpoint": url, "s3.access-key-id": KEY, "s3.secret-access-key": SECRET, "s3.region": "us-east-1"}
        calls: dict[str, Callable[[], object]] = {
            "open a table": lambda: fz.open_table("s3://b/t", storage_options=store),
            "a catalog in a store": lambda: fz.catalog("c", warehouse="s3://b/wh", **store).list_tables("db"),
            "a REST catalog": lambda: fz.catalog("c", type="rest", uri=url).load_table("db.t"),
            "a token": lambda: fz.catalog(
                "c", type="rest", uri=url, credential="a:b", **{"oauth2-server-uri": f"{url}/tokens"}
            ).load_table("db.t"),
            "a file by HTTP": lambda: fz.open_table(f"{url}/t/metadata/v1.metadata.json"),
            "a catalog in PostgreSQL": lambda: fz.catalog(
                "c", type="sql", uri=f"postgresql://u:p@127.0.0.1:{port}/db", warehouse=tmp_path
            ).load_table("db.t"),
            "a Hive metastore": lambda: fz.catalog("c", type="hive", uri=f"thrift://127.0.0.1:{port}").load_table(
                "db.t"
            ),
        }
        for name, call in calls.items():
            took = interrupted(call, 0.3)
            assert took is not None, name
            assert took < SILENCE / 2, name
            print(f"{server.__name__}, {name}: answered within {took:.3f} s")


REST: dict[str, Callable[[fz.Catalog], object]] = {
    "load": lambda c: [c.load_table("db.t") for _ in range(5)],
    "list": lambda c: [c.list_tables("db") for _ in range(5)],
    "append": lambda c: c.load_table("db.t").append(rows(5000, 10)),
    "delete": lambda c: c.load_table("db.t").delete("x > 500.5"),
    "compact": lambda c: c.load_table("db.t").maintain.compact(rewrite_all=True),
    "expire snapshots": lambda c: c.load_table("db.t").maintain.expire_snapshots(retain_last=1, older_than=soon()),
    "create": lambda c: c.create_table("db.new", rows(0, 1).schema),
    "create with rows": lambda c: c.create_table("db.new", data=rows(0, 10)),
    "rename": lambda c: c.rename_table("db.t", "db.new"),
}


@pytest.mark.parametrize("after_commit", [False, True], ids=["slow", "slow-after-commits"])
@pytest.mark.parametrize("name", REST)
def test_ctrl_c_with_a_slow_catalog(name: str, after_commit: bool, tmp_path: Path) -> None:
    with serving(tmp_path / "wh") as server, proxied(int(server.url.split(":")[2].split("/")[0])) as far:
        near = fz.catalog("c", type="rest", uri=server.url)
        path = server.url.split("/", 3)[3:]
        catalog = fz.catalog("c", type="rest", uri="/".join([far.url, *path]))
        near.create_namespace("db")
        table = made(near, "db.t", "iceberg")
        before = ids_of(table), sorted(tmp_path.rglob("*.*"))
        dice = random.Random(f"{name} {after_commit}")
        if after_commit:
            server.switches.change({"slow_after_commit": 3.0})
        with latency(far, 0.0 if after_commit else 0.3):
            took = interrupted(partial(REST[name], catalog), dice.uniform(0.2, 1.2))
        server.switches.change({"slow_after_commit": 0.0})
        time.sleep(1)  # a request that was sent arrives
        made_it = near.table_exists("db.new") or not near.table_exists("db.t") or ids_of(table) != before[0]
        print(f"{name}: answered within {took or 0.0:.3f} s, done: {made_it}")
        if not made_it and name != "expire snapshots":
            assert sorted(tmp_path.rglob("*.*")) == before[1]
        if made_it and name == "create with rows":
            assert near.load_table("db.new").scan().count() == 10
