"""docs/operations/troubleshooting.md quotes messages of errors. Each is provoked here, and has these words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz
from rest_cases import SCHEMA, opened
from rest_fixtures import server
from rest_server import RestServer

__all__ = ["server"]
ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operations" / "troubleshooting.md").read_text("utf-8")
# Names in the first column that are no messages.
NO_MESSAGES = {"pip", "frazil", "to_arrow()"}
ROWS = pa.table({"id": [1, 2]})
PROVOKED: dict[str, Callable[[Path], object]] = {}
ELSEWHERE = {
    "403: AccessDenied",
    "PermissionDeniedError",
    "CommitStateUnknownError",
    "frazil was built without optimisations",
    "Frazil can't be imported by Spark's Python workers",
    "[DATA_SOURCE_NOT_FOUND]",
    'spark.read.format("frazil")',
}


def quoted() -> set[str]:
    """What the first columns of the page's tables quote."""
    first = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    return {text for cell in first for text in re.findall(r"`([^`]+)`", cell)} - NO_MESSAGES


def provokes(message: str) -> Callable[[Callable[[Path], object]], Callable[[Path], object]]:
    """Registers what provokes a message."""

    def registered(provocation: Callable[[Path], object]) -> Callable[[Path], object]:
        PROVOKED[message] = provocation
        return provocation

    return registered


def made(folder: Path, kind: str = "filesystem") -> fz.Table:
    more = {"uri": f"sqlite:///{folder}/catalog.db"} if kind == "sql" else {}
    catalog = fz.catalog("c", type=kind, warehouse=str(folder / "lake"), **more)
    catalog.create_namespace("db")
    return catalog.create_table("db.t", data=ROWS)


@provokes("no catalog of this name is known")
def unknown_catalog(_: Path) -> object:
    return fz.catalog("nobody_knows_me")


@provokes("a file-system catalog needs a warehouse")
def no_warehouse(_: Path) -> object:
    return fz.catalog("c", type="filesystem")


@provokes("there is no table")
def no_table(folder: Path) -> object:
    table = made(folder)
    catalog = fz.catalog("c", warehouse=str(folder / "lake"))
    assert catalog.list_tables() == [table.name]
    return catalog.load_table("other.t")


@provokes("there is no storage option")
def misspelt_option(folder: Path) -> object:
    return fz.open_table(made(folder).location, storage_options={"s3.regoin": "x"})


@provokes("catalogs have no property")
def misspelt_property(folder: Path) -> object:
    return fz.catalog("c", type="filesystem", warehouse=str(folder), warehose="x")


@provokes("its folder can't be committed to")
def commit_to_a_folder(folder: Path) -> object:
    return fz.open_table(made(folder, "sql").location).append(ROWS)


@provokes("UnsupportedError")
def not_there(folder: Path) -> object:
    return commit_to_a_folder(folder)


@provokes("if the table was copied, open it with moved=True")
def copied(folder: Path) -> object:
    table = made(folder)
    shutil.move(table.location, folder / "copy")
    assert fz.open_table(folder / "copy", moved=True).scan().count() == 2
    return fz.open_table(folder / "copy").scan().to_arrow()


@provokes("CorruptTableError")
def cut_off(folder: Path) -> object:
    table = made(folder)
    file = Path(next(iter(table.scan().plan_files())).data_file.path)
    file.write_bytes(file.read_bytes()[:100])
    return table.scan().to_arrow()


@provokes("needs format version 3")
def nanoseconds(folder: Path) -> object:
    catalog = fz.catalog("c", warehouse=str(folder))
    catalog.create_namespace("db")
    return catalog.create_table("db.t", data=pa.table({"ts": pa.array([1], pa.timestamp("ns"))}))


@provokes("CommitConflictError")
def conflict(folder: Path) -> object:
    table = made(folder)
    with table.transaction() as changes:
        changes.delete("id = 1")
        fz.open_table(table.location).delete("id = 2")
    return table


def test_every_quoted_message_is_provoked() -> None:
    assert quoted() == (PROVOKED.keys() | ELSEWHERE) - {'spark.read.format("frazil")'}


@pytest.mark.parametrize("message", PROVOKED)
def test_the_message_is_that_of_the_page(message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    with pytest.raises(fz.FrazilError) as raised:
        PROVOKED[message](tmp_path)
    assert message in f"{type(raised.value).__name__}: {raised.value}"


class Refusing(BaseHTTPRequestHandler):
    """A store that lets nobody in."""

    def do_GET(self) -> None:
        body = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@pytest.fixture
def refusing() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Refusing) as store:
        thread = threading.Thread(target=store.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{store.server_port}"
        store.shutdown()
        thread.join()


def test_a_store_that_refuses(refusing: str) -> None:
    options = {"s3.endpoint": refusing, "s3.region": "x", "s3.access-key-id": "a", "s3.secret-access-key": "b"}
    with pytest.raises(fz.PermissionDeniedError, match="403: AccessDenied"):
        fz.open_table("s3://bucket/table", storage_options=options)


def test_an_unknown_outcome(server: RestServer) -> None:
    catalog = opened(server)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", SCHEMA)
    server.fault("updateTable", "502", "after")
    server.fault("loadTable", "503", nth=2, times=50)
    with pytest.raises(fz.CommitStateUnknownError):
        table.append(pa.Table.from_pylist([{"id": 1}], schema=pa.schema([("id", pa.int64())])))


def test_a_debug_build_warns() -> None:
    program = """
import sys
import frazil._core as core
for name in [name for name in sys.modules if name.split(".")[0] == "frazil" and name != "frazil._core"]:
    del sys.modules[name]
core.DEBUG_BUILD = True
import frazil
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "frazil was built without optimisations" in done.stderr


# Workers of Spark with a Python that has no Frazil.
WITHOUT_FRAZIL = """
import pkgutil
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("frazil", "pyspark_frazil"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
listed = pkgutil.iter_modules
pkgutil.iter_modules = lambda *given: (one for one in listed(*given) if one.name != "pyspark_frazil")
"""
SPARK = """
import sys
import frazil as fz
import pyarrow as pa
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
catalog = fz.catalog("c", warehouse=sys.argv[1])
catalog.create_namespace("db")
table = catalog.create_table("db.t", data=pa.table({"id": [1]}))
for read in (
    lambda: spark.read.format("frazil").load(table.location).count(),
    lambda: fz.spark.read(spark, table, engine="arrow").collect(),
):
    try:
        read()
    except Exception as error:
        print(error)
spark.stop()
"""


@pytest.mark.spark
def test_workers_without_frazil(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_FRAZIL, "utf-8")
    worker = tmp_path / "python"
    worker.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec {sys.executable} "$@"\n', "utf-8")
    worker.chmod(0o755)
    environment = {**os.environ, "PYSPARK_PYTHON": str(worker), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", SPARK, str(tmp_path / "lake")],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert re.search(r"\[DATA_SOURCE_NOT_FOUND\].*frazil", done.stdout), done.stdout
    assert "Frazil can't be imported by Spark's Python workers" in done.stdout
    assert str(worker.parent) in done.stdout or sys.executable in done.stdout
