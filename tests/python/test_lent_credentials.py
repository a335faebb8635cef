"""Credentials that a callable lends, in this process and in others."""

from __future__ import annotations

import datetime as dt
import itertools
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import boto3
import pyarrow as pa
import pytest

import frazil as fz
from object_fixtures import port, proxy
from object_server import Proxy

__all__ = ["port", "proxy"]

SECRET = "hushSecret99"
BUCKETS = itertools.count()


@pytest.fixture
def location(port: int) -> str:
    bucket = f"lent{next(BUCKETS)}"
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", **keys).create_bucket(Bucket=bucket)
    return f"s3://{bucket}/wh"


class Lender:
    """Lends keys, and counts how often."""

    def __init__(self, life: float | None = None) -> None:
        self.calls = 0
        self.life = life

    def __call__(self) -> dict[str, object]:
        self.calls += 1
        keys: dict[str, object] = {"access_key_id": "test", "secret_access_key": SECRET, "token": None}
        if self.life is not None:
            keys["expires_at"] = dt.datetime.now(dt.timezone.utc) + dt.timedelta(seconds=self.life)
        return keys


def settings(proxy: Proxy) -> dict[str, str]:
    return {"s3.endpoint": proxy.url, "s3.region": "us-east-1"}


def lake(location: str, proxy: Proxy, lender: Lender) -> fz.Table:
    catalog = fz.catalog("lent", warehouse=location, credential_provider=lender, **settings(proxy))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1, 2]}))
    return table.refresh()


def test_a_callable_lends_credentials(location: str, proxy: Proxy) -> None:
    lender = Lender()
    table = lake(location, proxy, lender)
    opened = fz.open_table(f"{location}/db/t", settings(proxy), credential_provider=lender)
    assert opened.scan().count() == table.scan().count() == 2
    assert lender.calls == 1


def test_it_is_called_again_before_they_expire(location: str, proxy: Proxy) -> None:
    lender = Lender(life=2.0)
    table = lake(location, proxy, lender)
    calls = lender.calls
    time.sleep(2.0)
    assert table.scan().to_arrow().num_rows == 2
    assert lender.calls == calls + 1


def test_nothing_shows_the_credentials(location: str, proxy: Proxy) -> None:
    table = lake(location, proxy, Lender(life=60.0))
    catalog = fz.catalog("lent", warehouse=location, credential_provider=Lender(), **settings(proxy))
    shown = [repr(table), repr(catalog), repr(table.scan()), str(table.scan().explain()), str(catalog)]
    assert not any(SECRET in text or "credentials.provider': 'g" in text for text in shown)
    proxy.fault("GET", ".", "forbidden", times=99)
    with pytest.raises(fz.PermissionDeniedError) as caught:
        table.scan().to_arrow()
    assert SECRET not in str(caught.value)


PROGRAM = """
import pickle, sys
split = pickle.load(open(sys.argv[1], "rb"))
print(split.to_arrow().num_rows)
"""


def run(folder: Path, split: object) -> subprocess.CompletedProcess[str]:
    (folder / "split").write_bytes(pickle.dumps(split))
    command = [sys.executable, "-c", PROGRAM, str(folder / "split")]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_another_process_asks_the_callable_itself(
    location: str, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lending.py").write_text(
        f"def lend():\n    return {{'s3.access-key-id': 'test', 's3.secret-access-key': '{SECRET}'}}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import lending

    lake(location, proxy, lending.lend)
    table = fz.open_table(f"{location}/db/t", settings(proxy), credential_provider=lending.lend)
    [split] = table.scan().plan()
    done = run(tmp_path, split)
    assert done.stdout.strip() == "2", done.stderr


def test_a_callable_that_can_not_be_sent(location: str, proxy: Proxy, tmp_path: Path) -> None:
    class Locked(Lender):
        def __init__(self) -> None:
            super().__init__()
            self.lock = threading.Lock()

    table = lake(location, proxy, Locked())
    [split] = table.scan().plan()
    assert split.to_arrow().num_rows == 2
    done = run(tmp_path, split)
    assert "can't be sent to another process" in done.stderr
    assert SECRET not in done.stderr


async def later() -> dict[str, object]:
    return {}


@pytest.mark.parametrize(
    ("lend", "message"),
    [
        (lambda: {"s3.acces-key-id": "x"}, "does not exist"),
        (lambda: {"s3.region": "r"}, "no credentials"),
        (lambda: ["key"], "not a mapping"),
        (lambda: {"token": "t", "expires_at": object()}, "expires_at"),
        (lambda: 1 / 0, "provider failed"),
        (later, "asynchronous"),
    ],
)
def test_what_a_callable_must_return(lend: object, message: str, proxy: Proxy) -> None:
    with pytest.raises(fz.FrazilError, match=message):
        fz.open_table("s3://b/t", settings(proxy), credential_provider=lend)
    assert proxy.requests == []


def test_what_is_no_callable() -> None:
    with pytest.raises(fz.InvalidInputError, match="must be callable"):
        fz.open_table("s3://b/t", credential_provider={"s3.region": "r"})


@pytest.mark.parametrize("text", ["nonsense", "!", "only-here:1:TypeError: x"])
def test_a_text_that_nobody_wrote(text: str) -> None:
    with pytest.raises(fz.InvalidInputError):
        fz.open_table("s3://b/t", {"frazil.credentials.provider": text})
