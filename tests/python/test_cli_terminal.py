"""What the command line prints on terminals: tables that fit, and no character that acts on the terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from pathlib import Path

import pyarrow as pa
import pytest

import frazil as fz

ESCAPE = re.compile("\x1b\\[[0-9;]*m")
HOSTILE = "evil\x1b[31m\nname"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table of two commits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    catalog = fz.catalog("local", warehouse="lake")
    catalog.create_namespace("db")
    made = catalog.create_table("db.t", pa.schema([("id", pa.int64()), ("name", pa.string())]))
    for number in range(2):
        made.append(pa.table({"id": [number], "name": ["x"]}))
    return "lake/db/t"


def on_terminal(width: int, *arguments: str, answer: str = "") -> str:
    """What a command prints on a terminal, without its styles."""
    process, terminal = pty.fork()
    if process == 0:
        os.execve(
            sys.executable,
            [sys.executable, "-m", "frazil", *arguments],
            {**os.environ, "COLUMNS": str(width), "TERM": "dumb"},
        )
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    out, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 1)[0]:
            try:
                found = os.read(terminal, 1 << 16)
            except OSError:
                break
            if not found:
                break
            out += found
        if answer and b"[y/N]" in out:
            os.write(terminal, answer.encode())
            answer = ""
    os.close(terminal)
    os.waitpid(process, 0)
    return out.decode().replace("\r\n", "\n")


def test_ids_of_snapshots_are_whole(table: str) -> None:
    ids = [str(snapshot.id) for snapshot in fz.open_table(table).snapshots][::-1]
    lines = on_terminal(80, "snapshots", table).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ids
    assert lines[0].split() == ["snapshot", "time", "(UTC)", "operation", "what"]
    assert all(len(line) <= 80 for line in lines)
    assert "+1 row, +1 file" in lines[1]
    assert "parent" in on_terminal(130, "snapshots", table)
    for command in ("refs", "show", "history"):
        assert ids[0] in on_terminal(40, command, table)


def test_paths_keep_their_ends(table: str) -> None:
    names = [Path(path).name[-20:] for path in fz.open_table(table).inspect.files()["file_path"].to_pylist()]
    lines = on_terminal(60, "files", table).splitlines()[1:]
    assert [line[-20:] for line in lines] == names
    assert all("…" in line and len(line) <= 60 for line in lines)


def test_later_rows_are_as_wide_as_the_line_allows(table: str) -> None:
    rows = pa.table({"id": range(10**9, 10**9 + 300), "name": ["short"] * 299 + ["long " * 5]})
    fz.open_table(table).overwrite(pa.table({"id": [1] * 300, "name": ["a"] * 300}))
    fz.open_table(table).append(rows)
    lines = on_terminal(40, "scan", table).splitlines()
    assert sum(line.split()[0].isdecimal() for line in lines[1:]) == 600
    assert f"{10**9}  short" in lines
    assert lines[-1] == f"{10**9 + 299}  {'long ' * 5}".rstrip()


def test_a_number_is_never_cut(table: str) -> None:
    fz.open_table(table).overwrite(pa.table({"id": [10**15], "name": ["n" * 50]}))
    assert f"{10**15}  nnnnnnn…" in on_terminal(12, "scan", table).splitlines()


def test_names_do_not_act_on_the_terminal(table: str) -> None:
    path = Path(table, "data", f"{HOSTILE}.parquet")
    path.touch()
    os.utime(path, (0, 0))
    said = on_terminal(200, "orphans", table, answer="n\n")
    assert "data/evil\\x1b[31m\\nname.parquet\n" in said
    assert "\x1b" not in said
    assert path.exists()
    for arguments in (("tag", table, HOSTILE, "--yes"), ("set", table, f"{HOSTILE}=1", "--yes"), ("refs", table)):
        printed = on_terminal(200, *arguments)
        assert "\x1b" not in printed
        assert "evil\\x1b[31m\\nname" in printed


def test_json_does_not_act_on_the_terminal(table: str) -> None:
    text = "a\x1b[31m\x9b31m\x7f\u202eb\u2028c"
    fz.open_table(table).overwrite(pa.table({"id": [1], "name": [text]}))
    printed = on_terminal(200, "scan", table, "--json")
    assert printed.isascii()
    assert json.loads(printed)["name"] == text


def test_nothing_is_asked_if_there_is_nothing_to_do(table: str) -> None:
    for arguments, said in (
        (("compact", table), "0 files became 0 files"),
        (("orphans", table), "0 files deleted"),
        (("expire", table), "Nothing is old enough to remove."),
        (("repair", table), "0 steps done"),
    ):
        assert on_terminal(80, *arguments).startswith(said)
