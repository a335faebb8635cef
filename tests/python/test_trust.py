"""Whom Frazil believes: secrets in errors, silent servers, credentials with line breaks, files to delete."""

from __future__ import annotations

import datetime as dt
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import frazil as fz

SECRET = "hushSecret99"
SCHEMA = pa.schema([("id", pa.int64())])


def table(folder: Path, form: str = "iceberg") -> fz.Table:
    catalog = fz.catalog("c", type="filesystem", warehouse=str(folder))
    catalog.create_namespace("n")
    return catalog.create_table("n.t", SCHEMA, format=form)


@pytest.mark.parametrize(
    "call",
    [
        lambda: fz.open_table(
            "s3://b/t", storage_options={"s3.access-key-id": "A", "s3.secret-access-key": SECRET.encode()}
        ),
        lambda: fz.open_table(f"s3://AKIA:{SECRET}@b/t"),
        lambda: fz.open_table(f"s3://AKIA:x/{SECRET}@b/t"),
        lambda: fz.open_table(f"https://b.example/t?X-Amz-Signature={SECRET}&X-Amz-Date=1"),
        lambda: fz.open_table(f"az://c/t?sv=1&sig={SECRET}"),
        lambda: fz.catalog(
            "c", type="sql", uri=f"sqlite:////no/such.db?password={SECRET}", warehouse="/no"
        ).list_namespaces(),
        lambda: fz.catalog("c", type="sql", uri=f"mysql://u:{SECRET}@h/d", warehouse="/no").list_namespaces(),
        lambda: fz.catalog("c", type="sql", uri=f"postgresql://u:{SECRET}@h/d?nonsense=1", warehouse="/no"),
    ],
)
def test_no_error_shows_a_secret(call: Callable[[], object]) -> None:
    with pytest.raises(fz.FrazilError) as caught:
        call()
    error = caught.value
    texts = [str(error), repr(error), str(error.context), str(error.hint), str(pickle.loads(pickle.dumps(error)))]
    assert not any(SECRET in text for text in texts)


def test_errors_that_python_raises_are_masked_and_bounded_too() -> None:
    error = fz.InvalidInputError(
        f"token={SECRET} " + "x" * 1_000_000, {"path": f"s3://k:{SECRET}@b/t"}, f"sig={SECRET}"
    )
    assert SECRET not in str(error) + repr(error) + str(error.context) + str(error.hint)
    assert len(str(error)) < 20_000
    assert str(error).startswith("token=*** xxx")


def test_a_configuration_that_is_no_yaml_is_not_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".pyiceberg.yaml").write_text(f"catalog:\n  c:\n    password: '{SECRET}\n  : [")
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    with pytest.raises(fz.InvalidInputError) as caught:
        fz.catalog("c")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert SECRET not in str(caught.value)
    assert "line" in caught.value.context


@pytest.mark.parametrize("name", ["select", "filter", "path"])
def test_the_length_of_errors_is_bounded(tmp_path: Path, name: str) -> None:
    long = "a" * 1_000_000
    scanned = table(tmp_path)
    calls: dict[str, Callable[[], object]] = {
        "select": lambda: scanned.scan(select=[long]).count(),
        "filter": lambda: scanned.scan(f'"{long}" = 1').count(),
        "path": lambda: fz.open_table("/" + long),
    }
    with pytest.raises(fz.FrazilError) as caught:
        calls[name]()
    assert len(str(caught.value)) < 20_000
    assert "bytes left out" in str(caught.value)


@pytest.mark.parametrize(
    ("location", "options", "named"),
    [
        ("s3://b/t", {"s3.access-key-id": "A\n", "s3.secret-access-key": "x"}, "access_key_id"),
        (
            "s3://b/t",
            {"s3.access-key-id": "A", "s3.secret-access-key": "x", "s3.session-token": "t\n"},
            "session_token",
        ),
        ("gs://b/t", {"gcs.oauth2.token": "t\r\n"}, "bearer_token"),
        ("abfss://c@a.dfs.core.windows.net/t", {"adls.account-name": "a", "adls.token": "t\n"}, "storage_token"),
    ],
)
def test_a_line_break_in_credentials_is_named(location: str, options: dict[str, str], named: str) -> None:
    with pytest.raises(fz.InvalidInputError, match=named) as caught:
        fz.open_table(location, storage_options=options)
    assert "line break" in str(caught.value)


@pytest.fixture
def silent_server() -> Iterator[int]:
    """A server that accepts connections and never answers; its port."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(20)
        kept: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    kept.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        for connection in kept:
            connection.close()


def test_a_silent_database_is_given_up(silent_server: int) -> None:
    uri = f"postgresql://u:{SECRET}@127.0.0.1:{silent_server}/d?connect_timeout=1&sslmode=disable"
    with pytest.raises(fz.StoreError, match="did not answer") as caught:
        fz.catalog("c", type="sql", uri=uri, warehouse="/no").list_namespaces()
    assert "connect_timeout" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_ctrl_c_ends_the_wait_for_a_database(silent_server: int) -> None:
    uri = f"postgresql://u@127.0.0.1:{silent_server}/d?connect_timeout=3600&sslmode=disable"
    code = (
        "import frazil as fz; print('go', flush=True); "
        f"fz.catalog('c', type='sql', uri={uri!r}, warehouse='/no').list_namespaces()"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "go\n"
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=10)
    assert "KeyboardInterrupt" in errors


@pytest.mark.parametrize("form", ["iceberg", "paimon"])
@pytest.mark.parametrize("outside", ["precious", "../precious", "link/precious"])
def test_abort_deletes_only_below_the_table(tmp_path: Path, form: str, outside: str) -> None:
    made = table(tmp_path / "lake", form)
    precious = tmp_path / "precious"
    precious.write_text("mine")
    os.symlink(tmp_path, f"{made.location}/link")
    path = {"precious": str(precious), "../precious": f"{made.location}/../../../precious"}.get(
        outside, f"{made.location}/{outside}"
    )
    assert os.path.exists(path)
    message = json.loads(made.writer().write(pa.table({"id": [1]}, schema=SCHEMA)).to_json())
    message["files"][0]["file-path"] = path
    with pytest.raises(fz.FrazilError):
        made.abort([fz.CommitMessage.from_json(json.dumps(message))])
    assert precious.read_text() == "mine"


def test_purge_and_expiry_leave_files_of_others(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({"id": [7]}, schema=SCHEMA), foreign)
    catalog = fz.catalog("c", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path / "lake"))
    catalog.create_namespace("n")
    made = catalog.create_table("n.t", SCHEMA)
    made.append(pa.table({"id": [1]}, schema=SCHEMA)).add_files([str(foreign)])
    emptied = made.refresh().delete("true")
    done = emptied.maintain.expire_snapshots(retain_last=1, older_than=dt.timedelta(0))
    assert foreign.exists()
    assert any("foreign" in path for path in done.failed)
    catalog.drop_table("n.t", purge=True)
    assert foreign.exists()
    assert not list((tmp_path / "lake").rglob("*.parquet"))
