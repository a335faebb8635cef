"""The command line where things go wrong: damaged tables, mistyped names, closed streams."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import frazil as fz
from frazil.cli import main

FRAZIL = [sys.executable, "-m", "frazil"]


class Shell:
    """Runs commands and keeps what they print."""

    def __init__(self, captured: pytest.CaptureFixture[Any]) -> None:
        self._captured = captured
        self.err: Any = ""

    def __call__(self, *arguments: object, code: int = 0) -> Any:
        found = main([str(argument) for argument in arguments])
        out, self.err = self._captured.readouterr()
        assert found == code, f"exit code {found}\n{out}\n{self.err}"
        return out

    def json(self, *arguments: object) -> Any:
        return json.loads(self(*arguments, "--json"))


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, which has no configuration of catalogs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def table(folder: Path) -> str:
    """A table of three files with one row each."""
    catalog = fz.catalog("local", warehouse="lake")
    catalog.create_namespace("db")
    made = catalog.create_table("db.events", pa.schema([("id", pa.int64())]))
    for number in range(3):
        made.append(pa.table({"id": [number]}))
    return "lake/db/events"


@pytest.fixture
def keyed(folder: Path, shell: Shell) -> str:
    """A table of Paimon with a primary key: three commits of the same two rows."""
    shell(
        *("create", "pw/db/pk", "-c", "id int required", "-c", "name string", "--key", "id"),
        *("--property", "bucket=2", "--format", "paimon", "--yes"),
    )
    Path("two.csv").write_text("id,name\n1,Ada\n2,Eve\n", "utf-8")
    for _ in range(3):
        shell("append", "pw/db/pk", "two.csv", "--yes")
    return "pw/db/pk"


def lose_a_file(table: str, number: int = 2) -> Path:
    """Removes the data file of one of the rows."""
    paths = [str(task.data_file.path) for task in fz.open_table(table).scan(f"id = {number}").plan_files()]
    Path(paths[0]).unlink()
    return Path(paths[0])


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_failed_scan_writes_no_whole_file(
    table: str, form: str, folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    shell = Shell(capfdbinary)
    whole = shell("scan", table, "--format", form)
    lose_a_file(table, 0)
    part = shell("scan", table, "--format", form, code=1)
    assert b"cannot open the file" in shell.err
    if form == "parquet":
        assert pq.read_table(pa.BufferReader(whole)).num_rows == 3
        with pytest.raises(pa.ArrowInvalid):
            pq.read_table(pa.BufferReader(part))
    else:
        assert pa.ipc.open_stream(whole).read_all().num_rows == 3
        with pytest.raises((pa.ArrowInvalid, OSError)):
            pa.ipc.open_stream(part).read_all()
